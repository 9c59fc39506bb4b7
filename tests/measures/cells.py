"""What tables show of a result is what the forms of their columns promise."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, get_args

from pydantic import BaseModel

from synthesizer.measures.figure import Form, Result, Row, columns

NUMBER = (int, float)
FITS = {
    "count": lambda value: value == int(value),
    "share": lambda value: abs(value) < 2,  # some are differences with their intervals
    "p": lambda value: 0 <= value <= 1,
    "percent": lambda value: isinstance(value, NUMBER),
    "number": lambda value: isinstance(value, NUMBER),
    "text": lambda value: isinstance(value, str | bool | float | tuple),
    "interval": lambda value: value is None or value[0] <= value[1],
}


def parts_of(value: Any) -> Iterator[Result]:
    """Yield a result, and every result and row within it."""
    if isinstance(value, Result):
        yield value
    if isinstance(value, BaseModel):
        value = [getattr(value, name) for name in type(value).model_fields]
    elif isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, list | tuple) or type(value).__name__ == "dict_values":
        for part in value:
            yield from parts_of(part)


def odd_cells(result: Any) -> set[tuple[str, str, str, Any]]:
    """Return the cells that are not what their column says: where it is, its form, the value."""
    assert set(FITS) == set(get_args(Form))
    cells = {
        (type(row).__name__, Heading, form, value)
        for row in parts_of(result)
        for Heading, form, read, _ in columns(type(row)).values()
        if (value := read(row)) is not None
    }
    return {cell for cell in cells if not (cell[1] and FITS[cell[2]](cell[3]))}


def fields_in_no_table(package: ModuleType) -> set[str]:
    """Return the fields of rows that have no column; all columns must have known forms."""
    names = (f"{package.__name__}.{info.name}" for info in iter_modules(package.__path__))
    modules = map(import_module, names)
    kinds = {kind for module in modules for kind in vars(module).values() if isinstance(kind, type)}
    missing = set()
    for kind in kinds:
        if issubclass(kind, Result) and kind.__module__.startswith(package.__name__):
            shown = columns(kind)
            for column in shown.values():
                assert column.form in FITS, kind
                assert column.Heading, kind
                assert isinstance(column.heading + column.meaning, str), kind
            if not issubclass(kind, Row):
                continue
            outer = {name.partition(".")[0] for name in shown}
            missing |= {f"{kind.__name__}.{name}" for name in kind.model_fields.keys() - outer}
    return missing
