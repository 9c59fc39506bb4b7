from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthesizer import Synthesizer
from synthesizer.data.errors import ConfigError, DataError, ModelError, SynthesizerError


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


def test_types_columns_and_missing_values_come_back() -> None:
    original = frame()
    (made,) = Synthesizer(seed=1, workers=1).fit(original).generate()
    assert made.dtypes.to_dict() == original.dtypes.to_dict()
    assert list(made.columns) == list(original.columns)
    assert 0.1 < made["pay"].isna().mean() < 0.3
    assert made["born"].isin(original["born"]).all()


def test_datasets_are_nested_and_seeds_decide() -> None:
    fitted = Synthesizer(seed=1, workers=1).fit(frame())
    first, second = fitted.generate(m=2)
    pd.testing.assert_frame_equal(first, fitted.generate()[0])
    pd.testing.assert_frame_equal(first, fitted.generate(seed=1)[0])
    assert not first.equals(second)
    assert not first.equals(fitted.generate(seed=2)[0])


def test_the_frame_is_left_alone() -> None:
    original = frame()
    before = original.copy(deep=True)
    Synthesizer(workers=1).fit(original).generate(m=2)
    pd.testing.assert_frame_equal(original, before)


def test_save_and_load(tmp_path: Path) -> None:
    fitted = Synthesizer(seed=3, workers=1, strata=["sex"]).fit(frame())
    path = tmp_path / "model"
    fitted.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    loaded = Synthesizer.load(path)
    pd.testing.assert_frame_equal(loaded.generate(rows=30)[0], fitted.generate(rows=30)[0])


def test_dropped_variables_are_left_out(tmp_path: Path) -> None:
    fitted = Synthesizer(drop=["age"], workers=1).fit(frame())
    assert list(fitted.generate()[0].columns) == ["sex", "pay", "born", "ok"]
    fitted.save(tmp_path / "model")
    again = Synthesizer.load(tmp_path / "model").generate()
    pd.testing.assert_frame_equal(again[0], fitted.generate()[0])


def test_nothing_is_fitted_yet() -> None:
    with pytest.raises(ModelError, match="call fit"):
        Synthesizer().generate()


def test_all_wrong_options_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Synthesizer(m=0, sede=1, data={"sample": "fair"})
    assert len(caught.value.problems) == 3


def test_problems_of_options_and_frame_at_once() -> None:
    bad = frame().assign(mixed=[1, "x"] * 100, empty=np.nan)
    with pytest.raises(SynthesizerError, match="mixed"):
        Synthesizer().fit(bad)
    with pytest.raises(DataError) as caught:
        Synthesizer(keep=["sexx"], method={"age": "crat"}).fit(bad.drop(columns="mixed"))
    for words in ("'empty' has no value", "'sex'", "'cart'"):
        assert words in str(caught.value)
    with pytest.raises(ConfigError, match="did you mean 'sex'"):
        Synthesizer(keep=["sexx"]).fit(frame())


def test_a_frame_that_is_too_small() -> None:
    for small in (frame().iloc[:0], frame().iloc[:1], frame()[[]]):
        with pytest.raises(DataError):
            Synthesizer().fit(small)
