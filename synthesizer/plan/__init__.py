"""Turn configuration and data into a plan; report every problem at once."""
