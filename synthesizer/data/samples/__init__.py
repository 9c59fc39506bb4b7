"""Built-in samples: files that statsmodels carries, and the simulated workforce."""
