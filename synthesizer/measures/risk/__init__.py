"""Disclosure risk: what synthetic data tell an intruder about the people in the original.

Every measure takes any two data sets, as pandas frames or as tables of codes, and returns a small
frozen result with its ``figures`` (value, interval, baseline, chance, the original's own value,
number of records, direction). A measure's file has its function, its result, the kinds of its
figures and its entry.
"""
