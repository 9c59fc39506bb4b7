"""Attribution by keys: CAP by number of datasets, and the train-holdout test."""

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
    "Correct attribution probability (CAP): the share of records for which an intruder with the "
    "keys guesses the target right. Lower is safer. Coloured line: synthetic data. Dashed line: "
    "chance (the same matches, targets of random persons). Level line: baseline (guesses by the "
    "distribution of the target). Dotted line: releasing the original. With more datasets, more "
    "keys match: the line rises if no match counts as 0. With matches only, it should be flat."
)


@section(
    "cap",
    "CAP by number of datasets",
    "How often an intruder with the keys guesses right, by the number of released datasets.",
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
            "Targeted CAP (TCAP): the intruder guesses only if a share of "
            f"{written(risks.tcap.tau, 'text')} or more of the synthetic records with the keys "
            "agree on the target",
            labels=("Datasets", [*(f"first {row.m}" for row in rows), "original"]),
        )
    elif (
        risks.cap is not None and risks.scenario.tolerance is None
    ):  # else a warning names the reason
        yield absent(record, "tcap", risks.scenario)


def _cap(cap: CapResult, risks: ScenarioRisk) -> Iterator[Block]:
    if cap.last == 1:
        yield _cap_table(cap)
    else:
        yield _cap_chart(cap, risks)
        if lines := [row for row in risks.regression if row.line is not None]:
            yield row_table(
                lines,
                "Linear regression of mean CAP on the number of datasets; the numbers are nested, "
                "so the p-values are descriptive",
            )
        else:
            words = "A regression on the number of datasets needs three of them."
            yield Words([words])
    yield row_table(cap.singles, "Mean CAP of each dataset")


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
    ends, name = [written(row.zero, "share") for row in (first, last)], SUBSETS[subset].capitalize()
    if ends[0] == ends[1]:
        return f"{name}: {ends[0]} with 1 and with {last.m} datasets (equal; no match counts as 0)."
    return f"{name}: {ends[0]} with 1, {ends[1]} with {last.m} datasets (no match counts as 0)."


def _cap_table(cap: CapResult) -> DataTable:
    return row_table(
        cap.synthetic,
        "Mean CAP by number of pooled datasets and subset. Chance: the same matches with targets "
        "of random persons. Baseline: guesses by the distribution of the target",
        more=[
            Added("Baseline", "share", lambda row: cap.baseline[row.subset]),
            Added("Original", "figure", lambda row: cap.original[row.subset]),
        ],
    )


MAX_ROWS = 400
"""Rows of a table; of more, those of all datasets pooled."""
MAX_SPLITS = 12
"""Splits, and numbers of datasets, in a picture."""
MAX_GROUPS = 40
"""Groups in a picture."""
_SPLIT = (
    "The data were split at random into two halves. The models were fitted to one half (training "
    "records). Their synthetic data were used to guess the target in both halves. Right guesses "
    "in the other half (holdout records) are knowledge of the population. The release adds risk "
    "only if guesses are right more often in the training half."
)
_FILES = (
    "The synthetic data were used to guess the target of the original (training) records and of a "
    "control file (holdout records). Right guesses in the control are knowledge of the "
    "population. The release adds risk only if guesses are right more often in the original. This "
    "test needs a control file."
)
_OFF = (
    "The train-holdout test was turned off (checks.differential_confidentiality: false), so the "
    "risk that the release adds is unknown. Turn it on before you decide."
)


@section(
    "differential",
    "Train-holdout test of the keys",
    "Differential confidentiality: the risk that the release adds for training records.",
)
def differential_section(record: Record) -> Iterator[Block]:
    """Yield the train-holdout test of each scenario."""
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
        yield Words([f"Releasing the training records would add {added}."])
    about = in_words(risks.scenario)
    yield difference_chart(result, about)
    yield _shortened(
        result.comparisons,
        "Each split: Welch's t test of the difference; numbers are records, or persons if units "
        "were named",
    )
    yield from _uniques(result.uniques)
    yield from _groups(result)


def _decisive(spreads: Sequence[Spread]) -> Spread:
    """Return the decisive row: all datasets pooled, no match counted as 0."""
    return max((row for row in spreads if row.rule == "zero"), key=lambda row: row.m)


def _in_order(spreads: Sequence[Spread]) -> list[Spread]:
    """Return the rows by rule; of many numbers of datasets the first and the last."""
    drawn: list[Spread] = []
    for rule in RULES:
        rows = [row for row in spreads if row.rule == rule]
        drawn += rows if len(rows) <= MAX_SPLITS else [rows[0], *rows[-MAX_SPLITS + 1 :]]
    return drawn


def _name(row: Spread) -> str:
    return f"{plural(row.m, 'dataset')}, {RULES[row.rule]}"


def difference_chart(result: DifferentialResult, about: str = "") -> Chart:
    """Return the differences between training and holdout records, with intervals."""
    decisive = _decisive(result.summary)
    splits = [row for row in result.comparisons if (row.m, row.rule) == (decisive.m, decisive.rule)]
    shown = splits if 1 < len(splits) <= MAX_SPLITS else []
    return dot_chart(
        "The difference with its 95 % interval",
        [
            *(_difference(row, _name(row)) for row in _in_order(result.summary)),
            *(_difference(row, f"split {1 + row.repeat}") for row in shown),
        ],
        reads="If the interval contains 0, the test found no risk that the release adds "
        "(differential confidentiality). All values inside the interval are possible.",
        label="training minus holdout",
        summary=f"Difference {written(decisive.difference, 'share')}, interval "
        f"{span(decisive.low, decisive.high)}, with all datasets, no match counted as 0.",
        about=about,
        marks={"value": "difference"},
        whole=False,
        zero=True,
        table=row_table(
            result.summary,
            "Means over the splits; From and To are the mean ends of the 95 % intervals",
        ),
    )


def _difference(row: Spread | HalfComparison | GroupComparison, label: str) -> DotRow:
    return DotRow(label=label, value=row.difference, low=row.low, high=row.high)


def _shortened(rows: Sequence[HalfComparison] | Sequence[HalfUniques], caption: str) -> DataTable:
    """Return a table of all rows; if they are too many, of those of all datasets pooled."""
    if len(rows) <= MAX_ROWS:
        return row_table(rows, caption)
    most = max(row.m for row in rows)
    pooled = [row for row in rows if row.m == most][:MAX_ROWS]
    return row_table(pooled, f"{caption}; {len(rows) - len(pooled)} more rows are in checks.json")


def _uniques(uniques: Sequence[HalfUniques]) -> Iterator[Block]:
    """Yield how many unique keys of both parts occur in the synthetic data."""
    if not uniques:
        return
    yield _shortened(
        uniques,
        "Records with unique keys, and how many of these keys occur in the synthetic data, at all "
        "and exactly once: training and holdout records",
    )
    if not all(row.same_size for row in uniques):
        yield Note(
            "The two parts differ in size, so their uniques cannot be compared: a smaller file has "
            "a larger share of uniques."
        )


def _groups(result: DifferentialResult) -> Iterator[Block]:
    if result.by is None:
        return
    if not result.groups:
        yield Note(f"No group of {result.by} is large enough in both parts for a test.", "alert")
        return
    order = _largest_first(result.groups)
    several = len({row.repeat for row in order if row.repeat is not None}) > 1
    undrawn, unlisted = len(order) - MAX_GROUPS, len(order) - MAX_ROWS
    yield dot_chart(
        f"Difference by group of {result.by}",
        [_difference(row, _group_name(row, several=several)) for row in order[:MAX_GROUPS]],
        reads="The group with the largest difference comes first. The intervals have a joint "
        "confidence of 95 % over all groups of a split. An interval above 0 shows a risk for this "
        "group." + (f" {undrawn} more are in the table." if undrawn > 0 else ""),
        label="training minus holdout",
        summary=_summary(result),
        marks={"value": "difference"},
        whole=False,
        zero=True,
        table=row_table(
            order[:MAX_ROWS],
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
        return f"{count} groups."
    return (
        f"{count} groups; the largest difference is that of {worst.group}: "
        f"{written(worst.difference, 'share')} (interval {span(worst.low, worst.high)})."
    )
