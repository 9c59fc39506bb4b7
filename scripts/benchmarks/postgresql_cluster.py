"""A PostgreSQL of one's own for tests and trials: started, used and gone, reached by a socket only.

Its programs are those of Debian's package ``postgresql``, or those on the path. They refuse to run
as root; then they run as the package's user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

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
    found = debian[-1] if debian else shutil.which("initdb")
    return None if found is None else Path(found).resolve().parent


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
        """Yield the URL of an empty database; whoever still uses it at the end is cut off."""
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
    found = programs()
    if found is None:
        raise FileNotFoundError(MISSING)
    with tempfile.TemporaryDirectory(prefix="pg") as name:  # the path of a socket is short
        folder = Path(name)
        user = _user()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)

        def call(program: str, *words: str) -> None:
            uid, gid = (None, None) if user is None else (user.pw_uid, user.pw_gid)
            subprocess.run(
                [str(found / program), "-D", f"{name}/data", *words],
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
    """Return as whom the programs run; None where it is whoever calls."""
    if os.geteuid() != 0:
        return None
    names = {user.pw_name: user for user in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]
