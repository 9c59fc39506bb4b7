"""The commands; they parse, call and print."""

from __future__ import annotations

import io
import signal
import sys
from typing import Annotated

import typer

from synthesizer.cli_checks import compare, frontier, report, risk, utility
from synthesizer.cli_parts import errors_told
from synthesizer.cli_refine import refine
from synthesizer.cli_synthesis import codebook, fit, generate, init, plan, run, validate
from synthesizer.errors import Terminated

__all__ = ["app", "errors_told", "main"]


def models(
    name: Annotated[str | None, typer.Argument(help="Show the options of this model.")] = None,
) -> None:
    """List the conditional models that are known, and the package that offers each."""
    with errors_told():
        from synthesizer import screen_plan
        from synthesizer.registry import Registry

        registry = Registry.load()
        if name is None:
            screen_plan.show_models(registry)
        else:
            screen_plan.show_model(registry, registry.canonical(name))


def schema() -> None:
    """Print the JSON Schema of the YAML, for editors."""
    with errors_told():
        from synthesizer import screen
        from synthesizer.config_schema import config_schema
        from synthesizer.registry import Registry

        screen.say_json(config_schema(Registry.load()))


def _gathered() -> typer.Typer:
    """Return the commands in the order of the help text."""
    app = typer.Typer(
        name="synthesizer",
        help="Turn confidential microdata into synthetic microdata, and prove what was made.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for command in (
        run, validate, plan, init, codebook, fit, generate, report, compare, frontier, risk,
        utility, refine, models, schema,
    ):  # fmt: skip
        app.command()(command)
    return app


app = _gathered()


def _interrupted(*_: object) -> None:
    raise Terminated


def main() -> None:
    """Entry point of the ``synthesizer`` command."""
    # batch schedulers end a job with SIGTERM: clean up as after Ctrl-C
    signal.signal(signal.SIGTERM, _interrupted)
    for stream in (sys.stdout, sys.stderr):  # names of variables may not fit the terminal
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stderr.close()
        sys.exit(141)
