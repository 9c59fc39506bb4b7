"""What to compare S_pMSE with: a right synthesis of this kind, and a fresh sample."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from synthesizer.report.codebook.facts import Trees, tilts, trees_of
from synthesizer.report.page import Gap, stopped, written
from synthesizer.report.untyped import Record, dig, listed, mappings, number, numbers, words

# Measures of tables as the checks file holds them, of this version's format or the first.

AGAIN = "Run again with this version and --overwrite to have it."


@dataclass(frozen=True)
class TableRow:
    """Measures of one table, averaged over the synthetic datasets.

    Parameters
    ----------
    names : tuple of str
        Its variables.
    ways : int
        How many they are.
    values : mapping of str to float or None
        Measures by name.
    """

    names: tuple[str, ...]
    ways: int
    values: Mapping[str, float | None]

    @property
    def standardised(self) -> float | None:
        """S_pMSE."""
        return self.values.get("S_pMSE")


def utility_of(record: Record) -> Mapping[str, Any]:
    """Return what the file holds about utility; empty for files of the first format."""
    found = dig(record.checks, "utility")
    return found if isinstance(found, Mapping) else {}


def table_rows(record: Record) -> list[TableRow]:
    """Return the measures of every table, the worst S_pMSE first.

    Examples
    --------
    >>> tables = {"columns": ["variables", "ways", "S_pMSE"], "mean": [["a:b", 2, 1.5]]}
    >>> table_rows(Record({}, {"tables": tables}))[0].names
    ('a', 'b')
    """
    tables = dig(utility_of(record), "tables") or dig(record.checks, "tables")
    columns = [words(name) for name in listed(tables, "columns")]
    if "variables" not in columns or "ways" not in columns:
        return []
    rows = [_row(columns, row) for row in listed(tables, "mean") if isinstance(row, list)]
    known = [row for row in rows if row is not None]
    return sorted(known, key=lambda row: -_or_lowest(row.standardised))


def _row(columns: Sequence[str], cells: Sequence[Any]) -> TableRow | None:
    if len(cells) != len(columns):
        return None
    cell = dict(zip(columns, cells, strict=True))
    ways = number(cell["ways"])
    names = _names(cell.pop("variables"), int(ways or 0))
    if not names:
        return None
    return TableRow(names, len(names), {name: number(value) for name, value in cell.items()})


def _names(variables: Any, ways: int) -> tuple[str, ...]:
    """Return the variables of a table: a list, or in the first format names joined by colons."""
    if isinstance(variables, list):
        return tuple(words(name) for name in variables)
    if not isinstance(variables, str):
        return ()
    parts = variables.split(":")
    return tuple(parts) if ways == len(parts) else (variables,) if ways == 1 else ()


def _or_lowest(value: float | None) -> float:
    return float("-inf") if value is None else value


def by_ways(rows: Iterable[TableRow], ways: int) -> list[TableRow]:
    """Return the tables of one order."""
    return [row for row in rows if row.ways == ways]


def pair_columns(rows: Sequence[TableRow]) -> list[str]:
    """Return the measures that are shown of tables, where at least one row has them."""
    wanted = ("S_pMSE", "ROE", "SPECKS", "chi_square", "VW", "df", "p", "p_VW")
    found = [name for name in wanted if any(row.values.get(name) is not None for row in rows)]
    # Voas and Williamson's statistic stands in where there is no Pearson one
    return [name for name in found if name != "VW" or "chi_square" not in found]


def lone_variable(record: Record) -> str:
    """Return the variable of a run that has only one, so that there is no pair; else nothing.

    Examples
    --------
    >>> lone_variable(Record({"chain": [{"variable": "sex"}]}, {}))
    'sex'
    >>> lone_variable(Record({"chain": [{"variable": "sex"}, {"variable": "age"}]}, {}))
    ''
    """
    rows = table_rows(record)
    names = [row.names[0] for row in by_ways(rows, 1)]
    if not names:
        steps = mappings(record.manifest, "chain")
        names = [words(step, "variable") for step in steps if step.get("kind") != "id"]
    return names[0] if len(names) == 1 and not by_ways(rows, 2) else ""


def no_tables(record: Record, what: str, *, pairs: bool = False) -> Gap:
    """Say why there are no measures of tables, of pairs or of single variables."""
    failed = dig(record.checks, "failed", "tables") or dig(utility_of(record), "failed", "tables")
    if failed:
        return Gap(what, f"The tables could not be compared: {failed}")
    if pairs and (lone := lone_variable(record)):
        return Gap(what, f"A pair needs two variables, and {lone} is the only one that is left.")
    switch = "checks.two_way" if pairs else "checks.one_way"
    return Gap(
        what,
        f"checks.json holds no measures of these tables: the check was off (set {switch} to true "
        "and run again), or the file is not as this version writes it.",
    )


_NAMED = 12
_LOOK = 10.0
_HIGH = 3.0
_UNKNOWN = "could not be computed, which is no good news"


@dataclass(frozen=True)
class Expected:
    """Expectations of S_pMSE, the distance of a table over that of draws from a right model.

    Parameters
    ----------
    right : float
        Of a right synthesis of this kind: 1 with fixed parameters, 1 + k/n with parameters drawn
        anew for each dataset, for k synthetic and n original records.
    fresh : float or None
        Of a fresh sample of the same population, 1 + k/n; None where k or n is not known.
    proper : bool
        Whether parameters were drawn anew for each dataset.

    Examples
    --------
    >>> Expected(right=1.0, fresh=1.5).bounds
    (0.75, 1.125, 1.5, 2.25, 3.75, 7.5, 15.0, 37.5)
    """

    right: float = 1.0
    fresh: float | None = 2.0
    proper: bool = False

    @property
    def limit(self) -> float:
        """What tables should not exceed: the fresh sample's value, or two where it is unknown."""
        return max(self.right, 2.0 if self.fresh is None else self.fresh)

    @property
    def bounds(self) -> tuple[float, ...]:
        """Upper ends of the colours; the third is the fresh sample's value."""
        return tuple(self.limit * share for share in (0.5, 0.75, 1, 1.5, 2.5, 5, 10, 25))

    @property
    def right_words(self) -> str:
        """The right synthesis with its value."""
        return f"a right synthesis ({short(self.right)})"

    @property
    def fresh_words(self) -> str:
        """The fresh sample with its value."""
        value = "1 + k/n" if self.fresh is None else short(self.fresh)
        return f"a fresh sample of the same population ({value})"

    @property
    def sentence(self) -> str:
        """Both values with what they rest on."""
        known = "" if self.fresh is None else f", here {short(self.fresh)}"
        ratio = f"1 + k/n{known} (k synthetic and n original records)"
        if self.proper:
            return (
                "Parameters were drawn anew for each dataset, so that a right synthesis is as far "
                f"off as a fresh sample of the same population: {ratio}."
            )
        return (
            f"A right synthesis has {short(self.right)} in expectation, a fresh sample of the "
            f"same population {ratio}."
        )


def expected_of(record: Record) -> Expected:
    """Return the expectations of a run, from its sizes where the file does not hold them.

    Examples
    --------
    >>> expected_of(Record({"rows": 50, "data": {"rows": 100}}, {}))
    Expected(right=1.0, fresh=1.5, proper=False)
    """
    own = utility_of(record)
    proper = own.get("proper", dig(record.manifest, "config", "proper")) is True
    fresh = number(own, "expected", "fresh")
    fresh = _fresh(record) if fresh is None else fresh
    right = number(own, "expected", "S_pMSE")
    if right is None:
        right = fresh if proper and fresh is not None else 1.0
    return Expected(right, fresh, proper)


def _fresh(record: Record) -> float | None:
    n = number(utility_of(record), "n") or number(record.manifest, "data", "rows")
    sizes = numbers(utility_of(record), "n_synthetic")
    k = sum(sizes) / len(sizes) if sizes else number(record.manifest, "rows")
    return 1 + k / n if n and k else None


def table_mark(expected: Expected) -> float:
    """Return the S_pMSE above which one table is to be looked at.

    The customary rule for two-way tables of a synthesis of the size of the original is that all
    should be below 10, better below 3 (Raab, Nowok and Dibben 2021). That is five times the value
    of a fresh sample, to which the mark rises where more records were drawn or parameters anew.

    Examples
    --------
    >>> table_mark(Expected()), table_mark(Expected(fresh=6.0)), table_mark(Expected(fresh=1.1))
    (10.0, 30.0, 10.0)
    """
    return max(_LOOK, 5 * expected.limit)


def mean_mark(expected: Expected) -> float:
    """Return the mean S_pMSE of tables above which the synthesis is to be looked at.

    It is the better of the two customary values, 3, or one and a half times a fresh sample.

    Examples
    --------
    >>> mean_mark(Expected()), mean_mark(Expected(fresh=6.0))
    (3.0, 9.0)
    """
    return max(_HIGH, 1.5 * expected.limit)


def kept_of(record: Record) -> tuple[str, ...]:
    """Return the variables that are copies of the original's, where a file tells of them."""
    return tuple(words(name) for name in listed(utility_of(record), "kept"))


def copied_in_words(kept: Sequence[str]) -> str:
    """Say what partial synthesis means for the figures.

    Examples
    --------
    >>> copied_in_words(["sex"])[:63]
    'Partial synthesis: sex is copied from the original. Tables of c'
    """
    shown = ", ".join(kept[:_NAMED]) + (f" and {n:,} more" if (n := len(kept) - _NAMED) > 0 else "")
    return (
        f"Partial synthesis: {shown} {'is' if len(kept) == 1 else 'are'} copied from the original. "
        "Tables of copied variables alone are the original's own and are left out of the means. "
        "In the other tables a part of every record is real, so that they come nearer than with "
        "all values drawn."
    )


def distance_in_words(value: float | None, expected: Expected) -> str:
    """Say what an S_pMSE means.

    Examples
    --------
    >>> distance_in_words(0.9, Expected())
    'as near as a right synthesis (1)'
    >>> distance_in_words(6.6, Expected())
    'clearly further off than a fresh sample of the same population (2)'
    >>> distance_in_words(1.4, Expected(fresh=1.5))
    'no further off than a fresh sample of the same population (1.5)'
    """
    if value is None:
        return _UNKNOWN
    if value <= 1.2 * expected.right:
        return f"as near as {expected.right_words}"
    limit = expected.limit
    known = limit == expected.fresh
    other = expected.fresh_words if known else f"twice {expected.right_words}"
    if value <= limit:
        return f"no further off than {other}"
    if value <= 5 * limit:
        return f"{'somewhat' if value <= 1.5 * limit else 'clearly'} further off than {other}"
    return f"{written(value / limit, 'count')} times as far off as {other}"


def chance_in_words(ratio: float | None, deviations: float | None, level: float = 1.0) -> str:
    """Say what a pMSE ratio means whose expectation is from permuted labels.

    Parameters
    ----------
    ratio, deviations : float or None
        The ratio, and how many standard deviations pMSE lies above its expectation.
    level : float
        Down to which a right synthesis may go; 1 where it is as far off as a fresh sample.

    Examples
    --------
    >>> chance_in_words(1.23, 9.6)
    'told apart a little better than a fresh sample of the same population (1)'
    >>> chance_in_words(1.02, 0.7, 0.5)[:63]
    'told apart no better than a fresh sample of the same population'
    """
    if ratio is None:
        return _UNKNOWN
    other = "a fresh sample of the same population (1)"
    down = (
        f"; a right synthesis with fixed parameters may go down to {short(level)}"
        if level < 1
        else ""
    )
    if ratio <= 1 or (deviations is not None and deviations <= 2):
        return f"told apart no better than {other}{down}"
    how = "a little" if ratio <= 1.5 else "clearly" if ratio <= 3 else "far"
    return f"told apart {how} better than {other}{down}"


def short(value: float) -> str:
    """Write an expectation: three digits, no zeros that say nothing.

    Examples
    --------
    >>> short(2.0), short(1.5), short(1.3666)
    ('2', '1.5', '1.37')
    """
    return f"{value:.3g}"


def right_share(entry: Mapping[str, object], expected: Expected) -> float:
    """Return down to what a tree's ratio may go for a right synthesis: 1 - c, c its share.

    Examples
    --------
    >>> right_share({"n": 100, "n_synthetic": [100, 100]}, Expected())
    0.5
    >>> right_share({}, Expected(proper=True))
    1.0
    """
    if expected.proper:
        return 1.0
    n, sizes = number(entry, "n"), numbers(entry, "n_synthetic")
    if n and sizes:
        return n / (n + sum(sizes) / len(sizes))
    return 1.0 if expected.fresh is None else 1 / expected.fresh


# What fits of models rest on, in words: datasets without a fit, and what to expect by chance.
_TOLD = re.compile(r"synthetic dataset \d+ is left out: |the results are of \d+ of \d+ synthetic")
_COUNTED = re.compile(r"the results are of (\d+) of (\d+) synthetic datasets")


def lost_fits(fit: Mapping[str, Any]) -> list[str]:
    """Return the alert about datasets without a fit; empty where every dataset has one.

    Examples
    --------
    >>> own = [{"dataset": 0, "problem": None}, {"dataset": 1, "problem": "too few records"},
    ...        {"dataset": 2, "problem": None}]
    >>> lost_fits({"formula": "pay ~ age", "datasets": own})
    ['pay ~ age: fitted on 1 of 2 datasets: dataset 1 is left out (too few records).']
    """
    name = words(fit, "formula") or "A model without formula"
    made = [own for own in mappings(fit, "datasets") if (number(own, "dataset") or 0) > 0]
    lost = [own for own in made if words(own, "problem")]
    if lost:
        why = "; ".join(_left_out(lost))
        told = f"{name}: fitted on {len(made) - len(lost)} of {len(made)} datasets: {why}"
        return [stopped(told)]
    notes = [words(note) for note in listed(fit, "notes")]
    counted = next((found for note in notes if (found := _COUNTED.match(note))), None)
    why = "; ".join(note.rstrip(". ") for note in notes if "left out" in note or "no fit" in note)
    if counted is not None:
        told = f"{name}: fitted on {counted[1]} of {counted[2]} datasets: {why or 'see there'}"
        return [stopped(told)]
    return [stopped(f"{name}: not fitted on every dataset: {why}")] if why else []


def _left_out(lost: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each reason once, with its datasets."""
    for problem in dict.fromkeys(words(own, "problem") for own in lost):
        own = [words(one, "dataset") for one in lost if words(one, "problem") == problem]
        which = f"dataset {own[0]} is" if len(own) == 1 else f"datasets {', '.join(own)} are"
        yield f"{which} left out ({problem.rstrip('. ')})"


def fit_notes(fit: Mapping[str, Any]) -> list[str]:
    """Return the notes of a fit that `lost_fits` does not tell, each as a sentence.

    Examples
    --------
    >>> fit_notes({"notes": ["the test needs more datasets", "no test."]})
    ['The test needs more datasets.', 'No test.']
    """
    notes = [words(note) for note in listed(fit, "notes")]
    if lost_fits(fit):
        notes = [note for note in notes if not (_TOLD.match(note) or "has no fit" in note)]
    return [stopped(note[:1].upper() + note[1:]) for note in notes]


def overlap_expected(fit: Mapping[str, Any]) -> float | None:
    """Return the mean overlap of intervals to expect of a right synthesis, where it is known."""
    own = next((f for f in mappings(fit, "figures") if f.get("name") == "mean CI overlap"), None)
    return number(own, "baseline")


def overlap_in_words(expected: float | None) -> str:
    """Say what an overlap is to be compared with.

    Examples
    --------
    >>> overlap_in_words(0.909)
    '1 is all, and a right synthesis reaches 0.909 on average'
    """
    if expected is None:
        return "1 is all, which a right synthesis does not reach either"
    return f"1 is all, and a right synthesis reaches {written(expected, 'share')} on average"


def cautions(record: Record) -> list[str]:
    """Return what intervals from the synthetic data assume, by the models of the chain."""
    found = [
        "The rules that combine the datasets assume independent draws from a right model. Where "
        "the model is not right, the intervals can cover the true value less often than they say."
    ]
    trees = _trees(record)
    tilted = [name for name, own in trees.items() if own.tilt]
    if tilted:
        found.append(
            f"Trees made some variables here. The draws of {_in_words(tilted)} were tilted (option "
            "tilt): they follow a linear regression of what the tree leaves unexplained, which "
            "keeps weak linear effects. Interactions and curved relations can still be flattened."
        )
    if len(tilted) < len(trees):
        found.append(
            ("Other trees" if tilted else "Trees made some variables here. Trees")
            + " with large leaves pull relations towards zero, so that intervals for regression "
            "coefficients can cover well below 95 %: 0.85 in a simulation with the default tree "
            "and 1,000 records. The option tilt of cart keeps weak linear effects."
        )
    if even_trees(record):
        found.append(
            "Draws from the trees are even (option even): datasets vary less than independent "
            "draws would."
        )
    found.append("Results from synthetic data must be verified on the original.")
    return found


def even_trees(record: Record) -> bool:
    """Whether some variable was drawn evenly by trees."""
    return any(trees.even for trees in _trees(record).values())


def _trees(record: Record) -> dict[str, Trees]:
    """Return the trees of every variable that has some; ``tilt`` where it was possible."""
    config = dig(record.manifest, "config")
    found = {}
    for step in mappings(record.manifest, "chain"):
        if trees := trees_of(step, config):
            codes = number(step, "codes")
            able = tilts(words(step, "kind"), None if codes is None else int(codes))
            found[words(step, "variable")] = replace(trees, tilt=trees.tilt and able)
    return found


def _in_words(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
