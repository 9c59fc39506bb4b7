"""The reference data outside the repository as tables; tests are skipped without them."""

import functools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.table import Column, Kind, Table, Variable

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference" / "ma2019"
KEYS = ["PUMA", "AGEP", "SEX", "RAC1P", "MSP", "OWN_RENT"]
NUMERIC = ("AGEP", "NPF", "NOC", "DENSITY", "PINCP", "POVPIP")

needs_reference = pytest.mark.skipif(
    not REFERENCE.exists(), reason="the reference data are not beside the repository"
)


def expected_values(name="expected.json"):
    """Read the recorded values of a reference file."""
    return json.loads((REFERENCE / name).read_text())


@functools.cache
def load_reference(name):
    """Read a reference CSV file: numbers for NUMERIC with "" as missing code, labels otherwise."""
    frame = pd.read_csv(REFERENCE / name, dtype=str, keep_default_na=False)
    return Table([_column(column, frame[column]) for column in frame.columns])


def _column(name, texts):
    if name not in NUMERIC:
        codes, levels = pd.factorize(texts, sort=True)
        variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=tuple(levels))
        return Column(variable, codes.astype(np.int32))
    empty = (texts == "").to_numpy()
    data = pd.to_numeric(texts).to_numpy(dtype=np.float64)
    variable = Variable(name=name, kind=Kind.NUMERIC, missing=("",) if empty.any() else ())
    return Column(variable, data, empty.astype(np.int8) if empty.any() else None)
