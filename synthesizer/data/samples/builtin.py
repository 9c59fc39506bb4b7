"""The built-in samples by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

from synthesizer.data.errors import DataError
from synthesizer.data.guessing import Declaration
from synthesizer.data.samples.workforce.constants import AGE_RANGES, EDUCATIONS, MISSING
from synthesizer.data.table import Kind


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample: a file in the package data of statsmodels, or simulated; and what it holds."""

    title: str
    """What it is, with its source."""
    file: str | None
    """Path below the folder ``datasets`` of statsmodels; None where it is simulated."""
    declarations: Mapping[str, Declaration]
    """What inference cannot know."""


def _declared(**kinds: Kind) -> Mapping[str, Declaration]:
    return MappingProxyType({name: Declaration(kind=kind) for name, kind in kinds.items()})


GRADES: Final = ("00", *(f"{grade:02d}" for grade in range(1, 19)), *"ABCDEFGHIJKLM")
STEPS: Final = tuple(f"{step:02d}" for step in range(32))

SAMPLES: Final[Mapping[str, Sample]] = MappingProxyType(
    {
        "fair": Sample(
            title="Extramarital affairs of 6,366 women (Fair 1978)",
            file="fair/fair.csv",
            declarations=_declared(
                rate_marriage=Kind.ORDERED,
                age=Kind.NUMERIC,
                yrs_married=Kind.NUMERIC,
                children=Kind.NUMERIC,
                religious=Kind.ORDERED,
                educ=Kind.NUMERIC,
                occupation=Kind.CATEGORICAL,
                occupation_husb=Kind.CATEGORICAL,
                affairs=Kind.NUMERIC,
            ),
        ),
        "randhie": Sample(
            title="RAND health insurance experiment, 20,190 person years (Newhouse 1993)",
            file="randhie/randhie.csv",
            declarations=_declared(
                mdvis=Kind.NUMERIC,
                lncoins=Kind.NUMERIC,
                idp=Kind.CATEGORICAL,
                lpi=Kind.NUMERIC,
                fmde=Kind.NUMERIC,
                physlm=Kind.NUMERIC,
                disea=Kind.NUMERIC,
                hlthg=Kind.CATEGORICAL,
                hlthf=Kind.CATEGORICAL,
                hlthp=Kind.CATEGORICAL,
            ),
        ),
        "federal_workforce": Sample(
            title="Simulated federal careers 1988-2011, 31 variables; no record is of a person",
            file=None,
            declarations=MappingProxyType(
                {
                    "person": Declaration(kind=Kind.ID),
                    "year": Declaration(kind=Kind.NUMERIC),
                    "education": Declaration(
                        kind=Kind.ORDERED, levels=EDUCATIONS, missing=(MISSING,)
                    ),
                    "age_range": Declaration(kind=Kind.ORDERED, levels=AGE_RANGES),
                    "grade": Declaration(kind=Kind.ORDERED, levels=GRADES),
                    "step": Declaration(kind=Kind.ORDERED, levels=STEPS),
                    "years_since_degree": Declaration(kind=Kind.CATEGORICAL, missing=(MISSING,)),
                    **_declared(
                        military_service=Kind.NUMERIC,
                        locality_adjustment=Kind.NUMERIC,
                        basic_pay=Kind.NUMERIC,
                        retention_allowance=Kind.NUMERIC,
                        supervisory_differential=Kind.NUMERIC,
                    ),
                }
            ),
        ),
    }
)

DEFAULT_PERSONS: Final = 2_000
"""Persons of a simulated sample when the configuration does not say."""


def is_simulated(name: str) -> bool:
    """Whether a sample is simulated, so that it may have any number of persons.

    Examples
    --------
    >>> is_simulated("federal_workforce"), is_simulated("fair")
    (True, False)
    """
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
        raise DataError("the samples need statsmodels: pip install 'synthesizer[samples]'")
    return Path(spec.submodule_search_locations[0]) / "datasets" / file
