"""The report of a differentially private synthesis, after NIST SP 800-226.

It names the unit, the parameters, the mechanisms, what is public, who is trusted, and what the
guarantee does not cover.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from synthesizer.extensions.private.private_release import PrivateRelease
from synthesizer.plan.findings import note
from synthesizer.report.blocks import Block, Cell, DataTable, Note, Words, section, value_table
from synthesizer.report.codebook.datasets import Facts
from synthesizer.report.record import Record


@section(
    "privacy",
    "What epsilon means here",
    "Which disclosure the synthetic files allow at most, and under which conditions.",
)
def privacy_section(record: Record) -> Iterator[Block]:
    """Yield the sheet of the guarantee."""
    release: PrivateRelease = record.extensions["privacy"]
    yield Note(note("privacy_not_covered"), "look", start="For the steward only.")
    yield guarantee_table(release)
    exact = [note("privacy_rows_exact", rho=4 * release.rho)] if release.rows == "public" else []
    yield Words([note("privacy_meaning"), *exact])
    yield mechanism_table(release)
    yield Words([note("privacy_public"), note("privacy_trusted"), note("privacy_hazards")])
    yield tables_table(release)


def guarantee_table(release: PrivateRelease) -> DataTable:
    """Return unit, neighbours and parameters."""
    values: list[tuple[str, Cell]] = [
        ("Unit that is protected", "one record"),
        ("Neighbouring files", "one record more or less"),
        ("Epsilon", f"{release.epsilon:g}"),
        ("Delta", f"{release.delta:g}"),
        ("Budget in rho (zCDP)", f"{release.rho:.6g}"),
        ("Spent of it", f"{release.spent:.6g}"),
        ("Records, " + ("exact" if release.rows == "public" else "with noise"), release.n_rows),
        ("Expected error of one-way tables, 0 to 1", f"{release.one_way_error:.4f}"),
    ]
    return value_table("The guarantee", values)


def mechanism_table(release: PrivateRelease) -> DataTable:
    """Return the mechanisms with their share of the budget."""
    return DataTable(
        caption="Mechanisms; their costs add up (zero-concentrated differential privacy)",
        columns=["Step", "Mechanism", "Number", "Share of the budget"],
        forms=("text", "text", "figure", "share"),
        rows=[[s.name, s.mechanism, s.count, s.rho / release.rho] for s in release.steps],
    )


def tables_table(release: PrivateRelease) -> DataTable:
    """Return the measured two-way tables, which choices with noise picked."""
    return DataTable(
        caption="Two-way tables that were measured, in order",
        columns=["Variables", "Levels or groups", "Standard deviation of the noise, records"],
        forms=("text", "text", "figure"),
        rows=[
            [" x ".join(t.variables), " x ".join(map(str, t.shape)), round(t.sigma, 1)]
            for t in release.tables
            if len(t.variables) == 2
        ],
    )


def on_screen(record: Record) -> Iterator[DataTable | Note]:
    """Yield the guarantee and the warning about checks."""
    release: PrivateRelease = record.extensions["privacy"]
    yield guarantee_table(release)
    yield Note(note("privacy_not_covered"))


def codebook_facts(facts: Facts) -> dict[str, Any]:
    """Return the guarantee by the names in ``codebook.yaml``."""
    privacy = facts.extensions["privacy"]
    return {
        "private": True,
        "epsilon": f"{privacy['epsilon']:g}",
        "delta": f"{privacy['delta']:g}",
        "rho": f"{privacy['rho']:.4g}",
    }
