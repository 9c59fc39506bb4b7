"""Capabilities that the core does without, each a folder that can be removed."""
