"""One file through five doors is the same: plain and quoted CSV, pandas, Parquet and SQL."""

import csv
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthesizer import Synthesizer
from synthesizer.data.guessing import infer
from synthesizer.data.sources import RawTable, from_pandas, read_path, read_sql
from synthesizer.data.table import Kind


def _people() -> pd.DataFrame:
    """Return texts as a form asks for them: amounts beside a letter code, codes, days, names."""
    rng = np.random.default_rng(5)
    n = 400
    income = np.where(rng.random(n) < 0.2, "N", rng.lognormal(8, 1, n).astype(int).astype(str))
    return pd.DataFrame(
        {
            "income": income,
            "age": rng.integers(18, 90, n).astype(str),
            "score": np.round(rng.normal(50, 9, n), 1).astype(str),
            "zip": [f"{code:05d}" for code in rng.integers(0, 30, n) * 997],
            "sex": rng.choice(["1", "2"], n),
            "day": [f"2019{i % 12 + 1:02d}{i % 28 + 1:02d}" for i in range(n)],
            "case": rng.permutation(n).astype(str),
            "visits": rng.choice(["1.0", "2.0", "3.0", ""], n),  # as pandas writes them
            "town": rng.choice(["Ulm", "Trier", "Jena"], n),
        }
    ).astype(object)


def _through(door: str, folder: Path) -> RawTable:
    frame = _people()
    frame.to_csv(folder / "plain.csv", index=False)
    match door:
        case "plain":
            return read_path(folder / "plain.csv")
        case "quoted":  # some columns are, some are not
            frame["age"] = frame["age"].astype(int)
            frame.to_csv(folder / "quoted.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
            return read_path(folder / "quoted.csv")
        case "pandas":
            return from_pandas(frame)
        case "parquet":
            frame.to_parquet(folder / "people.parquet")
            return read_path(folder / "people.parquet")
        case "sql":
            with sqlite3.connect(folder / "people.db") as connection:
                frame.to_sql("people", connection, index=False)
            connection.close()
            return read_sql(f"sqlite:///{folder / 'people.db'}", "SELECT * FROM people")
    raise ValueError(door)


@pytest.mark.parametrize("door", ["plain", "quoted", "pandas", "parquet", "sql"])
def test_a_column_is_the_same_by_every_door(door, tmp_path):
    found = {item.variable.name: item.variable for item in infer(_through(door, tmp_path))}
    assert {name: variable.kind for name, variable in found.items()} == {
        "income": Kind.NUMERIC, "age": Kind.NUMERIC, "score": Kind.NUMERIC, "zip": Kind.CATEGORICAL,
        "sex": Kind.CATEGORICAL, "day": Kind.DATE, "case": Kind.ID, "visits": Kind.CATEGORICAL,
        "town": Kind.CATEGORICAL,
    }  # fmt: skip
    assert found["income"].missing == ("N",)


def test_incomes_of_one_person_do_not_leave_a_frame_of_texts():
    frame = _people()[["income", "age", "sex"]]
    held = frame.loc[frame["income"] != "N", "income"].value_counts()
    with pytest.warns(UserWarning, match="taken for missing codes: N in income"):
        fitted = Synthesizer(seed=1, secret="none").fit(frame)
    made = fitted.generate()[0]["income"]
    released = set(made) & set(held.index[held < 5])
    assert (made == "N").mean() == pytest.approx(0.2, abs=0.08)
    assert len(released) < 0.1 * made.nunique()  # equal by chance; 1 where levels are drawn
