"""Refusals, defaults and ranges are those of ``messages.txt`` and ``defaults.txt``."""

import pytest

from tests.measures import defaults, messages


@pytest.mark.parametrize(("head", "lines"), messages.cases(messages.OF_RISK))
def test_message(head: str, lines: list[str]) -> None:
    messages.check(head, lines)


def test_defaults_and_ranges() -> None:
    defaults.check("risk")
