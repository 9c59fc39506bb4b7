"""Every risk measure of one scenario in one call, and what they say together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from synthesizer.attempts import Attempts
from synthesizer.data.codes import ColumnCoder, Groups
from synthesizer.data.table import Table
from synthesizer.progress import Listener, counted, silent
from synthesizer.risk.attribute import attribute
from synthesizer.risk.cap import cap
from synthesizer.risk.cap_regression import cap_regression
from synthesizer.risk.determined import determined
from synthesizer.risk.half_results import DifferentialResult
from synthesizer.risk.identity import identity
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.scenario_risk import ScenarioRisk
from synthesizer.risk.suda import affordable_size, suda
from synthesizer.risk.tcap import tcap

__all__ = ["Measures", "scenario_risk", "unfamiliar"]

T = TypeVar("T")
MANY_UNFAMILIAR = 0.1


@dataclass(frozen=True, kw_only=True)
class Measures:
    """Which measures of a scenario are wanted, and their settings.

    Parameters
    ----------
    cap, suda, identity, attribute : bool
        Families of measures; ``cap`` includes TCAP and the regression on m.
    differential, nearest, replicated : bool
        Comparison with records that were kept out of the fit, and of whole records.
    tau : float
        TCAP: share of one target value that a class must have, in (0, 1].
    max_size : int or None
        SUDA: largest set of keys that is looked at; as many as is affordable when None.
    sampling_fraction : float
        DIS-SUDA: share of the population that the data hold, in (0, 1].
    attempts : int
        Attempts of each of anonymeter's attacks, where these are asked for.
    """

    cap: bool = True
    suda: bool = True
    identity: bool = True
    attribute: bool = True
    differential: bool = True
    nearest: bool = True
    replicated: bool = True
    tau: float = 1.0
    max_size: int | None = None
    sampling_fraction: float = 0.01
    attempts: int = 500

    @property
    def problems(self) -> list[str]:
        """Settings out of range."""
        shares = {"tau": self.tau, "sampling_fraction": self.sampling_fraction}
        problems = [
            f"{name} ({value}) must be above 0 and at most 1"
            for name, value in shares.items()
            if not 0 < value <= 1
        ]
        if self.max_size is not None and self.max_size < 1:
            problems.append(f"max_size ({self.max_size}) must be at least 1")
        return problems


def unfamiliar(
    original: Table,
    synthetic: Sequence[Table],
    names: Iterable[str],
    groups: Mapping[str, Groups] | None = None,
) -> dict[str, float]:
    """Return the share of synthetic records whose value the original lacks, where it is large.

    Of several datasets the largest share; variables that not all of them have are left out.
    """
    found = {}
    for name in names:
        if not synthetic or not all(name in table for table in (original, *synthetic)):
            continue
        coder = ColumnCoder.fit(original[name], (groups or {}).get(name))
        unknown = max(float((coder.encode(table[name]) < 0).mean()) for table in synthetic)
        if unknown > MANY_UNFAMILIAR:
            found[name] = unknown
    return found


def scenario_risk(
    original: Table,
    synthetic: Sequence[Table],
    scenario: Scenario,
    measures: Measures,
    attempts: Attempts,
    differential: DifferentialResult | None = None,
    listener: Listener = silent,
) -> ScenarioRisk:
    """Compute the wanted measures of a scenario.

    Parameters
    ----------
    original : Table
        Confidential records.
    synthetic : sequence of Table
        Datasets with the keys and the target.
    scenario : Scenario
        Keys and target.
    measures : Measures
        What is wanted.
    attempts : Attempts
        Collects what could not be computed.
    differential : DifferentialResult, optional
        From half splits.
    listener : Listener, optional
        Is told about the search for special uniques, which may take long.
    """
    keys, target, groups = scenario.keys, scenario.target, scenario.groups
    pair = (original, synthetic)
    label = scenario.label

    def attempt(name: str, compute: Callable[[], T], *, wanted: bool = True) -> T | None:
        return attempts.of(f"{name} ({label})", compute) if wanted else None

    size = measures.max_size or affordable_size(len(keys), original.n_rows)
    special = attempt(
        "suda",
        lambda: suda(
            original,
            keys,
            groups=_of(groups, keys),
            max_size=min(size, len(keys)),
            sampling_fraction=measures.sampling_fraction,
            progress=counted(listener, f"special uniques ({label})"),
        ),
        wanted=measures.suda,
    )
    masks = {} if special is None else {"special_uniques": special.special}
    found_cap = attempt(
        "cap",
        lambda: cap(*pair, **scenario.settings, special_uniques=False, subsets=masks),
        wanted=measures.cap,
    )
    by_class: dict[str, Any] = {"keys": keys, "target": target, "groups": groups}
    numeric = scenario.tolerance is not None
    return ScenarioRisk(
        scenario=scenario,
        cap=found_cap,
        regression=() if found_cap is None else cap_regression(found_cap),
        # a class agrees on a value, never on an interval around each of its values
        tcap=attempt(
            "tcap",
            lambda: tcap(*pair, **by_class, tau=measures.tau),
            wanted=measures.cap and not numeric,
        ),
        suda=special,
        identity=attempt(
            "identity",
            lambda: identity(*pair, keys=keys, groups=_of(groups, keys)),
            wanted=measures.identity,
        ),
        attribute=attempt(
            "attribute",
            lambda: attribute(*pair, **by_class, exclude=scenario.exclude),
            wanted=measures.attribute and not numeric,
        ),
        determined=attempt("determined", lambda: determined(original, keys, target, groups)),
        differential=differential,
        unfamiliar={} if scenario.tolerance else unfamiliar(*pair, scenario.names, groups),
    )


def _of(groups: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: wanted for name, wanted in groups.items() if name in names}
