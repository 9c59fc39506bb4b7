"""Careers: sequences of states as (G, Z, W): how many runs, how long, in which states.

Source: Barrientos et al. (2018), Providing access to confidential research data through synthesis
and verification, section 3.2.1.
"""
