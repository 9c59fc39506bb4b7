"""The answer that a researcher gets: result, conclusion, cost and promise.

Only the whole numbers with noise come from the confidential data. Sizes, counts and estimates come
from the synthetic data, and are labelled so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import SerializeAsAny

from synthesizer.extensions.verification.mechanisms import MICRO
from synthesizer.extensions.verification.messages import PROMISE, WORDS
from synthesizer.extensions.verification.posterior import (
    Posterior,
    posterior_of_categories,
    posterior_of_count,
)
from synthesizer.measures.figure import Result, Row, column, plain, shown
from synthesizer.report.blocks import (
    Block,
    Cell,
    Chart,
    DataTable,
    Note,
    Section,
    Words,
    interval,
    row_table,
    written,
)
from synthesizer.report.charts import Panel, Series, el, panels
from synthesizer.report.page import render


class Answer(Result):
    """The released answer to one question; each kind of question has a subclass."""

    released: tuple[tuple[int, ...], ...]
    """Whole numbers with noise, a tuple per mechanism: the only confidential content."""
    words: tuple[str, ...]
    """The result in one sentence, then the conclusions."""

    def blocks(self) -> Iterator[Block]:
        """Yield the charts of its page, with their tables."""
        yield from ()


class Statement(Row):
    """Statements and the share of partitions in which they hold"""

    statement: str = column("Statement", "text")
    synthetic: float | None = column("In the synthetic data", "number", "estimate of all persons")
    holds: bool | None = column("Holds there", "text", "whether the estimate lies in the interval")
    mode: float = column("r", "share", "most probable share of partitions where it holds")
    mean: float = column("Mean of r", "share")
    low: float = column("2.5 %", "share", "r is above this with probability .975")
    high: float = column("97.5 %", "share")
    densest: tuple[float, float]
    """Shortest interval that contains r with probability .95."""
    above_half: float = column("P(r > 0.5)", "share")
    above_nine_tenths: float = column("P(r > 0.9)", "share")
    unfitted: float = column(
        "Without a fit in the synthetic data", "share", "of as many partitions"
    )
    errors: float | None = None
    """Most probable share of partitions without a fit, if requested."""

    @classmethod
    def of(
        cls, statement: str, known: Posterior, synthetic: float | None, holds: bool | None,
        unfitted: float, errors: Posterior | None = None,
    ) -> Self:  # fmt: skip
        """Return a statement with the summary of the posterior of its share."""
        low, high = known.equal_tail
        return cls(
            statement=statement, synthetic=synthetic, holds=holds, unfitted=unfitted,
            mode=known.mode, mean=known.mean, low=low, high=high, densest=known.highest_density,
            above_half=known.probability_above(0.5),
            above_nine_tenths=known.probability_above(0.9),
            errors=None if errors is None else errors.mode,
        )  # fmt: skip

    @property
    def verdict(self) -> str:
        """In how many partitions the statement holds: the key of a sentence."""
        if self.low > 0.5:
            return "nearly all" if self.mode >= 0.9 and self.low > 0.7 else "most"
        if self.high < 0.5:
            return "nearly none" if self.mode <= 0.1 and self.high < 0.3 else "few"
        return "about half" if self.high - self.low < 0.4 else "undecided"

    @property
    def words(self) -> Iterator[str]:
        """The result, the conclusion, and the comparison with the synthetic data."""
        ends = interval(*self.densest, "share")  # the mode lies in the shortest interval
        there = "" if self.synthetic is None else f" (synthetic data: {written(self.synthetic)})"
        yield f"{self.statement}{there}: r = {written(self.mode, 'share')}, 95 % interval {ends}."
        if (
            self.errors is None
            and self.unfitted > _FEW_UNFITTED
            and self.verdict in WORDS["not_clear"]
        ):
            yield WORDS["not_clear"][self.verdict]
            yield WORDS["fits_first"].format(f"{self.unfitted:.0%}")
            return
        yield WORDS["verdicts"][self.verdict]
        if self.holds is not None:
            yield _beside_synthetic(self.verdict, holds=self.holds)
        if self.errors is not None and self.errors >= _MANY_UNFITTED:
            yield WORDS["many_unfitted"].format(f"{self.errors:.0%}")


_MAX_SHOWN_NUMBERS = 30
_FEW_UNFITTED, _MANY_UNFITTED = 0.05, 0.1
"""Shares of partitions without a fit: up to the first ignored, from the second on reported."""


def _beside_synthetic(verdict: str, *, holds: bool) -> str:
    """Return the sentence that compares the verdict with the synthetic data."""
    words: Mapping[str, str] = WORDS["beside_synthetic"]
    if verdict in words:
        return words[verdict].format("inside" if holds else "outside")
    if holds == (verdict in ("most", "nearly all")):
        return words["same"]
    return words["other"].format("holds" if holds else "does not hold")


class ShareAnswer(Answer):
    """Shares of partitions in which statements about coefficients hold."""

    statements: tuple[Statement, ...]
    partitions: int
    scales: tuple[float, ...]
    """Scale of the noise of each statement's numbers."""

    @classmethod
    def of(
        cls, released: Sequence[tuple[int, ...]], *, partitions: int, scales: Sequence[float],
        statements: Iterable[tuple[str, float | None, bool | None, float]],
    ) -> Self:  # fmt: skip
        """Return the answer about statements, each with one or three released counts.

        Parameters
        ----------
        released : sequence of tuples
            (in,) or (in, out, error) of each statement.
        partitions : int
            M.
        scales : sequence of float
            Scale of the noise of each.
        statements : iterable of (words, estimate, holds, unfitted)
            The statement; then, of the synthetic data: the estimate, whether the statement holds,
            and the share of partitions without a fit.
        """
        rows = []
        for (words, estimate, holds, unfitted), counts, scale in zip(
            statements, released, scales, strict=True
        ):
            inside, errors = _known(counts, partitions, scale)
            rows.append(Statement.of(words, inside, estimate, holds, unfitted, errors))
        sentences = [sentence for row in rows for sentence in row.words]
        return cls(
            released=tuple(released),
            words=(*dict.fromkeys(sentences), WORDS["share_of_partitions"]),
            statements=tuple(rows),
            partitions=partitions,
            scales=tuple(scales),
        )

    def blocks(self) -> Iterator[Block]:
        """Yield the posterior of each share beside the best possible one."""
        curves = []
        for row, counts, scale in zip(self.statements, self.released, self.scales, strict=True):
            known, _ = _known(counts, self.partitions, scale)
            best, _ = _known((self.partitions, *(0 for _ in counts[1:])), self.partitions, scale)
            curves.append((row.statement, known, best))
        title = "Share of groups in which the statement holds"
        summary = "; ".join(next(row.words) for row in self.statements)
        yield share_chart(title, curves, summary=summary, table=row_table(self.statements, title))


def share_chart(
    title: str, curves: Sequence[tuple[str, Posterior, Posterior]], *, summary: str,
    table: DataTable,
) -> Chart:  # fmt: skip
    """Return posteriors of shares of partitions, each with a title, beside the best possible."""
    grid = np.linspace(0.0, 1.0, 101)
    drawn = [
        Panel(
            title=name,
            subtitle=f"r {written(known.mode, 'share')}, {interval(*known.highest_density)}",
            series=[
                Series(look=look, points=_points(grid, curve))
                for look, curve in (("synthetic", known), ("baseline dashed", best))
            ],
        )
        for name, known, best in curves
    ]
    return Chart(
        title=title,
        svg=panels(
            drawn, title=title, description=summary, x_label="share of groups (r)",
            width=720, tall=180, steps=5,
            key=[
                ("line-synthetic", "posterior density of r"),
                ("line-baseline dashed", "best possible at this epsilon"),
            ],
        ),
        reads=WORDS["reads"]["shares"],
        summary=summary,
        table=table,
    )  # fmt: skip


def _points(grid: Any, curve: Posterior) -> list[tuple[float, float]]:
    return [*zip(grid.tolist(), curve.density(grid).tolist(), strict=True)]


def _known(
    counts: Sequence[int], partitions: int, scale: float
) -> tuple[Posterior, Posterior | None]:
    """Return the posteriors of r and, from three counts, of the share of errors."""
    if len(counts) == 1:
        return posterior_of_count(counts[0], m=partitions, scale=scale), None
    shares = posterior_of_categories(counts, m=partitions, scale=scale)
    return shares.inside, shares.errors


class Budget(Row):
    """Cap and spent epsilon of one scope."""

    scope: str = column("Scope", "text", "global, user or analysis")
    name: str = column("Name", "text")
    cap: int = column("Cap", "number", "epsilon", show=lambda amount: amount / MICRO)
    spent: int = column("Spent", "number", "epsilon", show=lambda amount: amount / MICRO)

    @property
    @shown("Left", "number", "epsilon")
    def left(self) -> float:
        """Remaining epsilon."""
        return (self.cap - self.spent) / MICRO


class ChargedQuestion(Row):
    """A question with its charge."""

    query: str = column("Question", "text", "digest of its canonical form", show=lambda d: d[:12])
    user: str = column("User", "text")
    analysis: str = column("Analysis", "text")
    epsilon: int = column("Epsilon", "number", "charge", show=lambda amount: amount / MICRO)
    asked: str = column("Asked", "text", "UTC")
    is_answered: bool = column(
        "Answered", "text", show=lambda answered: "yes" if answered else "no: ask again, free"
    )


class Spending(Result):
    """The content of a ledger without its key and the answers."""

    data: str
    """SHA-256 of the confidential file."""
    budgets: tuple[Budget, ...]
    entries: tuple[ChargedQuestion, ...]
    """In the order of their charges."""


class Verification(Result):
    """An answer with the query, its charge and the promise."""

    format: Literal[1] = 1
    dry: bool
    """Whether the synthetic data replaced the confidential data."""
    query: Mapping[str, Any]
    """In its canonical form, with every default."""
    digest: str
    """Of the query: the number of this answer in the ledger."""
    charge: float
    """Epsilon of the answer; repeating the question is free."""
    is_new: bool
    """Whether it was charged now."""
    budgets: tuple[Budget, ...] = ()
    answer: SerializeAsAny[Answer]
    promise: tuple[str, ...] = PROMISE

    @property
    def lines(self) -> Iterator[str]:
        """The lines of the screen."""
        if self.dry:
            yield WORDS["dry_run"]
        yield from self.answer.words
        yield self._cost
        if not self.dry:
            yield WORDS["from_synthetic"]

    @property
    def _cost(self) -> str:
        if self.dry:
            return f"With the confidential data it would cost epsilon {self.charge:g}."
        if not self.is_new:
            return str(WORDS["answered_before"].format(self.charge))
        remaining = "; ".join(
            f"{' '.join(filter(None, (budget.scope, budget.name)))}: {budget.left:g} left"
            for budget in self.budgets
        )
        return f"Charged: epsilon {self.charge:g}{remaining and f' ({remaining})'}."

    @property
    def json_text(self) -> str:
        """The content as JSON text."""
        return json.dumps(plain(self), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @property
    def page(self) -> str:
        """The content as a self-contained HTML page."""
        return render(
            "Dry run of a verification" if self.dry else "Answer to a verification query",
            [*self.sections],
            banner="Dry run, synthetic data only" if self.dry else "Differentially private answer",
            subtitle=f"epsilon {self.charge:g}, query {self.digest[:12]}",
            for_release=True,
        )

    @property
    def sections(self) -> Iterator[Section]:
        """The sections of the page."""
        answer = self.answer
        keys = DataTable(
            caption="Query", columns=("Key", "Value"), forms=("text", "text"),
            rows=[*_query_rows(self.query)],
        )  # fmt: skip
        numbers = ", ".join(map(str, (n for draw in answer.released for n in draw)))
        many = sum(map(len, answer.released)) > _MAX_SHOWN_NUMBERS
        listed = f"more than {_MAX_SHOWN_NUMBERS:,}, see the JSON" if many else numbers
        which = "of this dry run" if self.dry else "that were released"
        came_out: list[Block] = [
            *([Note(WORDS["dry_run"])] if self.dry else []),
            Words(list(answer.words)),
            Note(WORDS["from_synthetic"]),
        ]
        figures: list[Block] = [*answer.blocks()]
        result = "Result in the synthetic data" if self.dry else "Answer"
        cost: list[Block] = [Words([self._cost, f"Whole numbers {which}, with noise: {listed}."])]
        if self.budgets:
            cost.append(row_table(self.budgets))
        parts: Sequence[tuple[str, str, str, Sequence[Block]]] = (
            ("answer", result, "The result and its conclusions.", came_out),
            ("figures", "Figures", "Charts with their numbers.", figures),
            ("query", "Question", "In its canonical form, which the ledger uses.", [keys]),
            ("cost", "Cost", "In epsilon.", cost),
            ("promise", "Promise", "What is protected, and what is not.", [Words([*self.promise])]),
        )
        for anchor, title, lead, blocks in parts:
            if blocks:
                yield Section(anchor=anchor, title=title, lead=lead, blocks=blocks)

    def _repr_html_(self) -> str:
        """Return the page in a frame, with its style and without scripts."""
        frame: dict[str, Any] = {"srcdoc": self.page, "width": "100%", "height": 640}
        return str(el("iframe", {**frame, "sandbox": ""}, ""))


def _query_rows(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Cell]]:
    """Yield dotted keys and values of nested maps, without empty ones."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _query_rows(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield f"{prefix}{key}", ", ".join(map(str, value))
        elif value is not None:
            yield f"{prefix}{key}", value
