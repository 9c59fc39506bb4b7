"""What every public function has in common."""

import inspect

import numpy as np
import pytest

import synthesizer
from synthesizer import SynthesizerError
from synthesizer.data.errors import DataError
from synthesizer.data.randomness import Seed, fresh_secret, seeded
from synthesizer.measures import risk, utility

PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (synthesizer, risk, utility)
    for name in module.__all__
}


def parameters():
    for name, member in PUBLIC.items():
        if callable(member):
            yield from ((name, *pair) for pair in inspect.signature(member).parameters.items())


def test_what_draws_takes_a_seed_and_no_generator():
    names = {(name, parameter) for name, parameter, _ in parameters()}
    assert not [name for name, parameter in names if parameter in ("rng", "random_state")]
    seeds = {name.rpartition(".")[2] for name, parameter in names if parameter == "seed"}
    assert {"assess", "evaluate", "run", "generate", "refine", "nearer_share", "attacks", "pmse",
            "half_runs", "differential_confidentiality"} <= seeds  # fmt: skip


FUNCTIONS = {name: member for name, member in PUBLIC.items() if inspect.isfunction(member)}
SAYS = ("Return", "Count", "Suggest", "Compare", "Regress")
"""Words after which the first line says what is returned."""
UNDER_ANOTHER = {"control_run", "gather"}
"""The example of `compare_halves` is theirs, too."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_has_an_example_and_says_what_its_parameters_are(name):
    text = inspect.getdoc(FUNCTIONS[name])
    assert "Examples\n---" in text or name.rpartition(".")[2] in UNDER_ANOTHER
    assert (
        "Parameters" in text
        or "`" in text
        or len(inspect.signature(FUNCTIONS[name]).parameters) < 4
    )
    assert "Returns\n---" in text or text.startswith(
        ("Return", "Count", "Suggest", "Compare", "Regress")
    )
    assert "default_rng(" not in text or "rng=" not in text


def test_a_seed_is_a_whole_number_or_the_object():
    kept = Seed(3, fresh_secret())
    assert seeded(np.int64(3)) == seeded(3) == Seed(3)
    assert seeded(kept) is kept
    assert kept.instead(None) is kept
    assert kept.instead(4) == Seed(4, kept.secret)
    assert kept.instead(Seed(4)) == Seed(4)


@pytest.mark.parametrize("wrong", [-1, 2**63, 1.5, "1", None, np.random.default_rng(1)])
def test_another_seed_is_refused_in_one_sentence(wrong):
    with pytest.raises(DataError, match="whole number from 0 to") as caught:
        seeded(wrong)
    assert len(caught.value.problems) == 1
    frame = risk_frame()
    with pytest.raises(SynthesizerError, match="seed"):
        synthesizer.assess(frame, frame, keys=["a"], target="b", seed=wrong)


def risk_frame():
    import pandas as pd

    return pd.DataFrame({"a": list("xyxyxy"), "b": list("uuvvuv")})
