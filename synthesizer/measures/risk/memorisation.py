"""Memory: how much more probable the models find the records that they were fitted on.

Whoever holds the models, or enough of their draws, tells by the probability of a person's record
whether the person was in the data. Records of a random half that was not fitted show what the same
models find of anybody: for each variable, given those before it, the gap between the mean
log-probabilities of fitted and unseen records is what the fit remembers. A gap of g nats makes a
fitted record exp(g) times as probable as an unseen one.

A gap of 0 is not to be had by fitting: p parameters fitted by maximum likelihood to n records give
p/n in expectation, half of it as optimism about the fitted and half as loss on the unseen (Akaike
1974, A new look at the statistical model identification, IEEE Transactions on Automatic Control
19). What such a gap tells an attacker about who was fitted: Yeom, Giacomelli, Fredrikson and Jha
(2018), Privacy risk in machine learning, IEEE Computer Security Foundations Symposium.

Of n records none tells a probability below 1/n from another: what is less probable counts as 1/n,
so that what a model holds for impossible does not decide by how small a number it writes for 0. The
gap of a variable lies below the logarithm of n, which a copy comes near.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from synthesizer.data.table import FloatArray, Kind, Table
from synthesizer.measures.figure import Figure, FigureKind, Measured, Row, column, shown
from synthesizer.measures.halves import LogLikelihoods
from synthesizer.measures.measure import Case, Measure

MOST = 10_000
"""Records of each half that are looked at: they give a gap to within 0.02 or so."""


class MemorisationRow(Row):
    """A variable, given those before it in the chain."""

    variable: str = column("Variable", "text")
    fitted: float = column(
        "Fitted", "number", "mean log-probability of the records of the fit, in nats"
    )
    unseen: float = column("Unseen", "number", "the same of records that were not fitted")
    below: float = column(
        "Unseen below 1/n", "share", "unseen records that are less probable than one of n"
    )
    error: float = column(
        "Standard error", "number", "of the gap, from the spread within both halves"
    )

    @property
    @shown("Gap", "number", "fitted minus unseen; 0 remembers nothing")
    def gap(self) -> float:
        """Fitted minus unseen, in nats per record."""
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
    "largest_memory",
    "largest memorisation",
    "memorisation of the variable where it is largest",
)


class Memorisation(Measured):
    """What the models remember of the {records} that they were fitted on."""

    n: int
    """Number of fitted records."""
    variables: tuple[MemorisationRow, ...]
    """Log-probabilities of fitted and unseen {records}, the largest gap first."""
    left_out: tuple[str, ...]
    """Variables whose log-probabilities nobody can tell."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The sum of the gaps, and the largest; none where no model can tell."""
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
        """What is left out, and why."""
        if not self.variables:
            return (
                "No variable could be compared: models of strata and panels, datasets that are "
                "made as a whole and models other than trees tell no probabilities.",
            )
        if not self.left_out:
            return ()
        return (
            "Left out, since they are kept, computed or drawn by models that tell no "
            f"probabilities: {', '.join(self.left_out)}.",
        )


class _Moments(NamedTuple):
    """Log-probabilities of a variable, those below a floor at the floor."""

    mean: float
    error: float
    """Of the mean."""
    below: float
    """Share below the floor."""

    @classmethod
    def of(cls, values: FloatArray, floor: float) -> _Moments:
        raised = np.maximum(values, floor)
        error = float(raised.std()) / math.sqrt(max(len(raised) - 1, 1))
        return cls(float(raised.mean()), error, float((values < floor).mean()))


def memory(
    fitted: Table, unseen: Table, log_likelihoods: LogLikelihoods, *, most: int = MOST
) -> Memorisation:
    """Return what models remember of the records that they were fitted on.

    Parameters
    ----------
    fitted : Table
        Records of the fit, shape (n, p).
    unseen : Table
        Other records of the same population, at random, with the same variables.
    log_likelihoods : function of Table -> iterable of (name, ndarray)
        Gives for each variable the log-probabilities of records, in nats, maybe -inf; numbers may
        count by classes of values. Records whose value a rule sets may be left out.
    most : int
        Records of each half that are looked at; of more, so many at equal distances.

    Returns
    -------
    Memorisation
        The standard error of a gap takes records as independent, the models as given: it is
        sqrt(s1^2 / n1 + s2^2 / n2) with the variances within both.

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
