"""What is printed fits the terminal: no word is broken, and alarms are words, too."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator

import pytest

from synthesizer.cli import printing
from synthesizer.cli.printing import complain, progress, say, show_table
from synthesizer.data.workers import Phases
from synthesizer.report.blocks import DataTable

LONGEST = 30
COLUMNS = ("variable", "kind of it", "levels", "what there is to look at")
FORMS = ("text", "text", "count", "text")
ROWS = [
    ("a_name_of_nearly_thirty_letters"[:LONGEST], "categorical", "1,234", "twelve whole numbers"),
    ("HOUSING_TYPE and OWN_RENT", "", "5", "-0.0175 to 0.0235"),
]
TABLE = DataTable(caption="some title", columns=COLUMNS, forms=FORMS, rows=ROWS)


class Terminal(io.StringIO):
    """A stream that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(printing, "_MIN_SECONDS", 0.0)


def without_codes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def words(text: str) -> list[str]:
    return text.replace(":", " ").replace(";", " ").split()


@pytest.mark.parametrize("width", [20, 80])
def test_no_word_is_broken_and_lines_fit(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    show_table(TABLE)
    say("  an indented sentence with a path/that/has/no/blanks/at/all and words after it")
    printed = capsys.readouterr().out
    cells = (*COLUMNS[1:], *(str(cell) for row in ROWS for cell in row))
    everything = [word for text in cells for word in words(text)]
    assert {*everything, "path/that/has/no/blanks/at/all"} <= {*words(printed)}
    longest = max(map(len, printed.split()))
    assert max(map(len, printed.splitlines())) <= max(width, longest + 4)
    # a control: words that are taken for shorter ones are broken
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(printing, "cell_len", lambda text: len(text) // 4)
    show_table(TABLE)
    assert "categorical" not in capsys.readouterr().out.split()


def test_sentences_are_one_line_in_a_file_and_end_at_80_columns_on_a_wide_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = " ".join(["word"] * 60)
    say(sentence)
    assert capsys.readouterr().out == f"{sentence}\n"
    monkeypatch.setenv("COLUMNS", "150")
    say(sentence)
    lines = capsys.readouterr().out.splitlines()
    assert 70 < max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()) == sentence


@pytest.mark.parametrize(
    ("terminal", "environment", "coloured"),
    [(True, {}, True), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False),
     (False, {}, False)],
)  # fmt: skip
def test_alarms_are_in_words_and_in_colour_where_there_are_colours(
    terminal: bool, environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    say("Why it is so.", start="Anybody:", word="STOP", colour="red")
    assert ("31m" in stream.getvalue()) == coloured
    assert ("\x1b" in stream.getvalue()) == coloured
    assert without_codes(stream.getvalue()) == "Anybody: STOP. Why it is so.\n"


def test_an_error_with_several_lines_keeps_them(capsys: pytest.CaptureFixture[str]) -> None:
    complain(["error: [first] line\n  second line"])
    assert capsys.readouterr().err == "error: [first] line\n  second line\n"


def work(phases: Phases) -> None:
    """Generate two datasets, each checked while the next one waits; then stop while fitting."""
    with phases.phase("read"):
        pass

    def datasets() -> Iterator[int]:
        with phases.phase("generate", 2) as advance:
            for number in range(2):
                advance(1)
                yield number

    for _ in datasets():
        with phases.phase("check"):
            pass
    phases.listener.say("a line that stays")
    with phases.phase("fit", 9):
        raise KeyboardInterrupt


@pytest.mark.parametrize("environment", [None, {"TERM": "dumb"}, {}])
def test_a_phase_is_one_line_once_it_has_ended(
    environment: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO() if environment is None else Terminal()
    for name, value in (environment or {}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(KeyboardInterrupt), progress(quiet=False) as listener:
        work(Phases(listener))
    live = environment == {}
    assert ("\x1b[2K" in stream.getvalue()) == live
    lines = without_codes(stream.getvalue()).splitlines()
    ended = [line.split()[0] for line in lines if line.endswith(" s")]
    if not live:  # a terminal also has the lines that were overwritten
        assert ended == ["read", "generate", "check"]  # what was interrupted has none
    assert "a line that stays" in stream.getvalue()
    before = stream.getvalue()
    with pytest.raises(KeyboardInterrupt), progress(quiet=True) as listener:
        work(Phases(listener))
    assert stream.getvalue() == before
