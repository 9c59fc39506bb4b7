"""Result directories of runs that never ran: what `compare` reads, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

QUESTION = {"keys": ["age", "sex"], "target": "ill", "groups": {}, "tolerance": None}


def manifest_of(settings: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return {
        "format": 1,
        "config": {"data": {"path": "a.csv"}, "seed": 1, **(settings or {})},
        "data": {"origin": "a.csv", "sha256": "abc", "rows": 100, "columns": 3},
        "seed": 1,
        "m": 2,
        "rows": 100,
        "chain": [{"variable": "age"}, {"variable": "sex"}, {"variable": "ill"}],
    } | changes


def checks_of(cap: float, s_pmse: float, **summary: Any) -> dict[str, Any]:
    """Of two datasets, whose own CAP is below that of both pooled."""
    tables = {
        "columns": ["variables", "ways", "S_pMSE"],
        "mean": [[["age"], 1, 0.5], [["age", "ill"], 2, s_pmse + 1.0], [["age", "sex"], 2, 0.1]],
        "by_dataset": [
            {"dataset": d, "ways": w, "S_pMSE_mean": s_pmse, "S_pMSE_max": 2.0, "ROE_mean": 0.9}
            for d in (1, 2)
            for w in (1, 2)
        ],
    }
    figures = [
        {"name": "CAP", "value": cap, "low": None, "high": None, "baseline": 0.1, "original": 0.9},
        {"name": "differential confidentiality", "low": -0.01, "high": 0.03, "baseline": 0.0},
    ]
    singles = [
        {"dataset": d, "subset": "all", "zero": cap - d / 100, "chance_zero": 0.09} for d in (1, 2)
    ]
    scenario = {
        "scenario": QUESTION | {"reason": "as asked for"},
        "figures": figures,
        "cap": {"synthetic": [], "singles": singles},
        "identity": {"datasets": [{"repu": 0.1}, {"repu": 0.2}]},
        "attribute": {"datasets": [{"disco": 0.3}, {"disco": 0.5}]},
        "differential_confidentiality": {
            "summary": [{"m": 1, "rule": "zero", "difference": 0.005, "low": 0.0, "high": 0.01}]
        },
    }
    figures_of = {
        "cap": cap,
        "differential_confidentiality": 0.01,
        "disco": 0.4,
        "repu": 0.15,
        "nearer_share": 0.52,
        "replicated_uniques": 0.0,
        "mean_two_way": s_pmse,
        "worst_two_way": s_pmse + 1.0,
        "worst_one_way": 0.5,
    }
    return {
        "format": 2,
        "summary": figures_of | summary,
        "risk": {
            "scenarios": [scenario],
            "nearest": {"low": 0.4, "high": 0.6, "original": 1.0},
            "failed": {},
        },
        "utility": {
            "tables": tables,
            "propensity": [
                {"model": "logit", "interactions": 1, "mean": {"s_pmse": 1.2}, "datasets": []}
            ],
            "fits": [{"formula": "ill ~ age", "mean_overlap": 0.75}],
            "failed": {},
        },
        "failed": {},
        "exceeded": [],
    }


def write_run(where: Path, manifest: object, checks: object) -> Path:
    where.mkdir(parents=True, exist_ok=True)
    for name, content in (("manifest.json", manifest), ("checks.json", checks)):
        text = content if isinstance(content, str) else json.dumps(content)
        (where / name).write_text(text, encoding="utf-8")
    return where
