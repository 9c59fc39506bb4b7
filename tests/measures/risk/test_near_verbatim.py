"""Near-verbatim persons, guessed attributes, and both of several releases: slow code, both ends."""

from math import ceil, log

import numpy as np
import pytest

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.halves import HalfRun, control_run, half_runs
from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.guesses import best_of, guesses
from synthesizer.measures.risk.near_verbatim import (
    DIFFERING,
    FEW_REPEATS,
    REPEATS_P_VALUE,
    Look,
    difference,
    near_verbatim,
    quantile_of,
)
from synthesizer.measures.risk.releases import Release, Together, others_of
from synthesizer.measures.verdict import CheckResults, verdict
from tests.run_directories import filled
from tests.tables import numeric

LEVELS = (3, 4, 6, 8, 12, 20)
NAMES = [*"abcdef", "pay", "age"]


def population(n, rng):
    """Return n persons whose variables hang together through two unseen ones."""
    z = rng.normal(size=(n, 2))
    columns = []
    for number, (name, levels) in enumerate(zip("abcdef", LEVELS, strict=True)):
        noisy = z[:, number % 2] + rng.normal(0, 0.7, n)
        codes = np.clip((noisy + 2.5) / 5 * levels, 0, levels - 1).astype(np.int32)
        labels = tuple(f"{name}{level}" for level in range(levels))
        columns.append(Column(Variable(name=name, kind=Kind.CATEGORICAL, levels=labels), codes))
    pay = np.round(np.exp(9 + 0.5 * z[:, 0] + rng.normal(0, 0.4, n)), -2)
    age = np.clip(np.round(45 + 12 * z[:, 1] + rng.normal(0, 6, n)), 16, 90)
    for name, values in (("pay", pay), ("age", age)):
        columns.append(Column(Variable(name=name, kind=Kind.NUMERIC), values))
    return Table(columns, n)


def planted(synthetic, persons, changed, rng):
    """Return synthetic records of which the first are persons with some variables changed."""
    columns = []
    hit = np.array([rng.permutation(len(NAMES))[:changed] for _ in range(persons.n_rows)])
    for position, name in enumerate(NAMES):
        data = synthetic[name].data.copy()
        unchanged = ~(hit == position).any(axis=1) if changed else np.ones(persons.n_rows, bool)
        data[: persons.n_rows][unchanged] = persons[name].data[unchanged]
        columns.append(Column(synthetic[name].variable, data))
    return Table(columns, synthetic.n_rows)


def three(n, seed):
    rng = np.random.default_rng(seed)
    return (*(population(n, rng) for _ in range(3)), rng)


def steps(tables, name):
    data = np.concatenate([table[name].data for table in tables]).astype(float)
    if name not in ("pay", "age"):
        return data
    known = tables[0][name].data
    return np.floor(data / (0.01 * np.clip(known, *np.quantile(known, [0.01, 0.99])).std()))


def slow(inside, outside, made):
    """Return the persons to whom records point, by loops over records."""
    coded = np.column_stack([steps((inside, outside, made), name) for name in NAMES])
    people, records = np.split(coded, [inside.n_rows + outside.n_rows])
    nearest, points = np.full(len(people), 99), np.zeros(len(people), dtype=int)
    for record in records:
        differ = (people != record).sum(axis=1)
        closest = np.flatnonzero(differ == differ.min())
        if len(closest) == 1 and differ.min() <= 2:
            nearest[closest] = min(nearest[closest[0]], differ.min())
            points[closest] += 1
            continue
        far = np.zeros(len(people))
        for column, name in enumerate(NAMES):
            values = people[:, column]
            if name in ("pay", "age"):
                below = np.array([(values < v).mean() + (values <= v).mean() for v in values]) / 2
                at = ((values < record[column]).mean() + (values <= record[column]).mean()) / 2
                far += np.abs(below - at)
            else:
                differs = np.mean([(values != v).mean() for v in values])
                far += differs * (values != record[column])
        first, second = np.sort(far)[:2]
        if first < 0.9 * second:
            how = len(NAMES) + int(first >= 0.5 * second)  # nearest distinctly, or hardly
            nearest[far.argmin()] = min(nearest[far.argmin()], how)
            points[far.argmin()] += how == len(NAMES)
    return *(np.split(each, [inside.n_rows]) for each in (nearest, points)), people, records


def test_counts_are_those_of_slow_code():
    inside, outside, made, rng = three(150, 1)
    twice = outside.take(np.repeat(np.arange(6), 2))
    made = planted(made, Table.concatenate([inside.take(np.arange(20)), twice]), 1, rng)
    result = near_verbatim(control_run(inside, outside, (made,)), NAMES)
    (training, holdout), (points, others), *_ = slow(inside, outside, made)
    differing = [*(round(share * len(NAMES)) for share in DIFFERING), len(NAMES)]
    assert [look.differing for look in result.looks] == differing
    for look in (*result.looks, result.loose):
        most = len(NAMES) + 1 if look is result.loose else look.differing
        assert look.inside == (training <= most).sum()
        assert look.outside == (holdout <= most).sum()
    assert (result.repeats, result.repeats_outside) == (points.max(), others.max())
    # records of one person that chance, as outside, produces in none of 1,000 files
    rate = 1 - 1 / np.mean([n for n in others if n])
    tail = log(REPEATS_P_VALUE / sum(points > 0)) / log(rate)
    assert result.repeats_by_chance == max(1 + ceil(tail), 2 * others.max() + FEW_REPEATS)
    assert 1 + ceil(tail) > 2 * others.max() + FEW_REPEATS


def test_guesses_are_those_of_slow_code():
    inside, outside, made, _ = three(120, 2)
    result = guesses(control_run(inside, outside, (made,)), NAMES, ["a", "b"])
    *_, people, records = slow(inside, outside, made)
    for one in result.guesses:
        column, right = NAMES.index(one.target), []
        for person in people:
            differs = records != person
            if one.known == "the keys":
                same = records[~differs[:, :2].any(axis=1), column]
                values, n = np.unique(same if len(same) else records[:, column], return_counts=True)
                right.append(values[n.argmax()] == person[column])
            else:
                others = differs.sum(axis=1) - differs[:, column]
                close = np.flatnonzero(others < 2)
                values, n = np.unique(records[:, column], return_counts=True)
                guess = values[n.argmax()]
                if len(close):
                    guess = records[close[np.argmin(others[close])], column]
                right.append(guess == person[column])
        assert (one.guessed, one.beside) == (sum(right[:120]), sum(right[120:]))
    assert result.n_guesses == 8 + 6


def test_counts_of_several_splits_are_means_of_slow_code():
    people, *_ = three(80, 4)
    runs = half_runs(people, lambda half, m, repeat: [half], seed=1, exchanges=3)
    run = next(runs)
    numbers = [other.repeat for other in run.others]
    assert len({*numbers}) == len(numbers) == 5
    for one, other in zip((run, *run.others[1::2]), run.others[::2], strict=True):
        assert one.fitted.n_rows + other.fitted.n_rows == 80
        assert np.array_equal(one.fitted_units, other.unseen_units)
    result = near_verbatim(run, NAMES)
    training, holdout = (
        np.sum(
            [
                [(side <= look.differing).sum() for look in result.looks for side in sides]
                for sides in (
                    slow(one.fitted, one.unseen, one.synthetic[0])[0] for one in (run, *run.others)
                )
            ],
            axis=0,
        )
        .reshape(-1, 2)
        .T
    )
    assert (result.n, result.n_outside, result.splits) == (80, 80, 3)
    for look, inside, outside in zip(result.looks, training, holdout, strict=True):
        assert (look.inside, look.outside) == (round(inside / 3), round(outside / 3))
        assert (look.excess, look.low) == pytest.approx(
            difference(inside, 240, outside, 240, quantile_of(5))[:2]
        )
    guessed = guesses(run, NAMES, [])
    assert guessed.n == guessed.n_outside == 80
    assert guessed.guesses[0].guessed == 80  # the copy of a half reveals all about it


def test_everything_and_nothing():
    inside, outside, fresh, _ = three(400, 3)
    copy = near_verbatim(control_run(inside, outside, (inside,)), NAMES)
    assert copy.worst.low > 0.8
    assert copy.groups[0].low > 0.4
    nothing = near_verbatim(control_run(inside, outside, (fresh,)), NAMES)
    assert nothing.worst.low < 0 < nothing.widest.high
    assert guesses(control_run(inside, outside, (inside,)), NAMES, []).guesses[0].low > 0.5


def test_noise_on_every_number_and_a_value_far_out_hide_no_person():
    rng = np.random.default_rng(6)
    inside, outside = (rng.normal(size=(600, 6)) for _ in range(2))

    def table(values):
        kind = [Variable(name=name, kind=Kind.NUMERIC) for name in "abcdef"]
        return Table([Column(one, values[:, i]) for i, one in enumerate(kind)], len(values))

    def compare(made, *, far=False):
        people = inside.copy()
        people[0] = 1e9 if far else people[0]
        run = control_run(table(people), table(outside), (table(made),))
        return near_verbatim(run, "abcdef")

    noisy = compare(inside * 1.03 + 0.02 * rng.normal(size=inside.shape))
    assert noisy.looks[2].inside < 6
    assert noisy.worst.low > 0.5
    part = rng.normal(size=(600, 6))
    part[:60] = inside[60:120] + 0.02 * rng.normal(size=(60, 6))
    assert compare(part, far=True).looks[3].inside > 50
    twice = np.concatenate([inside, inside])
    both = control_run(table(twice), table(outside), (table(inside),))
    assert near_verbatim(both, "abcdef").looks[0].inside == 600


def test_a_sample_is_never_off_and_a_group_or_a_repeat_is_seen():
    inside, outside, fresh, _ = three(2_500, 4)
    result = near_verbatim(control_run(inside, outside, (fresh,)), NAMES)
    assert result.groups[0].low < 0.2
    assert result.repeats <= result.repeats_by_chance
    top = inside.take(np.argsort(inside["pay"].data)[-25:])
    rng = np.random.default_rng(5)
    of_top = near_verbatim(control_run(inside, outside, (planted(fresh, top, 1, rng),)), NAMES)
    assert (of_top.groups[0].variable, of_top.groups[0].group) == ("pay", "highest")
    assert of_top.groups[0].low > 0.2
    one = inside.take(np.full(40, 17))
    again = near_verbatim(control_run(inside, outside, (planted(fresh, one, 1, rng),)), NAMES)
    assert again.repeats > again.repeats_by_chance


@pytest.mark.parametrize(("changed", "look"), [(0, 0), (1, 1)])
def test_the_detection_limit_is_one(changed, look):
    hits, control_hits = [], []
    for seed in range(25):
        inside, outside, fresh, rng = three(600, 100 + seed)
        noticed = near_verbatim(control_run(inside, outside, (fresh,)), NAMES).looks[look].noticed
        for times, seen in ((1.0, hits), (0.1, control_hits)):
            k = ceil(times * noticed * 600)
            persons = inside.take(rng.choice(600, k, replace=False))
            made = planted(fresh, persons, changed, rng)
            looks = near_verbatim(control_run(inside, outside, (made,)), NAMES).looks
            seen.append(any(one.low > 0 for one in looks))
    assert np.mean(hits) >= 0.85
    assert np.mean(control_hits) <= 0.3  # the control: a tenth of the limit


def test_persons_with_several_records_count_once():
    inside, outside, fresh, _ = three(200, 6)
    units = np.repeat(np.arange(50), 4)
    run = HalfRun(0, inside, outside, (inside,), units, units)
    result = near_verbatim(run, NAMES)
    assert (result.n, result.n_outside) == (50, 50)
    assert result.looks[0].inside == 50
    assert near_verbatim(control_run(inside, outside, (fresh,)), NAMES[:1]) is None
    assert near_verbatim(control_run(inside, outside, (fresh,)), NAMES[:2]).variables == 2
    same = [t.with_column(numeric("same", np.full(200, 7.0))) for t in (inside, outside, fresh)]
    assert near_verbatim(control_run(*same[:2], (same[2],)), [*NAMES[:2], "same"]).variables == 3


def test_several_datasets_are_looked_at_together():
    """Four datasets with one percent of the persons each give four percent away."""
    inside, outside, _, rng = three(2_500, 8)
    persons = rng.permutation(2_500)[:100].reshape(4, 25)
    fresh = [population(2_500, rng) for _ in persons]
    made = tuple(planted(f, inside.take(p), 0, rng) for f, p in zip(fresh, persons, strict=True))
    first, every, none = (
        near_verbatim(control_run(inside, outside, tables), NAMES)
        for tables in (made[:1], made, tuple(fresh))
    )
    assert (first.datasets, every.datasets, none.datasets) == (1, 4, 4)
    assert first.looks[0].high < 0.02  # each alone gives one percent
    assert every.looks[0].low > 0.025
    assert 96 <= every.looks[0].inside <= 104
    assert none.worst.low < 0
    assert none.repeats <= none.repeats_by_chance
    stacked = near_verbatim(control_run(inside, outside, (Table.concatenate(made),)), NAMES)
    assert [one.inside for one in stacked.looks] == [one.inside for one in every.looks]
    guessed = guesses(control_run(inside, outside, made), NAMES, [])
    assert max(one.excess for one in guessed.guesses) > 0.015
    # a dataset without all variables, as of later splits, is not looked at
    short = control_run(inside, outside, (made[0], made[1].select(NAMES[:4])))
    assert near_verbatim(short, NAMES) == first


def test_the_interval_is_newcombes():
    # Newcombe (1998), Table II, method 10: 56/70 - 48/80
    ends = difference(56, 70, 48, 80, 1.959964)
    assert ends == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def release(name, *ends, **more):
    looks = tuple(filled(Look, excess=excess, high=high) for excess, high in ends)
    facts = {"datasets": {"synthetic_1.csv": name}, "contains": (), "looks": looks}
    return filled(Release, directory=name, **facts | more)


def test_releases_that_add_nothing_or_were_not_given_out_do_not_count():
    releases = [
        release("a"),  # is contained in c
        release("b", replaced=True),
        release("c", contains=("a",)),
        release("d", given_out=False),
        release("e", replaced=True, given_out=True),
        release("f"),  # is present
        release("g", contains=("d",), datasets={"synthetic_1.csv": "g", "synthetic_2.csv": "f"}),
    ]
    others = others_of(releases, ["f"])
    assert [other.directory for other in others] == ["c", "e", "g"]
    assert [other.directory for other in others_of(releases, ["g", "f"])] == ["c", "e"]


def test_upper_ends_add_up_and_none_is_below_nothing():
    present = release("p", (0.1, 0.2), (-0.3, -0.1), (0.05, 0.1)).looks
    other = release("o", (0.02, 0.05), (-0.1, 0.4), (0.3, 0.25))
    together = Together(others=(other,), counted=None)
    assert together.bound(present) == pytest.approx((0.4, -0.4))
    assert Together(others=(other, release("none")), counted=None).bound(present) is None


def test_near_copies_are_named_beside_exact_ones_only_if_a_variable_may_differ():
    """With five variables a tenth of them is none."""
    inside, outside, fresh, _ = three(400, 3)
    for names in (NAMES, NAMES[:5]):
        result = near_verbatim(control_run(inside, outside, (fresh,)), names)
        risk = RiskResult(further={"near_verbatim": result})
        lines = verdict(CheckResults(risk=risk))["person"].evidence
        (e,) = (e for e in lines if e.key == "near_verbatim")
        assert ("near copies," in e.sentence) == (result.looks[1].differing > 0)


def test_the_largest_differences_and_the_largest_lower_ends_are_stored():
    """The rows are ordered by the difference."""
    inside, outside, fresh, _ = three(400, 3)
    rows = guesses(control_run(inside, outside, (fresh,)), NAMES, NAMES[:2]).guesses
    assert [row.excess for row in rows] == sorted((row.excess for row in rows), reverse=True)
    assert best_of(rows) == (rows[0], max(row.low for row in rows))
