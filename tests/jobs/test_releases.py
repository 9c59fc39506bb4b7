"""What several releases of one source give together: the ledger, and who reads it."""

import json
import multiprocessing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.files import sha256
from synthesizer.jobs.check import check_files
from synthesizer.jobs.release_ledger import ledger_of, list_release, mark_given_out, read_releases
from synthesizer.jobs.run import run
from synthesizer.measures.risk.near_verbatim import Look, difference, quantile_of
from synthesizer.measures.risk.releases import Release, Together, others_of


def people(n, seed):
    """Return persons whose values hang together through an unseen one."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    cut = {f"v{k}": np.clip(np.round(z + rng.normal(0, 1, n)) + 4, 0, 8).astype(int)
           for k in range(5)}  # fmt: skip
    frame = pd.DataFrame(
        {name: [f"{name}-{code}" for code in codes] for name, codes in cut.items()}
    )
    return frame.assign(pay=np.round(np.exp(8 + z / 3 + rng.normal(0, 0.3, n)), 1))


@pytest.fixture
def source(tmp_path):
    people(400, 1).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def made(source, name, seed, **changes):
    output = {"directory": str(source.parent / name), "report": False, "codebook": False}
    config = {"data": {"path": str(source)}, "default_method": "sample", "workers": 1}
    output |= changes.pop("output", {})
    checks = {"differential_confidentiality": False, "attacks": False, "nearest": False}
    return run({**config, "output": output, "checks": checks, **changes}, seed=seed)


def evidence(verdict):
    return {e.key: e for e in verdict["person"].evidence}.get("releases")


def test_two_runs_add_up(source):
    first = made(source, "one", 1)
    assert evidence(first.verdict) is None
    second = made(source, "two", 2, m=2)
    entries = read_releases(source)
    ledger = source.with_name("people.csv.releases.json")
    assert ledger.stat().st_mode & 0o777 == 0o600
    assert [Path(e.directory).name for e in entries] == ["one", "two"]
    assert [len(e.datasets) for e in entries] == [1, 2]
    files = {f.name: f.sha256 for f in second.manifest.files}
    assert entries[1].datasets == {n: files[n] for n in ("synthetic_1.csv", "synthetic_2.csv")}
    assert entries[0].settings != entries[1].settings  # m is another one
    looks = [r.checks.risk.further["near_verbatim"].looks for r in (first, second)]
    assert [e.looks for e in entries] == looks
    sums = [sum(max(look.high, 0) for look in pair) for pair in zip(*looks, strict=True)]
    outcome = evidence(second.verdict)
    assert outcome.high == pytest.approx(max(sums))
    assert outcome.low is None
    assert outcome.word == ("pass" if max(sums) <= 0.05 else "unclear")
    assert "1 other release" in outcome.sentence
    assert str(first.manifest.seed) not in json.loads(ledger.read_text())["releases"][0].values()
    # checks.json and the verdict that is read from it know of it, too
    stored = json.loads((source.parent / "two" / "checks.json").read_text())
    (other,) = stored["results"]["risk"]["releases"]["others"]
    assert other["directory"] == str(source.parent / "one")
    assert not list(source.parent.glob("*/*.releases.json"))  # never beside released files
    assert ledger_of(source.parent / "one" / "synthetic_1.csv") is None


def test_what_is_replaced_or_not_given_out_does_not_count(source):
    made(source, "one", 1)
    made(source, "one", 2, output={"overwrite": True})
    third = made(source, "two", 3)
    assert [e.replaced for e in read_releases(source)] == [True, False, False]
    (other,) = third.checks.risk.releases.others
    assert other.created == read_releases(source)[1].created
    assert {e.source for e in read_releases(source)} == {sha256(source)}
    mark_given_out(source, [], [source.parent / "one"])  # the last one of the directory
    assert [e.given_out for e in read_releases(source)] == [None, False, None]
    with pytest.raises(DataError, match="does not list it"):
        mark_given_out(source, [source.parent / "none"])
    ledger = ledger_of(source)
    content = json.loads(ledger.read_text())
    content["releases"][0]["given_out"] = True
    ledger.write_text(json.dumps(content))
    again = made(source, "two", 3, output={"overwrite": True})  # the same datasets: counts once
    assert len(read_releases(source)) == 3
    assert [e.given_out for e in again.checks.risk.releases.others] == [True]
    copy = made(source, "copy", 3)
    assert len(copy.checks.risk.releases.others) == 1


def test_beside_a_control_all_datasets_are_counted_together(source, tmp_path):
    """Two releases have two percent of the persons each, and four percent together."""
    real, control = people(3_000, 1), tmp_path / "control.csv"
    real.to_csv(source, index=False)
    people(3_000, 2).to_csv(control, index=False)
    chosen = np.random.default_rng(0).permutation(3_000)
    for number in (1, 2):
        made(source, f"r{number}", number)
        path = tmp_path / f"r{number}" / "synthetic_1.csv"
        planted = people(3_000, 10 + number)
        planted.iloc[:75] = real.iloc[chosen[75 * number : 75 * (number + 1)]]
        planted.to_csv(path, index=False)
    ledger = ledger_of(source)
    content = json.loads(ledger.read_text())
    for number, entry in enumerate(content["releases"], 1):
        entry["datasets"]["synthetic_1.csv"] = sha256(tmp_path / f"r{number}" / "synthetic_1.csv")
    ledger.write_text(json.dumps(content))
    off = {"checks": {"differential_confidentiality": False, "attacks": False}}
    files = [tmp_path / "r1" / "synthetic_1.csv"]
    record = check_files(source, files, control, overrides=off, only="risk").record
    alone, together = (
        record.results.risk.further["near_verbatim"],
        record.results.risk.releases.counted,
    )
    assert (alone.datasets, together.datasets) == (1, 2)
    assert alone.looks[0].inside >= 74
    assert together.looks[0].inside >= 148
    outcome = evidence(record.verdict)
    assert (outcome.value, outcome.low) == (
        together.telling(0.05).excess,
        together.telling(0.05).low,
    )
    # without the files of the other release the upper ends add up
    (tmp_path / "r2" / "synthetic_1.csv").unlink()
    bound = check_files(source, files, control, overrides=off, only="risk").record
    assert bound.results.risk.releases.counted is None
    assert evidence(bound.verdict).low is None
    assert evidence(bound.verdict).word in ("pass", "unclear")


def entry(name, *, excess=(0.0, 0.0), looks=True, **fields):
    every = [
        Look(differing=d, inside=0, outside=0, excess=excess[0], low=-1, high=excess[1], noticed=0)
        for d in (0, 1, 2)
    ]
    content = {"created": "", "directory": name, "datasets": {"synthetic_1.csv": name},
               "records": 9, "settings": "", "limits": {}, "looks": every if looks else (),
               "guess": None, "contains": ()}  # fmt: skip
    return Release(**{**content, **fields})


def test_the_bound_is_the_sum_of_upper_ends():
    present = entry("p", excess=(0.01, 0.02)).looks
    others = (entry("a", excess=(-0.01, 0.01)), entry("b", excess=(-0.05, -0.02)))
    together = Together(others=others, counted=None)
    high, excess = together.bound(present)
    assert (high, excess) == pytest.approx((0.03, -0.05))  # below 0 nothing is taken off
    uncounted = Together(others=(entry("c", looks=False),), counted=None)
    assert uncounted.bound(present) is None


def test_the_bound_holds_where_releases_point_to_the_same_or_to_others():
    """By brute force: the excess of persons that one or the other points to is at most the sum."""
    rng, z = np.random.default_rng(3), quantile_of(1)
    for overlap in (0, 30, 60):
        inside = np.zeros((2, 1_000), bool)
        inside[0, :60] = inside[1, overlap : overlap + 60] = True
        by_chance = rng.random((2, 2, 1_000)) < 0.05
        hits = [inside[r] | by_chance[0, r] for r in (0, 1)]
        highs = [difference(hits[r].sum(), 1_000, by_chance[1, r].sum(), 1_000, z)[2]
                 for r in (0, 1)]  # fmt: skip
        union = (hits[0] | hits[1]).mean() - (by_chance[1, 0] | by_chance[1, 1]).mean()
        assert union <= sum(highs)


def test_an_extended_run_takes_the_place_of_what_it_contains():
    first, second = entry("a"), entry("b", contains=("a",))
    assert others_of([first, second], ["c"]) == (second,)
    assert others_of([first, second], ["c", "b"]) == ()  # a third wave contains both
    withdrawn = entry("b", contains=("a",), given_out=False)
    assert others_of([first, withdrawn], ["c"]) == (first,)
    two = entry("a", datasets={"1": "a", "2": "x"})  # only the first of its datasets went on
    assert others_of([two, second], ["c"]) == (two, second)


def _list_one(folder, number):
    assert [*list_release(Path(folder, "people.csv"), entry(f"{folder}/run{number}"))] == []


def test_runs_at_the_same_time_lose_no_entry(source):
    spawning = multiprocessing.get_context("fork")
    works = [spawning.Process(target=_list_one, args=(str(source.parent), n)) for n in range(12)]
    for work in works:
        work.start()
    for work in works:
        work.join()
        assert work.exitcode == 0
    names = {Path(e.directory).name for e in read_releases(source)}
    assert names == {f"run{number}" for number in range(12)}


def test_a_damaged_ledger_is_refused_and_stays(source):
    ledger = source.with_name("people.csv.releases.json")
    text = '{"format": 1, "releases": [{"created": "x"}]}'
    ledger.write_text(text)
    with pytest.raises(DataError) as caught:
        made(source, "one", 1)
    (problem,) = caught.value.problems
    assert str(ledger) in problem
    assert ledger.read_text() == text
    assert not (source.parent / "one").exists()
    people(200, 4).to_csv(source.with_name("made.csv"), index=False)
    with pytest.raises(DataError, match="ledger of releases cannot be read"):
        check_files(source, [source.with_name("made.csv")])


def test_a_ledger_that_cannot_be_written_is_a_note(source, monkeypatch):
    # as in a folder that may only be read: root may write everywhere
    closed = source.parent
    access = __import__("os").access
    monkeypatch.setattr(
        "synthesizer.data.files.os.access",
        lambda path, mode: Path(path) != closed and access(path, mode),
    )
    out = source.parent / "place"
    out.mkdir()
    result = made(source, "place/one", 1)
    assert result.datasets[0].is_file()
    assert [note for note in result.new_notes if note.startswith("releases: this run is not in")]
    assert not ledger_of(source).exists()
