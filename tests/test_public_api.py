"""What every public function has in common."""

import inspect
import warnings
from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import synthesizer
from synthesizer import SynthesizerError
from synthesizer.data.errors import ConfigError, DataError, OptionError
from synthesizer.data.guessing import Declaration
from synthesizer.data.randomness import Seed, new_key, seeded
from synthesizer.measures.settings import ALL_OFF

MEASURES = {
    "halves": ("control_run", "half_runs"),
    "risk.attacks": ("attacks",),
    "risk.attribute": ("attribute",),
    "risk.cap": ("cap", "cap_regression", "cap_scores", "cap_u"),
    "risk.copied": ("copied_uniques",),
    "risk.determined": ("determined",),
    "risk.differential": ("compare_halves", "differential_confidentiality", "gather"),
    "risk.identity": ("identity", "key_counts", "reproduced_uniques", "statistical_uniques"),
    "risk.memorisation": ("memory",),
    "risk.nearest": ("nearer_share",),
    "risk.public_inference": ("inference", "inference_scores"),
    "risk.rare_values": ("rare_values",),
    "risk.replicated": ("replicated_rows", "replicated_uniques"),
    "risk.suda": ("special_uniques", "suda"),
    "risk.suggest": ("suggest",),
    "risk.tcap": ("tcap",),
    "utility.combining": ("combine",),
    "utility.compare_fit": ("compare_fit", "compare_fit_by"),
    "utility.distributions": ("distributions", "pair_tables"),
    "utility.propensity": ("pmse",),
    "utility.tables": ("cell_measures", "combine_tables", "jensen_shannon", "table_utility"),
}
"""Measures of any two tables, by their file."""
PUBLIC = {f"synthesizer.{name}": getattr(synthesizer, name) for name in synthesizer.__all__} | {
    f"{file}.{name}": getattr(import_module(f"synthesizer.measures.{file}"), name)
    for file, names in MEASURES.items()
    for name in names
}


def parameters():
    for name, member in PUBLIC.items():
        if callable(member):
            yield from ((name, *pair) for pair in inspect.signature(member).parameters.items())


def test_what_draws_takes_a_seed_and_no_generator():
    names = {(name, parameter) for name, parameter, _ in parameters()}
    assert not [name for name, parameter in names if parameter in ("rng", "random_state")]
    seeds = {name.rpartition(".")[2] for name, parameter in names if parameter == "seed"}
    assert {"check", "run", "generate", "nearer_share", "attacks", "pmse",
            "half_runs", "differential_confidentiality"} <= seeds  # fmt: skip


FUNCTIONS = {name: member for name, member in PUBLIC.items() if inspect.isfunction(member)}
FIRST_WORDS = ("Return", "Count", "Suggest", "Compare", "Regress")
"""First words of docstrings whose first line describes what is returned."""
UNDER_ANOTHER = {"control_run", "gather"}
"""The example of `compare_halves` is theirs, too."""


def test_a_public_function_has_an_example_and_says_what_its_parameters_are():
    for name, function in FUNCTIONS.items():
        text = inspect.getdoc(function)
        assert "Examples\n---" in text or name.rpartition(".")[2] in UNDER_ANOTHER, name
        few = len(inspect.signature(function).parameters) < 4
        assert "Parameters" in text or "`" in text or few, name
        assert "Returns\n---" in text or text.startswith(FIRST_WORDS), name
        assert "default_rng(" not in text or "rng=" not in text, name


def test_a_seed_is_a_whole_number_or_the_object():
    seed = Seed(3, new_key())
    assert seeded(np.int64(3)) == seeded(3) == Seed(3)
    assert seeded(seed) is seed
    assert seed.instead(None) is seed
    assert seed.instead(4) == Seed(4, seed.random_key)
    assert seed.instead(Seed(4)) == Seed(4)


@pytest.mark.parametrize("wrong", [-1, 2**63, 1.5, "1", None, np.random.default_rng(1)])
def test_another_seed_is_refused_in_one_sentence(wrong):
    with pytest.raises(DataError, match="whole number from 0 to") as caught:
        seeded(wrong)
    assert len(caught.value.problems) == 1
    frame = risk_frame()
    with pytest.raises(SynthesizerError, match="seed"):
        synthesizer.check(frame, frame, keys=["a"], target="b", seed=wrong)


def risk_frame():
    return pd.DataFrame({"a": list("xyxyxy"), "b": list("uuvvuv")})


# Whatever is handed over: what comes out is a result, or an error of the package in plain text.

FRAME = pd.DataFrame(
    {"a": list("xyz") * 12, "b": list("uuvv") * 9, "n": [i * 97 % 1009 for i in range(36)]}
)
OTHER = FRAME.iloc[:20]
HALF = pd.Series(["\ud800", "b"] * 18, dtype=object)
ODD = {
    "None": None, "3": 3, "text": "x", "[]": [], "{}": {}, "list": ["m"], "nan": np.nan,
    "inf": np.inf, "half": "\ud800", "halves": ["\ud800"], "object": np.random.default_rng(1),
    "array": np.array([1.0, np.nan]), "index": pd.Index(["x"]),
    "no column": pd.DataFrame(index=range(5)), "no row": FRAME.iloc[:0],
    "twice": pd.concat([FRAME, FRAME[["a"]]], axis=1), "numbers": pd.DataFrame({0: [1, 2]}),
    "mixed": FRAME.assign(a=[1, "x"] * 18), "objects": FRAME.assign(a=[object()] * 36),
    "lists": FRAME.assign(a=[[1]] * 36), "half a label": FRAME.assign(a=HALF),
    "levels": FRAME.set_axis(pd.MultiIndex.from_product([["a"], [1, 2, 3]]), axis=1),
    "index of two": FRAME.set_index(["a", "b"]),
    "not finite": FRAME.assign(n=[np.inf, np.nan] * 18),
}  # fmt: skip
DATA = {"original": FRAME, "synthetic": OTHER}
FEW = ALL_OFF | {"cap": True, "one_way": True}
NOWHERE = {"data": {"path": "/nowhere.csv"}}
SOUND = {
    "run": {"config": NOWHERE}, "fit": {"config": NOWHERE}, "load_config": {"path": "/nowhere"},
    "read_config": {"content": NOWHERE}, "generate": {"workers": 1},
    "check": DATA | {"keys": ["a"], "target": "b", "settings": FEW},
    "combine": {"estimates": [1, 2], "variances": [1, 2]},
    "compare_fit": DATA | {"formula": "I(n) ~ b"},
    "compare_fit_by": DATA | {"formula": "I(n) ~ b", "by": "a"},
    "Question": {"sensitive": "a", "public": ["b"]}, "FitRequest": {"formula": "a ~ b"},
}  # fmt: skip
"""Arguments beside the odd one; calls that would read a file stop where there is none."""


PARAMETERS = [
    *(("Synthesizer", name) for name in synthesizer.Synthesizer().get_params()),
    *(("CheckSettings", name) for name in ("keys", "exclude", "scenarios", "by", "limits")),
    *(("check", name) for name in ("keys", "target", "settings", "limits", "config", "declared")),
    *(("compare_fit_by", name) for name in ("by", "clusters", "weights", "strata", "replicates")),
    *(("compare_fit", name) for name in ("formula", "declared", "offset", "psu")),
    *(("run", "overrides"), ("Synthesis", "proper"), ("FitRequest", "weights")),
]
"""What takes names or settings, in the place of which a notebook may hand over a column."""


@pytest.mark.parametrize("kind", [pd.Series, np.array, pd.array, pa.array])
def test_a_column_in_place_of_its_name_shows_no_value(kind):
    column = kind(["canary-7f3a", "b"] * 18)
    for name, parameter in PARAMETERS:
        sound = SOUND.get(name, {})
        with pytest.raises((SynthesizerError, TypeError)) as caught:
            getattr(synthesizer, name)(**{**sound, parameter: column})
        assert "canary" not in str(caught.value)
        if isinstance(caught.value, SynthesizerError):
            assert len(caught.value.problems) <= 3, (name, parameter)


def test_a_misspelt_parameter_is_refused_with_the_nearest():
    with pytest.raises(OptionError, match="check has no parameter 'key'; did you mean 'keys'"):
        synthesizer.check(FRAME, OTHER, key=["a"], target="b")
    with pytest.raises(OptionError, match="run: missing a required argument: 'config'"):
        synthesizer.run()


def test_an_unknown_parameter_names_the_one_that_has_it():
    for parameter, instead in {
        "min_leaf": "write models={'cart': {'min_leaf': ...}}",
        "target": "write checks={'target': ...}", "data": "hand the frame to fit(frame)",
        "propper": "did you mean 'proper'?",
    }.items():  # fmt: skip
        with pytest.raises(ConfigError) as caught:
            synthesizer.Synthesizer(**{parameter: 3})
        assert str(caught.value) == f"{parameter}: no parameter of Synthesizer; {instead}"
    with pytest.raises(SynthesizerError) as caught:
        synthesizer.check(FRAME, OTHER, keys=["z"], settings={"tau": 0}, limits={"capp": 1})
    assert [problem.split(":")[0] for problem in caught.value.problems][:2] == [
        "settings.tau", "limits.capp",
    ]  # fmt: skip


def test_declarations_of_variables_may_be_maps():
    income = pd.DataFrame({"n": [-8, *range(100, 1150, 30)], "g": list("ab") * 18})
    for declared in ({"n": {"missing": [-8]}}, {"n": Declaration(missing=("-8",))}):
        fit = synthesizer.compare_fit(income, income, "n ~ g", declared=declared)
        group = income["n"][2::2].mean()  # of the others of the group: the code is no number
        assert fit.to_frame("coefficients")["original"][0] == pytest.approx(group)
    wrong = {"n": {"mising": ["-8"]}, "g": 5}
    with pytest.raises(SynthesizerError) as caught:
        synthesizer.check(income, income, declared=wrong)
    assert [p[:10] for p in caught.value.problems] == ["declared.n", "declared.g"]


def test_overrides_reach_a_configuration_that_was_read(tmp_path):
    config = synthesizer.read_config({"data": {"path": "/nowhere.csv"}, "m": 2, "seed": 7})
    assert "7" not in repr(config)
    overrides = {"data": {"path": "/other.csv"}, "output": {"overwrite": True}}
    with pytest.raises(SynthesizerError, match="other.csv"):
        synthesizer.run(config, overrides=overrides)


@pytest.fixture(scope="module")
def fitted():
    return synthesizer.Synthesizer(seed=1, workers=1, default_method="sample").fit(FRAME)


def called(name, fitted, folder):
    """Return a public function or class, the names of its parameters, and its sound arguments."""
    function, sound = getattr(synthesizer, name, None), SOUND.get(name, {})
    if name == "generate":
        sound = sound | {"model": fitted.model, "directory": folder / "made", "overwrite": True}
    methods = {
        "Synthesizer.fit": (synthesizer.Synthesizer(workers=1, default_method="sample").fit, {}),
        "Synthesizer.generate": (fitted.generate, {}),
        "Synthesizer.save": (fitted.save, {"path": folder / "model"}),
        "Synthesizer.load": (synthesizer.Synthesizer.load, {"path": "/nowhere"}),
        "to_frame": (synthesizer.combine([1.0], [1.0], n=2, k=2).to_frame, {}),
        "Registry.register": (synthesizer.Registry().register, {"name": "x", "model_class": int}),
        "Registry.with_plugins": (synthesizer.Registry().with_plugins, {}),
    }
    function, sound = methods.get(name, (function, sound))
    names = getattr(function, "model_fields", None) or inspect.signature(function).parameters
    return function, [n for n in names if n != "options"], sound


RESULTS = {"CheckResults", "RunResult", "Refined", "SynthesizerError", "Registry", "Verdict"}
"""Users do not make these by hand, or make them without an argument."""
CALLED = [*sorted({*synthesizer.__all__} - RESULTS), "Synthesizer.fit", "Synthesizer.generate",
          "Synthesizer.save", "Synthesizer.load", "to_frame", "Registry.register",
          "Registry.with_plugins"]  # fmt: skip


@pytest.mark.parametrize("name", CALLED)
def test_whatever_is_handed_over_only_errors_of_the_package_come_out(
    name, fitted, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    function, names, sound = called(name, fitted, tmp_path)
    raw = []
    for parameter in names:
        for what, value in ODD.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    function(**sound | {parameter: value})
                except SynthesizerError as error:
                    assert str(error).encode()
                    assert "object at 0x" not in str(error)
                except Exception as error:
                    raw.append(f"{parameter}={what}: {error!r}")
    assert raw == []


@pytest.mark.parametrize("name", ["assess", "evaluate"])
def test_an_earlier_function_names_the_one_in_its_place(name):
    with pytest.raises(ImportError, match=f"synthesizer.{name} is now synthesizer.check"):
        getattr(synthesizer, name)
