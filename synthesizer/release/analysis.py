"""How researchers compute estimates and standard errors from all datasets of a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.release.example import example_program
from synthesizer.release.facts import Facts
from synthesizer.release.files import Released
from synthesizer.release.trees import too_narrow
from synthesizer.utility.rules import rule_for

__all__ = ["analysis"]

RULES: Mapping[str, tuple[str, str, str]] = {
    "simple": (
        "simple synthesis",
        "T = U (k/n + 1/m)",
        "Raab, Nowok and Dibben (2016), Practical data synthesis for large samples, Journal of "
        "Privacy and Confidentiality 7(3)",
    ),
    "proper": (
        "proper synthesis",
        "T = U (k/n + (1 + k/n)/m)",
        "Raab, Nowok and Dibben (2016), Practical data synthesis for large samples, Journal of "
        "Privacy and Confidentiality 7(3)",
    ),
    "partially": (
        "partial synthesis",
        "T = U + B/m",
        "Reiter (2003), Inference for partially synthetic, public use microdata sets, Survey "
        "Methodology 29(2)",
    ),
}
"""Name of the synthesis, total variance, and source of each combining rule."""

FULLY = (
    "T = (1 + 1/m) B - U, where B is the variance between the estimates (Raghunathan, Reiter and "
    "Rubin 2003)"
)
"""What may be used instead after proper synthesis, with many datasets."""

ENOUGH = 20
"""The rule for fully synthetic data is unstable with fewer datasets."""


def rule_of(facts: Facts) -> str | None:
    """Return which combining rule fits how the data were made; None where they were evolved.

    Examples
    --------
    >>> from synthesizer.release.reading import facts_of
    >>> rule_of(facts_of({})), rule_of(facts_of({"config": {"proper": True}}))
    ('simple', 'proper')
    >>> kept = {"variable": "sex", "kind": "categorical", "model": "keep"}
    >>> rule_of(facts_of({"chain": [kept], "config": {"proper": True}}))
    'partially'
    """
    if facts.evolution is not None:
        return None
    return rule_for(proper=facts.proper, keeps=any(step.kept for step in facts.steps))


def analysis(facts: Facts, released: Released) -> dict[str, Any]:
    """Return how to compute estimates and standard errors from all datasets."""
    rule = rule_of(facts)
    m, k = len(released.files), released.units[0]
    n = facts.rows_if_equal(k)
    if rule is None:
        return _without_rule(m, k, n)
    name, formula, source = RULES[rule]
    applies = rule != "partially" or m > 1
    return {
        "rule": rule,
        "name": name,
        "formula": formula,
        "source": source,
        "applies": applies,
        "m": m,
        "k": k,
        "n": n,
        "words": [*_steps(rule, n, facts, released, applies=applies)],
        "code": example_program(facts, released, rule, n) if applies else None,
    }


def _without_rule(m: int, k: int, n: int | None) -> dict[str, Any]:
    """Return what is left to say of m evolved datasets with k records, the original having n."""
    return {
        "rule": None,
        "name": "evolved datasets",
        "formula": None,
        "source": None,
        "applies": False,
        "m": m,
        "k": k,
        "n": n,
        "words": [*_without_errors(m)],
        "code": None,
    }


def _without_errors(m: int) -> Iterator[str]:
    if m > 1:
        yield (
            f"Run the same analysis on each of the {m} datasets; the combined estimate is the mean "
            f"of the {m} estimates. The differences between them show what the evolution left to "
            "chance, not how sure the result is."
        )
    yield (
        "The datasets were selected by their closeness to the confidential data and by their "
        "disclosure risk. No rule for synthetic data gives valid standard errors for such data, "
        "since each of them takes a dataset for a fresh draw from a model."
    )
    yield (
        "A standard error that is computed as if a dataset were the confidential data leaves out "
        "what was changed. Ask the data holder to verify a result, and for the standard error that "
        "the confidential data give."
    )


def _steps(
    rule: str, n: int | None, facts: Facts, released: Released, *, applies: bool
) -> Iterator[str]:
    name, formula, _ = RULES[rule]
    m, unit = len(released.files), "persons" if facts.person else "records"
    if not applies:
        yield (
            f"This is {name}, and there is a single dataset. The rule that fits, {formula}, "
            "needs at least two, since B is the variance between datasets: no valid standard "
            "error can be computed from this release. Ask the data holder for more datasets."
        )
        return
    several = f"each of the {m} datasets" if m > 1 else "the dataset"
    yield (
        f"Run the same analysis on {several}. Note the estimate and its squared standard error "
        "as any program gives them."
    )
    yield (
        f"The combined estimate is the mean of the {m} estimates."
        if m > 1
        else "The estimate stays as it is; only its standard error has to be corrected."
    )
    between = " B is the variance between the estimates (divisor m - 1)." if "B" in formula else ""
    sizes = f" k is the number of {unit} of each synthetic dataset, n that of the original."
    yield (
        f"This is {name}: its variance is {formula}. U is the mean of the squared standard "
        f"errors, m is the number of datasets ({m}).{between}{sizes if 'k/n' in formula else ''}"
    )
    if "k/n" in formula:
        yield (
            f"Here n = k = {n}."
            if n is not None
            else "n is not published with these datasets: ask the data holder for it."
        )
    if facts.person:
        yield (
            f"Persons count, not rows: every standard error has to allow for clusters by "
            f"{facts.person}, as in the example."
        )
    yield from too_narrow(facts, released)
    if rule == "proper" and m >= ENOUGH:
        yield f"With {m} datasets the rule for fully synthetic data may be used as well: {FULLY}."
    yield (
        "A standard error that is computed as if a synthetic dataset were the real data is wrong: "
        "it leaves out what the synthesis adds to the uncertainty."
    )
