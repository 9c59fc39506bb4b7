"""T20: what the log may contain."""

import io
import json
import logging
import logging.config

import pytest

from synthesizer.extensions.verification.server.security import (
    FIELDS,
    LOGGING,
    NAME,
    FieldFormatter,
)

SALARY = "73313.7177"


@pytest.fixture
def lines():
    """Return a function that gives the lines of a logger, written by a formatter."""

    def lines(name, write, formatter=None):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.setFormatter(formatter or FieldFormatter())
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        try:
            write(logger)
        finally:
            logger.removeHandler(handler)
        return stream.getvalue()

    return lines


def fail(logger):
    try:
        float(f"pay {SALARY}")
    except ValueError:
        logger.exception("a job failed")


@pytest.mark.parametrize("name", [NAME, "uvicorn.error", "asyncio", "sqlalchemy.engine"])
def test_no_text_of_an_exception_and_no_value_of_a_library_is_written(lines, name):
    text = lines(name, fail)
    assert SALARY not in text
    assert json.loads(text)["error"] == "ValueError"
    assert json.loads(text)["place"].startswith("test_server_log.py:")
    assert SALARY in lines(name, fail, logging.Formatter())  # control

    def write(logger):
        logger.error("[%d] on %s", 12, SALARY)

    assert SALARY in lines(name, write, logging.Formatter())  # control
    if name != NAME:
        assert SALARY not in lines(name, write)
        message = json.loads(lines(name, write)).get("message")
        assert message == ("[12] on ..." if name == "uvicorn.error" else None)


def test_only_named_fields_are_written(lines):
    def write(logger):
        fields = {"status": 200, "route": "/queries/{submission}", "body": SALARY, "n": 2057}
        logger.error("request", extra={"fields": fields})

    line = json.loads(lines(NAME, write))
    assert set(line) == {"at", "level", "logger", "message", "status", "route"}
    assert not {"body", "n", "path", "query"} & set(FIELDS)


def test_the_configuration_is_one_that_logging_takes():
    before = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        logging.config.dictConfig(LOGGING)
        (handler,) = logging.getLogger().handlers
        assert isinstance(handler.formatter, FieldFormatter)
        assert not logging.getLogger("uvicorn.access").isEnabledFor(logging.INFO)
    finally:
        logging.getLogger().handlers[:], level = before
        logging.getLogger().setLevel(level)
        for name in ("synthesizer", "uvicorn", "uvicorn.access"):
            logging.getLogger(name).setLevel(logging.NOTSET)
