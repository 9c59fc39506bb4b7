"""The source of the datasets: noisy tables are measured once, then records are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from synthesizer.data.panel.arrangement import ROWS
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.engine.source import Beside, Request, Source
from synthesizer.extensions.private.accounting import Accountant
from synthesizer.extensions.private.adaptive import Fitted, synthesise
from synthesizer.extensions.private.measuring import SELECTION, Sizes, one_way_error
from synthesizer.extensions.private.noise import Noise, OpenDP
from synthesizer.extensions.private.private_options import PrivacyOptions
from synthesizer.extensions.private.private_release import PrivateRelease, PrivateTable, Step
from synthesizer.extensions.private.public_domain import Domain
from synthesizer.plan.extended import Fitting, Planned
from synthesizer.plan.findings import note
from synthesizer.report.blocks import Cell, DataTable, value_table

MECHANISMS = {SELECTION: "exponential mechanism"}
"""Mechanisms of steps that measure no tables."""
LARGE_ERROR = 0.05
"""Error of one-way tables from which pairs show noise rather than dependence."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivatePlan(Planned):
    """The plan of a differentially private synthesis."""

    options: PrivacyOptions
    domain: Domain
    noise: type[Noise] = OpenDP
    """Where noise comes from; tests record it."""

    def source(self, fitting: Fitting) -> PrivateSource:
        """Return a source with a model of these records, after spending the whole budget."""
        return PrivateSource.fitted(self, fitting.table, fitting.progress)

    def facts(self, source: Source) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the guarantee, which follows from the configuration alone."""
        options = self.options
        return {
            "epsilon": options.implied_epsilon,
            "delta": options.delta,
            "rho": options.budget,
            "rows": options.rows,
            "neighbours": "one record more or less",
            "repeatable_from_seed": False,
        }

    def blocks(self, m: int) -> Iterator[DataTable]:
        """Yield the guarantee and the public domain."""
        options, domain = self.options, self.domain
        values: list[tuple[str, Cell]] = [
            ("datasets from one model", m),
            ("unit that is protected", "one record"),
            ("neighbouring files", "one record more or less"),
            ("epsilon", options.implied_epsilon),
            ("delta", options.delta),
            ("budget in rho", options.budget),
            ("number of records", options.rows),
            ("variables", len(domain.variables)),
            ("levels and bins", sum(domain.sizes)),
        ]
        yield value_table("privacy: what is guaranteed", values)


@dataclass(kw_only=True, eq=False)
class PrivateSource(Source):
    """Draws records from the model of noisy tables.

    The confidential table is not kept: only its form, such as names and number formats.
    """

    plan: PrivatePlan
    form: Table
    """The columns without rows."""
    model: Fitted
    accountant: Accountant
    _notes: tuple[str, ...] = field(default=())

    @classmethod
    def fitted(cls, plan: PrivatePlan, table: Table, progress: Any = None) -> PrivateSource:
        """Return a source after measuring a table."""
        options, domain = plan.options, plan.domain
        accountant = Accountant(options.budget)
        model = synthesise(
            domain.encode(table),
            Sizes(domain.sizes, domain.ordered),
            accountant,
            plan.noise(),
            public_rows=table.n_rows if options.rows == "public" else None,
            progress=progress,
        )
        notes = [note("privacy_not_repeatable")]
        if options.delta * model.n_rows > 1:
            notes.append(note("privacy_delta_large", delta=options.delta, rows=model.n_rows))
        if options.rows == "noisy":
            notes += error_notes(domain, options.budget, model.n_rows)
        return cls(
            plan=plan,
            form=table.take(slice(0, 0)),
            model=model,
            accountant=accountant,
            _notes=tuple(notes),
        )

    @property
    def n_units(self) -> int:
        """The noisy number of records, or the exact one if it is public."""
        return self.model.n_rows

    @property
    def has_fixed_rows(self) -> bool:
        """Any number of records can be drawn without further cost."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the guarantee."""
        return self._notes

    def count_blocks(self, m: int, rows: int | None) -> int:  # noqa: ARG002
        """Return one step for each dataset."""
        return m

    def misfits(self, m: int, rows: int | None, first: int) -> Iterator[str]:  # noqa: ARG002
        """Yield nothing: every request can be met."""
        yield from ()

    def drawn(self, request: Request) -> Iterator[Table]:
        """Yield datasets; their draws follow from the seed of the run, unlike the noise."""
        for dataset in range(request.first, request.first + request.m):
            rng = request.seed.generator("privacy", dataset)
            n_rows = self.n_units if request.rows is None else request.rows
            codes = self.model.drawn(n_rows, rng)
            columns = list(self.plan.domain.decode(codes, self.form, rng))
            yield ROWS.finished(Table(columns, n_rows), self.form.schema)
            if request.progress is not None:
                request.progress(1)

    def beside(self, seed: Seed) -> Beside:  # noqa: ARG002
        """Return the record of the guarantee, its mechanisms and tables."""
        return Beside(result=self.release())

    def release(self) -> PrivateRelease:
        """Return the record of the guarantee."""
        options, domain = self.plan.options, self.plan.domain
        names = domain.names
        return PrivateRelease(
            epsilon=options.implied_epsilon,
            delta=options.delta,
            rho=options.budget,
            spent=float(self.accountant.spent),
            rows=options.rows,
            n_rows=self.n_units,
            steps=tuple(
                Step(
                    name=name,
                    mechanism=MECHANISMS.get(name, "discrete Gaussian noise"),
                    count=count,
                    rho=rho,
                )
                for name, (count, rho) in self.accountant.shares().items()
            ),
            tables=tuple(
                PrivateTable(
                    variables=tuple(names[i] for i in one.clique),
                    shape=one.values.shape,
                    sigma=one.sigma,
                )
                for one in self.model.measured
            ),
            one_way_error=one_way_error(domain.sizes, options.budget, self.n_units),
        )


def error_notes(domain: Domain, budget: float, rows: int) -> Iterator[str]:
    """Yield a note if the budget is too small for the variables; from public facts only."""
    error = one_way_error(domain.sizes, budget, rows)
    if error > LARGE_ERROR:
        largest = sorted(domain.variables, key=lambda v: -v.size)[:3]
        yield note(
            "privacy_too_many_variables",
            error=error,
            variables=len(domain.variables),
            levels=sum(domain.sizes),
            rows=rows,
            names=[f"{v.name} ({v.size})" for v in largest],
        )
