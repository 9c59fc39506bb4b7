"""Bad panels: every problem at once, exit code 2, nothing half written, no data shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.end_to_end.commands import call, write_yaml

SECRET = "SECRET123"


def rows_of(n: int = 40) -> list[list[str]]:
    """Persons, two or three years each, a state, sex, a level and a pay."""
    rows = []
    for person in range(n):
        for t, year in enumerate((1990, 1991, 1993)[: 2 + person % 2]):
            state = ("a", "b", SECRET)[(person + t // 2) % 3]
            rows.append(
                [str(1000 + 7 * person), str(year), state, "fm"[person % 2],
                 "pqr"[(person % 2) + t // 2], str(100 * t + person % 5)]
            )  # fmt: skip
    return rows


NAMES = ["who", "year", "state", "sex", "level", "pay"]


def text_of(rows: list[list[str]], names: list[str] = NAMES) -> str:
    return "\n".join(",".join(cells) for cells in [names, *rows]) + "\n"


PANEL = {"person": "who", "time": "year", "career": "state"}
WIDE_TEXT = "id,sex,s1,s2,s3,p1,p2,p3\n" + "".join(
    f"{i},{'fm'[i % 2]},{'ab'[i % 2]},{'bc'[i % 2]},{SECRET},{i % 7},{i % 5},{i % 3}\n"
    for i in range(1, 41)
)


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


def changed(rows: list[list[str]], column: int, value: str, *numbers: int) -> list[list[str]]:
    return [
        [*row[:column], value, *row[column + 1 :]] if i in numbers else row
        for i, row in enumerate(rows)
    ]


ROWS = rows_of()
NOT_EVERY = [row for i, row in enumerate(ROWS) if i % 9]


# Configuration, words that are told, and the data where they are not the usual ones
LONG_CASES: dict[str, tuple[Any, ...]] = {
    "two rows of a person and period": (
        {"panel": PANEL},
        ["2 rows (numbers 101, 102)", "person and period", "2 persons", "keep one row each",
         "'who'", "unique"],
        text_of([*ROWS, ROWS[0], ROWS[5]]),
    ),
    "time is missing": (
        {"panel": PANEL}, ["panel.time", "'year'", "2 rows", "4, 9"],
        text_of(changed(ROWS, 1, "", 3, 8)),
    ),
    "person is missing": (
        {"panel": PANEL}, ["panel.person", "'who'", "1 row", "4"],
        text_of(changed(ROWS, 0, "", 3)),
    ),
    "one person": (
        {"panel": PANEL}, ["panel.person", "'who' holds 1 person", "at least 2"],
        text_of(ROWS[2:5]),
    ),
    "no time at all": (
        {"panel": PANEL}, ["'year' has no value in any row", "name another column"],
        text_of([[r[0], "", *r[2:]] for r in ROWS]),
    ),
    "text in the time": (
        {"panel": PANEL, "variables": {"year": {"kind": "numeric"}}},
        ["'year'", "data row 4", "correct these cells", "`kind: ordered`"],
        text_of(changed(ROWS, 1, "abc", 3)),
    ),
    "words without an order": (
        {"panel": PANEL}, ["panel.time", "'year'", "without an order", "variables.year.levels"],
        text_of([[r[0], {"1990": "one", "1991": "two"}.get(r[1], "three"), *r[2:]] for r in ROWS]),
    ),
    "unknown columns": (
        {"panel": {"person": "whom", "time": "yeer", "career": "stat"}},
        ["panel.person", "'whom'", "panel.time", "'yeer'", "panel.career", "'stat'"],
    ),
    "unknown period of the view and unknown variable of a rule": (
        {"panel": PANEL | {"view": ["1995"], "rules": [{"variable": "stat", "absorbing": ["a"]}]}},
        ["panel.view", "'1995'"],
    ),
    "unknown variable of a rule": (
        {"panel": PANEL | {"rules": [{"variable": "stat", "absorbing": ["a"]},
                                     {"variable": "levl", "non_decreasing": True}]}},
        ["panel.rules.1", "'stat'", "panel.rules.2", "'levl'", "'level'"],
    ),
    "numeric career": (
        {"panel": PANEL | {"career": "pay"}, "variables": {"pay": {"kind": "numeric"}}},
        ["panel.career", "'pay'", "kind: categorical"],
    ),
    "career is the person": (
        {"panel": PANEL | {"career": "who"}}, ["panel.career", "another column"],
    ),
    "keep without the careers": ({"panel": PANEL, "keep": ["level"]}, ["'level'", "keep"]),
    "strata that change": (
        {"panel": PANEL, "strata": ["state", "level"]},
        ["strata", "state, level", "torn apart"],
    ),
    "states that do not exist": (
        {"panel": PANEL | {"rules": [{"variable": "state", "absorbing": ["z"]},
                                     {"variable": "sex", "never": [["f", "x"]]}]}},
        ["panel.rules.1", "'state'", "'z'", "panel.rules.2", "'sex'", "'x'"],
    ),
    "an order where there is none": (
        {"panel": PANEL | {"rules": [{"variable": "sex", "non_decreasing": True}]}},
        ["panel.rules.1", "'sex'", "kind: ordered"],
    ),
    "states of a number": (
        {"panel": PANEL | {"rules": [{"variable": "pay", "absorbing": ["1"]}]},
         "variables": {"pay": {"kind": "numeric"}}},
        ["panel.rules.1", "'pay'", "number"],
    ),
    "never stay": (
        {"panel": PANEL | {"rules": [{"variable": "state", "never": [["a", "a"]]}]}},
        ["panel.rules.1", "staying"],
    ),
    "a rule that says nothing": (
        {"panel": PANEL | {"rules": [{"variable": "state"}]}},
        ["panel.rules", "absorbing, never and non_decreasing"],
    ),
    "rules that the data break, as an error": (
        {"panel": PANEL | {"rules": [{"variable": "state", "absorbing": ["a"]}]},
         "on_violation": "error"},
        ["panel.rules.1", "never leaves 'a'", "confidential rows", "persons break it",
         "on_violation: warn"],
    ),
    "what the data break, as an error": (
        {"panel": PANEL, "forbid": ["level == 'p' and year > 1990"], "on_violation": "error"},
        ["forbid", "confidential rows of", "persons satisfy it"],
    ),
    "a width that is none": (
        {"panel": PANEL,
         "variables": {"level": {"method": "advance", "options": {"width": [1, -2, 0]}}}},
        ["entry 2 of width (-2) must be at least 0"],
    ),
    "a name of careers that there is not": (
        {"panel": PANEL, "variables": {"level": {"derived": "`career.seniority`"}}},
        ["'career.seniority'", "of the careers there are career.first, career.last"],
    ),
    "another unit": (
        {"panel": PANEL,
         "checks": {"inference": {"sensitive": "sex", "public": ["year"], "units": "rows"}}},
        ["error: checks.inference", "units: must be 'persons' or 'periods' (got 'rows')"],
    ),
    "persons who are public, and no thresholds": (
        {"panel": PANEL,
         "checks": {"inference": [
             {"sensitive": "sex", "public": ["who", "year"], "units": "periods"},
             {"sensitive": "sex", "public": ["state@first"], "thresholds": []},
         ]}},
        ["'who' tells persons apart", "inference.2.thresholds: must be a list of at least 1"],
    ),
    "a history as the base of another": (
        {"panel": PANEL,
         "variables": {"level": {"method": "lag_one", "options": {"base": "monotone"}}}},
        ["'level'", "cannot be the base", "'cart'"],
    ),
    "two careers": (
        {"panel": PANEL, "variables": {"level": {"method": "career"}}},
        ["'level'", "careers are drawn once"],
    ),
    "a career that is drawn otherwise": (
        {"panel": PANEL, "variables": {"state": {"method": "lag_one"}}}, ["'state'", "'career'"],
    ),
    "a changing variable before the career": (
        {"panel": PANEL, "visit_sequence": ["level", "state"]},
        ["'level'", "before the careers", "'time_invariant'"],
    ),
    "names of derived columns": (
        {"panel": PANEL}, ["career.first, own.x", "names of variables"],
        text_of(ROWS, ["who", "year", "state", "sex", "career.first", "own.x"]),
    ),
    "forbid about what only follows": (
        {"panel": PANEL, "forbid": ["year == 1990 and state == 'a'"]},
        ["forbid 1", "cannot be redrawn"],
    ),
    "support about what only follows": (
        {"panel": PANEL, "support": [["year", "state"]]},
        ["support 1", "career", "cannot be redrawn", "whatever the order", "panel.rules"],
    ),
    "forbid about the career": (
        {"panel": PANEL, "forbid": ["state == 'a'"]},
        ["forbid 1", "career", "cannot be redrawn", "panel.rules"],
    ),
    "forbid of a variable before the career": (
        {"panel": PANEL, "forbid": ["state == 'a' and sex == 'f'"],
         "visit_sequence": ["sex", "state"]},
        ["forbid 1", "put 'sex' after 'state' in visit_sequence"],
    ),
    "a rule that sets the career": (
        {"panel": PANEL, "rules": [{"if": "sex == 'f'", "then": {"state": "a"}}]},
        ["rule 1", "'state' is the career", "panel.rules"],
    ),
    "a rule that gives a person two values": (
        {"panel": PANEL, "rules": [{"if": "state == 'a'", "then": {"sex": "f"}}]},
        ["rule 1", "'sex' is one value a person", "state", "several values"],
    ),
    "conditions that leave nothing": (
        {"panel": PANEL, "forbid": ["sex == 'm'", "sex == 'f'"], "on_violation": "ignore"},
        ["forbid 1, forbid 2", "no value of 'sex' is left"],
    ),
    "worst group by what changes": (
        {"panel": PANEL, "checks": {"differential_confidentiality": {"by": "state"}}},
        ["differential_confidentiality.by", "'state' changes", "state@first, state@last"],
    ),
    "values out of view": (
        {"panel": PANEL | {"view": ["1990"]},
         "checks": {"keys": ["sex@first", "state@1991"], "target": "level",
                    "fits": ["pay ~ `state@1993`"], "groups": {"pay": 5}}},
        ["'state@1991' is not in view; add 1991 to panel.view", "write 'sex'",
         "level@first, level@last, level@1990", "add 1993 to panel.view", "pay@first"],
    ),
    "rules about who and when": (
        {"panel": PANEL | {"rules": [{"variable": "who", "absorbing": ["a"]},
                                     {"variable": "year", "non_decreasing": True}]}},
        ["panel.rules.1: 'who' tells persons apart", "panel.rules.2: 'year' is time"],
    ),
    "rules without a form": (
        {"panel": PANEL | {"rules": [{"variable": "sex"}, {"variable": "sex", "never": []},
                                     {"variable": "sex", "never": ["f"]}]},
         "checks": {"keys": ["sex"], "target": "state@last"}},
        ["3 errors", "panel.rules.1: needs", "panel.rules.2: needs", "panel.rules.3.never",
         "pairs [from, to]"],
    ),
    "a panel with a fault is not planned without it": (
        {"panel": PANEL | {"time": "who"}, "checks": {"keys": ["sex"], "target": "state@last"}},
        ["error: panel: person and time must be two columns"],
    ),
    "unknown keys of the parts": (
        {"panel": PANEL | {"persn": "x", "rules": [{"variable": "sex", "nondecreasing": True}]}},
        ["2 errors", "panel.persn: unknown key; did you mean 'person'?",
         "panel.rules.1.nondecreasing: unknown key; did you mean 'non_decreasing'?"],
    ),
    "unknown predictors": (
        {"panel": PANEL, "variables": {
            "level": {"exclude": ["own.bfore", "career.movs"]},
            "sex": {"exclude": ["own.before"]}}},
        ["'own.bfore'", "it adds own.before, own.changes, own.since", "'career.moves'?",
         "variable 'sex': 'own.before' is no predictor that its model adds"],
    ),
    "attributes of careers before the careers": (
        {"panel": PANEL, "visit_sequence": ["sex", "state"],
         "variables": {"sex": {"predictors": ["career.moves"]}}},
        ["'career.moves' follows from the careers", "put 'sex' after 'state'"],
    ),
    "given that is no predictor": (
        {"panel": PANEL, "variables": {"level": {"method": "each_period", "options": {
            "base": {"model": "nominal", "given": ["leval", "pay"]}}}}},
        ["'level'", "options name leval, pay", "must be predictors"],
    ),
    "nominal without given": (
        {"panel": PANEL, "variables": {"level": {"method": "nominal"}}},
        ["'level'", "'given'", "missing"],
    ),
    "both forms": ({"panel": PANEL | {"wide": {"s": ["state"]}}}, ["panel", "not both"]),
    "only a person": ({"panel": {"person": "who"}}, ["both person and time"]),
    "absent in the long form": ({"panel": PANEL | {"absent": ["x"]}}, ["absent", "wide form"]),
    "person and time are one column": (
        {"panel": {"person": "who", "time": "who"}}, ["two columns"],
    ),
    "unknown key": ({"panel": PANEL | {"carrer": "x"}}, ["panel.carrer"]),
    "each_period with a rule": (
        {"panel": PANEL | {"rules": [{"variable": "level", "never": [["p", "r"]]}]},
         "variables": {"level": {"method": "each_period"}}},
        ["'level'", "'each_period'", "'lag_one'", "never goes from"],
    ),
    "advance with a rule": (
        {"panel": PANEL | {"rules": [{"variable": "level", "absorbing": ["p"]}]},
         "variables": {"level": {"method": "advance", "kind": "ordered",
                                 "levels": ["p", "q", "r"]}}},
        ["'level'", "'advance'", "'lag_one'"],
    ),
    "every problem at once": (
        {"panel": PANEL | {"rules": [{"variable": "stat", "absorbing": ["a"]},
                                     {"variable": "sex", "non_decreasing": True}]},
         "keep": ["level"], "strata": ["level"], "forbid": ["lvel == 'p'"],
         "support": [["sex", "leval"]]},
        ["'stat'", "panel.rules.2", "'sex'", "keep", "strata", "'lvel'", "'leval'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG_CASES)
def test_long(name: str, tmp_path: Path) -> None:
    config, words, data = (*LONG_CASES[name], text_of(ROWS))[:3]
    output = told(tmp_path, config, data)
    assert [word for word in words if word not in output] == [], output


def test_validate_says_what_run_says(tmp_path: Path) -> None:
    case = LONG_CASES["every problem at once"][0], text_of(ROWS)
    assert told(tmp_path, *case, command="validate") == told(tmp_path, *case)


STATES = {"wide": {"state": ["s1..s3"]}}
WIDE_CASES: dict[str, tuple[Any, ...]] = {
    "the wrong way round": (
        {"panel": {"wide": {"state": ["s3..s1"], "pay": ["p9", "p1..x"]}}},
        ["panel.wide.state", "'s1' comes before 's3'", "panel.wide.pay", "'p9'", "'x'"],
    ),
    "different lengths": (
        {"panel": {"wide": {"state": ["s1..s3"], "pay": ["p1", "p2"]}}},
        ["different numbers of periods", "state 3", "pay 2"],
    ),
    "different kinds": (
        {"panel": {"wide": {"state": ["s1", "s2", "p3"]}},
         "variables": {"p3": {"kind": "numeric"}}},
        ["panel.wide.state", "different kinds", "categorical, numeric"],
    ),
    "twice": (
        {"panel": {"wide": {"state": ["s1", "s2"], "other": ["s2", "s3"]}}},
        ["more than once", "s2"],
    ),
    "no such label": (
        {"panel": STATES | {"absent": ["gone"]}}, ["panel.absent", "'state'", "'gone'"],
    ),
    "career is none of them": (
        {"panel": STATES | {"career": "sex"}}, ["panel.career", "'sex'", "state"],
    ),
    "view": ({"panel": STATES | {"view": ["1"]}}, ["panel.view", "take it out"]),
    "name of a column": (
        {"panel": {"wide": {"sex": ["s1..s3"]}}}, ["'sex' is also a column", "another name"],
    ),
    "absent for ever": (
        {"panel": STATES | {"absent": ["a", "b", "c", SECRET]}}, ["panel.absent", "40 persons"],
    ),
    "numeric career": (
        {"panel": {"wide": {"pay": ["p1..p3"]}, "career": "pay"},
         "variables": {f"p{t}": {"kind": "numeric"} for t in (1, 2, 3)}},
        ["panel.career", "'pay'"],
    ),
    "no columns": ({"panel": {"wide": {"pay": []}}}, ["panel.wide.pay"]),
    "columns in place of their variable": (
        {"panel": STATES, "keep": ["s1"], "visit_sequence": ["s1", "sex"], "strata": ["s2"],
         "method": {"s3": "sample"}, "forbid": ["s1 == 'a' and sex == 'f'"],
         "support": [["s1", "sex"]], "predictor_matrix": {"sex": ["s1"]},
         "rules": [{"if": "s1 == 'a'", "then": {"s2": "b"}}],
         "variables": {"s1": {"method": "cart", "kind": "categorical"},
                       "sex": {"predictors": ["s2"]}}},
        [f"{place}: 's{t}' is a column of 'state'; write 'state'"
         for place, t in (("keep", 1), ("visit_sequence", 1), ("strata", 2), ("method", 3),
                          ("forbid 1: condition", 1), ("support 1", 1), ("predictor_matrix.sex", 1),
                          ("rule 1, if: condition", 1), ("rule 1", 2), ("variables.s1.method", 1),
                          ("variables.sex.predictors", 2))],
    ),
    "a variable in place of its columns": (
        {"panel": STATES, "checks": {"keys": ["sex"], "target": "state"}},
        ["checks.target: 'state' changes within persons", "s1, s2, s3"],
    ),
    "models in a list": (
        {"panel": STATES, "method": ["cart"] * 8}, ["method: a list", "panel.wide", "map"],
    ),
    "an identifier": (
        {"panel": {"wide": {"x": ["id", "s1", "s2"]}}, "variables": {"id": {"kind": "id"}}},
        ["panel.wide", "id"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDE_CASES)
def test_wide(name: str, tmp_path: Path) -> None:
    config, words = WIDE_CASES[name]
    output = told(tmp_path, config, WIDE_TEXT)
    assert [word for word in words if word not in output] == [], output


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
