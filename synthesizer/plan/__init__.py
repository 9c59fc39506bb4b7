"""Turn configuration and data into a plan, and report every problem at once."""
