"""Accounts: who may ask, by password and session on the pages, by token elsewhere.

What it is made against:

- *A stolen copy of the database*: passwords are kept as argon2id makes them (64 MiB and three
  passes a guess), tokens and cookies, which are 256 random bits, as SHA-256. None can be read back.
- *Guessed passwords*: after so many failures of a name, or ten times as many of an address, both
  are refused for a while, right passwords too. A try counts before its password is looked at, so
  many at once gain nothing. Tokens go on working: who locks a name out stops no program.
- *Finding out which names there are*: a name that is unknown, closed or without a password costs
  the same hash of a dummy, counts as a failure in the same way, and hears the same words.
- *Many logins at once*: two hashes are computed at a time, the others wait, so memory is bounded.
- *A program that reads the pages for somebody*: each session has a secret of its own for forms.

Every change is in the audit log under the name of who made it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Connection, Engine, Row, delete, func, insert, select, update

from synthesizer.data.errors import RequestError
from synthesizer.verification.database import now, transaction
from synthesizer.verification.ledger import LONGEST_NAME
from synthesizer.verification.server import audit
from synthesizer.verification.server.server_tables import ACCOUNT, ATTEMPT, SESSION, TOKEN

Role = Literal["researcher", "steward", "admin"]
SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 200
LONGEST_DAYS = 366
"""A token is no longer valid."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
_NOT_A_NAME = frozenset({"server"})
"""What acts in the audit log without an account."""
_ADDRESS_FAILURES = 10
"""Times as many failures lock an address out: many may share it."""
_AT_ONCE = threading.BoundedSemaphore(2)
_WRONG = "name or password is wrong"


@dataclass(frozen=True)
class Account:
    """Who may ask."""

    id: int
    name: str
    role: Role
    is_active: bool = True
    has_password: bool = False
    made: datetime | None = None


@dataclass(frozen=True)
class TokenInfo:
    """A token without its secret."""

    id: int
    account: str
    label: str
    made: datetime
    expires: datetime
    revoked: datetime | None


@dataclass(frozen=True)
class Session:
    """Somebody who signed in to the pages."""

    account: Account
    csrf: str = field(repr=False)
    """What every form of the session carries."""
    expires: datetime


@dataclass(frozen=True)
class NewSession:
    """What the browser keeps, once: only its SHA-256 is in the database."""

    secret: str = field(repr=False)
    session: Session


class Accounts:
    """The accounts of a server; each method is a transaction by itself.

    Parameters
    ----------
    engine : Engine
        Database with the tables of the server.
    failures : int
        So many wrong passwords of a name within the time, or ten times as many of an address,
        lock it out.
    lock_minutes : float
        So long a failure counts.
    session_hours : float
        So long a session is valid.
    hasher : PasswordHasher, optional
        argon2id with its recommended costs if absent.
    clock : callable
        Tells the time, with its zone.

    Raises
    ------
    RequestError
        Of every method that takes a name: 404 where there is no such account. 422 where a name or
        a password is none, 409 where a change cannot be made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from synthesizer.verification.database import connect
    >>> from synthesizer.verification.server.server_tables import upgrade
    >>> folder = TemporaryDirectory()
    >>> engine = connect(f"sqlite:///{folder.name}/server.sqlite")
    >>> upgrade(engine)
    >>> accounts = Accounts(engine)
    >>> ada = accounts.add("ada", "researcher", actor="command line")
    >>> token = accounts.new_token(ada, "laptop", actor="command line")
    >>> accounts.by_token(token).name, accounts.by_token(token[:-1])
    ('ada', None)
    >>> engine.dispose(); folder.cleanup()
    """

    def __init__(
        self,
        engine: Engine,
        *,
        failures: int = 5,
        lock_minutes: float = 15.0,
        session_hours: float = 8.0,
        hasher: PasswordHasher | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self.engine = engine
        self._failures, self._window = failures, timedelta(minutes=lock_minutes)
        self._session = timedelta(hours=session_hours)
        self._hasher = hasher or PasswordHasher()
        self._dummy = self._hasher.hash(secrets.token_hex())
        self._clock = clock

    # Who there is.

    def all(self) -> list[Account]:
        """Return every account, by name."""
        with transaction(self.engine, reads=True) as store:
            return [
                _account(row) for row in store.execute(select(ACCOUNT).order_by(ACCOUNT.c.name))
            ]

    def named(self, name: str) -> Account:
        """Return an account by its name."""
        with transaction(self.engine, reads=True) as store:
            return _account(_row(store, name))

    def add(self, name: str, role: Role, *, actor: str, password: str | None = None) -> Account:
        """Make an account.

        Parameters
        ----------
        name : str
            1 to 64 small letters, digits and ``._@-``.
        role : {"researcher", "steward", "admin"}
            What it may do.
        actor : str
            Who makes it.
        password : str, optional
            Of 12 to 200 characters. Without one only tokens let in.
        """
        problems = [*_name_problems(name), *_role_problems(role), *_password_problems(password)]
        if problems:
            raise RequestError(problems, 422)
        kept = None if password is None else self._hash(password)
        row = {"name": name, "role": role, "password": kept, "made": self._clock()}
        with transaction(self.engine) as store:
            if store.execute(select(ACCOUNT.c.id).where(ACCOUNT.c.name == name)).first():
                raise RequestError("the name is taken; choose another one", 409)
            store.execute(insert(ACCOUNT).values(row))
            audit.append(store, actor, "account made", details={"account": name, "role": role})
            return _account(_row(store, name))

    def set_password(self, name: str, password: str, *, actor: str) -> Account:
        """Give an account a password; its sessions end."""
        if problems := [*_password_problems(password)]:
            raise RequestError(problems, 422)
        return self._set(name, actor, "password set", password=self._hash(password))

    def set_active(self, name: str, *, is_active: bool, actor: str) -> Account:
        """Close an account, so that neither password nor token lets in, or open it again."""
        action = "account opened" if is_active else "account closed"
        return self._set(name, actor, action, is_active=is_active)

    def _set(self, name: str, actor: str, action: str, **values: Any) -> Account:
        with transaction(self.engine) as store:
            row = _row(store, name)
            if not values.get("is_active", True):
                _check_last_admin(store, row.id)
            store.execute(update(ACCOUNT).where(ACCOUNT.c.id == row.id).values(values))
            store.execute(delete(SESSION).where(SESSION.c.account == row.id))
            audit.append(store, actor, action, details={"account": name})
            return _account(_row(store, name))

    # Tokens.

    def new_token(self, account: Account, label: str, *, actor: str, days: float = 90) -> str:
        """Make a token and return it; nobody can read it again.

        Parameters
        ----------
        account : Account
            Whose it is.
        label : str
            What it is for, in words.
        days : float
            So long it is valid, at most 366.
        """
        problems = []
        if not label.strip() or len(label) > LONGEST_NAME or not label.isprintable():
            problems.append(f"label must be 1 to {LONGEST_NAME} printable characters")
        if not 0 < days <= LONGEST_DAYS:
            problems.append(f"days must be above 0 and at most {LONGEST_DAYS}")
        if problems:
            raise RequestError(problems, 422)
        token, made = secrets.token_urlsafe(32), self._clock()
        expires = made + timedelta(days=days)
        with transaction(self.engine) as store:
            store.execute(
                insert(TOKEN).values(
                    account=account.id, digest=_digest(token), label=label, made=made,
                    expires=expires,
                )
            )  # fmt: skip
            details = {"account": account.name, "label": label, "expires": str(expires)}
            audit.append(store, actor, "token made", details=details)
        return token

    def tokens(self, name: str) -> list[TokenInfo]:
        """Return the tokens of an account, those that ended too, in the order of their making."""
        columns = (TOKEN.c.id, TOKEN.c.label, TOKEN.c.made, TOKEN.c.expires, TOKEN.c.revoked)
        with transaction(self.engine, reads=True) as store:
            mine = select(*columns).where(TOKEN.c.account == _row(store, name).id)
            return [
                TokenInfo(row.id, name, row.label, row.made, row.expires, row.revoked)
                for row in store.execute(mine.order_by(TOKEN.c.id))
            ]

    def revoke(self, token: int, *, actor: str) -> None:
        """End a token, by its number in `tokens`, and the account's sessions, which it may have
        begun; one that ended stays as it is.
        """
        with transaction(self.engine) as store:
            columns = (ACCOUNT.c.id, ACCOUNT.c.name, TOKEN.c.label)
            found = select(*columns).join(TOKEN).where(TOKEN.c.id == token)
            row = store.execute(found).first()
            if row is None:
                raise RequestError("there is no such token; the list has them", 404)
            ends = update(TOKEN).where(TOKEN.c.id == token, TOKEN.c.revoked.is_(None))
            if store.execute(ends.values(revoked=self._clock())).rowcount:
                store.execute(delete(SESSION).where(SESSION.c.account == row.id))
                details = {"account": row.name, "label": row.label}
                audit.append(store, actor, "token revoked", details=details)

    def by_token(self, token: str) -> Account | None:
        """Return whose token it is; None if it is none, ended, or of a closed account."""
        with transaction(self.engine, reads=True) as store:
            row = self._of_token(store, token)
        return None if row is None else _account(row)

    def _of_token(self, store: Connection, token: str) -> Row[Any] | None:
        """Return the account of a valid token, with the time when that ends."""
        digest = _digest(token)
        found = select(ACCOUNT, TOKEN.c.digest, TOKEN.c.expires).join(TOKEN).where(
            TOKEN.c.digest == digest, TOKEN.c.revoked.is_(None)
        )  # fmt: skip
        row = store.execute(found).first()
        return row if row is not None and self._is_valid(row, digest) else None

    # Passwords and sessions.

    def sign_in(self, name: str, password: str, *, address: str) -> NewSession:
        """Begin a session by name and password.

        Parameters
        ----------
        name, password : str
            As they were typed.
        address : str
            Where the request comes from.

        Raises
        ------
        RequestError
            401 where they are wrong, in the same words whatever is wrong; 429 where name or
            address are locked out.
        """
        # What is no name may be a password in the wrong field: it leaves no trace.
        name = name if _NAME.fullmatch(name) else ""
        tries = _digest(f"name {name}"), _digest(f"address {address}")
        number = self._begin(tries)
        with transaction(self.engine, reads=True) as store:
            row = store.execute(select(ACCOUNT).where(ACCOUNT.c.name == name)).first()
        kept = None if row is None else row.password
        is_right = self._is_right(kept or self._dummy, password)
        if row is None or kept is None or not row.is_active or not is_right:
            self._fail(tries[0], {} if row is None else {"account": row.name})
            raise RequestError(_WRONG, 401)
        if self._hasher.check_needs_rehash(kept):
            again = update(ACCOUNT).where(ACCOUNT.c.id == row.id, ACCOUNT.c.password == kept)
            with transaction(self.engine) as store:
                store.execute(again.values(password=self._hash(password)))
        failed = (ATTEMPT.c.who == tries[0]) | (ATTEMPT.c.id == number)
        with transaction(self.engine) as store:
            store.execute(delete(ATTEMPT).where(failed))
            return self._new_session(store, row, self._clock() + self._session)

    def sign_in_by_token(self, token: str) -> NewSession:
        """Begin a session by a token, which ends with it; RequestError (401) where it is none."""
        with transaction(self.engine) as store:
            row = self._of_token(store, token)
            if row is None:
                raise RequestError("the token is not valid; ask the steward for another one", 401)
            return self._new_session(store, row, min(row.expires, self._clock() + self._session))

    def session(self, secret: str) -> Session | None:
        """Return the session of a cookie; None if it is none, ended, or of a closed account."""
        digest = _digest(secret)
        wanted = select(ACCOUNT, SESSION.c.digest, SESSION.c.csrf, SESSION.c.expires)
        with transaction(self.engine, reads=True) as store:
            row = store.execute(wanted.join(SESSION).where(SESSION.c.digest == digest)).first()
        if row is None or not self._is_valid(row, digest):
            return None
        return Session(_account(row), row.csrf, row.expires)

    def sign_out(self, secret: str) -> None:
        """End a session; nothing happens where it ended before."""
        with transaction(self.engine) as store:
            store.execute(delete(SESSION).where(SESSION.c.digest == _digest(secret)))

    def _is_valid(self, row: Row[Any], digest: str) -> bool:
        same = hmac.compare_digest(row.digest, digest)
        return same and row.expires > self._clock() and row.is_active

    def _begin(self, tries: tuple[str, str]) -> int:
        """Count a try as a failure until it succeeds; return the number of that of the address."""
        limits = zip(tries, (self._failures, _ADDRESS_FAILURES * self._failures), strict=True)
        at = self._clock()
        with transaction(self.engine) as store:
            if store.dialect.name == "postgresql":
                store.exec_driver_sql("LOCK TABLE attempt IN SHARE ROW EXCLUSIVE MODE")
            store.execute(delete(ATTEMPT).where(ATTEMPT.c.at <= at - self._window))
            if any(_count(store, who) >= most for who, most in limits):
                minutes = self._window.total_seconds() / 60
                raise RequestError(f"too many failures; wait for {minutes:g} minutes", 429)
            add = insert(ATTEMPT).values(at=at).returning(ATTEMPT.c.id)
            numbers = [store.execute(add.values(who=who)).scalar_one() for who in tries]
        return int(numbers[1])

    def _fail(self, who: str, details: dict[str, str]) -> None:
        """Write down that a name is locked out, whether there is such a name or not."""
        with transaction(self.engine) as store:
            if _count(store, who) == self._failures:
                audit.append(store, "server", "locked out", details=details)

    def _new_session(self, store: Connection, row: Row[Any], expires: datetime) -> NewSession:
        secret, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        made = self._clock()
        values = {"digest": _digest(secret), "account": row.id, "csrf": csrf, "made": made}
        store.execute(delete(SESSION).where(SESSION.c.expires <= made))
        store.execute(insert(SESSION).values(values | {"expires": expires}))
        audit.append(store, row.name, "signed in")
        return NewSession(secret, Session(_account(row), csrf, expires))

    def _hash(self, password: str) -> str:
        with _AT_ONCE:
            return self._hasher.hash(password)

    def _is_right(self, kept: str, password: str) -> bool:
        with _AT_ONCE:
            try:
                return self._hasher.verify(kept, password)
            except (VerificationError, InvalidHashError, UnicodeEncodeError):
                return False


def require(account: Account, *roles: Role) -> None:
    """Raise RequestError (403) where an account has none of the roles.

    Examples
    --------
    >>> require(Account(1, "ada", "researcher"), "steward", "admin")
    Traceback (most recent call last):
    synthesizer.data.errors.RequestError: this is for stewards and admins only; ask one of them
    """
    if account.role not in roles:
        who = " and ".join(f"{role}s" for role in roles)
        raise RequestError(f"this is for {who} only; ask one of them", 403)


class Administration:
    """What pages and API let those do who manage: stewards researchers, admins all.

    What is done is in the audit log under the name of who did it.
    """

    def __init__(self, accounts: Accounts) -> None:
        self._engine, self._accounts = accounts.engine, accounts

    def accounts(self, actor: Account) -> list[Account]:
        """Return the accounts that the actor manages."""
        require(actor, "steward", "admin")
        return [one for one in self._accounts.all() if _may_manage(actor, one.role)]

    def add(self, actor: Account, name: str, role: Role, *, password: str | None) -> Account:
        """Make an account."""
        require(actor, "steward", "admin")
        if not _may_manage(actor, role):
            raise RequestError("stewards make accounts of researchers only; ask an admin", 403)
        return self._accounts.add(name, role, password=password, actor=actor.name)

    def change(
        self, actor: Account, name: str, *, is_active: bool | None, password: str | None
    ) -> Account:
        """Close an account or open it again, or give it a password; its sessions end."""
        self.managed(actor, name)
        if is_active is not None:
            self._accounts.set_active(name, is_active=is_active, actor=actor.name)
        if password is not None:
            self._accounts.set_password(name, password, actor=actor.name)
        return self.managed(actor, name)

    def tokens(self, actor: Account, name: str) -> list[TokenInfo]:
        """Return the tokens of an account, without their secrets."""
        return self._accounts.tokens(self.managed(actor, name).name)

    def new_token(self, actor: Account, name: str, label: str, *, days: int) -> str:
        """Make a token and return it; nobody can read it again."""
        managed = self.managed(actor, name)
        return self._accounts.new_token(managed, label, days=days, actor=actor.name)

    def revoke(self, actor: Account, name: str, token: int) -> None:
        """End a token of an account; RequestError (404) where there is none."""
        managed = self.managed(actor, name)
        if token not in {one.id for one in self._accounts.tokens(managed.name)}:
            raise RequestError("there is no such token of this account; its list has them", 404)
        self._accounts.revoke(token, actor=actor.name)

    def audit_log(
        self, actor: Account, *, dataset: str | None, before: int | None, limit: int
    ) -> list[audit.AuditEntry]:
        """Return entries of the audit log, the latest first; see `audit.entries`."""
        require(actor, "steward", "admin")
        with transaction(self._engine, reads=True) as store:
            return audit.entries(store, dataset=dataset, before=before, limit=limit)

    def verify_audit(self, actor: Account) -> audit.Verified:
        """Look at the chain of hashes of the whole audit log."""
        require(actor, "steward", "admin")
        with transaction(self._engine, reads=True) as store:
            return audit.verify(store)

    def managed(self, actor: Account, name: str) -> Account:
        """Return an account; RequestError (404) where there is none that the actor manages."""
        require(actor, "steward", "admin")
        for one in self._accounts.all():
            if one.name == name and _may_manage(actor, one.role):
                return one
        raise RequestError("there is no such account that you manage; the list has them", 404)


def _may_manage(actor: Account, role: Role) -> bool:
    return actor.role == "admin" or role == "researcher"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _account(row: Row[Any]) -> Account:
    return Account(row.id, row.name, row.role, row.is_active, row.password is not None, row.made)


def _row(store: Connection, name: str) -> Row[Any]:
    known = name if _NAME.fullmatch(name) else ""  # PostgreSQL takes no NUL
    row = store.execute(select(ACCOUNT).where(ACCOUNT.c.name == known)).first()
    if row is None:
        raise RequestError("there is no such account; the list has them", 404)
    return row


def _count(store: Connection, who: str) -> int:
    counted = select(func.count()).select_from(ATTEMPT).where(ATTEMPT.c.who == who)
    return int(store.execute(counted).scalar_one())


def _check_last_admin(store: Connection, account: int) -> None:
    """Raise RequestError where nobody else could manage accounts."""
    admins = select(ACCOUNT.c.id).where(ACCOUNT.c.role == "admin", ACCOUNT.c.is_active)
    if [row.id for row in store.execute(admins.with_for_update())] == [account]:
        raise RequestError("this is the last admin; make another one first", 409)


def _name_problems(name: str) -> list[str]:
    if _NAME.fullmatch(name) and name not in _NOT_A_NAME:
        return []
    return ["name must be 1 to 64 small letters, digits or ._@-, of which the first is no sign"]


def _role_problems(role: str) -> list[str]:
    return [] if role in get_args(Role) else [f"role must be one of {', '.join(get_args(Role))}"]


def _password_problems(password: str | None) -> list[str]:
    wrong = []
    if password is not None and not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        wrong.append(f"password must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters")
    if password is not None and not password.isprintable():
        wrong.append("password must have printable characters only")
    return wrong
