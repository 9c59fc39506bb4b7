"""The configuration of a run as frozen, typed objects.

`synthesizer.config.reading` turns text into `Config` and collects unknown keys and wrong values.
`synthesizer.plan.plan` checks the configuration against the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    create_model,
    model_validator,
)

from synthesizer.config.section import SampleDesign, Section, section_keys
from synthesizer.data.dialects import FileOptions
from synthesizer.data.encoding import NEAREST
from synthesizer.data.errors import RENAMED, ConfigError
from synthesizer.data.formats import CORE_FORMS, format_keys, formats
from synthesizer.data.guessing import Declaration
from synthesizer.data.id_patterns import Form
from synthesizer.data.options import MAX_REPEATS, MAX_ROWS, Whole, no_boolean
from synthesizer.data.panel.arrangement import Arranging
from synthesizer.data.plugins import (
    arranging_keys,
    extension_keys,
    fidelities,
    guarded,
    installed,
    makers,
    placed,
)
from synthesizer.data.randomness import MAX_SEED, NO_KEY
from synthesizer.data.table import Kind
from synthesizer.data.workers import MAX_WORKERS
from synthesizer.data.yaml_text import without_infinities
from synthesizer.engine.registry import DEFAULT_SET
from synthesizer.measures.measure_options import Label, Labels, Names, Part
from synthesizer.measures.settings import CheckSettings, LimitConfig


def _listed(value: object) -> object:
    """Return a list for a single text; other values unchanged."""
    return [value] if isinstance(value, str) else value


def _pairs(value: object) -> object:
    """Return a list of pairs of states for one pair or a list."""
    pairs = list(value) if isinstance(value, list | tuple) else [value]
    if len(pairs) == 2 and not any(isinstance(v, list | tuple) for v in pairs):
        pairs = [pairs]
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise ValueError("must be pairs [from, to] of states; write [[a, b], [a, c]]")
    return pairs


Pairs = Annotated[tuple[tuple[Label, Label], ...], BeforeValidator(_pairs)]


MAX_PREDICTORS = 60
"""Default of ``max_predictors``; usual files have fewer variables."""
WARNED = "on_violation: warn"
"""Ends notes on settings that the data break."""


class PathRuleConfig(Part):
    """Changes of one variable between periods that cannot occur."""

    variable: Label = Field(description="longitudinal variable, or the career variable")
    absorbing: Labels = Field((), description="states that a person never leaves")
    never: Pairs = Field((), description="pairs [from, to] of states that never follow each other")
    non_decreasing: bool = Field(False, description="numbers, dates and ordered levels never fall")

    @model_validator(mode="after")
    def _has_rule(self) -> PathRuleConfig:
        if not (self.absorbing or self.never or self.non_decreasing):
            raise ValueError("needs one of absorbing, never and non_decreasing")
        return self


class PanelConfig(Part, Section, Arranging):
    """Columns of persons and periods: ``person`` and ``time``, or ``wide``."""

    person: Label | None = Field(None, description="long form: column that identifies persons")
    time: Label | None = Field(None, description="long form: column of the period")
    wide: dict[Label, Names] = Field(
        default_factory=dict,
        description="wide form: map from variable to columns in order of time, or 'first..last'",
    )
    absent: Labels = Field(
        (),
        description="wide form: labels for a person who is absent in a period; each variable needs "
        "one of them, and its first one is written",
    )
    career: Label | None = Field(None, description="variable whose states are drawn as careers")
    rules: tuple[PathRuleConfig, ...] = Field((), description="rules from period to period")
    view: Labels = Field(
        (), description="periods whose values the checks of persons use, besides first and last"
    )

    @model_validator(mode="after")
    def _one_form(self) -> PanelConfig:
        long = self.person is not None or self.time is not None
        if long == bool(self.wide):
            raise ValueError("needs either person and time (long form), or wide")
        if long and (self.person is None or self.time is None):
            raise ValueError("needs both person and time")
        if long and self.person == self.time:
            raise ValueError("person and time must be two different columns")
        if long and self.absent:
            raise ValueError(
                "absent belongs to the wide form; in the long form a person without a row is "
                "absent: remove absent"
            )
        return self

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The kind of the column of persons."""
        return {} if self.person is None else {self.person: Kind.ID}

    @property
    def key_columns(self) -> Sequence[str]:
        """The columns of person and period of the long form."""
        return [name for name in (self.person, self.time) if name is not None]

    def needed(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that another file of this panel must have."""
        from synthesizer.data.panel.forms import wide_columns

        wide = [cell for cells in self.wide.values() for cell in wide_columns(cells, names)]
        long = [name for name in (self.person, self.time, self.career) if name is not None]
        return tuple(dict.fromkeys(wide if self.wide else long))


def _shape(value: object) -> str | None:
    """Return the branch of a union, so that problems concern this branch only."""
    if isinstance(value, list | tuple):
        return "tuple[]"
    if isinstance(value, Mapping):
        return "dict[]"
    return "str[]" if isinstance(value, str) else None


class SurvivalConfig(Part):
    """An event, and the time until it or until the end of observation."""

    event: Label = Field(description="outcome at that time: two levels, or competing risks")
    time: Label = Field(description="numeric variable: days, months or years since the start")


def _methods(value: object) -> object:
    """Return "" for an empty value, which keeps the variable."""
    return "" if value is None else value


Method = Annotated[str, BeforeValidator(_methods)]
ModelOptions = Annotated[dict[str, Any], BeforeValidator(without_infinities)]


def _four(value: tuple[str, ...]) -> tuple[str, ...]:
    if len(value) != 4:
        raise ValueError(
            f"needs four models, for numeric, two-level, categorical and ordered variables, "
            f"got {len(value)}"
        )
    return value


DefaultMethod = Annotated[
    Annotated[str, Tag("str[]")]
    | Annotated[dict[str, str], Tag("dict[]")]
    | Annotated[tuple[str, ...], AfterValidator(_four), Tag("tuple[]")],
    Discriminator(
        _shape,
        custom_error_type="shape",
        custom_error_message="must be a model, a map from kind to model, or a list of four models",
    ),
]
Methods = Annotated[
    Annotated[dict[str, Method], Tag("dict[]")] | Annotated[tuple[Method, ...], Tag("tuple[]")],
    Discriminator(
        _shape,
        custom_error_type="shape",
        custom_error_message="must be a model, a map from variable to model, or a list with one "
        "model for each column",
    ),
]


class SqlConfig(Part):
    """A query as the source of the data."""

    url: str = Field(description="SQLAlchemy URL of the database")
    query: str = Field(description="SELECT statement that returns the confidential data")


class _DataConfig(Part):
    """The source of the confidential data: exactly one of path, sql and sample."""

    path: Path | None = Field(
        None,
        description="file: CSV or JSON lines (.jsonl, .ndjson; both also .gz, .bz2, .xz, .zip), "
        "Parquet (also a directory), Feather (.feather, .arrow), or another format: "
        f"{', '.join(ending for one in formats() for ending in one.endings)}",
    )
    sql: SqlConfig | None = Field(None, description="database query; needs the extra 'sql'")
    sample: str | None = Field(None, description="built-in: fair, randhie or federal_workforce")
    persons: Whole | None = Field(
        None, ge=1, le=50_000_000, description="persons of a simulated sample; default 2,000"
    )
    delimiter: str | None = Field(
        None, min_length=1, max_length=1, description="CSV: delimiter; detected by default"
    )
    quote: Literal['"', "'"] | None = Field(None, description="CSV: quotes; detected by default")
    comment: Label | None = Field(None, description="CSV: first sign of lines to skip; default #")
    header_row: Whole | None = Field(
        None,
        ge=1,
        description="CSV, sheets: line with the names, from 1; lines above it are skipped",
    )
    names: Names | None = Field(
        None, description="CSV, sheets: names of all columns, instead of those in the file"
    )
    encoding: str | None = Field(None, description="encoding; by default as in the file, or utf-8")
    max_unpacked_mb: Whole | None = Field(
        None,
        ge=1,
        description="largest size of the unpacked file in MB; by default 100 times its size (at "
        "least 256) and at most half of the free memory",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = [name for name in ("path", "sql", "sample") if getattr(self, name) is not None]
        if len(sources) != 1:
            raise ValueError(f"needs exactly one of path, sql and sample, got {sources or 'none'}")
        if self.persons is not None and self.sample is None:
            raise ValueError("persons belongs to a simulated sample; remove persons")
        return self

    @property
    def of_format(self) -> dict[str, Any]:
        """The values of keys that belong to one file format."""
        values = {key: getattr(self, key) for key in format_keys()}
        return {key: value for key, value in values.items() if value is not None}

    @property
    def reading(self) -> FileOptions:
        """The options for reading the file."""
        values = {key: getattr(self, key) for key in FileOptions.__annotations__}
        return cast("FileOptions", values)

    @property
    def beside(self) -> list[Path]:
        """Further files of the source, such as one with its labels."""
        return [value for value in self.of_format.values() if isinstance(value, Path)]


def _extended(
    name: str, core: type[Part], prefix: str, fields: Mapping[str, Any], *further: str
) -> Any:
    """Return a part of the configuration with the keys of extensions."""
    if taken := [k for k in fields if hasattr(core, k) or k in (*core.model_fields, *further)]:
        words = "an extension has a key of the core; remove this extension"
        raise ConfigError(f"{prefix}{key}: {words}" for key in taken)
    doc = core.__doc__
    return create_model(name, __base__=core, __doc__=doc, __module__=__name__, **fields)


_TYPES: Mapping[type, Any] = {str: Label, int: Whole}
if TYPE_CHECKING:

    class DataConfig(_DataConfig):
        """The source of the confidential data, with keys of formats and extensions."""

        def __init__(self, **options: Any) -> None: ...

else:
    _of_formats = {
        key: (_TYPES.get(one.type, one.type) | None, Field(None, description=one.description))
        for key, one in format_keys().items()
    }
    DataConfig = _extended("DataConfig", _DataConfig, "data.", _of_formats | placed("data"))


def _writable(form: str) -> str:
    if form not in FORMS:
        raise ValueError(f"must be one of {', '.join(FORMS)}")
    return form


FORMS = (*CORE_FORMS, *(form for one in formats() for form in one.forms))
"""Formats in which datasets are written."""


class _OutputConfig(Part):
    """Directory, format and documents of the output."""

    directory: Path = Field(Path("synthetic"), description="directory that the run creates")
    format: Annotated[str, AfterValidator(_writable)] | None = Field(
        None,
        description="; ".join(
            ["format of the datasets; by default that of the source, or CSV"]
            + [one.writing.about for one in formats() if one.writing is not None]
        ),
        json_schema_extra={"enum": [*FORMS, None]},
    )
    overwrite: bool = Field(False, description="replace an existing result directory")
    report: bool = Field(True, description="write report.html, for the steward")
    codebook: bool = Field(True, description="write codebook.html and .json, for researchers")
    spreadsheet_safe: bool = Field(
        False, description="CSV: write an apostrophe before texts that a spreadsheet would run"
    )
    publish_rows: bool = Field(
        False, description="print the number of confidential records, or persons, in the codebook"
    )


if TYPE_CHECKING:
    OutputConfig = _OutputConfig
else:
    OutputConfig = _extended("OutputConfig", _OutputConfig, "output.", placed("output"))


class VariableConfig(Part):
    """Settings of one variable; absent ones are inferred from the data."""

    kind: Kind | None = Field(None, description="kind of the values; inferred by default")
    missing: Labels | None = Field(None, description="missing codes; '' is an empty cell")
    levels: Labels | None = Field(None, description="all levels; if ordered, lowest first")
    decimals: int | None = Field(None, ge=0, le=15, description="decimals of a numeric variable")
    date_format: str | None = Field(None, description="strptime format, such as %d.%m.%Y")
    public: bool = Field(
        False, description="true: its levels and missing codes are a public list, so rare ones stay"
    )
    method: Method | None = Field(None, description="model, or '~ expression' to compute it")
    derived: str | None = Field(None, description="expression by which it is computed")
    follows: Label | None = Field(
        None, description="code variable: each of its values belongs to one value of this variable"
    )
    missing_method: str | None = Field(None, description="model of the missing codes of a number")
    predictors: Names | None = Field(None, description="by default all earlier variables")
    exclude: Names = Field((), description="predictors to leave out")
    options: ModelOptions = Field(default_factory=dict, description="options of the model")
    label: str | None = Field(None, description="description for the codebook")
    form: Form | None = Field(
        None, description="identifiers: what is written; by default the form of the data"
    )
    may_repeat: bool = Field(
        False, description="identifiers with a form: true: those of the data may be written again"
    )
    unit: str | None = Field(None, description="unit of its numbers, for the codebook")
    level_labels: dict[Label, Label] = Field(
        default_factory=dict,
        description="meaning of levels and missing codes, for the codebook; '' is an empty cell",
    )

    @model_validator(mode="after")
    def _form_of_ids(self) -> Self:
        if self.form is not None and self.kind not in (None, Kind.ID):
            raise ValueError("form belongs to identifiers; write kind: id, or remove form")
        if self.may_repeat and self.form is None:
            raise ValueError("may_repeat belongs to a form; write form, or remove may_repeat")
        return self

    def declaration(self) -> Declaration:
        """Return the settings that decide how the column is read."""
        return Declaration(
            kind=self.kind,
            missing=self.missing,
            levels=self.levels,
            decimals=self.decimals,
            date_format=self.date_format,
            form=self.form,
            may_repeat=self.may_repeat,
        )


class RuleConfig(Part):
    """A rule: ``if`` and ``then``, or a text with a condition that always holds."""

    condition: str = Field("", alias="if", description="condition in the expression language")
    then: dict[str, Label] = Field(default_factory=dict, description="map from variable to value")
    always: str = Field("", description="condition that holds in every row, such as hire <= year")

    @model_validator(mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        return {"always": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_form(self) -> RuleConfig:
        if bool(self.always) == bool(self.condition or self.then) or (
            not self.always and not (self.condition and self.then)
        ):
            raise ValueError(
                "needs if and then, or one condition that always holds, such as hire <= year"
            )
        return self


class RelationsConfig(Part):
    """Relations that all rows of the data keep, and synthetic rows keep, too."""

    free: Names = Field(min_length=1, description="variables that are drawn without relations")


def _known_relations(value: object) -> object:
    """Return a valid value; YAML reads off and no as false."""
    if value not in ("auto", "none") and not isinstance(value, Mapping | RelationsConfig):
        raise ValueError("must be auto, none or {free: [NAME]}; to keep no relations, write none")
    return value


class RareConfig(Part):
    """Grouping of rare levels in the confidential data, before any fit."""

    min_count: Whole = Field(5, ge=2, description="levels of fewer persons, or rows, are grouped")
    to: Label = Field(
        "other",
        description="name of the group, or missing, or nearest (each joins the nearest level of "
        "enough persons); rare levels of an ordered variable join the next level, and rare numbers "
        "of a typed file become blank",
    )
    levels: Literal["all", "text"] = Field(
        "all", description="all variables, or text: none whose levels are numbers, or yes and no"
    )


class BlankRareConfig(Part):
    """Rare levels of a synthetic dataset that become blank."""

    variables: Names = Field(min_length=1, description="variables with levels")
    min_count: Whole = Field(
        5, ge=2, description="levels of fewer records (persons of a long panel) become blank"
    )


Number = Annotated[float, BeforeValidator(no_boolean), Field(allow_inf_nan=False)]
Base = Annotated[Number, Field(gt=0)]


class AfterConfig(Part):
    """Disclosure control after synthesis, in this order, before the checks."""

    round: dict[Label, Base] = Field(
        default_factory=dict, description="map from variable to the step of rounding"
    )
    bottom_code: dict[Label, Number] = Field(
        default_factory=dict,
        description="map from variable to its lowest number; lower ones become it",
    )
    top_code: dict[Label, Number] = Field(
        default_factory=dict,
        description="map from variable to its highest number; higher ones become it",
    )
    blank_rare: BlankRareConfig | None = Field(
        None, description="levels of few records of a dataset that become blank"
    )
    uniques: Literal["drop"] | None = Field(
        None,
        description="drop: leave out records that are unique and equal to a unique record of the "
        "original, like sdc of synthpop; weak, because absent records reveal which ones existed",
    )
    label: dict[Label, Label] = Field(
        default_factory=dict, description="map from a new column to its text in every record"
    )

    @model_validator(mode="after")
    def _one_label(self) -> AfterConfig:
        if len(self.label) > 1:
            raise ValueError("label: must be one column and its text, not several")
        return self


NUMBER_STEPS: Final = ("round", "bottom_code", "top_code")
"""Steps that change numbers."""


class KeyConfig(Part):
    """An earlier run to repeat."""

    manifest: Path = Field(alias="from", description="manifest.json of the run")


def _origin(value: object) -> str | None:
    """Return the branch of a random key."""
    if isinstance(value, Mapping | KeyConfig):
        return "dict[]"
    return "literal[]" if value == NO_KEY else None


RunKey = Annotated[
    Annotated[Literal["none"], Tag("literal[]")] | Annotated[KeyConfig, Tag("dict[]")],
    Discriminator(
        _origin,
        custom_error_type="shape",
        custom_error_message="must be none, or {from: RUN/manifest.json}; do not write the key "
        "itself here",
    ),
]


if TYPE_CHECKING:
    Machines = Part
else:
    Machines = _extended("Machines", Part, "workers.", placed("workers"))


def _number_or_machines(value: object) -> str:
    """Return the branch of workers, so that problems concern this branch only."""
    return "dict[]" if value and isinstance(value, Mapping | Machines) else "int[]"


Workers = Annotated[
    Annotated[Whole, Field(ge=-MAX_WORKERS, le=MAX_WORKERS), Tag("int[]")]
    | Annotated[Machines, Tag("dict[]")],
    Discriminator(_number_or_machines),
]


_ROWS = "makes rows, each by itself"


def _not_version_1(value: object) -> object:
    if value == 1:
        renamed = ", ".join(f"{old} to {new}" for old, new in RENAMED.items())
        raise ValueError(f"1 is of an earlier release: rename {renamed}, and write version: 2")
    return value


FULL: Final = "full"
MARGINS: Final = "margins"
LOW_FIDELITY: Final = {"profile": "low-fidelity-uk", "purpose": "code"}
"""Keys of limits for files whose analyses have no meaning."""


def _known_fidelity(value: str) -> str:
    if value not in (known := (FULL, MARGINS, *fidelities())):
        raise ValueError(f"must be one of {', '.join(known)} ({installed()})")
    return value


def _of_fidelity(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content with keys that a fidelity below full sets by default.

    The verdict is that of files for writing code; keys of the user take precedence, but each
    rare level, number or text, joins a level of the data.
    """
    fidelity, limits = content.get("fidelity"), content.get("limits") or {}
    if fidelity not in (MARGINS, *fidelities()):
        return dict(content)
    if isinstance(limits, LimitConfig):
        limits = {key: getattr(limits, key) for key in limits.model_fields_set}
    if isinstance(limits, Mapping):
        limits = {**LOW_FIDELITY, **limits}
    implied = {"default_method": "sample", "relations": "none"}
    sections: dict[str, Any] = {key: {} for value, key in fidelities().items() if value == fidelity}
    rare = content.get("rare", {})
    if isinstance(rare, Mapping):
        rare = {**rare, "to": NEAREST, "levels": "all"}
    return {**implied, **sections, **content, "limits": limits, "rare": rare}


class _ChainConfig(Part):
    """Models, rules and checks of a synthesis: the options of `Synthesizer`.

    Examples
    --------
    >>> ChainConfig(m=2).default_method
    'cart'
    >>> ChainConfig(m=2, seed=7)  # the seed is never printed
    ChainConfig(m=2)
    """

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield the keys that were set, except seed and random key."""
        pairs = super().__repr_args__()
        yield from ((name, value) for name, value in pairs if name not in ("seed", "random_key"))

    version: Annotated[Literal[2], BeforeValidator(_not_version_1)] = Field(
        2, description="version of this format"
    )
    seed: Whole | None = Field(None, ge=0, le=MAX_SEED, description="by default drawn and stored")
    random_key: RunKey | None = Field(
        None,
        description="random key of a run, by default drawn; none: reproducible from the seed "
        "alone, for public data only; {from: RUN/manifest.json}: repeats that run",
    )
    m: Whole = Field(1, ge=1, le=MAX_REPEATS, description="number of synthetic datasets")
    rows: Whole | None = Field(
        None,
        ge=1,
        le=MAX_ROWS,
        description="rows (persons) of each dataset; by default as the data",
    )
    workers: Workers | None = Field(
        None,
        description="; or ".join(
            ["parallel workers of joblib; by default all cores"]
            + [f"{{{k}: ...}}: {field.description}" for k, (_, field) in placed("workers").items()]
        ),
    )
    fidelity: Annotated[str, AfterValidator(_known_fidelity)] = Field(
        FULL,
        description="full: models of relations; margins: each variable by itself, rare levels "
        "joined, for writing code"
        + "".join(
            f"; {value}: {extension_keys()[k].description}" for value, k in fidelities().items()
        ),
    )
    proper: bool = Field(False, description="fit to a bootstrap sample for every dataset")
    strata: Names = Field((), description="each combination of their levels gets its own chain")
    keep: Names = Field((), description="variables copied from the original (partial synthesis)")
    drop: Names = Field((), description="columns left out of the synthesis and the output")
    min_stratum_rows: Whole | None = Field(
        None, ge=1, description="smallest number of rows of a stratum; default 10 + 10 x variables"
    )
    default_method: DefaultMethod = Field(
        DEFAULT_SET,
        description="a model, 'parametric', a map from kind to model, or a list of four models: "
        "for numeric, two-level, categorical and ordered variables",
    )
    method: Methods = Field(
        default_factory=dict,
        description="map from variable to model; or a list with one model for each column of the "
        "data, '' to keep it",
    )
    visit_sequence: Names | None = Field(None, description="order of draws; by default file order")
    predictor_matrix: dict[str, Names] = Field(
        default_factory=dict, description="map from variable to its predictors"
    )
    max_predictors: Annotated[Whole, Field(ge=1)] | Literal["all"] = Field(
        MAX_PREDICTORS,
        description="largest number of predictors of a model: the earlier variables that are most "
        "closely related; not used for variables with configured predictors",
    )
    models: dict[str, ModelOptions] = Field(
        default_factory=dict, description="map from model to options, such as cart: {min_leaf: 10}"
    )
    plugins: Names = Field(
        (), description="modules whose MODELS are used; importing them runs their code"
    )
    variables: dict[str, VariableConfig] = Field(
        default_factory=dict, description="of each variable"
    )
    rules: Annotated[tuple[RuleConfig, ...], BeforeValidator(_listed)] = Field(
        (), description="values that are certain under a condition; conditions that always hold"
    )
    forbid: Names = Field((), description="conditions that no synthetic row may satisfy")
    relations: Annotated[
        Literal["auto", "none"] | RelationsConfig, BeforeValidator(_known_relations)
    ] = Field(
        "auto",
        description="auto: synthetic rows keep relations that all rows of the data keep: formulas, "
        "labels of codes, orders, dummies, blanks; none: only configured ones; {free: [NAME]}: not "
        "those of these variables",
    )
    structural_zeros: Literal["auto"] | tuple[Literal["auto"] | Names, ...] = Field(
        (),
        description="lists of variables; only combinations that the data have are drawn. 'auto' "
        "detects pairs and triples with impossible combinations; it may be an entry of the list",
    )
    survival: tuple[SurvivalConfig, ...] = Field(
        (),
        description="pairs of an event and its time, drawn last, so that Cox models and logits of "
        "the synthetic data are right",
    )
    panel: PanelConfig | None = Field(None, description="persons and periods of a panel")
    rare: RareConfig | None = Field(None, description="how to group rare levels before any fit")
    after: AfterConfig | None = Field(
        None, description="disclosure control after synthesis: label, top_code, round and others"
    )
    on_violation: Literal["error", "warn", "ignore"] = Field(
        "warn", description="if confidential rows break a rule or a forbidden condition"
    )
    checks: CheckSettings = Field(default_factory=CheckSettings)
    limits: LimitConfig = Field(default_factory=LimitConfig)

    @model_validator(mode="before")
    @classmethod
    def _implied(cls, content: Any) -> Any:
        """Add keys that a fidelity and sections of extensions set by default."""
        if not isinstance(content, Mapping):
            return content
        content = _of_fidelity(content)
        used = {name: kind for name, kind in section_keys().items() if name in content}
        implied: dict[str, Any] = {}
        for name, kind in used.items():
            with guarded(f"key {name!r}: implied"):
                implied |= kind.implied(content[name])
        return {**implied, **content}

    @property
    def local_workers(self) -> int | None:
        """Workers on this machine; None for all cores, or with other machines."""
        return self.workers if isinstance(self.workers, int) else None

    @property
    def sections(self) -> dict[str, Any]:
        """Options by key of an extension, without absent ones."""
        options_of = {
            name: key.gathered(self) if key.placements else getattr(self, name)
            for name, key in extension_keys().items()
        }
        return {name: options for name, options in options_of.items() if options is not None}

    @property
    def maker(self) -> str | None:
        """Key of the extension that makes whole datasets; None for the chain."""
        return next((name for name in self.sections if name in makers()), None)

    @property
    def arranged_by(self) -> str | None:
        """Key of the extension that groups rows; None without one."""
        return next((name for name in self.sections if name in arranging_keys()), None)

    @property
    def arranging(self) -> Arranging | None:
        """Options that group rows, of ``panel`` or an extension; None for single rows."""
        key = self.arranged_by
        if not isinstance(options := getattr(self, key or "panel"), Arranging | None):
            raise ConfigError(f"key {key!r}: its options are no Arranging; update its package")
        return options

    @property
    def unit_column(self) -> str | None:
        """Column with the same value in all rows of a unit; None without one."""
        return None if self.arranging is None else self.arranging.unit_column

    @property
    def apart(self) -> dict[str, str]:
        """Keys that cannot be used with keys that group rows, with the reason."""
        keys = {name: extension_keys()[name] for name in self.sections}
        reasons = {n: key.apart or (_ROWS if key.makes_datasets else "") for n, key in keys.items()}
        return {name: why for name, why in reasons.items() if why}

    def _of_sections(self, what: str, kind: Any, *arguments: Any) -> dict[str, Any]:
        """Return an attribute or method result of all sections, by key; grouping keys last."""
        answers: dict[str, Any] = {}
        first, last = self.sections, self.arranged_by or "panel"
        first.pop(last, None)
        for name, section in (*first.items(), (last, self.arranging)):
            if isinstance(section, Section):
                with guarded(f"key {name!r}: {what}"):
                    answer = getattr(section, what)
                    answer = answer(*arguments) if arguments else answer
                    if not (answer is None or isinstance(answer, kind)) or isinstance(answer, str):
                        raise TypeError(f"must be {kind.__name__}")
                if answer is not None:
                    answers[name] = answer
        return answers

    @property
    def design(self) -> SampleDesign | None:
        """Sampling design of the records; None if not configured."""
        return next(iter(self._of_sections("design", SampleDesign).values()), None)

    @property
    def measuring(self) -> CheckSettings:
        """The checks, with the sampling design unless they name another weight."""
        design, checks = self.design, self.checks
        if design is None or "weight" in checks.model_fields_set:
            return checks
        named = {key: getattr(design, key) for key in ("weight", "strata", "psu", "replicates")}
        return checks.with_options(**named)

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kinds of columns that sections name."""
        by_section = self._of_sections("kinds", Mapping).values()
        return {name: kind for kinds in by_section for name, kind in kinds.items()}

    @property
    def section_methods(self) -> dict[str, tuple[str, str]]:
        """Key of the section and model, by variable with a model of a section."""
        by_section = self._of_sections("methods", Mapping).items()
        return {name: (key, one) for key, methods in by_section for name, one in methods.items()}

    @property
    def last(self) -> list[str]:
        """Variables that sections need last in the order."""
        return [name for names in self._of_sections("last", Sequence).values() for name in names]

    def set_aside(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of a file that sections exclude from the synthesis."""
        by_section = self._of_sections("set_aside", Sequence, names).values()
        return tuple(dict.fromkeys(n for columns in by_section for n in columns if n in names))

    def dropped(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of a file that are dropped or excluded by sections."""
        return tuple(dict.fromkeys((*self.drop, *self.set_aside(names))))

    @property
    def public_variables(self) -> tuple[str, ...]:
        """Variables whose levels are a public code list."""
        return tuple(name for name, settings in self.variables.items() if settings.public)

    @property
    def redraws(self) -> bool:
        """Whether every dataset is made from a new sample by the design of the survey."""
        return self.design is not None and self.design.redrawn

    @property
    def structural_zero_lists(self) -> tuple[tuple[str, ...], ...]:
        """The lists of variables under ``structural_zeros``, without 'auto'."""
        return tuple(names for names in self.structural_zeros if not isinstance(names, str))

    @property
    def named_methods(self) -> Mapping[str, str]:
        """Models under ``method`` by variable; empty if ``method`` is a list."""
        return self.method if isinstance(self.method, dict) else {}


_FURTHER = ("data", "output", "conditions", "registry", "infer_missing", "self", "extensions")
"""Keys of a whole run, and parameters of `Synthesizer`."""
if TYPE_CHECKING:

    class ChainConfig(_ChainConfig):
        """Models, rules and checks of a synthesis, with keys of extensions."""

        def __init__(self, **options: Any) -> None: ...

else:
    _of_extensions = {
        name: (key.type | None, Field(None, description=key.description))
        for name, key in extension_keys().items()
        if not key.placements
    }
    ChainConfig = _extended("ChainConfig", _ChainConfig, "", _of_extensions, *_FURTHER)


class ConditionsConfig(Part):
    """Conditions that every record satisfies."""

    given: Path | None = Field(
        None,
        description="table with one row a record (person of a panel); values of empty cells are "
        "drawn; rows: as many by default",
    )
    where: str | None = Field(None, description="condition of every record (first row of a person)")
    margins: tuple[Path, ...] = Field(
        (), description="tables with columns of variables, and count or share"
    )


class Config(ChainConfig):
    """A whole run: the chain, its data and its output.

    Examples
    --------
    >>> config = Config(data=DataConfig(sample="fair"), m=2)
    >>> config.m, config.output.directory.name
    (2, 'synthetic')
    """

    data: DataConfig
    conditions: ConditionsConfig | None = Field(
        None, description="conditions that the records of every dataset satisfy"
    )
    output: OutputConfig = Field(default_factory=OutputConfig)
