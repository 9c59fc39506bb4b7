"""The script that draws careers of an original beside synthetic ones."""

import xml.etree.ElementTree as ET

import draw_careers as script
import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

SVG = "{http://www.w3.org/2000/svg}"


def long_frame(states, years=(2001, 2002, 2003)):
    """One row for each letter; a dot where the person is not there."""
    return pd.DataFrame(
        [
            {"who": person, "year": year, "job": f"{state}-job"}
            for person, career in enumerate(states)
            for year, state in zip(years, career, strict=True)
            if state != "."
        ]
    )


@pytest.fixture
def long_files(tmp_path):
    long_frame(["aab", "abb", ".ab", "b..", "aaa", "bbb"]).to_csv(
        tmp_path / "people.csv", index=False
    )
    long_frame(["aaa", "bb.", "aab", "abb"]).to_csv(tmp_path / "made.csv", index=False)
    config = tmp_path / "run.yaml"
    config.write_text(
        "data: {path: people.csv}\npanel: {person: who, time: year, career: job}\n",
        encoding="utf-8",
    )
    return config, tmp_path / "made.csv", tmp_path / "careers.svg"


@pytest.fixture
def wide_files(tmp_path):
    frame = pd.DataFrame({"sex": ["f", "m"] * 3, "t1": list("aabbca"), "t2": list("bbbaac")})
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.iloc[::-1].to_csv(tmp_path / "made.csv", index=False)
    config = tmp_path / "run.yaml"
    config.write_text(
        "data: {path: people.csv}\npanel: {wide: {state: t1..t2}, career: state}\n",
        encoding="utf-8",
    )
    return config, tmp_path / "made.csv"


def run(*words):
    app = typer.Typer()
    app.command()(script.main)
    return CliRunner().invoke(app, [str(word) for word in words])


def read(config, *synthetic):
    return script.read(script.load_config(config), synthetic)


def test_long_files_are_read_by_person_and_period(long_files):
    config, made, _ = long_files
    original, synthetic = read(config, made, made)
    a, b = (original.labels.index(label) for label in ("a-job", "b-job"))
    assert original.periods == ("2001", "2002", "2003")
    assert original.codes[2:4].tolist() == [[-1, a, b], [b, -1, -1]]
    assert synthetic.codes[:2].tolist() == [[a, a, a], [b, b, -1]]
    assert len(synthetic.codes) == 8


def test_periods_that_a_synthetic_file_lacks_stay_empty(long_files, tmp_path):
    config, _, _ = long_files
    frame = long_frame(["aa", "ab"], years=(2001, 2003))
    frame.to_csv(tmp_path / "made.csv", index=False)
    _, synthetic = read(config, tmp_path / "made.csv")
    assert (synthetic.codes[:, 1] == script.ABSENT).all()
    assert (synthetic.codes[:, 2] != script.ABSENT).all()


def test_periods_that_the_original_lacks_are_refused(long_files, tmp_path):
    config, _, out = long_files
    long_frame(["aa", "ab"], years=(2001, 2009)).to_csv(tmp_path / "made.csv", index=False)
    result = run(config, tmp_path / "made.csv", "-o", out)
    assert result.exit_code != 0
    assert "periods that the original has not" in result.output
    assert not out.exists()


def test_wide_files_have_their_columns_as_periods(wide_files):
    original, synthetic = read(*wide_files)
    assert original.periods == ("t1", "t2")
    assert synthetic.codes.tolist() == original.codes[::-1].tolist()


def side(names, codes):
    periods = tuple(f"t{number}" for number in range(len(codes[0])))
    return script.Careers("original", tuple(names), periods, np.array(codes))


def test_labels_with_the_same_first_letters_are_one_state():
    one = side(["ab1", "ab2", "cd1"], [[0, 2], [1, -1], [2, 2]])
    grouped, _ = script.grouped((one, one), 2)
    assert grouped.labels == ("cd", "ab")
    assert grouped.codes.tolist() == [[1, 0], [1, -1], [0, 0]]


@pytest.mark.parametrize(("n_states", "shown"), [(10, 10), (11, 10), (30, 10)])
def test_at_most_ten_states_are_shown(n_states, shown):
    one = side([f"s{code}" for code in range(n_states)], [[code] for code in range(n_states)])
    grouped, _ = script.grouped((one, one), None)
    assert len(grouped.labels) == shown
    assert (grouped.labels[-1] == script.OTHERS) == (n_states > 10)
    assert (grouped.codes == 9).sum() == n_states - 9


def test_persons_are_sorted_by_first_state_then_by_entry():
    codes = np.array([[1, 1, 0], [-1, 0, 0], [0, 0, 1], [-1, 1, 1], [0, 0, 0]])
    drawn = script.sample(codes, 99, np.random.default_rng(1))
    assert drawn.tolist() == [[0, 0, 0], [0, 0, 1], [-1, 0, 0], [1, 1, 0], [-1, 1, 1]]
    few = script.sample(codes, 3, np.random.default_rng(1))
    assert len(few) == 3
    assert len(np.unique(few, axis=0)) == 3


def test_spells_are_where_they_are():
    here = np.array([True, True, False, True])
    assert script.spells(here).tolist() == [[0, 2], [3, 4]]
    assert script.spells(~here).tolist() == [[2, 3]]
    assert script.spells(np.zeros(3, dtype=bool)).tolist() == []


def test_the_picture_is_whole_and_shows_the_shares(long_files):
    config, made, out = long_files
    result = run(config, made, "-o", out, "--persons", 4)
    assert result.exit_code == 0, result.output
    assert "as confidential" in result.output
    root = ET.parse(out).getroot()
    words = [node.text for node in root.iter(f"{SVG}text")]
    assert {"a-job", "b-job", "blank: not there"} <= set(words)
    assert "original: 4 of 6 persons, a line each" in words
    areas = [node.get("points").split() for node in root.iter(f"{SVG}polygon")]
    height = [float(points[-1].split(",")[1]) - float(points[0].split(",")[1]) for points in areas]
    # first year: of the original 2 of 6 persons in b, which is the larger state, and 3 in a; of the
    # synthetic file 1 and 3 of 4, and all of them is where the axis ends
    assert height == pytest.approx([script.TALL * s for s in (2 / 6, 3 / 6, 1 / 4, 3 / 4)], abs=0.2)


def test_an_existing_picture_is_only_replaced_on_request(wide_files, tmp_path):
    out = tmp_path / "careers.svg"
    assert run(*wide_files, "-o", out).exit_code == 0
    first = out.read_text()
    again = run(*wide_files, "-o", out)
    assert again.exit_code != 0
    assert "overwrite" in again.output
    assert run(*wide_files, "-o", out, "--overwrite").exit_code == 0
    assert out.read_text() == first
    assert "blank" not in first


def test_presence_alone_is_one_state(long_files):
    config, made, _ = long_files
    config.write_text("data: {path: people.csv}\npanel: {person: who, time: year}\n")
    original, synthetic = read(config, made)
    assert original.labels == ("there",)
    assert (synthetic.codes == [[0, 0, 0], [0, 0, -1], [0, 0, 0], [0, 0, 0]]).all()


def test_a_run_without_a_panel_is_refused(long_files):
    config, made, out = long_files
    config.write_text("data: {path: people.csv}\n")
    result = run(config, made, "-o", out)
    assert result.exit_code != 0
    assert "no panel" in result.output
