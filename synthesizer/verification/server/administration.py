"""Accounts, tokens and the audit log, for those who manage: stewards researchers, admins all.

Pages and API call this; what is done is in the audit log under the name of who did it.
"""

from __future__ import annotations

from sqlalchemy import Engine

from synthesizer.data.errors import RequestError
from synthesizer.verification.database import transaction
from synthesizer.verification.server import audit
from synthesizer.verification.server.accounts import Account, Accounts, Role, TokenInfo
from synthesizer.verification.server.audit import AuditEntry, Verified
from synthesizer.verification.server.service import require


class Administration:
    """The steps of who manages accounts.

    Parameters
    ----------
    engine : Engine
        Database of the server.
    accounts : Accounts
        Those in it.
    """

    def __init__(self, engine: Engine, accounts: Accounts) -> None:
        self._engine, self._accounts = engine, accounts

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
        self._managed(actor, name)
        if is_active is not None:
            self._accounts.set_active(name, is_active=is_active, actor=actor.name)
        if password is not None:
            self._accounts.set_password(name, password, actor=actor.name)
        return self._managed(actor, name)

    def tokens(self, actor: Account, name: str) -> list[TokenInfo]:
        """Return the tokens of an account, without their secrets."""
        return self._accounts.tokens(self._managed(actor, name).name)

    def new_token(self, actor: Account, name: str, label: str, *, days: int) -> str:
        """Make a token and return it; nobody can read it again."""
        managed = self._managed(actor, name)
        return self._accounts.new_token(managed, label, days=days, actor=actor.name)

    def revoke(self, actor: Account, name: str, token: int) -> None:
        """End a token of an account; RequestError (404) where there is none."""
        managed = self._managed(actor, name)
        if token not in {one.id for one in self._accounts.tokens(managed.name)}:
            raise RequestError("there is no such token of this account; its list has them", 404)
        self._accounts.revoke(token, actor=actor.name)

    def audit_log(
        self, actor: Account, *, dataset: str | None, before: int | None, limit: int
    ) -> list[AuditEntry]:
        """Return entries of the audit log, the latest first; see `audit.entries`."""
        require(actor, "steward", "admin")
        with transaction(self._engine, reads=True) as store:
            return audit.entries(store, dataset=dataset, before=before, limit=limit)

    def verify_audit(self, actor: Account) -> Verified:
        """Look at the chain of hashes of the whole audit log."""
        require(actor, "steward", "admin")
        with transaction(self._engine, reads=True) as store:
            return audit.verify(store)

    def _managed(self, actor: Account, name: str) -> Account:
        """Return an account; RequestError (404) where there is none that the actor manages."""
        require(actor, "steward", "admin")
        for one in self._accounts.all():
            if one.name == name and _may_manage(actor, one.role):
                return one
        raise RequestError("there is no such account that you manage; the list has them", 404)


def _may_manage(actor: Account, role: Role) -> bool:
    return actor.role == "admin" or role == "researcher"
