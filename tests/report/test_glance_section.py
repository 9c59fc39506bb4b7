"""The verdicts and headline figures."""

import pytest

from synthesizer.report.glance import glance_section
from synthesizer.report.model_fits import estimates_section
from synthesizer.report.page import DataTable, Gap, Note
from synthesizer.report.untyped import Record
from tests.report.blocks import gaps, html, of_kind, table
from tests.report.fixtures import (
    EVIL,
    JOB,
    Page,
    checks,
    figure,
    first_format,
    fit,
    manifest,
    record,
    tables,
)


def notes(found):
    return [(note.tone, note.text) for note in of_kind(found, Note)]


def row(section, caption, name):
    (found,) = [r for r in table(section, caption).rows if r[0].startswith(name)]
    return found


def with_figures(*figures):
    content = checks()
    content["risk"]["scenarios"][0]["figures"] = list(figures)
    return glance_section(Record(manifest(), content))


def test_limits_that_are_kept():
    assert notes(glance_section(record()))[0] == (
        "good",
        "The limit that the configuration sets is kept.",
    )
    several = manifest()
    several["config"]["limits"] = {"cap": 0.5, "disco": 0.5, "auc": None}
    assert "All 2 limits" in notes(glance_section(Record(several, checks())))[0][1]


def test_no_limits_are_said_to_be_none():
    tone, words = notes(glance_section(Record({**manifest(), "config": {}}, checks())))[0]
    assert tone == "plain"
    assert words.startswith("No limits were set")
    assert "limits: {" in words


@pytest.mark.parametrize("where", ["checks", "manifest"])
def test_limits_that_are_exceeded(where):
    above = ["limits.cap: CAP is 0.3000, above the limit 0.2"]
    content, own = checks(), manifest()
    if where == "checks":
        content["exceeded"] = above
    else:
        own["exceeded_limits"] = above
    found = notes(glance_section(Record(own, content)))
    assert [tone for tone, _ in found[:2]] == ["alert", "alert"]
    assert "1 figure above the limits" in found[0][1]
    assert found[1][1] == above[0]


def test_no_checks_at_all():
    section = glance_section(Record({}, {}))
    assert gaps(section) == ["the checks", "no figure of utility", "no figure of risk"]


def test_failed_checks_are_told_once_each():
    content = checks()
    content["failed"] = {"suda": "too many"}
    content["risk"]["failed"] = {"suda": "too many"}
    content["utility"]["failed"] = {"pairs": "no rows"}
    content["utility"]["notes"] = ["dataset 2 has other levels"]
    found = notes(glance_section(Record(manifest(), content)))
    assert [words for tone, words in found if tone == "alert"][:2] == [
        "Could not be computed: suda: too many.",
        "Could not be computed: pairs: no rows.",
    ]
    assert ("plain", "dataset 2 has other levels") in found


def test_gaps_of_the_record_are_shown():
    own = record()
    section = glance_section(Record(own.manifest, own.checks, (Gap("checks", "cut short"),)))
    assert gaps(section) == ["checks"]


def test_headlines_of_utility():
    section = glance_section(record())
    assert [r[:2] for r in table(section, "How useful").rows] == [
        ["Pairs of variables, mean S_pMSE", 1.6],
        ["Worst pair, S_pMSE", 13.0],
        ["Worst variable, S_pMSE", 4.1],
        ["Margins, pMSE ratio by a logistic regression", 1.4],
        ["All variables at once, pMSE ratio by a classification tree", 1.4],
        ["Models, lowest mean overlap of intervals", 0.9],
    ]
    assert row(section, "How useful", "Worst pair")[-1].startswith("6 times as far off")
    assert {r[0]: r[2] for r in table(section, "How useful").rows} == {
        "Pairs of variables, mean S_pMSE": 1.0,
        "Worst pair, S_pMSE": 1.0,
        "Worst variable, S_pMSE": 1.0,
        "Margins, pMSE ratio by a logistic regression": 1.0,
        "All variables at once, pMSE ratio by a classification tree": 1.0,
        "Models, lowest mean overlap of intervals": 0.796,
    }
    assert "a right synthesis reaches 0.796" in row(section, "How useful", "Models")[-1]


def test_good_is_what_is_expected_of_the_kind_of_synthesis():
    own = record(proper=True, expected={"S_pMSE": 1.5, "fresh": 1.5})
    found = table(glance_section(own), "How useful").rows
    assert [r[2] for r in found] == [1.5, 1.5, 1.5, 1.5, 1.0, 0.796]
    assert found[0][-1] == "As near as a right synthesis (1.5)."
    smaller = record(expected={"S_pMSE": 1.0, "fresh": 1.5})
    assert (
        "fresh sample of the same population (1.5)"
        in row(glance_section(smaller), "How useful", "Pairs of variables")[-1]
    )


def test_a_column_that_could_not_be_compared_is_told_before_the_figures():
    own = record(failed={f"column {JOB!r}": "is a number in dataset 2"})
    blocks = glance_section(own).blocks
    place = next(
        i
        for i, block in enumerate(blocks)
        if isinstance(block, Note) and block.text.startswith(f"Not compared: column {JOB!r}")
    )
    assert blocks[place].tone == "alert"
    assert "is a number in dataset 2" in blocks[place].text
    assert not any(isinstance(block, DataTable) for block in blocks[:place])


def test_datasets_without_a_fit_are_told_before_the_figures():
    alerts = [words for tone, words in notes(glance_section(record())) if tone == "alert"]
    assert alerts[0] == (
        f"age ~ `{EVIL}`: fitted on 1 of 2 datasets: dataset 2 is left out (it did not settle)."
    )


def test_a_run_without_keys_does_not_look_clean():
    content, own = checks(), manifest()
    content["risk"]["scenarios"] = []
    own["config"]["checks"] = {"keys": ["age"]}
    found = [b for b in glance_section(Record(own, content)).blocks if isinstance(b, Gap)]
    assert [gap.alert for gap in found] == [True]
    for name in ("CAP", "repU", "DiSCO", "DCAP", "half split"):
        assert name in found[0].what
    assert "Name checks.target (" in found[0].why
    assert "checks.keys" not in found[0].why
    assert "no sign of safety" in found[0].why
    assert not any(isinstance(block, Gap) for block in glance_section(record()).blocks)


def test_bad_utility_is_an_alert_with_its_rows_marked():
    own = record()
    section = glance_section(own)
    (worst,) = [text for tone, text in notes(section) if tone == "alert" and "worst pair" in text]
    assert worst.startswith(f"The worst pair is {JOB} with born, S_pMSE 13: 6 times as far off")
    assert "Above 10 a table is to be looked at; so is 1 other pair." in worst
    assert "the model of born is to blame" in worst
    found = table(section, "How useful")
    assert [found.rows[i][0] for i in found.highlight] == ["Worst pair, S_pMSE"]
    fine = record(tables={**tables(), "mean": tables()["mean"][:8]})
    assert not any("worst pair" in text for _, text in notes(glance_section(fine)))


def test_a_fit_whose_intervals_do_not_meet_is_an_alert():
    bad = fit() | {"mean_overlap": 0.3}
    bad["coefficients"][1]["overlap"] = -1.25
    section = glance_section(record(fits=[fit(), bad]))
    (told,) = [text for tone, text in notes(section) if tone == "alert" and "overlap" in text]
    assert told.startswith(f"Fit age ~ `{EVIL}`: the intervals overlap by 0.300 on average")
    assert f"The lowest overlap is −1.250, of {EVIL}[a]; the two intervals do not touch." in told
    assert f"the model of {EVIL} is to blame" in told
    found = table(section, "How useful")
    marked = [found.rows[i] for i in found.highlight]
    assert marked[-1][0] == "Models, lowest mean overlap of intervals"
    assert marked[-1][1] == 0.3
    assert "It is the fit age ~" in marked[-1][-1]


@pytest.mark.parametrize(("fresh", "value", "alert"), [(2.0, 3.1, True), (6.0, 3.1, False)])
def test_the_mean_is_marked_by_what_is_expected(fresh, value, alert):
    figures = [{"place": "tables", **figure("mean two-way S_pMSE", value)}]
    section = glance_section(record(figures=figures, expected={"S_pMSE": 1.0, "fresh": fresh}))
    assert (0 in table(section, "How useful").highlight) is alert


def test_a_reason_ends_in_one_full_stop():
    section = glance_section(record(failed={"fit y ~ x": "too few.", "column 'a'": "is text."}))
    told = [text for _, text in notes(section) if "fit y ~ x" in text or "column 'a'" in text]
    assert [text[-9:] for text in told] == [" too few.", " is text."]


def test_the_tables_stack_on_a_narrow_screen():
    page = Page(html(glance_section(record())))
    assert [attrs["class"] for attrs in page.all("table")] == ["stacks", "stacks"]
    labels = {attrs.get("data-label") for attrs in page.all("td")}
    assert {"Value", "95 % interval", "Good is", "Original", "In words", None} == labels
    assert "data-label" not in html(estimates_section(record()))


def test_copied_variables_are_named():
    told = [words for _, words in notes(glance_section(record(kept=["age", "born"])))]
    assert any(
        "age, born are copied" in words and "left out of the means" in words for words in told
    )
    assert not any("copied" in words for _, words in notes(glance_section(record())))


def test_two_kinds_of_expectation_are_read_differently():
    section = glance_section(record())
    logit = row(section, "How useful", "Margins, pMSE ratio by a logistic")
    tree = row(section, "How useful", "All variables at once, pMSE ratio by a classification")
    assert logit[-1] == (
        "The margins are no further off than a fresh sample of the same population (2); "
        "relations between variables are not tested by this model: see the classification tree."
    )
    assert tree[-1] == (
        "Told apart a little better than a fresh sample of the same population (1); "
        "a right synthesis with fixed parameters may go down to 0.5."
    )


def test_headlines_of_risk():
    section = glance_section(record())
    found = {r[0]: r for r in table(section, "What the data give away").rows}
    assert list(found) == [
        "Differential confidentiality", "CAP", "Share nearer to the fitted half",
        "Replicated uniques",
    ]  # fmt: skip
    assert found["Differential confidentiality"][1:5] == [0.02, "0.010 to 0.030", 0.0, 0.5]
    assert found["CAP"][3:5] == [0.1, 0.6]
    assert "0.400 of the way" in found["CAP"][-1]
    assert "4 records of 200" in found["Replicated uniques"][-1]
    assert found["Share nearer to the fitted half"][3] == 0.5
    assert "they are" in found["Share nearer to the fitted half"][-1]


@pytest.mark.parametrize(
    ("low", "high", "words", "alert"),
    [
        (0.01, 0.03, "lies above 0", True),
        (-0.01, 0.03, "covers 0", False),
        (-0.03, -0.01, "lies below 0", False),
        (None, 0.03, "no good news", False),
    ],
)
def test_interval_of_differential_confidentiality_decides(low, high, words, alert):
    section = with_figures(figure("differential confidentiality", 0.02, low=low, high=high))
    found = table(section, "What the data give away")
    assert words in found.rows[0][-1]
    assert (0 in found.highlight) is alert


def test_cap_without_references_and_with_equal_ones():
    assert with_figures(figure("CAP", 0.3)).blocks
    section = with_figures(figure("CAP", 0.3, baseline=0.3, original=0.3))
    assert "of the way" not in row(section, "What the data give away", "CAP")[-1]


@pytest.mark.parametrize("low", [None, 0.49])
def test_nearest_without_a_verdict(low):
    content = checks()
    content["risk"]["nearest"]["low"] = low
    content["risk"]["replicated_uniques"]["figures"] = [figure("replicated uniques", None)]
    section = glance_section(Record(manifest(), content))
    words = row(section, "What the data give away", "Share nearer")[-1]
    assert "they are" not in words
    assert "Here" not in row(section, "What the data give away", "Replicated")[-1]


def test_several_scenarios_are_told_apart():
    content = checks()
    content["risk"]["scenarios"] *= 2
    names = [
        r[0]
        for r in table(glance_section(Record(manifest(), content)), "What the data give away").rows
    ]
    assert names[0].startswith("Differential confidentiality (age, ")
    assert len(names) == 6


def test_a_file_of_the_first_format_shows_its_summary_and_the_gap():
    section = glance_section(first_format())
    assert "distributions, tables of pairs and propensity scores" in gaps(section)
    assert row(section, "How useful", "Pairs of variables")[1] == 1.6
    assert len(of_kind(section, DataTable)) == 2


def test_a_figure_without_value_is_no_good_news():
    own = record(figures=[{"place": "tables", **figure("mean two-way S_pMSE", None)}])
    own.checks["summary"].clear()
    section = glance_section(own)
    assert "no good news" in row(section, "How useful", "Pairs of variables")[-1]
