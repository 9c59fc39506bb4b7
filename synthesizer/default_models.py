"""Which model is usual for which kind of variable, and what users of synthpop call the models.

These tables are the only place of the package that says so.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from synthesizer.data.schema import Kind, Variable
from synthesizer.errors import ConfigError

__all__ = [
    "DEFAULT_SET",
    "DEFAULT_SETS",
    "METHOD_ALIASES",
    "ROLES",
    "default_method",
    "unknown_name",
]

METHOD_ALIASES: Mapping[str, str] = {
    "": "keep",
    "bag": "bagging",
    "ctree": "cart",
    "lognorm": "lognormal",
    "logreg": "logistic",
    "norm": "normal",
    "polr": "ordinal",
    "polyreg": "multinomial",
    "ranger": "forest",
    "rf": "forest",
}
"""Method names of the R package synthpop and the models that do their work here."""

DEFAULT_SETS: Mapping[str, Mapping[Kind, str]] = {
    "cart": {
        Kind.CATEGORICAL: "cart",
        Kind.ORDERED: "cart",
        Kind.BOOLEAN: "cart",
        Kind.NUMERIC: "cart",
        Kind.DATE: "cart",
    },
    "parametric": {
        Kind.CATEGORICAL: "multinomial",
        Kind.ORDERED: "ordinal",
        Kind.BOOLEAN: "logistic",
        Kind.NUMERIC: "normrank",
        Kind.DATE: "normrank",
    },
}
"""Usual models by kind; a coded variable of two codes counts as boolean."""

DEFAULT_SET = "cart"
"""The set of a configuration that names none."""

ROLES: Mapping[str, str] = {
    "first": "sample",
    "keep": "keep",
    "derived": "derived",
    "career": "career",
    "unchanging": "time_invariant",
    "rare": "mostly_constant",
    "changing": "lag_one",
}
"""Models behind words of a configuration: the first variable of a chain, ``keep``, ``derived``; in
a panel the careers, and variables that nobody, few and many persons change."""


def default_method(set_name: str, variable: Variable) -> str:
    """Return the name of the model that a default set gives to a variable.

    Parameters
    ----------
    set_name : str
        A key of `DEFAULT_SETS`: ``"cart"`` or ``"parametric"``.
    variable : Variable
        Of any kind but ``id``.

    Returns
    -------
    str
        A name of the registry.

    Raises
    ------
    ConfigError
        If the set is unknown or the variable is an identifier.

    Examples
    --------
    >>> smoker = Variable(name="smoker", kind=Kind.CATEGORICAL, levels=("no", "yes"))
    >>> default_method("parametric", smoker)
    'logistic'
    >>> default_method("cart", smoker)
    'cart'
    """
    if set_name not in DEFAULT_SETS:
        raise ConfigError(unknown_name("default set of models", set_name, DEFAULT_SETS))
    if variable.kind is Kind.ID:
        raise ConfigError(
            f"variable {variable.name!r} is an identifier and takes no model; "
            "declare another kind or leave it to be numbered anew"
        )
    return DEFAULT_SETS[set_name][_modelled_kind(variable)]


def _modelled_kind(variable: Variable) -> Kind:
    """Count the missing codes as well: they are outcomes of a coded target like any other."""
    if not variable.is_coded:
        return variable.kind
    if variable.n_codes <= 2:
        return Kind.BOOLEAN
    return Kind.CATEGORICAL if variable.kind is Kind.BOOLEAN else variable.kind


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Word the complaint about a name that is not in a list: the nearest one, then all."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" did you mean {near[0]!r}?" if near else ""
    return f"unknown {what} {name!r};{hint} Known: {', '.join(known)}"
