"""Lower the risk of a synthetic file from any source, with the least loss of utility.

The evolution starts from the file and from versions in which increasing shares of risky records are
replaced by other records of the file. The result is the dataset within the limit that is nearest to
the original.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthesizer.config.keys import FORMS
from synthesizer.config.reading import load_config, read_chain_config
from synthesizer.data.displayed import Displayed
from synthesizer.data.errors import ConfigError, DataError, OutputError, Problems, did_you_mean
from synthesizer.data.files import new_files, write_text
from synthesizer.data.guessing import Declaration, Declared, declarations_of
from synthesizer.data.layout import Layout
from synthesizer.data.options import public
from synthesizer.data.packed import CSV_SUFFIXES
from synthesizer.data.pairs import Data, as_table, check_keys, column_names
from synthesizer.data.randomness import AnySeed, Seed
from synthesizer.data.sources import RawTable, from_frame
from synthesizer.data.table import Kind, Table
from synthesizer.data.workers import Advance, Listener, silent, worker_problems
from synthesizer.data.writing import Format, to_frame, write
from synthesizer.extensions.genetic.evolution import EvolutionOutcome
from synthesizer.extensions.genetic.evolving import declared_for_refining, like_original
from synthesizer.extensions.genetic.genetic_options import STARTS, GeneticOptions
from synthesizer.extensions.genetic.genetic_source import (
    Evolver,
    Words,
    below_random,
    progress_listener,
)
from synthesizer.extensions.genetic.scores import RISKS, UTILITIES, Score, Sought, coding_problems
from synthesizer.jobs.check import read_files
from synthesizer.measures.figure import Figure
from synthesizer.plan.seeds import replay_notes, seed_of

FILE = 0
"""The evolution's number among those of a seed."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Refined(Displayed):
    """A synthetic file before and after."""

    table: Table = field(repr=False)
    """The refined records; the file itself if its risk is within the limit."""
    layout: Layout = field(repr=False)
    """Layout of the synthetic file."""
    keys: tuple[str, ...]
    target: str
    """Keys and target of the intruder."""
    before: Score
    after: Score
    """Utility and risk in [0, 1], lower is better."""
    limit: float
    """Limit of the risk."""
    baseline: float | None
    """Risk of guessing targets from their distribution; None without a target."""
    random: float
    """Risk of files whose variables are drawn from their margins independently."""
    changed: float
    """Share of the file's records that were replaced."""
    found: Mapping[str, tuple[float, float | None] | None]
    """Share of people whose key occurs, and their mean CAP, ``before`` and ``after``. A risk that
    counts non-matches as zero also falls if keys disappear; the CAP of the others may not fall."""
    outcome: EvolutionOutcome | None = field(repr=False)
    """The evolution; None if the file was within the limit."""
    options: GeneticOptions = field(repr=False)
    """Options of the evolution."""
    draws: Seed = field(repr=False)
    """Seed and key of every draw."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Risk and utility before and after, and the share of people whose key occurs."""
        risk, utility = RISKS[self.options.risk], UTILITIES[self.options.utility]
        return tuple(
            figure
            for when, score in (("before", self.before), ("after", self.after))
            for figure in (
                Figure(
                    key="risk",
                    name=f"risk {when}",
                    value=score.risk,
                    meaning=f"{risk.meaning}; the limit is {self.limit:.4g}",
                    direction="lower is safer",
                    n=self.table.n_rows,
                    baseline=self.baseline,
                    chance=self.random,
                ),
                Figure(
                    key="utility",
                    name=f"distance {when}",
                    value=score.utility,
                    meaning=utility.meaning,
                    direction="lower is better",
                    n=self.table.n_rows,
                ),
                *self._found(when),
            )
        )

    def _found(self, when: str) -> Iterator[Figure]:
        share = self.found[when]
        if share is not None:
            yield Figure(
                key="found",
                name=f"found {when}",
                value=share[0],
                meaning="people whose key occurs in the file; others are neither a risk nor useful",
                direction="a count",
                n=self.table.n_rows,
            )

    @property
    def data(self) -> Any:
        """The refined records as a frame with the columns of the synthetic file."""
        return to_frame(self.table, self.layout)

    @property
    def reached(self) -> bool:
        """Whether the risk is within the limit."""
        return self.after.risk <= self.limit

    @property
    def interrupted(self) -> bool:
        """Whether a user stopped the evolution early."""
        return self.outcome is not None and self.outcome.interrupted

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the steward."""
        notes = replay_notes(self.draws)
        if self.outcome is None:
            notes.append(
                f"the risk is {self.before.risk:.4f} and within {self.limit:.4f}: the file is "
                "unchanged"
            )
        if self.limit < self.random:
            notes.append(below_random("risk_at_most", self.limit, self.random))
        if not self.reached:
            notes.append(
                f"the limit of {self.limit:.4f} was not reached: the lowest risk is "
                f"{self.after.risk:.4f}; raise it, or allow more generations or aimed moves"
            )
        return tuple(notes)

    @property
    def content(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {
            "keys": list(self.keys),
            "target": self.target,
            "utility": self.options.utility,
            "risk": self.options.risk,
            "risk_at_most": self.limit,
            "reached": self.reached,
            "before": {"utility": self.before.utility, "risk": self.before.risk},
            "after": {"utility": self.after.utility, "risk": self.after.risk},
            "cost": self.after.utility - self.before.utility,
            "baseline": self.baseline,
            "random": self.random,
            "changed": self.changed,
            "found": dict(self.found),
            "evolution": None
            if self.outcome is None
            else self.outcome.dataset.model_dump(exclude={"frontier", "unchanged"}),
            "notes": list(self.notes),
        }


@public
def refine(
    original: Data,
    synthetic: pd.DataFrame | RawTable,
    *,
    keys: Sequence[str],
    target: str,
    risk_at_most: float | None = None,
    codes: Sequence[str] | bool = (),
    declared: Declared | None = None,
    seed: AnySeed = 0,
    random_key: str | Mapping[str, Any] | None = None,
    n_jobs: int = 1,
    advance: Advance | None = None,
    report: Words | None = None,
    **options: Any,
) -> Refined:
    """Return a synthetic file with lower risk and the least loss of utility.

    Parameters
    ----------
    original : DataFrame, RawTable or Table
        Confidential records.
    synthetic : DataFrame or RawTable
        The file from any source: categories with the original's levels; ids keep their rows.
    keys, target : sequence of str, str
        Variables that the intruder knows, and the one to learn.
    risk_at_most : float, optional
        Limit of the risk, in [0, 1]; the risk of guessing when absent.
    codes : sequence of str, or True
        Variables whose numbers are codes of categories; True for all.
    declared : mapping of str to mapping or Declaration, optional
        Kinds and missing codes of the original, such as ``{"job": {"missing": ["-8"]}}``.
    seed : int or Seed
        Decides every draw; a `Seed` also in place of ``random_key``.
    n_jobs : int
        Number of threads; the result does not depend on it.
    random_key : str or mapping, optional
        As in a configuration: drawn when absent; ``none``: reproducible from the seed alone;
        ``{"from": path}``: the record of a call to repeat.
    advance, report : callable, optional
        Show the progress.
    **options
        Of `genetic_options.GeneticOptions`, such as ``risk`` and ``generations``.

    Returns
    -------
    Refined
        The records (``data``), utility and risk before and after, and whether the limit is kept.

    Raises
    ------
    DataError, ConfigError
        With every problem of the files, the names and the options.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"town": rng.integers(0, 300, 500), "ill": rng.integers(0, 2, 500)})
    >>> made = people.head(450)
    >>> refined = refine(people, made, keys=["town"], target="ill", risk_at_most=0.6, codes=True)
    >>> refined.before.risk > 0.8, refined.after.risk <= 0.6, refined.reached
    (True, True, True)
    """
    raw = from_frame(synthetic, min_rows=1)
    keys = [keys] if isinstance(keys, str) else list(keys)
    problems = Problems()
    with problems.gathered():
        draw_keys = {"random_key": random_key} | ({} if isinstance(seed, Seed) else {"seed": seed})
        draws = seed_of(read_chain_config(draw_keys)).instead(seed)
    problems += worker_problems(n_jobs)
    with problems.gathered():
        settings = _options(options, risk_at_most)
    with problems.gathered():
        table, encoded = _tables(
            original, raw, tuple(keys), target, codes, declarations_of(declared)
        )
    problems.settle(DataError)
    sought = Sought.of(table, keys, target)
    risk = RISKS[settings.risk](sought)
    if risk.undefined:
        raise DataError(f"{risk.undefined} (keys: {', '.join(keys)})")
    limit = risk.baseline if risk_at_most is None else risk_at_most
    if limit is None:
        raise ConfigError(f"risk {settings.risk} has no baseline: write risk_at_most")
    settings = _options(options, limit)
    evolver = Evolver(sought, settings)
    records = sought.coding.encode(encoded)
    if np.array_equal(np.sort(records), np.sort(sought.records)):
        raise DataError(
            f"{raw.origin}: contains the records of the original; name a synthetic file"
        )
    best = evolver.breeder.candidate(records)
    before, outcome, first = best.score, None, best
    if before.risk > limit:
        start = evolver.around([records], draws, FILE, settings.mutation)
        outcome = evolver.evolve(
            start,
            draws,
            FILE,
            origin=records,
            n_jobs=n_jobs,
            listener=progress_listener(report, advance),
        )
        best = outcome.best
    return Refined(
        table=_restored(sought.coding.decode(best.records), raw),
        layout=raw.layout,
        keys=tuple(keys),
        target=target,
        before=before,
        after=best.score,
        limit=limit,
        baseline=evolver.risk.baseline,
        random=evolver.random_risk(draws),
        changed=float(np.mean(best.records != records)),
        found={
            "before": evolver.scorer.matches(first.counts),
            "after": evolver.scorer.matches(best.counts),
        },
        outcome=outcome,
        options=settings,
        draws=draws,
    )


def _options(options: Mapping[str, Any], limit: float | None) -> GeneticOptions:
    names = [name for name in GeneticOptions.__dataclass_fields__ if name not in STARTS]
    unknown = [name for name in options if name not in names]
    if unknown:
        choices = ", ".join(names)
        raise ConfigError(f"option {name!r} is unknown; known: {choices}" for name in unknown)
    return GeneticOptions(**{"mode": "single", **options, "risk_at_most": limit})


def _tables(
    original: Data,
    raw: RawTable,
    keys: tuple[str, ...],
    target: str,
    codes: Sequence[str] | bool,
    declared: Mapping[str, Declaration],
) -> tuple[Table, Table]:
    """Return both files with the variables of the synthetic file except ids, in equal codes."""
    columns = set(column_names(original))
    foreign = [name for name in raw.names if name not in columns]
    problems = Problems(
        f"{raw.origin}: column {n!r} is not in the original; remove it" for n in foreign
    )
    names = [name for name in raw.names if name in columns]
    coded = names if codes is True else [] if codes is False else list(codes)
    prefixes = dict.fromkeys((*keys, target), "")
    prefixes = dict.fromkeys(coded, "codes: ") | prefixes
    for name, prefix in prefixes.items():
        if name not in names:
            where = "synthetic file" if name in columns else "original"
            hint = did_you_mean(name, names, "name a column that both files have")
            problems.append(f"{prefix}variable {name!r} is not in the {where}; {hint}")
    problems.settle(DataError)
    declarations = {name: Declaration(kind=Kind.CATEGORICAL) for name in coded} | dict(declared)
    table = as_table(original, names, declarations, ids=False)
    variables = [column.variable for column in table.columns]
    faults = Problems(coding_problems([v for v in variables if v.is_coded]))
    if faults and coded:
        faults.append(
            "numbers with many values are no codes: group them in both files, or remove them from "
            f"{raw.origin}"
        )
    numbers = ", ".join(v.name for v in variables if not v.is_coded)
    if numbers:
        faults.append(
            f"{numbers}: refine changes categories, and these are numbers or dates. The YAML of "
            "the run (--config) or --codes A,B names the codes; group other numbers in "
            f"both files, or remove them from {raw.origin}; or draw them again: synthesizer run "
            f"with genetic: {{start: [{raw.origin}], risk_at_most: ...}}"
        )
    with faults.gathered():
        check_keys(table, keys=keys, target=target)
    faults.settle(DataError)
    return table, like_original(raw, table, codes=coded)


def _restored(drawn: Table, raw: RawTable) -> Table:
    """Return the records with the columns of the file; ids keep their rows."""
    ids = as_table(raw, [name for name in raw.names if name not in drawn])
    columns = [drawn[name] if name in drawn else ids[name] for name in raw.names]
    return Table(columns, drawn.n_rows)


@dataclass(frozen=True)
class RefinedFile:
    """The result of a refinement, its path, and notes."""

    refined: Refined
    path: Path
    notes: tuple[str, ...]


def refine_file(
    original: Path,
    synthetic: Path,
    *,
    keys: Sequence[str],
    target: str,
    risk_at_most: float | None = None,
    codes: Sequence[str] | bool = (),
    config: Path | None = None,
    out: Path | None = None,
    record: Path | None = None,
    overwrite: bool = False,
    seed: int = 0,
    random_key: str | Mapping[str, Any] | None = None,
    workers: int = 1,
    listener: Listener = silent,
    **options: Any,
) -> RefinedFile:
    """Refine a synthetic file and write the result; see `refine`."""
    declared = {} if config is None else declared_for_refining(config, synthetic.name)
    if os.path.isdir(synthetic):
        raise DataError(f"{synthetic} is a directory; name one dataset of it")
    ending = "".join(synthetic.suffixes)
    usual = synthetic.with_name(f"{synthetic.name.removesuffix(ending)}_refined{ending}")
    path = usual if out is None else out
    inputs = [original, synthetic, *([] if config is None else [config])]
    targets = [path, *([] if record is None else [record])]
    with new_files(targets, overwrite=overwrite, read=inputs) as works:
        form = _format(path)
        declared_data = None if config is None else load_config(config).data
        files = read_files(original, [synthetic], options=declared_data)
        (raw,) = files.synthetic
        advance = listener.start("refine", options.get("generations"))
        try:
            refined = refine(
                files.original,
                raw,
                keys=keys,
                target=target,
                risk_at_most=risk_at_most,
                codes=codes,
                declared=declared,
                seed=seed,
                random_key=random_key,
                n_jobs=workers,
                advance=advance,
                report=lambda text: listener.tell("refine", text),
                **options,
            )
        finally:
            listener.stop("refine")
        write(refined.table, works[0], raw.layout, format=form)
        if record is not None:
            notes = [*files.notes, *refined.notes]
            content = {"random_key": refined.draws.recorded_key, **refined.content, "notes": notes}
            write_text(works[1], files.text(seed, content))
    return RefinedFile(refined, path, files.notes)


def _format(path: Path) -> Format:
    """Return the format of a file by its name."""
    for form in FORMS:
        if path.name.lower().endswith(f".{form}"):
            return form
    if path.suffix.lower() in CSV_SUFFIXES:
        return "csv"
    raise OutputError(f"{path} must be named {', '.join(f'.{form}' for form in FORMS)}")
