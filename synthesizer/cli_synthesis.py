"""The commands that make synthetic data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from synthesizer.cli_parts import ConfigPath, DataPath, Overwrite, Quiet, Seed, Workers, errors_told
from synthesizer.errors import LimitExceededError, OutputError

__all__ = ["codebook", "fit", "generate", "init", "plan", "run", "validate"]


def run(
    config: ConfigPath,
    overwrite: Overwrite = False,
    seed: Seed = None,
    m: Annotated[int | None, typer.Option("-m", help="Replaces the number of datasets.")] = None,
    rows: Annotated[int | None, typer.Option(help="Replaces the rows of each.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Replaces the output directory.")
    ] = None,
    workers: Workers = None,
    no_checks: Annotated[
        bool, typer.Option("--no-checks", help="Leave out all checks; not where limits are set.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Read, fit, generate, check and write. Exit code 3 means: a check exceeded a limit."""
    with errors_told():
        from synthesizer import job, screen
        from synthesizer.config_checks import ALL_OFF

        output: dict[str, Any] = {"overwrite": True} if overwrite else {}
        if out is not None:
            output["directory"] = str(out.absolute())
        given: dict[str, Any] = {
            "seed": seed,
            "m": m,
            "rows": rows,
            "workers": workers,
            "output": output or None,
        }
        overrides: dict[str, Any] = {
            key: value for key, value in given.items() if value is not None
        }
        if no_checks:
            # limits stay and are refused: a pipeline must not take unchecked data for checked ones
            overrides["checks"] = ALL_OFF
        with screen.progress(quiet=quiet) as listener:
            result = job.run(config, overrides=overrides, listener=listener)
        if not quiet:
            screen.show_result(result)
        if result.interrupted:
            raise KeyboardInterrupt(
                f"interrupted; the best so far was checked and written to {result.directory}"
            )
        if result.exceeded:
            raise LimitExceededError(result.exceeded)


def validate(config: ConfigPath) -> None:
    """Check configuration, data and output, and tell every problem at once."""
    with errors_told():
        from synthesizer import screen_plan
        from synthesizer.preparation import prepare
        from synthesizer.registry import Registry

        screen_plan.show_valid(prepare(config, Registry.load()))


def plan(config: ConfigPath) -> None:
    """Show order, models, predictors, levels, rare levels and cost before any fit."""
    with errors_told():
        from synthesizer import screen_plan
        from synthesizer.plan_table import plan_table
        from synthesizer.preparation import prepare
        from synthesizer.registry import Registry

        ready = prepare(config, Registry.load(), check_directory=False)
        screen_plan.show_plan(ready, plan_table(ready))


def init(
    data: DataPath,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="YAML file to write; DATA.yaml if absent.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="Panel, a row a period: column that identifies persons.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="Panel: column of the period.")] = None,
    career: Annotated[
        str | None, typer.Option(help="Panel: variable whose sequence of states is a career.")
    ] = None,
    wide: Annotated[
        list[str] | None,
        typer.Option(help="Panel, a column a period: VARIABLE=FIRST..LAST or VARIABLE=A,B,C."),
    ] = None,
    absent: Annotated[
        list[str] | None, typer.Option(help="With --wide: label of those who are not there.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a commented starter YAML with inferred kinds, missing codes and derived variables."""
    with errors_told():
        from synthesizer import screen
        from synthesizer.starter import write_starter
        from synthesizer.starter_panel import panel_config

        panel = panel_config(
            person=person, time=time, career=career, wide=wide or (), absent=absent or ()
        )
        path = write_starter(data, output, panel=panel, overwrite=overwrite)
        screen.say(f"wrote {path}; look it over, then: synthesizer run {path}")


def codebook(
    data: Annotated[Path, typer.Argument(help="Data file, or the result directory of a run.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Of a run: directory for codebook.html and .json."),
    ] = None,
    overwrite: Overwrite = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the variables of a data file (confidential), or write the codebook for researchers.

    Of the result directory of a run it writes what may go out with the synthetic datasets: the
    variables, how they were made, what not to conclude; no number is computed from the original.
    """
    with errors_told():
        from synthesizer import screen, screen_plan
        from synthesizer.codebook import make_codebook
        from synthesizer.release.codebook import is_result, run_codebook, write_run_codebook

        if not is_result(data):
            if out is not None:
                raise OutputError(
                    f"{data}: is no result of a run, and the codebook of a data file is "
                    "confidential: it is only shown; leave out -o"
                )
            screen_plan.show_codebook(make_codebook(data), as_json=json)
        elif out is not None:
            paths = write_run_codebook(data, out, overwrite=overwrite)
            screen.say("\n".join(["wrote", *(f"  {path}" for path in paths)]))
        elif json:
            screen.say_json(run_codebook(data))
        else:
            raise OutputError(f"{data}: name a directory for its codebook (-o), or say --json")


def fit(
    config: ConfigPath,
    model: Annotated[Path, typer.Option("--out", "-o", help="File for the model (mode 0600).")],
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Fit the chain and save the model, which holds confidential values."""
    with errors_told():
        from synthesizer import job, screen
        from synthesizer.saved import check_model_path, save_model

        check_model_path(model, overwrite=overwrite)
        with screen.progress(quiet=quiet) as listener:
            fitted = job.fit(config, listener=listener)
        save_model(model, fitted)
        if not quiet:
            screen.say(f"wrote {model} (confidential: it holds values of the data; mode 0600)")


def generate(
    model: Annotated[Path, typer.Argument(help="File that 'fit' wrote.")],
    m: Annotated[int, typer.Option("-m", help="Number of datasets.")] = 1,
    rows: Annotated[int | None, typer.Option(help="Rows of each; those of the data.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed; that of the fit by default.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output directory.")] = Path("synthetic"),
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Draw synthetic datasets from a saved model, without the confidential data."""
    with errors_told():
        from synthesizer import generation, screen
        from synthesizer.registry import Registry
        from synthesizer.saved import load_model

        loaded = load_model(model, Registry.load())
        with screen.progress(quiet=quiet) as listener:
            paths = generation.generate(
                loaded, out, m=m, rows=rows, seed=seed, overwrite=overwrite, workers=workers,
                listener=listener,
            )  # fmt: skip
        if not quiet:
            screen.say("\n".join(["wrote", *(f"  {path}" for path in paths)]))
