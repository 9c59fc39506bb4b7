"""Saved models: a fitted chain in an audited file that runs no code when it is loaded.

The file holds donors, that is confidential values: it is written with mode 0600 and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from synthesizer.data.after import After
from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.codec import NOT_SAVED, ClassNames, Codec
from synthesizer.data.errors import ConfigError, SavedModelError, listed
from synthesizer.data.files import new_file
from synthesizer.data.layout import Layout
from synthesizer.data.panel.arrangement import PLAIN, Arrangement
from synthesizer.data.panel.forms import FORMS
from synthesizer.data.plugins import extension_keys, found_at, installed
from synthesizer.data.randomness import Seed
from synthesizer.engine.chain import Finisher, FittedChain
from synthesizer.engine.registry import Registry
from synthesizer.models.base import FittedModel

KIND = "synthesizer model (CONFIDENTIAL: holds values of the data it was fitted on)"

_SHOWN = 12
"""Variables that the text of a model names."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SavedModel:
    """A fitted chain, with the layout of its data and its origin."""

    chain: FittedChain
    """Ready to generate."""
    layout: Layout
    """How datasets are written."""
    seed: Seed
    """Seed and key of the fit, which generation has too unless it names another seed."""
    origin: Mapping[str, Any] = field(repr=False)
    """Plain facts for manifests: versions, hashes, methods."""
    path: Path | None = field(default=None, metadata=NOT_SAVED)
    """The file that it was loaded from."""
    plugins: tuple[str, ...] = ()
    """Modules whose models were known to the fit; loading names them and imports none."""
    arrangement: Arrangement = PLAIN
    """How the source held its units; datasets are written in the same form."""
    after: After = field(default_factory=After)
    """What is done to every dataset before it is written."""

    def __repr__(self) -> str:
        """Name the chain and no value of it: what is fitted is confidential."""
        named = {step.variable.name: step.method for step in self.chain.strata[0].replicates[0]}
        told = [f"{name} ({method})" for name, method in named.items()]
        units = f"{self.chain.n_units:,} units"
        return f"SavedModel: a chain fitted to {units}, {listed(told, _SHOWN)}"

    def check(self) -> None:
        """Raise ValueError on plug-ins that nobody could name; for files."""
        if not all(word.isidentifier() for name in self.plugins for word in name.split(".")):
            raise ValueError("plug-ins are names of modules")

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn any failure of drawing and writing into SavedModelError.

        For models that came from a file: its parts need not fit together.
        """
        try:
            yield
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            if self.path is None:
                raise
            raise SavedModelError(
                f"{self.path}: its parts do not fit together; it was altered: fit and save again"
            ) from error


def codec(registry: Registry) -> Codec:
    """Return the codec of fitted models, each under its registered name."""
    models = ClassNames(FittedModel, registry.name_of_fitted, registry.fitted_type)
    return Codec(
        models, ClassNames(Finisher, lambda kind: str(vars(kind)["name"]), _finisher), FORMS
    )


def _finisher(name: str) -> type[Finisher]:
    for target in (t for key in extension_keys().values() for t in key.finishers):
        with suppress(ConfigError):  # another extension may be broken
            kind = found_at(target)
            if isinstance(kind, type) and issubclass(kind, Finisher) and kind.name == name:
                return kind
    raise SavedModelError(f"{name!r} belongs to an extension that is not here; {installed()}")


def save_model(path: Path, model: SavedModel, registry: Registry) -> None:
    """Write ``model`` to ``path`` with mode 0600, whole or not at all; replace an older one.

    Raises
    ------
    ModelError
        If a model in it is not in the registry.
    OutputError
        If the file cannot be written.
    """
    with new_file(path, overwrite=True) as work:
        write_model(work, model, registry)


def write_model(work: Path, model: SavedModel, registry: Registry) -> None:
    """Write ``model`` to the working file of `synthesizer.data.files.new_file`."""
    write_archive(work, codec(registry).plain(SavedModel, model), kind=KIND)


def load_model(path: Path, registry: Registry) -> SavedModel:
    """Read a saved model.

    Raises
    ------
    SavedModelError
        If the file is cut short, altered, of another version, or needs a model that is not in
        the registry; the plug-ins of the fit are named then, none is imported.
    """
    content = read_archive(path, kind=KIND)
    try:
        model: SavedModel = codec(registry).typed(SavedModel, content)
        return replace(model, path=path)
    except SavedModelError as error:
        absent = _absent_plugins(content, registry)
        raise SavedModelError(
            f"{path}: its content does not make a model ({problem}); it was altered or written by "
            f"another version: fit and save the model again{absent}"
            for problem in error.problems
        ) from error


def _absent_plugins(content: Any, registry: Registry) -> str:
    """Name the plug-ins that the fit used and the registry lacks."""
    plugins = content.get("plugins") if isinstance(content, dict) else None
    names = [str(name) for name in plugins] if isinstance(plugins, list) else []
    good = [name for name in names if all(word.isidentifier() for word in name.split("."))]
    options = " ".join(f"--plugin {name}" for name in good if name not in registry.plugins)
    if not options:
        return ""
    return f"; the model was fitted with plug-ins: if you trust them, say {options}"
