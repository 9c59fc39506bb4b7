"""The disclosure risk of files, as the command asks for it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

from synthesizer.config.keys import Config, PanelConfig
from synthesizer.config.reading import load_config
from synthesizer.data.codes import Groups
from synthesizer.data.encoding import recoded
from synthesizer.data.errors import ConfigError, DataError, OutputError, Problems, SynthesizerError
from synthesizer.data.files import check_file, sha256, write_secret
from synthesizer.data.pairs import Data, read_like
from synthesizer.data.panel.arrangement import Arrangement
from synthesizer.data.panel.frame import Frame
from synthesizer.data.panel.view import PersonView, constant_names
from synthesizer.data.panel.wide_form import wide_columns
from synthesizer.data.progress import Listener, silent
from synthesizer.data.randomness import Seed
from synthesizer.data.sources import RawTable, read_path
from synthesizer.data.table import Column, Kind, Table
from synthesizer.jobs.assess import Question, assess
from synthesizer.jobs.checks import PanelChecks
from synthesizer.jobs.evaluate import evaluate
from synthesizer.measures import figure as results
from synthesizer.measures.figure import Attempts, in_units
from synthesizer.measures.results import CheckResults, RiskResult, exceeded_limits
from synthesizer.measures.risk.scenario import Scenario
from synthesizer.measures.risk.scenario_risk import Measures
from synthesizer.measures.settings import CheckConfig, LimitConfig
from synthesizer.measures.utility.combining import Rule, kind_problems, rule_for
from synthesizer.measures.utility.design import Family
from synthesizer.measures.utility.longitudinal import PanelResult
from synthesizer.measures.utility.propensity import Model
from synthesizer.measures.utility.row_fits import RowFits, split_fits
from synthesizer.measures.utility.suite import FitRequest, Synthesis, UtilityMeasures, UtilityResult
from synthesizer.plan.arrange import arrange
from synthesizer.plan.inputs import declared_for, encoded
from synthesizer.plan.scenarios import configured_scenario
from synthesizer.report.record import dataset_names, foreign_paths, order_notes, read_manifest

# Files that are compared: the original, synthetic ones, and what may be written beside them.


@dataclass(frozen=True, eq=False)
class ComparedFiles:
    """The files as they were read; no control where there is none.

    Parameters
    ----------
    original, synthetic, control
        The records.
    entries : tuple of mapping
        Name and hash of every file.
    notes : tuple of str
        What manifests beside the files know of them.
    """

    original: RawTable
    synthetic: tuple[RawTable, ...]
    control: RawTable | None
    entries: tuple[Mapping[str, str], ...]
    notes: tuple[str, ...]


def read_compared(
    original: Path,
    synthetic: Sequence[Path],
    *,
    control: Path | None = None,
    config: Path | None = None,
    out: Path | None = None,
    overwrite: bool = False,
) -> ComparedFiles:
    """Read files to be compared; a result directory of a run stands for its datasets.

    ``config`` and ``out`` are not read: ``out`` must not be one of the files, nor in their place.

    Raises
    ------
    SynthesizerError
        With every problem of the files.
    """
    paths = [path for given in synthetic for path in _datasets(given)]
    inputs = [original, *paths, *([] if control is None else [control])]
    if out is not None:
        check_file(out, overwrite=overwrite)
        directories = [path for path in synthetic if path.is_dir()]
        kept = [*inputs, *([] if config is None else [config]), *directories]
        if any(_is_within(out, path) for path in kept):
            raise OutputError(f"{out} is one of the files that are read; name another file")
    files = _read(inputs)
    hashes = {path: sha256(path) for path in inputs}
    if control is not None and hashes[control] in {hashes[path] for path in (original, *paths)}:
        raise DataError(f"{control}: the control is one of the other files; it must be of others")
    return ComparedFiles(
        original=files[0],
        synthetic=tuple(files[1 : 1 + len(paths)]),
        control=None if control is None else files[-1],
        entries=tuple({"name": str(path), "sha256": hashes[path]} for path in inputs),
        notes=tuple(order_notes(original, paths, hashes)),
    )


def _is_within(out: Path, kept: Path) -> bool:
    """Whether a file is another one, or in a directory."""
    return out.resolve() == kept.resolve() or kept.resolve() in out.resolve().parents


def _datasets(path: Path) -> list[Path]:
    """Return the datasets of a result directory, or the path itself."""
    manifest = read_manifest(path) if path.is_dir() else None
    if manifest is None:
        return [path]
    problems = foreign_paths(path, manifest)
    if problems:
        raise DataError(problems)
    return [path / name for name in dataset_names(manifest)]


def _read(paths: Sequence[Path]) -> list[RawTable]:
    files: list[RawTable] = []
    problems: list[str] = []
    for path in paths:
        try:
            files.append(read_path(path, min_rows=1))
        except SynthesizerError as error:
            problems += error.problems
    if problems:
        raise DataError(dict.fromkeys(problems))
    return files


# Files of a panel as the checks of a run see them: one row a person, and the panel behind it.

MOST_NAMED = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class PanelFiles:
    """Persons of the original, the synthetic and the control file.

    Parameters
    ----------
    original, synthetic, control : PersonView
        One row a person with the same columns, as far as the files have them; no control where
        there is none.
    frame : Frame
        Periods, and the variable of the careers.
    notes : tuple of str
        What should be known of the files.
    """

    original: PersonView
    synthetic: tuple[PersonView, ...]
    control: PersonView | None
    frame: Frame
    notes: tuple[str, ...] = ()

    @property
    def panels(self) -> tuple[PersonView, tuple[PersonView, ...]]:
        """Original and synthetic persons with the variables of the panel that all files have."""
        names = [
            name
            for name in self.original.panel.names
            if all(name in own.panel for own in self.synthetic)
        ]

        def shared(view: PersonView) -> PersonView:
            return PersonView(view.columns, view.panel.select(names))

        return shared(self.original), tuple(shared(own) for own in self.synthetic)


def panel_files(files: ComparedFiles, config: Config) -> PanelFiles:
    """Arrange files by the panel of a configuration, the others like the original.

    Persons of other files are other persons, whatever they are called: nothing is compared by
    their identifiers.

    Parameters
    ----------
    files : ComparedFiles
        As they were read.
    config : Config
        With a panel.

    Raises
    ------
    DataError
        With every problem of every file, each with the file's name.
    """
    if config.panel is None:
        raise ValueError("needs a panel")
    names = [entry["name"] for entry in files.entries]
    raws = [*files.synthetic, *([] if files.control is None else [files.control])]
    original, problems = _original(files.original, config, names[0])
    needed = _needed(config.panel, files.original.names)
    others: list[Table] = []
    for raw, name in zip(raws, names[1:], strict=True):
        table, found = _other(raw, original, needed, config.panel)
        others += [] if table is None else [table]
        problems += [f"{name}: {problem.removeprefix(f'{raw.origin}: ')}" for problem in found]
    if problems:
        raise DataError(dict.fromkeys(problems))
    return _arranged(_joint([original, *others], config.panel.time), names, files, config)


def _original(raw: RawTable, config: Config, name: str) -> tuple[Table, list[str]]:
    """Return the original as a run reads it, or its sound part and what is wrong with it."""
    declared = declared_for(config.data, raw, config.declarations(raw.names))
    person = None if config.panel is None else config.panel.person
    data = encoded(raw, declared, config.drop)
    problems = Problems(problem.removeprefix(f"{raw.origin}: ") for problem in data.problems)
    if not problems:
        with problems.gathered():
            arrange(config.panel, data.table)
    elif person is not None and person not in raw.names:
        problems.append(f"panel.person: unknown column {person!r}; name a column of the data")
    return data.table, [f"{name}: {problem}" for problem in problems]


def _needed(panel: PanelConfig, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns without which another file is no such panel."""
    wide = [name for given in panel.wide.values() for name in wide_columns(given, names)]
    long = [name for name in (panel.person, panel.time, panel.career) if name is not None]
    return tuple(dict.fromkeys(wide if panel.wide else long))


def _other(
    raw: RawTable, original: Table, needed: Sequence[str], panel: PanelConfig
) -> tuple[Table | None, list[str]]:
    """Return another file in the codes of the original, or what is wrong with it."""
    lost = [name for name in needed if name not in raw.names]
    problems = [
        f"column {name!r} is missing: the panel of the configuration needs it" for name in lost
    ]
    ids = [column.name for column in original.columns if column.variable.kind is Kind.ID]
    persons = [*ids, *([] if panel.person is None else [panel.person])]
    try:
        table = read_like(raw, original, original.names, persons)
    except SynthesizerError as error:
        return None, [*problems, *error.problems]
    return (None, problems) if problems else (table, [])


def _joint(tables: Sequence[Table], time: str | None) -> list[Table]:
    """Bring all tables to the labels and missing codes of all of them; those of time stay."""
    first = tables[0]
    columns: list[dict[str, Column]] = [dict(table) for table in tables]
    for column in first.columns:
        name, own = column.name, column.variable
        variables = [table[name].variable for table in tables if name in table]
        levels = _union(variable.levels for variable in variables)
        missing = _union(variable.missing for variable in variables)
        same = all((v.levels, v.missing) == (own.levels, own.missing) for v in variables)
        if same or name == time or own.kind is Kind.ID:
            continue
        joint = replace(own, levels=levels, missing=missing)
        for known in columns:
            if name in known:
                known[name] = recoded(known[name], joint)
    return [
        Table(known.values(), table.n_rows) for known, table in zip(columns, tables, strict=True)
    ]


def _union(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for part in parts for label in part))


def _arranged(
    tables: Sequence[Table], names: Sequence[str], files: ComparedFiles, config: Config
) -> PanelFiles:
    form, _ = arrange(config.panel, tables[0])
    frame = form.frame
    if frame is None:
        raise ValueError("needs a panel")
    problems = [
        f"{name}: {problem}"
        for table, name in zip(tables[1:], names[1:], strict=True)
        for problem in form.other_problems(table)
    ]
    if problems:
        raise DataError(dict.fromkeys(problems))
    views = [_viewed(form, table) for table in tables]
    control = None if files.control is None else views[-1]
    made = views[1:] if control is None else views[1:-1]
    named = dict(zip(names, views, strict=True))
    further = dict(zip(names[1:], (*files.synthetic, *filter(None, [files.control])), strict=True))
    notes = [
        *_new_columns(further, files.original.names),
        *_changing(named, frame.time),
    ]
    return PanelFiles(
        original=views[0],
        synthetic=tuple(made),
        control=control,
        frame=frame,
        notes=tuple(notes),
    )


def _viewed(form: Arrangement, table: Table) -> PersonView:
    view = form.viewed(form.modelled(table))
    if not isinstance(view, PersonView):
        raise TypeError("a panel is seen as persons")
    return view


def _new_columns(raws: Mapping[str, RawTable], names: Sequence[str]) -> Iterator[str]:
    """Say which columns of other files the original does not have."""
    for file, raw in raws.items():
        if new := [name for name in raw.names if name not in names]:
            yield f"{file}: not in the original, and not compared: {_few(new)}"


def _changing(views: Mapping[str, PersonView], time: str) -> Iterator[str]:
    """Say which variables change within persons of another file, but not of the original."""
    (_, original), *others = views.items()
    constant = constant_names(original.panel) - {time}
    for file, view in others:
        odd = sorted((constant & set(view.panel.names)) - constant_names(view.panel))
        if odd:
            yield (
                f"{file}: nobody of the original changes {_few(odd)}, but persons of this file "
                "do; the checks of persons look at their first value"
            )


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


# What the command ``risk`` asks: its words, and what a configuration adds to them.

UTILITY_LIMITS = ("mean_two_way", "worst_two_way", "worst_one_way", "pmse_ratio", "sequence_ratio")
HALF_LIMITS = ("differential_confidentiality", "worst_group", "nearer_share", "attack_risk")
"""Limits that cannot be looked at without a control file."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line says; what it leaves out comes from a configuration, if there is one.

    Parameters
    ----------
    keys, target : tuple of str and str, or None
        What an intruder knows and seeks.
    groups : mapping of str to int or sequence of float
        Number of quantile groups, or cut points, of numeric variables.
    sensitive, public, positive, baseline
        See `synthesizer.jobs.assess.Question`.
    by, units : str or None
        Variable among whose groups the worst is looked for, and that names the persons.
    tau : float or None
        TCAP: share of one target value that a class must have.
    max_size, sampling_fraction : int and float, or None
        SUDA: largest set of keys that is looked at, and share of the population that the data
        hold.
    control : bool
        Whether there is a control file.
    attacks : bool
        Whether to attack by singling out, linkability and inference.
    seed : int
        Decides everything that is random.
    """

    keys: tuple[str, ...] | None = None
    target: str | None = None
    groups: Mapping[str, Groups] = field(default_factory=dict)
    sensitive: str | None = None
    public: tuple[str, ...] = ()
    positive: str | None = None
    baseline: tuple[str, ...] = ()
    by: str | None = None
    units: str | None = None
    tau: float | None = None
    max_size: int | None = None
    sampling_fraction: float | None = None
    control: bool = False
    attacks: bool = False
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class RiskPlan:
    """What the command line and the configuration say together."""

    main: Scenario
    further: tuple[Scenario, ...]
    questions: tuple[Question, ...]
    measures: Measures
    by: str | None
    units: str | None
    attacks: bool
    limits: LimitConfig
    notes: tuple[str, ...]

    @classmethod
    def of(cls, asked: Asked, settings: Config | None) -> RiskPlan:
        """Take from the configuration what the command line does not say."""
        checks = CheckConfig() if settings is None else settings.checks
        limits = LimitConfig() if settings is None else settings.limits
        main = configured_scenario(checks)
        questions = _questions(asked, checks)
        half = checks.differential_confidentiality
        panel = None if settings is None else settings.panel
        units = asked.units or (half.units if asked.control else None)
        known = (asked.keys or main.keys, asked.target or main.target)
        groups = {name: wanted for name, wanted in asked.groups.items() if name in _names(*known)}
        _check_groups(asked, known, questions)
        utility = [name for name in UTILITY_LIMITS if getattr(limits, name) is not None]
        halved = [name for name in HALF_LIMITS if getattr(limits, name) is not None]
        dropped = [*utility, *([] if asked.control else halved)]
        return cls(
            main=replace(main, keys=known[0], target=known[1], groups=groups or main.groups),
            further=tuple(configured_scenario(part) for part in checks.scenarios),
            questions=questions,
            measures=_measures(asked, checks),
            by=asked.by or (half.by if asked.control else None),
            units=units if panel is None else None,
            attacks=asked.attacks or (asked.control and checks.attacks.enabled),
            limits=limits.model_copy(update=dict.fromkeys(dropped)),
            notes=(
                *_unit_notes(asked, panel),
                *(
                    f"limits.{name} is not looked at here ("
                    f"{'utility' if name in UTILITY_LIMITS else 'needs --control'})"
                    for name in dropped
                ),
            ),
        )


def _unit_notes(asked: Asked, panel: PanelConfig | None) -> Iterator[str]:
    """Say that persons are counted already; refuse others than those of the panel."""
    if asked.units is None or panel is None:
        return
    if asked.units != panel.person:
        who = "one row is one person" if panel.person is None else f"they are {panel.person!r}"
        raise ConfigError(
            f"--units {asked.units}: the panel of the configuration says who the persons are "
            f"({who}); take it out"
        )
    yield f"--units {asked.units} is not needed: by the panel of the configuration persons count"


def _names(keys: Sequence[str], target: str) -> set[str]:
    return {*keys, target}


def _check_groups(
    asked: Asked, known: tuple[tuple[str, ...], str], questions: Sequence[Question]
) -> None:
    used = _names(*known).union(*(question.names for question in questions))
    unused = [name for name in asked.groups if name not in used]
    if unused and all(known):
        raise ConfigError(
            f"--groups: {name!r} is neither a key nor target, sensitive or public; take it out"
            for name in unused
        )


def _measures(asked: Asked, checks: CheckConfig) -> Measures:
    """Return what the configuration switches on, with the command line's settings."""
    return Measures(
        cap=checks.cap,
        suda=checks.suda.enabled,
        identity=checks.identity,
        attribute=checks.attribute,
        differential=checks.differential_confidentiality.enabled,
        nearest=checks.nearest,
        replicated=checks.replicated_uniques,
        attempts=checks.attacks.attempts,
        tau=checks.tau if asked.tau is None else asked.tau,
        max_size=checks.suda.max_size if asked.max_size is None else asked.max_size,
        sampling_fraction=(
            checks.suda.sampling_fraction
            if asked.sampling_fraction is None
            else asked.sampling_fraction
        ),
    )


def _questions(asked: Asked, checks: CheckConfig) -> tuple[Question, ...]:
    if asked.sensitive is not None:
        names = {asked.sensitive, *asked.public}
        own = Question(
            sensitive=asked.sensitive,
            public=asked.public,
            positive=asked.positive,
            baseline=asked.baseline,
            groups={name: wanted for name, wanted in asked.groups.items() if name in names},
        )
        return (own,)
    given = {"public": asked.public, "positive": asked.positive, "baseline": asked.baseline}
    lone = [f"--{name}" for name, value in given.items() if value]
    if lone:
        raise ConfigError(f"{', '.join(lone)}: needs --sensitive, a variable to be inferred")
    return tuple(
        Question(
            sensitive=part.sensitive,
            public=part.public,
            positive=part.positive,
            baseline=part.baseline or (),
            groups=part.groups,
        )
        for part in checks.inference
    )


def parse_names(text: str | None) -> tuple[str, ...] | None:
    """Read ``age, sex``; names with a comma stand in backticks; None where nothing is named.

    Examples
    --------
    >>> parse_names("age, `height, cm`"), parse_names("")
    (('age', 'height, cm'), None)
    """
    names = tuple(_parts(text))
    if text and not names:
        raise ConfigError("names must look like A,B,C")
    return names or None


def _parts(text: str | None) -> Iterator[str]:
    if (text or "").count("`") % 2:
        raise ConfigError("a backtick is not closed: names with a comma stand between two")
    for quoted, plain in re.findall(r"`([^`]+)`|([^,`]+)", text or ""):
        if name := quoted or plain.strip():
            yield name


def parse_groups(text: str | None) -> dict[str, Groups]:
    """Read ``age=5,pay=1000/2000``: numbers of quantile groups, or cut points, by variable.

    Examples
    --------
    >>> parse_groups("age=5, pay=1000/2000")
    {'age': 5, 'pay': (1000.0, 2000.0)}
    """
    groups: dict[str, Groups] = {}
    for quoted, plain, wanted in re.findall(r"(?:`([^`]+)`|([^,=`]+))(?:=([^,]*))?", text or ""):
        name = quoted or plain.strip()
        if name in groups:
            raise ConfigError(f"--groups names {name!r} twice; keep one")
        if name:
            groups[name] = _wanted(wanted.strip())
    return groups


def _wanted(text: str) -> Groups:
    try:
        if text.isdigit() and int(text) >= 1:
            return int(text)
        cuts = tuple(float(part) for part in text.split("/"))
        if "/" in text or "." in text:
            return cuts
    except ValueError:
        pass
    raise ConfigError(
        "--groups must look like age=5,pay=100/200: variables with numbers of groups or cut points"
    )


@dataclass(frozen=True)
class FileRisk:
    """Figures, what the steward should know about the files, and limits that are exceeded."""

    risk: RiskResult
    notes: tuple[str, ...]
    exceeded: tuple[str, ...]
    files: tuple[Mapping[str, str], ...]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "confidential": "not for release with the datasets",
            "files": [dict(entry) for entry in self.files],
            "seed": self.seed,
            "version": version("synthesizer"),
            "exceeded": list(self.exceeded),
            **self.risk.to_dict(),
            "notes": [*self.notes, *(in_units(n, self.risk.units) for n in self.risk.notes)],
        }

    def to_json(self) -> str:
        """Return the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def assess_files(
    original: Path,
    synthetic: Sequence[Path],
    *,
    asked: Asked,
    control: Path | None = None,
    config: Path | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> FileRisk:
    """Compute every risk measure of files, whoever made them; write them if asked to.

    Parameters
    ----------
    original, synthetic, control : Path
        CSV or Parquet files; a result directory of a run stands for its datasets.
    asked : Asked
        Keys, target and the like.
    config : Path, optional
        Configuration of a run: the kinds and missing codes of variables, its checks (but the half
        split, which needs the synthesis) and their limits. With a panel persons are compared.
    out : Path, optional
        JSON file to write, mode 0600.
    listener : Listener, optional
        Is told about the progress.

    Raises
    ------
    SynthesizerError
        With every problem of files, configuration and names.
    """
    settings = None if config is None else load_config(config)
    plan = RiskPlan.of(asked, settings)
    files = read_compared(
        original, synthetic, control=control, config=config, out=out, overwrite=overwrite
    )
    panel = None if settings is None or settings.panel is None else panel_files(files, settings)
    risk = assess(
        *_pair(files, panel),
        keys=plan.main.keys or None,
        target=plan.main.target or None,
        groups=plan.main.groups,
        tolerance=plan.main.tolerance,
        exclude=plan.main.exclude,
        scenarios=plan.further,
        questions=plan.questions,
        control=files.control if panel is None else panel.control,
        by=plan.by,
        units=plan.units,
        with_attacks=plan.attacks,
        measures=plan.measures,
        declared=None if settings is None else settings.declarations(),
        seed=asked.seed,
        listener=listener,
    )
    if panel is not None and settings is not None:
        risk = _with_careers(risk, panel, settings, asked.seed)
    results = CheckResults(risk=risk, utility=None, failed=risk.failed)
    notes = (*files.notes, *plan.notes, *_suggestion(risk))
    notes = notes if panel is None else (*notes, *panel.notes)
    exceeded = exceeded_limits(results, plan.limits)
    found = FileRisk(risk, notes, exceeded, files.entries, asked.seed)
    if out is not None:
        write_secret(out, found.to_json(), overwrite=overwrite)
    return found


def _pair(files: ComparedFiles, panel: PanelFiles | None) -> tuple[Data, Sequence[Data]]:
    """Return what is compared: the records, or the persons of a panel."""
    if panel is None:
        return files.original, files.synthetic
    return panel.original, panel.synthetic


def _with_careers(risk: RiskResult, panel: PanelFiles, config: Config, seed: int) -> RiskResult:
    """Count replicated careers as a run does."""
    attempts = Attempts()
    checks = PanelChecks(
        panel.original,
        panel.frame,
        sequences=False,
        careers=config.checks.replicated_careers,
        generator=lambda: Seed(seed).generator("sequences"),
        attempts=attempts,
    )
    for made in panel.synthetic:
        checks.add(made)
    return replace(risk, careers=checks.careers, failed={**risk.failed, **attempts.failed})


def _suggestion(risk: RiskResult) -> list[str]:
    main = risk.main
    suggested = main is not None and main.scenario.reason != "as asked for"
    if main is None or not suggested:
        return []
    return [in_units(main.scenario.reason, risk.units)]


# What the command ``utility`` asks: its words, and what a configuration adds to them.


def known_synthesis(synthetic: Sequence[Path], settings: Config | None) -> Synthesis | None:
    """Say how synthetic files were made by their manifest, or a configuration; None if unknown."""
    for path in synthetic:
        manifest = read_manifest(path if path.is_dir() else path.parent)
        if manifest is not None:
            chain = [step for step in manifest.get("chain", []) if isinstance(step, dict)]
            kept = [s for s in chain if s.get("kept") or s.get("model") == "keep"]
            return Synthesis(
                proper=bool(manifest.get("config", {}).get("proper")),
                kept=tuple(str(step.get("variable")) for step in kept),
            )
    return None if settings is None else Synthesis(proper=settings.proper, kept=settings.keep)


@dataclass(frozen=True, kw_only=True)
class AskedUtility:
    """What the command line says; what it leaves out comes from a configuration, if there is one.

    Parameters
    ----------
    names : tuple of str or None
        Variables to compare; all that both sides have when None.
    ways : tuple of int
        Orders of the tables, of 1, 2 and 3.
    groups : int
        Number of quantile groups of numeric variables in tables.
    models : tuple of {"logit", "cart"} or None
        Propensity models; both when neither the command nor a configuration names them.
    interactions, permutations : int or None
        Order of the logit's interactions; permutations for the null of ``cart``.
    formulas : tuple of str
        Models that a researcher might fit.
    family, rule, clusters, weights, offset
        Of these models; see `utility.compare_fit`. The rule is that of the kind of
        synthesis when None, as far as a manifest tells it.
    seed : int
        Decides the permutations.
    workers : int
        Threads of the trees.
    """

    names: tuple[str, ...] | None = None
    ways: tuple[int, ...] = (1, 2)
    groups: int = 5
    models: tuple[Model, ...] | None = None
    interactions: int | None = None
    permutations: int | None = None
    formulas: tuple[str, ...] = ()
    family: Family = "ols"
    rule: Rule | None = None
    clusters: str | None = None
    weights: str | None = None
    offset: str | None = None
    seed: int = 0
    workers: int = 1

    def measures(self, settings: Config | None, synthesis: Synthesis | None) -> UtilityMeasures:
        """Return what the command line says, and the configuration where it says nothing."""
        score = None if settings is None else settings.checks.propensity
        configured = score.models if score is not None and score.enabled else None
        fits = tuple(self._fits(settings, synthesis))
        problems = [
            problem
            for rule in dict.fromkeys(fit.rule for fit in fits)
            if synthesis is not None
            for problem in kind_problems(rule, proper=synthesis.proper, keeps=bool(synthesis.kept))
        ]
        if problems:
            raise ConfigError(f"--rule: {problem}" for problem in problems)
        found = UtilityMeasures(
            ways=self.ways,
            groups=self.groups,
            models=self.models or configured or ("logit", "cart"),
            fits=fits,
        )
        given = {
            name: getattr(self, name) if getattr(self, name) is not None else getattr(score, name)
            for name in ("interactions", "permutations")
            if getattr(self, name) is not None or score is not None
        }
        return replace(found, **given)

    def _fits(self, settings: Config | None, synthesis: Synthesis | None) -> Iterator[FitRequest]:
        known = synthesis or Synthesis()
        natural = rule_for(proper=known.proper, keeps=bool(known.kept))
        for formula in self.formulas:
            yield FitRequest(
                formula=formula,
                family=self.family,
                rule=self.rule or natural,
                clusters=self.clusters,
                weights=self.weights,
                offset=self.offset,
            )
        if settings is not None and not self.formulas:
            for fit in settings.checks.fits:
                yield FitRequest(
                    formula=fit.formula,
                    family=fit.family,
                    rule=fit.rule or natural,
                    clusters=fit.clusters,
                    weights=fit.weights,
                    offset=fit.offset,
                )


def asked_utility(*, ways: str, **words: Any) -> AskedUtility:
    """Read the words of the command line.

    Raises
    ------
    ConfigError
        With every word that is unknown.

    Examples
    --------
    >>> asked_utility(ways="1,3", models=("cart",)).ways
    (1, 3)
    """
    orders = parse_names(ways) or ()
    problems = []
    if not orders or not set(orders) <= {"1", "2", "3"}:
        problems.append(f"--ways ({ways}) must be of 1, 2 and 3, such as 1,2")
    for option, known, values in (
        ("model", get_args(Model), words.get("models") or ()),
        ("family", get_args(Family), [words["family"]] if "family" in words else []),
        ("rule", get_args(Rule), [words["rule"]] if words.get("rule") else []),
    ):
        problems += [
            f"--{option} ({value}) must be one of {', '.join(known)}"
            for value in values
            if value not in known
        ]
    if problems:
        raise ConfigError(problems)
    return AskedUtility(ways=tuple(sorted({int(order) for order in orders})), **words)


def utility_limits(settings: Config | None) -> tuple[LimitConfig, list[str]]:
    """Return the limits that are about utility, and which others are not looked at."""
    limits = LimitConfig() if settings is None else settings.limits
    others = [
        name
        for name in type(limits).model_fields
        if name not in UTILITY_LIMITS and getattr(limits, name) is not None
    ]
    notes = [f"limits.{name} is not looked at here (risk)" for name in others]
    return limits.model_copy(update=dict.fromkeys(others)), notes


# The utility of files, as the command asks for it.


@dataclass(frozen=True)
class FileUtility:
    """Figures, what the steward should know about the files, and limits that are exceeded."""

    utility: UtilityResult
    notes: tuple[str, ...]
    exceeded: tuple[str, ...]
    files: tuple[Mapping[str, str], ...]
    seed: int
    panel: PanelResult | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "confidential": "not for release with the datasets",
            "files": [dict(entry) for entry in self.files],
            "seed": self.seed,
            "version": version("synthesizer"),
            "exceeded": list(self.exceeded),
            **self.utility.to_dict(),
            **({} if self.panel is None else {"panel": results.plain(self.panel)}),
            "notes": [*self.notes, *self.utility.notes],
        }

    def to_json(self) -> str:
        """Return the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def evaluate_files(
    original: Path,
    synthetic: Sequence[Path],
    *,
    asked: AskedUtility,
    config: Path | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> FileUtility:
    """Compute every utility measure of files, whoever made them; write them if asked to.

    Parameters
    ----------
    original, synthetic : Path
        CSV or Parquet files; a result directory of a run stands for its datasets.
    asked : AskedUtility
        Variables, models and the like.
    config : Path, optional
        Configuration of a run: the kinds and missing codes of variables, its propensity models,
        fits and limits. With a panel persons, careers and histories are compared.
    out : Path, optional
        JSON file to write, mode 0600.
    listener : Listener, optional
        Is told about the progress.

    Raises
    ------
    SynthesizerError
        With every problem of files, configuration and names.
    """
    settings = None if config is None else load_config(config)
    synthesis = known_synthesis(synthetic, settings)
    measures = asked.measures(settings, synthesis)
    files = read_compared(original, synthetic, config=config, out=out, overwrite=overwrite)
    evaluated = partial(
        evaluate,
        names=asked.names,
        synthesis=synthesis,
        seed=asked.seed,
        n_jobs=asked.workers,
        listener=listener,
    )
    panel: PanelResult | None = None
    further: tuple[str, ...] = ()
    if settings is not None and settings.panel is not None:
        utility, panel, further = _of_persons(files, settings, measures, asked.seed, evaluated)
    else:
        declared = None if settings is None else settings.declarations()
        pair = (files.original, files.synthetic)
        utility = evaluated(*pair, measures=measures, declared=declared)
    limits, notes = utility_limits(settings)
    notes += further
    results = CheckResults(risk=RiskResult(), utility=utility, panel=panel, failed=utility.failed)
    if synthesis is None and measures.fits and asked.rule is None:
        notes.append(
            "no manifest or configuration says how the data were synthesised: rule simple takes "
            "all values as drawn with fixed parameters; name another one (--rule) if they were not"
        )
    found = FileUtility(
        utility,
        (*files.notes, *notes),
        (*exceeded_limits(results, limits), *_not_assessed(utility, limits)),
        files.entries,
        asked.seed,
        panel,
    )
    if out is not None:
        write_secret(out, found.to_json(), overwrite=overwrite)
    return found


def _of_persons(
    files: ComparedFiles,
    config: Config,
    measures: UtilityMeasures,
    seed: int,
    evaluated: Callable[..., UtilityResult],
) -> tuple[UtilityResult, PanelResult | None, tuple[str, ...]]:
    """Compare persons, careers and histories, and fit models to rows, as a run does."""
    found = panel_files(files, config)
    original, synthetic = found.panels
    person = None if config.panel is None else config.panel.person
    fits, row_fits = split_fits(measures.fits, original.panel, person)
    utility = evaluated(found.original, found.synthetic, measures=replace(measures, fits=fits))
    checks = PanelChecks(
        original,
        found.frame,
        sequences=config.checks.sequences,
        careers=False,
        generator=lambda: Seed(seed).generator("sequences"),
        attempts=Attempts(),
    )
    rows = RowFits(original.panel, row_fits, person)
    for made in synthetic:
        checks.add(made)
        rows.add(made.panel)
    utility = rows.joined(utility)
    return utility, checks.sequences, found.notes


def _not_assessed(utility: UtilityResult, limits: LimitConfig) -> Iterator[str]:
    """Say that limits do not hold for variables that could not be compared."""
    columns = [name for name in utility.failed if name.startswith("column ")]
    limited = [name for name in UTILITY_LIMITS if getattr(limits, name) is not None]
    if columns and limited:
        yield (
            f"{', '.join(f'limits.{name}' for name in limited)}: {', '.join(columns)} could not be "
            "compared, so they count as above"
        )
