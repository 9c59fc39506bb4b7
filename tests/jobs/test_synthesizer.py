from __future__ import annotations

import inspect
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from synthesizer import CheckSettings, Synthesizer, check
from synthesizer.config.keys import ChainConfig
from synthesizer.data.errors import (
    ConfigError,
    DataError,
    ModelError,
)
from synthesizer.data.plugins import extension_keys
from tests.end_to_end.commands import NO_HALVES


def frame(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "age": rng.integers(0, 90, n),
            "pay": pd.array(np.where(rng.random(n) < 0.2, None, rng.integers(0, 900, n)), "Int64"),
            "born": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "ok": rng.random(n) < 0.5,
        }
    )


CHECKS = {
    "keys": ["sex", "age"],
    "target": "ok",
    "propensity": False,
    **NO_HALVES,
    "differential_confidentiality": True,
}


def test_checks_of_the_last_frames() -> None:
    fitted = Synthesizer(seed=1, workers=1, checks=CHECKS).fit(frame())
    with pytest.raises(ModelError, match=r"first generate\(\)"):
        _ = fitted.checks
    frames = fitted.generate(m=2)
    risk = check(frame(), frames, keys=["sex", "age"], target="ok", only="risk").risk.main
    main = fitted.checks.risk.main
    assert main.cap.row(2).zero == pytest.approx(risk.cap.row(2).zero)
    assert main.differential is not None  # halves of the frame are synthesised, too
    assert main.differential.comparisons
    assert fitted.checks is fitted.checks
    assert fitted.verdict.to_frame()["title"].tolist() == ["A person in the data", "Anybody", "Use"]
    assert fitted.exceeded == ()
    first = fitted.checks
    fitted.generate(m=2, seed=5)
    assert fitted.checks is not first


def test_a_limit_is_never_dropped(tmp_path: Path) -> None:
    checks = CHECKS | {"differential_confidentiality": False}
    fitted = Synthesizer(seed=1, workers=1, checks=checks, limits={"cap": 0.0}).fit(frame())
    with pytest.warns(UserWarning, match=r"limits.cap"):
        fitted.generate()
    (above,) = fitted.exceeded
    assert "limits.cap" in above
    within = Synthesizer(seed=1, workers=1, checks=checks, limits={"cap": 1.0}).fit(frame())
    within.generate()
    assert within.exceeded == ()
    within.save(tmp_path / "model")
    loaded = Synthesizer.load(tmp_path / "model")  # it knows its limits, and needs the original
    assert loaded.get_params()["limits"] == {"cap": 1.0}
    with pytest.warns(UserWarning, match="not checked.*original=frame"):
        loaded.generate()
    for what in ("exceeded", "checks", "verdict"):
        with pytest.raises(ModelError, match="original=frame"):
            getattr(loaded, what)
    loaded = Synthesizer.load(tmp_path / "model", original=frame())
    loaded.generate()
    assert loaded.checks.risk.main.cap == within.checks.risk.main.cap
    with pytest.warns(UserWarning, match=r"limits.cap"):
        loaded.set_params(limits={"cap": 0.0}).generate()
    with pytest.raises(DataError, match="not the frame of the fit"):
        Synthesizer.load(tmp_path / "model", original=frame(150))
    with pytest.raises(ConfigError, match="is off"):
        Synthesizer(checks=False, limits={"cap": 0.5}).fit(frame())


def test_checks_can_be_asked_for_after_the_fit() -> None:
    checks = CHECKS | {"differential_confidentiality": False}
    fitted = Synthesizer(seed=1, workers=1).fit(frame())
    first = fitted.generate()[0]
    with pytest.raises(ConfigError):  # nothing is changed
        fitted.set_params(checks={"keys": ["sexx"]})
    fitted.set_params(checks=checks, limits={"cap": 0.0})
    (above,) = fitted.exceeded  # the frames that are there already are checked
    assert "limits.cap" in above
    risk = check(frame(), first, keys=["sex", "age"], target="ok", only="risk").risk.main
    assert fitted.checks.risk.main.cap.row(1) == risk.cap.row(1)
    pd.testing.assert_frame_equal(fitted.set_params(checks=None, limits=None).generate()[0], first)


KINDS = {
    "cut": pd.cut(frame()["age"], [10, 30, 50, 70]),
    "dates cut": pd.cut(frame()["born"], 3),
    "interval": pd.cut(frame()["age"], [-1, 40, 99]).astype(object).astype("interval"),
    "month": frame()["born"].dt.to_period("M"),
    "seconds": (frame()["born"] - pd.Timestamp("2000-01-01")).where(frame()["ok"]),
    "arrow": frame()["pay"].astype("int64[pyarrow]"),
    "arrow dictionary": frame()["sex"].astype(str).astype(
        pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    ),
    "arrow day": frame()["born"].astype("date32[day][pyarrow]"),
    "sparse": frame()["ok"].astype("Sparse[int]"),
    "ordered": pd.Series(pd.Categorical(frame()["age"] // 30, [0, 1, 2], ordered=True)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:synthetic rows may break")
def test_every_kind_of_column_comes_back() -> None:
    original = pd.DataFrame(KINDS)
    fitted = Synthesizer(seed=1, workers=1, default_method="sample").fit(original)
    (made,) = fitted.generate()
    assert made.dtypes.to_dict() == original.dtypes.to_dict()
    assert {*made["cut"].dropna()} == {*original["cut"].dropna()}
    assert {*made["month"]} <= {*original["month"]}
    assert made["seconds"].dropna().between(*original["seconds"].agg(["min", "max"])).all()
    for name in original:
        assert abs(made[name].isna().mean() - original[name].isna().mean()) < 0.15
    kinds = {v.name: v.kind.value for v in fitted.model.chain.schema}
    assert kinds["cut"] == kinds["dates cut"] == kinds["interval"] == "ordered"
    assert (kinds["month"], kinds["seconds"]) == ("date", "numeric")


@pytest.mark.parametrize(
    ("values", "words"), [([{"a": 1}], "contains records"), ([1j], "complex128")]
)
def test_other_kinds_are_refused_in_our_words(values: list[Any], words: str) -> None:
    with pytest.raises(DataError, match=f"'c' .*{words}.*store it as text"):
        Synthesizer().fit(pd.DataFrame({"c": pd.Series(values * 9)}))


@pytest.mark.parametrize("zone", ["+02:00", "America/New_York"])
def test_clocks_of_a_zone_keep_midnight(zone: str) -> None:
    days = pd.Series(pd.date_range("2000-01-01", periods=120, freq="D", tz=zone))
    clocks = pd.DataFrame({"sex": ["f", "m"] * 60, "day": days})
    clocks["typed"] = days.astype(f"timestamp[us, tz={zone}][pyarrow]")
    (made,) = Synthesizer(seed=1, workers=1).fit(clocks).generate()
    assert made.dtypes.equals(clocks.dtypes)
    assert {*made["day"].dt.hour, *made["typed"].dt.hour} == {0}


def test_parameters_are_the_keys_of_a_configuration_by_name() -> None:
    named = {**inspect.signature(Synthesizer).parameters}
    assert named.pop("extensions").kind is inspect.Parameter.VAR_KEYWORD
    keys = {*ChainConfig.model_fields} - {"version"}
    assert {*named} | {n for n, key in extension_keys().items() if not key.placements} == {
        *keys,
        "infer_missing",
        "registry",
    }
    assert all(one.kind is one.KEYWORD_ONLY for one in named.values())
    assert {name for name, one in named.items() if one.default is not None} == {"infer_missing"}


def test_a_typo_names_the_parameter_that_was_meant() -> None:
    for typo, meant in (("defualt_method", "default_method"), ("random_state", "seed")):
        with pytest.raises(ConfigError, match=f"{typo}: .*did you mean '{meant}'") as caught:
            Synthesizer(m=0, **{typo: "cart"})
        assert len(caught.value.problems) == 2  # m as well
        with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
            Synthesizer().set_params(**{typo: "cart"})


def test_parameters_are_returned_changed_and_cloned() -> None:
    checks = CheckSettings()
    one = Synthesizer(m=2, models={"cart": {"min_leaf": 9}}, checks=checks, infer_missing=False)
    assert {k: v for k, v in one.get_params().items() if v is not None} == {
        "m": 2, "models": {"cart": {"min_leaf": 9}}, "checks": checks, "infer_missing": False,
    }  # fmt: skip
    again = clone(one.fit(frame()))
    assert again.get_params() == one.get_params()
    assert "fitted" in repr(one)
    assert "fitted" not in repr(again)
    assert again.set_params(m=3).config.m == 3
    with pytest.raises(ConfigError):
        one.set_params(m=0)
    assert one.config.m == 2
    assert "fitted" in repr(one)  # nothing was changed
    with pytest.raises(ModelError, match="call fit"):
        one.set_params(seed=2).generate()


def test_the_text_is_short_and_tells_no_seed() -> None:
    fitted = Synthesizer(seed=123454321, drop=[f"x{n}" for n in range(99)], workers=1)
    assert len(repr(fitted)) < 150
    text = repr(fitted.set_params(drop=None).fit(frame()))
    assert "fitted to 200 rows of 5 variables" in text
    model = repr(fitted.model)
    assert "123454321" not in text + model
    assert len(model) < 200  # no value of the data


def test_a_notebook_shows_the_settings_and_after_the_fit_the_model_of_each_variable() -> None:
    fitted = Synthesizer(seed=123454321, method={"age": "<b>"}, workers=1)
    before = fitted._repr_html_()
    assert "not fitted" in before
    assert "<b>" not in before
    fitted.set_params(method={"age": "sample"}).fit(frame())
    cells = unescape(fitted._repr_html_())
    for cell in ("200 rows of 5 variables", "age", "sample", "cart", "pay", "numeric"):
        assert cell in cells
    assert cells.count("<tr>") == 2 + 3 + 5  # headings, settings, models
    assert "123454321" not in before + cells


def test_missing_codes_are_inferred_with_a_line_that_says_so() -> None:
    towns = ["a", "NA", "b", "a", "c"] * 42
    coded = pd.DataFrame({"pay": [-8, 0, 5, 20, 30, 7] * 35, "town": towns})
    options: dict[str, Any] = {"seed": 1, "random_key": "none", "workers": 1}
    with pytest.warns(UserWarning, match="missing codes: -8 in pay; NA in town") as caught:
        inferred = Synthesizer(**options).fit(coded)
    assert len(caught) == 1
    assert "missing codes: -8 in pay" in repr(inferred)
    assert inferred.model.chain.schema["pay"].missing == ("-8",)
    values = Synthesizer(**options, infer_missing=False).fit(coded)
    assert not any(one.missing for one in values.model.chain.schema.variables)
    assert values.model.chain.schema["town"].levels == ("NA", "a", "b", "c")
    named = {"pay": {"missing": ["-8"]}, "town": {"missing": []}}
    for infer in (True, False):  # what is declared holds, and needs no line
        declared = Synthesizer(**options, variables=named, infer_missing=infer).fit(coded)
        assert declared.model.chain.schema["pay"].missing == ("-8",)
        assert declared.model.chain.schema["town"].missing == ()


def test_relations_of_all_rows_are_kept_unless_a_variable_is_free() -> None:
    rng = np.random.default_rng(2)
    start, code = rng.integers(0, 900, 300), rng.integers(1, 9, 300)
    trips = pd.DataFrame({"start": start, "end": start + rng.integers(0, 90, 300)})
    trips = trips.assign(code=code, name=[f"town {k}" for k in code])
    options: dict[str, Any] = {"seed": 1, "random_key": "none", "workers": 1}
    options |= {"models": {"cart": {"leaf_regression": False}}}
    for relations, is_kept in (
        ("auto", True),
        ("none", False),
        ({"free": ["end", "name"]}, False),
    ):
        (made,) = Synthesizer(**options, relations=relations).fit(trips).generate()
        assert (made["end"] >= made["start"]).all() == is_kept
        if is_kept:  # a tree keeps most labels
            assert (made["name"] == "town " + made["code"].astype(str)).all()


def test_datasets_are_nested_seeds_decide_and_the_frame_is_left_alone() -> None:
    original = frame()
    before = original.copy(deep=True)
    fitted = Synthesizer(seed=1, workers=1).fit(original)
    first, second = fitted.generate(m=2)
    pd.testing.assert_frame_equal(original, before)
    pd.testing.assert_frame_equal(first, fitted.generate()[0])
    pd.testing.assert_frame_equal(first, fitted.generate(seed=1)[0])
    assert not first.equals(second)
    assert not first.equals(fitted.generate(seed=2)[0])


@pytest.mark.usefixtures("drawn_key")
def test_a_saved_model_draws_the_same_again(tmp_path: Path) -> None:
    """With strata, without what was dropped, by the key of its fit."""
    options: dict[str, Any] = {"strata": ["sex"], "drop": ["age"], "seed": 3, "workers": 1}
    fitted, other = (Synthesizer(**options).fit(frame()) for _ in range(2))
    made = fitted.generate(rows=30)[0]
    assert list(made.columns) == ["sex", "pay", "born", "ok"]
    assert not made.equals(other.generate(rows=30)[0])
    fitted.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o600
    assert str(fitted.model.seed.random_key) not in repr(fitted.model)
    pd.testing.assert_frame_equal(Synthesizer.load(tmp_path / "model").generate(rows=30)[0], made)
