"""The simulated federal workforce: its blocks, what must be true of it, and its pay gaps."""

import hashlib

import numpy as np
import pytest
from workforce import COEFFICIENT_OF_WOMEN, COEFFICIENTS

from synthesizer.data.errors import DataError
from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce import pay
from synthesizer.data.samples.workforce.constants import MAX_PERSONS, PLANS, VARIABLES
from synthesizer.data.samples.workforce.persons import allowed_educations
from synthesizer.data.samples.workforce.positions import AMOUNTS, COLUMNS, levels
from synthesizer.data.samples.workforce.simulation import block_sizes, simulate, simulate_block
from synthesizer.data.samples.workforce.world import world

GENERAL = ("GS", "GM", "GG")


@pytest.fixture(scope="module")
def table():
    return simulate(4000, seed=4)


@pytest.fixture(scope="module")
def frame(table):
    return table.to_pandas()


@pytest.fixture(scope="module")
def codes(table):
    """Return the codes of every column; amounts as they are."""
    arrays = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        values = column if name in (*AMOUNTS, "person", "year") else column.indices
        arrays[name] = values.to_numpy().astype(np.int64)
    return arrays


@pytest.fixture(scope="module")
def following(codes):
    """Return pairs of rows of one person in successive years."""
    same = (np.diff(codes["person"]) == 0) & (np.diff(codes["year"]) == 1)
    first = np.flatnonzero(same)
    return first, first + 1


def test_it_has_a_row_a_person_and_year_and_29_variables(table, frame):
    assert tuple(table.column_names) == COLUMNS
    assert len(VARIABLES) == 29
    assert set(levels()) == set(VARIABLES) - set(AMOUNTS)
    assert {name: len(set(levels()[name])) for name in ("agency", "occupation", "sex")} == {
        "agency": 607, "occupation": 803, "sex": 2,
    }  # fmt: skip
    assert not frame.isna().any().any()
    order = frame[["person", "year"]].drop_duplicates().to_numpy()
    assert (np.lexsort(order.T[::-1]) == np.arange(len(frame))).all()
    assert frame["person"].nunique() == 4000
    assert set(frame["year"]) == set(range(1988, 2012))
    assert 7.5 < len(frame) / 4000 < 8.5


def test_the_records_of_a_seed_stay_the_same(codes):
    """The laws below allow for chance; this allows for nothing."""
    values = np.column_stack([*codes.values()])
    assert hashlib.sha256(values.tobytes()).hexdigest()[:16] == "fd9207a6e2330cde"


def test_agencies_have_their_years_and_occupations_and_these_need_education(frame, codes):
    fixed = world()
    year, agency, occupation = codes["year"], codes["agency"], codes["occupation"]
    assert (fixed.first[agency] <= year).all()
    assert (year <= fixed.last[agency]).all()
    assert (fixed.mix[agency, occupation] > 0).mean() > 0.999
    known = codes["education"] < len(p.EDUCATIONS)
    allowed = allowed_educations()[fixed.needs[occupation[known]], codes["education"][known]]
    assert allowed.all()
    assert (frame["occupational_category"].cat.codes == fixed.category[occupation]).all()


def test_few_people_move_leave_for_a_time_or_change_what_stays(frame):
    people, year = frame.groupby("person"), frame["year"]
    agencies, first, last = people["agency"].nunique(), people["year"].min(), people["year"].max()
    known = frame[frame["education"] != p.MISSING]
    rise = known["education"].cat.codes.groupby(known["person"]).diff()
    fell = known["person"][rise < 0], frame["person"][people["military_service"].diff() < 0]
    customs = frame["person"][(frame["agency"] == "TRCU") & (year == 2002)]
    heirs = frame["agency"][(year == 2003) & frame["person"].isin(customs)].isin(["HSCB", "HSIC"])
    races = simulate(20_000, seed=2).select(["person", "race"]).to_pandas()
    for value, low, high in (
        (agencies.mean(), 1.1, 1.3), ((agencies == 1).mean(), 0.8, 1), (heirs.mean(), 0.8, 1),
        ((last - first + 1 > people.size()).mean(), 0.04, 0.12), ((rise > 0).mean(), 0.005, 0.2),
        ((first == 1988).mean(), 0.25, 0.4), ((last < 2011).mean(), 0.5, 1),
        (1 - len(known) / len(frame), 0.014, 0.024),
        *((persons.nunique() / 4000, 0.0002, 0.03) for persons in fell),
        ((races.groupby("person")["race"].nunique() == 1).mean(), 0.969, 0.977),
    ):  # fmt: skip
        assert low < value <= high


def test_pay_is_that_of_the_table_but_for_two_percent_at_a_neighbouring_step(codes):
    grades = levels()["grade"]
    stepped = np.array([plan.stepped for plan in PLANS.values()])[codes["pay_plan"]]
    rows = np.flatnonzero(stepped)
    plan, step, year = codes["pay_plan"][rows], codes["step"][rows] - 1, codes["year"][rows]
    of_plan = [
        {grades.index(g): k for k, g in enumerate(definition.grades)}
        for definition in PLANS.values()
    ]
    grade = np.array([of_plan[a][b] for a, b in zip(plan, codes["grade"][rows], strict=True)])
    true = codes["basic_pay"][rows]
    in_table = pay.basic_pay(plan, grade, step, year) == true
    beside = [pay.basic_pay(plan, grade, step + aside, year) == true for aside in (-1, 1)]
    assert 0.015 < 1 - in_table.mean() < 0.025
    assert (in_table | beside[0] | beside[1]).all()


def test_the_general_schedule_spans_thirty_percent_and_grows_by_the_raises():
    zero, grade = np.zeros(3, dtype=int), np.array([4, 10, 14])
    year = np.full(3, 2005)
    low, high = (pay.basic_pay(zero, grade, zero + step, year) for step in (0, 9))
    np.testing.assert_allclose(high / low, 1.3, atol=0.001)
    before = pay.basic_pay(zero, grade, zero, year - 1)
    np.testing.assert_allclose(low / before, 1 + p.RAISES[2005 - 1988] / 100, atol=0.001)
    assert pay.basic_pay(zero, grade, zero, year + 6)[0] == 27_400


def test_steps_come_by_waiting_one_two_and_three_years(codes):
    general = codes["pay_plan"] == PLANS_INDEX["GS"]
    new = np.ones(len(general), dtype=bool)
    for k, name in enumerate(("person", "pay_plan", "grade", "step")):
        change = np.diff(codes[name]) != 0
        new[1:] = change if k == 0 else new[1:] | change
    start = np.flatnonzero(new)  # spells in one step; years out do not count
    length = np.diff([*start, len(new)])
    same = (codes["person"][start][1:] == codes["person"][start][:-1]) & general[start[1:]]
    same &= (codes["grade"][start][1:] == codes["grade"][start][:-1]) & general[start[:-1]]
    rise = codes["step"][start][1:] - codes["step"][start][:-1]
    assert (rise[same] == 1).mean() > 0.99
    # spells that begin and end with a step in the same grade
    whole = np.flatnonzero(same[1:] & same[:-1] & (rise[1:] == 1) & (rise[:-1] == 1)) + 1
    step, years = codes["step"][start][whole], length[whole]
    waits = np.array(p.WAITS)[step - 1]
    assert set(step) == set(range(2, 10))
    assert (years <= waits).all()
    assert (years == waits).mean() > 0.9


PLANS_INDEX = {name: k for k, name in enumerate(PLANS)}


def test_specialists_climb_the_two_grade_ladder(frame, codes, following):
    before, after = following
    grade = codes["grade"]  # codes of numbered grades are the grades
    general = np.isin(frame["pay_plan"], GENERAL)
    specialist = np.isin(frame["occupational_category"], ["P", "A"])
    rows = general[before] & general[after] & specialist[before] & specialist[after]
    rows &= grade[after] > grade[before]
    old, new = grade[before][rows], grade[after][rows]
    expected = {5: 7, 7: 9, 9: 11, 11: 12, 12: 13, 13: 14, 14: 15}
    ladder = np.isin(old, list(expected))
    right = [expected[a] == b for a, b in zip(old[ladder], new[ladder], strict=True)]
    assert len(right) > 300
    assert np.mean(right) > 0.97


def test_the_position_hangs_together(frame):
    science = frame["functional_class"] != "00"
    family = frame["occupation"].astype(str).str[:2]
    assert set(family[science]) <= {"04", "08", "13", "15"}
    assert (frame["locality_adjustment"][frame["year"] < 1994] == 0).all()
    general = (frame["pay_plan"] == "GS") & (frame["year"] >= 1994)
    assert (frame["locality_adjustment"][general] > 0).all()
    assert ((frame["pay_basis"] == "PH") == frame["pay_plan"].isin(["WG", "WL", "WS"])).all()
    boss = frame["supervisory_status"].isin(["2", "4", "5"])
    assert (frame["bargaining_unit"][boss] == "8888").all()
    assert (frame["supervisory_differential"][~boss] == 0).all()
    assert (frame["tenure"][frame["appointment_type"] == "10"] == "1").all()
    assert (frame["step"][frame["pay_plan"] == "ES"] == "00").all()
    degree, known = frame["education"].astype(str) >= "10", frame["education"] != p.MISSING
    assert (frame["years_since_degree"][known & degree] != "none").all()
    same = frame["race"].astype(str) == frame["race_bridge"].astype(str)
    assert same[frame["year"] < p.BRIDGE_SINCE].all()


def test_a_block_depends_on_seed_and_number_only():
    options = {"seed": 3, "years": range(1988, 2012), "block": 300}
    parts = [simulate_block(k, n, **options) for k, n in enumerate(block_sizes(700, 300))]
    ids = [np.unique(part["person"].to_numpy()) for part in parts]
    assert [len(persons) for persons in ids] == [300, 300, 100]
    assert np.concatenate(ids).tolist() == list(range(1, 701))
    assert parts[1].equals(simulate_block(1, 300, **options))
    larger = simulate(1200, seed=3, block=300)
    assert larger.slice(0, parts[0].num_rows) == parts[0]
    assert not parts[0].drop(["person"]).equals(parts[1].drop(["person"]))
    assert not parts[0].equals(simulate_block(0, 300, **options | {"seed": 4}))


@pytest.mark.parametrize(("persons", "first", "last"), [(400, 1995, 2004), (1, 2011, 2011)])
def test_any_years_and_persons_can_be_asked_for(persons, first, last):
    table = simulate(persons, first_year=first, last_year=last)
    years = table["year"].to_numpy()
    assert (years.min(), years.max()) == (first, last)
    assert len(set(table["person"].to_numpy())) == persons


def test_all_bad_arguments_are_refused_at_once():
    for wrong, names in (
        ({"persons": MAX_PERSONS + 1, "seed": -1, "block": 0}, ["persons", "seed", "block"]),
        ({"persons": 0, "first_year": 1987, "last_year": 2012}, ["persons", "first", "last"]),
        ({"persons": 9, "first_year": 2000, "last_year": 1999}, ["last_year (1999)"]),
    ):
        with pytest.raises(DataError) as caught:
            simulate(**wrong)
        problems = caught.value.problems
        assert len(problems) == len(names)
        assert all(any(name in text for text in problems) for name in names)


# The regression of the paper finds the gaps that the parameters name.

PERSONS = 25_000


@pytest.fixture(scope="module")
def sample():
    names = ["sex", "race", "education", "age_range", "agency", "occupation", "year", "basic_pay"]
    frame = simulate(PERSONS, seed=11).select(names).to_pandas()
    return frame[(frame["race"] != "unspecified") & (frame["education"] != p.MISSING)]


def without_effects(x, groups):
    """Return the residuals of the columns on all group effects (alternating projections)."""
    x = x - x.mean(axis=0)
    for _ in range(8):
        for codes in groups:
            count = np.maximum(np.bincount(codes), 1)
            for k in range(x.shape[1]):
                x[:, k] -= (np.bincount(codes, x[:, k]) / count)[codes]
    return x


def coefficients(frame, columns):
    """Regress log pay on columns, age, its square and education within the effects."""
    age = frame["age_range"].astype(str).str[:2].astype(float).to_numpy() + 2
    years = np.array(p.EDUCATION_YEARS)[frame["education"].cat.codes]
    y = np.log(frame["basic_pay"].to_numpy())
    x = np.column_stack([y, age, age**2, years, *columns.values()])
    effects = [frame[name].cat.codes.to_numpy() for name in ("agency", "occupation")]
    x = without_effects(x, [*effects, frame["year"].to_numpy() - 1988])
    slopes = np.linalg.lstsq(x[:, 1:], x[:, 0], rcond=None)[0]
    return dict(zip(["age", "age2", "education", *columns], slopes, strict=True))


@pytest.mark.parametrize("sex", p.SEXES)
def test_race_gaps_are_those_documented(sample, sex):
    part = sample[sample["sex"] == sex]
    races = {race: (part["race"] == race).to_numpy(float) for race in p.RACES[:4]}
    slopes = coefficients(part, races)
    for name, true in COEFFICIENTS[sex].items():
        tolerance = {"AIAN": 0.03, "Asian": 0.025}.get(name, 0.016)
        tolerance = {"age": 0.004, "age2": 0.00004, "education": 0.003}.get(name, tolerance)
        assert abs(slopes[name] - true) < tolerance, (name, slopes[name], true)


def test_women_are_paid_as_documented(sample):
    white = sample[sample["race"] == "White"]
    slopes = coefficients(white, {"women": (white["sex"] == "F").to_numpy(float)})
    assert abs(slopes["women"] - COEFFICIENT_OF_WOMEN) < 0.01
    for gap in p.GAPS:  # those that are injected are near those documented
        assert abs((gap.first + gap.last) / 2 - COEFFICIENTS[gap.sex][gap.race]) < 0.01
