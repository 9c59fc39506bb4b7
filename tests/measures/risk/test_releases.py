"""Which other releases count, and the bound of what all give together."""

import pytest

from synthesizer.measures.risk.near_verbatim import Look
from synthesizer.measures.risk.releases import Release, Together, others_of
from tests.run_directories import filled


def release(name, *ends, **more):
    looks = tuple(filled(Look, excess=excess, high=high) for excess, high in ends)
    facts = {"datasets": {"synthetic_1.csv": name}, "contains": (), "looks": looks}
    return filled(Release, directory=name, **facts | more)


def test_what_adds_nothing_and_what_nobody_has_does_not_count():
    releases = [
        release("a"),  # is contained in c
        release("b", replaced=True),
        release("c", contains=("a",)),
        release("d", given_out=False),
        release("e", replaced=True, given_out=True),
        release("f"),  # is present
        release("g", contains=("d",), datasets={"synthetic_1.csv": "g", "synthetic_2.csv": "f"}),
    ]
    others = others_of(releases, ["f"])
    assert [other.directory for other in others] == ["c", "e", "g"]
    assert [other.directory for other in others_of(releases, ["g", "f"])] == ["c", "e"]


def test_upper_ends_add_up_and_none_is_below_nothing():
    present = release("p", (0.1, 0.2), (-0.3, -0.1), (0.05, 0.1)).looks
    other = release("o", (0.02, 0.05), (-0.1, 0.4), (0.3, 0.25))
    together = Together(others=(other,), counted=None)
    assert together.bound(present) == pytest.approx((0.4, -0.4))
    assert Together(others=(other, release("none")), counted=None).bound(present) is None
