"""How evolved datasets were made, in words that a researcher understands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from synthesizer.release.facts import Evolution, Facts
from synthesizer.release.imposed import limits
from synthesizer.release.names import listed

__all__ = ["evolution_words", "number_words", "value_words"]

BEGINNINGS: Mapping[str, str] = {
    "mutants": (
        "The datasets were evolved from the confidential data by a genetic algorithm; no model was "
        "fitted. A whole population of datasets began as versions of the confidential data, in "
        "each of which some values had been drawn anew."
    ),
    "files": (
        "The datasets were evolved by a genetic algorithm; no model was fitted here. A whole "
        "population of datasets began as files that the data holder chose, and as versions of "
        "them. How these files were made is not told here: ask the data holder."
    ),
    "chain": (
        "Then the datasets were evolved by a genetic algorithm. A whole population of datasets had "
        "been drawn as told above."
    ),
}
SELECTED = (
    "Datasets were selected by how close their tables are to those of the confidential data, and "
    "by how low their disclosure risk is. Each dataset of this release is one that was selected in "
    "the end."
)
ENDS: Mapping[str, str] = {
    "mutants": (
        "So a record is one of the confidential data as it is, unless something in it was changed "
        "or another record took its place. Usually most records are unchanged; which ones is not "
        "told. These are perturbed data rather than draws from a model."
    ),
    "files": (
        "Whether records are those of real persons depends on the files that the datasets began as."
    ),
    "chain": (
        "So it can be closer to the confidential data than a fresh draw from the models would be."
    ),
}
ORIGINS: Mapping[str, str] = {
    "mutants": "the confidential data",
    "files": "the files that the datasets began as",
}


def evolution_words(facts: Facts) -> Iterator[str]:
    """Yield paragraphs on how whole datasets were evolved; none where they were not."""
    evolution = facts.evolution
    if evolution is None:
        return
    yield BEGINNINGS[evolution.start]
    moves = listed([*_moves(evolution)])
    changes = f"From one generation to the next {moves}. " if moves else ""
    yield f"{changes}{SELECTED}"
    yield ENDS[evolution.start]
    if not facts.is_modelled and (rules := limits(facts)):
        yield (
            "A value was not changed, and a record not replaced, where the new record would have "
            "broken a rule of the data holder; records that broke one from the beginning were "
            f"replaced by others. The rules: {' '.join(rules)}"
        )


def _moves(evolution: Evolution) -> Iterator[str]:
    if evolution.swapped:
        yield "pairs of datasets swapped whole records"
    if evolution.redrawn:
        yield "single values were drawn anew"
    if evolution.replaced:
        yield "records that carried a disclosure risk were replaced by others of the same dataset"


def value_words(evolution: Evolution, *, has_missing: bool) -> str:
    """Return how the values of a variable were made.

    Parameters
    ----------
    evolution : Evolution
        How whole datasets were evolved.
    has_missing : bool
        Whether missing codes are known to the reader.

    Examples
    --------
    >>> value_words(Evolution(start="chain"), has_missing=False)
    'Afterwards, when whole datasets were evolved, single values were drawn anew.'
    """
    if evolution.start == "chain":
        again = "Afterwards, when whole datasets were evolved, single values were drawn anew."
        return again if evolution.redrawn else ""
    missing = " Missing codes were treated like levels." if has_missing else ""
    redrawn = evolution.redrawn or evolution.start == "mutants"
    single = "single ones that were drawn anew, and for " if redrawn else ""
    return (
        f"The values of {ORIGINS[evolution.start]}, but for {single}those that changed with their "
        f"whole record. No model was fitted.{missing}"
    )


def number_words() -> str:
    """Return what the numbers of an identifier are, where records may be those of real persons."""
    return (
        "Running numbers in the format of the original, given anew. Do not look for a number in "
        "other files: the record beside it may be that of a real person."
    )
