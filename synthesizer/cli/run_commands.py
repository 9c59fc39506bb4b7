"""Commands from data to a release: configurations, runs, saved models, grids of settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from synthesizer.cli.arguments import (
    AsJson,
    Every,
    FailOn,
    Overwrite,
    Plugins,
    Quiet,
    Settings,
    Text,
    Workers,
    models_with,
    option,
    options_of,
    progress,
    refusals,
    refuse,
    refuse_others,
    say_written,
    settings_in,
)
from synthesizer.data.errors import ConfigError, OutputError, Problems
from synthesizer.data.plugins import switches

ConfigPath = Annotated[Path, typer.Argument(help="YAML file of the run.", show_default=False)]
OutDirectory = Annotated[Path | None, option("Replaces the output directory.", "--out", "-o")]
Numbers = Annotated[Path | None, option("JSON file with every number (mode 0600).", "--json")]
SWITCHES = switches()
"""Options of `run` that extensions have, and what each does."""
NOT_FOR_RELEASE = "not for release"


def overrides_of(settings: list[str] | None, **named: Any) -> dict[str, Any]:
    """Return keys that replace those of a configuration; bad ones are a ConfigError."""
    problems = Problems()
    content = settings_in(settings, problems, named=options_of(**named))
    problems.settle(ConfigError)
    return content


IN_A_FILE = (
    "data.encoding", "data.delimiter", "data.quote", "data.comment", "data.header_row",
    "data.names", "panel.career", "panel.absent",
)  # fmt: skip
"""Keys that decide how `init` reads a file."""


def init(
    data: Annotated[
        Path | None,
        typer.Argument(help="Data file, or a directory of Parquet files; none with --sql."),
    ] = None,
    output: Annotated[
        Path | None, option("YAML file to write; DATA.yaml if absent.", "--out", "-o")
    ] = None,
    sql: Annotated[
        tuple[str, str] | None,
        typer.Option(help="URL of a database and a SELECT statement.", metavar="URL QUERY"),
    ] = None,
    drop: Annotated[list[str] | None, option("Column to leave out (repeat for more).")] = None,
    identifier: Annotated[
        list[str] | None, option("Column that is an identifier (repeat for more).", "--id")
    ] = None,
    person: Annotated[
        Text, option("Panel, a row a period: column that identifies persons.")
    ] = None,
    time: Annotated[Text, option("Panel: column of the period.")] = None,
    wide: Annotated[
        list[str] | None,
        option("Panel, a column a period: VARIABLE=FIRST..LAST or VARIABLE=A,B,C."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "KEY=VALUE: how the file is read, where that is not found out: data.encoding, "
            "data.delimiter, data.header_row, data.names, panel.career, panel.absent, ..., or what "
            "it holds (KEY of an extension); may be repeated.",
            "--set",
        ),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write a commented YAML that runs, and say what needs a look."""
    from synthesizer.cli.screen import show_starter
    from synthesizer.config.keys import SqlConfig
    from synthesizer.config.section import section_keys
    from synthesizer.data.formats import format_keys
    from synthesizer.jobs.starter import StarterOptions, file_options, panel_config, write_starter

    source = data if sql is None else SqlConfig(url=sql[0], query=sql[1])
    if source is None or (data is not None and sql is not None):
        raise ConfigError("init needs a data file, or --sql URL QUERY, and not both")
    problems = Problems()
    asked = settings_in(settings, problems, paths=())
    of_formats = (f"data.{key}" for key in format_keys())
    refuse_others(asked, (*IN_A_FILE, *of_formats, *section_keys()), problems)
    problems.settle(ConfigError)
    read = asked.get("data", {})
    options = StarterOptions(
        panel=panel_config(person=person, time=time, wide=wide or (), **asked.get("panel", {})),
        encoding=read.pop("encoding", None),
        file=file_options(data or Path("x.csv"), **read),
        drop=tuple(drop or ()),
        ids=tuple(identifier or ()),
        sections={key: asked[key] for key in section_keys() if key in asked},
    )
    with progress(quiet=quiet) as listener:
        starter = write_starter(
            source, output, options=options, overwrite=overwrite, listener=listener
        )
    if not quiet:
        show_starter(starter)


def plan(config: ConfigPath, settings: Settings = None) -> None:
    """Show models, order, cost, seconds and memory before any fit, or every problem.

    It reads configuration and data and looks at the output directory; it fits and writes nothing.
    """
    from time import process_time

    from synthesizer.cli.screen import show_plan
    from synthesizer.data.files import check_output
    from synthesizer.plan.forecast import forecast
    from synthesizer.plan.overview import plan_table, zero_rows
    from synthesizer.plan.plan import prepare

    planned = prepare(config, overrides=overrides_of(settings), check_directory=False)
    output = planned.output
    later = check_output(output.directory, overwrite=output.overwrite)
    ahead = forecast(planned, spent=process_time())
    show_plan(planned, plan_table(planned), zero_rows(planned), ahead, later)


def run(
    config: ConfigPath,
    settings: Settings = None,
    m: Annotated[int | None, option("Replaces the number of datasets.", "-m")] = None,
    seed: Annotated[int | None, option("Replaces the seed of the configuration.")] = None,
    workers: Workers = None,
    out: OutDirectory = None,
    overwrite: Overwrite = False,
    no_checks: Annotated[
        bool, option("Leave out all checks; not where limits are set.", "--no-checks")
    ] = False,
    fail_on: FailOn = None,
    quiet: Quiet = False,
    every: Every = False,
) -> None:
    """Make datasets: read, fit, generate, check and write.

    Exit code 3 means that a figure exceeds a limit of the configuration, or that the verdict is
    one to fail on (--fail-on); all is written.
    """
    from synthesizer.cli.screen import show_result
    from synthesizer.jobs import run as job
    from synthesizer.measures.settings import ALL_OFF

    if no_checks and fail_on is not None:
        raise ConfigError("--fail-on: there is no verdict without checks; leave out --no-checks")
    output = options_of(overwrite=overwrite or None, directory=out and str(out.absolute()))
    overrides = overrides_of(settings, m=m, seed=seed, workers=workers, output=output)
    if no_checks:
        # limits stay and are refused: a pipeline must not take unchecked data for checked ones
        overrides["checks"] = ALL_OFF
    with progress(quiet=quiet) as listener:
        result = job.run(config, overrides=overrides, listener=listener)
    reasons = refusals(result.exceeded, result.verdict, fail_on)
    if not quiet:
        show_result(result, every=every, later=reasons)
    if result.interrupted:
        raise KeyboardInterrupt(
            f"interrupted; the best so far was checked and written to {result.directory}"
        )
    refuse(reasons)


def codebook(
    data: Annotated[Path, typer.Argument(help="Data file, or the result directory of a run.")],
    out: Annotated[
        Path | None,
        option("Of a run: directory for codebook.html and .json.", "--out", "-o"),
    ] = None,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Show the variables of a file, or write a codebook for researchers.

    The variables of a data file are confidential. Of the result directory of a run it writes what
    may go out with the synthetic datasets: the variables, how they were made, what not to
    conclude; no number is computed from the original.
    """
    from synthesizer.cli.printing import say_json
    from synthesizer.cli.screen import show_codebook
    from synthesizer.measures.figure import plain
    from synthesizer.plan.overview import make_codebook
    from synthesizer.report.codebook.write import is_result, run_codebook, write_run_codebook

    if not is_result(data):
        if out is not None:
            raise OutputError(
                f"{data}: is no result of a run, and the codebook of a data file is "
                "confidential: it is only shown; leave out -o"
            )
        show_codebook(make_codebook(data), as_json=json)
    elif out is not None:
        paths = write_run_codebook(data, out, overwrite=overwrite)
        say_written(*paths)
    elif json:
        say_json(plain(run_codebook(data)))
    else:
        raise OutputError(f"{data}: name a directory for its codebook (-o), or say --json")


def fit(
    config: ConfigPath,
    model: Annotated[Path, option("File for the model (mode 0600).", "--out", "-o")],
    settings: Settings = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Fit the models and save them; the file is confidential."""
    from synthesizer.cli.printing import notes_told
    from synthesizer.jobs import run as job
    from synthesizer.plan.seeds import replay_notes

    overrides = overrides_of(settings)
    with progress(quiet=quiet) as listener:
        fitted = job.fit_file(
            config, model, overrides=overrides, overwrite=overwrite, listener=listener
        )
    if not quiet:
        notes_told(replay_notes(fitted.seed))
        say_written(model, why="it holds values of the data; mode 0600")


def generate(
    model: Annotated[Path, typer.Argument(help="File that 'fit' wrote.")],
    m: Annotated[int, option("Number of datasets.", "-m")] = 1,
    rows: Annotated[int | None, option("Rows of each; those of the data.")] = None,
    seed: Annotated[int | None, option("Seed; that of the fit by default.")] = None,
    out: Annotated[Path, option("Output directory.", "--out", "-o")] = Path("synthetic"),
    workers: Workers = None,
    overwrite: Overwrite = False,
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Draw datasets from a saved model, without the data."""
    from synthesizer.cli.printing import notes_told
    from synthesizer.engine.saved import load_model
    from synthesizer.jobs import generate as generation
    from synthesizer.plan.seeds import replay_notes

    loaded = load_model(model, models_with(plugin))
    with progress(quiet=quiet) as listener:
        paths = generation.generate(
            loaded, out, m=m, rows=rows, seed=seed, overwrite=overwrite, workers=workers,
            listener=listener,
        )  # fmt: skip
    if not quiet:
        notes_told(replay_notes(loaded.seed))
        say_written(*paths)
        key = "" if loaded.seed.random_key is None else "; it contains the random key"
        say_written(out / "manifest.json", why=f"{NOT_FOR_RELEASE}{key}")


def advise(
    config: ConfigPath,
    settings: Settings = None,
    json: Numbers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Try settings for the worst finding, on a half of the data.

    The present setting and up to three others are fitted on the same half and held against the
    other half, the best one again on another half. It takes up to six such runs and writes no
    dataset.
    Confidential.
    """
    from synthesizer.cli.screen import show_advised
    from synthesizer.jobs import advise as job

    overrides = overrides_of(settings)
    with progress(quiet=quiet) as listener:
        advised = job.advise(
            config, overrides=overrides, json=json, overwrite=overwrite, listener=listener
        )
    if not quiet:
        show_advised(advised)
    if json is not None and not quiet:
        say_written(json, why=NOT_FOR_RELEASE)


def models(
    name: Annotated[str | None, typer.Argument(help="Show the options of this model.")] = None,
    plugin: Plugins = None,
) -> None:
    """List the conditional models, or the options of one."""
    from synthesizer.cli.screen import show_model, show_models

    registry = models_with(plugin)
    if name is None:
        show_models(registry)
    else:
        show_model(registry, registry.canonical(name))


def schema(plugin: Plugins = None) -> None:
    """Print the JSON Schema of the YAML, for editors."""
    from synthesizer.cli.printing import say_json
    from synthesizer.config.reading import config_schema

    say_json(config_schema(models_with(plugin)))
