"""What the career model can be told."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from synthesizer.data.options import Count, NotNegative, Positive, options


@options
class CareerOptions:
    """Options of the career model (G, Z, W).

    Parameters
    ----------
    components : "patterns" or int
        Dirichlet components of the run lengths for each number of runs: one on each observed
        pattern, or so many fitted by EM, >= 1.
    theta : float or "auto"
        How narrowly the components lie around observed patterns, >= 0: ``inf`` gives observed
        patterns only, 0 forgets them, "auto" maximises the likelihood of held-out persons.
        Without effect if ``components`` is a number.
    transition : {"cart", "markov"}
        Next state by a tree on the history, or by the paper's chain of order one.
    concentration : float
        Persons that a coarser level of the chain counts as, > 0 (see `markov`).
    min_leaf : int
        Smallest leaf of the trees of states, in runs, >= 1.
    copies : int
        Times that every person enters the trees of states, each time with run lengths redrawn
        around the own pattern (as those of synthetic careers are), >= 1; fewer where there are
        many persons.
    person_min_leaf : int
        Smallest leaf of the trees of G and of the patterns, in persons, >= 1.
    shrinkage : float
        With probability shrinkage / (shrinkage + N) a draw leaves a node of the trees of states
        for its parent of N runs, >= 0.
    even : bool
        Spread the draws evenly over the donors of a leaf, which removes most of the noise of
        drawing.
    person_predictors : bool or None
        Whether careers depend on the person-level variables; None: if there are any.
    match : bool
        Whether to keep the careers that reproduce exact joint counts of first and last period at
        work and first and last state.
    oversample : int
        Careers drawn for each one that is kept by ``match``, >= 1.

    Examples
    --------
    >>> CareerOptions(theta=-1)
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.OptionError: theta (-1) must be at least 0 or 'auto'
    """

    components: Literal["patterns"] | Count = "patterns"
    theta: Annotated[float, Field(ge=0)] | Literal["auto"] = 100.0
    transition: Literal["cart", "markov"] = "cart"
    concentration: Positive = 5.0
    min_leaf: Count = 10
    person_min_leaf: Count = 50
    shrinkage: NotNegative = 0.0
    copies: Count = 10
    even: bool = True
    person_predictors: bool | None = None
    match: bool = False
    oversample: Count = 3
