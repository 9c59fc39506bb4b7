"""Several runs beside each other: a map of risk and utility, and grids of settings for it."""
