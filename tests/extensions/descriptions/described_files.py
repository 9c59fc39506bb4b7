"""Descriptions and files of the tests."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from synthesizer.data.plugins import arranging_keys
from synthesizer.data.yaml_text import parse_yaml
from synthesizer.extensions.descriptions.description import Description

FULL = """
rows: 300
file: {delimiter: ";", quoted_names: true}
variables:
  pid: {kind: id, pattern: ["=P", d, d, d, d]}
  sex: {kind: categorical, levels: [f, m], missing: ["", "-9"], missing_share: {"-9": 0.2}}
  age: {kind: numeric, decimals: 0, range: {low: 18, high: 80}}
  height: {kind: numeric, decimals: 2, range: {low: 1.4, high: 2.1}, missing: [""]}
  weight: {kind: numeric, decimals: 1, range: {low: 40, high: 120}}
  bmi: {kind: numeric, decimals: 1, missing: [""], derived: weight / height ** 2}
  born: {kind: date, date_format: "%d.%m.%Y", range: {low: 1990-01-01, high: 1999-12-31}}
  town: {kind: categorical, levels: ["101", "102", "201"]}
  county:
    kind: categorical
    levels: [North, South]
    follows: town
    pairs: {"101": North, "102": North, "201": South}
forbid: ["age < 20 and sex == 'm'"]
rules: [{if: age > 70, then: {weight: 50}}]
"""
PANEL = """
rows: 100
groups: {panel: {person: id, time: year, career: state}}
rows_per_unit: {low: 2, high: 5}
periods: [2018, 2019, 2020, 2021, 2022]
variables:
  id: {kind: id}
  year: {kind: numeric, decimals: 0}
  state: {kind: categorical, levels: [work, school, none]}
  sex: {kind: categorical, levels: [f, m], constant: true}
  pay: {kind: numeric, decimals: 0, range: {low: 0, high: 5000}}
"""
HOUSEHOLDS = """
rows: 100
groups: {household: {id: hid, size: size, head: relation == 1, at_most: {relation == 2: 1}}}
rows_per_unit: {low: 1, high: 4}
variables:
  hid: {kind: id}
  size: {kind: numeric, decimals: 0}
  region: {kind: categorical, levels: [n, s], constant: true}
  relation: {kind: categorical, levels: ["1", "2", "3"]}
  age: {kind: numeric, decimals: 0, range: {low: 0, high: 90}}
"""
full_description = partial(parse_yaml, FULL, origin="full")
panel_description = partial(parse_yaml, PANEL, origin="panel")
household_description = partial(parse_yaml, HOUSEHOLDS, origin="households")
ALL = {"plain": full_description, "panel": panel_description}
if "household" in arranging_keys():  # another extension, which may be removed
    ALL["household"] = household_description


def made_of(content: dict[str, Any], **options: Any) -> pd.DataFrame:
    """Return the frame of a description."""
    frame: pd.DataFrame = Description(**content).generate(**options)
    return frame


def people(n: int = 400, seed: int = 1) -> pd.DataFrame:
    """Return records with a rare level, an extreme amount, dates, codes and a label."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["101", "102", "201"], n)
    county = np.where(town == "201", "South", "North")
    job = rng.choice(["cook", "clerk", "smith"], n).astype(object)
    job[:3] = "astronaut"
    pay = rng.integers(1_003, 4_000, n).astype(float)
    pay[0], pay[5:25] = 987_654.0, -8
    days = rng.integers(0, 3_000, n).astype("timedelta64[D]")
    born = (np.datetime64("1990-03-07") + days).astype(str)
    return pd.DataFrame({"town": town, "county": county, "job": job, "pay": pay, "born": born})
