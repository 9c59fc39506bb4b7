"""The command that lowers the risk of a synthetic file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from synthesizer.cli_parts import Overwrite, Quiet, Workers, errors_told
from synthesizer.errors import LimitExceededError

__all__ = ["refine"]


def refine(
    original: Annotated[Path, typer.Argument(help="The confidential file.")],
    synthetic: Annotated[Path, typer.Argument(help="A synthetic file, whoever made it.")],
    keys: Annotated[str, typer.Option(help="What an intruder knows: A,B,C.")],
    target: Annotated[str, typer.Option(help="What an intruder seeks.")],
    risk_at_most: Annotated[
        float | None,
        typer.Option(help="Highest risk that is accepted; the baseline of the risk if absent."),
    ] = None,
    risk: Annotated[
        str, typer.Option(help="cap_u, cap, disco, repu or replicated_uniques.")
    ] = "cap_u",
    utility: Annotated[str, typer.Option(help="full_table or two_way.")] = "full_table",
    codes: Annotated[
        str | None, typer.Option(help="Variables whose numbers are codes: A,B, or all.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="YAML of a run: kinds and missing codes.")
    ] = None,
    population: Annotated[int, typer.Option(help="Datasets of a generation.")] = 100,
    generations: Annotated[int, typer.Option(help="Most generations.")] = 100,
    patience: Annotated[int, typer.Option(help="Stop after so many without gain.")] = 20,
    mutation: Annotated[float, typer.Option(help="Highest rate of cells drawn anew.")] = 0.001,
    crossover: Annotated[float, typer.Option(help="Rate of records that swap.")] = 0.1,
    aimed: Annotated[
        float, typer.Option(help="Largest share of risky records replaced in a child.")
    ] = 1.0,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after so many; depends on the machine.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides every draw.")] = 0,
    workers: Workers = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Refined file; NAME_refined if absent.")
    ] = None,
    told: Annotated[
        Path | None,
        typer.Option("--json", help="JSON file with every figure and the history (mode 0600)."),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Lower the risk of a synthetic file at the least loss of utility, or show that it cannot.

    Exit code 3 means: the limit was not reached (the best file is written).
    """
    with errors_told():
        from synthesizer import screen, screen_refine
        from synthesizer.errors import ConfigError
        from synthesizer.refine_files import refine_file
        from synthesizer.result_files import workers_or_all
        from synthesizer.risk_request import parse_names

        options: dict[str, Any] = {
            "risk": risk, "utility": utility, "population": population,
            "generations": generations, "patience": patience, "mutation": mutation,
            "crossover": crossover, "aimed": aimed, "seconds": seconds,
        }  # fmt: skip
        names = parse_names(keys)
        if names is None:
            raise ConfigError("--keys: name at least one variable, as A,B,C")
        with screen.progress(quiet=quiet) as listener:
            found = refine_file(
                original, synthetic, keys=names, target=target, risk_at_most=risk_at_most,
                codes=True if codes == "all" else parse_names(codes) or (), config=config, out=out,
                told=told, overwrite=overwrite, seed=seed, workers=workers_or_all(workers),
                listener=listener, **options,
            )  # fmt: skip
        if not quiet:
            screen_refine.show_refined(found, told)
        if found.refined.interrupted:
            raise KeyboardInterrupt(f"interrupted; the best so far was written to {found.path}")
        if not found.refined.reached:
            raise LimitExceededError(found.refined.notes[-1])
