"""Bad panels: every problem at once, exit code 2, nothing half written, no data shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.end_to_end.commands import call, write_yaml
from tests.plan.sources import HIDDEN, PANEL, ROWS, WIDE_TEXT
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


# What can only be seen while datasets are drawn: the input is sound, so the exit code is 1


GOOD_CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a gap year": ({"panel": PANEL}, text_of(ROWS), "longer than the usual one"),
    "one period": ({"panel": PANEL}, text_of([r for r in ROWS if r[1] == "1990"]), ""),
    "two persons": ({"panel": PANEL}, text_of(ROWS[:5]), "only 2 persons"),
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
    "everything missing in one period": (
        {"panel": PANEL, "variables": {"pay": {"kind": "numeric", "missing": [""]}}},
        text_of([[*r[:5], "" if r[1] == "1991" else r[5]] for r in ROWS]),
        "",
    ),
}


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


def test_rules_that_leave_nothing_are_reported_in_the_draw(tmp_path: Path) -> None:
    """The input is sound, so the exit code is 1; nothing is written, no value shown."""
    forbid = ["sex == 'f' and pay < 300", "sex == 'f' and pay >= 300"]
    config = {"panel": PANEL, "forbid": forbid, "variables": {"pay": {"kind": "numeric"}}}
    result = run_with(tmp_path, config | {"on_violation": "ignore"}, text_of(ROWS))
    assert result.exit_code == 1, result.output
    assert HIDDEN not in result.output
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data.csv", "run.yaml"]
    for word in ("'pay'", "allowed", "relax", "sex == 'f' and pay < 300"):
        assert word in result.output
