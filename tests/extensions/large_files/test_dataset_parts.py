"""Runs of sources that are not read whole: drawn in parts, stopped and gone on with."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from joblib import parallel_config

from synthesizer.config.reading import read_config
from synthesizer.data import files
from synthesizer.data.errors import ConfigError, ModelError, OutputError
from synthesizer.data.pairs import read_like
from synthesizer.data.panel import arrangement
from synthesizer.data.sources import read_path
from synthesizer.engine import chain
from synthesizer.extensions.large_files import dataset_parts as parts
from synthesizer.extensions.large_files.parquet_sample import read_sample
from synthesizer.jobs.run import RunResult, run
from synthesizer.measures.settings import ALL_OFF
from synthesizer.plan.plan import prepare
from tests.jobs.test_after import KINDS, STEPS, config, is_treated, people
from tests.plan.sources import careers

BLOCK = 400
GO_ON = {"output": {"resume": True}}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let parts be small: five blocks of 400 rows, or 100 persons."""
    monkeypatch.setattr(parts, "PART_BLOCKS", 5)
    monkeypatch.setattr(arrangement, "BLOCK_ROWS", BLOCK)
    monkeypatch.setattr(arrangement, "BLOCK_PERSONS", BLOCK // 4)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """6,000 rows of a plain table in three files."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "id": np.arange(6_000) + 100,
            "sex": pd.Categorical(rng.choice(["f", "m"], 6_000)),
            "age": rng.integers(18, 90, 6_000),
        }
    )
    frame["pay"] = (frame["age"] * 10 + rng.normal(0, 50, 6_000)).round(2)
    return _written(frame, tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def persons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A panel of 1,300 persons in one to three years, in no order."""
    frame = careers(1_300)[["person", "year", "sex", "state"]].rename(columns={"state": "job"})
    there = np.random.default_rng(2).random(len(frame)) < 0.7
    frame = frame[there | (frame["year"] == 2001)].reset_index(names="line")
    return _written(frame.sample(frac=1, random_state=1), tmp_path_factory.mktemp("persons"))


def _written(frame: pd.DataFrame, path: Path) -> Path:
    for n, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        table = pa.Table.from_pandas(frame.iloc[part], preserve_index=False)
        pq.write_table(table, path / f"{n}.parquet")
    return path


def _config(path: Path, directory: Path, **more: Any) -> Any:
    return read_config(
        {
            "data": {"path": str(path), "fit_rows": 1_000},
            "output": {"directory": str(directory), "report": False},
            "seed": 3,
            "workers": 1,
            "default_method": "sample",
            "checks": dict(ALL_OFF),
        }
        | more
    )


def _of_rows(path: Path, directory: Path, **more: Any) -> Any:
    return _config(path, directory, variables={"id": {"kind": "id"}}, **more)


def _of_persons(path: Path, directory: Path, **more: Any) -> Any:
    panel = {"person": "person", "time": "year", "career": "job"}
    variables = {"line": {"kind": "id"}, "sex": {"method": "time_invariant"}}
    more = {"default_method": "cart", "panel": panel, "variables": variables} | more
    return _config(path, directory, **more)


def _bytes(result: RunResult) -> dict[str, bytes]:
    return {
        f"{path.name}/{part.name}": part.read_bytes()
        for path in result.datasets
        for part in sorted(path.iterdir())
    }


def test_parts_of_a_table_are_the_dataset_that_is_drawn_at_once(rows: Path, tmp_path: Path) -> None:
    result = run(_of_rows(rows, tmp_path / "out", m=2))
    assert [path.name for path in result.datasets] == ["synthetic_1", "synthetic_2"]
    for number, path in enumerate(result.datasets):
        files = sorted(file.name for file in path.iterdir())
        assert files == [f"part-{n:05d}.parquet" for n in (1, 2, 3)]
        together = pq.read_table(path).to_pandas()
        assert together["id"].tolist() == list(range(1, 6_001))
        whole = _drawn_whole(_of_rows(rows, tmp_path / "other", m=2), number)
        pd.testing.assert_frame_equal(together, whole)
    manifest = result.manifest
    assert (manifest.data.rows, manifest.rows) == (6_000, 6_000)
    assert any("sample of" in note and "of 6,000 rows" in note for note in manifest.notes)


def _drawn_whole(config: Any, number: int) -> pd.DataFrame:
    from synthesizer.data.writing import decode

    plan = prepare(config, check_directory=False)
    chain = plan.fit_chain(plan.seed)
    table = next(chain.generate(plan.seed, rows=plan.size, first=number, n_jobs=1))
    return decode(plan.restored(table), plan.data.layout).to_pandas()


def test_parts_of_a_panel_are_the_dataset_that_is_drawn_at_once(
    persons: Path, tmp_path: Path
) -> None:
    result = run(_of_persons(persons, tmp_path / "out"))
    (path,) = result.datasets
    assert len(list(path.iterdir())) == 3
    together = pq.read_table(path).to_pandas()
    whole = _drawn_whole(_of_persons(persons, tmp_path / "other"), 0)
    assert sorted(together["person"].unique()) == list(range(1, 1_301))
    assert together["line"].is_unique
    pd.testing.assert_frame_equal(together.drop(columns="line"), whole.drop(columns="line"))
    assert result.manifest.panel is not None
    assert result.manifest.panel.persons == 1_300
    sample = pq.read_table(path / "part-00001.parquet")
    assert 0 < sample.num_rows < 1_000 * 2


def test_processes_and_threads_do_not_change_the_bytes(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # other processes have blocks of the usual size
    more = {"rows": 300_000}
    with parallel_config(backend="threading"):
        alone = run(_of_rows(rows, tmp_path / "one", workers=2, **more))
    several = run(_of_rows(rows, tmp_path / "many", workers=2, **more))
    assert len(_bytes(alone)) == 3
    assert _bytes(alone) == _bytes(several)


class StoppedError(Exception):
    """Stands for whatever ends a program."""


def _stopping(name: str, calls: int) -> Iterator[Any]:
    """Let a function of the tasks fail after ``calls`` calls, and yield the calls."""
    made: list[str] = []
    module: Any = parts if name == "draw_part" else chain
    real = getattr(module, name)

    def call(*args: Any) -> Any:
        if len(made) == calls:
            raise StoppedError
        made.append(name)
        return real(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, call)
        yield made


@pytest.mark.parametrize(("name", "calls", "remaining"), [("_fit_step", 2, 1), ("draw_part", 2, 1)])
def test_a_stopped_run_goes_on_where_it_was(
    rows: Path, tmp_path: Path, name: str, calls: int, remaining: int
) -> None:
    undisturbed = _bytes(run(_of_rows(rows, tmp_path / "whole", random_key="none")))
    config = _of_rows(rows, tmp_path / "out", random_key="none")
    for _ in _stopping(name, calls):
        with pytest.raises(StoppedError):
            run(config)
    directory = parts.kept_directory(tmp_path / "out")
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o077 for p in directory.rglob("*")} == {0}
    assert not (tmp_path / "out").exists()
    with pytest.raises(OutputError, match="a run was stopped; .* go on with it \\(--resume\\)"):
        run(config)
    for made in _stopping(name, 100):
        result = run(config, overrides=GO_ON)
        assert len(made) == remaining
    assert _bytes(result) == undisturbed
    assert not directory.exists()


def test_the_key_of_a_stopped_run_is_stored_with_it(
    rows: Path, tmp_path: Path, drawn_key: None
) -> None:
    config = _of_rows(rows, tmp_path / "out")
    for _ in _stopping("draw_part", 1):
        with pytest.raises(StoppedError):
            run(config)
    state = json.loads((parts.kept_directory(tmp_path / "out") / parts.STATE).read_text())
    first = next(parts.kept_directory(tmp_path / "out").rglob("part-*.parquet")).read_bytes()
    result = run(config, overrides=GO_ON)
    assert result.manifest.random_key == state["random_key"]
    assert _bytes(result)["synthetic_1/part-00001.parquet"] == first
    other = run(_of_rows(rows, tmp_path / "other"))
    assert other.manifest.random_key != state["random_key"]


def test_damaged_fits_and_parts_are_made_again(rows: Path, tmp_path: Path) -> None:
    undisturbed = _bytes(run(_of_rows(rows, tmp_path / "whole")))
    config = _of_rows(rows, tmp_path / "out")
    for _ in _stopping("draw_part", 2):
        with pytest.raises(StoppedError):
            run(config)
    part = next(parts.kept_directory(tmp_path / "out").rglob("part-00002.parquet"))
    part.write_bytes(part.read_bytes()[:-100])
    fit = sorted((parts.kept_directory(tmp_path / "out") / parts.FITS).iterdir())[1]
    fit.write_bytes(fit.read_bytes()[:-70])
    for made in _stopping("_fit_step", 100):
        assert _bytes(run(config, overrides=GO_ON)) == undisturbed
        assert len(made) == 1


@pytest.mark.parametrize("change", [{"seed": 4}, {"default_method": "cart"}])
def test_what_was_begun_otherwise_is_no_part_of_a_run(
    rows: Path, tmp_path: Path, change: dict[str, Any]
) -> None:
    for _ in _stopping("draw_part", 1):
        with pytest.raises(StoppedError):
            run(_of_rows(rows, tmp_path / "out"))
    with pytest.raises(OutputError, match="is of a run with another configuration"):
        run(_of_rows(rows, tmp_path / "out", **change), overrides=GO_ON)
    assert parts.kept_directory(tmp_path / "out").exists()


def test_what_an_intruder_finds_is_counted_among_everybody(
    persons: Path, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "GROUP_ROWS", 500)
    by_person = {"keys": ["sex", "job@first", "career.periods"], "target": "job@last"}
    by_row = {"keys": ["sex", "age"], "target": "pay", "groups": {"pay": 20}}
    for source, of, scenario in ((persons, _of_persons, by_person), (rows, _of_rows, by_row)):
        name = source.name
        more = {"m": 2, "checks": dict(ALL_OFF) | {"cap": True, "suda": True} | scenario}
        more["checks"] |= {"attribute": True, "identity": True}
        result = run(of(source, tmp_path / name, **more))
        config = of(source, tmp_path / f"{name} whole", **more)
        config = config.model_copy(
            update={"data": config.data.model_copy(update={"fit_rows": 1_000_000})}
        )
        plan = prepare(config, check_directory=False)
        assert plan.whole is None
        checks = plan.checking(plan.seed)
        for path in result.datasets:
            table = read_like(
                read_path(path), plan.data.table, plan.data.table.names, ["id", "line", "person"]
            )
            checks.add(plan.viewed(plan.arrangement.modelled(table)))
        expected = {
            (figure.key, figure.name): figure.value
            for _, figure in checks.finish().figures
            if figure.key in ("cap", "repu", "disco", "special_uniques", "cap_u")
        }
        values = {(figure.key, figure.name): figure.value for _, figure in result.checks.figures}
        assert len(expected) >= 3
        assert {key: values[key] for key in expected} == pytest.approx(expected)


def test_a_last_part_of_one_row_is_read_back(rows: Path, tmp_path: Path) -> None:
    checks = dict(ALL_OFF) | {"keys": ["sex"], "target": "age", "cap": True}
    result = run(_of_rows(rows, tmp_path / "out", rows=5 * BLOCK + 1, checks=checks))
    assert pq.read_table(result.datasets[0]).num_rows == 5 * BLOCK + 1


def test_rows_of_periods_that_the_sample_lacks_are_nobodys(persons: Path, tmp_path: Path) -> None:
    source = tmp_path / "persons"
    source.mkdir()
    frame = pq.read_table(persons).to_pandas()
    sampled = set(read_sample(persons, 1_000, "person")[0].arrow["person"].to_pylist())
    odd = frame[~frame["person"].isin(sampled)].index[:3]
    frame.loc[odd, "year"] = [1803, 1804, 1805]
    _written(frame, source)
    checks = dict(ALL_OFF) | {"keys": ["sex", "job@first"], "target": "job@last", "cap": True}
    result = run(_of_persons(source, tmp_path / "out", checks=checks))
    assert result.datasets[0].is_dir()


def test_an_interrupt_after_the_result_has_its_name_keeps_nothing(
    rows: Path, tmp_path: Path
) -> None:
    result = tmp_path / "out"
    sync = files._sync_name

    def interrupted(path: Path) -> None:
        sync(path)
        if result.exists():
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_sync_name", interrupted)
        with pytest.raises(KeyboardInterrupt, match="^$"):
            run(_of_rows(rows, result))
    assert not parts.kept_directory(result).exists()


def test_what_needs_the_whole_source_is_refused_at_once(rows: Path, tmp_path: Path) -> None:
    output = {"directory": str(tmp_path / "out"), "format": "csv"}
    with pytest.raises(ConfigError) as caught:
        run(_of_rows(rows, tmp_path, keep=["sex"], strata=["age"], output=output))
    keys = [problem.partition(":")[0] for problem in caught.value.problems]
    assert {"strata", "keep", "output.format"} <= {*keys}


def test_a_worker_of_another_version_or_without_the_files_is_refused(tmp_path: Path) -> None:
    part, registry = parts.DatasetPart(dataset=0, number=1, first=0, end=10), parts.Registry.load()
    for version, words in (("0.0.0", "install the same"), (parts.this_version(), "is not there")):
        with pytest.raises(ModelError, match=words):
            parts.draw_part(tmp_path / "model", registry, part, tmp_path / "part", version)


@pytest.fixture
def treated_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source that is drawn in parts of 400 rows."""
    monkeypatch.setattr(arrangement, "BLOCK_ROWS", 80)
    frame = people(3_000).assign(job=lambda f: f["job"].astype("category"))
    frame["code"] = np.random.default_rng(7).choice([1, 2, 3], len(frame), p=[0.7, 0.294, 0.006])
    path = tmp_path / "rows"
    path.mkdir()
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path / "0.parquet")
    return path


def test_parts_count_rare_levels_over_the_whole_dataset(
    treated_source: Path, tmp_path: Path
) -> None:
    """A level that a part has rarely and the dataset often stays; its name goes with the rest."""
    rare = {"variables": ["job", "code"], "min_count": 60}
    settings = config(
        treated_source, tmp_path, default_method="sample",
        data={"path": str(treated_source), "fit_rows": 1_000},
        variables=KINDS | {"code": {"kind": "categorical"}},
        after=STEPS | {"blank_rare": rare},
    )  # fmt: skip
    result = run(settings)
    pieces = sorted(result.datasets[0].iterdir())
    tables = [pq.read_table(piece) for piece in pieces]
    assert len(tables) > 5
    frame = pa.concat_tables(tables).unify_dictionaries().to_pandas()
    assert is_treated(frame, 60)
    assert frame["code"].value_counts().min() >= 60
    assert set(frame["job"].dropna()) == {"cook", "nurse", "judge"}
    assert min(table["job"].to_pandas().value_counts()["judge"] for table in tables) < 60
    listed = [set(chunk.dictionary.to_pylist()) for t in tables for chunk in t["job"].chunks]
    assert all("pilot" not in levels for levels in listed)
    assert set(frame["what"]) == {"Synthetic data, no real persons"}
    seen = {cells.variable: cells for cells in result.checks.utility.distributions}
    assert dict(zip(seen["job"].labels, seen["job"].synthetic[0], strict=True))["pilot"] == 0
