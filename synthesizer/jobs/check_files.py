"""Risk and utility of files, as the commands ask for them."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.config.keys import Config, DataConfig
from synthesizer.data.codes import Groups
from synthesizer.data.csv_text import find_encoding
from synthesizer.data.dialects import FileOptions
from synthesizer.data.errors import ConfigError, DataError, Problems, SynthesizerError, did_you_mean
from synthesizer.data.files import check_file, new_files, sha256, write_text
from synthesizer.data.options import MAX_GROUPS
from synthesizer.data.panel.households import MemberView
from synthesizer.data.panel.view import seen_names
from synthesizer.data.sources import RawTable, csv_bytes, read_path
from synthesizer.data.workers import Listener, silent
from synthesizer.jobs.check_frames import (
    lacking_names,
    risk_of,
    sound_settings,
    unknown_names,
    utility_of,
    without_control,
)
from synthesizer.jobs.release_ledger import read_releases, with_others
from synthesizer.measures.catalogue import LIMITS
from synthesizer.measures.figure import in_units
from synthesizer.measures.measure import Axis
from synthesizer.measures.results import CheckResults, checks_content
from synthesizer.measures.risk.releases import Release, others_of
from synthesizer.measures.settings import ALL_OFF, CheckSettings, LimitConfig
from synthesizer.measures.utility.formulas import parse_formula
from synthesizer.measures.utility.suite import Synthesis
from synthesizer.measures.verdict import Subject, Verdict, verdict
from synthesizer.plan.arrange import ComparedData, FilesPlan, plan_files
from synthesizer.report.build import build_report
from synthesizer.report.record import (
    PACKAGES,
    DataEntry,
    HouseholdEntry,
    Manifest,
    PanelEntry,
    Record,
    maker_of,
    manifest_in,
    order_notes,
)

PROPENSITY = {"enabled": True, "models": ("logit", "cart")}
"""The models of propensity where no configuration chooses them."""


@dataclass(frozen=True, eq=False)
class ReadFiles:
    """Files as they were read; no control where there is none."""

    original: RawTable
    synthetic: tuple[RawTable, ...]
    control: RawTable | None
    entries: tuple[Mapping[str, str], ...]
    """Name and hash of every file."""
    notes: tuple[str, ...]
    """What manifests beside the files know of them."""
    releases: tuple[Release, ...] = ()
    """What the ledger beside the original lists."""

    @property
    def names(self) -> list[str]:
        """Of the files as they were typed: the original, the synthetic ones, the control."""
        return [entry["name"] for entry in self.entries]

    def without(self, weight: str | None) -> Iterator[str]:
        """Say which files lack the survey weight that was asked for."""
        files = zip(self.names, (self.original, *self.synthetic), strict=False)
        yield from _without(weight, {name: raw.names for name, raw in files})

    def text(self, seed: int, content: Mapping[str, Any]) -> str:
        """Return the text of a JSON file about the files, for the steward."""
        head = {
            "confidential": "not for release with the datasets",
            "files": [dict(entry) for entry in self.entries],
            "seed": seed,
            "version": version("synthesizer"),
        }
        return (
            json.dumps(head | dict(content), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
        )


@dataclass(frozen=True)
class TypedNames:
    """Names of columns on the command line, which are told even where another file is not read."""

    names: tuple[str, ...] = ()
    kept_out: tuple[str, ...] = ()
    """Names that no synthetic file needs."""
    weight: str | None = None

    def lacking(self, files: Mapping[int, RawTable], paths: Sequence[Path]) -> Iterator[str]:
        """Say what files lack of those that could be read, by their places; the first is ours."""
        ours = files[0].names if 0 in files else None
        if ours is not None:
            yield from unknown_names((*self.names, *self.kept_out), ours)
        needed = [n for n in dict.fromkeys(self.names) if ours is None or n in ours]
        for number in range(1, len(paths)):
            if number in files:
                there = files[number].names
                yield from lacking_names(needed, there, f"synthetic dataset {number}")
        read = {str(path): files[n].names for n, path in enumerate(paths) if n in files}
        yield from _without(self.weight, read)


def _without(weight: str | None, files: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Say which files lack the survey weight that was asked for."""
    lacking = [name for name, columns in files.items() if weight not in columns]
    if weight is not None and lacking:
        every = [name for name in files[lacking[0]] if all(name in c for c in files.values())]
        hint = did_you_mean(weight, every, "name a column that all files have")
        yield f"--weight: {weight!r} is no column of {', '.join(lacking)}; {hint}"


def read_files(
    original: Path,
    synthetic: Sequence[Path],
    control: Path | None = None,
    problems: Iterable[str] = (),
    config: Config | None = None,
    *,
    catalogue: Path | None = None,
    encoding: str | None = None,
    typed: TypedNames | None = None,
) -> ReadFiles:
    """Read files to be compared; a result directory of a run stands for its datasets.

    Original and control are read as ``data`` of the configuration says; a ``catalogue`` has their
    labels where they are files of SAS, and ``encoding`` is that of text that is not UTF-8. Where a
    file cannot be read, ``problems`` are told with it, and ``typed`` names that the others lack.
    """
    faults = Problems()
    paths = [path for named in synthetic for path in faults.attempt(_datasets, named) or [named]]
    inputs = [original, *paths, *([] if control is None else [control])]
    said = DataConfig.model_construct() if config is None else config.data
    catalogue = catalogue or said.catalogue
    ours = [original, *([] if control is None else [control])]
    of_labels = {path: catalogue for path in ours if path.suffix.lower() == ".sas7bdat"}
    if catalogue is not None:  # the original must be a file of SAS
        of_labels[original] = catalogue
    files: dict[int, RawTable] = {}
    for place, path in enumerate(inputs):
        with faults.gathered():
            how = said.reading if path in ours else FileOptions()
            if path not in ours and (said.header_row or said.names):
                how["header_row"] = 1  # no names are sought in a release of such a file
            how["encoding"] = _encoding(path, encoding or said.encoding, is_ours=path in ours)
            files[place] = read_path(path, min_rows=1, catalogue=of_labels.get(path), **how)
    releases = faults.attempt(read_releases, original) or ()
    if faults:
        lacking = () if typed is None else typed.lacking(files, [original, *paths])
        told = faults if typed is None else map(_typed_encoding, faults)
        raise DataError(dict.fromkeys([*problems, *lacking, *told]))
    hashes = {path: sha256(path, of_labels.get(path)) for path in inputs}
    if control is not None and hashes[control] in {hashes[path] for path in (original, *paths)}:
        raise DataError(f"{control}: the control is one of the other files; it must be of others")
    return ReadFiles(
        original=files[0],
        synthetic=tuple(files[number] for number in range(1, 1 + len(paths))),
        control=None if control is None else files[len(paths) + 1],
        entries=tuple({"name": str(path), "sha256": hashes[path]} for path in inputs),
        notes=tuple(order_notes(original, paths, hashes)),
        releases=releases,
    )


_OPTIONS = {
    "table_groups": "groups", "models": "model", "formula": "fit", "enabled": "attacks",
}  # fmt: skip
"""What keys of a configuration are called on the command line where the names differ."""


def _typed(problem: str) -> str:
    """Call what a problem is about by its option, and not by its key in a configuration.

    Examples
    --------
    >>> _typed("suda.max_size: must be at least 1 (got 0)")
    '--max-size: must be at least 1 (got 0)'
    """
    place, colon, words = problem.partition(": ")
    keys = [key for key in place.split(".") if not key.isdigit()]
    if not colon or " " in place or not keys:
        return problem
    return f"--{_OPTIONS.get(keys[-1], keys[-1]).replace('_', '-')}: {words}"


def _typed_encoding(problem: str) -> str:
    """Name the option that says an encoding, and not the key of a configuration.

    Examples
    --------
    >>> _typed_encoding("a.csv: is not UTF-8; set `encoding: cp1252`, which reads all of it")
    'a.csv: is not UTF-8; set --encoding cp1252, which reads all of it'
    """
    named = re.sub("`encoding: ([^`]*)`", r"--encoding \1", problem)
    return named.replace("`encoding`", "--encoding")


def _encoding(path: Path, encoding: str | None, *, is_ours: bool) -> str | None:
    """Return the encoding of a file; None of text that says its own, as UTF-8 does."""
    content = None if encoding is None else csv_bytes(path)
    if content is None:  # of labelled files those of a release are UTF-8
        return encoding if is_ours else None
    return None if find_encoding(content, path.name).is_marked else encoding


def _datasets(path: Path) -> list[Path]:
    """Return the datasets of a result directory, or the path itself."""
    manifest = manifest_in(path) if os.path.isdir(path) else None
    return [path] if manifest is None else [path / name for name in manifest.datasets]


@dataclass(frozen=True)
class FileChecks:
    """Figures, what the steward should know about the files, and limits that are exceeded."""

    results: CheckResults
    notes: tuple[str, ...]
    exceeded: tuple[str, ...]
    verdict: Verdict
    """May the data be released, as far as the checks tell?"""
    text: str
    """Of a JSON file with all of it."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The lines of the verdict that were looked at."""
        return ("person", "anybody") if self.results.utility is None else ("use",)


def _finished(
    results: CheckResults,
    files: ReadFiles,
    notes: Iterable[str],
    exceeded: Iterable[str],
    limits: LimitConfig,
    *,
    seed: int,
    works: Iterable[Path],
) -> FileChecks:
    """Return the checks with their text, which is written where it shall be."""
    notes, exceeded = (*files.notes, *notes), tuple(exceeded)
    of_data = results.risk.notes if results.utility is None else results.utility.notes
    every = {"notes": list(dict.fromkeys([*notes, *of_data]))}
    decided = verdict(results, limits)
    text = files.text(seed, every | checks_content(results, exceeded, verdict=decided))
    for work in works:
        write_text(work, text)
    return FileChecks(results, notes, exceeded, decided, text)


def assess_files(
    original: Path,
    synthetic: Sequence[Path],
    *,
    options: Mapping[str, Any] | None = None,
    control: Path | None = None,
    catalogue: Path | None = None,
    encoding: str | None = None,
    config: Path | None = None,
    terms: Mapping[str, str] | None = None,
    seed: int = 0,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
    problems: Iterable[str] = (),
) -> FileChecks:
    """Compute every risk measure of files, whoever made them; write them to the file ``out``.

    ``options`` are those under ``checks:`` of a configuration and go before them; ``groups`` may
    name variables of ``inference`` too. With a panel in the configuration persons are compared.
    ``catalogue`` and ``encoding`` are those of `read_files`. ``problems`` of reading the options
    are told with all others.
    """
    faults = Problems(problems)
    plan = faults.attempt(plan_files, config, terms) or plan_files(None)
    asked = {name: value for name, value in (options or {}).items() if value is not None}
    groups: Mapping[str, Groups] = asked.pop("groups", {})
    asked["inference"] = faults.attempt(_question, asked.pop("inference", {}), groups)
    settings, wrong = sound_settings(plan.checks, **asked)
    faults += map(_typed, wrong)
    main = settings.scenario(reason="as asked for")
    main = replace(main, groups=_only(groups, main.names) or main.groups)
    used = {*main.names, *(name for question in settings.inference for name in question.names)}
    unused = [name for name in groups if name not in used]
    if main.keys and main.target:
        faults += [
            f"--groups: {name!r} is neither a key nor target, sensitive or public; take it out"
            for name in unused
        ]
    halves = asked.get("differential_confidentiality", {})
    if control is None:
        attacked = asked.get("attacks", {}).get("enabled")
        faults += (f"--{why}" for why in without_control(**halves, attacks=attacked))
    read = [original, *synthetic, *filter(None, (control, config, catalogue))]
    _check_place(out, read, faults, overwrite=overwrite)
    reading: dict[str, Any] = {"catalogue": catalogue, "encoding": encoding}
    reading["typed"] = _typed_names(
        plan, [*used, *asked.get("keys", ()), asked.get("target")],
        kept_out=[halves.get("by"), halves.get("units")], weight=asked.get("weight"),
    )  # fmt: skip
    files = read_files(original, synthetic, control, faults, plan.config, **reading)
    faults += files.without(asked.get("weight"))
    with _place(out, read, faults, overwrite=overwrite) as works:
        data = _compared(plan, files, faults)
        notes = [*_unit_notes(halves.get("units"), data)]
        results = risk_of(
            data,
            settings,
            (main, *(further.scenario() for further in settings.scenarios)),
            synthesis=plan.of_risk,
            seed=seed,
            listener=listener,
            problems=faults,
        )
        results = _beside_others(results, files, plan, settings, seed)
        first = results.risk.main
        if first is not None and first.scenario.reason != "as asked for":
            notes.append(in_units(first.scenario.reason, results.risk.units))
        limits, dropped = _looked_at(plan.limits, "risk", has_control=control is not None)
        return _finished(
            results,
            files,
            [*dropped, *notes, *data.notes],
            results.exceeded(limits),
            limits,
            seed=seed,
            works=works,
        )


def evaluate_files(
    original: Path,
    synthetic: Sequence[Path],
    *,
    names: tuple[str, ...] | None = None,
    ways: Sequence[str] = ("1", "2"),
    formulas: Sequence[str] = (),
    fit: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    control: Path | None = None,
    catalogue: Path | None = None,
    encoding: str | None = None,
    config: Path | None = None,
    terms: Mapping[str, str] | None = None,
    seed: int = 0,
    workers: int = 1,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
    problems: Iterable[str] = (),
) -> FileChecks:
    """Compute every utility measure of files, whoever made them; write them to the file ``out``.

    ``control`` are records of the population that the synthesis never saw: use is judged beside
    them. ``names`` are compared, all that both sides have when absent; ``ways`` are orders of the
    tables. ``fit`` holds options of the models under ``formulas``, which go before those of the
    configuration; their rule is that of the kind of synthesis when absent, as far as it is known.
    ``catalogue`` and ``encoding`` are those of `read_files`. ``problems`` of reading the options
    are told with all others. ``terms`` are profile, purpose and release of the verdict.
    """
    faults = Problems(problems)
    plan_of = partial(plan_files, propensity=PROPENSITY)
    plan = faults.attempt(plan_of, config, terms) or plan_of(None)
    checks = plan.checks
    if not checks.propensity.enabled:
        checks = checks.with_options(propensity=PROPENSITY)
    switches = {"one_way": "1" in ways, "two_way": "2" in ways, "three_way": "3" in ways}
    fits = [{"formula": formula, **(fit or {})} for formula in formulas]
    settings, wrong = sound_settings(
        checks, **switches, full_table=True, fits=fits or None, **(options or {})
    )
    faults += dict.fromkeys(map(_typed, wrong))
    for formula in formulas:
        faults.attempt(parse_formula, formula)
    if not formulas:
        faults += [f"--{name}: needs --fit, a model to be fitted" for name in fit or {}]
    if not ways or not set(ways) <= {"1", "2", "3"}:
        faults.append(f"--ways ({','.join(ways)}) must be of 1, 2 and 3, such as 1,2")
    synthesis = faults.attempt(_synthesis_of, synthetic) or plan.synthesis
    rules = dict.fromkeys(fit.rule for fit in settings.fits if fit.rule is not None)
    faults += [
        f"--rule: {problem}"
        for rule in rules
        if synthesis is not None
        for problem in synthesis.rule_problems(rule)
    ]
    read = [original, *synthetic, *filter(None, (control, config, catalogue))]
    _check_place(out, read, faults, overwrite=overwrite)
    reading: dict[str, Any] = {"catalogue": catalogue, "encoding": encoding}
    weight = (options or {}).get("weight")
    reading["typed"] = _typed_names(plan, names or (), weight=weight)
    files = read_files(original, synthetic, control, faults, plan.config, **reading)
    faults += files.without(weight)
    with _place(out, read, faults, overwrite=overwrite) as works:
        data = _compared(plan, files, faults)
        if synthesis is not None and data.frame is not None:
            seen = seen_names(tuple(data.original.names), synthesis.kept, data.frame.drawn_career)
            synthesis = replace(synthesis, kept=seen)
        results = utility_of(
            data, settings, names=names, synthesis=synthesis, seed=seed, n_jobs=workers,
            listener=listener, problems=faults,
        )  # fmt: skip
        notes = []
        if synthesis is None and settings.fits and not rules:
            notes.append(
                "no manifest or configuration says how the data were synthesised: rule simple "
                "takes all values as drawn with fixed parameters; name another one (--rule) if "
                "they were not"
            )
        limits, dropped = _looked_at(plan.limits, "utility", has_control=control is not None)
        return _finished(
            results,
            files,
            [*dropped, *notes, *data.notes],
            (*results.exceeded(limits), *_not_compared(results, limits)),
            limits,
            seed=seed,
            works=works,
        )


def report_files(
    original: Path,
    synthetic: Sequence[Path],
    out: Path,
    *,
    options: Mapping[str, Any] | None = None,
    control: Path | None = None,
    catalogue: Path | None = None,
    encoding: str | None = None,
    config: Path | None = None,
    terms: Mapping[str, str] | None = None,
    seed: int = 0,
    workers: int = 1,
    overwrite: bool = False,
    listener: Listener = silent,
    problems: Iterable[str] = (),
) -> Record:
    """Write the steward's page about files, whoever made them; return what it is about.

    The parameters are those of `assess_files`; ``workers`` are threads of the propensity trees.
    """
    faults = Problems(problems)
    plan_of = partial(plan_files, propensity=PROPENSITY)
    plan = faults.attempt(plan_of, config, terms) or plan_of(None)
    asked = {name: value for name, value in (options or {}).items() if value is not None}
    settings, wrong = sound_settings(plan.checks, **asked)
    faults += map(_typed, wrong)
    if out.suffix.lower() not in (".html", ".htm"):
        faults.append(f"{out} must be named .html: the report is a page")
    read = [original, *synthetic, *filter(None, (control, config, catalogue))]
    _check_place(out, read, faults, overwrite=overwrite)
    reading: dict[str, Any] = {"catalogue": catalogue, "encoding": encoding}
    named = [*asked.get("keys", ()), asked.get("target")]
    reading["typed"] = _typed_names(plan, named, weight=asked.get("weight"))
    files = read_files(original, synthetic, control, faults, plan.config, **reading)
    faults += files.without(asked.get("weight"))
    with _place(out, read, faults, overwrite=overwrite) as works:
        data = _compared(plan, files, faults)
        made = _synthesis_of(synthetic) or plan.synthesis
        scenarios = [settings.scenario(reason="as asked for")]
        scenarios += [further.scenario() for further in settings.scenarios]
        common: dict[str, Any] = {"seed": seed, "listener": listener}
        risk = risk_of(data, settings, scenarios, synthesis=plan.of_risk, problems=faults, **common)
        risk = _beside_others(risk, files, plan, settings, seed)
        use = utility_of(data, settings, synthesis=made, n_jobs=workers, **common)
        results = use.model_copy(
            update={"risk": risk.risk, "failed": {**risk.failed, **use.failed}}
        )
        limits, dropped = _looked_at(plan.limits, "risk", "utility", has_control=bool(control))
        record = Record(
            _manifest(files, data, plan, (*files.notes, *dropped, *data.notes), seed),
            results,
            (*results.exceeded(limits), *_not_compared(results, limits)),
        )
        page = build_report(record)
        for work in works:
            write_text(work, page)
        return record


def _beside_others(
    results: CheckResults, files: ReadFiles, plan: FilesPlan, settings: CheckSettings, seed: int
) -> CheckResults:
    """Return results with what other releases of the original give together with these files.

    All datasets are looked at together beside a control, where those of the others are still there.
    """
    names, last = files.names, 1 + len(files.synthetic)
    others = others_of(files.releases, (entry["sha256"] for entry in files.entries[1:last]))
    paths = {Path(one.directory, name): h for one in others for name, h in one.datasets.items()}
    counted = None
    with suppress(SynthesizerError, OSError):  # they are gone, or cannot be compared
        if files.control and others and all(sha256(path) == h for path, h in paths.items()):
            synthetic = (*files.synthetic, *(read_path(path, min_rows=1) for path in paths))
            named = [*names[:last], *map(str, paths), names[-1]]
            data = plan.compared(files.original, synthetic, files.control, named)
            alone = settings.with_options(**{**ALL_OFF, "near_verbatim": True})
            risk = risk_of(data, alone, [settings.scenario(keys=(), target="")], seed=seed).risk
            counted = risk.further.get("near_verbatim")
    return with_others(results, others, counted)


def _compared(plan: FilesPlan, files: ReadFiles, faults: Problems) -> ComparedData:
    """Return the data as the configuration arranges them; raises DataError with all faults."""
    data = faults.attempt(
        plan.compared, files.original, files.synthetic, files.control, files.names
    )
    if data is None:
        raise DataError(dict.fromkeys(faults))
    return data


def _typed_names(
    plan: FilesPlan,
    names: Iterable[str | None],
    *,
    kept_out: Iterable[str | None] = (),
    weight: str | None = None,
) -> TypedNames:
    """Return names to look for in files; none where a configuration makes variables of them."""
    if plan.config is not None and (plan.config.panel or plan.config.household):
        return TypedNames()
    return TypedNames(tuple(filter(None, names)), tuple(filter(None, kept_out)), weight)


def _manifest(
    files: ReadFiles, data: ComparedData, plan: FilesPlan, notes: Iterable[str], seed: int
) -> Manifest:
    """Return what is known of files that somebody else made: no model, no predictor, no draw."""
    config, frame, original = plan.config, data.frame, data.original
    n_units = original.n_rows
    panel = household = None
    if config is not None and config.panel is not None and frame is not None:
        panel = PanelEntry(
            form="wide" if config.panel.wide else "long",
            person=config.panel.person,
            time=config.panel.time,
            career=config.panel.career,
            persons=n_units,
            periods=len(frame.times),
        )
    if isinstance(original, MemberView) and config is not None and config.household is not None:
        household = HouseholdEntry(
            id=config.household.id, households=original.heads.n_rows, persons=n_units
        )
    keys = {"checks", "limits"}
    return Manifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        config={} if config is None else config.model_dump(mode="json", include=keys),
        config_sha256="",
        data=DataEntry(
            origin=files.names[0],
            sha256=files.entries[0]["sha256"],
            rows=files.original.n_rows,
            columns=len(files.original.names),
        ),
        panel=panel,
        household=household,
        seed=seed,
        m=len(files.synthetic),
        rows=data.synthetic[0].n_rows,
        variables=(),
        chain=(),
        genetic=None,
        notes=tuple(dict.fromkeys(notes)),
        seconds={},
        python=platform.python_version(),
        packages={name: version(name) for name in PACKAGES},
    )


def _check_place(
    out: Path | None, read: Sequence[Path], faults: Problems, *, overwrite: bool
) -> None:
    """Gather what is wrong with the file that is to be written, before anything is read."""
    if out is not None:
        with faults.gathered():
            check_file(out, overwrite=overwrite, read=read)


def _place(
    out: Path | None, read: Sequence[Path], faults: Problems, *, overwrite: bool
) -> AbstractContextManager[tuple[Path, ...]]:
    """Yield the place of the file; nowhere where there are faults, which are told instead."""
    return new_files([] if out is None or faults else [out], overwrite=overwrite, read=read)


def _question(
    question: Mapping[str, Any], groups: Mapping[str, Groups]
) -> list[dict[str, Any]] | None:
    """Return the question of the command line with the groups of its variables, if there is one."""
    if question and "sensitive" not in question:
        lone = ", ".join(f"--{'periods' if name == 'units' else name}" for name in question)
        raise ConfigError(f"{lone}: needs --sensitive, a variable to be inferred")
    used = {question.get("sensitive"), *question.get("public", ())}
    return [{"public": (), **question, "groups": _only(groups, used)}] if question else None


def _only(groups: Mapping[str, Groups], names: Collection[str]) -> dict[str, Groups]:
    """Return the groups of some variables."""
    return {name: cuts for name, cuts in groups.items() if name in names}


def _unit_notes(units: str | None, data: ComparedData) -> Iterator[str]:
    """Say that persons are counted already; refuse others than those of the panel."""
    if units is None or not data.counts_persons:
        return
    person = data.person
    if units != person:
        who = "one row is one person" if person is None else f"they are {person!r}"
        raise ConfigError(
            f"--units {units}: the panel of the configuration says who the persons are "
            f"({who}); take it out"
        )
    yield f"--units {units} is not needed: by the panel of the configuration persons count"


def _synthesis_of(synthetic: Sequence[Path]) -> Synthesis | None:
    """Say how synthetic files were made by the first of their manifests; None without one."""
    for path in synthetic:
        manifest = maker_of(path)
        if manifest is not None:
            return Synthesis(
                proper=manifest.config.get("proper") is True,
                kept=tuple(step.variable for step in manifest.chain if step.kept),
                redrawn=manifest.weights is not None and manifest.weights.draw == "design",
            )
    return None


def _looked_at(
    limits: LimitConfig, *axes: Axis, has_control: bool
) -> tuple[LimitConfig, list[str]]:
    """Return the limits that can be looked at, and which others are not."""
    reasons: dict[str, str] = {}
    for key in limits.asked:
        measure = LIMITS[key][0]
        if measure.axis not in axes:
            reasons[key] = measure.axis
        elif "halves" in measure.needs and not has_control:
            reasons[key] = "needs --control"
    notes = []
    for why in dict.fromkeys(reasons.values()):
        keys = [f"limits.{key}" for key, other in reasons.items() if other == why]
        are = "are" if len(keys) > 1 else "is"
        notes.append(f"{', '.join(keys)} {are} not looked at here ({why})")
    return limits.only(limits.asked.keys() - reasons.keys()), notes


def _not_compared(results: CheckResults, limits: LimitConfig) -> Iterator[str]:
    """Say that limits do not hold for variables that could not be compared."""
    columns = [name for name in results.failed if name.startswith("column ")]
    if columns and limits.asked:
        yield (
            f"{', '.join(f'limits.{key}' for key in limits.asked)}: {', '.join(columns)} could not "
            "be compared, so they count as above"
        )


_NAME = r"\s*(?:`([^`]*)`\s*|([^,`]*)),"


def parse_names(text: str | None) -> tuple[str, ...] | None:
    """Read ``age, sex``; names with a comma stand in backticks; None where nothing is said.

    Examples
    --------
    >>> parse_names("age, `height, cm`"), parse_names(None)
    (('age', 'height, cm'), None)
    """
    if text is None:
        return None
    if not text.strip():
        raise ConfigError("is empty; name columns as A,B,C")
    cells = re.findall(_NAME, f"{text},")
    names = tuple(quoted or bare.strip() for quoted, bare in cells)
    if not all(names) or not re.fullmatch(f"(?:{_NAME})*", f"{text},"):
        raise ConfigError("write names as A,B,C, none empty; one with a comma between backticks")
    return names


def parse_groups(text: str | None) -> dict[str, Groups]:
    """Read ``age=5,pay=1000/2000``: numbers of quantile groups, or cut points, by variable.

    Examples
    --------
    >>> parse_groups("age=5, pay=1000/2000")
    {'age': 5, 'pay': (1000.0, 2000.0)}
    """
    groups: dict[str, Groups] = {}
    for quoted, bare, wanted in re.findall(r"(?:`([^`]+)`|([^,=`]+))(?:=([^,]*))?", text or ""):
        name = quoted or bare.strip()
        if name in groups:
            raise ConfigError(f"--groups names {name!r} twice; keep one")
        if name:
            groups[name] = _groups_of(wanted.strip())
    return groups


def _groups_of(text: str) -> Groups:
    try:
        if text.isdigit() and 1 <= int(text) <= MAX_GROUPS:
            return int(text)
        cuts = tuple(float(cut) for cut in text.split("/"))
        if "/" in text or "." in text:
            return cuts
    except ValueError:
        pass
    raise ConfigError(
        "--groups must look like age=5,pay=100/200: variables with numbers of groups or cut points"
    )
