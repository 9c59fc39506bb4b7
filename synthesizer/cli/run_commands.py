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
from synthesizer.data.plugins import model_files, switches

ConfigPath = Annotated[Path, typer.Argument(help="YAML file of the run.", show_default=False)]
OutDirectory = Annotated[Path | None, option("Replaces the output directory.", "--out", "-o")]
Numbers = Annotated[Path | None, option("JSON file with every number (mode 0600).", "--json")]
ADDED = {"run": switches(), "generate": {kind.option: kind.about for kind in model_files()}}
"""Options of commands that extensions add, with their help; those of `generate` name its file."""
NOT_FOR_RELEASE = "not for release"


def overrides_of(settings: list[str] | None, **named: Any) -> dict[str, Any]:
    """Return keys that replace those of a configuration; raise ConfigError for bad ones."""
    problems = Problems()
    content = settings_in(settings, problems, named=options_of(**named))
    problems.settle(ConfigError)
    return content


IN_A_FILE = (
    "data.encoding", "data.delimiter", "data.quote", "data.comment", "data.header_row",
    "data.names", "panel.career", "panel.absent",
)  # fmt: skip
"""Keys that `init` uses to read a file."""


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
            "KEY=VALUE: how to read the file, if the default is wrong (data.encoding, "
            "data.delimiter, data.header_row, data.names, panel.career, panel.absent, ...), or a "
            "key of an extension; may be repeated.",
            "--set",
        ),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write a commented YAML that runs, and list the columns to check."""
    from synthesizer.cli.screen import show_starter
    from synthesizer.config.keys import SqlConfig
    from synthesizer.config.section import section_keys
    from synthesizer.data.formats import format_keys
    from synthesizer.jobs.starter import StarterOptions, file_options, panel_config, write_starter

    source = data if sql is None else SqlConfig(url=sql[0], query=sql[1])
    if source is None or (data is not None and sql is not None):
        raise ConfigError("init: name a data file, or write --sql URL QUERY, and not both")
    problems = Problems()
    keys = settings_in(settings, problems, paths=())
    of_formats = (f"data.{key}" for key in format_keys())
    refuse_others(keys, (*IN_A_FILE, *of_formats, *section_keys()), problems)
    problems.settle(ConfigError)
    read = keys.get("data", {})
    options = StarterOptions(
        panel=panel_config(person=person, time=time, wide=wide or (), **keys.get("panel", {})),
        encoding=read.pop("encoding", None),
        file=file_options(data or Path("x.csv"), **read),
        drop=tuple(drop or ()),
        ids=tuple(identifier or ()),
        sections={key: keys[key] for key in section_keys() if key in keys},
    )
    with progress(quiet=quiet) as listener:
        starter = write_starter(
            source, output, options=options, overwrite=overwrite, listener=listener
        )
    if not quiet:
        show_starter(starter)


def plan(config: ConfigPath, settings: Settings = None) -> None:
    """Show models, order, cost, seconds and memory before any fit, or every problem.

    Reads configuration and data, and checks the output directory. Fits and writes nothing.
    """
    from time import process_time

    from synthesizer.cli.screen import show_plan
    from synthesizer.data.files import check_output
    from synthesizer.plan.forecast import forecast
    from synthesizer.plan.plan import prepare

    planned = prepare(config, overrides=overrides_of(settings), check_directory=False)
    output = planned.output
    later = check_output(output.directory, overwrite=output.overwrite)
    ahead = forecast(planned, spent=process_time())
    show_plan(planned, ahead, later)


def run(
    config: ConfigPath,
    settings: Settings = None,
    m: Annotated[int | None, option("Replaces the number of datasets.", "-m")] = None,
    seed: Annotated[int | None, option("Replaces the seed of the configuration.")] = None,
    workers: Workers = None,
    out: OutDirectory = None,
    overwrite: Overwrite = False,
    no_checks: Annotated[
        bool, option("Skip all checks; not possible with limits.", "--no-checks")
    ] = False,
    fail_on: FailOn = None,
    quiet: Quiet = False,
    every: Every = False,
) -> None:
    """Make datasets: read, fit, generate, check and write.

    Exit code 3: all files are written, but a figure exceeds a limit of the configuration, or the
    verdict is that of --fail-on.
    """
    from synthesizer.cli.screen import show_result
    from synthesizer.jobs import run as job
    from synthesizer.measures.settings import ALL_OFF

    if no_checks and fail_on is not None:
        raise ConfigError("--fail-on: there is no verdict without checks; remove --no-checks")
    output = options_of(overwrite=overwrite or None, directory=out and str(out.absolute()))
    overrides = overrides_of(settings, m=m, seed=seed, workers=workers, output=output)
    if no_checks:
        # limits stay and are refused, so that a pipeline never accepts unchecked data
        overrides["checks"] = ALL_OFF
    with progress(quiet=quiet) as listener:
        result = job.run(config, overrides=overrides, listener=listener)
    reasons = refusals(result.exceeded, result.verdict, fail_on)
    if not quiet:
        show_result(result, every=every, later=reasons)
    if result.interrupted:
        raise KeyboardInterrupt(
            f"interrupted; the best dataset so far was checked and written to {result.directory}"
        )
    refuse(reasons)


def codebook(
    data: Annotated[Path, typer.Argument(help="Data file, or the result directory of a run.")],
    out: Annotated[
        Path | None, option("Of a run: directory for codebook.html and .json.", "--out", "-o")
    ] = None,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Show the variables of a file, or write a codebook for researchers.

    The variables of a data file are confidential and are only printed. For the result directory of
    a run it writes a codebook to release with the synthetic datasets: variables, method and limits
    of use. It contains no number computed from the original.
    """
    from synthesizer.cli.printing import say_json
    from synthesizer.cli.screen import show_codebook
    from synthesizer.measures.figure import plain
    from synthesizer.plan.overview import make_codebook
    from synthesizer.report.codebook.write import is_result, run_codebook, write_run_codebook

    if not is_result(data):
        if out is not None:
            raise OutputError(
                f"{data}: is not the result directory of a run; the codebook of a data file is "
                "confidential and only printed; remove -o"
            )
        show_codebook(make_codebook(data), as_json=json)
    elif out is not None:
        paths = write_run_codebook(data, out, overwrite=overwrite)
        say_written(*paths)
    elif json:
        say_json(plain(run_codebook(data)))
    else:
        raise OutputError(f"{data}: name a directory for the codebook (-o), or use --json")


def fit(
    config: ConfigPath,
    model: Annotated[Path, option("File for the model (mode 0600).", "--out", "-o")],
    settings: Settings = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Fit the models and save them; the file is confidential."""
    from synthesizer.cli.printing import print_notes
    from synthesizer.jobs import run as job
    from synthesizer.plan.seeds import replay_notes

    overrides = overrides_of(settings)
    with progress(quiet=quiet) as listener:
        fitted = job.fit_file(
            config, model, overrides=overrides, overwrite=overwrite, listener=listener
        )
    if not quiet:
        print_notes(replay_notes(fitted.seed))
        say_written(model, why="it contains values of the data; mode 0600")


def generate(
    model: Annotated[Path, typer.Argument(help="File that 'fit' wrote.")],
    m: Annotated[int, option("Number of datasets.", "-m")] = 1,
    rows: Annotated[int | None, option("Rows of each dataset; as in the data by default.")] = None,
    given: Annotated[
        Path | None, option("Table with one row a record; values of empty cells are drawn.")
    ] = None,
    where: Annotated[
        Text,
        option(
            "Condition of every record (first row of a person, head of a household), such as "
            "\"sex == 'f' and age >= 80\"."
        ),
    ] = None,
    margins: Annotated[
        list[Path] | None,
        option("Table with columns of variables, and count or share; may be repeated."),
    ] = None,
    seed: Annotated[int | None, option("Seed; that of the fit by default.")] = None,
    out: Annotated[Path, option("Output directory.", "--out", "-o")] = Path("synthetic"),
    workers: Workers = None,
    overwrite: Overwrite = False,
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Draw datasets from a saved model, without the data."""
    from synthesizer.cli.printing import print_notes
    from synthesizer.engine.saved import load_model
    from synthesizer.jobs import generate as generation
    from synthesizer.plan.findings import note
    from synthesizer.plan.seeds import replay_notes

    loaded = load_model(model, models_with(plugin))
    with progress(quiet=quiet) as listener:
        paths = generation.generate(
            loaded, out, m=m, rows=rows, seed=seed, overwrite=overwrite, workers=workers,
            listener=listener, given=given, where=where, margins=margins or (),
        )  # fmt: skip
    if not quiet:
        is_fitted = loaded.path is not None
        notes = [*replay_notes(loaded.seed)] if is_fitted else loaded.origin["notes"]
        if is_fitted and (given or where or margins):
            notes += [note("uncounted_conditions", units=f"{loaded.arrangement.unit}s")]
        print_notes(notes)
        say_written(*paths)
        key = "" if loaded.seed.random_key is None else "; it contains the random key"
        say_written(out / "manifest.json", why=f"{NOT_FOR_RELEASE}{key}" * is_fitted)


def complete(
    data: Annotated[Path, typer.Argument(help="Data file, or YAML whose data are completed.")],
    m: Annotated[int, option("Number of completed files.", "-m", "--m")] = 5,
    cells: Annotated[
        Text, option('Missing codes to fill: "[\'\', -9]", or "income: [-9]"; all by default.')
    ] = None,
    seed: Annotated[int | None, option("Seed of the draws; random by default.")] = None,
    out: Annotated[Path, option("Output directory.", "--out", "-o")] = Path("completed"),
    settings: Settings = None,
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Fill missing cells several times, given the observed ones.

    Observed cells never change. The files are as confidential as the data. Combine estimates by the
    rule 'imputed'.
    """
    from synthesizer.cli.printing import print_notes, show_table
    from synthesizer.data.yaml_text import parse_yaml
    from synthesizer.jobs.complete import complete_file
    from synthesizer.report.blocks import value_table

    text = "null" if cells is None else cells if cells.startswith(("[", "{")) else f"{{{cells}}}"
    chosen = parse_yaml(f"cells: {text}", origin="--cells")["cells"]
    with progress(quiet=quiet) as listener:
        keys = overrides_of(settings, seed=seed, workers=workers)
        done = complete_file(
            data, out, m, cells=chosen, overrides=keys, overwrite=overwrite, listener=listener
        )
    if not quiet:
        show_table(value_table(f"cells filled, of {done.rows:,} rows", [*done.filled.items()]))
        print_notes(done.notes)
        say_written(*done.datasets, why="as the data; mode 0600")
        say_written(out / "manifest.json", why=NOT_FOR_RELEASE)


def advise(
    config: ConfigPath,
    settings: Settings = None,
    json: Numbers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Try settings for the worst finding, on a half of the data.

    Fits the current setting and up to three others to the same half and compares them with the
    other half; then the best one with another half. Takes up to six such runs and writes no
    dataset. Confidential.
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
