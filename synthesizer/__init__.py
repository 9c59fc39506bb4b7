"""Synthetic microdata by a chain of conditional models, and the proof of what was made.

The names below are loaded on first use, so that the command line starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synthesizer.assessment import Question, assess
    from synthesizer.config_reading import load_config, read_config
    from synthesizer.errors import SynthesizerError
    from synthesizer.evaluation import FitRequest, Synthesis, UtilityMeasures, evaluate
    from synthesizer.generation import generate
    from synthesizer.job import RunResult, fit, run
    from synthesizer.library import Synthesizer
    from synthesizer.refining import Refined, refine
    from synthesizer.registry import Registry

__all__ = [
    "FitRequest",
    "Question",
    "Refined",
    "Registry",
    "RunResult",
    "Synthesis",
    "Synthesizer",
    "SynthesizerError",
    "UtilityMeasures",
    "assess",
    "evaluate",
    "fit",
    "generate",
    "load_config",
    "read_config",
    "refine",
    "run",
]

_HOMES = {
    "FitRequest": "evaluation",
    "Question": "assessment",
    "Refined": "refining",
    "Registry": "registry",
    "RunResult": "job",
    "Synthesis": "evaluation",
    "Synthesizer": "library",
    "SynthesizerError": "errors",
    "UtilityMeasures": "evaluation",
    "assess": "assessment",
    "evaluate": "evaluation",
    "fit": "job",
    "generate": "generation",
    "load_config": "config_reading",
    "read_config": "config_reading",
    "refine": "refining",
    "run": "job",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
