"""From the configuration of a panel and its source to the form of the source."""

from __future__ import annotations

from dataclasses import dataclass

from synthesizer.config.keys import PanelConfig
from synthesizer.data.panel.arrangement import PLAIN, Arrangement, label_problems
from synthesizer.data.panel.frame import PREFIX, Frame
from synthesizer.data.panel.long_form import long_form
from synthesizer.data.panel.wide_form import wide_form
from synthesizer.data.table import Kind, Table


@dataclass(frozen=True, kw_only=True)
class Arranged:
    """How the source holds its units, or what is wrong with it.

    Parameters
    ----------
    arrangement : Arrangement or None
        None where there are problems.
    frame : Frame or None
        Of a panel.
    problems, notes : tuple of str
        What stands against the run, and what a steward should know.
    """

    arrangement: Arrangement | None
    frame: Frame | None = None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def arrange(config: PanelConfig | None, table: Table) -> Arranged:
    """Return the form of a source.

    Examples
    --------
    >>> arrange(None, Table((), 2)).arrangement is PLAIN
    True
    """
    if config is None:
        return Arranged(arrangement=PLAIN)
    taken = [name for name in table.names if name.startswith((PREFIX, "own."))]
    if taken:
        return _failed(
            [
                f"panel: names of columns must not start with {PREFIX!r} or 'own.': "
                f"{', '.join(taken)}"
            ]
        )
    return _wide(config, table) if config.wide else _long(config, table)


def _failed(problems: list[str]) -> Arranged:
    return Arranged(arrangement=None, problems=tuple(problems))


def _long(config: PanelConfig, table: Table) -> Arranged:
    person, time = str(config.person), str(config.time)
    problems = [
        f"panel.{key}: unknown column {name!r}; name a column of the data"
        for key, name in (("person", person), ("time", time), ("career", config.career))
        if name is not None and name not in table
    ]
    if problems:
        return _failed(problems)
    problems = _career_problems(config, table, (person, time))
    form, found, notes = long_form(
        table,
        schema=table.schema,
        person=person,
        time=time,
        career=config.career,
        view=config.view,
    )
    if form is None or problems or found:
        return _failed([*problems, *found])
    frame = Frame(periods=form.periods, times=form.times, career=config.career)
    return Arranged(arrangement=form, frame=frame, notes=tuple(notes))


def _wide(config: PanelConfig, table: Table) -> Arranged:
    form, problems, notes = wide_form(
        table, schema=table.schema, wide=config.wide, absent=config.absent
    )
    career = config.career
    if career is not None and career not in config.wide:
        problems.append(
            f"panel.career: {career!r} is none of the variables under panel.wide "
            f"({', '.join(config.wide)})"
        )
    elif form is not None and career is not None:
        own = form.variables[list(config.wide).index(career)]
        problems += _coded_problems(career, is_coded=own.is_coded)
        problems += label_problems(own, career=True, allowed=config.absent)
    if config.view:
        problems.append("panel.view: the wide form shows all periods to the checks; take it out")
    if form is None or problems:
        return _failed(problems)
    frame = Frame(periods=form.periods, times=form.times, career=career)
    return Arranged(arrangement=form, frame=frame, notes=tuple(notes))


def _career_problems(config: PanelConfig, table: Table, keys: tuple[str, str]) -> list[str]:
    if config.career is None:
        return []
    if config.career in keys:
        return ["panel.career: must be another column than person and time"]
    column = table[config.career]
    if column.variable.kind is Kind.ID:
        return [f"panel.career: {config.career!r} is an identifier; name a variable with states"]
    return _coded_problems(config.career, is_coded=column.is_coded)


def _coded_problems(career: str, *, is_coded: bool) -> list[str]:
    if is_coded:
        return []
    return [
        f"panel.career: {career!r} is a number; declare variables.{career}.kind: categorical, or "
        "name another variable"
    ]
