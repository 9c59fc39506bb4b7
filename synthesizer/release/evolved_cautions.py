"""What not to conclude from datasets that were evolved from records that no model drew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from synthesizer.data.schema import Kind
from synthesizer.release.cautions import EXTREMES, IDENTIFY, PROVISIONAL, stacked, uncertain
from synthesizer.release.facts import Facts
from synthesizer.release.files import Released
from synthesizer.release.names import listed

__all__ = ["evolved_cautions"]

REAL: Mapping[str, str] = {
    "mutants": (
        "Records are those of real persons as far as nothing in them was changed, and that is "
        "usually most of them."
    ),
    "files": (
        "How the files that these datasets began as were made is not told here, so that records "
        "may be those of real persons."
    ),
}
TREAT = (
    "Which ones were changed is not told. Protect every record as that of a real person, and "
    "conclude nothing about anybody: what stands in a record may be right, changed, or somebody "
    "else's."
)


def evolved_cautions(facts: Facts, released: Released) -> list[dict[str, str]]:
    """Return what not to conclude: entries with ``title`` and ``text``."""
    found = [*_about_persons(facts, released), *_about_results(released)]
    return [{"title": title, "text": text} for title, text in found]


def _about_persons(facts: Facts, released: Released) -> Iterator[tuple[str, str]]:
    start = "files" if facts.evolution is None else facts.evolution.start
    yield "Records may be real", f"{REAL[start]} {TREAT}"
    yield IDENTIFY
    ids = [name for name, seen in released.variables.items() if seen.kind is Kind.ID]
    which = f", by {listed(ids)} or by values" if ids else ""
    yield (
        "Do not merge with other files",
        f"Do not match records with those of other files{which}. Some would meet the real person "
        "behind them, others somebody who only looks like it.",
    )


def _about_results(released: Released) -> Iterator[tuple[str, str]]:
    m = len(released.files)
    yield PROVISIONAL
    yield uncertain(m)
    yield (
        "Associations can be weakened",
        "Values that were drawn anew and records that were replaced weaken associations. The "
        "datasets were selected by how close whole tables are: that says little of a single "
        "association, and nothing of one in a small group.",
    )
    yield (
        "Small groups and rare combinations are unreliable",
        "Rare combinations carry the risk that the datasets were selected against, so that they "
        "are the first to be changed. They may be lost, thinned out or made up, and what they show "
        "need not even be right on average.",
    )
    yield EXTREMES
    if m > 1:
        yield stacked(m)
    yield (
        "Weights were changed too",
        "If a variable is a sampling weight, its values were changed like those of any other "
        "variable: they need not add up to population totals, nor keep their relation to the "
        "sample design.",
    )
    yield (
        "Missing codes are no values",
        "Leave out missing codes before you compute with a variable; a change may have put one in "
        "or taken one out.",
    )
    yield (
        "No hunting for significance",
        "Changes and selection leave traces that look like effects, and remove real effects. "
        "Decide before you look which analyses you will have verified; a test that is significant "
        "here proves nothing, and one that is not disproves nothing.",
    )
