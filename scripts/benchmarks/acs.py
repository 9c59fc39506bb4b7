"""Configuration and plan of the ACS excerpt around Boston, for the jobs that use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from measuring import N_JOBS

from synthesizer.config.keys import Config
from synthesizer.config.reading import read_config
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.plan.plan import Plan, prepare

NUMERIC = ("AGEP", "NPF", "NOC", "DENSITY", "PINCP", "POVPIP")
KEYS = ("PUMA", "AGEP", "SEX", "RAC1P", "MSP", "OWN_RENT")
TARGET = "EDU"
PLAIN: dict[str, Any] = {"models": {"cart": {"tilt": False}}}


def acs_config(path: Path, **options: Any) -> Config:
    """Return a configuration in which numbers are numeric and all other columns categories."""
    header = path.read_text(encoding="utf-8").partition("\n")[0]
    names = [name.strip('"\r') for name in header.split(",")]
    kinds = {name: {"kind": "numeric" if name in NUMERIC else "categorical"} for name in names}
    return read_config({"data": {"path": str(path)}, "variables": kinds, **options})


def acs_plan(path: Path, **options: Any) -> Plan:
    """Read the data and plan the chain."""
    return prepare(acs_config(path, **options), check_directory=False)


def synthesise(
    plan: Plan, table: Table, seed: int, m: int = 1, n_jobs: int = N_JOBS
) -> list[Table]:
    """Fit the planned chain to a table and return m datasets."""
    chain = plan.spec.fit(table, Seed(seed), n_jobs=n_jobs)
    return list(chain.generate(Seed(seed), m=m, n_jobs=n_jobs))
