from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.measures.figure import plain
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.scenario import Exclusion
from tests.measures.risk.slow_rows import rows, tables_to_compare
from tests.reference_data import KEYS, expected_values, load_reference, needs_reference
from tests.tables import coded, numeric

MISSING = ("", "N")


def by_key(keys, targets):
    groups = defaultdict(list)
    for key, target in zip(keys, targets, strict=True):
        groups[key].append(target)
    return groups


def slow(original, made, keys, target, cuts=None, out=lambda key, level: False, limit=10**9):
    """Every measure by dictionaries; ``out`` excludes keys with some of their levels."""
    known, truth = rows(original, keys, cuts), [t for (t,) in rows(original, [target], cuts)]
    theirs, levels = rows(made, keys, cuts), [t for (t,) in rows(made, [target], cuts)]
    real, synthetic, n = by_key(known, truth), by_key(theirs, levels), len(known)

    def shows(groups, key):
        return key in groups and len(set(groups[key])) == 1 and not out(key, groups[key][0])

    def disclosive(key):
        return shows(real, key) and len(real[key]) <= limit

    def settled(key):
        return shows(synthetic, key) and real[key].count(synthetic[key][0]) <= limit

    disclosed = [settled(k) and synthetic[k][0] == t for k, t in zip(known, truth, strict=True)]
    sizes = Counter(k for k, hit in zip(known, disclosed, strict=True) if hit).values()
    matched = sum(k in synthetic for k in known)
    pairs = list(zip(known, truth, strict=True))
    return {
        "dorig": sum(map(disclosive, known)) / n,
        "dsyn": sum(shows(synthetic, k) and len(synthetic[k]) <= limit for k in theirs)
        / len(theirs),
        "in_synthetic": matched / n,
        "dis": sum(map(settled, known)) / n,
        "disco": sum(disclosed) / n,
        "disdio": sum(hit and disclosive(k) for k, hit in zip(known, disclosed, strict=True)) / n,
        "max_denom": max(sizes, default=None),
        "mean_denom": sum(sizes) / len(sizes) if sizes else None,
        "base_capd": sum(count**2 for count in Counter(truth).values()) / n**2,
        "capd": sum(real[k].count(t) / len(real[k]) for k, t in pairs) / n,
        "caps": sum(
            synthetic[k].count(t) / len(synthetic[k]) for k, t in zip(theirs, levels, strict=True)
        )
        / len(theirs),
        "dcap": sum(synthetic[k].count(t) / len(synthetic[k]) for k, t in pairs if k in synthetic)
        / n,
        "tcap": sum(disclosed) / matched if matched else None,
    }, disclosed


def assert_equal(values, expected):
    for name, value in expected.items():
        assert getattr(values, name) == pytest.approx(value, abs=1e-12), name


@settings(max_examples=25, deadline=None)
@given(
    tables_to_compare(two_levels=True),
    st.sampled_from([["a"], ["b", "a"]]),
    st.sampled_from(["t", "u"]),
)
def test_equals_slow_counting(data, keys, target):
    original, made = data
    result = attribute(original, made, keys=keys, target=target)
    expected = [slow(original, table, keys, target)[0] for table in made]
    for values, slowly in zip(result.datasets, expected, strict=True):
        assert_equal(values, slowly)
        assert values.left_out == 0
    figures = {figure.key: figure for figure in result.figures}
    released = slow(original, original, keys, target)[0]
    for name in ("dorig", "dsyn", "in_synthetic", "dis", "disco", "disdio", "dcap", "capd", "caps"):
        value = pytest.approx(np.mean([e[name] for e in expected]))
        assert getattr(result.mean, name) == value
        if name in figures:
            assert figures[name].value == value
            assert figures[name].original == pytest.approx(released[name])
    assert len(figures) == 6
    defined = [e["tcap"] for e in expected if e["tcap"] is not None]
    assert result.mean.tcap == (pytest.approx(np.mean(defined)) if defined else None)


@settings(max_examples=25, deadline=None)
@given(
    tables_to_compare(two_levels=True),
    st.sampled_from([[0.0], [-1.0, 3.0]]),
    st.sampled_from([1, 2, 10]),
)
def test_groups_exclusions_and_limits_equal_slow_counting(data, cuts, limit):
    original, made = data
    both = {"b": cuts, "u": [0.0]}
    exclude = [
        Exclusion(target_level=3),  # the upper group of u
        Exclusion(target_level="", key="b", key_level=-1.0),
        Exclusion(target_level=-2.0, key="a", key_level="N"),
    ]
    group = sum(cut <= -1.0 for cut in cuts)

    def out(key, level):
        return level == 1 or (level == "" and key[0] == group) or (level == 0 and key[1] == "N")

    options = {"keys": ["b", "a"], "target": "u", "groups": both}
    result = attribute(original, made, exclude=exclude, exclude_above=limit, **options)
    plain = attribute(original, made, **options)
    n = original.n_rows
    for values, before, table in zip(result.datasets, plain.datasets, made, strict=True):
        assert_equal(values, slow(original, table, ["b", "a"], "u", both, out, limit)[0])
        assert values.left_out == round(n * (before.disco - values.disco))


@settings(max_examples=25, deadline=None)
@given(
    tables_to_compare(two_levels=True), st.booleans(), st.sampled_from([True, False, ["a"], ["b"]])
)
def test_missing_codes_that_do_not_count(data, use_target, use_keys):
    original, made = data
    keys = ["a", "b"]
    used = keys if use_keys is True else (use_keys or [])

    def out(key, level):
        gone = any(k in MISSING for name, k in zip(keys, key, strict=True) if name not in used)
        return gone or (not use_target and level in MISSING)

    result = attribute(
        original,
        made,
        keys=keys,
        target="t",
        use_missing_target=use_target,
        use_missing_keys=use_keys,
    )
    for values, table in zip(result.datasets, made, strict=True):
        assert_equal(values, slow(original, table, keys, "t", out=out)[0])
    fell = [out(k, t) for k, (t,) in zip(rows(original, keys), rows(original, ["t"]), strict=True)]
    assert result.excluded == sum(fell)


def dominated():
    """Return 60 children, who alone have the work "none", and ten other persons."""
    ages = [5] * 30 + [6] * 30 + list(range(20, 30))
    sex = [0, 1] * 35
    work = [2] * 60 + [0, 1] * 5
    return Table(
        [numeric("age", ages), coded("sex", sex, "fm"), coded("work", work, "xy", ("none",))]
    )


def test_what_dominates_can_be_excluded_and_is_in_the_file_but_not_in_the_text():
    table = dominated()
    choice = {"keys": ["sex", "age"], "target": "work"}
    result = attribute(table, [table, table], thresholds_1way=(50, 0.8), **choice)
    first = result.warnings[0]
    assert (first.kind, first.dataset, first.target_rank, first.key) == ("one-way", 1, 1, None)
    assert (first.records, first.share, first.prior) == (60, 60 / 70, 60 / 70)
    for text in (repr(first), repr(result)):
        assert "none" not in text.replace("None", "")
    assert plain(result)["warnings"][0]["exclusion"]["target_level"] == "none"
    by_age = [warning for warning in result.warnings if warning.kind == "two-way"]
    assert [warning.dataset for warning in by_age] == [1, 1, 2, 2]
    assert {(warning.target_rank, warning.key_rank) for warning in by_age} == {(1, 1)}
    assert {(w.key, w.exclusion.key_level, w.records, w.prior) for w in by_age} == {
        ("age", 5.0, 30, 1.0), ("age", 6.0, 30, 1.0),
    }  # fmt: skip
    for exclusion in ([first.exclusion], [warning.exclusion for warning in by_age]):
        without = attribute(table, table, exclude=exclusion, **choice)
        assert (without.mean.disco, without.mean.left_out) == (10 / 70, 60)
        assert without.warnings == ()
    grouped = attribute(table, table, groups={"age": [18.0]}, **choice)
    assert [(w.records, w.prior) for w in grouped.warnings if w.key] == [(60, 1.0)]


@settings(max_examples=25, deadline=None)
@given(
    tables_to_compare(two_levels=True), st.sampled_from([0, 1, 2]), st.sampled_from([0.2, 0.5, 0.9])
)
def test_warnings_equal_slow_counting(data, size, share):
    original, (made, *_) = data
    keys, n = ["a", "b"], original.n_rows
    result = attribute(
        original, made, keys=keys, target="t", thresholds_1way=(size, share),
        thresholds_2way=(size, share),
    )  # fmt: skip
    _, disclosed = slow(original, made, keys, "t")
    known, truth = rows(original, keys), [t for (t,) in rows(original, ["t"])]
    hits = [(k, t) for k, t, hit in zip(known, truth, disclosed, strict=True) if hit]
    levels = Counter(t for _, t in hits)
    expected = {
        (None, None, t, count, truth.count(t) / n)
        for t, count in levels.items()
        if count > size and count / len(hits) > share
    }
    for (key, t), count in Counter(hits).items():
        priors = []
        for position in range(2):
            same = [u for k, u in zip(known, truth, strict=True) if k[position] == key[position]]
            priors.append(same.count(t) / len(same))
        best = int(np.argmax(priors))
        if count > size and priors[best] > share:
            together = sum(k[best] == key[best] and u == t for k, u in hits)
            expected.add((keys[best], key[best], t, together, priors[best]))
    warnings = [
        (w.key, w.exclusion.key_level, w.exclusion.target_level, w.records, w.prior)
        for w in result.warnings
    ]
    assert len(warnings) == len(set(warnings))
    assert set(warnings) == expected

    def rank(level, values):
        counts = Counter(values)
        return 1 + sum(count > counts[level] for count in counts.values())

    for w in result.warnings:
        assert w.target_rank == rank(w.exclusion.target_level, truth)
        key_levels = w.key and [key[keys.index(w.key)] for key in known]
        assert w.key_rank == (key_levels and rank(w.exclusion.key_level, key_levels))
    assert all(w.share == w.records / len(hits) for w in result.warnings)


NAMES = {"iS": "in_synthetic"}


@needs_reference
@pytest.mark.parametrize("method", ["cart", "parametric"])
def test_equals_the_reference(method):
    original = load_reference("original.csv")
    expected = expected_values()[method]
    made = load_reference(f"synthetic_{method}.csv")
    values = attribute(original, made, keys=KEYS, target="EDU").mean
    for name, value in (expected["attrib"] | expected["caps"]).items():
        measure = getattr(values, NAMES.get(name, name.lower().replace("basecapd", "base_capd")))
        percent = 1 if name.endswith("denom") else 100
        assert percent * measure == pytest.approx(value, rel=0, abs=1e-9), name
