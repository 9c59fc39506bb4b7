"""The risk part of a checks file, read so that nothing in it can break a page.

Whatever is missing or is not what it should be reads as "not there": None, no rows, no words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthesizer.report.parts import Block, Gap, Words
from synthesizer.report.record import Record, dig, listed, mappings, number, words

__all__ = [
    "Rate",
    "ScenarioPart",
    "absent",
    "count",
    "failed",
    "failed_like",
    "has_control_file",
    "joined",
    "names",
    "part",
    "rate",
    "rates",
    "risk_part",
    "scenarios",
]

_HALF_SPLIT = "half split"
"""Under this name the run tells that no half could be synthesised at all."""
_UNREADABLE = (
    "checks.json does not hold it in a form that this version reads; run the checks again with "
    "this version"
)


def count(content: Any, *path: str | int) -> int | None:
    """Return the number at a path as a whole number, None where there is none."""
    found = number(content, *path)
    return None if found is None else round(found)


def names(content: Any, *path: str | int) -> tuple[str, ...]:
    """Return the texts of a list at a path."""
    return tuple(word for entry in listed(content, *path) if (word := words(entry)))


def part(content: Any, *path: str | int) -> Mapping[str, Any]:
    """Return the mapping at a path, an empty one where there is none."""
    found = dig(content, *path)
    return found if isinstance(found, Mapping) else {}


def joined(texts: Sequence[str]) -> str:
    """Join names as one says them.

    Examples
    --------
    >>> joined(["age", "sex", "region"])
    'age, sex and region'
    """
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A figure of the file with what is needed to read it.

    Parameters
    ----------
    name, meaning, direction : str
        What it is, in plain words, and which direction is good.
    value, low, high, baseline, original : float or None
        As in `synthesizer.figures.Figure`.
    n : int or None
        Number of records that it rests on.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    original: float | None = None
    n: int | None = None
    direction: str = "lower is safer"
    meaning: str = ""


def rates(content: Any, *path: str | int) -> tuple[Rate, ...]:
    """Return the figures in a list at a path; those without a name are left out."""
    return tuple(_rate(row) for row in mappings(content, *path) if words(row, "name"))


def rate(found: Sequence[Rate], name: str) -> Rate | None:
    """Return the figure of that name, None if there is none."""
    return next((entry for entry in found if entry.name == name), None)


def _rate(row: Mapping[str, Any]) -> Rate:
    return Rate(
        name=words(row, "name"),
        value=number(row, "value"),
        low=number(row, "low"),
        high=number(row, "high"),
        baseline=number(row, "baseline"),
        original=number(row, "original"),
        n=count(row, "n"),
        direction=words(row, "direction"),
        meaning=words(row, "meaning"),
    )


def risk_part(record: Record) -> Mapping[str, Any]:
    """Return the risk part of a run's checks, or the whole file of the command ``risk``."""
    found = part(record.checks, "risk")
    return found or (record.checks if mappings(record.checks, "scenarios") else {})


def has_control_file(record: Record) -> bool:
    """Whether the unseen records come from a control file: the command ``risk`` splits nothing."""
    return bool(mappings(record.checks, "files"))


@dataclass(frozen=True)
class ScenarioPart:
    """What the file holds about one intruder, with keys and target in words.

    Parameters
    ----------
    content : mapping
        The scenario's part of the file.
    """

    content: Mapping[str, Any]

    @property
    def keys(self) -> tuple[str, ...]:
        """What the intruder knows."""
        return names(self.content, "scenario", "keys")

    @property
    def target(self) -> str:
        """What the intruder seeks."""
        return words(self.content, "scenario", "target")

    @property
    def heading(self) -> str:
        """Keys and target in plain words."""
        known, sought = joined(self.keys) or "unnamed keys", self.target or "an unnamed target"
        how = [*self._groups("{} in {} groups"), *self._near("counts as right")]
        return f"Knowing {known}, seeking {sought}" + (f" ({'; '.join(how)})" if how else "")

    @property
    def label(self) -> str:
        """Keys and target as the file names them where something failed."""
        how = [*self._groups("{} in {} groups"), *self._near("")]
        end = f" ({'; '.join(how)})" if how else ""
        return f"{', '.join(self.keys)} -> {self.target}{end}"

    @property
    def has_tolerance(self) -> bool:
        """Whether a numeric target is right within a distance, which some measures lack."""
        return bool(part(self.content, "scenario", "tolerance"))

    def _groups(self, form: str) -> Iterator[str]:
        for name, wanted in part(self.content, "scenario", "groups").items():
            cuts = len(wanted) + 1 if isinstance(wanted, list) else count(wanted)
            yield form.format(name, "some" if cuts is None else cuts)

    def _near(self, verb: str) -> Iterator[str]:
        near = part(self.content, "scenario", "tolerance")
        if near:
            absolute, relative = number(near, "absolute") or 0.0, number(near, "relative") or 0.0
            if verb:
                shown = [f"{absolute:g}"] if absolute else []
                shown += [f"a share of {relative:.3g} of the true value"] if relative else []
                yield f"{self.target} within {' or '.join(shown) or '0'} {verb}"
            else:
                yield f"{self.target} within {absolute:g}, {relative:.3g} of it"


def scenarios(record: Record) -> tuple[ScenarioPart, ...]:
    """Return the intruders of the file, the main one first."""
    return tuple(ScenarioPart(entry) for entry in mappings(risk_part(record), "scenarios"))


def failed(record: Record, name: str, label: str = "") -> str | None:
    """Return why a measure could not be computed, None if it did not fail.

    Parameters
    ----------
    record : Record
        A run.
    name : str
        The measure, as in the file.
    label : str
        Of the scenario, or the sensitive variable, where there is one.
    """
    told = part(risk_part(record), "failed")
    asked = [f"{name} ({label})" if label else name]
    if name in ("differential_confidentiality", "nearest", "attacks"):
        asked.append(_HALF_SPLIT)
    found = next((entry for entry in asked if entry in told), None)
    return None if found is None else words(told[found]) or "no reason was stored"


def failed_like(record: Record, name: str) -> list[tuple[str, str]]:
    """Return what a measure failed for, such as a sensitive variable, and why."""
    told = part(risk_part(record), "failed")
    return [
        (str(entry)[len(name) + 2 : -1], words(why) or "no reason was stored")
        for entry, why in told.items()
        if str(entry).startswith(f"{name} (")
    ]


def absent(
    record: Record, name: str, what: str, *, found: Any, label: str = "", off: str = ""
) -> Block:
    """Say why a measure is not shown: it failed, cannot be read, or is switched off.

    Parameters
    ----------
    record : Record
        A run.
    name, label : str
        As in `failed`.
    what : str
        What should be here.
    found : object
        What the file holds in its place.
    off : str
        Sentence for where it was not asked for, with how to ask.
    """
    why = failed(record, name, label)
    if why is not None:
        return Gap(what, f"It could not be computed: {why}")
    return Words([off]) if found is None else Gap(what, _UNREADABLE)
