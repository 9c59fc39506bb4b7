"""Small confidential files, and configurations of them that a table of mistakes changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

HIDDEN = "SECRET123"
"""A value that no message may show."""

GOOD = {
    "sex": ["f", "m"] * 30,
    "age": [str(20 + i % 37) for i in range(60)],
    "town": [HIDDEN if i % 3 else "Ulm" for i in range(60)],
    "pay": [str(1000 + 13 * i % 701) + ".5" for i in range(60)],
}


def text_of(**changes: list[str] | None) -> str:
    columns = {name: cells for name, cells in (GOOD | changes).items() if cells is not None}
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(row) for row in rows)]) + "\n"


def rows_of(n: int = 40) -> list[list[str]]:
    """Persons, two or three years each, a state, sex, a level and a pay."""
    rows = []
    for person in range(n):
        for t, year in enumerate((1990, 1991, 1993)[: 2 + person % 2]):
            state = ("a", "b", HIDDEN)[(person + t // 2) % 3]
            rows.append(
                [str(1000 + 7 * person), str(year), state, "fm"[person % 2],
                 "pqr"[(person % 2) + t // 2], str(100 * t + person % 5)]
            )  # fmt: skip
    return rows


NAMES = ["who", "year", "state", "sex", "level", "pay"]
ROWS = rows_of()


def panel_text(rows: list[list[str]] = ROWS, names: list[str] = NAMES) -> str:
    return "\n".join(",".join(cells) for cells in [names, *rows]) + "\n"


def changed(rows: list[list[str]], column: int, value: str, *numbers: int) -> list[list[str]]:
    return [
        [*row[:column], value, *row[column + 1 :]] if i in numbers else row
        for i, row in enumerate(rows)
    ]


WIDE_TEXT = "id,sex,s1,s2,s3,p1,p2,p3\n" + "".join(
    f"{i},{'fm'[i % 2]},{'ab'[i % 2]},{'bc'[i % 2]},{HIDDEN},{i % 7},{i % 5},{i % 3}\n"
    for i in range(1, 41)
)


def careers(n: int = 60) -> pd.DataFrame:
    """Three years: sex never changes, race changes for a tenth, grade for most persons."""
    person = np.repeat(np.arange(n), 3)
    year = np.tile([2001, 2002, 2003], n)
    return pd.DataFrame(
        {
            "person": person,
            "year": year,
            "state": np.where((person + year) % 3 == 0, "work", "school"),
            "grade": (person + year) % 4,
            "race": np.where((person % 10 == 0) & (year > 2002), "b", "a"),
            "sex": np.where(person % 2 == 0, "f", "m"),
        }
    )


def survey(n: int = 400) -> pd.DataFrame:
    """Persons with a weight."""
    rng = np.random.default_rng(5)
    weight = np.rint(rng.gamma(5, 20, n)) + 1
    return pd.DataFrame(
        {
            "wgt": weight.astype(int),
            "region": rng.choice(["east", "north", "south"], n),
            "sex": rng.choice(["f", "m"], n),
            "income": np.rint(rng.lognormal(7, 1, n)).astype(int),
            "person": np.arange(n),
        }
    )


DECLARED = {"person": {"kind": "id"}}
PANEL = {"person": "who", "time": "year", "career": "state"}
IN_CAREERS = {"person": "person", "time": "year", "career": "state"}
QUICK = {"checks": False, "models": {"cart": {"min_leaf": 3}}}


def weighted(*values: str) -> str:
    rows = [f"{values[i % len(values)]},{'fm'[i % 2]},{i}" for i in range(40)]
    return "\n".join(["w,sex,age", *rows]) + "\n"


SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "fair": ("", {"data": {"sample": "fair"}}),
    "people": (text_of(), {}),
    "panel": (panel_text(), QUICK),
    "wide": (WIDE_TEXT, QUICK),
    "careers": (
        careers().to_csv(index=False),
        {"checks": False, "panel": IN_CAREERS, "min_stratum_rows": 1},
    ),
    "survey": (survey().to_csv(index=False), {"checks": False, "drop": ["person"]}),
    "checked": (survey().to_csv(index=False), {"variables": DECLARED}),
    "negative_weights": (weighted("-1", "2"), {"weights": "w"}),
    "missing_weights": (weighted("", "2"), {"weights": "w"}),
    "zero_weights": (weighted("0"), {"weights": "w"}),
    "rare_negative_weights": (weighted("-3", *map(str, range(11, 50))), {"weights": "w"}),
    "text_for_weights": (weighted("heavy", "2"), {"weights": "w"}),
    "careers_of_absence": (
        careers().assign(state="(absent)").to_csv(index=False),
        {"checks": False, "panel": IN_CAREERS},
    ),
    "panel_with_rows_twice": (panel_text([*ROWS, ROWS[0], ROWS[5]]), QUICK),
    "panel_without_some_times": (panel_text(changed(ROWS, 1, "", 3, 8)), QUICK),
    "panel_without_a_person": (panel_text(changed(ROWS, 0, "", 3)), QUICK),
    "panel_of_one_person": (panel_text(ROWS[2:5]), QUICK),
    "panel_without_time": (panel_text([[r[0], "", *r[2:]] for r in ROWS]), QUICK),
    "panel_with_text_in_time": (panel_text(changed(ROWS, 1, "abc", 3)), QUICK),
    "panel_with_words_for_time": (
        panel_text(
            [[r[0], {"1990": "one", "1991": "two"}.get(r[1], "three"), *r[2:]] for r in ROWS]
        ),
        QUICK,
    ),
    "panel_with_names_of_careers": (
        panel_text(ROWS, ["who", "year", "state", "sex", "career.first", "own.x"]),
        QUICK,
    ),
}
"""Text of the file, and the keys of its configuration."""


def patients(n: int = 120) -> pd.DataFrame:
    """An event and the time until it."""
    number = np.arange(n)
    return pd.DataFrame(
        {
            "sex": np.where(number % 2 == 0, "f", "m"),
            "death": np.where(number % 3 == 0, "yes", "no"),
            "futime": (number * 37) % 101,
            "age": 20 + number % 53,
        }
    )


SOURCES["patients"] = (patients().to_csv(index=False), {"checks": False})
