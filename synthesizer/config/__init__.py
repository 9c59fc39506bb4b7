"""The YAML configuration as typed objects, with the spellings of other tools."""
