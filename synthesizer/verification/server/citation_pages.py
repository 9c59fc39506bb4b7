"""Pages of an answer that can be cited, and its files for BibTeX, R, Stata and SACRO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from sqlalchemy import func, select

from synthesizer.data.errors import RequestError
from synthesizer.verification.citation import Citation
from synthesizer.verification.database import transaction
from synthesizer.verification.ledger import VERSION
from synthesizer.verification.server.api import Steps
from synthesizer.verification.server.pages import Who, info_of
from synthesizer.verification.server.query_form import in_words
from synthesizer.verification.server.server_tables import SUBMISSION
from synthesizer.verification.server.templating import PageRoute, html_page

FILES: dict[str, tuple[str, Callable[[Citation], str | bytes]]] = {
    "bib": ("application/x-bibtex", lambda cited: cited.bibtex),
    "R": ("text/plain", lambda cited: cited.r_code),
    "do": ("text/plain", lambda cited: cited.stata_code),
    "csv": ("text/csv", lambda cited: cited.csv_text),
    "zip": ("application/zip", lambda cited: cited.sacro_zip),
}
"""Media type and content of each file, by the end of its name."""
router = APIRouter(prefix="/queries/{number}/cite", route_class=PageRoute, include_in_schema=False)


def citation_of(request: Request, who: Who, steps: Steps, number: str) -> Citation:
    """Return the citation of an answer; RequestError (404) where there is none of the account."""
    found = steps.find(who.account, number)
    if found.content is None or found.due is None:
        raise RequestError("there is no answer yet; its page shows when it is released", 404)
    home = (steps.config.url or str(request.base_url)).rstrip("/")
    asked = select(SUBMISSION.c.version).where(SUBMISSION.c.id == number).scalar_subquery()
    until = select(func.count()).where(VERSION.c.dataset == found.dataset, VERSION.c.id <= asked)
    with transaction(steps.engine, reads=True) as store:
        version = store.execute(until).scalar_one()
    title = info_of(steps, found.dataset).title
    page, asked_for = f"{home}/queries/{number}", in_words(found.content["query"])
    author = steps.config.author or title
    return Citation(
        found.content, asked_for, found.dataset, title, version, found.due, author, page
    )


Cited = Annotated[Citation, Depends(citation_of)]


@router.get("")
def show_citation(request: Request, cited: Cited, number: str) -> Response:
    """Show how to cite an answer."""
    return html_page(request, "cite.html", cited=cited, here=f"/queries/{number}")


@router.get("/{kind}")
def download_citation(cited: Cited, kind: str) -> Response:
    """Return a file that cites an answer, or contains its numbers."""
    if kind not in FILES:
        raise RequestError("there is no such file; the page 'Cite this answer' lists them", 404)
    media_type, content = FILES[kind]
    headers = {"Content-Disposition": f'attachment; filename="{cited.key}.{kind}"'}
    return Response(content(cited), media_type=media_type, headers=headers)
