from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesizer.config.keys import Config
from synthesizer.config.reading import (
    FOREIGN_KEYS,
    config_schema,
    load_config,
    read_chain_config,
    read_config,
    sound_part,
)
from synthesizer.data.errors import ConfigError, Problems
from synthesizer.engine.registry import Registry

SAMPLE = {"data": {"sample": "fair"}}


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


@pytest.mark.parametrize(
    ("foreign", "native"),
    [
        ({"cont_na": {"pay": ["-8"]}, "variables": {"pay": {"method": "norm"}}},
         {"variables": {"pay": {"missing": ["-8"], "method": "norm"}}}),
        ({"cont.na": {"pay": [float("nan")]}}, {"variables": {"pay": {"missing": [""]}}}),
        ({"method": "ctree"}, {"default_method": "ctree"}),
        ({"method": ["", None, "norm"]}, {"method": ("", "", "norm")}),
        ({"minstratumsize": 30, "k": 10, "visit.sequence": ["b", "a"]},
         {"min_stratum_rows": 30, "rows": 10, "visit_sequence": ("b", "a")}),
        ({"predictor.matrix": "auto"}, {}),
        ({"cart.cp": 0.1, "models": {"cart": {"min_leaf": 9}}},
         {"models": {"cart": {"cp": 0.1, "min_leaf": 9}}}),
        ({"variables": {"a": {"missing": [-8, "", True, 1.5]}}},  # scalars become labels
         {"variables": {"a": {"missing": ("-8", "", "true", "1.5")}}}),
    ],
)  # fmt: skip
def test_arguments_of_synthpop_are_translated(
    foreign: dict[str, Any], native: dict[str, Any]
) -> None:
    config = read_chain_config(foreign)
    assert config == read_chain_config(native)
    plain = json.loads(config.model_dump_json(by_alias=True, exclude_unset=True))
    assert read_chain_config(plain) == config  # as a run writes and reads it


def test_what_is_translated_is_in_the_schema() -> None:
    properties = config_schema(Registry.load())["properties"]
    assert set(properties) >= FOREIGN_KEYS
    types = {branch["type"] for branch in properties["method"]["oneOf"]}
    assert types == {"string", "array", "object"}


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


def test_keys_of_sections_may_be_written_with_dots() -> None:
    dotted = {"output.overwrite": True, "checks.attacks.attempts": 50, "checks.suda": False}
    config = read_config({"data": {"sample": "fair"}, "checks": {"cap": False}, **dotted})
    assert config.output.overwrite
    assert config.checks.attacks.attempts == 50
    assert not config.checks.suda.enabled
    assert not config.checks.cap
    with pytest.raises(ConfigError) as caught:
        read_config({"data": {"sample": "fair"}, "m": 2, "m.x": 1, "output.nope": 1})
    assert sorted(p.partition(":")[0] for p in caught.value.problems) == ["m.x", "output.nope"]
