"""Panels: persons observed over periods, one row a person and period or one column a period."""
