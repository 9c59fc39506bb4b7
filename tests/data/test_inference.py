"""Kinds and missing codes, guessed and declared."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthesizer import Synthesizer
from synthesizer.data.encoding import data_notes, encode
from synthesizer.data.errors import DataError
from synthesizer.data.guessing import Declaration, infer
from synthesizer.data.missing_codes import far_codes
from synthesizer.data.roles import roles_of
from synthesizer.data.sources import RawTable, from_pandas, read_path
from synthesizer.data.table import Kind, Variable

N = 60
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def _raw(folder: Path, **columns: Sequence[object]) -> RawTable:
    """Write a CSV file whose columns repeat the given cells up to N rows."""
    cells = [[str(values[i % len(values)]) for i in range(N)] for values in columns.values()]
    lines = [",".join(columns), *(",".join(row) for row in zip(*cells, strict=True))]
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_path(path)


def _one(folder: Path, values: Sequence[object], name: str = "x", **options: object) -> Variable:
    raw = _raw(folder, **{name: values, "other": range(25)})
    declared = {name: Declaration(**options)} if options else {}  # type: ignore[arg-type]
    return infer(raw, declared)[0].variable


GUESSES = [
    (range(25), Kind.NUMERIC, (), 0),
    ([f"2020-01-07T10:{i:02d}:00Z" for i in range(N)], Kind.DATE, (), None),
    (["31.12.2019 10:00", "01.01.2020 10:59"], Kind.DATE, (), None),
    (["1/13/2019 9:05", "12/2/2020 23:59"], Kind.DATE, (), None),
    (["secondary", "Primary", "tertiary"], Kind.ORDERED, (), None),
    (["Mar", "Jan", "Dec"], Kind.ORDERED, (), None),
    (["wysoki", "niski", "średni"], Kind.ORDERED, (), None),
    (["L", "XL", "S"], Kind.ORDERED, (), None),
    ([*range(20), -1, -2], Kind.NUMERIC, (), 0),
    ([*range(20), "NA", ".", "null"], Kind.NUMERIC, (".", "NA", "null"), 0),
    ([1, 2, 3], Kind.CATEGORICAL, (), None),
    ([1, 2, "N"], Kind.CATEGORICAL, ("N",), None),
    ([*range(20), "N", ""], Kind.NUMERIC, ("", "N"), 0),
    ([*range(20), -8, -9], Kind.NUMERIC, ("-8", "-9"), 0),
    ([1, 2, -9, "unknown"], Kind.CATEGORICAL, ("-9",), None),
    ([*range(20), -5], Kind.NUMERIC, (), 0),
    ([-1, 0, 1], Kind.CATEGORICAL, (), None),
    (["-1.0", "0.0", "1.0", ""], Kind.CATEGORICAL, ("",), None),
    ([-2, 0, 2], Kind.CATEGORICAL, (), None),
    ([-2, -1, 0, 1, 2, -8, -9], Kind.CATEGORICAL, ("-8", "-9"), None),
    ([-1, 0, 1, 2, 3, 4], Kind.CATEGORICAL, (), None),
    ([-1, *range(20)], Kind.NUMERIC, (), 0),
    ([-1, -1, -1, *range(20)], Kind.NUMERIC, ("-1",), 0),
    ([-1, 1, 2, 3, 4, 5], Kind.CATEGORICAL, ("-1",), None),
    ([-1, -8, -9, 0, 1, 2], Kind.CATEGORICAL, ("-1", "-8", "-9"), None),
    ([-1, 0, 1, 2, -9], Kind.CATEGORICAL, ("-1", "-9"), None),
    ([-1, "yes", "no"], Kind.CATEGORICAL, ("-1",), None),
    (range(-9, 20), Kind.NUMERIC, (), 0),
    (["1.5", "2", "2.25"], Kind.NUMERIC, (), 2),
    (["0.12345678", "2"], Kind.NUMERIC, (), None),
    (["007", "012", "110"], Kind.CATEGORICAL, (), None),
    (["TRUE", "FALSE", "NA"], Kind.BOOLEAN, ("NA",), None),
    (["2019-01-05", "2020-12-31", ""], Kind.DATE, ("",), 0),
    ([f"2020-01-07 10:25:{i:02d}.250+00:00" for i in range(N)], Kind.DATE, (), None),
    (["2019-02-30", "2019-02-31"], Kind.CATEGORICAL, (), None),
    (["01/13/2019 9:05:01 PM", "12/02/2020 11:59:00 AM"], Kind.DATE, (), None),
    ([20190101 + i for i in range(28)], Kind.DATE, (), 0),
    ([20199901 + i for i in range(28)], Kind.NUMERIC, (), 0),
    (["16-24", "65+", "25-64"], Kind.ORDERED, (), None),
    (["low", "High", "other"], Kind.CATEGORICAL, (), None),
    (["de acuerdo", "muy de acuerdo", "en desacuerdo"], Kind.ORDERED, (), None),
    (["2. spesso", "1. mai", "3. sempre"], Kind.ORDERED, (), None),
    ([f"P{i:04d}" for i in range(N)], Kind.ID, (), 0),
    ([i * 7 % 61 for i in range(N)], Kind.ID, (), 0),
    ([i * 97 % 1009 for i in range(N)], Kind.NUMERIC, (), 0),
    ([2**60 + i for i in range(N)], Kind.ID, (), 0),
]


def test_guesses(tmp_path):
    for values, *expected in GUESSES:
        variable = _one(tmp_path, values)
        guess = [variable.kind, variable.missing, variable.decimals]
        assert guess == expected, values


def test_names_of_identifiers(tmp_path):
    values = [i * 97 % 1009 for i in range(N)]
    for name in ["person_id", "ID", "personID", "id", "hhid", "persnr", "idhous00", "schoolid"]:
        assert _one(tmp_path, values, name).kind is Kind.ID
    for name in ["ideal", "paid", "unpaid", "religion", "income", "president"]:
        assert _one(tmp_path, values, name).kind is Kind.NUMERIC


NUMBERINGS = {
    "a permutation": np.random.default_rng(1).permutation(400) + 1,
    "gaps": np.sort(np.random.default_rng(2).choice(1_200, 400, replace=False)),
    "a few far away": np.append(
        np.random.default_rng(3).permutation(390), 900 + np.arange(10) ** 5
    ),
    "sites and persons": np.array([1_000 * site + i for site in range(20) for i in range(1, 21)]),
}
AMOUNTS = {
    "incomes": np.random.default_rng(7).lognormal(10, 0.8, 200).astype(int),
    "sorted incomes": np.sort(np.random.default_rng(7).lognormal(10, 0.8, 200).astype(int)),
    "populations": np.sort(np.random.default_rng(5).lognormal(15, 2, 150).astype(int))[::-1],
    "changes": np.random.default_rng(6).permutation(200) - 100,
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, Kind.ID) for name in NUMBERINGS), *((name, Kind.NUMERIC) for name in AMOUNTS)],
)
def test_numbers_that_count_rows_are_identifiers_and_amounts_are_not(name, kind):
    values = {**NUMBERINGS, **AMOUNTS}[name]
    assert len(np.unique(values)) == len(values)
    years = np.arange(1900, 1900 + len(values))
    assert _kinds(pd.DataFrame({"x": values})) == {"x": kind}
    assert _kinds(pd.DataFrame({"year": years[:80]})) == {"year": Kind.NUMERIC}


PHONES = np.random.default_rng(8).integers(500_000_000, 899_999_999, 400)
PERSONS = 10**10 * np.random.default_rng(9).integers(4, 9, 400) + PHONES


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (PHONES, Kind.NUMERIC),  # amounts may have ten digits, as seconds since 1970 do
        (PERSONS, Kind.ID),
        (978 * 10**10 + PHONES, Kind.ID),
        (np.where(np.arange(400) % 41, PERSONS, PERSONS[0]), Kind.ID),  # a few occur twice
        (np.append(PERSONS.astype(float), np.nan), Kind.ID),
        (np.where(np.arange(400) % 9, PERSONS, PERSONS[0]), Kind.NUMERIC),
        (PERSONS // 1000 * 1000, Kind.NUMERIC),  # rounded amounts
        (np.append(PERSONS, 7_000_000), Kind.NUMERIC),  # of two lengths
        (PERSONS // 1000, Kind.NUMERIC),
        (PERSONS[:40], Kind.NUMERIC),
        (PERSONS / 2, Kind.NUMERIC),
    ],
)
def test_long_numbers_of_one_length_are_identifiers(values, kind):
    assert _kinds(pd.DataFrame({"contact": values})) == {"contact": kind}


def test_numbers_far_outside_may_be_missing_codes():
    ages = np.arange(20.0, 76.0)
    assert far_codes(np.append(ages, [98, 99, 99])) == (98.0, 99.0)
    assert far_codes(np.append(ages / 10, 9999999)) == (9999999.0,)
    assert far_codes(np.append(ages, -999.9)) == (-999.9,)
    assert far_codes(np.append(ages, [120.0, 77.0])) == ()
    assert far_codes(np.arange(20.0, 100.0)) == ()


def test_most_values_of_an_identifier_are_distinct():
    def kind_and_reason(name: str, values: list[int]) -> tuple[Kind, str]:
        item = infer(from_pandas(pd.DataFrame({name: values})))[0]
        return item.variable.kind, item.reason

    households = [5000 + i * 7919 % 1677 for i in range(2000)]  # 84 % distinct
    assert kind_and_reason("idhous00", households)[0] is Kind.ID
    assert kind_and_reason("idhous00", [v // 3 for v in households])[0] is Kind.NUMERIC
    kind, reason = kind_and_reason("wages", households)
    assert kind is Kind.NUMERIC
    assert "if wrong, write kind: id" in reason
    assert kind_and_reason("wages", [v // 3 for v in households]) == (Kind.NUMERIC, "whole numbers")


def _kinds(frame: pd.DataFrame) -> dict[str, Kind]:
    return {i.variable.name: i.variable.kind for i in infer(from_pandas(frame))}


def test_codes_are_no_quantities():
    """Frequencies of codes go up and down; amounts are round, ages dense, counts begin near 0."""
    rng = np.random.default_rng(4)
    n = 6_000

    def drawn(values: Sequence[int], shares: np.ndarray) -> np.ndarray:
        return rng.choice(np.asarray(values), n, p=shares / shares.sum())

    industries = np.sort(rng.choice(np.arange(17, 993), 120, replace=False)) * 10
    lognormal = rng.lognormal(7.5, 0.7, n)
    heaped = np.where(rng.random(n) < 0.7, np.round(lognormal, -2), np.round(lognormal, -1))
    frame = pd.DataFrame(
        {
            "branch": drawn(industries, rng.gamma(0.7, size=120)),
            "major": drawn(range(19), rng.gamma(1.0, size=19)),
            "EDU": drawn(range(1, 13), rng.gamma(2.0, size=12)),
            "decile": drawn(range(10), np.ones(10)),
            "zip_code": drawn(range(10_000, 99_999, 997), np.ones(91)),
            "age": np.clip(rng.normal(45, 20, n).round(), 0, 95), "income": heaped,
            "friends": rng.negative_binomial(1, 0.2, n), "score": rng.binomial(21, 0.4, n),
            "year": rng.integers(1940, 2010, n), "weight": np.round(rng.gamma(2, 50, n)) + 1,
        }
    ).astype(int)  # fmt: skip
    numbers = {"age", "income", "friends", "score", "year", "weight"}
    ordered = {"EDU", "decile"}
    expected = dict.fromkeys(frame, Kind.CATEGORICAL) | dict.fromkeys(numbers, Kind.NUMERIC)
    assert _kinds(frame) == expected | dict.fromkeys(ordered, Kind.ORDERED)
    # a control: few rows prove nothing
    assert _kinds(frame[:300])["branch"] is Kind.NUMERIC


@pytest.mark.skipif(not SHARED.exists(), reason="needs the shared data")
def test_kinds_of_a_census_sample():
    kinds = {i.variable.name: i.variable.kind for i in infer(read_path(SHARED / "ma2019.csv"))}
    numeric = {"AGEP", "DENSITY", "PINCP", "POVPIP", "PWGTP", "WGTP"}
    assert {name for name, kind in kinds.items() if kind is Kind.NUMERIC} == numeric
    assert {name for name, kind in kinds.items() if kind is Kind.ORDERED} == {"EDU", "PINCP_DECILE"}


def test_levels_of_ranges_and_scales_are_in_order(tmp_path):
    ranges = ["under 5", "5-9", "10-19", "20 and over"]
    assert _one(tmp_path, ranges[::-1]).levels == tuple(ranges)
    assert _one(tmp_path, ["10", "9", "1"]).levels == ("1", "9", "10")
    assert _one(tmp_path, ["b", "a"]).levels == ("a", "b")
    options = {"kind": Kind.CATEGORICAL, "missing": ("A1",)}
    assert set(_one(tmp_path, ["A1", "01", "1.0", "B"], **options).levels) == {"01", "1.0", "B"}
    assert _one(tmp_path, ["3+", "1", "2"]).levels == ("1", "2", "3+")
    assert _one(tmp_path, ["2-4", "1-3", "5+"]).kind is Kind.CATEGORICAL  # they overlap
    scales = ["muy malo, regular, bueno", "per niente, poco, molto", "gar nicht, sehr, etwas"]
    for words in (*scales, "primaire, secondaire, supérieur", "très mauvais, bon, moyen"):
        assert _one(tmp_path, words.split(", ")).kind is Kind.ORDERED


def test_typed_sources_decide_first():
    frame = pd.DataFrame(
        {
            "grade": pd.Categorical(["b", "a"] * 10, categories=["b", "a", "z"], ordered=True),
            "flag": [True, False] * 10,
            "code": ["1", "2"] * 10,
            "day": pd.to_datetime(["2020-01-01", "2020-02-02"] * 10),
        }
    )
    variables = {item.variable.name: item.variable for item in infer(from_pandas(frame))}
    assert variables["grade"].kind is Kind.ORDERED
    assert variables["grade"].levels == ("b", "a", "z")
    assert variables["flag"].levels == ("false", "true")
    assert variables["code"].kind is Kind.CATEGORICAL
    assert (variables["day"].kind, variables["day"].decimals) == (Kind.DATE, 0)


DECLARED = [
    ([1, 2, 3], {"kind": Kind.NUMERIC}, Kind.NUMERIC),
    (range(25), {"kind": Kind.CATEGORICAL}, Kind.CATEGORICAL),
    ([3, 1, 2], {"kind": Kind.ORDERED}, Kind.ORDERED),
    (["lo", "hi"], {"kind": Kind.ORDERED, "levels": ("lo", "hi", "top")}, Kind.ORDERED),
    (["lo", "hi"], {"levels": ("lo", "hi")}, Kind.CATEGORICAL),
    (["no", "yes"], {"kind": Kind.BOOLEAN}, Kind.BOOLEAN),
    (["01/02/2019", "03/04/2019"], {"date_format": "%d/%m/%Y"}, Kind.DATE),
    (["20190102", "20200102"], {"kind": Kind.DATE, "date_format": "%Y%m%d"}, Kind.DATE),
]


@pytest.mark.parametrize(("values", "options", "kind"), DECLARED)
def test_declarations(tmp_path, values, options, kind):
    variable = _one(tmp_path, values, **options)
    assert variable.kind is kind
    assert variable.levels == options.get("levels", variable.levels)


WRONG = [
    (["", ""], {}, "has no value in any row"),
    ([*range(30), "refused"], {}, "mixes numbers with text"),
    ([*range(30), "inf"], {}, "has infinite numbers"),
    ([*range(30), "1e999"], {}, "has infinite numbers"),
    ([*range(30), "-1.5e170"], {}, r"numbers beyond 1e\+100 in 1 value \(data row 31\)"),
    ([2**53 + 2 * i for i in range(1, 30)], {}, r"beyond 2\*\*53"),
    (["01/02/2019", "03/04/2019"], {}, "which is the day is unclear"),
    ([f"text {i % 58}" for i in range(N)], {"kind": Kind.NUMERIC}, "words and no numbers"),
    ([1, 2, 3], {"kind": Kind.BOOLEAN}, "declared boolean, but has 3"),
    (["a", "b"], {"kind": Kind.ORDERED}, "declare `levels` in order"),
    (["a", "b", "c"], {"levels": ("a", "b")}, "1 text that its declared `levels` lack"),
    (["a", "b"], {"levels": ("a", "a", "b")}, "occur twice"),
    (["a", "b"], {"missing": ("a", "b")}, "besides missing codes|no value in any row"),
    (["a", "b"], {"kind": Kind.DATE}, "no known format"),
    (["2019-01-01", "x"], {"date_format": "%Y-%m-%d"}, "has no dates like"),
    (["1.25", "2.5"], {"kind": Kind.NUMERIC, "decimals": 1}, "more than the declared 1 decimals"),
    (["1.25", "2.5"], {"kind": Kind.NUMERIC, "decimals": -1}, "negative `decimals`"),
    ([f"v{i}" for i in range(N)], {"kind": Kind.CATEGORICAL}, "all its values are distinct"),
    (["a", *range(200)], {"kind": Kind.NUMERIC, "missing": ("b",)}, "contains texts in"),
]


@pytest.mark.parametrize(("values", "options", "message"), WRONG)
def test_problems(tmp_path, values, options, message):
    with pytest.raises(DataError, match=message):
        _one(tmp_path, values, **options)
    with pytest.raises(DataError) as caught:  # the remedy is another where no cell may be empty
        _one(tmp_path, values, every_row=True, **options)
    assert "drop it" not in str(caught.value)
    assert "declare `missing`" not in str(caught.value)


def test_levels_that_differ_by_case_or_blanks_are_to_be_checked(tmp_path):
    raw = _raw(tmp_path, job=["Clerk", "clerk", "CLERK ", "cook"], town=["Ulm", "Bonn"])
    looks = roles_of(raw, {}).looks
    assert looks.keys() == {"job"}
    assert looks["job"].startswith("2 of 4 levels repeat another one")


def test_every_column_has_a_role_or_a_reason(tmp_path):
    dates = [*(f"2020-01-{i % 28 + 1:02d}" for i in range(N - 1)), "late"]
    raw = _raw(
        tmp_path, a=["", ""], person_id=[f"P{i % 50:03d}" for i in range(N)], day=dates, x=[1, 2]
    )
    roles = roles_of(raw, {}, drop=["x"])
    assert (roles.raw.names, {*roles.dropped}) == (("day",), {"a", "person_id", "x"})
    assert roles.declared["day"].missing == ("late",)
    assert roles.looks.keys() == {"day", "a", "person_id"}
    assert roles_of(raw, {}, repeats=True).raw.names == ("person_id", "day", "x")
    for every_row in (False, True):
        with pytest.raises(DataError, match="'a' ") as caught:
            roles_of(raw, {"a": Declaration(every_row=every_row)}, fixed=["a"])
        assert ("drop it" in str(caught.value)) is not every_row
    with pytest.raises(DataError) as caught:
        roles_of(raw, {}, drop=["x", "day", "person_id"])
    assert len(caught.value.problems) == 2


def test_notes(tmp_path):
    raw = _raw(tmp_path, a=["x"], b=[*["p"] * 59, "q"], c=["u", "v"])
    table = encode(raw, {"c": Declaration(missing=("-9",))})
    assert table["c"].variable.missing == ("-9",)
    never, one_value = data_notes(raw, table)
    assert "('a')" in one_value
    assert "'c'" in never


def test_all_problems_at_once_without_values(tmp_path):
    raw = _raw(tmp_path, a=["", ""], b=[*range(30), "SECRET"], c=["x", "y"])
    with pytest.raises(DataError) as caught:
        infer(raw, {"c": Declaration(kind=Kind.NUMERIC), "zz": Declaration()})
    assert len(caught.value.problems) == 4
    assert "SECRET" not in str(caught.value)
    (tmp_path / "text.csv").write_text("a,b\n" + "".join(f"t {max(i, 1)},1\n" for i in range(150)))
    with pytest.raises(DataError, match="149 distinct texts in 150 rows"):
        infer(read_path(tmp_path / "text.csv"))
    assert "data rows 31)" in str(caught.value) or "data row 31)" in str(caught.value)


@pytest.mark.parametrize(("written", "code"), [("-8.0", "-8"), ("-8", "-8.0"), ("-8.00", "-8.0")])
def test_a_code_is_found_however_its_zeros_are_written(tmp_path, written, code):
    variable = _one(tmp_path, [1.5, 2.5, written, *range(20)], missing=(code,))
    assert written in variable.missing
    assert code == written or code not in variable.missing


def test_large_numbers_of_few_rows_are_amounts_and_no_codes():
    grades = np.resize([1, 2, 3], 300)
    few = np.arange(300) < 3
    bonus, answer = np.where(few, 98_765, 0), np.where(few, 9_999, grades)
    frame = pd.DataFrame({"bonus": bonus, "grade": grades, "answer": answer})
    kinds = _kinds(frame)
    assert kinds["bonus"] is Kind.NUMERIC
    assert {kinds["grade"], kinds["answer"]} <= {Kind.CATEGORICAL, Kind.ORDERED}
    made = Synthesizer(seed=1).fit(frame[["bonus", "grade"]]).generate()[0]
    assert 98_765 not in made["bonus"].tolist()
