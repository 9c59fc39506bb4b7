"""What fits of models rest on, in words: datasets without a fit, and what to expect by chance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from synthesizer.report.numbers import stopped, written
from synthesizer.report.record import Record, dig, listed, mappings, number, words
from synthesizer.report.trees import Trees, tilts, trees_of

__all__ = [
    "cautions",
    "even_trees",
    "fit_notes",
    "lost_fits",
    "overlap_expected",
    "overlap_in_words",
]

_NAMED = 12
_TOLD = re.compile(r"synthetic dataset \d+ is left out: |the results are of \d+ of \d+ synthetic")
_COUNTED = re.compile(r"the results are of (\d+) of (\d+) synthetic datasets")


def lost_fits(fit: Mapping[str, Any]) -> list[str]:
    """Return the alert about datasets without a fit; empty where every dataset has one.

    Examples
    --------
    >>> own = [{"dataset": 0, "problem": None}, {"dataset": 1, "problem": "too few records"},
    ...        {"dataset": 2, "problem": None}]
    >>> lost_fits({"formula": "pay ~ age", "datasets": own})
    ['pay ~ age: fitted on 1 of 2 datasets: dataset 1 is left out (too few records).']
    """
    name = words(fit, "formula") or "A model without formula"
    made = [own for own in mappings(fit, "datasets") if (number(own, "dataset") or 0) > 0]
    lost = [own for own in made if words(own, "problem")]
    if lost:
        why = "; ".join(_left_out(lost))
        told = f"{name}: fitted on {len(made) - len(lost)} of {len(made)} datasets: {why}"
        return [stopped(told)]
    notes = [words(note) for note in listed(fit, "notes")]
    counted = next((found for note in notes if (found := _COUNTED.match(note))), None)
    why = "; ".join(note.rstrip(". ") for note in notes if "left out" in note or "no fit" in note)
    if counted is not None:
        told = f"{name}: fitted on {counted[1]} of {counted[2]} datasets: {why or 'see there'}"
        return [stopped(told)]
    return [stopped(f"{name}: not fitted on every dataset: {why}")] if why else []


def _left_out(lost: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each reason once, with its datasets."""
    for problem in dict.fromkeys(words(own, "problem") for own in lost):
        own = [words(one, "dataset") for one in lost if words(one, "problem") == problem]
        which = f"dataset {own[0]} is" if len(own) == 1 else f"datasets {', '.join(own)} are"
        yield f"{which} left out ({problem.rstrip('. ')})"


def fit_notes(fit: Mapping[str, Any]) -> list[str]:
    """Return the notes of a fit that `lost_fits` does not tell, each as a sentence.

    Examples
    --------
    >>> fit_notes({"notes": ["the test needs more datasets", "no test."]})
    ['The test needs more datasets.', 'No test.']
    """
    notes = [words(note) for note in listed(fit, "notes")]
    if lost_fits(fit):
        notes = [note for note in notes if not (_TOLD.match(note) or "has no fit" in note)]
    return [stopped(note[:1].upper() + note[1:]) for note in notes]


def overlap_expected(fit: Mapping[str, Any]) -> float | None:
    """Return the mean overlap of intervals to expect of a right synthesis, where it is known."""
    own = next((f for f in mappings(fit, "figures") if f.get("name") == "mean CI overlap"), None)
    return number(own, "baseline")


def overlap_in_words(expected: float | None) -> str:
    """Say what an overlap is to be compared with.

    Examples
    --------
    >>> overlap_in_words(0.909)
    '1 is all, and a right synthesis reaches 0.909 on average'
    """
    if expected is None:
        return "1 is all, which a right synthesis does not reach either"
    return f"1 is all, and a right synthesis reaches {written(expected, 'share')} on average"


def cautions(record: Record) -> list[str]:
    """Return what intervals from the synthetic data assume, by the models of the chain."""
    found = [
        "The rules that combine the datasets assume independent draws from a right model. Where "
        "the model is not right, the intervals can cover the true value less often than they say."
    ]
    trees = _trees(record)
    tilted = [name for name, own in trees.items() if own.tilt]
    if tilted:
        found.append(
            f"Trees made some variables here. The draws of {_in_words(tilted)} were tilted (option "
            "tilt): they follow a linear regression of what the tree leaves unexplained, which "
            "keeps weak linear effects. Interactions and curved relations can still be flattened."
        )
    if len(tilted) < len(trees):
        found.append(
            ("Other trees" if tilted else "Trees made some variables here. Trees")
            + " with large leaves pull relations towards zero, so that intervals for regression "
            "coefficients can cover well below 95 %: 0.85 in a simulation with the default tree "
            "and 1,000 records. The option tilt of cart keeps weak linear effects."
        )
    if even_trees(record):
        found.append(
            "Draws from the trees are even (option even): datasets vary less than independent "
            "draws would."
        )
    found.append("Results from synthetic data must be verified on the original.")
    return found


def even_trees(record: Record) -> bool:
    """Whether some variable was drawn evenly by trees."""
    return any(trees.even for trees in _trees(record).values())


def _trees(record: Record) -> dict[str, Trees]:
    """Return the trees of every variable that has some; ``tilt`` where it was possible."""
    config = dig(record.manifest, "config")
    found = {}
    for step in mappings(record.manifest, "chain"):
        if trees := trees_of(step, config):
            codes = number(step, "codes")
            able = tilts(words(step, "kind"), None if codes is None else int(codes))
            found[words(step, "variable")] = replace(trees, tilt=trees.tilt and able)
    return found


def _in_words(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
