"""The datasets of a server: files, public schema, and the ledger of the version that is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from synthesizer.data.errors import ConfigError, DataError, Problems
from synthesizer.data.files import sha256
from synthesizer.verification.database import transaction
from synthesizer.verification.ledger import DATASET, VERSION, Ledger, new_dataset, new_version
from synthesizer.verification.mechanisms import micro
from synthesizer.verification.public_schema import PublicSchema, load_schema
from synthesizer.verification.query import problems_of_unsound, query_of
from synthesizer.verification.server.runner import Task
from synthesizer.verification.server.server_config import DatasetConfig
from synthesizer.verification.verify import version_of

NUMBERS = frozenset({"epsilon", "partitions", "errors"})
"""Keys of a query that only experts write."""
MOST_CAP = 1e6
"""Epsilon of each user: on the server the dataset and the projects have the caps that matter."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A confidential file with the release that was made of it, as the server found them."""

    name: str
    title: str
    schema: PublicSchema
    synthetic: Path
    synthetic_digest: str
    confidential: Path
    stamps: tuple[tuple[int, int], ...]
    """Size and time of change of the confidential files when their digest was taken."""
    synthetic_stamps: tuple[tuple[int, int], ...]
    """The same of the synthetic file."""
    ledger: Ledger
    question_epsilon: float
    """What a question of a project may cost at most."""

    def asked(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return a query about this dataset in its canonical form, as plain values.

        Epsilon, partitions and errors are None where all three are absent: then they are chosen
        for the researcher.

        Raises
        ------
        ConfigError
            With everything that is wrong, as far as the public schema tells.
        """
        given = {key: value for key, value in content.items() if value is not None}
        try:
            query = query_of(given)
        except ConfigError as error:
            more = problems_of_unsound(given, self.schema)
            raise ConfigError([*error.problems, *more]) from None
        if problems := query.problems(self.schema, self.synthetic_digest):
            raise ConfigError(problems)
        canonical = query.bound(self.schema, self.synthetic_digest).content()
        return canonical if NUMBERS & given.keys() else canonical | dict.fromkeys(NUMBERS)

    def questions(self, epsilon: int) -> int:
        """Return as how many questions of a project a charge counts, in millionths of epsilon."""
        return -(-epsilon // micro(self.question_epsilon))

    def task(
        self, content: Mapping[str, Any], *, is_dry: bool, is_without_data: bool = False
    ) -> Task:
        """Return what a process is to do about a query."""
        return Task(
            query=content,
            public_schema=self.schema.model_dump(mode="json"),
            synthetic=str(self.synthetic),
            confidential=None if is_dry else str(self.confidential),
            key="" if is_dry else self.ledger.key.hex(),
            is_without_data=is_without_data,
            most_epsilon=self.question_epsilon if content["epsilon"] is None else None,
        )

    @property
    def changed(self) -> list[str]:
        """Which of its files, by their keys, are no longer those that the server found."""
        files = (
            ("synthetic", self.synthetic, self.synthetic_stamps),
            ("confidential", self.confidential, self.stamps),
        )
        return [key for key, path, stamps in files if not _is_as(path, stamps)]


def open_datasets(engine: Engine, configs: Mapping[str, DatasetConfig]) -> dict[str, Dataset]:
    """Return the datasets of a configuration; those that the database lacks begin with their caps.

    A confidential file that changed is a new version: it shares the budgets of the older ones.
    Each file is read once as it will be for answers, so that one that cannot serve is found before
    anybody asks.

    Raises
    ------
    DataError
        With every problem of every dataset; no dataset is begun then.
    """
    problems = Problems()
    sound = {}
    for name, config in configs.items():
        with problems.gathered(f"datasets.{name}"):
            sound[name] = _looked_at(config)
    problems.settle(DataError)
    return {name: _opened(engine, name, configs[name], *sound[name]) for name in configs}


def _looked_at(config: DatasetConfig) -> tuple[PublicSchema, str, str]:
    """Return public schema, digest of the synthetic file and digest of the version."""
    schema = load_schema(config.public_schema)
    problems = Problems()
    for path in (config.confidential, config.synthetic):
        with problems.gathered():
            problems += schema.column_problems(path, schema.variables)
    if _holds(config.confidential, config.synthetic):
        problems.append(
            f"synthetic: {config.synthetic} is the confidential file: dry runs, which are free, "
            "would show it; name a synthetic dataset of the release"
        )
    problems.settle(DataError)
    data = version_of(config.confidential, schema)
    schema.encoded(schema.read(config.confidential))
    return schema, sha256(config.synthetic), data


def _holds(confidential: Path, synthetic: Path) -> bool:
    """Tell whether a synthetic file is the confidential one, or one of its directory."""
    size, found = synthetic.stat().st_size, _files(confidential)
    return sha256(synthetic) in {sha256(one) for one in found if one.stat().st_size == size}


def _opened(
    engine: Engine,
    name: str,
    config: DatasetConfig,
    schema: PublicSchema,
    synthetic: str,
    data: str,
) -> Dataset:
    with transaction(engine, reads=True) as store:
        is_there = store.execute(select(DATASET).where(DATASET.c.name == name)).first()
        versions = store.execute(select(VERSION.c.data).where(VERSION.c.dataset == name))
        known = {row.data for row in versions}
    if not is_there:
        new_dataset(engine, name, data=data, cap=config.cap, user_cap=MOST_CAP)
    elif data not in known:
        new_version(engine, name, data=data)
    return Dataset(
        name=name,
        title=config.title or name,
        schema=schema,
        synthetic=config.synthetic,
        synthetic_digest=synthetic,
        confidential=config.confidential,
        stamps=_stamps(config.confidential),
        synthetic_stamps=_stamps(config.synthetic),
        ledger=Ledger(engine, dataset=name, data=data),
        question_epsilon=config.question_epsilon,
    )


def _is_as(path: Path, stamps: tuple[tuple[int, int], ...]) -> bool:
    try:
        return _stamps(path) == stamps
    except OSError:
        return False


def _stamps(path: Path) -> tuple[tuple[int, int], ...]:
    return tuple((found.st_size, found.st_mtime_ns) for found in map(Path.stat, _files(path)))


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
