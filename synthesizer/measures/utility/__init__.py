"""Utility: how similar synthetic data are to the original, and whether conclusions are the same.

Every measure takes any two data sets, as pandas frames or as tables of codes.
"""
