"""The YAML of a verification server: its database, datasets and limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, Field, PlainValidator, model_validator

from synthesizer.data.errors import ConfigError, Problems
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.public_schema import STRICT, read_strictly
from synthesizer.extensions.verification.questions import LEAST_EPSILON, MOST_EPSILON

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")]
Epsilon = Annotated[float, Field(ge=1e-3, le=1e6)]
SQLITE = "sqlite:///"
_FILES = ("confidential", "synthetic", "public_schema")
"""Files of a dataset."""


def plain_address(text: object) -> IPv4Address | IPv6Address:
    """Return an IP address; an IPv4 address in IPv6 form becomes IPv4.

    Raises
    ------
    ValueError
        If the text is no address.

    Examples
    --------
    >>> plain_address("::ffff:10.0.0.1")
    IPv4Address('10.0.0.1')
    """
    try:
        address = ip_address(str(text))
    except ValueError:
        raise ValueError("must be an IP address, such as 127.0.0.1") from None
    return getattr(address, "ipv4_mapped", None) or address


Address = Annotated[IPv4Address | IPv6Address, PlainValidator(plain_address)]


class DatasetConfig(BaseModel):
    """A confidential file with its release and its budget."""

    model_config = STRICT

    title: str = Field(default="", max_length=200)
    """Title for users; the name if absent."""
    confidential: Path = Field(strict=False)
    """CSV or Parquet file, or a directory of Parquet files."""
    synthetic: Path = Field(strict=False)
    """One synthetic dataset of its release, which users also have."""
    public_schema: Path = Field(strict=False, alias="schema")
    """File from `synthesizer verification schema`, checked by the steward."""
    cap: Epsilon
    """First cap of the epsilon of all answers together; stewards can change it."""
    question_epsilon: float = Field(default=1.0, ge=LEAST_EPSILON, le=MOST_EPSILON)
    """Largest cost of a question of a project."""


class JobLimits(BaseModel):
    """Limits of the computer for one query; public, and the same for every query."""

    model_config = STRICT

    seconds: float = Field(default=60.0, ge=1, le=86_400)
    """Length of a slot, the same for every job; answers are never released earlier."""
    memory_mb: int = Field(default=4_000, ge=100)
    """Memory of a job besides that of each server process. A question that takes more than half of
    it, or of the seconds, in a rehearsal is refused."""
    lanes: int = Field(default=1, ge=1, le=64)
    """Jobs at once, each in a separate process."""
    waiting: int = Field(default=20, ge=1, le=10_000)
    """Limit of waiting queries of one user, and of waiting dry runs."""
    confined: bool = True
    """Jobs have no network and start no program (Linux); false if confined otherwise."""


class Access(BaseModel):
    """Sign-in and the limit of requests."""

    model_config = STRICT

    secure_cookies: bool = True
    """Send cookies over TLS only; false for a trial on this computer."""
    session_hours: float = Field(default=8.0, gt=0, le=168)
    requests_per_minute: int = Field(default=600, ge=10)
    """Limit of each account or address; further requests get status 429."""
    proxies: tuple[Address, ...] = ()
    """Reverse proxies with trusted X-Forwarded-For and ``user_header``."""
    user_header: str = Field(default="", pattern=r"^[A-Za-z0-9-]{0,64}$")
    """Header with the account's name, which a proxy sends after a single sign-on."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.user_header and not self.proxies:
            raise ValueError(WORDS["refused"]["user_header"])
        return self


class ServerConfig(BaseModel):
    """The configuration of `synthesizer verification serve`.

    Examples
    --------
    >>> files = {"confidential": "c.csv", "synthetic": "s.csv", "schema": "schema.yaml"}
    >>> config = ServerConfig(datasets={"workforce": DatasetConfig(**files, cap=10.0)})
    >>> config.within(Path("/srv")).datasets["workforce"].synthetic.as_posix()
    '/srv/s.csv'
    """

    model_config = STRICT

    prepared: Path = Field(default=Path("prepared"), strict=False)
    """Directory of the copies for jobs, as confidential as the files."""
    database: str = "sqlite:///verification.sqlite"
    """``sqlite:///FILE`` or ``postgresql://USER@HOST/NAME``; a password is read from ~/.pgpass."""
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65_535)
    url: str = Field(default="", pattern=r"^(https?://[^\s/]+.*)?$")
    """Address in citations, such as https://verify.example.org; that of the request if absent."""
    author: str = Field(default="", max_length=200)
    """Author in citations, such as the agency; the dataset's title if absent."""
    tick: float = Field(default=30.0, gt=0, le=86_400)
    """Seconds; answers are released at whole multiples of it."""
    job: JobLimits = JobLimits()
    access: Access = Access()
    datasets: Mapping[Name, DatasetConfig] = Field(min_length=1)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if not self.database.startswith((SQLITE, "postgresql://")):
            raise ValueError("database is sqlite:///FILE or postgresql://USER@HOST/NAME")
        if "@" in self.database and ":" in self.database.partition("://")[2].partition("@")[0]:
            raise ValueError("database: remove the password from the YAML; write it into ~/.pgpass")
        return self

    def tick_after(self, moment: datetime) -> datetime:
        """Return the first multiple of the tick at or after a moment."""
        return datetime.fromtimestamp(math.ceil(moment.timestamp() / self.tick) * self.tick, UTC)

    def within(self, folder: Path) -> ServerConfig:
        """Return the configuration with paths relative to a folder."""
        database = self.database
        if database.startswith(SQLITE):
            database = SQLITE + str((folder / database.removeprefix(SQLITE)).absolute())
        datasets = {
            name: one.model_copy(
                update={key: (folder / getattr(one, key)).absolute() for key in _FILES}
            )
            for name, one in self.datasets.items()
        }
        prepared = (folder / self.prepared).absolute()
        return self.model_copy(
            update={"database": database, "datasets": datasets, "prepared": prepared}
        )

    def missing_files(self) -> Iterator[str]:
        """Yield a problem for each missing file of a dataset."""
        for name, one in self.datasets.items():
            for key in _FILES:
                if not (path := getattr(one, key)).exists():
                    key_of_file = f"datasets.{name}.{key.removeprefix('public_')}"
                    yield f"{key_of_file}: {path}: no such file; check name and directory"

    def shared_files(self) -> Iterator[str]:
        """Yield a problem for each confidential file of two datasets, with two caps."""
        first: dict[Path, str] = {}
        for name, one in self.datasets.items():
            other = first.setdefault(one.confidential.resolve(), name)
            if other != name:
                yield WORDS["refused"]["two_caps"].format(name, one.confidential, other)


def read_server_config(path: Path) -> ServerConfig:
    """Read the YAML of a server; its paths are relative to its directory.

    Raises
    ------
    ConfigError
        With every unknown key, wrong value, missing file, and file under two caps.
    """
    config = read_strictly(ServerConfig, path).within(path.parent)
    problems = Problems()
    problems.at(str(path), config.missing_files())
    problems.at(str(path), config.shared_files())
    problems.settle(ConfigError)
    return config
