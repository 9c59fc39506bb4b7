"""Attacks with nearly all information: replay, and membership (docs/lower-the-risk.md).

The attacker has the program, configuration and seed, the released datasets, and every record of the
file in its order but one. He rebuilds that record variable by variable: he fits the chain with each
level that the variable may have, draws, and takes the level whose draws agree best with the
released ones. In the same way he tests whether a record was in the file at all. The last attack
needs no replay: it takes the persons nearest to the synthetic records for members of the file.

Every attack is tried with ``random_key: none``, where the first two must succeed, and with the
default. The result of guessing is printed beside each. Data: the women of Fair (1978) from
statsmodels, all variables grouped.

Sources: membership by distance, Chen, Yu, Zhang and Fritz (2020), GAN-Leaks, CCS; the rate at few
false alarms, Carlini et al. (2022), Membership inference attacks from first principles, IEEE S&P.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from measuring import Row, Rows, job, rows_of
from sklearn.metrics import roc_auc_score, roc_curve

from synthesizer import Synthesizer
from synthesizer.data.pairs import as_table
from synthesizer.data.samples.builtin import sample_path
from synthesizer.engine.registry import Registry
from synthesizer.measures.risk.nearest import mixed_records, nearest, stacked

SEED = 1
REGISTRY = Registry.load()
ALARMS = 0.01
"""Share of unseen people that are taken for members, at which members found are counted."""

Frames = list[pd.DataFrame]
Replay = Callable[[pd.DataFrame], Frames]


@dataclass(frozen=True)
class Release:
    """How datasets are made of a file of labels: all that the attacker knows but the key."""

    levels: Mapping[str, Sequence[str]]
    """What each variable may be; the order is that of the chain."""
    m: int
    rows: int
    """Of each dataset, whatever the file has."""
    min_leaf: int = 50

    @property
    def names(self) -> list[str]:
        """The variables."""
        return list(self.levels)

    def made(self, file: pd.DataFrame, random_key: str | None = None) -> Frames:
        """Return the datasets of a file; the columns may be the first few of the chain."""
        options: dict[str, Any] = {
            "variables": {
                name: {"kind": "categorical", "levels": list(levels)}
                for name, levels in self.levels.items()
                if name in file
            },
            "models": {"cart": {"min_leaf": self.min_leaf}},
            "seed": SEED,
            "random_key": random_key,
            "workers": 1,
        }
        return Synthesizer(registry=REGISTRY, **options).fit(file).generate(self.m, rows=self.rows)

    def replayed(self, file: pd.DataFrame) -> Frames:
        """Return what the attacker draws: he knows the seed and has no key."""
        return self.made(file, "none")


def agreement(one: Frames, other: Frames, names: Sequence[str]) -> int:
    """Return how many cells of some variables agree."""
    return sum(
        int((a[names].to_numpy() == b[names].to_numpy()).sum())
        for a, b in zip(one, other, strict=True)
    )


@dataclass(frozen=True)
class Rebuilt:
    """A record that was rebuilt from all the others, and what guessing gives."""

    right: int
    """Variables that are right."""
    guessed: int
    """Variables that are right if each is taken to be the most frequent level of the others."""
    variables: int
    refits: int

    @property
    def whole(self) -> bool:
        """Whether every variable is right."""
        return self.right == self.variables


def rebuilt(release: Release, file: pd.DataFrame, position: int, published: Frames) -> Rebuilt:
    """Rebuild the record at ``position``, without any of its values, from released datasets."""
    others = file.drop(index=position)
    usual = {name: others[name].mode()[0] for name in release.names}
    truth = {name: file.loc[position, name] for name in release.names}
    record: dict[str, str] = {}
    trial, refits = pd.DataFrame(index=file.index), 0
    for name, levels in release.levels.items():
        trial[name], agreeing = file[name], {}
        for level in levels:
            trial.loc[position, name] = level
            agreeing[level] = agreement(release.replayed(trial), published, [name])
            refits += 1
        best = max(agreeing.values())
        tied = [level for level, cells in agreeing.items() if cells == best]
        record[name] = usual[name] if usual[name] in tied else tied[0]
        trial.loc[position, name] = record[name]
    return Rebuilt(
        right=sum(record[name] == truth[name] for name in release.names),
        guessed=sum(usual[name] == truth[name] for name in release.names),
        variables=len(release.names),
        refits=refits,
    )


def membership_attack(
    release: Release, others: pd.DataFrame, record: pd.DataFrame, random_key: str | None
) -> tuple[float, float]:
    """Return whether the attacker is right that a record is in the file, and that it is not.

    Right is 1, wrong 0, a tie one half. He has all other records and replays both files.
    """
    names = release.names
    with_it = pd.concat([others, record], ignore_index=True)
    replays = release.replayed(with_it), release.replayed(others)
    verdicts = []
    for file, truth in ((with_it, 1), (others, -1)):
        published = release.made(file, random_key)
        gap = agreement(replays[0], published, names) - agreement(replays[1], published, names)
        verdicts.append(0.5 + 0.5 * float(np.sign(gap)) * truth)
    return verdicts[0], verdicts[1]


def distance_attack(
    members: pd.DataFrame, unseen: pd.DataFrame, published: Frames, names: Sequence[str]
) -> tuple[float, float]:
    """Separate members from unseen people by the distance to the nearest synthetic record.

    Returns the area under the ROC curve (0.5 is guessing), and the share of members found where
    `ALARMS` of the unseen people are taken for members.
    """
    tables = [as_table(frame, names) for frame in (members, unseen, *published)]
    seen, others, *made = mixed_records(tables, names)
    closeness = [-nearest(records, stacked(made))[0] for records in (seen, others)]
    truth = np.repeat([1, 0], [len(part) for part in closeness])
    scores = np.concatenate(closeness)
    alarms, hits, _ = roc_curve(truth, scores)
    return float(roc_auc_score(truth, scores)), float(np.interp(ALARMS, alarms, hits))


def people() -> pd.DataFrame:
    """Return the women of Fair (1978) as labels, in an order drawn at random."""
    frame = pd.read_csv(sample_path("fair"))
    frame["affairs"] = np.where(frame["affairs"] > 0, "some", "none")
    order = np.random.default_rng(SEED).permutation(len(frame))
    return frame.astype(str).iloc[order].reset_index(drop=True)


def levels_of(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Return the labels of every variable, in order."""
    return {str(name): sorted(column.unique()) for name, column in frame.items()}


SECRETS = (("random_key: none", "none"), ("default", None))


@job(rows=100, records=1, m=2, splits=1)
def attacks(
    rows: int = 500, records: int = 20, m: int = 5, min_leaf: int = 50, splits: int = 10
) -> Rows:
    """Try all attacks on the first records of a file of `rows` rows."""
    frame = people()
    release = Release(levels_of(frame), m, rows, min_leaf)
    file, others = frame.head(rows), frame.iloc[: rows - 1]
    for words, key in SECRETS:
        published = release.made(file, key)
        rebuilds = [rebuilt(release, file, position, published) for position in range(records)]
        cells = records * len(release.names)
        whole, guessed = sum(one.whole for one in rebuilds), sum(one.guessed for one in rebuilds)
        lucky = sum(one.guessed == one.variables for one in rebuilds)
        holds = None  # a smaller file may have draws that no longer name the record
        if rows >= 500:
            holds = whole == records if key else whole <= lucky + 1
        yield Row(f"rebuilt, {words}", f"records, of {records}", whole, holds=holds)
        yield Row(f"rebuilt, {words}", f"variables, of {cells}", sum(one.right for one in rebuilds))
        yield Row(f"rebuilt, {words}", "variables by guessing", guessed)
        yield Row(f"rebuilt, {words}", "refits a record", rebuilds[0].refits)
        right = [
            membership_attack(release, others, frame.iloc[[rows + position]], key)
            for position in range(records)
        ]
        inside, outside = (100 * share for share in np.mean(right, axis=0))
        case = f"membership by replay, {words} (guessing 50 %)"
        yield from rows_of(case, {"right, in the file in %": inside, "not in it in %": outside})
    results: dict[str, list[tuple[float, float]]] = {}
    for split in range(splits):
        mixed = frame.sample(frac=1, random_state=split, ignore_index=True)
        members, unseen, fresh = (mixed.iloc[rows * k : rows * (k + 1)] for k in range(3))
        published, names = release.made(members), release.names
        bootstrap = members.sample(frac=1, replace=True, random_state=split)
        for words, attack in {
            "the default": (members, unseen, published),
            "unseen people against unseen people": (fresh, unseen, published),
            "a bootstrap of the members": (members, unseen, [bootstrap]),
        }.items():
            results.setdefault(words, []).append(distance_attack(*attack, names))
    for words, values in results.items():
        areas, rates = np.array(values).T
        figures = {"AUC": areas.mean(), "least AUC": areas.min(), "most AUC": areas.max()}
        yield from rows_of(f"membership by distance, {words}", figures)
        yield Row(f"membership by distance, {words}", "found at 1 % false alarms", rates.mean())
