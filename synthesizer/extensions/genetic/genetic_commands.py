"""The command that refines a file, and what it prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synthesizer.cli.arguments import (
    Overwrite,
    Quiet,
    Text,
    name_in,
    names_in,
    number_in,
    option,
    progress,
    refuse_others,
    settings_in,
)
from synthesizer.cli.file_commands import Original
from synthesizer.data.errors import ConfigError, LimitExceededError, Problems
from synthesizer.data.plugins import Command

if TYPE_CHECKING:
    from synthesizer.extensions.genetic.refine import Refined, RefinedFile


def commands() -> list[Command]:
    """Return the commands of the extension."""
    return [refine]


def refine(
    original: Original,
    synthetic: Annotated[Path, typer.Argument(help="A synthetic file from any source.")],
    keys: Annotated[str, option("Keys: variables that an intruder knows, A,B,C.")],
    target: Annotated[str, option("Target: variable that an intruder wants to learn.")],
    risk_at_most: Annotated[
        float | None, option("Limit of the risk; if absent, the risk of guessing.")
    ] = None,
    codes: Annotated[Text, option("Variables whose numbers are codes: A,B, or all.")] = None,
    config: Annotated[Path | None, option("YAML of a run: kinds and missing codes.")] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "KEY=VALUE: any key of genetic: (risk, utility, population, generations, patience, "
            "mutation, crossover, seconds, ...), or seed, key, workers; may be repeated.",
            "--set",
        ),
    ] = None,
    out: Annotated[
        Path | None, option("Refined file; NAME_refined if absent.", "--out", "-o")
    ] = None,
    record: Annotated[
        Path | None, option("JSON file with every figure and the history (mode 0600).", "--json")
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Lower the risk of a synthetic file with the least loss of utility.

    Exit code 3 means: the limit was not reached (the best file is written).
    """
    from synthesizer.extensions.genetic.genetic_options import GeneticOptions
    from synthesizer.extensions.genetic.refine import refine_file

    problems = Problems()
    names = names_in(problems, keys=keys, codes=None if codes == "all" else codes)
    name_in(problems, target=target)
    options = settings_in(
        settings, problems, section="genetic", beside=("seed", "random_key", "workers")
    )
    seed, workers = (number_in(options, key, problems) for key in ("seed", "workers"))
    elsewhere = {"mode", "start", "risk_at_most"}
    known = [
        f"genetic.{name}" for name in GeneticOptions.__dataclass_fields__ if name not in elsewhere
    ]
    refuse_others(options, [*known, "random_key", "random_key.from"], problems)
    problems.settle(ConfigError)
    with progress(quiet=quiet) as listener:
        outcome = refine_file(
            original, synthetic, keys=names["keys"] or (), target=target, risk_at_most=risk_at_most,
            codes=True if codes == "all" else names["codes"] or (), config=config, out=out,
            record=record, overwrite=overwrite, seed=seed or 0, random_key=options.get("random_key"),  # noqa: E501
            workers=-1 if workers is None else workers,
            listener=listener, **options.get("genetic", {}),
        )  # fmt: skip
    if not quiet:
        show_refined(outcome, record)
    if outcome.refined.interrupted:
        raise KeyboardInterrupt(f"interrupted; the best so far was written to {outcome.path}")
    if not outcome.refined.reached:
        raise LimitExceededError(outcome.refined.notes[-1])


def show_refined(file: RefinedFile, record: Path | None) -> None:
    """Print risk and utility before and after, and the names of the files."""
    from synthesizer.cli.printing import Ending, grouped, show_table
    from synthesizer.report.blocks import NUMBERS, DataTable

    refined, ending = file.refined, Ending(every=False)
    before, after = refined.before, refined.after
    rows = [
        ("risk", before.risk, after.risk, refined.limit, refined.baseline, refined.random),
        ("utility", before.utility, after.utility, None, None, None),
    ]
    what = f"{refined.options.risk} of {refined.target} by {', '.join(refined.keys)}"
    title = f"refined: risk is {what}; utility is {refined.options.utility}; lower is better"
    columns = ("measure", "before", "after", "limit", "baseline", "random file")
    table = DataTable(caption=title, columns=columns, forms=["text", *NUMBERS[:5]], rows=rows)
    ending.add(lambda _: show_table(table))
    for line in _lines(refined):
        ending.say(line, rank=1)
    for note in grouped([*file.notes, *refined.notes]):
        ending.say(f"note: {note}", rank=2, kind="note")
    ending.say(f"wrote {file.path}")
    if record is not None:
        ending.say(f"wrote {record} (confidential: not for release)")
    ending.show("all figures: in the file of --json")


def _lines(refined: Refined) -> Iterator[str]:
    cost = refined.after.utility - refined.before.utility
    yield f"cost: {cost:+.4f} of utility; {refined.changed:.2%} of the records were replaced"
    people = [shares for shares in refined.found.values() if shares is not None]
    if len(people) == 2:
        words = " to ".join(
            f"{share:.3f}{'' if right is None else f' (right of these {right:.3f})'}"
            for share, right in people
        )
        yield f"people whose key occurs: {words}; those without count as 0 in the risk"
    yield (
        "baseline: targets guessed from their distribution; random file: variables drawn from "
        "their margins alone"
    )
    if refined.outcome is not None:
        evolved = refined.outcome
        count = f"{len(evolved.history) - 1} generations"
        why = "" if evolved.stopped == count else f": {evolved.stopped}"
        yield f"ended after {count}{why}"
