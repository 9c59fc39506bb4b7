"""What records carry into a fit beside the columns of the formula: clusters, weights and so on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synthesizer.data.expressions import quote_name
from synthesizer.data.inference import Declaration
from synthesizer.data.pairs import Data, as_table
from synthesizer.data.table import BoolArray, FloatArray, Table
from synthesizer.errors import DataError, ExpressionError
from synthesizer.utility.fits import Codes
from synthesizer.utility.formula_values import atom_values
from synthesizer.utility.formulas import Atom

__all__ = ["Extras", "Wanted", "group_codes"]


@dataclass(frozen=True, eq=False)
class Extras:
    """Clusters, levels of fixed effects, weights and offsets of the records of one dataset.

    Parameters
    ----------
    clusters : ndarray of int or None
        Cluster of each record, shape (n,), -1 where it is missing.
    effects : tuple of ndarray of int
        Levels of each fixed effect, shapes (n,), -1 where missing.
    weights : ndarray or None
        Positive weights, shape (n,).
    offset : ndarray or None
        Shape (n,), NaN where it is missing.
    """

    clusters: Codes | None = None
    effects: tuple[Codes, ...] = ()
    weights: FloatArray | None = None
    offset: FloatArray | None = None

    @property
    def usable(self) -> BoolArray | None:
        """Which records have everything, shape (n,); None if there is nothing to have."""
        known = [np.asarray(codes >= 0) for codes in self.effects]
        if self.clusters is not None:
            known.append(np.asarray(self.clusters >= 0))
        if self.offset is not None:
            known.append(np.isfinite(self.offset))
        return np.logical_and.reduce(known) if known else None

    def take(self, rows: BoolArray) -> Extras:
        """Return the extras of some records.

        Examples
        --------
        >>> Extras(weights=np.array([1.0, 2.0])).take(np.array([False, True])).weights.tolist()
        [2.0]
        """
        return Extras(
            None if self.clusters is None else self.clusters[rows],
            tuple(codes[rows] for codes in self.effects),
            None if self.weights is None else self.weights[rows],
            None if self.offset is None else self.offset[rows],
        )


@dataclass(frozen=True)
class Wanted:
    """Which variables records are to carry.

    Parameters
    ----------
    clusters, effects, weights : str, tuple of str, str
        Names of variables; None or empty for nothing.
    offset : Atom or None
        A variable or a derived term.
    """

    clusters: str | None = None
    effects: tuple[str, ...] = ()
    weights: str | None = None
    offset: Atom | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Variables whose values need not be the same in original and synthetic data."""
        return (*self.effects, *(() if self.clusters is None else (self.clusters,)))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Variables that are read as numbers."""
        own = () if self.weights is None else (self.weights,)
        return (*own, *(() if self.offset is None else self.offset.names))

    def read(
        self, data: Data, table: Table, declared: Mapping[str, Declaration] | None = None
    ) -> Extras:
        """Return what the records of one dataset carry.

        Parameters
        ----------
        data : Table, DataFrame or RawTable
            The dataset as it came: clusters and effects are read with codes of its own.
        table : Table
            The same with the original's kinds: weights and offset are read from it.
        declared : mapping of str to Declaration, optional
            Kinds and missing codes of variables of frames.

        Raises
        ------
        DataError
            If weights or offset are no numbers, or weights are missing, zero or negative.
        """
        return Extras(
            None if self.clusters is None else group_codes(data, self.clusters, declared),
            tuple(group_codes(data, name, declared) for name in self.effects),
            None if self.weights is None else _weights(table, self.weights),
            None if self.offset is None else _numbers("offset", self.offset, table),
        )


def group_codes(data: Data, name: str, declared: Mapping[str, Declaration] | None = None) -> Codes:
    """Return the group of each record of a dataset, -1 where it is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> group_codes(pd.DataFrame({"person": ["ann", "bob", None, "ann"]}), "person").tolist()
    [0, 1, -1, 0]
    """
    column = as_table(data, [name], declared)[name]
    known = column.is_observed
    codes = np.full(len(known), -1, dtype=np.int64)
    codes[known] = np.unique(column.data[known], return_inverse=True)[1]
    return codes


def _numbers(what: str, atom: Atom, table: Table) -> FloatArray:
    """Return numbers, also where a file has so few distinct ones that they pass for levels."""
    number = atom if atom.kind == "I" else Atom("I", quote_name(atom.text))
    try:
        return np.asarray(atom_values(number, table).data, dtype=np.float64)
    except ExpressionError as error:
        raise ExpressionError(f"{what} {atom}: {problem}" for problem in error.problems) from error


def _weights(table: Table, name: str) -> FloatArray:
    values = _numbers("weights", Atom("name", name), table)
    counts = {
        "missing": int((~np.isfinite(values)).sum()),
        "zero": int((values == 0).sum()),
        "negative": int((values < 0).sum()),
    }
    wrong = [f"{count:,} {what}" for what, count in counts.items() if count]
    if wrong:
        raise DataError(
            f"weights {name!r}: of {len(values):,} there are {', '.join(wrong)}: leave out those "
            "records, or give every record a positive weight"
        )
    return values
