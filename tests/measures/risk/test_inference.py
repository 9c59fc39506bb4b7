"""Inference about a sensitive variable: by slow code, by hand and at both ends."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from synthesizer.data.errors import DataError
from synthesizer.data.pairs import as_table
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.view import person_view
from synthesizer.data.table import Column, Kind, Table
from synthesizer.measures.risk.curves import MAX_POINTS
from synthesizer.measures.risk.public_cells import BANDS
from synthesizer.measures.risk.public_inference import inference, inference_scores
from synthesizer.measures.scenario import Question
from tests.reference_data import load_reference, needs_reference
from tests.tables import coded, numeric, persons

SIZES = [1, 4, 10, 32, 100]
THRESHOLDS = (0.0, 0.25, 0.5, 0.75)

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
        self.real, self.made = self.tally(original), self.tally(self.synthetic)

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


def close(value, exact):
    return value is None if exact is None else value == pytest.approx(float(exact), abs=1e-12)


def mean(values):
    values = list(values)
    return sum(values, Fraction(0)) / len(values) if values else None


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from([(), ("agency",), ("pay", "agency")]))
def test_every_analysis_equals_slow_counting(case, baseline):
    original, made, positive = case
    tables = table_of(original), [table_of(rows, backwards=True) for rows in made]
    question = {"sensitive": "sex", "public": ["agency", "pay"]}
    question |= {"positive": positive, "baseline": baseline}
    result, slow = inference(*tables, thresholds=THRESHOLDS, **question), Slow(*case)
    assert set(result.levels) == set(slow.levels)
    assert result.positive == slow.positive
    sizes = (len(slow.original), slow.m, len(slow.synthetic))
    assert (result.n, result.m, result.n_synthetic) == sizes
    check_uniqueness(result.uniqueness, slow)
    check_classification(result.classification, slow)
    check_differences(result.differences, slow)
    check_roc(result.roc, slow)
    check_thresholds(result.thresholds, slow, baseline)
    check_scores(inference_scores(*tables, **question), result.thresholds, slow)


def check_uniqueness(part, slow):
    absent = [cell for q, cell in slow.real.items() if q not in slow.made]
    uniques = {q: next(iter(cell)) for q, cell in slow.real.items() if cell.total() == 1}
    present = {q: s for q, s in uniques.items() if q in slow.made}
    once = {q: s for q, s in present.items() if slow.made[q].total() == 1}
    guess = {q: slow.majority(slow.made[q]) for q in present}
    assert (part.cells, part.absent) == (len(slow.real), len(absent))
    assert part.synthetic_only == len(slow.made.keys() - slow.real.keys())
    assert close(part.absent_share, Fraction(len(absent), len(slow.real)))
    assert close(part.absent_mean, mean(cell.total() for cell in absent))
    assert (part.uniques, part.present, part.once) == (len(uniques), len(present), len(once))
    assert close(part.right, mean(guess[q] == s for q, s in present.items()))
    assert close(part.right_expected, mean(slow.share(slow.made[q], s) for q, s in present.items()))
    assert close(part.right_once, mean(slow.made[q][s] for q, s in once.items()))
    assert close(part.chance, mean(s == g for s in present.values() for g in guess.values()))
    assert dict(part.counts) == Counter(cell.total() for cell in slow.real.values())


def check_classification(part, slow):
    n, none = len(slow.synthetic), Counter()

    def revealed(choose):
        return sum(
            min(Fraction(cell.total(), slow.m), slow.real.get(q, none)[choose(cell)])
            for q, cell in slow.made.items()
        ) / Fraction(n, slow.m)

    most = max(slow.levels, key=lambda s: (slow.marginal[s], -slow.levels.index(s)))
    assert part.n == n
    assert part.synthetic_only == sum(q not in slow.real for q, _ in slow.synthetic)
    assert close(part.revealed, revealed(slow.majority))
    assert close(part.baseline, revealed(lambda cell: most))
    right = sum(cell[slow.majority(cell)] for cell in slow.real.values())
    assert close(part.original, Fraction(right, len(slow.original)))


def slow_rows(slow, reference):
    """Group the cells that both sides have; values are (difference, relative)."""
    groups = defaultdict(list)
    limits = [Fraction(str(band)) for band in BANDS]
    levels = [slow.positive] if slow.positive else slow.levels
    scale = 1 if slow.positive else Fraction(1, 2)
    for q in slow.real.keys() & slow.made.keys():
        real, made = slow.real[q], slow.made[q]
        distance = scale * sum(
            abs(slow.share(made, s) - slow.share(reference(real), s)) for s in levels
        )
        band = next(i for i, limit in enumerate(limits) if distance <= limit)
        size = max(edge for edge in SIZES if edge <= real.total())
        before = Fraction(real.total(), len(slow.original))
        difference = Fraction(made.total(), len(slow.synthetic)) - before
        groups[BANDS[band], size].append((difference, difference / before))
    return groups


def check_differences(part, slow):
    assert part.cells == len(slow.real.keys() & slow.made.keys())
    assert part.original_only == len(slow.real.keys() - slow.made.keys())
    assert part.synthetic_only == len(slow.made.keys() - slow.real.keys())
    share = slow.positive and Fraction(slow.marginal[slow.positive], len(slow.original))
    assert close(part.marginal, share)
    expected = slow_rows(slow, lambda cell: cell), slow_rows(slow, lambda cell: slow.marginal)
    for rows, groups in zip((part.own_proportion, part.marginal_proportion), expected, strict=True):
        assert {(row.band_high, row.size_low) for row in rows} == groups.keys()
        for row in rows:
            values = groups[row.band_high, row.size_low]
            assert row.cells == len(values)
            assert row.band_low == (0.0, *BANDS)[BANDS.index(row.band_high)]
            assert row.size_high == SIZES[SIZES.index(row.size_low) + 1] - 1
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


def check_roc(curves, slow):
    wanted = [slow.positive] if len(slow.levels) == 2 else slow.levels
    assert sorted(curve.level for curve in curves) == sorted(wanted)
    for curve in curves:
        level = curve.level
        shares = {q: slow.share(cell, level) for q, cell in slow.made.items()}
        scored = [(shares[q], s == level) for q, s in slow.original if q in shares]
        overall = slow.share(Counter(s for _, s in slow.synthetic), level)
        everybody = [(shares.get(q, overall), s == level) for q, s in slow.original]
        real = [(slow.share(slow.real[q], level), s == level) for q, s in slow.original]
        assert (curve.positives + curve.negatives, curve.positives) == (
            len(scored),
            sum(inside for _, inside in scored),
        )
        assert curve.left_out == len(slow.original) - len(scored)
        assert curve.thresholds == len(set(shares.values()))
        assert close(curve.auc, slow_auc(scored))
        assert close(curve.auc_all, slow_auc(everybody))
        assert close(curve.auc_original, slow_auc(real))
        present = [pair for pair, (q, _) in zip(real, slow.original, strict=True) if q in shares]
        assert close(curve.auc_original_of_present, slow_auc(present))
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


def check_thresholds(part, slow, baseline):
    n = len(slow.original)
    pick = [["agency", "pay"].index(name) for name in baseline]
    margins = slow.tally([(tuple(q[i] for i in pick), s) for q, s in slow.original])
    synthetic, published, original, right, known, original_right = [], [], [], [], [], []
    for q, s in slow.original:
        cell, margin = slow.made.get(q), margins[tuple(q[i] for i in pick)]
        synthetic.append(None if cell is None else slow.share(cell, s))
        published.append(slow.share(margin, s))
        original.append(slow.share(slow.real[q], s))
        right.append(cell is not None and slow.majority(cell) == s)
        known.append(slow.majority(margin) == s)
        original_right.append(slow.majority(slow.real[q]) == s)
    assert (part.n, part.absent) == (n, synthetic.count(None))
    assert close(part.right, mean(right))
    assert close(part.baseline_right, mean(known))
    assert close(part.original_right, mean(original_right))
    assert close(part.absent_share, Fraction(part.absent, n))
    for value, guesses in (
        (part.right_of_present, right),
        (part.baseline_right_of_present, known),
        (part.original_right_of_present, original_right),
    ):
        assert close(
            value, mean(g for g, p in zip(guesses, synthetic, strict=True) if p is not None)
        )
    assert close(part.right_in_both, mean(k for r, k in zip(right, known, strict=True) if r))
    pairs = [(p, b) for p, b in zip(synthetic, published, strict=True) if p is not None]
    assert close(part.lower, Fraction(sum(p < b for p, b in pairs), n))
    assert close(part.equal, Fraction(sum(p == b for p, b in pairs), n))
    assert close(part.higher, Fraction(sum(p > b for p, b in pairs), n))
    for row in part.rows:
        assert row.count == sum(p is not None and p > row.threshold for p in synthetic)
        assert row.baseline_count == sum(p > row.threshold for p in published)
        assert row.original_count == sum(p > row.threshold for p in original)
        assert (row.share, row.baseline_share) == (row.count / n, row.baseline_count / n)
        assert row.original_share == row.original_count / n


def check_scores(each, summary, slow):
    for (q, s), share, original in zip(slow.original, each.synthetic, each.original, strict=True):
        assert close(original, slow.share(slow.real[q], s))
        if q in slow.made:
            assert close(share, slow.share(slow.made[q], s))
        else:
            assert np.isnan(share)
    assert summary.right == each.right.mean()
    assert summary.baseline_right == each.baseline_right.mean()
    assert summary.original_right == each.original_right.mean()
    assert summary.higher == (each.synthetic > each.baseline).mean()


CROWD = {"sensitive": "secret", "public": ["agency", "grade"]}


def crowd_of(agency, grade, codes, levels):
    columns = [coded("agency", agency, [f"a{code}" for code in range(30)])]
    return Table([*columns, numeric("grade", grade), coded("secret", codes, "pqrst"[:levels])])


PAIRS = st.tuples(st.sampled_from([1, 2]), st.sampled_from("pqr"))


@st.composite
def small(draw):
    """Two levels at least in an original with few records; one or two synthetic datasets."""
    rest = draw(st.lists(PAIRS, max_size=3))
    original = [*draw(st.permutations([(1, "p"), (draw(PAIRS)[0], "q")])), *rest]
    made = draw(st.lists(st.lists(PAIRS, min_size=1, max_size=3), min_size=1, max_size=2))
    return original, made


def run_small(case, thresholds=(0.0, 0.3, 0.5, 2 / 3, 0.7)):
    original, made = case
    tables = [
        Table(
            [
                numeric("cell", [q for q, _ in rows]),
                coded("sex", ["pqr".index(s) for _, s in rows], "pqr"),
            ]
        )
        for rows in (original, *made)
    ]
    return inference(tables[0], tables[1:], sensitive="sex", public=["cell"], thresholds=thresholds)


def shares(rows):
    return {s: Fraction(count, len(rows)) for s, count in Counter(s for _, s in rows).items()}


def worlds(rows):
    """All levels that the records might have had, each with its probability."""
    probability = shares(rows)
    for drawn in product(probability, repeat=len(rows)):
        yield (
            [(q, s) for (q, _), s in zip(rows, drawn, strict=True)],
            np.prod([probability[s] for s in drawn]),
        )


def guesses(original, synthetic):
    """Return the guess for each synthetic cell; ties go to the more frequent original level."""
    truth = Counter(s for _, s in original)
    occurring = sorted({s for _, s in original + synthetic})
    order = sorted(occurring, key=lambda s: (-truth[s], occurring.index(s)))
    return {
        q: max(order, key=lambda s: (synthetic.count((q, s)), -order.index(s)))
        for q, _ in synthetic
    }


@settings(max_examples=40, deadline=None)
@given(small())
def test_what_happens_by_chance_is_the_mean_over_all_worlds(case):
    """Worlds of true levels, or of synthetic ones for shares; all else stays as it is."""
    original, made = case
    result = run_small(case)
    synthetic, m, n = [row for rows in made for row in rows], len(made), len(original)
    visible = Counter(q for q, _ in synthetic)
    guess = guesses(original, synthetic)
    true_worlds, shown_worlds = list(worlds(original)), list(worlds(synthetic))

    expected = sum(
        weight
        * sum(min(Fraction(visible[q], m), world.count((q, s))) for q, s in guess.items())
        * Fraction(m, len(synthetic))
        for world, weight in true_worlds
    )
    assert result.classification.chance == pytest.approx(float(expected), abs=1e-12)

    def exceeding(people, shown, threshold):
        return sum(
            visible[q] > 0 and shown.count((q, s)) / visible[q] > threshold for q, s in people
        )

    for row in result.thresholds.rows:
        drawn = sum(w * exceeding(original, world, row.threshold) for world, w in shown_worlds)
        fixed = sum(w * exceeding(world, synthetic, row.threshold) for world, w in true_worlds)
        assert row.chance_share == pytest.approx(float(drawn) / n, abs=1e-12)
        assert row.kept_chance_share == pytest.approx(float(fixed) / n, abs=1e-12)

    # Guesses of any record that is present, for any other one.
    right = mean(
        guess[q] == s for q, _ in original if q in guess for p, s in original if p in guess
    )
    assert close(result.thresholds.chance_right_of_present, right)


@pytest.mark.parametrize("threshold", [0.0, 0.28, 0.56, 0.7])
def test_thresholds_are_exceeded_as_the_shares_exceed_them(threshold):
    """0.28 * 25 is above 7 and 0.7 * 10 is 7, as computers have it, and 7 / 25 is 0.28."""
    sizes = range(1, 60)
    rows = [(n, k % 2) for n in sizes for k in range(n)]
    made = crowd_of([0] * len(rows), *zip(*rows, strict=True), 2)
    original = crowd_of([0] * 59, sizes, [n % 2 for n in sizes], 2)
    (row,) = inference(original, made, **CROWD, thresholds=[threshold]).thresholds.rows
    share = np.bincount(made["secret"].data) / len(rows)
    expected = sum(
        stats.binom.pmf(k, n, share[n % 2])
        for n in sizes
        for k in range(n + 1)
        if k / n > threshold
    )
    assert row.chance_share == pytest.approx(expected / 59, abs=1e-12)


@pytest.mark.parametrize("made", [1, 299, 900, 5000])
def test_large_cells_are_exact_too(made):
    n, k = 1000, np.arange(1001)
    original = crowd_of([0] * n, [1] * n, [1] * 300 + [0] * 700, 2)
    sizes = [size for size in np.diff(np.linspace(0, made, 4).astype(int)).tolist() if size]
    datasets = [crowd_of([0] * size, [1] * size, [1] * size, 2) for size in sizes]
    chance = inference(original, datasets, **CROWD).classification.chance
    shown = np.minimum(made, len(sizes) * k)
    assert chance == pytest.approx(shown @ stats.binom.pmf(k, n, 0.3) / made, abs=1e-12)


def frame(agencies, sexes):
    return pd.DataFrame({"agency": list(agencies), "sex": list(sexes)})


# Cells A: FFM, B: M, C: F, D: MM; the synthesis shows A: FM, B: MM, C: M, E: F and no D.
PEOPLE = frame("AAABCDD", "FFMMFMM")
MADE = frame("AABBCE", "FMMMMF")
SETTINGS = {"sensitive": "sex", "public": ["agency"], "positive": "F"}


@pytest.fixture(scope="module")
def worked():
    return inference(PEOPLE, MADE, **SETTINGS)


def test_figures_by_hand(worked):
    """In cell A both sexes have a share of 0.5, which does not exceed it."""
    figures = {figure.key: figure for figure in worked.figures}
    expected = {
        "auc": (7 / 12, 0.5, 5),
        "guessed_right": (0.6, 0.52, 5),
        "probability_above": (1 / 7, 8 / 49, 7),
        "revealed_share": (worked.classification.revealed, worked.classification.chance, 6),
    }
    for key, (value, chance, n) in expected.items():
        figure = figures[key]
        assert (figure.value, figure.chance) == pytest.approx((value, chance))
        assert figure.n == n
    end = "_from_margins"
    margins = [figure for key, figure in figures.items() if key.endswith(end)]
    assert [figure.value for figure in margins] == pytest.approx([2 / 6, 0.4, 4 / 7, 0, 0, 0])
    for figure in margins:
        assert figure.chance is figure.original is None
        key = figure.key.removesuffix(end).replace("_0.5", "")
        assert figure.n == figures[key].n
    assert "; margins of all" in figures["guessed_right_from_margins"].meaning
    known = inference(PEOPLE, MADE, **SETTINGS, baseline=["agency"])
    by_agency = {figure.key: figure for figure in known.figures}
    assert "margins by agency" in by_agency["guessed_right_from_margins"].meaning
    assert by_agency["guessed_right_from_margins"].value == pytest.approx(4 / 5)
    assert by_agency["guessed_right"] == figures["guessed_right"]


COMPARED = ("unique persons guessed right", "revealed share", "AUC", "guessed right")


def value_of(result, name):
    return next(figure.value for figure in result.figures if figure.name == name)


def people(n, seed, *, leak=1.0, levels=2):
    """Two public variables; the sensitive one follows the first with probability ``leak``."""
    rng = np.random.default_rng(seed)
    agency, grade = rng.integers(0, 12, n), rng.integers(1, 6, n)
    codes = np.where(rng.random(n) < leak, agency % levels, rng.integers(0, levels, n))
    return Table(
        [
            coded("agency", agency, [f"a{code}" for code in range(12)]),
            numeric("grade", grade),
            coded("secret", codes, "pqrstu"[:levels]),
        ]
    )


def test_a_copy_of_functional_data_reveals_everything():
    table = people(2000, 2, leak=1.0, levels=3)
    result = inference(table, table, sensitive="secret", public=["agency"])
    assert result.classification.revealed == 1
    assert result.thresholds.right == result.thresholds.rows[-1].share == 1
    assert [curve.auc for curve in result.roc] == [1.0] * 3
    assert result.thresholds.higher == 1
    known = inference(table, table, sensitive="secret", public=["agency"], baseline=["agency"])
    assert (known.thresholds.higher, known.thresholds.equal) == (0, 1)
    assert known.thresholds.right_in_both == 1


def class_share(scores, inside):
    """Share of the class from that of the true level; rounded, since 1 - 1/3 is not 2/3."""
    return np.round(np.where(inside, scores.synthetic, 1 - scores.synthetic), 12)


def test_long_curves_are_thinned_but_their_area_is_exact():
    rng = np.random.default_rng(7)
    n = 250_000
    cell = rng.integers(0, 2500, n)
    p = 0.05 + 0.9 * cell / 2500
    table, made = (
        Table([numeric("cell", cell), coded("sex", rng.random(n) < p, "MF")]) for _ in range(2)
    )
    (curve,) = inference(table, made, sensitive="sex", public=["cell"], positive="F").roc
    scores = inference_scores(table, made, sensitive="sex", public=["cell"], positive="F")
    inside = table["sex"].data == 1
    use = ~np.isnan(scores.synthetic)
    share = class_share(scores, inside)
    assert curve.auc == pytest.approx(roc_auc_score(inside[use], share[use]), abs=1e-12)
    assert curve.thresholds > 1.2 * MAX_POINTS > len(curve.curve) > 0.5 * MAX_POINTS
    thresholds, tpr, tnr = zip(*curve.curve, strict=True)
    assert (tpr[0], tnr[0], tpr[-1], tnr[-1]) == (1, 0, 0, 1)
    assert list(thresholds[1:]) == sorted(thresholds[1:])
    area = (np.diff(tnr) * (np.array(tpr[1:]) + tpr[:-1])).sum() / 2
    assert area == pytest.approx(curve.auc, abs=1e-4)


@needs_reference
def test_census_data():
    original = load_reference("original.csv")
    made = [load_reference(f"synthetic_cart_{number}.csv") for number in range(1, 6)]
    public = ["PUMA", "AGEP", "SEX", "OWN_RENT"]
    result = inference(original, made, sensitive="RAC1P", public=public, baseline=["PUMA"])
    assert (result.n, result.m, result.n_synthetic) == (7634, 5, 5 * 7634)
    for figure in result.figures:
        assert 0 <= figure.value <= 1
        if figure.chance is not None:
            assert figure.value <= figure.original, figure.name
        if figure.name in COMPARED:
            assert figure.chance < figure.value, figure.name


def test_sensitive_numbers_need_groups():
    table, made = persons(600, 1), persons(500, 2)
    levels = ("[-inf, 0)", "[0, 1000)", "[1000, inf)", "", "-8")
    settings = {"sensitive": "income", "public": ["sex", "marital"], "baseline": ["sex"]}
    settings |= {"groups": {"income": [1000, 0]}}
    for positive in (None, "[0, 1000)", "-8"):
        result = inference(table, made, **settings, positive=positive)
        assert (result.levels, result.positive) == (levels[1:], positive)
    losses = made.with_column(numeric("income", np.full(500, -700.0)))
    assert inference(table, losses, **settings).levels == levels
    assert inference(table, losses, **settings).thresholds.right == 0
    quarters = inference(table, made, **settings | {"groups": {"income": 4}})
    assert len(quarters.levels) == 4 + 2


def test_dates_are_public_and_sensitive():
    hired = replace(numeric("hired", [0]).variable, kind=Kind.DATE)

    def levels(*days, **more):
        table = Table([Column(hired, np.array(days)), coded("sex", np.arange(len(days)) % 2, "FM")])
        return inference(table, table, sensitive="hired", public=["sex"], **more).levels

    assert levels(0.0, 0.5) == ("1970-01-01", "1970-01-01T12:00:00.000000")
    grouped = levels(0.0, 20.0, 90.0, groups={"hired": [31]})
    assert grouped == ("[-inf, 1970-02-01)", "[1970-02-01, inf)")


def test_a_question_is_about_persons_or_about_their_periods():
    """Rows of a panel are records of their own; figures count person-periods."""
    table = frame("AABBB", "FMFFM")
    question = Question(sensitive="sex", public="agency", positive="F", groups={"x": 3})
    plain_table = as_table(table, list(table))
    wide = plain_table.with_column(numeric("more", np.arange(5)))
    assert question.rows(wide).names == ("sex", "agency")
    periods = question.changed(units="periods")
    with pytest.raises(DataError, match="units: only a panel has periods"):
        periods.rows(wide)
    index = PanelIndex.of_presence(np.ones((5, 2), dtype=bool), np.arange(2.0))
    rows = np.arange(10) // 2
    panel = PanelTable([column.take(rows) for column in plain_table.columns], index)
    view = person_view(panel, career=None, constant={"sex"})
    assert periods.rows(view).n_rows == 10
    by_person, by_period = (
        inference(plain_table, plain_table, **(question.settings | {"units": units, "groups": {}}))
        for units in ("persons", "periods")
    )
    assert by_period.subject == f"{by_person.subject} (person-periods)"
    for one, other in zip(by_person.figures, by_period.figures, strict=True):
        assert other.value == one.value
        words = one.meaning.replace("record", "person")
        assert other.meaning.replace("person-period", "person") == words
