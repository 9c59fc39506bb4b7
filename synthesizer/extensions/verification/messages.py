"""What a server and its clients send each other and raise, and the sentences of answers.

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
"""What may be expected of an answer, as the synthetic data show it."""
DryRunState = Literal["waiting", "running", "done", "refused"]
SubmissionState = Literal["checking", "refused", "waiting", "answered"]


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


class Message(BaseModel):
    """What is sent; clients ignore what a newer server adds."""

    model_config = ConfigDict(frozen=True)


class DatasetInfo(Message):
    """A dataset that may be asked about."""

    name: str
    title: str
    is_paused: bool
    """Whether the steward has stopped new charges."""
    schema_digest: str
    """SHA-256 of the public schema."""
    synthetic_digest: str
    """SHA-256 of the synthetic file: compare it with that of the file you work with."""


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
        """Questions that are left."""
        return max(0, self.questions - self.used)


class DryRun(Message):
    """What the synthetic data say to a query: free, and done before anything is spent."""

    dataset: str
    digest: str
    """Of the query in its canonical form: the number of its dry run."""
    query: dict[str, Any]
    """In its canonical form; epsilon, partitions and errors are null where they are chosen."""
    state: DryRunState
    problems: tuple[str, ...] = ()
    """Why it cannot be asked, as far as the synthetic data tell."""
    outlook: Outlook | None = None
    """``decided``; ``open``: the answer would probably be "cannot tell"; ``impossible``: it cannot
    be asked. Null where the query has epsilon, partitions or errors of its own."""
    words: tuple[str, ...] = ()
    """Why, in sentences."""
    chosen: dict[str, Any] | None = None
    """The query with epsilon, partitions and errors, as it would be charged."""
    epsilon: float | None = None
    """What an answer would cost; known when done."""
    questions: int | None = None
    """As how many questions of a project it would count."""
    is_charged: bool = False
    """Whether the account asked it before, so that its answer costs nothing now: what others asked
    is not told."""
    content: dict[str, Any] | None = None
    """The dry run as JSON, as ``synthesizer verification answer --dry-run --json`` prints it."""
    page: str | None = None
    """The same as HTML sections."""


class Submission(Message):
    """A question that somebody asked of the confidential data."""

    id: str
    user: str
    dataset: str
    project: str
    digest: str
    """Of the query in its canonical form."""
    query: dict[str, Any]
    """Epsilon, partitions and errors are null where they are chosen."""
    chosen: str | None = None
    """Digest of the query with these numbers, under which it was charged."""
    state: SubmissionState
    """``checking`` on synthetic data, ``refused`` (nothing was charged), ``waiting`` until
    ``due``, ``answered``."""
    problems: tuple[str, ...] = ()
    charged: float = 0.0
    """Epsilon charged for it; 0 where somebody had asked it before."""
    questions: int = 0
    """As how many questions of the project it counts."""
    asked: datetime
    due: datetime | None = None
    """When the answer is released, fixed at the charge."""
    content: dict[str, Any] | None = None
    """The answer as JSON, as ``verification answer --json`` prints it, once answered."""
    page: str | None = None
    """The answer as HTML sections."""

    @property
    def words(self) -> tuple[str, ...]:
        """What may be concluded, in sentences; none before the answer is there."""
        return () if self.content is None else tuple(self.content["answer"]["words"])


class SubmissionPage(Message):
    """A part of a list, the latest first."""

    items: list[Submission]
    next: str | None
    """What `before` is to be for the next part; null at the end."""


WORDS: Final[dict[str, Any]] = packaged_yaml(__package__ or "", "sentences.yaml")
"""By the name of what they are about."""
PROMISE: Final[tuple[str, ...]] = tuple(WORDS["promise"])
"""What is promised, word for word, on every page and in the docs."""


def template(name: str, **filters: Callable[..., str]) -> Template:
    """Return a text with places to fill in, a file beside this one; filters quote."""
    loader = PackageLoader(__package__ or "", "")
    made = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    made.filters |= filters
    return made.get_template(name)
