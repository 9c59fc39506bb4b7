"""Which checks run after a synthesis, what they found, and their limits.

Datasets are handed over one by one, so that memory does not grow with their number: of each only
the keys and the target stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np

from synthesizer.config import ChainConfig
from synthesizer.config_checks import LimitConfig
from synthesizer.data.schema import Kind
from synthesizer.data.table import Table
from synthesizer.errors import SynthesizerError
from synthesizer.plan import Plan
from synthesizer.plan_scenario import Scenario
from synthesizer.risk.cap import CapResult, cap
from synthesizer.risk.differential import differential_confidentiality
from synthesizer.risk.half_results import DifferentialResult
from synthesizer.risk.halves import Synthesise
from synthesizer.utility.tables import TableUtility, combine, table_utility

__all__ = ["CheckResults", "Checker", "Summary", "exceeded_limits"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The figures that decide about a release; None where a check was off or had nothing.

    Parameters
    ----------
    mean_two_way, worst_two_way, worst_one_way : float or None
        S_pMSE: mean and largest over pairs, largest over variables, averaged over datasets.
        About 1 is what a right model gives; lower is better.
    cap, cap_undefined, cap_original, cap_baseline : float or None
        Mean CAP of all datasets pooled with non-matches zero and undefined, of the original and
        of the target's distribution alone. Lower is safer.
    differential_confidentiality, differential_low, differential_high : float or None
        Mean CAP (non-matches zero) of fitted minus unseen records, and its 95 % interval. About 0
        is safe.
    """

    mean_two_way: float | None = None
    worst_two_way: float | None = None
    worst_one_way: float | None = None
    cap: float | None = None
    cap_undefined: float | None = None
    cap_original: float | None = None
    cap_baseline: float | None = None
    differential_confidentiality: float | None = None
    differential_low: float | None = None
    differential_high: float | None = None


@dataclass(frozen=True, kw_only=True)
class CheckResults:
    """Everything the checks found.

    Parameters
    ----------
    scenario : Scenario or None
        Keys and target.
    tables : TableUtility or None
        One- and two-way tables.
    cap : CapResult or None
        For nested m.
    differential : DifferentialResult or None
        From the half split.
    failed : mapping of str to str
        Checks that could not be computed, and why.
    """

    scenario: Scenario | None
    tables: TableUtility | None
    cap: CapResult | None
    differential: DifferentialResult | None
    failed: Mapping[str, str]

    @property
    def summary(self) -> Summary:
        """The figures that decide about a release."""
        return Summary(**self._utility(), **self._cap(), **self._differential())

    def _utility(self) -> dict[str, float | None]:
        if self.tables is None:
            return {}
        mean = self.tables.mean
        one = mean.loc[mean["ways"] == 1, "S_pMSE"].dropna()
        two = mean.loc[mean["ways"] == 2, "S_pMSE"].dropna()
        return {
            "mean_two_way": float(two.mean()) if len(two) else None,
            "worst_two_way": float(two.max()) if len(two) else None,
            "worst_one_way": float(one.max()) if len(one) else None,
        }

    def _cap(self) -> dict[str, float | None]:
        if self.cap is None:
            return {}
        last = self.cap.row(max(row.m for row in self.cap.synthetic))
        return {
            "cap": last.zero,
            "cap_undefined": last.undefined,
            "cap_original": self.cap.original["all"],
            "cap_baseline": self.cap.baseline["all"],
        }

    def _differential(self) -> dict[str, float | None]:
        if self.differential is None:
            return {}
        rows = [row for row in self.differential.comparisons if row.rule == "zero"]
        last = [row for row in rows if row.m == max(row.m for row in rows)]
        spread = next(
            row for row in self.differential.summary if (row.m, row.rule) == (last[0].m, "zero")
        )
        one = last[0] if len(last) == 1 else None
        return {
            "differential_confidentiality": spread.difference,
            "differential_low": one.low if one else None,
            "differential_high": one.high if one else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for ``checks.json``."""
        return {
            "summary": asdict(self.summary),
            "scenario": None if self.scenario is None else asdict(self.scenario),
            "cap": None if self.cap is None else self.cap.to_dict(),
            "differential_confidentiality": (
                None if self.differential is None else self.differential.to_dict()
            ),
            "tables": None if self.tables is None else _tables(self.tables),
            "failed": dict(self.failed),
        }


def _tables(tables: TableUtility) -> dict[str, Any]:
    """Return the tables by name, and S_pMSE of every dataset: the rest of them can be recomputed.

    Written in full the measures of all pairs would be larger than the data of a wide file.
    """
    found = tables.mean[["variables", "ways", *_WRITTEN]].round(6)
    plain = found.astype(object).where(found.notna(), None)
    by_dataset = tables.by_dataset.dropna(subset=["S_pMSE"]).groupby(["dataset", "ways"])
    figures = by_dataset["S_pMSE"].agg(["mean", "max"]).reset_index()
    return {
        "columns": list(found.columns),
        "mean": plain.to_numpy().tolist(),
        "S_pMSE_by_dataset": figures.to_dict(orient="records"),
    }


_WRITTEN = ("VW", "df", "pMSE", "S_pMSE", "MabsDD", "SPECKS", "JSD")


class Checker:
    """Collects what the checks need while datasets come in.

    Parameters
    ----------
    config : ChainConfig
        Which checks are on.
    original : Table
        Confidential data.
    plan : Plan
        Holds keys and target.
    """

    def __init__(self, config: ChainConfig, original: Table, plan: Plan) -> None:
        self.checks = config.checks
        self.m = config.m
        self.original = original
        self.scenario = plan.scenario
        self.ways = [w for w, on in ((1, self.checks.one_way), (2, self.checks.two_way)) if on]
        self.known: list[Table] = []
        self.tables: list[TableUtility] = []
        self.failed: dict[str, str] = {}

    def add(self, synthetic: Table) -> None:
        """Look at the next dataset."""
        if self.scenario is not None and self.checks.cap:
            self.known.append(synthetic.select([*self.scenario.keys, self.scenario.target]))
        coded = any(v.kind is not Kind.ID for v in self.original.schema)
        if self.ways and coded and "tables" not in self.failed:
            found = self._try(
                "tables", lambda: table_utility(self.original, [synthetic], ways=self.ways)
            )
            self.tables += [] if found is None else [found]

    def finish(self, synthesise: Synthesise, rng: np.random.Generator) -> CheckResults:
        """Compute the rest; ``synthesise`` refits the chain on a half of the data."""
        scenario = self.scenario
        found_cap = found_differential = None
        if scenario is not None and self.checks.cap:
            found_cap = self._try(
                "cap",
                lambda: cap(self.original, self.known, keys=scenario.keys, target=scenario.target),
            )
        settings = self.checks.differential_confidentiality
        if scenario is not None and settings.enabled:
            found_differential = self._try(
                "differential_confidentiality",
                lambda: differential_confidentiality(
                    self.original,
                    synthesise,
                    keys=scenario.keys,
                    target=scenario.target,
                    m=settings.m or self.m,
                    repeats=settings.repeats,
                    rng=rng,
                ),
            )
        return CheckResults(
            scenario=scenario,
            tables=combine(self.tables) if self.tables else None,
            cap=found_cap,
            differential=found_differential,
            failed=self.failed,
        )

    def _try(self, name: str, compute: Callable[[], T]) -> T | None:
        """Compute a check; one that cannot be computed is told and does not lose the run."""
        try:
            return compute()
        except SynthesizerError as error:
            self.failed[name] = "; ".join(error.problems)
            return None


_LIMITS: Mapping[str, str] = {
    "cap": "mean CAP, non-matches zero",
    "cap_undefined": "mean CAP of matches",
    "differential_confidentiality": "difference of mean CAP between fitted and unseen records",
    "mean_two_way": "mean two-way S_pMSE",
    "worst_two_way": "largest two-way S_pMSE",
    "worst_one_way": "largest one-way S_pMSE",
}


def exceeded_limits(results: CheckResults, limits: LimitConfig) -> tuple[str, ...]:
    """Say which checks are above their limits; one that could not be computed counts as above."""
    exceeded = []
    for name, words in _LIMITS.items():
        limit, value = getattr(limits, name), getattr(results.summary, name)
        if limit is None:
            continue
        if value is None:
            exceeded.append(f"limits.{name}: {words} could not be computed, so it counts as above")
        elif value > limit:
            exceeded.append(f"limits.{name}: {words} is {value:.4f}, above the limit {limit:g}")
    return tuple(exceeded)
