"""The YAML of a verification server: where its database is, which datasets it answers about."""

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
"""Of a dataset."""


def plain_address(text: object) -> IPv4Address | IPv6Address:
    """Return an IP address; one of IPv4 that is written as IPv6 is that of IPv4.

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
    """A confidential file, the release that was made of it, and what may be spent on it."""

    model_config = STRICT

    title: str = Field(default="", max_length=200)
    """What users read; the name where absent."""
    confidential: Path = Field(strict=False)
    """CSV or Parquet file, or a directory of Parquet files."""
    synthetic: Path = Field(strict=False)
    """One synthetic dataset of its release, which users have, too."""
    public_schema: Path = Field(strict=False, alias="schema")
    """What `synthesizer verification schema` wrote and the steward looked over."""
    cap: Epsilon
    """Epsilon of all answers together; later changed by a steward."""
    question_epsilon: float = Field(default=1.0, ge=LEAST_EPSILON, le=MOST_EPSILON)
    """What a question of a project may cost at most."""


class JobLimits(BaseModel):
    """What one query may take of the computer; public, and the same for every query."""

    model_config = STRICT

    seconds: float = Field(default=60.0, ge=1, le=86_400)
    """Length of a slot: a job gets so long, whatever it needs, and its answer never leaves
    earlier."""
    memory_mb: int = Field(default=4_000, ge=100)
    """Memory of a job beside what each process of the server has. A question that takes more than
    half of it, or of the seconds, in a rehearsal is refused."""
    lanes: int = Field(default=1, ge=1, le=64)
    """So many jobs at once, each in a process of its own."""
    waiting: int = Field(default=20, ge=1, le=10_000)
    """So many queries of one user may wait at once, and so many dry runs."""
    confined: bool = True
    """Jobs have no network and start no program (Linux only); false where others see to that."""


class Access(BaseModel):
    """How people come in, and how many requests each of them may make."""

    model_config = STRICT

    secure_cookies: bool = True
    """Cookies travel by TLS only; false for a trial on this computer."""
    session_hours: float = Field(default=8.0, gt=0, le=168)
    requests_per_minute: int = Field(default=600, ge=10)
    """Of one account or address; more are answered by 429."""
    proxies: tuple[Address, ...] = ()
    """Reverse proxies whose X-Forwarded-For and ``user_header`` are believed."""
    user_header: str = Field(default="", pattern=r"^[A-Za-z0-9-]{0,64}$")
    """Header in which a proxy sends the account's name after a single sign-on."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.user_header and not self.proxies:
            raise ValueError(WORDS["refused"]["user_header"])
        return self


class ServerConfig(BaseModel):
    """What `synthesizer verification serve` reads.

    Examples
    --------
    >>> files = {"confidential": "c.csv", "synthetic": "s.csv", "schema": "schema.yaml"}
    >>> config = ServerConfig(datasets={"workforce": DatasetConfig(**files, cap=10.0)})
    >>> config.within(Path("/srv")).datasets["workforce"].synthetic.as_posix()
    '/srv/s.csv'
    """

    model_config = STRICT

    prepared: Path = Field(default=Path("prepared"), strict=False)
    """Directory of the copies that jobs read, as secret as the confidential files."""
    database: str = "sqlite:///verification.sqlite"
    """``sqlite:///FILE`` or ``postgresql://USER@HOST/NAME``; a password is read from ~/.pgpass."""
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65_535)
    url: str = Field(default="", pattern=r"^(https?://[^\s/]+.*)?$")
    """Address that citations name, such as https://verify.example.org; where absent, that of the
    request."""
    author: str = Field(default="", max_length=200)
    """Whom citations name as the author, such as the agency; the dataset's title where absent."""
    tick: float = Field(default=30.0, gt=0, le=86_400)
    """Seconds: answers leave at whole multiples of it."""
    job: JobLimits = JobLimits()
    access: Access = Access()
    datasets: Mapping[Name, DatasetConfig] = Field(min_length=1)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if not self.database.startswith((SQLITE, "postgresql://")):
            raise ValueError("database is sqlite:///FILE or postgresql://USER@HOST/NAME")
        if "@" in self.database and ":" in self.database.partition("://")[2].partition("@")[0]:
            raise ValueError("database: keep the password out of the YAML; put it into ~/.pgpass")
        return self

    def tick_after(self, moment: datetime) -> datetime:
        """Return the first multiple of the tick that is not before a moment."""
        return datetime.fromtimestamp(math.ceil(moment.timestamp() / self.tick) * self.tick, UTC)

    def within(self, folder: Path) -> ServerConfig:
        """Return the same with paths seen from a folder."""
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
        """Yield which files of datasets are not there."""
        for name, one in self.datasets.items():
            for key in _FILES:
                if not (path := getattr(one, key)).exists():
                    place = f"datasets.{name}.{key.removeprefix('public_')}"
                    yield f"{place}: {path}: no such file; check name and directory"

    def shared_files(self) -> Iterator[str]:
        """Yield which datasets are about the same confidential file, under a cap each."""
        first: dict[Path, str] = {}
        for name, one in self.datasets.items():
            other = first.setdefault(one.confidential.resolve(), name)
            if other != name:
                yield WORDS["refused"]["two_caps"].format(name, one.confidential, other)


def read_server_config(path: Path) -> ServerConfig:
    """Read the YAML of a server; its paths are seen from its directory.

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
