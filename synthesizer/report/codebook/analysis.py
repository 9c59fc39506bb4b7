"""How researchers compute estimates and standard errors from all datasets of a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.data.table import Kind
from synthesizer.measures.utility.combining import rule_for
from synthesizer.report.codebook.datasets import FileFormat, Released
from synthesizer.report.codebook.facts import Facts
from synthesizer.report.codebook.words import too_narrow

# A short program that shows researchers how to get one result from all datasets.

MOST_FILES = 20


def example_program(facts: Facts, released: Released, rule: str, n: int | None) -> str | None:
    """Return a short program; it runs in the directory of the datasets if n is known.

    Its standard error is that of a mean. Where a person has several rows, it allows for clusters:
    the variance is the sum of the squared sums of residuals of the persons over the squared
    number of rows, times G / (G - 1), G being the number of persons (Liang and Zeger 1986,
    Biometrika 73).

    Parameters
    ----------
    facts, released : Facts, Released
        What may be told of the run, and what its datasets hold.
    rule : str
        The combining rule.
    n : int or None
        Records of the original, persons of a panel; None if it is not published.
    """
    example = _example(released, facts.time)
    if example is None:
        return None
    files = ",\n    ".join(repr(name) for name in released.files[:MOST_FILES])
    more = "\n    # and the others" if len(released.files) > MOST_FILES else ""
    sizes = f", n={'n' if n is None else n}, k={released.units[0]}"
    unit = "persons" if facts.person else "records"
    asked = f"n = ...  # number of original {unit}: ask the data holder\n" if n is None else ""
    if n is None and rule == "partially":
        asked, sizes = "", ""
    read, values = example
    return (
        "import pandas as pd\n"
        "from synthesizer import combine\n\n"
        f"files = [\n    {files},{more}\n]\n{asked}"
        "estimates, variances = [], []\n"
        "for file in files:\n"
        f"    data = {read}\n"
        f"    values = {values}\n"
        "    estimates.append(values.mean())  # any estimate, from any program\n"
        f"{_variance(facts.person)}"
        f'result = combine(estimates, variances, rule="{rule}"{sizes})\n'
        "print(result.estimate, result.std_error, result.low, result.high)\n"
    )


def _variance(person: str) -> str:
    """Return the lines that compute the squared standard error of the mean of ``values``."""
    if not person:
        return "    variances.append(values.var() / len(values))  # its squared standard error\n"
    return (
        f"    # the rows of a person belong together: clusters by {person!a}\n"
        f"    sums = (values - values.mean()).groupby(data[{person!r}]).sum()\n"
        "    correction = len(sums) / (len(sums) - 1)\n"
        "    variances.append(correction * (sums**2).sum() / len(values) ** 2)\n"
    )


def _example(released: Released, time: str) -> tuple[str, str] | None:
    """Return how a file is opened, and values whose mean is asked for: numbers or a share."""
    numbers = {
        name: seen
        for name, seen in released.variables.items()
        if seen.kind is Kind.NUMERIC and seen.low is not None and name != time
    }
    for name, seen in numbers.items():
        if not seen.missing:
            return _opened(released.format), f"data[{name!r}]"
    for name, seen in released.variables.items():
        if seen.levels and name != time:
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
    >>> from synthesizer.report.codebook.facts import facts_of
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
