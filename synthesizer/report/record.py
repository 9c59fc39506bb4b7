"""The typed record of a run: its manifest and its results, written and read by these types.

The report, the comparison and the codebook take a `Record`. A record is confidential, except for
`Manifest.public`.
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
"""Software whose versions a manifest names."""
AGAIN = "run again with --overwrite"


class FileEntry(Result):
    """A file of a run."""

    name: str
    """A name alone: a path could lead out of the directory of the run."""
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
    """Of the file, and the catalogue of its labels after it; None of what is no file."""
    rows: int
    columns: int


class PanelEntry(Result):
    """Who and when of a panel."""

    form: Literal["long", "wide"]
    person: str | None
    time: str | None
    career: str | None
    persons: int
    periods: int
    sha256: str | None = None
    """Digest of the persons' confidential histories, by which a revision is seen; None of runs of
    earlier versions."""


class GroupEntry(Result):
    """What the persons of the confidential file belong to."""

    unit: str
    """What it is, in a word."""
    column: str
    """Column that persons of one share."""


class DesignEntry(Result):
    """How the records of the confidential file were sampled."""

    weight: str
    strata: str | None = None
    psu: str | None = None
    redrawn: bool = False
    """Whether every dataset was made from a sample that was drawn anew."""


class VariableEntry(Result):
    """A variable of the file."""

    name: str
    kind: str
    missing: tuple[str, ...]
    """Codes of missing values."""
    date_format: str | None
    label: str = ""
    """What the source says that it is."""
    level_labels: Mapping[str, str] = Field(default_factory=dict)
    """What the source says that values mean."""


class TreesEntry(Result):
    """How the trees of a step draw."""

    even: bool
    """Whether some of the draws were spread evenly over a leaf."""
    leaf_regression: bool
    """Whether all draws were asked to follow a regression of what the tree leaves unexplained."""


class StepEntry(Result):
    """How one variable was made."""

    variable: str
    kind: str
    model: str
    """The key of what made whole datasets, where no model drew it."""
    model_of_missing_codes: str | None
    predictors: tuple[str, ...]
    """Names of what it was drawn from; not told where ``closest`` is a number."""
    kept: bool
    """Whether the values are the confidential ones."""
    closest: int | None = None
    """So many of all earlier variables, those that go with it most closely in the confidential
    data; None where ``predictors`` names them."""
    codes: int | None = None
    """Levels and missing codes together, of a variable that has such."""
    base: tuple[str, ...] = ()
    """Models inside the model, the outer ones first."""
    trees: TreesEntry | None = None
    in_words: tuple[str, ...] = ()
    """How the model, and those inside it, are called in a sentence."""
    missing_in_words: str | None = None
    """The same of the model of missing codes, of a variable that has such beside its values."""
    options: Mapping[str, Any] = Field(default_factory=dict)
    """Options of the model that researchers may be told."""
    columns: tuple[str, ...] = ()
    """Columns of the file that hold the variable, where it is none itself."""


class _Public(BaseModel):
    """A part of a configuration as it was written: other keys stay unread, None is the default."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nothing(cls, content: Any) -> Any:
        if not isinstance(content, Mapping):
            return content
        return {key: value for key, value in content.items() if value is not None}


class PublicVariable(_Public):
    """What the configuration says of a variable."""

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
    """What one variable does not do from one period to the next."""

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
    """What is published beside the datasets."""

    publish_rows: bool = False
    spreadsheet_safe: bool = False


class PublicAfter(_Public):
    """The column that says that the data are synthetic."""

    label: Mapping[str, str] = Field(default_factory=dict)


class PublicRare(_Public):
    """How levels of few persons were grouped."""

    min_count: int = 5
    to: str = "other"


class PublicConfig(_Public):
    """The parts of a configuration that say how datasets were made."""

    data: PublicData = PublicData()
    variables: Mapping[str, PublicVariable] = Field(default_factory=dict)
    method: Any = None
    """A model or an expression for each variable, where it is a mapping."""
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
    """What a codebook for researchers may read of a manifest: nothing computed from the data."""

    config: PublicConfig
    panel: PanelEntry | None
    groups: GroupEntry | None = None
    design: DesignEntry | None = None
    variables: tuple[VariableEntry, ...]
    chain: tuple[StepEntry, ...]
    maker: str | None = None
    """The key of what made whole datasets; None where the chain drew them."""
    extensions: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """How extensions made datasets, by key."""
    packages: Mapping[str, str]
    original_rows: int | None
    """Records, persons of a panel, or groups; None unless the steward publishes them."""
    after: tuple[str, ...] = ()
    """What was done to every dataset after synthesis."""


class Manifest(Result):
    """How the datasets of a run were made, for the steward only: the content of its file.

    Researchers may be told of it what `public` returns, and nothing else.
    """

    confidential: str = "not for release with the datasets"
    format: Literal[1] = 1
    created: str
    """Time in UTC."""
    config: Mapping[str, Any]
    """The configuration as it was written, without the password of a database."""
    config_sha256: str
    data: DataEntry
    panel: PanelEntry | None
    groups: GroupEntry | None = None
    n_groups: int = 0
    """Of the confidential data."""
    design: DesignEntry | None = None
    seed: int
    random_key: str | None = Field(default=None, repr=False)
    """The key of every draw, 64 hexadecimal digits; ``none`` where the seed alone decided."""
    seed_of_fit: int | None = None
    """Of datasets that a saved model drew."""
    m: int
    """Number of synthetic datasets."""
    rows: int
    """Of each dataset; persons of a panel, and groups where persons belong to such."""
    variables: tuple[VariableEntry, ...]
    chain: tuple[StepEntry, ...]
    maker: str | None = None
    """The key of what made whole datasets; None where the chain drew them."""
    extensions: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """How extensions made datasets, by key."""
    contains: tuple[str, ...] = ()
    """SHA-256 of the datasets of another run that those of this one contain."""
    after: tuple[str, ...] = ()
    """What was done to every dataset after synthesis, before it was checked and written."""
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    """What each phase took."""
    python: str
    plugins: tuple[str, ...] = ()
    """Modules that models were taken from."""
    packages: Mapping[str, str]
    """Versions."""
    exceeded_limits: tuple[str, ...] = ()
    verdict: Mapping[str, str] = Field(default_factory=dict)
    """The word of each line of the verdict: pass, unclear or fail."""
    earlier_runs: int = 0
    """Runs with these settings that this one replaced, each with other draws."""
    files: tuple[FileEntry, ...] = Field(default=())

    @property
    def public(self) -> PublicManifest:
        """What a codebook may read; everything else stays with the steward."""
        try:
            config = PublicConfig.model_validate(self.config)
        except ValidationError as error:
            raise DataError(_damaged(Path(MANIFEST), error, "config")) from error
        return PublicManifest(
            config=config,
            panel=self.panel,
            groups=self.groups,
            design=self.design,
            variables=self.variables,
            chain=self.chain,
            maker=self.maker,
            extensions=self.extensions,
            packages=self.packages,
            after=self.after,
            original_rows=self.n_units if config.output.publish_rows else None,
        )

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
    """What variables and their values mean, by the configuration and by the source.

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
        """Return a cell of a table, with labels where it names variables or one of their values.

        Lists of more than three variables stay as they are.

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
"""A coefficient or an answer: ``sex[1]``, ``sex=1``."""


@dataclass(frozen=True)
class Record:
    """Everything that a run leaves to be told.

    Parameters
    ----------
    manifest : Manifest
        How the datasets were made.
    results : CheckResults
        What the checks found.
    exceeded : tuple of str
        Checks above a limit of the configuration, in words.
    extensions : mapping
        What extensions that made datasets came to, by key.
    changes : tuple of str
        Files that are no longer those of the run, in words; empty where nothing was read.
    """

    manifest: Manifest
    results: CheckResults
    exceeded: tuple[str, ...] = ()
    extensions: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[str, ...] = ()

    @property
    def of_files(self) -> bool:
        """Whether somebody else made the datasets, so that no model is known."""
        return not self.manifest.chain and self.manifest.maker is None

    @cached_property
    def verdict(self) -> Verdict:
        """May the datasets be released? From the results and the limits of the configuration."""
        return verdict(self.results, LimitConfig(**(self.manifest.config.get("limits") or {})))

    def judged_by(self, **terms: str) -> Record:
        """Return the record with another profile, purpose or release under ``limits:``."""
        limits = {**(self.manifest.config.get("limits") or {}), **terms}
        config = {**self.manifest.config, **({"limits": limits} if terms else {})}
        return replace(self, manifest=self.manifest.model_copy(update={"config": config}))

    @property
    def units(self) -> Units:
        """What is counted."""
        return "persons" if self.manifest.panel or self.manifest.groups else "records"

    @property
    def drawn_units(self) -> str:
        """What datasets have as many of as ``manifest.rows`` says."""
        return self.units if self.manifest.groups is None else f"{self.manifest.groups.unit}s"

    @cached_property
    def labels(self) -> Labels:
        """What variables and values mean; those of the configuration go before the source's."""
        variables = {entry.name: entry.label for entry in self.manifest.variables}
        levels = {entry.name: dict(entry.level_labels) for entry in self.manifest.variables}
        for name, said in self.manifest.public.config.variables.items():
            variables[name] = said.label or variables.get(name, "")
            levels[name] = levels.get(name, {}) | dict(said.level_labels)
        return Labels(variables=variables, levels=levels)


def read_record(directory: Path, *, compare_files: bool = True) -> Record:
    """Read what a run left; ``compare_files`` asks whether its files have changed since.

    Raises
    ------
    DataError
        In one sentence, if the directory is no result of a run, or another version wrote it, or it
        was damaged.
    """
    manifest = manifest_in(directory)
    if manifest is None:
        raise DataError(
            f"{directory} is no result of a run: it has no {MANIFEST}; name the directory that "
            "'synthesizer run' wrote"
        )
    path = directory / CHECKS
    if not path.is_file():
        raise DataError(
            f"{path} is missing: nothing was checked, or the run is incomplete; {AGAIN}"
        )
    content = _content(path, FORMAT)
    try:
        results = typed(CheckResults, content.get("results"))
        stored = content.get("extensions") or {}
        beside = {name: hook(stored[name]) for name, hook in hooks("result", stored)}
        exceeded = TypeAdapter(tuple[str, ...]).validate_python(content.get("exceeded"))
    except ValidationError as error:
        raise DataError(_damaged(path, error)) from error
    changes = tuple(_changes(directory, manifest)) if compare_files else ()
    return Record(manifest, results, exceeded, beside, changes)


def manifest_in(directory: Path) -> Manifest | None:
    """Return the manifest of a result directory, None where there is no such file.

    Raises
    ------
    DataError
        In one sentence, if another version wrote it, or it was damaged.
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
    """Return the content of a file of this version."""
    try:
        content = parse_json(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: it was damaged or edited; {AGAIN}") from error
    if (
        not isinstance(content, dict)
        or content.get("kind") is not None
        or content.get("format") is None
    ):
        raise DataError(f"{path} holds something else than a run writes; {AGAIN}")
    if content["format"] != version:
        raise DataError(
            f"{path} was written by another version of synthesizer (format "
            f"{content['format']!r}; this version reads {version}); {AGAIN}"
        )
    return content


def _damaged(path: Path, error: ValidationError, within: str = "") -> str:
    """Describe where a file differs from this version's form, without any of its values."""
    where, first = _first_fault(error)
    place = ".".join(map(str, (*filter(None, [within]), *where))) or "the file"
    if first["type"] == "value_error":
        return f"{path}: {place}: {first['ctx']['error']}"
    return f"{path}: {place} is not as this version writes it; it was edited or damaged; {AGAIN}"


def _first_fault(error: ValidationError) -> tuple[tuple[int | str, ...], Mapping[str, Any]]:
    """Return the first fault and its place; a result that is read by its own type has its own."""
    first = error.errors()[0]
    inner = first.get("ctx", {}).get("error")
    if not isinstance(inner, ValidationError):
        return first["loc"], first
    where, fault = _first_fault(inner)
    return (*first["loc"], *where), fault


def _changes(directory: Path, manifest: Manifest) -> Iterator[str]:
    """Name the files that have changed since they were checked."""
    for entry in manifest.files:
        path = directory / entry.name
        if not path.is_file():
            yield f"{entry.name} is gone and the manifest lists it; restore it, or {AGAIN}"
        elif sha256(path) != entry.sha256:
            yield (
                f"{entry.name} has changed since the run (its hash is not that of the manifest): "
                f"the figures of the run may be about something else; {AGAIN}"
            )


def order_notes(
    original: Path, synthetic: Sequence[Path], hashes: Mapping[Path, str]
) -> Iterator[str]:
    """Note files that, by their manifests, are in the wrong order or made from other data."""
    beside = maker_of(original)
    if beside is not None:
        yield (
            f"{original} is a synthetic dataset by the manifest beside it: the original comes "
            "first, the synthetic files after it"
        )
    makers = {
        path: maker for path in (original, *synthetic) if (maker := maker_of(path)) is not None
    }
    sources = {path: maker.data.sha256 for path, maker in makers.items()}
    for path in synthetic if sources else ():
        if hashes[path] in sources.values():
            yield f"{path} is, by a manifest, the original that the other files were made from"
    others = [path for path in synthetic if sources.get(path) not in (None, hashes[original])]
    if others and original not in sources:
        yield (
            f"{len(others)} of {len(synthetic)} synthetic files come from another file than "
            f"{original}, by the manifest beside them"
        )


def maker_of(path: Path) -> Manifest | None:
    """Return the manifest of the run that made a file or a directory; None where none is known."""
    try:
        manifest = manifest_in(path if os.path.isdir(path) else path.parent)
    except DataError:  # the manifest is only a hint, so an unreadable one is ignored
        return None
    is_listed = manifest is not None and (os.path.isdir(path) or path.name in manifest.datasets)
    return manifest if is_listed else None


def is_path(name: str) -> bool:
    """Whether a name is a path, for any system."""
    return PureWindowsPath(name).name != name or name in ("", ".", "..")
