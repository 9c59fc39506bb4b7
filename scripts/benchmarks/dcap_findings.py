"""The findings of Taub, Elliot, Pampaka and Smith (2018), held against the tables of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dcap_study import CART, OWN, PARAMETRIC, RULES, SUBSETS, Found
from measuring import markdown, stars, text

from synthesizer.measures.risk.cap import Line, cap_regression, regress_on_m

# A line is called flat where its slope is below this share of the slope with non-matches as zero
# ("considerably smaller" in the paper). Nested datasets are far from independent: p-values, printed
# as in the paper, decide nothing.
FLAT = 0.25
SOME_GROWTH = 0.001
"""Growth of the half-split difference per dataset that is called growth."""


@dataclass(frozen=True)
class Finding:
    """A finding of the paper, whether it holds here, and the numbers it rests on."""

    text: str
    holds: bool
    numbers: str


def findings(found: Mapping[str, Found]) -> list[Finding]:
    """Return the paper's findings for these results."""
    results = [finding for name, item in found.items() for finding in _of_method(name, item)]
    for cart in (CART, OWN):
        results += _compared(cart, found[cart], found[PARAMETRIC])
    return results


def _of_method(name: str, item: Found) -> Iterator[Finding]:
    lines = {(row.subset, row.rule): row.line for row in cap_regression(item.whole)}
    rising = {s: _rises(lines[s, "zero"]) for s in SUBSETS}
    flat = {s: _is_flat(lines[s, "undefined"], lines[s, "zero"]) for s in SUBSETS}
    yield Finding(
        f"{name}: CAP with non-matches as zero rises with m", all(rising.values()),
        _cells(rising, lambda s: _slope(lines[s, "zero"])),
    )  # fmt: skip
    yield Finding(
        f"{name}: CAP of matches is flat in m", all(flat.values()),
        _cells(flat, lambda s: _slope(lines[s, "undefined"])),
    )  # fmt: skip
    yield from _levels(name, item)
    yield _lower_than_original(name, item)
    yield from _smaller_keys(name, item)
    yield _half_significant(name, item)
    yield _half_growing(name, item)


def _rises(line: Line | None) -> bool:
    return line is not None and line.slope > 0


def _is_flat(line: Line | None, zero: Line | None) -> bool:
    if line is None or zero is None:
        return False
    return abs(line.slope) < FLAT * abs(zero.slope)


def _slope(line: Line | None) -> str:
    if line is None:
        return "n/a"
    return f"slope {line.slope:.5f}{stars(line.slope_p)}"


def _cells(holds: Mapping[str, bool], number: Callable[[str], str]) -> str:
    parts = [f"{SUBSETS[s]} {number(s)} ({'yes' if yes else 'no'})" for s, yes in holds.items()]
    return ", ".join(parts)


def _levels(name: str, item: Found) -> Iterator[Finding]:
    """Riskier records: lower CAP with non-matches as zero, not lower when they are left out."""
    every, unique, special = (item.means(subset, "zero") for subset in SUBSETS)
    lower = [_below(a, b) and _below(b, c) for a, b, c in zip(special, unique, every, strict=True)]
    yield Finding(
        f"{name}: special uniques below statistical uniques below all, non-matches as zero",
        all(lower), f"at {sum(lower)} of {len(lower)} m; {_last(special, unique, every)}",
    )  # fmt: skip
    every, unique, special = (item.means(subset, "undefined") for subset in SUBSETS)
    higher = [_below(a, b) for a, b in zip(every, unique, strict=True)]
    yield Finding(
        f"{name}: matched statistical uniques above all matched records", all(higher),
        f"at {sum(higher)} of {len(higher)} m; {_last(special, unique, every)}",
    )  # fmt: skip


def _below(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and a < b


def _last(*means: Sequence[float | None]) -> str:
    return f"special, statistical, all: {', '.join(text(mean[-1]) for mean in means)}"


def _lower_than_original(name: str, item: Found) -> Finding:
    whole = item.whole
    lower = [
        _below(mean, whole.original[subset])
        for subset in SUBSETS
        for rule in RULES
        for mean in item.means(subset, rule)
        if mean is not None
    ]
    baseline = whole.baseline["special_uniques"]
    special = item.means("special_uniques", "zero")
    return Finding(
        f"{name}: every synthetic CAP is below that of the original", bool(lower) and all(lower),
        f"{sum(lower)} of {len(lower)} means; special uniques with non-matches as zero "
        f"{text(special[0])} (m = 1) to {text(special[-1])}, baseline {text(baseline)}",
    )  # fmt: skip


def _smaller_keys(name: str, item: Found) -> Iterator[Finding]:
    """Yield whether original and synthetic data come together as keys are dropped."""
    if len(item.caps) < 2:
        return
    gaps = {}
    for size, result in item.caps.items():
        mean, own = result.row(result.last).zero, result.original["all"]
        gaps[size] = None if mean is None or own is None else own - mean
    shrinking = _above(list(gaps.values())[:-1], list(gaps.values())[1:])
    numbers = ", ".join(f"{text(gap)} with {size} keys" for size, gap in gaps.items())
    yield Finding(
        f"{name}: the synthetic CAP is nearer to the original's with smaller keys",
        all(shrinking), f"original minus synthetic, all records, all datasets: {numbers}",
    )  # fmt: skip


def _half_growing(name: str, item: Found) -> Finding:
    """Return whether the difference grows with m as the paper says: for CART only."""
    differences = [row.difference for row in item.comparisons]
    line = regress_on_m(differences)
    grows = line is not None and line.slope > SOME_GROWTH
    says = "does not grow" if name == PARAMETRIC else "grows"
    return Finding(
        f"{name}: the half-split difference {says} with m",
        line is not None and grows == (name != PARAMETRIC), _slope(line),
    )  # fmt: skip


def _half_significant(name: str, item: Found) -> Finding:
    rows = item.comparisons
    shown = [row for row in rows if row.p is not None]
    significant = [(row.t or 0) > 0 and (row.p or 0) < 0.05 for row in shown]
    return Finding(
        f"{name}: not differentially confidential, p < 0.05 at every m",
        bool(shown) and all(significant) and len(shown) == len(rows),
        f"at {sum(significant)} of {len(rows)} m; difference {text(rows[0].difference)} (m = 1) "
        f"to {text(rows[-1].difference)} (m = {rows[-1].m})",
    )


def _compared(name: str, cart: Found, other: Found) -> Iterator[Finding]:
    for rule in RULES:
        above = {s: _above(cart.means(s, rule), other.means(s, rule)) for s in SUBSETS}
        numbers = [f"{SUBSETS[s]} at {sum(part)} of {len(part)} m" for s, part in above.items()]
        yield Finding(
            f"{name}: CAP above that of parametric synthesis, non-matches as {rule}",
            all(all(part) for part in above.values()), ", ".join(numbers),
        )  # fmt: skip
    ours = [row.difference for row in cart.comparisons]
    theirs = [row.difference for row in other.comparisons]
    larger = _above(ours, theirs)
    last = f"at m = {len(ours)}: {text(ours[-1])} and {text(theirs[-1])}"
    yield Finding(
        f"{name}: half-split difference larger than that of parametric synthesis",
        all(larger), f"at {sum(larger)} of {len(larger)} m; {last}",
    )  # fmt: skip


def _above(ours: Sequence[float | None], theirs: Sequence[float | None]) -> list[bool]:
    return [_below(b, a) for a, b in zip(ours, theirs, strict=True)]


def section(results: Sequence[Finding]) -> Iterator[str]:
    """Yield the findings as a table."""
    yield "## Findings"
    yield ""
    rows = ([item.text, "yes" if item.holds else "no", item.numbers] for item in results)
    yield from markdown(["finding of the paper", "holds here", "numbers"], rows)
    yield (
        "Rises: slope above 0 for every set of records. Flat: a slope below "
        f"{FLAT:g} of that with non-matches as zero. The points are nested and far from "
        "independent: stars are printed as in the paper and decide nothing."
    )
