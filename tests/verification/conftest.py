"""A small panel of pay: public schema, synthetic file, confidential file and its ledger."""

import numpy as np
import pandas as pd
import pytest

from synthesizer.verification.public_schema import PublicSchema, strictly
from synthesizer.verification.verify import begin_ledger

SCHEMA = {
    "person": "person",
    "period": "year",
    "rows_per_person": 4,
    "variables": {
        "year": {"kind": "numeric", "low": 2000, "high": 2003, "whole": True},
        "sex": {"kind": "categorical", "levels": ["F", "M"], "reference": "M"},
        "race": {"kind": "categorical", "levels": ["a", "b", "c"]},
        "agency": {"kind": "categorical", "levels": ["AG", "DD", "TR", "VA"]},
        "age": {"kind": "numeric", "low": 18, "high": 70},
        "pay": {"kind": "numeric", "low": 1000, "high": 200_000},
    },
}


def people(n, seed, gap=-0.25):
    """Return persons over four years, whose pay of women is lower by ``gap`` (of its log)."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n), 4)
    sex, race = rng.integers(0, 2, n)[person], rng.integers(0, 3, n)[person]
    agency, age = rng.integers(0, 4, n)[person], rng.uniform(20, 60, n)[person]
    year = np.tile(np.arange(2000, 2004), n)
    log_pay = (
        10 + gap * (sex == 0) + 0.01 * age + 0.1 * agency + 0.02 * (year - 2000)
        + rng.normal(0, 0.05, n)[person] + rng.normal(0, 0.05, len(person))
    )  # fmt: skip
    return pd.DataFrame(
        {
            "person": [f"p{i}" for i in person],
            "year": year,
            "sex": np.array(["F", "M"])[sex],
            "race": np.array(["a", "b", "c"])[race],
            "agency": np.array(["AG", "DD", "TR", "VA"])[agency],
            "age": age.round(1),
            "pay": np.exp(log_pay).round(),
        }
    )


@pytest.fixture(scope="session")
def schema():
    return strictly(PublicSchema, SCHEMA)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Return the paths of a confidential and of a synthetic file."""
    folder = tmp_path_factory.mktemp("files")
    people(400, seed=1).to_csv(folder / "confidential.csv", index=False)
    people(400, seed=2).to_csv(folder / "synthetic.csv", index=False)
    return folder / "confidential.csv", folder / "synthetic.csv"


@pytest.fixture
def ledger(tmp_path, files, schema):
    path = tmp_path / "ledger.sqlite"
    begin_ledger(path, confidential=files[0], schema=schema, cap=3.0)
    return path
