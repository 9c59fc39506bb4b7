"""How to read the report: the words it uses."""

from __future__ import annotations

from synthesizer.report.parts import DataTable, Section, Words

__all__ = ["reading_section"]

_TERMS = (
    ("Synthetic data", "Records drawn from models that were fitted to the original. No record "
     "stands for a person, but the models may have learned something about persons."),
    ("S_pMSE", "Distance of two tables, divided by what draws from a right model would show by "
     "chance. About 1 is as good as it gets; a fresh sample of the same people has 2."),
    ("ROE, ratio of estimates", "Smaller of two proportions divided by the larger, averaged over "
     "the cells of a table. 1 is equal; rare cells pull it down."),
    ("SPECKS", "Largest distance between two distributions, from 0 (alike) to 1."),
    ("pMSE", "How well a model tells synthetic from original records; 0 is not at all."),
    ("Overlap", "Share that two confidence intervals have in common. 1 is equal, below 0 they do "
     "not touch."),
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


def reading_section() -> Section:
    """Return a short glossary; it is the same in every report."""
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
                rows=_TERMS,
            ),
        ],
    )
