"""The description of a file: its form, variables, ranges and relations, each fact with its origin.

A fact is declared, or computed from the data and then listed under ``from_data`` with how. People
read, confirm and edit the YAML; a file is then written from it without the data. This is the file
for writing code of the UK data services (arXiv 2503.14211: labels, structure, documentation, and
no disclosure).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from synthesizer.config.keys import RuleConfig
from synthesizer.data.errors import ConfigError, Problem, Problems
from synthesizer.data.files import write_texts
from synthesizer.data.options import MAX_ROWS, Finite, Share, Whole, no_boolean
from synthesizer.data.plugins import arranging_keys, found_at, installed
from synthesizer.data.randomness import AnySeed
from synthesizer.data.table import Kind, Variable
from synthesizer.data.yaml_text import packaged_yaml, read_yaml
from synthesizer.measures.measure_options import Label, Labels, Names, Part

WORDS: Mapping[str, str] = packaged_yaml(__package__ or "", "sentences.yaml")
"""Sentences by code."""
MIN_HOLDERS = 5
"""Fewest records, or persons, with a level, and beyond the ends of a range."""

Bound = Annotated[Finite | str, BeforeValidator(no_boolean)]


def _encoding(value: str) -> str:
    try:
        "".encode(value)
    except LookupError:
        raise ValueError(f"is no encoding of texts: {value}; write utf-8") from None
    return value


class RangeFacts(Part):
    """Smallest and largest value: numbers, or dates YYYY-MM-DD."""

    low: Bound
    high: Bound


class FileFacts(Part):
    """Form of the file, and the signs of a CSV file."""

    form: str = Field("csv", description="csv, parquet, pandas, or a form of an extension")
    compressed: bool = False
    labelled: bool = Field(False, description="columns have labels, as in SPSS and Stata")
    delimiter: str = Field(",", min_length=1, max_length=1)
    line_end: Literal["\n", "\r\n", "\r"] = "\n"
    encoding: Annotated[str, AfterValidator(_encoding)] = "utf-8"
    bom: bool = False
    final_newline: bool = True
    quote: Literal['"', "'"] = '"'
    quoted_names: bool = Field(False, description="CSV: quotes around all names in the header")


class ColumnFacts(Part):
    """How a column is stored; absent facts are those of a new file."""

    type: str = Field("", description="Arrow type of typed files, such as int64")
    dtype: str = Field("", description="dtype of a pandas frame")
    categories: str | None = Field(None, description="dtype of the categories of a pandas frame")
    ordered: bool = False
    always: bool = Field(False, description="CSV: every cell is quoted")
    empty: bool = Field(False, description="CSV: an empty cell is quoted")
    bare: Labels = Field((), description="CSV: missing codes without quotes in a quoted column")
    is_text: bool = Field(False, description="labelled files: values are texts")
    is_date: bool = Field(False, description="labelled files: numbers are dates")
    missing: Labels = Field((), description="labelled files: codes declared missing")
    missing_range: tuple[float, float] | None = Field(None, description="SPSS: missing numbers")
    format: str = Field("", description="labelled files: display format")
    measure: Literal["", "nominal", "ordinal", "scale"] = ""
    width: int = Field(0, ge=0, description="SPSS: display width")
    size: int = Field(0, ge=0, description="SPSS: bytes of a text")
    written: dict[Label, Label] = Field({}, description="missing codes in another format")


class VariableFacts(Part):
    """One variable of a description."""

    kind: Kind = Field(description="kind of the values")
    label: str = Field("", description="label of the variable")
    unit: str = Field("", description="unit of its numbers")
    levels: Labels = Field((), description="all levels; if ordered, lowest first")
    level_labels: dict[Label, str] = Field({}, description="meaning of levels and missing codes")
    missing: Labels = Field((), description="missing codes; '' is an empty cell")
    missing_share: dict[Label, Share] = Field({}, description="by code; together 5 % if absent")
    range: RangeFacts | None = Field(None, description="smallest and largest number or date")
    decimals: int | None = Field(None, ge=0, le=15, description="decimals of a number")
    date_format: str | None = Field(None, description="strptime format, such as %d.%m.%Y")
    style: dict[str, Label] = Field({}, description="written form, such as fixed1: one decimal")
    pattern: tuple[str, ...] = Field(
        (), description="identifier: '=P' a text, d digit, a A letter, n1000 a number below 1000"
    )
    constant: bool = Field(False, description="equal in all rows of a person or household")
    derived: str | None = Field(None, description="expression by which it is computed")
    follows: Label | None = Field(None, description="variable whose codes decide its value")
    pairs: dict[Label, Label] = Field({}, description="value of each code of that variable")
    column: ColumnFacts = Field(default_factory=ColumnFacts, description="how it is stored")
    from_data: dict[str, str] = Field({}, description="facts computed from the data, and how")


class RowsPerUnit(Part):
    """Fewest and most rows of a person or household."""

    low: Whole = Field(ge=1)
    high: Whole = Field(ge=1)


class Description(Part):
    """Everything that a file needs to be written, without any record.

    Examples
    --------
    >>> sex = {"kind": "categorical", "levels": ["f", "m"]}
    >>> made = Description(rows=4, variables={"sex": sex}).generate(seed=1)
    >>> sorted(set(made["sex"])), len(made)
    (['f', 'm'], 4)
    """

    format: Literal[1] = 1
    rows: Whole = Field(
        1000, ge=1, le=MAX_ROWS, description="rows, persons of a panel, or households"
    )
    file: FileFacts = Field(default_factory=FileFacts)
    groups: dict[str, Any] = Field(
        {}, description="key of a configuration that groups rows, such as panel or household"
    )
    rows_per_unit: RowsPerUnit | None = Field(None, description="rows of a person or household")
    periods: Labels = Field((), description="panel with a time column: its values, in order")
    variables: dict[Label, VariableFacts] = Field(min_length=1, description="in file order")
    rules: tuple[RuleConfig, ...] = Field((), description="as in a configuration")
    forbid: Names = Field((), description="as in a configuration")
    from_data: dict[str, str] = Field({}, description="facts computed from the data, and how")

    def generate(self, *, rows: int | None = None, seed: AnySeed | None = None) -> Any:
        """Return a frame written from the description alone.

        Parameters
        ----------
        rows : int, optional
            Rows (persons of a panel, or households); by default those of the description.
        seed : int or Seed, optional
            Seed of the draws; 1 by default. The same description and seed give the same frame.

        Raises
        ------
        ConfigError
            With every problem of the description, such as an undeclared range.
        """
        from synthesizer.data.writing import to_frame

        model = found_at("synthesizer.extensions.descriptions.described:model_of")(self)
        draws = model.seed.instead(seed)
        (table,) = model.chain.generate(draws, rows=rows, n_jobs=1)
        return to_frame(model.arrangement.restored(table), model.layout)

    def to_yaml(self) -> str:
        """Return the description as a YAML text with comments; `read_description` reads it."""
        content = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return "".join(_lines(content))

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the YAML file, with mode 0600: the steward decides about its release."""
        write_texts({Path(path): self.to_yaml()}, overwrite=overwrite)


COMMENT = (
    "# Facts under from_data were computed from the data; all others are declared. Check each: to\n"
    "# confirm a fact, delete its line under from_data; otherwise edit the fact. Identifiers of a\n"
    "# pattern may equal real ones by chance: edit a part that is a text, such as =P. Others:\n"
    "# d a digit, a and A letters, n1000 a number below 1000. Style fixed1: always one decimal.\n"
)


def _lines(content: Mapping[str, Any]) -> Iterator[str]:
    from synthesizer.jobs.starter import as_yaml, yaml_key

    yield COMMENT
    for key, value in ({"format": 1} | dict(content)).items():
        if key != "variables":
            yield f"{key}: {as_yaml(value)}\n"
            continue
        yield "variables:\n"
        for name, facts in value.items():
            yield f"  {yaml_key(name)}\n"
            yield from (f"    {fact}: {as_yaml(one)}\n" for fact, one in facts.items())


def problem(code: str, *, name: str = "", names: Sequence[str] = (), **facts: Any) -> Problem:
    """Return a problem of ``sentences.yaml``, about one variable or several."""
    listed = {key: ", ".join(v) if isinstance(v, list) else v for key, v in facts.items()}
    words = WORDS[code].format(name=name, names=", ".join(names), **listed)
    return Problem(words, code, (*names, name) if name else tuple(names))


def read_description(path: str | Path) -> Description:
    """Return the description in a YAML file.

    Raises
    ------
    ConfigError
        With every unknown key and value of a wrong type.
    """
    content = {str(key): value for key, value in read_yaml(Path(path)).items()}
    problems = Problems()
    with problems.gathered(str(path)):
        return Description(**content)
    raise ConfigError(problems)


def variable_of(name: str, facts: VariableFacts) -> Variable:
    """Return the variable of described facts; repeated labels once, a blank level for none."""
    storage: dict[str, Any] = {k: x for k, x in facts.style.items() if k != "pattern"}
    if facts.date_format is not None:
        storage["date_format"] = facts.date_format
    levels = tuple(dict.fromkeys(facts.levels)) if facts.kind.is_coded else ()
    return Variable(
        name=name,
        kind=facts.kind,
        levels=levels or ((" ",) if facts.kind.is_coded else ()),
        missing=tuple(x for x in dict.fromkeys(facts.missing) if x not in levels),
        decimals=facts.decimals,
        storage=storage,
    )


def known_groups() -> set[str]:
    """Return the keys that group rows: ``panel``, and those of installed extensions."""
    return {"panel", *arranging_keys()}


def description_problems(described: Description, computed: Iterable[str]) -> Iterator[Problem]:
    """Yield contradictions and absent facts; ``computed`` variables need no range."""
    for name in described.groups.keys() - known_groups():
        yield problem("unknown_group", name=name, installed=installed())
    sizes = described.rows_per_unit
    if sizes is not None and sizes.low > sizes.high:
        yield problem("low_above_high", key="rows_per_unit")
    for name, facts in described.variables.items():
        yield from _of_variable(name, facts, described)
    exempt, absent = {*computed}, {"undeclared_levels": list[str](), "undeclared_range": []}
    for name, facts in described.variables.items():
        if name in exempt or facts.derived or facts.kind is Kind.ID:
            continue
        if facts.kind.is_coded and not facts.levels:
            absent["undeclared_levels"].append(name)
        elif not (facts.kind.is_coded or facts.range or facts.pairs):
            absent["undeclared_range"].append(name)
    yield from (problem(code, names=names) for code, names in absent.items() if names)


def _of_variable(name: str, facts: VariableFacts, described: Description) -> Iterator[Problem]:
    labels = (*(facts.levels if facts.kind.is_coded else ()), *facts.missing)
    if again := [label for label, times in Counter(labels).items() if times > 1]:
        yield problem("label_twice", name=name, labels=[*map(repr, again)])
    if facts.levels and not facts.kind.is_coded:
        yield problem("levels_of_other_kind", name=name, kind=facts.kind.value)
    if unknown := [code for code in facts.missing_share if code not in facts.missing]:
        yield problem("share_of_no_code", name=name, labels=[*map(repr, unknown)])
    if sum(facts.missing_share.values()) > 1:
        yield problem("shares_above_one", name=name)
    if facts.pairs and facts.follows is None:
        yield problem("pairs_without_code", name=name)
    code = described.variables.get(facts.follows or "")
    for pair, known in ((facts.pairs, code), (facts.pairs.values(), facts)):
        if known is None or not known.kind.is_coded:
            continue
        if odd := {*pair} - {*known.levels, *known.missing}:
            yield problem("pair_of_no_level", name=name, labels=sorted(map(repr, odd)))
