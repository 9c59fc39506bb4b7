"""Bad panels: every problem at once, exit code 2, nothing half written, no data shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.end_to_end.commands import call, write_yaml
from tests.plan.sources import NAMES, PANEL, ROWS, SECRET, WIDE_TEXT, changed
from tests.plan.sources import panel_text as text_of


def run_with(folder: Path, config: dict[str, Any], data: str, command: str = "run") -> Any:
    (folder / "data.csv").write_text(data, encoding="utf-8")
    content = {
        "data": {"path": "data.csv"},
        "output": {"directory": "out", "report": False, "codebook": False},
        "seed": 1,
        "checks": False,
        "models": {"cart": {"min_leaf": 3}},
    }
    return call(command, write_yaml(folder / "run.yaml", content | config))


def told(
    folder: Path, config: dict[str, Any], data: str, command: str = "run", code: int = 2
) -> str:
    """Return what a command says of bad input, on one line."""
    result = run_with(folder, config, data, command)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert SECRET not in result.output
    assert sorted(entry.name for entry in folder.iterdir()) == ["data.csv", "run.yaml"]
    return " ".join(result.output.split())


# What can only be seen while datasets are drawn: the input is sound, so the exit code is 1

LATE_CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing is left for some": (
        {"panel": PANEL, "forbid": ["sex == 'f' and pay < 300", "sex == 'f' and pay >= 300"],
         "variables": {"pay": {"kind": "numeric"}}, "on_violation": "ignore"},
        ["'pay'", "no", "allowed", "synthetic", "relax", "sex == 'f' and pay < 300"],
    ),
    "support and rule contradict": (
        {"panel": PANEL | {"rules": [{"variable": "level", "absorbing": ["p", "q", "r"]}]},
         "support": [["career.so_far", "level"]], "on_violation": "ignore"},
        ["'level'", "allowed", "synthetic", "relax"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LATE_CASES)
def test_rules_that_leave_nothing(name: str, tmp_path: Path) -> None:
    config, words = LATE_CASES[name]
    output = told(tmp_path, config, text_of(ROWS), code=1)
    assert [word for word in words if word not in output] == [], output


GOOD_CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a gap year": ({"panel": PANEL}, text_of(ROWS), "longer than the usual one"),
    "a person with one period": ({"panel": PANEL}, text_of([ROWS[0], *ROWS[2:]]), ""),
    "persons with one period each": (
        {"panel": PANEL},
        text_of([ROWS[i] for i in range(0, 100, 5)]),
        "",
    ),
    "a state seen once": ({"panel": PANEL}, text_of(changed(ROWS, 2, "once", 50)), ""),
    "one period": ({"panel": PANEL}, text_of([r for r in ROWS if r[1] == "1990"]), ""),
    "two persons": ({"panel": PANEL}, text_of(ROWS[:5]), "2 persons only"),
    "more states than persons": (
        {"panel": PANEL, "variables": {"state": {"kind": "categorical"}}},
        text_of([[*r[:2], f"s{i % 13}", *r[3:]] for i, r in enumerate(ROWS[:20])]),
        "",
    ),
    "presence only": ({"panel": {"person": "who", "time": "year"}}, text_of(ROWS), ""),
    "no variable but the career": (
        {"panel": PANEL, "drop": ["sex", "level", "pay"]},
        text_of(ROWS),
        "",
    ),
    "wide without a career": ({"panel": {"wide": {"state": ["s1..s3"]}}}, WIDE_TEXT, ""),
    "one wide period": ({"panel": {"wide": {"state": ["s1"]}, "career": "state"}}, WIDE_TEXT, ""),
    "rules that the data break": (
        {"panel": PANEL | {"rules": [{"variable": "state", "absorbing": ["a"]},
                                     {"variable": "level", "never": ["p", "q"]}]}},
        text_of(ROWS),
        "never leaves 'a'",
    ),
    "everything missing in one period": (
        {"panel": PANEL, "variables": {"pay": {"kind": "numeric", "missing": [""]}}},
        text_of([[*r[:5], "" if r[1] == "1991" else r[5]] for r in ROWS]),
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD_CASES)
def test_odd_but_good(name: str, tmp_path: Path) -> None:
    config, data, note = GOOD_CASES[name]
    result = run_with(tmp_path, config | {"min_stratum_rows": 1}, data)
    assert result.exit_code == 0, result.output
    manifest = (tmp_path / "out" / "manifest.json").read_text()
    assert note in manifest
    drawn = pd.read_csv(tmp_path / "out" / "synthetic_1.csv", dtype=str, keep_default_na=False)
    original = pd.read_csv(tmp_path / "data.csv", dtype=str, keep_default_na=False)
    dropped = set(config.get("drop", ()))
    assert list(drawn.columns) == [name for name in original.columns if name not in dropped]
    if "person" in config["panel"]:
        assert not drawn.duplicated(["who", "year"]).any()
        assert drawn["who"].nunique() == original["who"].nunique()
    else:
        assert len(drawn) == len(original)


def test_identifiers_that_start_anew_in_every_part(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    frame = pd.DataFrame(ROWS, columns=NAMES)
    for number in (1, 2):
        frame.to_parquet(tmp_path / "parts" / f"part{number}.parquet")
    content = {"data": {"path": "parts"}, "output": {"directory": "out"}, "panel": PANEL}
    result = call("run", write_yaml(tmp_path / "run.yaml", content))
    assert result.exit_code == 2
    output = " ".join(result.output.split())
    for word in ("100 rows", "'who' may start anew in every part", "unique"):
        assert word in output, output
