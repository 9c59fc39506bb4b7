"""The log of the server: one line of JSON an event, of fields that are named here and no others.

A log is read by people who may not see the data. So no text of a library is written down: neither
its messages, which may quote values, nor those of exceptions. What goes wrong is told by the kind
of the exception and the place in the program. Requests are told by the route ("/queries/{id}"),
never by path, query string or body.
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any

from synthesizer.data.yaml_text import parse_yaml

NAME = "synthesizer.verification.server"
FIELDS = ("method", "route", "status", "milliseconds", "account", "address")
"""What ``extra={"fields": ...}`` of a record may tell."""
_OWN, _TEMPLATES = "synthesizer.", "uvicorn."
"""Loggers whose words are our own, and those whose words are fixed before values are filled in."""


class FieldFormatter(logging.Formatter):
    """Writes the fields of `FIELDS`, time, level, logger and, of our own loggers, the words.

    Examples
    --------
    >>> record = logging.LogRecord("a.library", logging.ERROR, "f.py", 3, "salary 1234", (), None)
    >>> "1234" in FieldFormatter().format(record)
    False
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname, "logger": record.name}
        if record.name.startswith(_OWN):
            line["message"] = record.getMessage()
        elif record.name.startswith(_TEMPLATES):
            line["message"] = _with_numbers(record)
        else:
            line["place"] = f"{record.module}:{record.lineno}"
        fields = getattr(record, "fields", {})
        line |= {key: fields[key] for key in FIELDS if key in fields}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["place"] = place_of_error(record.exc_info[2])
        return json.dumps(line)


def _with_numbers(record: logging.LogRecord) -> str:
    """Return words with whole numbers filled in, such as that of the process, and no text."""
    values = record.args if isinstance(record.args, tuple) else ()
    try:
        return str(record.msg) % tuple(v if isinstance(v, int) else "..." for v in values)
    except (TypeError, ValueError):  # the words ask for another kind of value
        return str(record.msg)


def place_of_error(trace: TracebackType | None) -> str:
    """Return module and line where an exception was raised."""
    frames = traceback.extract_tb(trace)
    if not frames:
        return ""
    last = frames[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


_TEXT = resources.files("synthesizer.verification").joinpath("logging.yaml").read_text("utf-8")
LOGGING: dict[str, Any] = parse_yaml(_TEXT, origin="logging.yaml")
"""For `uvicorn.Config(log_config=LOGGING, access_log=False)`: requests are logged by the app."""
