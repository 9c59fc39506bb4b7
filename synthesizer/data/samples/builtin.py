"""The built-in samples by name: public data that statsmodels carries, and simulated data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

from synthesizer.data.errors import DataError
from synthesizer.data.guessing import Declaration
from synthesizer.data.samples.workforce.constants import EDUCATIONS, MISSING, VARIABLES
from synthesizer.data.sources import RawTable, read_path, typed
from synthesizer.data.table import Kind


@dataclass(frozen=True, kw_only=True)
class BuiltinSample:
    """A sample: a file in the package data of statsmodels, or simulated; and what it holds."""

    title: str
    """What it is, with its source."""
    file: str | None
    """Path below the folder ``datasets`` of statsmodels; None where it is simulated."""
    declarations: Mapping[str, Declaration]
    """What inference cannot know."""


def _declared(kinds: Mapping[Kind, str]) -> dict[str, Declaration]:
    return {name: Declaration(kind=kind) for kind, names in kinds.items() for name in names.split()}


def _workforce() -> dict[str, Declaration]:
    """Return what the simulator knows of its variables."""
    missing = (MISSING,)
    ordered = [variable for variable in VARIABLES.values() if variable.kind == "ordered"]
    amounts = [variable.name for variable in VARIABLES.values() if variable.kind == "amount"]
    return {
        **_declared({Kind.ID: "person", Kind.NUMERIC: " ".join(["year", *amounts])}),
        **{v.name: Declaration(kind=Kind.ORDERED, levels=v.levels) for v in ordered},
        "education": Declaration(kind=Kind.ORDERED, levels=EDUCATIONS, missing=missing),
        "years_since_degree": Declaration(kind=Kind.CATEGORICAL, missing=missing),
    }


SAMPLES: Final[Mapping[str, BuiltinSample]] = MappingProxyType(
    {
        "fair": BuiltinSample(
            title="Extramarital affairs of 6,366 women (Fair 1978)",
            file="fair/fair.csv",
            declarations=_declared(
                {
                    Kind.NUMERIC: "age yrs_married children educ affairs",
                    Kind.ORDERED: "rate_marriage religious",
                    Kind.CATEGORICAL: "occupation occupation_husb",
                }
            ),
        ),
        "randhie": BuiltinSample(
            title="RAND health insurance experiment, 20,190 person years (Newhouse 1993)",
            file="randhie/randhie.csv",
            declarations=_declared(
                {
                    Kind.NUMERIC: "mdvis lncoins lpi fmde physlm disea",
                    Kind.CATEGORICAL: "idp hlthg hlthf hlthp",
                }
            ),
        ),
        "federal_workforce": BuiltinSample(
            title="Simulated federal careers 1988-2011, 31 variables; no record is of a person",
            file=None,
            declarations=_workforce(),
        ),
    }
)

DEFAULT_PERSONS: Final = 2_000
"""Default number of persons of a simulated sample."""


def is_simulated(name: str) -> bool:
    """Whether a sample is simulated, so that it may have any number of persons."""
    return name in SAMPLES and SAMPLES[name].file is None


def sample_path(name: str) -> Path:
    """Return the file of a sample, without importing statsmodels."""
    file = SAMPLES[name].file if name in SAMPLES else None
    if name not in SAMPLES:
        raise DataError(f"sample {name!r} is unknown; there are {', '.join(sorted(SAMPLES))}")
    if file is None:
        raise DataError(f"sample {name!r} is simulated and has no file")
    spec = find_spec("statsmodels")
    if spec is None or not spec.submodule_search_locations:
        raise DataError("samples need: pip install 'microdata-synthesizer[samples]'")
    return Path(spec.submodule_search_locations[0]) / "datasets" / file


def read_sample(name: str, persons: int | None = None) -> RawTable:
    """Read a built-in sample by name, such as ``fair``; ``persons`` of a simulated one."""
    if is_simulated(name):
        from synthesizer.data.samples.workforce.simulation import simulate

        return typed(simulate(persons or DEFAULT_PERSONS), "parquet", f"{name} (simulated)")
    if persons is not None:
        raise DataError(f"data.persons: sample {name!r} is a file of fixed size; take it out")
    return read_path(sample_path(name))
