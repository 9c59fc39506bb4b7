import json

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, Table
from synthesizer.errors import DataError
from synthesizer.risk.nearest import nearer_share
from tests.reference_data import load_reference, needs_reference
from tests.tables import coded, numeric, persons


def rng(seed=1):
    return np.random.default_rng(seed)


def people(n, seed):
    """Persons with a pay of many values: hardly any two are alike."""
    pay = np.round(rng(seed + 1000).gamma(2, 20_000, n))
    return persons(n, seed).with_column(numeric("pay", pay))


FITTED, UNSEEN = people(300, 1), people(300, 2)


def test_the_fitted_half_as_its_own_copy_is_nearer_to_itself():
    result = nearer_share(FITTED, UNSEEN, FITTED, rng=rng())
    assert (result.share, result.nearer, result.ties) == (1, 300, 0)
    assert result.high == 1
    assert result.low > 0.98
    assert result.distance_ratio == 0
    assert (result.fitted_copies, result.unseen_copies) == (300, 0)
    assert result.original == 1


def test_the_unseen_half_as_synthetic_data_is_nearer_to_itself():
    result = nearer_share(FITTED, UNSEEN, UNSEEN, rng=rng())
    assert (result.share, result.unseen_nearer, result.low) == (0, 300, 0)
    assert result.distance_ratio is None
    assert (result.fitted_copies, result.unseen_copies) == (0, 300)


def test_a_fresh_sample_is_as_near_to_both():
    result = nearer_share(FITTED, UNSEEN, people(300, 3), rng=rng())
    assert result.low < 0.5 < result.high
    assert result.share == pytest.approx(0.5, abs=0.08)
    assert result.distance_ratio == pytest.approx(1, abs=0.1)


def test_equal_records_are_ties():
    same = Table([coded("a", [0] * 40, "x"), numeric("b", [3.0] * 40)])
    result = nearer_share(same, same, same, rng=rng())
    assert (result.share, result.ties, result.nearer) == (0.5, 40, 0)
    assert result.distance_ratio is None
    assert result.original == 0.5
    assert result.effective == 1  # all hang on one record


def test_interval_covers_a_half_as_often_as_it_says():
    draws, covered = rng(4), 0
    for _ in range(200):
        parts = [Table([numeric("x", draws.normal(size=80)), coded("y", draws.integers(0, 3, 80),
                 "abc")]) for _ in range(3)]  # fmt: skip
        result = nearer_share(*parts, rng=draws)
        covered += result.low <= 0.5 <= result.high
    assert 0.92 <= covered / 200 <= 1


def test_the_larger_half_is_not_nearer_for_its_size():
    """Three times as many fitted records would be nearest to three quarters of a fresh sample."""
    result = nearer_share(people(1200, 5), people(400, 6), people(400, 7), rng=rng())
    assert result.records == 400
    assert (result.all_fitted, result.all_unseen) == (1200, 400)
    assert result.low < 0.5 < result.high
    assert result.figures[2].baseline is None  # copies of halves of unequal size do not compare


def test_max_records_bounds_what_is_compared_but_not_the_copies():
    result = nearer_share(FITTED, UNSEEN, [FITTED, UNSEEN], max_records=50, rng=rng())
    assert (result.records, result.synthetic, result.all_synthetic) == (50, 50, 600)
    assert (result.fitted_copies, result.unseen_copies) == (300, 300)
    assert result == nearer_share(FITTED, UNSEEN, [FITTED, UNSEEN], max_records=50, rng=rng())
    assert result != nearer_share(FITTED, UNSEEN, [FITTED, UNSEEN], max_records=50, rng=rng(2))


def test_without_a_sample_the_generator_does_not_matter():
    made = people(200, 8)
    one, other = (nearer_share(FITTED, UNSEEN, made, rng=rng(seed)) for seed in (1, 2))
    assert one == other


def test_datasets_are_pooled():
    made = [people(60, 11), people(90, 12)]
    one = nearer_share(FITTED, UNSEEN, made, rng=rng())
    assert one == nearer_share(FITTED, UNSEEN, Table.concatenate(made), rng=rng())
    parts = [nearer_share(FITTED, UNSEEN, part, rng=rng()).nearer for part in made]
    assert one.nearer == sum(parts)


def test_labels_are_compared_by_text():
    fitted = Table([coded("a", [0, 1, 2], "xyz"), numeric("b", [1.0, 2, 3])])
    unseen = Table([coded("a", [0, 0, 0], "q"), numeric("b", [1.0, 2, 3])])
    made = Table([coded("a", [2, 1, 0], "zyx"), numeric("b", [1.0, 2, 3])])
    result = nearer_share(fitted, unseen, made, rng=rng())
    assert (result.share, result.fitted_copies) == (1, 3)


def test_only_named_variables_count_and_identifiers_do_not():
    number = Variable(name="person", kind=Kind.ID)
    parts = [FITTED, UNSEEN, people(50, 9)]
    with_ids = [part.with_column(Column(number, np.arange(float(part.n_rows)))) for part in parts]
    assert nearer_share(*with_ids, rng=rng()) == nearer_share(*parts, rng=rng())
    result = nearer_share(*parts, names=["age", "sex", "age"], rng=rng())
    assert result.names == ("age", "sex")
    assert result.ties > 0


def test_frames_give_what_tables_give():
    parts = [part.select(["sex", "age"]) for part in (FITTED, UNSEEN, people(100, 10))]
    frames = [
        pd.DataFrame({"sex": np.array(["f", "m"])[part["sex"].data], "age": part["age"].data})
        for part in parts
    ]
    assert nearer_share(*frames, rng=rng()) == nearer_share(*parts, rng=rng())


def test_dates_are_numbers():
    def frame(*days):
        return pd.DataFrame({"born": pd.to_datetime([f"2020-01-{day:02}" for day in days])})

    result = nearer_share(frame(1, 9, 5), frame(20, 30, 25), frame(3, 22, 2), rng=rng())
    assert (result.nearer, result.unseen_nearer) == (2, 1)


def test_one_record_of_each():
    def one(age):
        return Table([numeric("age", [age])])

    result = nearer_share(one(1.0), one(9.0), one(1.0), rng=rng())
    assert (result.share, result.synthetic, result.low) == (1, 1, pytest.approx(0.2065, abs=1e-4))


def test_figures_and_dict():
    result = nearer_share(FITTED, UNSEEN, people(100, 10), rng=rng())
    share, ratio, copies = result.figures
    assert (share.value, share.low, share.baseline) == (result.share, result.low, 0.5)
    assert (share.original, share.n) == (1, 100)
    assert (ratio.value, ratio.baseline) == (result.distance_ratio, 1)
    assert (copies.value, copies.baseline) == (0, 0)
    state = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert state["share"] == result.share
    assert state["names"] == list(FITTED.names)
    assert 0 < result.fitted_distance < 1


def problems(*parts, **options):
    with pytest.raises(DataError) as caught:
        nearer_share(*parts, rng=rng(), **options)
    return " ".join(caught.value.problems)


def test_bad_input_is_told_with_its_remedy():
    empty = FITTED.take(slice(0, 0))
    assert "'nope' is not in the fitted half: name one" in problems(
        FITTED, UNSEEN, FITTED, names=["age", "nope"]
    )
    assert "the unseen half has no records" in problems(FITTED, empty, FITTED)
    assert "synthetic dataset 1 has no records" in problems(FITTED, UNSEEN, empty)
    assert "there is no synthetic dataset" in problems(FITTED, UNSEEN, [])
    assert "not in the unseen half" in problems(FITTED, UNSEEN.select(["age"]), FITTED)
    assert "max_records (0) must be at least 1" in problems(FITTED, UNSEEN, FITTED, max_records=0)
    assert "name at least one" in problems(FITTED, UNSEEN, FITTED, names=[])
    text = UNSEEN.with_column(coded("age", [0] * 300, "x"))
    assert "column 'age' is numeric" in problems(FITTED, text, FITTED)


@needs_reference
def test_a_synthesis_of_all_records_is_as_near_to_both_halves():
    original, made = load_reference("original.csv"), load_reference("synthetic_cart.csv")
    order = rng().permutation(original.n_rows)
    half = original.n_rows // 2
    fitted, unseen = original.take(order[:half]), original.take(order[half:])
    result = nearer_share(fitted, unseen, made, max_records=2000, rng=rng())
    assert result.low < 0.5 < result.high
    assert result.original > 0.98
    assert result.fitted_copies + result.unseen_copies > 600
