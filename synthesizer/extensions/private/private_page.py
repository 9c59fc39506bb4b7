"""The report of a differentially private synthesis, after NIST SP 800-226.

It names the unit, the parameters, the mechanisms, what is public, who is trusted, and what the
guarantee does not cover.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from synthesizer.extensions.private.private_release import PrivateRelease
from synthesizer.report.blocks import (
    Block,
    Cell,
    DataTable,
    Note,
    Words,
    section,
    value_table,
)
from synthesizer.report.codebook.datasets import Facts
from synthesizer.report.record import Record

_MEANING = (
    "Take any person and two files: one with this person's record, and one without. Whatever "
    "someone sees in the synthetic files, its probability differs between the two by a factor of "
    "at most e^epsilon, besides an event of probability delta. So the synthetic files reveal "
    "little more about the person than if the record had never been in the file. What is true of "
    "a whole group can be learnt with or without the record, and is no breach."
)
_PUBLIC = (
    "Public are names, kinds and order of the variables, their levels, missing codes, ranges and "
    "bins, the form of the file, and every setting. All are declared in the configuration, and "
    "must not be chosen by looking at the data. Numbers beyond the range are moved to its end. "
    "Missing codes that are not declared count as the first declared one."
)
_TRUSTED = (
    "Trusted are the steward, who has the confidential file, and the computer. The noise comes "
    "from the operating system through the OpenDP library, not from the seed of the run, so that "
    "a run cannot be repeated. Each run spends its budget again: epsilons of several runs on the "
    "same persons add up, at least nearly."
)
_NOT_COVERED = (
    "Checks, verdict and this report are computed from the confidential data without noise. The "
    "guarantee does not cover them: keep them, and decide about a release without publishing "
    "them. A choice among several runs by their checks is not covered either."
)
_HAZARDS = (
    "Not protected: a person with several records, of which each is protected by itself; "
    "household members or others whose records are alike; the time that a run takes; messages of "
    "refused runs."
)


@section(
    "privacy",
    "What epsilon means here",
    "Which disclosure the synthetic files allow at most, and under which conditions.",
)
def privacy_section(record: Record) -> Iterator[Block]:
    """Yield the sheet of the guarantee."""
    release: PrivateRelease = record.extensions["privacy"]
    yield Note(_NOT_COVERED, "look", start="For the steward only.")
    yield guarantee_table(release)
    yield Words([_MEANING, *_of_rows(release)])
    yield mechanism_table(release)
    yield Words([_PUBLIC, _TRUSTED, _HAZARDS])
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


def _of_rows(release: PrivateRelease) -> Iterator[str]:
    """Yield a sentence about an exact number of records."""
    if release.rows == "public":
        yield (
            "The exact number of records is published and not protected. Files of the same number "
            "differ by one record removed and another one added. For these rho is four times as "
            f"large ({4 * release.rho:.4g})."
        )


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
    yield Note(_NOT_COVERED)


def codebook_facts(facts: Facts) -> dict[str, Any]:
    """Return the guarantee by the names in ``codebook.yaml``."""
    privacy = facts.extensions["privacy"]
    return {
        "private": True,
        "epsilon": f"{privacy['epsilon']:g}",
        "delta": f"{privacy['delta']:g}",
        "rho": f"{privacy['rho']:.4g}",
    }
