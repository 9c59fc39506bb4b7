"""A verification server about a small panel, and a PostgreSQL of one's own, for trials and tests.

Both lie in a folder that is gone afterwards. PostgreSQL is reached by a socket only; its programs
are those of Debian's package ``postgresql``, or those on the path. They refuse to run as root; then
they run as the package's user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from replay_trials import SCHEMA, people

from synthesizer.extensions.verification.database import connect
from synthesizer.extensions.verification.public_schema import PublicSchema, strictly, yaml_of
from synthesizer.extensions.verification.server.accounts import Accounts
from synthesizer.extensions.verification.server.server_config import ServerConfig
from synthesizer.extensions.verification.server.server_datasets import open_datasets
from synthesizer.extensions.verification.server.server_tables import create_tables
from synthesizer.extensions.verification.server.service import Service

MANY = 1_000_000
"""More requests a minute, and jobs in line, than a trial has."""
ROLES = {"ada": "researcher", "bob": "researcher", "sam": "steward"}


def panel_content(
    folder: Path, *, cap: float, persons: int = 60, confidential: Path | None = None, **changes: Any
) -> dict[str, Any]:
    """Write the files of the panel where they are not given; return the server's configuration."""
    files = {name: folder / f"{name}.csv" for name in ("confidential", "synthetic")}
    if confidential is None:
        people(persons, seed=1).to_csv(files["confidential"], index=False)
    people(persons, seed=2).to_csv(files["synthetic"], index=False)
    files |= {"schema": folder / "schema.yaml"}
    files |= {} if confidential is None else {"confidential": confidential}
    files["schema"].write_text(yaml_of(strictly(PublicSchema, SCHEMA)), encoding="utf-8")
    paths = {name: str(path) for name, path in files.items()}
    return {
        "database": f"sqlite:///{folder}/server.sqlite",
        "prepared": str(folder / "prepared"),
        "job": {"waiting": 10_000},
        "access": {"secure_cookies": False, "requests_per_minute": MANY},
        "datasets": {"panel": {**paths, "cap": cap}},
    } | changes


def service_of(content: Mapping[str, Any]) -> Service:
    """Return the service of a configuration, its tables made."""
    config = ServerConfig.model_validate(content)
    engine = connect(config.database)
    create_tables(engine)
    return Service(engine, config, open_datasets(engine, config))


def with_tokens(
    service: Service, accounts: Accounts, questions: int, roles: Mapping[str, str]
) -> dict[str, str]:
    """Add accounts and a project `gap` of the researchers; return a token of each."""
    tokens = {}
    for name, role in roles.items():
        account = accounts.add(name, role, actor="trial")  # type: ignore[arg-type]
        tokens[name] = accounts.new_token(account, "trial", actor="trial")
    researchers = [name for name, role in roles.items() if role == "researcher"]
    sam = accounts.named("sam")
    service.projects.make(sam, "gap", "panel", researchers, questions=questions)
    return tokens


class Idle:
    """A dispatcher that runs nothing."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def start(self) -> None:
        """Begin nothing."""

    def stop(self) -> None:
        """End nothing."""


@contextmanager
def database_url(folder: Path, *, is_postgresql: bool) -> Iterator[str]:
    """Yield the URL of an empty database: a SQLite file, or one of a PostgreSQL of its own."""
    if not is_postgresql:
        yield f"sqlite:///{folder}/server.sqlite"
        return
    with running() as cluster, cluster.database() as url:
        yield url


# PostgreSQL.

MISSING = "PostgreSQL is not installed (Debian: apt-get install postgresql)"
SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "200",
    "fsync": "off",  # processes are killed here, the machine is not
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "deadlock_timeout": "100ms",
}
CUT_OFF = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def programs() -> Path | None:
    """Return the directory of initdb and pg_ctl; None where there is none."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = debian[-1] if debian else shutil.which("initdb")
    return None if program is None else Path(program).resolve().parent


class Cluster:
    """A running PostgreSQL."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._free: list[str] = []
        self._numbers = count(1)

    def url(self, name: str = "postgres") -> str:
        """Return the URL of a database."""
        return f"postgresql://synthesizer@/{name}?host={self.socket}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """Yield the URL of an empty database; at the end its open connections are closed."""
        name = self._free.pop() if self._free else f"database{next(self._numbers)}"
        with _connected(self.url()) as store:
            known = store.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
            if known.fetchone() is None:
                store.execute(f"CREATE DATABASE {name}")
        yield self.url(name)
        with _connected(self.url(name)) as store:
            store.execute(CUT_OFF)
            store.execute("DROP SCHEMA public CASCADE")
            store.execute("CREATE SCHEMA public")
        self._free.append(name)


def _connected(url: str) -> Any:
    import psycopg

    return psycopg.connect(url, autocommit=True)


@contextmanager
def running() -> Iterator[Cluster]:
    """Yield a PostgreSQL in a directory of its own; both are gone when the block ends.

    Raises
    ------
    FileNotFoundError
        If it is not installed.
    """
    binaries = programs()
    if binaries is None:
        raise FileNotFoundError(MISSING)
    with tempfile.TemporaryDirectory(prefix="pg") as name:  # the path of a socket is short
        folder = Path(name)
        user = _user()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)

        def call(program: str, *words: str) -> None:
            uid, gid = (None, None) if user is None else (user.pw_uid, user.pw_gid)
            subprocess.run(
                [str(binaries / program), "-D", f"{name}/data", *words],
                check=True,
                cwd=name,
                stdout=subprocess.DEVNULL,
                user=uid,
                group=gid,
                extra_groups=None if user is None else [],
            )

        call("initdb", "-U", "synthesizer", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync")
        settings = " ".join(f"-c {key}={value}" for key, value in SETTINGS.items())
        options = f"-k {folder} {settings}"
        call("pg_ctl", "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield Cluster(folder)
        finally:
            call("pg_ctl", "-m", "immediate", "stop")


def _user() -> pwd.struct_passwd | None:
    """Return the user who runs the programs; None if it is the caller."""
    if os.geteuid() != 0:
        return None
    names = {user.pw_name: user for user in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]
