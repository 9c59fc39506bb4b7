"""From an original and options to a start population and its evolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synthesizer.data.errors import DataError, RuleError
from synthesizer.data.randomness import Seed, salts
from synthesizer.engine.genetic.coding import Records
from synthesizer.engine.genetic.evolution import Outcome, Told, evolve
from synthesizer.engine.genetic.genetic_options import GeneticOptions
from synthesizer.engine.genetic.population import Allowed, Breeder, Candidate, Redraw, replaced
from synthesizer.engine.genetic.scores import RISKS, UTILITIES, Scorer, Sought

RANDOM_FILES = 10
"""Files drawn from the margins for the risk that needs no information on anybody."""

ALONE = 250_000
"""Below so many records in a dataset threads wait for each other longer than they work."""


def below_random(place: str, limit: float, random: float) -> str:
    """Say that a limit lies below what a file reaches that knows nothing.

    Examples
    --------
    >>> below_random("risk_at_most", 0.1, 0.3)[:58]
    'risk_at_most (0.1) is below 0.3000, what a file reaches wh'
    """
    return (
        f"{place} ({limit:.4g}) is below {random:.4f}, what a file reaches whose variables are "
        "drawn from their margins alone: nobody needs less, and a file that comes there by leaving "
        "people out, or by contradicting what is true of them, can be turned round"
    )


def spread(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """Return at most ``count`` points of a frontier, both ends among them."""
    places = np.linspace(0, len(candidates) - 1, min(count, len(candidates)))
    return [candidates[place] for place in np.unique(places.round().astype(int))]


class Evolver:
    """Evolves datasets against one original, inside the rules."""

    def __init__(
        self, sought: Sought, options: GeneticOptions, *, allowed: Allowed | None = None
    ) -> None:
        self.sought, self.options = sought, options
        coding, records = sought.coding, sought.records
        self.risk = RISKS[options.risk](sought)
        self.scorer = Scorer(UTILITIES[options.utility](sought), self.risk)
        self._margins = Redraw.marginal(coding, records)
        redraw = self._margins if options.redraw == "marginal" else Redraw.uniform(coding)
        self.breeder = Breeder(self.scorer, options, redraw, allowed=allowed)
        self._random: dict[int, float] = {}
        # draws depend on the data too: who knows the seed must not be able to undo mutations
        self._salt = salts([("records", [np.asarray(records, dtype=np.int64)])])["records"]

    @property
    def size(self) -> int:
        """Candidates of a generation."""
        return self.options.population

    def random_risk(self, seed: Seed) -> float:
        """Return the mean risk of files whose variables are drawn from their margins alone."""
        if seed.entropy not in self._random:
            self._random[seed.entropy] = self._drawn_risk(seed)
        return self._random[seed.entropy]

    def _drawn_risk(self, seed: Seed) -> float:
        n = len(self.sought.records)
        risks = []
        for number in range(RANDOM_FILES):
            rng = seed.generator("genetic", self._salt, "random", number)
            drawn, _ = self._margins.mutated(self.sought.records, 1.0, rng)
            risks.append(self.scorer.score(self.scorer.count(drawn), n).risk)
        return float(np.mean(risks))

    def mutants(self, seed: Seed, dataset: int, largest: float) -> list[Candidate]:
        """Return mutants of the original at increasing rates, as in the paper.

        ``largest`` is the share of cells drawn anew in the last one, in (0, 1].
        """
        base, size = self._ruled(self.sought.records, self._start(seed, dataset, 0)), self.size
        return [
            self._mutant(base, largest * (number / size), self._start(seed, dataset, number))
            for number in range(1, size + 1)
        ]

    def around(
        self, files: Sequence[Records], seed: Seed, dataset: int, largest: float
    ) -> list[Candidate]:
        """Return the files and, up to the population's size, versions of them.

        Versions have an increasing share of the records that carry risk replaced by others of
        the same file; without ``aimed`` moves they are mutants at increasing rates.
        """
        people = [
            self.breeder.candidate(self._ruled(records, self._start(seed, dataset, -1 - number)))
            for number, records in enumerate(files)
        ]
        fill = self.size - len(files)
        for number in range(fill):
            one, share = people[number % len(files)], (number + 1) / fill
            rng = self._start(seed, dataset, number)
            if self.options.aimed:
                people.append(self._safer(one, share, rng))
            else:
                people.append(self._mutant(one.records, largest * share, rng))
        return people

    def evolve(
        self,
        start: Sequence[Candidate],
        seed: Seed,
        dataset: int,
        *,
        origin: Records | None = None,
        n_jobs: int = 1,
        told: Told | None = None,
        keeps_best: bool = True,
    ) -> Outcome:
        """Evolve a start population; see `evolution.evolve`. Threads serve large datasets only."""
        if self.risk.undefined:
            raise DataError(self.risk.undefined)
        if self.options.risk_floor is None:
            self.breeder.options = replace(self.options, risk_floor=self.random_risk(seed))
        n = len(start[0].records)
        path = ("genetic", self._salt, dataset)
        threads = 1 if n < ALONE else n_jobs
        return evolve(
            start,
            self.breeder,
            seed,
            path,
            origin=origin,
            n_jobs=threads,
            told=told,
            keeps_best=keeps_best,
        )

    def shuffled(self, candidate: Candidate, seed: Seed, dataset: int, number: int = 0) -> Records:
        """Return a candidate's records in an order that tells nothing of the original's."""
        rng = seed.generator("genetic", self._salt, dataset, "order", number)
        return candidate.records[rng.permutation(len(candidate.records))]

    def _ruled(self, records: Records, rng: np.random.Generator) -> Records:
        """Replace records that break a rule by others of the same dataset."""
        if self.breeder.allowed is None:
            return records
        right = self.breeder.allowed(records)
        if not right.any():
            raise RuleError(
                "every record of a start dataset breaks a rule; mend the rules, or take them out"
            )
        wrong = np.flatnonzero(~right)
        out = records.copy()
        out[wrong] = records[rng.choice(np.flatnonzero(right), size=len(wrong))]
        return out

    def _start(self, seed: Seed, dataset: int, number: int) -> np.random.Generator:
        return seed.generator("genetic", self._salt, dataset, "start", number)

    def _mutant(self, records: Records, rate: float, rng: np.random.Generator) -> Candidate:
        return self.breeder.candidate(
            self.breeder.kept(records, self.breeder.redraw.mutated(records, rate, rng))
        )

    def _safer(self, one: Candidate, share: float, rng: np.random.Generator) -> Candidate:
        risky = self.scorer.risky(one.counts, one.records)
        moved = replaced(one.records, risky, share, one.records, rng)
        return self.breeder.candidate(self.breeder.kept(one.records, moved))
