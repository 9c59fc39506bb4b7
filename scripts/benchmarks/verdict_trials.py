#!/usr/bin/env python3
"""What the verdict says of files of which the truth is known: planted persons, and new samples.

Usage::

    python scripts/benchmarks/verdict_trials.py FILE.csv --keys age,sex --amount income [--draws 5]
    python scripts/benchmarks/verdict_trials.py FILE.csv --null 100 --size 1000
    python scripts/benchmarks/verdict_trials.py FILE.csv --detect 100 --size 3000

The records of a file are dealt at random to three parts of one size: those that the synthetic data
were made from, a holdout, and a new sample that takes the place of synthetic data. Into this one
persons of the first part are planted, verbatim or with some cells changed. Each line gives the
words about persons over all draws. With ``--null`` new samples alone are judged, for a public
release and under a contract. With ``--detect`` as many persons are planted, verbatim and with
two cells changed, as the detection limit says, and a tenth of them, which is the control: 90 to 100
of 100 draws must find the first, not the second. Exit code 1 where it is otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd

from synthesizer import LimitConfig, check
from synthesizer.data.pairs import as_table, read_like
from synthesizer.measures.risk.halves import control_run
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
            for place in self.rng.choice(len(row), cells, replace=False):
                row[place] = others[self.rng.integers(len(others)), place]
        return pd.DataFrame(values, columns=persons.columns)

    def group(self) -> pd.DataFrame:
        """Return the persons of the smallest level that is not too small."""
        found = []
        for name in self.fitted:
            counts = self.fitted[name].value_counts()
            fit = counts[(counts >= SMALL[0]) & (counts <= SMALL[1])]
            if 2 <= len(counts) <= 60 and len(fit):
                found.append((int(fit.min()), name, fit.idxmin()))
        _, name, level = min(found, key=lambda one: abs(one[0] - 50))
        return self.fitted[self.fitted[name] == level]

    def plants(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield files that hand out persons."""
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
        found = known.reindex(pd.MultiIndex.from_frame(made[self.keys])).to_numpy()
        made[self.amount] = made[self.amount].where(pd.isna(found), found)
        return made

    def samples(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield files that hand out nobody."""
        n = len(self.sample)
        yield "a new sample", self.sample
        yield "its bootstrap", self.sample.sample(n, replace=True, random_state=self.rng)
        yield "half of it", self.sample.head(n // 2)
        permuted = {name: self.rng.permutation(self.sample[name]) for name in self.sample}
        yield "its columns permuted", pd.DataFrame(permuted)


def dealt(path: Path, keys: list[str], amount: str, size: int | None, seed: int) -> Files:
    """Return the parts of a file."""
    rng = np.random.default_rng(seed)
    every = pd.read_csv(path, dtype=str, keep_default_na=False)
    order = rng.permutation(len(every))
    n = min(size or len(every), len(every) // 3)
    parts = [every.iloc[order[i * n : (i + 1) * n]].reset_index(drop=True) for i in range(3)]
    return Files(parts[0], parts[1], parts[2], keys, amount, rng)


def words_of(files: Files, made: pd.DataFrame, *releases: str, with_keys: bool = True) -> list[str]:
    """Return, for each kind of release, the words about a person and about anybody."""
    keys, target = (files.keys, _target(files)) if with_keys else (None, None)
    made = made.reset_index(drop=True)
    found = check(files.fitted, made, files.unseen, keys=keys, target=target, only="risk")
    decided = [verdict(found, LimitConfig(release=release)) for release in releases]
    return ["/".join(one[subject].word for subject in ("person", "anybody")) for one in decided]


def found_of(files: Files) -> dict[str, bool]:
    """Return whether planted persons are found, as many as the limit says and a tenth of them."""
    inside, outside, sample = (
        as_table(f, [str(name) for name in f]) for f in (files.fitted, files.unseen, files.sample)
    )
    clean = near_verbatim(control_run(inside, outside, (sample,)), inside.names)
    if clean is None:
        raise SystemExit("too few records")
    found = {}
    for cells in (0, 2):
        look = next(i for i, look in enumerate(clean.looks) if look.differing >= cells)
        for part in (1.0, 0.1):
            n = ceil(part * clean.looks[look].noticed * len(files.fitted))
            persons = files.some(n / len(files.fitted) + 1e-9)
            made = files.put(files.changed(persons, cells))
            table = read_like(made, inside, inside.names)
            seen = near_verbatim(control_run(inside, outside, (table,)), inside.names)
            found[f"{cells} cells changed, {part:g} of the limit"] = seen is not None and (
                seen.looks[look].low > 0
            )
    return found


def _target(files: Files) -> str:
    """Return a variable that is neither a key nor the amount: nobody names what is handed out."""
    others = [str(name) for name in files.fitted if name not in (*files.keys, files.amount)]
    return next(name for name in others if 2 <= files.fitted[name].nunique() <= 12)


def main() -> None:
    """Print the words."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--keys", type=lambda text: text.split(","), default=[])
    parser.add_argument("--amount", default="")
    parser.add_argument("--size", type=int, help="persons of a part; a third of the file if absent")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--null", type=int, default=0, help="so many new samples, nothing planted")
    parser.add_argument("--detect", type=int, default=0, help="so many draws at the limit")
    options = parser.parse_args()
    found: dict[str, Counter[str]] = {}
    is_right = True
    for seed in range(
        options.first, options.first + (options.null or options.detect or options.draws)
    ):
        files = dealt(options.file, options.keys, options.amount, options.size, seed)
        if options.detect:
            for name, is_found in found_of(files).items():
                found.setdefault(name, Counter()).update(["found" if is_found else "not found"])
            continue
        if options.null:
            words = words_of(files, files.sample, *RELEASES, with_keys=bool(options.keys))
            for release, word in zip(RELEASES, words, strict=True):
                found.setdefault(release, Counter()).update([word])
                is_right &= "fail" not in word
            continue
        for planted, every in ((True, files.plants()), (False, files.samples())):
            for name, made in every:
                (word,) = words_of(files, made, "public")
                found.setdefault(name, Counter()).update([word])
                is_right &= not word.startswith("pass") if planted else "fail" not in word
    for name, counted in found.items():
        if options.detect:
            is_right &= (counted["found"] >= 0.9 * options.detect) == name.endswith(
                " 1 of the limit"
            )
        told = ", ".join(f"{words} {n}" for words, n in counted.most_common())
        print(f"{name:36s} {told}")
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
