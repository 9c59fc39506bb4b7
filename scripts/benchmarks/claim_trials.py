"""How often a claim is answered rightly, wrongly or not at all, after the server chose its price.

Persons are simulated twice: once as the confidential file, once as the synthetic one. Claims are
made of the synthetic coefficient, as a researcher makes them: borders at 2 to 10 standard errors
from it, on both sides, one-sided and two-sided, and tolerances. What is right is the coefficient of
all confidential rows. "Far" worlds have synthetic data whose coefficient is off by 8 standard
errors. The control reads a claim from the share of groups whose coefficient lies in the range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Row, Rows, job, rows_of
from replay_trials import Exact
from scipy.special import expit

from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.extensions.verification.choosing import ChosenQuestion, chosen
from synthesizer.extensions.verification.claims import Claim, ClaimAnswer
from synthesizer.extensions.verification.coefficient_questions import Significance, Statements
from synthesizer.extensions.verification.mechanisms import Mechanism
from synthesizer.extensions.verification.public_schema import PublicSchema, SchemaVariable
from synthesizer.extensions.verification.query import Query, query_of
from synthesizer.extensions.verification.questions import QueryRows
from synthesizer.extensions.verification.verify import PublicQuery

JOBS = tuple("abcdefghijkl")
SCHEMA = PublicSchema(
    person="person",
    rows_per_person=2,
    variables={
        "y": SchemaVariable(kind="numeric", low=-1e9, high=1e9),
        "b": SchemaVariable(kind="numeric", low=0.0, high=1.0, whole=True),
        "x": SchemaVariable(kind="numeric", low=-9.0, high=9.0),
        "group": SchemaVariable(kind="categorical", levels=("most", "few"), reference="most"),
        "job": SchemaVariable(kind="categorical", levels=JOBS),
    },
)


@dataclass(frozen=True)
class World:
    """A model, and how large the coefficient is in persons without number."""

    formula: str
    coefficient: str
    family: str = "linear"
    tail: float = 0.0
    """Skewness of the errors: 0 for normal ones."""


WORLDS = {
    "fixed effects": World("y ~ group + x | job", "group[few]"),
    "interaction": World("y ~ group * x", "group[few]:x"),
    "skewed": World("y ~ group + x", "group[few]", tail=1.0),
    "logit": World("b ~ group + x", "group[few]", family="logit"),
}
SIZES = (500, 2_000, 5_000, 20_000)
EFFECT, SHARE = 0.3, 0.25
"""Coefficient of each world, and share of persons in the smaller group."""


def simulated(n: int, rng: np.random.Generator, effect: float, tail: float) -> QueryRows:
    """Return n persons with one or two rows each, dealt to groups by a key of their own."""
    owners = np.sort(np.concatenate([np.arange(n), np.flatnonzero(rng.random(n) < 0.6)]))
    few = (rng.random(n) < SHARE)[owners]
    job, x = rng.integers(0, len(JOBS), n)[owners], rng.normal(size=n)[owners]
    x += rng.normal(0, 0.3, len(owners))
    e = rng.normal(size=n)[owners] + rng.normal(0, 0.5, len(owners))
    if tail:
        e = np.expm1(tail * e)
    y = 0.1 * job + 0.3 * x + effect * few * (1 + x) + e
    b = rng.random(len(owners)) < expit(-0.5 + 0.3 * x + effect * few)
    values = {"y": y, "b": b, "x": x, "group": few, "job": job}
    columns = [
        Column(v, values[v.name].astype(np.int32 if v.is_coded else float))
        for v in SCHEMA.table_schema
    ]
    return QueryRows.of(
        Table(columns, len(owners)), tuple(map(str, range(n))), owners, rng.bytes(32)
    )


@dataclass(frozen=True)
class InMemory(PublicQuery):
    """A question about synthetic data that are no file."""

    made: QueryRows = field(kw_only=True)

    def view(self) -> QueryRows:
        """Return the synthetic data."""
        return self.made


class Drawn(Exact):
    """The noise of the mechanisms with a seed, for data that are simulated."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def draw(self, mechanism: Mechanism, values: Sequence[int]) -> tuple[int, ...]:
        """Return the values with two-sided geometric noise within the bounds."""
        p = 1 - np.exp(-1 / mechanism.scale)
        one, other = self.rng.geometric(p, (2, len(values)))
        return tuple(map(int, np.clip(values + one - other, *(mechanism.bounds or (None, None)))))


def asks_about(estimate: float, error: float) -> Iterator[dict[str, Any]]:
    """Yield claims about a synthetic coefficient: true and false of it, near and far."""
    for k in (2, 4, 6, 10):
        for side in (-1, 1):
            yield {"above": estimate + side * k * error}
            yield {"below": estimate + side * k * error}
        yield {"between": (estimate - k * error, estimate + k * error)}
        yield {"between": (estimate + k * error, estimate + 3 * k * error)}
        yield {"within": k * error}


@dataclass(frozen=True)
class Outcome:
    """The answer to a claim, and the truth."""

    outlook: str
    verdict: str
    is_true: bool
    by_share: bool
    """The control's answer: most groups lie in the range."""
    epsilon: float
    m: int

    @property
    def word(self) -> str:
        """Whether the verdict is right."""
        if self.verdict == "open":
            return "open"
        return "right" if (self.verdict == "yes") == self.is_true else "wrong"


def outcome(
    choice: ChosenQuestion,
    prepared: Statements,
    schema: PublicSchema,
    confidential: QueryRows,
    noise: Drawn,
) -> Outcome:
    """Ask what was chosen, and compare the answer with all confidential rows."""
    query, ask = choice.query, choice.query.ask
    assert isinstance(ask, Claim)  # noqa: S101
    released = ask.release(query, prepared, confidential, noise)
    answer = ask.conclude(query, prepared, released)
    assert isinstance(answer, ClaimAnswer)  # noqa: S101
    truth = ask.numbers(query, schema, confidential, 1)[0]
    inside, *rest, _ = released[0]
    return Outcome(
        outlook=choice.outlook,
        verdict=answer.verdict,
        is_true=bool(prepared.ranges[0].holds(truth)[0] == 1),
        by_share=inside > sum(rest),
        epsilon=query.epsilon,
        m=query.partitions,
    )


def fitted(query: Query, view: QueryRows) -> tuple[float, float]:
    """Return the coefficient of all persons and its standard error."""
    assert isinstance(query.ask, Significance)  # noqa: S101
    return query.ask.estimate(query, SCHEMA, view)


def outcomes(
    world: World, n: int, seed: int, *, far: bool, most_epsilon: float, at_truth: bool = False
) -> Iterator[Outcome]:
    """Yield the outcomes of all claims about one pair of files; ``at_truth`` puts borders there."""
    rng = np.random.default_rng([seed, n, *world.formula.encode(), far])
    content = {"formula": world.formula, "family": world.family}
    confidential = simulated(n, rng, EFFECT, world.tail)
    any_ask = {"measure": "significance", "coefficient": world.coefficient}
    probe = query_of({**content, "ask": any_ask})
    truth, error = fitted(probe, confidential)
    shift = 8 * error * (-1) ** seed if far else 0.0
    synthetic = simulated(n, rng, EFFECT + shift, world.tail)
    remembered(synthetic, confidential)
    estimate, error = fitted(probe, synthetic)
    asks = [{"above": truth}, {"below": truth}] if at_truth else asks_about(estimate, error)
    for ask in asks:
        made = {"measure": "claim", "coefficient": world.coefficient, **ask}
        query = query_of({**content, "ask": made})
        task = InMemory(query, SCHEMA, Path(), made=synthetic)
        choice = chosen(task, most_epsilon)
        assert isinstance(query.ask, Claim)  # noqa: S101
        prepared = query.ask.prepare(choice.query, SCHEMA, synthetic)
        yield outcome(choice, prepared, SCHEMA, confidential, Drawn(rng))


_numbers: Callable[..., FloatArray] = Claim.numbers
_seen: dict[tuple[int, str, int], FloatArray] = {}


def remembered(*views: QueryRows) -> None:
    """Fit each model to each file once for all claims about it."""
    _seen.clear()
    known = {id(view) for view in views}

    def numbers(
        self: Claim, query: Query, schema: PublicSchema, view: QueryRows, m: int
    ) -> FloatArray:
        if id(view) not in known:
            return _numbers(self, query, schema, view, m)
        key = (id(view), f"{query.formula} {self.coefficient}", m)
        if key not in _seen:
            _seen[key] = _numbers(self, query, schema, view, m)
        return _seen[key]

    Claim.numbers = numbers  # type: ignore[assignment,method-assign]


def figures_of(case: str, made: Sequence[Outcome]) -> Rows:
    """Yield how claims were answered, in all and by the outlook of the dry run."""
    words = Counter(one.word for one in made)
    shares = {f"{word} in %": 100 * words[word] / len(made) for word in ("right", "open", "wrong")}
    yield from rows_of(case, {"claims": len(made)} | shares)
    for outlook in ("decided", "open", "impossible"):
        of = [one.verdict != "open" for one in made if one.outlook == outlook]
        yield Row(case, f"called {outlook}", len(of))
        yield Row(case, "of them answered", 100 * float(np.mean(of)) if of else None, "%")
    control = float(np.mean([one.by_share != one.is_true for one in made]))
    yield Row(case, "epsilon, mean", float(np.mean([one.epsilon for one in made])))
    yield Row(case, "control: wrong", 100 * control, "%")


@job(seeds=1, sizes=[500])
def worlds(
    seeds: int = 5, seed: int = 1000, most_epsilon: float = 1.0, sizes: Sequence[int] = SIZES
) -> Rows:
    """Ask simulated claims about four models and files of several sizes, near and far."""
    every: list[Outcome] = []
    faithful: list[Outcome] = []
    borders: list[Outcome] = []
    for name, world in WORLDS.items():
        for n in sizes:
            for far in (False, True):
                made = [
                    one
                    for number in range(seed, seed + seeds)
                    for one in outcomes(world, n, number, far=far, most_epsilon=most_epsilon)
                ]
                every += made
                faithful += [] if far else made
                yield from figures_of(f"{name}, {n:,}{', far' * far}", made)
            for number in range(seed, seed + 3 * seeds):
                options = {"far": False, "at_truth": True}
                borders += outcomes(world, n, number, most_epsilon=most_epsilon, **options)
    yield from figures_of("all", every)
    # the outlook cannot predict the answer if the synthetic data are far off
    answered = [one.verdict != "open" for one in faithful if one.outlook == "decided"]
    wrong = float(np.mean([one.word == "wrong" for one in every]))
    at_border = float(np.mean([one.verdict == "no" for one in borders]))  # 'at least' is true of it
    control = float(np.mean([one.by_share != one.is_true for one in every]))
    right = float(np.mean(answered)) if answered else 1.0
    yield Row("all", "wrong", wrong, holds=wrong < 0.005)
    yield Row("border at the true value", "wrong", at_border, holds=at_border < 0.02)
    yield Row("called decided, not far", "answered", right, holds=right > 0.9)
    yield Row("control: most groups lie in the range", "wrong", control, holds=control > 0.05)
