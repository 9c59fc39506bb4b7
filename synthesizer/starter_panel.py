"""The panel of a starter configuration: what `init` was told about persons and periods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from synthesizer.arranging import arrange
from synthesizer.config_panel import PanelConfig
from synthesizer.config_reading import read_chain_config
from synthesizer.data.encoding import encode_inferred
from synthesizer.data.inference import Declaration, Inferred, infer
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.sources import RawTable
from synthesizer.data.table import Table
from synthesizer.errors import ConfigError
from synthesizer.panel.moments import are_numbers, natural_order
from synthesizer.panel.wide_form import WideForm, wide_columns

__all__ = ["Reading", "panel_config", "read_as_panel"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A source as the starter describes it.

    Parameters
    ----------
    inferred : tuple of Inferred
        By column.
    table : Table
        The columns, encoded.
    units : Table
        One row a unit, from which keys and a target are suggested.
    wide : mapping of str to tuple of str
        Longitudinal variables of the wide form and their columns.
    variables : mapping of str to Variable
        These variables, with the levels and missing codes of all their columns.
    guessed_order : str or None
        Column of the periods, where their order is a guess from how they are written.
    """

    inferred: tuple[Inferred, ...]
    table: Table
    units: Table
    wide: Mapping[str, tuple[str, ...]]
    variables: Mapping[str, Variable]
    guessed_order: str | None = None


def panel_config(
    *,
    person: str | None = None,
    time: str | None = None,
    career: str | None = None,
    wide: Sequence[str] = (),
    absent: Sequence[str] = (),
) -> PanelConfig | None:
    """Return the panel that the options of `init` describe, None if they describe none.

    Parameters
    ----------
    person, time, career : str, optional
        Columns; ``career`` may be a variable of the wide form.
    wide : sequence of str
        ``variable=first..last`` or ``variable=column,column``, one for each variable.
    absent : sequence of str
        Labels that mean that a person is not there.

    Raises
    ------
    ConfigError
        If they do not fit together.

    Examples
    --------
    >>> panel_config(wide=["state=jan..dec"], career="state").wide
    {'state': ('jan..dec',)}
    """
    parts = [text.partition("=") for text in wide]
    if wrong := [
        text for text, part in zip(wide, parts, strict=True) if not part[2] or not part[0]
    ]:
        raise ConfigError(
            f"--wide {text}: write VARIABLE=FIRST..LAST or VARIABLE=COLUMN,COLUMN" for text in wrong
        )
    names = [name.strip() for name, _, _ in parts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"--wide: {name!r} is given twice; keep one" for name in twice)
    columns = {name.strip(): _names(given) for name, _, given in parts}
    said = {"person": person, "time": time, "career": career, "wide": columns, "absent": absent}
    given = {key: value for key, value in said.items() if value}
    if not given:
        return None
    return read_chain_config({"panel": given}).panel


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def read_as_panel(raw: RawTable, panel: PanelConfig | None) -> Reading:
    """Infer the kinds of all columns, alike for those of one variable, and arrange the rows.

    Raises
    ------
    ConfigError, DataError
        With every problem of the panel or of the columns.
    """
    wide = {} if panel is None else {n: wide_columns(c, raw.names) for n, c in panel.wide.items()}
    declared = _declared(raw, panel, wide)
    inferred = infer(raw, declared)
    ordered = _ordered_periods(inferred, panel)
    if ordered:
        inferred = infer(raw, declared | ordered)
    table = encode_inferred(raw, inferred)
    arranged = arrange(panel, table)
    if arranged.arrangement is None:
        raise ConfigError(arranged.problems)
    form = arranged.arrangement
    variables = {v.name: v for v in form.variables} if isinstance(form, WideForm) else {}
    units = form.viewed(form.modelled(table))
    return Reading(
        inferred=inferred,
        table=table,
        units=units,
        wide=wide,
        variables=variables,
        guessed_order=next(iter(ordered), None),
    )


def _ordered_periods(
    inferred: Iterable[Inferred], panel: PanelConfig | None
) -> dict[str, Declaration]:
    """Declare periods that are words as ordered, in the order in which they are written."""
    own = [
        item.variable for item in inferred if panel is not None and item.variable.name == panel.time
    ]
    return {
        variable.name: Declaration(
            kind=Kind.ORDERED,
            levels=tuple(sorted(variable.levels, key=natural_order)),
            every_row=True,
        )
        for variable in own
        if variable.kind is Kind.CATEGORICAL and not are_numbers(variable.levels)
    }


def _declared(
    raw: RawTable, panel: PanelConfig | None, wide: Mapping[str, Sequence[str]]
) -> dict[str, Declaration]:
    """Say what follows from the panel: who identifies persons, and which columns hold states."""
    if panel is None:
        return {}
    declared = dict(_like_states(raw, panel, wide))
    if panel.person in raw.names:
        declared[str(panel.person)] = Declaration(kind=Kind.ID, every_row=True)
    if panel.time in raw.names:
        declared[str(panel.time)] = Declaration(every_row=True)
    if not panel.wide and panel.career in raw.names:
        declared[str(panel.career)] = Declaration(kind=Kind.CATEGORICAL)
    return declared


def _like_states(
    raw: RawTable, panel: PanelConfig, wide: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Declaration]]:
    for name, columns in wide.items():
        kinds = {item.variable.kind for item in infer(raw.select(list(columns)))}
        if name == panel.career or len(kinds) > 1:
            yield from ((column, Declaration(kind=Kind.CATEGORICAL)) for column in columns)
