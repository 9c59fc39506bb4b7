"""The script that sets genetic synthesis beside CART and parametric models, on a small file."""

import json
import stat
from collections import Counter
from itertools import combinations, product
from types import SimpleNamespace

import compare_genetic
import compare_genetic_page
import compare_genetic_study
import numpy as np
import pandas as pd
import pytest
import typer
from scipy.spatial.distance import jensenshannon
from scipy.special import expit
from scipy.stats import chi2_contingency
from typer.testing import CliRunner

from synthesizer.data.errors import DataError

KEYS = ("area", "age", "sex")
ORDER = (*KEYS, "own|rent", "job")
METHODS = ("genetic (paper)", "genetic (package)", "CART", "parametric")
SETTINGS = {"generations": 4, "population": 8, "workers": 1}
WORDS = ("--generations", 4, "--population", 8, "--workers", 1, "--keys", ",".join(KEYS))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(5)
    n = 150
    age = rng.integers(1, 8, n)
    frame = pd.DataFrame(
        {
            "job": np.where(age > 4, rng.choice(["a", "b"], n), rng.choice(["b", "c"], n)),
            "area": rng.choice(["hill-top", "sea-side", "town-hall"], n, p=[0.2, 0.3, 0.5]),
            "age": age,
            "pay": rng.integers(0, 5_000, n),
            "sex": rng.choice(["f", "m", ""], n, p=[0.45, 0.45, 0.1]),
            "own|rent": rng.choice([1, 2], n),
            "name": [f"person {number}" for number in range(n)],
            "one": 1,
        }
    )
    path = tmp_path_factory.mktemp("compare") / "people.csv"
    frame.to_csv(path, index=False)
    return path


def call(*words):
    app = typer.Typer()
    app.command()(compare_genetic.main)
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def done(file):
    out, numbers = file.with_name("page.html"), file.with_name("page.json")
    words = ("--target", "job", "--drop", "pay,name,one", "--out", out, "--json", numbers)
    result = call(file, *WORDS, *words)
    assert result.exit_code == 0, result.output
    return result.output, out, json.loads(numbers.read_text())


@pytest.fixture(scope="module")
def study(file):
    return compare_genetic_study.prepare(
        file, KEYS, "job", compare_genetic_study.Settings(**SETTINGS), drop=["pay", "name", "one"]
    )


@pytest.fixture(scope="module")
def datasets(study):
    """Synthesise again: the same settings give the same datasets."""
    options = compare_genetic_study.methods(study.settings)
    return {name: compare_genetic_study.synthesise(study, own)[0] for name, own in options.items()}


@pytest.fixture(scope="module")
def parsed(done):
    """Return the table below each heading as a list of rows; cells are texts."""
    found, heading = {}, ""
    for line in done[0].splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ").partition(":")[0]
        if line.startswith("|") and "---" not in line:
            cells = line.strip("|").replace("\\|", "¦").split("|")
            row = [cell.strip().replace("¦", "|") for cell in cells]
            found.setdefault(heading, []).append(row)
    return found


def number(text):
    return float(text.replace("−", "-"))


def close(text, value):
    assert number(text) == pytest.approx(value, rel=6e-4, abs=6e-5)


def shares(frame, names):
    return frame.groupby(list(names)).size() / len(frame)


def test_everything_is_there(done, parsed):
    output, page, _ = done
    assert list(parsed) == [
        "What was compared", "Table 1", "Table 2", "Table 3", "Risk and utility", "Figure 6",
    ]  # fmt: skip
    assert "150 records and 5 variables" in output
    assert f"in this order: {', '.join(ORDER)}" in output
    assert "genetic 0.8924, CART 0.9198, parametric 0.9169" in output
    assert "0.3964 at U 0.1257" in output
    html = page.read_text()
    for anchor in ("table-1", "table-2", "table-3", "risk", "figure-6", "figure-7"):
        assert f'<section id="{anchor}"' in html
    # each evolution by generation and as a way, and each variable by each method
    assert html.count("<svg") == 2 * 2 + len(ORDER) * len(METHODS)
    assert "default-src 'none'" in html


def test_the_page_is_for_the_steward(done):
    output, page, _ = done
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert stat.S_IMODE(page.with_suffix(".json").stat().st_mode) == 0o600
    assert "not for release" in page.read_text()
    assert "hill-top" in page.read_text()
    assert "hill-top" not in output


def test_table_1_equals_scipy(study, datasets, parsed):
    header, *rows = parsed["Table 1"]
    assert [row[0] for row in rows] == list(ORDER)
    assert header[2::2] == [f"{name}: chi-square" for name in METHODS]
    for row in rows:
        for place, made in enumerate(datasets.values()):
            counts = pd.concat([study.frame[row[0]], made[row[0]].fillna("")], keys=[0, 1])
            table = pd.crosstab(counts.index.get_level_values(0), counts.to_numpy())
            test = chi2_contingency(table, correction=False)
            close(row[2 + 2 * place], test.statistic)
            assert number(row[3 + 2 * place]) == pytest.approx(test.pvalue, abs=6e-4)
            assert int(row[1]) == test.dof


def slow_pmse(original, made):
    """Return pMSE and the number of parameters by Newton's method on all dummies."""
    both = pd.concat([original, made.fillna("")], ignore_index=True)
    design = pd.get_dummies(both, drop_first=True).to_numpy(float)
    design = np.column_stack([np.ones(len(both)), design])
    truth = np.repeat([0.0, 1.0], [len(original), len(made)])
    beta = np.zeros(design.shape[1])
    for _ in range(30):
        score = expit(design @ beta)
        information = design.T @ (design * (score * (1 - score))[:, None])
        beta += np.linalg.solve(information, design.T @ (truth - score))
    return np.mean((expit(design @ beta) - 0.5) ** 2), design.shape[1]


def test_table_2_equals_a_slow_logit(study, datasets, parsed, done):
    rows = parsed["Table 2"][1:]
    assert [row[0] for row in rows] == list(METHODS)
    exact = done[2]["propensity"]["datasets"]
    for row, own, made in zip(rows, exact, datasets.values(), strict=True):
        value, parameters = slow_pmse(study.frame, made)
        expected = (parameters - 1) * 0.125 / 300
        assert own["pmse"] == pytest.approx(value, rel=1e-6)
        close(row[2], (value - expected) / (np.sqrt(2 * (parameters - 1)) * 0.125 / 300))
        close(row[3], value / expected)


def test_table_3_equals_slow_ratios(study, datasets, parsed):
    rows = parsed["Table 3"][1:]
    assert [tuple(row[:2]) for row in rows[:-1]] == list(combinations(ORDER, 2))
    for place, made in enumerate(datasets.values()):
        means = []
        for pair in combinations(ORDER, 2):
            ours, theirs = shares(study.frame, pair), shares(made.fillna(""), pair)
            cells = [
                (ours.get(cell, 0.0), theirs.get(cell, 0.0))
                for cell in product(*(study.frame[name].unique() for name in pair))
            ]
            means.append(np.mean([min(cell) / max(cell) for cell in cells if max(cell)]))
        for row, mean in zip(rows, [*means, np.mean(means)], strict=True):
            close(row[2 + place], mean)


def slow_caps(original, made):
    """Return for every original record CAP, non-matches as zero."""
    people, others = (list(f[[*KEYS, "job"]].itertuples(index=False)) for f in (original, made))
    found = []
    for *key, job in people:
        same = [other[-1] for other in others if list(other[:-1]) == key]
        found.append(same.count(job) / len(same) if same else 0.0)
    return np.array(found)


def test_risk_and_utility_equal_slow_ones(study, datasets, parsed):
    original = study.frame
    unique = ~original.duplicated(list(KEYS), keep=False).to_numpy()
    guess = original["job"].map(original["job"].value_counts(normalize=True)).to_numpy()
    own, baseline, *rows = parsed["Risk and utility"][1:]
    assert own[1:3] == ["0", "1"]
    close(own[3], slow_caps(original, original).mean())
    close(baseline[2], guess[unique].mean())
    close(baseline[3], guess.mean())
    for row, (name, frame) in zip(rows, datasets.items(), strict=True):
        made = frame.fillna("")
        caps = slow_caps(original, made)
        both = pd.concat([shares(original, ORDER), shares(made, ORDER)], axis=1).fillna(0)
        assert row[0] == name
        close(row[1], jensenshannon(both[0], both[1], base=2))
        close(row[2], caps[unique].mean())
        close(row[3], caps.mean())
        if name in METHODS[:2]:
            # the order of the records is another one: what is there at least is counted
            both = Counter(map(tuple, original[list(ORDER)].to_numpy()))
            both &= Counter(map(tuple, made[list(ORDER)].to_numpy()))
            assert 0 < number(row[4]) <= both.total() / len(original) + 6e-4
        else:
            assert row[4] == "–"


def test_evolutions_end_where_the_datasets_lie(done, parsed):
    _, _, numbers = done
    risk = {row[0]: row for row in parsed["Risk and utility"]}
    rows = parsed["Figure 6"][1:]
    assert [row[0] for row in rows] == list(METHODS[:2])
    for row in rows:
        assert (row[1], row[4], row[6]) == ("4", *risk[row[0]][1:3])
        assert len(numbers["evolutions"][row[0]]["history"]) == 5


def test_the_settings_are_the_papers(done):
    found = compare_genetic_study.methods(compare_genetic_study.Settings())
    assert found["genetic (paper)"]["genetic"] == {
        "start": "mutants", "generations": 57, "population": 100, "crossover": 0.1,
        "mutation": 0.001, "mutants": 0.02, "aimed": 0, "rates": "fixed", "risk_floor": 0,
        "patience": None, "redraw": "marginal",
    }  # fmt: skip
    apart = {"sample": {"even": False}}
    assert found["CART"] == {"models": {"cart": {"min_leaf": 5, "even": False}, **apart}}
    assert found["parametric"] == {"default_method": "parametric", "models": apart}
    assert list(found) == list(METHODS)
    assert done[2]["methods"]["genetic (package)"] == {
        "genetic": {
            "start": "mutants",
            "generations": 4,
            "population": 8,
            "redraw": "marginal",
        }
    }


def test_a_start_from_the_chain(file, tmp_path):
    out = tmp_path / "page.html"
    words = ("--target", "job", "--drop", "pay,name", "--start", "chain", "--levels", 2)
    words += ("--redraw", "uniform")
    done = call(file, *WORDS, *words, "--out", out)
    assert done.exit_code == 0, done.output
    assert "datasets of the CART chain" in done.output
    assert "mutation 0.001 (uniform redraws)" in done.output
    assert "start from mutants, as they are" not in done.output
    # a variable with one level has no test, and rarer levels share a bar
    assert "| one | 0 | 0 | – |" in done.output
    assert "hill-top" not in out.read_text()
    assert "other levels" in out.read_text()


def test_too_many_parameters_are_told(tmp_path):
    codes = np.arange(2_100)
    frame = pd.DataFrame({"a": codes % 600, "b": codes % 601, "t": codes % 2}).astype(str)
    frame[["a", "b"]] = "c" + frame[["a", "b"]]
    frame.to_csv(tmp_path / "many.csv", index=False)
    settings = compare_genetic_study.Settings()
    study = compare_genetic_study.prepare(tmp_path / "many.csv", ["a", "b"], "t", settings)
    why = compare_genetic_study._propensity(study.table, [study.table])
    assert "more than 1000 parameters" in why
    block = compare_genetic_page._propensity(SimpleNamespace(propensity=why))
    assert block.paragraphs == [f"Not here: {why}"]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--keys", "area,nowhere", "--target", "area"],
         ["'nowhere' is not in the data", "'area' is also a key", "'pay' has", "'name' has 150"]),
        (["--keys", "area,pay", "--target", "job", "--drop", "name,no"],
         ["--drop: 'no' is not in the data", "distinct numbers (at most 100", "group it"]),
        (["--keys", "area", "--target", "one", "--drop", "pay,name"], ["only one value"]),
        (["--keys", "area", "--target", "job", "--drop", "pay,name"], ["no record is unique"]),
        (["--keys", "", "--target", "job", "--drop", "pay,name"], ["name columns as A,B,C"]),
    ],
)  # fmt: skip
def test_mistakes_are_told(file, tmp_path, words, parts):
    done = call(file, *words, "--out", tmp_path / "page.html")
    assert done.exit_code == 2
    told = " ".join(done.output.split())
    assert [part for part in parts if part not in told] == []
    assert not (tmp_path / "page.html").exists()


def test_files_that_are_not_there_or_in_the_way(file, tmp_path):
    asked = ("--keys", "area", "--target", "job")
    missing = call(tmp_path / "none.csv", *asked, "--out", tmp_path / "page.html")
    assert (missing.exit_code, "no such file" in missing.output) == (2, True)
    itself = call(file, *asked, "--out", file, "--overwrite")
    assert (itself.exit_code, "different files" in itself.output) == (2, True)
    (tmp_path / "page.html").touch()
    there = call(file, *asked, "--out", tmp_path / "page.html")
    assert (there.exit_code, "exists already" in there.output) == (2, True)


def test_one_column(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("a\n1\n2\n1\n")
    with pytest.raises(DataError, match="'a' is also a key"):
        compare_genetic_study.prepare(path, ["a"], "a", compare_genetic_study.Settings())
