"""Memorisation: how much more likely training records are than holdout records under the models.

The attack: an intruder who has the models, or many draws of them, infers from the likelihood of a
person's record whether the person was in the data. For each variable, given those before it, the
gap between the mean log-likelihoods of training and holdout records measures memorisation. A gap
of g nats makes a training record exp(g) times as likely as a holdout record.

Fitting alone gives a gap: p parameters fitted by maximum likelihood to n records give p/n in
expectation, half as optimism on the training records, half as loss on the holdout (Akaike 1974, A
new look at the statistical model identification, IEEE Transactions on Automatic Control 19). For
the membership inference that follows from a gap see Yeom, Giacomelli, Fredrikson and Jha (2018),
Privacy risk in machine learning, IEEE Computer Security Foundations Symposium.

With n records, probabilities below 1/n cannot be distinguished and count as 1/n, so that the
value that a model gives to an impossible event does not matter. The gap of a variable is therefore
at most log n, which a copy nearly reaches.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from synthesizer.data.table import FloatArray, Kind, Table
from synthesizer.measures.figure import Figure, FigureKind, Measured, Row, column, shown
from synthesizer.measures.halves import LogLikelihoods
from synthesizer.measures.measure import Case, Measure

MAX_ROWS = 10_000
"""Largest number of records of each half; the error of a gap is then about 0.02."""


class MemorisationRow(Row):
    """A variable, given those before it in the chain."""

    variable: str = column("Variable", "text")
    fitted: float = column("Training", "number", "mean log-likelihood of training records, in nats")
    unseen: float = column("Holdout", "number", "mean log-likelihood of holdout records")
    below: float = column(
        "Holdout records with probability below 1/n", "share", "n: number of training records"
    )
    error: float = column("Standard error", "number", "of the gap, from variances of both halves")

    @property
    @shown("Gap", "number", "training minus holdout; 0: no memorisation")
    def gap(self) -> float:
        """Training minus holdout, in nats per record."""
        return self.fitted - self.unseen


MEMORY = FigureKind(
    "memory",
    "memorisation",
    "mean log-likelihood of training {records} minus that of holdout {records}, in nats, summed "
    "over the variables; 0: none, 0.69: twice as probable, p/n: usual for p parameters and n "
    "{records}",
    on_screen=True,
)
LARGEST_MEMORY = FigureKind(
    "largest_memory", "largest memorisation", "memorisation of the variable where it is largest"
)


class Memorisation(Measured):
    """Log-likelihoods of training and holdout {records} by variable"""

    n: int
    """Number of training records."""
    variables: tuple[MemorisationRow, ...]
    """Log-likelihoods by variable, the largest gap first."""
    left_out: tuple[str, ...]
    """Variables whose models have no likelihood."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Sum of the gaps, and the largest gap; none without likelihoods."""
        if not self.variables:
            return ()
        total = sum(row.gap for row in self.variables)
        first = self.variables[0]
        return (
            MEMORY.of(total, self.n, f"{len(self.variables)} variables"),
            LARGEST_MEMORY.of(first.gap, self.n, first.variable),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Variables that are left out, with the reason."""
        if not self.variables:
            return (
                "No variable could be compared: models of strata and panels, datasets that are "
                "made as a whole, and models other than trees have no likelihood.",
            )
        if not self.left_out:
            return ()
        return (
            "Left out, since they are kept, computed or drawn by models without a likelihood: "
            f"{', '.join(self.left_out)}.",
        )


class _Moments(NamedTuple):
    """Log-likelihoods of a variable, those below a floor set to it."""

    mean: float
    error: float
    """Standard error of the mean."""
    below: float
    """Share below the floor."""

    @classmethod
    def of(cls, values: FloatArray, floor: float) -> _Moments:
        raised = np.maximum(values, floor)
        error = float(raised.std()) / math.sqrt(max(len(raised) - 1, 1))
        return cls(float(raised.mean()), error, float((values < floor).mean()))


def memory(
    fitted: Table, unseen: Table, log_likelihoods: LogLikelihoods, *, most: int = MAX_ROWS
) -> Memorisation:
    """Return the gaps between log-likelihoods of training and holdout records.

    Parameters
    ----------
    fitted : Table
        Training records, shape (n, p).
    unseen : Table
        Holdout records, a random sample of the same population, with the same variables.
    log_likelihoods : function of Table -> iterable of (name, ndarray)
        Returns the log-likelihoods of records by variable, in nats, maybe -inf; numbers may count
        by classes of values. Records whose value a rule sets may be left out.
    most : int
        Largest number of records of each half, taken at equal distances.

    Returns
    -------
    Memorisation
        The standard error of a gap, given the models, is sqrt(s1^2 / n1 + s2^2 / n2) with the
        variances of both halves.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Variable
    >>> coin = Variable(name="coin", kind=Kind.CATEGORICAL, levels=("head", "tail"))
    >>> seen, other = (Table([Column(coin, np.array(codes, np.int32))])
    ...                for codes in ([0, 0, 0, 1], [0, 1, 0, 1]))
    >>> learnt = np.log([0.75, 0.25])
    >>> result = memory(seen, other, lambda table: [("coin", learnt[table["coin"].data])])
    >>> round(result.variables[0].gap, 3)  # log(3) / 4
    0.275
    >>> memory(seen, other, lambda table: [("coin", learnt[table["coin"].data])],
    ...        most=2).variables[0].gap  # the first and the last of both: a head, a tail
    0.0
    """
    floor = -math.log(fitted.n_rows)
    seen, held_out = (
        {name: _Moments.of(values, floor) for name, values in log_likelihoods(table)}
        for table in (_spread(fitted, most), _spread(unseen, most))
    )
    rows = (
        MemorisationRow(
            variable=name,
            fitted=values_of.mean,
            unseen=held_out[name].mean,
            below=held_out[name].below,
            error=math.hypot(values_of.error, held_out[name].error),
        )
        for name, values_of in seen.items()
        if name in held_out
    )
    variables = tuple(sorted(rows, key=lambda row: -row.gap))
    compared = {row.variable for row in variables}
    names = (c.name for c in fitted.columns if c.variable.kind is not Kind.ID)
    return Memorisation(
        n=fitted.n_rows,
        variables=variables,
        left_out=tuple(name for name in names if name not in compared),
    )


def _spread(table: Table, most: int) -> Table:
    """Return ``most`` records at equal distances, or all of fewer."""
    if table.n_rows <= most:
        return table
    return table.take(np.linspace(0, table.n_rows - 1, most).astype(np.intp))


def _remembered(case: Case) -> Memorisation | None:
    run = case.halves
    if run.log_likelihoods is None:
        return None
    return memory(run.fitted, run.unseen, run.log_likelihoods)


MEASURES = (
    Measure(
        "memory",
        "halves",
        after="nearest",
        switch=None,
        needs=("models",),
        compute=_remembered,
        result=Memorisation,
        figures=(MEMORY, LARGEST_MEMORY),
    ),
)
