"""Every result is written to a file and read back as it was."""

import json
import re
import types
import typing
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

import synthesizer.measures.risk as risk
from synthesizer.data.table import Table
from synthesizer.measures.figure import Figure, Result, Row, collected, in_units, plain, typed
from synthesizer.measures.halves import control_run
from synthesizer.measures.risk.attacks import attacks
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.risk.cap import Line, cap, cap_regression, cap_u
from synthesizer.measures.risk.copied import copied_uniques
from synthesizer.measures.risk.determined import determined
from synthesizer.measures.risk.differential import differential_confidentiality
from synthesizer.measures.risk.guesses import guesses
from synthesizer.measures.risk.identity import identity, reproduced_uniques
from synthesizer.measures.risk.memorisation import memory
from synthesizer.measures.risk.near_verbatim import near_verbatim
from synthesizer.measures.risk.nearest import nearer_share
from synthesizer.measures.risk.public_inference import inference
from synthesizer.measures.risk.rare_values import rare_values
from synthesizer.measures.risk.releases import Release, Together
from synthesizer.measures.risk.replicated import (
    CareerReplicates,
    replicated_uniques,
)
from synthesizer.measures.risk.suda import suda
from synthesizer.measures.risk.suggest import suggest
from synthesizer.measures.risk.tcap import tcap
from synthesizer.measures.risk.trajectories import TrajectoryIntruder, trajectories_of_halves
from synthesizer.measures.scenario import Exclusion
from tests.measures.cells import odd_cells
from tests.tables import coded, numeric


def people(n, seed):
    rng = np.random.default_rng(seed)
    return Table(
        [
            coded("town", rng.integers(0, 9, n), list("abcdefghi")),
            numeric("age", rng.integers(18, 40, n).astype(float), rng.random(n) < 0.1, ["-8"]),
            coded("ill", rng.integers(0, 3, n), ["no", "yes", "often"]),
        ]
    )


ORIGINAL, MADE, OTHER = people(90, 1), people(90, 2), people(80, 3)
KEYS = {"keys": ["town", "age"], "target": "ill"}


EXCLUDED = [Exclusion(target_level="no", key="age", key_level=20), Exclusion(target_level="yes")]
RESULTS = {
    "near_verbatim": lambda: near_verbatim(control_run(ORIGINAL, OTHER, (MADE,)), ORIGINAL.names),
    "guesses": lambda: guesses(control_run(ORIGINAL, OTHER, (MADE,)), ORIGINAL.names, ["town"]),
    "releases": lambda: Together(
        others=[Release(
            created="now", directory="out", datasets={"synthetic_1.csv": "0f"}, records=90,
            settings="a1", limits={"release": "contract"}, looks=RESULTS["near_verbatim"]().looks,
            guess=RESULTS["guesses"]().guesses[0], contains=("0e",), given_out=True,
        )],
        counted=None,
    ),
    "attacks": lambda: attacks(ORIGINAL, OTHER, MADE, **KEYS, n_attacks=20, seed=1),
    "attribute": lambda: attribute(
        ORIGINAL, [ORIGINAL, MADE], **KEYS, exclude=EXCLUDED, thresholds_1way=(0, 0.0),
        thresholds_2way=(0, 0.0),
    ),
    "cap": lambda: cap(ORIGINAL, [MADE, OTHER], **KEYS),
    "cap_u": lambda: cap_u(ORIGINAL, [MADE, OTHER], **KEYS),
    "regression": lambda: cap_regression(cap(ORIGINAL, [MADE, OTHER, MADE], **KEYS))[0],
    "no line": lambda: cap_regression(cap(ORIGINAL, [MADE], **KEYS))[0],
    "negative": lambda: Line(
        intercept=-0.5, slope=-1e-300, intercept_error=0.0, slope_error=1e9, intercept_p=None,
        slope_p=1.0, r2=0.0, df=1,
    ),
    "determined": lambda: determined(ORIGINAL, ["town", "age"], "ill"),
    "differential": lambda: differential_confidentiality(
        ORIGINAL, lambda half, m, repeat: [half] * m, **KEYS, m=2, repeats=2, seed=4, by="ill"
    ),
    "identity": lambda: identity(ORIGINAL, [MADE, OTHER], keys=["town", "age"]),
    "reproduced": lambda: reproduced_uniques(ORIGINAL, MADE, keys=["town"])[0],
    "inference": lambda: inference(ORIGINAL, MADE, sensitive="ill", public=["town", "age"]),
    "nearest": lambda: nearer_share(ORIGINAL, OTHER, MADE, seed=1),
    "copied": lambda: copied_uniques(ORIGINAL, [MADE, OTHER], keys=["town"], control=MADE),
    "rare values": lambda: rare_values(ORIGINAL, [MADE, OTHER], keys=["town", "age"]),
    "memory": lambda: memory(
        ORIGINAL, OTHER, lambda table: [("ill", -np.arange(1.0, table.n_rows + 1))]
    ),
    "replicated": lambda: replicated_uniques(ORIGINAL, [MADE, OTHER]),
    "careers": lambda: collected(
        CareerReplicates(np.zeros((3, 2), int)), [np.ones((2, 2), int)]
    ),
    "suda": lambda: suda(ORIGINAL, ["town", "age"], max_size=1).result,
    "suggestion": lambda: suggest(ORIGINAL),
    "no suggestion": lambda: suggest(pd.DataFrame({"x": [1.5, 2.5]})),
    "trajectories": lambda: collected(
        TrajectoryIntruder(np.array([[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]), seed=1),
        [np.array([[0, 1, 1, 0]])],
    ),
    "halves of trajectories": lambda: trajectories_of_halves(
        *(np.array([[0, 1, 1, 0], [0, 0, 0, 0]]), np.ones((2, 4), int), np.eye(4, dtype=int)),
        seed=1,
    ),
    "tcap": lambda: tcap(ORIGINAL, [MADE, OTHER], **KEYS),
}  # fmt: skip


def kinds_of(kind):
    """All result classes that a field's type names."""
    if isinstance(kind, type) and issubclass(kind, Result):
        yield kind
        for field in kind.model_fields.values():
            yield from kinds_of(field.annotation)
    for argument in typing.get_args(kind):
        yield from kinds_of(argument)


made = cache(lambda name: RESULTS[name]())
"""Each result is computed once."""


def check_written(result):
    """Raise AssertionError unless a result is read as it was written, and in words of its units."""
    text = json.dumps(plain(result), allow_nan=False)
    back = typed(type(result), json.loads(text))
    assert back == result
    assert json.dumps(plain(back)) == text
    assert getattr(back, "figures", ()) == getattr(result, "figures", ())
    with pytest.raises(ValidationError):
        typed(type(result), json.loads(text) | {"unknown": 1})
    assert odd_cells(result) == set()
    for kind in kinds_of(type(result)):
        if issubclass(kind, Row):
            titles = [field.title for field in kind.model_fields.values() if field.title]
            assert titles
            assert len(set(titles)) == len(titles)
    for figure in getattr(result, "figures", ()):
        words = figure.counting("persons").meaning
        assert not re.search(r"(?<!\{)\b[Rr]ecords?\b(?!\})", words), words  # no template
        for units in ("records", "persons"):
            assert not re.search(r"[{}]", in_units(words, units)), words
        assert "record" not in in_units(words, "persons")


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_read_as_it_was_written(name):
    check_written(made(name))


def marks_of(results):
    """Return a line for each figure of results: its key, and the marks that one of them has."""
    by_key = {}
    for figure in (figure for result in results for figure in getattr(result, "figures", ())):
        marks = {
            m for m in ("baseline", "chance", "low", "original") if getattr(figure, m) is not None
        }
        by_key[figure.key] = by_key.get(figure.key, set()) | marks
    return [" ".join([key, *sorted(by_key[key])]) for key in sorted(by_key)]


def test_every_class_of_results_is_tried():
    tried = {kind for name in RESULTS for kind in kinds_of(type(made(name)))}
    modules = [module for module in vars(risk).values() if isinstance(module, types.ModuleType)]
    every = {
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Result)
    } - {Result, Row, Figure}
    written = {kind for kind in every if kind.__module__.startswith("synthesizer.measures.risk.")}
    others = "CapMeans CopiedKeys InferenceRate OfTarget Scenario Tolerance ScenarioRisk"
    assert {kind.__name__ for kind in written - tried} <= set(others.split())


def test_every_figure_has_the_marks_by_which_it_is_read():
    """Those of ``marks.txt``: what any of the results above has of it."""
    assert (
        marks_of(map(made, RESULTS))
        == Path(__file__).with_name("marks.txt").read_text().splitlines()
    )
