"""Pages of evolved datasets whose words are kept: see ``tests/report/test_words_of_pages.py``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from synthesizer.extensions.genetic.evolved import Evolution
from synthesizer.measures.results import RiskResult
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.record import Record
from tests.extensions.genetic.test_codebook import codebook
from tests.extensions.genetic.test_section import chain, dataset, evolved, pareto
from tests.report.utility_examples import manifest


def evolution(section: Evolution) -> Record:
    results = CheckResults(risk=RiskResult(), failed={})
    return Record(manifest(), results, extensions={"genetic": section})


EVOLUTIONS: dict[str, Callable[[], Record]] = {
    "mutants": lambda: evolution(evolved(dataset(stopped="interrupted"))),
    "a frontier": lambda: evolution(pareto(risk_at_most=0.3015)),
    "a chain and a limit": lambda: evolution(
        chain(
            dataset(reached=True, stopped="60 seconds"),
            dataset(risk=0.31, reached=False, stopped="8 generations"),
            risk_at_most=0.3,
        )
    ),
    "less risk than chance": lambda: evolution(chain(dataset(risk=0.01))),
}
EVOLVED: dict[str, Callable[[Path], dict[str, Any]]] = {
    "mutants": lambda folder: codebook(folder, "mutants"),
    "mutants without moves": lambda folder: codebook(folder, "mutants", moves=[]),
    "evolved from files": lambda folder: codebook(folder, "files", 1),
    "evolved from a chain": lambda folder: codebook(folder, "chain"),
}
