from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesizer.config.keys import Config
from synthesizer.config.reading import (
    config_schema,
    load_config,
    read_chain_config,
    read_config,
    sound_part,
)
from synthesizer.config.synthpop import FOREIGN_KEYS, UNSUPPORTED
from synthesizer.data.errors import ConfigError, Problems
from synthesizer.engine.registry import Registry

SAMPLE = {"data": {"sample": "fair"}}


def problems_of(**content: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_config({**SAMPLE, **content})
    return list(caught.value.problems)


def test_defaults() -> None:
    config = read_config(SAMPLE)
    assert (config.m, config.seed, config.rows, config.default_method) == (1, None, None, "cart")
    assert config.checks.cap
    assert config.checks.differential_confidentiality.enabled


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"mm": 3}, "mm: unknown key.*'m'"),
        ({"visit_sequens": []}, "'visit_sequence'"),
        ({"m": 0}, "m: .*at least 1.*0"),
        ({"rows": -5}, "rows: .*at least 1.*-5"),
        ({"seed": "x"}, "seed: must be a whole number"),
        ({"variables": {"age": {"kynd": "numeric"}}}, "'kind'"),
        ({"variables": {"age": {"kind": "numerical"}}}, "variables.age.kind: must be"),
        ({"checks": {"kees": ["a"]}}, "checks.kees: unknown key.*'keys'"),
        ({"limits": {"cap": 2}}, "limits.cap: must be at most 1"),
        ({"limits": {"cap": True}}, "limits.cap: .*number.*True"),
        ({"limits": {"cap": "1"}}, "limits.cap: .*number.*'1'"),
        ({"rules": [{"if": "a > 1"}]}, "rules.1: needs if and then"),
        ({"rules": [{"iff": "a > 1", "then": {"b": 1}}]}, "'if'"),
        ({"data": {}}, "data: .*one of path, sql"),
        ({"data": {"path": "x", "sample": "fair"}}, "needs exactly one"),
        ({"version": 2}, "version: must be 1"),
        ({"panel": {"persn": "a"}}, "panel.persn: unknown key.*'person'"),
        ({"variables": {"label": {"kynd": 1}}}, "variables.label.kynd: unknown key"),
        (
            {"checks": {"scenarios": [{}, {"target": "a", "kyes": "b"}]}},
            "checks.scenarios.2.kyes: .*'keys'",
        ),
        ({"checks": {"fits": [{"formule": "a ~ b"}]}}, "fits.1.formule: unknown key"),
        ({"method": ["cart", 3]}, "method.2: must be a text"),
        ({"variables": {2: {"kind": "x"}}}, "variables.2.kind: must be"),
        ({"rules": 3}, "rules: .*list"),
        ({"panel": 3}, "panel: .*map"),
        ({"genetic": 3}, "genetic: .*map"),
        ({"genetic": {"start": 5}}, "genetic.start: .*mutants, chain"),
        ({"data": {"path": 5}}, "data.path: .*path"),
        ({"rules": [{"if": "a", "then": {}}]}, "rules.1: needs if and then"),
        ({"seed": 1e30}, "seed: must be a smaller whole number"),
        ({"output": {"directory": "a\0b"}}, "output.directory: position 2.*NUL"),
        ({"variables": {"b": {"levels": ["x", "\ud800"]}}}, "variables.b.levels.2: position 1"),
        ({"variables": {"\udc00": {}}}, "variables, key 1: position 1.*half"),
        ({"rows": 100_000_000}, r"rows: .*at most 5e\+07"),
        ({"checks": {"groups": {"a": 10**9}}}, "checks.groups: .*map"),
        ({"checks": {"propensity": {"permutations": 10**9}}}, "permutations: .*at most 10000"),
        ({"genetic": {"population": 10**9}}, "genetic.population: must be at most 10000"),
    ],
)
def test_problems_name_the_key(content: dict[str, Any], words: str) -> None:
    assert any(re.search(words, problem) for problem in problems_of(**content))


def test_all_problems_at_once() -> None:
    found = problems_of(
        mm=1, m=0, rows=0, variables={"a": {"kind": "x", "kynd": 1}}, rules=[{"if": "a"}, {}]
    )
    assert len(found) >= 6


def test_sound_parts_survive() -> None:
    content = {**SAMPLE, "m": 0, "rows": 7, "rules": [{"if": "a > 1"}]}
    config = sound_part(content, Path(), problems := Problems())
    assert config.rows == 7
    assert len(problems) == 2


def test_two_faults_in_one_list_leave_what_is_around_it() -> None:
    rules = [{"variable": "a"}, {"variable": "b"}]
    panel = {"person": "who", "time": "year", "rules": rules}
    config = sound_part({**SAMPLE, "panel": panel}, Path(), problems := Problems())
    assert config.panel.person == "who"
    assert [problem.partition(":")[0] for problem in problems] == ["panel.rules.1", "panel.rules.2"]


def test_what_a_misspelt_key_leaves_out_is_told_once() -> None:
    assert len(problems_of(panel={"persn": "who", "time": "year"})) == 1
    assert len(problems_of(panel={"person": "who", "time": "who"})) == 1


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        ({"data": "persons.csv"}, ["data: must be a map (got 'persons.csv')"]),
        ({"data": {"path": 5}}, ["data.path: must be a path (got 5)"]),
        ({"panel": {"person": ["a"], "time": "t"}}, ["panel.person: must be a text"]),
        ({"panel": {"wide": ["a"]}}, ["panel.wide: must be a map"]),
        ({"support": "all"}, ["support: must be 'auto' or a list (got 'all')"]),
        ({"support": [["a", ["b"]]]}, ["support.1.2: must be a text"]),
        ({"max_predictors": "x"}, ["max_predictors: must be a whole number or 'all' (got 'x')"]),
        ({"genetic": {"start": [5]}}, ["genetic.start.1: must be a path (got 5)"]),
        (  # what is not a consequence is told as before
            {"panel": {"person": 1, "rules": [{"variable": "a"}], "view": 5.5}},
            [
                "panel.rules.1: needs one of absorbing, never and non_decreasing",
                "panel: needs both person and time",
            ],
        ),
    ],
)
def test_one_fault_is_told_once(content: dict[str, Any], problems: list[str]) -> None:
    assert problems_of(**content) == problems


def test_names_of_other_tools() -> None:
    config = read_config(
        {
            **SAMPLE, "visit.sequence": ["b", "a"], "k": 10, "cart.minbucket": 7, "cart.cp": 0.1,
            "predictor.matrix": {"a": ["b"]}, "default.method": "parametric",
        }
    )  # fmt: skip
    assert config.visit_sequence == ("b", "a")
    assert config.rows == 10
    assert config.models == {"cart": {"minbucket": 7, "cp": 0.1}}
    assert config.predictor_matrix == {"a": ("b",)}
    assert config.default_method == "parametric"


def test_a_key_and_its_alias() -> None:
    assert "same as another key" in problems_of(rows=1, k=2)[0]


CODES = {"variables": {"pay": {"missing": ["-8"]}}}


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        ({"cont.na": {"pay": -8}}, CODES),
        ({"cont_na": {"pay": ["-8"]}, "variables": {"pay": {"method": "norm"}}},
         {"variables": {"pay": {"missing": ["-8"], "method": "norm"}}}),
        ({"cont_na": {"pay": [None, -8]}, **CODES}, CODES),
        ({"cont_na": {"pay": [float("nan")]}}, {"variables": {"pay": {"missing": [""]}}}),
        ({"method": "ctree"}, {"default_method": "ctree"}),
        ({"default.method": ["normrank", "logreg", "polyreg", "polr"]},
         {"default_method": ("normrank", "logreg", "polyreg", "polr")}),
        ({"method": ["", None, "norm"]}, {"method": ("", "", "norm")}),
        ({"minstratumsize": 30}, {"min_stratum_rows": 30}),
        ({"predictor.matrix": "auto"}, {}),
        ({"cart.cp": 0.1, "models": {"cart": {"min_leaf": 9}}},
         {"models": {"cart": {"cp": 0.1, "min_leaf": 9}}}),
    ],
)  # fmt: skip
def test_arguments_of_synthpop_are_translated(
    foreign: dict[str, Any], ours: dict[str, Any]
) -> None:
    config = read_chain_config(foreign)
    assert config == read_chain_config(ours)
    plain = json.loads(config.model_dump_json(by_alias=True, exclude_unset=True))
    assert read_chain_config(plain) == config  # as a run writes and reads it


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"cont.na": {"pay": -9}, **CODES}, "cont_na.pay and variables.pay.missing disagree"),
        ({"cont_na": -8}, "cont_na: must be a map from variable"),
        ({"cont_na": {"pay": {"a": 1}}}, "cont_na.pay: must be a missing code or a list"),
        ({"method": "norm", "default_method": "cart"}, "default_method, which is given too"),
        ({"method": ""}, "would keep every variable"),
        ({"method": 5}, "method: must be a model, a map from variable to model, or a list"),
        ({"method": {"a": 5}}, "method.a: must be a text (got 5)"),
        ({"default_method": ["norm"]}, "default_method: needs four models"),
        ({"default_method": 5}, "default_method: must be a model, a map from kind"),
        ({"smoothing": "density"}, "smoothing: not supported; rare numbers are drawn anew"),
        ({"cart.cp": 0.1, "models": {"cart": {"cp": 0.2}}}, "cart.cp: is given under models too"),
        ({"min_stratum_rows": 0}, "min_stratum_rows: must be at least 1"),
        ({"rvalues": {"pay": 0}}, "rvalues: not supported; write rules:"),
        ({"rules": {"pay": "age < 15"}}, "rules: a map is not supported; write rules: [{if:"),
        ({"models": True}, "models: true or false is not supported"),
        ({"ctree.mincriterion": 0.9}, "ctree.mincriterion: not supported; trees"),
        ({"nested.x": 1}, "nested.x: not supported; use cart"),
        ({"catall.structzero": {}}, "catall.structzero: not supported"),
        ({"drop.not.used": True}, "drop.not.used: not supported; only columns under drop"),
        *(({name: 1}, f"{name}: not supported; ") for name in UNSUPPORTED),
    ],
)
def test_one_problem_for_what_cannot_be_translated(content: dict[str, Any], words: str) -> None:
    (problem,) = problems_of(**content)
    assert words in problem


def test_what_is_translated_is_in_the_schema() -> None:
    properties = config_schema(Registry.load())["properties"]
    assert set(properties) >= FOREIGN_KEYS
    types = {branch["type"] for branch in properties["method"]["oneOf"]}
    assert types == {"string", "array", "object"}


def test_scalars_become_labels() -> None:
    config = read_config({**SAMPLE, "variables": {"a": {"missing": [-8, "", True, 1.5]}}})
    assert config.variables["a"].missing == ("-8", "", "true", "1.5")


@pytest.mark.parametrize("written", [".inf", "inf", math.inf])
def test_infinite_options_outlive_json(written: object) -> None:
    options = {"models": {"career": {"theta": written}}}
    options["variables"] = {"a": {"options": {"theta": [written]}, "missing": [".inf", "inf"]}}
    config = read_config({**SAMPLE, **options})
    text = config.model_dump_json(by_alias=True, exclude_unset=True)
    again = read_config(json.loads(text))
    assert again == config
    assert again.variables["a"].missing == (".inf", "inf")  # labels stay what they are
    theta = again.models["career"]["theta"]
    assert Registry.load().build("career", {"theta": theta}).theta == math.inf


@pytest.mark.parametrize("value", [False, True])
def test_switching_all_checks(value: bool) -> None:
    checks = read_config({**SAMPLE, "checks": value}).checks
    assert checks.cap is value
    assert checks.two_way is value
    assert checks.differential_confidentiality.enabled is value


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("data: {path: in/data.csv}\noutput: {directory: out}\n")
    config = load_config(path)
    assert config.data.path == tmp_path / "in/data.csv"
    assert config.output.directory == tmp_path / "out"


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read"), (b"\xff\xfe", "UTF-8")])
def test_unreadable_files(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "run.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        load_config(path)


def test_library_options_take_no_data() -> None:
    assert read_chain_config({"m": 3}).m == 3
    with pytest.raises(ConfigError, match="data: unknown key"):
        read_chain_config(SAMPLE)


KEYS = [
    *Config.model_fields, *FOREIGN_KEYS, "visit.sequence", "cart.minbucket", "smoothing",
    "nonsense", "k", "rvalues",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*KEYS, "kind", "if", "then", "cart", "options"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6))
def test_any_mapping_gives_a_configuration_or_sentences(content: dict[str, Any]) -> None:
    config = sound_part(content, Path(), problems := Problems())
    assert config is not None or problems
    assert all(isinstance(problem, str) and problem for problem in problems)


def test_faults_in_lists_of_lists_are_told() -> None:
    problems = problems_of(support=[[[]], ["a", {}]], seed="x")
    assert any("support" in problem for problem in problems)
    assert any("seed" in problem for problem in problems)
