"""Errors of the ledger and of the server; the command line loads them without the rest."""

from __future__ import annotations

from collections.abc import Iterable

from synthesizer.data.errors import SynthesizerError


class LedgerError(SynthesizerError):
    """A ledger is locked, damaged, of other data or read-only, or the budget does not suffice."""

    exit_code = 2


class RequestError(SynthesizerError):
    """A request to the verification server is refused: what it names, or who makes it.

    Parameters
    ----------
    problems : str or iterable of str
        Why.
    status : int
        Of HTTP: 401, 403, 404, 409, 413, 422 or 429.
    """

    def __init__(self, problems: str | Iterable[str], status: int) -> None:
        super().__init__(problems)
        self.status = status
