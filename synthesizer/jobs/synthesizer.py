"""The Python interface: fit a chain on a pandas frame, draw frames from it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Self

import pandas as pd

from synthesizer.config.reading import read_chain_config
from synthesizer.data.errors import ConfigError, ModelError
from synthesizer.data.layout import Layout
from synthesizer.data.randomness import Seed
from synthesizer.data.sources import from_pandas
from synthesizer.data.writing import to_pandas
from synthesizer.engine.genetic.source import NOT_SAVED, Evolving
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import SavedModel, load_model, save_model
from synthesizer.jobs.manifest import plain_config, workers_or_all
from synthesizer.plan.plan import fitted_source
from synthesizer.plan.prepare import plan_source

DEFAULT_SEED = 0


class Synthesizer:
    """Synthesise pandas frames; the options are the keys of the YAML but ``data`` and ``output``.

    Parameters
    ----------
    registry : Registry, optional
        Models to choose from; all that installed packages offer by default.
    **options
        Such as ``default_method``, ``variables``, ``visit_sequence``, ``keep``, ``rules``,
        ``models`` and ``seed``. The seed of the fit is ``seed``, 0 when absent; draws use it too
        unless `generate` is told another one.

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
        self._model: SavedModel | None = None
        self._evolution: _Evolution | None = None

    def fit(self, frame: pd.DataFrame) -> Self:
        """Learn from a confidential frame, shape (n, p) with n >= 2; its index is ignored.

        Raises
        ------
        DataError, ConfigError
            With every problem of the data, or of the options in view of them.
        """
        raw = from_pandas(frame)
        found = plan_source(raw, self.config, self.registry)
        seed = Seed(DEFAULT_SEED if self.config.seed is None else self.config.seed)
        if found.plan is None:
            raise ConfigError(found.problems)
        source = fitted_source(
            found.plan,
            found.table,
            seed,
            replicates=self.config.m,
            n_jobs=workers_or_all(self.config.workers),
        )
        if isinstance(source, Evolving):
            self._model, self._evolution = None, _Evolution(source, raw.layout, seed)
            return self
        self._evolution = None
        origin = {"format": 1, "config": plain_config(self.config)}
        self._model = SavedModel(
            chain=source,
            layout=raw.layout,
            seed=seed.entropy,
            origin=origin,
            plugins=self.registry.plugins,
            arrangement=found.arrangement,
        )
        return self

    def generate(
        self, m: int | None = None, *, rows: int | None = None, seed: int | None = None
    ) -> list[pd.DataFrame]:
        """Draw synthetic frames.

        Parameters
        ----------
        m : int, optional
            Number of frames; that of the options by default. Frame d is the same for every m.
        rows : int, optional
            Rows of each; as many as the confidential frame by default.
        seed : int, optional
            Decides every draw; the seed of the options by default.

        Returns
        -------
        list of DataFrame
            Columns, order and types of the confidential frame.

        Raises
        ------
        ModelError
            If nothing is fitted yet, or the rows cannot be changed (partial synthesis).
        """
        wanted: dict[str, Any] = {
            "m": self.config.m if m is None else m,
            "rows": self.config.rows if rows is None else rows,
            "n_jobs": workers_or_all(self.config.workers),
        }
        if self._evolution is not None:
            return self._evolution.frames(seed, **wanted)
        model = self.model
        draws = Seed(model.seed if seed is None else seed)
        with model.guarded():
            tables = model.chain.generate(draws, **wanted)
            return [to_pandas(model.arrangement.restored(t), model.layout) for t in tables]

    @property
    def evolution(self) -> dict[str, Any]:
        """What the genetic synthesizer came to in the last `generate`: ``datasets`` and settings.

        Each dataset has ``utility`` and ``risk`` in [0, 1] (lower is better), ``reached``,
        ``stopped``, ``unchanged`` (share of records that are the original's), its ``history`` and
        its ``frontier``. Confidential: it is computed from the original.

        Raises
        ------
        ModelError
            Without ``genetic`` in the options, or before `generate`.
        """
        if self._evolution is None or not self._evolution.source.results:
            raise ModelError(
                "nothing is evolved yet; give genetic={...}, call fit(frame) and generate()"
            )
        return self._evolution.source.to_dict(self._evolution.drawn)

    def frontier(self) -> list[pd.DataFrame]:
        """Return the datasets of the frontier of the last `generate`, by rising risk.

        At most ``points`` of them, both ends among them; empty but in mode pareto.
        """
        if self._evolution is None:
            return []
        found = self._evolution.source.frontier(self._evolution.drawn)
        if found is None:
            return []
        return [to_pandas(table, self._evolution.layout) for table in found.tables]

    @property
    def model(self) -> SavedModel:
        """The fitted model."""
        if self._evolution is not None:
            raise ModelError(NOT_SAVED)
        if self._model is None:
            raise ModelError("nothing is fitted yet; call fit(frame) first")
        return self._model

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
        result._model = load_model(Path(path), result.registry)
        return result


class _Evolution:
    """An evolution, how its frames are laid out, and the seed of the last ones."""

    def __init__(self, source: Evolving, layout: Layout, seed: Seed) -> None:
        self.source, self.layout = source, layout
        self.seed = self.drawn = seed

    def frames(self, seed: int | None, **wanted: Any) -> list[pd.DataFrame]:
        """Return the evolved frames."""
        self.source.results.clear()
        self.drawn = self.seed if seed is None else Seed(seed)
        made = [to_pandas(t, self.layout) for t in self.source.generate(self.drawn, **wanted)]
        if self.source.interrupted:
            warnings.warn(
                f"interrupted: {len(made)} of {wanted['m']} datasets, the last one as good as it "
                "had become",
                stacklevel=3,
            )
        return made
