"""What an evolution leaves beside its datasets: its history, and the frontier to pick from."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from synthesizer.data.writing import suffix, write
from synthesizer.evolving import Evolving
from synthesizer.genetic.evolution import Generation
from synthesizer.output import write_secret
from synthesizer.preparation import Prepared
from synthesizer.randomness import Seed

__all__ = ["HISTORY", "history_text", "write_evolution"]

HISTORY = "history.csv"


def write_evolution(
    source: Evolving, seed: Seed, work: Path, ready: Prepared
) -> tuple[dict[str, Any], list[str]]:
    """Write the history and the frontier; return what ``checks.json`` tells, and the files.

    Both are for the steward: the history holds figures of the confidential data, and of the
    frontier only the dataset that is picked is meant for release.
    """
    told = source.to_dict(seed)
    write_secret(work / HISTORY, history_text(told["datasets"]), overwrite=False)
    names = [HISTORY]
    frontier = source.frontier(seed)
    if frontier is not None:
        layout, form = ready.source.layout, ready.config.output.format
        width = len(str(len(frontier.tables)))
        written = []
        for number, (table, point) in enumerate(
            zip(frontier.tables, frontier.points, strict=True), 1
        ):
            name = f"frontier_{number:0{width}d}{suffix(layout, form)}"
            (work / name).touch(mode=0o600)  # until the steward has picked one
            write(ready.arrangement.restored(table), work / name, layout, format=form)
            names.append(name)
            written.append({"file": name, **point})
        told["written"] = written
    return told, names


def history_text(datasets: Sequence[Mapping[str, Any]]) -> str:
    """Return the generations of all datasets as the text of a CSV file.

    Examples
    --------
    >>> print(history_text([]), end="")
    dataset,generation,utility,risk,fitness,median_utility,median_risk,frontier
    """
    columns = ("dataset", *Generation.__dataclass_fields__)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for number, dataset in enumerate(datasets, 1):
        for generation in dataset["history"]:
            writer.writerow({"dataset": number, **generation})
    return text.getvalue()
