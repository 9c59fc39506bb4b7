"""Every measure of candidates by dictionaries, the slow and obvious way: what judges counts."""

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from synthesizer.data.table import Table
from synthesizer.engine.genetic.scores import Coding, Sought
from tests.measures.risk.slow_rows import rows
from tests.tables import coded

LABELS = tuple(map(str, range(100)))


def file_of(columns, levels, missing=()):
    """A table with the variables v0, v1, ...; ``columns`` are codes, ``levels`` their numbers."""
    missing = missing or [()] * len(levels)
    return Table(
        coded(f"v{place}", codes, LABELS[:count], gone)
        for place, (codes, count, gone) in enumerate(zip(columns, levels, missing, strict=True))
    )


def random_file(n, levels, seed=0):
    rng = np.random.default_rng(seed)
    return file_of([rng.integers(0, count, n) for count in levels], levels)


def coding_of(table):
    return Coding.of([column.variable for column in table.columns])


def sought_of(table, keys, target):
    """``keys`` and ``target`` are places of the variables."""
    coding = coding_of(table)
    return Sought(frozen(coding.encode(table)), coding, tuple(keys), target)


def frozen(array):
    """The same array, in which writing is an error."""
    array = np.array(array)
    array.flags.writeable = False
    return array


def value_of(objective, records):
    return objective.value([margin.count(records) for margin in objective.margins], len(records))


@st.composite
def files(draw, *, most_rows=14, candidates=1):
    """An original, candidates of other sizes, places of keys, place of the target."""
    levels = draw(st.lists(st.integers(1, 3), min_size=2, max_size=4))
    missing = [draw(st.sampled_from([(), ("N",), ("", "-8")])) for _ in levels]

    def one():
        n = draw(st.integers(1, most_rows))
        columns = [
            draw(st.lists(st.integers(0, count + len(gone) - 1), min_size=n, max_size=n))
            for count, gone in zip(levels, missing, strict=True)
        ]
        return file_of(columns, levels, missing)

    places = draw(st.permutations(range(len(levels))))
    width = draw(st.integers(1, len(levels) - 1))
    return one(), [one() for _ in range(candidates)], tuple(places[1 : width + 1]), places[0]


def names(places):
    return [f"v{place}" for place in places]


class Slow:
    """The measures of one candidate, by the names of the objectives."""

    def __init__(self, original, made, keys, target):
        self.every = original.names
        self.all, self.made_all = rows(original, self.every), rows(made, self.every)
        self.keys, self.made_keys = rows(original, names(keys)), rows(made, names(keys))
        self.targets = [t for (t,) in rows(original, names([target]))]
        self.ours, self.theirs = Counter(self.keys), Counter(self.made_keys)
        self.shown = defaultdict(list)
        for key, (level,) in zip(self.made_keys, rows(made, names([target])), strict=True):
            self.shown[key].append(level)

    def chances(self, people):
        shown = [(self.shown.get(k, []), t) for k, t in people]
        return [s.count(t) / len(s) if s else 0.0 for s, t in shown]

    @property
    def people(self):
        return list(zip(self.keys, self.targets, strict=True))

    @property
    def uniques(self):
        return [(k, t) for k, t in self.people if self.ours[k] == 1]

    @property
    def cap(self):
        return float(np.mean(self.chances(self.people)))

    @property
    def cap_u(self):
        return float(np.mean(self.chances(self.uniques))) if self.uniques else float("nan")

    @property
    def disco(self):
        return sum(set(self.shown.get(k, [])) == {t} for k, t in self.people) / len(self.people)

    @property
    def tcap(self):
        told = [(set(self.shown[k]), t) for k, t in self.people if len(set(self.shown[k])) == 1]
        return sum(shown == {t} for shown, t in told) / len(told) if told else 0.0

    @property
    def repu(self):
        return sum(self.theirs[k] == 1 for k, _ in self.uniques) / len(self.people)

    @property
    def replicated_uniques(self):
        ours, theirs = Counter(self.all), Counter(self.made_all)
        return sum(theirs[r] == 1 and ours[r] == 1 for r in self.made_all) / len(self.made_all)

    @property
    def full_table(self):
        return self.distance(range(len(self.every)))

    @property
    def two_way(self):
        pairs = list(combinations(range(len(self.every)), 2))
        return float(np.mean([self.distance(pair) for pair in pairs]))

    def distance(self, places):
        p, q = (
            Counter(tuple(row[place] for place in places) for row in part)
            for part in (self.all, self.made_all)
        )
        cells = sorted(p.keys() | q.keys())
        return float(jensenshannon([p[c] for c in cells], [q[c] for c in cells], base=2))
