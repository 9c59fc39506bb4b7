"""The main job: from a query to its answer, and what it would be before anything is spent."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from synthesizer.data.errors import ConfigError, DataError, Problems
from synthesizer.data.files import check_file, sha256, write_texts
from synthesizer.data.yaml_text import read_yaml
from synthesizer.extensions.verification.answer import Budget, Verification
from synthesizer.extensions.verification.mechanisms import MICRO, DryNoise, Noise, OpenDP, Planned
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.public_schema import PublicSchema, digest_of, load_schema
from synthesizer.extensions.verification.query import Query, problems_of_unsound, read_query
from synthesizer.extensions.verification.questions import (
    Question,
    Released,
    View,
    read_view,
    view_of,
    within,
)

if TYPE_CHECKING:
    from synthesizer.extensions.verification.ledger import Caps, Ledger, Payers

NAMES = ("answer.html", "answer.json")
"""The files that are written."""
DRY_KEY = bytes(32)
"""Key of the partitions of synthetic data, which are no secret."""
UNNAMED = "unnamed"


def verify(
    query: Path | Query,
    *,
    confidential: Path,
    synthetic: Path,
    schema: Path | PublicSchema,
    ledger: Path,
    user: str = UNNAMED,
    analysis: str = UNNAMED,
    noise: Noise | None = None,
) -> Verification:
    """Answer a query about confidential data, and charge for it.

    Every problem is told before a confidential row is read and before anything is charged. From the
    charge on nothing about the data is an error. Who asks the same question again gets the first
    answer and is not charged.

    Parameters
    ----------
    query, schema : Path, Query, PublicSchema
        What is asked, and the public schema; files are YAML or JSON.
    confidential, synthetic : Path
        CSV or Parquet files with the columns of the public schema.
    ledger : Path
        What `begin_ledger` made for this version of the confidential file.
    user, analysis : str
        Who pays beside the global budget.
    noise : Noise, optional
        OpenDP's if absent.

    Raises
    ------
    SynthesizerError
        If anything is refused; nothing is charged then.
    """
    problems = Problems()
    asked = read_asked(query, schema, synthetic, problems)
    noise = noise or problems.attempt(OpenDP)
    payers: Payers = {"user": user, "analysis": analysis}
    check_ledger(ledger, confidential, asked, problems, payers)
    problems.settle(ConfigError)
    assert asked is not None and noise is not None  # noqa: PT018, S101 - or it was a problem

    book = opened_ledger(ledger, confidential, asked)  # the file is looked at, no row is read
    prepared = asked.prepare()
    planned = Planned(noise, asked.ask.mechanisms(asked.query, prepared))
    stored = book.reserve(
        asked.query.digest, content=json.dumps(asked.query.content(), sort_keys=True),
        epsilon=planned.epsilon, **payers,
    )  # fmt: skip
    released = stored
    if released is None:  # charged: from here on nothing is refused
        view = view_of(confidential, asked.schema, asked.query, book.key)
        drawn = asked.ask.release(asked.query, prepared, view, planned)
        released = book.store(asked.query.digest, drawn)
    return concluded(
        asked, prepared, released, charge=planned.epsilon, is_new=stored is None,
        budgets=paying(book, payers),
    )  # fmt: skip


def dry_run(query: Path | Query, *, synthetic: Path, schema: Path | PublicSchema) -> Verification:
    """Take every step of `verify` with the synthetic data in place of the confidential ones: free.

    Raises
    ------
    SynthesizerError
        With every problem.
    """
    asked = sound_asked(query, schema, synthetic)
    prepared = asked.prepare()
    planned = Planned(DryNoise(), asked.ask.mechanisms(asked.query, prepared))
    released = asked.ask.release(asked.query, prepared, asked.view(), planned)
    return concluded(asked, prepared, released, charge=planned.epsilon, dry=True)


def concluded(
    asked: Asked, prepared: Any, released: Released, *, charge: int, dry: bool = False,
    is_new: bool = True, budgets: tuple[Budget, ...] = (),
) -> Verification:  # fmt: skip
    """Return what follows from released numbers; the charge is in millionths of epsilon."""
    return Verification(
        dry=dry,
        query=asked.query.content(),
        digest=asked.query.digest,
        charge=charge / MICRO,
        is_new=is_new and not dry,
        budgets=budgets,
        answer=asked.ask.conclude(asked.query, prepared, released),
    )


@dataclass(frozen=True)
class Asked:
    """A query with the public schema and the synthetic file that it is about."""

    query: Query
    schema: PublicSchema
    synthetic: Path

    @property
    def ask(self) -> Question:
        """The question."""
        return self.query.ask

    @cached_property
    def rows(self) -> View:
        """All rows of the synthetic file, with the variables of the query; they are read once."""
        return read_view(self.synthetic, self.schema, self.query.names, DRY_KEY)

    def view(self) -> View:
        """Return the rows of the synthetic file that the query is about."""
        return within(self.rows, self.query)

    def prepare(self) -> Any:
        """Return what the question needs of the synthetic file."""
        return self.ask.prepare(self.query, self.schema, self.view())


def sound_asked(query: Path | Query, schema: Path | PublicSchema, synthetic: Path) -> Asked:
    """Return what is asked; ConfigError has every problem."""
    problems = Problems()
    asked = read_asked(query, schema, synthetic, problems)
    problems.settle(ConfigError)
    assert asked is not None  # noqa: S101 - or it was a problem
    return asked


def read_asked(
    query: Path | Query, schema: Path | PublicSchema, synthetic: Path, problems: Problems
) -> Asked | None:
    """Return what is asked, None if something is wrong: every problem is added."""
    asked = query if isinstance(query, Query) else problems.attempt(read_query, query)
    public = schema if isinstance(schema, PublicSchema) else problems.attempt(load_schema, schema)
    digest = problems.attempt(_file_digest, synthetic)
    if asked is None and public is not None and not isinstance(query, Query):
        problems.at(str(query), problems_of_unsound(_content(query), public))
    if asked is None or public is None:
        return None
    if wrong := asked.problems(public, digest):
        problems.at("" if isinstance(query, Query) else str(query), wrong)
        return None
    if digest is None or _adds(problems, public, synthetic, asked):
        return None
    return Asked(asked.bound(public, digest), public, synthetic)


def _content(query: Path) -> Mapping[str, Any]:
    """Return the plain values of a file; that it has none is told already."""
    try:
        return read_yaml(query)
    except ConfigError:
        return {}


def _adds(problems: Problems, schema: PublicSchema, path: Path, query: Query) -> bool:
    """Add which columns a file lacks; tell whether there are any."""
    before = len(problems)
    with problems.gathered():
        problems += schema.column_problems(path, query.names)
    return len(problems) > before


def _file_digest(path: Path) -> str:
    """Return the SHA-256 of a file that must be there."""
    try:
        return sha256(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check its name") from None


def version_of(confidential: Path, schema: PublicSchema) -> str:
    """Return what a ledger is bound to: the file, and all that decides how it is read.

    A file that was read when the ledger was made is read in the same way ever after, so reading it
    cannot fail once a question is charged.
    """
    return digest_of({"sha256": _file_digest(confidential), "reading": schema.reading})


def check_ledger(
    ledger: Path, confidential: Path, asked: Asked | None, problems: Problems, payers: Payers
) -> None:
    """Add what is wrong with the ledger or its budgets; the confidential file is not opened."""
    if not os.path.exists(confidential):  # nor one whose name the system refuses
        problems.append(f"{confidential}: no such file; check its name and directory")
    book = problems.attempt(_ledger_at, ledger)
    if book is not None and asked is not None:
        with problems.gathered():
            query = asked.query
            problems += book.refusals(query.digest, epsilon=query.micro_epsilon, **payers)


def opened_ledger(ledger: Path, confidential: Path, asked: Asked) -> Ledger:
    """Return the ledger, if it is that of the confidential file and this has the columns.

    Names of columns and the hash of the file are looked at, no row.
    """
    problems = Problems()
    _adds(problems, asked.schema, confidential, asked.query)
    digest = problems.attempt(version_of, confidential, asked.schema)
    book = None
    if digest is not None:
        with problems.gathered():
            book = _ledger_at(ledger, digest)
    problems.settle(DataError)
    assert book is not None  # noqa: S101 - or it was a problem
    return book


def _ledger_at(path: Path, data: str | None = None) -> Ledger:
    """Open a ledger; what is free needs none, and no SQLAlchemy."""
    from synthesizer.extensions.verification.ledger import Ledger

    return Ledger(path, data=data)


def paying(book: Ledger, payers: Payers) -> tuple[Budget, ...]:
    """Return the budgets that pay."""
    from synthesizer.extensions.verification.ledger import scopes

    paid = scopes(payers)
    return tuple(b for b in book.spending().budgets if (b.scope, b.name) in paid)


def begin_ledger(
    path: Path, *, confidential: Path, schema: Path | PublicSchema, **caps: Unpack[Caps]
) -> Ledger:
    """Make the ledger of a version of the confidential file, which is read once as `verify` will.

    So a file that cannot be read, or lacks columns of the public schema, is found by the steward,
    before anybody is charged.

    Raises
    ------
    SynthesizerError
        If the file cannot serve, or the ledger cannot be written.
    """
    from synthesizer.extensions.verification.ledger import new_ledger

    problems = Problems()
    public = schema if isinstance(schema, PublicSchema) else problems.attempt(load_schema, schema)
    digest = None if public is None else problems.attempt(version_of, confidential, public)
    with problems.gathered():
        check_file(path, overwrite=False, read=[confidential])
    problems.settle(ConfigError)
    assert public is not None and digest is not None  # noqa: PT018, S101 - or it was a problem
    problems += public.column_problems(confidential, public.variables)
    problems.settle(DataError)
    public.encoded(public.read(confidential))
    return new_ledger(path, data=digest, **caps)


def check_words(
    *, dry_run: bool, choose_m: bool, confidential: Path | None, ledger: Path | None,
    out: Path | None,
) -> None:  # fmt: skip
    """Raise ConfigError where words of the command do not go together, all at once."""
    problems = Problems()
    free = [w for w, said in (("--dry-run", dry_run), ("--choose-m", choose_m)) if said]
    files = [w for w, f in (("--confidential", confidential), ("--ledger", ledger)) if f]
    if len(free) > 1:
        problems.append("--dry-run and --choose-m are two questions; ask one after the other")
    if free and files:
        problems.append(f"{free[0]} looks at synthetic data alone; leave out {' and '.join(files)}")
    if not free and len(files) < 2:
        problems.append(WORDS["refused"]["two_files"])
    if choose_m and out is not None:
        problems.append("--choose-m writes no answer; leave out --out")
    problems.settle(ConfigError)


def write_answer(made: Verification, out: Path, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Write page and JSON of an answer into a directory, whole or not at all."""
    texts = dict(zip((out / name for name in NAMES), (made.page, made.json_text), strict=True))
    write_texts(texts, overwrite=overwrite, parents=True)
    return tuple(texts)
