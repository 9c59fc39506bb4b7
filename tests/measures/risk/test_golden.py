"""Refusals, defaults and ranges are those of ``messages.txt`` and ``defaults.txt``."""

from tests.measures import defaults, messages


def test_messages() -> None:
    messages.check(messages.OF_RISK)


def test_defaults_and_ranges() -> None:
    defaults.check("risk")
