"""Accounts: who may ask, by a token or by the single sign-on of the agency.

What it is made against:

- *A stolen copy of the database*: tokens and cookies are 256 random bits, of which the database has
  the SHA-256. None can be read back.
- *Guesses*: 256 bits cannot be guessed. A token that is unknown, expired, revoked or of a closed
  account is refused in the same words.
- *A stolen cookie*: a session ends with the token that began it.

There are no passwords: the agency's sign-on keeps those. Every change is in the audit log under the
name of who made it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Engine, Row, Select, Table, delete, func, insert, select, update

from synthesizer.extensions.verification.database import now, transaction
from synthesizer.extensions.verification.ledger import LONGEST_NAME
from synthesizer.extensions.verification.messages import RequestError
from synthesizer.extensions.verification.server import audit
from synthesizer.extensions.verification.server.server_tables import ACCOUNT, SESSION, TOKEN

Role = Literal["researcher", "steward", "admin"]
LONGEST_DAYS = 366
"""A token is no longer valid."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$"
_NOT_A_NAME = "server"
"""What acts in the audit log without an account."""


@dataclass(frozen=True)
class Account:
    """Who may ask."""

    id: int
    name: str
    role: Role
    is_active: bool = True
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


class Accounts:
    """The accounts of a server; each method is a transaction by itself.

    Parameters
    ----------
    engine : Engine
        Database with the tables of the server.
    session_hours : float
        Longest time that a session is valid.
    clock : callable
        Returns the time, with its zone.

    Raises
    ------
    RequestError
        Of every method that takes a name or a number: 404 where there is none. 422 where a value
        is not allowed, 409 where a change cannot be made.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from synthesizer.extensions.verification.database import connect
    >>> from synthesizer.extensions.verification.server.server_tables import create_tables
    >>> folder = TemporaryDirectory()
    >>> engine = connect(f"sqlite:///{folder.name}/server.sqlite")
    >>> create_tables(engine)
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
        session_hours: float = 8.0,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self.engine = engine
        self._session = timedelta(hours=session_hours)
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

    def managed_by(self, actor: Account) -> list[Account]:
        """Return the accounts that an account manages, by name."""
        return [one for one in self.all() if one.role in managed_roles(actor)]

    def managed(self, actor: Account, name: str) -> Account:
        """Return an account; RequestError (404) where there is none that the actor manages."""
        if found := [one for one in self.managed_by(actor) if one.name == name]:
            return found[0]
        raise RequestError("there is no such account that you manage; the list has them", 404)

    def add(self, name: str, role: Role, *, actor: str) -> Account:
        """Make an account.

        Parameters
        ----------
        name : str
            1 to 64 letters, digits and ``._@-``; what a single sign-on sends, exactly.
        role : {"researcher", "steward", "admin"}
            What it may do.
        actor : str
            Who makes it.
        """
        if problems := [*_name_problems(name), *_role_problems(role)]:
            raise RequestError(problems, 422)
        same = select(ACCOUNT.c.id).where(func.lower(ACCOUNT.c.name) == name.lower())
        with transaction(self.engine) as store:
            if store.execute(same).first():
                raise RequestError("the name is taken; choose another one", 409)
            store.execute(insert(ACCOUNT).values(name=name, role=role, made=self._clock()))
            audit.append(store, actor, "account made", details={"account": name, "role": role})
            return _account(_row(store, name))

    def set_active(self, name: str, *, is_active: bool, actor: str) -> Account:
        """Close an account, which ends its tokens for good, or open it again."""
        with transaction(self.engine) as store:
            row = _row(store, name)
            if not is_active:
                _check_last_admin(store, row.id)
                own = (TOKEN.c.account == row.id, TOKEN.c.revoked.is_(None))
                store.execute(update(TOKEN).where(*own).values(revoked=self._clock()))
            change = update(ACCOUNT).where(ACCOUNT.c.id == row.id)
            store.execute(change.values(is_active=is_active))
            action = "account opened" if is_active else "account closed"
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
            How long it is valid, at most 366.
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

    def tokens(self, account: Account) -> list[TokenInfo]:
        """Return the tokens of an account, those that ended too, in the order of their making."""
        mine = select(TOKEN).where(TOKEN.c.account == account.id).order_by(TOKEN.c.id)
        with transaction(self.engine, reads=True) as store:
            return [
                TokenInfo(row.id, account.name, row.label, row.made, row.expires, row.revoked)
                for row in store.execute(mine)
            ]

    def revoke(self, account: Account, token: int, *, actor: str) -> None:
        """End a token of an account, by its number in `tokens`, with the sessions that it began."""
        own = (TOKEN.c.id == token, TOKEN.c.account == account.id)
        with transaction(self.engine) as store:
            row = store.execute(select(TOKEN.c.label).where(*own)).first()
            if row is None:
                raise RequestError("there is no such token of this account; its list has them", 404)
            ends = update(TOKEN).where(*own, TOKEN.c.revoked.is_(None))
            if store.execute(ends.values(revoked=self._clock())).rowcount:
                details = {"account": account.name, "label": row.label}
                audit.append(store, actor, "token revoked", details=details)

    # Who comes in.

    def by_token(self, token: str) -> Account | None:
        """Return whose token it is; None if it is none, ended, or of a closed account."""
        return self._owner(TOKEN, token)

    def session(self, secret: str) -> Account | None:
        """Return whose session it is; None if it is none, or its token lets nobody in."""
        return self._owner(SESSION, secret)

    def signed_on(self, name: str) -> Account | None:
        """Return the account of a name that a single sign-on sent; None if none is open."""
        with transaction(self.engine, reads=True) as store:
            row = store.execute(_by_name(name)).first()
        return _account(row) if row is not None and row.is_active else None

    def sign_in(self, token: str) -> str:
        """Begin a session by a token; return its secret, of which only the SHA-256 is kept.

        Raises
        ------
        RequestError
            401 where the token is not valid.
        """
        secret, at = secrets.token_urlsafe(32), self._clock()
        with transaction(self.engine) as store:
            row = self._valid(store, TOKEN, token)
            if row is None:
                raise RequestError("the token is not valid; ask the steward for another one", 401)
            ends = min(row.expires, at + self._session)
            values = {"digest": _digest(secret), "token": row.token, "expires": ends}
            store.execute(delete(SESSION).where(SESSION.c.expires <= at))
            store.execute(insert(SESSION).values(values))
            audit.append(store, row.name, "signed in")
        return secret

    def sign_out(self, secret: str) -> None:
        """End a session; nothing happens where it ended before."""
        with transaction(self.engine) as store:
            store.execute(delete(SESSION).where(SESSION.c.digest == _digest(secret)))

    def _owner(self, kind: Table, secret: str) -> Account | None:
        with transaction(self.engine, reads=True) as store:
            row = self._valid(store, kind, secret)
        return None if row is None else _account(row)

    def _valid(self, store: Connection, kind: Table, secret: str) -> Row[Any] | None:
        """Return the account of a valid token or session, with the token and the end."""
        digest = _digest(secret)
        rows = ACCOUNT.join(TOKEN)
        columns = (ACCOUNT, TOKEN.c.id.label("token"), kind.c.digest, kind.c.expires)
        found = select(*columns).select_from(rows if kind is TOKEN else rows.join(SESSION))
        is_open = (TOKEN.c.revoked.is_(None), ACCOUNT.c.is_active)
        row = store.execute(found.where(kind.c.digest == digest, *is_open)).first()
        if row is None or not hmac.compare_digest(row.digest, digest):
            return None
        return row if row.expires > self._clock() else None


def require(account: Account, *roles: Role) -> None:
    """Raise RequestError (403) where an account has none of the roles; none is everybody.

    Examples
    --------
    >>> account = Account(1, "ada", "researcher")
    >>> require(account, "steward", "admin")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    RequestError: this is for stewards and admins only; ask one of them
    """
    if roles and account.role not in roles:
        who = " and ".join(f"{role}s" for role in roles)
        raise RequestError(f"this is for {who} only; ask one of them", 403)


def managed_roles(actor: Account) -> tuple[Role, ...]:
    """Return whose accounts somebody manages: stewards researchers, admins all.

    Examples
    --------
    >>> managed_roles(Account(1, "sam", "steward")), managed_roles(Account(2, "ada", "researcher"))
    (('researcher',), ())
    """
    managed: dict[Role, tuple[Role, ...]] = {"steward": ("researcher",), "admin": get_args(Role)}
    return managed.get(actor.role, ())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _account(row: Row[Any]) -> Account:
    return Account(row.id, row.name, row.role, row.is_active, row.made)


def _by_name(name: str) -> Select[Any]:
    known = name if re.fullmatch(NAME, name) else ""  # PostgreSQL takes no NUL
    return select(ACCOUNT).where(ACCOUNT.c.name == known)


def _row(store: Connection, name: str) -> Row[Any]:
    row = store.execute(_by_name(name)).first()
    if row is None:
        raise RequestError("there is no such account; the list has them", 404)
    return row


def _check_last_admin(store: Connection, account: int) -> None:
    """Raise RequestError where nobody else could manage accounts."""
    admins = select(ACCOUNT.c.id).where(ACCOUNT.c.role == "admin", ACCOUNT.c.is_active)
    if [row.id for row in store.execute(admins.with_for_update())] == [account]:
        raise RequestError("this is the last admin; make another one first", 409)


def _name_problems(name: str) -> list[str]:
    if re.fullmatch(NAME, name) and name.lower() != _NOT_A_NAME:
        return []
    return ["name must be 1 to 64 letters, digits or ._@-, of which the first is no sign"]


def _role_problems(role: str) -> list[str]:
    return [] if role in get_args(Role) else [f"role must be one of {', '.join(get_args(Role))}"]
