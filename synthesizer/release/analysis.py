"""How researchers compute estimates and standard errors from all datasets of a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.data.schema import Kind
from synthesizer.release.facts import Facts
from synthesizer.release.files import FileFormat, Released
from synthesizer.utility.rules import rule_for

__all__ = ["analysis", "too_narrow"]

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

MOST_FILES = 20
ENOUGH = 20
"""The rule for fully synthetic data is unstable with fewer datasets."""


def rule_of(facts: Facts) -> str:
    """Return which combining rule fits how the data were made.

    Examples
    --------
    >>> from synthesizer.release.facts import facts_of
    >>> rule_of(facts_of({})), rule_of(facts_of({"config": {"proper": True}}))
    ('simple', 'proper')
    >>> kept = {"variable": "sex", "kind": "categorical", "model": "keep"}
    >>> rule_of(facts_of({"chain": [kept], "config": {"proper": True}}))
    'partially'
    """
    return rule_for(proper=facts.proper, keeps=any(step.kept for step in facts.steps))


def analysis(facts: Facts, released: Released) -> dict[str, Any]:
    """Return how to compute estimates and standard errors from all datasets."""
    rule = rule_of(facts)
    name, formula, source = RULES[rule]
    m, k = len(released.files), released.rows[0]
    n = facts.rows_if_equal(k)
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
        "words": [*_steps(rule, m, n, facts, applies=applies)],
        "code": _code(released, rule, n) if applies else None,
    }


def _steps(rule: str, m: int, n: int | None, facts: Facts, *, applies: bool) -> Iterator[str]:
    name, formula, _ = RULES[rule]
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
    sizes = " k is the number of records of each synthetic dataset, n that of the original."
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
    yield from too_narrow(facts)
    if rule == "proper" and m >= ENOUGH:
        yield f"With {m} datasets the rule for fully synthetic data may be used as well: {FULLY}."
    yield (
        "A standard error that is computed as if a synthetic dataset were the real data is wrong: "
        "it leaves out what the synthesis adds to the uncertainty."
    )


def too_narrow(facts: Facts) -> list[str]:
    """Return why intervals from data of trees may be too narrow; empty where no tree was used.

    Examples
    --------
    >>> from synthesizer.release.facts import facts_of
    >>> too_narrow(facts_of({}))
    []
    """
    trees = facts.trees()
    if not trees:
        return []
    found = [
        "The rule assumes independent draws from a right model. Some variables here were made by "
        "trees. Trees with large leaves pull relations between variables towards zero, so that "
        "intervals for regression coefficients can cover the true value well below 95 % of the "
        "time: 0.85 in a simulation with the default tree and 1,000 records."
    ]
    if any(trees.values()):
        found.append(
            "The draws from the trees were spread evenly over the records of a leaf (even draws). "
            "Therefore the datasets differ less from each other than independent draws would, and "
            "agreement between them does not show how sure a result is."
        )
    found.append("Have every result verified on the confidential data before you rely on it.")
    return found


def _code(released: Released, rule: str, n: int | None) -> str | None:
    """Return a short program; it runs in the directory of the datasets if n is known."""
    example = _example(released)
    if example is None:
        return None
    files = ",\n    ".join(repr(name) for name in released.files[:MOST_FILES])
    more = "\n    # and the others" if len(released.files) > MOST_FILES else ""
    sizes = f", n={'n' if n is None else n}, k={released.rows[0]}"
    asked = "n = ...  # number of original records: ask the data holder\n" if n is None else ""
    if n is None and rule == "partially":
        asked, sizes = "", ""
    read, values = example
    return (
        "import pandas as pd\n"
        "from synthesizer.utility import combine\n\n"
        f"files = [\n    {files},{more}\n]\n{asked}"
        "estimates, variances = [], []\n"
        "for file in files:\n"
        f"    data = {read}\n"
        f"    values = {values}\n"
        "    estimates.append(values.mean())  # any estimate, from any program\n"
        "    variances.append(values.var() / len(values))  # its squared standard error\n"
        f'result = combine(estimates, variances, rule="{rule}"{sizes})\n'
        "print(result.estimate, result.std_error, result.low, result.high)\n"
    )


def _example(released: Released) -> tuple[str, str] | None:
    """Return how a file is opened, and values whose mean is asked for: numbers or a share."""
    numbers = {
        name: seen
        for name, seen in released.variables.items()
        if seen.kind is Kind.NUMERIC and seen.low is not None
    }
    for name, seen in numbers.items():
        if not seen.missing:
            return _opened(released.format), f"data[{name!r}]"
    for name, seen in released.variables.items():
        if seen.levels:
            level = max(seen.levels, key=lambda key: seen.levels[key])
            words = f"(data[{name!r}].astype(str) == {level!r}).astype(float)"
            return _opened(released.format, text=True), words
    for name, seen in numbers.items():
        codes = f"data[{name!r}].astype(str).isin({sorted(seen.missing)!r})"
        words = f'pd.to_numeric(data[{name!r}].mask({codes}), errors="coerce").dropna()'
        return _opened(released.format), words
    return None


def _opened(form: FileFormat, *, text: bool = False) -> str:
    if form.type == "parquet":
        return "pd.read_parquet(file)"
    options = "" if form.delimiter == "," else f", sep={form.delimiter!r}"
    options += "" if form.encoding in (None, "utf-8") else f", encoding={form.encoding!r}"
    options += "" if form.decimal_mark == "." else f", decimal={form.decimal_mark!r}"
    return f"pd.read_csv(file{options}{', dtype=str' if text else ''})"
