"""New periods of published histories: what is published stays, what is new follows the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from synthesizer.data.expressions import Expression
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable, as_panel
from synthesizer.data.randomness import Seed
from synthesizer.data.values import single_value
from synthesizer.engine.chain import ChainSpec, parallel
from synthesizer.engine.source import Request
from synthesizer.extensions.releases.extending import Extending, fit_extension
from synthesizer.models.careers.career import Career
from synthesizer.models.cart import Cart
from synthesizer.models.step import Forbid, Rule, Step
from tests.engine.test_panel_chain import FRAME, PERIODS, STEPS
from tests.tables import assert_same, coded

YEARS = PERIODS


def panel(n: int = 400, seed: int = 1) -> PanelTable:
    """Return persons whose state never changes, and whose grade is theirs but in the last years.

    One in ten is new in each later year, a woman; in 2003 all in state c get grade high, in 2004
    all others get grade low.
    """
    rng = np.random.default_rng(seed)
    kind = rng.random(n)
    begins = np.where(kind < 0.1, 3, np.where(kind < 0.2, 2, 0))
    index = PanelIndex.of_presence(np.arange(4) >= begins[:, None], YEARS.data)
    sex = np.where(begins > 0, 0, rng.integers(0, 2, n))[index.person]
    state = rng.integers(0, 3, n)[index.person]
    grade = rng.integers(0, 2, n)[index.person]
    grade = np.where((index.period >= 2) & (state == 2), 2, grade)
    grade = np.where((index.period == 3) & (state < 2), 0, grade)
    columns = [coded("sex", sex, "fm"), coded("state", state, "abc")]
    grades = coded("grade", grade, ("low", "mid", "high"))
    return PanelTable([*columns, grades, YEARS.take(index.period)], index)


def published(first: int, n: int = 120) -> PanelTable:
    """Return what is published: other persons of the same law, before a period."""
    return panel(n, seed=5).until(first)


def fitted(
    first: int = 2, law: PanelTable | None = None, n_jobs: int | None = None, **changes: Any
) -> Extending:
    known = published(first)
    names = (law or known).names
    given = [as_panel(published(first).select(names)) for _ in range(3)]

    def yielded(request: Request) -> Iterator[PanelTable]:
        yield from given[request.first : request.first + request.m]

    spec = ChainSpec(**({"steps": STEPS, "frame": FRAME} | changes))
    more = {"n_jobs": n_jobs, "replicates": 2 if changes.get("proper") else 1}
    return fit_extension(spec, law or panel(), first, yielded, known.n_units, Seed(1), **more)


def drawn(source: Extending, **words: Any) -> PanelTable:
    return as_panel(next(source.generate(Seed(2), m=1, **words)))


@pytest.mark.parametrize("first", [2, 3])
def test_what_is_published_stays_and_new_periods_follow_the_data(first: int) -> None:
    source, known = fitted(first), published(first)
    made = drawn(source)
    assert_same(made.until(first).take_units(np.arange(known.n_units)), known)
    began = made.index.period[made.index.starts]
    law = panel().index
    starts = law.period[law.starts]
    expected = [
        round((starts == t).sum() * known.n_units / (starts < first).sum()) for t in range(first, 4)
    ]
    assert [int((began == t).sum()) for t in range(first, 4)] == expected
    assert (began[: known.n_units] < first).all()  # persons who are new come last
    assert source.n_units == made.n_units == known.n_units + sum(expected)
    index, state = made.index, made["state"].data
    assert (np.bincount(index.person) == 4 - began).all()  # no person leaves in the data
    assert (state == state[index.starts][index.person]).all()  # nor changes the state
    assert (made["year"].data == YEARS.data[index.period]).all()
    sex = made["sex"].data
    assert (sex == sex[index.starts][index.person]).all()
    assert (sex[index.starts][began >= first] == 0).all()
    last, grade = index.period == 3, made["grade"].data
    assert np.mean(grade[last & (state == 2)] == 2) > 0.9
    assert np.mean(grade[last & (state < 2)] == 0) > 0.9
    if first == 2:
        there = (index.period == 2) & (began[index.person] < 2) & (state < 2)
        before = np.flatnonzero(there) - 1
        assert np.mean(grade[there] == grade[before]) > 0.95  # of the person herself


def test_neither_blocks_of_workers_nor_their_number_change_a_byte(monkeypatch) -> None:
    workers: list[int | None] = []

    def counted(n_jobs: int | None, tasks: Any, progress: Any) -> list[Any]:
        workers.append(n_jobs)
        return parallel(1, tasks, progress)

    with monkeypatch.context() as patch:
        patch.setattr("synthesizer.extensions.releases.extending.parallel", counted)
        drawn(fitted(n_jobs=2), n_jobs=3)
    assert workers == [2, 2, 3]  # two periods and a dataset
    monkeypatch.setattr("synthesizer.data.panel.arrangement.BLOCK_PERSONS", 25)
    source = fitted()
    assert source.count_blocks(2, None) == 2 * 2 * 4  # datasets, periods, blocks of 98 persons
    assert_same(drawn(source, n_jobs=1), drawn(source, n_jobs=2))


def test_no_two_draws_share_a_generator(
    paths: list[tuple[str | int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = fitted()
    paths.clear()
    monkeypatch.setattr("synthesizer.data.panel.arrangement.BLOCK_PERSONS", 50)
    list(source.generate(Seed(2), m=2))
    assert len(set(paths)) == len(paths) == 2 * 2 * 2 * len(STEPS)  # datasets, years, blocks


def test_proper_synthesis_has_a_fit_for_each_dataset() -> None:
    source = fitted(proper=True)
    assert len(source.waves) == 2
    assert [*source.misfits(2, None, 0)] == []
    (problem,) = source.misfits(2, None, 1)
    assert "m (3) must be at most 2" in problem
    first, second = (replace(source, waves=(wave, wave)) for wave in source.waves)
    for number, alone in enumerate((first, second)):
        made, same, other = (
            [as_panel(t) for t in one.generate(Seed(2), m=2)][number]
            for one in (source, alone, second if alone is first else first)
        )
        assert_same(made, same)
        assert (made["grade"].data != other["grade"].data).any()


@pytest.mark.parametrize("is_history", [False, True])
def test_rules_and_zeros_hold_in_new_periods_alone(is_history: bool) -> None:
    """Also of a tree that knows nothing of the period before."""
    tree = replace(STEPS[2], method="cart", model=Cart(min_leaf=5))
    low = single_value(panel()["grade"].variable, "low")
    rule = Rule(condition=Expression.parse("sex == 'm' and state == 'c'"), value=low)
    zero = Forbid(condition=Expression.parse("state == 'a' and grade == 'low'"), variable="grade")
    steps = STEPS if is_history else (*STEPS[:2], tree)
    made = drawn(fitted(3, steps=steps, rules=(rule,), forbids=(zero,)))
    known = published(3)
    assert_same(made.until(3).take_units(np.arange(known.n_units)), known)
    last = made.index.period == 3
    sex, state, grade = (made[name].data[last] for name in ("sex", "state", "grade"))
    assert (grade[(sex == 1) & (state == 2)] == 0).all()
    assert (grade[(sex == 0) & (state == 2)] == 2).all()
    assert (grade[state == 1] == 0).mean() > 0.9
    assert (grade[state == 0] != 0).all()


def test_no_person_is_new_where_none_is_in_the_data() -> None:
    everybody = panel()
    there = everybody.index.period[everybody.index.starts] == 0
    source = fitted(law=everybody.take_units(np.flatnonzero(there)))
    assert [wave.n_new for wave in source.waves[0]] == [0, 0]
    made, known = drawn(source), published(2)
    assert made.n_units == source.n_units == known.n_units
    assert (np.bincount(made.index.person) == 4).all()
    assert_same(made.until(2), known)


def test_careers_may_be_presence_alone() -> None:
    """One in three is there in the last year alone, or not at all then."""
    law = panel(600, 3)
    leaves = np.arange(600) % 3 == 0
    gone = leaves[law.index.person] & (law.index.period == 3)
    gone[law.index.starts] = False
    index = PanelIndex(
        person=law.index.person[~gone],
        period=law.index.period[~gone],
        n_persons=600,
        times=law.index.times,
    )
    columns = [law[name].take(~gone) for name in ("sex", "grade", "year")]
    law = PanelTable(columns, index)
    year = Step(variable="year", method="career", model=Career(), predictors=("sex",))
    grade = replace(STEPS[2], predictors=("sex",))
    frame = replace(FRAME, career=None)
    made = drawn(fitted(3, law, steps=(STEPS[0], year, grade), frame=frame))
    known = published(3)
    assert_same(
        made.until(3).take_units(np.arange(known.n_units)).select(["sex", "grade"]),
        known.select(["sex", "grade"]),
    )
    present = np.bincount(made.index.person[made.index.period == 3], minlength=made.n_units)
    assert present[: known.n_units].mean() == pytest.approx(2 / 3, abs=0.12)
    assert present[known.n_units :].all()
