"""Reading the figures by which runs are compared out of ``checks.json``, old or new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from synthesizer.check_results import LIMITED
from synthesizer.report.record import dig, listed, mappings, number
from synthesizer.runs.measures import MEASURES

__all__ = ["Found", "read_measures", "worst_pair"]


@dataclass(frozen=True, kw_only=True)
class Found:
    """What one run says of one measure; None where it has no such figure.

    Parameters
    ----------
    value : float or None
        Of the run.
    low, high : float or None
        Ends of its 95 % interval.
    baseline, original : float or None
        Where nothing is learnt of anybody, and where the original is released.
    datasets : tuple of (float or None)
        Of each dataset alone; empty where the figure is of all datasets together.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    original: float | None = None
    datasets: tuple[float | None, ...] = ()

    @property
    def spread(self) -> float | None:
        """Return how far the value may be off by the luck that is known; None where none is.

        Half the width of the 95 % interval where there is one, else the largest minus the smallest
        value of the single datasets, of which at least two are needed.
        """
        if self.low is not None and self.high is not None:
            return (self.high - self.low) / 2
        return self.range_of_datasets

    @property
    def range_of_datasets(self) -> float | None:
        """Return the largest minus the smallest value of the datasets; None of fewer than two.

        Examples
        --------
        >>> Found(datasets=(0.5, None, 0.75)).range_of_datasets
        0.25
        """
        known = [value for value in self.datasets if value is not None]
        return max(known) - min(known) if len(known) > 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {
            "datasets": list(self.datasets),
            "range_of_datasets": self.range_of_datasets,
            "spread": self.spread,
        }


def read_measures(checks: Mapping[str, Any]) -> dict[str, Found]:
    """Read every measure out of ``checks.json`` of format 1 or 2; never raises.

    Parameters
    ----------
    checks : mapping
        Content of the file; parts of the wrong shape count as missing.

    Examples
    --------
    >>> found = read_measures({"summary": {"mean_two_way": 1.6, "cap": 0.28}})
    >>> found["mean_two_way"].value, found["cap"].value, found["repu"].value
    (1.6, 0.28, None)
    """
    figures = {str(f.get("name")): f for f in _main_figures(checks)}
    datasets = _dataset_values(checks)
    found = {}
    for key in MEASURES:
        figure = figures.get(LIMITED.get(key, ""), {})
        found[key] = Found(
            value=number(checks, "summary", key),
            low=number(figure, "low"),
            high=number(figure, "high"),
            baseline=number(figure, "baseline"),
            original=number(figure, "original"),
            datasets=datasets.get(key, ()),
        )
    further = _nearer(checks) | _careers(checks) | _utility(checks)
    return found | _single(checks, figures, datasets) | further


def _single(
    checks: Mapping[str, Any],
    figures: Mapping[str, Mapping[str, Any]],
    datasets: Mapping[str, tuple[float | None, ...]],
) -> dict[str, Found]:
    """Return CAP and differential confidentiality of single datasets: they do not grow with m."""
    rows = [row for row in _cap_rows(checks, "synthetic") if row.get("m") == 1]
    singles = _cap_rows(checks, "singles") or rows
    cap = Found(
        value=_mean(number(row, "zero") for row in singles),
        baseline=_mean(number(row, "chance_zero") for row in singles),
        original=number(figures, "CAP", "original"),
        datasets=datasets.get("cap", ()),
    )
    halves = mappings(_main(checks), "differential_confidentiality", "summary")
    one = [row for row in halves if row.get("m") == 1 and row.get("rule") == "zero"]
    half = one[0] if one else {}
    differential = Found(
        value=number(half, "difference"),
        low=number(half, "low"),
        high=number(half, "high"),
        baseline=0.0 if one else None,
    )
    return {"cap_single": cap, "differential_single": differential}


def _nearer(checks: Mapping[str, Any]) -> dict[str, Found]:
    result = dig(checks, "risk", "nearest")
    found = Found(
        value=number(checks, "summary", "nearer_share"),
        low=number(result, "low"),
        high=number(result, "high"),
        baseline=0.5 if result else None,
        original=number(result, "original"),
    )
    return {"nearer_share": found}


def _careers(checks: Mapping[str, Any]) -> dict[str, Found]:
    """Return how far careers of a panel are off, in multiples of the noise floor."""
    measures = mappings(checks, "panel", "sequences", "measures")
    floors = [number(one, "floor") for one in measures]
    ratios = [
        [value / floor for value in listed(one, "datasets") if isinstance(value, float)]
        for one, floor in zip(measures, floors, strict=True)
        if floor
    ]
    found = Found(
        value=number(checks, "summary", "sequence_ratio"),
        baseline=1.0 if measures else None,
        datasets=tuple(map(max, zip(*ratios, strict=False))),
    )
    return {"sequence_ratio": found}


def _utility(checks: Mapping[str, Any]) -> dict[str, Found]:
    """Return what the summary does not hold: propensity scores, ratio of estimates, fits."""
    found = {}
    for result in mappings(checks, "utility", "propensity"):
        found[f"pmse_ratio_{result.get('model')}"] = Found(
            value=number(result, "mean", "s_pmse"),
            datasets=_numbers(mappings(result, "datasets"), "s_pmse"),
        )
    ratios = _numbers(_table_rows(checks, ways=2), "ROE_mean")
    losses = tuple(None if ratio is None else 1 - ratio for ratio in ratios)
    fits = [number(fit, "mean_overlap") for fit in mappings(checks, "utility", "fits")]
    overlap = _mean(fits)
    found["roe_loss"] = Found(value=_mean(losses), datasets=losses)
    found["overlap_loss"] = Found(value=None if overlap is None else 1 - overlap)
    return {key: one for key, one in found.items() if key in MEASURES}


def _dataset_values(checks: Mapping[str, Any]) -> dict[str, tuple[float | None, ...]]:
    """Return the values of every dataset alone, where the file has them."""
    main = _main(checks)
    singles = _cap_rows(checks, "singles")
    one, two = (_table_rows(checks, ways=ways) for ways in (1, 2))
    largest = "S_pMSE_max" if "S_pMSE_max" in {key for row in two for key in row} else "max"
    mean = largest.replace("max", "mean")
    return {
        "cap": _numbers(singles, "zero"),
        "cap_undefined": _numbers(singles, "undefined"),
        "repu": _numbers(mappings(main, "identity", "datasets"), "repu"),
        "disco": _numbers(mappings(main, "attribute", "datasets"), "disco"),
        "replicated_careers": _numbers(
            mappings(checks, "risk", "replicated_careers", "datasets"), "unique"
        ),
        "mean_two_way": _numbers(two, mean),
        "worst_two_way": _numbers(two, largest),
        "worst_one_way": _numbers(one, largest),
    }


def _main(checks: Mapping[str, Any]) -> Mapping[str, Any]:
    scenarios = mappings(checks, "risk", "scenarios")
    return scenarios[0] if scenarios else {}


def _main_figures(checks: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        *mappings(_main(checks), "figures"),
        *mappings(checks, "risk", "replicated_uniques", "figures"),
        *mappings(checks, "risk", "replicated_careers", "figures"),
    ]


def _cap_rows(checks: Mapping[str, Any], part: str) -> list[Mapping[str, Any]]:
    rows = mappings(_main(checks), "cap", part)
    return [row for row in rows if row.get("subset") == "all"]


def _table_rows(checks: Mapping[str, Any], *, ways: int) -> list[Mapping[str, Any]]:
    """Return the rows of each dataset about tables: today's place, else that of format 1."""
    rows = mappings(checks, "utility", "tables", "by_dataset")
    rows = rows or mappings(checks, "tables", "S_pMSE_by_dataset")
    return [row for row in rows if row.get("ways") == ways]


def _numbers(rows: Iterable[Mapping[str, Any]], key: str) -> tuple[float | None, ...]:
    return tuple(number(row, key) for row in rows)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def worst_pair(checks: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the variables of the table of two that is farthest off."""
    tables = dig(checks, "utility", "tables") or checks.get("tables")
    columns, rows = listed(tables, "columns"), listed(tables, "mean")
    named = [
        dict(zip(map(str, columns), row, strict=False)) for row in rows if isinstance(row, list)
    ]
    pairs = [row for row in named if row.get("ways") == 2 and isinstance(row.get("S_pMSE"), float)]
    if not pairs:
        return ()
    names = max(pairs, key=lambda row: float(row["S_pMSE"])).get("variables")
    return tuple(map(str, names)) if isinstance(names, list) else (str(names),)
