"""The key of the draws: drawn for each run, kept by the steward, and what repeats a run."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from synthesizer import Synthesizer, run
from synthesizer.data.errors import ConfigError
from synthesizer.data.randomness import Seed, new_key
from tests.end_to_end.commands import NO_HALVES, call, hashes, persons_frame, write_yaml

pytestmark = pytest.mark.usefixtures("drawn_key")
CHECKS = NO_HALVES | {
    "keys": ["sex", "age"],
    "target": "marital",
    "suda": False,
    "propensity": False,
    "differential_confidentiality": True,
}


def config_for(folder: Path, out: str = "out", /, **changes: Any) -> Path:
    path = folder / "persons.csv"
    if not path.exists():
        persons_frame(120).drop(columns="person_id").to_csv(path, index=False)
    content = {
        "data": {"path": "persons.csv"},
        "output": {"directory": out},
        "seed": 1,
        "checks": CHECKS,
        "workers": 1,
    } | changes
    plain = {key: value for key, value in content.items() if value is not None}
    return write_yaml(folder / f"{out}.yaml", plain)


def manifest_in(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "manifest.json").read_text())


def test_a_run_says_how_many_with_its_settings_it_replaced(tmp_path: Path) -> None:
    """Results vary from run to run: who reruns until it passes chooses on the noise."""
    again = {"output": {"overwrite": True}, "checks": False}
    config = config_for(tmp_path, **again)
    itself = {"from": str(tmp_path / "out" / "manifest.json")}
    other = {"default_method": "sample"}
    changes: list[dict[str, Any]] = [{}, {"seed": 2}, {}, {"random_key": itself}, other, {}]
    counts = []
    for change in changes:
        where = {"directory": str(tmp_path / "out"), "overwrite": True}
        made = run(config, overrides={"output": where, **change})
        counts.append(made.manifest.earlier_runs)
        notes = [note for note in made.new_notes if "vary from run to run" in note]
        assert [f"run {counts[-1] + 1} " in note for note in notes] == [True] * (counts[-1] > 0)
    assert counts == [0, 1, 2, 2, 0, 0]


def test_every_run_draws_a_key_and_repeats_from_its_manifest(tmp_path: Path) -> None:
    one, other = (run(config_for(tmp_path, out)) for out in ("out", "other"))
    assert str(one.manifest.random_key) not in repr(one)  # which a notebook shows
    assert hashes(one.directory) != hashes(other.directory)
    keys = {result.manifest.random_key for result in (one, other)}
    assert len(keys) == 2
    assert all(len(bytes.fromhex(key or "")) == 32 for key in keys)
    origin = {"from": "out/manifest.json"}
    for workers, seed in ((1, 1), (2, None)):  # the seed of the manifest where none is configured
        again = run(
            config_for(tmp_path, f"w{workers}", workers=workers, seed=seed, random_key=origin)
        )
        assert hashes(again.directory) == hashes(one.directory)
        assert (again.manifest.seed, again.manifest.random_key) == (1, one.manifest.random_key)
        assert {o.directory for o in again.checks.risk.releases.others} == {str(other.directory)}
        risk = again.checks.risk.model_copy(update={"releases": None})
        assert again.checks.model_copy(update={"risk": risk}) == one.checks
    unlike = run(config_for(tmp_path, "unlike", seed=2, random_key=origin))
    assert hashes(unlike.directory) != hashes(one.directory)


def test_without_a_key_the_seed_decides_and_a_note_is_printed(tmp_path: Path) -> None:
    config = config_for(tmp_path, random_key="none", checks=False)
    result = call("run", config)
    first = hashes(tmp_path / "out")
    assert "it contains the random key" not in result.output
    assert manifest_in(tmp_path / "out")["random_key"] == "none"
    for text in (result.output, *manifest_in(tmp_path / "out")["notes"]):
        assert "reproducible from the seed alone" in text
    assert (
        call("run", config_for(tmp_path, "b", checks=False), "--set", "random_key=none").exit_code
        == 0
    )
    manifest = tmp_path / "out" / "manifest.json"
    again = config_for(tmp_path, "c", seed=None, checks=False)
    repeated = call("run", again, "--set", f"random_key.from={manifest}")
    assert "reproducible from the seed alone" in " ".join(repeated.output.split())
    assert hashes(tmp_path / "b") == hashes(tmp_path / "c") == first


def test_a_key_is_in_the_manifest_only(tmp_path: Path) -> None:
    assert_in_manifest_only(tmp_path)


def assert_in_manifest_only(folder: Path, **changes: Any) -> None:
    """A run with these changes, and all that is asked of it, names its key in its manifest."""
    config = config_for(folder, **changes)
    output = call("run", config).output
    assert "manifest.json (it contains the random key)" in output
    key = manifest_in(folder / "out")["random_key"]
    origin = {"from": "out/manifest.json"}
    output += call("plan", config_for(folder, "again", **changes, random_key=origin)).output
    assert "random_key: key of" in output
    output += call("plan", config).output + call("codebook", folder / "out", "--json").output
    assert_kept(key, folder, output, {"out/manifest.json"})


def assert_kept(key: str, folder: Path, output: str, files: set[str]) -> None:
    """Nothing that was written or printed holds a key but these, which only the owner reads."""
    assert key not in output
    holding = [p for p in folder.rglob("*") if p.is_file() and key.encode() in p.read_bytes()]
    assert {str(path.relative_to(folder)) for path in holding} == files
    assert {stat.S_IMODE(path.stat().st_mode) for path in holding} == {0o600}


def test_a_saved_model_keeps_its_key(tmp_path: Path) -> None:
    config, model = config_for(tmp_path), tmp_path / "model"
    output = call("fit", config, "-o", model).output
    for out, words in (("a", []), ("b", []), ("c", ["--seed", 2])):
        output += call("generate", model, "-o", tmp_path / out, *words).output
    key = manifest_in(tmp_path / "a")["random_key"]
    assert key == manifest_in(tmp_path / "c")["random_key"]
    assert hashes(tmp_path / "a") == hashes(tmp_path / "b") != hashes(tmp_path / "c")
    files = {"model", *(f"{out}/manifest.json" for out in "abc")}
    assert_kept(key, tmp_path, output, files)
    origin = tmp_path / "a" / "manifest.json"
    call("fit", config, "-o", tmp_path / "again", "--set", f"random_key.from={origin}")
    call("generate", tmp_path / "again", "-o", tmp_path / "d")
    repeated = run(config_for(tmp_path, "e", random_key={"from": "a/manifest.json"}))
    assert hashes(repeated.directory) == hashes(tmp_path / "d") == hashes(tmp_path / "a")
    with pytest.raises(ConfigError, match="drawn from a saved model with another seed"):
        run(config_for(tmp_path, "f", random_key={"from": "c/manifest.json"}))


def test_a_key_in_a_configuration_is_refused_and_not_repeated(tmp_path: Path) -> None:
    key = new_key()
    for value in (key, 7, {"from": [key]}, {"of": "x"}):
        result = call("plan", config_for(tmp_path, random_key=value))
        assert result.exit_code == 2
        assert "random_key" in result.output
        assert key not in result.output
    with pytest.raises(ConfigError, match=r"must be none, or \{from: RUN/manifest.json\};"):
        Synthesizer(random_key=key)
    assert key not in repr(Seed(1, key))


def test_draws_that_are_repeated_with_other_data_are_noted(tmp_path: Path) -> None:
    run(config_for(tmp_path))
    persons_frame(121).to_csv(tmp_path / "persons.csv", index=False)
    result = call("plan", config_for(tmp_path, "b", random_key={"from": "out/manifest.json"}))
    assert "belongs to a run with other data" in result.output


@pytest.mark.parametrize(
    "text", ['{"seed": 1}', '{"seed": 1, "random_key": "c0ffee", "random_key": "none"}']
)
def test_a_manifest_without_one_key_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    config = config_for(tmp_path, random_key={"from": "manifest.json"})
    for result in (call("run", config), call("plan", config)):
        assert result.exit_code == 2
        assert f"random_key.from: {tmp_path}/manifest.json: " in result.output
        assert "c0ffee" not in result.output
    assert not (tmp_path / "out").exists()
