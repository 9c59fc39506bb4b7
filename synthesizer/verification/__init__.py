"""Answers about confidential analyses under differential privacy, at a charge that is counted."""
