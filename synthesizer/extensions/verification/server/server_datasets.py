"""The datasets of a server: files, public schema, and the ledger of the current version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from synthesizer.data.errors import ConfigError, DataError, Problems
from synthesizer.data.files import sha256
from synthesizer.extensions.verification import questions
from synthesizer.extensions.verification.database import transaction
from synthesizer.extensions.verification.ledger import (
    DATASET,
    VERSION,
    Ledger,
    new_dataset,
    new_version,
)
from synthesizer.extensions.verification.mechanisms import micro
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.public_schema import Encoded, PublicSchema, read_strictly
from synthesizer.extensions.verification.query import problems_of_unsound, query_of
from synthesizer.extensions.verification.server.runner import Task
from synthesizer.extensions.verification.server.server_config import DatasetConfig, ServerConfig
from synthesizer.extensions.verification.verify import version_of

EXPERT_KEYS = frozenset({"epsilon", "partitions", "errors"})
"""Keys of a query that only experts write."""
MAX_USER_CAP = 1e6
"""Epsilon of each user, practically unlimited: datasets and projects have the real caps."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A confidential file with its release, at the start of the server."""

    name: str
    title: str
    schema: PublicSchema
    synthetic: Path
    synthetic_digest: str
    synthetic_stamp: tuple[int, int]
    """Size and modification time of the synthetic file at its digest."""
    prepared: Path
    """Copy of the confidential file for jobs."""
    rows: int
    """Largest number of rows of the file, which is public."""
    ledger: Ledger
    question_epsilon: float
    """Largest cost of a question of a project."""

    def asked(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return a query about this dataset in its canonical form, as plain values.

        Epsilon, partitions and errors are None if all three are absent: then the server chooses.

        Raises
        ------
        ConfigError
            With every problem, by the public schema.
        """
        given = {key: value for key, value in content.items() if value is not None}
        try:
            query = query_of(given)
        except ConfigError as error:
            raise ConfigError([*error.problems, *problems_of_unsound(given, self.schema)]) from None
        Problems(query.problems(self.schema, self.synthetic_digest)).settle(ConfigError)
        canonical = query.bound(self.schema, self.synthetic_digest).content()
        return canonical if EXPERT_KEYS & given.keys() else canonical | dict.fromkeys(EXPERT_KEYS)

    @property
    def questions_left(self) -> int:
        """Number of questions that the budget of the dataset can still pay."""
        budget = self.ledger.spending().budgets[0]
        return (budget.cap - budget.spent) // micro(self.question_epsilon)

    def questions(self, epsilon: int) -> int:
        """Return the questions of a project that a charge in millionths of epsilon uses."""
        return -(-epsilon // micro(self.question_epsilon))

    def task(self, content: Mapping[str, Any], *, is_dry: bool) -> Task:
        """Return the task of a query for a process."""
        return Task(
            query=content,
            public_schema=self.schema.model_dump(mode="json"),
            synthetic=str(self.synthetic),
            prepared=None if is_dry else str(self.prepared),
            key="" if is_dry else self.ledger.key.hex(),
            rows=self.rows,
            most_epsilon=self.question_epsilon if content["epsilon"] is None else None,
        )

    @property
    def is_changed(self) -> bool:
        """Whether the synthetic file has changed since the start of the server."""
        try:
            return _stamp(self.synthetic) != self.synthetic_stamp
        except OSError:
            return True


def open_datasets(engine: Engine, config: ServerConfig) -> dict[str, Dataset]:
    """Return the datasets of a configuration; new ones begin with their caps.

    A confidential file that changed, or is read with other settings, is a new version, which shares
    the budgets of the older ones. Each version is read once, into a copy for jobs, so problems of a
    file appear before any question.

    Raises
    ------
    DataError
        With every problem of every dataset; then no dataset is created.
    """
    problems = Problems()
    sound = {}
    for name, one in config.datasets.items():
        with problems.gathered(f"datasets.{name}"):
            sound[name] = _checked_files(one, config.prepared)
    problems.settle(DataError)
    datasets = {name: _opened(engine, name, config.datasets[name], sound[name]) for name in sound}
    for path in {*config.prepared.glob("*.arrow")} - {one.prepared for one in datasets.values()}:
        path.unlink()  # copies of older versions
    return datasets


@dataclass(frozen=True, eq=False)
class _CheckedFiles:
    """The checked files of a dataset."""

    schema: PublicSchema
    data: str
    """Digest of the version."""
    prepared: Path
    rows: int
    encoded: Encoded | None
    """The confidential file, unless there is a copy."""


def _checked_files(config: DatasetConfig, folder: Path) -> _CheckedFiles:
    """Return the checked files of a dataset; DataError has every problem."""
    schema = read_strictly(PublicSchema, config.public_schema)
    problems = Problems()
    for path in (config.confidential, config.synthetic):
        with problems.gathered():
            problems += schema.column_problems(path, schema.variables)
    if _holds(config.confidential, config.synthetic):
        problems.append(WORDS["refused"]["is_confidential"].format(config.synthetic))
    problems.settle(DataError)
    rows = schema.rows or 2 * schema.read(config.synthetic).n_rows
    data = version_of(config.confidential, schema)
    prepared, encoded = folder / f"{data}.arrow", None
    if (n_rows := questions.prepared_rows(prepared)) is None:
        encoded = schema.encoded(schema.read(config.confidential))
        n_rows = questions.rows_of(encoded, schema)
    if n_rows > rows:
        raise DataError(
            WORDS["refused"]["more_rows"].format(config.confidential, rows, config.public_schema)
        )
    return _CheckedFiles(schema, data, prepared, rows, encoded)


def _holds(confidential: Path, synthetic: Path) -> bool:
    """Return whether a synthetic file is the confidential one, or in its directory."""
    size, files = synthetic.stat().st_size, _files(confidential)
    return sha256(synthetic) in {sha256(one) for one in files if one.stat().st_size == size}


def _opened(engine: Engine, name: str, config: DatasetConfig, checked: _CheckedFiles) -> Dataset:
    schema, data = checked.schema, checked.data
    with transaction(engine, reads=True) as store:
        is_there = store.execute(select(DATASET).where(DATASET.c.name == name)).first()
        versions = store.execute(select(VERSION.c.data).where(VERSION.c.dataset == name))
        known = {row.data for row in versions}
    if not is_there:
        new_dataset(engine, name, data=data, cap=config.cap, user_cap=MAX_USER_CAP)
    elif data not in known:
        new_version(engine, name, data=data)
    ledger = Ledger(engine, dataset=name, data=data)
    if not questions.is_prepared(checked.prepared, ledger.key):
        encoded = checked.encoded or schema.encoded(schema.read(config.confidential))
        questions.write_prepared(checked.prepared, encoded, schema, ledger.key)
    return Dataset(
        name=name, title=config.title or name, schema=schema, synthetic=config.synthetic,
        synthetic_digest=sha256(config.synthetic), synthetic_stamp=_stamp(config.synthetic),
        prepared=checked.prepared, rows=checked.rows, ledger=ledger,
        question_epsilon=config.question_epsilon,
    )  # fmt: skip


def _stamp(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
