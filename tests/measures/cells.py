"""What tables show of a result is what the forms of their columns promise."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from synthesizer.measures.figure import Form, Result, columns

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
    """Return the cells that do not fit the form of their column: row, heading, form, value."""
    assert set(FITS) == set(get_args(Form))
    cells = {
        (type(row).__name__, heading, form, value)
        for row in parts_of(result)
        for heading, form, read, _ in columns(type(row)).values()
        if (value := read(row)) is not None
    }
    return {cell for cell in cells if not (cell[1] and FITS[cell[2]](cell[3]))}
