"""The typed record of a run: its manifest and results, for reading and writing.

Report, comparison and codebook use a `Record`. It is confidential, except for `Manifest.public`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PureWindowsPath
from typing import Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from synthesizer.data.errors import DataError
from synthesizer.data.files import parse_json, read_text, sha256
from synthesizer.data.plugins import hooks
from synthesizer.measures.figure import Result, Units, typed
from synthesizer.measures.results import FORMAT
from synthesizer.measures.settings import LimitConfig
from synthesizer.measures.utility.cells import EMPTY
from synthesizer.measures.verdict import CheckResults, Verdict, verdict

MANIFEST = "manifest.json"
CHECKS = "checks.json"
PACKAGES = (
    "microdata-synthesizer", "joblib", "numpy", "pandas", "pyarrow", "scipy", "scikit-learn",
)  # fmt: skip
"""Packages whose versions a manifest has."""
RERUN = "run again with --overwrite"


class FileEntry(Result):
    """A file of a run."""

    name: str
    """Without a path, which could lead out of the directory of the run."""
    bytes: int
    sha256: str

    @field_validator("name")
    @classmethod
    def _stays_inside(cls, name: str) -> str:
        if is_path(name):
            raise ValueError(
                f"{name!r} is a path, and one outside the run directory is refused; put the file "
                "into the directory and write its name alone, or run again"
            )
        return name


class DataEntry(Result):
    """The confidential file."""

    origin: str
    sha256: str | None
    """Of the file and the catalogue of its labels; None for other sources."""
    rows: int
    columns: int


class PanelEntry(Result):
    """Persons and periods of a panel."""

    form: Literal["long", "wide"]
    person: str | None
    time: str | None
    career: str | None
    persons: int
    periods: int
    sha256: str | None = None
    """Digest of the confidential histories, which shows revisions; None in earlier versions."""


class GroupEntry(Result):
    """Groups of the persons in the confidential file."""

    unit: str
    """Its name in one word."""
    column: str
    """Column with its identifier."""


class DesignEntry(Result):
    """Sampling of the records of the confidential file."""

    weight: str
    strata: str | None = None
    psu: str | None = None
    redrawn: bool = False
    """Whether each dataset was made from a new sample."""


class VariableEntry(Result):
    """A variable of the file."""

    name: str
    kind: str
    missing: tuple[str, ...]
    """Codes of missing values."""
    date_format: str | None
    label: str = ""
    """From the source."""
    level_labels: Mapping[str, str] = Field(default_factory=dict)
    """Labels of values from the source."""


class TreesEntry(Result):
    """Draws of the trees of a step."""

    even: bool
    """Whether draws were spread evenly over a leaf."""
    leaf_regression: bool
    """Whether all leaves have a leaf regression."""


class StepEntry(Result):
    """How one variable was made."""

    variable: str
    kind: str
    model: str
    """Key of the model, or of the extension that made whole datasets."""
    model_of_missing_codes: str | None
    predictors: tuple[str, ...]
    """Predictors; empty if ``closest`` is a number."""
    kept: bool
    """Whether the values are copied from the confidential data."""
    closest: int | None = None
    """Number of predictors: the earlier variables with the closest association; None if
    ``predictors`` has them."""
    codes: int | None = None
    """Number of levels and missing codes of a categorical variable."""
    base: tuple[str, ...] = ()
    """Models inside the model, outer ones first."""
    trees: TreesEntry | None = None
    in_words: tuple[str, ...] = ()
    """Names of the model, and of those inside it, in a sentence."""
    missing_in_words: str | None = None
    """Name of the model of missing codes in a sentence."""
    options: Mapping[str, Any] = Field(default_factory=dict)
    """Public options of the model."""
    columns: tuple[str, ...] = ()
    """Columns of a variable that spans several."""


class _Public(BaseModel):
    """A part of a configuration; other keys are ignored, None is the default."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nothing(cls, content: Any) -> Any:
        if not isinstance(content, Mapping):
            return content
        return {key: value for key, value in content.items() if value is not None}


class SchemaVariable(_Public):
    """Declaration of a variable."""

    label: str = ""
    unit: str = ""
    public: bool = False
    levels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    level_labels: Mapping[str, str] = Field(default_factory=dict)
    date_format: str | None = None
    derived: str = ""
    method: str = ""


class PublicRule(_Public):
    """If a condition holds, variables are set to values."""

    condition: str = Field("", alias="if")
    then: Mapping[str, str] = Field(default_factory=dict)
    always: str = ""


class PublicPath(_Public):
    """Changes of a variable between periods that do not occur."""

    variable: str
    absorbing: tuple[str, ...] = ()
    never: tuple[tuple[str, str], ...] = ()
    non_decreasing: bool = False


class PublicPanel(_Public):
    """Rules from period to period."""

    rules: tuple[PublicPath, ...] = ()


class PublicData(_Public):
    """How CSV files are read."""

    delimiter: str | None = None
    encoding: str | None = None


class PublicOutput(_Public):
    """Options of the published files."""

    publish_rows: bool = False
    spreadsheet_safe: bool = False


class PublicAfter(_Public):
    """Column that marks the data as synthetic."""

    label: Mapping[str, str] = Field(default_factory=dict)


class PublicRare(_Public):
    """Grouping of rare levels."""

    min_count: int = 5
    to: str = "other"


class PublicConfig(_Public):
    """The public parts of a configuration."""

    data: PublicData = PublicData()
    variables: Mapping[str, SchemaVariable] = Field(default_factory=dict)
    method: Any = None
    """A model, or a mapping of variables to models or expressions."""
    strata: tuple[str, ...] = ()
    rules: tuple[PublicRule, ...] = ()
    forbid: tuple[str, ...] = ()
    structural_zeros: str | tuple[str | tuple[str, ...], ...] = ()
    panel: PublicPanel = PublicPanel()
    rare: PublicRare | None = None
    proper: bool = False
    output: PublicOutput = PublicOutput()
    after: PublicAfter = PublicAfter()


class PublicManifest(Result):
    """The public part of a manifest: nothing computed from the data but relations of all rows."""

    config: PublicConfig
    panel: PanelEntry | None
    groups: GroupEntry | None = None
    design: DesignEntry | None = None
    variables: tuple[VariableEntry, ...]
    chain: tuple[StepEntry, ...]
    maker: str | None = None
    """Key of the extension that made whole datasets; None for draws of the chain."""
    extensions: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """Facts of extensions by key."""
    packages: Mapping[str, str]
    original_rows: int | None
    """Records, persons or groups; None unless the steward publishes them."""
    after: tuple[str, ...] = ()
    """Steps on each dataset after synthesis."""
    relations: tuple[str, ...] = ()
    """Relations of all rows that synthetic rows keep."""
    differences: tuple[str, ...] = ()
    """How datasets of a low fidelity differ from the original."""


NOT_FOR_RELEASE = "not for release with the datasets"


class Manifest(Result):
    """How the datasets of a run were made: the content of its file, for the steward only.

    `public` returns the only part for researchers.
    """

    confidential: str = NOT_FOR_RELEASE
    format: Literal[1] = 1
    created: str
    """Time in UTC."""
    config: Mapping[str, Any]
    """The configuration of the user, without a database password."""
    config_sha256: str
    data: DataEntry
    panel: PanelEntry | None
    groups: GroupEntry | None = None
    n_groups: int = 0
    """Groups of the confidential data."""
    design: DesignEntry | None = None
    seed: int
    random_key: str | None = Field(default=None, repr=False)
    """Key for exact repetition, 64 hexadecimal digits; ``none`` without a key."""
    seed_of_fit: int | None = None
    """Seed of the saved model that drew the datasets."""
    m: int
    """Number of synthetic datasets."""
    rows: int
    """Records, persons or groups of each dataset."""
    variables: tuple[VariableEntry, ...]
    chain: tuple[StepEntry, ...]
    maker: str | None = None
    """Key of the extension that made whole datasets; None for draws of the chain."""
    extensions: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """Facts of extensions by key."""
    contains: tuple[str, ...] = ()
    """SHA-256 of datasets of another run inside those of this run."""
    after: tuple[str, ...] = ()
    """Steps on each dataset after synthesis, before checks and output."""
    conditions: Mapping[str, Any] = Field(default_factory=dict)
    """Tables and rows of conditions, and numbers of candidates of each dataset."""
    relations: tuple[str, ...] = ()
    """Relations of all rows that synthetic rows keep."""
    differences: tuple[str, ...] = ()
    """How datasets of a low fidelity differ from the original."""
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    """Duration of each phase."""
    python: str
    plugins: tuple[str, ...] = ()
    """Modules with further models."""
    packages: Mapping[str, str]
    """Versions."""
    exceeded_limits: tuple[str, ...] = ()
    verdict: Mapping[str, str] = Field(default_factory=dict)
    """Outcome of each line of the verdict: pass, unclear or fail."""
    earlier_runs: int = 0
    """Replaced runs with these settings and other draws."""
    files: tuple[FileEntry, ...] = Field(default=())

    @property
    def public(self) -> PublicManifest:
        """The part for researchers."""
        try:
            config = PublicConfig.model_validate(self.config)
        except ValidationError as error:
            raise DataError(_damaged(Path(MANIFEST), error, "config")) from error
        names = PublicManifest.model_fields.keys() & type(self).model_fields.keys() - {"config"}
        facts = {name: getattr(self, name) for name in names}
        rows = self.n_units if config.output.publish_rows else None
        return PublicManifest(config=config, original_rows=rows, **facts)

    @property
    def n_units(self) -> int:
        """Records of the confidential data; persons of a panel, or groups."""
        persons = self.data.rows if self.panel is None else self.panel.persons
        return self.n_groups or persons

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the files of the synthetic datasets."""
        return tuple(file.name for file in self.files if file.name.startswith("synthetic_"))


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Labels of variables and values, from configuration and source.

    Examples
    --------
    >>> labels = Labels(variables={"sex": "Sex of the head"}, levels={"sex": {"1": "female"}})
    >>> labels.variable("sex"), labels.level("sex", "1"), labels.level("sex@2003", "2")
    ('sex (Sex of the head)', '1 female', '2')
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def variable(self, name: str) -> str:
        """Return a variable with its label."""
        label = self.variables.get(name) or self.variables.get(name.partition("@")[0])
        return f"{name} ({label})" if label else name

    def level(self, name: str, code: str) -> str:
        """Return a value of a variable with its label."""
        known = self.levels.get(name) or self.levels.get(name.partition("@")[0], {})
        label = known.get("" if code == EMPTY else code)
        return f"{code} {label}" if label else code

    def cell(self, text: str) -> str:
        """Return a cell of a table, with labels of the variables or of the value that it names.

        Lists of more than three variables are unchanged.

        Examples
        --------
        >>> labels = Labels(variables={"sex": "Sex of the head"}, levels={"sex": {"1": "female"}})
        >>> labels.cell("sex, age"), labels.cell("sex[1]"), labels.cell("age")
        ('sex (Sex of the head), age', 'sex[1] (Sex of the head: female)', 'age')
        """
        parts = text.split(", ")
        if len(parts) <= _MOST_LABELLED and any(self.variable(part) != part for part in parts):
            return ", ".join(map(self.variable, parts))
        term = _TERM.fullmatch(text)
        if term is None or not (label := self.variables.get(term["name"])):
            return text
        code = term["bracket"] or term["equal"] or ""
        meaning = self.levels.get(term["name"], {}).get(code)
        return f"{text} ({label}: {meaning})" if meaning else f"{text} ({label})"


_MOST_LABELLED: Final = 3
_TERM: Final = re.compile(r"(?P<name>.+?)(\[(?P<bracket>.*)\]|=(?P<equal>.*))", re.DOTALL)
"""A coefficient or a value: ``sex[1]``, ``sex=1``."""


@dataclass(frozen=True)
class Record:
    """Manifest and results of a run.

    Parameters
    ----------
    manifest : Manifest
        How the datasets were made.
    results : CheckResults
        Results of the checks.
    exceeded : tuple of str
        Sentences on exceeded limits of the configuration.
    extensions : mapping
        Results of extensions by key.
    changes : tuple of str
        Sentences on files that have changed since the run.
    """

    manifest: Manifest
    results: CheckResults
    exceeded: tuple[str, ...] = ()
    extensions: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[str, ...] = ()

    @property
    def of_files(self) -> bool:
        """Whether the datasets are files of others, without known models."""
        return not self.manifest.chain and self.manifest.maker is None

    @cached_property
    def verdict(self) -> Verdict:
        """May the datasets be released? By the limits of the configuration."""
        return verdict(self.results, LimitConfig(**(self.manifest.config.get("limits") or {})))

    def judged_by(self, **terms: str) -> Record:
        """Return the record with another profile, purpose or release under ``limits:``."""
        limits = {**(self.manifest.config.get("limits") or {}), **terms}
        config = {**self.manifest.config, **({"limits": limits} if terms else {})}
        return replace(self, manifest=self.manifest.model_copy(update={"config": config}))

    @property
    def units(self) -> Units:
        """Units of the figures."""
        return "persons" if self.manifest.panel or self.manifest.groups else "records"

    @property
    def drawn_units(self) -> str:
        """Units of ``manifest.rows``."""
        return self.units if self.manifest.groups is None else f"{self.manifest.groups.unit}s"

    @cached_property
    def labels(self) -> Labels:
        """Labels of variables and values; the configuration has priority over the source."""
        variables = {entry.name: entry.label for entry in self.manifest.variables}
        levels = {entry.name: dict(entry.level_labels) for entry in self.manifest.variables}
        for name, declared in self.manifest.public.config.variables.items():
            variables[name] = declared.label or variables.get(name, "")
            levels[name] = levels.get(name, {}) | dict(declared.level_labels)
        return Labels(variables=variables, levels=levels)


def read_record(directory: Path, *, compare_files: bool = True) -> Record:
    """Return the record in a result directory; ``compare_files`` looks for changed files.

    Raises
    ------
    DataError
        If the directory is not a result of a run of this version, or is damaged.
    """
    manifest = run_manifest(directory)
    path = directory / CHECKS
    if manifest.seed_of_fit is not None:
        raise DataError(
            f"{directory}: 'generate' makes no checks, so there is nothing to report; to compare "
            f"its files with the original, write: synthesizer check ORIGINAL {directory}"
        )
    if not path.is_file():
        raise DataError(f"{path} is missing: checks were off, or the run is incomplete; {RERUN}")
    content = _content(path, FORMAT)
    try:
        results = typed(CheckResults, content.get("results"))
        stored = content.get("extensions") or {}
        extensions = {name: hook(stored[name]) for name, hook in hooks("result", stored)}
        exceeded = TypeAdapter(tuple[str, ...]).validate_python(content.get("exceeded"))
    except ValidationError as error:
        raise DataError(_damaged(path, error)) from error
    changes = tuple(_changes(directory, manifest)) if compare_files else ()
    return Record(manifest, results, exceeded, extensions, changes)


def run_manifest(directory: Path) -> Manifest:
    """Return the manifest of a result directory; a DataError also without one."""
    manifest = manifest_in(directory)
    if manifest is None:
        raise DataError(
            f"{directory} is no result of a run: it has no {MANIFEST}; name the directory that "
            "'synthesizer run' wrote"
        )
    return manifest


def manifest_in(directory: Path) -> Manifest | None:
    """Return the manifest of a result directory; None without one.

    Raises
    ------
    DataError
        If another version wrote it, or it is damaged.
    """
    path = directory / MANIFEST
    if not os.path.isfile(path):
        return None
    content = _content(path, 1)
    former = content.keys() - Manifest.model_fields.keys()
    if any(content[key] is not None for key in former):
        raise DataError(
            f"{path} has keys of another version of synthesizer; read it with that version, or run "
            "again in another directory"
        )
    try:
        return Manifest.model_validate({k: v for k, v in content.items() if k not in former})
    except ValidationError as error:
        raise DataError(_damaged(path, error)) from error


def _content(path: Path, version: int) -> Mapping[str, Any]:
    """Return the content of a file, if this version wrote it."""
    try:
        data = parse_json(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: it was damaged or edited; {RERUN}") from error
    if not isinstance(data, dict) or data.get("kind") is not None or data.get("format") is None:
        raise DataError(f"{path} is not a file of a run; {RERUN}")
    if data["format"] != version:
        raise DataError(
            f"{path} was written by another version of synthesizer (format "
            f"{data['format']!r}; this version reads {version}); {RERUN}"
        )
    return data


def _damaged(path: Path, error: ValidationError, within: str = "") -> str:
    """Return where a file differs from the format of this version, without its values."""
    where, first = _first_fault(error)
    path_in_file = ".".join(map(str, (*filter(None, [within]), *where))) or "the file"
    if first["type"] == "value_error":
        return f"{path}: {path_in_file}: {first['ctx']['error']}"
    return f"{path}: {path_in_file} does not have the format of this version; {RERUN}"


def _first_fault(error: ValidationError) -> tuple[tuple[int | str, ...], Mapping[str, Any]]:
    """Return the path and content of the first fault, also inside nested results."""
    first = error.errors()[0]
    inner = first.get("ctx", {}).get("error")
    if not isinstance(inner, ValidationError):
        return first["loc"], first
    where, fault = _first_fault(inner)
    return (*first["loc"], *where), fault


def _changes(directory: Path, manifest: Manifest) -> Iterator[str]:
    """Yield sentences on files that have changed since they were checked."""
    for entry in manifest.files:
        path = directory / entry.name
        if not path.is_file():
            yield f"{entry.name} of the manifest is missing; restore it, or {RERUN}"
        elif sha256(path) != entry.sha256:
            yield (
                f"{entry.name} has changed since the run (another hash than in the manifest), so "
                f"the figures may be wrong; {RERUN}"
            )


def order_notes(
    original: Path, synthetic: Sequence[Path], hashes: Mapping[Path, str]
) -> Iterator[str]:
    """Yield notes on files in the wrong order, or from other data, by their manifests."""
    if maker_of(original) is not None:
        yield (
            f"{original} is a synthetic dataset by the manifest in its directory; name the "
            "original first, then the synthetic files"
        )
    makers = {p: maker for p in (original, *synthetic) if (maker := maker_of(p)) is not None}
    of_data = [p for p, maker in makers.items() if maker.confidential == NOT_FOR_RELEASE]
    sources = {path: makers[path].data.sha256 for path in of_data}
    yield from dict.fromkeys(words for one in makers.values() for words in one.differences)
    pages = sorted({path.parent / "report.html" for path in makers})
    yield from (f"The run measured more: see {page}" for page in pages if os.path.isfile(page))
    for path in synthetic if sources else ():
        if hashes[path] in sources.values():
            yield f"{path} is the original of the other files, by a manifest"
    others = [path for path in synthetic if sources.get(path) not in (None, hashes[original])]
    if others and original not in sources:
        yield (
            f"{len(others)} of {len(synthetic)} synthetic files were made from another file than "
            f"{original}, by the manifest in their directory"
        )


def maker_of(path: Path) -> Manifest | None:
    """Return the manifest of the run of a file or directory; None without one."""
    try:
        manifest = manifest_in(path if os.path.isdir(path) else path.parent)
    except DataError:  # an unreadable manifest is ignored
        return None
    is_listed = manifest is not None and (os.path.isdir(path) or path.name in manifest.datasets)
    return manifest if is_listed else None


def is_path(name: str) -> bool:
    """Whether a name is a path on any operating system."""
    return PureWindowsPath(name).name != name or name in ("", ".", "..")
