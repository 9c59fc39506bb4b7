"""Which utility measures are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from synthesizer.utility.combining import Rule
from synthesizer.utility.formula_columns import Family
from synthesizer.utility.formulas import parse_atom, parse_formula
from synthesizer.utility.propensity_result import Model

__all__ = ["FitRequest", "Synthesis", "UtilityMeasures", "fit_names"]


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """How the synthetic data were made, as far as it decides what is to be expected of them.

    Parameters
    ----------
    proper : bool
        Whether parameters were drawn anew for each dataset. A right synthesis is then as far from
        the original as a fresh sample: S_pMSE is 1 + k/n in expectation, not 1.
    kept : tuple of str
        Variables whose values are the original's own.
    """

    proper: bool = False
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """A model that is fitted to the original and to the synthetic data; see `compare_fit`."""

    formula: str
    family: Family = "ols"
    rule: Rule = "simple"
    clusters: str | None = None
    weights: str | None = None
    offset: str | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything but the formula, as `compare_fit` takes it."""
        return {
            "family": self.family,
            "rule": self.rule,
            "clusters": self.clusters,
            "weights": self.weights,
            "offset": self.offset,
        }


def fit_names(request: FitRequest) -> tuple[str, ...]:
    """Return every variable that a fit needs.

    Examples
    --------
    >>> fit_names(FitRequest(formula="income ~ age", clusters="person"))
    ('income', 'age', 'person')
    """
    further = [name for name in (request.clusters, request.weights) if name is not None]
    offset = () if request.offset is None else parse_atom(request.offset, "offset").names
    return (*parse_formula(request.formula).names, *further, *offset)


@dataclass(frozen=True, kw_only=True)
class UtilityMeasures:
    """Which utility measures are computed, and how.

    Parameters
    ----------
    ways : tuple of int
        Orders of the tables, of 1, 2 and 3; none for no tables.
    groups : int
        Number of quantile groups of numeric variables in tables, at least 2.
    distributions : bool
        Whether the distribution of every variable is kept, original beside synthetic.
    pairs : int
        Tables of the worst pairs that are kept.
    models : tuple of {"logit", "cart"}
        Propensity models; none for no propensity score.
    interactions : int
        Order of the logit's interactions, at least 1.
    permutations : int
        Fits with permuted labels that the null of ``cart`` rests on.
    distance : bool
        Whether the Jensen-Shannon distance of the full tables is computed.
    fits : tuple of FitRequest
        Models that a researcher might fit.
    """

    ways: tuple[int, ...] = (1, 2)
    groups: int = 5
    distributions: bool = True
    pairs: int = 300
    models: tuple[Model, ...] = ("logit",)
    interactions: int = 1
    permutations: int = 10
    distance: bool = True
    fits: tuple[FitRequest, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Settings out of range."""
        return list(self._problems())

    def _problems(self) -> Iterator[str]:
        if not set(self.ways) <= {1, 2, 3}:
            yield "ways must be of 1, 2 and 3"
        if self.groups < 2:
            yield f"groups ({self.groups}) must be at least 2"
        unknown = [model for model in self.models if model not in ("logit", "cart")]
        yield from (f"model {model!r} is unknown: write 'logit' or 'cart'" for model in unknown)
        if self.interactions < 1:
            yield f"interactions ({self.interactions}) must be at least 1, which is main effects"
        if self.permutations < 0:
            yield f"permutations ({self.permutations}) must not be negative"
