"""Fits of partitions against libraries, and what no partition can be made to do."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from partition_trials import distances, orders

from synthesizer.extensions.verification import partition_fits
from synthesizer.extensions.verification.partition_fits import PartitionRows, fit_partitions

N, M = 2400, 4


def rows(seed=0, *, effects=True, response=None):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(N // 4), 4)
    X = np.column_stack([np.repeat(rng.random(N // 4) < 0.3, 4), rng.normal(40, 9, N)])
    X = np.column_stack([X, X[:, 1] ** 2]).astype(float)
    bureau, job = rng.integers(0, 30, N), rng.integers(0, 40, N)
    y = X @ [-0.03, 0.04, -0.0003] + rng.normal(size=30)[bureau] + rng.normal(0, 0.3, N)
    y = y if response is None else (rng.random(N) < 1 / (1 + np.exp(2 - 0.05 * X[:, 1]))) * 1.0
    if not effects:
        X = np.column_stack([np.ones(N), X])
    codes = (bureau, job) if effects else ()
    return PartitionRows(y, X, codes, person, rng.integers(0, M, N // 4)[person])


@pytest.mark.parametrize("of_persons", [False, True])
def test_effects_of_many_levels_as_pyfixest_fits_them(of_persons):
    pytest.importorskip("pyfixest")
    data = rows()
    if of_persons:  # what does not change in a person is theirs then
        data = replace(data, X=data.X[:, 1:], effects=(data.persons, data.effects[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert distances(data, fit_partitions(data, M)) < (1e-9, 1e-8)


def with_columns_of_levels(data):
    """Least squares with a column for each level, and errors clustered by person, by definition."""
    columns = [codes[:, None] == np.unique(codes) for codes in data.effects]
    D = np.column_stack([data.X, *columns]).astype(float)
    inverse, p = np.linalg.pinv(D.T @ D), data.X.shape[1]
    coefficients = inverse @ D.T @ data.y
    scores = D * (data.y - D @ coefficients)[:, None]
    persons = np.unique(data.persons)
    sums = np.array([scores[data.persons == person].sum(axis=0) for person in persons])
    nested = any(codes is data.persons for codes in data.effects)
    cost = np.linalg.matrix_rank(D) - (len(persons) - 1) * nested
    factor = (len(data.y) - 1) / (len(data.y) - cost) * len(persons) / (len(persons) - 1)
    return coefficients[:p], np.sqrt(factor * np.diag(inverse @ sums.T @ sums @ inverse)[:p])


@pytest.mark.parametrize("of_persons", [False, True])
@pytest.mark.parametrize("levels", [(5,), (5, 4), (5, 4, 3)])
def test_effects_are_columns_of_their_levels_however_many_effects(levels, of_persons):
    rng, person = np.random.default_rng(0), np.repeat(np.arange(30), 4)
    n, effects = len(person), [rng.integers(0, k, 120) for k in levels]
    effects = [person, *effects[1:]] if of_persons else effects
    X = rng.normal(size=(n, 2))
    y = X @ [1.0, -2] + sum(effects) + rng.normal(size=30)[person] + rng.normal(size=n)
    data = PartitionRows(y, X, tuple(effects), person, np.zeros(n, dtype=np.int64))
    coefficients, errors = with_columns_of_levels(data)
    fits = fit_partitions(data, 1)
    assert fits.coefficients[0] == pytest.approx(coefficients, rel=1e-8)
    assert fits.errors[0] == pytest.approx(errors, rel=1e-8)


@pytest.mark.parametrize(("n", "is_fitted"), [(7, False), (8, True)])
def test_a_row_more_than_columns_and_levels_is_enough(n, is_fitted):
    effects = np.arange(n) % 3, np.arange(n) // 2  # 3 and 4 levels, one column: 7 are taken
    x = np.array([0.3, -1, 2, 0.7, 1.1, -0.4, 3, 0.2])[:n, None]
    data = PartitionRows(np.sin(x[:, 0]), x, effects, np.arange(n), np.zeros(n, dtype=np.int64))
    fits = fit_partitions(data, 1)
    assert np.isfinite([fits.coefficients[0, 0], fits.errors[0, 0]]).tolist() == [is_fitted] * 2
    if is_fitted:
        assert [fits.coefficients[0, 0], fits.errors[0, 0]] == pytest.approx(
            [float(part[0]) for part in with_columns_of_levels(data)], rel=1e-8
        )


@pytest.mark.parametrize("family", ["linear", "logit"])
def test_without_effects_as_statsmodels_fits_them(family):
    sm = pytest.importorskip("statsmodels.api")
    data = rows(effects=False, response=None if family == "linear" else "binary")
    fits = fit_partitions(data, M, family)
    kind, quiet = (sm.OLS, {}) if family == "linear" else (sm.Logit, {"disp": 0})
    for m in range(M):
        inside = data.partition == m
        clusters = {"groups": data.persons[inside]}
        model = kind(data.y[inside], data.X[inside])
        one = model.fit(cov_type="cluster", cov_kwds=clusters, **quiet)
        assert fits.coefficients[m] == pytest.approx(one.params, rel=1e-6)
        assert fits.errors[m] == pytest.approx(one.bse, rel=1e-5)


@pytest.mark.parametrize("effects", [True, False])
def test_a_hostile_number_costs_its_own_partition_alone(effects):
    data, honest = rows(effects=effects), fit_partitions(rows(effects=effects), M)
    others = np.arange(M) != data.partition[7]
    for target in (data.y, data.X[:, -1]):
        before = target[7]
        for value in (1e308, -1e308, 1e150, np.inf, -np.inf, np.nan):
            target[7] = value
            fits = fit_partitions(data, M)
            assert np.isnan(fits.coefficients[~others]).all()
            assert (fits.coefficients[others] == honest.coefficients[others]).all()
        target[7] = before


def permuted(data, order):
    y, X, persons, partition = (a[order] for a in (data.y, data.X, data.persons, data.partition))
    return PartitionRows(y, X, tuple(codes[order] for codes in data.effects), persons, partition)


def bits(fits):
    return fits.coefficients.tobytes(), fits.errors.tobytes()


@pytest.mark.parametrize("family", ["linear", "logit"])
def test_the_order_of_rows_changes_no_bit(family, monkeypatch):
    data = rows(effects=family == "linear", response=None if family == "linear" else "binary")
    orders = [np.random.default_rng(seed).permutation(N) for seed in range(5)]

    def differ():
        one = bits(fit_partitions(data, M, family))
        return [bits(fit_partitions(permuted(data, order), M, family)) != one for order in orders]

    assert not any(differ())
    monkeypatch.setattr(  # the control: rows as they stand in the file
        partition_fits, "_fingerprints", lambda columns, codes: np.zeros(len(columns))
    )
    assert any(differ())


def test_a_coefficient_stays_on_its_side_of_a_threshold_in_any_order(monkeypatch):
    """T3: thresholds that are coefficients of the partitions to their last digit."""
    distinct, tried = orders(10)
    assert (distinct, tried > 3) == (1, True)
    monkeypatch.setattr(  # the control: rows as they stand in the file
        partition_fits, "_fingerprints", lambda columns, codes: np.zeros(len(columns))
    )
    assert orders(10)[0] > 1


def test_a_partition_is_fitted_as_if_it_were_alone():
    data = rows()
    together = fit_partitions(data, M)
    for m in range(M):
        alone = permuted(data, np.flatnonzero(data.partition == m))
        fits = fit_partitions(alone, M)
        assert fits.coefficients[m].tobytes() == together.coefficients[m].tobytes()
        assert fits.errors[m].tobytes() == together.errors[m].tobytes()


def test_powers_of_a_year_have_separate_coefficients():
    """Columns whose squares are nearly lines: centred ones give the values to compare with."""
    rng = np.random.default_rng(0)
    n = 2000
    year, person, job = rng.integers(1988, 2012, n) * 1.0, np.arange(n), rng.integers(0, 9, n)
    away = year - 2000
    y = 0.03 * away - 0.002 * away**2 + rng.normal(size=n)
    exact = np.linalg.lstsq(np.column_stack([np.ones(n), away, away**2]), y)[0][2]
    inside = np.zeros(n, dtype=np.int64)
    X = np.column_stack([np.ones(n), year, year**2])
    (coefficients,) = fit_partitions(PartitionRows(y, X, (), person, inside), 1).coefficients
    assert coefficients[2] == pytest.approx(exact, rel=1e-6)
    dummies = np.column_stack([away, away**2, *((job == j) * 1.0 for j in range(9))])
    exact = np.linalg.lstsq(dummies, y)[0][1]
    swept = fit_partitions(PartitionRows(y, X[:, 1:], (job,), person, inside), 1).coefficients[0]
    assert swept[1] == pytest.approx(exact, rel=1e-6)


def few(X, y=None, effects=(), family="linear"):
    """The coefficients of one partition of 30 rows."""
    n = len(X)
    y = np.sin(np.arange(n)) if y is None else np.asarray(y, dtype=float)
    part = np.zeros(n, dtype=np.int64)
    one = PartitionRows(y, np.asarray(X, dtype=float), effects, np.arange(n), part)
    return np.isnan(fit_partitions(one, 1, family).coefficients[0]).tolist()


def test_what_a_partition_does_not_identify_has_no_coefficient():
    rng = np.random.default_rng(0)
    ones, x = np.ones(30), rng.normal(size=30)
    level = rng.integers(0, 2, 30)
    assert few(np.column_stack([ones, x])) == [False, False]
    # no row has the second level: the others are what they are
    assert few(np.column_stack([ones, x, 0 * x])) == [False, False, True]
    # no row has the reference: the constant and all levels hang together, x does not
    both = np.column_stack([ones, x, level == 0, level == 1])
    assert few(both) == [True, False, True, True]
    assert few(np.column_stack([ones, x, 3 * x])) == [False, True, True]
    # a column of next to nothing is no column
    assert few(np.column_stack([ones, x, 5e-324 * (x > 0)])) == [False, False, True]
    # a column that an effect determines
    assert few(np.column_stack([x, level]), effects=(level,)) == [False, True]
    assert few(np.column_stack([ones, x])[:2]) == [True, True]
    assert few(np.empty((0, 2))) == [True, True]
    assert few(np.zeros((30, 2))) == [True, True]
    assert few(np.zeros((30, 2)), y=level, family="logit") == [True, True]
    assert few(np.column_stack([x, x**2]), effects=(np.arange(30),)) == [True, True]


@pytest.mark.parametrize("effects", [(), (np.arange(30) % 3,)])
def test_errors_need_two_persons_and_coefficients_do_not(effects):
    rng, part = np.random.default_rng(0), np.zeros(30, dtype=np.int64)
    X = rng.normal(size=(30, 2))
    one = PartitionRows(X @ [1.0, 2] + rng.normal(size=30), X, effects, part, part)
    two = replace(one, persons=(np.arange(30) > 11).astype(np.int64))
    coefficients, errors = with_columns_of_levels(two)
    for data, expected in ((one, [np.nan] * 2), (two, errors)):
        fits = fit_partitions(data, 1)
        assert fits.coefficients[0] == pytest.approx(coefficients, rel=1e-8)
        assert fits.errors[0] == pytest.approx(expected, rel=1e-8, nan_ok=True)


def test_effects_that_the_steps_do_not_sweep_have_no_fit(monkeypatch):
    n, x = 400, np.random.default_rng(0).normal(size=800)
    chain = (np.arange(2 * n) // 2, (np.arange(2 * n) + 1) // 2)  # one row joins two levels
    X = np.column_stack([x, x[chain[0]]])  # the first effect determines the second column
    more = np.tile(X, (3, 1)) + 0.1 * np.random.default_rng(1).normal(size=(6 * n, 2)) * [1, 0]
    assert few(more, effects=tuple(np.tile(codes, 3) for codes in chain)) == [True, True]
    short = tuple(np.tile(codes % 20, 3) for codes in chain)
    assert few(more, effects=short) == [False, False]
    monkeypatch.setattr(partition_fits, "_UNSWEPT", np.inf)  # the control: a number that is none
    assert few(more, effects=tuple(np.tile(codes, 3) for codes in chain)) == [False, False]


def test_a_logit_that_does_not_settle_has_no_coefficient():
    x = np.arange(30.0)
    X = np.column_stack([np.ones(30), x])
    assert few(X, y=x > 14, family="logit") == [True, True]  # separated
    assert few(X, y=x % 2 == 0, family="logit") == [False, False]
    assert few(X, y=0 * x, family="logit") == [True, True]  # one outcome
    assert few(X, y=x % 3, family="logit") == [True, True]  # no outcomes
    with pytest.MonkeyPatch.context() as patch:  # a decomposition that does not settle

        def fails(*_):
            raise np.linalg.LinAlgError

        patch.setattr(np.linalg, "svd", fails)
        assert few(X, y=x % 2 == 0) == [True, True]


def test_effects_that_are_balanced_leave_every_partition_its_fit():
    """Years of a balanced panel explain no column of persons: steps on rounding led away."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(10, 31))
        person, year = np.repeat(np.arange(n), 4), np.tile(np.arange(4), n)
        agency, x = rng.integers(0, 4, n)[person], rng.integers(0, 2, (n, 2))[person].astype(float)
        y = x @ [1.0, -2.0] + agency + 0.1 * year + rng.normal(0, 0.1, 4 * n)
        rows = PartitionRows(y, x, (agency, year), person, 0 * person)
        dense = np.column_stack([x, np.eye(4)[agency], np.eye(4)[year]])
        if np.linalg.matrix_rank(dense) < 2 + len(np.unique(agency)) + 3:
            continue
        expected = np.linalg.lstsq(dense, y, rcond=None)[0][:2]
        np.testing.assert_allclose(fit_partitions(rows, 1).coefficients[0], expected, atol=1e-9)


@pytest.mark.parametrize("family", ["linear", "logit"])
@pytest.mark.parametrize("spoilt", ["huge", "equal", "dependent", "response", "levels"])
def test_a_group_without_a_fit_takes_the_same_steps(monkeypatch, family, spoilt):
    """Time could reveal which groups have none: the work is that of groups with a fit."""
    rng = np.random.default_rng(3)
    n, work = 120, []
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    y = rng.integers(0, 2, n).astype(float)
    effects = (rng.integers(0, 5, n),) if family == "linear" else ()

    def steps(X, y, effects):
        work.clear()
        for name in ("svd", "qr", "eigh"):
            real = getattr(np.linalg, name)
            monkeypatch.setattr(
                np.linalg,
                name,
                lambda a, *r, _f=real, **k: (work.append(a.shape), _f(a, *r, **k))[1],
            )
        rows = PartitionRows(y, X, effects, np.arange(n), np.zeros(n, dtype=np.int64))
        fits = fit_partitions(rows, 1, family).coefficients
        monkeypatch.undo()
        return list(work), np.isfinite(fits).all()

    whole, is_fitted = steps(X, y, effects)
    if spoilt == "huge":
        X = X * 1e150
    elif spoilt == "equal":
        X = np.ones_like(X)
    elif spoilt == "dependent":
        X = np.column_stack([X[:, :2], X[:, 1]])
    elif spoilt == "response":
        y = np.full(n, 1e200)
    elif effects:
        effects = (np.arange(n),)
    assert steps(X, y, effects)[0] == whole
    assert family == "linear" or is_fitted
