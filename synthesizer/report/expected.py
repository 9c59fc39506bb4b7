"""Expected values of S_pMSE, of a correct model and of a new sample; figures in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synthesizer.data.errors import listed
from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.utility.propensity import PmseResult
from synthesizer.measures.utility.tables import TableRow
from synthesizer.report.blocks import Gap, stopped, written
from synthesizer.report.codebook.words import of_trees
from synthesizer.report.record import Record


def tables_of(record: Record, ways: int) -> tuple[TableRow, ...]:
    """Return the tables of one order, the worst first; none if they were not compared."""
    utility = record.results.utility
    return () if utility is None or utility.tables is None else utility.tables.of_order(ways)


def lone_variable(record: Record) -> str:
    """Return the only variable of a run; empty if there are several."""
    names = [step.variable for step in record.manifest.chain if step.kind != "id"]
    return names[0] if len(names) == 1 else ""


def no_tables(record: Record, subject: str, *, pairs: bool = False) -> Gap:
    """Return the reason why tables of pairs or of single variables are missing."""
    if why := record.results.failed.get("tables"):
        return Gap(subject, f"The tables could not be compared: {why}")
    if pairs and (lone := lone_variable(record)):
        return Gap(subject, f"A pair needs two variables, and {lone} is the only one.")
    switch = "checks.two_way" if pairs else "checks.one_way"
    return Gap(subject, f"The check was turned off: set {switch} to true and run again.")


_MAX_NAMES = 12
_UNKNOWN = "could not be computed"


@dataclass(frozen=True)
class Expected:
    """Expected S_pMSE (distance of two tables, divided by that of a correct model)."""

    right: float = 1.0
    """Right synthesis: 1 with fixed parameters, 1 + k/n with new parameters for each dataset, for k
    synthetic and n original records."""
    fresh: float | None = 2.0
    """New sample of the same population, 1 + k/n; None if k or n is unknown."""
    proper: bool = False
    """Whether each dataset has new parameters."""

    @property
    def limit(self) -> float:
        """Limit of a table: value of a new sample, or two if it is unknown."""
        return max(self.right, 2.0 if self.fresh is None else self.fresh)

    @property
    def bounds(self) -> tuple[float, ...]:
        """Upper ends of the colours; the third is the limit."""
        return tuple(self.limit * share for share in (0.5, 0.75, 1, 1.5, 2.5, 5, 10, 25))

    @property
    def right_words(self) -> str:
        """A correct model with its value."""
        return f"a correct model ({short(self.right)})"

    @property
    def fresh_words(self) -> str:
        """The new sample with its value."""
        value = "1 + k/n" if self.fresh is None else short(self.fresh)
        return f"a new sample of the same population ({value})"

    @property
    def sentence(self) -> str:
        """Both values with their formula."""
        value = "the value of a new sample" if self.fresh is None else short(self.fresh)
        ratio = f" ({value} is 1 + k/n for k synthetic and n original records)"
        if self.proper:
            return (
                f"{value}: drawn from the true model with new parameters for each dataset, or a "
                f"new sample. Values up to {value} are good{ratio}."
            )
        return (
            f"{short(self.right)}: drawn from the true model. {value}: as far from the original as "
            f"a new sample. Below {value} is good{ratio}."
        )


def expected_of(record: Record) -> Expected:
    """Return the expected values of a run; without results of utility from its sizes."""
    utility, manifest = record.results.utility, record.manifest
    if utility is not None:
        return Expected(utility.expected, utility.fresh, utility.proper)
    fresh = 1 + manifest.rows / manifest.n_units
    proper = manifest.config.get("proper") is True
    return Expected(fresh if proper else 1.0, fresh, proper)


def table_mark(expected: Expected) -> float:
    """Return the limit of S_pMSE of a single table: 10, or five times the value of a new sample.

    Raab, Nowok and Dibben (2021): all two-way tables should be below 10, better below 3.
    """
    return max(10.0, 5 * expected.limit)


def copied_in_words(copied: Sequence[str]) -> str:
    """Return a sentence on the effect of partial synthesis on the figures."""
    return (
        f"Copied from the original (partial synthesis): {listed(copied, _MAX_NAMES)}. Means "
        "exclude tables of copied variables only. Other tables are closer to the original than "
        "with full synthesis, since a part of each record is real."
    )


def distance_in_words(value: float | None, expected: Expected) -> str:
    """Return an S_pMSE in words."""
    if value is None:
        return _UNKNOWN
    if value <= 1.2 * expected.right:
        return f"as close to the original as {expected.right_words}"
    limit = expected.limit
    is_fresh = limit == expected.fresh
    reference = expected.fresh_words if is_fresh else f"twice {expected.right_words}"
    if value <= limit:
        return f"as close to the original as {reference}"
    if value <= 5 * limit:
        how = "somewhat" if value <= 1.5 * limit else "clearly"
        return f"{how} farther from the original than {reference}"
    return f"{written(value / limit, 'count')} times as far from the original as {reference}"


def chance_in_words(ratio: float | None, deviations: float | None, level: float = 1.0) -> str:
    """Return a pMSE ratio in words, if its expectation is from permuted labels.

    ``deviations`` are standard deviations of pMSE above its expectation. ``level`` is the smallest
    ratio of a correct model, 1 if that equals a new sample.
    """
    if ratio is None:
        return _UNKNOWN
    reference = "a new sample of the same population (1)"
    down = "" if level >= 1 else f"; a correct model can be as low as {short(level)}"
    if ratio <= 1 or (deviations is not None and deviations <= 2):
        return f"as hard to distinguish from the original as {reference}{down}"
    how = "a little" if ratio <= 1.5 else "clearly" if ratio <= 3 else "much"
    return f"{how} easier to distinguish from the original than {reference}{down}"


def short(value: float) -> str:
    """Return an expected value with three digits."""
    return f"{value:.3g}"


def right_share(scores: PmseResult, expected: Expected) -> float:
    """Return the smallest ratio of a tree for a correct model: 1 - c, c the synthetic share."""
    if expected.proper:
        return 1.0
    return scores.n / (scores.n + sum(scores.n_synthetic) / len(scores.n_synthetic))


def lost_fits(fit: FitComparison) -> list[str]:
    """Return the warning on datasets without a fit; empty if there are none."""
    fits = [dataset_fit for dataset_fit in fit.datasets if dataset_fit.dataset > 0]
    problems = [dataset_fit.problem for dataset_fit in fits if dataset_fit.problem is not None]
    if not problems:
        return []
    why = "; ".join(dict.fromkeys(problem.rstrip(". ") for problem in problems))
    fitted = f"fitted on {len(fits) - len(problems)} of {len(fits)} datasets"
    return [f"{fit.title}: {fitted}; the others are left out: {why}."]


def fit_notes(fit: FitComparison) -> list[str]:
    """Return the notes of a fit as sentences."""
    return [stopped(note[:1].upper() + note[1:]) for note in fit.notes]


def overlap_in_words(expected: float | None) -> str:
    """Return the reference of an overlap in words."""
    if expected is None:
        return "1 is equal, a correct model has less"
    return f"1 is equal, a correct model has {written(expected, 'share')} on average"


def cautions(record: Record) -> list[str]:
    """Return the assumptions of intervals from the synthetic data, by the models of the chain."""
    trees = _trees(record)
    named = [name for name, (_, leaf_regression) in trees.items() if leaf_regression]
    return [of_trees(named, others=len(named) < len(trees), even=even_trees(record))["narrow"]]


def even_trees(record: Record) -> bool:
    """Whether trees drew some variable evenly."""
    return any(even for even, _ in _trees(record).values())


def _trees(record: Record) -> dict[str, tuple[bool, bool]]:
    """Return for each variable drawn by trees whether draws were even, and by leaf regression."""
    return {
        step.variable: (step.trees.even, step.trees.leaf_regression)
        for step in record.manifest.chain
        if step.trees is not None and not step.kept
    }


UNITS = (
    "Figures count persons, also if they are called records. A person is one row with attributes "
    "of the career and the values of the first, the last and chosen periods."
)
UNITS_OF_GROUPS = (
    "Figures count persons, also if they are called records; halves are split by {}. Attributes "
    "that all members share count once for each member, so they exceed good values by chance alone."
)
MAX_RATIO = 3.0
"""Ratio to the noise floor above which a distance is highlighted."""


def noise_in_words(ratio: float | None, distance: float | None = None) -> str:
    """Return a distance over its noise floor in words."""
    if ratio is None:
        if distance is None:
            return _UNKNOWN
        return "equal" if not distance else "differs; bootstraps of the original never do"
    if ratio < 0.5:
        return "smaller than by chance, as with even draws or copies"
    if ratio <= 1.25:
        return "equal up to chance"
    if ratio <= 2:
        return "a little larger than by chance"
    return f"{'clearly' if ratio <= MAX_RATIO else 'much'} larger than by chance"
