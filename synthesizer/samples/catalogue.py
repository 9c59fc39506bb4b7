"""The built-in samples by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final

from synthesizer.data.inference import Declaration
from synthesizer.data.schema import Kind
from synthesizer.errors import DataError

__all__ = ["SAMPLES", "Sample", "sample_path"]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample: a file in the package data of statsmodels, and what its variables are.

    Parameters
    ----------
    title : str
        What it is, with its source.
    file : str
        Path below the folder ``datasets`` of statsmodels.
    declarations : mapping of str to Declaration
        What inference cannot know.
    """

    title: str
    file: str
    declarations: Mapping[str, Declaration]


def _declared(**kinds: Kind) -> Mapping[str, Declaration]:
    return MappingProxyType({name: Declaration(kind=kind) for name, kind in kinds.items()})


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
    }
)


def sample_path(name: str) -> Path:
    """Return the file of a sample, without importing statsmodels.

    Raises
    ------
    DataError
        If there is no such sample, or statsmodels is not installed.
    """
    if name not in SAMPLES:
        raise DataError(f"sample {name!r} is unknown; there are {', '.join(sorted(SAMPLES))}")
    spec = find_spec("statsmodels")
    if spec is None or not spec.submodule_search_locations:
        raise DataError("the samples need statsmodels: pip install 'synthesizer[samples]'")
    return Path(spec.submodule_search_locations[0]) / "datasets" / SAMPLES[name].file
