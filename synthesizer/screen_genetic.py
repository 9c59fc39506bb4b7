"""What an evolution will do, and what it came to, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from synthesizer.genetic.evolver import below_random
from synthesizer.genetic.objectives import UTILITIES
from synthesizer.genetic.risks import RISKS

if TYPE_CHECKING:
    from synthesizer.genetic.options import Options
    from synthesizer.plan_genetic import GeneticPlan

__all__ = ["evolution_lines", "frontier_lines", "plan_lines", "utility_advice", "utility_note"]

MOST_DATASETS = 5
MOST_FILES = 10
CLEARLY = 0.9
"""Below this share of the risk of a file from the margins it is told: a little is chance."""
PICK = "confidential until one is picked"


def plan_lines(plan: GeneticPlan, m: int) -> Iterator[str]:
    """Yield what will be evolved, before anything is: m evolutions of a plan."""
    options = plan.options
    yield "genetic: what will be evolved"
    yield f"  start {plan.start}: {_start(plan)}"
    each = f", for each of {m} datasets" if m > 1 else ""
    yield (
        f"  population: {options.population} datasets for up to {options.generations} "
        f"generations{_ends(options)}{each}"
    )
    yield (
        f"  utility U: {options.utility}, {_meaning(UTILITIES, options.utility)}; in [0, 1], lower "
        "is better, 0 is the original's"
    )
    yield (
        f"  risk R: {options.risk}, {_meaning(RISKS, options.risk)}{_known(plan)}; in [0, 1], "
        "lower is safer"
    )
    yield f"  mode {options.mode}: {_wanted(plan)}"
    limit = options.risk_at_most
    yield f"  risk_at_most: {'none' if limit is None else limit}"


def _start(plan: GeneticPlan) -> str:
    size = plan.options.population
    if plan.start == "mutants":
        return (
            f"{size} versions of the original, with up to {100 * plan.mutants:g} % of their cells "
            "drawn anew; no chain is fitted"
        )
    if plan.start == "chain":
        return f"{size} datasets drawn from the chain above"
    given = len(plan.files)
    files = "1 file" if given == 1 else f"{given} files"
    rest = size - given
    more = f", and {rest} versions of {'it' if given == 1 else 'them'}" if rest > 0 else ""
    return f"{files}{more}; no chain is fitted"


def _ends(options: Options) -> str:
    """Say what ends an evolution before its last generation."""
    found = []
    if options.patience is not None:
        found.append(f"{options.patience} without gain")
    if options.seconds is not None:
        found.append(f"{options.seconds:g} seconds")
    return f"; ends after {' or '.join(found)}" if found else ""


def _meaning(measures: Mapping[str, object], name: str) -> str:
    return str(getattr(measures[name], "meaning", "a measure"))


def _known(plan: GeneticPlan) -> str:
    """Say what an intruder knows and seeks, as far as the risk takes it into account."""
    if plan.options.risk == "replicated_uniques":
        return ""
    keys = f"; keys {', '.join(plan.keys)}"
    return keys if plan.options.risk == "repu" else f"{keys}; target {plan.target}"


def _wanted(plan: GeneticPlan) -> str:
    options = plan.options
    best = (
        f"the dataset with the lowest F, the weighted distance of U and R from 0 (weight of U "
        f"{options.weight:g})"
        if options.risk_at_most is None
        else "the dataset with the lowest U of those with R within risk_at_most"
    )
    if options.mode == "single":
        return best
    return (
        f"{best}, and at most {plan.points} datasets of the frontier: those that no other one "
        f"beats on both U and R ({PICK})"
    )


def evolution_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield what became of the first datasets, and whether a risk is lower than it should be.

    Parameters
    ----------
    told : mapping
        The part ``genetic`` of ``checks.json``.

    Examples
    --------
    >>> dataset = {"utility": 0.12, "risk": 0.3, "generations": 57, "reached": None,
    ...            "stopped": "no gain in 20 generations", "unchanged": 0.94}
    >>> told = {"start": "mutants", "risk": {"baseline": 0.36}, "datasets": [dataset]}
    >>> for part in next(evolution_lines(told)).split(", "):
    ...     print(part)
    genetic: dataset 1: U 0.1200 (0 is the original's table)
    R 0.3000 (baseline 0.3600: targets guessed)
    after 57 generations: no gain in 20 generations; at least 94 % of its records are the original's
    """
    datasets = told["datasets"]
    for number, dataset in enumerate(datasets[:MOST_DATASETS], 1):
        yield f"genetic: dataset {number}: {_came_to(dataset, told)}"
    rest = len(datasets) - MOST_DATASETS
    if rest > 0:
        yield f"genetic: {rest} more in checks.json"
    random = told["risk"].get("random")
    lowest = min((dataset["risk"] for dataset in datasets), default=1.0)
    if random is not None and lowest < CLEARLY * random:
        yield below_random("genetic: the lowest R", lowest, random)


def _came_to(dataset: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    baseline, count = told["risk"].get("baseline"), dataset["generations"]
    compared = "" if baseline is None else f" (baseline {baseline:.4f}: targets guessed)"
    why = "" if dataset["stopped"] == f"{count} generations" else f": {dataset['stopped']}"
    words = (
        f"U {dataset['utility']:.4f} (0 is the original's table), R {dataset['risk']:.4f}"
        f"{compared}, after {count} generation{'' if count == 1 else 's'}{why}"
    )
    if dataset["unchanged"] is not None:
        words += f"; at least {100 * dataset['unchanged']:.0f} % of its records are the original's"
    if dataset.get("found") is not None:
        right = dataset.get("right_of_found")
        told_of = "" if right is None else f", told rightly {right:.2f}"
        words += f"; {dataset['found']:.2f} of the people sought are found{told_of}"
    if dataset["reached"] is False:
        words += f"; NOT within risk_at_most ({told.get('risk_at_most')})"
    return words


def frontier_lines(told: Mapping[str, Any], directory: object) -> Iterator[str]:
    """Yield the files of the frontier with what each one costs.

    Parameters
    ----------
    told : mapping
        The part ``genetic`` of ``checks.json``.
    directory : path
        Where the files are.
    """
    files = told.get("written", [])
    for entry in files[:MOST_FILES]:
        point = f"U {entry['utility']:.4f}, R {entry['risk']:.4f}"
        yield f"  {directory}/{entry['file']} ({point}; {PICK})"
    rest = len(files) - MOST_FILES
    if rest > 0:
        yield f"  and {rest} more, up to {files[-1]['file']} ({PICK})"


def utility_advice(start: str | None) -> str:
    """Return what may bring data nearer to the original; ``start`` is None without evolution."""
    if start in ("mutants", "files"):
        return "more generations, a higher risk_at_most or weight, or a lower aimed may help"
    return "a smaller min_leaf, another order of the variables or forbid: may help"


def utility_note(start: str | None) -> str | None:
    """Return how to read expectations of evolved datasets; None without evolution."""
    if start is None:
        return None
    return (
        "  note: 1, and what a right synthesis gives, stand for fresh draws from a model; datasets "
        "that were selected for their closeness to the original may well lie below"
    )
