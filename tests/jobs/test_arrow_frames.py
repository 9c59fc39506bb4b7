"""Frames of other libraries: drawn as from pandas, and back as what they were."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synthesizer import Synthesizer, SynthesizerError, check, compare_fit

N = 150
BEGIN = dt.datetime(2020, 3, 1, 10)


def arrow_table() -> pa.Table:
    """Return a table with the types that Arrow frames have and pandas has not, and nulls."""
    rng = np.random.default_rng(5)
    hours = [BEGIN + dt.timedelta(hours=int(hour)) for hour in rng.integers(0, 900, N)]
    levels = pa.array(["low", "mid", "high"], pa.string_view())
    codes = pa.array(rng.integers(0, 3, N).astype(np.uint8), mask=rng.random(N) < 0.1)
    return pa.table(
        {
            "town": pa.array(rng.choice(["a", "b", "c"], N), pa.string()),
            "level": pa.DictionaryArray.from_arrays(codes, levels, ordered=True),
            "age": pa.array(rng.integers(0, 90, N), pa.uint8(), mask=rng.random(N) < 0.2),
            "pay": pa.array(
                [Decimal(int(cents)).scaleb(-2) for cents in rng.integers(0, 10**6, N)]
            ),
            "day": pa.array([hour.date() for hour in hours]),
            "at": pa.array(hours, pa.timestamp("ms", "Europe/Vienna")),
            "ok": pa.array(rng.random(N) < 0.5),
            "share": pa.array(rng.random(N), pa.float32()),
        }
    )


def drawn(frame: Any) -> Any:
    (made,) = Synthesizer(seed=1, random_key="none", workers=1).fit(frame).generate()
    return made


def drawn_by_pandas(table: pa.Table) -> list[Any]:
    """Return the rows that are drawn where pandas hands over the table."""
    made = drawn(table.to_pandas(date_as_object=True))
    return pa.Table.from_pandas(made, table.schema).to_pylist()


@pytest.mark.filterwarnings("ignore:synthetic rows may break")
def test_an_arrow_table_comes_back_with_its_types_and_the_draws_of_pandas() -> None:
    table = arrow_table()
    made = drawn(table)
    assert isinstance(made, pa.Table)
    large = pa.dictionary(pa.uint8(), pa.large_string(), ordered=True)
    assert made.schema.types == [large if f.name == "level" else f.type for f in table.schema]
    assert made.to_pylist() == drawn_by_pandas(table)
    assert 0.1 < made["age"].null_count / N < 0.3


@pytest.mark.filterwarnings("ignore:synthetic rows may break")
def test_a_polars_frame_comes_back_with_its_types_also_from_a_saved_model(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.from_arrow(arrow_table()).with_columns(
        pl.col("town").cast(pl.Categorical), pl.col("level").cast(pl.Enum(["low", "mid", "high"]))
    )
    fitted = Synthesizer(seed=1, random_key="none", workers=1).fit(frame)
    (made,) = fitted.generate()
    assert isinstance(made, pl.DataFrame)
    assert made.schema == frame.schema
    assert made.to_arrow().to_pylist() == drawn_by_pandas(frame.to_arrow())
    fitted.save(tmp_path / "model")
    again = Synthesizer.load(tmp_path / "model", original=frame).generate()
    assert again[0].equals(made)
    stored = (tmp_path / "model").read_bytes()
    assert b"_PL_" not in stored  # metadata of polars lists levels


def test_a_relation_of_duckdb_comes_back_as_an_arrow_table() -> None:
    duckdb = pytest.importorskip("duckdb")
    table = arrow_table().drop_columns(["level", "at"])
    relation = duckdb.from_arrow(table)
    made = drawn(relation)
    assert isinstance(made, pa.Table)
    assert made.to_pylist() == drawn(table).to_pylist()
    assert duckdb.sql("SELECT count(*) FROM made").fetchall() == [(N,)]
    broken = duckdb.from_arrow(table).project("town::INT AS secret")
    with pytest.raises(
        SynthesizerError, match="frame: Arrow cannot read duckdb.DuckDBPyRelation"
    ) as e:
        drawn(broken)
    assert "'a'" not in str(e.value)


def test_every_public_function_takes_them() -> None:
    table = arrow_table().select(["town", "age", "ok", "share"])
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    other, made = drawn(frame), drawn(table)
    keys: dict[str, Any] = {"keys": ["town", "age"], "target": "ok"}
    of_table, of_frame = check(table, [made, made], **keys), check(frame, [other, other], **keys)
    assert of_table.risk.to_frame().equals(of_frame.risk.to_frame())
    assert of_table.utility.to_frame().equals(of_frame.utility.to_frame())
    fits = [compare_fit(*data, "share ~ age + town") for data in ((table, made), (frame, other))]
    assert fits[0].to_frame().equals(fits[1].to_frame())


def test_what_is_refused_is_refused_at_once() -> None:
    table = pa.table({"t": [["secret"]] * 3, "u": [{"a": "secret"}] * 3, "v": [b"secret"] * 3})
    with pytest.raises(SynthesizerError) as caught:
        drawn(table)
    problems = "\n".join(caught.value.problems)
    for words in ("'t' contains lists", "'u' contains records", "'v' contains bytes"):
        assert words in problems
    assert "secret" not in problems
    twice = pa.table([pa.array([1, 2]), pa.array([1, 2])], names=["a", "a"])
    with pytest.raises(SynthesizerError) as caught:
        check(twice, [pd.Series([1, 2]), 3], keys=["a"], target="a")  # type: ignore[arg-type]
    first, second, third = caught.value.problems
    assert first == "original: column 'a' occurs twice; rename one"
    assert second.startswith("synthetic.1 must be a Table, a pandas DataFrame")
    assert third.endswith("not a whole number: use pandas.DataFrame(...)")
