"""The web application: service, accounts and the dispatcher behind one ASGI app."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from synthesizer.extensions.verification.messages import PROMISE
from synthesizer.extensions.verification.server import api, pages, person_requests, steward_pages
from synthesizer.extensions.verification.server.accounts import Accounts
from synthesizer.extensions.verification.server.dispatch import Dispatcher
from synthesizer.extensions.verification.server.problem_json import ProblemReply, install
from synthesizer.extensions.verification.server.security import Guard, Shield
from synthesizer.extensions.verification.server.service import Service
from synthesizer.extensions.verification.server.templating import problem_outside

_SILENT: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
}
"""No request data go to an OpenTelemetry that the environment may configure."""


def create_app(
    service: Service,
    accounts: Accounts,
    *,
    dispatcher: Callable[[Service], Dispatcher] = Dispatcher,
) -> FastAPI:
    """Return the app of a server; its dispatcher runs as long as the app.

    Parameters
    ----------
    service : Service
        Steps, datasets and configuration.
    accounts : Accounts
        Accounts of the users.
    dispatcher : callable
        Takes the service and runs waiting queries.

    Notes
    -----
    ``/api/v1/openapi.json`` needs no token: it is the same for every server of a version, contains
    nothing of datasets or accounts, and generators of clients read it first. The interactive pages
    of FastAPI load scripts from other servers and are off.
    """

    @asynccontextmanager
    async def running(_app: FastAPI) -> AsyncIterator[None]:
        work = dispatcher(service)
        await run_in_threadpool(work.start)
        try:
            yield
        finally:
            await run_in_threadpool(work.stop)

    app = _App(
        title="Verification server",
        version="1",
        description="\n\n".join(PROMISE),
        openapi_url=f"{api.PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=running,
        telemetry=_SILENT,
        generate_unique_id_function=_name_of,
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.guard = Guard(accounts, service.config.access)
    install(app)
    app.add_exception_handler(HTTPException, problem_outside)
    for room in (api, pages, steward_pages, person_requests):
        app.include_router(room.router)
    app.add_middleware(Shield, access=service.config.access)
    return app


class _App(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, with the form of errors, to which operations refer."""
        if self.openapi_schema is None:
            content = super().openapi()
            content["components"]["schemas"][ProblemReply.__name__] = (
                ProblemReply.model_json_schema()
            )
        return super().openapi()


def _name_of(route: APIRoute) -> str:
    """Return the name of an operation for OpenAPI: that of its function."""
    return route.name
