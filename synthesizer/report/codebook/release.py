"""The codebook that goes to researchers with the synthetic datasets, as typed content.

It holds no number computed from confidential data but one that the steward may publish, the number
of records (`output: {publish_rows: true}`): it is made from the datasets themselves
(`codebook.datasets`) and from what a manifest may tell (`codebook.facts`). Levels and extremes of
the datasets are drawn from the confidential ones, so `measures.risk.rare_values` tells the steward
which of them few persons have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from synthesizer.data.errors import DataError
from synthesizer.measures.figure import Result
from synthesizer.report.codebook.conclusions import Analysis, Caution, analysis, cautions
from synthesizer.report.codebook.datasets import FileFormat, read_released
from synthesizer.report.codebook.facts import facts_of
from synthesizer.report.codebook.words import (
    Described,
    Imposed,
    described,
    imposed,
    synthesis_words,
)
from synthesizer.report.record import PublicManifest

PURPOSE = (
    "To go with the synthetic datasets where these are released. Every number here was computed "
    "from the synthetic datasets or set or published by the data holder."
)


class Datasets(Result):
    """The files."""

    files: tuple[str, ...]
    """Names."""
    rows: tuple[int, ...]
    """Of each."""
    format: FileFormat


class Synthesis(Imposed):
    """How the datasets were made."""

    words: tuple[str, ...]
    """Paragraphs."""
    kept: tuple[str, ...]
    """Variables whose values are the confidential ones."""
    strata: tuple[str, ...]
    proper: bool
    evolved: str | None
    """What whole datasets were evolved from: mutants, chain or files; None where they were not."""
    even: bool | None
    """Whether draws of trees were spread evenly; None where no tree was used, inside another model
    neither."""
    after: tuple[str, ...]
    """What was done to every dataset in the end."""
    packages: Mapping[str, str]
    """Versions."""


class ReleaseCodebook(Result):
    """The content of ``codebook.json``, which the page shows and adds nothing to."""

    format: Literal[1] = 1
    purpose: str = PURPOSE
    datasets: Datasets
    synthesis: Synthesis
    variables: tuple[Described, ...]
    """In file order."""
    analysis: Analysis
    cautions: tuple[Caution, ...]


def release_codebook(manifest: PublicManifest, paths: Sequence[Path]) -> ReleaseCodebook:
    """Return the codebook of synthetic datasets, from the public part of their manifest."""
    facts = facts_of(manifest)
    if not facts.steps or not paths:
        raise DataError(
            "manifest.json does not list datasets and the chain that made them; write the result "
            "again with 'synthesizer run'"
        )
    released = read_released(paths, facts)
    facts = facts.only(released.variables)
    trees = facts.trees.values()
    return ReleaseCodebook(
        datasets=Datasets(files=released.files, rows=released.rows, format=released.format),
        synthesis=Synthesis(
            **dict(imposed(facts)),
            words=tuple(synthesis_words(facts)),
            kept=tuple(facts.kept),
            strata=facts.strata if facts.is_modelled else (),
            proper=facts.config.proper,
            evolved=facts.start,
            even=any(tree.even for tree in trees) if trees else None,
            after=facts.after,
            packages=facts.packages,
        ),
        variables=tuple(described(released, facts)),
        analysis=analysis(facts, released),
        cautions=cautions(facts, released),
    )
