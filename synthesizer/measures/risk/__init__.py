"""Disclosure risk: what an intruder learns from synthetic data about persons in the original.

Every measure takes any two data sets, as pandas frames or as tables of codes. It returns a frozen
result with ``figures`` (value, interval, baseline, chance, value of the original, number of
records, direction). The file of a measure has its function, result, kinds of figures and entry.
"""
