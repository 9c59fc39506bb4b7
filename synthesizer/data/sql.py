"""The result of one query: read and never written, whatever the statement says."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from synthesizer.errors import DataError

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

__all__ = ["read_query", "refuse_writing"]

_SKIPPED: Final = re.compile(
    r"--[^\n]*|/\*.*?\*/|(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")", re.DOTALL
)
_WRITES: Final = re.compile(r"\b(insert|update|delete|merge|into)\b(?!\s*\()", re.IGNORECASE)
_NOT_THERE: Final = re.compile(
    r"no such (?:table|column): (?P<lite>[\w.]+)"
    r"|(?:relation|column) \"?(?P<post>[\w.]+)\"? does not exist"
)


def read_query(url: str, query: str) -> tuple[pa.Table, str]:
    """Read the result of a query over a connection that is only read from.

    The statement must be a single SELECT or WITH. Besides, SQLite and PostgreSQL are told that
    the connection only reads, and no transaction is ever committed.

    Returns
    -------
    pyarrow.Table, str
        The result, and where it came from, without the password.

    Raises
    ------
    DataError
        If SQLAlchemy or the driver is missing, or the query is refused or fails.
    """
    if find_spec("sqlalchemy") is None:
        raise DataError("SQL sources need SQLAlchemy: pip install 'synthesizer[sql]'")
    import sqlalchemy
    from sqlalchemy.exc import SQLAlchemyError

    refuse_writing(query)
    origin = "the SQL query"
    try:
        engine = sqlalchemy.create_engine(_reading(sqlalchemy.make_url(url)))
        origin = f"query on {sqlalchemy.make_url(url).render_as_string(hide_password=True)}"
        names, rows = _fetch(engine, query)
    except SQLAlchemyError as error:
        raise DataError(f"{origin}: {_explained(error, query)}") from None
    except ImportError as error:
        raise DataError(f"{origin}: install the database driver ({error.name})") from None
    return _from_rows(names, rows, origin), origin


def refuse_writing(query: str) -> None:
    """Refuse everything but one statement that reads.

    Databases differ in how they write texts and comments, hence a semicolon that does not end the
    query is refused wherever it stands.

    Raises
    ------
    DataError
        If there is a second statement, or one that is no SELECT or WITH, or one that writes.

    Examples
    --------
    >>> refuse_writing("select name from people where note <> 'delete'  -- all of them")
    >>> refuse_writing("drop table people")
    Traceback (most recent call last):
        ...
    synthesizer.errors.DataError: `query` must be one SELECT or WITH statement that only reads
    """
    if ";" in query.strip().removesuffix(";"):
        raise DataError(
            "`query` must be one SELECT or WITH statement; a semicolon may only end it, also in "
            "comments and texts"
        )
    bare = _SKIPPED.sub(lambda found: "''" if found["text"] else " ", query).lstrip(" \n\t\r(")
    if not re.match(r"(?i)(select|with)\b", bare) or _WRITES.search(bare):
        raise DataError("`query` must be one SELECT or WITH statement that only reads")


def _reading(url: URL) -> URL:
    """Refuse a SQLite file that is not there, which connecting would create."""
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return url
    if url.database.startswith("file:"):
        return url.update_query_dict({"mode": "ro", "uri": "true"})
    if not Path(url.database).is_file():
        raise DataError(f"{url.database}: no such SQLite file; check `url`")
    return url


def _fetch(engine: Engine, query: str) -> tuple[list[str], Any]:
    import sqlalchemy

    try:
        with engine.connect() as connection:  # never committed: closing rolls back
            _only_read(connection)
            result = connection.execute(sqlalchemy.text(query))
            return list(result.keys()), result.fetchall()
    finally:
        engine.dispose()


def _only_read(connection: Connection) -> None:
    guard = {"sqlite": "PRAGMA query_only = ON", "postgresql": "SET TRANSACTION READ ONLY"}
    if command := guard.get(connection.dialect.name):
        connection.exec_driver_sql(command)


def _explained(error: Exception, query: str) -> str:
    """Name the kind of error and what is not there; a database's own message may quote values."""
    found = _NOT_THERE.search(str(getattr(error, "orig", "")))
    name = (found["lite"] or found["post"]) if found else ""
    absent = f" (there is no {name})" if name and name in query else ""
    return f"{type(error).__name__}{absent}; check the URL, the rights and the query"


def _from_rows(names: list[str], rows: Any, origin: str) -> pa.Table:
    columns, problems = [], []
    cells = zip(*rows, strict=True) if rows else [()] * len(names)
    for name, values in zip(names, cells, strict=True):
        try:
            columns.append(pa.array(values))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            problems.append(f"{origin}: column {name!r} mixes types; cast it in the query")
    if problems:
        raise DataError(problems)
    return pa.Table.from_arrays(columns, names=names)
