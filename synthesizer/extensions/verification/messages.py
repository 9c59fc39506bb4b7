"""Messages and errors of the server and its clients, and the sentences of answers.

The sentences are data: see ``sentences.yaml`` beside this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, Literal

from jinja2 import Environment, PackageLoader, Template
from pydantic import BaseModel, ConfigDict, computed_field

from synthesizer.data.errors import SynthesizerError
from synthesizer.data.yaml_text import packaged_yaml

Outlook = Literal["decided", "open", "impossible"]
"""Expected answer, from the synthetic data."""
DryRunState = Literal["waiting", "running", "done", "refused"]
SubmissionState = Literal["checking", "refused", "waiting", "answered"]


class LedgerError(SynthesizerError):
    """A ledger is locked, damaged, of other data or read-only, or the budget is too small."""

    exit_code = 2


class RequestError(SynthesizerError):
    """A request to the verification server is refused.

    Parameters
    ----------
    problems : str or iterable of str
        Reasons.
    status : int
        HTTP status: 401, 403, 404, 409, 413, 422 or 429.
    """

    def __init__(self, problems: str | Iterable[str], status: int) -> None:
        super().__init__(problems)
        self.status = status


class Message(BaseModel):
    """Base of messages; clients ignore fields that a newer server adds."""

    model_config = ConfigDict(frozen=True)


class DatasetInfo(Message):
    """A dataset that accepts questions."""

    name: str
    title: str
    is_paused: bool
    """Whether the steward has stopped new charges."""
    schema_digest: str
    """SHA-256 of the public schema."""
    synthetic_digest: str
    """SHA-256 of the synthetic file; compare it with that of your file."""


class Project(Message):
    """A group of researchers with a number of questions about a dataset."""

    name: str
    dataset: str
    questions: int
    used: int
    members: tuple[str, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def left(self) -> int:
        """Remaining questions."""
        return max(0, self.questions - self.used)


class DryRun(Message):
    """The result of a query in the synthetic data: free, before any charge."""

    dataset: str
    digest: str
    """Digest of the canonical query; identifies the dry run."""
    query: dict[str, Any]
    """Canonical form; epsilon, partitions and errors are null if the server chooses them."""
    state: DryRunState
    problems: tuple[str, ...] = ()
    """Why it cannot be asked, from the synthetic data."""
    outlook: Outlook | None = None
    """``decided``; ``open``: probably "cannot tell"; ``impossible``: it cannot be asked. Null if
    the query sets epsilon, partitions or errors."""
    words: tuple[str, ...] = ()
    """Reasons of the outlook, in sentences."""
    chosen: dict[str, Any] | None = None
    """The query with the epsilon, partitions and errors to charge."""
    epsilon: float | None = None
    """Cost of an answer; present when done."""
    questions: int | None = None
    """Number of questions of a project that it would use."""
    is_charged: bool = False
    """Whether the account asked it before, so it is free; questions of others do not count."""
    content: dict[str, Any] | None = None
    """The dry run as JSON, as ``synthesizer verification answer --dry-run --json`` prints it."""
    page: str | None = None
    """The same as HTML sections."""


class Submission(Message):
    """A question to the confidential data."""

    id: str
    user: str
    dataset: str
    project: str
    digest: str
    """Digest of the canonical query."""
    query: dict[str, Any]
    """Epsilon, partitions and errors are null if the server chooses them."""
    chosen: str | None = None
    """Digest of the query with these numbers, under which it was charged."""
    state: SubmissionState
    """``checking`` on synthetic data, ``refused`` (nothing was charged), ``waiting`` until
    ``due``, ``answered``."""
    problems: tuple[str, ...] = ()
    charged: float = 0.0
    """Epsilon charged for it; 0 if it had been charged before."""
    questions: int = 0
    """Number of questions of the project that it uses."""
    asked: datetime
    due: datetime | None = None
    """Time of release, fixed at the charge."""
    content: dict[str, Any] | None = None
    """The answer as JSON, as ``verification answer --json`` prints it, once answered."""
    page: str | None = None
    """The answer as HTML sections."""

    @property
    def words(self) -> tuple[str, ...]:
        """The conclusions in sentences; empty before the answer."""
        return () if self.content is None else tuple(self.content["answer"]["words"])


class SubmissionPage(Message):
    """A page of a list, the latest first."""

    items: list[Submission]
    next: str | None
    """Value of ``before`` for the next page; null at the end."""


WORDS: Final[dict[str, Any]] = packaged_yaml(__package__ or "", "sentences.yaml")
"""Sentences by subject."""
PROMISE: Final[tuple[str, ...]] = tuple(WORDS["promise"])
"""The promise of privacy, the same on every page and in the docs."""


def template(name: str, **filters: Callable[..., str]) -> Template:
    """Return a template from a file beside this one; ``filters`` quote texts."""
    loader = PackageLoader(__package__ or "", "")
    made = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    made.filters |= filters
    return made.get_template(name)
