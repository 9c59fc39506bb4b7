"""Pages for people: sign in, choose a dataset, write a question, try it, ask, read the answer.

Researchers see the questions of a project, not epsilon or the number of groups. A link shows these
for experts. All users make and revoke their tokens here: after a single sign-on they need one for
the API.

Pages call the service like the API, and work without scripts. A form needs the token of its
session. One button alone spends questions, and shows the price.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from markupsafe import Markup
from sqlalchemy import func, select
from starlette.exceptions import HTTPException

from synthesizer.data.errors import ConfigError, SynthesizerError
from synthesizer.extensions.verification.citation import Citation
from synthesizer.extensions.verification.database import now, transaction
from synthesizer.extensions.verification.ledger import VERSION
from synthesizer.extensions.verification.messages import (
    WORDS,
    DatasetInfo,
    DryRun,
    RequestError,
    Submission,
)
from synthesizer.extensions.verification.server import security, templating
from synthesizer.extensions.verification.server.accounts import Account, Accounts
from synthesizer.extensions.verification.server.api import Steps, TokenNumber
from synthesizer.extensions.verification.server.problem_json import NO_TEXT, is_storable
from synthesizer.extensions.verification.server.query_form import (
    EXPERTS,
    KINDS,
    SUBJECTS,
    QueryForm,
    coefficients_of,
    in_words,
    number_or_text,
)
from synthesizer.extensions.verification.server.security import check_csrf
from synthesizer.extensions.verification.server.server_datasets import Dataset
from synthesizer.extensions.verification.server.server_tables import SUBMISSION
from synthesizer.extensions.verification.server.service import Service

PAGE_ROWS = 25
"""Queries on a page."""


Who = Annotated[security.Signed, Depends(security.signed_in)]


@dataclass(frozen=True)
class Visit:
    """A request for a page: user and service."""

    request: Request
    signed: security.Signed
    steps: Service

    @property
    def account(self) -> Account:
        """The account of the user."""
        return self.signed.account

    @property
    def accounts(self) -> Accounts:
        """The accounts of the server."""
        return security.guard_of(self.request).accounts

    def page(self, template: str, **values: Any) -> Response:
        """Return a page; see `html_page`."""
        return templating.html_page(self.request, template, **values)


def visit_of(request: Request, who: Who, steps: Steps) -> Visit:
    """Return the visit of a request; RequestError (401) without a signed-in user."""
    return Visit(request, who, steps)


Visiting = Annotated[Visit, Depends(visit_of)]


async def form_data(request: Request) -> Mapping[str, list[str]]:
    """Return the fields of a form, without files."""
    form = await request.form(max_files=0, max_fields=1_000)
    sent = {key: [text for text in form.getlist(key) if isinstance(text, str)] for key in form}
    if not all(is_storable(text) for key, texts in sent.items() for text in (key, *texts)):
        raise HTTPException(400, NO_TEXT)
    return sent


Sent = Annotated[Mapping[str, list[str]], Depends(form_data)]


def first(form: Mapping[str, list[str]], key: str) -> str:
    """Return the first value of a field, "" if there is none."""
    return next(iter(form.get(key, ())), "")


def own_form(request: Request, _who: Who, form: Sent) -> Mapping[str, list[str]]:
    """Return the fields of a form of this session; RequestError (403) for other forms."""
    check_csrf(request, first(form, "csrf"))
    return form


OwnForm = Annotated[Mapping[str, list[str]], Depends(own_form)]


router = APIRouter(route_class=templating.PageRoute, include_in_schema=False)


@router.get("/static/{name}")
def asset(name: str) -> Response:
    """Return a style sheet or the script."""
    if name not in templating.assets():
        raise RequestError("there is no such file; begin at the page Home", 404)
    kind, text = templating.assets()[name]
    return Response(text, media_type=kind)


# Signing in


@router.get("/")
def begin() -> Response:
    """Go to the datasets."""
    return templating.moved("/datasets")


@router.get(templating.SIGN_IN)
def ask_who(request: Request, then: str = "") -> Response:
    """Ask for a token."""
    return templating.html_page(request, "sign_in.html", then=then)


@router.post(templating.SIGN_IN)
async def sign_in(request: Request, form: Sent) -> Response:
    """Begin a session."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RequestError("sign in on the page of this server", 403)
    guard, then = security.guard_of(request), first(form, "then")
    try:
        cookie = await guard.sign_in(request, first(form, "token").strip())
    except RequestError as error:
        return templating.html_page(request, "sign_in.html", error=error, then=then)
    reply = templating.moved(then if _is_own_page(then) else "/datasets")
    guard.keep(reply, cookie)
    return reply


def _is_own_page(path: str) -> bool:
    """Whether a path stays on this server in every browser."""
    return path.startswith("/") and path.isprintable() and not {"\\", "//"} & {*path, path[:2]}


@router.post("/sign-out")
def sign_out(visit: Visiting, _form: OwnForm) -> Response:
    """End the session."""
    visit.accounts.sign_out(visit.signed.session)
    reply = templating.moved(templating.SIGN_IN)
    security.guard_of(visit.request).forget(reply)
    return reply


@router.get("/tokens")
def list_tokens(visit: Visiting) -> Response:
    """Show the tokens of the user."""
    return tokens_page(visit, "tokens.html", visit.account)


def tokens_page(
    visit: Visit, template: str, account: Account, *, token: str = "", label: str = "",
    error: SynthesizerError | None = None,
) -> Response:  # fmt: skip
    """Return a page with the tokens of an account; a new one is shown once."""
    tokens = visit.accounts.tokens(account)
    return visit.page(
        template, error=error, account=account, tokens=tokens, token=token, label=label
    )


@router.post("/tokens")
def make_token(visit: Visiting, form: OwnForm) -> Response:
    """Make a token of the user."""
    return with_new_token(visit, "tokens.html", visit.account, form)


def with_new_token(visit: Visit, template: str, account: Account, form: OwnForm) -> Response:
    """Make a token of an account and show it; refuse days that are no whole number."""
    label, days = first(form, "label").strip(), number_or_text(first(form, "days").strip())
    try:
        token = visit.accounts.new_token(
            account, label, days=days if isinstance(days, int) else 0, actor=visit.account.name
        )
    except SynthesizerError as error:
        return tokens_page(visit, template, account, error=error, label=label)
    return tokens_page(visit, template, account, token=token)


@router.post("/tokens/{token}/revoke")
def revoke_token(visit: Visiting, token: TokenNumber, _form: OwnForm) -> Response:
    """Revoke a token of the user."""
    visit.accounts.revoke(visit.account, token, actor=visit.account.name)
    return templating.moved("/tokens")


# Datasets


@router.get("/datasets")
def show_home(visit: Visiting) -> Response:
    """Show the start page: the user's projects and the datasets."""
    datasets = {one.name: one for one in visit.steps.list_datasets()}
    projects = visit.steps.projects.of_member(visit.account)
    paid = {one.dataset: visit.steps.dataset(one.dataset).questions_left for one in projects}
    return visit.page("home.html", datasets=datasets, projects=projects, paid=paid)


def info_of(steps: Service, name: str) -> DatasetInfo:
    """Return the public facts about a dataset; RequestError (404) if there is none."""
    steps.dataset(name)
    return next(one for one in steps.list_datasets() if one.name == name)


def dataset_of(visit: Visiting, name: str) -> Dataset:
    """Return the dataset of an address; RequestError (404) if there is none."""
    return visit.steps.dataset(name)


Chosen = Annotated[Dataset, Depends(dataset_of)]


@router.get("/datasets/{name}")
def show_dataset(visit: Visiting, dataset: Chosen, find: str = "") -> Response:
    """Show the public schema."""
    info = info_of(visit.steps, dataset.name)
    return visit.page("dataset.html", dataset=info, schema=dataset.schema, find=find)


# A query


@router.get("/datasets/{name}/ask")
def choose_measure(visit: Visiting, dataset: Chosen, numbers: bool = False) -> Response:
    """Show the kinds of questions."""
    hidden = () if numbers else EXPERTS
    return visit.page(
        "measures.html", dataset=dataset, subjects=SUBJECTS, numbers=numbers, hidden=hidden
    )


def empty_form(dataset: Chosen, measure: str) -> QueryForm:
    """Return the form of a measure; RequestError (404) if there is none."""
    if measure not in KINDS:
        raise RequestError("there is no such question; choose one from the list", 404)
    return QueryForm.new(measure, dataset.schema)


Empty = Annotated[QueryForm, Depends(empty_form)]


@router.get("/datasets/{name}/ask/{measure}")
def write_query(visit: Visiting, dataset: Chosen, made: Empty, numbers: bool = False) -> Response:
    """Show the form of a query."""
    return _form_page(visit, dataset, made.with_numbers(dataset.schema) if numbers else made)


@router.post("/datasets/{name}/ask/{measure}")
def ask_query(visit: Visiting, form: OwnForm, dataset: Chosen, made: Empty) -> Response:
    """Begin the dry run of the typed query, or show the form with other fields."""
    if first(form, "numbers"):
        made = made.with_numbers(dataset.schema)
    made = made.filled(form)
    match first(form, "step"):
        case "coefficients":
            problems = coefficients_of(made, dataset.schema)[1]
            error = ConfigError(problems) if problems else None
            return _form_page(visit, dataset, made, error, shows_coefficients=True)
        case "numbers":
            return _form_page(visit, dataset, made.with_numbers(dataset.schema))
    try:
        return _begin_dry_run(visit, dataset, made.content)
    except ConfigError as error:
        return _form_page(visit, dataset, made, error)


def _form_page(
    visit: Visit, dataset: Dataset, form: QueryForm, error: ConfigError | None = None, *,
    shows_coefficients: bool = False,
) -> Response:  # fmt: skip
    return visit.page(
        "query_form.html", error=error, dataset=dataset, shows_coefficients=shows_coefficients,
        form=form.faulty(error.problems) if error else form,
        coefficients=coefficients_of(form, dataset.schema)[0],
    )  # fmt: skip


def _begin_dry_run(visit: Visit, dataset: Dataset, content: Mapping[str, Any]) -> Response:
    """Begin a dry run and go to its page; ConfigError has every problem."""
    return templating.moved(_path_of(visit.steps.dry_run(visit.account, dataset.name, content)))


def _path_of(tried: DryRun) -> str:
    return f"/datasets/{quote(tried.dataset)}/dry-runs/{tried.digest}"


# A dry run, and the step from it to the confidential data


def dry_run_of(visit: Visiting, name: str, digest: str) -> DryRun:
    """Return the dry run of an address; RequestError (404) if there is none."""
    return visit.steps.find_dry_run(visit.account, name, digest)


Tried = Annotated[DryRun, Depends(dry_run_of)]


@router.get("/datasets/{name}/dry-runs/{digest}")
def show_dry_run(visit: Visiting, tried: Tried, numbers: bool = False) -> Response:
    """Show the dry run: whether an answer would decide the question, and its cost."""
    return _dry_run_page(visit, tried, numbers=numbers)


@router.get("/datasets/{name}/dry-runs/{digest}/state")
def dry_run_state(tried: Tried) -> Response:
    """Return the state of a dry run."""
    return _state_of(tried)


@router.get("/datasets/{name}/dry-runs/{digest}/edit")
def edit_query(visit: Visiting, dataset: Chosen, tried: Tried) -> Response:
    """Show the form with the query of a dry run."""
    return _form_page(visit, dataset, QueryForm.of(tried.query, dataset.schema))


@router.post("/datasets/{name}/dry-runs/{digest}")
@security.only("researcher")
def spend(visit: Visiting, form: OwnForm, tried: Tried) -> Response:
    """Ask about the confidential data, for the price on the page."""
    if tried.state != "done":
        return templating.moved(_path_of(tried))
    is_open, project = tried.outlook == "open" and not tried.is_charged, first(form, "project")
    try:
        if is_open and first(form, "agreed") != "yes":
            raise RequestError("Tick “Ask anyway”, or change the question.", 422)
        made = visit.steps.submit(visit.account, tried.dataset, tried.query, project=project)
    except SynthesizerError as error:
        return _dry_run_page(visit, tried, error=error, project=project)
    return templating.moved(f"/queries/{made.id}")


def _dry_run_page(
    visit: Visit, tried: DryRun, *, numbers: bool = False, project: str = "",
    error: SynthesizerError | None = None,
) -> Response:  # fmt: skip
    projects = visit.steps.projects.of_member(visit.account)
    numbers, dataset = numbers or _has_numbers(tried), visit.steps.dataset(tried.dataset)
    return visit.page(
        "dry_run.html", error=error, dry_run=tried, project=project, numbers=numbers,
        form=QueryForm.of(tried.query, dataset.schema).faulty(tried.problems),
        dataset=info_of(visit.steps, tried.dataset), question=in_words(tried.query),
        here=_path_of(tried), words=_words_of(tried), sections=_sections(tried, numbers=numbers),
        schema=dataset.schema, projects=[one for one in projects if one.dataset == tried.dataset],
        paid=dataset.questions_left,
    )  # fmt: skip


def _has_numbers(shown: DryRun | Submission) -> bool:
    """Whether an expert wrote the query, with epsilon."""
    return shown.query["epsilon"] is not None


def _sections(submission: DryRun | Submission, *, numbers: bool) -> Markup:
    """Return the escaped sections that a process of this server made (`runner`).

    Without numbers for experts: only tables and charts of the answer, and none of a verdict.
    """
    page = submission.page or ""
    if not numbers:
        shown = _FIGURES.search(page)
        has_verdict = "verdict" in (submission.content or {}).get("answer", {})
        page = shown[0] if shown and not has_verdict else ""
    return Markup(page)  # noqa: S704


_FIGURES = re.compile(r'<section id="figures".*?</section>', re.DOTALL)


def _state_of(shown: DryRun | Submission) -> Response:
    """Return the state for the script of a waiting page."""
    return JSONResponse({"state": shown.state, "words": _words_of(shown)})


def _words_of(shown: DryRun | Submission) -> str:
    """Return a sentence about a waiting query; it changes seldom, for screen readers."""
    if isinstance(shown, Submission) and shown.state == "waiting" and shown.due is not None:
        seconds = (shown.due - now()).total_seconds()
        return f"The answer is released at {templating.moment(shown.due)}, {_in_about(seconds)}."
    return str(WORDS["states"].get(shown.state, "Done."))


def _in_about(seconds: float) -> str:
    """Return a duration in words, in steps of 15 seconds and then of minutes.

    Examples
    --------
    >>> _in_about(4), _in_about(40), _in_about(200)
    ('in a few seconds', 'in less than 45 seconds', 'in about 4 minutes')
    """
    if seconds <= 15:
        return "in a few seconds"
    if seconds <= 60:
        return f"in less than {15 * -int(-seconds // 15)} seconds"
    return f"in about {-int(-seconds // 60)} minutes"


# Queries


@router.get("/queries")
def list_queries(visit: Visiting, dataset: str = "", before: str = "") -> Response:
    """Show the user's queries."""
    return submissions_page(visit, "Your questions", dataset, before)


def submissions_page(
    visit: Visit, title: str, dataset: str, before: str, *, everybody: bool = False
) -> Response:
    """Return a page of the list of queries, the latest first."""
    submissions = visit.steps.submissions(
        visit.account, dataset=dataset or None, before=before or None, limit=PAGE_ROWS,
        everybody=everybody,
    )  # fmt: skip
    older = (
        {"dataset": dataset, "before": submissions[-1].id} if len(submissions) == PAGE_ROWS else {}
    )
    if not everybody:  # with their answers, which are logged as given
        submissions = [visit.steps.find(visit.account, one.id) for one in submissions]
    return visit.page(
        "submissions.html", title=title, submissions=submissions, with_users=everybody,
        dataset=dataset, datasets=visit.steps.list_datasets(), older=urlencode(older),
    )  # fmt: skip


def submission_of(visit: Visiting, number: str) -> Submission:
    """Return the query of an address; RequestError (404) if it is not the account's."""
    return visit.steps.find(visit.account, number)


ShownSubmission = Annotated[Submission, Depends(submission_of)]


@router.get("/queries/{number}")
def show_query(visit: Visiting, submission: ShownSubmission, numbers: bool = False) -> Response:
    """Show the state of a query, and its answer when that is due."""
    numbers = numbers or _has_numbers(submission) or visit.account.role != "researcher"
    dataset = visit.steps.dataset(submission.dataset)
    return visit.page(
        "submission.html", submission=submission, title=dataset.title, numbers=numbers,
        words=_words_of(submission), sections=_sections(submission, numbers=numbers),
        form=QueryForm.of(submission.query, dataset.schema).faulty(submission.problems),
    )  # fmt: skip


@router.get("/queries/{number}/state")
def query_state(submission: ShownSubmission) -> Response:
    """Return the state of a query."""
    return _state_of(submission)


@router.get("/queries/{number}/answer.json")
def download(submission: ShownSubmission) -> Response:
    """Return an answer as a file of JSON."""
    if submission.content is None:
        raise RequestError("there is no answer yet; its page shows when it is released", 404)
    text = json.dumps(submission.content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    name = f"answer_{submission.digest[:12]}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="application/json", headers=headers)


# Citations


FILES: dict[str, tuple[str, Callable[[Citation], str | bytes]]] = {
    "bib": ("application/x-bibtex", lambda cited: cited.bibtex),
    "R": ("text/plain", lambda cited: cited.r_code),
    "do": ("text/plain", lambda cited: cited.stata_code),
    "csv": ("text/csv", lambda cited: cited.csv_text),
    "zip": ("application/zip", lambda cited: cited.sacro_zip),
}
"""Media type and content of each file, by its extension."""


def citation_of(visit: Visiting, submission: ShownSubmission) -> Citation:
    """Return the citation of an answer; RequestError (404) if it is not the account's."""
    if submission.content is None or submission.due is None:
        raise RequestError("there is no answer yet; its page shows when it is released", 404)
    steps = visit.steps
    home = (steps.config.url or str(visit.request.base_url)).rstrip("/")
    version_of_submission = (
        select(SUBMISSION.c.version).where(SUBMISSION.c.id == submission.id).scalar_subquery()
    )
    until = select(func.count()).where(
        VERSION.c.dataset == submission.dataset, VERSION.c.id <= version_of_submission
    )
    with transaction(steps.engine, reads=True) as store:
        version = store.execute(until).scalar_one()
    title = info_of(steps, submission.dataset).title
    page, asked_for = f"{home}/queries/{submission.id}", in_words(submission.content["query"])
    return Citation(
        submission.content,
        asked_for,
        submission.dataset,
        title,
        version,
        submission.due,
        steps.config.author or title,
        page,
    )


Cited = Annotated[Citation, Depends(citation_of)]


@router.get("/queries/{number}/cite")
def show_citation(visit: Visiting, cited: Cited, number: str) -> Response:
    """Show how to cite an answer."""
    return visit.page("cite.html", cited=cited, here=f"/queries/{number}")


@router.get("/queries/{number}/cite/{kind}")
def download_citation(cited: Cited, kind: str) -> Response:
    """Return a file that cites an answer, or contains its numbers."""
    if kind not in FILES:
        raise RequestError("there is no such file; the page 'Cite this answer' lists them", 404)
    media_type, content = FILES[kind]
    headers = {"Content-Disposition": f'attachment; filename="{cited.key}.{kind}"'}
    return Response(content(cited), media_type=media_type, headers=headers)
