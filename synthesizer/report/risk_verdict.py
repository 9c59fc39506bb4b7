"""What the comparison of fitted and unseen records says about a release, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from synthesizer.report.numbers import written
from synthesizer.report.parts import Note
from synthesizer.report.risk_reading import Rate, ScenarioPart, part, rate
from synthesizer.report.risk_words import span

__all__ = ["verdict"]


def verdict(scenario: ScenarioPart, found: Sequence[Rate]) -> Iterator[Note]:
    """Yield what the half split says of the scenario, as the summary of a run says it.

    Parameters
    ----------
    scenario : ScenarioPart
        For the wording only.
    found : sequence of Rate
        Its figures.
    """
    compared = rate(found, "differential confidentiality")
    if compared is None:
        yield Note(
            "What the release adds is not known: fitted records were not compared with unseen "
            "ones. The part about differential confidentiality says why."
        )
    else:
        yield _added(compared)
    worst = rate(found, "worst group")
    if worst is not None:
        yield _worst(worst, scenario)


def _added(compared: Rate) -> Note:
    if compared.low is None or compared.high is None:
        return Note(
            "What the release adds could not be told: there is no interval for the difference "
            "between fitted and unseen records. That is no good news.",
            "alert",
        )
    where = f"the 95 % interval of the difference, {span(compared.low, compared.high)},"
    if compared.low > 0:
        return Note(
            f"Not differentially confidential: {where} does not cover 0. Records are read off "
            "more often because they were in the data.",
            "alert",
        )
    if compared.high < 0:
        return Note(
            f"Not differentially confidential by the letter: {where} lies below 0. Unseen records "
            "are read off more often than fitted ones; that discloses nothing, but look whether "
            "the two parts of the data are alike.",
            "alert",
        )
    return Note(
        f"Differentially confidential by this test: {where} covers 0. A difference of up to "
        f"{written(compared.high, 'share')} is not excluded.",
        "good",
    )


def _worst(worst: Rate, scenario: ScenarioPart) -> Note:
    group = part(scenario.content, "differential_confidentiality", "worst_group")
    named = " = ".join(str(group[key]) for key in ("by", "group") if key in group)
    told = f"Worst group{f' ({named})' if named else ''}: the difference is "
    told += written(worst.value, "share")
    if worst.low is None or worst.high is None:
        return Note(f"{told}, without an interval: nothing can be concluded.", "alert")
    told += f", its interval for all groups together {span(worst.low, worst.high)}"
    if worst.low > 0:
        return Note(f"{told} does not cover 0: this group is told apart.", "alert")
    return Note(f"{told} does not lie above 0; the largest of many groups is never 0 by chance.")
