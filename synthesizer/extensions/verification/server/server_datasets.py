"""The datasets of a server: files, public schema, and the ledger of the version that is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from synthesizer.data.errors import ConfigError, DataError, Problems
from synthesizer.data.files import sha256
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
from synthesizer.extensions.verification.public_schema import Encoded, PublicSchema, load_schema
from synthesizer.extensions.verification.query import problems_of_unsound, query_of
from synthesizer.extensions.verification.questions import (
    is_prepared,
    prepared_rows,
    rows_of,
    write_prepared,
)
from synthesizer.extensions.verification.server.runner import Task
from synthesizer.extensions.verification.server.server_config import DatasetConfig, ServerConfig
from synthesizer.extensions.verification.verify import version_of

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
    synthetic_stamp: tuple[int, int]
    """Size and time of change of the synthetic file when its digest was taken."""
    prepared: Path
    """What jobs read of the confidential file."""
    rows: int
    """Most rows that it may have: a public number."""
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

    @property
    def questions_left(self) -> int:
        """Questions that the budget of the dataset still pays for."""
        budget = self.ledger.spending().budgets[0]
        return (budget.cap - budget.spent) // micro(self.question_epsilon)

    def questions(self, epsilon: int) -> int:
        """Return as how many questions of a project a charge counts, in millionths of epsilon."""
        return -(-epsilon // micro(self.question_epsilon))

    def task(self, content: Mapping[str, Any], *, is_dry: bool) -> Task:
        """Return what a process is to do about a query."""
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
        """Whether the synthetic file is no longer the one that the server found."""
        try:
            return _stamp(self.synthetic) != self.synthetic_stamp
        except OSError:
            return True


def open_datasets(engine: Engine, config: ServerConfig) -> dict[str, Dataset]:
    """Return the datasets of a configuration; those that the database lacks begin with their caps.

    A confidential file that changed, or is read in another way, is a new version: it shares the
    budgets of the older ones. Each version is read once, into a copy for jobs, so that a file that
    cannot serve is found before anybody asks.

    Raises
    ------
    DataError
        With every problem of every dataset; no dataset is begun then.
    """
    problems = Problems()
    sound = {}
    for name, one in config.datasets.items():
        with problems.gathered(f"datasets.{name}"):
            sound[name] = _looked_at(one, config.prepared)
    problems.settle(DataError)
    datasets = {name: _opened(engine, name, config.datasets[name], sound[name]) for name in sound}
    for path in {*config.prepared.glob("*.arrow")} - {one.prepared for one in datasets.values()}:
        path.unlink()  # of versions that are gone
    return datasets


@dataclass(frozen=True, eq=False)
class _Looked:
    """What a look at the files of a dataset finds."""

    schema: PublicSchema
    data: str
    """Digest of the version."""
    prepared: Path
    rows: int
    encoded: Encoded | None
    """The confidential file, unless there is a copy."""


def _looked_at(config: DatasetConfig, folder: Path) -> _Looked:
    """Look at the files of a dataset; DataError has every problem."""
    schema = load_schema(config.public_schema)
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
    if (found := prepared_rows(prepared)) is None:
        encoded = schema.encoded(schema.read(config.confidential))
        found = rows_of(encoded, schema)
    if found > rows:
        raise DataError(
            WORDS["refused"]["more_rows"].format(config.confidential, rows, config.public_schema)
        )
    return _Looked(schema, data, prepared, rows, encoded)


def _holds(confidential: Path, synthetic: Path) -> bool:
    """Tell whether a synthetic file is the confidential one, or one of its directory."""
    size, found = synthetic.stat().st_size, _files(confidential)
    return sha256(synthetic) in {sha256(one) for one in found if one.stat().st_size == size}


def _opened(engine: Engine, name: str, config: DatasetConfig, found: _Looked) -> Dataset:
    schema, data = found.schema, found.data
    with transaction(engine, reads=True) as store:
        is_there = store.execute(select(DATASET).where(DATASET.c.name == name)).first()
        versions = store.execute(select(VERSION.c.data).where(VERSION.c.dataset == name))
        known = {row.data for row in versions}
    if not is_there:
        new_dataset(engine, name, data=data, cap=config.cap, user_cap=MOST_CAP)
    elif data not in known:
        new_version(engine, name, data=data)
    ledger = Ledger(engine, dataset=name, data=data)
    if not is_prepared(found.prepared, ledger.key):
        encoded = found.encoded or schema.encoded(schema.read(config.confidential))
        write_prepared(found.prepared, encoded, schema, ledger.key)
    return Dataset(
        name=name, title=config.title or name, schema=schema, synthetic=config.synthetic,
        synthetic_digest=sha256(config.synthetic), synthetic_stamp=_stamp(config.synthetic),
        prepared=found.prepared, rows=found.rows, ledger=ledger,
        question_epsilon=config.question_epsilon,
    )  # fmt: skip


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
