"""What the commands that compare runs print: a table of the runs and what to keep in mind."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from synthesizer.report.comparison_page import setting_text
from synthesizer.report.comparison_ties import standing_words
from synthesizer.report.numbers import DASH
from synthesizer.runs.key_paths import display
from synthesizer.runs.measures import CAREERS
from synthesizer.screen import notes_told, say, tabulate

if TYPE_CHECKING:
    from synthesizer.runs.comparison import Comparison
    from synthesizer.runs.frontier import Frontier
    from synthesizer.runs.points import RunPoint

__all__ = ["show_comparison", "show_frontier"]

WIDEST = 40
"""Letters of a setting on the screen; the page has them all."""


def show_comparison(comparison: Comparison) -> None:
    """Print the runs, what was set differently, and which of them no other one beats."""
    best = set(comparison.frontier)
    set_up = [_settings(point, comparison, best) for point in comparison.points]
    tabulate(f"{len(set_up)} runs: settings that differ", _SETTINGS, set_up)
    _tables(comparison)
    if comparison.risk and comparison.utility:
        pair = f"{comparison.risk[0].title} and {comparison.utility[0].title}"
        say(f"frontier: no other run is better on both {pair}")
        for one in comparison.standings:
            say(f"  {one.run}: {standing_words(one.to_dict())}")
    for point in comparison.points:
        for limit in point.exceeded:
            say(f"{point.name}: exceeds {limit}")
    notes_told(comparison.notes)


def _tables(comparison: Comparison) -> None:
    points = comparison.points
    used: tuple[str, ...] = (*_USE, f"{comparison.units} of a dataset")
    use, risk = [_use(point) for point in points], [_risk(point) for point in points]
    risky: tuple[str, ...] = _RISK
    if comparison.has_careers:
        used, risky = (*used, "careers over noise"), (*risky, "careers of one person")
        values = [tuple(point.value(key) for key in CAREERS) for point in points]
        use = [(*row, ratio) for row, (ratio, _) in zip(use, values, strict=True)]
        risk = [(*row, share) for row, (_, share) in zip(risk, values, strict=True)]
    tabulate("utility; lower is better", used, use)
    tabulate("risk; lower is safer", risky, risk)


_SETTINGS = ("run", "settings", "limits exceeded", "on the frontier")
_USE = (
    "run", "mean two-way S_pMSE", "spread over datasets", "worst pair", "pMSE ratio",
)  # fmt: skip
_RISK = (
    "run", "CAP", "spread over single datasets", "by chance", "differential confidentiality",
    "DiSCO", "repU", "nearer share",
)  # fmt: skip


def _settings(point: RunPoint, comparison: Comparison, best: Collection[str]) -> tuple[object, ...]:
    return (
        point.name,
        "; ".join(_setting(point, comparison)),
        len(point.exceeded) if point.has_limits else DASH,
        _place(point, comparison, best),
    )


def _place(point: RunPoint, comparison: Comparison, best: Collection[str]) -> str:
    """Say whether a run is on the frontier; a dash where it could not be."""
    first = (*comparison.risk[:1], *comparison.utility[:1])
    if not best or any(point.value(measure.key) is None for measure in first):
        return DASH
    return "yes" if point.name in best else "no"


def _use(point: RunPoint) -> tuple[object, ...]:
    ratio = point.value("pmse_ratio_cart")
    return (
        point.name,
        point.value("mean_two_way"),
        _spread(point, "mean_two_way"),
        " and ".join(point.worst_pair),
        point.value("pmse_ratio_logit") if ratio is None else ratio,
        point.rows,
    )


def _risk(point: RunPoint) -> tuple[object, ...]:
    half = point.figures["differential_confidentiality"]
    return (
        point.name,
        point.value("cap"),
        _spread(point, "cap"),
        point.figures["cap"].baseline,
        _interval(half.value, half.low, half.high),
        point.value("disco"),
        point.value("repu"),
        point.value("nearer_share"),
    )


def _spread(point: RunPoint, key: str) -> float | str:
    """Return the range of the single datasets: with fewer than two it is unknown."""
    found = point.figures[key].range_of_datasets
    return "unknown" if found is None else found


def _setting(point: RunPoint, comparison: Comparison) -> Sequence[str]:
    texts = [
        f"{display(path)}: {setting_text(point.settings.get(path))}"
        for path in comparison.differing
    ]
    return [text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…" for text in texts]


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return ""
    ends = "" if low is None or high is None else f" ({low:.3f} to {high:.3f})"
    return f"{value:.3f}{ends}"


def show_frontier(found: Frontier) -> None:
    """Print the comparison of a grid, what failed, and where the result is."""
    show_comparison(found.comparison)
    for name, why in found.failed.items():
        say(f"failed: {name}: {'; '.join(why)}")
    say("outputs:")
    for name in ("frontier.html", "frontier.json"):
        say(f"  {found.directory / name} (confidential: not for release)")
    say(f"  {found.directory} (a directory for each setting)")
