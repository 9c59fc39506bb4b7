"""Propensity scores: can a model distinguish synthetic from original records?"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from synthesizer.data.errors import plural
from synthesizer.measures.figure import in_units
from synthesizer.measures.results import UtilityResult
from synthesizer.measures.utility.propensity import PmseResult, PropensityMeans, PropensityResult
from synthesizer.report.blocks import (
    Added,
    Block,
    Chart,
    Gap,
    Note,
    Words,
    row_table,
    section,
    written,
)
from synthesizer.report.charts import histograms
from synthesizer.report.expected import (
    Expected,
    chance_in_words,
    distance_in_words,
    expected_of,
    right_share,
    short,
)
from synthesizer.report.record import Record

MODELS = {"logit": "a logistic regression", "cart": "a classification tree"}
_SCORES = ("pmse", "expected", "s_pmse", "z_pmse", "specks", "po50")
_WHAT = (
    "Both files are stacked, and a model predicts for each {record} the probability that it is "
    "synthetic. pMSE (propensity score mean squared error) is the mean squared difference between "
    "predictions and the share of synthetic {records}; 0: files cannot be distinguished. pMSE "
    "ratio: pMSE over its expectation by chance. Standardised: standard deviations above that "
    "expectation. SPECKS: largest distance between the distributions of predictions, from 0 "
    "(equal) to 1. PO50: percentage points of right predictions above 50 %."
)
_FULL_TABLE = (
    "The Jensen-Shannon distance compares the table of all variables, from 0 (equal) to 1 (no "
    "combination in common). With many variables nearly all {records} are unique combinations, so "
    "the distance is near 1 for any synthesis that does not copy {records}. That is no sign of low "
    "utility."
)


@section(
    "propensity",
    "Propensity score",
    "Can a model distinguish synthetic from original records by all variables?",
)
def propensity_section(record: Record) -> Iterator[Block]:
    """Yield the scores of each model and dataset, and the distance of the full table."""
    utility = record.results.utility
    if utility is None or not utility.propensity:
        yield _nothing(utility)
    else:
        yield Words([in_units(_WHAT, utility.units)])
        for scores in utility.propensity:
            yield from _model(scores, record)
    if utility is not None and utility.distance is not None:
        yield Words([in_units(_FULL_TABLE, utility.units)])
        distance = utility.distance
        yield row_table(
            distance.datasets,
            labels=("Dataset", [str(number) for number, _ in enumerate(distance.datasets, 1)]),
            caption="Jensen-Shannon distance of the table of "
            f"{plural(len(distance.names), 'variable')}; combinations are counted",
        )


def _nothing(utility: UtilityResult | None) -> Gap:
    failed = {} if utility is None else utility.failed
    reasons = [why for measure, why in failed.items() if "propensity" in measure]
    if reasons:
        return Gap("the propensity score", f"It could not be computed: {'; '.join(reasons)}")
    return Gap("the propensity score", "It was off: set checks.propensity and run again.")


def _model(scores: PmseResult, record: Record) -> Iterator[Block]:
    name, ratio = MODELS[scores.model], scores.mean.s_pmse
    shown = "there is no pMSE ratio" if ratio is None else f"the pMSE ratio is {written(ratio)}"
    yield Note(f"By {name}, {shown}: {ratio_in_words(scores, record)}.")
    yield from _histogram(scores)
    yield Words([_reading(scores, expected_of(record))])
    numbers = [str(number) for number, _ in enumerate(scores.datasets, 1)]
    several = len(numbers) > 1
    yield row_table(
        [*scores.datasets, *([scores.mean] if several else [])],
        labels=("Dataset", [*numbers, *(["mean"] if several else [])]),
        names=[*_SCORES, Added("Converged", "text", _converged)],
        caption=f"Propensity score by {name}, {_how(scores)}",
        highlight=[i for i, dataset in enumerate(scores.datasets) if not dataset.converged],
    )


def _histogram(scores: PmseResult) -> Iterator[Chart]:
    """Yield the scores of both files, means over the datasets; nothing if none were stored."""
    sides = [
        [fmean(shares) for shares in zip(*(getattr(d, name) for d in scores.datasets), strict=True)]
        for name in ("original_scores", "synthetic_scores")
    ]
    if not all(sides):
        return
    title, shared = f"Scores by {MODELS[scores.model]}", sum(map(min, zip(*sides, strict=True)))
    summary = f"The two distributions have a share of {written(shared, 'share')} in common."
    yield Chart(
        title=title,
        svg=histograms(
            *sides,
            title=title,
            description=summary,
            label="predicted probability that a record is synthetic",
        ),
        reads="Columns: original records. Line: synthetic records. If both are equal, the model "
        "cannot distinguish them. If the line is farther right, it can.",
        summary=summary,
    )


def _converged(scores: PropensityMeans) -> str:
    """Return whether the fit of a dataset converged; empty for means."""
    if not isinstance(scores, PropensityResult):
        return ""
    return "yes" if scores.converged else "no: approximate"


def ratio_in_words(scores: PmseResult, record: Record) -> str:
    """Return the mean pMSE ratio of a model in words.

    The expectation by formula is that of a correct model, and a new sample has 1 + k/n of it. The
    expectation by permutations is that of a new sample.
    """
    ratio, expected = scores.mean.s_pmse, expected_of(record)
    if scores.permutations:
        return chance_in_words(ratio, scores.mean.z_pmse, right_share(scores, expected))
    gap = distance_in_words(ratio, expected)
    if ratio is None or not only_margins(scores):
        return gap
    utility = record.results.utility
    has_tree = utility is not None and any(s.model == "cart" for s in utility.propensity)
    advice = "add cart (checks: {propensity: [logit, cart]})"
    remedy = "see the classification tree" if has_tree else advice
    return f"the margins are {gap}; this model does not test relations between variables: {remedy}"


def only_margins(scores: PmseResult) -> bool:
    """Whether a model has each variable alone: a logit with main effects."""
    return scores.model == "logit" and scores.interactions == 1


def _reading(scores: PmseResult, expected: Expected) -> str:
    """Return the references of a model's figures in words."""
    if scores.permutations or scores.model == "cart":
        level = right_share(scores, expected)
        down = f" A correct model with fixed parameters can be as low as 1 - c = {short(level)}"
        down += ", where c is the share of synthetic records."
        return (
            "A tree finds relations, and also fits noise: 1 is the expectation of a new sample of "
            f"the same population, by permutation of the labels.{down if level < 1 else ''} "
            "SPECKS and PO50 of a tree are above 0 by chance alone, and have no reference here."
        )
    sees = (
        "Main effects describe the margins only, not relations between variables. "
        if only_margins(scores)
        else ""
    )
    return f"{sees}{expected.sentence}"


def _how(scores: PmseResult) -> str:
    how = plural(len(scores.names), "variable")
    if scores.model == "logit":
        order = scores.interactions
        how += ", main effects" if order == 1 else f", interactions to order {order}"
    if scores.permutations:
        how += f", expectation from {plural(scores.permutations, 'permutation')}"
    return how
