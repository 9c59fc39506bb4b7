"""A small run as its files hold it, with names and labels that would break a careless page."""

from __future__ import annotations

import copy
from html.parser import HTMLParser
from itertools import combinations
from typing import Any

from synthesizer.report.untyped import Record

EVIL = "<script>alert(1)</script>"
JOB = "job \"title\" & 'rank'"
NAMES = ("age", EVIL, JOB, "born")
WHO = {"keys": ["age", EVIL], "target": JOB, "groups": {}, "tolerance": None, "exclusions": 0}


def figure(name: str, value: float | None, **more: Any) -> dict[str, Any]:
    plain = {"meaning": f"what {name} is", "direction": "lower is safer", "n": 100}
    ends = {"low": None, "high": None, "baseline": None, "original": None}
    return {"name": name, "value": value, **plain, **ends, **more}


def manifest() -> dict[str, Any]:
    steps = [
        {
            "variable": name,
            "kind": "numeric" if name == "age" else "categorical",
            "model": "cart",
            "model_of_missing_codes": "sample" if name == "age" else None,
            "predictors": list(NAMES[:place]),
        }
        for place, name in enumerate(NAMES)
    ]
    return {
        "confidential": "not for release with the datasets",
        "format": 1,
        "created": "2026-11-21T10:43:17+00:00",
        "config": {"version": 1, "seed": 987654321, "m": 2, "limits": {"mean_two_way": 2.0}},
        "data": {"origin": "persons.csv", "sha256": "e86a", "rows": 100, "columns": 4},
        "seed": 987654321,
        "m": 2,
        "rows": 100,
        "chain": steps,
        "notes": [f"column {EVIL!r}: 2 levels have fewer than 3 rows"],
        "seconds": {"read": 0.1, "fit": 0.25},
        "python": "3.11.7",
        "packages": {"synthesizer": "0.1.0", "numpy": "2.4.6"},
        "exceeded_limits": [],
        "files": [{"name": "synthetic_1.csv", "bytes": 1, "sha256": "ab"}],
    }


def tables() -> dict[str, Any]:
    single = [
        [[name], 1, 1.0, 3, 0.1, 1.1 + place, 0.1, 0.01, 0.001, 0.9, 2.5, 0.5, 0.3]
        for place, name in enumerate(NAMES)
    ]
    pairs = [
        [list(pair), 2, 9.0, 12, 0.1, 0.5 + 2.5 * place, 0.1, 0.02, 0.002, 0.8, 20.0, 0.001, 0.0002]
        for place, pair in enumerate(combinations(NAMES, 2))
    ]
    means = [
        {"dataset": d, "ways": w, "S_pMSE_mean": w + d / 10, "S_pMSE_max": 9.0, "ROE_mean": 0.8}
        for d in (1, 2)
        for w in (1, 2)
    ]
    columns = ["variables", "ways", "VW", "df", "pMSE", "S_pMSE", "MabsDD", "SPECKS", "JSD"]
    return {
        "columns": [*columns, "ROE", "chi_square", "p", "p_VW"],
        "mean": single + pairs,
        "by_dataset": means,
    }


def distributions() -> list[dict[str, Any]]:
    statistics = {"mean": 40.0, "sd": 9.5, "min": 0.0, "q1": 30.0, "median": 40.0, "q3": 50.0}
    summary = {
        "original": {**statistics, "max": 90.0},
        "synthetic": [{**statistics, "max": 88.0}, {**statistics, "max": None}],
    }
    age = {
        "variable": "age", "kind": "numeric", "missing": [False, False, False, True],
        "labels": ["below 20", "[20, 40)", "40 and above", "N"], "edges": [0.0, 20.0, 40.0, 60.0],
        "original": [0.2, 0.4, 0.3, 0.1],
        "synthetic": [[0.25, 0.35, 0.3, 0.1], [0.2, 0.4, 0.3, 0.1]],
        "summary": summary, "others": 0,
    }  # fmt: skip
    evil = {
        "variable": EVIL, "kind": "categorical", "labels": [EVIL, 'a "b"', "other levels"],
        "missing": [False, False, False], "edges": None,
        "original": [0.5, 0.3, 0.2], "synthetic": [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]],
        "summary": None, "others": 7,
    }  # fmt: skip
    job = {**evil, "variable": JOB, "labels": ["x" * 200, "", "\u2028<b>"], "others": 0}
    born = {
        "variable": "born", "kind": "date",
        "labels": ["[1970-01-01, 1971-01-01)", "1971-01-01 and above"],
        "missing": [False, False], "edges": [0.0, 365.0, 730.0],
        "original": [0.5, 0.5], "synthetic": [[0.4, 0.6], [0.6, 0.4]],
        "summary": summary, "others": 0,
    }  # fmt: skip
    return [age, evil, job, born]


def pairs() -> list[dict[str, Any]]:
    return [
        {
            "variables": list(pair),
            "rows": ["r1", "</script>"],
            "columns": ["c1", "c2", 'c "3"'],
            "original": [[10, 20, 30], [20, 10, 10]],
            "synthetic": [[10.5, 19.5, 10.0], [20.0, 30.0, 10.0]],
        }
        for pair in combinations(NAMES, 2)
    ]


def propensity(model: str = "logit") -> dict[str, Any]:
    own = {
        "pmse": 0.01, "s_pmse": 1.4, "z_pmse": 2.5, "specks": 0.1, "po50": 1.5, "u": 5000.0,
        "parameters": 5, "share": 0.5, "converged": True, "expected": 0.007, "deviation": 0.001,
    }  # fmt: skip
    return {
        "model": model, "interactions": 1, "permutations": 0 if model == "logit" else 10,
        "names": list(NAMES), "n": 100, "n_synthetic": [100, 100],
        "datasets": [own, {**own, "converged": False}], "mean": own,
    }  # fmt: skip


def fit() -> dict[str, Any]:
    def coefficient(name: str, shift: float, error: float = 0.5) -> dict[str, Any]:
        return {
            "name": name, "original": 2.0, "original_error": error, "original_low": 1.0,
            "original_high": 3.0, "synthetic": 2.0 + shift, "synthetic_error": error,
            "synthetic_low": 1.0 + shift, "synthetic_high": 3.0 + shift, "difference": shift,
            "standardised": shift / error if error else None, "overlap": 0.9,
        }  # fmt: skip

    names = ["Intercept", f"{EVIL}[a]", "far", "fixed"]
    columns = ("within", "between", "total", "estimate", "std_error", "low", "high")
    return {
        "formula": f"age ~ `{EVIL}`", "family": "ols", "rule": "simple", "clusters": None,
        "level": 0.95,
        "coefficients": [
            coefficient(names[0], 0.1), coefficient(names[1], 0.3), coefficient(names[2], 50.0),
            coefficient(names[3], 0.0, error=0.0),
        ],
        "mean_overlap": 0.9, "mean_standardised": 0.4,
        "lack_of_fit": {
            "statistic": 30.0, "df": 3, "df_error": None, "p_value": 1e-6, "ratio": 10.0,
        },
        "combined": {
            "rule": "simple", "m": 2, "level": 0.95, "names": names, "df": None,
            "adjusted": [False, True, False, False], **{name: [1.0] * 4 for name in columns},
        },
        "datasets": [
            {"dataset": d, "n": 100, "n_missing": 0, "n_unknown": 0, "problem": problem}
            for d, problem in enumerate((None, None, "it did not settle"))
        ],
        "notes": [
            "synthetic dataset 2 is left out: it did not settle",
            "the results are of 1 of 2 synthetic datasets",
            "the test needs more datasets",
        ],
        "figures": [figure("mean CI overlap", 0.9, baseline=0.796)],
    }  # fmt: skip


def risk() -> dict[str, Any]:
    singles = [
        {"dataset": d, "subset": "all", "size": 100, "matched": 90, "zero": 0.2 + d / 100,
         "undefined": 0.3, "chance_zero": 0.1, "chance_undefined": 0.1}
        for d in (1, 2)
    ]  # fmt: skip
    scenario = {
        "scenario": {**WHO, "reason": "as configured"},
        "figures": [
            figure("differential confidentiality", 0.02, low=0.01, high=0.03, baseline=0.0,
                   original=0.5, direction="about 0 is good"),
            figure("CAP", 0.3, baseline=0.1, original=0.6),
        ],
        "warnings": [],
        "cap": {"keys": WHO["keys"], "target": JOB, "n": 100, "sizes": {"all": 100},
                "original": {"all": 0.6}, "baseline": {"all": 0.1}, "synthetic": [],
                "singles": singles},
        "identity": {"datasets": [{"uio": 0.3, "repu": 0.05}, {"uio": 0.3, "repu": 0.06}],
                     "mean": {"uio": 0.3}},
        "attribute": {"datasets": [{"disco": 0.1}, {"disco": 0.2}], "mean": {"dorig": 0.4}},
    }  # fmt: skip
    nearest = {"share": 0.53, "low": 0.51, "high": 0.55, "original": 1.0, "synthetic": 50}
    return {
        "scenarios": [scenario],
        "inference": [],
        "replicated_uniques": {
            "figures": [figure("replicated uniques", 0.02, original=0.9, n=200)]
        },
        "nearest": nearest,
        "attacks": None,
        "failed": {},
        "notes": [],
    }


def utility() -> dict[str, Any]:
    places = [
        {"place": "tables", **figure("mean two-way S_pMSE", 1.6, direction="lower is better")},
        {"place": "tables", **figure("largest two-way S_pMSE", 13.0)},
        {"place": "tables", **figure("largest one-way S_pMSE", 4.1)},
    ]
    cells = {"distance": 0.97, "cells_original": 90, "cells_synthetic": 95, "cells_both": 5}
    return {
        "n": 100,
        "n_synthetic": [100, 100],
        "proper": False,
        "kept": [],
        "expected": {"S_pMSE": 1.0, "fresh": 2.0},
        "figures": places,
        "tables": tables(),
        "distributions": distributions(),
        "pairs": pairs(),
        "propensity": [propensity(), propensity("cart")],
        "distance": {"names": list(NAMES), "groups": 5, "datasets": [cells, cells], "mean": 0.97},
        "fits": [fit()],
        "failed": {},
        "notes": [],
    }


def checks() -> dict[str, Any]:
    return {
        "confidential": "not for release with the datasets",
        "format": 2,
        "summary": {"mean_two_way": 1.6, "worst_two_way": 13.0, "worst_one_way": 4.1},
        "risk": risk(),
        "utility": utility(),
        "failed": {},
        "exceeded": [],
    }


def record(**changes: Any) -> Record:
    """Return the run; keywords replace parts of ``utility``."""
    content = checks()
    content["utility"] |= copy.deepcopy(changes)
    return Record(manifest(), content)


def first_format() -> Record:
    """Return the run as the first format held it."""
    content = checks()
    own = content.pop("utility")["tables"]
    columns = own["columns"][:9]
    rows = [[":".join(row[0]), *row[1:9]] for row in own["mean"]]
    by_dataset = [
        {"dataset": d, "ways": w, "mean": w + d / 10, "max": 9.0} for d in (1, 2) for w in (1, 2)
    ]
    content["tables"] = {"columns": columns, "mean": rows, "S_pMSE_by_dataset": by_dataset}
    return Record(manifest(), content | {"format": 1})


class Page(HTMLParser):
    """What a browser would make of a page: elements with attributes, and the text of each kind."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]

    def text(self, tag: str) -> list[str]:
        return [text.strip() for text in self.texts.get(tag, []) if text.strip()]
