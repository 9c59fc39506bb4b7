"""The ledger: what was asked of one version of the confidential data, and what is spent.

One SQLite file of the steward, readable by its owner alone. It holds the SHA-256 of the
confidential file, the secret key by which persons fall into partitions, the budgets in millionths
of epsilon (global, of each user, of each analysis), and every answer. The order is always

    reserve (charge, in one transaction)  ->  compute  ->  store  ->  show what is stored

What it is made against:

- *Averaging*: the same question again would get new noise, and the mean of many answers the truth.
  The first answer is stored under the digest of the question and shown to whoever asks again, at no
  charge. Of two processes that compute it at once, both show what the first one stored.
- *Races*: of many questions at once each sees the budget before the others are charged. A charge is
  one conditional update; the file is locked for writing before it is read, and a CHECK of the table
  holds the cap by itself.
- *A crash between charge and answer*: the charge stands. Whoever asks again is not charged twice,
  because nothing was shown.
- *Refunds*, of which the data could decide: there are none; a trigger forbids them.
- *Tiny or fractional charges*: sums of floats grant 1e-17 for ever. Charges are integers above 0.
- *Colluding users*: the global cap counts what all of them spent together.

An older copy of the file would give spent budget back: who may write it is trusted.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from synthesizer.data.errors import LedgerError
from synthesizer.data.files import create, new_file
from synthesizer.measures.figure import Result, Row, column, shown
from synthesizer.verification.mechanisms import MICRO, micro
from synthesizer.verification.questions import Released

_FORM = 1
"""Version of the tables below."""
_SECONDS = 10.0
"""So long another process may hold the file before it counts as locked."""
_LONGEST_NAME = 200
_TABLES = """
CREATE TABLE ledger (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    form INTEGER NOT NULL,
    data TEXT NOT NULL CHECK (length(data) = 64),
    key BLOB NOT NULL CHECK (length(key) = 32),
    user_cap INTEGER NOT NULL,
    analysis_cap INTEGER NOT NULL
);
CREATE TABLE budget (
    scope TEXT NOT NULL CHECK (scope IN ('global', 'user', 'analysis')),
    name TEXT NOT NULL,
    cap INTEGER NOT NULL CHECK (typeof(cap) = 'integer' AND cap > 0),
    spent INTEGER NOT NULL DEFAULT 0 CHECK (typeof(spent) = 'integer' AND spent >= 0),
    PRIMARY KEY (scope, name),
    CHECK (spent <= cap)
);
CREATE TABLE answer (
    query TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    user TEXT NOT NULL,
    analysis TEXT NOT NULL,
    epsilon INTEGER NOT NULL CHECK (typeof(epsilon) = 'integer' AND epsilon > 0),
    asked TEXT NOT NULL,
    released TEXT
);
CREATE TRIGGER no_refund BEFORE UPDATE OF spent ON budget WHEN new.spent < old.spent
    BEGIN SELECT RAISE(ABORT, 'no refund'); END;
CREATE TRIGGER no_end_of_budget BEFORE DELETE ON budget BEGIN SELECT RAISE(ABORT, 'kept'); END;
CREATE TRIGGER no_end_of_answer BEFORE DELETE ON answer BEGIN SELECT RAISE(ABORT, 'kept'); END;
CREATE TRIGGER one_answer BEFORE UPDATE OF released ON answer WHEN old.released IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'kept'); END;
"""


class Budget(Row):
    """What may be spent in one scope, and what is."""

    scope: str = column("Scope", "text", "global, user or analysis")
    name: str = column("Name", "text")
    cap: int = column("Cap", "number", "epsilon", show=lambda amount: amount / MICRO)
    spent: int = column("Spent", "number", "epsilon", show=lambda amount: amount / MICRO)

    @property
    @shown("Left", "number", "epsilon")
    def left(self) -> float:
        """Epsilon that is left."""
        return (self.cap - self.spent) / MICRO


class Entry(Row):
    """A question that was charged for."""

    query: str = column("Question", "text", "digest of its canonical form", show=lambda d: d[:12])
    user: str = column("User", "text")
    analysis: str = column("Analysis", "text")
    epsilon: int = column("Epsilon", "number", "charge", show=lambda amount: amount / MICRO)
    asked: str = column("Asked", "text", "UTC")
    is_answered: bool = column(
        "Answered", "text", show=lambda answered: "yes" if answered else "no: ask again, free"
    )


class Spending(Result):
    """All that a ledger holds but its key and the answers."""

    data: str
    """SHA-256 of the confidential file."""
    budgets: tuple[Budget, ...]
    entries: tuple[Entry, ...]
    """In the order of their charges."""


class Ledger:
    """An open ledger of one version of the confidential data.

    Parameters
    ----------
    path : Path
        File that `new_ledger` made.
    data : str, optional
        SHA-256 of the confidential file that is about to be read; not compared where absent.
    seconds : float
        So long another process may hold the file.

    Raises
    ------
    LedgerError
        If it is missing, damaged, read-only, open to others, locked or of other data.

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

    def __init__(self, path: Path, *, data: str | None = None, seconds: float = _SECONDS) -> None:
        self.path = path
        self._seconds = seconds
        _check_file(path)
        with self._transaction() as store:
            if store.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("quick_check")
            rows = store.execute("SELECT form, data, key FROM ledger").fetchall()
            ((form, self.data, self.key),) = rows or [(0, "", b"")]
            if form != _FORM:
                raise LedgerError(f"{path}: a ledger of another version of this program")
            spent = store.execute("SELECT spent FROM budget WHERE scope = 'global'").fetchone()
            if store.execute("SELECT coalesce(sum(epsilon), 0) FROM answer").fetchone() != spent:
                raise LedgerError(
                    f"{path}: what was spent is not the sum of what was asked; somebody changed "
                    "it: take the last copy that you trust"
                )
        if data is not None and data != self.data:
            raise LedgerError(
                f"{path} is the ledger of another version of the confidential data, or was made "
                "with a public schema that reads the file in another form (file, person); name "
                "file and schema that it was made for, or make a ledger for the new ones"
            )

    def answer(self, query: str) -> Released | None:
        """Return what was released to a question, by its digest; None if nothing was."""
        with self._transaction() as store:
            return _answer(store, query)

    def refusals(self, query: str, *, epsilon: int, user: str, analysis: str) -> list[str]:
        """Return why a question would not be charged now; nothing is if it was charged before."""
        with self._transaction() as store:
            return [] if _is_charged(store, query) else _refusals(store, epsilon, user, analysis)

    def reserve(
        self, query: str, *, content: str, epsilon: int, user: str, analysis: str
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

        Returns
        -------
        Released or None
            What was released to the same question before; None if it is to be computed now.

        Raises
        ------
        LedgerError
            If a budget does not suffice, or the file cannot be written: nothing is charged.
        """
        asked = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction("nothing was charged") as store:
            if _is_charged(store, query):
                return _answer(store, query)
            if problems := _refusals(store, epsilon, user, analysis):
                raise LedgerError(problems)
            for scope, name in _scopes(user, analysis):
                _charge(store, scope, name, epsilon)
            store.execute(
                "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, NULL)",
                (query, content, user, analysis, epsilon, asked),
            )
        return None

    def store(self, query: str, released: Sequence[Sequence[int]]) -> Released:
        """Keep what was released to a question, and return it, or what another process kept first.

        Only what this returns may be shown.
        """
        with self._transaction("the charge stands, ask again: that is free") as store:
            store.execute(
                "UPDATE answer SET released = ? WHERE query = ? AND released IS NULL",
                (json.dumps(released), query),
            )
            kept = _answer(store, query)
        if kept is None:
            raise LedgerError(f"{self.path}: the question was not charged; reserve comes first")
        return kept

    def spending(self) -> Spending:
        """Return budgets and charged questions."""
        with self._transaction() as store:
            budgets = store.execute(
                "SELECT scope, name, cap, spent FROM budget "
                "ORDER BY scope <> 'global', scope DESC, name"
            ).fetchall()
            entries = store.execute(
                "SELECT query, user, analysis, epsilon, asked, released IS NOT NULL FROM answer "
                "ORDER BY rowid"
            ).fetchall()
        return Spending(
            data=self.data,
            budgets=tuple(Budget(scope=s, name=n, cap=c, spent=p) for s, n, c, p in budgets),
            entries=tuple(
                Entry(query=q, user=u, analysis=a, epsilon=e, asked=t, is_answered=bool(i))
                for q, u, a, e, t, i in entries
            ),
        )

    def set_cap(self, scope: str, name: str, cap: float) -> None:
        """Change the budget of a scope (``global`` has the name ""), not below what is spent."""
        with self._transaction() as store:
            row = store.execute(
                "SELECT spent FROM budget WHERE scope = ? AND name = ?", (scope, name)
            ).fetchone()
            spent = row[0] if row else 0
            if not max(1, spent) <= micro(cap):
                raise LedgerError(f"cap ({cap}) must be above 0 and at least {spent / MICRO}")
            store.execute(
                "INSERT INTO budget (scope, name, cap) VALUES (?, ?, ?) "
                "ON CONFLICT (scope, name) DO UPDATE SET cap = excluded.cap",
                (scope, name, micro(cap)),
            )

    @contextmanager
    def _transaction(self, after: str = "") -> Iterator[sqlite3.Connection]:
        """Lock the file for writing; what the block changes is kept whole or not at all.

        ``after`` says what holds if it fails.
        """
        try:
            with closing(_connect(self.path, self._seconds)) as store:
                store.execute("BEGIN IMMEDIATE")
                yield store
                store.execute("COMMIT")
        except sqlite3.Error as error:
            problem = "; ".join(filter(None, (f"{self.path} {_reason(error)}", after)))
            raise LedgerError(problem) from error


def new_ledger(
    path: Path,
    *,
    data: str,
    cap: float,
    user_cap: float | None = None,
    analysis_cap: float | None = None,
) -> Ledger:
    """Make the ledger of one version of the confidential data, with a new secret key.

    Parameters
    ----------
    path : Path
        A name that is free.
    data : str
        SHA-256 of the confidential file.
    cap : float
        Epsilon that may be spent in all.
    user_cap, analysis_cap : float, optional
        Epsilon of each user and of each analysis; the global one alone counts where absent.

    Raises
    ------
    LedgerError
        If a cap is no number above 0.
    OutputError
        If the file exists or cannot be written.
    """
    caps = {"cap": cap, "user-cap": user_cap, "analysis-cap": analysis_cap}
    wrong = [
        f"{name} ({value}) must be a number from 0.000001 to 1,000,000"
        for name, value in caps.items()
        if value is not None and not 1e-6 <= value <= 1e6
    ]
    if wrong:
        raise LedgerError(wrong)
    row = (1, _FORM, data, secrets.token_bytes(32), micro(user_cap or cap))
    with new_file(path, overwrite=False) as work:
        with create(work):
            pass
        with closing(_connect(work, _SECONDS)) as store:
            store.executescript(_TABLES)
            store.execute(
                "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?)", (*row, micro(analysis_cap or cap))
            )
            store.execute(
                "INSERT INTO budget (scope, name, cap) VALUES ('global', '', ?)", (micro(cap),)
            )
    return Ledger(path)


def _connect(path: Path, seconds: float) -> sqlite3.Connection:
    """Open a file that is there. Each charge is on the disk before the next step."""
    place = f"{path.absolute().as_uri()}?mode=rw"
    store = sqlite3.connect(place, uri=True, timeout=seconds, isolation_level=None)
    store.execute("PRAGMA synchronous = EXTRA")
    return store


def _check_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be opened ({error.strerror}); make one with 'synthesizer ledger new'"
        ) from error
    if not stat.S_ISREG(mode):
        raise LedgerError(f"{path} is no file; name the ledger")
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise LedgerError(
            f"{path} holds a secret key and others may open it; chmod 600 it if nobody did"
        )
    if not mode & stat.S_IWUSR:
        raise LedgerError(f"{path} is read-only: nothing could be charged; chmod 600 it")


_CAUSES = {
    sqlite3.SQLITE_BUSY: "is in use by another process; ask again when that ends",
    sqlite3.SQLITE_LOCKED: "is in use by another process; ask again when that ends",
    sqlite3.SQLITE_READONLY: "cannot be written; it and its directory must be the steward's own",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; it and its directory must be the steward's own",
    sqlite3.SQLITE_FULL: "cannot be written: the disk is full; make room",
    sqlite3.SQLITE_IOERR: "cannot be read or written; look after its disk, or make room",
    sqlite3.SQLITE_CONSTRAINT: "refuses the change: it keeps to its caps and gives nothing back",
}


def _reason(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    return _CAUSES.get(code, "is no ledger or is damaged; take the last copy that you trust")


def _scopes(user: str, analysis: str) -> tuple[tuple[str, str], ...]:
    """Return the budgets that pay, always in this order."""
    return (("global", ""), ("user", user), ("analysis", analysis))


def _charge_problems(epsilon: int, user: str, analysis: str) -> Iterator[str]:
    if epsilon < 1:
        yield f"a charge of {epsilon} millionths of epsilon; it must be 1 or more"
    for key, name in (("user", user), ("analysis", analysis)):
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            yield f"{key} must be a name of 1 to {_LONGEST_NAME} printable characters"


def _is_charged(store: sqlite3.Connection, query: str) -> bool:
    found = store.execute("SELECT 1 FROM answer WHERE query = ?", (query,)).fetchone()
    return found is not None


def _answer(store: sqlite3.Connection, query: str) -> Released | None:
    row = store.execute("SELECT released FROM answer WHERE query = ?", (query,)).fetchone()
    if row is None or row[0] is None:
        return None
    return tuple(tuple(values) for values in json.loads(row[0]))


def _charge(store: sqlite3.Connection, scope: str, name: str, epsilon: int) -> None:
    """Charge a budget, which begins with the first charge; the table holds its cap by itself."""
    store.execute(
        "INSERT INTO budget (scope, name, cap) SELECT :s, :n, "
        "CASE :s WHEN 'user' THEN user_cap ELSE analysis_cap END FROM ledger WHERE true "
        "ON CONFLICT DO NOTHING",
        {"s": scope, "n": name},
    )
    charged = store.execute(
        "UPDATE budget SET spent = spent + :e WHERE scope = :s AND name = :n AND spent + :e <= cap",
        {"e": epsilon, "s": scope, "n": name},
    )
    if charged.rowcount != 1:
        raise sqlite3.IntegrityError(f"the {scope} budget")


def _refusals(store: sqlite3.Connection, epsilon: int, user: str, analysis: str) -> list[str]:
    """Say which budgets do not suffice, and what is wrong with the charge itself."""
    problems = [*_charge_problems(epsilon, user, analysis)]
    if problems:
        return problems
    caps = store.execute("SELECT user_cap, analysis_cap FROM ledger").fetchone()
    for (scope, name), first in zip(_scopes(user, analysis), (0, *caps), strict=True):
        row = store.execute(
            "SELECT cap, spent FROM budget WHERE scope = ? AND name = ?", (scope, name)
        ).fetchone()
        cap, spent = row or (first, 0)
        if spent + epsilon > cap:
            of = f" of {name}" if name else ""
            problems.append(
                f"the {scope} budget{of} has {(cap - spent) / MICRO} of {cap / MICRO} left and "
                f"the question costs {epsilon / MICRO}: offer less epsilon"
            )
    return problems
