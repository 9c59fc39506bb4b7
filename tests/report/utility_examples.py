"""A small run, typed, with names and labels that would break a careless page: its utility."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from synthesizer.measures.results import RiskResult, UtilityResult
from synthesizer.measures.risk.attribute import AttributeResult, AttributeValues
from synthesizer.measures.risk.cap import CapResult, CapSingle
from synthesizer.measures.risk.identity import IdentityResult, IdentityValues
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.utility.coefficients import (
    CoefficientComparison,
    FitComparison,
    FittedData,
    LackOfFit,
)
from synthesizer.measures.utility.combining import CombinedEstimates
from synthesizer.measures.utility.distributions import (
    Distribution,
    NumberSummary,
    PairTable,
    Statistics,
)
from synthesizer.measures.utility.propensity import PmseResult, PropensityResult
from synthesizer.measures.utility.tables import (
    DatasetTables,
    DistanceResult,
    DistanceValues,
    TableRow,
    TableUtility,
)
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.record import Manifest, Record, StepEntry, TreesEntry
from tests import run_directories

EVIL = "<script>alert(1)</script>"
JOB = "job \"title\" & 'rank'"
NAMES = ("age", EVIL, JOB, "born")


def step(name: str, **changes: Any) -> StepEntry:
    content = {
        "variable": name,
        "kind": "categorical",
        "model": "cart",
        "model_of_missing_codes": None,
        "predictors": (),
        "kept": False,
        "trees": TreesEntry(even=True, leaf_regression=False),
    }
    return StepEntry(**(content | changes))


def chain() -> tuple[StepEntry, ...]:
    return tuple(
        step(name, kind="numeric" if name == "age" else "categorical", predictors=NAMES[:index])
        for index, name in enumerate(NAMES)
    )


def manifest(**changes: Any) -> Manifest:
    usual = run_directories.manifest_of(
        chain=chain(), data={"origin": "persons.csv", "sha256": "e86a", "columns": 4},
        created="2026-11-21T10:43:17+00:00", seconds={"fit": 0.25}, packages={}, variables=(),
        seed=987654321, config={"version": 2, "seed": 987654321, "m": 2},
    )  # fmt: skip
    return usual.model_copy(update=changes)


def table(*names: str, s_pmse: float | None, **changes: Any) -> TableRow:
    content = {
        "variables": names, "ways": len(names), "s_pmse": s_pmse, "roe": 0.8, "specks": 0.02,
        "chi_square": 20.0, "vw": 9.0, "df": 12, "p": 0.5, "p_vw": 0.3, "pmse": 0.1,
        "mabs_dd": 0.1, "jsd": 0.002,
    }  # fmt: skip
    return TableRow(**(content | changes))


def tables(*rows: TableRow) -> TableUtility:
    """Return rows as the tables of two datasets; those of the example where there are none."""
    pairs = [
        table(*pair, s_pmse=0.5 + 2.5 * index, p=0.001, p_vw=0.0002)
        for index, pair in enumerate(combinations(NAMES, 2))
    ]
    single = [table(name, s_pmse=1.1 + index) for index, name in enumerate(NAMES)]
    every = rows or (*single, *pairs)
    return TableUtility(
        rows=tuple(sorted(every, key=lambda row: -(row.s_pmse or 0.0))),
        orders=(),
        by_dataset=tuple(
            DatasetTables(dataset=d, ways=w, s_pmse_mean=w + d / 10, s_pmse_max=9.0, roe_mean=0.8)
            for d in (1, 2)
            for w in (1, 2)
        ),
    )


def distributions() -> tuple[Distribution, ...]:
    statistics = Statistics(
        mean=40.0, sd=9.5, min=0.0, q1=30.0, median=40.0, q3=50.0, max=88.0
    )  # fmt: skip
    original = statistics.model_copy(update={"max": 90.0})
    other = statistics.model_copy(update={"max": None})
    summary = NumberSummary(original=original, synthetic=(statistics, other))
    age = Distribution(
        variable="age", kind="numeric", missing=(False, False, False, True),
        labels=("below 20", "[20, 40)", "40 and above", "N"), edges=(0.0, 20.0, 40.0, 60.0),
        original=(0.2, 0.4, 0.3, 0.1),
        synthetic=((0.25, 0.35, 0.3, 0.1), (0.2, 0.4, 0.3, 0.1)),
        summary=summary,
    )  # fmt: skip
    evil = Distribution(
        variable=EVIL, kind="categorical", labels=(EVIL, 'a "b"', "other levels"),
        missing=(False, False, False), edges=None, original=(0.5, 0.3, 0.2),
        synthetic=((0.5, 0.3, 0.2), (0.5, 0.3, 0.2)), summary=None, others=7,
    )  # fmt: skip
    job = {"variable": JOB, "labels": ("x" * 200, "", "\u2028<b>"), "others": 0}
    born = Distribution(
        variable="born", kind="date", missing=(False, False), edges=(0.0, 365.0, 730.0),
        labels=("[1970-01-01, 1971-01-01)", "1971-01-01 and above"),
        original=(0.5, 0.5), synthetic=((0.4, 0.6), (0.6, 0.4)), summary=summary,
    )  # fmt: skip
    return age, evil, evil.model_copy(update=job), born


def pair(*names: str) -> PairTable:
    return PairTable(
        variables=(names[0], names[1]),
        rows=("r1", "</script>"),
        columns=("c1", "c2", 'c "3"'),
        original=((10, 20, 30), (20, 10, 10)),
        synthetic=((10.5, 19.5, 10.0), (20.0, 30.0, 10.0)),
    )


def propensity(model: str = "logit", **changes: Any) -> PmseResult:
    row = PropensityResult(
        pmse=0.01, s_pmse=1.4, z_pmse=2.5, specks=0.1, po50=1.5, u=5000.0, parameters=5,
        share=0.5, converged=True, expected=0.007, deviation=0.001,
    )  # fmt: skip
    content = {
        "model": model, "interactions": 1, "permutations": 0 if model == "logit" else 10,
        "names": NAMES, "n": 100, "n_synthetic": (100, 100),
        "datasets": (row, row.model_copy(update={"converged": False})),
    }  # fmt: skip
    return PmseResult(**(content | changes))


def distance() -> DistanceResult:
    row = DistanceValues(distance=0.97, cells_original=90, cells_synthetic=95, cells_both=5)
    return DistanceResult(names=NAMES, groups=5, n=100, n_synthetic=(100, 100), datasets=(row, row))


def coefficient(name: str, shift: float, error: float = 0.5, **changes: Any) -> Any:
    content = {
        "name": name, "original": 2.0, "original_error": error, "original_low": 1.0,
        "original_high": 3.0, "synthetic": 2.0 + shift, "synthetic_error": error,
        "synthetic_low": 1.0 + shift, "synthetic_high": 3.0 + shift, "difference": shift,
        "standardised": shift / error if error else None, "overlap": 0.9,
    }  # fmt: skip
    return CoefficientComparison(**(content | changes))


def combined(**changes: Any) -> CombinedEstimates:
    names = ("Intercept", f"{EVIL}[a]", "far", "fixed")
    columns = ("within", "between", "total", "estimate", "low", "high")
    content: dict[str, Any] = {
        "rule": "simple", "m": 2, "level": 0.95, "names": names, "df": (float("inf"),) * 4,
        "adjusted": (False, True, False, False), **dict.fromkeys(columns, (1.0,) * 4),
    }  # fmt: skip
    return CombinedEstimates(**(content | changes))


def fit(**changes: Any) -> FitComparison:
    content: dict[str, Any] = {
        "formula": f"age ~ `{EVIL}`", "family": "ols", "rule": "simple", "clusters": None,
        "level": 0.95,
        "coefficients": (
            coefficient("Intercept", 0.1), coefficient(f"{EVIL}[a]", 0.3),
            coefficient("far", 50.0), coefficient("fixed", 0.0, error=0.0),
        ),
        "combined": combined(),
        "lack_of_fit": LackOfFit(statistic=30.0, df=3, df_error=None, p_value=1e-6),
        "datasets": tuple(
            FittedData(dataset=d, n=100, n_missing=0, n_unknown=0, problem=problem)
            for d, problem in enumerate((None, None, "it did not settle"))
        ),
        "notes": (
            "synthetic dataset 2 is left out: it did not settle",
            "the results are of 1 of 2 synthetic datasets",
            "the test needs more datasets",
        ),
    }  # fmt: skip
    return FitComparison(**(content | changes))


def utility(**changes: Any) -> UtilityResult:
    content = {
        "n": 100,
        "n_synthetic": (100, 100),
        "tables": tables(),
        "distributions": distributions(),
        "pairs": tuple(pair(*names) for names in combinations(NAMES, 2)),
        "propensity": (propensity(), propensity("cart")),
        "distance": distance(),
        "fits": (fit(),),
    }
    return UtilityResult(**(content | changes))


def scenario(**changes: Any) -> ScenarioRisk:
    keys, n = {"keys": ("age", EVIL), "n": 100}, {"n_synthetic": (100, 100)}
    singles = tuple(
        CapSingle(
            dataset=d, subset="all", size=100, matched=90, zero=0.2 + d / 100, undefined=0.3,
            chance_zero=0.1, chance_undefined=0.1,
        )
        for d in (1, 2)
    )  # fmt: skip
    one, two = (IdentityValues(uio=0.3, uis=0.2, uiois=0.1, repu=repu) for repu in (0.05, 0.06))
    other = dict.fromkeys(AttributeValues.__annotations__, 0.4)
    low, high = (AttributeValues(**(other | {"disco": disco})) for disco in (0.1, 0.2))
    content: dict[str, Any] = {
        "scenario": Scenario(keys=("age", EVIL), target=JOB),
        "cap": CapResult(
            **keys, target=JOB, sizes={"all": 100}, original={"all": 0.6}, baseline={"all": 0.2},
            synthetic=(), singles=singles,
        ),
        "identity": IdentityResult(**keys, **n, datasets=(one, two), mean=one),
        "attribute": AttributeResult(
            **keys, **n, target=JOB, excluded=0, datasets=(low, high), mean=low, warnings=()
        ),
    }  # fmt: skip
    return ScenarioRisk(**(content | changes))


def run(
    *,
    results: UtilityResult | None = None,
    risk: RiskResult | None = None,
    facts: Manifest | None = None,
    panel: Any = None,
    **changes: Any,
) -> Record:
    """Return the run; further keywords replace parts of its utility."""
    use = utility(**changes) if results is None else results
    risks = RiskResult(scenarios=(scenario(),)) if risk is None else risk
    return Record(
        manifest() if facts is None else facts,
        CheckResults(risk=risks, utility=use, panel=panel, failed={}),
    )
