"""Verdicts on files whose truth is known: docs/verdict.md.

The records of a file are dealt at random to three parts of one size: those that the synthetic data
were made from, a holdout, and a new sample that takes the place of synthetic data. Into this one
persons of the first part are planted, verbatim or with some cells changed. ``keys`` (A,B) and
``amount`` are columns of the file, ``size`` the persons of a part, a third of the file if 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
from measuring import Row, Rows, job

from synthesizer import LimitConfig, check
from synthesizer.data.pairs import as_table, read_like
from synthesizer.measures.halves import control_run
from synthesizer.measures.risk.near_verbatim import near_verbatim
from synthesizer.measures.verdict import verdict

RELEASES = ("public", "contract")
SMALL = (15, 400)
"""Persons of a group that is planted."""


@dataclass(frozen=True)
class Files:
    """Three parts of a file, and what an intruder knows and seeks."""

    fitted: pd.DataFrame
    unseen: pd.DataFrame
    sample: pd.DataFrame
    keys: list[str]
    amount: str
    rng: np.random.Generator

    def put(self, persons: pd.DataFrame) -> pd.DataFrame:
        """Return the sample with persons in the place of its first records."""
        made = self.sample.copy()
        made.iloc[: len(persons)] = persons.to_numpy(dtype=object)
        return made

    def some(self, share: float) -> pd.DataFrame:
        """Return a share of the fitted persons."""
        n = int(share * len(self.fitted))
        return self.fitted.sample(n, random_state=self.rng).reset_index(drop=True)

    def changed(self, persons: pd.DataFrame, cells: int) -> pd.DataFrame:
        """Return persons with some cells of others."""
        values, others = (one.to_numpy(dtype=object).copy() for one in (persons, self.sample))
        for row in values:
            for column in self.rng.choice(len(row), cells, replace=False):
                row[column] = others[self.rng.integers(len(others)), column]
        return pd.DataFrame(values, columns=persons.columns)

    def group(self) -> pd.DataFrame:
        """Return the persons of the smallest level that is not too small."""
        groups = []
        for name in self.fitted:
            counts = self.fitted[name].value_counts()
            fit = counts[(counts >= SMALL[0]) & (counts <= SMALL[1])]
            if 2 <= len(counts) <= 60 and len(fit):
                groups.append((int(fit.min()), name, fit.idxmin()))
        _, name, level = min(groups, key=lambda one: abs(one[0] - 50))
        return self.fitted[self.fitted[name] == level]

    def plants(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield files that release planted persons."""
        amounts = pd.to_numeric(self.fitted[self.amount], errors="coerce").dropna()
        group = self.group()
        yield "30 top amounts", self.put(self.fitted.loc[amounts.sort_values().index[-30:]])
        yield "a small group, verbatim", self.put(group)
        yield "a small group, two cells changed", self.put(self.changed(group, 2))
        yield "one person 50 times", self.put(pd.concat([self.fitted.iloc[[7]]] * 50))
        yield "5 %, one cell changed", self.put(self.changed(self.some(0.05), 1))
        yield "8 %, two cells changed", self.put(self.changed(self.some(0.08), 2))
        yield "12 %, a key and the amount changed", self.put(self._moved(self.some(0.12)))
        yield "15 %, three cells changed", self.put(self.changed(self.some(0.15), 3))
        yield "the true amount where keys match", self._attributed()
        yield "5 %, verbatim", self.put(self.some(0.05))
        yield "2 %, verbatim", self.put(self.some(0.02))

    def _moved(self, persons: pd.DataFrame) -> pd.DataFrame:
        key = self.rng.choice(self.keys)
        persons[key] = self.sample[key].iloc[: len(persons)].to_numpy()
        amounts = pd.to_numeric(persons[self.amount], errors="coerce")
        noisy = (amounts * self.rng.normal(1, 0.005, len(persons))).round()
        texts = noisy.map(lambda value: f"{value:.0f}")
        persons[self.amount] = persons[self.amount].where(amounts.isna(), texts)
        return persons

    def _attributed(self) -> pd.DataFrame:
        known = self.fitted.drop_duplicates(self.keys).set_index(self.keys)[self.amount]
        made = self.sample.copy()
        amounts = known.reindex(pd.MultiIndex.from_frame(made[self.keys])).to_numpy()
        made[self.amount] = made[self.amount].where(pd.isna(amounts), amounts)
        return made

    def samples(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield files without planted persons."""
        n = len(self.sample)
        yield "a new sample", self.sample
        yield "its bootstrap", self.sample.sample(n, replace=True, random_state=self.rng)
        yield "half of it", self.sample.head(n // 2)
        permuted = {name: self.rng.permutation(self.sample[name]) for name in self.sample}
        yield "its columns permuted", pd.DataFrame(permuted)


def dealt(path: Path, keys: str, amount: str, size: int, seed: int) -> Files:
    """Return the parts of a file."""
    rng = np.random.default_rng(seed)
    every = pd.read_csv(path, dtype=str, keep_default_na=False)
    order = rng.permutation(len(every))
    n = min(size or len(every), len(every) // 3)
    parts = [every.iloc[order[i * n : (i + 1) * n]].reset_index(drop=True) for i in range(3)]
    return Files(parts[0], parts[1], parts[2], keys.split(",") if keys else [], amount, rng)


def words_of(files: Files, made: pd.DataFrame, *releases: str) -> list[str]:
    """Return, for each kind of release, the verdicts on a person and on anybody."""
    keys, target = (files.keys, _target(files)) if files.keys else (None, None)
    made = made.reset_index(drop=True)
    checked = check(files.fitted, made, files.unseen, keys=keys, target=target, only="risk")
    decided = [verdict(checked, LimitConfig(release=release)) for release in releases]
    return ["/".join(one[subject].word for subject in ("person", "anybody")) for one in decided]


def _target(files: Files) -> str:
    """Return a variable that is neither a key nor the amount: a steward cannot name what leaked."""
    others = [str(name) for name in files.fitted if name not in (*files.keys, files.amount)]
    return next(name for name in others if 2 <= files.fitted[name].nunique() <= 12)


@job(file="ma2019.csv", keys="AGEP,SEX,RAC1P", amount="PINCP", size=400, draws=1)
def planted(
    data: Path, file: str, keys: str, amount: str, size: int = 0, draws: int = 5, seed: int = 100
) -> Rows:
    """Judge files with planted persons, none of which may pass, and files with none of them."""
    counts: dict[tuple[str, bool], Counter[str]] = {}
    for number in range(seed, seed + draws):
        files = dealt(data / file, keys, amount, size, number)
        for is_planted, every in ((True, files.plants()), (False, files.samples())):
            for name, made in every:
                counts.setdefault((name, is_planted), Counter()).update(
                    words_of(files, made, "public")
                )
    for (name, is_planted), words in counts.items():
        wrong = [w for w in words if (w.startswith("pass") if is_planted else "fail" in w)]
        yield from counted(name, words, holds=not wrong)


@job(file="ma2019.csv", size=400, draws=2)
def new_samples(
    data: Path, file: str, keys: str = "", size: int = 0, draws: int = 100, seed: int = 100
) -> Rows:
    """Judge new samples with nothing planted, for a public release and under a contract."""
    counts = {release: Counter[str]() for release in RELEASES}
    for number in range(seed, seed + draws):
        files = dealt(data / file, keys, "", size, number)
        for release, word in zip(RELEASES, words_of(files, files.sample, *RELEASES), strict=True):
            counts[release].update([word])
    for release, words in counts.items():
        yield from counted(release, words, holds=not any("fail" in word for word in words))


def counted(case: str, words: Counter[str], *, holds: bool) -> Rows:
    """Yield how often each pair of verdicts occurred, the most frequent first."""
    for word, n in words.most_common():
        yield Row(case, f"person/anybody: {word}", n, holds=holds)


@job(file="ma2019.csv", size=400, draws=1)
def detection(data: Path, file: str, size: int = 0, draws: int = 100, seed: int = 100) -> Rows:
    """Plant as many persons as the detection limit, and a tenth of them as the control.

    90 of 100 draws must find the first, verbatim and with two cells changed, and not the second.
    """
    results: dict[tuple[int, float], list[bool]] = {}
    for number in range(seed, seed + draws):
        files = dealt(data / file, "", "", size, number)
        inside, outside, sample = (
            as_table(f, [str(name) for name in f])
            for f in (files.fitted, files.unseen, files.sample)
        )
        clean = near_verbatim(control_run(inside, outside, (sample,)), inside.names)
        if clean is None:
            raise SystemExit("too few records")
        for cells in (0, 2):
            look = next(i for i, look in enumerate(clean.looks) if look.differing >= cells)
            for part in (1.0, 0.1):
                n = ceil(part * clean.looks[look].noticed * len(files.fitted))
                persons = files.some(n / len(files.fitted) + 1e-9)
                made = read_like(files.put(files.changed(persons, cells)), inside, inside.names)
                seen = near_verbatim(control_run(inside, outside, (made,)), inside.names)
                is_found = seen is not None and seen.looks[look].low > 0
                results.setdefault((cells, part), []).append(is_found)
    for (cells, part), hits in results.items():
        holds = (np.mean(hits) >= 0.9) == (part == 1)
        yield Row(f"{cells} cells changed, {part:g} of the limit", "found", sum(hits), holds=holds)
