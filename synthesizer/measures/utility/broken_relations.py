"""Relations of all original records that synthetic records break, such as end >= start.

`find_relations` finds them in the original: formulas, labels of codes, orders, sets of dummies,
blanks. A file that breaks them has impossible records, of any program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.relations import Relation, find_relations, has_code
from synthesizer.data.table import BoolArray, FloatArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Measured, Row, column
from synthesizer.measures.measure import Measure
from synthesizer.measures.risk.comparable import stacked_columns


class BrokenRelation(Row):
    """A relation and the records that break it."""

    relation: str = column("Relation", "text", "all original records keep it")
    share: float = column("Broken", "share", "of the synthetic records, mean of the datasets")


BROKEN = FigureKind(
    "broken_relations",
    "broken relations",
    "share of the {records} that break a relation of all original records",
    "lower is better",
    limit=Limit(),
    finding="{value}% of the {records} break a relation of all original records",
    test="relations of all records",
)


class BrokenRelations(Measured):
    """Shares of records that break relations of the original."""

    n: int = column("synthetic records", "count")
    n_relations: int = column("relations of all original records", "count")
    share: float = column("records that break one", "share", "mean of the datasets")
    rows: tuple[BrokenRelation, ...] = ()
    """Those that are broken, the most frequent first."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The share of records that break a relation."""
        detail = f"here most often {self.rows[0].relation}" if self.rows else ""
        return (BROKEN.of(self.share, self.n, detail),)


def breaking(relation: Relation, original: Table, table: Table) -> BoolArray:
    """Return the records of a table that break a relation of the original, shape (n,)."""
    if relation.key != "follows":
        return relation.broken(table)
    names = (relation.text, relation.name)
    both = Table([stacked_columns([t[name] for t in (original, table)]) for name in names])
    return relation.broken(both)[original.n_rows :] & has_code(table[relation.text], "")


class BrokenRelationsCounter:
    """Counts records that break relations of the original, dataset by dataset.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> rng = np.random.default_rng(1)
    >>> def stays(least):
    ...     start = rng.integers(0, 99, 200).astype(float)
    ...     columns = {"start": start, "end": start + rng.integers(least, 30, 200)}
    ...     return Table([Column(Variable(name=n, kind=Kind.NUMERIC, decimals=0), x)
    ...                   for n, x in columns.items()])
    >>> counter = BrokenRelationsCounter(stays(0), ["start", "end"])
    >>> counter.add(stays(-30))
    >>> counter.result().rows[0].relation, bool(counter.result().share > 0.3)
    ('end >= start', True)
    """

    def __init__(self, original: Table, names: Sequence[str]) -> None:
        self._original = Table([original[name] for name in names])
        self._relations = find_relations(self._original) if names else ()
        self._shares: list[FloatArray] = []
        self._n = 0

    def add(self, synthetic: Table) -> None:
        """Count the records of the next dataset."""
        broken = [breaking(relation, self._original, synthetic) for relation in self._relations]
        every = np.any([np.zeros(synthetic.n_rows, dtype=bool), *broken], axis=0)
        self._shares.append(np.array([rows.mean() for rows in (every, *broken)]))
        self._n += synthetic.n_rows

    def result(self) -> BrokenRelations:
        """Return the mean shares of the datasets."""
        share, *shares = np.mean(self._shares, axis=0).tolist()
        sentences: dict[str, float] = {}
        for relation, each in zip(self._relations, shares, strict=True):
            sentences[relation.sentence] = max(each, sentences.get(relation.sentence, 0.0))
        ranked = sorted(sentences.items(), key=lambda item: -item[1])
        rows = tuple(BrokenRelation(relation=text, share=each) for text, each in ranked if each > 0)
        return BrokenRelations(n=self._n, n_relations=len(sentences), share=share, rows=rows)


MEASURES = (
    Measure(
        "broken_relations",
        "datasets",
        axis="utility",
        after="regressions",
        words="records that break a relation of all original records, such as end >= start",
        needs=("names",),
        compute=lambda case: BrokenRelationsCounter(case.original, case.names),
        result=BrokenRelations,
        figures=(BROKEN,),
    ),
)
