"""A verification server about a small panel, in a folder of its own, for trials and fuzzing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from postgresql_cluster import running
from replay_trials import SCHEMA, people

from synthesizer.verification.database import connect
from synthesizer.verification.public_schema import PublicSchema, strictly, yaml_of
from synthesizer.verification.server.accounts import Accounts
from synthesizer.verification.server.server_config import ServerConfig
from synthesizer.verification.server.server_datasets import open_datasets
from synthesizer.verification.server.server_tables import create_tables
from synthesizer.verification.server.service import Service

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
