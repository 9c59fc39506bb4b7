"""Measures of risk and utility, and the engine that computes them."""
