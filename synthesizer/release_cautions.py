"""What researchers may and may not conclude from a release, generated from how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.data.schema import Kind
from synthesizer.release_facts import Facts
from synthesizer.release_files import FileFormat, Released
from synthesizer.release_words import listed
from synthesizer.utility.rules import rule_for

__all__ = ["analysis", "cautions", "synthesis_words"]

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
    >>> from synthesizer.release_facts import facts_of
    >>> rule_of(facts_of({})), rule_of(facts_of({"config": {"proper": True}}))
    ('simple', 'proper')
    >>> kept = {"variable": "sex", "kind": "categorical", "model": "keep"}
    >>> rule_of(facts_of({"chain": [kept], "config": {"proper": True}}))
    'partially'
    """
    return rule_for(proper=facts.proper, keeps=any(step.kept for step in facts.steps))


def synthesis_words(facts: Facts) -> list[str]:
    """Return paragraphs on how the datasets as a whole were made."""
    kept = [step.variable for step in facts.steps if step.kept]
    words = [
        "The variables were made one after the other. For each one a model was fitted to the "
        "confidential data that tells it from variables before it; then values were drawn from "
        "that model, given the synthetic values so far."
    ]
    if kept:
        words.append(
            f"Partial synthesis: {listed(kept)} {'is' if len(kept) == 1 else 'are'} copied from "
            "the confidential data, and the records are in the same order there. The other "
            "variables are synthetic."
        )
    if facts.strata:
        words.append(f"Every combination of {listed(facts.strata)} had models of its own.")
    words.append(
        "For every dataset the models were fitted anew, on a bootstrap sample of the confidential "
        "records (proper synthesis)."
        if facts.proper
        else "All datasets were drawn from the same fitted models (no proper synthesis)."
    )
    return words


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
        "words": [*_steps(rule, m, n, applies=applies)],
        "code": _code(released, rule, n) if applies else None,
    }


def _steps(rule: str, m: int, n: int | None, *, applies: bool) -> Iterator[str]:
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
    if rule == "proper" and m >= ENOUGH:
        yield f"With {m} datasets the rule for fully synthetic data may be used as well: {FULLY}."
    yield (
        "A standard error that is computed as if a synthetic dataset were the real data is wrong: "
        "it leaves out what the synthesis adds to the uncertainty."
    )


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


def cautions(
    facts: Facts, released: Released, unmodelled: Mapping[str, Sequence[str]]
) -> list[dict[str, str]]:
    """Return what not to conclude: entries with ``title`` and ``text``."""
    found = [*_about_persons(facts, released), *_about_results(len(released.files), unmodelled)]
    return [{"title": title, "text": text} for title, text in found]


def _about_persons(facts: Facts, released: Released) -> Iterator[tuple[str, str]]:
    kept = [step.variable for step in facts.steps if step.kept]
    yield (
        "No record is a person",
        "A synthetic record stands for nobody. That it looks like somebody you know, or is unique, "
        "says nothing about that person."
        if not kept
        else f"The values of {listed(kept)} are those of real persons; the rest of each record is "
        "drawn. What is drawn says nothing about the person whose values stand beside it.",
    )
    yield (
        "Do not try to identify anyone",
        "Do not compare records with people, registers or other files in order to learn about "
        "somebody, even as a test. Tell the data holder if you think that somebody can be "
        "recognised.",
    )
    ids = [name for name, seen in released.variables.items() if seen.kind is Kind.ID]
    which = f"{listed(ids)} {'was' if len(ids) == 1 else 'were'} numbered anew" if ids else ""
    many = "; the same number in two of these datasets is not the same person either"
    yield (
        "Do not merge with other files",
        "Records cannot be matched with records of other files"
        + (f": {which}{many if len(released.files) > 1 else ''}." if ids else "."),
    )


def _about_results(m: int, unmodelled: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    yield (
        "Results are provisional",
        "Use these data to learn the structure, to write and test programs and to explore. Before "
        "you publish a result or decide by it, ask the data holder to verify it on the "
        "confidential data.",
    )
    yield "Associations that were not modelled are missing", _associations(unmodelled)
    yield (
        "Small groups and tails are unreliable",
        "A model smooths what few records tell. Rare levels, small cells of a table and rare "
        "combinations may be lost, thinned out or made up by chance.",
    )
    yield (
        "Extreme values tell nothing",
        "The smallest and the largest value here need not be those of the real data, and ranges in "
        "this codebook are those of the synthetic data. Do not interpret single values.",
    )
    if m > 1:
        yield (
            "Do not stack the datasets",
            f"The {m} datasets are versions of the same data, not more data. A "
            "file of all their records gives standard errors that are far too small; combine "
            "the results of all of them.",
        )
    yield (
        "Weights are synthetic too",
        "If a variable is a sampling weight, its values were made like those of any other "
        "variable: they need not add up to population totals, nor keep their relation to the "
        "sample design.",
    )
    yield (
        "Missing codes are no values",
        "Leave out missing codes before you compute with a variable; why a value is missing was "
        "modelled no better than the values.",
    )
    yield (
        "No hunting for significance",
        "Models leave traces in synthetic data that look like effects, and remove real effects. "
        "Decide before you look which analyses you will have verified; a test that is significant "
        "here proves nothing, and one that is not disproves nothing.",
    )


def _associations(unmodelled: Mapping[str, Sequence[str]]) -> str:
    general = (
        "Even where a model was given a variable, it may have found only a part of the relation: "
        "weak effects, interactions and curved relations are the first to be lost."
    )
    pairs = sum(len(others) for others in unmodelled.values()) // 2
    if not pairs:
        return f"Every pair of variables was modelled together here. {general}"
    return (
        f"{pairs} {'pair' if pairs == 1 else 'pairs'} of variables (named with each variable) were "
        "not modelled together: an association between them is in the data only as far as it runs "
        f"through other variables, and its absence here proves nothing. {general}"
    )
