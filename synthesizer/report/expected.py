"""Expected values of S_pMSE: of a right synthesis of this kind, and of a new sample."""

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
    """Return the tables of an order, the worst first; none where they were not compared."""
    utility = record.results.utility
    return () if utility is None or utility.tables is None else utility.tables.of_order(ways)


def lone_variable(record: Record) -> str:
    """Return the variable of a run that has only one, so that there is no pair; else nothing."""
    names = [step.variable for step in record.manifest.chain if step.kind != "id"]
    return names[0] if len(names) == 1 else ""


def no_tables(record: Record, subject: str, *, pairs: bool = False) -> Gap:
    """Say why there are no measures of tables, of pairs or of single variables."""
    if why := record.results.failed.get("tables"):
        return Gap(subject, f"The tables could not be compared: {why}")
    if pairs and (lone := lone_variable(record)):
        return Gap(subject, f"A pair needs two variables, and {lone} is the only one that is left.")
    switch = "checks.two_way" if pairs else "checks.one_way"
    return Gap(subject, f"The check was off: set {switch} to true and run again.")


_NAMED = 12
_LOOK = 10.0
_UNKNOWN = "could not be computed, which is no good news"


@dataclass(frozen=True)
class Expected:
    """Expectations of S_pMSE, the distance of a table over that of draws from a right model."""

    right: float = 1.0
    """Of a right synthesis of this kind: 1 with fixed parameters, 1 + k/n with parameters drawn
    anew for each dataset, for k synthetic and n original records."""
    fresh: float | None = 2.0
    """Of a new sample of the same population, 1 + k/n; None where k or n is not known."""
    proper: bool = False
    """Whether parameters were drawn anew for each dataset."""

    @property
    def limit(self) -> float:
        """What tables should not exceed: the new sample's value, or two where it is unknown."""
        return max(self.right, 2.0 if self.fresh is None else self.fresh)

    @property
    def bounds(self) -> tuple[float, ...]:
        """Upper ends of the colours; the third is the new sample's value."""
        return tuple(self.limit * share for share in (0.5, 0.75, 1, 1.5, 2.5, 5, 10, 25))

    @property
    def right_words(self) -> str:
        """The right synthesis with its value."""
        return f"a right synthesis ({short(self.right)})"

    @property
    def fresh_words(self) -> str:
        """The new sample with its value."""
        value = "1 + k/n" if self.fresh is None else short(self.fresh)
        return f"a new sample of the same population ({value})"

    @property
    def sentence(self) -> str:
        """Both values with what they rest on."""
        ratio_here = "" if self.fresh is None else f", here {short(self.fresh)}"
        ratio = f"1 + k/n{ratio_here} (k synthetic and n original records)"
        if self.proper:
            return f"New parameters make a right synthesis as far off as a new sample: {ratio}."
        return (
            f"A right synthesis has {short(self.right)} in expectation, a new sample of the "
            f"same population {ratio}."
        )


def expected_of(record: Record) -> Expected:
    """Return the expectations of a run; without results of utility from its sizes."""
    utility, manifest = record.results.utility, record.manifest
    if utility is not None:
        return Expected(utility.expected, utility.fresh, utility.proper)
    fresh = 1 + manifest.rows / manifest.n_units
    proper = manifest.config.get("proper") is True
    return Expected(fresh if proper else 1.0, fresh, proper)


def table_mark(expected: Expected) -> float:
    """Return the S_pMSE above which one table is to be looked at.

    The customary rule for two-way tables of a synthesis of the size of the original is that all
    should be below 10, better below 3 (Raab, Nowok and Dibben 2021). That is five times the value
    of a new sample, to which the mark rises where more records were drawn or parameters anew.
    """
    return max(_LOOK, 5 * expected.limit)


def copied_in_words(kept: Sequence[str]) -> str:
    """Say what partial synthesis means for the figures."""
    return (
        f"Copied from the original (partial synthesis): {listed(kept, _NAMED)}. The means leave "
        "out tables of copied variables alone. Other tables are nearer than with all values "
        "drawn, since a part of every record is real."
    )


def distance_in_words(value: float | None, expected: Expected) -> str:
    """Say what an S_pMSE means."""
    if value is None:
        return _UNKNOWN
    if value <= 1.2 * expected.right:
        return f"as near as {expected.right_words}"
    limit = expected.limit
    is_fresh = limit == expected.fresh
    reference = expected.fresh_words if is_fresh else f"twice {expected.right_words}"
    if value <= limit:
        return f"no further off than {reference}"
    if value <= 5 * limit:
        return f"{'somewhat' if value <= 1.5 * limit else 'clearly'} further off than {reference}"
    return f"{written(value / limit, 'count')} times as far off as {reference}"


def chance_in_words(ratio: float | None, deviations: float | None, level: float = 1.0) -> str:
    """Say what a pMSE ratio means whose expectation is from permuted labels.

    ``deviations`` are standard deviations of pMSE above its expectation; a right synthesis may go
    down to ``level``, which is 1 where it is as far off as a new sample.
    """
    if ratio is None:
        return _UNKNOWN
    reference = "a new sample of the same population (1)"
    down = "" if level >= 1 else f"; a right synthesis may go down to {short(level)}"
    if ratio <= 1 or (deviations is not None and deviations <= 2):
        return f"told apart no better than {reference}{down}"
    how = "a little" if ratio <= 1.5 else "clearly" if ratio <= 3 else "far"
    return f"told apart {how} better than {reference}{down}"


def short(value: float) -> str:
    """Write an expectation: three digits, no zeros that say nothing."""
    return f"{value:.3g}"


def right_share(scores: PmseResult, expected: Expected) -> float:
    """Return the lowest ratio that a tree may have for a right synthesis: 1 - c, c its share."""
    if expected.proper:
        return 1.0
    return scores.n / (scores.n + sum(scores.n_synthetic) / len(scores.n_synthetic))


def lost_fits(fit: FitComparison) -> list[str]:
    """Return the alert about datasets without a fit; empty where every dataset has one."""
    fits = [dataset_fit for dataset_fit in fit.datasets if dataset_fit.dataset > 0]
    problems = [dataset_fit.problem for dataset_fit in fits if dataset_fit.problem is not None]
    if not problems:
        return []
    why = "; ".join(dict.fromkeys(problem.rstrip(". ") for problem in problems))
    fitted = f"fitted on {len(fits) - len(problems)} of {len(fits)} datasets"
    return [f"{fit.title}: {fitted}, the others are left out: {why}."]


def fit_notes(fit: FitComparison) -> list[str]:
    """Return the notes of a fit, each as a sentence."""
    return [stopped(note[:1].upper() + note[1:]) for note in fit.notes]


def overlap_in_words(expected: float | None) -> str:
    """Say what an overlap is to be compared with."""
    if expected is None:
        return "1 is all, which a right synthesis does not reach either"
    return f"1 is all, and a right synthesis reaches {written(expected, 'share')} on average"


def cautions(record: Record) -> list[str]:
    """Return what intervals from the synthetic data assume, by the models of the chain."""
    trees = _trees(record)
    tilted = [name for name, (_, tilt) in trees.items() if tilt]
    return [of_trees(tilted, others=len(tilted) < len(trees), even=even_trees(record))["narrow"]]


def even_trees(record: Record) -> bool:
    """Whether some variable was drawn evenly by trees."""
    return any(even for even, _ in _trees(record).values())


def _trees(record: Record) -> dict[str, tuple[bool, bool]]:
    """Return, for every variable drawn by trees, whether draws were even and whether tilted."""
    return {
        step.variable: (step.trees.even, step.trees.leaf_regression)
        for step in record.manifest.chain
        if step.trees is not None and not step.kept
    }


UNITS = (
    "Figures count persons, also where they are called records: one row a person, with attributes "
    "of the career and the values of the first, the last and chosen periods."
)
UNITS_OF_GROUPS = (
    "Figures count persons, also where they are called records; halves are split by {}. "
    "What all members share is counted once for each member, so chance alone gives it more than "
    "what is called good."
)
FAR = 3.0
"""Ratio to the noise floor above which a distance is far off."""


def noise_in_words(ratio: float | None, distance: float | None = None) -> str:
    """Say what a distance over its noise floor means."""
    if ratio is None:
        if distance is None:
            return _UNKNOWN
        return "equal" if not distance else "differs, where bootstraps of the original never do"
    if ratio < 0.5:
        return "nearer than chance, as evenly spread draws or copies are"
    if ratio <= 1.25:
        return "as near as chance allows"
    if ratio <= 2:
        return "a little further off than chance"
    how = "clearly off" if ratio <= FAR else "far off"
    return f"{how}: more than chance explains"
