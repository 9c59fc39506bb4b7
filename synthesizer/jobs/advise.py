"""Try other settings for the worst finding of a verdict, and advise one that helps.

The present setting and up to three others are fitted to the same random half of the records with
the same draws. Risk is measured by comparing training with holdout records, utility on the holdout
half. The best of several settings may be best by chance, so it must help on another random half,
too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from synthesizer.config.keys import Config
from synthesizer.config.reading import AnyForm, sound_config
from synthesizer.data.errors import ConfigError, Problems, SynthesizerError
from synthesizer.data.files import check_file, write_texts
from synthesizer.data.options import public
from synthesizer.data.panel.view import groups_of
from synthesizer.data.randomness import Seed
from synthesizer.data.workers import Listener, silent
from synthesizer.engine.registry import DEFAULT_SET, Registry
from synthesizer.jobs.grid import Setting, Variation, grid, plans_of, shown
from synthesizer.measures.halves import half_runs
from synthesizer.measures.verdict import CheckResults, Subject, verdict
from synthesizer.models.base import ConditionalModel
from synthesizer.plan.plan import Plan, prepare
from synthesizer.report.decision import Advised, Trial, finding_of, trial_of

MAX_OTHERS = 3
"""Settings tried beside the present one."""
MANY_LEVELS, MIN_LEVEL_ROWS = 40, 20
"""Levels from which a code is grouped, and rows of each group."""
FEW_PREDICTORS = 5
"""Predictors of each variable where fewer are tried."""
PRESENT = "present setting"
Changes = Mapping[tuple[str, ...], Any]
"""Values by the path of their key; None is the default."""


@public
def advise(
    config: AnyForm,
    *,
    overrides: Mapping[str, Any] | None = None,
    registry: Registry | None = None,
    json: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> Advised:
    """Return the setting that helps most with the worst finding of the verdict.

    The present setting and up to three others are fitted to the same half of the data. This takes
    as long as up to four runs on half of the data. No dataset is written.

    Parameters
    ----------
    config : Config, mapping or path
        A configuration, a mapping with the keys of the YAML, or the YAML file.
    overrides : mapping, optional
        Replace keys of the file or mapping, such as ``{"seed": 2}``.
    registry : Registry, optional
        Models to choose from; all that installed packages offer by default.
    json : path, optional
        File for all numbers (mode 0600).
    overwrite : bool
        Whether to replace an existing file.
    listener : Listener, optional
        Receives the progress.

    Returns
    -------
    Advised
        The finding, a row for each setting (risk as shares, use as mean S_pMSE of pairs), and the
        advised setting. Confidential.

    Raises
    ------
    ConfigError
        With all problems of configuration, data and file, or if an extension makes whole datasets.

    Examples
    --------
    >>> config = {"data": {"sample": "fair"}, "default_method": "sample", "workers": 1}
    >>> advised = advise(config, overrides={"seed": 1, "random_key": "none"})
    >>> advised.subject, advised.advised
    ('use', 'default_method=cart')
    """
    problems, read = Problems(), [Path(config)] if isinstance(config, str | Path) else []
    if json is not None:
        with problems.gathered():
            check_file(json, overwrite=overwrite, read=read)
    with problems.gathered():
        plan = prepare(config, registry, overrides=overrides, check_directory=False)
        if plan.maker is not None:
            problems.append(f"{plan.maker}: makes whole datasets; there are no models to vary")
    problems.settle(ConfigError)
    advised = _advised(sound_config(config, overrides, problems), plan, listener)
    if json is not None:
        write_texts({json: advised.text}, overwrite=overwrite, read=read)
    return advised


def _advised(base: Config | None, plan: Plan, listener: Listener) -> Advised:
    """Return the trials: the present setting, others for its worst finding, and the best again."""
    seed, limits = plan.seed, plan.limits
    present = _on_half(plan, seed)
    subject, finding = finding_of(verdict(present, limits))
    made = Advised(units=plan.units, n=plan.original.n_rows, m=plan.m)
    if base is None or subject is None or finding is None:
        return made
    likely = _likely(subject, base, plan, present)
    plans = {PRESENT: (plan, "as configured")} | _plans(base, plan, likely)
    listener.say(f"to try: {len(plans) - 1} settings, each for as long as the present one took")

    def trials_of(names: Iterable[str], seed: Seed) -> Iterator[Trial]:
        for name in names:
            setting, why = plans[name]
            listener.say(f"on half of the data: {name} ({why})")
            with suppress(SynthesizerError):  # a half can be too small for a setting
                yield trial_of(name, _on_half(setting, seed), limits, subject, finding.key)

    first = trial_of(PRESENT, present, limits, subject, finding.key)
    trials = (first, *trials_of([*plans][1:], seed))
    made = made.model_copy(update={"finding": finding, "subject": subject, "trials": trials})
    names = () if made.best is None else (PRESENT, made.best.setting)
    return made.model_copy(update={"again": (*trials_of(names, seed.child("another half")),)})


def _on_half(plan: Plan, seed: Seed) -> CheckResults:
    """Return the checks of a synthesis of one half with the other half as holdout."""
    whole, checks = plan.original, plan.checks.with_options(propensity={"enabled": False})
    units, refit = groups_of(whole), partial(plan.refit, None, seed)
    run = next(half_runs(whole, refit, m=plan.m, seed=seed, units=units))
    half = replace(plan, original=run.fitted, checks=checks)
    checking = half.checking(seed, control=run.unseen)
    for table in run.synthetic:
        checking.add(table)
    return checking.finish()


# Settings for a finding.


def _likely(
    subject: Subject, base: Config, plan: Plan, results: CheckResults
) -> Iterator[tuple[Changes, str]]:
    """Yield changes of the configuration that may mend a finding, the likeliest first, and why."""
    steps, for_use = plan.spec.steps, subject == "use"
    offers = _offers(plan, for_use=for_use)
    if for_use and 2 * len(offers) < len(steps):
        yield {("default_method",): DEFAULT_SET}, "trees find more than the present models"
    tables = results.utility.tables if for_use and results.utility is not None else None
    for row in () if tables is None else tables.worst(2, 1):
        later = [step for step in steps if step.variable in row.variables][-1]
        if not later.model.truer() and not later.is_fixed:
            yield {("variables", later.variable, "method"): DEFAULT_SET}, "a tree follows more"
    codes = max((c.variable.n_codes for c in plan.original.columns if c.is_coded), default=0)
    if base.panel or (codes > MANY_LEVELS and plan.original.n_rows < 2 * MIN_LEVEL_ROWS * codes):
        yield {("rare", "min_count"): MIN_LEVEL_ROWS, ("rare", "to"): "other"}, "fewer rare levels"
    if offers:
        name = Counter(name for name, _ in offers).most_common(1)[0][0]
        model = next(model for other, model in offers if other == name)
        for options, why in model.truer() if for_use else model.safer():
            changed = {key: v for key, v in options.items() if getattr(model, key) != v}
            yield {("models", name, key): value for key, value in changed.items()}, why
    if not for_use and len(steps) > FEW_PREDICTORS + 1:
        yield {("max_predictors",): FEW_PREDICTORS}, "fewer predictors of each variable"


def _offers(plan: Plan, *, for_use: bool) -> list[tuple[str, ConditionalModel]]:
    """Return the models of all steps that offer other options, with their names."""
    models = [model for step in plan.spec.steps for model in step.model.with_bases()]
    return [
        (plan.registry.name_of(model), model)
        for model in models
        if (model.truer() if for_use else model.safer())
    ]


def _plans(
    base: Config, plan: Plan, candidates: Iterable[tuple[Changes, str]]
) -> dict[str, tuple[Plan, str]]:
    """Return the plans of the first settings that can be planned and change the data, and why."""
    settings, reasons = [Setting(name=PRESENT, values={}, config=base)], dict[str, str]()
    for changes, why in candidates:
        if not changes:
            continue
        varied = [Variation(key=".".join(p), path=p, values=(v,)) for p, v in changes.items()]
        name = ", ".join(f"{one.key}={shown(one.values[0])}" for one in varied)
        settings += [replace(s, name=name) for s in grid(base, varied, plan.registry).settings]
        reasons[name] = why
    plans, *_ = plans_of(settings, plan.registry, plan.seed)
    others = [*plans.items()][1 : 1 + MAX_OTHERS]
    return {name: (changed, reasons[name]) for name, (_, changed) in others}
