"""The Python interface: fit a chain to a pandas frame, draw frames from it, check them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import pandas as pd

from synthesizer.config.keys import ChainConfig
from synthesizer.config.reading import house_name, instead_of, read_chain_config
from synthesizer.data.after import NOT_DROPPED, After
from synthesizer.data.displayed import in_short
from synthesizer.data.errors import (
    ConfigError,
    DataError,
    ModelError,
    Problems,
    SavedModelError,
    listed,
    plural,
)
from synthesizer.data.files import check_file
from synthesizer.data.layout import Layout
from synthesizer.data.missing_codes import guessed_codes
from synthesizer.data.options import faults, public
from synthesizer.data.panel.arrangement import Arrangement
from synthesizer.data.randomness import AnySeed, Seed
from synthesizer.data.sources import RawTable, from_frame
from synthesizer.data.table import Kind, Schema, Table
from synthesizer.data.workers import Phases
from synthesizer.data.writing import to_frame
from synthesizer.engine.chain import FittedChain
from synthesizer.engine.condition_tables import AnyTable, Drawable, read_conditions
from synthesizer.engine.conditions import under
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import SavedModel, load_model, save_model
from synthesizer.engine.source import Source
from synthesizer.measures.settings import CheckSettings, LimitConfig
from synthesizer.measures.verdict import CheckResults, Verdict
from synthesizer.models.step import FittedStep
from synthesizer.plan.findings import problem
from synthesizer.plan.inputs import read_frame
from synthesizer.report.blocks import Block, DataTable, Heading, value_table
from synthesizer.report.figures import HIDDEN

if TYPE_CHECKING:
    from synthesizer.plan.plan import Plan

_NOT_NAMED = ("self", "extensions")
_NO_KEYS = ("registry", "infer_missing")
"""Parameters that are not keys of the YAML."""
_AFTER_FIT = frozenset(("checks", "limits", "m", "rows", "workers"))
"""Parameters that do not change the fit."""
_OF_A_FIT = frozenset(("seed", "random_key", "workers", "plugins"))
"""Parameters that `load` does not take from the file: they would change draws, use of this
machine, or imported code."""
_NO_ORIGINAL = "checks need the original: load(path, original=frame)"


_ELSEWHERE = {
    "data": "hand the frame to fit(frame)",
    "output": "generate() returns the frames",
    "conditions": "hand them to generate(given=..., where=..., margins=...)",
}


def _config_of(parameters: Mapping[str, Any]) -> ChainConfig:
    """Return the configuration of parameters; raises ConfigError with all their problems."""
    problems, keys = Problems(), [name for name in ChainConfig.model_fields if name != "version"]
    known = {*keys, *_NO_KEYS}
    problems += (
        f"{name}: no parameter of Synthesizer; "
        + (_ELSEWHERE.get(name) or instead_of(house_name(name), known, python=True))
        for name in parameters
        if name not in known
    )
    problems += faults("infer_missing", parameters.get("infer_missing", True), bool)
    problems += faults("registry", parameters.get("registry"), Registry | None)
    named = {key: parameters[key] for key in keys if parameters.get(key) is not None}
    config = problems.attempt(read_chain_config, named)
    problems.settle(ConfigError)
    assert config is not None  # noqa: S101 - there was no problem
    return config


class Synthesizer:
    """Synthesise pandas frames; the parameters are keys of the YAML without data and output.

    A parameter that is None has the default of the YAML (docs/configuration.md). Every fit draws a
    random key, and a seed if none is named, so that two fits give different frames. Works with
    ``sklearn.clone``.

    Parameters
    ----------
    seed : int, optional
        Seed of the draws, in [0, 2**63); random by default.
    random_key : str or mapping, optional
        Key that is needed to repeat the draws; random by default. ``{"from": path}`` repeats
        a run. ``"none"``: the seed alone repeats the draws; for public or simulated data only.
    m, rows : int, optional
        Number of frames (1 by default), and rows of each (as many as the confidential frame).
    workers : int, optional
        Number of processes, which changes no value; all cores by default.
    fidelity : str, optional
        ``"margins"`` draws each variable by itself, for a file to write code with; ``"full"`` is
        the default.
    proper : bool, optional
        Whether to refit for every frame on a bootstrap sample; False by default.
    default_method, method : str, mapping or list, optional
        Model of all variables (``"cart"``) or of each kind; models of single variables.
    models : mapping, optional
        Options of models, such as ``{"cart": {"min_leaf": 10}}``.
    variables : mapping, optional
        Kinds, missing codes and models of variables, such as
        ``{"age": {"missing": ["-8"], "method": "normal"}}``.
    visit_sequence, predictor_matrix, max_predictors : optional
        Order of the chain, predictors of variables, and their largest number.
    keep, drop, strata : list of str, optional
        Variables that are copied, left out, or whose combinations get separate chains.
    min_stratum_rows : int, optional
        Fewest rows of a stratum.
    rules, forbid, relations, structural_zeros, survival, on_violation : optional
        Constraints on synthetic rows, and what to do if the data break them. By default relations
        of all rows are kept (``relations="auto"``): formulas, labels of codes, orders, dummies.
    rare, after : mapping, optional
        Disclosure control before the synthesis, and after it.
    panel : mapping, optional
        Columns of persons and periods.
    checks : bool or mapping, optional
        Checks of the frames of `generate`; ``True`` runs the default ones.
    limits : mapping, optional
        Limits of figures; with limits, `generate` checks its frames (see `exceeded`).
    plugins : list of str, optional
        Modules with further models, which are imported.
    infer_missing : bool
        Whether to infer missing codes, such as -8 or "NA", and to warn which. If False, only values
        that pandas counts as missing, and codes under ``variables``, are missing.
    registry : Registry, optional
        Models to choose from; all that installed packages offer by default.
    **extensions : mapping or bool, optional
        Keys of installed extensions.

    Raises
    ------
    ConfigError
        With all problems of the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "age": rng.integers(0, 90, 200)})
    >>> synthesizer = Synthesizer(models={"cart": {"min_leaf": 10}}, seed=1).fit(frame)
    >>> first, second = synthesizer.generate(m=2)
    >>> first.shape, list(first.columns)
    ((200, 2), ['sex', 'age'])
    >>> len(synthesizer.generate(rows=50)[0])
    50
    >>> synthesizer
    Synthesizer(models={'cart': {'min_leaf': 10}}, seed=...)
      fitted to 200 rows of 2 variables
      1 frame generated
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        random_key: str | Mapping[str, Any] | None = None,
        m: int | None = None,
        rows: int | None = None,
        workers: int | Mapping[str, str] | None = None,
        fidelity: str | None = None,
        proper: bool | None = None,
        default_method: str | Mapping[str, str] | Sequence[str] | None = None,
        method: str | Mapping[str, str] | Sequence[str] | None = None,
        models: Mapping[str, Mapping[str, Any]] | None = None,
        variables: Mapping[str, Mapping[str, Any]] | None = None,
        visit_sequence: Sequence[str] | None = None,
        predictor_matrix: Mapping[str, Sequence[str]] | None = None,
        max_predictors: int | Literal["all"] | None = None,
        keep: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        strata: Sequence[str] | None = None,
        min_stratum_rows: int | None = None,
        rules: Sequence[str | Mapping[str, Any]] | None = None,
        forbid: Sequence[str] | None = None,
        relations: Literal["auto", "none"] | Mapping[str, Any] | None = None,
        structural_zeros: Literal["auto"] | Sequence[str | Sequence[str]] | None = None,
        survival: Sequence[Mapping[str, Any]] | None = None,
        on_violation: Literal["error", "warn", "ignore"] | None = None,
        rare: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        panel: Mapping[str, Any] | None = None,
        checks: bool | Mapping[str, Any] | CheckSettings | None = None,
        limits: Mapping[str, Any] | LimitConfig | None = None,
        plugins: Sequence[str] | None = None,
        infer_missing: bool = True,
        registry: Registry | None = None,
        **extensions: Any,
    ) -> None:
        named = {name: value for name, value in locals().items() if name not in _NOT_NAMED}
        self._set(named | extensions)

    def _set(self, parameters: dict[str, Any]) -> None:
        """Set the parameters if all are valid, and discard the fit."""
        config = _config_of(parameters)
        registry: Registry = parameters["registry"] or Registry.load()
        self.registry = registry.with_plugins(config.plugins)
        self.config, self._parameters = config, parameters
        self._fitted: _Fitted | None = None
        self._generated: _Generated | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - as scikit-learn
        """Return all parameters; None where one is not set."""
        return dict(self._parameters)

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters, and discard the fit if they affect it.

        ``checks``, ``limits``, ``m``, ``rows`` and ``workers`` do not: the fit stays, and the last
        frames can be checked again.

        Raises
        ------
        ConfigError
            With all problems of the parameters; nothing is changed.

        Examples
        --------
        >>> Synthesizer(m=2).set_params(m=3, proper=True)
        Synthesizer(m=3, proper=True)
        """
        changed, fitted = {**self._parameters, **parameters}, None
        if self._fitted is not None and parameters.keys() <= _AFTER_FIT:
            fitted = self._fitted.planned(_config_of(changed))
        generated = self._generated
        self._set(changed)
        if fitted is not None:
            self._fitted = fitted
            self._generated = None if generated is None else generated.of(fitted)
        return self

    def __repr__(self) -> str:
        """Return the settings and what was done; seed and key are hidden: they fix the draws."""
        named = ", ".join(f"{name}={value}" for name, value in self._settings())
        return "\n  ".join([f"Synthesizer({named})", *self._state()])

    def _repr_html_(self) -> str:
        """Return the settings and, after `fit`, the model of each variable, for a notebook."""
        from synthesizer.report.notebook import framed  # loads jinja2

        heading = Heading("Synthesizer", "; ".join(self._state()) or "not fitted")
        blocks: list[Block] = [heading]
        if settings := [*self._settings()]:
            blocks.append(value_table("Settings", settings, ("Setting", "Value"), "text"))
        source = None if self._fitted is None else self._fitted.source
        if isinstance(source, FittedChain):
            blocks.append(_model_table(source.strata[0].replicates[0]))
        return framed(blocks, "Synthesizer")

    def _settings(self) -> Iterator[tuple[str, str]]:
        for name, value in sorted(self._parameters.items()):
            if value is not {"infer_missing": True}.get(name):
                yield name, "..." if name in HIDDEN else in_short(value)

    def _state(self) -> Iterator[str]:
        fitted = self._fitted
        if fitted is None:
            return
        names, n = fitted.layout.names, fitted.source.n_units
        yield f"fitted to {n:,} rows of {plural(len(names), 'variable')}"
        if fitted.codes:
            yield f"missing codes: {fitted.codes}"
        if self._generated is not None:
            yield f"{plural(self._generated.m, 'frame')} generated"

    @public
    def fit(self, frame: pd.DataFrame | RawTable) -> Self:
        """Fit the models to a confidential frame of shape (n, p), n >= 2; its index is ignored.

        Raises
        ------
        DataError, ConfigError
            With all problems of the data, or of the parameters for these data.

        Warns
        -----
        UserWarning
            On an index that looks like data, inferred missing codes and inferred identifiers.
        """
        from synthesizer.plan.plan import make_plan

        raw = from_frame(frame)
        infer = self._parameters["infer_missing"]
        data = read_frame(raw, self.config, infer_missing=infer)
        plan = make_plan(self.config, data, self.registry)
        with_codes = {n for n, one in self.config.variables.items() if one.missing is not None}
        codes = guessed_codes(data.table, with_codes)
        warned = [*data.warned, *_guessed_identifiers(data.table, self.config)]
        if warned:
            warnings.warn("; ".join(warned), stacklevel=3)
        if codes:
            warnings.warn(
                f"taken for missing codes: {codes}; if they are values, write "
                "infer_missing=False, or the right codes as variables={NAME: {'missing': [...]}}",
                stacklevel=3,
            )
        self._fitted, self._generated = replace(_Fitted.of(plan), codes=codes), None
        return self

    @public
    def generate(
        self,
        m: int | None = None,
        *,
        rows: int | None = None,
        seed: AnySeed | None = None,
        given: AnyTable | None = None,
        where: str | None = None,
        margins: Sequence[AnyTable] = (),
    ) -> list[Any]:
        """Draw synthetic frames, and check them if there are ``limits``.

        Parameters
        ----------
        m : int, optional
            Number of frames; by default that of the object. Frame d is the same for every m.
        rows : int, optional
            Rows of each frame; by default those of the object, or as many as the confidential
            frame.
        seed : int or Seed, optional
            Seed of the draws; by default that of the fit. A number is used with the key of the fit.
        given : DataFrame or path, optional
            One row a wanted record (person of a panel); values of empty cells are drawn.
        where : str, optional
            Condition that every record (first row of a person) satisfies.
        margins : sequence of DataFrame or path, optional
            Tables with columns of variables, and ``count`` or ``share``.

        Returns
        -------
        list of DataFrame
            Frames with the columns, order and types of the confidential frame.

        Raises
        ------
        ModelError
            Before `fit`, if ``rows`` is not that of a partial synthesis, or if too few candidates
            of the model satisfy a condition.
        ConfigError
            With all problems of the conditions.

        Warns
        -----
        UserWarning
            If a figure is above its limit (see `exceeded`), after an interrupt, or if few records
            of the confidential frame satisfy a condition.
        """
        fitted, config = self._sure.under(given, where, margins), self.config
        m = config.m if m is None else m
        rows = config.rows if rows is None else rows
        draws = fitted.seed.instead(seed)
        workers = -1 if config.local_workers is None else config.local_workers
        tables, frames = [], []
        with fitted.guarded():
            drawn = fitted.source.generate(draws, m=m, rows=rows, n_jobs=workers)
            for table in map(fitted.released, drawn):
                frames.append(fitted.frame_of(table))
                if self._is_checked:
                    tables.append(table)
            self._generated = _Generated(fitted, draws, tables, m=m, rows=rows)
        if fitted.source.interrupted:
            warnings.warn(
                f"interrupted: {len(frames)} of {m} frames; the last one is the best until then",
                stacklevel=3,
            )
        self._warn_of_limits()
        return frames

    def _warn_of_limits(self) -> None:
        """Warn of figures above their limits, and of limits that cannot be checked."""
        words = ""
        if self._sure.plan is not None:
            above = "; ".join(self.exceeded)
            words = f"above a limit (see exceeded): {above}" if above else ""
        elif self.config.limits.chosen:
            words = f"limits of the model are not checked: {_NO_ORIGINAL}"
        if words:
            warnings.warn(words, stacklevel=4)

    @property
    def checks(self) -> CheckResults:
        """Checks of the frames of the last `generate`, computed at the first use.

        The parameter ``checks`` selects them. They take as long as the synthesis, or longer.
        Confidential: they are computed from the original.

        Raises
        ------
        ModelError
            Without ``checks`` and ``limits``, before `generate`, or after `load` without the
            original.
        """
        if self._fitted is not None and self._fitted.plan is None:
            raise ModelError(_NO_ORIGINAL)
        steps = []
        if not self._is_checked:
            steps.append("set_params(checks=True), or settings of the checks")
        if self._fitted is None:
            steps.append("fit(frame)")
        if self._generated is None:
            steps.append("generate()")
        if steps or self._generated is None:
            raise ModelError(f"nothing can be checked yet; first {', then '.join(steps)}")
        return self._generated.checks

    @property
    def _is_checked(self) -> bool:
        named = self._parameters.get("limits") is not None  # a fidelity sets others
        return named or "checks" in self.config.model_fields_set

    @property
    def verdict(self) -> Verdict:
        """Verdict of three lines: may the frames of the last `generate` be released?

        ``verdict.to_frame()`` is its table. Confidential; raises the errors of `checks`.
        """
        return self.checks.verdict

    @property
    def exceeded(self) -> tuple[str, ...]:
        """Sentences on limits that the last `generate` exceeds; empty if there are none.

        They are limits under ``limits``, and of extensions that make whole frames. A figure that
        could not be computed counts as above its limit.

        Raises
        ------
        ModelError
            Before `generate`, and after `load` without the original.
        """
        from synthesizer.jobs.run import limits_exceeded

        if self._fitted is not None and self._fitted.plan is None:
            raise ModelError(_NO_ORIGINAL)
        generated = self._drawn
        limited = "limits" in self.config.model_fields_set
        results = generated.checks if limited else None
        return limits_exceeded(self.config.limits, self._sure.source, results)

    @property
    def extensions(self) -> Mapping[str, Any]:
        """Results by key of extensions that made the frames of the last `generate`.

        Confidential: they are computed from the original. Empty if the chain drew the frames.

        Raises
        ------
        ModelError
            Before `generate`.
        """
        drawn, maker = self._drawn, self.config.maker
        if drawn.beside is None or maker is None:
            return {}
        return {maker: drawn.beside.result}

    def further_frames(self) -> list[Any]:
        """Return further frames of an extension, such as alternatives with increasing risk."""
        beside, sure = self._drawn.beside, self._sure
        tables = () if beside is None else beside.tables
        return [sure.frame_of(sure.released(table)) for table in tables]

    @property
    def model(self) -> SavedModel:
        """The fitted model, for `generate`."""
        if self._sure.model is None:
            raise ModelError(problem("maker_not_saved", maker=self.config.maker))
        return self._sure.model

    @public
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted model with mode 0600; it contains confidential values.

        Raises
        ------
        OutputError
            If the file exists and ``overwrite`` is False, or if it cannot be written.
        """
        check_file(Path(path), overwrite=overwrite)
        save_model(Path(path), self.model, self.registry)

    @classmethod
    @public
    def load(
        cls,
        path: str | Path,
        *,
        original: pd.DataFrame | RawTable | None = None,
        registry: Registry | None = None,
    ) -> Self:
        """Return a model from a file of `save` or ``synthesizer fit``, without running code in it.

        Its parameters are those of the fit, without seed, key, workers and plug-ins.

        Parameters
        ----------
        path : str or Path
            The file.
        original : DataFrame, optional
            The confidential frame of the fit, which checks need.
        registry : Registry, optional
            Models that the file may use; by default those of all installed packages.

        Raises
        ------
        SavedModelError
            If the file is cut short or altered, or needs models that are not installed.
        DataError
            If ``original`` is not the frame of the fit.
        """
        result = cls(registry=registry)
        model = load_model(Path(path), result.registry)
        parameters = model.origin.get("config")
        parameters = parameters if isinstance(parameters, Mapping) else {}
        names = result._parameters.keys() - _OF_A_FIT
        try:
            result._set(result._parameters | {k: v for k, v in parameters.items() if k in names})
        except ConfigError as error:
            raise SavedModelError(f"{path}: {problem}" for problem in error.problems) from None
        fitted = _Fitted.of_model(model)
        if original is not None:
            fitted = fitted.against(original, result.config, result.registry)
        result._fitted = fitted
        return result

    @property
    def _drawn(self) -> _Generated:
        if self._generated is None:
            raise ModelError("nothing is generated yet; call fit(frame) and generate() first")
        return self._generated

    @property
    def _sure(self) -> _Fitted:
        if self._fitted is None:
            raise ModelError("nothing is fitted yet; call fit(frame) first")
        return self._fitted


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fitted:
    """A fitted source of frames, with the layout of its data."""

    source: Source
    arrangement: Arrangement
    layout: Layout
    seed: Seed
    plan: Plan | None = None
    """None of a loaded model without the original."""
    after: After = field(default_factory=After)
    model: SavedModel | None = None
    """None if an extension makes whole frames."""
    codes: str = ""
    """Inferred missing codes and their variables."""

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Return the fit of a plan."""
        from synthesizer.jobs.run import fitted_model

        if plan.maker is None:
            return replace(cls.of_model(fitted_model(plan, Phases())), plan=plan)
        with plan.guarded():
            source = plan.fit(plan.seed)
        return cls(
            source=source,
            arrangement=plan.arrangement,
            layout=plan.data.layout,
            seed=plan.seed,
            after=plan.after,
            plan=plan,
        )

    @classmethod
    def of_model(cls, model: SavedModel) -> Self:
        """Return the fit of a model."""
        return cls(
            source=model.chain,
            arrangement=model.arrangement,
            layout=model.layout,
            seed=model.seed,
            after=model.after,
            model=model,
        )

    def planned(self, config: ChainConfig) -> Self | None:
        """Return the fit with other checks and limits; None if an extension makes whole frames."""
        from synthesizer.plan.plan import make_plan

        if self.plan is None:
            return self
        if self.plan.maker is not None:
            return None
        data, registry = self.plan.data, self.plan.registry
        return replace(self, plan=make_plan(config, data, registry, seed=self.seed))

    def under(self, given: AnyTable | None, where: str | None, margins: Sequence[AnyTable]) -> Self:
        """Return the fit with frames that satisfy conditions, if there are any."""
        if given is None and where is None and not margins:
            return self
        from synthesizer.plan.steps_after import rare_conditions

        if self.model is None:
            raise ModelError("conditions: an extension makes whole frames; remove one of the two")
        chain = Drawable.of_chain(self.model.chain)
        made = read_conditions(chain, given, where, margins, self.after)
        if made is not None:
            plan = self.plan
            data = None if plan is None else plan.spec.frame.completed(plan.table)
            for text in rare_conditions(made, data, self.arrangement.unit):
                warnings.warn(text, stacklevel=4)
        return replace(self, source=under(self.source, made))

    def against(
        self, original: pd.DataFrame | RawTable, config: ChainConfig, registry: Registry
    ) -> Self:
        """Return a loaded fit with the frame of the fit."""
        from synthesizer.plan.plan import make_plan

        raw, source = from_frame(original), self.source
        assert isinstance(source, FittedChain)  # noqa: S101 - nothing else is saved
        for infer in (True, False):
            data = read_frame(raw, config, infer_missing=infer)
            plan = make_plan(config, data, registry, seed=self.seed)
            if plan.table.n_units == source.n_units and _alike(plan.table.schema, source.schema):
                return replace(self, plan=plan)
        raise DataError(
            f"original: this is not the frame of the fit, which has {source.n_units:,} rows of "
            f"{', '.join(source.schema.names)}: name that frame, or leave original out"
        )

    def released(self, table: Table) -> Table:
        """Return a drawn table after the steps under ``after``."""
        if self.plan is not None:
            return self.plan.released(table)
        if self.after.drop_uniques:
            raise ModelError(NOT_DROPPED)
        changed = self.after.applied(self.arrangement.restored(table))
        return self.arrangement.modelled(changed) if self.after.changes else table

    def frame_of(self, table: Table) -> Any:
        """Return a drawn table like the confidential frame."""
        return to_frame(self.after.labelled(self.arrangement.restored(table)), self.layout)

    def guarded(self) -> AbstractContextManager[None]:
        """Turn errors of an altered model into errors of the package."""
        if self.model is not None:
            return self.model.guarded()
        return nullcontext() if self.plan is None else self.plan.guarded()


def _model_table(steps: Sequence[FittedStep]) -> DataTable:
    """Return the fitted variables in their order, each with its kind, model and predictors."""
    return DataTable(
        caption="Models, in the order of the chain",
        columns=("Variable", "Kind", "Model", "Predictors"),
        forms=("text", "text", "text", "count"),
        rows=[(s.variable.name, s.variable.kind.value, s.method, len(s.predictors)) for s in steps],
    )


def _alike(first: Schema, second: Schema) -> bool:
    """Whether two tables have the same variables, levels and missing codes."""
    one, other = ([(v.name, v.kind, {*v.labels}) for v in schema] for schema in (first, second))
    return one == other


def _guessed_identifiers(table: Table, config: ChainConfig) -> Iterator[str]:
    """Yield a warning of columns that were inferred to be identifiers."""
    ids = {c.name for c in table.columns if c.variable.kind is Kind.ID}
    ids -= {name for name, one in config.variables.items() if one.kind is not None}
    ids -= {config.unit_column or ""}
    if ids:
        yield (
            f"taken for identifiers, which get new numbers: {listed(sorted(ids))}; for an amount "
            "write variables={NAME: {'kind': 'numeric'}}"
        )


class _Generated:
    """Results of the last `generate` beside its frames."""

    def __init__(
        self, fitted: _Fitted, seed: Seed, tables: Sequence[Table], *, m: int, rows: int | None
    ) -> None:
        self.fitted, self.seed, self.m, self.rows = fitted, seed, m, rows
        self.tables = () if fitted.plan is None else tuple(tables)
        self.beside = fitted.source.beside(seed)

    def of(self, fitted: _Fitted) -> _Generated:
        """Return the same results with the checks of another fit."""
        fitted = replace(fitted, source=self.fitted.source)
        return _Generated(fitted, self.seed, self.tables, m=self.m, rows=self.rows)

    @cached_property
    def checks(self) -> CheckResults:
        """Results of the checks."""
        assert self.fitted.plan is not None  # noqa: S101 - there are no tables otherwise
        plan = replace(self.fitted.plan, m=self.m, rows=self.rows)
        checks = plan.checking(self.seed)
        drawn = self.tables or map(  # drawn again if there were no checks
            self.fitted.released,
            self.fitted.source.generate(self.seed, m=self.m, rows=self.rows, n_jobs=plan.workers),
        )
        for table in drawn:
            checks.add(plan.viewed(table))
        results = checks.finish(partial(plan.refit, self.fitted.source, self.seed))
        return results.judged_by(plan.limits)
