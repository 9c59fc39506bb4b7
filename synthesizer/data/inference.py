"""What every column is: declared, or inferred from its distinct texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from synthesizer.data.guessing import Guess, guess
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.sources import RawTable
from synthesizer.data.texts import Texts
from synthesizer.data.variables import Problem, Wanted, build
from synthesizer.errors import DataError

__all__ = ["Declaration", "Inferred", "infer"]


MAX_ZEROS = 6  # decimals of a missing code that is a whole number


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a configuration may say of a variable; None leaves it to inference.

    Parameters
    ----------
    kind : Kind or None
        The kind.
    missing : tuple of str or None
        Missing codes as they are written; an empty cell is always one.
    levels : tuple of str or None
        Levels in order.
    decimals : int or None
        Decimals of a numeric variable.
    date_format : str or None
        A ``strptime`` format such as ``%d/%m/%Y``.
    every_row : bool
        Whether no row may lack a value: persons and periods of a panel. Decides what is advised
        where something is wrong.
    """

    kind: Kind | None = None
    missing: tuple[str, ...] | None = None
    levels: tuple[str, ...] | None = None
    decimals: int | None = None
    date_format: str | None = None
    every_row: bool = False


@dataclass(frozen=True)
class Inferred:
    """A variable and, in plain words, why it is of its kind."""

    variable: Variable
    reason: str


def infer(raw: RawTable, declared: Mapping[str, Declaration] | None = None) -> tuple[Inferred, ...]:
    """Decide the kind, levels, missing codes and decimals of every column.

    Parameters
    ----------
    raw : RawTable
        What a source returned.
    declared : mapping of str to Declaration
        What the configuration says, by column name.

    Raises
    ------
    DataError
        With every problem of every column.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthesizer.data.sources import from_pandas
    >>> raw = from_pandas(pd.DataFrame({"sex": ["f", "m"] * 9, "pay": range(0, 1800, 100)}))
    >>> [str(item.variable.kind) for item in infer(raw)]
    ['categorical', 'numeric']
    """
    declared = declared or {}
    problems = [
        f"{raw.origin}: no column {name!r}; declare only columns that exist"
        for name in declared
        if name not in raw.names
    ]
    found = []
    for texts in raw.texts:
        said = declared.get(texts.name, Declaration())
        try:
            found.append(_infer_one(texts, said))
        except Problem as problem:
            told = problem.in_every_row if said.every_row else str(problem)
            problems.append(f"{raw.origin}: column {texts.name!r} {told}")
    if problems:
        raise DataError(problems)
    return tuple(found)


def _as_written(texts: Texts, codes: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the missing codes as the data write them: a declared -8 may stand there as -8.0."""
    if codes is None:
        return None
    found: list[str] = []
    for code in codes:
        short = code.rstrip("0").rstrip(".") if "." in code else code
        spellings = [code, short, *(f"{short}.{'0' * k}" for k in range(1, MAX_ZEROS + 1))]
        same = texts.picked(texts.among(spellings)) if short.lstrip("-").isdigit() else []
        found += same or [code]
    return tuple(dict.fromkeys(found))


def _infer_one(texts: Texts, said: Declaration) -> Inferred:
    said = replace(said, missing=_as_written(texts, said.missing))
    found = _declared(texts, said) or guess(texts, said.missing)
    wanted = Wanted(
        kind=found.kind,
        missing=found.missing,
        levels=said.levels,
        decimals=said.decimals,
        date_format=said.date_format,
        is_declared=said.kind is not None or said.levels is not None,
    )
    return Inferred(build(texts, wanted), found.reason)


def _declared(texts: Texts, said: Declaration) -> Guess | None:
    kind = said.kind
    if kind is None and said.levels is not None:
        kind = Kind.CATEGORICAL
    if kind is None and said.date_format is not None:
        kind = Kind.DATE
    if kind is None:
        return None
    return Guess.declared(texts, kind, said.missing)
