"""How to read the report: the words it uses."""

from __future__ import annotations

from synthesizer.report.parts import DataTable, Section, Words
from synthesizer.report.record import Record
from synthesizer.report.utility_expected import expected_of

__all__ = ["reading_section"]

_DISTANCE = (
    "Distance of two tables, divided by what independent draws from a right model with fixed "
    "parameters would show by chance."
)
_TERMS_FIRST = (
    ("Synthetic data", "Records drawn from models that were fitted to the original. No record "
     "stands for a person, but the models may have learned something about persons."),
    ("Right synthesis", "Independent draws from the model that is true. No synthesis is quite "
     "right; it is what figures of utility are compared with."),
    ("Fresh sample", "Another sample of as many records as the synthetic data, from the same "
     "population as the original, not of the same persons."),
)  # fmt: skip
_TERMS = (
    ("ROE, ratio of estimates", "Smaller of two proportions divided by the larger, averaged over "
     "the cells of a table. 1 is equal; rare cells pull it down."),
    ("SPECKS", "Largest distance between two distributions, from 0 (alike) to 1."),
    ("pMSE", "How well a model tells synthetic from original records; 0 is not at all."),
    ("pMSE ratio", "pMSE over what is expected by chance. By a logistic regression: over that of "
     "independent draws from a right model; with main effects it sees margins only, not "
     "relations. By a tree: over that of a fresh sample of the same population, which a right "
     "synthesis with fixed parameters may fall below, down to 1 - c, c the synthetic share (0.5 "
     "for files of equal size). SPECKS and PO50 of a tree have no baseline."),
    ("p and p_VW", "Probabilities of a difference as large by chance: between two independent "
     "samples (p), or between the original and draws from its own proportions (p_VW)."),
    ("Overlap", "Share that two confidence intervals have in common. 1 is all, below 0 they do "
     "not touch. A right synthesis does not reach 1: with fixed parameters and as many records "
     "as the original, 0.80 is expected of one dataset and 0.91 of five."),
    ("Keys and target", "What an intruder knows of a person, and what the intruder seeks."),
    ("CAP", "Correct attribution probability: how often the target is read off rightly from the "
     "synthetic records with the same keys. Compare with its baseline, which is guessing, and "
     "with the original's."),
    ("Differential confidentiality", "CAP of records that the synthesis was fitted on minus CAP "
     "of records it never saw. If it is 0, being in the data does not add to a person's risk."),
    ("Share nearer to the fitted half", "How often a synthetic record is nearer to one it was "
     "made from than to one it was not. 0.5 is a coin toss."),
    ("Baseline", "The value of data that tell nothing about the persons."),
    ("95 % interval", "What the figure may be if chance had fallen otherwise: it covers the true "
     "value in 95 of 100 cases."),
)  # fmt: skip


def reading_section(record: Record) -> Section:
    """Return a short glossary with the expectations of the run."""
    expected = expected_of(record)
    terms = (
        *_TERMS_FIRST,
        ("S_pMSE", f"{_DISTANCE} {expected.sentence} Lower is better."),
        *_TERMS,
    )
    return Section(
        anchor="reading",
        title="How to read this report",
        lead="Shares are from 0 to 1, never percent. A dash says that there is no value.",
        blocks=[
            Words(
                [
                    "No single figure says that data are safe or good. Look whether the figures "
                    "of risk stay near their baselines, whether the pairs that researchers will "
                    "use are near enough, and decide for the use that is planned. Figures that "
                    "could not be computed are no good news."
                ]
            ),
            DataTable(
                caption="Words of this report",
                columns=["Word", "Meaning"],
                forms=["text", "text"],
                rows=terms,
            ),
        ],
    )
