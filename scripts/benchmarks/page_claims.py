"""Whether the pages alone separate an analyst's right claims from wrong ones, in project mode.

A server about simulated persons as ``verification serve --demo`` makes it, with the dataset once
for each repeat: a key of partitions, noise and a budget of its own. A client that reads only HTML
signs in and fills in the form of each claim without a number of the mechanism. It opens the dry
run, asks, and reads yes, no or cannot tell on the page of the answer. A fit of the same model to
all confidential rows decides what is right.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import yaml
from fastapi.testclient import TestClient
from measuring import Row, Rows, job, rows_of

from synthesizer.extensions.verification.coefficient_questions import Interval
from synthesizer.extensions.verification.public_schema import PublicSchema, strictly
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.questions import view_of
from synthesizer.extensions.verification.server import runner
from synthesizer.extensions.verification.server.app import create_app
from synthesizer.extensions.verification.server.dispatch import Dispatcher
from synthesizer.extensions.verification.server.serve import DEMO_CONFIG, make_demo, opened
from synthesizer.extensions.verification.server.server_config import JobLimits
from synthesizer.extensions.verification.server.service import Service

PATIENCE = 3600.0
"""Seconds until an answer that does not come is a fault."""


@dataclass(frozen=True)
class Claim:
    """A claim of an analyst, as it is typed into the form."""

    words: str
    formula: str
    coefficient: str
    above: str = ""
    below: str = ""
    subset: str = ""
    share: str = ""
    within: str = ""
    family: str = "linear"

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Claim:
        """Return the claim of a query in plain values."""
        ask = {key: value for key, value in content["ask"].items() if key != "measure"}
        low, high = ask.pop("between", (ask.pop("above", ""), ask.pop("below", "")))
        others = {key: str(value) for key, value in {**content, **ask}.items() if key != "ask"}
        words = f"{content['formula']}: {content['ask']}"
        return cls(words, above=str(low), below=str(high), **others)

    @property
    def typed(self) -> Mapping[str, str]:
        """Fields of the form by their names."""
        return {
            "formula": self.formula,
            "ask.coefficient": self.coefficient,
            "ask.above": self.above,
            "ask.below": self.below,
            "subset": self.subset,
            "family": self.family,
            "ask.share": self.share,
            "ask.within": self.within,
        }

    def of_all(
        self, path: Path, schema: PublicSchema, about: float | None = None
    ) -> tuple[float, float, bool]:
        """Return the coefficient of all rows of a file, its standard error, whether it holds.

        ``about`` is the synthetic estimate that a claim may refer to; by default that of the file.
        """
        content: dict[str, Any] = {"formula": self.formula, "family": self.family}
        ask = {"measure": "interval", "coefficient": self.coefficient, "above": 0}
        query = query_of({**content, "ask": ask} | ({"subset": self.subset} if self.subset else {}))
        assert isinstance(query.ask, Interval)  # noqa: S101 - the measure above
        value, error = query.ask.estimate(query, schema, view_of(path, schema, query, bytes(32)))
        middle = value if about is None else about
        reach = float(self.within or 0) or float(self.share or 0) * abs(middle)
        ends = (
            (middle - reach, middle + reach)
            if reach
            else (self.above or value, self.below or value)
        )
        return value, error, float(ends[0]) <= value <= float(ends[1])


_PAY = "I(log(basic_pay)) ~ "
_ALIKE = " + age_range + C(education) + year"
_BLACK = "I(race == 'Black')"
_TWO_RACES = "race == 'Black' or race == 'White'"
CLAIMS = (
    Claim("men earn at least 5 % more than women", f"{_PAY}sex{_ALIKE}", "sex[M]", above="0.05"),
    Claim("men earn at least 20 % more than women", f"{_PAY}sex{_ALIKE}", "sex[M]", above="0.2"),
    Claim(
        "black employees earn less than white ones", f"{_PAY}{_BLACK} + sex{_ALIKE}", _BLACK,
        below="0", subset=_TWO_RACES,
    ),
    Claim(
        "black employees earn at least 15 % less than white ones", f"{_PAY}{_BLACK} + sex{_ALIKE}",
        _BLACK, below="-0.15", subset=_TWO_RACES,
    ),
    Claim(
        "men earn at least 2.5 % more than women of the same grade",
        f"{_PAY}sex + C(grade) + pay_plan + age_range + year", "sex[M]", above="0.025",
    ),
)  # fmt: skip
"""Two hold, two claim too much, and one holds in the synthetic data only. All compare persons of
the same age; numbers are differences of log pay."""


# The pages


@dataclass
class Form:
    """A form of a page."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    """What it would send, without its buttons."""
    names: set[str] = field(default_factory=set)
    """Every name of a field."""
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Page(HTMLParser):
    """The text of a page, and its forms."""

    def __init__(self, text: str, path: str) -> None:
        super().__init__()
        self.path = path
        self.forms: list[Form] = []
        self.words: list[str] = []
        self._choice = ""
        self._options: list[tuple[str, bool]] = []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take up a form and its fields."""
        at = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(at.get("action", self.path)))
        elif tag == "option" and self._choice:
            self._options.append((at["value"], "selected" in at))
        elif self.forms and "name" in at and tag in ("input", "select", "button"):
            self._field(tag, at)

    def _field(self, tag: str, at: Mapping[str, str]) -> None:
        form, pair = self.forms[-1], (at["name"], at.get("value", ""))
        if tag == "button":
            form.buttons.append(pair)
            return
        form.names.add(at["name"])
        if tag == "select":
            self._choice, self._options = at["name"], []
        elif at.get("type") != "checkbox" or "checked" in at:
            form.fields.append(pair)

    def handle_endtag(self, tag: str) -> None:
        """Take what a list has chosen: what is marked, or its first."""
        if tag == "select" and self._choice:
            chosen = [value for value, is_chosen in self._options if is_chosen]
            first = [value for value, _ in self._options[:1]]
            self.forms[-1].fields += [(self._choice, value) for value in chosen or first]
            self._choice = ""

    def handle_data(self, data: str) -> None:
        """Take what is read."""
        self.words.append(data)


class Visitor:
    """A person without a script: opens pages, fills in forms, reads.

    Parameters
    ----------
    http : httpx2.Client
        Follows where it is sent, and keeps cookies.
    pause : float
        Seconds between two looks at a page that waits.
    """

    def __init__(self, http: httpx2.Client, pause: float = 1.0) -> None:
        self._http, self._pause = http, pause

    def open(self, path: str) -> Page:
        """Open a page."""
        return self._page(self._http.get(path))

    def send(
        self, page: Page, typed: Mapping[str, str], step: str = "", names: Set[str] = frozenset()
    ) -> Page:
        """Fill in the form that has these fields, and press a button of it."""
        form = next(one for one in page.forms if typed.keys() | names <= one.names)
        defaults = {name: value for name, value in form.fields if name not in typed}
        pressed = {"step": step} if step else {}
        if step and ("step", step) not in form.buttons:
            raise SystemExit(f"{page.path}: there is no button {step}")
        return self._page(self._http.post(form.action, data={**defaults, **typed, **pressed}))

    def wait(self, path: str, words: str) -> Page:
        """Open a page again and again until it contains some words."""
        end = time.monotonic() + PATIENCE
        while words not in (page := self.open(path)).text:
            if "nothing was charged" in page.text or "cannot be asked" in page.text:
                raise SystemExit(f"{path}: {page.text}")
            if time.monotonic() > end:
                raise SystemExit(f"{path} never contains {words!r}")
            time.sleep(self._pause)
        return page

    def sign_in(self, token: str) -> None:
        """Begin a session."""
        self.send(self.open("/sign-in"), {"token": token})

    def try_out(self, dataset: str, claim: Claim) -> str:
        """Fill in the form of a claim and begin its dry run; return the path of its page."""
        form = self.open(f"/datasets/{dataset}/ask/claim")
        return self.send(form, claim.typed, "dry-run").path

    def spend(self, path: str) -> str:
        """Ask when a dry run is done, and return the path of the query; "" if that is refused."""
        page = self.wait(path, "Nothing here comes from the confidential data.")
        if "cannot be decided" in page.text:
            return ""
        tick = {"agreed": "yes"} if "Ask all the same" in page.text else {}
        return self.send(page, tick, names={"project"}).path

    def read(self, path: str) -> str:
        """Return the verdict of an answer when it has come; "open" without a query."""
        return verdict(self.wait(path, "Cite this answer").text) if path else "open"

    def _page(self, reply: httpx2.Response) -> Page:
        if reply.status_code != 200:
            raise SystemExit(f"{reply.url}: {reply.status_code}: {Page(reply.text, '').text}")
        return Page(reply.text, reply.url.path)


def verdict(text: str) -> str:
    """Return the verdict on a claim from the page of its answer.

    Examples
    --------
    >>> verdict("Answer: yes answered"), verdict("Answer: cannot tell")
    ('holds', 'open')
    """
    match = re.search(r"Answer: (yes|no|cannot tell)", text)
    if match is None:
        raise SystemExit("the page of an answer contains neither yes nor no nor cannot tell")
    return {"yes": "holds", "no": "fails", "cannot tell": "open"}[match[1]]


# The trial


def trial(visitor: Visitor, datasets: Sequence[str], claims: Sequence[Claim]) -> list[Counter[str]]:
    """Return how often each claim holds, fails and is left open on datasets, by their pages.

    Parameters
    ----------
    visitor : Visitor
        Signed in as a researcher.
    datasets : sequence of str
        Names; each claim is asked of each.
    claims : sequence of Claim
        What is asked.
    """
    paths = [[visitor.try_out(name, claim) for name in datasets] for claim in claims]
    queries = [[visitor.spend(path) for path in row] for row in paths]
    return [Counter(visitor.read(path) for path in row) for row in queries]


@contextmanager
def visiting(demo: Path, repeats: int, n_claims: int) -> Iterator[tuple[Visitor, list[str]]]:
    """Serve copies of the dataset of a demonstration; yield a signed-in visitor and their names.

    Tasks are done in this process, so that no clock ends them on a busy machine. A dry run is the
    same for every copy of the dataset and done once.
    """
    content = yaml.safe_load((demo / DEMO_CONFIG).read_text(encoding="utf-8"))
    dataset = {**content["datasets"]["workforce"], "cap": n_claims}
    names = [f"trial{number:02}" for number in range(1, repeats + 1)]
    content |= {
        "database": "sqlite:///claims.sqlite",
        "tick": 1,
        "job": {"seconds": 1, "waiting": repeats * n_claims},
        "access": {"secure_cookies": False, "requests_per_minute": 100_000},
        "datasets": {name: dict(dataset) for name in names},
    }
    path = demo / "claims.yaml"
    (demo / "claims.sqlite").unlink(missing_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

    dry_runs: dict[str, runner.TaskResult] = {}

    def at_once(task: runner.Task, *_: object, **__: object) -> runner.TaskResult:
        if task.prepared is not None:
            return runner.outcome(task, JobLimits())
        text = task.model_dump_json()
        return dry_runs.get(text) or dry_runs.setdefault(text, runner.outcome(task, JobLimits()))

    def dispatcher(service: Service) -> Dispatcher:
        return Dispatcher(service, process=at_once)

    with opened(path) as server:
        account = server.accounts.add("ada", "researcher", actor="trial")
        sam = server.accounts.add("sam", "steward", actor="trial")
        for name in names:
            server.service.projects.make(sam, name, name, ["ada"], questions=n_claims)
        app = create_app(server.service, server.accounts, dispatcher=dispatcher)
        with TestClient(app) as http:
            visitor = Visitor(http)
            visitor.sign_in(server.accounts.new_token(account, "trial", actor="trial"))
            yield visitor, names


@job(persons=1_500, repeats=1)
def pages(
    persons: int = 12_000, repeats: int = 20, keep: Path = Path(), claims: Path = Path()
) -> Rows:
    """Ask claims by the pages: nine of ten answers must be right, and none the contrary.

    ``keep`` is a directory for the data, used again if it is there; ``claims`` is a YAML list of
    other claims, as queries.
    """
    chosen: tuple[Claim, ...] = CLAIMS
    if claims.is_file():
        chosen = tuple(map(Claim.of, yaml.safe_load(claims.read_text(encoding="utf-8"))))
    with TemporaryDirectory() as folder:
        demo = Path(folder) / "demo" if keep == Path() else keep
        if not demo.exists():
            make_demo(demo, persons=persons)
        content = yaml.safe_load((demo / "schema.yaml").read_text(encoding="utf-8"))
        schema = strictly(PublicSchema, content)
        with visiting(demo, repeats, len(chosen)) as (visitor, names):
            verdicts = trial(visitor, names, chosen)
        right, wrong = 0.0, 0
        for claim, counted in zip(chosen, verdicts, strict=True):
            there = claim.of_all(demo / "run" / "synthetic_1.csv", schema)
            here = claim.of_all(demo / "confidential.parquet", schema, there[0])
            true, contrary = ("holds", "fails") if here[2] else ("fails", "holds")
            right, wrong = right + counted[true] / counted.total(), wrong + counted[contrary]
            sides = {"synthetic": there[0], "confidential": here[0], "its error": here[1]}
            yield from rows_of(claim.words, {**sides, "it is right that it": true, **counted})
    yield Row("all", f"right, of {len(chosen)}", right, holds=right >= 0.9 * len(chosen))
    yield Row("all", "wrong answers", wrong, holds=not wrong)
