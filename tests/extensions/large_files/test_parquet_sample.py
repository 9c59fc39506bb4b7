"""A sample of persons, or rows, of Parquet files that are not read whole."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthesizer.config.keys import PanelConfig
from synthesizer.data.errors import DataError
from synthesizer.extensions.large_files import parquet_sample as partitions
from synthesizer.extensions.large_files.large_files_options import LargeFilesOptions
from synthesizer.extensions.large_files.parquet_sample import (
    parquet_rows,
    read_groups,
    read_sample,
)
from synthesizer.jobs.starter import StarterOptions, make_starter
from synthesizer.plan.overview import make_codebook

PERSONS = 3_000


def _panel(kind: Callable[[int], object] = int) -> pd.DataFrame:
    """Persons with one to five rows each."""
    rng = np.random.default_rng(1)
    rows = rng.integers(1, 6, PERSONS)
    person = np.repeat(np.arange(PERSONS), rows)
    return pd.DataFrame(
        {"id": [kind(p) for p in person], "x": rng.integers(0, 9, len(person)), "number": person}
    )


def _write(frame: pd.DataFrame, path: Path, parts: int, group: int = 700) -> Path:
    path.mkdir()
    for n, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        table = pa.Table.from_pandas(frame.iloc[rows], preserve_index=False)
        pq.write_table(table, path / f"{n}.parquet", row_group_size=group)
    return path


@pytest.mark.parametrize("kind", [int, str, float])
def test_all_rows_of_a_person_are_sampled_or_none_whatever_their_order(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(partitions, "BATCH_ROWS", 512)
    monkeypatch.setattr(partitions, "_MAX_HASHES", 100)  # repeated hashes are dropped on the way
    frame = _panel(kind)
    shuffled = frame.sample(frac=1, random_state=3)
    sorted_, whole = read_sample(_write(frame, tmp_path / "a", 3), 2_000, "id")
    other, whole_again = read_sample(_write(shuffled, tmp_path / "b", 7), 2_000, "id")
    assert {(w.n_rows, w.n_units) for w in (whole, whole_again)} == {(len(frame), PERSONS)}
    taken = sorted_.arrow.to_pandas().groupby("number").size()
    pd.testing.assert_series_equal(taken, other.arrow.to_pandas().groupby("number").size())
    pd.testing.assert_series_equal(taken, frame.groupby("number").size().loc[taken.index])
    expected = PERSONS * 2_000 / len(frame)
    assert abs(len(taken) - expected) < 5 * expected**0.5


def test_rows_without_persons_are_sampled_one_by_one(tmp_path):
    frame = pd.DataFrame({"row": np.arange(20_000)})
    raw, whole = read_sample(_write(frame, tmp_path / "a", 2), 5_000)
    rows = raw.arrow["row"].to_numpy()
    assert (whole.n_rows, whole.n_units) == (20_000, 20_000)
    assert abs(len(rows) - 5_000) < 5 * 5_000**0.5
    assert len(np.unique(rows)) == len(rows)
    # neither end nor any tenth of the file is preferred
    assert np.abs(np.bincount(rows // 2_000) - 500).max() < 5 * 500**0.5
    # a larger sample contains the rows of a smaller one
    larger, _ = read_sample(tmp_path / "a", 8_000)
    assert set(rows) < set(larger.arrow["row"].to_numpy())


def test_all_files_that_differ_are_named(tmp_path):
    frame = _panel()
    path = _write(frame, tmp_path / "a", 4)
    pq.write_table(pa.Table.from_pandas(frame.drop(columns="x")), path / "1.parquet")
    pq.write_table(pa.table({"id": ["a"], "x": [1], "number": [1]}), path / "2.parquet")
    pq.write_table(pa.table({"x": [1], "id": [1], "number": [1]}), path / "3.parquet")
    with pytest.raises(DataError) as caught:
        read_sample(path, 1_000, "id")
    text = "\n".join(caught.value.problems)
    assert "1.parquet: lacks the columns x" in text
    assert "2.parquet: column 'id' has type string in place of int64" in text
    assert "3.parquet: has the columns in another order" in text


def test_a_damaged_file_is_named(tmp_path):
    path = _write(_panel(), tmp_path / "a", 3)
    whole = (path / "1.parquet").read_bytes()
    (path / "1.parquet").write_bytes(whole[:200] + bytes(400) + whole[600:])
    with pytest.raises(DataError, match=r"1\.parquet: is damaged, or not a Parquet file"):
        read_sample(path, 1_000, "id")
    (path / "1.parquet").write_bytes(whole[:-9])
    for read in (parquet_rows, lambda path: read_sample(path, 1_000, "id")):
        with pytest.raises(DataError, match=r"1\.parquet: is damaged, or not a Parquet file"):
            read(path)


def test_a_file_that_changes_while_or_after_it_is_read_is_refused(tmp_path, monkeypatch):
    path = _write(_panel(), tmp_path / "a", 2)
    hashes = partitions._hashes

    def meanwhile(batch: pa.RecordBatch, person: str | None, first: int) -> partitions.Hashes:
        with (path / "0.parquet").open("ab") as file:
            file.write(b" ")
        return hashes(batch, person, first)

    with monkeypatch.context() as patch:
        patch.setattr(partitions, "_hashes", meanwhile)
        with pytest.raises(DataError, match=r"0\.parquet: changed"):
            read_sample(path, 1_000, "id")
    _write(_panel(), path := tmp_path / "b", 2)
    _, whole = read_sample(path, 1_000, "id")
    (path / "1.parquet").write_bytes((path / "0.parquet").read_bytes())
    for _ in range(2):  # another one, and none
        with pytest.raises(DataError, match=r"1\.parquet: changed"):
            list(read_groups(path, whole, ["x"], 1_000))
        (path / "1.parquet").unlink(missing_ok=True)


def test_init_and_codebook_look_at_a_sample_of_a_large_source(tmp_path, monkeypatch):
    frame = _panel()
    frame["time"] = frame.groupby("id").cumcount()
    path = _write(frame, tmp_path / "a", 3)
    monkeypatch.setattr(
        LargeFilesOptions, "sampled", lambda _, path, unit=None: read_sample(path, 1_000, unit)
    )
    options = StarterOptions(panel=PanelConfig(person="id", time="time"))
    text = make_starter(path, tmp_path / "a.yaml", options).text
    sampled, rows = re.search(
        r"path: a +# based on a random sample of ([\d,]+) of ([\d,]+) rows", text
    ).groups()
    assert rows == f"{len(frame):,}"
    assert 800 < int(sampled.replace(",", "")) < 1_200
    assert f"{rows} rows" in make_codebook(path).notes[0]


def test_hidden_and_empty_files_are_no_data_and_partitions_by_directory_are_refused(tmp_path):
    frame = _panel()
    path = _write(frame, tmp_path / "a", 2)
    before = read_sample(path, 2_000, "id")[0].arrow
    empty = pa.Table.from_pandas(frame.iloc[:0], preserve_index=False)
    with pq.ParquetWriter(path / "05.parquet", empty.schema) as writer:
        for _ in range(2):
            writer.write_table(empty)
    for name in (".partial", "_temporary"):
        _write(frame, path / name, 1)
    (path / "_part.parquet").write_bytes((path / "0.parquet").read_bytes())
    (path / "folder.parquet").mkdir()
    assert read_sample(path, 2_000, "id")[0].arrow.equals(before)
    _write(frame, path / "year=1999", 1)
    with pytest.raises(DataError, match="the columns year stand in names of directories"):
        read_sample(path, 2_000, "id")


def test_texts_are_texts_however_they_are_stored(tmp_path):
    texts = pa.array(["a", "b"] * 1_000)
    kinds = (pa.dictionary(pa.int8(), pa.string()), pa.large_string(), pa.string(), pa.null())
    for n, kind in enumerate(kinds):
        column = pa.nulls(2_000) if kind == pa.null() else texts.cast(kind)
        pq.write_table(pa.table({"x": column}), tmp_path / f"{n}.parquet")
    raw, whole = read_sample(tmp_path, 8_000)
    assert raw.arrow["x"].type == pa.string()
    assert raw.arrow["x"].null_count == 2_000
    groups = [group.arrow["x"] for group in read_groups(tmp_path, whole, ["x"], 3_000)]
    assert len(groups) == 3
    assert sorted(pa.chunked_array(groups).to_pylist(), key=str) == sorted(
        raw.arrow["x"].to_pylist(), key=str
    )


def test_what_numbers_all_rows_is_seen_in_a_sample(tmp_path):
    rng = np.random.default_rng(1)
    n = 6_000
    amounts = {"income": rng.permutation(n) * 7, "weight": np.arange(n) + 0.5}
    frame = pd.DataFrame({"case": rng.permutation(n) + 501, **amounts})
    _, whole = read_sample(_write(frame, tmp_path / "a", 2), 1_000)
    assert whole.numbered == ("case",)


def test_a_row_without_a_person_is_kept_to_be_refused_and_a_column_need_not_be_there(tmp_path):
    frame = _panel()
    frame["id"] = frame["id"].astype("Int64")
    frame.loc[7, "id"] = None
    path = _write(frame, tmp_path / "a", 1)
    assert read_sample(path, 1_000, "id")[0].arrow["id"].null_count == 1
    rows, of_rows = read_sample(path, 1_000, "absent")  # sampled row by row
    assert rows.arrow.equals(read_sample(path, 1_000)[0].arrow)
    assert of_rows.n_units == len(frame)
