"""Propensity scores: can a model tell synthetic from original records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.report.expected import (
    AGAIN,
    chance_in_words,
    distance_in_words,
    expected_of,
    right_share,
    short,
    utility_of,
)
from synthesizer.report.page import (
    Block,
    Cell,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    Words,
    plural,
    written,
)
from synthesizer.report.untyped import Record, dig, listed, mappings, number, words

MODELS = {"logit": "a logistic regression", "cart": "a classification tree"}
_KEYS = ("pmse", "expected", "s_pmse", "z_pmse", "specks", "po50")
_COLUMNS = (
    "Dataset", "pMSE", "Expected", "pMSE ratio", "Standardised", "SPECKS", "PO50", "Settled",
)  # fmt: skip
_FORMS: tuple[Form, ...] = ("text", *(("figure",) * 6), "text")


def propensity_section(record: Record) -> Section:
    """Return the scores of every model and dataset, and the distance of the full table.

    Parameters
    ----------
    record : Record
        A run; its checks are read.
    """
    return Section(
        anchor="propensity",
        title="Propensity score",
        lead="Can a model that sees all variables tell synthetic from original records?",
        blocks=[*_scores(record), *_distance(record)],
    )


def _scores(record: Record) -> Iterator[Block]:
    found = _entries(record)
    if not found:
        yield _nothing(record)
        return
    yield Words(
        [
            "Both files are stacked, and a model predicts for every record whether it is "
            "synthetic. pMSE is the mean squared distance of its predictions from the share of "
            "synthetic records: 0 is not told apart. The pMSE ratio divides it by what is expected "
            "by chance, and the standardised value says how many standard deviations it lies above "
            "that. SPECKS is the largest distance between the two distributions of the "
            "predictions, from 0 (alike) to 1 (told apart). PO50 is the percentage of records "
            "that are told rightly beyond one half."
        ]
    )
    for entry in found:
        yield from _model(entry, record)


def _nothing(record: Record) -> Gap:
    why = dig(utility_of(record), "failed")
    told = [words(v) for k, v in why.items() if "propensity" in k] if isinstance(why, dict) else []
    if told:
        return Gap("the propensity score", f"It could not be computed: {'; '.join(told)}")
    return Gap(
        "the propensity score",
        "checks.json does not hold it: it was off (checks.propensity), or the file was made by "
        f"an older version. {AGAIN}",
    )


def _model(entry: Mapping[str, Any], record: Record) -> Iterator[Block]:
    model = words(entry, "model")
    name = MODELS.get(model, model or "a model")
    ratio = number(entry, "mean", "s_pmse")
    shown = "there is no pMSE ratio" if ratio is None else f"the pMSE ratio is {written(ratio)}"
    yield Note(f"By {name}, {shown}: {ratio_in_words(entry, record)}.")
    yield Words([_reading(entry, record)])
    datasets = mappings(entry, "datasets")
    rows: list[list[Cell]] = [
        [str(i + 1), *(number(row, key) for key in _KEYS), _settled(row)]
        for i, row in enumerate(datasets)
    ]
    if len(rows) > 1:
        rows.append(["mean", *(number(entry, "mean", key) for key in _KEYS), ""])
    yield DataTable(
        caption=f"Propensity score by {name}, {_how(entry)}",
        columns=_COLUMNS,
        forms=_FORMS,
        rows=rows,
        highlight=[i for i, row in enumerate(datasets) if row.get("converged") is False],
    )


def ratio_in_words(entry: Mapping[str, Any], record: Record) -> str:
    """Say what the mean pMSE ratio of a model means; the two kinds of expectation differ.

    A formula gives what draws from a right model show, and a fresh sample has 1 + k/n of that;
    permutations give what a fresh sample shows.
    """
    ratio, expected = number(entry, "mean", "s_pmse"), expected_of(record)
    if number(entry, "permutations"):
        level = right_share(entry, expected)
        return chance_in_words(ratio, number(entry, "mean", "z_pmse"), level)
    told = distance_in_words(ratio, expected)
    if ratio is None or not only_margins(entry):
        return told
    return f"the margins are {told}; relations between variables are not tested by this model: " + (
        "see the classification tree"
        if any(words(own, "model") == "cart" for own in _entries(record))
        else "add cart (checks: {propensity: [logit, cart]})"
    )


def only_margins(entry: Mapping[str, Any]) -> bool:
    """Whether a model sees each variable by itself only: a logit with main effects."""
    return words(entry, "model") == "logit" and number(entry, "interactions") == 1


def _entries(record: Record) -> list[Mapping[str, Any]]:
    return mappings(utility_of(record), "propensity")


def _reading(entry: Mapping[str, Any], record: Record) -> str:
    """Say what a model's figures are to be compared with."""
    expected = expected_of(record)
    if words(entry, "model") == "cart" or number(entry, "permutations"):
        level = right_share(entry, expected)
        down = f" A right synthesis with fixed parameters may go down to 1 - c = {short(level)}"
        down += ", where c is the share of synthetic records." if level < 1 else ""
        return (
            "A tree finds relations by itself. It follows chance, too: 1 is the level of a fresh "
            "sample of the same population, found by permuting the labels."
            f"{down if level < 1 else ''} SPECKS and PO50 of a tree are far from 0 by chance alone "
            "and have no baseline here: do not read them as “0 is good”."
        )
    sees = (
        "With main effects it sees the margins only: each variable by itself, not relations. "
        if only_margins(entry)
        else ""
    )
    return f"{sees}{expected.sentence}"


def _settled(row: Mapping[str, Any]) -> str:
    return "no: rough" if row.get("converged") is False else "yes"


def _how(entry: Mapping[str, Any]) -> str:
    told = plural(len(listed(entry, "names")), "variable")
    order, permutations = number(entry, "interactions"), number(entry, "permutations")
    if words(entry, "model") == "logit" and order:
        told += ", main effects" if order == 1 else f", interactions to order {order:.0f}"
    if permutations:
        told += f", expectation from {plural(round(permutations), 'permutation')}"
    return told


def _distance(record: Record) -> Iterator[Block]:
    found = dig(utility_of(record), "distance")
    if not isinstance(found, Mapping):
        return
    datasets = mappings(found, "datasets")
    keys = ("distance", "cells_original", "cells_synthetic", "cells_both")
    yield Words(
        [
            "The Jensen-Shannon distance compares the table of all variables at once, from 0 "
            "(the same) to 1 (no combination in common). With many variables nearly every record "
            "is a combination of its own, and the distance is near 1 for any honest synthesis: "
            "that is no sign of low utility, and a small distance would mean that original "
            "records were copied."
        ]
    )
    yield DataTable(
        caption=f"Jensen-Shannon distance of the table of "
        f"{plural(len(listed(found, 'names')), 'variable')}; combinations are counted",
        columns=["Dataset", "Distance", "In the original", "In the synthetic", "In both"],
        forms=["text", "share", "count", "count", "count"],
        rows=[[str(i + 1), *(number(row, k) for k in keys)] for i, row in enumerate(datasets)],
    )
