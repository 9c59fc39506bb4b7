"""A small number of each kind of inputs of the fuzzer, and the fuzzer's own eyes."""

import random
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("synthesizer.extensions.verification", reason="the fuzzer asks it, too")
pytest.importorskip("synthesizer.extensions.descriptions", reason="the fuzzer reads them")
import fuzz
import fuzz_inputs

from synthesizer.data.errors import ConfigError
from synthesizer.engine.registry import Registry

COUNT = 40
FEWER = {"labelled": 12}
"""Another process tries each of these files first."""


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_inputs_are_accepted_or_refused_in_words(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Registry, "load", cache(Registry.load))  # half of the time of an input
    count = FEWER.get(kind, COUNT)
    outcomes = [fuzz.outcome(kind, number, seed=0) for number in range(count)]
    assert [outcome for outcome in outcomes if outcome.findings] == []
    accepted = sum(outcome.accepted for outcome in outcomes)
    assert 3 <= accepted <= count - 3  # both ways are tried


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_kind_and_number_decide_an_input(kind: str, tmp_path: Path) -> None:
    made = []
    for name in "ab":
        folder = tmp_path / name
        folder.mkdir()
        trial = fuzz.KINDS[kind](random.Random(f"1/{kind}/7"), folder)
        calls = [call if isinstance(call, tuple) else "Python" for call in trial.calls]
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        made.append((calls, trial.typed, files))
    assert made[0] == made[1]


def crash() -> None:
    raise KeyError("x")


def leak() -> None:
    raise ConfigError("column 'town': 'qzalpha' is odd; mend it")


def vague() -> None:
    raise ConfigError("that went wrong")


def python() -> None:
    raise ConfigError("town: expected str, NoneType found")


def litter() -> None:
    Path("half").write_text("x")
    raise ConfigError("'town' is odd; mend it")


def hide() -> None:
    Path(".half").write_text("x")


def die() -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("call", "finding"),
    [
        (crash, "KeyError at"),
        (leak, "repeats qzalpha"),
        (vague, "names no file, variable or key"),
        (python, "Python speaks (NoneType)"),
        (litter, "was refused and left half"),
        (hide, "left .half"),
        (die, "takes more than"),
    ],
)
def test_every_fault_is_seen(
    call: fuzz_inputs.Call, finding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = fuzz_inputs.Trial([call], "", names={"town"})
    monkeypatch.setitem(fuzz.KINDS, "odd", lambda *_: trial)
    monkeypatch.setattr(fuzz, "SECONDS", 0.1)
    (message,) = fuzz.outcome("odd", 0).findings
    assert finding in message
