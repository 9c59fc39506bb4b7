"""The commands that judge synthetic data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from synthesizer.cli_parts import ConfigPath, Overwrite, Quiet, Seed, Workers, errors_told
from synthesizer.errors import LimitExceededError, ModelError, SynthesizerError

__all__ = ["compare", "frontier", "report", "risk", "utility"]


def report(
    directory: Annotated[Path, typer.Argument(help="Result directory of a run.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="HTML file; report.html beside the run's files."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write the steward's report of a run: one page that needs no network. Confidential."""
    with errors_told():
        from synthesizer import screen
        from synthesizer.report_files import write_report

        path = write_report(directory, out, overwrite=overwrite)
        screen.say(f"wrote {path} (confidential: for the steward; mode 0600)")


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Result directories of 'run', at least two.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="HTML file with the map (mode 0600).")
    ] = Path("map.html"),
    json: Annotated[
        Path | None, typer.Option("--json", help="JSON file with every number (mode 0600).")
    ] = None,
    risk: Annotated[
        str | None, typer.Option(help="Figure of risk of the frontier and the map; cap.")
    ] = None,
    utility: Annotated[
        str | None, typer.Option(help="Figure of utility of both; mean_two_way.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Compare runs: what was set differently, their risk and utility, and a map to choose from."""
    with errors_told():
        from synthesizer import screen, screen_runs
        from synthesizer.runs import comparison

        found = comparison.write_comparison(
            runs, out, json=json, overwrite=overwrite, risk=risk, utility=utility
        )
        screen_runs.show_comparison(found)
        for path in (out, json):
            if path is not None:
                screen.say(f"wrote {path} (confidential: not for release)")


def frontier(
    config: ConfigPath,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="KEY=VALUE,VALUE such as cart.min_leaf=3,10 or proper=true,false."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Output directory; that of the run and _frontier."),
    ] = None,
    m: Annotated[int | None, typer.Option("-m", help="Replaces the number of datasets.")] = None,
    seed: Seed = None,
    workers: Workers = None,
    risk: Annotated[
        str | None, typer.Option(help="Figure of risk of the frontier and the map; cap.")
    ] = None,
    utility: Annotated[
        str | None, typer.Option(help="Figure of utility of both; mean_two_way.")
    ] = None,
    overwrite: Overwrite = False,
    plan: Annotated[bool, typer.Option("--plan", help="Check and show the settings only.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run a grid of settings and draw the frontier of risk and utility.

    An interrupted call goes on from the finished settings. Exit code 1 means: a setting failed
    (the others are written).
    """
    with errors_told():
        from functools import partial

        from synthesizer import screen, screen_runs
        from synthesizer.runs.frontier import run_frontier
        from synthesizer.runs.frontier_plan import plan_frontier

        given: dict[str, Any] = {
            "vary": vary or (), "directory": out, "m": m, "seed": seed,
            "workers": workers, "overwrite": overwrite, "risk": risk, "utility": utility,
        }  # fmt: skip
        if plan:
            screen.say("\n".join(plan_frontier(config, **given).lines))
            return
        found = run_frontier(
            config,
            **given,
            listening=partial(screen.progress, quiet=quiet),
            told=(lambda _: None) if quiet else screen.say,
        )
        if not quiet:
            screen_runs.show_frontier(found)
        if found.failed:
            raise SynthesizerError(
                f"setting {name} failed: {'; '.join(why)}" for name, why in found.failed.items()
            )


def risk(
    original: Annotated[Path, typer.Argument(help="The confidential file.")],
    synthetic: Annotated[
        list[Path], typer.Argument(help="Synthetic files, or the directory of a run.")
    ],
    keys: Annotated[
        str | None, typer.Option(help="What an intruder knows: A,B,C; suggested if absent.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="What an intruder seeks.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="Groups of numbers: age=5 or cut points pay=100/200.")
    ] = None,
    control: Annotated[
        Path | None,
        typer.Option(help="Records of the same population that were kept out of the fit."),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="A variable that might be inferred from public ones.")
    ] = None,
    public: Annotated[str | None, typer.Option(help="Those public ones: A,B,C.")] = None,
    positive: Annotated[
        str | None, typer.Option(help="The level of the sensitive variable that is looked for.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Public variables whose tables are published: A,B.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Find the group of this variable that is told most of.")
    ] = None,
    units: Annotated[
        str | None,
        typer.Option(help="Variable that names the person of each record (panels)."),
    ] = None,
    tau: Annotated[
        float | None, typer.Option(help="TCAP: agreement that an intruder asks for; 1.")
    ] = None,
    max_size: Annotated[
        int | None, typer.Option(help="SUDA: largest set of keys looked at.")
    ] = None,
    sampling_fraction: Annotated[
        float | None, typer.Option(help="DIS-SUDA: share of the population in the data; 0.01.")
    ] = None,
    attacks: Annotated[
        bool, typer.Option("--attacks", help="Run anonymeter's attacks (needs --control).")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML of a run: kinds, missing codes, panel, checks, limits."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides what is random.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="JSON file to write (mode 0600).")
    ] = None,
    overwrite: Overwrite = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Print every figure.")] = False,
) -> None:
    """Say how much synthetic files give away about the people in the original. Confidential.

    Exit code 3 means: a figure exceeds a limit of the configuration.
    """
    with errors_told():
        from synthesizer import screen
        from synthesizer.assess_files import assess_files
        from synthesizer.risk_request import Asked, parse_groups, parse_names

        asked = Asked(
            keys=parse_names(keys),
            target=target,
            groups=parse_groups(groups),
            sensitive=sensitive,
            public=parse_names(public) or (),
            positive=positive,
            baseline=parse_names(baseline) or (),
            by=by,
            units=units,
            tau=tau,
            max_size=max_size,
            sampling_fraction=sampling_fraction,
            control=control is not None,
            attacks=attacks,
            seed=seed,
        )
        with screen.progress(quiet=json) as listener:
            found = assess_files(
                original, synthetic, asked=asked, control=control, config=config, out=out,
                overwrite=overwrite, listener=listener,
            )  # fmt: skip
        screen.show_file_risk(found, as_json=json, every=every)
        if found.exceeded:
            raise LimitExceededError(found.exceeded)


def utility(
    original: Annotated[Path, typer.Argument(help="The confidential file.")],
    synthetic: Annotated[
        list[Path], typer.Argument(help="Synthetic files, or the directory of a run.")
    ],
    variables: Annotated[
        str | None, typer.Option(help="Variables to compare: A,B,C; all that both have if absent.")
    ] = None,
    ways: Annotated[str, typer.Option(help="Orders of the tables: 1, 2 and 3.")] = "1,2",
    groups: Annotated[int, typer.Option(help="Quantile groups of numbers in tables.")] = 5,
    model: Annotated[
        str | None, typer.Option(help="Propensity models; logit,cart if absent.")
    ] = None,
    interactions: Annotated[
        int | None, typer.Option(help="Order of the logit's interactions; 1 is main effects.")
    ] = None,
    permutations: Annotated[
        int | None, typer.Option(help="Permutations for the null of cart; 10.")
    ] = None,
    fits: Annotated[
        list[str] | None,
        typer.Option("--fit", help="Model to fit on both sides, as 'income ~ age + sex'."),
    ] = None,
    family: Annotated[
        str, typer.Option(help="Of the fits: ols, logit, poisson or multinomial.")
    ] = "ols",
    rule: Annotated[
        str | None,
        typer.Option(help="How m fits are combined: simple, proper, partially or fully."),
    ] = None,
    clusters: Annotated[
        str | None, typer.Option(help="Variable of cluster-robust errors of the fits.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="Variable that weighs the records in the fits.")
    ] = None,
    offset: Annotated[
        str | None, typer.Option(help="Offset of poisson fits: A or 'I(log(hours))'.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML of a run: kinds, missing codes, panel, checks, limits."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides the permutations.")] = 0,
    workers: Workers = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="JSON file to write (mode 0600).")
    ] = None,
    overwrite: Overwrite = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Print every figure, variable and pair.")
    ] = False,
) -> None:
    """Say how near synthetic files are to the original, and to what a researcher would find.

    Confidential. Exit code 3 means: a figure exceeds a limit of the configuration; 1: a fit that
    was asked for has no result (all else is there).
    """
    with errors_told():
        from synthesizer import screen
        from synthesizer.evaluate_files import evaluate_files
        from synthesizer.result_files import workers_or_all
        from synthesizer.risk_request import parse_names
        from synthesizer.screen_utility import show_file_utility
        from synthesizer.utility_request import asked_utility

        asked = asked_utility(
            names=parse_names(variables),
            ways=ways,
            groups=groups,
            models=parse_names(model),
            interactions=interactions,
            permutations=permutations,
            formulas=tuple(fits or ()),
            family=family,
            rule=rule,
            clusters=clusters,
            weights=weights,
            offset=offset,
            seed=seed,
            workers=workers_or_all(workers),
        )
        with screen.progress(quiet=json) as listener:
            found = evaluate_files(
                original, synthetic, asked=asked, config=config, out=out, overwrite=overwrite,
                listener=listener,
            )  # fmt: skip
        show_file_utility(found, as_json=json, every=every)
        if found.exceeded:
            raise LimitExceededError(found.exceeded)
        if lost := [name for name in found.utility.failed if name.startswith("fit ")]:
            raise ModelError(f"{name}: has no result, see above" for name in lost)
