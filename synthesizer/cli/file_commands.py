"""Commands that judge files, whoever made them: risk, utility, report, refine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from synthesizer.cli.arguments import (
    AsJson,
    Catalogue,
    FailOn,
    Overwrite,
    Quiet,
    Shared,
    Terms,
    Text,
    Workers,
    all_cores,
    name_in,
    names_in,
    option,
    options_of,
    progress,
    refusals,
    refuse,
    secret_of,
    written_line,
)
from synthesizer.data.errors import ConfigError, LimitExceededError, ModelError, Problems, plural

Random = Annotated[int, option("Decides what is random.")]
RunConfig = Annotated[
    Path | None, option("YAML of a run: how the data are read, kinds, panel, checks, limits.")
]
Keys = Annotated[Text, option("What an intruder knows: A,B,C; suggested if absent.")]
Target = Annotated[Text, option("What an intruder seeks.")]
Control = Annotated[
    Path | None, option("Records of the same population that were kept out of the fit.")
]
FileEncoding = Annotated[Text, option("Of CSV files that are not UTF-8.", "--encoding")]
SurveyWeight = Annotated[
    Text, option("The survey weight: all is measured without and with it.", "--weight")
]
JsonFile = Annotated[Path | None, option("JSON file to write (mode 0600).", "--out", "-o")]

if TYPE_CHECKING:
    from synthesizer.jobs.check_files import FileChecks
    from synthesizer.report.record import Record

Original = Annotated[Path, typer.Argument(help="The confidential file.")]
SyntheticFiles = Annotated[
    list[Path], typer.Argument(help="Synthetic files, or the directory of a run.")
]


def files_of(
    original: Original,
    synthetic: SyntheticFiles,
    config: RunConfig = None,
    catalogue: Catalogue = None,
    encoding: FileEncoding = None,
    seed: Random = 0,
    out: JsonFile = None,
    overwrite: Overwrite = False,
) -> dict[str, Any]:
    """Return what commands take that look at files."""
    return {
        "original": original, "synthetic": synthetic, "config": config, "catalogue": catalogue,
        "encoding": encoding, "seed": seed, "out": out, "overwrite": overwrite,
    }  # fmt: skip


@dataclass(frozen=True)
class FileScreen:
    """How the checks of files are shown."""

    json: bool
    every: bool
    fail_on: Literal["unclear", "fail"] | None

    def show(self, checks: FileChecks) -> None:
        """Print the checks; raise LimitExceededError above a limit, or at the word to fail on."""
        from synthesizer.cli.screen_checks import show_file_checks

        reasons = refusals(checks.exceeded, checks.verdict, self.fail_on, checks.subjects)
        show_file_checks(checks, as_json=self.json, every=self.every, later=reasons)
        refuse(reasons)


def file_screen(
    json: AsJson = False,
    every: Annotated[bool, option("Print every figure, variable and pair.", "--all")] = False,
    fail_on: FailOn = None,
) -> FileScreen:
    """Return how the checks of files are shown."""
    return FileScreen(json, every, fail_on)


Files = Annotated[dict[str, Any], Shared(files_of)]
Screen = Annotated[FileScreen, Shared(file_screen)]


_INFERENCE = "A variable that might be inferred from published tables"
_PANELS = "Panels"


def risk(
    files: Files,
    screen: Screen,
    terms: Terms,
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
        **name_in(problems, target=target, weight=weight),
        groups=problems.attempt(parse_groups, groups),
        tau=tau,
        suda=options_of(max_size=max_size, sampling_fraction=sampling_fraction),
        differential_confidentiality=options_of(**name_in(problems, by=by, units=units)),
        inference=options_of(
            **name_in(problems, sensitive=sensitive),
            positive=positive,
            units="periods" if periods else None,
            **question,
        ),
        attacks=None if attacks is None else {"enabled": attacks},
    )
    with progress(quiet=screen.json, ended=False) as listener:
        checks = assess_files(
            **files,
            options=options,
            control=control,
            terms=terms,
            listener=listener,
            problems=problems,
        )
    screen.show(checks)


_FITS = "Models to fit on both sides"


def utility(
    files: Files,
    screen: Screen,
    terms: Terms,
    control: Control = None,
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
        option(
            "How m fits are combined: simple, proper, partially, fully, design, redrawn.",
            group=_FITS,
        ),
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
        family=family, rule=rule, offset=offset, **names_in(problems, by=by),
        **name_in(problems, clusters=clusters, weights=weights),
    )  # fmt: skip
    lists = names_in(problems, model=model, variables=variables, ways=ways)
    score = options_of(models=lists["model"], interactions=interactions, permutations=permutations)
    with progress(quiet=screen.json, ended=False) as listener:
        checks = evaluate_files(
            **files, control=control, names=lists["variables"], ways=lists["ways"] or (),
            formulas=tuple(fits or ()), fit=fit,
            options={"table_groups": groups, "propensity": score}
            | options_of(**name_in(problems, weight=weight)),
            terms=terms, workers=all_cores(workers), listener=listener, problems=problems,
        )  # fmt: skip
    screen.show(checks)
    if lost := [name for name in checks.results.failed if name.startswith("fit ")]:
        raise ModelError(f"{name}: has no result, see above" for name in lost)


def report(
    terms: Terms,
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
    encoding: FileEncoding = None,
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
    --synthetic B' for files that somebody else made. Of a run the stored results are judged anew by
    --profile, --purpose and --release. Exit code 3 means that a limit of --config is exceeded, or
    that the verdict is one to fail on.
    """
    if directory is not None:
        named = options_of(
            original=original, synthetic=synthetic, control=control, keys=keys, target=target,
            weight=weight, config=config, catalogue=catalogue, encoding=encoding,
        )  # fmt: skip
        if named:
            lone = ", ".join(f"--{name.replace('_', '-')}" for name in named)
            raise ConfigError(f"{lone}: only of files; leave out the directory of a run, or these")
        from synthesizer.report.build import write_report
        from synthesizer.report.record import read_record

        page = write_report(directory, out, overwrite=overwrite, **terms)
        record = read_record(directory, compare_files=False).judged_by(**terms)
        _show_page(page, record, refusals((), record.verdict, fail_on))
        return
    if original is None or not synthetic:
        raise ConfigError(
            "name the result directory of a run, or files by --original and --synthetic"
        )
    from synthesizer.jobs.check_files import report_files

    problems, path = Problems(), Path("report.html") if out is None else out
    with progress(quiet=False) as listener:
        record = report_files(
            original, synthetic, path,
            options=options_of(
                **names_in(problems, keys=keys),
                **name_in(problems, target=target, weight=weight),
            ),
            control=control, catalogue=catalogue, encoding=encoding, config=config, seed=seed,
            terms=terms, workers=all_cores(workers), overwrite=overwrite, listener=listener,
            problems=problems,
        )  # fmt: skip
    _show_page(path, record, refusals(record.exceeded, record.verdict, fail_on))


def _show_page(path: Path, record: Record, later: Sequence[str]) -> None:
    """Print the verdict on what a page is about, and its place; raise errors (``later``)."""
    from synthesizer.cli.printing import Ending
    from synthesizer.cli.screen_checks import add_decision

    ending = Ending(every=False, later=later)
    add_decision(ending, record.verdict, record)
    ending.say(written_line(path, "for the steward; mode 0600"))
    ending.show("all figures: on that page")
    refuse(later)


def releases(
    source: Original,
    given_out: Annotated[list[Path] | None, option("Run directory that somebody got.")] = None,
    not_given_out: Annotated[list[Path] | None, option("Run directory that nobody got.")] = None,
) -> None:
    """List what runs made of a confidential file, and what was given out.

    The verdict of the next run counts all releases together, but for those that nobody got. Name a
    directory again to change what was recorded.
    """
    from synthesizer.cli.printing import say, show_rows
    from synthesizer.jobs.release_ledger import mark_given_out, read_releases
    from synthesizer.report.page import Added

    mark_given_out(source, given_out or (), not_given_out or ())
    listed = read_releases(source)
    say(f"{source}: {plural(len(listed), 'release')}")
    many = Added("Datasets", "count", lambda release: len(release.datasets))
    show_rows(listed, "releases", "created", "directory", many, "replaced", "given_out")


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
    from synthesizer.jobs.refine import refine_file

    options: dict[str, Any] = {
        "risk": risk, "utility": utility, "population": population,
        "generations": generations, "patience": patience, "mutation": mutation,
        "crossover": crossover, "aimed": aimed, "seconds": seconds,
    }  # fmt: skip
    problems = Problems()
    names = names_in(problems, keys=keys, codes=None if codes == "all" else codes)
    name_in(problems, target=target)
    problems.settle(ConfigError)
    with progress(quiet=quiet) as listener:
        outcome = refine_file(
            original, synthetic, keys=names["keys"] or (), target=target, risk_at_most=risk_at_most,
            codes=True if codes == "all" else names["codes"] or (), config=config, out=out,
            record=record, overwrite=overwrite, seed=seed, secret=secret_of(secret),
            workers=all_cores(workers), listener=listener, **options,
        )  # fmt: skip
    if not quiet:
        show_refined(outcome, record)
    if outcome.refined.interrupted:
        raise KeyboardInterrupt(f"interrupted; the best so far was written to {outcome.path}")
    if not outcome.refined.reached:
        raise LimitExceededError(outcome.refined.notes[-1])
