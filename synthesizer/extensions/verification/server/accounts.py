"""Accounts of users, who sign in by a token or by the single sign-on of the agency.

Attacks that it prevents:

- *A stolen copy of the database*: tokens and cookies are 256 random bits. The database stores their
  SHA-256 only, from which they cannot be recovered.
- *Guesses*: 256 bits cannot be guessed. Unknown, expired and revoked tokens, and those of closed
  accounts, get the same message.
- *A stolen cookie*: a session ends with the token that began it.

There are no passwords: the agency's sign-on keeps those. Every change is in the audit log, with the
account that made it.
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
from synthesizer.extensions.verification.ledger import MAX_NAME
from synthesizer.extensions.verification.messages import RequestError
from synthesizer.extensions.verification.server import audit
from synthesizer.extensions.verification.server.server_tables import ACCOUNT, SESSION, TOKEN

Role = Literal["researcher", "steward", "admin"]
MAX_TOKEN_DAYS = 366
"""Longest validity of a token."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$"
_RESERVED_NAME = "server"
"""Actor in the audit log that is no account."""


@dataclass(frozen=True)
class Account:
    """A user of the server."""

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
    """The accounts of a server; each method is a separate transaction.

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
        From methods with a name or a number: 404 if it does not exist, 422 if a value is not
        allowed, 409 if a change is impossible.

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
        self, engine: Engine, *, session_hours: float = 8.0, clock: Callable[[], datetime] = now
    ) -> None:
        self.engine = engine
        self._session = timedelta(hours=session_hours)
        self._clock = clock

    # Reading accounts.

    def all(self) -> list[Account]:
        """Return every account, by name."""
        with transaction(self.engine, reads=True) as store:
            return [_account(r) for r in store.execute(select(ACCOUNT).order_by(ACCOUNT.c.name))]

    def named(self, name: str) -> Account:
        """Return an account by its name."""
        with transaction(self.engine, reads=True) as store:
            return _account(_row(store, name))

    def managed_by(self, actor: Account) -> list[Account]:
        """Return the accounts that an account manages, by name."""
        return [one for one in self.all() if one.role in managed_roles(actor)]

    def managed(self, actor: Account, name: str) -> Account:
        """Return an account; RequestError (404) if the actor manages no such account."""
        if accounts := [one for one in self.managed_by(actor) if one.name == name]:
            return accounts[0]
        raise RequestError("you manage no such account; see the list", 404)

    def add(self, name: str, role: Role, *, actor: str) -> Account:
        """Make an account.

        Parameters
        ----------
        name : str
            1 to 64 letters, digits and ``._@-``; exactly the name that a single sign-on sends.
        role : {"researcher", "steward", "admin"}
            Role of the account.
        actor : str
            Account that makes the change, for the audit log.
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
                active = (TOKEN.c.account == row.id, TOKEN.c.revoked.is_(None))
                store.execute(update(TOKEN).where(*active).values(revoked=self._clock()))
            store.execute(update(ACCOUNT).where(ACCOUNT.c.id == row.id).values(is_active=is_active))
            action = "account opened" if is_active else "account closed"
            audit.append(store, actor, action, details={"account": name})
            return _account(_row(store, name))

    # Tokens.

    def new_token(self, account: Account, label: str, *, actor: str, days: float = 90) -> str:
        """Create a token and return it; it cannot be read again.

        Parameters
        ----------
        account : Account
            Account of the token.
        label : str
            Name of the device or program.
        days : float
            Validity, at most 366.
        """
        problems = []
        if not label.strip() or len(label) > MAX_NAME or not label.isprintable():
            problems.append(f"label must be 1 to {MAX_NAME} printable characters")
        if not 0 < days <= MAX_TOKEN_DAYS:
            problems.append(f"days must be above 0 and at most {MAX_TOKEN_DAYS}")
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
        """Return all tokens of an account, the oldest first."""
        mine = select(TOKEN).where(TOKEN.c.account == account.id).order_by(TOKEN.c.id)
        with transaction(self.engine, reads=True) as store:
            return [
                TokenInfo(row.id, account.name, row.label, row.made, row.expires, row.revoked)
                for row in store.execute(mine)
            ]

    def revoke(self, account: Account, token: int, *, actor: str) -> None:
        """End a token of an account, by its number in `tokens`, with the sessions that it began."""
        active = (TOKEN.c.id == token, TOKEN.c.account == account.id)
        with transaction(self.engine) as store:
            row = store.execute(select(TOKEN.c.label).where(*active)).first()
            if row is None:
                raise RequestError("this account has no such token; see its list", 404)
            ends = update(TOKEN).where(*active, TOKEN.c.revoked.is_(None))
            if store.execute(ends.values(revoked=self._clock())).rowcount:
                details = {"account": account.name, "label": row.label}
                audit.append(store, actor, "token revoked", details=details)

    # Signing in.

    def by_token(self, token: str) -> Account | None:
        """Return the account of a token; None if unknown, ended, or of a closed account."""
        return self._owner(TOKEN, token)

    def session(self, cookie: str) -> Account | None:
        """Return the account of a session; None if the session or its token is invalid."""
        return self._owner(SESSION, cookie)

    def signed_on(self, name: str) -> Account | None:
        """Return the open account of a name from a single sign-on; None if there is none."""
        with transaction(self.engine, reads=True) as store:
            row = store.execute(_by_name(name)).first()
        return _account(row) if row is not None and row.is_active else None

    def sign_in(self, token: str) -> str:
        """Begin a session by a token; return its cookie, of which only the SHA-256 is stored.

        Raises
        ------
        RequestError
            401 if the token is not valid.
        """
        cookie, at = secrets.token_urlsafe(32), self._clock()
        with transaction(self.engine) as store:
            row = self._valid(store, TOKEN, token)
            if row is None:
                raise RequestError("the token is not valid; ask the steward for another one", 401)
            ends = min(row.expires, at + self._session)
            values = {"digest": _digest(cookie), "token": row.token, "expires": ends}
            store.execute(delete(SESSION).where(SESSION.c.expires <= at))
            store.execute(insert(SESSION).values(values))
            audit.append(store, row.name, "signed in")
        return cookie

    def sign_out(self, cookie: str) -> None:
        """End a session, if it has not ended before."""
        with transaction(self.engine) as store:
            store.execute(delete(SESSION).where(SESSION.c.digest == _digest(cookie)))

    def _owner(self, kind: Table, cookie: str) -> Account | None:
        with transaction(self.engine, reads=True) as store:
            row = self._valid(store, kind, cookie)
        return None if row is None else _account(row)

    def _valid(self, store: Connection, kind: Table, cookie: str) -> Row[Any] | None:
        """Return the account of a valid token or session, with the token and the end."""
        digest = _digest(cookie)
        rows = ACCOUNT.join(TOKEN)
        columns = (ACCOUNT, TOKEN.c.id.label("token"), kind.c.digest, kind.c.expires)
        query = select(*columns).select_from(rows if kind is TOKEN else rows.join(SESSION))
        is_open = (TOKEN.c.revoked.is_(None), ACCOUNT.c.is_active)
        row = store.execute(query.where(kind.c.digest == digest, *is_open)).first()
        if row is None or not hmac.compare_digest(row.digest, digest):
            return None
        return row if row.expires > self._clock() else None


def require(account: Account, *roles: Role) -> None:
    """Raise RequestError (403) if an account has none of the roles; without roles all may.

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
    """Return the roles that an account manages: stewards researchers, admins all.

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
    known = name if re.fullmatch(NAME, name) else ""  # PostgreSQL accepts no NUL
    return select(ACCOUNT).where(ACCOUNT.c.name == known)


def _row(store: Connection, name: str) -> Row[Any]:
    row = store.execute(_by_name(name)).first()
    if row is None:
        raise RequestError("there is no such account; see the list", 404)
    return row


def _check_last_admin(store: Connection, account: int) -> None:
    """Raise RequestError for the last account that can manage accounts."""
    admins = select(ACCOUNT.c.id).where(ACCOUNT.c.role == "admin", ACCOUNT.c.is_active)
    if [row.id for row in store.execute(admins.with_for_update())] == [account]:
        raise RequestError("this is the last admin; make another one first", 409)


def _name_problems(name: str) -> list[str]:
    if re.fullmatch(NAME, name) and name.lower() != _RESERVED_NAME:
        return []
    return ["name must be 1 to 64 letters, digits or ._@-, and begin with a letter or digit"]


def _role_problems(role: str) -> list[str]:
    return [] if role in get_args(Role) else [f"role must be one of {', '.join(get_args(Role))}"]
