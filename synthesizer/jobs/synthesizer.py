"""The Python interface: fit a chain on a pandas frame, draw frames from it, check them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self

import pandas as pd

from synthesizer.config.keys import ChainConfig
from synthesizer.config.reading import house_name, read_chain_config
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
from synthesizer.data.options import faults, nearest, public
from synthesizer.data.panel.arrangement import Arrangement
from synthesizer.data.randomness import AnySeed, Seed
from synthesizer.data.relations import find_relations
from synthesizer.data.sources import RawTable, from_frame
from synthesizer.data.table import Kind, Schema, Table
from synthesizer.data.workers import Phases
from synthesizer.data.writing import to_frame
from synthesizer.engine.chain import FittedChain
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import SavedModel, load_model, save_model
from synthesizer.engine.source import Source
from synthesizer.measures.settings import CheckSettings, LimitConfig
from synthesizer.measures.verdict import CheckResults, Verdict, verdict
from synthesizer.models.fixed import Derived
from synthesizer.plan.findings import problem
from synthesizer.plan.inputs import read_frame

if TYPE_CHECKING:
    from synthesizer.plan.plan import Plan

P = ParamSpec("P")


def _names_checked(init: Callable[P, None]) -> Callable[P, None]:
    """Say which parameter was meant where a name is unknown, with all that is wrong besides."""
    known = signature(init).parameters

    @wraps(init)
    def checked(*args: P.args, **given: P.kwargs) -> None:
        if set(given) - set(known):
            _config_of(given)
        init(*args, **given)

    return checked


_NOT_NAMED = ("self", "extensions")
_OWN = ("registry", "infer_missing")
"""Parameters that are no keys of the YAML."""
_AFTER_FIT = frozenset(("checks", "limits", "m", "rows", "workers"))
"""Parameters from which no fit follows."""
_OF_A_FIT = frozenset(("seed", "random_key", "workers", "plugins"))
"""Parameters that a loaded model does not take over: it has its own seed and key, and a file
decides neither about this machine nor what is imported."""
_NO_ORIGINAL = "a loaded model has no original to be checked against: load(path, original=frame)"


def _config_of(parameters: Mapping[str, Any]) -> ChainConfig:
    """Return the configuration that parameters make; raises all that is wrong with them."""
    problems, keys = Problems(), [name for name in ChainConfig.model_fields if name != "version"]
    known = {*keys, *_OWN}
    problems += (
        f"{name}: no parameter of Synthesizer{nearest(house_name(name), known)}"
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
    """Synthesise pandas frames; the parameters are keys of the YAML, all but data and output.

    Each is None where it is not set and then has the default of the YAML (docs/configuration.md).
    Every fit draws a key, and a seed where none is named, and draws use them too unless
    `generate` is told another seed: two objects give other frames. Works with ``sklearn.clone``.

    Parameters
    ----------
    seed : int, optional
        Tells syntheses apart, in [0, 2**63); drawn by default.
    random_key : str or mapping, optional
        ``"none"`` lets the seed alone decide (public or simulated data); ``{"from": path}`` repeats
        a run; drawn by default.
    m, rows : int, optional
        Number of frames (1), and rows of each (as many as the confidential frame).
    workers : int, optional
        Workers of joblib, which change no value; all cores by default.
    proper : bool, optional
        Whether to refit for every frame on a bootstrap sample; False by default.
    default_method, method : str, mapping or list, optional
        A model for all variables (``"cart"``), or one for each kind; models of single variables.
    models : mapping, optional
        Options of models, such as ``{"cart": {"min_leaf": 10}}``.
    variables : mapping, optional
        What is said of variables, such as ``{"age": {"missing": ["-8"], "method": "normal"}}``.
    visit_sequence, predictor_matrix, max_predictors : optional
        Order of the chain, predictors of variables, and how many of them there are at most.
    keep, drop, strata : list of str, optional
        Variables copied as they are, left out, and whose combinations get a chain each.
    min_stratum_rows : int, optional
        Fewest rows of a stratum.
    rules, forbid, structural_zeros, survival, on_violation : optional
        What holds in every synthetic row, and what to do where the data break it.
    rare, after : mapping, optional
        Disclosure control before and after the synthesis.
    panel : mapping, optional
        Periods of persons.
    checks : bool or mapping, optional
        What `checks` computes of the frames of `generate`; ``True`` takes all by default.
    limits : mapping, optional
        Highest values of figures; with them the frames are always checked (see `exceeded`).
    plugins : list of str, optional
        Modules with further models; they are imported.
    infer_missing : bool
        Whether numbers such as -8 and texts such as "NA" may be taken for missing codes, as by
        ``synthesizer init``; a warning says which. False: only what pandas calls missing is, and
        what ``variables`` names.
    registry : Registry, optional
        Models to choose from; all that installed packages offer by default.
    **extensions : mapping or bool, optional
        Keys of extensions that are installed, such as those that make whole frames.

    Raises
    ------
    ConfigError
        For unknown or wrong parameters, all at once, with the nearest name.

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

    @_names_checked
    def __init__(
        self,
        *,
        seed: int | None = None,
        random_key: str | Mapping[str, Any] | None = None,
        m: int | None = None,
        rows: int | None = None,
        workers: int | Mapping[str, str] | None = None,
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
        """Take parameters over, if all are right; what was fitted is forgotten."""
        config = _config_of(parameters)
        registry: Registry = parameters["registry"] or Registry.load()
        self.registry = registry.with_plugins(config.plugins)
        self.config, self._parameters = config, parameters
        self._fitted: _Fitted | None = None
        self._generated: _Generated | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - as scikit-learn
        """Return all parameters as they were given; None where one is not set."""
        return dict(self._parameters)

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; what was fitted is forgotten if it followed from one of them.

        It stays where ``checks``, ``limits``, ``m``, ``rows`` or ``workers`` alone are changed; the
        last frames can then be checked anew.

        Raises
        ------
        ConfigError
            For unknown or wrong parameters, all at once; nothing is changed then.

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
        """Show what is set; the seed is not shown, since it decides the draws."""
        usual = {"infer_missing": True}
        named = ", ".join(
            f"{name}={'...' if name in ('seed', 'random_key') else in_short(value)}"
            for name, value in sorted(self._parameters.items())
            if value is not usual.get(name)
        )
        return "\n  ".join([f"Synthesizer({named})", *self._state()])

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
        """Learn from a confidential frame, shape (n, p) with n >= 2; its index is left out.

        Raises
        ------
        DataError, ConfigError
            With every problem of the data, or of the options in view of them.

        Warns
        -----
        UserWarning
            If the index looks like data: it has a name or several levels, or no whole numbers; of
            the missing codes that were inferred; and of what holds in all rows, such as an end
            after its start, and may not in synthetic ones.
        """
        from synthesizer.plan.plan import make_plan

        raw = from_frame(frame)
        infer = self._parameters["infer_missing"]
        data = read_frame(raw, self.config, infer_missing=infer)
        plan = make_plan(self.config, data, self.registry)
        said_codes = {n for n, own in self.config.variables.items() if own.missing is not None}
        codes = guessed_codes(data.table, said_codes)
        said = [*data.warned, *_guessed_identifiers(data.table, self.config)]
        said += _unkept_relations(plan, self.config)
        if said:
            warnings.warn("; ".join(said), stacklevel=3)
        if codes:
            warnings.warn(
                f"taken for missing codes: {codes}; infer_missing=False takes them for values, "
                "missing under variables says which are",
                stacklevel=3,
            )
        self._fitted, self._generated = replace(_Fitted.of(plan), codes=codes), None
        return self

    @public
    def generate(
        self, m: int | None = None, *, rows: int | None = None, seed: AnySeed | None = None
    ) -> list[Any]:
        """Draw synthetic frames, and check them where the options have ``limits``.

        Parameters
        ----------
        m : int, optional
            Number of frames; that of the options by default. Frame d is the same for every m.
        rows : int, optional
            Rows of each; as many as the confidential frame by default.
        seed : int or Seed, optional
            Decides every draw; the seed of the options by default. With a number the key of the
            fit stays.

        Returns
        -------
        list of DataFrame
            Columns, order and types of the confidential frame.

        Raises
        ------
        ModelError
            If nothing is fitted yet, or the rows cannot be changed (partial synthesis).

        Warns
        -----
        UserWarning
            If a figure lies above its limit (see `exceeded`), or somebody interrupted the work.
        """
        fitted, config = self._sure, self.config
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
                f"interrupted: {len(frames)} of {m} datasets, the last one as good as it had "
                "become",
                stacklevel=3,
            )
        self._warn_of_limits()
        return frames

    def _warn_of_limits(self) -> None:
        """Warn of what lies above a limit, and of limits that nothing can be held against."""
        words = ""
        if self._sure.plan is not None:
            above = "; ".join(self.exceeded)
            words = f"above a limit (see exceeded): {above}" if above else ""
        elif self.config.limits.chosen:
            words = f"the limits of the model are not checked: {_NO_ORIGINAL}"
        if words:
            warnings.warn(words, stacklevel=4)

    @property
    def checks(self) -> CheckResults:
        """What the checks find in the frames of the last `generate`; computed when asked for.

        They run as the option ``checks`` says; ``checks=True`` takes all that run by default. They
        take as long as the synthesis, or longer. Confidential: figures are computed from the
        original.

        Raises
        ------
        ModelError
            Without ``checks`` or ``limits`` in the options, before `generate`, or after `load`
            without the original.
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
        return bool(self.config.model_fields_set & {"checks", "limits"})

    @property
    def verdict(self) -> Verdict:
        """May the frames of the last `generate` be released? Three lines, from `checks`.

        ``verdict.to_frame()`` is a table of them. Confidential, and raises what `checks` raises.
        """
        return verdict(self.checks, self.config.limits)

    @property
    def exceeded(self) -> tuple[str, ...]:
        """The limits that the last `generate` lies above, in words; empty where it keeps all.

        Those under ``limits``, and of extensions that make whole frames. A figure that has a limit
        and could not be computed counts as above it.

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
        """What extensions came to that made the frames of the last `generate`, by key.

        Confidential: it is computed from the original. Empty where the chain drew the frames.

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
        """Return the frames that an extension left beside those of the last `generate`.

        One may be picked, such as from several of rising risk; mostly there are none.
        """
        beside, sure = self._drawn.beside, self._sure
        tables = () if beside is None else beside.tables
        return [sure.frame_of(sure.released(table)) for table in tables]

    @property
    def model(self) -> SavedModel:
        """The fitted model."""
        if self._sure.model is None:
            raise ModelError(problem("maker_not_saved", maker=self.config.maker))
        return self._sure.model

    @public
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted model with mode 0600; it holds confidential values.

        Raises
        ------
        OutputError
            If a file is there already and ``overwrite`` does not say to replace it, or it cannot be
            written.
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
        """Read a model that `save` or ``synthesizer fit`` wrote; runs no code of the file.

        Its parameters are those of the fit, its checks and limits among them, but for seed, key,
        workers and plug-ins.

        Parameters
        ----------
        path : str or Path
            The file.
        original : DataFrame, optional
            The confidential frame that it was fitted to: what is drawn can then be checked.
        registry : Registry, optional
            Models that it may consist of; all that installed packages offer by default.

        Raises
        ------
        SavedModelError
            If the file is cut short, altered or needs models that are not installed.
        DataError
            If ``original`` is another frame.
        """
        result = cls(registry=registry)
        model = load_model(Path(path), result.registry)
        said = model.origin.get("config")
        said = said if isinstance(said, Mapping) else {}
        names = result._parameters.keys() - _OF_A_FIT
        try:
            result._set(result._parameters | {k: v for k, v in said.items() if k in names})
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
    """What frames are drawn from, and how they are laid out."""

    source: Source
    arrangement: Arrangement
    layout: Layout
    seed: Seed
    plan: Plan | None = None
    """None of a model that was loaded: the original is not there."""
    after: After = field(default_factory=After)
    model: SavedModel | None = None
    """None where an extension makes whole frames, which leaves no model."""
    codes: str = ""
    """Missing codes that were inferred, and the variables that have them."""

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Fit what a plan says."""
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
        """Return a model that was fitted already."""
        return cls(
            source=model.chain,
            arrangement=model.arrangement,
            layout=model.layout,
            seed=model.seed,
            after=model.after,
            model=model,
        )

    def planned(self, config: ChainConfig) -> Self | None:
        """Return it with other checks and limits; None where whole frames are made by them."""
        from synthesizer.plan.plan import make_plan

        if self.plan is None:
            return self
        if self.plan.maker is not None:
            return None
        data, registry = self.plan.data, self.plan.registry
        return replace(self, plan=make_plan(config, data, registry, seed=self.seed))

    def against(
        self, original: pd.DataFrame | RawTable, config: ChainConfig, registry: Registry
    ) -> Self:
        """Return a loaded model with the frame that it was fitted to."""
        from synthesizer.plan.plan import make_plan

        raw, source = from_frame(original), self.source
        assert isinstance(source, FittedChain)  # noqa: S101 - nothing else is saved
        for infer in (True, False):
            data = read_frame(raw, config, infer_missing=infer)
            plan = make_plan(config, data, registry, seed=self.seed)
            if plan.table.n_units == source.n_units and _alike(plan.table.schema, source.schema):
                return replace(self, plan=plan)
        raise DataError(
            "original: this is not the frame that the model was fitted to, with "
            f"{source.n_units:,} rows of {', '.join(source.schema.names)}: hand over that frame, "
            "or leave it out"
        )

    def released(self, table: Table) -> Table:
        """Return a drawn table after the steps that change values or rows."""
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
        """Turn what an altered model sets off into an error of the package."""
        if self.model is not None:
            return self.model.guarded()
        return nullcontext() if self.plan is None else self.plan.guarded()


def _alike(ours: Schema, theirs: Schema) -> bool:
    """Whether two tables have the same variables, levels and missing codes."""
    one, other = ([(v.name, v.kind, {*v.labels}) for v in schema] for schema in (ours, theirs))
    return one == other


def _guessed_identifiers(table: Table, config: ChainConfig) -> Iterator[str]:
    """Say which columns are taken for identifiers that nobody declared."""
    ids = {c.name for c in table.columns if c.variable.kind is Kind.ID}
    ids -= {name for name, said in config.variables.items() if said.kind is not None}
    ids -= {config.unit_column or ""}
    if ids:
        yield (
            f"taken for identifiers, whose values are new: {listed(sorted(ids))}; "
            "kind: numeric under variables says which are amounts"
        )


def _unkept_relations(plan: Plan, config: ChainConfig) -> Iterator[str]:
    """Say which orders and labels of codes all rows keep, and no parameter asks to keep."""
    if config.arranging is not None or config.maker is not None:
        return
    computed = {s.variable: s.model for s in plan.spec.steps if isinstance(s.model, Derived)}
    derived = {name: model.expression for name, model in computed.items()}
    declared = {name for name, said in config.variables.items() if said.follows}
    is_said = {
        "forbid": config.rules or config.forbid,
        "follows": config.structural_zeros,
        "derived": True,
    }
    relations = find_relations(plan.table, derived=derived)
    found = [r for r in relations if r.name not in declared and not is_said[r.key]]
    if found:
        named = "; ".join(f"{r.sentence} ({r.key}: {r.text})" for r in found)
        yield (
            f"synthetic rows may break what all rows keep: {named}; forbid=[...], and follows "
            "under variables, keep it"
        )


class _Generated:
    """What the last `generate` left beside its frames."""

    def __init__(
        self, fitted: _Fitted, seed: Seed, tables: Sequence[Table], *, m: int, rows: int | None
    ) -> None:
        self.fitted, self.seed, self.m, self.rows = fitted, seed, m, rows
        self.tables = () if fitted.plan is None else tuple(tables)
        self.beside = fitted.source.beside(seed)

    def of(self, fitted: _Fitted) -> _Generated:
        """Return the same under other checks."""
        return _Generated(fitted, self.seed, self.tables, m=self.m, rows=self.rows)

    @cached_property
    def checks(self) -> CheckResults:
        """What the checks find."""
        assert self.fitted.plan is not None  # noqa: S101 - there are no tables otherwise
        plan = replace(self.fitted.plan, m=self.m, rows=self.rows)
        checks = plan.checking(self.seed)
        drawn = self.tables or map(  # the same again, where nobody had asked for checks
            self.fitted.released,
            self.fitted.source.generate(self.seed, m=self.m, rows=self.rows, n_jobs=plan.workers),
        )
        for table in drawn:
            checks.add(plan.viewed(table))
        return checks.finish(partial(plan.refit, self.fitted.source, self.seed))
