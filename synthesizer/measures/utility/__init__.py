"""Utility: whether synthetic data look like the original, and what may be concluded from them.

Every measure takes any two data sets, as pandas frames or as tables of codes.
"""
