"""No record is of a real person: a simulated file shaped like one of federal careers."""

from synthesizer.data.samples.workforce.positions import AMOUNTS, COLUMNS, VARIABLES, levels
from synthesizer.data.samples.workforce.simulation import blocks, simulate

__all__ = ["AMOUNTS", "COLUMNS", "VARIABLES", "blocks", "levels", "simulate"]
