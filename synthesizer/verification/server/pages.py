"""Pages for people: sign in, look at a dataset, write a question, try it, ask, read the answer.

Researchers meet questions of a project, never epsilon or the number of groups; who wants to see
these follows a link, and who writes them into a query is an expert from then on.

Whoever is signed in makes and revokes tokens of his own: people who come by a single sign-on need
one for the API.

They call the service, as the API does, and work without a script. A form counts only with the token
of its session. Nothing is spent but by one button, which names the price.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from synthesizer.data.errors import ConfigError, RequestError, SynthesizerError
from synthesizer.verification.database import now
from synthesizer.verification.messages import DatasetInfo, DryRun, Submission
from synthesizer.verification.server.accounts import Account
from synthesizer.verification.server.api import Steps, TokenNumber
from synthesizer.verification.server.query_form import (
    EXPERTS,
    KINDS,
    SUBJECTS,
    QueryForm,
    coefficients_of,
    in_words,
    number_or_text,
    query_of_yaml,
    yaml_of_query,
)
from synthesizer.verification.server.security import (
    NO_TEXT,
    Signed,
    check_csrf,
    guard_of,
    is_storable,
    only,
    signed_in,
)
from synthesizer.verification.server.server_datasets import Dataset
from synthesizer.verification.server.service import Service
from synthesizer.verification.server.templating import (
    SIGN_IN,
    PageRoute,
    assets,
    html_page,
    moment,
    moved,
)
from synthesizer.verification.words import WORDS

LISTED = 25
"""So many queries on a page."""
LONGEST_YAML = 6_000
"""Characters: reading more takes too long."""


Who = Annotated[Signed, Depends(signed_in)]


async def form_data(request: Request) -> FormData:
    """Return what a form sent; files are none of ours."""
    form = await request.form(max_files=0, max_fields=1_000)
    texts = (text for pair in form.multi_items() for text in pair if isinstance(text, str))
    if not all(map(is_storable, texts)):
        raise HTTPException(400, NO_TEXT)
    return form


Sent = Annotated[FormData, Depends(form_data)]


def own_form(request: Request, _who: Who, form: Sent) -> Mapping[str, list[str]]:
    """Return what a form of the session sent; RequestError (403) where it is of none."""
    check_csrf(request, form)
    return {
        key: [value for value in form.getlist(key) if isinstance(value, str)]
        for key in form
        if key != "csrf"
    }


OwnForm = Annotated[Mapping[str, list[str]], Depends(own_form)]


def first(form: Mapping[str, list[str]], key: str) -> str:
    """Return what was typed into a field, "" where nothing was."""
    return next(iter(form.get(key, ())), "")


router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/static/{name}")
def asset(name: str) -> Response:
    """Return a style sheet or the script."""
    if name not in assets():
        raise RequestError("there is no such file; pages link to those that are", 404)
    kind, text = assets()[name]
    return Response(text, media_type=kind)


# Who is there


@router.get("/")
def begin() -> Response:
    """Go to the datasets."""
    return moved("/datasets")


@router.get(SIGN_IN)
def ask_who(request: Request, then: str = "") -> Response:
    """Ask for a token."""
    return html_page(request, "sign_in.html", then=then)


@router.post(SIGN_IN)
async def sign_in(request: Request, form: Sent) -> Response:
    """Begin a session."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RequestError("sign in on the page of this server", 403)
    sent = {key: value for key, value in form.items() if isinstance(value, str)}
    guard, then = guard_of(request), sent.get("then", "")
    try:
        secret = await guard.sign_in(request, sent.get("token", "").strip())
    except RequestError as error:
        return html_page(request, "sign_in.html", error=error, then=then)
    reply = moved(then if _is_own_page(then) else "/datasets")
    guard.keep(reply, secret)
    return reply


def _is_own_page(path: str) -> bool:
    """Whether a path stays on this server, whatever browsers make of it."""
    return path.startswith("/") and path.isprintable() and not {"\\", "//"} & {*path, path[:2]}


@router.post("/sign-out")
def sign_out(request: Request, who: Who, _form: OwnForm) -> Response:
    """End the session."""
    guard = guard_of(request)
    guard.accounts.sign_out(who.session)
    reply = moved(SIGN_IN)
    guard.forget(reply)
    return reply


@router.get("/tokens")
def list_tokens(request: Request, who: Who) -> Response:
    """Show one's own tokens."""
    return tokens_page(request, "tokens.html", who.account)


def tokens_page(
    request: Request, template: str, account: Account, *, error: SynthesizerError | None = None,
    token: str = "", label: str = "",
) -> Response:  # fmt: skip
    """Return a page with the tokens of an account; a new one is shown this once."""
    tokens = guard_of(request).accounts.tokens(account)
    return html_page(
        request, template, error=error, account=account, tokens=tokens, token=token, label=label
    )


@router.post("/tokens")
def make_token(request: Request, who: Who, form: OwnForm) -> Response:
    """Make a token of one's own."""
    return with_new_token(request, "tokens.html", who, who.account, form)


def with_new_token(
    request: Request, template: str, who: Signed, account: Account, form: OwnForm
) -> Response:
    """Make a token of an account and show it; days that are no whole number are refused."""
    label, days = first(form, "label").strip(), number_or_text(first(form, "days").strip())
    try:
        token = guard_of(request).accounts.new_token(
            account, label, days=days if isinstance(days, int) else 0, actor=who.account.name
        )
    except SynthesizerError as error:
        return tokens_page(request, template, account, error=error, label=label)
    return tokens_page(request, template, account, token=token)


@router.post("/tokens/{token}/revoke")
def revoke_token(request: Request, who: Who, token: TokenNumber, _form: OwnForm) -> Response:
    """End a token of one's own."""
    guard_of(request).accounts.revoke(who.account, token, actor=who.account.name)
    return moved("/tokens")


# Datasets


@router.get("/datasets")
def show_home(request: Request, who: Who, steps: Steps) -> Response:
    """Show what this is, one's projects, and the datasets."""
    return html_page(
        request, "home.html", datasets={one.name: one for one in steps.list_datasets()},
        projects=steps.projects.own(who.account),
    )  # fmt: skip


def info_of(steps: Service, name: str) -> DatasetInfo:
    """Return what everybody may know of a dataset; RequestError (404) where there is none."""
    steps.dataset(name)
    return next(one for one in steps.list_datasets() if one.name == name)


@router.get("/datasets/{name}")
def show_dataset(request: Request, _who: Who, steps: Steps, name: str, find: str = "") -> Response:
    """Show the public schema."""
    return html_page(
        request, "dataset.html", dataset=info_of(steps, name), schema=steps.dataset(name).schema,
        find=find,
    )  # fmt: skip


# A query


@router.get("/datasets/{name}/ask")
def choose_measure(
    request: Request, _who: Who, steps: Steps, name: str, numbers: bool = False
) -> Response:
    """Show what may be asked."""
    return html_page(
        request, "measures.html", dataset=info_of(steps, name), subjects=SUBJECTS, numbers=numbers,
        hidden=() if numbers else EXPERTS,
    )  # fmt: skip


@router.get("/datasets/{name}/ask/yaml")
def write_yaml(request: Request, _who: Who, steps: Steps, name: str) -> Response:
    """Show a query as YAML."""
    return _yaml_page(request, steps, name, text=_EXAMPLE)


_EXAMPLE = """\
formula: y ~ x
ask:
  measure: claim
  coefficient: x
  above: 0
epsilon: 1
partitions: 50
"""


@router.post("/datasets/{name}/ask/yaml")
def ask_yaml(request: Request, who: Who, steps: Steps, name: str, form: OwnForm) -> Response:
    """Begin the dry run of a query in YAML, or show it as a form."""
    text, dataset = first(form, "yaml"), steps.dataset(name)
    try:
        if len(text) > LONGEST_YAML:
            raise ConfigError(f"the query is longer than {LONGEST_YAML} characters: shorten it")
        content = query_of_yaml(text)
        if first(form, "step") == "form":
            made = QueryForm.of(content, dataset.schema)
            if made is None:
                raise ConfigError(f"ask: measure: must be one of {', '.join(KINDS)}")
            return _form_page(request, steps, name, made)
        return _begin_dry_run(who, steps, dataset, content)
    except ConfigError as error:
        return _yaml_page(request, steps, name, text=text, error=error)


@router.get("/datasets/{name}/ask/{measure}")
def write_query(
    request: Request, _who: Who, steps: Steps, name: str, measure: str, numbers: bool = False
) -> Response:
    """Show the form of a query."""
    return _form_page(request, steps, name, _form_of(steps.dataset(name), measure, numbers))


@router.post("/datasets/{name}/ask/{measure}")
def ask_query(
    request: Request, who: Who, steps: Steps, name: str, measure: str, form: OwnForm
) -> Response:
    """Begin the dry run of what was typed, or show it in another way."""
    dataset = steps.dataset(name)
    made = _form_of(dataset, measure, bool(first(form, "numbers"))).filled(form)
    match first(form, "step"):
        case "yaml":
            return _yaml_page(request, steps, name, text=yaml_of_query(made.content))
        case "coefficients":
            problems = coefficients_of(made, dataset.schema)[1]
            error = ConfigError(problems) if problems else None
            return _form_page(request, steps, name, made, error=error, shows_coefficients=True)
        case "numbers":
            return _form_page(request, steps, name, made.with_numbers(dataset.schema))
    try:
        return _begin_dry_run(who, steps, dataset, made.content)
    except ConfigError as error:
        return _form_page(request, steps, name, made, error=error)


def _form_of(dataset: Dataset, measure: str, numbers: bool) -> QueryForm:
    if measure not in KINDS:
        raise RequestError("there is no such question; choose one of the list", 404)
    return QueryForm.new(measure, dataset.schema, expert=numbers)


def _form_page(
    request: Request, steps: Service, name: str, form: QueryForm, *,
    error: ConfigError | None = None, shows_coefficients: bool = False,
) -> Response:  # fmt: skip
    schema = steps.dataset(name).schema
    return html_page(
        request, "query_form.html", error=error, dataset=info_of(steps, name), schema=schema,
        form=form.faulty(error.problems) if error else form,
        coefficients=coefficients_of(form, schema)[0], shows_coefficients=shows_coefficients,
    )  # fmt: skip


def _yaml_page(
    request: Request, steps: Service, name: str, *, text: str, error: ConfigError | None = None
) -> Response:
    return html_page(
        request, "query_yaml.html", error=error, dataset=info_of(steps, name),
        schema=steps.dataset(name).schema, text=text,
    )  # fmt: skip


def _begin_dry_run(
    who: Signed, steps: Service, dataset: Dataset, content: Mapping[str, Any]
) -> Response:
    """Begin a dry run and go to its page; ConfigError has every problem."""
    made = steps.dry_run(who.account, dataset.name, content)
    return moved(_dry_run_path(dataset.name, made.digest))


def _dry_run_path(name: str, digest: str) -> str:
    return f"/datasets/{quote(name)}/dry-runs/{quote(digest)}"


# A dry run, and the step from it to the confidential data


@router.get("/datasets/{name}/dry-runs/{digest}")
def show_dry_run(
    request: Request, who: Who, steps: Steps, name: str, digest: str, numbers: bool = False
) -> Response:
    """Show whether an answer would decide the question, and what it would cost."""
    tried = steps.find_dry_run(who.account, name, digest)
    return _dry_run_page(request, who, steps, tried, numbers=numbers)


@router.get("/datasets/{name}/dry-runs/{digest}/state")
def dry_run_state(who: Who, steps: Steps, name: str, digest: str) -> Response:
    """Return how far a dry run is."""
    found = steps.find_dry_run(who.account, name, digest)
    return JSONResponse({"state": found.state, "words": WORDS["dry_run_states"][found.state]})


@router.get("/datasets/{name}/dry-runs/{digest}/edit")
def edit_query(request: Request, who: Who, steps: Steps, name: str, digest: str) -> Response:
    """Show the form of a query that was tried."""
    dataset = steps.dataset(name)
    content = {
        key: value
        for key, value in steps.find_dry_run(who.account, name, digest).query.items()
        if key not in ("schema", "synthetic")
    }
    form = QueryForm.of(content, dataset.schema)
    if form is None:
        return _yaml_page(request, steps, name, text=yaml_of_query(content))
    return _form_page(request, steps, name, form)


@router.post("/datasets/{name}/dry-runs/{digest}")
@only("researcher")
def spend(
    request: Request, who: Who, steps: Steps, name: str, digest: str, form: OwnForm
) -> Response:
    """Ask the confidential data, for the price that the page has named."""
    tried = steps.find_dry_run(who.account, name, digest)
    if tried.state != "done":
        return moved(_dry_run_path(name, digest))
    is_open, project = tried.outlook == "open" and not tried.is_charged, first(form, "project")
    try:
        if is_open and first(form, "agreed") != "yes":
            raise RequestError("Tick that you want to ask all the same.", 422)
        made = steps.submit(who.account, name, tried.query, project=project)
    except SynthesizerError as error:
        return _dry_run_page(request, who, steps, tried, error=error, project=project)
    return moved(f"/queries/{made.id}")


def _dry_run_page(
    request: Request, who: Signed, steps: Service, tried: DryRun, *, numbers: bool = False,
    error: SynthesizerError | None = None, project: str = "",
) -> Response:  # fmt: skip
    own = steps.projects.own(who.account)
    numbers = numbers or _has_numbers(tried.query)
    return html_page(
        request, "dry_run.html", error=error, dry_run=tried, project=project,
        dataset=info_of(steps, tried.dataset), question=in_words(tried.query),
        here=_dry_run_path(tried.dataset, tried.digest), words=WORDS["dry_run_states"][tried.state],
        projects=[one for one in own if one.dataset == tried.dataset], numbers=numbers,
        sections=_sections(tried.page if numbers else None),
    )  # fmt: skip


def _has_numbers(query: Mapping[str, Any]) -> bool:
    """Whether an expert wrote a query: only then it names epsilon."""
    return query["epsilon"] is not None


def _sections(page: str | None) -> Markup:
    """Return sections as a process of this server made them, which escapes (`runner`)."""
    return Markup(page or "")  # noqa: S704


# Queries


@router.get("/queries")
def list_queries(
    request: Request, who: Who, steps: Steps, dataset: str = "", before: str = ""
) -> Response:
    """Show the user's own queries."""
    return submissions_page(request, who, steps, dataset=dataset, before=before)


def submissions_page(
    request: Request, who: Signed, steps: Service, *, dataset: str, before: str,
    everybody: bool = False,
) -> Response:  # fmt: skip
    """Return a part of a list of queries, the latest first."""
    found = steps.submissions(
        who.account, dataset=dataset or None, before=before or None, limit=LISTED,
        everybody=everybody,
    )  # fmt: skip
    older = {"dataset": dataset, "before": found[-1].id} if len(found) == LISTED else {}
    return html_page(
        request, "submissions.html", title="Queue" if everybody else "Your questions",
        submissions=found, with_users=everybody, datasets=steps.list_datasets(), dataset=dataset,
        older=urlencode(older),
    )  # fmt: skip


@router.get("/queries/{number}")
def show_query(
    request: Request, who: Who, steps: Steps, number: str, numbers: bool = False
) -> Response:
    """Show how far a query is, and its answer when that is due."""
    found = steps.find(who.account, number)
    numbers = numbers or _has_numbers(found.query) or who.account.role != "researcher"
    return html_page(
        request, "submission.html", submission=found, words=_state_words(found, now()),
        title=info_of(steps, found.dataset).title, numbers=numbers,
        sections=_sections(found.page if numbers else None),
    )  # fmt: skip


@router.get("/queries/{number}/state")
def query_state(who: Who, steps: Steps, number: str) -> Response:
    """Return how far a query is."""
    found = steps.find(who.account, number)
    return JSONResponse({"state": found.state, "words": _state_words(found, now())})


def _state_words(found: Submission, at: datetime) -> str:
    """Say in a sentence what a query waits for; the words change seldom, as they are read out."""
    if found.state == "checking":
        return "The question is tried on the synthetic data first; nothing is charged yet."
    if found.state == "waiting" and found.due is not None:
        left = (found.due - at).total_seconds()
        return f"The answer leaves at {moment(found.due)}, {_in_about(left)}."
    return "Done."


def _in_about(seconds: float) -> str:
    """Say how long that is, in steps of a quarter of a minute and then of minutes.

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


@router.get("/queries/{number}/answer.json")
def download(who: Who, steps: Steps, number: str) -> Response:
    """Return an answer as a file of JSON."""
    found = steps.find(who.account, number)
    if found.content is None:
        raise RequestError("there is no answer yet; its page says when it leaves", 404)
    text = json.dumps(found.content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    name = f"answer_{found.digest[:12]}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="application/json", headers=headers)
