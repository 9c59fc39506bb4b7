"""Synthetic microdata by a chain of conditional models, and the proof of what was made."""
