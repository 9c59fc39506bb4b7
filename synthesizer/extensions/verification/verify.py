"""The main job: from a query to its answer, and the dry run before it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from synthesizer.data.errors import ConfigError, DataError, Problems
from synthesizer.data.files import check_file, sha256, write_texts
from synthesizer.data.yaml_text import read_yaml
from synthesizer.extensions.verification import questions
from synthesizer.extensions.verification.answer import Budget, Verification
from synthesizer.extensions.verification.mechanisms import (
    MICRO,
    DryNoise,
    Noise,
    OpenDP,
    PlannedNoise,
)
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.public_schema import (
    M,
    PublicSchema,
    digest_of,
    read_strictly,
)
from synthesizer.extensions.verification.query import Query, problems_of_unsound

if TYPE_CHECKING:
    from synthesizer.extensions.verification.ledger import Caps, Ledger, Payers

ANSWER_FILES = ("answer.html", "answer.json")
"""Names of the written files."""
DRY_KEY = bytes(32)
"""Key of the partitions of synthetic data, which need not be secret."""
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

    Every problem is raised before the charge, and before a confidential row is read. After the
    charge the data raise no error. Asking the same question again returns the first answer, free.

    Parameters
    ----------
    query, schema : Path, Query, PublicSchema
        The query and the public schema; files are YAML or JSON.
    confidential, synthetic : Path
        CSV or Parquet files with the columns of the public schema.
    ledger : Path
        Ledger from `begin_ledger` for this version of the confidential file.
    user, analysis : str
        Names of the budgets that pay, besides the global one.
    noise : Noise, optional
        OpenDP if absent.

    Raises
    ------
    SynthesizerError
        If the query is refused; nothing is charged.
    """
    problems = Problems()
    public_query = read_public_query(query, schema, synthetic, problems)
    noise = noise or problems.attempt(OpenDP)
    payers: Payers = {"user": user, "analysis": analysis}
    check_ledger(ledger, confidential, public_query, problems, payers)
    problems.settle(ConfigError)
    assert public_query is not None and noise is not None  # noqa: PT018, S101 - or it was a problem

    book = opened_ledger(
        ledger, confidential, public_query
    )  # names and hash are checked, no row is read
    prepared = public_query.prepare()
    planned = PlannedNoise(noise, public_query.ask.mechanisms(public_query.query, prepared))
    stored = book.reserve(
        public_query.query.digest, content=json.dumps(public_query.query.content(), sort_keys=True),
        epsilon=planned.epsilon, **payers,
    )  # fmt: skip
    released = stored
    if released is None:  # charged: after this nothing is refused
        view = questions.view_of(confidential, public_query.schema, public_query.query, book.key)
        drawn = public_query.ask.release(public_query.query, prepared, view, planned)
        released = book.store(public_query.query.digest, drawn)
    return concluded(
        public_query, prepared, released, charge=planned.epsilon, is_new=stored is None,
        budgets=paying(book, payers),
    )  # fmt: skip


def dry_run(query: Path | Query, *, synthetic: Path, schema: Path | PublicSchema) -> Verification:
    """Return the result of `verify` with the synthetic in place of the confidential data: free.

    Raises
    ------
    SynthesizerError
        With every problem.
    """
    public_query = sound_query(query, schema, synthetic)
    prepared = public_query.prepare()
    planned = PlannedNoise(DryNoise(), public_query.ask.mechanisms(public_query.query, prepared))
    released = public_query.ask.release(public_query.query, prepared, public_query.view(), planned)
    return concluded(public_query, prepared, released, charge=planned.epsilon, dry=True)


def concluded(
    public_query: PublicQuery, prepared: Any, released: questions.Released, *, charge: int,
    dry: bool = False, is_new: bool = True, budgets: tuple[Budget, ...] = (),
) -> Verification:  # fmt: skip
    """Return the answer from released numbers; the charge is in millionths of epsilon."""
    return Verification(
        dry=dry,
        query=public_query.query.content(),
        digest=public_query.query.digest,
        charge=charge / MICRO,
        is_new=is_new and not dry,
        budgets=budgets,
        answer=public_query.ask.conclude(public_query.query, prepared, released),
    )


@dataclass(frozen=True)
class PublicQuery:
    """A query with the public schema and the synthetic file that it is about."""

    query: Query
    schema: PublicSchema
    synthetic: Path

    @property
    def ask(self) -> questions.Question:
        """The question."""
        return self.query.ask

    @cached_property
    def rows(self) -> questions.QueryRows:
        """All rows of the synthetic file, with the variables of the query; read once."""
        return questions.read_view(self.synthetic, self.schema, self.query.names, DRY_KEY)

    def view(self) -> questions.QueryRows:
        """Return the rows of the synthetic file that the query is about."""
        return questions.within(self.rows, self.query)

    def prepare(self) -> Any:
        """Return the prepared numbers from the synthetic file."""
        return self.ask.prepare(self.query, self.schema, self.view())


def sound_query(query: Path | Query, schema: Path | PublicSchema, synthetic: Path) -> PublicQuery:
    """Return the query with schema and synthetic file; ConfigError has every problem."""
    problems = Problems()
    public_query = read_public_query(query, schema, synthetic, problems)
    problems.settle(ConfigError)
    assert public_query is not None  # noqa: S101 - or it was a problem
    return public_query


def _read(kind: type[M], given: Path | M) -> M:
    """Return the content of a YAML or JSON file, or what was given in its place."""
    return given if isinstance(given, kind) else read_strictly(kind, cast(Path, given))


def read_public_query(
    query: Path | Query, schema: Path | PublicSchema, synthetic: Path, problems: Problems
) -> PublicQuery | None:
    """Return the query with schema and synthetic file; None after adding its problems."""
    public_query = problems.attempt(_read, Query, query)
    public = problems.attempt(_read, PublicSchema, schema)
    digest = problems.attempt(_file_digest, synthetic)
    if public_query is None and public is not None and not isinstance(query, Query):
        problems.at(str(query), problems_of_unsound(_content(query), public))
    if public_query is None or public is None:
        return None
    if wrong := public_query.problems(public, digest):
        problems.at("" if isinstance(query, Query) else str(query), wrong)
        return None
    if digest is None or _adds(problems, public, synthetic, public_query):
        return None
    return PublicQuery(public_query.bound(public, digest), public, synthetic)


def _content(query: Path) -> Mapping[str, Any]:
    """Return the plain values of a file, or none if it is invalid."""
    try:
        return read_yaml(query)
    except ConfigError:
        return {}


def _adds(problems: Problems, schema: PublicSchema, path: Path, query: Query) -> bool:
    """Add a problem for each missing column; return whether there are any."""
    before = len(problems)
    with problems.gathered():
        problems += schema.column_problems(path, query.names)
    return len(problems) > before


def _file_digest(path: Path) -> str:
    """Return the SHA-256 of a file; ConfigError if it cannot be read."""
    try:
        return sha256(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check its name") from None


def version_of(confidential: Path, schema: PublicSchema) -> str:
    """Return the digest of the file and of all settings that decide how it is read.

    A ledger is bound to it: a file that could be read when the ledger was made is read in the same
    way later, so reading cannot fail after a question is charged.
    """
    return digest_of({"sha256": _file_digest(confidential), "reading": schema.reading})


def check_ledger(
    ledger: Path,
    confidential: Path,
    public_query: PublicQuery | None,
    problems: Problems,
    payers: Payers,
) -> None:
    """Add the problems of the ledger and its budgets; the confidential file is not opened."""
    if not os.path.exists(confidential):  # also if the system refuses the name
        problems.append(f"{confidential}: no such file; check its name and directory")
    book = problems.attempt(_ledger_at, ledger)
    if book is not None and public_query is not None:
        with problems.gathered():
            query = public_query.query
            problems += book.refusals(query.digest, epsilon=query.micro_epsilon, **payers)


def opened_ledger(ledger: Path, confidential: Path, public_query: PublicQuery) -> Ledger:
    """Return the ledger if it belongs to the confidential file, and the file has the columns.

    Column names and the hash of the file are read, but no row.
    """
    problems = Problems()
    _adds(problems, public_query.schema, confidential, public_query.query)
    digest = problems.attempt(version_of, confidential, public_query.schema)
    book = None
    if digest is not None:
        with problems.gathered():
            book = _ledger_at(ledger, digest)
    problems.settle(DataError)
    assert book is not None  # noqa: S101 - or it was a problem
    return book


def _ledger_at(path: Path, data: str | None = None) -> Ledger:
    """Open a ledger; imported late, since free steps need no SQLAlchemy."""
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
    """Create the ledger of a version of the confidential file, which is read once like in `verify`.

    So the steward learns of a file that cannot be read, or lacks columns, before any charge.

    Raises
    ------
    SynthesizerError
        If the file cannot be used, or the ledger cannot be written.
    """
    from synthesizer.extensions.verification.ledger import new_ledger

    problems = Problems()
    public = problems.attempt(_read, PublicSchema, schema)
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
    """Raise ConfigError with all options of the command that cannot be combined."""
    problems = Problems()
    free = [w for w, is_given in (("--dry-run", dry_run), ("--choose-m", choose_m)) if is_given]
    files = [w for w, f in (("--confidential", confidential), ("--ledger", ledger)) if f]
    if len(free) > 1:
        problems.append("--dry-run and --choose-m cannot be combined; run one after the other")
    if free and files:
        problems.append(f"{free[0]} uses synthetic data alone; leave out {' and '.join(files)}")
    if not free and len(files) < 2:
        problems.append(WORDS["refused"]["two_files"])
    if choose_m and out is not None:
        problems.append("--choose-m writes no answer; leave out --out")
    problems.settle(ConfigError)


def write_answer(made: Verification, out: Path, *, overwrite: bool = False) -> tuple[Path, ...]:
    """Write page and JSON of an answer into a directory, atomically."""
    texts = dict(
        zip((out / name for name in ANSWER_FILES), (made.page, made.json_text), strict=True)
    )
    write_texts(texts, overwrite=overwrite, parents=True)
    return tuple(texts)
