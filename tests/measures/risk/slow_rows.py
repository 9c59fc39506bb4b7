"""Small tables, and their rows as tuples: what judges counting by codes."""

from hypothesis import strategies as st

from synthesizer.data.table import Table
from tests.tables import coded, numeric, values_of


def rows(table, names, cuts=None):
    """Labels, missing codes and numbers (their group where there are cut points)."""
    cuts = cuts or {}
    columns = [[_group(v, cuts.get(name)) for v in values_of(table[name])] for name in names]
    return list(zip(*columns, strict=True))


def _group(value, cuts):
    return value if cuts is None or isinstance(value, str) else sum(value >= cut for cut in cuts)


@st.composite
def tables_to_compare(draw, *, least=1, two_levels=False):
    """An original and one to three synthetic tables with other levels and missing codes.

    ``two_levels``: no column of the original is constant.
    """

    def one(n, levels, missing, first=()):
        def pick(values):
            return [*first, *draw(st.lists(values, min_size=n, max_size=n))]

        codes = st.integers(0, len(levels) + len(missing) - 1)
        observed = draw(st.lists(st.integers(0, len(missing)), min_size=n, max_size=n))
        states = [0] * len(first) + observed
        return Table(
            [
                coded("a", pick(codes), levels, missing),
                numeric("b", pick(st.sampled_from([-2.0, -1.0, 0.5, 3.0])), states, missing),
                coded("t", pick(codes), levels, missing),
                numeric("u", pick(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0])), states, missing),
            ]
        )

    sizes = draw(st.lists(st.integers(least, 14), min_size=2, max_size=4))
    made = [one(n, ("z", "x", "w"), ("", "N")) for n in sizes[1:]]
    return one(sizes[0], ("x", "y", "z"), ("N",), (0, 1) if two_levels else ()), made
