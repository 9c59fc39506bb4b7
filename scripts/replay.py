"""Attacks of somebody who knows nearly everything: replay, and membership.

Usage::

    python scripts/replay.py --rows 500 --records 20

The attacker has the program, configuration and seed, the released datasets, and every record of the
file in its order but one. He rebuilds that record variable by variable: he fits the chain with each
level that the variable may have, draws, and takes the level whose draws agree best with the
released ones. By the same means he asks whether a record was in the file at all. Last, the attack
that needs no replay: whoever was in the file lies nearer to the synthetic records than others.

Every attack is tried with ``secret: none``, where the first two must succeed, and with the
default; beside each stands what guessing gives. Data: the women of Fair (1978), all variables
grouped, which statsmodels ships.

Sources: membership by distance, Chen, Yu, Zhang and Fritz (2020), GAN-Leaks, CCS; the rate at few
false alarms, Carlini et al. (2022), Membership inference attacks from first principles, IEEE S&P.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
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
    """How datasets are made of a file of labels: all that the attacker knows but the secret."""

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

    def made(self, file: pd.DataFrame, secret: str | None = None) -> Frames:
        """Return the datasets of a file; the columns may be the first few of the chain."""
        options: dict[str, Any] = {
            "variables": {
                name: {"kind": "categorical", "levels": list(levels)}
                for name, levels in self.levels.items()
                if name in file
            },
            "models": {"cart": {"min_leaf": self.min_leaf}},
            "seed": SEED,
            "secret": secret,
            "workers": 1,
        }
        return Synthesizer(registry=REGISTRY, **options).fit(file).generate(self.m, rows=self.rows)

    def replayed(self, file: pd.DataFrame) -> Frames:
        """Return what the attacker draws: he knows the seed and has no secret."""
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


def rebuilt(release: Release, file: pd.DataFrame, place: int, published: Frames) -> Rebuilt:
    """Rebuild the record at ``place``, of which nothing is known, from released datasets."""
    others = file.drop(index=place)
    usual = {name: others[name].mode()[0] for name in release.names}
    truth = {name: file.loc[place, name] for name in release.names}
    record: dict[str, str] = {}
    trial, refits = pd.DataFrame(index=file.index), 0
    for name, levels in release.levels.items():
        trial[name], agreeing = file[name], {}
        for level in levels:
            trial.loc[place, name] = level
            agreeing[level] = agreement(release.replayed(trial), published, [name])
            refits += 1
        best = max(agreeing.values())
        tied = [level for level, cells in agreeing.items() if cells == best]
        record[name] = usual[name] if usual[name] in tied else tied[0]
        trial.loc[place, name] = record[name]
    return Rebuilt(
        right=sum(record[name] == truth[name] for name in release.names),
        guessed=sum(usual[name] == truth[name] for name in release.names),
        variables=len(release.names),
        refits=refits,
    )


def told_membership(
    release: Release, others: pd.DataFrame, record: pd.DataFrame, secret: str | None
) -> tuple[float, float]:
    """Return whether the attacker tells rightly that a record is in the file, and that it is not.

    Right is 1, wrong 0, a tie one half. He knows all other records and replays both files.
    """
    names = release.names
    with_it = pd.concat([others, record], ignore_index=True)
    replays = release.replayed(with_it), release.replayed(others)
    verdicts = []
    for file, truth in ((with_it, 1), (others, -1)):
        published = release.made(file, secret)
        gap = agreement(replays[0], published, names) - agreement(replays[1], published, names)
        verdicts.append(0.5 + 0.5 * float(np.sign(gap)) * truth)
    return verdicts[0], verdicts[1]


def distance_attack(
    members: pd.DataFrame, unseen: pd.DataFrame, published: Frames, names: Sequence[str]
) -> tuple[float, float]:
    """Tell members from unseen people by the distance to the nearest synthetic record.

    Returns the area under the ROC curve (0.5 is guessing), and the share of members found where
    `ALARMS` of the unseen people are taken for members.
    """
    tables = [as_table(frame, names) for frame in (members, unseen, *published)]
    seen, others, *made = mixed_records(tables, names)
    near = [-nearest(records, stacked(made))[0] for records in (seen, others)]
    truth = np.repeat([1, 0], [len(part) for part in near])
    scores = np.concatenate(near)
    alarms, found, _ = roc_curve(truth, scores)
    return float(roc_auc_score(truth, scores)), float(np.interp(ALARMS, alarms, found))


def people() -> pd.DataFrame:
    """Return the women of Fair (1978) as labels, in an order drawn at random."""
    frame = pd.read_csv(sample_path("fair"))
    frame["affairs"] = np.where(frame["affairs"] > 0, "some", "none")
    order = np.random.default_rng(SEED).permutation(len(frame))
    return frame.astype(str).iloc[order].reset_index(drop=True)


def levels_of(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Return the labels of every variable, in order."""
    return {str(name): sorted(column.unique()) for name, column in frame.items()}


SECRETS = (("secret: none", "none"), ("default", None))


def replay_lines(release: Release, frame: pd.DataFrame, records: int) -> Iterator[str]:
    """Yield how many records are rebuilt without and with a secret."""
    file = frame.head(release.rows)
    all_levels = int(np.prod([len(levels) for levels in release.levels.values()]))
    for words, secret in SECRETS:
        published = release.made(file, secret)
        found = [rebuilt(release, file, place, published) for place in range(records)]
        cells = records * len(release.names)
        yield (
            f"  {words:13} {sum(one.whole for one in found):3} of {records} records, "
            f"{sum(one.right for one in found):4} of {cells} variables; guessing "
            f"{sum(one.guessed == one.variables for one in found)} records, "
            f"{sum(one.guessed for one in found)} variables; {found[0].refits} refits a record "
            f"(of {all_levels:,} combinations)"
        )


def membership_lines(release: Release, frame: pd.DataFrame, records: int) -> Iterator[str]:
    """Yield how often replay tells rightly whether a record was in the file."""
    others = frame.iloc[: release.rows - 1]
    for words, secret in SECRETS:
        right = [
            told_membership(release, others, frame.iloc[[release.rows + place]], secret)
            for place in range(records)
        ]
        inside, outside = np.mean(right, axis=0)
        yield (
            f"  {words:13} right of {inside:.0%} of records in the file and {outside:.0%} of "
            f"those not in it, {records} of each; guessing 50%"
        )


def distance_lines(release: Release, frame: pd.DataFrame, repeats: int) -> Iterator[str]:
    """Yield what the distance to the nearest synthetic record tells of membership."""
    results: dict[str, list[tuple[float, float]]] = {}
    for repeat in range(repeats):
        mixed = frame.sample(frac=1, random_state=repeat, ignore_index=True)
        members, unseen, fresh = (
            mixed.iloc[release.rows * k : release.rows * (k + 1)] for k in range(3)
        )
        published = release.made(members)
        bootstrap = members.sample(frac=1, replace=True, random_state=repeat)
        for words, attack in (
            ("the default", (members, unseen, published)),
            ("baseline: unseen people against unseen people", (fresh, unseen, published)),
            ("a bootstrap of the members, for comparison", (members, unseen, [bootstrap])),
        ):
            results.setdefault(words, []).append(distance_attack(*attack, release.names))
    for words, values in results.items():
        areas, rates = np.array(values).T
        yield (
            f"  {words}: AUC {areas.mean():.3f} ({areas.min():.3f} to {areas.max():.3f}), "
            f"{rates.mean():.1%} of members found at {ALARMS:.0%} false alarms"
        )


def main(
    rows: Annotated[int, typer.Option(min=100, max=2000, help="Records of the file.")] = 500,
    records: Annotated[int, typer.Option(min=1, help="Records that are attacked.")] = 20,
    m: Annotated[int, typer.Option("-m", min=1, help="Datasets that are released.")] = 5,
    min_leaf: Annotated[int, typer.Option(min=1, help="Smallest leaf of CART.")] = 50,
    repeats: Annotated[int, typer.Option(min=1, help="Splits of the attack by distance.")] = 10,
) -> None:
    """Try all attacks and print what they find beside what guessing gives."""
    frame = people()
    release = Release(levels_of(frame), m, rows, min_leaf)
    print(f"{rows} of {len(frame):,} records, {frame.shape[1]} variables, m = {m}")
    print("records rebuilt by replay from all others, the seed and the configuration:")
    for line in replay_lines(release, frame, records):
        print(line, flush=True)
    print("whether a record was in the file, by replay with and without it:")
    for line in membership_lines(release, frame, records):
        print(line, flush=True)
    print(f"whether a record was in the file, by distance ({repeats} splits):")
    for line in distance_lines(release, frame, repeats):
        print(line, flush=True)


if __name__ == "__main__":
    typer.run(main)
