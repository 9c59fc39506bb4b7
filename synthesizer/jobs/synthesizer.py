"""The Python interface: fit a chain on a pandas frame, draw frames from it, check them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from synthesizer.config.reading import read_chain_config
from synthesizer.data.after import NOT_DROPPED, After
from synthesizer.data.errors import ModelError
from synthesizer.data.evolved import Evolution
from synthesizer.data.layout import Layout
from synthesizer.data.panel.arrangement import Arrangement
from synthesizer.data.progress import Phases
from synthesizer.data.randomness import AnySeed, Seed
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Table
from synthesizer.data.writing import to_pandas
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import SavedModel, load_model, save_model
from synthesizer.engine.source import NOT_SAVED, Source
from synthesizer.measures.results import CheckResults
from synthesizer.measures.verdict import Verdict, verdict
from synthesizer.plan.inputs import read_frame

if TYPE_CHECKING:
    from synthesizer.plan.plan import Plan


class Synthesizer:
    """Synthesise pandas frames; the options are the keys of the YAML but ``data`` and ``output``.

    Parameters
    ----------
    registry : Registry, optional
        Models to choose from; all that installed packages offer by default.
    **options
        Such as ``default_method``, ``variables``, ``visit_sequence``, ``keep``, ``rules``,
        ``models``, ``seed`` and ``secret``. Every fit draws a secret, and a seed where none is
        named, and draws use them too unless `generate` is told another seed: two objects give other
        frames. ``secret="none"`` lets the seed alone decide (public or simulated data), ``{"from":
        path}`` repeats a run. With ``checks`` the frames of `generate` can be
        checked (see `checks`), with ``limits`` they always are (see `exceeded`).

    Raises
    ------
    ConfigError
        For unknown or wrong options, all at once.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "age": rng.integers(0, 90, 200)})
    >>> synthesizer = Synthesizer(models={"cart": {"min_leaf": 10}}).fit(frame)
    >>> first, second = synthesizer.generate(m=2, seed=1)
    >>> first.shape, list(first.columns)
    ((200, 2), ['sex', 'age'])
    >>> len(synthesizer.generate(rows=50, seed=1)[0])
    50
    """

    def __init__(self, *, registry: Registry | None = None, **options: Any) -> None:
        self.config = read_chain_config(options)
        self.registry = (registry or Registry.load()).with_plugins(self.config.plugins)
        self._fitted: _Fitted | None = None
        self._generated: _Generated | None = None

    def fit(self, frame: pd.DataFrame) -> Self:
        """Learn from a confidential frame, shape (n, p) with n >= 2; its index is left out.

        Raises
        ------
        DataError, ConfigError
            With every problem of the data, or of the options in view of them.

        Warns
        -----
        UserWarning
            If the index looks like data: it has a name or several levels, or no whole numbers.
        """
        from synthesizer.plan.plan import make_plan

        data = read_frame(from_pandas(frame), self.config)
        plan = make_plan(self.config, data, self.registry)
        self._fitted, self._generated = _Fitted.of(plan), None
        return self

    def generate(
        self, m: int | None = None, *, rows: int | None = None, seed: AnySeed | None = None
    ) -> list[pd.DataFrame]:
        """Draw synthetic frames, and check them where the options have ``limits``.

        Parameters
        ----------
        m : int, optional
            Number of frames; that of the options by default. Frame d is the same for every m.
        rows : int, optional
            Rows of each; as many as the confidential frame by default.
        seed : int or Seed, optional
            Decides every draw; the seed of the options by default. With a number the secret of the
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
            If a figure lies above its limit (see `exceeded`), or an evolution was interrupted.
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
                if config.model_fields_set & {"checks", "limits"}:
                    tables.append(table)
        self._generated = _Generated(fitted, draws, tables, m=m, rows=rows)
        if fitted.source.interrupted:
            warnings.warn(
                f"interrupted: {len(frames)} of {m} datasets, the last one as good as it had "
                "become",
                stacklevel=2,
            )
        if self.exceeded:
            above = "; ".join(self.exceeded)
            warnings.warn(f"above a limit (see exceeded): {above}", stacklevel=2)
        return frames

    @property
    def checks(self) -> CheckResults:
        """What the checks find in the frames of the last `generate`; computed when asked for.

        They run as the option ``checks`` says; ``checks=True`` takes all that run by default. They
        take as long as the synthesis, or longer. Confidential: figures are computed from the
        original.

        Raises
        ------
        ModelError
            Without ``checks`` or ``limits`` in the options, before `generate`, or after `load`: a
            saved model has no original to be held against.
        """
        if self._generated is None or not self._generated.tables:
            raise ModelError(
                "nothing can be checked yet; give checks=True (or settings of the checks), call "
                "fit(frame) and generate()"
            )
        return self._generated.checks

    @property
    def verdict(self) -> Verdict:
        """May the frames of the last `generate` be released? Three lines, from `checks`.

        ``verdict.to_frame()`` is a table of them. Confidential, and raises what `checks` raises.
        """
        return verdict(self.checks, self.config.limits)

    @property
    def exceeded(self) -> tuple[str, ...]:
        """The limits that the last `generate` lies above, in words; empty when all is well.

        Those under ``limits``, and ``risk_at_most`` of the genetic synthesizer. A figure that has
        a limit and could not be computed counts as above it.
        """
        from synthesizer.jobs.run import limits_exceeded

        if self._generated is None:
            return ()
        limited = "limits" in self.config.model_fields_set
        results = self._generated.checks if limited else None
        return limits_exceeded(self.config.limits, self._sure.source, results)

    @property
    def evolution(self) -> Evolution:
        """What the genetic synthesizer came to in the last `generate`: ``datasets`` and settings.

        Each dataset has ``utility`` and ``risk`` in [0, 1] (lower is better), ``reached``,
        ``stopped``, ``unchanged`` (share of records that are the original's), its ``history`` and
        its ``frontier``. Confidential: it is computed from the original.

        Raises
        ------
        ModelError
            Without ``genetic`` in the options, or before `generate`.
        """
        if self._generated is None or self._generated.evolution is None:
            raise ModelError(
                "nothing is evolved yet; give genetic={...}, call fit(frame) and generate()"
            )
        return self._generated.evolution.evolution

    def frontier(self) -> list[pd.DataFrame]:
        """Return the datasets of the frontier of the last `generate`, by rising risk.

        At most ``points`` of them, both ends among them; empty but in mode pareto.
        """
        if self._generated is None or self._generated.evolution is None:
            return []
        sure = self._sure
        return [sure.frame_of(sure.released(t)) for t in self._generated.evolution.frontier]

    @property
    def model(self) -> SavedModel:
        """The fitted model."""
        if self._sure.model is None:
            raise ModelError(NOT_SAVED)
        return self._sure.model

    def save(self, path: str | Path) -> None:
        """Write the fitted model with mode 0600; it holds confidential values."""
        save_model(Path(path), self.model, self.registry)

    @classmethod
    def load(cls, path: str | Path, *, registry: Registry | None = None) -> Self:
        """Read a model that `save` or ``synthesizer fit`` wrote; runs no code of the file.

        Raises
        ------
        SavedModelError
            If the file is cut short, altered or needs models that are not installed.
        """
        result = cls(registry=registry)
        result._fitted = _Fitted.of_model(load_model(Path(path), result.registry))
        return result

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
    """None of an evolution, which leaves no model."""

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Fit what a plan says."""
        from synthesizer.jobs.run import fitted_model

        if plan.genetic is None:
            return replace(cls.of_model(fitted_model(plan, Phases())), plan=plan)
        return cls(
            source=plan.fit(plan.seed),
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

    def released(self, table: Table) -> Table:
        """Return a drawn table after the steps that change values or rows."""
        if self.plan is not None:
            return self.plan.released(table)
        if self.after.drop_uniques:
            raise ModelError(NOT_DROPPED)
        changed = self.after.applied(self.arrangement.restored(table))
        return self.arrangement.modelled(changed) if self.after.changes else table

    def frame_of(self, table: Table) -> pd.DataFrame:
        """Return a drawn table like the confidential frame."""
        return to_pandas(self.after.labelled(self.arrangement.restored(table)), self.layout)

    def guarded(self) -> AbstractContextManager[None]:
        """Turn what an altered model sets off into an error of the package."""
        return nullcontext() if self.model is None else self.model.guarded()


class _Generated:
    """What the last `generate` left beside its frames."""

    def __init__(
        self, fitted: _Fitted, seed: Seed, tables: Sequence[Table], *, m: int, rows: int | None
    ) -> None:
        self.fitted, self.seed, self.m, self.rows = fitted, seed, m, rows
        self.tables = () if fitted.plan is None else tuple(tables)
        self.evolution = fitted.source.evolution(seed)

    @cached_property
    def checks(self) -> CheckResults:
        """What the checks find."""
        assert self.fitted.plan is not None  # noqa: S101 - there are no tables otherwise
        plan = replace(self.fitted.plan, m=self.m, rows=self.rows)
        checks = plan.checking(self.seed)
        for table in self.tables:
            checks.add(plan.viewed(table))
        return checks.finish(partial(plan.refit, self.fitted.source, self.seed))
