"""All commands by task, their help, and the handling of their errors."""

from __future__ import annotations

import errno
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from synthesizer.cli import file_commands as files
from synthesizer.cli import run_commands as runs
from synthesizer.data.errors import ConfigError, OutputError, SynthesizerError, did_you_mean
from synthesizer.data.files import discard_output, written_paths
from synthesizer.data.plugins import Command, CommandGroup, commands_of, extensions, installed

Entry = Command | CommandGroup
CORE: Mapping[str, Sequence[Entry]] = {
    "From data to a release": (runs.init, runs.plan, runs.run, files.report, runs.codebook),
    "Choose between settings": (runs.advise,),
    "Check files of any origin": (files.check, files.releases),
    "Draw without the data": (runs.fit, runs.generate),
    "Fill missing cells": (runs.complete,),
}
LOOK_UP: Mapping[str, Sequence[Entry]] = {
    "Look up": (
        CommandGroup(
            "reference", "Models and their options; schema of the YAML.", (runs.models, runs.schema)
        ),
    ),
}


def name_of(entry: Entry, group: str = "") -> str:
    """Return the name of a command, alone or in a group."""
    if isinstance(entry, CommandGroup):
        return entry.name
    return entry.__name__.removesuffix(f"_{group}").replace("_", "-")


def _tasks() -> dict[str, list[Entry]]:
    """Return the commands of each task, in the order of the help."""
    added = [(one.task, commands_of(name)) for name, one in extensions().items()]
    tasks: dict[str, list[Entry]] = {}
    for task, entries in (*CORE.items(), *added, *LOOK_UP.items()):
        if entries:
            tasks.setdefault(task, []).extend(entries)
    names = Counter(name_of(entry) for entries in tasks.values() for entry in entries)
    if twice := [name for name, times in names.items() if times > 1]:
        raise ConfigError(
            f"command {name!r} is declared twice; remove an extension" for name in twice
        )
    return tasks


TASKS = _tasks()


FORMER = {
    name: now for one in extensions().values() for name, now in one.former_commands.items()
} | {
    "risk": "check ORIGINAL SYNTHETIC --only risk",
    "utility": "check ORIGINAL SYNTHETIC --only utility",
    "validate": "plan",
    "models": "reference models",
    "schema": "reference schema",
}
"""Commands of earlier versions, and their replacements."""

FORMER_OPTIONS = {
    "--profile": "limits.profile", "--purpose": "limits.purpose", "--release": "limits.release",
    "--secret": "random_key", "--seed": "seed", "--workers": "workers", "--rows": "rows", "-m": "m",
    "--plugin": "plugins",
    "--encoding": "data.encoding", "--delimiter": "data.delimiter", "--quote": "data.quote",
    "--comment": "data.comment", "--header-row": "data.header_row",
    "--names": "data.names", "--career": "panel.career",
    "--absent": "panel.absent",
}  # fmt: skip
"""Options of earlier versions, and the keys that replace them."""


class Tasks(TyperGroup):
    """Lists the commands by task, each with the first sentence of its help."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the typed command; report unknown ones with the nearest or the new name."""
        if args and args[0] in FORMER and args[0] not in self.commands:
            ctx.fail(f"'{args[0]}' is now 'synthesizer {FORMER[args[0]]}'.")
        if args and args[0] not in self.commands and ctx.parent is None:
            words = did_you_mean(args[0], self.commands, ""), installed()
            ctx.fail(f"no command '{args[0]}'; {'; '.join(filter(None, words))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the list of commands."""
        longest = max(map(len, self.commands))
        for task, entries in TASKS.items():
            with formatter.section(task):
                formatter.write_dl(
                    [
                        (name.ljust(longest), self.commands[name].get_short_help_str(limit=200))
                        for name in map(name_of, entries)
                    ]
                )


class Options(TyperCommand):
    """Parses a command line and lists arguments and options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; report mistakes in our own words."""
        added = runs.ADDED.get(self.name or "", {})
        hint = installed() if self.name in runs.ADDED else "see --help"
        known = {name for one in self.get_params(ctx) for name in one.opts} | added.keys()
        for word in args:
            name = word.partition("=")[0]
            if name in FORMER_OPTIONS and name not in known and "--set" in known:
                ctx.fail(f"'{name}' is now '--set {FORMER_OPTIONS[name]}=VALUE'.")
            if name[:2] == "--" != name and name not in known:
                ctx.fail(f"no option '{name}'; {did_you_mean(name, known, hint)}")
        if self.name == "run":
            args = [f"--set=output.{a[2:]}=true" if a in added else a for a in args]
        else:  # the option of another kind of file names the argument
            words = [a for a in args if a not in added]
            args = [a.partition("=")[2] if a.split("=")[0] in added else a for a in words]
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the lists of arguments and options."""
        groups: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        groups["option"] += runs.ADDED.get(self.name or "", {}).items()
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                groups[parameter.param_type_name].append(record)
        for heading, records in groups.items():
            if records:
                with formatter.section(f"{heading.capitalize()}s"):
                    formatter.write_dl(records)


_SURROGATES = re.compile("[\udc80-\udcff]")
_NO_LOCALE = "a name has letters that the locale cannot read; set LC_ALL=C.UTF-8 or PYTHONUTF8=1"


@contextmanager
def errors_printed() -> Iterator[None]:
    """Print every problem of an error and exit with its code."""
    with written_paths() as written:
        try:
            yield
            if sys.stdout is not None:  # it may be closed
                sys.stdout.flush()
        except SynthesizerError as error:
            show_error(error)
            raise typer.Exit(error.exit_code) from None
        except BrokenPipeError:  # the reader of the pipe, such as head, has ended
            discard_output()
            raise typer.Exit(141) from None
        except OSError as error:
            if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EIO):
                raise
            show_error(OutputError(f"the output cannot be printed ({error.strerror})"))
            discard_output()
            raise typer.Exit(OutputError.exit_code) from None
        except UnicodeEncodeError as error:
            if not _SURROGATES.search("".join(sys.argv)):
                raise
            show_error(OutputError(_NO_LOCALE))
            raise typer.Exit(OutputError.exit_code) from error
        except KeyboardInterrupt as stop:  # its message names a result that was saved
            show_error(SynthesizerError(str(stop) or interrupted(written)))
            raise typer.Exit(130) from None


def interrupted(written: Iterable[Path]) -> str:
    """Return the message of an interrupted command, with the files that it wrote."""
    paths = [str(path) for path in written if path.exists()]
    if not paths:
        return "interrupted; nothing was written"
    return f"interrupted; these files were written completely: {', '.join(paths)}"


def show_error(error: SynthesizerError) -> None:
    """Print every problem to the standard error."""
    from synthesizer.cli.printing import complain, error_lines

    complain(error_lines(error.problems))


app = typer.Typer(
    name="synthesizer",
    cls=Tasks,
    help="Turn confidential microdata into synthetic microdata, and measure risk and utility.",
    epilog="Exit codes: 0 done; 1 failed; 2 bad configuration, data or output; 3 a limit of the "
    "configuration is exceeded, or the verdict is that of --fail-on; 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from synthesizer.data.workers import LIBRARY

        print(f"microdata-synthesizer {version('microdata-synthesizer')}; command: synthesizer")
        if LIBRARY is None:
            print("not compiled: same results, trees are slower; install again with a C compiler")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Turn confidential microdata into synthetic microdata, and measure risk and utility."""


def add_command(group: typer.Typer, name: str, function: Command) -> None:
    """Add a function as a command that prints its errors."""

    @wraps(function)
    def reporting(*words: Any, **options: Any) -> None:
        with errors_printed():
            function(*words, **options)

    group.command(name, cls=Options)(reporting)


for _entry in chain.from_iterable(TASKS.values()):
    if isinstance(_entry, CommandGroup):
        _group = typer.Typer(help=_entry.about, no_args_is_help=True, rich_markup_mode=None)
        for _function in _entry.functions:
            add_command(_group, name_of(_function, _entry.name), _function)
        app.add_typer(_group, name=_entry.name)
    else:
        add_command(app, name_of(_entry), _entry)
