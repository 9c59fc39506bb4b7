"""Commands about files of any origin: check, report, releases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from synthesizer.cli.arguments import (
    FOR_CHECKS,
    AsJson,
    Every,
    FailOn,
    Overwrite,
    Quiet,
    Text,
    name_in,
    names_in,
    number_in,
    option,
    options_of,
    progress,
    refusals,
    refuse,
    refuse_others,
    settings_in,
    written_line,
)
from synthesizer.data.errors import ConfigError, ModelError, Problems, plural

Original = Annotated[Path, typer.Argument(help="The confidential file.")]


def check(
    original: Original,
    synthetic: Annotated[
        list[Path], typer.Argument(help="Synthetic files, or the directory of a run.")
    ],
    control: Annotated[
        Path | None, option("Holdout records of the same population, not used in the synthesis.")
    ] = None,
    config: Annotated[
        Path | None,
        option("YAML of a run: how to read the data, kinds, panel, weights, checks, limits."),
    ] = None,
    keys: Annotated[Text, option("Keys of an intruder: A,B,C; suggested if absent.")] = None,
    target: Annotated[Text, option("Variable that an intruder wants to learn.")] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "KEY=VALUE: any key under checks, such as 'groups={age: 5}', or limits.cap, "
            "limits.purpose, data.encoding, seed, workers, as in a YAML; may be repeated.",
            "--set",
        ),
    ] = None,
    only: Annotated[
        Literal["risk", "utility"] | None, option("Compute only risk or only utility.", "--only")
    ] = None,
    out: Annotated[
        Path | None,
        option("File to write: a page (.html) or all figures (.json); mode 0600.", "--out", "-o"),
    ] = None,
    overwrite: Overwrite = False,
    fail_on: FailOn = None,
    json: AsJson = False,
    every: Every = False,
    quiet: Quiet = False,
) -> None:
    """Check synthetic files of any origin: risk, utility and verdict.

    Confidential. Exit code 3: a figure exceeds a limit, or the verdict is that of --fail-on. Exit
    code 1: a fit has no result; all other results are complete.
    """
    from synthesizer.cli.screen_checks import show_file_checks
    from synthesizer.config.section import section_keys
    from synthesizer.jobs.check import check_files

    problems, beside = Problems(), (*FOR_CHECKS, *section_keys())
    named = options_of(**names_in(problems, keys=keys), **name_in(problems, target=target))
    content = settings_in(
        settings, problems, named={"checks": named}, section="checks", beside=beside
    )
    seed, workers = (number_in(content, key, problems) for key in ("seed", "workers"))
    with progress(quiet=quiet or json, ended=False) as listener:
        checked = check_files(
            original, synthetic, control, config=config,
            overrides=content, only=only, seed=seed or 0, out=out,
            workers=-1 if workers is None else workers,
            overwrite=overwrite, listener=listener, problems=problems,
        )  # fmt: skip
    record = checked.record
    reasons = refusals(record.exceeded, record.verdict, fail_on, checked.subjects)
    if json:
        print(checked.text, end="")
    elif not quiet:
        show_file_checks(checked, out, every=every, later=reasons)
    refuse(reasons)
    if failed := [name for name in record.results.failed if name.startswith("fit ")]:
        raise ModelError(f"{name}: has no result, see above" for name in failed)


TERMS = ("limits.profile", "limits.purpose", "limits.release")
"""Keys that change the verdict of stored results."""


def report(
    directory: Annotated[Path, typer.Argument(help="Result directory of a run.")],
    out: Annotated[
        Path | None, option("HTML file; report.html in the run's directory.", "--out", "-o")
    ] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "KEY=VALUE: use another limits.profile (default, elemam, ...), limits.purpose "
            "(code, teaching, analysis) or limits.release (public, contract).",
            "--set",
        ),
    ] = None,
    overwrite: Overwrite = False,
    fail_on: FailOn = None,
) -> None:
    """Write the steward's page about a run; for other files use 'check'.

    Confidential; one page that needs no network. Exit code 3: the verdict is that of --fail-on.
    """
    from synthesizer.cli.printing import Ending
    from synthesizer.cli.screen_checks import add_decision
    from synthesizer.report.build import write_report
    from synthesizer.report.record import read_record

    problems = Problems()
    content = settings_in(settings, problems, section="limits")
    refuse_others(content, TERMS, problems)
    problems.settle(ConfigError)
    terms = content.get("limits", {})
    page = write_report(directory, out, overwrite=overwrite, **terms)
    record = read_record(directory, compare_files=False).judged_by(**terms)
    reasons = refusals((), record.verdict, fail_on)
    ending = Ending(every=False, later=reasons)
    add_decision(ending, record.verdict, record)
    ending.say(written_line(page, "for the steward; mode 0600"))
    ending.show("all figures: in this page")
    refuse(reasons)


def releases(
    source: Original,
    given_out: Annotated[list[Path] | None, option("Directory of a released run.")] = None,
    not_given_out: Annotated[list[Path] | None, option("Directory of another run.")] = None,
) -> None:
    """List the runs from a confidential file, and which of them were released.

    The verdict of the next run counts all earlier releases, except those marked as not given out.
    Name a directory again to change its mark.
    """
    from synthesizer.cli.printing import say, show_rows
    from synthesizer.jobs.release_ledger import mark_given_out, read_releases
    from synthesizer.report.blocks import Added

    mark_given_out(source, given_out or (), not_given_out or ())
    listed = read_releases(source)
    say(f"{source}: {plural(len(listed), 'release')}")
    many = Added("Datasets", "count", lambda release: len(release.datasets))
    show_rows(listed, "releases", "created", "directory", many, "replaced", "given_out")
