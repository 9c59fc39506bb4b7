"""The checklist of a low-fidelity file, filled as far as the program can.

Sources: Raab, McCall and Cavin 2025 (arXiv 2503.14211); ADR UK Synthetic Data Working Group 2025
(doi 10.5281/zenodo.17980237); UK Data Service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from synthesizer.data.yaml_text import packaged_yaml
from synthesizer.report.blocks import Block, DataTable, Words, section
from synthesizer.report.codebook.write import README
from synthesizer.report.record import Record

_OF_WORD: Mapping[str, bool | None] = {"pass": True, "fail": False}
_ANSWERS = {True: "yes", False: "no", None: "to do"}


def answers(record: Record) -> dict[str, bool | None]:
    """Return the facts of the checklist by name; None if the owner must look."""
    manifest, names = record.manifest, {file.name for file in record.manifest.files}
    return {
        "named": all(name.startswith("synthetic") for name in manifest.datasets),
        "readme": README in names,
        "marked": bool(manifest.public.config.after.label) or None,
        **{line.subject: _OF_WORD.get(line.word) for line in record.verdict.lines},
    }


@section("checklist", "Before the release", "A file for writing code: differences and checklist.")
def checklist_section(record: Record) -> Iterator[Block]:
    """Yield the differences from the original, and the checklist; nothing for full fidelity."""
    if not record.manifest.differences:
        return
    yield Words(["How the file differs from the original:", *record.manifest.differences])
    known = answers(record)
    yield DataTable(
        caption="Checklist of arXiv 2503.14211, ADR UK and the UK Data Service",
        columns=("Check", "Item", "Answer", "Evidence"),
        forms=("text",) * 4,
        rows=[
            (one["check"], one["item"], _ANSWERS[known.get(one.get("if", ""))], one["evidence"])
            for one in packaged_yaml("synthesizer.report.codebook", "checklist.yaml")["checklist"]
        ],
    )
