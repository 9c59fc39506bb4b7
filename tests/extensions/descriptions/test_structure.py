"""Files of structure: nothing of a person reaches them but by the description."""

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import ConfigError
from synthesizer.jobs.synthesizer import Synthesizer


def people(n=300):
    rng = np.random.default_rng(6)
    age = np.r_[np.arange(20, 80), rng.integers(20, 80, n - 60)]
    return pd.DataFrame({"age": age, "sex": np.where(age % 3, "f", "m"), "pay": age * 10.5})


def structure(frame, **settings):
    settings = {"fidelity": "structure", "seed": 1, "random_key": "none", **settings}
    return Synthesizer(workers=1, **settings).fit(frame).generate()[0]


def test_a_person_who_changes_changes_no_byte():
    frame = people()
    other = frame.copy()
    other.loc[100, ["age", "sex", "pay"]] = [50, "f" if frame["sex"][100] == "m" else "m", 400.5]
    made = structure(frame)
    assert made.to_csv() == structure(other).to_csv()
    assert made.dtypes.equals(frame.dtypes)
    assert set(made["sex"]) == {"f", "m"}
    assert abs((made["sex"] == "f").mean() - 0.5) < 0.05  # in the data two of three
    assert abs(made["age"].corr(made["pay"])) < 0.2


def test_the_decimals_of_one_cell_reach_no_number():
    frame = people().assign(pay=lambda frame: frame["age"] * 10.0)
    frame.loc[3, "pay"] = 12.345
    assert (structure(frame)["pay"] % 1 == 0).all()


def test_panels_have_the_declared_periods_and_formulas_hold():
    frame = people(100)
    frame = frame.loc[frame.index.repeat(3)].assign(year=[2001, 2002, 2003] * 100)
    frame["who"], frame["double"] = np.repeat(np.arange(100), 3), frame["age"] * 2
    made = structure(
        frame,
        panel={"person": "who", "time": "year"},
        variables={"double": {"derived": "age * 2"}},
    )
    assert list(made.columns) == list(frame.columns)
    assert (made.groupby("who")["year"].agg(tuple) == (2001, 2002, 2003)).all()
    assert (made["double"] == made["age"] * 2).all()


def test_the_key_alone_is_refused():
    with pytest.raises(ConfigError, match="write fidelity: structure"):
        Synthesizer(structure=True).fit(people())
