"""Advice for researchers: cautions, estimates and standard errors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from synthesizer.data.errors import plural
from synthesizer.data.formats import writing_of
from synthesizer.data.plugins import hooks
from synthesizer.data.table import Kind
from synthesizer.measures.figure import Result
from synthesizer.measures.utility.combining import Rule, rule_for
from synthesizer.report.codebook.datasets import Facts, FileFormat, Released, listed
from synthesizer.report.codebook.words import (
    holds,
    imposed,
    limits,
    of_trees,
    sentences,
    unmodelled,
    with_leaf_regression,
    written_words,
)


class Caution(Result):
    """A caution."""

    title: str
    text: str


class Analysis(Result):
    """How to compute one result from all datasets."""

    rule: str | None
    """Combining rule; None if an extension made whole datasets."""
    name: str
    formula: str | None
    source: str | None
    applies: bool
    """Whether there is a rule, and enough datasets for it."""
    m: int
    k: int
    """Records of each dataset; persons if they have several rows."""
    n: int | None
    """Those of the original, if the data holder publishes them (`output: {publish_rows}`)."""
    words: tuple[str, ...]
    code: str | None
    """Example program; None if the rule does not apply."""


def release_facts(facts: Facts, released: Released) -> dict[str, Any]:
    """Return the facts of a release by the names in the sentences."""
    config, rare, design = facts.config, facts.config.rare, facts.design
    regressed = with_leaf_regression(facts, released)
    n_apart = sum(map(len, unmodelled(facts).values())) // 2
    others, even = {*facts.trees} - {*regressed}, any(tree.even for tree in facts.trees.values())
    owner = {step.variable: step.of for step in facts.steps}
    owners = [*dict.fromkeys(owner[name] for name in regressed)]
    is_panel = facts.unit == "person"
    return facts.of_extensions | {
        "modelled": facts.is_modelled,
        "m": len(released.files),
        "several": len(released.files) > 1,
        "k": released.units[0],
        "n": facts.original_rows,
        "kept": listed(facts.copied),
        "ids": listed([n for n, seen in released.variables.items() if seen.kind is Kind.ID]),
        "strata": listed(facts.strata),
        "proper": config.proper,
        "rare": rare and rare.min_count,
        "rare_to": rare and rare.to,
        "rare_nearest": rare is not None and rare.to == "nearest",
        "differences": facts.differences,
        "rare_missing": rare is not None and rare.to == "missing",
        "apostrophe": config.output.spreadsheet_safe,
        "imposed": imposed(facts).sentences,
        "pairs": n_apart and plural(n_apart, "pair"),
        "person": facts.person,
        "unit": facts.unit,
        "unit_of": "person over time" if is_panel else f"{facts.unit} of several persons",
        "units": f"{facts.unit}s" if facts.person else "records",
        "wide": listed(list(facts.wide)),
        **of_trees(owners, others=bool(others), even=even),
        **_lost(facts, regressed),
        "whole": facts.maker is not None,
        "maker": facts.maker,
        "unexplained": facts.maker is not None
        and next(hooks("codebook", {facts.maker}), None) is None,
        "limits": "" if facts.is_modelled else " ".join(limits(facts)),
        "redrawn": facts.is_redrawn,
        "weight": design and design.weight,
        "design": design and listed([n for n in (design.strata, design.psu) if n is not None]),
    }


def _lost(facts: Facts, regressed: Collection[str]) -> dict[str, Any]:
    """Return the relations that are lost first; not weak effects with leaf regression in all."""
    drawn = {
        step.variable
        for step in facts.steps
        if (step.predictors or step.closest)
        and not step.kept
        and step.model not in ("derived", "constant", "sample")
    }
    weak_lost = not drawn or bool(drawn - {*regressed})
    others = "interactions and non-linear relations"
    return {"weak_lost": weak_lost, "lost": f"weak effects, {others}" if weak_lost else others}


def cautions(named: Mapping[str, Any]) -> tuple[Caution, ...]:
    """Return the cautions for a release with these facts."""
    return tuple(
        Caution(title=e["title"].format_map(named), text=" ".join(written_words(e["text"], named)))
        for e in sentences()["cautions"]
        if holds(e.get("when", ""), named)
    )


def rule_in_words(rule: str) -> str:
    """Return the use of a combining rule, its total variance, and its source."""
    return f"for {'; '.join(sentences()['rules'][rule].values())}"


_MIN_DATASETS = 20
"""Datasets that the rule for fully synthetic data needs to be stable."""


def analysis(facts: Facts, released: Released, named: Mapping[str, Any]) -> Analysis:
    """Return how to compute estimates and standard errors from all datasets.

    ``named`` are the facts of the release by name.
    """
    m = named["m"]
    rule = None if facts.maker is not None or facts.differences else _rule(facts, m)
    how = {"name": "datasets that were made as a whole", "formula": None, "source": None}
    if rule is not None:
        how = sentences()["rules"][rule]
    single = rule in ("partially", "design", "redrawn") and m == 1
    applies = rule is not None and not single
    formula, fully = how["formula"] or "", sentences()["rules"]["fully"]
    of_rule = {
        "rule": how["name"],
        "formula": formula,
        "applies": applies,
        "single": single,
        "between": "B" in formula,
        "sizes": "k/n" in formula,
        "many_proper": rule == "proper" and m >= _MIN_DATASETS,
        "fully": f"{fully['formula']}, with B the variance between estimates ({fully['source']})",
    }
    return Analysis(
        rule=rule,
        **how,
        applies=applies,
        m=m,
        k=named["k"],
        n=named["n"],
        words=tuple(written_words("analysis", {**named, **of_rule})),
        code=_program(facts, released, rule) if rule is not None and applies else None,
    )


def _rule(facts: Facts, m: int) -> Rule:
    return rule_for(
        proper=facts.config.proper,
        keeps=bool(facts.copied),
        redrawn=facts.is_redrawn,
        designed=facts.design is not None and facts.design.psu is not None and m > 1,
    )


_MAX_FILES = 20


@cache
def _template() -> Template:
    loader = PackageLoader("synthesizer.report.codebook", "")
    environment = Environment(  # noqa: S701 - the text is no page
        loader=loader, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters["repr"] = ascii
    return environment.get_template("example.py.jinja")


def _program(facts: Facts, released: Released, rule: Rule) -> str | None:
    """Return a short program for one result; it runs next to the datasets if n is published.

    Its standard error is that of a mean (weighted if there is a weight) by linearisation: n units
    of one stratum have n times the variance of their summed scores. Units are persons with several
    rows (Liang and Zeger 1986, Biometrika 73), or primary sampling units.
    """
    example = _example(released, facts.time)
    if example is None:
        return None
    n, design = facts.original_rows, None if facts.is_redrawn else facts.design
    is_free = n is None and rule in ("partially", "design")
    cluster = (design and design.psu) or facts.person
    strata = design and design.strata
    opened, values = example
    return _template().render(
        files=released.files[:_MAX_FILES],
        has_more=len(released.files) > _MAX_FILES,
        asks_n=n is None and not is_free,
        sizes="" if is_free else f", n={'n' if n is None else n}, k={released.units[0]}",
        units=f"{facts.unit}s" if facts.person else "records",
        opened=opened,
        values=values,
        weight=design and design.weight,
        cluster=cluster,
        strata=strata,
        groups=", ".join(f"data[{name!a}]" for name in (strata, cluster) if name),
        rule=rule,
    )


def _example(released: Released, time: str) -> tuple[str, str] | None:
    """Return code that opens a file, and code of the values: numbers, or a level as 0 and 1."""
    numbers = {
        name: seen
        for name, seen in released.variables.items()
        if seen.kind is Kind.NUMERIC and seen.low is not None and name != time
    }
    is_labelled = _reader(released.format) is not None
    for name, seen in numbers.items():
        if is_labelled:
            return _opened(released.format), f"data[{name!r}].dropna()"
        if not seen.missing:
            return _opened(released.format), f"data[{name!r}]"
    for name, seen in released.variables.items():
        if seen.levels and name != time:
            level = max(seen.levels, key=lambda key: seen.levels[key])
            is_number = is_labelled and seen.labelling is not None and not seen.labelling.is_text
            equal = f"== {level}" if is_number else f".astype(str) == {level!r}"
            values = f"(data[{name!r}]{' ' if is_number else ''}{equal}).astype(float)"
            return _opened(released.format, text=True), values
    for name, seen in numbers.items():
        codes = f"data[{name!r}].astype(str).isin({sorted(seen.missing)!r})"
        values = f'pd.to_numeric(data[{name!r}].mask({codes}), errors="coerce").dropna()'
        return _opened(released.format), values
    return None


def _reader(form: FileFormat) -> str | None:
    """Return the pandas call for files that define their missing codes; None for others."""
    writing = writing_of(form.type)
    return None if writing is None else writing.descriptions.get(form.type, ("", None))[1]


def _opened(form: FileFormat, *, text: bool = False) -> str:
    if form.type == "parquet":
        return "pd.read_parquet(file)"
    if reader := _reader(form):
        return reader
    options = "" if form.delimiter == "," else f", sep={form.delimiter!r}"
    options += "" if form.encoding in (None, "utf-8") else f", encoding={form.encoding!r}"
    options += "" if form.decimal_mark == "." else f", decimal={form.decimal_mark!r}"
    return f"pd.read_csv(file{options}{', dtype=str' if text else ''})"
