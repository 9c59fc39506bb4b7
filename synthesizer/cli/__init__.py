"""What is typed and what is printed."""

from synthesizer.cli.commands import main

__all__ = ["main"]
