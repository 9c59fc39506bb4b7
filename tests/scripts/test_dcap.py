"""The script that reproduces the tables of the DCAP paper, on a small file."""

import dcap_findings
import dcap_study
import dcap_tables
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthesizer.measures.risk import cap
from synthesizer.measures.risk.cap import cap_regression, regress_on_m
from synthesizer.measures.risk.suda import special_uniques

KEYS = ("area", "age", "sex", "tenure")
SUBSETS = ("all", "uniques", "special_uniques")
M = 3


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(5)
    n = 240
    age = rng.integers(16, 60, n)
    area = rng.choice(list("NESW"), n)
    frame = pd.DataFrame(
        {
            "job": np.where(age > 40, rng.choice(["a", "b"], n), rng.choice(["b", "c"], n)),
            "area": area,
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "tenure": np.where(area == "N", "rent", rng.choice(["rent", "own"], n)),
            "unused": rng.random(n),
        }
    )
    path = tmp_path_factory.mktemp("dcap") / "people.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def study(file):
    return dcap_study.prepare(
        {"path": str(file)}, KEYS, "job", numeric=["age"], groups={"age": 20}, m=M, seed=3
    )


@pytest.fixture(scope="module")
def lines(study):
    return list(dcap_tables.tables(study))


def tables_of(lines):
    """Return the tables below each heading as lists of rows; cells are texts."""
    found, heading = {}, ""
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if line.startswith("|") and "---" not in line:
            if not before.startswith("|"):
                found.setdefault(heading, []).append([])
            found[heading][-1].append([cell.strip() for cell in line.strip("|").split(" | ")])
    return {heading.partition(":")[0]: parts for heading, parts in found.items()}


@pytest.fixture(scope="module")
def parsed(lines):
    return tables_of(lines)


def text(value):
    return "n/a" if value is None else f"{value:.4f}"


def own_cap(study, name, size):
    """Synthesise and measure again, without the script's measuring."""
    made = study.synthesise(name, study.table, study.seed, M)
    keys = KEYS[:size]
    special = special_uniques(study.table, keys, study.groups)
    return cap(
        study.table, made, keys=keys, target="job", groups=study.groups,
        subsets={"special_uniques": special},
    )  # fmt: skip


def test_only_keys_and_target_are_synthesised_in_order(study, lines):
    assert study.table.names == (*KEYS, "job")
    assert "240 records; synthesised, in this order: area, age, sex, tenure, job; seed 3." in lines


def test_the_cart_setting_is_the_papers(study):
    options = dcap_study.methods(5)["CART"]["models"]["cart"]
    assert options == {"min_leaf": 5, "even": False, "tilt": False, "safe": 0}
    assert list(study.plans) == ["CART", "parametric", "CART, package defaults"]


def test_table_1_equals_cap(study, parsed):
    (rows,) = parsed["Table 1"]
    expected = []
    for name in study.plans:
        result = own_cap(study, name, 4)
        marks = [result.original, result.baseline]
        for m in range(1, M + 1):
            found = [result.row(m, subset) for subset in SUBSETS]
            means = [row.zero for row in found] + [row.undefined for row in found]
            expected.append([name, str(m), *map(text, means), str(found[0].matched)])
    for row, mark in zip(rows[1:3], marks, strict=True):
        assert row[2:8] == [text(mark[subset]) for subset in SUBSETS] * 2
    assert rows[3:] == expected


def test_table_2_equals_the_regression(study, parsed):
    (rows,) = parsed["Table 2"]
    assert len(rows) == 1 + 3 * 3 * 2
    lines = [line for name in study.plans for line in cap_regression(own_cap(study, name, 4))]
    for row, found in zip(rows[1:], lines, strict=True):
        assert row[1] == found.rule
        if found.line is None:
            assert row[3:] == ["n/a"] * 6
            continue
        assert float(row[3].rstrip("\\*")) == pytest.approx(found.line.intercept, abs=6e-5)
        assert float(row[5].rstrip("\\*")) == pytest.approx(found.line.slope, abs=6e-6)
        stars = sum(found.line.slope_p < level for level in (0.05, 0.01, 0.001))
        assert row[5].count("*") == stars


def test_table_4_is_consistent(study, parsed):
    (rows,) = parsed["Table 4"]
    assert len(rows) == 1 + 3 * M
    for row in rows[1:]:
        a, b, difference, low, high = (float(row[i]) for i in (2, 3, 4, 8, 9))
        assert difference == pytest.approx(a - b, abs=2e-4)
        assert (low + high) / 2 == pytest.approx(difference, abs=2e-4)
        # one split: its difference is the mean, and there is no spread
        assert (row[10], row[11]) == (row[4], "n/a")
    # The file is noise given age and area: leaves of 5 remember it, parametric models do not.
    by_name = {(row[0], int(row[1])): float(row[4]) for row in rows[1:]}
    assert by_name["CART", M] > by_name["parametric", M]


def test_table_5_equals_cap_with_fewer_keys(study, parsed):
    zero, undefined = parsed["Table 5"]
    for rows, rule in ((zero, "zero"), (undefined, "undefined")):
        assert rows[0][2:] == [
            "full set: key 3", "statistical uniques: key 3", "special uniques: key 3",
        ]  # fmt: skip
        found = {(row[0], row[1]): row[2:] for row in rows[1:]}
        for name in study.plans:
            result = own_cap(study, name, 3)
            for m in range(1, M + 1):
                means = [getattr(result.row(m, subset), rule) for subset in SUBSETS]
                assert found[name, str(m)] == [text(mean) for mean in means]


def test_findings_follow_from_the_tables(parsed):
    (rows,) = parsed["Findings"]
    said = {row[0]: row[1] for row in rows[1:]}
    (first,) = parsed["Table 1"]
    zero = {(row[0], row[1]): [float(cell) for cell in row[2:5]] for row in first[3:]}
    for name in ("CART", "parametric"):
        lower = all(special < unique < every for every, unique, special in
                    (zero[name, str(m)] for m in range(1, M + 1)))  # fmt: skip
        sentence = "special uniques below statistical uniques below all, non-matches as zero"
        assert said[f"{name}: {sentence}"] == ("yes" if lower else "no")
    above = all(
        a > b
        for m in range(1, M + 1)
        for a, b in zip(zero["CART", str(m)], zero["parametric", str(m)], strict=True)
    )
    sentence = "CART: CAP above that of parametric synthesis, non-matches as zero"
    assert said[sentence] == ("yes" if above else "no")
    (half,) = parsed["Table 4"]
    differences = {(row[0], row[1]): float(row[4]) for row in half[1:]}
    larger = all(
        differences["CART", str(m)] > differences["parametric", str(m)] for m in range(1, M + 1)
    )
    sentence = "CART: half-split difference larger than that of parametric synthesis"
    assert said[sentence] == ("yes" if larger else "no")
    assert set(said.values()) <= {"yes", "no"}
    assert len(said) == 3 * 8 + 2 * 3


@pytest.mark.parametrize(
    ("line", "zero", "flat"),
    [
        ([0.3, 0.31, 0.3, 0.31], [0.1, 0.2, 0.3, 0.41], True),
        ([0.3, 0.32, 0.34, 0.361], [0.1, 0.2, 0.3, 0.41], True),
        ([0.3, 0.35, 0.4, 0.451], [0.1, 0.2, 0.3, 0.41], False),
        ([0.3, None, 0.4, 0.5], [0.1, 0.2, 0.3, 0.41], False),
    ],
)
def test_what_is_called_flat(line, zero, flat):
    assert dcap_findings._is_flat(regress_on_m(line), regress_on_m(zero)) is flat


def call(*words):
    import typer

    app = typer.Typer()
    app.command()(dcap_tables.main)
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_on_a_sample():
    pytest.importorskip("statsmodels")
    done = call("-m", 1, "--keys", "educ,occupation", "--target", "religious")
    assert done.exit_code == 0, done.output
    assert "6,366 records" in done.output
    assert "none is dropped" in done.output
    parsed = tables_of(done.output.splitlines())
    assert all(row[3:] == ["n/a"] * 6 for row in parsed["Table 2"][0][1:])


def test_the_command_on_a_whole_file(file):
    done = call(
        file, "--keys", "area,sex,tenure", "--target", "age", "-m", 1, "--all", "--splits", 2,
        "--groups", "{age: 3}",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "in this order: job, area, age, sex, tenure, unused" in done.output
    (half,) = tables_of(done.output.splitlines())["Table 4"]
    assert all(float(row[11]) >= 0 for row in half[1:])


def test_the_samples_own_scenario():
    keys, target = dcap_tables.scenario(None, "fair", [], None)
    assert (len(keys), target) == (5, "religious")
    assert dcap_tables.scenario(None, "fair", ["age"], "educ") == (["age"], "educ")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["people.csv"], "--keys A,B,C --target T"),
        (["--groups", "{age: 3"], "--groups"),
        (["--keys", "nowhere", "--target", "religious"], "'nowhere' is not in the data"),
    ],
)
def test_mistakes_are_told(words, part):
    pytest.importorskip("statsmodels")
    done = call(*words)
    assert done.exit_code == 2
    assert part in " ".join(done.output.split())
