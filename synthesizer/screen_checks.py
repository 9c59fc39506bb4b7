"""The checks in plain words: each figure with its direction and its baseline."""

from __future__ import annotations

from collections.abc import Iterator

from synthesizer.checks import CheckResults, Summary

__all__ = ["check_lines"]

WORST_PAIRS = 3
FAR_OFF = 3.0
"""A one-way S_pMSE above it says that a distribution is visibly wrong."""


def check_lines(results: CheckResults) -> Iterator[str]:
    """Yield the lines of the screen summary."""
    summary = results.summary
    yield "checks:"
    yield from _utility(results, summary)
    yield from _cap(results, summary)
    yield from _differential(results, summary)
    for name, why in results.failed.items():
        yield f"  {name}: could not be computed: {why}"
    if results.scenario is not None:
        scenario = results.scenario
        yield f"  (keys {', '.join(scenario.keys)}; target {scenario.target})"


def _utility(results: CheckResults, summary: Summary) -> Iterator[str]:
    if results.tables is None:
        return
    if summary.mean_two_way is not None:
        yield (
            f"  utility: mean two-way S_pMSE {summary.mean_two_way:.2f}, worst pair "
            f"{summary.worst_two_way:.2f} (a fresh sample has 2; lower is better)"
        )
        worst = results.tables.worst(2, WORST_PAIRS)
        pairs = (
            f"{name} {value:.2f}"
            for name, value in zip(worst["variables"], worst["S_pMSE"], strict=True)
        )
        yield f"           worst pairs: {', '.join(pairs)}"
    if summary.worst_one_way is not None:
        worst = results.tables.worst(1, 1)
        yield (
            f"  one-way: worst variable {worst['variables'].iloc[0]}, S_pMSE "
            f"{summary.worst_one_way:.2f}"
        )
    if max(summary.worst_one_way or 0, (summary.worst_two_way or 0) / 5) > FAR_OFF:
        yield (
            "           far off: look at the worst pairs; a smaller min_leaf, another order of the "
            "variables or forbid: may help, at some risk"
        )


def _cap(results: CheckResults, summary: Summary) -> Iterator[str]:
    if results.cap is None or summary.cap is None:
        return
    last = results.cap.synthetic[-1].m
    matched = results.cap.row(last).matched
    undefined = "none" if summary.cap_undefined is None else f"{summary.cap_undefined:.3f}"
    yield (
        f"  CAP: {summary.cap:.3f} with non-matches zero, {undefined} among the "
        f"{matched:,} of {results.cap.n:,} records that match"
    )
    yield (
        f"       baseline {summary.cap_baseline:.3f} (guessing from the distribution), original "
        f"{summary.cap_original:.3f} (releasing the data); lower is safer"
    )


def _differential(results: CheckResults, summary: Summary) -> Iterator[str]:
    value = summary.differential_confidentiality
    if results.differential is None or value is None:
        return
    interval = ""
    if summary.differential_low is not None and summary.differential_high is not None:
        low, high = summary.differential_low, summary.differential_high
        verdict = "covers 0" if low <= 0 <= high else "does not cover 0"
        interval = f", 95 % interval {low:.3f} to {high:.3f} {verdict}"
    zero = [row for row in results.differential.summary if row.rule == "zero"][-1]
    yield (
        f"  differential confidentiality: fitted records {zero.mean_a:.3f}, unseen "
        f"{zero.mean_b:.3f}, difference {value:.3f}{interval}"
    )
    yield "       (what the synthesis knows of its own records beyond others; 0 is none)"
