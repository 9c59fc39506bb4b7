"""What installed packages declare as entry points, this one among them."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from synthesizer.data.errors import ConfigError

T = TypeVar("T")


def entries(group: str, kind: type[T]) -> dict[str, T]:
    """Return the entries of a group by name; what has no module any more is left out.

    Raises
    ------
    ConfigError
        If one cannot be imported, or is of another type.
    """
    points = sorted(entry_points(group=group), key=lambda point: point.name)
    loaded = {point.name: _loaded(point, kind) for point in points}
    return {name: entry for name, entry in loaded.items() if entry is not None}


def _loaded(point: EntryPoint, kind: type[T]) -> T | None:
    where = f"{point.name!r} (entry point {point.value!r} of {point.group})"
    try:
        entry = point.load()
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and point.module.startswith(str(error.name)):
            return None  # its folder was removed
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(
            f"{where} cannot be imported: {reason}; reinstall or remove the package"
        ) from error
    if not isinstance(entry, kind):
        raise ConfigError(f"{where} is no {kind.__name__}")
    return entry
