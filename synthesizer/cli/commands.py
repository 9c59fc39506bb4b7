"""The commands; they parse, call and print."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from synthesizer.cli.help import Options, Tasks
from synthesizer.data.errors import (
    ConfigError,
    LedgerError,
    LimitExceededError,
    ModelError,
    OutputError,
    Problems,
    SynthesizerError,
    in_brief,
)
from synthesizer.data.files import discard_output, written_paths

if TYPE_CHECKING:
    from synthesizer.data.progress import Listener
    from synthesizer.engine.registry import Registry
    from synthesizer.jobs.check_files import FileChecks
    from synthesizer.measures.verdict import Verdict


def option(words: str, *names: str, group: str | None = None) -> Any:
    """Return an option, explained in words; it is called like its parameter when not named.

    ``group`` is the heading under which a help lists it, of those that few need.
    """
    return typer.Option(*names, help=words, rich_help_panel=group)


Text = str | None
"""An option that may be absent, and so for paths, numbers and lists."""

ConfigPath = Annotated[Path, typer.Argument(help="YAML file of the run.", show_default=False)]
Overwrite = Annotated[bool, option("Replace an existing result.", "--overwrite")]
Quiet = Annotated[bool, option("Print errors only.", "--quiet", "-q")]
Every = Annotated[bool, option("Print all notes and figures.", "--all")]
FailOn = Annotated[
    Literal["look", "stop"] | None,
    option("Exit code 3 where the verdict is stop, or look or stop.", "--fail-on"),
]
Workers = Annotated[int | None, option("Parallel workers; all cores by default.")]
Seed = Annotated[int | None, option("Replaces the seed of the configuration.")]
Random = Annotated[int, option("Decides what is random.")]
Secret = Annotated[
    Text,
    option("Key of the draws: none, or the manifest.json of a run to repeat; drawn if absent."),
]
Datasets = Annotated[int | None, option("Replaces the number of datasets.", "-m")]
Rows = Annotated[int | None, option("Replaces the rows of each.")]
Extends = Annotated[
    Path | None,
    option("Directory of a published run of a panel: add the new periods to its datasets."),
]
Revised = Annotated[
    bool,
    option("With --extends: go on though confidential data of its periods changed.", "--revised"),
]
OutDirectory = Annotated[Path | None, option("Replaces the output directory.", "--out", "-o")]
Plugins = Annotated[
    list[str] | None,
    option("Module whose MODELS are added; it is imported, which runs its code.", "--plugin"),
]

Original = Annotated[Path, typer.Argument(help="The confidential file.")]
SyntheticFiles = Annotated[
    list[Path], typer.Argument(help="Synthetic files, or the directory of a run.")
]
RunConfig = Annotated[
    Path | None, option("YAML of a run: kinds, missing codes, panel, checks, limits.")
]
Keys = Annotated[Text, option("What an intruder knows: A,B,C; suggested if absent.")]
Target = Annotated[Text, option("What an intruder seeks.")]
Control = Annotated[
    Path | None, option("Records of the same population that were kept out of the fit.")
]
Catalogue = Annotated[
    Path | None, option("SAS: .sas7bcat file with the value labels of a .sas7bdat file.")
]
SurveyWeight = Annotated[
    Text, option("The survey weight: all is measured without and with it.", "--weight")
]
JsonFile = Annotated[Path | None, option("JSON file to write (mode 0600).", "--out", "-o")]
AsJson = Annotated[bool, option("Print JSON.", "--json")]
RiskAxis = Annotated[
    Text,
    option(
        "Figure of risk of the frontier and the map; differential_confidentiality where all runs "
        "have it, else cap."
    ),
]
UtilityAxis = Annotated[Text, option("Figure of utility of both; mean_two_way.")]


def models_with(plugins: list[str] | None) -> Registry:
    """Return all installed models and those of plug-ins."""
    from synthesizer.engine.registry import Registry

    return Registry.load().with_plugins(plugins or ())


def all_cores(workers: int | None) -> int:
    """Return the workers of joblib: all cores where none are named."""
    return -1 if workers is None else workers


def secret_of(word: str | None) -> str | dict[str, str] | None:
    """Return what ``secret`` says in a configuration; paths are seen from the working directory."""
    return word if word in (None, "none") else {"from": str(Path(word).absolute())}


def options_of(**options: Any) -> dict[str, Any]:
    """Return the options that are named, in words or as a group of options."""
    return {name: value for name, value in options.items() if value not in (None, {})}


def overrides_of(
    overwrite: Overwrite = False,
    seed: Seed = None,
    secret: Secret = None,
    m: Datasets = None,
    rows: Rows = None,
    extends: Extends = None,
    revised: Revised = False,
    out: OutDirectory = None,
    workers: Workers = None,
) -> dict[str, Any]:
    """Return what the options of a command replace in a configuration."""
    return options_of(
        seed=seed,
        secret=secret_of(secret),
        m=m,
        rows=rows,
        workers=workers,
        extends=options_of(
            run=None if extends is None else str(extends.absolute()), revised=revised or None
        ),
        output=options_of(
            overwrite=overwrite or None, directory=None if out is None else str(out.absolute())
        ),
    )


@dataclass(frozen=True)
class Shared:
    """Marks a parameter of a command: it gets what a function returns, whose options are added."""

    function: Callable[..., Any]


Overrides = Annotated[dict[str, Any], Shared(overrides_of)]


def files_of(
    original: Original,
    synthetic: SyntheticFiles,
    config: RunConfig = None,
    catalogue: Catalogue = None,
    seed: Random = 0,
    out: JsonFile = None,
    overwrite: Overwrite = False,
) -> dict[str, Any]:
    """Return what commands take that look at files."""
    return {
        "original": original, "synthetic": synthetic, "config": config, "catalogue": catalogue,
        "seed": seed, "out": out, "overwrite": overwrite,
    }  # fmt: skip


@dataclass(frozen=True)
class FileScreen:
    """How the checks of files are shown."""

    json: bool
    every: bool
    fail_on: Literal["look", "stop"] | None

    def show(self, checks: FileChecks) -> None:
        """Print the checks; raise LimitExceededError above a limit, or at the word to fail on."""
        from synthesizer.cli.screen_checks import show_file_checks

        show_file_checks(checks, as_json=self.json, every=self.every)
        refuse(checks.exceeded, checks.verdict, self.fail_on, checks.subjects)


def file_screen(
    json: AsJson = False,
    every: Annotated[bool, option("Print every figure, variable and pair.", "--all")] = False,
    fail_on: FailOn = None,
) -> FileScreen:
    """Return how the checks of files are shown."""
    return FileScreen(json, every, fail_on)


Files = Annotated[dict[str, Any], Shared(files_of)]
Screen = Annotated[FileScreen, Shared(file_screen)]


def with_shared(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its `Shared` parameters in their place."""
    parameters: list[Parameter] = []
    groups: dict[str, Callable[..., Any]] = {}
    for parameter in signature(function, eval_str=True).parameters.values():
        marks = [m for m in getattr(parameter.annotation, "__metadata__", ()) if type(m) is Shared]
        if marks:
            groups[parameter.name] = marks[0].function
            parameters += signature(marks[0].function, eval_str=True).parameters.values()
        else:
            parameters.append(parameter)
    if not groups:
        return function

    @wraps(function)
    def passing(**options: Any) -> None:
        made = {
            name: maker(**{option: options.pop(option) for option in signature(maker).parameters})
            for name, maker in groups.items()
        }
        function(**made, **options)

    ordered = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    passing.__annotations__ = {item.name: item.annotation for item in ordered}
    passing.__signature__ = Signature(ordered)  # type: ignore[attr-defined]
    return passing


def refuse(
    exceeded: Sequence[str],
    decided: Verdict,
    fail_on: Literal["look", "stop"] | None,
    subjects: Collection[str] = ("person", "anybody", "use"),
) -> None:
    """Raise LimitExceededError where a limit is exceeded, or the verdict is one to fail on."""
    words = {None: (), "stop": ("stop",), "look": ("look", "stop")}[fail_on]
    grave = [
        f"--fail-on {fail_on}: {line.title}: {line.word}"
        for line in decided.lines
        if line.word in words and line.subject in subjects
    ]
    if exceeded or grave:
        raise LimitExceededError([*exceeded, *grave])


@contextmanager
def progress(*, quiet: bool, ended: bool = True) -> Iterator[Listener]:
    """Show how far a command has come; ``ended`` as in printing."""
    from synthesizer.cli.printing import progress as shown

    with shown(quiet=quiet, ended=ended) as listener:
        yield listener


def say_written(*paths: Path, why: str = "") -> None:
    """Print which files were written, and why they are not for release."""
    for path in paths:
        print(f"wrote {path}{f' (confidential: {why})' if why else ''}")


NOT_FOR_RELEASE = "not for release"
STEWARD = "for the steward; mode 0600"


@contextmanager
def errors_told() -> Iterator[None]:
    """Print every problem and leave with the exit code of the error."""
    with written_paths() as written:
        try:
            yield
            if sys.stdout is not None:  # it may be closed
                sys.stdout.flush()
        except SynthesizerError as error:
            show_error(error)
            raise typer.Exit(error.exit_code) from None
        except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
            discard_output()
            raise typer.Exit(141) from None
        except OSError as error:
            if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EIO):
                raise
            show_error(OutputError(f"the output cannot be printed ({error.strerror})"))
            discard_output()
            raise typer.Exit(OutputError.exit_code) from None
        except KeyboardInterrupt as stop:  # one that kept something says what
            show_error(SynthesizerError(str(stop) or interrupted(written)))
            raise typer.Exit(130) from None


def interrupted(written: Iterable[Path]) -> str:
    """Say what an interrupted command left behind."""
    paths = [str(path) for path in written if path.exists()]
    if not paths:
        return "interrupted; nothing was written"
    return f"interrupted, after {', '.join(paths)} had been written, whole and new"


def show_error(error: SynthesizerError) -> None:
    """Print every problem to the standard error."""
    from synthesizer.cli.printing import complain

    first, *others = error.problems or ("",)
    lines = [f"- {problem}" for problem in in_brief(error.problems)]
    complain([f"{len(error.problems)} errors:", *lines] if others else [f"error: {first}"])


app = typer.Typer(
    name="synthesizer",
    cls=Tasks,
    help="Turn confidential microdata into synthetic microdata, and prove what was made.",
    epilog="Exit codes: 0 done; 1 failed; 2 bad configuration, data or output; 3 a limit of the "
    "configuration is exceeded, or the verdict is one to fail on; 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def subcommands(about: str) -> typer.Typer:
    """Return an empty group of commands."""
    return typer.Typer(help=about, no_args_is_help=True, rich_markup_mode=None)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"synthesizer {version('synthesizer')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Turn confidential microdata into synthetic microdata, and prove what was made."""


def command(
    function: Callable[..., None], group: typer.Typer = app, name: str | None = None
) -> Callable[..., None]:
    """Make a function a command; it imports what it needs when it is called."""
    function = with_shared(function)

    @wraps(function)
    def reporting(*words: Any, **options: Any) -> None:
        with errors_told():
            function(*words, **options)

    return group.command(name, cls=Options)(reporting)


@command
def run(
    config: ConfigPath,
    overrides: Overrides,
    no_checks: Annotated[
        bool, option("Leave out all checks; not where limits are set.", "--no-checks")
    ] = False,
    resume: Annotated[
        bool, option("Go on with a run in parts (data.fit_rows) that was stopped.", "--resume")
    ] = False,
    fail_on: FailOn = None,
    plugin: Plugins = None,
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
    if no_checks:
        # limits stay and are refused: a pipeline must not take unchecked data for checked ones
        overrides["checks"] = ALL_OFF
    with progress(quiet=quiet) as listener:
        result = job.run(
            config,
            overrides=overrides,
            registry=models_with(plugin),
            listener=listener,
            resume=resume,
        )
    if not quiet:
        show_result(result, every=every)
    if result.interrupted:
        raise KeyboardInterrupt(
            f"interrupted; the best so far was checked and written to {result.directory}"
        )
    refuse(result.exceeded, result.verdict, fail_on)


@command
def validate(config: ConfigPath, overrides: Overrides, plugin: Plugins = None) -> None:
    """Tell every problem of configuration, data and output."""
    from synthesizer.cli.screen import show_valid
    from synthesizer.plan.plan import prepare

    show_valid(prepare(config, models_with(plugin), overrides=overrides))


@command
def plan(config: ConfigPath, plugin: Plugins = None) -> None:
    """Show models, order, cost, seconds and memory before any fit."""
    from time import process_time

    from synthesizer.cli.screen import show_plan
    from synthesizer.plan.forecast import forecast
    from synthesizer.plan.overview import plan_table, zero_rows
    from synthesizer.plan.plan import prepare

    planned = prepare(config, models_with(plugin), check_directory=False)
    ahead = forecast(planned, spent=process_time())
    show_plan(planned, plan_table(planned), zero_rows(planned), ahead)


@command
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
    encoding: Annotated[
        Text, option("Encoding of a CSV file; found out by itself if absent.")
    ] = None,
    catalogue: Catalogue = None,
    drop: Annotated[list[str] | None, option("Column to leave out (repeat for more).")] = None,
    identifier: Annotated[
        list[str] | None, option("Column that is an identifier (repeat for more).", "--id")
    ] = None,
    weight: Annotated[Text, option("Column of the survey weight.")] = None,
    household: Annotated[Text, option("Column that all members of a household share.")] = None,
    person: Annotated[
        Text, option("Panel, a row a period: column that identifies persons.")
    ] = None,
    time: Annotated[Text, option("Panel: column of the period.")] = None,
    career: Annotated[Text, option("Panel: variable whose sequence of states is a career.")] = None,
    wide: Annotated[
        list[str] | None,
        option("Panel, a column a period: VARIABLE=FIRST..LAST or VARIABLE=A,B,C."),
    ] = None,
    absent: Annotated[
        list[str] | None, option("With --wide: label of those who are not there.")
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write a commented YAML that runs, and say what needs a look."""
    from synthesizer.cli.screen import show_starter
    from synthesizer.config.keys import SqlConfig
    from synthesizer.jobs.starter import StarterOptions, panel_config, write_starter

    source = data if sql is None else SqlConfig(url=sql[0], query=sql[1])
    if source is None or (data is not None and sql is not None):
        raise ConfigError("init needs a data file, or --sql URL QUERY, and not both")
    options = StarterOptions(
        panel=panel_config(
            person=person, time=time, career=career, wide=wide or (), absent=absent or ()
        ),
        encoding=encoding,
        catalogue=catalogue,
        drop=tuple(drop or ()),
        ids=tuple(identifier or ()),
        weight=weight,
        household=household,
    )
    with progress(quiet=quiet) as listener:
        starter = write_starter(
            source, output, options=options, overwrite=overwrite, listener=listener
        )
    if not quiet:
        show_starter(starter)


@command
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


@command
def fit(
    config: ConfigPath,
    model: Annotated[Path, option("File for the model (mode 0600).", "--out", "-o")],
    overwrite: Overwrite = False,
    seed: Seed = None,
    secret: Secret = None,
    plugin: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Fit the models and save them; the file is confidential."""
    from synthesizer.cli.printing import notes_told
    from synthesizer.jobs import run as job
    from synthesizer.plan.seeds import replay_notes

    registry = models_with(plugin)
    with progress(quiet=quiet) as listener:
        fitted = job.fit_file(
            config,
            model,
            overrides=overrides_of(seed=seed, secret=secret),
            overwrite=overwrite,
            registry=registry,
            listener=listener,
        )
    if not quiet:
        notes_told(replay_notes(fitted.seed))
        say_written(model, why="it holds values of the data; mode 0600")


@command
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
        say_written(out / "manifest.json", why=f"{NOT_FOR_RELEASE}; it holds the secret")


@command
def report(
    directory: Annotated[
        Path | None, typer.Argument(help="Result directory of a run; none with --original.")
    ] = None,
    original: Annotated[
        Path | None, option("The confidential file that --synthetic is held against.")
    ] = None,
    synthetic: Annotated[
        list[Path] | None, option("A synthetic file, whoever made it; may be named several times.")
    ] = None,
    control: Control = None,
    keys: Keys = None,
    target: Target = None,
    weight: SurveyWeight = None,
    config: RunConfig = None,
    catalogue: Catalogue = None,
    seed: Random = 0,
    workers: Workers = None,
    out: Annotated[
        Path | None,
        option("HTML file; report.html in the run's directory, or here.", "--out", "-o"),
    ] = None,
    overwrite: Overwrite = False,
    fail_on: FailOn = None,
) -> None:
    """Write the steward's page about a run, or about any files.

    Confidential; one page that needs no network: 'report DIRECTORY', or 'report --original A
    --synthetic B' for files that somebody else made. Exit code 3 means that a limit of --config is
    exceeded, or that the verdict on files is one to fail on.
    """
    if directory is not None:
        named = options_of(
            original=original, synthetic=synthetic, control=control, keys=keys, target=target,
            weight=weight, config=config, catalogue=catalogue, fail_on=fail_on,
        )  # fmt: skip
        if named:
            lone = ", ".join(f"--{name.replace('_', '-')}" for name in named)
            raise ConfigError(f"{lone}: only of files; leave out the directory of a run, or these")
        from synthesizer.report.build import write_report

        say_written(write_report(directory, out, overwrite=overwrite), why=STEWARD)
        return
    if original is None or not synthetic:
        raise ConfigError(
            "name the result directory of a run, or files by --original and --synthetic"
        )
    from synthesizer.cli.screen_checks import show_decision
    from synthesizer.jobs.check_files import report_files

    problems, path = Problems(), Path("report.html") if out is None else out
    with progress(quiet=False) as listener:
        record = report_files(
            original, synthetic, path,
            options=options_of(**names_in(problems, keys=keys), target=target, weight=weight),
            control=control, catalogue=catalogue, config=config, seed=seed,
            workers=all_cores(workers), overwrite=overwrite, listener=listener,
            problems=problems,
        )  # fmt: skip
    show_decision(record.verdict, record)
    say_written(path, why=STEWARD)
    refuse(record.exceeded, record.verdict, fail_on)


@command
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Result directories of 'run', at least two.")],
    out: Annotated[
        Path | None, option("HTML file with the map, to write (mode 0600).", "--out", "-o")
    ] = None,
    json: Annotated[
        Path | None, option("JSON file with every number (mode 0600).", "--json")
    ] = None,
    risk: RiskAxis = None,
    utility: UtilityAxis = None,
    overwrite: Overwrite = False,
    every: Every = False,
) -> None:
    """Set runs side by side: settings, risk, utility and a map."""
    from synthesizer.cli.screen import show_comparison
    from synthesizer.jobs.compare import write_comparison

    comparison = write_comparison(
        runs, out, json=json, overwrite=overwrite, risk=risk, utility=utility
    )
    show_comparison(comparison, every=every)
    if out is None:
        print("no map was written; name an HTML file for it with -o")
    say_written(*filter(None, (out, json)), why=NOT_FOR_RELEASE)


@command
def frontier(
    config: ConfigPath,
    vary: Annotated[
        list[str] | None,
        option("KEY=VALUE,VALUE such as cart.min_leaf=3,10 or proper=true,false."),
    ] = None,
    out: Annotated[
        Path | None,
        option("Output directory; that of the run and _frontier.", "--out", "-o"),
    ] = None,
    m: Datasets = None,
    seed: Seed = None,
    secret: Secret = None,
    workers: Workers = None,
    risk: RiskAxis = None,
    utility: UtilityAxis = None,
    overwrite: Overwrite = False,
    plan: Annotated[bool, option("Check and show the settings only.", "--plan")] = False,
    plugin: Plugins = None,
    quiet: Quiet = False,
    every: Every = False,
) -> None:
    """Run a grid of settings and draw its frontier.

    An interrupted call goes on from the finished settings. Exit code 1 means: a setting failed
    (the others are written).
    """
    from functools import partial

    from synthesizer.cli.printing import say
    from synthesizer.cli.screen import show_frontier
    from synthesizer.jobs.frontier import plan_frontier, run_frontier

    planned = plan_frontier(
        config, vary or (), directory=out, m=m, seed=seed, secret=secret_of(secret),
        workers=workers, overwrite=overwrite, risk=risk, utility=utility,
        registry=models_with(plugin),
    )  # fmt: skip
    if plan:
        for line in planned.lines:
            say(line)
        return
    outcome = run_frontier(
        planned,
        listening=partial(progress, quiet=quiet, ended=False),
        say=str if quiet else say,
    )
    if not quiet:
        show_frontier(outcome, every=every)
    if outcome.failed:
        raise SynthesizerError(
            f"setting {name} failed: {'; '.join(why)}" for name, why in outcome.failed.items()
        )


def names_in(problems: Problems, **texts: str | None) -> dict[str, tuple[str, ...] | None]:
    """Return the names in options such as A,B,C; what is wrong with one is gathered."""
    from synthesizer.jobs.check_files import parse_names

    return {
        option: problems.attempt(parse_names, text, place=f"--{option}")
        for option, text in texts.items()
    }


_INFERENCE = "A variable that might be inferred from published tables"
_PANELS = "Panels"


@command
def risk(
    files: Files,
    screen: Screen,
    keys: Keys = None,
    target: Target = None,
    groups: Annotated[Text, option("Groups of numbers: age=5 or cut points pay=100/200.")] = None,
    control: Control = None,
    weight: SurveyWeight = None,
    attacks: Annotated[
        bool | None, option("Attack as intruders do; with --control unless switched off.")
    ] = None,
    by: Annotated[Text, option("Find the group of this variable that is told most of.")] = None,
    tau: Annotated[float | None, option("TCAP: agreement that an intruder asks for; 1.")] = None,
    max_size: Annotated[int | None, option("SUDA: largest set of keys looked at.")] = None,
    sampling_fraction: Annotated[
        float | None, option("DIS-SUDA: share of the population in the data; 0.01.")
    ] = None,
    sensitive: Annotated[Text, option("That variable.", group=_INFERENCE)] = None,
    public: Annotated[Text, option("The public ones: A,B,C.", group=_INFERENCE)] = None,
    positive: Annotated[
        Text, option("The level of it that is looked for.", group=_INFERENCE)
    ] = None,
    baseline: Annotated[
        Text, option("Public variables whose tables are published: A,B.", group=_INFERENCE)
    ] = None,
    thresholds: Annotated[
        Text,
        option("Probabilities that a true value must exceed: 0.5,0.9.", group=_INFERENCE),
    ] = None,
    units: Annotated[
        Text, option("Variable that names the person of each record.", group=_PANELS)
    ] = None,
    periods: Annotated[
        bool,
        option("Count each period of a person for --sensitive.", "--periods", group=_PANELS),
    ] = False,
) -> None:
    """Say how much synthetic files give away about people.

    Confidential. Exit code 3 means that a figure exceeds a limit of --config, or that the verdict
    is one to fail on (--fail-on).
    """
    from synthesizer.jobs.check_files import assess_files, parse_groups

    problems = Problems()
    question = names_in(problems, public=public, baseline=baseline, thresholds=thresholds)
    options = options_of(
        **names_in(problems, keys=keys),
        target=target,
        groups=problems.attempt(parse_groups, groups),
        tau=tau,
        suda=options_of(max_size=max_size, sampling_fraction=sampling_fraction),
        differential_confidentiality=options_of(by=by, units=units),
        inference=options_of(
            sensitive=sensitive, positive=positive, units="periods" if periods else None, **question
        ),
        attacks=None if attacks is None else {"enabled": attacks},
        weight=weight,
    )
    with progress(quiet=screen.json) as listener:
        checks = assess_files(
            **files, options=options, control=control, listener=listener, problems=problems
        )
    screen.show(checks)


_FITS = "Models to fit on both sides"


@command
def utility(
    files: Files,
    screen: Screen,
    variables: Annotated[
        Text, option("Variables to compare: A,B,C; all that both have if absent.")
    ] = None,
    ways: Annotated[str, option("Orders of the tables: 1, 2 and 3.")] = "1,2",
    groups: Annotated[int | None, option("Quantile groups of numbers in tables; 5.")] = None,
    model: Annotated[Text, option("Propensity models; logit,cart if absent.")] = None,
    interactions: Annotated[
        int | None, option("Order of the logit's interactions; 1 is main effects.")
    ] = None,
    permutations: Annotated[int | None, option("Permutations for the null of cart; 10.")] = None,
    weight: SurveyWeight = None,
    workers: Workers = None,
    fits: Annotated[
        list[str] | None, option("Model such as 'income ~ age + sex'.", "--fit", group=_FITS)
    ] = None,
    family: Annotated[Text, option("ols, logit, poisson or multinomial; ols.", group=_FITS)] = None,
    rule: Annotated[
        Text,
        option("How m fits are combined: simple, proper, partially or fully.", group=_FITS),
    ] = None,
    clusters: Annotated[Text, option("Variable of cluster-robust errors.", group=_FITS)] = None,
    weights: Annotated[Text, option("Variable that weighs the records.", group=_FITS)] = None,
    offset: Annotated[
        Text, option("Offset of poisson fits: A or 'I(log(hours))'.", group=_FITS)
    ] = None,
    by: Annotated[
        Text,
        option("Variables whose values make groups, each fitted alone: A,B.", group=_FITS),
    ] = None,
) -> None:
    """Say how near synthetic files are to the original.

    Confidential. Exit code 3 means that a figure exceeds a limit of --config, or that the verdict
    is one to fail on (--fail-on); 1 that a fit has no result (all else is there).
    """
    from synthesizer.jobs.check_files import evaluate_files

    problems = Problems()
    fit = options_of(
        family=family, rule=rule, clusters=clusters, weights=weights, offset=offset,
        **names_in(problems, by=by),
    )  # fmt: skip
    lists = names_in(problems, model=model, variables=variables, ways=ways)
    score = options_of(models=lists["model"], interactions=interactions, permutations=permutations)
    with progress(quiet=screen.json) as listener:
        checks = evaluate_files(
            **files,
            names=lists["variables"],
            ways=lists["ways"] or (),
            formulas=tuple(fits or ()),
            fit=fit,
            options={"table_groups": groups, "propensity": score} | options_of(weight=weight),
            workers=all_cores(workers),
            listener=listener,
            problems=problems,
        )
    screen.show(checks)
    if lost := [name for name in checks.results.failed if name.startswith("fit ")]:
        raise ModelError(f"{name}: has no result, see above" for name in lost)


@command
def refine(
    original: Original,
    synthetic: Annotated[Path, typer.Argument(help="A synthetic file, whoever made it.")],
    keys: Annotated[str, option("What an intruder knows: A,B,C.")],
    target: Annotated[str, option("What an intruder seeks.")],
    risk_at_most: Annotated[
        float | None,
        option("Highest risk that is accepted; the baseline of the risk if absent."),
    ] = None,
    risk: Annotated[str, option("cap_u, cap, disco, tcap, repu or replicated_uniques.")] = "cap_u",
    utility: Annotated[str, option("full_table or two_way.")] = "full_table",
    codes: Annotated[Text, option("Variables whose numbers are codes: A,B, or all.")] = None,
    config: Annotated[Path | None, option("YAML of a run: kinds and missing codes.")] = None,
    population: Annotated[int, option("Datasets of a generation.")] = 100,
    generations: Annotated[int, option("Most generations.")] = 100,
    patience: Annotated[int, option("Stop after so many without gain.")] = 20,
    mutation: Annotated[float, option("Highest rate of cells drawn anew.")] = 0.001,
    crossover: Annotated[float, option("Rate of records that swap.")] = 0.1,
    aimed: Annotated[float, option("Largest share of risky records replaced in a child.")] = 1.0,
    seconds: Annotated[float | None, option("Stop after so many; depends on the machine.")] = None,
    seed: Annotated[int, option("Decides every draw.")] = 0,
    secret: Annotated[
        Text,
        option("Key of the draws: none, or the --json of a call to repeat; drawn if absent."),
    ] = None,
    workers: Workers = None,
    out: Annotated[
        Path | None, option("Refined file; NAME_refined if absent.", "--out", "-o")
    ] = None,
    record: Annotated[
        Path | None,
        option("JSON file with every figure and the history (mode 0600).", "--json"),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Lower the risk of a synthetic file at the least loss.

    Exit code 3 means: the limit was not reached (the best file is written).
    """
    from synthesizer.cli.screen import show_refined
    from synthesizer.data.errors import ConfigError
    from synthesizer.jobs.check_files import parse_names
    from synthesizer.jobs.refine import refine_file

    options: dict[str, Any] = {
        "risk": risk, "utility": utility, "population": population,
        "generations": generations, "patience": patience, "mutation": mutation,
        "crossover": crossover, "aimed": aimed, "seconds": seconds,
    }  # fmt: skip
    names = parse_names(keys)
    if names is None:
        raise ConfigError("--keys: name at least one variable, as A,B,C")
    with progress(quiet=quiet) as listener:
        outcome = refine_file(
            original, synthetic, keys=names, target=target, risk_at_most=risk_at_most,
            codes=True if codes == "all" else parse_names(codes) or (), config=config, out=out,
            record=record, overwrite=overwrite, seed=seed, secret=secret_of(secret),
            workers=all_cores(workers), listener=listener, **options,
        )  # fmt: skip
    if not quiet:
        show_refined(outcome, record)
    if outcome.refined.interrupted:
        raise KeyboardInterrupt(f"interrupted; the best so far was written to {outcome.path}")
    if not outcome.refined.reached:
        raise LimitExceededError(outcome.refined.notes[-1])


@command
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


@command
def schema(plugin: Plugins = None) -> None:
    """Print the JSON Schema of the YAML, for editors."""
    from synthesizer.cli.printing import say_json
    from synthesizer.config.reading import config_schema

    say_json(config_schema(models_with(plugin)))


QueryPath = Annotated[Path, typer.Argument(help="YAML or JSON file of the query.")]
ReleasedFile = Annotated[Path, option("The synthetic file that the query is about.")]
PublicSchemaPath = Annotated[
    Path, option("Public schema: YAML that 'public-schema' wrote.", "--schema")
]
LedgerPath = Annotated[Path, typer.Argument(help="SQLite file of one version of the data.")]


@command
def verify(
    query: QueryPath,
    synthetic: ReleasedFile,
    schema: PublicSchemaPath,
    confidential: Annotated[Path | None, option("The confidential file.")] = None,
    ledger: Annotated[Path | None, option("Ledger of this version of the file.")] = None,
    user: Annotated[str, option("Whose budget pays beside the global one.")] = "unnamed",
    analysis: Annotated[str, option("Which analysis's budget pays.")] = "unnamed",
    dry_run: Annotated[
        bool, option("Every step on the synthetic data alone: free.", "--dry-run")
    ] = False,
    choose_m: Annotated[
        bool, option("What the synthetic data give for different M: free.", "--choose-m")
    ] = False,
    out: Annotated[
        Path | None, option("Directory for answer.html and answer.json.", "--out", "-o")
    ] = None,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Answer a query under differential privacy, and charge for it.

    The same query gets the same answer again and is not charged. Ask --dry-run and --choose-m
    before: they need neither the confidential file nor a ledger.
    """
    from synthesizer.cli.printing import say_json
    from synthesizer.cli.screen import show_choices, show_verification
    from synthesizer.data.files import check_inside
    from synthesizer.measures.figure import plain
    from synthesizer.verification import verify as job

    job.check_words(
        dry_run=dry_run, choose_m=choose_m, confidential=confidential, ledger=ledger, out=out
    )
    if out is not None:
        read = [file for file in (query, synthetic, schema, confidential, ledger) if file]
        check_inside(out, job.NAMES, overwrite=overwrite, read=read)
    if choose_m:
        choices = job.choose_m(query, synthetic=synthetic, schema=schema)
        say_json(plain(choices)) if json else show_choices(choices)
        return
    if confidential is None or ledger is None:
        made = job.dry_run(query, synthetic=synthetic, schema=schema)
    else:
        made = job.verify(
            query, confidential=confidential, synthetic=synthetic, schema=schema, ledger=ledger,
            user=user, analysis=analysis,
        )  # fmt: skip
    say_json(plain(made)) if json else show_verification(made)
    if out is not None:
        paths = job.write_answer(made, out, overwrite=overwrite)
        if not json:
            say_written(*paths)


ledger_app = subcommands("Make, show and cap the ledger of one version of the data.")
app.add_typer(ledger_app, name="ledger")


def _new_ledger(
    ledger: LedgerPath,
    confidential: Annotated[Path, option("The confidential file; it is read once.")],
    schema: PublicSchemaPath,
    cap: Annotated[float, option("Epsilon that may be spent in all.")],
    user_cap: Annotated[float | None, option("Epsilon of each user; the global cap.")] = None,
    analysis_cap: Annotated[
        float | None, option("Epsilon of each analysis; the global cap.")
    ] = None,
) -> None:
    """Make the ledger of one version of the confidential file, with a new secret key."""
    from synthesizer.verification.verify import begin_ledger

    begin_ledger(
        ledger, confidential=confidential, schema=schema, cap=cap, user_cap=user_cap,
        analysis_cap=analysis_cap,
    )  # fmt: skip
    print(f"wrote {ledger} (secret: it holds the key of the partitions; mode 0600)")


def _show_ledger(ledger: LedgerPath, json: AsJson = False) -> None:
    """Show budgets and what was asked; answers and the key stay in the file."""
    from synthesizer.cli.printing import say_json, show_rows
    from synthesizer.measures.figure import plain
    from synthesizer.verification.ledger import Ledger

    spending = Ledger(ledger).spending()
    if json:
        say_json(plain(spending))
        return
    show_rows(spending.budgets, "Budgets, in epsilon")
    if spending.entries:
        show_rows(spending.entries, "Questions that were charged for")


def _cap_ledger(
    ledger: LedgerPath,
    scope: Annotated[str, typer.Argument(help="global, user or analysis.")],
    cap: Annotated[float, option("Epsilon; not below what is spent.")],
    name: Annotated[str, option("Of the user or of the analysis.")] = "",
) -> None:
    """Change a budget."""
    from synthesizer.verification.ledger import Ledger

    Ledger(ledger).set_cap(scope, name, cap)


command(_new_ledger, ledger_app, "new")
command(_show_ledger, ledger_app, "show")
command(_cap_ledger, ledger_app, "cap")


def _public_schema(
    release: Annotated[Path, typer.Argument(help="Result directory of a run, or codebook.json.")],
    out: Annotated[Path, option("YAML file to write, for you to look over.", "--out", "-o")],
    person: Annotated[Text, option("Column of the person; that of the codebook.")] = None,
    period: Annotated[Text, option("Variable of time; that of the run.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write what queries may know, from the codebook of a release."""
    from synthesizer.data.files import write_texts
    from synthesizer.verification.public_schema import schema_of_release, yaml_of

    made = schema_of_release(release, person=person, period=period)
    write_texts({out: yaml_of(made)}, overwrite=overwrite, read=[release])
    print(f"wrote {out} (digest {made.digest[:12]}); look it over: an edit changes its digest")


command(_public_schema, name="public-schema")


ServerPath = Annotated[Path, typer.Argument(help="YAML of the server.")]


@command
def serve(
    config: Annotated[Path | None, typer.Argument(help="YAML of the server.")] = None,
    demo: Annotated[
        Path | None,
        option("Make a server about simulated persons in this directory, if new, and start it."),
    ] = None,
    persons: Annotated[int, option("Persons of the demonstration.")] = 3_000,
) -> None:
    """Start a verification server: pages, API and queue.

    Ctrl-C stops it.
    """
    from synthesizer.jobs import serve as job

    if (config is None) == (demo is None):
        raise ConfigError("name the YAML of a server, or a directory by --demo; one of them")
    if demo is not None:
        config = demo / job.DEMO_CONFIG
        if demo.exists() and not config.exists():
            raise ConfigError(
                f"--demo {demo} is there and no demonstration (it has no {job.DEMO_CONFIG}); name "
                "a directory that is new"
            )
        if not config.exists():
            print(f"simulating {persons:,} persons and synthesising them: about a minute")
            for name, token in job.make_demo(demo, persons=persons).items():
                print(f"{job.DEMO_ACCOUNTS[name]:10}  {name:8}  token {token}")
            print("tokens are shown this once; sign in with them at the address below", flush=True)
    assert config is not None  # noqa: S101 - one of both was named
    job.serve(config)


server_app = subcommands("Accounts, checks and copies of a server.")
app.add_typer(server_app, name="server")


def _add_account(
    config: ServerPath,
    name: Annotated[str, typer.Argument(help="Name to sign in with.")],
    role: Annotated[str, option("researcher, steward or admin.")] = "researcher",
    password: Annotated[
        bool, option("Ask for a password, to sign in without a token.", "--password")
    ] = False,
) -> None:
    """Make an account, the first one, too, and print its token once."""
    from synthesizer.jobs import serve as job

    typed = (
        typer.prompt("Password", hide_input=True, confirmation_prompt=True) if password else None
    )
    print(f"token of {name}, shown this once: {job.add_account(config, name, role, typed)}")


def _check_server(
    config: ServerPath,
    noted: Annotated[Text, option("Head of the audit log, as noted earlier.")] = None,
) -> None:
    """Check the sums of all charges and the audit log; print the head of the log, to be noted."""
    from synthesizer.jobs import serve as job

    checked = job.check(config, noted=noted)
    if checked.problems:
        raise LedgerError(checked.problems)
    print(f"charges and audit log are intact; head of the log: {checked.head}")


def _back_up_server(
    config: ServerPath, out: Annotated[Path, typer.Argument(help="File to write (mode 0600).")]
) -> None:
    """Copy the SQLite database of a server, also while it runs; of PostgreSQL use pg_dump."""
    from synthesizer.jobs import serve as job

    job.backup(config, out)
    print(f"wrote {out} (secret: it holds keys and answers; mode 0600)")


command(_add_account, server_app, "add-account")
command(_check_server, server_app, "check")
command(_back_up_server, server_app, "backup")
