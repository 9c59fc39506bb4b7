"""The ledger: questions about the versions of confidential data, and their charges.

A steward's ledger is one SQLite file, readable by its owner alone, of one version of one dataset.
The server's database has many datasets, each with versions that share its budgets: what a change
of the data reveals is charged like all else. A ledger contains the SHA-256 of the confidential
file, the secret key of the partitions of persons, the budgets in millionths of epsilon (global, of
each user, of each analysis), and every answer. The order is always

    reserve (charge, in one transaction)  ->  compute  ->  store  ->  show what is stored

Attacks that it prevents:

- *Averaging*: if the same question got new noise each time, the mean of many answers would be the
  truth. The first answer is stored under the digest of the question and shown again, at no charge.
  Of two processes that compute it at once, both show the answer that was stored first.
- *Races*: of many questions at once each sees the budget before the others are charged. A charge is
  one conditional update; the global budget is locked for writing before it is read, and a CHECK of
  the table enforces the cap.
- *A crash between charge and answer*: the charge remains. Asking again is free, because nothing was
  shown.
- *Refunds* that could depend on the data: there are none; a trigger forbids them.
- *Tiny or fractional charges*: sums of floats grant 1e-17 for ever. Charges are integers above 0.
- *Colluding users*: the global cap counts what all of them spent together.

An older copy of the database would restore spent budget: users with write access are trusted.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Required, TypedDict, Unpack

from synthesizer.data.errors import Problems
from synthesizer.data.files import create, new_file
from synthesizer.extensions.verification import database
from synthesizer.extensions.verification.answer import Budget, ChargedQuestion, Spending
from synthesizer.extensions.verification.mechanisms import MICRO, micro
from synthesizer.extensions.verification.messages import WORDS, LedgerError
from synthesizer.extensions.verification.questions import Released

# isort: split
# Where SQLAlchemy is missing, `database` raises a clear error.
import sqlalchemy as sa

_SCHEMA_VERSION = 2
"""Version of the tables below, in a steward's file."""
MAX_NAME = 200


def _whole(name: str) -> sa.CheckConstraint:
    """Return a CHECK for SQLite, whose columns of numbers accept texts, too."""
    return sa.CheckConstraint(f"typeof({name}) = 'integer'", name=f"{name}_whole").ddl_if(
        dialect="sqlite"
    )


DATASET = sa.Table(
    "dataset",
    database.METADATA,
    sa.Column("name", sa.String(MAX_NAME), primary_key=True),
    sa.Column("user_cap", sa.BigInteger, nullable=False),
    sa.Column("analysis_cap", sa.BigInteger, nullable=False),
    sa.Column("is_paused", sa.Boolean, nullable=False, server_default=sa.false()),
)
"""Datasets that share budgets; a steward's file has one, named "". Caps of new budgets."""
VERSION = sa.Table(
    "version",
    database.METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("dataset", sa.ForeignKey("dataset.name"), nullable=False),
    sa.Column("data", sa.String(64), nullable=False),
    sa.Column("key", sa.LargeBinary, nullable=False),
    sa.Column("made", database.Moment, nullable=False),
    sa.CheckConstraint("length(data) = 64", name="data"),
    sa.CheckConstraint("length(key) = 32", name="key"),
    sa.UniqueConstraint("dataset", "data"),
)
"""Confidential files by their SHA-256, each with the key of its partitions."""
BUDGET = sa.Table(
    "budget",
    database.METADATA,
    sa.Column("dataset", sa.ForeignKey("dataset.name"), primary_key=True),
    sa.Column("scope", sa.String(8), primary_key=True),
    sa.Column("name", sa.String(MAX_NAME), primary_key=True),
    sa.Column("cap", sa.BigInteger, nullable=False),
    sa.Column("spent", sa.BigInteger, nullable=False, server_default="0"),
    sa.CheckConstraint("scope IN ('global', 'user', 'analysis')", name="scope"),
    sa.CheckConstraint("cap > 0", name="cap"),
    sa.CheckConstraint("spent >= 0 AND spent <= cap", name="spent"),
    _whole("cap"),
    _whole("spent"),
)
ANSWER = sa.Table(
    "answer",
    database.METADATA,
    sa.Column("version", sa.ForeignKey("version.id"), primary_key=True, autoincrement=False),
    sa.Column("query", sa.String(64), primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("user", sa.String(MAX_NAME), nullable=False),
    sa.Column("analysis", sa.String(MAX_NAME), nullable=False),
    sa.Column("epsilon", sa.BigInteger, nullable=False),
    sa.Column("asked", database.Moment, nullable=False),
    sa.Column("released", sa.Text),
    sa.CheckConstraint("epsilon > 0", name="epsilon"),
    _whole("epsilon"),
)
"""Questions that were charged for, by their digest, with the canonical form; ``released`` is JSON
of whole numbers, once they are known."""
TABLES = (DATASET, VERSION, BUDGET, ANSWER)
"""All tables of a steward's file."""

for _table in TABLES:
    database.forbid(_table, f"no_end_of_{_table.name}", "DELETE", "kept")
database.forbid(VERSION, "one_key", "UPDATE", "kept")
database.forbid(BUDGET, "no_refund", "UPDATE OF spent", "no refund", "new.spent < old.spent")
database.forbid(BUDGET, "one_budget", "UPDATE OF dataset, scope, name", "kept")
database.forbid(
    ANSWER,
    "one_question",
    'UPDATE OF version, query, content, "user", analysis, epsilon, asked',
    "kept",
)
database.forbid(ANSWER, "one_answer", "UPDATE OF released", "kept", "old.released IS NOT NULL")


class Caps(TypedDict, total=False):
    """Limits of epsilon in all, by user and by analysis; the global cap if absent."""

    cap: Required[float]
    user_cap: float | None
    analysis_cap: float | None


class Payers(TypedDict):
    """User and analysis that pay for a question, besides the global budget."""

    user: str
    analysis: str


class Ledger:
    """An open ledger of one version of the confidential data.

    Every method with ``within`` can be part of the caller's `transaction` on the same database, and
    is committed or rolled back with it. It locks the global budget of the dataset, so call it
    before other rows are locked. Without ``within`` it is a separate transaction.

    Parameters
    ----------
    place : Path or Engine
        File that `new_ledger` made, or the server's database (`database.connect`).
    dataset : str
        Name of the dataset on the server; a file has one, named "".
    data : str, optional
        SHA-256 of the confidential file that is about to be read; the latest version if absent.
    seconds : float
        Longest wait for another process, for files.
    within : Connection, optional
        The caller's transaction.

    Attributes
    ----------
    version : int
        Number of the version in the tables.
    data : str
        SHA-256 of the confidential file.
    key : bytes
        Secret key of the partitions of this version, 32 bytes.

    Raises
    ------
    LedgerError
        If it is missing, damaged, read-only, accessible to other users, locked or of other data.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = new_ledger(Path(folder.name) / "ledger.sqlite", data="0" * 64, cap=1.0)
    >>> ledger.reserve("d1", content="{}", epsilon=600_000, user="ada", analysis="gap")
    >>> ledger.store("d1", ((48,),))
    ((48,),)
    >>> ledger.reserve("d1", content="{}", epsilon=600_000, user="bob", analysis="other")
    ((48,),)
    >>> ledger.refusals("d2", epsilon=600_000, user="bob", analysis="other")
    ['the global budget has 0.4 of 1.0 left and the question costs 0.6: offer less epsilon']
    >>> folder.cleanup()
    """

    def __init__(
        self,
        source: Path | sa.Engine,
        *,
        dataset: str = "",
        data: str | None = None,
        seconds: float = database.LOCK_SECONDS,
        within: sa.Connection | None = None,
    ) -> None:
        is_file = not isinstance(source, sa.Engine)
        self.engine = (
            source
            if isinstance(source, sa.Engine)
            else database.connect_file(source, seconds=seconds)
        )
        self.dataset = dataset
        with self._transaction(within, reads=not is_file) as store:
            if is_file:
                _check_form(store, self._name)
            known = store.execute(
                sa.select(VERSION.c.id, VERSION.c.data, VERSION.c.key)
                .where(VERSION.c.dataset == dataset)
                .order_by(VERSION.c.data != (data or ""), VERSION.c.id.desc())
            ).first()
            if known is None:
                raise LedgerError(f"{self._name} has no dataset {dataset!r}; create it first")
            self.version, self.data, self.key = known
            if is_file:
                self.check(store)
        if data is not None and data != self.data:
            raise LedgerError(WORDS["refused"]["other_version"].format(self._name))

    def answer(self, query: str, *, within: sa.Connection | None = None) -> Released | None:
        """Return the released answer to a question, by its digest; None if there is none."""
        with self._transaction(within, reads=True) as store:
            stored = store.execute(
                sa.select(ANSWER.c.released).where(*self._is_question(query))
            ).scalar()
        return None if stored is None else tuple(tuple(values) for values in json.loads(stored))

    def refusals(
        self,
        query: str,
        *,
        epsilon: int,
        within: sa.Connection | None = None,
        **payers: Unpack[Payers],
    ) -> list[str]:
        """Return why a question would not be charged now; empty if it was charged before."""
        with self._transaction(within, reads=True) as store:
            if self.is_charged(query, within=store):
                return []
            return self._refusals(store, epsilon, payers)

    def reserve(
        self,
        query: str,
        *,
        content: str,
        epsilon: int,
        within: sa.Connection | None = None,
        **payers: Unpack[Payers],
    ) -> Released | None:
        """Charge a question, unless it was charged before.

        Parameters
        ----------
        query, content : str
            Digest of the canonical form of the question, and that form.
        epsilon : int
            The charge in millionths.
        user, analysis : str
            Who pays beside the global budget.
        within : Connection, optional
            The caller's transaction. A refusal leaves it unchanged, so the caller may catch and
            record it.

        Returns
        -------
        Released or None
            The stored answer to the same question; None if it must be computed now.

        Raises
        ------
        LedgerError
            If a budget does not suffice, the dataset is paused, or the database cannot be written:
            nothing is charged.
        """
        with self._transaction(within, "nothing was charged") as store:
            self.lock(store)
            if self.is_charged(query, within=store):
                return self.answer(query, within=store)
            Problems(self._refusals(store, epsilon, payers)).settle(LedgerError)
            for scope, name in scopes(payers):
                self._charge(store, scope, name, epsilon)
            store.execute(
                sa.insert(ANSWER).values(
                    version=self.version, query=query, content=content, epsilon=epsilon,
                    asked=database.now(), **payers,
                )
            )  # fmt: skip
        return None

    def is_charged(self, query: str, *, within: sa.Connection | None = None) -> bool:
        """Return whether a question was charged before, so that it costs nothing now."""
        with self._transaction(within, reads=True) as store:
            rows = store.execute(sa.select(ANSWER.c.query).where(*self._is_question(query)))
            return rows.first() is not None

    def store(
        self, query: str, released: Sequence[Sequence[int]], *, within: sa.Connection | None = None
    ) -> Released:
        """Store the released answer; return it, or the answer that another process stored first.

        Only the returned answer may be shown.
        """
        with self._transaction(within, "the charge remains; asking again is free") as store:
            store.execute(
                sa.update(ANSWER)
                .where(*self._is_question(query), ANSWER.c.released.is_(None))
                .values(released=json.dumps(released))
            )
            stored = self.answer(query, within=store)
        if stored is None:
            raise LedgerError(f"{self._name}: the question was not charged; call reserve first")
        return stored

    def spending(self, *, within: sa.Connection | None = None) -> Spending:
        """Return budgets and charged questions, of all versions."""
        scope = sa.case({"global": 0, "user": 1}, value=BUDGET.c.scope, else_=2)
        with self._transaction(within, reads=True) as store:
            budgets = store.execute(
                sa.select(BUDGET.c.scope, BUDGET.c.name, BUDGET.c.cap, BUDGET.c.spent)
                .where(BUDGET.c.dataset == self.dataset)
                .order_by(scope, BUDGET.c.name)
            ).all()
            entries = store.execute(
                sa.select(ANSWER)
                .join(VERSION)
                .where(VERSION.c.dataset == self.dataset)
                .order_by(ANSWER.c.asked, ANSWER.c.query)
            ).all()
        return Spending(
            data=self.data,
            budgets=tuple(Budget(scope=s, name=n, cap=c, spent=p) for s, n, c, p in budgets),
            entries=tuple(
                ChargedQuestion(
                    query=row.query,
                    user=row.user,
                    analysis=row.analysis,
                    epsilon=row.epsilon,
                    asked=row.asked.isoformat(timespec="seconds"),
                    is_answered=row.released is not None,
                )
                for row in entries
            ),
        )

    def set_cap(
        self, scope: str, name: str, cap: float, *, within: sa.Connection | None = None
    ) -> None:
        """Change the cap of a scope (``global`` has the name ""), not below the spent epsilon."""
        Problems(_scope_problems(scope, name)).settle(LedgerError)
        with self._transaction(within, "the cap is as before") as store:
            self.lock(store)
            spent = store.execute(
                sa.select(BUDGET.c.spent).where(*self._budget(scope, name))
            ).scalar_one_or_none()
            if not max(1, spent or 0) <= micro(cap):
                raise LedgerError(WORDS["refused"]["cap"].format((spent or 0) / MICRO))
            if spent is None:
                row = {"dataset": self.dataset, "scope": scope, "name": name, "cap": micro(cap)}
                store.execute(sa.insert(BUDGET).values(row))
            else:
                store.execute(
                    sa.update(BUDGET).where(*self._budget(scope, name)).values(cap=micro(cap))
                )

    def set_paused(self, is_paused: bool, *, within: sa.Connection | None = None) -> None:
        """Stop charging questions about the dataset, or go on."""
        with self._transaction(within) as store:
            self.lock(store)
            store.execute(
                sa.update(DATASET).where(DATASET.c.name == self.dataset).values(is_paused=is_paused)
            )

    def check(self, within: sa.Connection | None = None) -> None:
        """Raise LedgerError if the spent epsilon of a budget is not the sum of its charges."""
        with self._transaction(within, reads=True) as store:
            budgets = sa.select(BUDGET.c.scope, BUDGET.c.name, BUDGET.c.spent)
            spent = {
                (scope, name): amount
                for scope, name, amount in store.execute(
                    budgets.where(BUDGET.c.dataset == self.dataset, BUDGET.c.spent > 0)
                )
            }
            charges = sa.select(ANSWER.c.user, ANSWER.c.analysis, ANSWER.c.epsilon).join(VERSION)
            charged: Counter[tuple[str, str]] = Counter()
            for user, analysis, epsilon in store.execute(
                charges.where(VERSION.c.dataset == self.dataset)
            ):
                for payer in scopes({"user": user, "analysis": analysis}):
                    charged[payer] += epsilon
        if spent != charged:
            raise LedgerError(WORDS["refused"]["not_the_sum"].format(self._name))

    @property
    def _name(self) -> str:
        return database.database_name(self.engine)

    @contextmanager
    def _transaction(
        self, within: sa.Connection | None, after: str = "", *, reads: bool = False
    ) -> Iterator[sa.Connection]:
        """Yield the caller's connection, or a new transaction."""
        if within is None:
            with database.transaction(self.engine, after, reads=reads) as store:
                yield store
        elif reads:
            yield within
        else:
            with within.begin_nested():
                yield within

    def _budget(self, scope: str, name: str) -> tuple[sa.ColumnElement[bool], ...]:
        return BUDGET.c.dataset == self.dataset, BUDGET.c.scope == scope, BUDGET.c.name == name

    def _is_question(self, query: str) -> tuple[sa.ColumnElement[bool], ...]:
        return ANSWER.c.version == self.version, ANSWER.c.query == query

    def lock(self, within: sa.Connection) -> None:
        """Lock the dataset against other charges until the caller's transaction ends."""
        within.execute(sa.select(BUDGET.c.cap).where(*self._budget("global", "")).with_for_update())

    def _first_caps(self, store: sa.Connection) -> dict[str, int]:
        """Return the first caps of budgets of users and of analyses."""
        caps = sa.select(DATASET.c.user_cap, DATASET.c.analysis_cap)
        user, analysis = store.execute(caps.where(DATASET.c.name == self.dataset)).one()
        return {"user": user, "analysis": analysis}

    def _charge(self, store: sa.Connection, scope: str, name: str, epsilon: int) -> None:
        """Charge a budget; the first charge creates it, and a CHECK enforces the cap."""
        charge = (
            sa.update(BUDGET)
            .where(*self._budget(scope, name), BUDGET.c.spent + epsilon <= BUDGET.c.cap)
            .values(spent=BUDGET.c.spent + epsilon)
        )
        if store.execute(charge).rowcount == 1:
            return
        row = {"dataset": self.dataset, "scope": scope, "name": name, "spent": epsilon}
        store.execute(sa.insert(BUDGET).values(row | {"cap": self._first_caps(store)[scope]}))

    def _refusals(self, store: sa.Connection, epsilon: int, payers: Payers) -> list[str]:
        """Return which budgets are too small, and problems of the charge itself."""
        problems = []
        if epsilon < 1:
            problems.append(f"the charge is {epsilon} millionths of epsilon; it must be 1 or more")
        for scope, name in scopes(payers)[1:]:
            problems += _name_problems(scope, name)
        if problems:
            return problems
        paused = sa.select(DATASET.c.is_paused).where(DATASET.c.name == self.dataset)
        if store.execute(paused).scalar():
            problems.append(f"{self.dataset} is paused by its steward; ask again later")
        first = self._first_caps(store)
        for scope, name in scopes(payers):
            rows = store.execute(
                sa.select(BUDGET.c.cap, BUDGET.c.spent).where(*self._budget(scope, name))
            ).first()
            cap, spent = rows or (first[scope], 0)
            if spent + epsilon > cap:
                of = f" of {name}" if name else ""
                problems.append(
                    WORDS["refused"]["budget"].format(
                        scope, of, (cap - spent) / MICRO, cap / MICRO, epsilon / MICRO
                    )
                )
        return problems


def new_ledger(path: Path, *, data: str, **caps: Unpack[Caps]) -> Ledger:
    """Create the ledger of one version of the confidential data, with a new secret key.

    Parameters
    ----------
    path : Path
        A new name.
    data : str
        SHA-256 of the confidential file.
    caps : Caps
        ``cap``, and optionally ``user_cap`` and ``analysis_cap``.

    Raises
    ------
    LedgerError
        If a cap is no number above 0.
    OutputError
        If the file exists or cannot be written.
    """
    _check_caps(caps)
    with new_file(path, overwrite=False) as work:
        with create(work):
            pass
        try:
            with database.transaction(database.connect_file(work)) as store:
                store.exec_driver_sql(f"PRAGMA user_version = {_SCHEMA_VERSION}")
                database.METADATA.create_all(store, TABLES)
                _add_dataset(store, "", caps)
                _add_version(store, "", data)
        except LedgerError as error:
            named = (problem.replace(str(work), str(path)) for problem in error.problems)
            raise LedgerError(f"{problem}; nothing was written" for problem in named) from error
    return Ledger(path)


def new_dataset(engine: sa.Engine, name: str, *, data: str, **caps: Unpack[Caps]) -> Ledger:
    """Create a dataset in the server's database, with its first version; see `new_ledger`.

    Raises
    ------
    LedgerError
        If a cap is no number above 0, or the name is invalid or exists already.
    """
    _check_caps(caps)
    Problems(_name_problems("dataset", name)).settle(LedgerError)
    with database.transaction(engine) as store:
        if store.execute(sa.select(DATASET.c.name).where(DATASET.c.name == name)).first():
            raise LedgerError(f"dataset {name!r} exists already; choose another name")
        _add_dataset(store, name, caps)
        _add_version(store, name, data)
    return Ledger(engine, dataset=name, data=data)


def new_version(engine: sa.Engine, name: str, *, data: str) -> Ledger:
    """Create a version of a dataset in the server's database; all versions share budgets.

    Parameters
    ----------
    data : str
        SHA-256 of the changed confidential file.

    Raises
    ------
    LedgerError
        If there is no such dataset, or this version exists already.
    """
    Ledger(engine, dataset=name)  # or there is no such dataset
    with database.transaction(engine) as store:
        same = sa.select(VERSION.c.id).where(VERSION.c.dataset == name, VERSION.c.data == data)
        if store.execute(same).first():
            raise LedgerError(f"dataset {name!r} has this version of the data already")
        _add_version(store, name, data)
    return Ledger(engine, dataset=name, data=data)


def _check_caps(caps: Caps) -> None:
    known = {
        "cap": caps["cap"],
        "user-cap": caps.get("user_cap"),
        "analysis-cap": caps.get("analysis_cap"),
    }
    Problems(
        f"{name} ({value}) must be a number from 0.000001 to 1,000,000"
        for name, value in known.items()
        if value is not None and not 1e-6 <= value <= 1e6
    ).settle(LedgerError)


def _add_dataset(store: sa.Connection, name: str, caps: Caps) -> None:
    cap = caps["cap"]
    user, analysis = caps.get("user_cap") or cap, caps.get("analysis_cap") or cap
    row = {"name": name, "user_cap": micro(user), "analysis_cap": micro(analysis)}
    store.execute(sa.insert(DATASET).values(row))
    store.execute(sa.insert(BUDGET).values(dataset=name, scope="global", name="", cap=micro(cap)))


def _add_version(store: sa.Connection, dataset: str, data: str) -> None:
    key = secrets.token_bytes(32)
    store.execute(
        sa.insert(VERSION).values(dataset=dataset, data=data, key=key, made=database.now())
    )


def _check_form(store: sa.Connection, name: str) -> None:
    """Raise LedgerError if a file is damaged or has other tables."""
    whole = store.exec_driver_sql("PRAGMA quick_check").scalar() == "ok"
    form = store.exec_driver_sql("PRAGMA user_version").scalar()
    if not whole:
        raise LedgerError(f"{name} is damaged; restore the last copy that you trust")
    if form != _SCHEMA_VERSION:
        raise LedgerError(WORDS["refused"]["no_ledger"].format(name))


def scopes(payers: Payers) -> tuple[tuple[str, str], ...]:
    """Return the budgets that pay, in a fixed order."""
    return (("global", ""), ("user", payers["user"]), ("analysis", payers["analysis"]))


def _name_problems(key: str, name: str) -> Iterator[str]:
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        yield f"{key} must be a name of 1 to {MAX_NAME} printable characters"


def _scope_problems(scope: str, name: str) -> Iterator[str]:
    if scope == "global":
        if name:
            yield f"the global budget has no name ({name}); leave it out"
    elif scope in ("user", "analysis"):
        yield from _name_problems(scope, name)
    else:
        yield f"scope ({scope}) must be global, user or analysis"
