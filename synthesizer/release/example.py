"""A short program that shows researchers how to get one result from all datasets."""

from __future__ import annotations

from synthesizer.data.schema import Kind
from synthesizer.release.facts import Facts
from synthesizer.release.files import FileFormat, Released

__all__ = ["example_program"]

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
        "from synthesizer.utility import combine\n\n"
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
