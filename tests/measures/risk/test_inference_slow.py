"""The five analyses against slow obvious code: dictionaries, loops and exact fractions."""

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.measures.risk.inference import inference, inference_scores
from synthesizer.measures.risk.public_differences import BANDS
from tests.tables import coded, numeric

SIZES = [1, 4, 10, 32, 100]
THRESHOLDS = (0.25, 0.5, 0.75, 1.0)

ROWS = st.tuples(st.sampled_from("ab "), st.sampled_from([-1500, 0, 800, None]))


def rows_of(levels, least):
    return st.lists(st.tuples(ROWS, st.sampled_from(levels)), min_size=least, max_size=25)


@st.composite
def cases(draw):
    """Rows of the original and of one to three synthetic datasets, and a positive class."""
    levels = draw(st.sampled_from(["FM", "FMx", "FMx "]))
    original = draw(rows_of(levels, 2))
    occurring = sorted({s for _, s in original})
    assume(len(occurring) > 1)
    others = draw(st.sampled_from([occurring, [*occurring, "new"]]))
    made = draw(st.lists(rows_of(others, 1), min_size=1, max_size=3))
    return original, made, draw(st.sampled_from([None, *occurring]))


def table_of(rows, backwards=False):
    """``backwards`` holds the same values under other codes and states."""
    step = -1 if backwards else 1
    agencies, levels = ["a", "b"][::step], ["F", "M", "x", "new"][::step]
    missing = ["", "-9"][::step]
    labels = [*levels, " "]
    return Table(
        [
            coded("agency", [[*agencies, " "].index(q[0]) for q, _ in rows], agencies, " "),
            numeric(
                "pay",
                [np.nan if q[1] is None else q[1] for q, _ in rows],
                [missing.index("") + 1 if q[1] is None else 0 for q, _ in rows],
                missing,
            ),
            coded("sex", [labels.index(s) for _, s in rows], levels, " "),
        ]
    )


class Slow:
    """Everything that the analyses need, counted one record at a time."""

    def __init__(self, original, made, positive):
        self.original, self.m = original, len(made)
        self.synthetic = [row for rows in made for row in rows]
        # Level order of the original table, then of the synthetic ones; ties go by it.
        occurring = {s for _, s in original + self.synthetic}
        self.levels = [level for level in ["F", "M", "x", "new", " "] if level in occurring]
        self.marginal = Counter(s for _, s in original)
        self.preference = sorted(
            self.levels, key=lambda s: (-self.marginal[s], self.levels.index(s))
        )
        if len(self.levels) == 2:
            positive = positive or self.preference[0]
            self.preference.sort(key=lambda s: s != positive)
        self.positive = positive
        self.ours, self.theirs = self.tally(original), self.tally(self.synthetic)

    @staticmethod
    def tally(rows):
        cells = defaultdict(Counter)
        for q, s in rows:
            cells[q][s] += 1
        return dict(cells)

    def majority(self, cell):
        best = max(cell.values())
        return next(s for s in self.preference if cell[s] == best)

    def share(self, cell, level):
        return Fraction(cell[level], cell.total())


def run(case, **more):
    original, made, positive = case
    found = inference(
        table_of(original),
        [table_of(rows, backwards=True) for rows in made],
        sensitive="sex",
        public=["agency", "pay"],
        positive=positive,
        **more,
    )
    return found, Slow(*case)


def close(value, exact):
    return value is None if exact is None else value == pytest.approx(float(exact), abs=1e-12)


def mean(values):
    values = list(values)
    return sum(values, Fraction(0)) / len(values) if values else None


@given(cases())
def test_settings(case):
    found, slow = run(case)
    assert set(found.levels) == set(slow.levels)
    assert found.positive == slow.positive
    assert (found.n, found.m, found.n_synthetic) == (
        len(slow.original),
        slow.m,
        len(slow.synthetic),
    )


@given(cases())
def test_uniqueness(case):
    found, slow = run(case)
    part = found.uniqueness
    absent = [cell for q, cell in slow.ours.items() if q not in slow.theirs]
    uniques = {q: next(iter(cell)) for q, cell in slow.ours.items() if cell.total() == 1}
    present = {q: s for q, s in uniques.items() if q in slow.theirs}
    once = {q: s for q, s in present.items() if slow.theirs[q].total() == 1}
    guess = {q: slow.majority(slow.theirs[q]) for q in present}
    assert (part.cells, part.absent) == (len(slow.ours), len(absent))
    assert part.synthetic_only == len(slow.theirs.keys() - slow.ours.keys())
    assert close(part.absent_share, Fraction(len(absent), len(slow.ours)))
    assert close(part.absent_mean, mean(cell.total() for cell in absent))
    assert (part.uniques, part.present, part.once) == (len(uniques), len(present), len(once))
    assert close(part.right, mean(guess[q] == s for q, s in present.items()))
    assert close(
        part.right_expected, mean(slow.share(slow.theirs[q], s) for q, s in present.items())
    )
    assert close(part.right_once, mean(slow.theirs[q][s] for q, s in once.items()))
    assert close(part.chance, mean(s == g for s in present.values() for g in guess.values()))
    assert dict(part.counts) == Counter(cell.total() for cell in slow.ours.values())


@given(cases())
def test_classification(case):
    found, slow = run(case)
    part, n = found.classification, len(slow.synthetic)
    none = Counter()

    def revealed(choose):
        return sum(
            min(Fraction(cell.total(), slow.m), slow.ours.get(q, none)[choose(cell)])
            for q, cell in slow.theirs.items()
        ) / Fraction(n, slow.m)

    most = max(slow.levels, key=lambda s: (slow.marginal[s], -slow.levels.index(s)))
    assert part.n == n
    assert part.synthetic_only == sum(q not in slow.ours for q, _ in slow.synthetic)
    assert close(part.revealed, revealed(slow.majority))
    assert close(part.baseline, revealed(lambda cell: most))
    own = sum(cell[slow.majority(cell)] for cell in slow.ours.values())
    assert close(part.original, Fraction(own, len(slow.original)))


def slow_rows(slow, reference):
    """Group the cells that both sides have; values are (difference, relative)."""
    groups = defaultdict(list)
    limits = [Fraction(str(band)) for band in BANDS]
    levels = [slow.positive] if slow.positive else slow.levels
    scale = 1 if slow.positive else Fraction(1, 2)
    for q in slow.ours.keys() & slow.theirs.keys():
        ours, theirs = slow.ours[q], slow.theirs[q]
        distance = scale * sum(
            abs(slow.share(theirs, s) - slow.share(reference(ours), s)) for s in levels
        )
        band = next(i for i, limit in enumerate(limits) if distance <= limit)
        size = max(edge for edge in SIZES if edge <= ours.total())
        before = Fraction(ours.total(), len(slow.original))
        difference = Fraction(theirs.total(), len(slow.synthetic)) - before
        groups[BANDS[band], size].append((difference, difference / before))
    return groups


@given(cases())
def test_differences(case):
    found, slow = run(case)
    part = found.differences
    assert part.cells == len(slow.ours.keys() & slow.theirs.keys())
    assert part.original_only == len(slow.ours.keys() - slow.theirs.keys())
    assert part.synthetic_only == len(slow.theirs.keys() - slow.ours.keys())
    expected = slow_rows(slow, lambda cell: cell), slow_rows(slow, lambda cell: slow.marginal)
    for rows, groups in zip((part.own_proportion, part.marginal_proportion), expected, strict=True):
        assert {(row.band_high, row.size_low) for row in rows} == groups.keys()
        for row in rows:
            values = groups[row.band_high, row.size_low]
            assert row.cells == len(values)
            for position, seen in enumerate((row.difference, row.relative)):
                numbers = [float(value[position]) for value in values]
                assert close(seen.mean, np.mean(numbers))
                assert close(seen.sd, np.std(numbers, ddof=1) if len(numbers) > 1 else None)
                wanted = np.quantile(numbers, [0.05, 0.25, 0.5, 0.75, 0.95])
                np.testing.assert_allclose(seen.quantiles, wanted, atol=1e-12)


def slow_auc(scored):
    """Share of pairs of a member and another in the right order, ties half."""
    members = [p for p, inside in scored if inside]
    others = [p for p, inside in scored if not inside]
    return mean(Fraction(1, 2) if a == b else Fraction(int(a > b)) for a in members for b in others)


@given(cases())
def test_roc(case):
    found, slow = run(case)
    wanted = [slow.positive] if len(slow.levels) == 2 else slow.levels
    assert sorted(curve.level for curve in found.roc) == sorted(wanted)
    for curve in found.roc:
        level = curve.level
        shares = {q: slow.share(cell, level) for q, cell in slow.theirs.items()}
        scored = [(shares[q], s == level) for q, s in slow.original if q in shares]
        overall = slow.share(Counter(s for _, s in slow.synthetic), level)
        everybody = [(shares.get(q, overall), s == level) for q, s in slow.original]
        own = [(slow.share(slow.ours[q], level), s == level) for q, s in slow.original]
        assert (curve.positives + curve.negatives, curve.positives) == (
            len(scored),
            sum(inside for _, inside in scored),
        )
        assert curve.left_out == len(slow.original) - len(scored)
        assert curve.thresholds == len(set(shares.values()))
        assert close(curve.auc, slow_auc(scored))
        assert close(curve.auc_all, slow_auc(everybody))
        assert close(curve.auc_original, slow_auc(own))
        check_points(curve, scored, sorted(set(shares.values())))


def check_points(curve, scored, thresholds):
    if curve.auc is None:
        assert curve.curve == ()
        assert curve.best_threshold is curve.best_tpr is curve.best_tnr is None
        return
    rates = {
        p: (
            mean(share > p for share, inside in scored if inside),
            mean(share <= p for share, inside in scored if not inside),
        )
        for p in thresholds
    }
    best = max(rates, key=lambda p: (sum(rates[p]), -p))
    assert close(curve.best_threshold, best)
    assert close(curve.best_tpr, rates[best][0])
    assert close(curve.best_tnr, rates[best][1])
    assert curve.curve[0] == (None, 1.0, 0.0)
    points = [value for point in curve.curve[1:] for value in point]
    np.testing.assert_allclose(points, [float(v) for p in thresholds for v in (p, *rates[p])])


@given(cases(), st.sampled_from([(), ("agency",), ("pay", "agency")]))
def test_thresholds(case, baseline):
    found, slow = run(case, baseline=baseline, thresholds=THRESHOLDS)
    part, n = found.thresholds, len(slow.original)
    pick = [["agency", "pay"].index(name) for name in baseline]
    margins = slow.tally([(tuple(q[i] for i in pick), s) for q, s in slow.original])
    synthetic, published, own, right, known, own_right = [], [], [], [], [], []
    for q, s in slow.original:
        cell, margin = slow.theirs.get(q), margins[tuple(q[i] for i in pick)]
        synthetic.append(None if cell is None else slow.share(cell, s))
        published.append(slow.share(margin, s))
        own.append(slow.share(slow.ours[q], s))
        right.append(cell is not None and slow.majority(cell) == s)
        known.append(slow.majority(margin) == s)
        own_right.append(slow.majority(slow.ours[q]) == s)
    assert (part.n, part.absent) == (n, synthetic.count(None))
    assert close(part.right, mean(right))
    assert close(part.baseline_right, mean(known))
    assert close(part.original_right, mean(own_right))
    assert close(
        part.right_of_present,
        mean(r for r, p in zip(right, synthetic, strict=True) if p is not None),
    )
    assert close(part.right_in_both, mean(k for r, k in zip(right, known, strict=True) if r))
    pairs = [(p, b) for p, b in zip(synthetic, published, strict=True) if p is not None]
    assert close(part.lower, Fraction(sum(p < b for p, b in pairs), n))
    assert close(part.equal, Fraction(sum(p == b for p, b in pairs), n))
    assert close(part.higher, Fraction(sum(p > b for p, b in pairs), n))
    for row in part.rows:
        assert row.count == sum(p is not None and p >= row.threshold for p in synthetic)
        assert row.baseline_count == sum(p >= row.threshold for p in published)
        assert row.original_count == sum(p >= row.threshold for p in own)
        assert (row.share, row.baseline_share) == (row.count / n, row.baseline_count / n)


@given(cases())
def test_scores_are_those_of_the_summary(case):
    original, made, positive = case
    found, slow = run(case, baseline=["agency"])
    each = inference_scores(
        table_of(original),
        [table_of(rows) for rows in made],
        sensitive="sex",
        public=["agency", "pay"],
        positive=positive,
        baseline=["agency"],
    )
    for (q, s), share, own in zip(slow.original, each.synthetic, each.original, strict=True):
        assert close(own, slow.share(slow.ours[q], s))
        if q in slow.theirs:
            assert close(share, slow.share(slow.theirs[q], s))
        else:
            assert np.isnan(share)
    assert found.thresholds.right == each.right.mean()
    assert found.thresholds.baseline_right == each.baseline_right.mean()
    assert found.thresholds.original_right == each.original_right.mean()
    assert found.thresholds.higher == (each.synthetic > each.baseline).mean()
