"""Whole synthetic datasets by a genetic algorithm (Chen, Taub and Elliot 2019).

A candidate is a dataset of categorical codes. Candidates are crossed, mutated and selected by a
measure of utility and a measure of risk, so that the risk is chosen before the data are made.
"""
