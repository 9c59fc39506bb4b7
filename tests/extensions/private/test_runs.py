"""Whole runs: what reaches the output, what a plan refuses, and what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer import Synthesizer, run
from synthesizer.data.errors import ConfigError
from synthesizer.extensions.private.private_source import PrivatePlan
from synthesizer.plan.plan import Plan, prepare
from synthesizer.report.record import read_record
from tests.extensions.private.small_private import (
    RANGES,
    VARIABLES,
    RecordingNoise,
    ReplayedNoise,
    SeededNoise,
    settings,
    text_of,
)

pytest.importorskip("opendp")
RELEASED = ("synthetic_1.csv", "codebook.json", "codebook.html")


@pytest.fixture
def with_noise(monkeypatch: pytest.MonkeyPatch) -> Callable[[SeededNoise], None]:
    """Return a function that sets the noise of the next synthesis; halves have their own."""
    original = PrivatePlan.__init__

    def use(noise: SeededNoise) -> None:
        first = [noise]

        def made(self: PrivatePlan, **fields: Any) -> None:
            factory = lambda: first.pop() if first else SeededNoise(9)  # noqa: E731
            original(self, **fields | {"noise": factory})

        monkeypatch.setattr(PrivatePlan, "__init__", made)

    return use


def released(folder: Path, text: str, **changed: Any) -> list[bytes]:
    """Run on a file and return the released files."""
    (folder / "people.csv").write_text(text)
    config = settings(folder / "people.csv", folder / "made") | changed
    config["output"]["overwrite"] = True
    run(config)
    names = [f"synthetic_{d}.csv" for d in range(1, config.get("m", 1) + 1)] + [*RELEASED[1:]]
    return [(folder / "made" / name).read_bytes() for name in names]


def test_nothing_but_results_of_mechanisms_reaches_the_release(
    tmp_path: Path, with_noise: Callable[[SeededNoise], None]
) -> None:
    # another file, of another size and order, with the same results of mechanisms
    recording = RecordingNoise(3)
    with_noise(recording)
    first = released(tmp_path, text_of(1, 300))
    replayed = ReplayedNoise(recording.recorded)
    with_noise(replayed)
    assert released(tmp_path, text_of(2, 533)) == first
    assert replayed.exact != recording.exact
    assert b"300" not in first[1]


def test_files_that_agree_inside_the_domain_have_the_same_release(
    tmp_path: Path, with_noise: Callable[[SeededNoise], None]
) -> None:
    lines = text_of(4, 200).splitlines()
    record = "f,s,99,1600.0"
    moved = "f,s,117,9999.9"
    results = []
    for rows in ([*lines, record], [lines[0], moved, *lines[:0:-1]]):
        with_noise(SeededNoise(5))
        results.append(released(tmp_path, "\n".join(rows) + "\n"))
    assert results[0] == results[1]


def test_a_different_table_changes_the_release(
    tmp_path: Path, with_noise: Callable[[SeededNoise], None]
) -> None:
    results = []
    for seed in (1, 2):
        with_noise(SeededNoise(5))
        results.append(released(tmp_path, text_of(seed, 300)))
    assert results[0] != results[1]


def test_workers_change_no_byte(tmp_path: Path, with_noise: Callable[[SeededNoise], None]) -> None:
    results = []
    for workers in (1, 2):
        with_noise(SeededNoise(5))
        results.append(released(tmp_path, text_of(1, 300), workers=workers, m=2))
    assert results[0] == results[1]
    assert results[0][0] != results[0][1]


def test_the_seed_does_not_repeat_the_noise(tmp_path: Path) -> None:
    made = [released(tmp_path, text_of(1, 300)) for _ in range(2)]
    assert made[0][0] != made[1][0]


def test_values_are_inside_the_domain(tmp_path: Path) -> None:
    lines = [*text_of(1, 150).splitlines(), *["m,w,140,99999.0"] * 5]
    released(tmp_path, "\n".join(lines) + "\n", rows=5000)
    made = pd.read_csv(tmp_path / "made/synthetic_1.csv", dtype=str, keep_default_na=False)
    assert len(made) == 5000
    assert set(made["area"]) <= {"n", "s", "w", "x", ""}
    assert made["age"].astype(int).between(0, 99).all()
    numbers = made["income"][~made["income"].isin(["", "-8"])].astype(float)
    assert numbers.between(0, 1600).all()
    assert (numbers.round(1) == numbers).all()
    # every value of a bin is drawn alike, not only those of the file
    assert numbers.nunique() > 500


def test_the_number_of_records_is_noisy_or_public(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(text_of(1, 300))
    numbers = set()
    for number in range(6):
        done = run(settings(tmp_path / "p.csv", tmp_path / f"noisy{number}", epsilon=0.5))
        numbers.add(done.record.manifest.rows)
    assert len(numbers) > 1
    done = run(settings(tmp_path / "p.csv", tmp_path / "public", rows="public"))
    assert done.record.manifest.rows == 300


def test_the_record_is_read_again_with_its_sheet(tmp_path: Path) -> None:
    released(tmp_path, text_of(1, 300))
    record = read_record(tmp_path / "made")
    release = record.extensions["privacy"]
    assert (release.epsilon, release.delta) == (2.0, 1e-6)
    assert release.spent <= release.rho
    assert sum(step.rho for step in release.steps) == pytest.approx(release.spent)
    assert release.pairs > 0
    page = (tmp_path / "made/report.html").read_text()
    for words in ("What epsilon means here", "one record more or less", "operating system"):
        assert words in page
    facts = json.loads((tmp_path / "made/manifest.json").read_text())["extensions"]["privacy"]
    assert facts["repeatable_from_seed"] is False
    notes = " ".join(record.manifest.notes)
    assert "cannot be repeated from its seed" in notes
    assert "epsilon 2" in (tmp_path / "made/codebook.html").read_text()


def test_a_frame_is_synthesised_in_python() -> None:
    frame = pd.DataFrame({"a": ["x", "y", "x"] * 100, "b": np.arange(300) % 7})
    variables: dict[str, Any] = {
        "a": {"levels": ["x", "y"], "missing": []},
        "b": {"kind": "numeric", "decimals": 0, "missing": []},
    }
    privacy = {"epsilon": 3, "ranges": {"b": [0, 6]}}
    made = Synthesizer(variables=variables, privacy=privacy, seed=1, workers=1).fit(frame)
    assert list(made.generate(rows=50)[0].columns) == ["a", "b"]


def planned(tmp_path: Path, text: str = "", **changed: Any) -> Plan:
    (tmp_path / "p.csv").write_text(text or text_of(1, 100))
    return prepare(settings(tmp_path / "p.csv", tmp_path / "made") | changed)


def codes_of(tmp_path: Path, text: str = "", **changed: Any) -> dict[str, tuple[str, ...]]:
    """Return codes of problems with the names of variables."""
    with pytest.raises(ConfigError) as caught:
        planned(tmp_path, text, **changed)
    return {getattr(p, "code", ""): getattr(p, "names", ()) for p in caught.value.problems}


@pytest.mark.parametrize("epsilon", [0, -1, float("inf"), float("nan"), 21, "1", True])
def test_an_epsilon_out_of_range_is_refused(tmp_path: Path, epsilon: Any) -> None:
    with pytest.raises(ConfigError, match="epsilon"):
        planned(tmp_path, privacy={"epsilon": epsilon, "ranges": RANGES})


def test_a_large_epsilon_needs_a_word(tmp_path: Path) -> None:
    planned(tmp_path, privacy={"epsilon": 30, "allow": True, "ranges": RANGES})
    with pytest.raises(ConfigError, match="allow: true"):
        planned(tmp_path, privacy={"rho": 15, "ranges": RANGES})


@pytest.mark.parametrize("delta", [0, -1e-9, 0.5, float("nan")])
def test_a_delta_out_of_range_is_refused(tmp_path: Path, delta: float) -> None:
    with pytest.raises(ConfigError, match="delta"):
        planned(tmp_path, privacy={"delta": delta, "ranges": RANGES})


def test_delta_is_compared_with_public_numbers_only(tmp_path: Path) -> None:
    large = {"delta": 0.01, "ranges": RANGES}
    public = large | {"rows": "public"}
    assert "privacy_delta_large" in codes_of(tmp_path, text_of(1, 150), privacy=public)
    plan = planned(tmp_path, text_of(1, 150), privacy=large)
    assert not any("delta" in note for note in plan.notes)
    assert any("delta" in note for note in plan.fit(plan.seed).notes)


def test_a_delta_as_yaml_reads_it_is_a_number(tmp_path: Path) -> None:
    plan = planned(tmp_path, privacy={"epsilon": "1e-1", "delta": "1e-9", "ranges": RANGES})
    facts = plan.making.facts(None)  # type: ignore[arg-type]
    assert (facts["epsilon"], facts["delta"]) == (0.1, 1e-9)


def test_epsilon_and_rho_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="keep one"):
        planned(tmp_path, privacy={"epsilon": 1, "rho": 0.1, "ranges": RANGES})
    plan = planned(tmp_path, privacy={"rho": 0.02, "ranges": RANGES})
    assert plan.making.facts(None)["rho"] == 0.02  # type: ignore[arg-type]


def test_every_undeclared_variable_is_listed_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(tmp_path, variables={}, privacy={"epsilon": 1})
    names = [p.names for p in caught.value.problems if p.code == "privacy_undeclared"]
    assert names == [("sex",), ("area",), ("age",), ("income",)]


@pytest.mark.parametrize("key", ["levels", "missing"])
def test_levels_and_missing_codes_must_be_declared(tmp_path: Path, key: str) -> None:
    sex = {"kind": "categorical", **VARIABLES["sex"]}
    sex.pop(key)
    assert codes_of(tmp_path, variables=VARIABLES | {"sex": sex})["privacy_undeclared"] == ("sex",)


@pytest.mark.parametrize("key", ["decimals", "missing"])
def test_numbers_need_decimals_and_missing_codes(tmp_path: Path, key: str) -> None:
    age = dict(VARIABLES["age"])
    age.pop(key)
    problems = codes_of(tmp_path, variables=VARIABLES | {"age": age})
    assert problems["privacy_undeclared_number"] == ("age",)


@pytest.mark.parametrize("ends", [[5, 5], [9, 1], [0, 3, 2, 9], ["x", "y"]])
def test_a_range_rises(tmp_path: Path, ends: list[Any]) -> None:
    problems = codes_of(tmp_path, privacy={"ranges": RANGES | {"age": ends}})
    assert problems["privacy_range"] == ("age",)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"keep": ["sex"]}, "privacy_refuses"),
    ({"strata": ["sex"]}, "privacy_refuses"),
    ({"rare": {"min_count": 5}}, "privacy_refuses"),
    ({"forbid": ["age < 0"]}, "privacy_refuses"),
    ({"rules": ["age <= 99"]}, "privacy_refuses"),
    ({"proper": True}, "privacy_refuses"),
    ({"after": {"uniques": "drop"}}, "privacy_refuses"),
    ({"fidelity": "margins"}, "privacy_refuses"),
    ({"output": {"directory": "made", "publish_rows": True}}, "privacy_publishes_rows"),
]


@pytest.mark.parametrize(("changed", "code"), REFUSED)
def test_keys_beside_the_mechanisms_are_refused(
    tmp_path: Path, changed: dict[str, Any], code: str
) -> None:
    assert code in codes_of(tmp_path, **changed)


def test_panels_and_weights_are_refused(tmp_path: Path) -> None:
    text = "id,year,sex\n" + "".join(f"{i},{y},f\n" for i in range(60) for y in (1, 2))
    sex = {"sex": {"levels": ["f", "m"], "missing": []}}
    config = {"variables": sex, "privacy": {"epsilon": 1}}
    with pytest.raises(ConfigError, match="privacy"):
        planned(tmp_path, text, panel={"person": "id", "time": "year"}, **config)
    weights: dict[str, Any] = {"variables": VARIABLES, "weights": "age"}
    with pytest.raises(ConfigError, match="privacy: "):
        planned(tmp_path, **weights)


def test_long_code_lists_must_be_public(tmp_path: Path) -> None:
    levels = [*VARIABLES["area"]["levels"], *(f"z{k}" for k in range(8))]
    area = {"levels": levels, "missing": [""]}
    problems = codes_of(tmp_path, variables=VARIABLES | {"area": area})
    assert problems["privacy_levels_public"] == ("area",)
    planned(tmp_path, variables=VARIABLES | {"area": area | {"public": True}})


def test_identifiers_are_numbered_and_dropped_columns_need_nothing(tmp_path: Path) -> None:
    text = text_of(1, 100).splitlines()
    rows = [f"{line},{k},{k % 3}" for k, line in enumerate(text[1:], 1)]
    kinds = VARIABLES | {"pid": {"kind": "id"}}
    made = released(
        tmp_path,
        "\n".join([f"{text[0]},pid,secret", *rows]) + "\n",
        variables=kinds,
        drop=["secret"],
    )
    table = pd.read_csv(tmp_path / "made/synthetic_1.csv")
    assert table["pid"].tolist() == [*range(1, len(table) + 1)]
    assert b"secret" not in made[0]


def test_too_many_variables_for_the_budget_get_a_note(tmp_path: Path) -> None:
    small = {"epsilon": 0.05, "ranges": RANGES, "rows": "public"}
    assert any("too many for this budget" in n for n in planned(tmp_path, privacy=small).notes)
    large = small | {"epsilon": 19}
    assert not any("too many" in n for n in planned(tmp_path, privacy=large).notes)


def test_dates_have_ranges_of_days(tmp_path: Path) -> None:
    lines = [f"{'fm'[k % 2]},{2000 + k % 20}-03-0{1 + k % 9}" for k in range(200)]
    variables = {
        "sex": {"levels": ["f", "m"], "missing": []},
        "born": {"kind": "date", "date_format": "%Y-%m-%d", "missing": [""]},
    }
    privacy = {"epsilon": 5, "ranges": {"born": ["2001-01-01", "2015-12-31"]}}
    released(tmp_path, "sex,born\n" + "\n".join(lines), variables=variables, privacy=privacy)
    born = pd.read_csv(tmp_path / "made/synthetic_1.csv", dtype=str)["born"].dropna()
    assert born.between("2001-01-01", "2015-12-31").all()
    assert born.nunique() > 50
