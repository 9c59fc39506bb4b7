"""A client of the verification server, for Python.

It asks over HTTP what the pages ask: which datasets there are, what a query would cost and could
show, and whether it holds in the confidential data. Waiting is polling, with the pauses that the
server asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from synthesizer.extensions.verification.messages import (
    DatasetInfo,
    DryRun,
    Project,
    RequestError,
    Submission,
    SubmissionPage,
)

try:
    import httpx2
except ImportError as missing:
    raise RequestError(
        "the client needs httpx2: pip install 'microdata-synthesizer[client]'", status=0
    ) from missing

MOST_PATIENT = 5.0
"""Seconds between two polls, at most."""
LONGEST_PAUSE = 60.0
"""Seconds before a request is sent again, at most."""
_ATTEMPTS = 5
"""So often a request is sent again that the server had no time for."""
T = TypeVar("T")
Polled = TypeVar("Polled", DryRun, Submission)


class Client:
    """A researcher's way to a verification server.

    Parameters
    ----------
    url : str
        Of the server, without ``/api``.
    token : str
        As a steward made it.
    http : httpx2.Client, optional
        What sends the requests; for tests and for own certificates.
    pause : callable
        Sleeps so many seconds.

    Raises
    ------
    RequestError
        From every method: the server's problems and its status; 0 where it cannot be reached.

    Examples
    --------
    >>> def server(request):  # a server that knows one dataset
    ...     assert request.headers["Authorization"] == "Bearer secret"
    ...     info = {"name": "workforce", "title": "Workforce", "is_paused": False}
    ...     return httpx2.Response(200, json=[info | {"schema_digest": "", "synthetic_digest": ""}])
    >>> http = httpx2.Client(transport=httpx2.MockTransport(server))
    >>> with Client("https://verify.example.org", "secret", http=http) as client:
    ...     [one.name for one in client.datasets()]
    ['workforce']

    With a server that runs::

        client = Client("https://verify.example.org", token)
        query = {
            "formula": "I(log(basic_pay)) ~ sex + age_range | agency",
            "ask": {"measure": "claim", "coefficient": "sex[F]", "below": -0.05},
        }
        client.dry_run("workforce", query).outlook                     # free
        answer = client.answer("workforce", query, project="pay gap")  # costs a question
        answer.words
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        http: httpx2.Client | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url, self._pause = f"{url.rstrip('/')}/api/v1", pause
        self._headers = {"Authorization": f"Bearer {token}"}
        self._http = http or httpx2.Client(timeout=60.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def datasets(self) -> list[DatasetInfo]:
        """Return the datasets that may be asked about."""
        return self._get(list[DatasetInfo], "/datasets")

    def public_schema(self, dataset: str) -> dict[str, Any]:
        """Return what queries may know: variables, levels, ranges."""
        return self._get(dict[str, Any], f"{_place(dataset)}/schema")

    def projects(self) -> list[Project]:
        """Return your projects, with the questions that are left."""
        return self._get(list[Project], "/projects")

    def dry_run(self, dataset: str, query: Mapping[str, Any], *, seconds: float = 600.0) -> DryRun:
        """Return what the synthetic data say: free, and waited for.

        Raises
        ------
        RequestError
            If the query cannot be asked, or the dry run is not done after so many seconds.
        """
        place = f"{_place(dataset)}/dry-runs"
        begun = self._send(DryRun, "POST", place, json={"query": dict(query)})
        return self._poll(
            begun, lambda: self._get(DryRun, f"{place}/{begun.digest}"), seconds=seconds
        )

    def submit(self, dataset: str, query: Mapping[str, Any], *, project: str) -> Submission:
        """Submit a query to the confidential data: it costs a question, unless it was charged.

        Parameters
        ----------
        dataset : str
            Its name.
        query : mapping
            As in the files of ``verification answer``; experts write epsilon, partitions or errors.
        project : str
            A project of yours, about this dataset.
        """
        body = {"query": dict(query), "project": project}
        return self._send(Submission, "POST", f"{_place(dataset)}/queries", json=body)

    def find(self, submission: str) -> Submission:
        """Return a submission of yours by its id."""
        return self._get(Submission, f"/queries/{quote(submission, safe='')}")

    def wait(self, submission: str, *, seconds: float = 3600.0) -> Submission:
        """Return a submission once it is answered.

        Raises
        ------
        RequestError
            If it is refused, or not answered after so many seconds; ask again then, that is free.
        """
        return self._poll(self.find(submission), lambda: self.find(submission), seconds=seconds)

    def answer(
        self, dataset: str, query: Mapping[str, Any], *, project: str, seconds: float = 3600.0
    ) -> Submission:
        """Submit a query and wait for its answer."""
        asked = self.submit(dataset, query, project=project)
        return self.wait(asked.id, seconds=seconds)

    def submissions(self, dataset: str | None = None) -> Iterator[Submission]:
        """Yield your submissions without their answers, the latest first."""
        wanted = {} if dataset is None else {"dataset": dataset}
        while True:
            page = self._get(SubmissionPage, "/queries", params=wanted)
            yield from page.items
            if page.next is None:
                return
            wanted = {**wanted, "before": page.next}

    def _poll(self, found: Polled, again: Callable[[], Polled], *, seconds: float) -> Polled:
        """Return what is done or answered; RequestError where it is refused, or takes longer."""
        pause, waited = 0.1, 0.0
        while found.state not in ("done", "answered", "refused"):
            if waited >= seconds:
                raise RequestError(f"it is not done after {seconds:g} seconds; ask again", status=0)
            self._pause(pause)
            waited, pause = waited + pause, min(2 * pause, MOST_PATIENT)
            found = again()
        if found.state == "refused":
            raise RequestError(found.problems, status=422)
        return found

    def _get(self, kind: type[T], place: str, **sent: Any) -> T:
        return self._send(kind, "GET", place, **sent)

    def _send(self, kind: type[T], method: str, place: str, **sent: Any) -> T:
        """Return the reply to what is sent as ``json`` or ``params``; RequestError has problems."""
        for attempt in range(_ATTEMPTS):
            try:
                reply = self._http.request(method, self._url + place, headers=self._headers, **sent)
            except httpx2.HTTPError as error:
                raise RequestError(
                    f"the server cannot be reached ({type(error).__name__}); check its URL",
                    status=0,
                ) from error
            if reply.status_code not in (429, 503) or attempt == _ATTEMPTS - 1:
                break
            self._pause(_pause_of(reply))
        if reply.is_success:
            try:
                return TypeAdapter(kind).validate_json(reply.content)
            except ValidationError as error:
                raise RequestError(
                    f"what replies at {self._url} is no verification server of this version; "
                    "check its URL",
                    status=reply.status_code,
                ) from error
        raise RequestError(_problems(reply), status=reply.status_code)


def _place(dataset: str) -> str:
    return f"/datasets/{quote(dataset, safe='')}"


def _pause_of(reply: httpx2.Response) -> float:
    """Return for how many seconds the server asks, within reason."""
    asked = reply.headers.get("Retry-After", "")
    return min(float(asked), LONGEST_PAUSE) if asked.isdecimal() else MOST_PATIENT


def _problems(reply: httpx2.Response) -> list[str]:
    """Return what the server says, or its status where something else replied."""
    try:
        return [str(one) for one in reply.json()["problems"]]
    except (ValueError, KeyError, TypeError):
        return [f"{reply.request.url.host} replied {reply.status_code} {reply.reason_phrase}"]
