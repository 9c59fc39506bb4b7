"""From the configuration of a panel and its source to the form of the source."""

from __future__ import annotations

from collections.abc import Iterator

from synthesizer.config.keys import PanelConfig
from synthesizer.data.errors import ConfigError, Problems
from synthesizer.data.panel.arrangement import PLAIN, Arrangement, label_problems
from synthesizer.data.panel.frame import PREFIX
from synthesizer.data.panel.long_form import long_form
from synthesizer.data.panel.paths import OWN
from synthesizer.data.panel.wide_form import wide_form
from synthesizer.data.table import Kind, Table


def arrange(config: PanelConfig | None, table: Table) -> tuple[Arrangement, tuple[str, ...]]:
    """Return the form of a source, and what a steward should know of it.

    Raises
    ------
    ConfigError
        With everything that stands against such a panel.

    Examples
    --------
    >>> arrange(None, Table((), 2)) == (PLAIN, ())
    True
    """
    if config is None:
        return PLAIN, ()
    taken = [name for name in table.names if name.startswith((PREFIX, OWN))]
    if taken:
        raise ConfigError(
            f"panel: names of columns must not start with {PREFIX!r} or {OWN!r}: {', '.join(taken)}"
        )
    return _wide(config, table) if config.wide else _long(config, table)


def _long(config: PanelConfig, table: Table) -> tuple[Arrangement, tuple[str, ...]]:
    person, time = str(config.person), str(config.time)
    problems = Problems(
        f"panel.{key}: unknown column {name!r}; name a column of the data"
        for key, name in (("person", person), ("time", time), ("career", config.career))
        if name is not None and name not in table
    )
    problems.settle(ConfigError)
    problems += _career_problems(config, table, (person, time))
    with problems.gathered():
        form, notes = long_form(
            table, person=person, time=time, career=config.career, view=config.view
        )
    problems.settle(ConfigError)
    return form, notes


def _wide(config: PanelConfig, table: Table) -> tuple[Arrangement, tuple[str, ...]]:
    problems, career = Problems(), config.career
    with problems.gathered():
        form, notes = wide_form(table, wide=config.wide, absent=config.absent, career=career)
    if career is not None and career not in config.wide:
        problems.append(
            f"panel.career: {career!r} is none of the variables under panel.wide "
            f"({', '.join(config.wide)})"
        )
    elif career is not None and not problems:
        own = form.variables[list(config.wide).index(career)]
        problems += _coded_problems(career, is_coded=own.is_coded)
        problems += label_problems(own, career=True, allowed=config.absent)
    if config.view:
        problems.append("panel.view: the wide form shows all periods to the checks; take it out")
    problems.settle(ConfigError)
    return form, notes


def _career_problems(config: PanelConfig, table: Table, keys: tuple[str, str]) -> Iterator[str]:
    if config.career is None:
        return
    if config.career in keys:
        yield "panel.career: must be another column than person and time"
        return
    column = table[config.career]
    if column.variable.kind is Kind.ID:
        yield f"panel.career: {config.career!r} is an identifier; name a variable with states"
        return
    yield from _coded_problems(config.career, is_coded=column.is_coded)


def _coded_problems(career: str, *, is_coded: bool) -> Iterator[str]:
    if not is_coded:
        yield (
            f"panel.career: {career!r} is a number; declare variables.{career}.kind: categorical, "
            "or name another variable"
        )
