"""Every measure and every model gives the same numbers and bytes under all backends of joblib.

`BACKENDS=all` in the environment runs every backend with 1, 2 and 8 workers, and once with all
arrays handed over as files that cannot be written to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

from synthesizer.data.errors import RuleError
from synthesizer.data.plugins import keyed
from synthesizer.data.table import Kind
from synthesizer.engine.registry import Registry
from synthesizer.jobs.run import run
from synthesizer.measures import checks
from synthesizer.measures.catalogue import CHECKS, MEASURES
from synthesizer.measures.utility import stacked
from tests.backends import FORKS
from tests.end_to_end.commands import persons_frame, write_yaml

Backend = tuple[str, int, dict[str, Any]]

NAMES = ("sequential", "threading", "loky", "multiprocessing")
SOME: list[Backend] = [("threading", 8, {}), ("loky", 2, {}), ("multiprocessing", 2, {})]
ALL: list[Backend] = [
    *((name, workers, {}) for name in NAMES for workers in (1, 2, 8)),
    *((name, 2, {"max_nbytes": 1}) for name in ("loky", "multiprocessing")),
]

REGISTRY = Registry.load()
ABILITIES = {name: REGISTRY.get(name).abilities for name in REGISTRY.names}
OPTIONS: dict[str, dict[str, Any]] = {
    "bagging": {"n_trees": 2},
    "constant": {"value": 3},
    "derived": {"expression": "age + 1"},
    "forest": {"n_trees": 2},
    "follows": {"of": "sex"},
    "grouped": {"by": ["sex"], "min_rows": 10},
    "nominal": {"given": ["sex"]},
    "percentage": {"of": "age"},
}
OF_NUMBERS = ("constant", "derived", "percentage")
YEARS = range(1990, 1994)

QUIET = {"report": False, "codebook": False}

# Checks that a run does not switch on by itself.
OPTIONAL: dict[str, Any] = {
    "keys": ["sex", "region"],
    "target": "marital",
    "three_way": True,
    "propensity": {"models": ["logit", "cart"], "permutations": 3},
    "inference": {"sensitive": "marital", "public": ["sex", "region"]},
    "attacks": {"enabled": True, "attempts": 20},
    "fits": [
        {"formula": "income ~ sex + age"},
        {"formula": "income ~ age | region"},
        {"formula": "income ~ age", "by": ["sex"]},
    ],
}


def models(folder: Path) -> dict[str, Any]:
    """Every model of a table, of a number and of levels, with fits for each stratum and dataset."""
    rng, frame, variables = np.random.default_rng(1), persons_frame(60)[["sex", "age"]], {}
    for model, can in ABILITIES.items():
        for kind in can.kinds & {Kind.NUMERIC, Kind.CATEGORICAL} if not can.panel else ():
            if kind is Kind.CATEGORICAL and model in OF_NUMBERS:
                continue
            name = f"{model}_{kind}"
            variables[name] = {
                "kind": str(kind),
                "method": model,
                "options": deepcopy(OPTIONS.get(model, {})),
            }
            levels = rng.choice(["x", "y"], 60)
            frame[name] = frame["age"] + 1 if kind is Kind.NUMERIC else levels
    frame["constant_numeric"] = 3
    frame.to_csv(folder / "models.csv", index=False)
    strata = {"strata": ["sex"], "min_stratum_rows": 1, "proper": True}
    return {"variables": variables, "checks": False} | strata


def histories(folder: Path) -> dict[str, Any]:
    """Every model of careers and histories, and the measures of panels."""
    rng = np.random.default_rng(1)
    panel = [name for name, can in ABILITIES.items() if can.panel and not can.career]
    rows, variables = [], {"id": {"kind": "id"}}
    for person in range(60):
        start, state = int(rng.integers(20, 50)), "a"
        level = dict.fromkeys(panel, start)
        for year in YEARS[int(rng.integers(2)) : int(rng.integers(2, 5))]:
            state = str(rng.choice(["a", "b"])) if rng.random() < 0.4 else state
            level |= {n: level[n] + int(rng.integers(2)) for n in panel if n != "time_invariant"}
            level["advance"] = start + year
            rows.append(
                {"id": person, "year": year, "state": state, "sex": "fm"[start % 2], **level}
            )
    pd.DataFrame(rows).to_csv(folder / "histories.csv", index=False)
    for name in panel:
        variables[name] = {"kind": "numeric", "method": name, "options": {}}
    return {
        "panel": {"person": "id", "time": "year", "career": "state"},
        "variables": variables | {"state": {"method": "career"}},
        "checks": {"keys": ["sex"], "target": "lag_one@last"},
    }


def extension(folder: Path) -> dict[str, Any]:
    """New periods of the first histories, and their measure."""
    frame = pd.read_csv(folder / "histories.csv")[["id", "year", "state", "sex", "lag_one"]]
    frame.to_csv(folder / "extension.csv", index=False)
    content: dict[str, Any] = {
        "panel": {"person": "id", "time": "year", "career": "state"}, "checks": False
    }  # fmt: skip
    if not (folder / "published").exists():
        frame[frame["year"] < YEARS[-1]].to_csv(folder / "published.csv", index=False)
        output = {"directory": "published"} | QUIET
        first = {"data": {"path": "published.csv"}, "output": output, "seed": 1, "m": 2}
        run(write_yaml(folder / "published.yaml", first | content))
    only: dict[str, Any] = dict.fromkeys(set(CHECKS) - {"inference", "fits"}, False)
    only["sequences"] = True
    return content | {"extends": {"run": "published"}, "checks": only}


def measures(folder: Path) -> dict[str, Any]:
    """Every measure of a table: all that is on, and all that has to be asked for."""
    persons_frame(120).drop(columns="person_id").to_csv(folder / "measures.csv", index=False)
    return {"weights": "age", "checks": OPTIONAL}


def genetic(folder: Path) -> dict[str, Any]:
    """An evolution from the datasets of a chain."""
    persons_frame(60)[["sex", "region", "marital"]].to_csv(folder / "genetic.csv", index=False)
    small = {"risk": "cap", "start": "chain", "mode": "pareto", "population": 6, "generations": 2}
    return {"m": 1, "genetic": small, "checks": {"keys": ["sex", "region"], "target": "marital"}}


def households(folder: Path) -> dict[str, Any]:
    """Households, and the measure of those that come back."""
    from tests.extensions.households.household_file import RULES, household_frame

    household_frame(60).to_csv(folder / "households.csv", index=False)
    return {**RULES, "checks": {"keys": ["sex"], "target": "education"}}


CASES: tuple[Callable[[Path], dict[str, Any]], ...] = (
    models, histories, measures, *([households] if "household" in keyed() else []),
    *([genetic] if "genetic" in keyed() else []),
    *([extension] if "extends" in keyed() else []),
)  # fmt: skip


def results(folder: Path, workers: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of every dataset and figure, and the message of an error."""
    for case in CASES:
        content = {
            "data": {"path": f"{case.__name__}.csv"},
            "output": {"directory": case.__name__, "overwrite": True} | QUIET,
            "seed": 1,
            "m": 2,
            "workers": workers,
        }
        path = write_yaml(folder / f"{case.__name__}.yaml", content | case(folder))
        directory = run(path).directory
        for file in sorted([*directory.glob("*.csv"), directory / "checks.json"]):
            yield f"{case.__name__}/{file.name}", file.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        # threads for small files too
        if "genetic" in keyed():
            patch.setattr("synthesizer.extensions.genetic.genetic_source.MIN_THREADED_ROWS", 0)
        patch.setattr(stacked, "_PART", 64)
        yield tmp_path_factory.mktemp("backends")


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, bytes]:
    """What one worker makes; every measure of the catalogue and every model must be in it."""
    computed = set()

    def seen(key: str) -> Callable[[Any], Any]:
        def compute(case: Any) -> Any:
            result = MEASURES[key].compute(case)
            if result is not None:
                computed.add(key)
            return result

        return compute

    with pytest.MonkeyPatch.context() as patch:
        wrapped = {key: replace(MEASURES[key], compute=seen(key)) for key in MEASURES}
        patch.setattr(checks, "MEASURES", wrapped)
        results_of_one = dict(results(folder, 1))
    assert computed == set(MEASURES)
    assert drawn_by(folder) == set(REGISTRY.names)
    return results_of_one


def drawn_by(folder: Path) -> set[str]:
    """Return the models of the last results."""
    manifests = (folder / case.__name__ / "manifest.json" for case in CASES)
    return {step["model"] for path in manifests for step in json.loads(path.read_text())["chain"]}


@FORKS
@pytest.mark.parametrize(
    ("backend", "workers", "more"), ALL if os.environ.get("BACKENDS") == "all" else SOME
)
def test_no_backend_changes_a_byte(
    backend: str, workers: int, more: dict[str, Any], folder: Path, expected: dict[str, bytes]
) -> None:
    with parallel_config(backend=backend, **more):
        made = dict(results(folder, workers))
    assert made.keys() == expected.keys()
    assert [name for name in made if made[name] != expected[name]] == []


@FORKS
@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_an_error_is_the_same_wherever_it_is_raised(backend: str, folder: Path) -> None:
    config = measures(folder) | {
        "data": {"path": "measures.csv"},
        "output": {"directory": "error"},
        "seed": 1,
        "checks": False,
        "forbid": [f"sex == 'f' and region == '{name}'" for name in ("north", "south", "west")],
    }
    path, errors = write_yaml(folder / "error.yaml", config), []
    for workers in (1, 2):
        with parallel_config(backend=backend), pytest.raises(RuleError) as caught:
            run(path, overrides={"workers": workers})
        errors.append((caught.value.problems, caught.value.__notes__))
    assert errors[0] == errors[1]


def test_processes_that_a_command_forks_end_without_a_word(tmp_path: Path) -> None:
    """A pool ends its workers with SIGTERM, which must not raise in them what it raises here."""
    (tmp_path / "forking.py").write_text(
        "import multiprocessing, signal\n"
        "from synthesizer.models.sample import Sample as Forked\n"
        "with multiprocessing.get_context('fork').Pool(1) as pool:\n"
        "    both = pool.map(signal.getsignal, (signal.SIGTERM, signal.SIGINT))\n"
        "print(*(handler.name for handler in both))\n"
        "MODELS = {'forked': Forked}\n"
    )
    code = "from synthesizer.cli import main; main()"
    words = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        code,
        "reference",
        "models",
        "forked",
        "--plugin",
        "forking",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout.splitlines()[0]) == ("", "SIG_DFL SIG_IGN")
