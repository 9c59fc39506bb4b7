"""Saved models: a fitted chain in a file that runs no code when it is loaded.

The file is confidential, because it contains donors: its mode is 0600 and its header states it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from synthesizer.data.after import After
from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.codec import NOT_SAVED, ClassRegistry, Codec
from synthesizer.data.errors import ConfigError, SavedModelError, listed
from synthesizer.data.files import new_file
from synthesizer.data.layout import Layout
from synthesizer.data.panel.arrangement import PLAIN, Arrangement
from synthesizer.data.panel.forms import FORMS
from synthesizer.data.plugins import extension_keys, found_at, guarded, installed, model_files
from synthesizer.data.randomness import Seed
from synthesizer.engine.chain import Finisher, FittedChain
from synthesizer.engine.registry import Registry
from synthesizer.models.base import FittedModel

KIND = "synthesizer model (CONFIDENTIAL: holds values of the data it was fitted on)"

_MAX_NAMES = 12
"""Variables in the text of a model."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SavedModel:
    """A fitted chain, with the layout of its data and its origin."""

    chain: FittedChain
    """The fitted chain."""
    layout: Layout
    """Format of the datasets."""
    seed: Seed
    """Seed and random key of the fit; default for generation."""
    origin: Mapping[str, Any] = field(repr=False)
    """Plain facts for manifests: versions, hashes, methods."""
    path: Path | None = field(default=None, metadata=NOT_SAVED)
    """The file that it was loaded from."""
    plugins: tuple[str, ...] = ()
    """Plug-ins of the fit; loading does not import them."""
    arrangement: Arrangement = PLAIN
    """How rows of the source were grouped; also that of datasets."""
    after: After = field(default_factory=After)
    """Changes to every dataset before it is written."""

    def __repr__(self) -> str:
        """Return size, variables and models, without confidential values."""
        steps = self.chain.strata[0].replicates[0]
        models = [f"{step.variable.name} ({step.method})" for step in steps]
        units = f"{self.chain.n_units:,} units"
        return f"SavedModel: a chain fitted to {units}, {listed(models, _MAX_NAMES)}"

    def check(self) -> None:
        """Raise ValueError if a plug-in has no valid name; for saved models."""
        if not all(word.isidentifier() for name in self.plugins for word in name.split(".")):
            raise ValueError("plug-ins are names of modules")

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn any error of drawing and writing into SavedModelError, for altered files."""
        try:
            yield
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            if self.path is None:
                raise
            raise SavedModelError(
                f"{self.path}: its parts do not fit together, so it was altered; fit and save again"
            ) from error


_BELONGS = "belongs to"
"""Words of an error that concerns the installation and not the file."""


def codec(registry: Registry) -> Codec:
    """Return the codec of fitted models, each under its registered name."""
    models = ClassRegistry(FittedModel, registry.name_of_fitted, registry.fitted_type)
    return Codec(
        models, ClassRegistry(Finisher, lambda kind: str(vars(kind)["name"]), _finisher), FORMS
    )


def _finisher(name: str) -> type[Finisher]:
    kinds = set[type[Finisher]]()
    for target in (t for key in extension_keys().values() for t in key.finishers):
        with suppress(ConfigError):  # another extension may be broken
            kind = found_at(target)
            if isinstance(kind, type) and issubclass(kind, Finisher) and kind.name == name:
                kinds.add(kind)
    if len(kinds) != 1:
        absent = f"an extension that is not installed; {installed()}"
        owner = "two extensions; remove a package" if kinds else absent
        raise SavedModelError(f"{name!r} {_BELONGS} {owner}")
    return kinds.pop()


def save_model(path: Path, model: SavedModel, registry: Registry) -> None:
    """Write ``model`` to ``path`` atomically, with mode 0600; replace an older file.

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
    """Return a saved model, or a model of another kind of file that an extension reads.

    Raises
    ------
    SavedModelError
        If the file is damaged, altered, of another version, or needs a model that is not in the
        registry. The message names the plug-ins of the fit; none is imported.
    """
    for kind in model_files():
        if path.suffix.lower() in kind.endings:
            with guarded(f"option {kind.option}"):
                described: SavedModel = kind.load(path, registry)
            return described
    content = read_archive(path, kind=KIND)
    try:
        model: SavedModel = codec(registry).typed(SavedModel, content)
        return replace(model, path=path)
    except SavedModelError as error:
        absent = _absent_plugins(content, registry)
        altered = "; it was altered, or written by another version: fit and save the model again"
        raise SavedModelError(
            f"{path}: is not a valid model ({problem})"
            f"{'' if _BELONGS in problem else altered}{absent}"
            for problem in error.problems
        ) from error


def _absent_plugins(content: Any, registry: Registry) -> str:
    """Return a hint on plug-ins of the fit that the registry does not have; "" without them."""
    plugins = content.get("plugins") if isinstance(content, dict) else None
    names = {*map(str, plugins if isinstance(plugins, list) else ())} - {*registry.plugins}
    good = [name for name in sorted(names) if all(map(str.isidentifier, name.split(".")))]
    options = " ".join(f"--plugin {name}" for name in good)
    return f"; fitted with plug-ins: if you trust them, add {options}" if options else ""
