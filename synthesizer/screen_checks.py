"""The checks in plain words: each figure with its direction and its baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from synthesizer.check_results import CheckResults, Summary
from synthesizer.figures import Figure
from synthesizer.risk.result import RiskResult

__all__ = ["figure_table", "headlines", "legend", "risk_lines", "utility_lines"]

WORST_PAIRS = 3
MOST_WARNINGS = 3
FAR_OFF = 3.0
"""A one-way S_pMSE above it says that a distribution is visibly wrong."""
HEADLINES = frozenset(
    {
        "differential confidentiality",
        "worst group",
        "share nearer to the fitted half",
        "CAP",
        "CAP of matches",
        "CAP-U",
        "CAP of special uniques",
        "TCAP",
        "DiSCO",
        "repU",
        "replicated uniques",
        "revealed share",
        "guessed right",
        "AUC",
        "singling out by rare values: risk",
        "singling out by combinations: risk",
        "linkability: risk",
        "inference: risk",
    }
)
"""The figures of the summary of a run; all others are in ``checks.json``."""


def headlines(figures: Iterable[Figure]) -> list[Figure]:
    """Return the figures that a summary shows."""
    return [figure for figure in figures if figure.name in HEADLINES]


def figure_table(figures: Sequence[Figure]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return columns and rows of a table of figures; empty columns are left out."""
    columns: dict[str, list[str]] = {
        "figure": [f.name for f in figures],
        "value": [_number(f.value, f) for f in figures],
        "95 % interval": [_interval(f) for f in figures],
        "baseline": [_number(f.baseline, f) if f.baseline is not None else "" for f in figures],
        "original": [_number(f.original, f) if f.original is not None else "" for f in figures],
        "records": [f"{f.n:,}" for f in figures],
        "reads": [f.direction for f in figures],
    }
    used = {name: cells for name, cells in columns.items() if any(cells)}
    return tuple(used), list(zip(*used.values(), strict=True))


def legend(figures: Sequence[Figure]) -> list[str]:
    """Say what each figure is, once."""
    return [f"  {name}: {what}" for name, what in {f.name: f.meaning for f in figures}.items()]


def _number(value: float | None, figure: Figure) -> str:
    if value is None:
        return "none"
    return f"{value:,.0f}" if figure.direction == "a count" else f"{value:.4f}"


def _interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low:.4f} to {figure.high:.4f}"


def risk_lines(risk: RiskResult) -> Iterator[str]:
    """Yield what must be known to read the figures: verdict, warnings, what failed."""
    for part in risk.scenarios:
        first = None if part.differential is None else part.differential.figures[0]
        if first is not None and first.low is not None and first.high is not None:
            where = f"{part.scenario.label}: the interval {first.low:.3f} to {first.high:.3f}"
            if first.low <= 0 <= first.high:
                yield (
                    f"  differentially confidential by this test for {where} covers 0; a "
                    f"difference of up to {first.high:.3f} is not excluded"
                )
            else:
                yield f"  not differentially confidential for {where} does not cover 0"
        worst = None if part.differential is None else part.differential.worst_group
        if worst is not None:
            yield (
                f"  worst group of {worst.by}: {worst.group}, fitted {worst.mean_a:.3f}, unseen "
                f"{worst.mean_b:.3f} ({worst.n_a:,} and {worst.n_b:,} persons or records)"
            )
    yield from (f"  note: {note}" for note in risk.notes)
    for warning in risk.warnings[:MOST_WARNINGS]:
        yield f"  note: {warning}"
    if len(risk.warnings) > MOST_WARNINGS:
        more = len(risk.warnings) - MOST_WARNINGS
        yield f"  note: {more} more of these are in checks.json (or --json)"
    for name, why in risk.failed.items():
        yield f"  {name}: could not be computed: {why}"


def utility_lines(results: CheckResults) -> Iterator[str]:
    """Yield the lines about utility."""
    yield from _utility(results, results.summary)


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
