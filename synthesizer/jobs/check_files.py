"""Risk and utility of files, as the commands ask for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.config.keys import Config
from synthesizer.config.reading import load_config
from synthesizer.data.codes import Groups
from synthesizer.data.errors import ConfigError, DataError, OutputError, SynthesizerError
from synthesizer.data.files import check_file, sha256, write_secret
from synthesizer.data.guessing import Declaration
from synthesizer.data.progress import Listener, silent
from synthesizer.data.randomness import MAX_SEED
from synthesizer.data.sources import RawTable, read_path
from synthesizer.jobs.assess import risk_of, sound_settings
from synthesizer.jobs.evaluate import utility_of
from synthesizer.measures.catalogue import LIMITS
from synthesizer.measures.figure import in_units
from synthesizer.measures.measure import Axis
from synthesizer.measures.results import CheckResults, RiskResult, checks_content
from synthesizer.measures.risk.scenario import Scenario
from synthesizer.measures.settings import CheckSettings, LimitConfig
from synthesizer.measures.utility.combining import kind_problems
from synthesizer.measures.utility.suite import Synthesis, UtilityResult
from synthesizer.plan.arrange import ComparedData, compared_data
from synthesizer.report.record import maker_of, manifest_in, order_notes

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
    manifest = manifest_in(path) if path.is_dir() else None
    return [path] if manifest is None else [path / name for name in manifest.datasets]


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


# What the commands ``risk`` and ``utility`` say: their words, and what a configuration adds.


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
    for quoted, plain_name in re.findall(r"`([^`]+)`|([^,`]+)", text or ""):
        if name := quoted or plain_name.strip():
            yield name


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
class FileChecks:
    """Figures, what the steward should know about the files, and limits that are exceeded."""

    results: CheckResults
    notes: tuple[str, ...]
    exceeded: tuple[str, ...]
    files: tuple[Mapping[str, str], ...]
    seed: int

    @property
    def risk(self) -> RiskResult:
        """Every figure of risk."""
        return self.results.risk

    @property
    def utility(self) -> UtilityResult:
        """Every figure of utility."""
        if self.results.utility is None:
            raise ValueError("there is no figure of utility")
        return self.results.utility

    @property
    def _of_data(self) -> tuple[str, ...]:
        return self.risk.notes if self.results.utility is None else self.utility.notes

    def to_json(self) -> str:
        """Return the text of a JSON file."""
        content = {
            "confidential": "not for release with the datasets",
            "files": [dict(entry) for entry in self.files],
            "seed": self.seed,
            "version": version("synthesizer"),
            "notes": list(dict.fromkeys([*self.notes, *self._of_data])),
            **checks_content(self.results, self.exceeded),
        }
        return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


@dataclass(frozen=True, kw_only=True)
class _Job:
    """Files with the configuration that says how they are read and checked, if there is one."""

    config: Config | None
    files: ComparedFiles
    data: ComparedData
    axis: Axis
    has_control: bool

    @classmethod
    def of(
        cls,
        original: Path,
        synthetic: Sequence[Path],
        *,
        axis: Axis,
        control: Path | None = None,
        config: Path | None = None,
        settings: Config | None = None,
        out: Path | None = None,
        overwrite: bool = False,
    ) -> _Job:
        """Read the files, arranged by the panel of the configuration."""
        files = read_compared(
            original, synthetic, control=control, config=config, out=out, overwrite=overwrite
        )
        data = compared_data(
            settings,
            files.original,
            files.synthetic,
            files.control,
            [entry["name"] for entry in files.entries],
        )
        return cls(
            config=settings, files=files, data=data, axis=axis, has_control=control is not None
        )

    @property
    def declared(self) -> Mapping[str, Declaration] | None:
        """What the configuration says of the reading of the files."""
        return None if self.config is None else self.config.declarations()

    def limits(self) -> tuple[LimitConfig, list[str]]:
        """Return the limits that can be looked at, and which others are not."""
        limits = LimitConfig() if self.config is None else self.config.limits
        reasons: dict[str, str] = {}
        for key in limits.asked:
            measure = LIMITS[key][0]
            if measure.axis != self.axis:
                reasons[key] = measure.axis
            elif "halves" in measure.needs and not self.has_control:
                reasons[key] = "needs --control"
        notes = [f"limits.{key} is not looked at here ({why})" for key, why in reasons.items()]
        return limits.only(limits.asked.keys() - reasons.keys()), notes

    def finished(
        self,
        results: CheckResults,
        notes: Iterable[str],
        seed: int,
        out: Path | None,
        *,
        overwrite: bool,
    ) -> FileChecks:
        """Hold the results against the limits, and write them where they shall be written."""
        limits, dropped = self.limits()
        exceeded = (*results.exceeded(limits), *_not_compared(results, limits))
        checks = FileChecks(
            results,
            (*self.files.notes, *dropped, *notes, *self.data.notes),
            exceeded,
            self.files.entries,
            seed,
        )
        if out is not None:
            write_secret(out, checks.to_json(), overwrite=overwrite)
        return checks


def _not_compared(results: CheckResults, limits: LimitConfig) -> Iterator[str]:
    """Say that limits do not hold for variables that could not be compared."""
    columns = [name for name in results.failed if name.startswith("column ")]
    if columns and limits.asked:
        yield (
            f"{', '.join(f'limits.{key}' for key in limits.asked)}: {', '.join(columns)} could not "
            "be compared, so they count as above"
        )


def assess_files(
    original: Path,
    synthetic: Sequence[Path],
    *,
    keys: tuple[str, ...] | None = None,
    target: str | None = None,
    groups: Mapping[str, Groups] | None = None,
    question: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    attacks: bool = False,
    control: Path | None = None,
    config: Path | None = None,
    seed: int = 0,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> FileChecks:
    """Compute every risk measure of files, whoever made them; write them if asked to.

    What is not said here is what the configuration says, if there is one.

    Parameters
    ----------
    original, synthetic, control : Path
        CSV or Parquet files; a result directory of a run stands for its datasets.
    keys, target, groups : optional
        What an intruder knows and seeks, and how numbers are grouped.
    question : mapping, optional
        A sensitive variable that might be inferred, in place of those of the configuration; see
        `synthesizer.measures.measure_options.Question`.
    options : mapping, optional
        Further options of checks, as under ``checks:`` of a configuration.
    attacks : bool
        Whether to attack by singling out, linkability and inference.
    config : Path, optional
        Configuration of a run: the kinds and missing codes of variables, its checks (but the half
        split, which needs the synthesis) and their limits. With a panel persons are compared.
    seed : int
        Decides everything that is random.
    out : Path, optional
        JSON file to write, mode 0600.
    listener : Listener, optional
        Is told about the progress.

    Raises
    ------
    SynthesizerError
        With every problem of files, configuration and names.
    """
    chosen = load_config(config) if config is not None else None
    checks = CheckSettings() if chosen is None else chosen.checks
    if control is None and chosen is not None:
        # without a control there is nobody who was kept out: no persons and groups of theirs
        halves = checks.differential_confidentiality.model_copy(update={"by": None, "units": None})
        checks = checks.model_copy(update={"differential_confidentiality": halves})
    settings, faults = sound_settings(
        checks,
        **(options or {}),
        inference=_questions(question or {}, groups or {}),
        attacks={"enabled": True} if attacks else None,
    )
    if chosen is not None and chosen.panel is not None:
        # one row a person: nobody has several records to be kept together
        halves = settings.differential_confidentiality.model_copy(update={"units": None})
        settings = settings.model_copy(update={"differential_confidentiality": halves})
    main = settings.scenario(reason="as asked for")
    main = replace(main, keys=keys or main.keys, target=target or main.target)
    own = {name: wanted for name, wanted in (groups or {}).items() if name in main.names}
    main = replace(main, groups=own or main.groups)
    _check_groups(groups or {}, main, settings)
    asked = (options or {}).get("differential_confidentiality") or {}
    faults += tuple(
        f"{what} needs a control file, records that were kept out of the fit: name one"
        for what, value in {**asked, "attacks": attacks or None}.items()
        if value is not None and control is None
    )
    if not 0 <= seed <= MAX_SEED:
        faults += (f"seed ({seed}) must be in 0 to 2**63 - 1",)
    job = _Job.of(
        original,
        synthetic,
        axis="risk",
        control=control,
        config=config,
        settings=chosen,
        out=out,
        overwrite=overwrite,
    )
    notes = [*_unit_notes(asked.get("units"), chosen)]
    results = risk_of(
        job.data.original,
        job.data.synthetic,
        (main, *(part.scenario() for part in settings.scenarios)),
        settings,
        control=job.data.control,
        declared=job.declared,
        frame=job.data.frame,
        seed=seed,
        listener=listener,
        problems=faults,
    )
    first = results.risk.main
    if first is not None and first.scenario.reason != "as asked for":
        notes.append(in_units(first.scenario.reason, results.risk.units))
    return job.finished(results, notes, seed, out, overwrite=overwrite)


def _unit_notes(units: str | None, config: Config | None) -> Iterator[str]:
    """Say that persons are counted already; refuse others than those of the panel."""
    panel = None if config is None else config.panel
    if units is None or panel is None:
        return
    if units != panel.person:
        who = "one row is one person" if panel.person is None else f"they are {panel.person!r}"
        raise ConfigError(
            f"--units {units}: the panel of the configuration says who the persons are "
            f"({who}); take it out"
        )
    yield f"--units {units} is not needed: by the panel of the configuration persons count"


def _check_groups(groups: Mapping[str, Groups], main: Scenario, settings: CheckSettings) -> None:
    used = {*main.names, *(name for part in settings.inference for name in part.names)}
    unused = [name for name in groups if name not in used]
    if unused and main.keys and main.target:
        raise ConfigError(
            f"--groups: {name!r} is neither a key nor target, sensitive or public; take it out"
            for name in unused
        )


def _questions(
    question: Mapping[str, Any], groups: Mapping[str, Groups]
) -> list[dict[str, Any]] | None:
    """Return the question of the command line as options; None where there is none."""
    named = {name: value for name, value in question.items() if value}
    if "sensitive" in named:
        used = {named["sensitive"], *named.get("public", ())}
        own = {name: wanted for name, wanted in groups.items() if name in used}
        return [{"public": (), **named, "groups": own}]
    if named:
        lone = ", ".join(f"--{name}" for name in named)
        raise ConfigError(f"{lone}: needs --sensitive, a variable to be inferred")
    return None


# The utility of files, as the command asks for it.


def known_synthesis(synthetic: Sequence[Path], settings: Config | None) -> Synthesis | None:
    """Say how synthetic files were made by their manifest, or a configuration; None if unknown."""
    for path in synthetic:
        manifest = maker_of(path)
        if manifest is not None:
            return Synthesis(
                proper=manifest.config.get("proper") is True,
                kept=tuple(step.variable for step in manifest.chain if step.kept),
            )
    return None if settings is None else Synthesis(proper=settings.proper, kept=settings.keep)


def evaluate_files(
    original: Path,
    synthetic: Sequence[Path],
    *,
    names: tuple[str, ...] | None = None,
    ways: Sequence[str] = ("1", "2"),
    formulas: Sequence[str] = (),
    fit: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    config: Path | None = None,
    seed: int = 0,
    workers: int = 1,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> FileChecks:
    """Compute every utility measure of files, whoever made them; write them if asked to.

    What is not said here is what the configuration says, if there is one.

    Parameters
    ----------
    original, synthetic : Path
        CSV or Parquet files; a result directory of a run stands for its datasets.
    names : tuple of str, optional
        Variables to compare; all that both sides have when absent.
    ways : sequence of str
        Orders of the tables, of 1, 2 and 3.
    formulas : sequence of str
        Models that a researcher might fit, in place of those of the configuration.
    fit : mapping, optional
        Options of these models (`synthesizer.measures.measure_options.FitRequest`). Their rule is
        that of the kind of synthesis when absent, as far as a manifest tells it.
    options : mapping, optional
        Further options of checks, as under ``checks:`` of a configuration.
    config : Path, optional
        Configuration of a run: the kinds and missing codes of variables, its propensity models,
        fits and limits. With a panel persons, careers and histories are compared.
    seed : int
        Decides the permutations.
    workers : int
        Threads of the trees.
    out : Path, optional
        JSON file to write, mode 0600.
    listener : Listener, optional
        Is told about the progress.

    Raises
    ------
    SynthesizerError
        With every problem of files, configuration and names.
    """
    chosen = None if config is None else load_config(config)
    both = {"models": ["logit", "cart"]} if chosen is None else {}
    checks = CheckSettings(propensity=both) if chosen is None else chosen.checks
    if not checks.propensity.enabled:
        checks = checks.with_options(propensity={"enabled": True, "models": ["logit", "cart"]})
    switches = {"one_way": "1" in ways, "two_way": "2" in ways, "three_way": "3" in ways}
    fits = [{"formula": formula, **(fit or {})} for formula in formulas or ("1 ~ 1",)]
    settings, faults = sound_settings(
        checks, **switches, full_table=True, fits=fits, **(options or {})
    )
    if not formulas:
        settings = settings.model_copy(update={"fits": checks.fits})
    if not ways or not set(ways) <= {"1", "2", "3"}:
        faults += (f"--ways ({','.join(ways)}) must be of 1, 2 and 3, such as 1,2",)
    synthesis = known_synthesis(synthetic, chosen)
    rules = [fit.rule for fit in settings.fits if fit.rule is not None]
    faults += tuple(
        f"--rule: {problem}"
        for rule in dict.fromkeys(rules)
        if synthesis is not None
        for problem in kind_problems(rule, proper=synthesis.proper, keeps=bool(synthesis.kept))
    )
    if faults:
        raise ConfigError(faults)
    job = _Job.of(
        original,
        synthetic,
        axis="utility",
        config=config,
        settings=chosen,
        out=out,
        overwrite=overwrite,
    )
    results = utility_of(
        job.data.original,
        job.data.synthetic,
        settings,
        names=names,
        synthesis=synthesis,
        declared=job.declared,
        frame=job.data.frame,
        person=job.data.person,
        seed=seed,
        n_jobs=workers,
        listener=listener,
    )
    notes = []
    if synthesis is None and settings.fits and not rules:
        notes.append(
            "no manifest or configuration says how the data were synthesised: rule simple takes "
            "all values as drawn with fixed parameters; name another one (--rule) if they were not"
        )
    return job.finished(results, notes, seed, out, overwrite=overwrite)
