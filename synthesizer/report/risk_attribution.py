"""Attribution by keys: CAP by number of datasets, and fitted against unseen records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from synthesizer.data.errors import plural
from synthesizer.measures.risk.cap import RULES, SUBSETS, CapResult
from synthesizer.measures.risk.differential import (
    DifferentialResult,
    GroupComparison,
    HalfComparison,
    HalfUniques,
    Spread,
)
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.report.blocks import (
    Added,
    Block,
    Chart,
    DataTable,
    Note,
    Words,
    row_table,
    section,
    written,
)
from synthesizer.report.charts import DotRow, Panel, Series, panels
from synthesizer.report.figures import dot_chart, span
from synthesizer.report.record import Record
from synthesizer.report.risk import absent, by_scenario, in_words, of_verdict

_CAP_READS = (
    "CAP is how often an intruder with the keys reads off the right target. Lower is safer. The "
    "coloured line is the synthetic data as datasets are added, dashed what the same matches would "
    "give if their targets were anybody's (by chance), level the baseline of who guesses everybody "
    "from the distribution of the target, dotted the original released as it is. Where "
    "non-matches are left out, the baseline of those that match is chance. Where no match counts "
    "as 0 the line rises with the number of datasets because matches become likelier; where "
    "non-matches are left out it should be flat."
)


@section(
    "cap",
    "CAP by number of datasets",
    "What an intruder reads off with the keys, as more datasets are released together.",
)
def cap_section(record: Record) -> Iterator[Block]:
    """Yield mean CAP for nested numbers of datasets."""
    yield from by_scenario(record, _cap_blocks)


def _cap_blocks(record: Record, risks: ScenarioRisk) -> Iterator[Block]:
    if risks.cap is None:
        yield absent(record, "cap", risks.scenario)
    else:
        yield from _cap(risks.cap, risks)
    if risks.tcap is not None:
        rows = risks.tcap.synthetic
        yield row_table(
            [*rows, risks.tcap.original],
            "TCAP: the intruder who only believes what the synthetic records of one key agree on "
            f"(share {written(risks.tcap.tau, 'text')} or more); more datasets agree less often, "
            "and are then believed more",
            labels=("Datasets", [*(f"first {row.m}" for row in rows), "original"]),
        )
    elif risks.cap is not None and risks.scenario.tolerance is None:  # else a warning says why
        yield absent(record, "tcap", risks.scenario)


def _cap(cap: CapResult, risks: ScenarioRisk) -> Iterator[Block]:
    if cap.last == 1:
        yield _cap_table(cap)
    else:
        yield _cap_chart(cap, risks)
        if lines := [row for row in risks.regression if row.line is not None]:
            yield row_table(
                lines,
                "Straight line of mean CAP on the number of datasets; the datasets are nested, so "
                "the p-values describe the line and prove nothing",
            )
        else:
            words = "No straight line through the number of datasets: it needs three of them."
            yield Words([words])
    yield row_table(cap.singles, "Mean CAP of each dataset by itself")


def _cap_chart(cap: CapResult, risks: ScenarioRisk) -> Chart:
    title = "Mean CAP by number of datasets"
    summary = " ".join(_first_and_last(cap, subset) for subset in cap.sizes)
    return Chart(
        title=title,
        svg=panels(
            [_panel(cap, subset, rule) for subset in cap.sizes for rule in RULES],
            title=f"{title}. {in_words(risks.scenario)}",
            description=summary,
            x_label="datasets",
        ),
        reads=_CAP_READS,
        summary=summary,
        table=_cap_table(cap),
    )


def _panel(cap: CapResult, subset: str, rule: str) -> Panel:
    def points(name: str) -> list[tuple[float, float]]:
        rows = ((row.m, getattr(row, name)) for row in cap.synthetic if row.subset == subset)
        return [(m, value) for m, value in rows if value is not None]

    return Panel(
        title=SUBSETS[subset],
        subtitle=RULES[rule],
        series=[
            Series(look="synthetic", points=points(rule)),
            Series(look="baseline dashed", points=points(f"chance_{rule}")),
        ],
        levels=[
            (level, look)
            for level, look in (
                (cap.baseline[subset] if rule == "zero" else None, "line-baseline"),
                (cap.original[subset], "line-original dotted"),
            )
            if level is not None
        ],
    )


def _first_and_last(cap: CapResult, subset: str) -> str:
    first, last = cap.row(1, subset), cap.row(cap.last, subset)
    return (
        f"{SUBSETS[subset].capitalize()}: {written(first.zero, 'share')} with 1, "
        f"{written(last.zero, 'share')} with {last.m} datasets where no match counts as 0."
    )


def _cap_table(cap: CapResult) -> DataTable:
    return row_table(
        cap.synthetic,
        "Mean CAP by number of pooled datasets and subset; chance: the same matches if their "
        "targets were anybody's, of those that match also the baseline; baseline: the target of "
        "all records of the subset guessed from its distribution",
        more=[
            Added("Baseline", "share", lambda row: cap.baseline[row.subset]),
            Added("Original", "figure", lambda row: cap.original[row.subset]),
        ],
    )


MOST_ROWS = 400
"""Longer tables keep the rows of all datasets pooled: a hundred splits make a page too large."""
MOST_SPLITS = 12
"""So many splits, and numbers of datasets, are drawn; the tables hold all."""
MOST_GROUPS = 40
"""So many intervals of groups are drawn; the table holds all."""
_SPLIT = (
    "The data were split at random into two halves. The chain was fitted again, on one half only, "
    "and both halves were attacked with its synthetic data. What is read off the unseen half is "
    "knowledge of the population, which anybody may have; only what is read off the fitted half "
    "beyond that is risk that the release adds."
)
_FILES = (
    "The records that the synthesis is said to be fitted on, and a control file of others, were "
    "attacked with the same synthetic data. What is read off the control is knowledge of the "
    "population, which anybody may have; only what is read off the fitted beyond that is risk that "
    "the release adds. Without a control nothing is known of it."
)
_OFF = (
    "The half split was switched off (checks.differential_confidentiality: false), so nothing is "
    "known of the risk that the release adds: switch it on before a decision."
)


@section(
    "differential",
    "Differential confidentiality",
    "The risk that the release adds: fitted records against records it never saw.",
)
def differential_section(record: Record) -> Iterator[Block]:
    """Yield fitted against unseen records by scenario."""
    if record.results.risk.scenarios:
        yield Words([_FILES if record.of_files else _SPLIT])
    yield from of_verdict(record, "differential_confidentiality", "worst_group")
    yield from by_scenario(record, _scenario)


def _scenario(record: Record, risks: ScenarioRisk) -> Iterator[Block]:
    result = risks.differential
    if result is None:
        off = "" if record.of_files else _OFF
        yield absent(record, "differential_confidentiality", risks.scenario, off=off)
        return
    if result.released is not None:
        added = written(result.released, "share")
        yield Words([f"Releasing the fitted records as they are would add {added}."])
    about = in_words(risks.scenario)
    yield difference_chart(result, about)
    yield _shortened(
        result.comparisons,
        "Every split: Welch's t test of the difference; numbers of records, or of persons where "
        "units were named",
    )
    yield from _uniques(result.uniques)
    yield from _groups(result)


def _decisive(spreads: Sequence[Spread]) -> Spread:
    """Return the row that decides: all datasets pooled, no match counted as 0."""
    return max((row for row in spreads if row.rule == "zero"), key=lambda row: row.m)


def _in_order(spreads: Sequence[Spread]) -> list[Spread]:
    """Return the rows by rule; of many numbers of datasets the first and the last ones."""
    drawn: list[Spread] = []
    for rule in RULES:
        of_rule = [row for row in spreads if row.rule == rule]
        drawn += (
            of_rule if len(of_rule) <= MOST_SPLITS else [of_rule[0], *of_rule[-MOST_SPLITS + 1 :]]
        )
    return drawn


def _name(row: Spread) -> str:
    return f"{plural(row.m, 'dataset')}, {RULES[row.rule]}"


def difference_chart(result: DifferentialResult, about: str = "") -> Chart:
    """Return what being in the data adds, with intervals."""
    decisive = _decisive(result.summary)
    splits = [row for row in result.comparisons if (row.m, row.rule) == (decisive.m, decisive.rule)]
    shown = splits if 1 < len(splits) <= MOST_SPLITS else []
    return dot_chart(
        "The difference with its 95 % interval",
        [
            *(_difference(row, _name(row)) for row in _in_order(result.summary)),
            *(_difference(row, f"split {1 + row.repeat}") for row in shown),
        ],
        reads="An interval that covers 0 is called differentially confidential: the test found no "
        "risk that the release adds. It does not prove that there is none: anything inside the "
        "interval is possible.",
        label="fitted minus unseen",
        summary=f"Difference {written(decisive.difference, 'share')}, interval "
        f"{span(decisive.low, decisive.high)}, with all datasets, no match counted as 0.",
        about=about,
        marks={"value": "difference"},
        whole=False,
        zero=True,
        table=row_table(
            result.summary,
            "Averages over the splits; from and to are the mean ends of the 95 % intervals",
        ),
    )


def _difference(row: Spread | HalfComparison | GroupComparison, label: str) -> DotRow:
    return DotRow(label=label, value=row.difference, low=row.low, high=row.high)


def _shortened(rows: Sequence[HalfComparison] | Sequence[HalfUniques], caption: str) -> DataTable:
    """Return a table of all rows; where they are too many, of those of all datasets pooled."""
    if len(rows) <= MOST_ROWS:
        return row_table(rows, caption)
    most = max(row.m for row in rows)
    kept = [row for row in rows if row.m == most][:MOST_ROWS]
    return row_table(kept, f"{caption}; {len(rows) - len(kept)} more rows are in checks.json")


def _uniques(uniques: Sequence[HalfUniques]) -> Iterator[Block]:
    """Yield how many keys of uniques of both parts the synthetic data show."""
    if not uniques:
        return
    yield _shortened(
        uniques,
        "Records with a key of their own, and how many of these keys the synthetic data show, at "
        "all and exactly once: fitted beside unseen",
    )
    if not all(row.same_size for row in uniques):
        yield Note(
            "The two parts differ in size, so their uniques cannot be compared: of fewer records "
            "more are unique, with commoner keys."
        )


def _groups(result: DifferentialResult) -> Iterator[Block]:
    if result.by is None:
        return
    if not result.groups:
        yield Note(
            f"No group of {result.by} is large enough in both parts to be looked at.", "alert"
        )
        return
    order = _largest_first(result.groups)
    several = len({row.repeat for row in order if row.repeat is not None}) > 1
    undrawn, unlisted = len(order) - MOST_GROUPS, len(order) - MOST_ROWS
    yield dot_chart(
        f"Difference by group of {result.by}",
        [_difference(row, _group_name(row, several=several)) for row in order[:MOST_GROUPS]],
        reads="The group with the largest difference comes first. The intervals are widened so "
        "that all groups of a split together hold with 95 % confidence: one that lies above 0 as "
        "a whole says that this group is told apart."
        + (f" {undrawn} more are in the table." if undrawn > 0 else ""),
        label="fitted minus unseen",
        summary=_summary(result),
        marks={"value": "difference"},
        whole=False,
        zero=True,
        table=row_table(
            order[:MOST_ROWS],
            f"Groups of {result.by}, largest difference first"
            + (f"; {unlisted} more rows are in checks.json" if unlisted > 0 else ""),
        ),
    )


def _largest_first(groups: Sequence[GroupComparison]) -> list[GroupComparison]:
    """Return the rows group by group, the group with the largest difference first."""
    largest: dict[str, float] = {}
    for row in groups:
        largest[row.group] = max(largest.get(row.group, -1.0), row.difference)
    return sorted(groups, key=lambda row: (-largest[row.group], row.group))


def _group_name(row: GroupComparison, *, several: bool) -> str:
    group = f"{row.by} = {row.group or 'empty'}"
    return f"{group}, split {1 + (row.repeat or 0)}" if several else group


def _summary(result: DifferentialResult) -> str:
    count, worst = len({row.group for row in result.groups}), result.worst_group
    if worst is None:
        return f"{count} groups; no worst one is named."
    return (
        f"{count} groups; the largest difference is that of {worst.group}: "
        f"{written(worst.difference, 'share')} (interval {span(worst.low, worst.high)})."
    )
