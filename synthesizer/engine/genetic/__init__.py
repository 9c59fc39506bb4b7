"""Whole synthetic datasets by a genetic algorithm (Chen, Taub and Elliot 2019).

A candidate is a dataset of categorical codes. Candidates are crossed, mutated and selected by a
measure of utility and a measure of risk, so that the risk is chosen before the data are made.
One file for each question: `options` (settings), `coding` (records as numbers), `margins` (counts
of cells), `objectives` and `risks` (measures from counts), `scoring` (both of a candidate), `moves`
(how candidates change), `population` (candidates and their children), `selection` (who has
offspring), `evolution` (the loop), `evolver` (start populations, and what comes out).
"""
