"""At a glance, what was not measured, all figures, the glossary, what was run."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.copied import copied_uniques
from synthesizer.measures.utility.tables import OrderTables
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.appendix import figures_section, reading_section, run_section
from synthesizer.report.blocks import Block, Chart, DataTable, Fold, Gap, Note, Section
from synthesizer.report.glance import glance_section
from synthesizer.report.page import fragment
from synthesizer.report.record import PanelEntry, Record
from synthesizer.report.risk import keys_advice, unmeasured
from tests.report import risk_examples, utility_examples
from tests.report.blocks import gaps, html, of_kind, table
from tests.report.fixtures import EVIL, Page
from tests.report.utility_examples import JOB, coefficient, fit, manifest, step, utility

LIMITS = {"limits": {"mean_two_way": 2.0, "cap": None}}
CONFIG = {"version": 1, "seed": 987654321, "m": 2}


def order(ways: int, mean: float | None, most: float | None) -> OrderTables:
    return OrderTables(
        ways=ways, s_pmse_mean=mean, s_pmse_max=most, worst=(JOB, "born")[:ways], roe_mean=0.8,
        rejected=0.1, rejected_vw=0.05,
    )  # fmt: skip


def tables(mean: float | None = 1.6) -> Any:
    orders = (order(1, 1.5, 4.1), order(2, mean, None if mean is None else 13.0))
    return utility_examples.tables().model_copy(update={"orders": orders})


def run(risk: RiskResult | None = None, exceeded: tuple[str, ...] = (), **changes: Any) -> Record:
    """Return a run with utility and, computed, risk; further keywords are parts of its utility."""
    facts = changes.pop("facts", None) or manifest(config=CONFIG | LIMITS)
    own = risk_examples.risk() if risk is None else risk
    found = utility(**({"tables": tables()} | changes))
    failed = {**own.failed, **found.failed}
    return Record(facts, CheckResults(risk=own, utility=found, failed=failed), exceeded)


def notes(section: Section) -> list[tuple[str, str]]:
    return [(note.tone, note.text) for note in of_kind(section, Note)]


def row(section: Section, caption: str, name: str) -> Any:
    (found,) = [r for r in table(section, caption).rows if str(r[0]).startswith(name)]
    return found


# Limits, failures, copies.


def opened(section: Section, title: str) -> list[Block]:
    """Return what a fold of the section holds."""
    (fold,) = [b for b in section.blocks if isinstance(b, Fold) and b.title == title]
    return list(fold.blocks)


@pytest.mark.parametrize(
    ("config", "exceeded", "tone", "words"),
    [
        (LIMITS, (), "good", "Kept: 1 limit of the configuration."),
        ({"limits": {"cap": 1, "auc": 1}}, (), "good", "Kept: 2 limits of the configuration."),
        (LIMITS, ("limits.cap: CAP is 0.3000",), "alert", "limits.cap: CAP is 0.3000."),
        ({}, (), "look", "The worst variable is"),
    ],
)
def test_limits_come_after_the_lines(config: Any, exceeded: Any, tone: str, words: str) -> None:
    section = glance_section(run(exceeded=exceeded, facts=manifest(config=CONFIG | config)))
    why = [block for block in opened(section, "Why") if isinstance(block, Note)]
    assert why[3].start == "Limits."
    if words.startswith("The worst"):
        assert not any("limit" in note.text for note in why if not note.start)
        return
    assert why[4].tone == tone
    assert why[4].text == words


def test_what_looks_like_a_copy_comes_before_everything() -> None:
    people = pd.DataFrame({"pay": range(100)})
    risk = RiskResult(copied=copied_uniques(people, people, keys=["pay"]))
    section = glance_section(run(risk))
    first = section.blocks[0]
    assert isinstance(first, Chart)
    assert (first.title, first.word) == ("A person in the data", "fail")
    assert first.reads.startswith("Verbatim unique records: 100; the limit is ")
    told = opened(section, "Why")[0]
    assert isinstance(told, Note)
    assert (told.tone, told.start) == ("alert", "A person in the data: fail.")
    assert "100 of 100 records that nobody else shares" in told.text


def test_failures_notes_and_lost_fits_are_told_under_what_was_not_measured() -> None:
    failed = {"suda": "too many", f"column {JOB!r}": "is a number in dataset 2."}
    own = run(failed=failed, notes=("dataset 2 has other levels",), kept=("age", "born"))
    section = glance_section(own)
    assert [text for _, text in notes(Section(anchor="", title="", lead="", blocks=[
        block for block in section.blocks if isinstance(block, Note)
    ]))] == ["1 column not compared."]  # fmt: skip
    told = [b.text for b in opened(section, "What was not measured") if isinstance(b, Note)]
    assert told[:2] == [
        "Not computed: suda: too many.",
        f"Not computed: column {JOB!r}: is a number in dataset 2.",
    ]
    assert told[2] == (
        f"age ~ `{EVIL}`: fitted on 1 of 2 datasets, the others are left out: it did not settle."
    )
    assert "Copied from the original (partial synthesis): age, born." in told[3]
    assert "dataset 2 has other levels" in told
    assert not any("copied" in text for _, text in notes(glance_section(run())))


def test_changed_files_are_an_alert() -> None:
    own = run()
    changed = Record(own.manifest, own.results, changes=("synthetic_1.csv has changed",))
    (gap,) = of_kind(glance_section(changed), Gap)
    assert gap.alert
    assert gap.why == "synthetic_1.csv has changed"


def test_without_any_figure_there_are_gaps() -> None:
    empty = Record(manifest(), CheckResults(risk=RiskResult(), failed={}))
    assert gaps(glance_section(empty)) == ["no figure of utility"]


# What no line of the verdict says.


def test_fits_whose_intervals_do_not_meet_are_to_be_looked_at() -> None:
    bad = fit(coefficients=(coefficient(f"{EVIL}[a]", 0.3, overlap=-1.25),))
    section = glance_section(run(fits=(fit(), bad)))
    alerts = [text for tone, text in notes(section) if tone == "look"]
    (overlap,) = [text for text in alerts if f"of {EVIL}[a]; the two intervals do not" in text]
    assert overlap.startswith(f"Fit age ~ `{EVIL}`: the intervals overlap by −1.250 on average")


def test_the_tables_stack_on_a_narrow_screen() -> None:
    page = Page(html(glance_section(run())))
    assert [attrs["class"] for attrs in page.all("table")] == ["stacks"]
    labels = {attrs.get("data-label") for attrs in page.all("td")}
    assert {"Value", "95 % interval", "Limit", "Because", None} <= labels


# What was not measured.


def asked(config: Any = None, chain: Any = None) -> Record:
    changes = {"config": CONFIG | {"checks": config or {}}}
    facts = manifest(**changes) if chain is None else manifest(**changes, chain=chain)
    return risk_examples.record(RiskResult(), **dict(facts))


def test_a_whole_run_has_no_gap() -> None:
    assert list(unmeasured(run())) == []
    assert keys_advice(run()) == ""


@pytest.mark.parametrize(
    ("config", "advice"),
    [
        ({}, "Name checks.keys (what an intruder knows) and checks.target ("),
        ({"target": "age"}, "Name checks.keys (what an intruder knows) and run again"),
        ({"keys": ["age"], "target": "born"}, "were not used"),
    ],
)
def test_keys_and_target_are_named_where_they_are_missing(config: Any, advice: str) -> None:
    (gap,) = unmeasured(asked(config))
    assert gap.alert
    assert 'class="gap alert"' in fragment(gap)
    assert advice in gap.why
    assert "no sign of safety" in gap.why
    for name in ("special uniques", "correct attribution", "half split", "repU", "DiSCO"):
        assert name in gap.what


def test_one_variable_cannot_have_keys_and_a_target() -> None:
    (gap,) = unmeasured(asked(chain=(step("sex"),)))
    assert "two variables, a key and a target; sex is the only one" in gap.why
    assert "checks.keys" not in gap.why


def test_what_is_switched_off_is_a_gap_of_its_own() -> None:
    first, second = unmeasured(asked({"cap": False, "suda": {"enabled": False}}))
    assert "half split" in first.what
    assert "special uniques" not in first.what
    assert "special uniques" in second.what
    assert "set checks.suda and checks.cap to true" in second.why
    (gap,) = unmeasured(run(facts=manifest(config={"checks": {"nearest": False}})))
    assert "switches it off: set checks.nearest to true" in gap.why


# All figures and the glossary.


def test_every_figure_of_utility_and_risk_is_in_one_table() -> None:
    own = run()
    (found,) = of_kind(figures_section(own), DataTable)
    assert len(found.rows) == len(own.results.figures)
    assert found.sortable
    assert all(len(row) == len(found.columns) == len(found.forms) for row in found.rows)
    by_name = {row[0]: row for row in reversed(found.rows)}
    assert by_name["mean two-way S_pMSE"][1] == "tables"
    assert by_name["differential confidentiality"][1] == "scenario 1 (job)"
    assert not any("{record" in str(row[-1]) for row in found.rows)
    told = html(figures_section(own))
    assert "scenario 1 (job): Knowing town, age and sex, seeking job." in told


def test_a_tree_gives_specks_no_direction() -> None:
    (found,) = of_kind(figures_section(run()), DataTable)
    alone = {row[0] for row in found.rows if str(row[8]).startswith("not to be read alone")}
    assert alone == {"SPECKS"}
    logit = [row for row in found.rows if row[1] == "propensity score by logit"]
    assert not any(str(row[8]).startswith("not to") for row in logit)


def test_the_glossary_has_the_expectations_of_the_run() -> None:
    found = {row[0]: row[1] for row in of_kind(reading_section(run()), DataTable)[0].rows}
    assert {"S_pMSE", "Baseline", "Chance", "Fresh sample", "Right synthesis"} <= set(found)
    assert "a fresh sample of the same population 1 + k/n, here 2 (" in str(found["S_pMSE"])
    assert "0.80 is expected of one dataset and 0.91 of five" in str(found["Overlap"])


# What was run.


def test_facts_chain_configuration_versions() -> None:
    section = run_section(run(facts=manifest(packages={"numpy": "2.4.6"})))
    facts = dict(table(section, "The run").rows)
    assert facts["Data"] == "persons.csv"
    assert facts["Original records"] == "100"
    assert facts["Synthetic datasets (m)"] == "2"
    assert table(section, "The chain").rows[0] == ["age", "numeric", "cart", None, "none"]
    assert ("numpy", "2.4.6") in table(section, "Versions").rows
    assert ("fit", 0.25) in table(section, "Time").rows


def test_persons_of_a_panel_are_counted() -> None:
    panel = PanelEntry(form="long", person="id", time="year", career=None, persons=1234, periods=5)
    section = run_section(run(facts=manifest(panel=panel)))
    facts = dict(table(section, "The run").rows)
    assert (facts["Original persons"], facts["Periods"]) == ("1,234", "5")
    assert facts["Persons in each"] == "100"


def test_configuration_is_escaped_yaml_without_the_seed() -> None:
    config = CONFIG | LIMITS | {"variables": {EVIL: {"kind": "numeric"}}}
    text = html(run_section(run(facts=manifest(config=config))))
    assert "limits:\n  mean_two_way: 2.0" in text
    assert EVIL not in text
    assert "987654321" not in text
    assert "seed: see manifest.json" in text


def test_predictors_are_named_unless_they_are_all_variables_above() -> None:
    names = [f"v{i}" for i in range(5)]
    chain = [step(name, predictors=tuple(names[:i])) for i, name in enumerate(names)]
    chain[3] = step("v3", predictors=("v1", "v0"))
    shown = [
        row[-1] for row in table(run_section(run(facts=manifest(chain=chain))), "The chain").rows
    ]
    assert shown == ["none", "v0", "all variables above", "v1, v0", "all variables above"]
