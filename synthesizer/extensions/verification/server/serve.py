"""Start a verification server, or a demonstration with simulated persons.

::

    configuration -> database of this version -> checked datasets -> pages, API, dispatcher
"""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyarrow.parquet as pq
import yaml
from sqlalchemy import Engine, select

from synthesizer.data.errors import ConfigError, Problems
from synthesizer.data.files import create, new_directory, new_file, write_text
from synthesizer.data.samples.workforce.positions import COLUMNS
from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.extensions.verification.database import connect, served, transaction
from synthesizer.extensions.verification.ledger import DATASET, Ledger
from synthesizer.extensions.verification.public_schema import schema_of_release, strictly, yaml_of
from synthesizer.extensions.verification.server import audit
from synthesizer.extensions.verification.server.accounts import Accounts, Role
from synthesizer.extensions.verification.server.runner import is_possible
from synthesizer.extensions.verification.server.server_config import (
    SQLITE,
    ServerConfig,
    read_server_config,
)
from synthesizer.extensions.verification.server.server_datasets import open_datasets
from synthesizer.extensions.verification.server.server_tables import create_tables
from synthesizer.extensions.verification.server.service import Service
from synthesizer.jobs.run import run

COMMAND = "command line"
"""Actor in the audit log."""
DEMO_CONFIG = "server.yaml"
_DEMO_VARIABLES = (
    "person", "year", "agency", "sex", "race", "education", "age_range", "occupational_category",
    "pay_plan", "grade", "basic_pay",
)  # fmt: skip
_DEMO_RUN = {
    "random_key": "none",
    "seed": 1,
    "panel": {"person": "person", "time": "year", "career": "agency"},
    "drop": [name for name in COLUMNS if name not in _DEMO_VARIABLES],
    "visit_sequence": ["sex", "agency", "race", "education", "age_range"],
    "variables": {
        "sex": {"method": "time_invariant"},
        "race": {"method": "time_invariant"},
        "education": {"method": "monotone"},
        "age_range": {"method": "advance", "options": {"width": 5}},
    },
    "checks": False,
}
_DEMO_SERVER = """\
# A verification server about simulated federal employees; no record is of a real person.
database: sqlite:///verification.sqlite
tick: 5            # seconds: answers leave at multiples of it
job: {seconds: 20, lanes: 1}
access: {secure_cookies: false}   # a trial on this computer; leave it out behind TLS
datasets:
  workforce:
    title: Simulated federal workforce
    confidential: confidential.parquet
    synthetic: run/synthetic_1.csv
    schema: schema.yaml
    cap: 20
"""
DEMO_ACCOUNTS: Mapping[str, Role] = {"steward": "steward", "ada": "researcher", "bob": "researcher"}
DEMO_PROJECT = ("pay gap", "workforce")
DEMO_QUESTIONS = 12


@dataclass(frozen=True, eq=False)
class Server:
    """The parts of a server before it listens."""

    config: ServerConfig
    service: Service
    accounts: Accounts


@contextmanager
def opened(path: Path) -> Iterator[Server]:
    """Open the server of a configuration: its database and its datasets.

    Parameters
    ----------
    path : Path
        YAML, see `ServerConfig`.

    Raises
    ------
    SynthesizerError
        With every problem, before the server accepts requests.
    """
    config = read_server_config(path)
    if config.job.confined and not is_possible():
        raise ConfigError(
            f"{path}: job.confined: this system cannot forbid a process network and programs; "
            "run the server on Linux, or confine it by other means and write confined: false"
        )
    with database_of(config) as engine:
        datasets = open_datasets(engine, config)
        yield Server(config, Service(engine, config, datasets), accounts_of(engine, config))


def accounts_of(engine: Engine, config: ServerConfig) -> Accounts:
    """Return the accounts of a server with the limits of its configuration."""
    return Accounts(engine, session_hours=config.access.session_hours)


@contextmanager
def database_of(config: ServerConfig) -> Iterator[Engine]:
    """Open the database of a server, without its datasets."""
    engine = connect(config.database)
    try:
        create_tables(engine)
        yield engine
    finally:
        engine.dispose()


def add_account(path: Path, name: str, role: str) -> str:
    """Make an account from the command line, such as the first one; return its token."""
    config = read_server_config(path)
    with database_of(config) as engine:
        return _token(accounts_of(engine, config), name, cast(Role, role), "first")


def check(path: Path, *, noted: str | None = None) -> audit.Verified:
    """Check the sums of all charges and the chain of the audit log.

    Parameters
    ----------
    noted : str, optional
        Head of the audit log from an earlier check, to detect entries cut off since.
    """
    with database_of(read_server_config(path)) as engine:
        problems = Problems()
        with transaction(engine, reads=True) as store:
            heads = [] if noted is None else [audit.Head.read(noted)]
            log = audit.verify(store, heads)
            for name in store.execute(select(DATASET.c.name)).scalars():
                ledger = Ledger(engine, dataset=name, within=store)
                problems.attempt(ledger.check, store, where=f"dataset {name}")
    return audit.Verified(log.head, (*log.problems, *problems))


def backup(path: Path, out: Path) -> None:
    """Copy the whole SQLite database of a server, which may be running.

    Raises
    ------
    ConfigError
        If the database is PostgreSQL.
    """
    config = read_server_config(path)
    with database_of(config) as engine:
        if not config.database.startswith(SQLITE):
            raise ConfigError(f"{path}: database: use pg_dump to copy PostgreSQL")
        with new_file(out, overwrite=False, read=[path]) as work:
            with create(work):
                pass
            with engine.connect() as store, closing(sqlite3.connect(work)) as copy:
                cast(sqlite3.Connection, store.connection.dbapi_connection).backup(copy)


def listen(host: str, port: int) -> socket.socket:
    """Bind a port before anything else; ConfigError if another program uses it."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigError(
            f"port {port} of {host} cannot be had ({error.strerror}): another program may have it; "
            "name another by --port, or port: in the YAML"
        ) from None


def listen_for_demo(port: int | None) -> socket.socket:
    """Bind the port of the demonstration, or another one."""
    config = strictly(ServerConfig, yaml.safe_load(_DEMO_SERVER))
    return listen(config.host, config.port if port is None else port)


def serve(path: Path, *, port: int | None = None, listener: socket.socket | None = None) -> None:
    """Answer requests until interrupted, on a bound port or that of the YAML."""
    import uvicorn

    from synthesizer.extensions.verification.server.app import create_app
    from synthesizer.extensions.verification.server.security import LOGGING

    with opened(path) as server, served(server.service.engine):
        app = create_app(server.service, server.accounts)
        config = server.config
        taken = listener or listen(config.host, config.port if port is None else port)
        bound = taken.getsockname()[1]
        print(f"pages and API: http://{config.host}:{bound}; Ctrl-C stops", flush=True)
        options = uvicorn.Config(  # `security.origin` reads the headers of proxies
            app, log_config=LOGGING, access_log=False, proxy_headers=False, server_header=False
        )
        with taken, suppress(KeyboardInterrupt):  # uvicorn raises again the signal that ended it
            uvicorn.Server(options).run(sockets=[taken])


def make_demo(directory: Path, *, persons: int = 3_000) -> Mapping[str, str]:
    """Make a server with simulated persons: data, release, public schema, accounts.

    Parameters
    ----------
    directory : Path
        A new name.
    persons : int
        Number of simulated persons, with about eight years each.

    Returns
    -------
    mapping
        Token of each account by its name; stored nowhere.
    """
    with new_directory(directory, overwrite=False) as folder:
        table = simulate(persons, seed=1).select(list(_DEMO_VARIABLES))
        with create(folder / "confidential.parquet") as file:
            pq.write_table(table, file)
        sample = {"sample": "federal_workforce", "persons": persons}
        content = {"data": sample, "output": {"directory": "run", "format": "csv"}, **_DEMO_RUN}
        write_text(folder / "run.yaml", yaml.safe_dump(content, sort_keys=False))
        run(folder / "run.yaml")
        write_text(folder / "schema.yaml", yaml_of(schema_of_release(folder / "run")))
        write_text(folder / DEMO_CONFIG, _DEMO_SERVER)
        with opened(folder / DEMO_CONFIG) as server:
            tokens = {
                name: _token(server.accounts, name, role, "demo")
                for name, role in DEMO_ACCOUNTS.items()
            }
            server.service.projects.make(
                server.accounts.named("steward"), *DEMO_PROJECT, ("ada", "bob"),
                questions=DEMO_QUESTIONS,
            )  # fmt: skip
            return tokens


def _token(accounts: Accounts, name: str, role: Role, label: str) -> str:
    return accounts.new_token(accounts.add(name, role, actor=COMMAND), label, actor=COMMAND)
