"""A client of the verification server, for Python.

It sends over HTTP the requests of the pages: datasets, dry runs with cost and outlook, answers from
the confidential data. While it waits it polls, with the pauses that the server requests.
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

MAX_POLL_SECONDS = 5.0
"""Longest time between two polls."""
MAX_PAUSE_SECONDS = 60.0
"""Longest time before a request is sent again."""
_MAX_RETRIES = 5
"""Retries of a request for which the server was too busy."""
T = TypeVar("T")
Polled = TypeVar("Polled", DryRun, Submission)


class Client:
    """A researcher's connection to a verification server.

    Parameters
    ----------
    url : str
        Of the server, without ``/api``.
    token : str
        Token that a steward made.
    http : httpx2.Client, optional
        Sends the requests; for tests and for private certificates.
    pause : callable
        Sleeps for a number of seconds.

    Raises
    ------
    RequestError
        From every method: the server's problems and its status; 0 if it cannot be reached.

    Examples
    --------
    >>> def server(request):  # a server with one dataset
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
        """Return the datasets that accept questions."""
        return self._get(list[DatasetInfo], "/datasets")

    def public_schema(self, dataset: str) -> dict[str, Any]:
        """Return the public schema: variables, levels, ranges."""
        return self._get(dict[str, Any], f"{_path_of(dataset)}/schema")

    def projects(self) -> list[Project]:
        """Return your projects, with their remaining questions."""
        return self._get(list[Project], "/projects")

    def dry_run(self, dataset: str, query: Mapping[str, Any], *, seconds: float = 600.0) -> DryRun:
        """Return the dry run of a query on the synthetic data; waits until it is done. Free.

        Raises
        ------
        RequestError
            If the query cannot be asked, or the dry run takes longer than ``seconds``.
        """
        path = f"{_path_of(dataset)}/dry-runs"
        run = self._send(DryRun, "POST", path, json={"query": dict(query)})
        return self._poll(run, lambda: self._get(DryRun, f"{path}/{run.digest}"), seconds=seconds)

    def submit(self, dataset: str, query: Mapping[str, Any], *, project: str) -> Submission:
        """Submit a query to the confidential data; costs a question unless charged before.

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
        return self._send(Submission, "POST", f"{_path_of(dataset)}/queries", json=body)

    def find(self, submission: str) -> Submission:
        """Return a submission of yours by its id."""
        return self._get(Submission, f"/queries/{quote(submission, safe='')}")

    def wait(self, submission: str, *, seconds: float = 3600.0) -> Submission:
        """Return a submission once it is answered.

        Raises
        ------
        RequestError
            If it is refused, or takes longer than ``seconds``; asking again is free.
        """
        return self._poll(self.find(submission), lambda: self.find(submission), seconds=seconds)

    def answer(
        self, dataset: str, query: Mapping[str, Any], *, project: str, seconds: float = 3600.0
    ) -> Submission:
        """Submit a query and wait for its answer."""
        return self.wait(self.submit(dataset, query, project=project).id, seconds=seconds)

    def submissions(self, dataset: str | None = None) -> Iterator[Submission]:
        """Yield your submissions without their answers, the latest first."""
        wanted = {} if dataset is None else {"dataset": dataset}
        while True:
            page = self._get(SubmissionPage, "/queries", params=wanted)
            yield from page.items
            if page.next is None:
                return
            wanted = {**wanted, "before": page.next}

    def _poll(self, polled: Polled, again: Callable[[], Polled], *, seconds: float) -> Polled:
        """Return a dry run or submission once it is done; RequestError if refused or too late."""
        pause, waited = 0.1, 0.0
        while polled.state not in ("done", "answered", "refused"):
            if waited >= seconds:
                raise RequestError(
                    f"it is not done after {seconds:g} seconds; ask again, which is free", status=0
                )
            self._pause(pause)
            waited, pause = waited + pause, min(2 * pause, MAX_POLL_SECONDS)
            polled = again()
        if polled.state == "refused":
            raise RequestError(polled.problems, status=422)
        return polled

    def _get(self, kind: type[T], path: str, **sent: Any) -> T:
        return self._send(kind, "GET", path, **sent)

    def _send(self, kind: type[T], method: str, path: str, **sent: Any) -> T:
        """Return the reply to a request; RequestError has the problems."""
        for attempt in range(_MAX_RETRIES):
            try:
                reply = self._http.request(method, self._url + path, headers=self._headers, **sent)
            except httpx2.HTTPError as error:
                raise RequestError(
                    f"the server cannot be reached ({type(error).__name__}); check its URL",
                    status=0,
                ) from error
            if reply.status_code not in (429, 503) or attempt == _MAX_RETRIES - 1:
                break
            self._pause(_pause_of(reply))
        if reply.is_success:
            try:
                return TypeAdapter(kind).validate_json(reply.content)
            except ValidationError as error:
                raise RequestError(
                    f"{self._url} is no verification server of this version; check its URL",
                    status=reply.status_code,
                ) from error
        raise RequestError(_problems(reply), status=reply.status_code)


def _path_of(dataset: str) -> str:
    return f"/datasets/{quote(dataset, safe='')}"


def _pause_of(reply: httpx2.Response) -> float:
    """Return the pause in seconds that the server requests, at most `MAX_PAUSE_SECONDS`."""
    header = reply.headers.get("Retry-After", "")
    return min(float(header), MAX_PAUSE_SECONDS) if header.isdecimal() else MAX_POLL_SECONDS


def _problems(reply: httpx2.Response) -> list[str]:
    """Return the problems that the server names, or its status if something else replied."""
    try:
        return [str(one) for one in reply.json()["problems"]]
    except (ValueError, KeyError, TypeError):
        return [f"{reply.request.url.host} replied {reply.status_code} {reply.reason_phrase}"]
