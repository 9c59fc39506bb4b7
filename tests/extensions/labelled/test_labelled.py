"""Files of SPSS, Stata and SAS: read as haven and pyreadstat write them, trap by trap.

The files under ``haven`` were written by R's haven (``make.R`` beside them).
"""

import gzip
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthesizer.config.reading import read_config
from synthesizer.data.encoding import data_notes, encode
from synthesizer.data.errors import DataError, SynthesizerError
from synthesizer.data.guessing import Declaration, infer
from synthesizer.data.sources import RawTable, Texts, read_path
from synthesizer.data.table import Kind
from synthesizer.extensions.labelled import labelled_reading as labelled
from synthesizer.extensions.labelled import workbooks
from synthesizer.plan.inputs import read_raw

pyreadstat = pytest.importorskip("pyreadstat")
HAVEN = Path(__file__).parent / "haven"


@pytest.fixture(autouse=True)
def read_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Try no file in another process first, which takes a second, but where that is the subject."""
    if "monkeypatch" not in request.function.__code__.co_varnames:
        monkeypatch.setattr(labelled, "_refuse_crashing", lambda *_: None)


def column(raw: RawTable, name: str) -> Texts:
    return next(texts for texts in raw.texts if texts.name == name)


def counted(texts: Texts) -> dict[str, int]:
    listed = texts.picked(np.ones(len(texts.counts), dtype=bool))
    return dict(zip(listed, texts.counts.tolist(), strict=True))


@pytest.mark.parametrize("name", ["made.sav", "made.zsav"])
def test_spss_every_missing_code_stays_a_code_of_its_own_haven_33(name):
    """haven #33: labels of several declared missings, a range, and codes without a label."""
    raw = read_path(HAVEN / name)
    answer, income, region = (column(raw, name) for name in ("answer", "income", "region"))
    assert counted(answer) == {"1": 15, "2": 10, "98": 5, "99": 5, "": 5}
    assert answer.labelling.labels == {
        "1": "Yes", "2": "No", "3": "Never", "98": "Do not know", "99": "Refused",
    }  # fmt: skip
    assert set(answer.labelling.missing) == {"98", "99"}
    assert income.labelling.missing_range == (-10, -1)
    assert set(income.labelling.missing) == {"-5", "-3", "-1"}
    assert region.labelling.is_text
    assert region.labelling.labels["longer than eight"] == "The long one"
    assert region.labelling.missing == ("XX",)
    variables = {item.variable.name: item.variable for item in infer(raw)}
    assert set(variables["answer"].missing) == {"", "98", "99"}
    assert variables["answer"].levels == ("1", "2")
    assert set(variables["income"].missing) == {"", "-1", "-3", "-5"}
    assert variables["income"].kind is Kind.NUMERIC
    assert variables["region"].levels == ("a", "b", "longer than eight")
    assert set(variables["region"].missing) == {"", "XX"}
    assert variables["born"].kind is variables["asked"].kind is Kind.DATE
    table = encode(raw)
    assert table["born"].data[0] == 3682  # days from 1970-01-01 to 1980-01-31
    assert table["asked"].data[1] * 86_400 == pytest.approx(1_577_873_473)


@pytest.mark.parametrize("name", ["made.dta", "made8.dta"])
def test_stata_letters_of_missing_values_stay_distinct(name):
    raw = read_path(HAVEN / name)
    why, answer = column(raw, "why"), column(raw, "answer")
    assert counted(why) == {"1": 10, "2": 10, ".a": 5, ".b": 5, "3": 5, "": 5}
    assert why.labelling.labels == {
        "1": "One", "2": "Two", ".a": "Refused", ".b": "Do not know",
    }  # fmt: skip
    if name == "made.dta":
        assert max(map(len, counted(column(raw, "text")))) == 3000
        table = encode(raw.select(["born", "asked"]))
        assert table["born"].data[0] == 3682
        assert table["asked"].data[1] * 86_400 == pytest.approx(1_577_873_473)
    assert counted(answer) == {"1": 20, "2": 15, "": 5}
    assert answer.labelling.label == "Question 1"
    assert set(infer(raw.select(["why"]))[0].variable.missing) == {"", ".a", ".b"}
    declared = {"why": Declaration(kind=Kind.NUMERIC, missing=())}
    assert encode(raw.select(["why"]), declared)["why"].is_observed.sum() == 25  # letters never are


def test_stata_system_missing_among_letters_of_whole_numbers_is_not_zero(tmp_path):
    """pyreadstat's frames hold 0 for ``.`` in a column of whole numbers that has ``.a`` too."""
    answers = pd.Series([1, "a", None, 5] * 5, dtype=object)
    pyreadstat.write_dta(
        pd.DataFrame({"x": answers}), tmp_path / "x.dta", missing_user_values={"x": ["a"]}
    )
    assert counted(read_path(tmp_path / "x.dta").texts[0]) == {"1": 5, ".a": 5, "5": 5, "": 5}


def test_sas(tmp_path):
    (tmp_path / "iris.sas7bdat").write_bytes(
        gzip.decompress((HAVEN / "iris.sas7bdat.gz").read_bytes())
    )
    table = encode(read_path(tmp_path / "iris.sas7bdat"))
    assert table.names == ("Sepal_Length", "Sepal_Width", "Petal_Length", "Petal_Width", "Species")
    assert table["Sepal_Length"].data.mean() == pytest.approx(5.843333)
    assert np.bincount(table["Species"].data).tolist() == [50, 50, 50]
    frame = pd.DataFrame({"day": [0.0, 1.0] * 20, "sex": ["f", "m"] * 20})
    pyreadstat.write_xport(
        frame, tmp_path / "made.xpt", column_labels=["Day", None], variable_format={"day": "DATE9"}
    )
    raw = read_path(tmp_path / "made.xpt")
    assert column(raw, "day").labelling.label == "Day"
    assert counted(column(raw, "day")) == {"1960-01-01": 20, "1960-01-02": 20}


@pytest.fixture
def sas(tmp_path):
    """A file of SAS and the catalogue of its formats, as ``sas/make_sas.py`` writes them."""
    for path in (HAVEN.parent / "sas").glob("*.gz"):
        (tmp_path / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return tmp_path


def test_labels_of_a_catalogue(sas):
    """Two codes with one label stay two codes, and a format is found whatever its width."""
    path, catalogue = sas / "persons.sas7bdat", sas / "formats.sas7bcat"
    raw, plain = read_path(path, of_format={"catalogue": catalogue}), read_path(path)
    sex, town, age = (texts.labelling for texts in raw.texts)
    assert (sex.format, sex.labels) == ("SEXF8.", {"1": "person", "2": "person", "3": "nobody"})
    assert (town.labels, age.labels) == ({"A": "Aachen", "B": "Bern"}, {})
    assert [counted(texts) for texts in raw.texts] == [counted(texts) for texts in plain.texts]
    assert counted(column(raw, "sex")) == {"1": 20, "2": 20}
    assert all(texts.labelling.labels == {} for texts in plain.texts)


def test_a_catalogue_that_does_not_fit_is_a_sentence(sas, monkeypatch):
    formats = (sas / "formats.sas7bcat").read_bytes()
    (sas / "short.sas7bcat").write_bytes(formats[:9000])
    renamed = formats.replace(b"SEXF", b"ELSE").replace(b"TOWN", b"CITY")
    (sas / "other.sas7bcat").write_bytes(renamed)
    for name, words in (
        ("none.sas7bcat", "no such file"),
        ("persons.sas7bdat", "cannot be read as a catalogue"),
        ("short.sas7bcat", "cannot be read as a catalogue"),
        ("other.sas7bcat", "none of the formats"),
    ):
        with pytest.raises(DataError, match=f"catalogue: .*{name}.*{words}"):
            read_path(sas / "persons.sas7bdat", of_format={"catalogue": sas / name})
    probe = "import os, sys; sys.argv[1] == 'read_sas7bcat' and os.abort()"
    monkeypatch.setattr(labelled, "_PROBE", probe)
    with pytest.raises(DataError, match=r"formats.sas7bcat: .* damaged"):
        read_path(sas / "persons.sas7bdat", of_format={"catalogue": sas / "formats.sas7bcat"})


def test_a_configuration_names_a_catalogue_beside_itself(sas):
    data = {"path": "persons.sas7bdat", "catalogue": "formats.sas7bcat"}
    raw = read_raw(read_config({"data": data}, base=sas).data)
    assert column(raw, "town").labelling.labels["A"] == "Aachen"
    (sas / "persons.csv").write_text("a,b\n1,2\n3,4\n")
    for source in ({"path": "persons.csv"}, {"path": None, "sample": "fair"}):
        with pytest.raises(SynthesizerError, match=r"catalogue belongs to a \.sas7bdat file"):
            read_raw(read_config({"data": data | source}, base=sas).data)


MEASURES = {"nominal": Kind.CATEGORICAL, "ordinal": Kind.ORDERED, "scale": Kind.NUMERIC}


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 10.0], [float(x) for x in range(40)]])
def test_the_level_of_measurement_decides_the_kind(tmp_path, values):
    for measure, kind in MEASURES.items():
        frame = pd.DataFrame({"x": values * (80 // len(values))})
        path = tmp_path / "x.sav"
        pyreadstat.write_sav(frame, path, variable_measure={"x": measure})
        (guess,) = infer(read_path(path))
        levels = tuple(f"{value:g}" for value in values) if kind.is_coded else ()
        assert (guess.variable.kind, guess.variable.levels) == (kind, levels)  # levels by size
        declared = infer(read_path(path), {"x": Declaration(kind=Kind.CATEGORICAL)})[0].variable
        assert declared.kind is Kind.CATEGORICAL  # the configuration comes first


def test_values_that_all_have_labels_are_codes_whatever_the_level(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 9.0] * 20, "y": [1.0, 2.0, 3.0] * 20})
    labels = {"x": {1.0: "Yes", 2.0: "Yes"}, "y": {1.0: "none", 2.0: "some"}}
    pyreadstat.write_sav(
        frame, tmp_path / "x.sav", variable_value_labels=labels, missing_ranges={"x": [9]},
        variable_measure={"x": "scale", "y": "scale"},
    )  # fmt: skip
    raw = read_path(tmp_path / "x.sav")
    x, y = (item.variable for item in infer(raw))
    (note,) = data_notes(raw, encode(raw))  # one label of two codes, which stay apart
    assert "'Yes'" in note
    assert (x.kind, x.levels, x.missing) == (Kind.CATEGORICAL, ("1", "2"), ("9",))
    assert y.kind is Kind.NUMERIC  # 3 has no label


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("Strongly disagree", "Disagree", "Neither", "Agree"), Kind.ORDERED),
        (("65+", "45-64", "25-44", "16-24"), Kind.ORDERED),  # downwards
        (("low", "high", "medium", "very high"), Kind.CATEGORICAL),  # codes in another order
        (("north", "south", "east", "west"), Kind.CATEGORICAL),
    ],
)
def test_codes_whose_labels_are_a_scale_are_ordered(tmp_path, words, kind):
    labels = {float(code): word for code, word in enumerate(words, 9)}  # 10 comes after 9
    frame = pd.DataFrame({"x": [*labels] * 20})
    pyreadstat.write_dta(frame, tmp_path / "x.dta", variable_value_labels={"x": labels})
    (guess,) = infer(read_path(tmp_path / "x.dta"))
    assert (guess.variable.kind, guess.variable.levels) == (kind, ("9", "10", "11", "12"))


def test_numbers_and_dates_that_are_odd(tmp_path):
    frame = pd.DataFrame({
        "far": [1e15, 2e15] * 20,  # beyond the year 9999
        "time": [3600.0, 7200.5] * 20,
        "big": [1e22, 0.1] * 20,
        "stamp": [13_797_252_672.25, 13_797_252_673.5] * 20,
    })  # fmt: skip
    formats = {"far": "DATE11", "time": "TIME8", "stamp": "DATETIME23.2"}
    pyreadstat.write_sav(frame, tmp_path / "x.sav", variable_format=formats)
    table = encode(read_path(tmp_path / "x.sav"), {"far": Declaration(kind=Kind.NUMERIC)})
    assert table["far"].data[:2].tolist() == [1e15, 2e15]
    assert table["time"].data[:2].tolist() == [3600.0, 7200.5]
    assert table["big"].data[:2].tolist() == [1e22, 0.1]
    seconds = 13_797_252_672.25 - 12_219_379_200  # from 1582-10-14 to 1970-01-01
    assert table["stamp"].data[0] * 86_400 == pytest.approx(seconds, abs=1e-4)


def spoilt(path: Path, how: str) -> Path:
    data = (HAVEN / path).read_bytes()
    changed = {
        "header": data[:50], "half": data[: len(data) // 2],
        "version": data.replace(b"<release>118", b"<release>190"),
        "other": b"something else " * 100, "empty": b"",
    }  # fmt: skip
    return changed[how]


@pytest.mark.parametrize(
    ("name", "how", "words"),
    [
        *((name, "half", "cut short|damaged") for name in ("made.sav", "made.zsav", "made.dta")),
        ("made.sav", "header", "cut short"),
        ("made.dta", "version", "104 to 119"),
        *((n, "other", "damaged, or not") for n in ("made.sav", "made.xpt")),
        ("made.sav", "empty", "is empty"),
    ],
)
def test_a_damaged_file_is_a_sentence(tmp_path, name, how, words):
    path = tmp_path / name
    path.write_bytes(spoilt(name if (HAVEN / name).exists() else "made.sav", how))
    with pytest.raises(DataError, match=f"{name}: .*({words})"):
        read_path(path)


def test_encodings(tmp_path):
    with pytest.raises(DataError, match="max_unpacked_mb"):
        read_path(HAVEN / "made.zsav", max_unpacked=1000)
    with pytest.raises(DataError, match="nonsense"):
        read_path(HAVEN / "made.sav", encoding="nonsense")
    frame = pd.DataFrame({"x": ["Zürich", "Genf"] * 20})
    pyreadstat.write_sav(frame, tmp_path / "x.sav")
    data = (tmp_path / "x.sav").read_bytes().replace("ü".encode(), b"\xfc\x20")
    (tmp_path / "y.sav").write_bytes(data)
    with pytest.raises(DataError, match="not in the encoding that it states"):
        read_path(tmp_path / "y.sav")


@pytest.mark.parametrize("path", [HAVEN / "made.sav", HAVEN.parent / "workbooks" / "one.xlsx"])
def test_without_the_extra_a_sentence_names_it(path, monkeypatch):
    for module in (labelled, workbooks):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install 'microdata-synthesizer\[labelled\]'"):
        read_path(path)


def test_a_file_that_ends_the_program_is_tried_elsewhere_first(tmp_path, monkeypatch):
    """Whatever reads a file, a command or Python; a sound file and one that only fails pass.

    ``crashing.sav`` is made.sav with bytes changed, on which pyreadstat 1.3.7 ends by a signal.
    """
    with suppress(DataError):  # a later version may read it
        read_path(HAVEN / "crashing.sav")
    read_path(HAVEN / "made.sav")
    (tmp_path / "short.sav").write_bytes((HAVEN / "made.sav").read_bytes()[:90])
    with pytest.raises(DataError, match="cut short"):
        read_path(tmp_path / "short.sav")
    monkeypatch.setattr(labelled, "_PROBE", "import os; os.abort()")
    for name in ("made.sav", "made.dta"):
        with pytest.raises(DataError, match=f"{name}: the file is damaged, and reading it crashes"):
            read_path(HAVEN / name)


@pytest.mark.parametrize(
    ("data", "name", "ending"),
    [
        (b"sex,age\n1,2\n", "x.sav", ".csv"),
        (HAVEN / "made.dta", "x.sav", ".dta"),
        (HAVEN / "made.sav", "x.dta", ".sav"),
        (HAVEN.parent / "workbooks" / "one.xlsx", "x.dta", ".xlsx or .ods"),
    ],
)
def test_a_wrong_ending_is_refused_with_the_right_one(tmp_path, data, name, ending):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.read_bytes())
    with pytest.raises(DataError, match=f"the file is no .*, but looks like a {ending} file"):
        read_path(path)


@pytest.mark.parametrize("name", ["made.sav", "made.zsav", "made.dta", "made8.dta"])
def test_a_declared_number_of_rows_fills_no_memory(tmp_path, name):
    """Half a billion rows are declared, forty are there: refused before anything is read."""
    data = bytearray((HAVEN / name).read_bytes())
    offset = {"made.dta": data.find(b"<N>") + 3, "made8.dta": 6}.get(name, 80)
    count = 8 if name == "made.dta" else 4
    assert int.from_bytes(data[offset : offset + count], "little") == 40
    data[offset : offset + count] = (500_000_000).to_bytes(count, "little")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=f"{name}: .*(unpack to more than|cut short)"):
        read_path(tmp_path / name)


def test_free_text_is_doubted(tmp_path):
    frame = pd.DataFrame({"x": [f"Person {i} is here" for i in range(40)], "y": [1.0, 2.0] * 20})
    pyreadstat.write_sav(frame, tmp_path / "x.sav")
    (guess, _) = infer(read_path(tmp_path / "x.sav"))
    assert guess.variable.kind is Kind.ID
    assert "drop:" in guess.doubt
