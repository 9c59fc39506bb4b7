"""The configuration of a run as frozen, typed objects.

`synthesizer.config.reading` turns text into `Config` and collects all problems of form. Whether
the configuration fits the data is the plan's question (`synthesizer.plan.plan`).
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
from synthesizer.data.errors import RENAMED, ConfigError
from synthesizer.data.formats import CORE_FORMS, format_keys, formats
from synthesizer.data.guessing import Declaration
from synthesizer.data.options import MAX_REPEATS, MAX_ROWS, Whole, no_boolean
from synthesizer.data.panel.arrangement import Arranging
from synthesizer.data.plugins import arranging_keys, extension_keys, guarded, makers, placed
from synthesizer.data.randomness import MAX_SEED, NO_KEY
from synthesizer.data.table import Kind
from synthesizer.data.workers import MAX_WORKERS
from synthesizer.data.yaml_text import without_infinities
from synthesizer.engine.registry import DEFAULT_SET
from synthesizer.measures.measure_options import Label, Labels, Names, Part
from synthesizer.measures.settings import CheckSettings, LimitConfig


def _listed(value: object) -> object:
    """Accept one text in place of a list of them."""
    return [value] if isinstance(value, str) else value


def _pairs(value: object) -> object:
    """Accept one pair of states or a list of them."""
    pairs = list(value) if isinstance(value, list | tuple) else [value]
    if len(pairs) == 2 and not any(isinstance(v, list | tuple) for v in pairs):
        pairs = [pairs]
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise ValueError("must be pairs [from, to] of states, such as [[a, b], [a, c]]")
    return pairs


Pairs = Annotated[tuple[tuple[Label, Label], ...], BeforeValidator(_pairs)]


MAX_PREDICTORS = 60
"""More earlier variables than that are screened: ordinary files have fewer."""


class PathRuleConfig(Part):
    """What one variable may not do from one period to the next."""

    variable: Label = Field(description="longitudinal variable, or the one of the careers")
    absorbing: Labels = Field((), description="states that are never left again")
    never: Pairs = Field((), description="pairs [from, to] of states that never follow each other")
    non_decreasing: bool = Field(
        False, description="never falls: numbers, dates and ordered levels"
    )

    @model_validator(mode="after")
    def _says_something(self) -> PathRuleConfig:
        if not (self.absorbing or self.never or self.non_decreasing):
            raise ValueError("needs one of absorbing, never and non_decreasing")
        return self


class PanelConfig(Part, Section, Arranging):
    """How persons and periods are told apart: columns ``person`` and ``time``, or ``wide``."""

    person: Label | None = Field(None, description="long form: column that identifies persons")
    time: Label | None = Field(None, description="long form: column of the period")
    wide: dict[Label, Names] = Field(
        default_factory=dict,
        description="wide form: variable: its columns in order of time, or 'first..last'",
    )
    absent: Labels = Field(
        (),
        description="wide form: labels that mean that a person is not there in a period; each "
        "variable needs one, and the first that it has is written",
    )
    career: Label | None = Field(
        None, description="variable whose sequence of states is drawn as a career"
    )
    rules: tuple[PathRuleConfig, ...] = Field((), description="rules from period to period")
    view: Labels = Field(
        (), description="periods whose values the checks of persons see, beside first and last"
    )

    @model_validator(mode="after")
    def _one_form(self) -> PanelConfig:
        long = self.person is not None or self.time is not None
        if long == bool(self.wide):
            raise ValueError("needs person and time (long form), or wide, and not both")
        if long and (self.person is None or self.time is None):
            raise ValueError("needs both person and time")
        if long and self.person == self.time:
            raise ValueError("person and time must be two columns")
        if long and self.absent:
            raise ValueError(
                "absent belongs to the wide form: in the long form a person is absent where "
                "there is no row"
            )
        return self

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Persons are identifiers."""
        return {} if self.person is None else {self.person: Kind.ID}

    @property
    def key_columns(self) -> Sequence[str]:
        """Person and period of the long form."""
        return [name for name in (self.person, self.time) if name is not None]

    def needed(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that another file of this panel must have."""
        from synthesizer.data.panel.forms import wide_columns

        wide = [cell for cells in self.wide.values() for cell in wide_columns(cells, names)]
        long = [name for name in (self.person, self.time, self.career) if name is not None]
        return tuple(dict.fromkeys(wide if self.wide else long))


def _shape(value: object) -> str | None:
    """Name the branch of a union; problems are told for this branch only."""
    if isinstance(value, list | tuple):
        return "tuple[]"
    if isinstance(value, Mapping):
        return "dict[]"
    return "str[]" if isinstance(value, str) else None


class SurvivalConfig(Part):
    """An event, and the time until it or until the end of observation."""

    event: Label = Field(
        description="variable that says how the time has ended: two levels, or competing risks"
    )
    time: Label = Field(description="number: days, months or years since the start")


def _methods(value: object) -> object:
    """Accept one name, or a map from kind or variable."""
    return "" if value is None else value


Method = Annotated[str, BeforeValidator(_methods)]
ModelOptions = Annotated[dict[str, Any], BeforeValidator(without_infinities)]


def _four(value: tuple[str, ...]) -> tuple[str, ...]:
    if len(value) != 4:
        raise ValueError(
            f"needs four models, of numeric, two-level, categorical and ordered variables, "
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
        custom_error_message="must be a model, a map from variable to model, or a list with a "
        "model for each column",
    ),
]


class SqlConfig(Part):
    """A query as the source of the data."""

    url: str = Field(description="SQLAlchemy URL of the database")
    query: str = Field(description="SELECT statement whose result is the confidential data")


class _DataConfig(Part):
    """Where the confidential data are: exactly one of path, sql and sample."""

    path: Path | None = Field(
        None,
        description="CSV or JSON lines (.jsonl, .ndjson; both also .gz, .bz2, .xz, .zip), Parquet "
        "(also a directory) or Feather file (.feather, .arrow), or one of another format: "
        f"{', '.join(ending for one in formats() for ending in one.endings)}",
    )
    sql: SqlConfig | None = Field(None, description="database query (extra 'sql')")
    sample: str | None = Field(
        None, description="built-in sample: fair, randhie or federal_workforce"
    )
    persons: Whole | None = Field(
        None, ge=1, le=50_000_000, description="persons of a simulated sample; 2,000 when absent"
    )
    delimiter: str | None = Field(
        None,
        min_length=1,
        max_length=1,
        description="CSV delimiter; found by itself when absent",
    )
    quote: Literal['"', "'"] | None = Field(
        None, description="CSV: sign around texts; double or single quotes, found when absent"
    )
    comment: Label | None = Field(
        None, description="CSV: sign that begins lines to leave out; # is found when absent"
    )
    header_row: Whole | None = Field(
        None,
        ge=1,
        description="CSV, sheets: number of the line or row with the names; those above are left "
        "out; found when absent",
    )
    names: Names | None = Field(
        None,
        description="CSV, sheets: names of all columns, where no row holds them, or in place of "
        "those in header_row",
    )
    encoding: str | None = Field(
        None,
        description="of texts in the file; what it says when absent, utf-8 for CSV",
    )
    max_unpacked_mb: Whole | None = Field(
        None,
        ge=1,
        description="MB that the file may unpack to; 100 times its size (at least 256) and half of "
        "the free memory when absent",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = [name for name in ("path", "sql", "sample") if getattr(self, name) is not None]
        if len(sources) != 1:
            raise ValueError(f"needs exactly one of path, sql and sample, got {sources or 'none'}")
        if self.persons is not None and self.sample is None:
            raise ValueError("persons belongs to a simulated sample; take it out")
        return self

    @property
    def of_format(self) -> dict[str, Any]:
        """Return what is said of keys that files of one format have."""
        said = {key: getattr(self, key) for key in format_keys()}
        return {key: value for key, value in said.items() if value is not None}

    @property
    def reading(self) -> FileOptions:
        """Return how a file is read."""
        said = {key: getattr(self, key) for key in FileOptions.__annotations__}
        return cast("FileOptions", said)

    @property
    def beside(self) -> list[Path]:
        """Files that belong to the source, such as one with its labels."""
        return [value for value in self.of_format.values() if isinstance(value, Path)]


def _extended(
    name: str, core: type[Part], place: str, fields: Mapping[str, Any], *further: str
) -> Any:
    """Return a part of the configuration with keys of extensions."""
    if taken := [k for k in fields if hasattr(core, k) or k in (*core.model_fields, *further)]:
        words = "an extension has this key of the core; remove it"
        raise ConfigError(f"{place}{key}: {words}" for key in taken)
    doc = core.__doc__
    return create_model(name, __base__=core, __doc__=doc, __module__=__name__, **fields)


_TYPES: Mapping[type, Any] = {str: Label, int: Whole}
if TYPE_CHECKING:

    class DataConfig(_DataConfig):
        """Where the confidential data are; some keys are those of formats and extensions."""

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
    """Where the result goes."""

    directory: Path = Field(Path("synthetic"), description="directory that the run creates")
    format: Annotated[str, AfterValidator(_writable)] | None = Field(
        None,
        description="; ".join(
            ["format of the datasets; that of the source, or CSV, when absent"]
            + [one.writing.about for one in formats() if one.writing is not None]
        ),
        json_schema_extra={"enum": [*FORMS, None]},
    )
    overwrite: bool = Field(False, description="replace an existing result directory")
    report: bool = Field(True, description="write report.html, for the steward")
    codebook: bool = Field(True, description="write codebook.html and .json, for researchers")
    spreadsheet_safe: bool = Field(
        False, description="CSV: an apostrophe before texts that a spreadsheet would run"
    )
    publish_rows: bool = Field(
        False, description="state the number of confidential records, or persons, in the codebook"
    )


if TYPE_CHECKING:
    OutputConfig = _OutputConfig
else:
    OutputConfig = _extended("OutputConfig", _OutputConfig, "output.", placed("output"))


class VariableConfig(Part):
    """What the configuration says of one variable; what it leaves out is inferred."""

    kind: Kind | None = Field(None, description="what the values are")
    missing: Labels | None = Field(None, description="missing codes as written; '' is empty")
    levels: Labels | None = Field(None, description="all labels, in order for an ordered variable")
    decimals: int | None = Field(None, ge=0, le=15, description="decimals of a numeric variable")
    date_format: str | None = Field(None, description="strptime format, such as %d.%m.%Y")
    public: bool = Field(
        False, description="whether its levels are a public code list: rare ones stay as they are"
    )
    method: Method | None = Field(None, description="conditional model, or '~ expression'")
    derived: str | None = Field(None, description="expression of other variables")
    follows: Label | None = Field(
        None, description="variable of which each value has one value of this one: its code"
    )
    missing_method: str | None = Field(
        None, description="model of the missing codes of a numeric variable"
    )
    predictors: Names | None = Field(None, description="all earlier variables when absent")
    exclude: Names = Field((), description="predictors to leave out")
    options: ModelOptions = Field(default_factory=dict, description="options of the model")
    label: str | None = Field(None, description="what it is, for the codebook")
    unit: str | None = Field(None, description="unit of its numbers, for the codebook")
    level_labels: dict[Label, Label] = Field(
        default_factory=dict,
        description="what levels and missing codes mean, for the codebook; '' is an empty cell",
    )

    def declaration(self) -> Declaration:
        """Return what concerns the reading of the data."""
        return Declaration(
            kind=self.kind,
            missing=self.missing,
            levels=self.levels,
            decimals=self.decimals,
            date_format=self.date_format,
        )


class RuleConfig(Part):
    """If a condition holds, variables are set to values; or one that always holds, as a text."""

    condition: str = Field("", alias="if", description="condition in the expression language")
    then: dict[str, Label] = Field(default_factory=dict, description="variable: value that is set")
    always: str = Field("", description="what holds in every row, such as hire <= year")

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
                "needs if and then, or is one condition that always holds, such as hire <= year"
            )
        return self


class RareConfig(Part):
    """Levels of few persons, grouped or blanked in the confidential data before any fit."""

    min_count: Whole = Field(5, ge=2, description="fewest persons, or rows, that a level may have")
    to: Label = Field(
        "other",
        description="level that they become, or missing; levels of an ordered variable join the "
        "next one, and numbers of a typed file are blanked",
    )
    levels: Literal["all", "text"] = Field(
        "all",
        description="which variables; text: not those with levels that are numbers, or yes and no",
    )


class BlankRareConfig(Part):
    """Levels that are blanked where few records of a dataset have them."""

    variables: Names = Field(min_length=1, description="variables with levels")
    min_count: Whole = Field(
        5, ge=2, description="fewest records, or persons of a long panel, that a level may have"
    )


Number = Annotated[float, BeforeValidator(no_boolean), Field(allow_inf_nan=False)]
Base = Annotated[Number, Field(gt=0)]


class AfterConfig(Part):
    """Disclosure control after synthesis, in this order, before the checks and the files."""

    round: dict[Label, Base] = Field(
        default_factory=dict, description="variable: numbers become the nearest multiple of this"
    )
    bottom_code: dict[Label, Number] = Field(
        default_factory=dict, description="variable: numbers below this become it"
    )
    top_code: dict[Label, Number] = Field(
        default_factory=dict, description="variable: numbers above this become it"
    )
    blank_rare: BlankRareConfig | None = Field(
        None, description="blank levels that few records of a dataset have"
    )
    uniques: Literal["drop"] | None = Field(
        None,
        description="leave records out that are unique in a dataset and equal to a unique one of "
        "the original, as synthpop's sdc does; no cure: what is absent tells what was there",
    )
    label: dict[Label, Label] = Field(
        default_factory=dict,
        description="column: text that says in every record that the data are synthetic",
    )

    @model_validator(mode="after")
    def _one_label(self) -> AfterConfig:
        if len(self.label) > 1:
            raise ValueError("label: needs one column and its text, not several")
        return self


NUMBER_STEPS: Final = ("round", "bottom_code", "top_code")
"""Steps that change numbers."""


class KeyConfig(Part):
    """The earlier run whose draws are repeated."""

    manifest: Path = Field(alias="from", description="manifest.json of the run")


def _origin(value: object) -> str | None:
    """Name the branch of a key."""
    if isinstance(value, Mapping | KeyConfig):
        return "dict[]"
    return "literal[]" if value == NO_KEY else None


RunKey = Annotated[
    Annotated[Literal["none"], Tag("literal[]")] | Annotated[KeyConfig, Tag("dict[]")],
    Discriminator(
        _origin,
        custom_error_type="shape",
        custom_error_message="must be none, or {from: RUN/manifest.json}; never write the key "
        "itself here",
    ),
]


if TYPE_CHECKING:
    Machines = Part
else:
    Machines = _extended("Machines", Part, "workers.", placed("workers"))


def _number_or_machines(value: object) -> str:
    """Name the branch of workers; problems are told for this branch only."""
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


class _ChainConfig(Part):
    """What is made of the data, wherever they come from: the options of `Synthesizer`.

    Some keys are those of extensions.

    Examples
    --------
    >>> ChainConfig(m=2).default_method
    'cart'
    >>> ChainConfig(m=2, seed=7)  # no seed on a screen
    ChainConfig(m=2)
    """

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Show what was said, but for what decides the draws."""
        said = super().__repr_args__()
        yield from ((name, value) for name, value in said if name not in ("seed", "random_key"))

    version: Annotated[Literal[2], BeforeValidator(_not_version_1)] = Field(
        2, description="version of this format"
    )
    seed: Whole | None = Field(None, ge=0, le=MAX_SEED, description="drawn and stored when absent")
    random_key: RunKey | None = Field(
        None,
        description="random key of a run, drawn when absent; none: reproducible from the seed "
        "alone, for public data only; from: RUN/manifest.json repeats a run",
    )
    m: Whole = Field(1, ge=1, le=MAX_REPEATS, description="number of synthetic datasets")
    rows: Whole | None = Field(
        None, ge=1, le=MAX_ROWS, description="rows of each; as many as the data if absent"
    )
    workers: Workers | None = Field(
        None,
        description="; or ".join(
            ["parallel workers of joblib, all cores if absent"]
            + [f"{{{k}: ...}}: {field.description}" for k, (_, field) in placed("workers").items()]
        ),
    )
    proper: bool = Field(False, description="refit for every dataset on a bootstrap sample")
    strata: Names = Field((), description="variables whose combinations get a chain each")
    keep: Names = Field((), description="variables copied as they are (partial synthesis)")
    drop: Names = Field((), description="variables left out of the synthesis and of the output")
    min_stratum_rows: Whole | None = Field(
        None, ge=1, description="fewest rows of a stratum; 10 + 10 x variables when absent"
    )
    default_method: DefaultMethod = Field(
        DEFAULT_SET,
        description="a model, 'parametric', a map from kind to model, or a list of four models: "
        "of numeric, two-level, categorical and ordered variables",
    )
    method: Methods = Field(
        default_factory=dict,
        description="map from variable to model, also under variables; or a list with a model "
        "for each column of the data, '' to keep it",
    )
    visit_sequence: Names | None = Field(None, description="order; file order when absent")
    predictor_matrix: dict[str, Names] = Field(
        default_factory=dict, description="map from variable to its predictors"
    )
    max_predictors: Annotated[Whole, Field(ge=1)] | Literal["all"] = Field(
        MAX_PREDICTORS,
        description="a model is given so many earlier variables at most, those that go with its "
        "variable most closely, unless it has predictors of its own",
    )
    models: dict[str, ModelOptions] = Field(
        default_factory=dict, description="options of models, such as cart: {min_leaf: 10}"
    )
    plugins: Names = Field(
        (), description="modules whose MODELS are used; they are imported, which runs their code"
    )
    variables: dict[str, VariableConfig] = Field(default_factory=dict)
    rules: Annotated[tuple[RuleConfig, ...], BeforeValidator(_listed)] = Field(
        (), description="values that follow from others, and conditions that always hold"
    )
    forbid: Names = Field((), description="conditions that no synthetic row may satisfy")
    structural_zeros: Literal["auto"] | tuple[Literal["auto"] | Names, ...] = Field(
        (),
        description="lists of variables whose combinations are only drawn if the data have them; "
        "'auto' finds pairs and triples with impossible combinations, also as an entry of the list",
    )
    survival: tuple[SurvivalConfig, ...] = Field(
        (),
        description="pairs of an event and its time, drawn last, so that Cox models and logits of "
        "the event hold",
    )
    panel: PanelConfig | None = Field(
        None, description="persons and periods of a longitudinal file"
    )
    rare: RareConfig | None = Field(
        None, description="levels that few persons have are grouped or blanked before any fit"
    )
    after: AfterConfig | None = Field(
        None, description="disclosure control after synthesis: label, top_code, round and others"
    )
    on_violation: Literal["error", "warn", "ignore"] = Field(
        "warn", description="confidential rows that break a rule or a forbidden condition"
    )
    checks: CheckSettings = Field(default_factory=CheckSettings)
    limits: LimitConfig = Field(default_factory=LimitConfig)

    @model_validator(mode="before")
    @classmethod
    def _implied(cls, content: Any) -> Any:
        """Add what follows from the sections of extensions, where nobody says otherwise."""
        if not isinstance(content, Mapping):
            return content
        said = {name: kind for name, kind in section_keys().items() if name in content}
        implied: dict[str, Any] = {}
        for name, kind in said.items():
            with guarded(f"key {name!r}: implied"):
                implied |= kind.implied(content[name])
        return {**implied, **content}

    @property
    def local_workers(self) -> int | None:
        """Workers on this machine; all cores where absent, or where others draw."""
        return self.workers if isinstance(self.workers, int) else None

    @property
    def sections(self) -> dict[str, Any]:
        """What is said under keys of extensions, by key."""
        said = {
            name: key.gathered(self) if key.placements else getattr(self, name)
            for name, key in extension_keys().items()
        }
        return {name: options for name, options in said.items() if options is not None}

    @property
    def maker(self) -> str | None:
        """The key of what makes whole datasets of categories; None where the chain draws them."""
        return next((name for name in self.sections if name in makers()), None)

    @property
    def arranged_by(self) -> str | None:
        """The key of an extension that says how rows belong together."""
        return next((name for name in self.sections if name in arranging_keys()), None)

    @property
    def arranging(self) -> Arranging | None:
        """What says how rows belong together; None where each is by itself."""
        key = self.arranged_by
        return self.panel if key is None else cast(Arranging, getattr(self, key))

    @property
    def unit_column(self) -> str | None:
        """The column that rows of one unit share, where there is one."""
        return None if self.arranging is None else self.arranging.unit_column

    @property
    def apart(self) -> dict[str, str]:
        """Which of these keys go with whole files of single rows or persons only, and why."""
        keys = {name: extension_keys()[name] for name in self.sections}
        found = {n: key.apart or (_ROWS if key.makes_datasets else "") for n, key in keys.items()}
        return {name: why for name, why in found.items() if why}

    def _asked(self, what: str, kind: Any, *given: Any) -> dict[str, Any]:
        """Return what sections say of the data, by key; what arranges rows comes last."""
        answers: dict[str, Any] = {}
        first, last = self.sections, self.arranged_by or "panel"
        first.pop(last, None)
        for name, own in (*first.items(), (last, self.arranging)):
            if isinstance(own, Section):
                with guarded(f"key {name!r}: {what}"):
                    said = getattr(own, what)
                    said = said(*given) if given else said
                    if not (said is None or isinstance(said, kind)) or isinstance(said, str):
                        raise TypeError(f"must be {kind.__name__}")
                if said is not None:
                    answers[name] = said
        return answers

    @property
    def design(self) -> SampleDesign | None:
        """How the records of the file were sampled, where a section says so."""
        return next(iter(self._asked("design", SampleDesign).values()), None)

    @property
    def measuring(self) -> CheckSettings:
        """The checks, with the design of the sample unless they name another weight."""
        design, checks = self.design, self.checks
        if design is None or "weight" in checks.model_fields_set:
            return checks
        named = {key: getattr(design, key) for key in ("weight", "strata", "psu", "replicates")}
        return checks.with_options(**named)

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kinds of columns that sections name."""
        said = self._asked("kinds", Mapping).values()
        return {name: kind for kinds in said for name, kind in kinds.items()}

    @property
    def section_methods(self) -> dict[str, tuple[str, str]]:
        """Models that sections give to variables, with the key of the section."""
        said = self._asked("methods", Mapping).items()
        return {name: (key, one) for key, methods in said for name, one in methods.items()}

    @property
    def last(self) -> list[str]:
        """Variables that sections want to be drawn last."""
        return [name for names in self._asked("last", Sequence).values() for name in names]

    def set_aside(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of a file that take no part, though nobody drops them."""
        said = self._asked("set_aside", Sequence, names).values()
        return tuple(dict.fromkeys(name for own in said for name in own if name in names))

    def dropped(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return what is dropped of a file's columns, and what is set aside."""
        return tuple(dict.fromkeys((*self.drop, *self.set_aside(names))))

    @property
    def public_variables(self) -> tuple[str, ...]:
        """Variables whose levels are a public code list."""
        return tuple(name for name, said in self.variables.items() if said.public)

    @property
    def redraws(self) -> bool:
        """Whether the sample of every dataset is drawn anew by the design of the survey."""
        return self.design is not None and self.design.redrawn

    @property
    def finds_structural_zeros(self) -> bool:
        """Whether impossible combinations are searched."""
        return "auto" in self.structural_zeros

    @property
    def structural_zero_lists(self) -> tuple[tuple[str, ...], ...]:
        """What ``structural_zeros`` lists; nothing where it is found."""
        return tuple(names for names in self.structural_zeros if not isinstance(names, str))

    @property
    def named_methods(self) -> Mapping[str, str]:
        """What ``method`` says by name; nothing where it is a list by position."""
        return self.method if isinstance(self.method, dict) else {}


_FURTHER = ("data", "output", "registry", "infer_missing", "self", "extensions")
"""Keys of a whole run, and parameters of `Synthesizer`."""
if TYPE_CHECKING:

    class ChainConfig(_ChainConfig):
        """What is made of the data; some keys are those of extensions."""

        def __init__(self, **options: Any) -> None: ...

else:
    _of_extensions = {
        name: (key.type | None, Field(None, description=key.description))
        for name, key in extension_keys().items()
        if not key.placements
    }
    ChainConfig = _extended("ChainConfig", _ChainConfig, "", _of_extensions, *_FURTHER)


class Config(ChainConfig):
    """A whole run: the chain, its data and its output.

    Examples
    --------
    >>> config = Config(data=DataConfig(sample="fair"), m=2)
    >>> config.m, config.output.directory.name
    (2, 'synthetic')
    """

    data: DataConfig
    output: OutputConfig = Field(default_factory=OutputConfig)
