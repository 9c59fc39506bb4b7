"""Manifests and checks of runs that never ran, complete and of few arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from synthesizer.data.errors import SynthesizerError
from synthesizer.data.files import sha256
from synthesizer.data.table import Kind
from synthesizer.engine.registry import Registry
from synthesizer.jobs.manifest import in_words
from synthesizer.measures.figure import Result, plain
from synthesizer.measures.results import FORMAT, RiskResult, UtilityResult
from synthesizer.measures.risk.attribute import AttributeResult, AttributeValues
from synthesizer.measures.risk.cap import CapResult, CapRow, CapSingle
from synthesizer.measures.risk.differential import DifferentialResult, HalfComparison, Spread
from synthesizer.measures.risk.identity import IdentityResult, IdentityValues
from synthesizer.measures.risk.nearest import NearestResult
from synthesizer.measures.risk.replicated import ReplicatedCounts, ReplicatedUniques
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.utility.coefficients import (
    CoefficientComparison,
    FitComparison,
    FittedData,
)
from synthesizer.measures.utility.propensity import PmseResult, PropensityResult
from synthesizer.measures.utility.tables import (
    DatasetTables,
    OrderTables,
    TableRow,
    TableUtility,
)
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.record import FileEntry, Manifest, StepEntry

REGISTRY = Registry.load()
R = TypeVar("R", bound=Result)


def filled(kind: type[R], /, **known: Any) -> R:
    """Return a result of which only some fields matter; the others are empty or zero."""
    fields = kind.model_fields.items()
    rest = {n: _empty(f.annotation) for n, f in fields if f.is_required() and n not in known}
    return kind(**rest, **known)


def _empty(annotation: Any) -> Any:
    """Return the emptiest value of a type."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _empty(args[0])
    if origin in (UnionType, Union):
        return None if NoneType in args else _empty(args[0])
    if origin is Literal:
        return args[0]
    if isinstance(annotation, type) and issubclass(annotation, Result):
        return filled(annotation)
    return (origin if origin in (tuple, dict) else {Mapping: dict}.get(origin, annotation))()


# Manifests.


def words_of(model: str, kind: str = "categorical") -> str:
    """Return what a registered model of a variable calls itself; empty for others."""
    try:
        return in_words(REGISTRY.get(model), Kind(kind))
    except SynthesizerError:
        return ""


def step(
    variable: str, kind: str = "categorical", model: str = "cart", *args: str, **more: Any
) -> StepEntry:
    """Return how a variable was drawn from others, as a run records it."""
    bases, missing = more.get("base", ()), more.get("model_of_missing_codes")
    trees = model in ("cart", "ctree", "forest", "bagging")
    usual = {
        "model_of_missing_codes": None,
        "kept": model == "keep",
        "trees": {"even": True, "leaf_regression": False} if trees else None,
        "in_words": [words_of(name, kind) for name in (model, *bases)],
        "missing_in_words": words_of(missing or model),
    }
    named = {"variable": variable, "kind": kind, "model": model, "predictors": args}
    return StepEntry.model_validate(usual | named | more)


CHAIN = tuple(step(name) for name in ("age", "sex", "ill"))


def manifest_of(
    settings: Mapping[str, Any] | None = None,
    *,
    chain: Sequence[StepEntry] = CHAIN,
    data: Mapping[str, Any] | None = None,
    panel: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Manifest:
    """Return a manifest; ``settings`` of the configuration, ``data`` and ``panel`` are parts."""
    kinds = [
        {"name": one.variable, "kind": one.kind, "missing": (), "date_format": None}
        for one in chain
    ]
    known = {"origin": "a.csv", "sha256": "abc", "rows": 100, "columns": 3}
    form = {"form": "long", "person": None, "time": None, "career": None, "periods": 3}
    usual = {
        "created": "2026-01-01T00:00:00+00:00",
        "config": {"data": {"path": "a.csv"}, "seed": 1, **(settings or {})},
        "config_sha256": "0" * 64,
        "data": {**known, **(data or {})},
        "panel": None if panel is None else {**form, **panel},
        "seed": 1,
        "m": 2,
        "rows": 100,
        "variables": kinds,
        "chain": chain,
        "notes": (),
        "seconds": {"fit": 0.1},
        "python": "3.11.7",
        "packages": {"synthesizer": "0.1.0", "numpy": "2.4.6"},
    }
    return Manifest.model_validate(usual | changes)


def entries(directory: Path) -> tuple[FileEntry, ...]:
    """Return the synthetic datasets of a directory as a manifest lists them."""
    return tuple(
        FileEntry(name=path.name, bytes=path.stat().st_size, sha256=sha256(path))
        for path in sorted(directory.glob("synthetic_*"))
    )


# Checks.


def checks_of(
    cap: float,
    s_pmse: float,
    *,
    difference: float = 0.01,
    cap_range: float = 0.01,
    loss_range: float = 0.0,
    **of_utility: Any,
) -> CheckResults:
    """Of two datasets, whose CAP and S_pMSE differ by their ranges; CAP is that of both pooled."""
    signs = ((1, -0.5), (2, 0.5))
    question = Scenario(keys=("age", "sex"), target="ill", reason="as asked for")
    share = {"subset": "all", "chance_zero": 0.1}
    rows = [(("age", "ill"), 2, s_pmse + 1), (("age", "sex"), 2, 0.1), (("age",), 1, 0.5)]
    last = {"rule": "zero", "low": -0.01, "high": 0.03, "difference": difference}
    pooled = IdentityValues(repu=0.15, uiois=0, uio=0, uis=0)
    scenario = ScenarioRisk(
        scenario=question,
        cap=filled(
            CapResult,
            sizes={"all": 100},
            original={"all": 0.9},
            baseline={"all": 0.2},
            synthetic=[filled(CapRow, m=m, zero=cap, **share) for m in (1, 2)],
            singles=[
                filled(CapSingle, dataset=d, zero=cap + sign * cap_range, **share)
                for d, sign in signs
            ],
        ),
        identity=filled(
            IdentityResult,
            mean=pooled,
            datasets=[pooled.model_copy(update={"repu": repu}) for repu in (0.1, 0.2)],
        ),
        attribute=filled(
            AttributeResult,
            mean=filled(AttributeValues, disco=0.4),
            datasets=[filled(AttributeValues, disco=disco) for disco in (0.3, 0.5)],
        ),
        differential=filled(
            DifferentialResult,
            comparisons=[filled(HalfComparison, m=2, rule="zero")],
            summary=[
                filled(Spread, m=1, rule="zero", difference=0.005, low=0.0, high=0.01),
                filled(Spread, m=2, **last),
            ],
        ),
    )
    counts = [ReplicatedCounts(n=100, uniques=0, present=0, replicated=0)]
    utility = {
        "tables": TableUtility(
            rows=[filled(TableRow, variables=v, ways=w, s_pmse=s) for v, w, s in rows],
            orders=[
                filled(OrderTables, ways=1, s_pmse_mean=0.5, s_pmse_max=0.5),
                filled(OrderTables, ways=2, s_pmse_mean=s_pmse, s_pmse_max=s_pmse + 1),
            ],
            by_dataset=[
                DatasetTables(
                    dataset=d,
                    ways=ways,
                    s_pmse_mean=s_pmse + sign * loss_range,
                    s_pmse_max=2.0,
                    roe_mean=0.9,
                )
                for d, sign in signs
                for ways in (1, 2)
            ],
        ),
        "propensity": (propensity_of("logit"),),
        "fits": (fit_of("ill ~ age", 0.75),),
    }
    return CheckResults(
        risk=RiskResult(
            scenarios=(scenario,),
            nearest=filled(
                NearestResult, share=0.52, low=0.4, high=0.6, original=1.0, all_synthetic=100
            ),
            replicated=ReplicatedUniques(keys=("age",), n=100, uniques=0, datasets=counts),
        ),
        utility=UtilityResult(n=100, n_synthetic=(100, 100), **(utility | of_utility)),
    )


def propensity_of(model: str, interactions: int = 1) -> PmseResult:
    """Return a pMSE ratio of 1.2 by a model, without values of two datasets to compare."""
    values = filled(PropensityResult, s_pmse=1.2)
    return filled(PmseResult, model=model, interactions=interactions, datasets=(values,))


def fit_of(formula: str, overlap: float, **more: Any) -> FitComparison:
    """Return a fit with one coefficient."""
    term, data = filled(CoefficientComparison, overlap=overlap), filled(FittedData, n=100)
    usual = {"formula": formula, "coefficients": (term,), "datasets": (data,)}
    return filled(FitComparison, **usual | more)


NOTHING = CheckResults(risk=RiskResult())
"""Checks that were off."""


def write_run(
    where: Path, manifest: Manifest, results: CheckResults = NOTHING, exceeded: Sequence[str] = ()
) -> Path:
    """Write the two files by which a directory is a run."""
    where.mkdir(parents=True, exist_ok=True)
    (where / "manifest.json").write_text(json.dumps(plain(manifest)), encoding="utf-8")
    checks = {"format": FORMAT, "exceeded": list(exceeded), "results": plain(results)}
    (where / "checks.json").write_text(json.dumps(checks), encoding="utf-8")
    return where
