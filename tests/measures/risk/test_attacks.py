import json
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.table import Table
from synthesizer.measures.risk.attacks import Attack, attacks
from tests.reference_data import load_reference, needs_reference
from tests.tables import coded, numeric

# The package may offer the function under the module's name.
module = import_module("synthesizer.measures.risk.attacks")

needs_anonymeter = pytest.mark.skipif(
    find_spec("anonymeter") is None, reason="anonymeter is not installed"
)
RARE, COMBINED = "singling out by rare values", "singling out by combinations"
LETTERS = [f"{a}{b}" for a in "abcdefgh" for b in "abcde"]
KEYS = ["age", "town", "pay"]


def rng(seed=1):
    return np.random.default_rng(seed)


def people(n=250, seed=1):
    """Persons that hardly have a double, and a secret that nothing else tells."""
    draw = rng(seed)
    states = np.where(draw.random(n) < 0.2, draw.integers(1, 3, n), 0)
    return Table(
        [
            numeric("age", draw.integers(-10, 80, n)),
            coded("town", draw.integers(0, 40, n), LETTERS),
            numeric("pay", np.round(draw.normal(0, 1e5, n)), states, ("", "-8")),
            coded("street", draw.integers(0, 40, n), LETTERS),
            coded("secret", draw.integers(0, 4, n), "wxyz"),
        ]
    )


FITTED, UNSEEN = people(seed=1), people(seed=2)


def attack(*parts, seed=1, **options):
    options = {"keys": KEYS, "target": "secret", "n_attacks": 200, "max_attempts": 3000} | options
    return attacks(*parts, rng=rng(seed), **options)


@needs_anonymeter
def test_the_fitted_half_as_its_own_copy_is_laid_open():
    result = attack(FITTED, UNSEEN, FITTED, linked=(["age", "pay"], ["town", "street"]))
    assert result[RARE].successes == result[RARE].n > 100
    assert result[COMBINED].successes == result[COMBINED].n == 200
    assert result["inference"].successes == 200
    for each in result.attacks:
        assert each.low > 0, each
        assert each.control_rate < 0.5, each
        assert each.is_weak is False


@needs_anonymeter
def test_a_fresh_sample_gives_nothing_away():
    result = attack(FITTED, UNSEEN, people(seed=3))
    assert len(result.attacks) == 4
    for each in result.attacks:
        assert each.low <= 0 <= each.high, each
    assert result["inference"].rate == pytest.approx(0.25, abs=0.1)


@needs_anonymeter
def test_one_seed_decides_everything():
    made = people(seed=3)
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    one = attack(FITTED, UNSEEN, made)
    after = np.random.get_state()  # noqa: NPY002
    assert before[2] == after[2]
    np.testing.assert_array_equal(before[1], after[1])
    assert one == attack(FITTED, UNSEEN, made)
    assert one != attack(FITTED, UNSEEN, made, seed=2)


@needs_anonymeter
def test_rare_values_counted_by_hand():
    """Conditions: town is ab, town is ad; age at most 1, at least 9, is 1, is 9."""

    def part(towns, ages):
        columns = [coded("town", towns, LETTERS), numeric("age", ages)]
        return Table([*columns, coded("secret", [0, 1, 0, 1], "xy")])

    fitted = part([1, 1, 3, 0], [0, 1, 9, 10])  # met once: ad, is 1, is 9
    unseen = part([1, 3, 4, 4], [1, 2, 3, 4])  # met once: ab, ad, at most 1, is 1
    made = part([1, 2, 2, 3], [1, 5, 5, 9])
    result = attack(
        fitted, unseen, made, keys=["town"], target="secret", names=["town", "age"], n_attacks=99
    )
    rare = result[RARE]
    assert (rare.asked, rare.n) == (99, 6)
    assert (rare.successes, rare.control_successes) == (3, 4)
    assert rare.rate == 0.5
    assert rare.risk == pytest.approx((3 / 6 - 4 / 6) / (1 - 4 / 6))


@needs_anonymeter
def test_a_chosen_number_of_conditions_is_made():
    assert attack(FITTED, UNSEEN, FITTED, n_attacks=7)[RARE].n == 7


@needs_anonymeter
def test_fewer_attacks_than_asked_are_counted_as_made():
    result = attack(FITTED, UNSEEN, FITTED, n_attacks=3000, max_attempts=1000)
    rare, combined, link, inference = result.attacks
    assert rare.rate == combined.rate == 1  # 1 of those made, not a share of 3000
    assert rare.n < 1500
    assert combined.n <= 1000
    assert link.n == inference.n == 250  # no more than there are records
    assert {each.asked for each in result.attacks} == {3000}


@needs_anonymeter
def test_records_that_are_alike_are_several_persons():
    """Both halves hold each record twice: nobody is alone, whatever the synthetic records say."""
    twice = Table([coded("a", [0, 0, 1, 1], "xy"), coded("b", [0, 0, 1, 1], "xy")])
    made = Table([coded("a", [0, 1], "xy"), coded("b", [0, 1], "xy")])
    result = attack(twice, twice, made, keys=["a"], target="b")
    assert result[RARE].n == 4
    assert result[RARE].successes == 0
    assert attack(twice, twice, twice, keys=["a"], target="b")[RARE].n == 0


@needs_anonymeter
def test_synthetic_numbers_between_real_ones_are_told_apart():
    """Each is a condition of its own, which nobody meets."""
    real = Table([numeric("x", [0.0, 1.0] * 5), coded("s", [0, 1] * 5, "xy")])
    made = Table([numeric("x", np.arange(1, 10) / 10), coded("s", [0] * 9, "xy")])
    rare = attack(real, real, made, keys=["x"], target="s", names=["x"])[RARE]
    assert (rare.n, rare.successes) == (11, 0)  # nine values, and both ends


@needs_anonymeter
def test_nothing_to_single_out_is_none():
    values = [0, 0, 1, 1]
    other = [0, 1, 0, 1]
    made = Table([coded("a", values, "xy"), coded("b", other, "xy")])
    result = attack(made, made, made, keys=["a"], target="b")
    rare = result[RARE]
    assert (rare.n, rare.rate, rare.risk, rare.low, rare.is_weak) == (0, None, None, None, None)
    assert all(figure.value is None for figure in rare.figures)


@needs_anonymeter
def test_identical_data_do_not_crash():
    """An attack that always succeeds on unseen records, too, leaves no risk to be measured."""
    result = attack(FITTED, FITTED, FITTED)
    assert result["inference"].control_rate == 1
    assert result["inference"].risk is None
    assert result[RARE].risk is None
    equal = Table([coded("a", [0] * 30, "x"), numeric("b", [1.0] * 30), coded("c", [0, 1] * 15,
                   "xy")])  # fmt: skip
    result = attack(equal, equal, equal, keys=["a", "b"], target="c")
    assert result["linkability"].n == 30
    assert result["inference"].baseline == 0.5


@needs_anonymeter
def test_rare_success_is_no_failure():
    """Synthetic data that have nothing in common with the real ones: no attack can succeed."""
    draw = rng(4)
    made = Table(
        [
            numeric("age", draw.integers(500, 900, 250)),
            coded("town", draw.integers(0, 40, 250), [f"far {i}" for i in range(40)]),
            numeric("pay", draw.normal(9e9, 1e8, 250)),
            coded("street", draw.integers(0, 40, 250), [f"far {i}" for i in range(40)]),
            coded("secret", [0] * 250, ["other"]),
        ]
    )
    result = attack(FITTED, UNSEEN, made)
    assert result["inference"].baseline == 0
    for name in (RARE, "inference"):
        each = result[name]
        assert each.n > 0
        assert each.successes == each.control_successes == 0
        assert each.risk == 0
        assert each.low < 0 < each.high < 0.05
    assert result["inference"].is_weak is False


@needs_anonymeter
def test_guessing_has_its_exact_chance():
    """Three quarters of the synthetic secrets are x, two thirds of the true ones."""
    secret = np.array([0, 0, 1] * 40)
    fitted = Table([coded("a", secret, "xy"), coded("secret", secret, "xy")])
    made = Table([coded("a", [0] * 100, "xy"), coded("secret", [0] * 75 + [1] * 25, "xy")])
    result = attack(fitted, fitted, made, keys=["a"])
    assert result["inference"].n == 120
    assert result["inference"].baseline == pytest.approx(0.75 * 2 / 3 + 0.25 / 3)


@needs_anonymeter
def test_negative_numbers_are_no_right_guesses():
    """Secrets that nothing tells are guessed by chance, of whatever sign they are."""

    def part(seed):
        draw = rng(seed)
        secret = -draw.gamma(2, 1000, 200) - 1
        return Table([numeric("age", draw.integers(0, 90, 200)), numeric("secret", secret)])

    result = attack(part(1), part(2), part(3), keys=["age"])
    inference = result["inference"]
    assert inference.baseline == pytest.approx(0.1, abs=0.01)
    assert inference.rate == pytest.approx(0.1, abs=0.06)


@needs_anonymeter
def test_groups_of_a_numeric_secret_are_those_asked_for():
    def part(seed):
        return Table([coded("a", [0] * 100, "x"), numeric("secret", rng(seed).normal(size=100))])

    result = attack(part(1), part(2), part(3), keys=["a"], groups={"secret": [0.0]})
    assert result["inference"].baseline == pytest.approx(0.5, abs=0.1)


@needs_anonymeter
def test_missing_codes_are_found_by_their_own():
    """The secret is the missing code of the pay, or its sign where there is none."""

    def part(n, seed):
        draw = rng(seed)
        states = draw.integers(0, 3, n)
        pay = np.where(draw.random(n) < 0.5, -1, 1) * draw.integers(50, 60, n)
        secret = np.where(states > 0, states + 1, pay > 0)
        return Table([numeric("pay", pay, states, ("", "-8")), coded("secret", secret, "wxyz")])

    result = attack(part(120, 1), part(120, 2), part(120, 3), keys=["pay"])
    assert result["inference"].rate == 1
    assert result["inference"].control_rate == 1


@needs_anonymeter
def test_a_missing_number_is_not_farther_than_all_else():
    """Town and street tell the secret; in town ab, the pay is missing among synthetic records."""

    def part(missing):
        town = np.array([1, 2] * 30)
        states = missing * (town == 1)
        pay = numeric("pay", np.arange(60.0), states, ("",))
        places = [coded(name, town, LETTERS) for name in ("town", "street")]
        return Table([*places, pay, coded("secret", town, "wxyz")])

    result = attack(part(0), part(0), part(1), keys=["town", "street", "pay"])
    assert result["inference"].rate == 1


@needs_anonymeter
def test_a_missing_secret_is_a_value():
    def part(states):
        return Table([coded("a", states, "xyz"), numeric("secret", [5.0] * 60, states, ("", "-8"))])

    states = [0, 1, 2] * 20
    result = attack(part(states), part(states), part(states), keys=["a"])
    assert result["inference"].rate == 1
    assert result["inference"].baseline == pytest.approx(1 / 3)


@needs_anonymeter
def test_equally_near_records_link_nobody():
    """By order of the file, both sources would lead to the first record, every time."""
    same = Table(
        [coded("a", [0] * 100, "x"), coded("b", [0] * 100, "x"), coded("c", [0, 1] * 50, "xy")]
    )
    link = attack(same, same, same, keys=["a", "b"], target="c")["linkability"]
    assert link.baseline == pytest.approx(0.01)
    assert link.rate < 0.1


@needs_anonymeter
def test_two_neighbours_link_by_chance_more_often():
    link = attack(FITTED, UNSEEN, FITTED, n_neighbours=2)["linkability"]
    assert link.baseline == pytest.approx(1 - (248 * 247) / (250 * 249))
    few = people(n=2, seed=4)
    assert attack(FITTED, UNSEEN, few, n_neighbours=5)["linkability"].rate == 1


@needs_anonymeter
def test_one_key_links_nothing():
    result = attack(FITTED, UNSEEN, FITTED, keys=["age"])
    assert result.linked is None
    assert [each.name for each in result.attacks] == [RARE, COMBINED, "inference"]
    with pytest.raises(KeyError):
        result["linkability"]
    assert result.to_dict()["linked"] is None


@needs_anonymeter
def test_datasets_are_pooled_and_no_synthetic_record_is_left_out():
    made = [FITTED.take(slice(0, 100)), FITTED.take(slice(100, None)), people(80, 6)]
    result = attack(FITTED, UNSEEN, made)
    assert (result.records, result.synthetic) == (250, 330)
    assert result["inference"].successes == 200  # every target finds its copy


@needs_anonymeter
def test_few_unseen_records_dilute_singling_out_alone():
    """Half of the fitted records are cut off: the conditions on their copies find nobody."""
    fitted = people(500, 1)
    linked = (["age", "pay"], ["town", "street"])
    result = attack(fitted, UNSEEN, fitted, linked=linked)
    assert (result.records, result.all_fitted, result.all_unseen) == (250, 500, 250)
    for name in (RARE, COMBINED):
        assert result[name].fitted_kept == 0.5
        assert 0.35 < result[name].rate < 0.75
        assert result[name].low > 0
        assert "only a share of 0.5" in result[name].figures[0].meaning
    for name in ("linkability", "inference"):
        assert result[name].fitted_kept == 1
        assert "only a share" not in result[name].figures[0].meaning
    assert result["inference"].rate == 1


@needs_anonymeter
def test_a_larger_fitted_half_is_not_attacked_with_more_success():
    result = attack(people(750, 1), UNSEEN, people(750, 3))
    for each in result.attacks:
        assert each.low <= 0 <= each.high, each


@needs_anonymeter
def test_attempts_are_bounded_by_the_number_of_synthetic_records(monkeypatch):
    """Every attempt is in vain here: hence all are made."""
    same = Table([coded(name, [0, 1] * 30, "xy") for name in "abc"])
    methods = import_module("anonymeter.evaluators.singling_out_evaluator")
    made, compute = [], methods._query_from_record
    monkeypatch.setattr(
        methods, "_query_from_record", lambda **parts: made.append(1) or compute(**parts)
    )
    for looks, expected in ((10**9, 3000), (2000 * 60, 2000), (1, 1000)):
        monkeypatch.setattr(module, "MAX_LOOKS", looks)
        result = attack(same, same, same, keys=["a"], target="b")
        assert result.max_attempts == len(made) == expected
        assert result[COMBINED].n == 0
        made.clear()


@needs_anonymeter
def test_rare_values_are_those_of_anonymeter():
    import polars as pl
    from anonymeter.evaluators.singling_out_evaluator import univariate_singling_out_queries

    from synthesizer.measures.risk.attacks import _polars_frames, _quiet, _rare_values
    from synthesizer.measures.risk.nearest import mixed_records

    for seed in range(5):
        draw = rng(seed)
        states = (np.arange(60) == 7).astype(int) * (seed % 2)
        column = numeric("pay", draw.integers(-30, 30, 60), states, ("",))
        table = people(60, seed).with_column(column)
        (frame,) = _polars_frames(pl, mixed_records([table], table.names, real=1))
        with _quiet():  # it makes a condition that never holds of a single missing value
            expected = univariate_singling_out_queries(frame, n_queries=10**6, rng=rng())
        found = _rare_values(pl, frame, 10**6, rng())
        assert sorted(map(str, found)) == sorted(map(str, expected))
        assert len(_rare_values(pl, frame, 9, rng())) == 9


@needs_anonymeter
@pytest.mark.parametrize("k", [1, 3])
def test_neighbours_are_as_near_as_those_of_anonymeter(k):
    import anonymeter.evaluators  # noqa: F401
    from anonymeter.neighbors.mixed_types_kneighbors import MixedTypeKNeighbors

    from synthesizer.measures.risk.attacks import _neighbours
    from synthesizer.measures.risk.nearest import mixed_records

    names = ("a", "b", "c", "d", "x")
    draw = rng(9)
    # Ends of its range are in the data: here ranks are anonymeter's scaled numbers.
    ages = np.r_[0, draw.permutation(np.arange(1, 299)), 299]
    columns = [coded(name, draw.integers(0, 4, 300), "wxyz") for name in names[:4]]
    made = Table([*columns, numeric("x", ages)])
    asked = made.take(draw.permutation(300)[:40]).with_column(coded("a", [0] * 40, "wxyz"))
    synthetic, targets = mixed_records([made, asked], names, real=1)
    frames = [
        pd.DataFrame(
            {name: codes.astype(str).astype(object) for name, codes in part.labels.items()}
            | {"x": part.numbers["x"] / part.unit}
        )
        for part in (synthetic, targets)
    ]
    search = MixedTypeKNeighbors(n_neighbors=k, n_jobs=1).fit(frames[0])
    expected, _ = search.kneighbors(frames[1], return_distance=True)
    found = _neighbours(synthetic, targets, names, k, draw)
    scale = np.ptp(frames[0]["x"])
    gaps = np.abs(frames[0]["x"].to_numpy()[found] - frames[1]["x"].to_numpy()[:, None]) / scale
    for name in names[:4]:
        gaps += synthetic.labels[name][found] != targets.labels[name][:, None]
    np.testing.assert_allclose(np.sort(gaps, axis=1), np.sort(expected, axis=1), atol=1e-6)
    assert all(len(set(row)) == k for row in found.tolist())


@needs_anonymeter
def test_frames_and_levels_in_another_order():
    def frame(table, levels):
        towns = np.array(LETTERS)[table["town"].data]
        sexes = np.array(["f", "m"])[table["secret"].data % 2]
        town = pd.Categorical(towns, categories=levels)
        return pd.DataFrame({"age": table["age"].data, "town": town, "secret": sexes})

    one = [frame(part, LETTERS) for part in (FITTED, UNSEEN, FITTED)]
    result = attack(*one, keys=["age", "town"])
    other = [*one[:2], frame(FITTED, LETTERS[::-1])]
    assert attack(*other, keys=["age", "town"])["inference"] == result["inference"]
    assert result["inference"].rate > 0.9


@needs_anonymeter
def test_result_as_figures_and_plain_values():
    result = attack(FITTED, UNSEEN, people(seed=3), confidence=0.9)
    assert len(result.figures) == 8
    risk, rate = result["inference"].figures
    each = result["inference"]
    assert (risk.value, risk.low, risk.high, risk.baseline) == (each.risk, each.low, each.high, 0)
    assert (rate.value, rate.baseline, rate.n) == (each.rate, each.baseline, 200)
    state = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert state["attacks"][3]["name"] == "inference"
    assert state["attacks"][3]["is_weak"] is False
    assert state["linked"] == [["age", "pay"], ["town"]]
    assert state["confidence"] == 0.9
    wide = attack(FITTED, UNSEEN, people(seed=3), confidence=0.99)["inference"]
    assert wide.low < each.low < each.high < wide.high


@needs_anonymeter
@needs_reference
def test_reference_synthesis_against_all_records_it_was_made_from():
    """Both halves were fitted: neither is attacked with more success than the other."""
    original, made = load_reference("original.csv"), load_reference("synthetic_cart.csv")
    order = rng().permutation(original.n_rows)
    fitted, unseen = original.take(order[:2000]), original.take(order[2000:4000])
    keys = ["PUMA", "AGEP", "SEX", "RAC1P", "MSP", "OWN_RENT"]
    result = attack(fitted, unseen, made, keys=keys, target="EDU")
    for name in ("linkability", "inference"):
        assert result[name].low <= 0 <= result[name].high
    assert result["inference"].rate > result["inference"].baseline


def test_worse_than_guessing_is_weak():
    weak = Attack.of(
        "x", asked=9, n=500, successes=0, control_successes=0, baseline=0.1, confidence=0.95
    )
    assert weak.is_weak
    assert weak.to_dict()["is_weak"] is True


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install 'synthesizer\[attacks\]'"):
        attack(FITTED, UNSEEN, FITTED)


def problems(monkeypatch, *parts, **options):
    monkeypatch.setattr(module, "_need_anonymeter", lambda: None)
    with pytest.raises(DataError) as caught:
        attack(*parts, **options)
    return caught.value.problems


def test_all_wrong_numbers_are_told_at_once(monkeypatch):
    found = problems(
        monkeypatch, FITTED, UNSEEN, FITTED,
        n_attacks=0, n_columns=0, n_neighbours=-1, max_attempts=0, confidence=1,
    )  # fmt: skip
    assert len(found) == 5
    assert "n_attacks (0) must be at least 1" in found
    assert "confidence (1) must be between 0 and 1" in found


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"keys": ["nope", "age"]}, "column 'nope' is not in the fitted half"),
        ({"keys": ["age", "secret"]}, "target 'secret' is also a key"),
        ({"keys": []}, "there are no keys"),
        ({"linked": (["age"], [])}, "at least one variable on both sides"),
        ({"linked": (["age"], ["age", "pay"])}, "linked names 'age' on both sides"),
        ({"groups": {"town": 3}}, "'town', which is not numeric"),
    ],
)
def test_wrong_variables_are_told(monkeypatch, options, text):
    assert any(text in found for found in problems(monkeypatch, FITTED, UNSEEN, FITTED, **options))


def test_empty_synthetic_data_are_told(monkeypatch):
    empty = FITTED.take(slice(0, 0))
    assert "no records" in problems(monkeypatch, FITTED, UNSEEN, empty)[0]
