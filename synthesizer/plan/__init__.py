"""Configuration and data become what will be made; every problem at once."""
