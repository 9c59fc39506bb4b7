"""What the analyses need: names that exist, a sensitive variable with levels, sound settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from synthesizer.data.codes import Groups
from synthesizer.data.comparable import check_comparable, check_keys
from synthesizer.data.table import Table
from synthesizer.errors import DataError
from synthesizer.risk.public.levels import MAX_LEVELS, label_of, level_codes, number_of_levels

__all__ = ["check_inference"]


def check_inference(
    original: Table,
    synthetic: Sequence[Table],
    *,
    sensitive: str,
    public: Sequence[str],
    positive: str | float | None,
    groups: Mapping[str, Groups],
    baseline: Sequence[str],
    thresholds: Sequence[float],
) -> None:
    """Raise one DataError that lists every problem."""
    problems = [
        *_name_problems(original, sensitive, public, baseline),
        *_threshold_problems(thresholds),
        *_group_problems(original, groups, [*public, sensitive]),
    ]
    if sensitive in original and original.n_rows and not problems:
        problems += _level_problems(original, sensitive, positive, groups.get(sensitive))
    known = [name for name in dict.fromkeys([*public, sensitive]) if name in original]
    try:
        check_comparable(original, synthetic, known)
    except DataError as error:
        problems += error.problems
    if problems:
        raise DataError(dict.fromkeys(problems))


def _name_problems(
    original: Table, sensitive: str, public: Sequence[str], baseline: Sequence[str]
) -> Iterator[str]:
    if sensitive not in original:
        yield f"sensitive variable {sensitive!r} is not in the data: name one of its columns"
    if sensitive in public:
        yield (
            f"sensitive variable {sensitive!r} is also public: remove it from the public "
            "variables or choose another"
        )
    if not public:
        yield "there are no public variables: name at least one that an intruder may know"
    for name in dict.fromkeys(public):
        if name not in original:
            yield f"public variable {name!r} is not in the data: name one of its columns"
        if list(public).count(name) > 1:
            yield f"public variable {name!r} is named twice: name it once"
    for name in dict.fromkeys(baseline):
        if name not in public:
            yield (
                f"baseline variable {name!r} is not public: add it to the public variables or "
                "remove it from the baseline"
            )


def _threshold_problems(thresholds: Sequence[float]) -> Iterator[str]:
    for value in thresholds:
        if not 0 < value <= 1:
            yield f"threshold ({value}) must be above 0 and at most 1"


def _group_problems(
    original: Table, groups: Mapping[str, Groups], names: Sequence[str]
) -> tuple[str, ...]:
    known = [name for name in dict.fromkeys(names) if name in original]
    if not known:
        return ()
    try:
        check_keys(original, keys=known, groups=groups)
    except DataError as error:
        return error.problems
    return ()


def _level_problems(
    original: Table, sensitive: str, positive: str | float | None, groups: Groups | None
) -> Iterator[str]:
    column = original[sensitive]
    number = number_of_levels(column, groups)
    if number < 2:
        yield (
            f"sensitive variable {sensitive!r} has only one level: choose one with at least two"
            if groups is None
            else f"sensitive variable {sensitive!r} falls into one group: give more groups"
        )
    if number > MAX_LEVELS:
        remedy = "merge its categories" if column.is_coded else "name it in groups"
        yield (
            f"sensitive variable {sensitive!r} has {number} levels, more than {MAX_LEVELS}: "
            f"{remedy}"
        )
    elif positive is not None:
        labels, _ = level_codes(column, groups)
        if label_of(positive) not in labels:
            yield (
                f"positive is none of the {number} levels of sensitive variable {sensitive!r}: "
                "name one of them"
            )
