"""The facts of a manifest that researchers who get the datasets may know.

Everything is taken from `Manifest.public` and, once the datasets were read, from what is said of
their columns only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from synthesizer.data.panel.forms import PERIOD
from synthesizer.data.table import Kind
from synthesizer.report.record import (
    PACKAGES,
    PublicConfig,
    PublicManifest,
    PublicVariable,
    StepEntry,
    TreesEntry,
    WeightsEntry,
)

CAREER = "career."
"""Attributes of the careers have names that begin so; they follow from what is released."""


class ColumnStep(StepEntry):
    """How one column of the files was made; columns of one variable over time have a step each."""

    of: str
    """The variable of the chain that the column belongs to."""


@dataclass(frozen=True, kw_only=True)
class VariableFacts:
    """How to read a variable, and what the steward wrote about it."""

    kind: Kind
    """Of the chain; identifiers take no part in it."""
    codes: tuple[str, ...] | None = None
    """Missing codes to look for; they are named only where they occur. None: not known."""
    date_format: str | None = None
    declared: PublicVariable = field(default_factory=PublicVariable)
    expression: str = ""
    """Of a derived variable."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts of a run that researchers may know."""

    config: PublicConfig
    steps: tuple[ColumnStep, ...]
    variables: Mapping[str, VariableFacts]
    packages: Mapping[str, str]
    original_rows: int | None
    """Of a panel it counts persons; None unless the steward publishes them."""
    strata: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """What was done to every dataset after synthesis."""
    start: str | None = None
    """What whole datasets were evolved from: ``mutants``, ``chain`` or ``files``; None where the
    chain's draws are released as they are."""
    person: str = ""
    """Column of a panel in the long form, as ``time``; of households, what their members share."""
    unit: str = "person"
    """Whose rows belong together."""
    time: str = ""
    career: str = ""
    """The variable of its careers."""
    wide: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns of each variable over time in the wide form."""
    weights: WeightsEntry | None = None
    """The survey weight, and its public totals."""

    published_periods: int | None = None
    """Periods that were released before, where new ones were added to them."""

    @property
    def is_redrawn(self) -> bool:
        """Whether the sample of every dataset was drawn anew by the design of the survey."""
        return self.weights is not None and self.weights.draw == "design"

    @property
    def trees(self) -> dict[str, TreesEntry]:
        """How trees drew the variables that they drew, also inside other models."""
        return {step.variable: step.trees for step in self.steps if step.trees is not None}

    @property
    def is_modelled(self) -> bool:
        """Whether every record was drawn from fitted models, even if it changed later."""
        return self.start in (None, "chain")

    @property
    def drawn_after(self) -> list[str]:
        """Numbers and dates, which models drew given the categories that had evolved."""
        if self.start is None:
            return []
        return [step.variable for step in self.steps if not Kind(step.kind).is_coded]

    @property
    def kept(self) -> list[str]:
        """Variables whose values are the confidential ones."""
        return [step.variable for step in self.steps if step.kept]

    def knows(self, names: Collection[str]) -> bool:
        """Whether released variables, or what follows from them, have all these names."""
        is_panel = self.unit == "person" and bool(self.person or self.wide)
        return all(
            name in self.variables
            or name in self.wide
            or (is_panel and name.startswith(CAREER))
            or (bool(self.wide) and name == self.time)
            for name in names
        )

    def only(self, names: Collection[str]) -> Facts:
        """Return the facts on released variables, whatever else the manifest names."""
        wide = {name: columns for name, columns in self.wide.items() if {*columns} <= {*names}}

        def known(name: str) -> str:
            return name if name in names or name in wide else ""

        return replace(
            self,
            person=known(self.person),
            time=self.time if wide else known(self.time),
            career=known(self.career),
            wide=wide,
            steps=tuple(
                step.model_copy(
                    update={"predictors": tuple(p for p in step.predictors if p in names)}
                )
                for step in self.steps
                if step.variable in names
            ),
            variables={name: facts for name, facts in self.variables.items() if name in names},
            strata=tuple(name for name in self.strata if name in names),
        )


def facts_of(manifest: PublicManifest) -> Facts:
    """Return the facts in the public part of a manifest."""
    panel, genetic = manifest.panel, manifest.genetic
    wide = {step.variable: step.columns for step in manifest.chain if step.columns}
    chain = manifest.chain
    no_column = wide and panel is not None and panel.career is None  # who is there when
    if no_column or manifest.household is not None:  # heads, and sizes
        named = {entry.name for entry in manifest.variables} | {*wide}
        chain = tuple(step for step in chain if step.variable in named)
    steps = tuple(_by_column(chain, wide))
    return Facts(
        config=manifest.config,
        steps=steps,
        variables=_variables(manifest, steps),
        packages={name: manifest.packages[name] for name in PACKAGES if name in manifest.packages},
        original_rows=manifest.original_rows,
        strata=manifest.config.strata,
        after=manifest.after,
        start=None if genetic is None else genetic.start,
        person=manifest.household or (panel.person if panel else None) or "",
        unit="household" if manifest.household else "person",
        time=(panel.time if panel else None) or (PERIOD if wide else ""),
        career=(panel.career if panel else None) or "",
        wide=wide,
        weights=manifest.weights,
        published_periods=manifest.published_periods,
    )


def _by_column(
    chain: Sequence[StepEntry], wide: Mapping[str, tuple[str, ...]]
) -> Iterator[ColumnStep]:
    """Yield the steps by column: those of one variable over time were made one after the other."""
    for step in chain:
        columns_before = [c for name in step.predictors for c in wide.get(name, (name,))]
        columns = wide.get(step.variable, (step.variable,))
        for place, column in enumerate(columns):
            predictors = (*columns_before, *columns[:place])
            changed = {"variable": column, "predictors": predictors, "of": step.variable}
            yield ColumnStep.model_validate(dict(step) | changed)


def _variables(manifest: PublicManifest, steps: Sequence[ColumnStep]) -> dict[str, VariableFacts]:
    """Return the facts on every variable in the manifest."""
    config = manifest.config
    methods = config.method if isinstance(config.method, Mapping) else {}
    entries = {entry.name: entry for entry in manifest.variables}
    kinds = {name: entry.kind for name, entry in entries.items()}
    kinds |= {step.variable: step.kind for step in steps}
    owners = {step.variable: step.of for step in steps}
    variables = {}
    for name, kind in kinds.items():
        of_owner = config.variables.get(owners.get(name, name), PublicVariable())
        of_column = config.variables.get(name, PublicVariable())
        declared = of_owner.model_copy(update=of_column.model_dump(exclude_unset=True))
        entry = entries.get(name)
        if entry is not None:
            labels = {**entry.level_labels, **declared.level_labels}
            label = declared.label or entry.label
            declared = declared.model_copy(update={"label": label, "level_labels": labels})
        codes = [*declared.missing, *(entry.missing if entry else ())]
        is_known = entry is not None or "missing" in declared.model_fields_set
        variables[name] = VariableFacts(
            kind=Kind(kind),
            codes=tuple(dict.fromkeys(codes)) if is_known else None,
            date_format=(entry.date_format if entry else None) or declared.date_format,
            declared=declared,
            expression=_expression(declared, str(methods.get(name, ""))),
        )
    return variables


def _expression(declared: PublicVariable, method: str) -> str:
    """Return the expression of a derived variable, which may stand as its method after a ~."""
    methods = (text[1:] for text in (declared.method, method) if text.startswith("~"))
    return (declared.derived or next(methods, "")).strip()


def listed(names: Sequence[str], most: int = 12) -> str:
    """Return names as a list in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    shown, n_more = list(names[:most]), len(names) - most
    if n_more > 0:
        shown.append(f"{n_more} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
