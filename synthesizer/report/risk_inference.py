"""What public variables and the synthetic data tell of a sensitive variable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.report.numbers import written
from synthesizer.report.parts import Block, Chart, DataTable, Gap, Section, Words
from synthesizer.report.record import Record, mappings, number, numbers, words
from synthesizer.report.risk_cells import cell_blocks
from synthesizer.report.risk_lines import MOST_CURVES, roc
from synthesizer.report.risk_other_rates import auc, auc_of_original, question
from synthesizer.report.risk_reading import (
    count,
    failed_like,
    joined,
    names,
    part,
    risk_part,
)
from synthesizer.report.risk_words import COUNT, FIGURE

__all__ = ["inference_section"]

_ASK = (
    "No sensitive variable was asked for. Name one, and what anybody can look up, under checks: "
    "{inference: {sensitive: VARIABLE, public: [VARIABLE, ...]}} (or --sensitive and --public)."
)
_READS = (
    "Everybody whose share of the level among the synthetic records with the same public values "
    "lies above some threshold is taken for it; the curve has a point for every threshold. On the "
    "diagonal the synthetic data tell nothing; the farther up and left, the more they tell. AUC is "
    "the area below: 0.5 is guessing, 1 is certainty. Published margins tell something too: "
    "compare the rates below."
)


def inference_section(record: Record) -> Section | None:
    """Return each question about a sensitive variable; None without a part about risk.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    told = risk_part(record)
    if not told:
        return None
    blocks = [block for entry in mappings(told, "inference") for block in _question(entry)]
    blocks += [
        Gap(f"Inference ({name})", f"It could not be computed: {why}")
        for name, why in failed_like(record, "inference")
    ]
    return Section(
        anchor="inference",
        title="Inference of a sensitive variable",
        lead="What anybody who knows public values learns of a value that should stay private.",
        blocks=blocks or [Words([_ASK])],
    )


def _question(entry: Mapping[str, Any]) -> Iterator[Block]:
    yield Markup("<h3>{}</h3>").format(f"Inferring {question(entry)}")
    yield Words(list(_sentences(entry)))
    curves = [curve for curve in mappings(entry, "roc") if _points(curve)]
    if curves:
        yield _chart(entry, curves)
    else:
        yield Gap(
            "The ROC curve",
            "It needs persons with and without the level whose public values occur in the "
            "synthetic data.",
        )
    yield _rates(entry)
    yield from _thresholds(entry)
    yield from cell_blocks(entry)


def _sentences(entry: Mapping[str, Any]) -> Iterator[str]:
    guesses, revealed = part(entry, "thresholds"), part(entry, "classification")
    sought = words(entry, "sensitive") or "the sensitive variable"
    yield (
        f"Of persons whose public values the synthetic data have, {sought} is guessed right at a "
        f"rate of {_share(guesses, 'right_of_present')}; by chance it would be "
        f"{_share(guesses, 'chance_right_of_present')}, from published margins "
        f"{_share(guesses, 'baseline_right_of_present')}, from the original "
        f"{_share(guesses, 'original_right_of_present')}. A share of "
        f"{_share(guesses, 'absent_share')} of the persons cannot be found at all."
    )
    yield (
        f"The revealed share is {_share(revealed, 'revealed')}: so many synthetic records give "
        f"away a true {sought}. By chance it would be {_share(revealed, 'chance')}, from "
        f"published margins {_share(revealed, 'baseline')}, from the original "
        f"{_share(revealed, 'original')}."
    )
    margins = names(entry, "baseline")
    yield (
        f"Published margins: the distribution of {sought} "
        + (f"within {joined(margins)}." if margins else "of everybody.")
        + " What they tell is no news: lower is safer, and near the margins is safe."
    )


def _share(content: Mapping[str, Any], name: str) -> str:
    return written(number(content, name), "share")


def _points(curve: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return (false positive rate, true positive rate) of a stored curve; from 1 to 0."""
    stored = curve.get("curve")
    points = stored if isinstance(stored, list | tuple) else []
    pairs = (numbers(point[1:3]) for point in points if isinstance(point, list | tuple))
    return [(1 - pair[1], pair[0]) for pair in pairs if len(pair) == 2]


def _chart(entry: Mapping[str, Any], curves: Sequence[Mapping[str, Any]]) -> Chart:
    curves = sorted(curves, key=lambda curve: -(number(curve, "positives") or 0.0))
    named = [(_name(entry, curve), _points(curve)) for curve in curves]
    title = f"ROC curve: {question(entry)}"
    whole, own = auc(entry), auc_of_original(entry)
    summary = (
        f"AUC {written(whole, 'share')} from the synthetic data, {written(own, 'share')} from the "
        "original on the same persons, 0.5 by guessing"
        + (f"; means over {len(curves)} levels by number of persons." if len(curves) > 1 else ".")
    )
    more = len(curves) - MOST_CURVES
    return Chart(
        title=title,
        svg=roc(named, title=title, description=summary),
        reads=_READS + (f" The {MOST_CURVES} most frequent levels are drawn." * (more > 0)),
        summary=summary,
        table=_curves(entry, curves),
    )


def _name(entry: Mapping[str, Any], curve: Mapping[str, Any]) -> str:
    level = words(curve, "level") or "empty"
    area = written(number(curve, "auc"), "share")
    return f"{words(entry, 'sensitive')} = {level} (AUC {area})"


def _curves(entry: Mapping[str, Any], curves: Sequence[Mapping[str, Any]]) -> DataTable:
    counts = ("positives", "negatives", "left_out", "thresholds")
    shares = ("auc", "auc_all", "auc_original", "auc_original_of_present")
    best = ("best_threshold", "best_tpr", "best_tnr")
    return DataTable(
        caption=f"Each level of {words(entry, 'sensitive')} against the others; best: the share "
        "with the largest sum of both rates",
        columns=(
            "Level",
            "Persons with it",
            "Without",
            "Not found",
            "Thresholds",
            "AUC",
            "AUC of all persons",
            "AUC of the original",
            "Of the original, same persons",
            "Best share",
            "Its true positive rate",
            "Its true negative rate",
        ),
        forms=("text", *[COUNT] * 4, *[FIGURE] * 7),
        rows=[
            (
                words(curve, "level") or "empty",
                *(count(curve, name) for name in counts),
                *(number(curve, name) for name in (*shares, *best)),
            )
            for curve in curves
        ],
        sortable=len(curves) > 4,
    )


def _rates(entry: Mapping[str, Any]) -> DataTable:
    shown, right = part(entry, "classification"), part(entry, "thresholds")
    unique = part(entry, "uniqueness")
    present = "_of_present"
    return DataTable(
        caption="Rates: from the synthetic data, by chance, from published margins, from the "
        "original",
        columns=("Rate", "Synthetic", "Chance", "Margins", "Original"),
        forms=("text", *[FIGURE] * 4),
        rows=[
            ("revealed share", *_four(shown, "revealed", "chance", "baseline", "original")),
            (
                "guessed right, of those found",
                *_four(
                    right,
                    f"right{present}",
                    f"chance_right{present}",
                    f"baseline_right{present}",
                    f"original_right{present}",
                ),
            ),
            (
                "guessed right, of all persons",
                *_four(right, "right", "", "baseline_right", "original_right"),
            ),
            (
                "shown right, of persons with public values of their own",
                *_four(unique, "right", "chance", "", ""),
            ),
            ("margins guess right too, of those right", *_four(right, "", "", "right_in_both", "")),
            ("told less than margins tell", *_four(right, "lower", "", "", "")),
            ("told as much", *_four(right, "equal", "", "", "")),
            ("told more", *_four(right, "higher", "", "", "")),
        ],
    )


def _four(content: Mapping[str, Any], *fields: str) -> Iterator[float | None]:
    """Yield the numbers of four fields; None where the name is empty."""
    return (number(content, field) if field else None for field in fields)


def _thresholds(entry: Mapping[str, Any]) -> Iterator[Block]:
    found = mappings(entry, "thresholds", "rows")
    if not found:
        return
    fields = ("share", "kept_chance_share", "chance_share", "baseline_share", "original_share")
    yield DataTable(
        caption="Share of all persons whose true level has at least this probability; near 1 they "
        "come mostly from combinations with one or two synthetic records, where chance makes "
        "them too",
        columns=(
            "Probability at least",
            "Persons",
            "Synthetic",
            "Chance, records kept",
            "Chance, levels drawn",
            "Margins",
            "Original",
        ),
        forms=("text", "count", *[FIGURE] * 5),
        rows=[
            (
                number(row, "threshold"),
                count(row, "count"),
                *(number(row, field) for field in fields),
            )
            for row in found
        ],
    )
