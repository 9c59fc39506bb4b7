"""A server about a small panel, without its pages: service, two researchers, work by hand."""

import pytest
from fastapi.testclient import TestClient
from replay_trials import GAP

from synthesizer.extensions.verification.database import connect, transaction
from synthesizer.extensions.verification.mechanisms import MICRO
from synthesizer.extensions.verification.public_schema import yaml_of
from synthesizer.extensions.verification.server import audit, runner
from synthesizer.extensions.verification.server.accounts import Accounts
from synthesizer.extensions.verification.server.app import create_app
from synthesizer.extensions.verification.server.dispatch import Dispatcher
from synthesizer.extensions.verification.server.server_config import JobLimits, ServerConfig
from synthesizer.extensions.verification.server.server_datasets import open_datasets
from synthesizer.extensions.verification.server.server_tables import create_tables
from synthesizer.extensions.verification.server.service import Service


def in_this_process(task, limits, *, seconds, is_stopped):
    """Do a task at once; nothing can kill it, and what other tests take is none of its limits."""
    return runner.outcome(task, JobLimits(seconds=3_600, memory_mb=1_000_000))


def ask(service, account, **changes):
    """Ask for the project `gap`."""
    return service.submit(account, "panel", {**GAP, **changes}, project="gap")


def spent(service):
    """Return the epsilon that is spent in all."""
    return service.datasets["panel"].ledger.spending().budgets[0].spent / MICRO


def log_of(service):
    """Return the audit log, the latest entry first."""
    with transaction(service.engine, reads=True) as store:
        return audit.entries(store)


@pytest.fixture
def config(tmp_path, files, schema):
    (tmp_path / "schema.yaml").write_text(yaml_of(schema))
    dataset = {"confidential": files[0], "synthetic": files[1], "schema": tmp_path / "schema.yaml"}
    return ServerConfig.model_validate(
        {
            "database": f"sqlite:///{tmp_path}/server.sqlite",
            "prepared": tmp_path / "prepared",
            "tick": 0.2,
            "job": {"seconds": 1.5},
            "access": {"secure_cookies": False},
            "datasets": {"panel": {**dataset, "cap": 3.0}},
        }
    )


@pytest.fixture
def engine(config):
    engine = connect(config.database)
    create_tables(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def service(engine, config):
    return Service(engine, config, open_datasets(engine, config))


@pytest.fixture
def accounts(engine, config):
    return Accounts(engine)


@pytest.fixture
def app(service, accounts):
    """Return the app; its tasks are done in this process, so that no clock ends them."""

    def dispatcher(service):
        return Dispatcher(service, process=in_this_process)

    return create_app(service, accounts, dispatcher=dispatcher)


@pytest.fixture
def ada(accounts):
    return accounts.add("ada", "researcher", actor="test")


@pytest.fixture
def bob(accounts):
    return accounts.add("bob", "researcher", actor="test")


@pytest.fixture
def sam(accounts):
    return accounts.add("sam", "steward", actor="test")


@pytest.fixture
def project(service, ada, bob, sam):
    """Return the name of a project of ada and bob, with more questions than the cap pays for."""
    return service.projects.make(sam, "gap", "panel", ("ada", "bob"), questions=20).name


@pytest.fixture
def work():
    """Return a function that does what waits: dry runs, or answers whose slots have begun."""

    def work(service, *, answers=False, process=in_this_process):
        dispatcher = Dispatcher(service, process=process)
        if answers:
            for lane in range(service.config.job.lanes):
                while dispatcher.answer_next(lane):  # a slot that passed is given anew
                    pass
        else:
            while dispatcher.check_next(0):
                pass

    return work


@pytest.fixture
def signed_in(app, accounts):
    """Return a function that opens a browser in which somebody is signed in."""

    def signed_in(name):
        http = TestClient(app, follow_redirects=False, raise_server_exceptions=False)
        token = accounts.new_token(accounts.named(name), "test", actor="test")
        http.cookies.set(app.state.guard.cookie, accounts.sign_in(token))
        return http

    return signed_in
