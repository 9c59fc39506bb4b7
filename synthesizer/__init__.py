"""Synthetic microdata by a chain of conditional models, and measures of what was made.

The names below are loaded on first use, so that the command line starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synthesizer import data

if TYPE_CHECKING:
    from synthesizer.config.reading import load_config, read_config
    from synthesizer.data.errors import SynthesizerError
    from synthesizer.engine.registry import Registry
    from synthesizer.jobs.advise import advise
    from synthesizer.jobs.check import check
    from synthesizer.jobs.complete import complete, complete_file
    from synthesizer.jobs.generate import generate
    from synthesizer.jobs.run import RunResult, fit, run
    from synthesizer.jobs.synthesizer import Synthesizer
    from synthesizer.measures.measure import Synthesis
    from synthesizer.measures.scenario import Question
    from synthesizer.measures.settings import CheckSettings, LimitConfig
    from synthesizer.measures.utility.combining import combine
    from synthesizer.measures.utility.compare_fit import FitRequest, compare_fit, compare_fit_by
    from synthesizer.measures.verdict import CheckResults, Verdict


__all__ = [
    "CheckResults",
    "CheckSettings",
    "FitRequest",
    "LimitConfig",
    "Question",
    "Registry",
    "RunResult",
    "Synthesis",
    "Synthesizer",
    "SynthesizerError",
    "Verdict",
    "advise",
    "check",
    "combine",
    "compare_fit",
    "compare_fit_by",
    "complete",
    "complete_file",
    "fit",
    "generate",
    "load_config",
    "read_config",
    "run",
]

_HOMES = {
    "CheckResults": "measures.verdict",
    "CheckSettings": "measures.settings",
    "FitRequest": "measures.utility.compare_fit",
    "LimitConfig": "measures.settings",
    "Question": "measures.scenario",
    "Registry": "engine.registry",
    "RunResult": "jobs.run",
    "Synthesis": "measures.measure",
    "Synthesizer": "jobs.synthesizer",
    "SynthesizerError": "data.errors",
    "Verdict": "measures.verdict",
    "advise": "jobs.advise",
    "check": "jobs.check",
    "combine": "measures.utility.combining",
    "compare_fit": "measures.utility.compare_fit",
    "compare_fit_by": "measures.utility.compare_fit",
    "complete": "jobs.complete",
    "complete_file": "jobs.complete",
    "fit": "jobs.run",
    "generate": "jobs.generate",
    "load_config": "config.reading",
    "read_config": "config.reading",
    "run": "jobs.run",
}

_FORMER = {
    "assess": "check(..., only='risk').risk",
    "evaluate": "check(..., only='utility').utility",
}
"""Functions of earlier versions, and what to call in their place."""


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        raise ImportError(f"synthesizer.{name} is now synthesizer.{_FORMER[name]}")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if not name.startswith("_") and name in (of_extensions := _of_extensions()):
        return getattr(import_module(of_extensions[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_hint(name)}")


def _hint(name: str) -> str:
    from synthesizer.data.plugins import installed

    return "" if name.startswith("_") else f"; {installed()}"


def _of_extensions() -> dict[str, str]:
    """Return the names that extensions add, and the module of each."""
    from synthesizer.data.plugins import extensions

    return {name: home for one in extensions().values() for name, home in one.names.items()}


data.view = lambda: import_module(f"{__name__}.report.notebook")


def __dir__() -> list[str]:
    return sorted({*__all__, *_of_extensions()})
