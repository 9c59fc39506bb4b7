"""What `refine` prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from synthesizer.refine_files import RefinedFile
from synthesizer.refining import Refined
from synthesizer.screen import notes_told, say, tabulate

__all__ = ["show_refined"]


def show_refined(found: RefinedFile, told: Path | None) -> None:
    """Print risk and utility before and after, and where the files are."""
    refined = found.refined
    columns = ("measure", "before", "after", "limit", "baseline", "random file", "reads")
    rows = [
        (
            f"risk: {refined.options.risk} of {refined.target} by {', '.join(refined.keys)}",
            f"{refined.before.risk:.4f}",
            f"{refined.after.risk:.4f}",
            f"{refined.limit:.4f}",
            "" if refined.baseline is None else f"{refined.baseline:.4f}",
            f"{refined.random:.4f}",
            "lower is safer",
        ),
        (
            f"utility: {refined.options.utility}",
            f"{refined.before.utility:.4f}",
            f"{refined.after.utility:.4f}",
            "",
            "",
            "",
            "lower is nearer to the original",
        ),
    ]
    tabulate("refined", columns, rows)
    for line in _lines(refined):
        say(line)
    notes_told([*found.notes, *refined.notes])
    say(f"wrote {found.path}")
    if told is not None:
        say(f"wrote {told} (confidential: not for release)")


def _lines(refined: Refined) -> Iterator[str]:
    cost = refined.after.utility - refined.before.utility
    yield f"cost: {cost:+.4f} of utility; {refined.changed:.2%} of the records are other ones now"
    if refined.found_before is not None and refined.found_after is not None:
        told = " to ".join(
            f"{found:.3f}{'' if right is None else f' (right of these {right:.3f})'}"
            for found, right in (refined.found_before, refined.found_after)
        )
        yield f"people found by their key: {told}; who is not found counts as 0 in the risk"
    yield (
        "baseline: targets guessed from their distribution; random file: variables drawn from "
        "their margins alone"
    )
    if refined.outcome is not None:
        evolved = refined.outcome.evolved
        count = f"{len(evolved.history) - 1} generations"
        why = "" if evolved.stopped == count else f": {evolved.stopped}"
        yield f"ended after {count}{why}"
