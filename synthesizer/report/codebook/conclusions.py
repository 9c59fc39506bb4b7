"""Advice to researchers on a release: cautions, estimates and standard errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from synthesizer.data.table import Kind
from synthesizer.measures.figure import Result
from synthesizer.measures.utility.combining import rule_for
from synthesizer.report.codebook.datasets import FileFormat, Released
from synthesizer.report.codebook.facts import Facts, listed
from synthesizer.report.codebook.words import TILTED, imposed, tilted, unmodelled


class Caution(Result):
    """What not to conclude."""

    title: str
    text: str


class Analysis(Result):
    """How one result is computed from all datasets."""

    rule: str | None
    """The combining rule; None where datasets were evolved, for which none holds."""
    name: str
    formula: str | None
    source: str | None
    applies: bool
    """Whether there is a rule, and as many datasets as it needs."""
    m: int
    k: int
    """Records of each dataset; persons, where they have several rows."""
    n: int | None
    """Those of the original where the data holder publishes them (`output: {publish_rows}`)."""
    words: tuple[str, ...]
    code: str | None
    """A program that computes it; None where the rule does not apply."""


_IDENTIFY = (
    "Do not try to identify anyone",
    "Do not compare records with people, registers or other files in order to learn about "
    "somebody, even as a test. Tell the data holder if you think that somebody can be recognised.",
)
_PROVISIONAL = (
    "Results are provisional",
    "Use these data to learn the structure, to write and test programs and to explore. Before you "
    "publish a result or decide by it, ask the data holder to verify it on the confidential data.",
)
_EXTREMES = (
    "Single values may be real, and need not be",
    "Models that draw values of the confidential data invent none: a number, a level, also the "
    "smallest and the largest of a range in this codebook, may be one that a real person has, or "
    "not. Nothing tells which, so do not interpret single values.",
)

_MISSING = (
    "Missing codes are no values",
    "Leave out missing codes before you compute with a variable; why a value is missing was made "
    "no better than the values.",
)
_HUNTING = (
    "No hunting for significance",
    "Models, changes and selection leave traces in synthetic data that look like effects, and "
    "remove real effects. Decide before you look which analyses you will have verified; a test "
    "that is significant here proves nothing, and one that is not disproves nothing.",
)
_WEIGHTS = (
    "Weights are synthetic too",
    "If a variable is a sampling weight, its values were made or changed like those of any other "
    "variable: they need not add up to population totals, nor keep their relation to the sample "
    "design.",
)
_APOSTROPHE = (
    "An apostrophe may not belong to the text",
    "Texts that begin like a formula (with =, +, - or @) have an apostrophe before them, which "
    "keeps spreadsheets from running them. Take it away before you compare texts.",
)


def cautions(facts: Facts, released: Released) -> tuple[Caution, ...]:
    """Return what not to conclude from the datasets."""
    pairs = (
        (*_about_persons(facts, released), *_about_results(facts, released))
        if facts.is_modelled
        else (*_about_evolved_persons(facts, released), *_about_evolved_results(released))
    )
    pairs = (*pairs, *_about_weights(facts))
    safe = (_APOSTROPHE,) if facts.config.output.spreadsheet_safe else ()
    return tuple(Caution(title=title, text=text) for title, text in (*pairs, *safe))


def _about_weights(facts: Facts) -> Iterator[tuple[str, str]]:
    weights = facts.weights
    if weights is None:
        return
    raked = (
        f" The weights of every dataset were then raked, so that they add up to public totals of "
        f"the levels of {listed(list(weights.totals))}: that these agree says nothing of the data."
        if weights.totals
        else " Sums of weights differ from those of the real data."
    )
    if weights.draw == "design":
        yield (
            f"{weights.variable} says how many persons a record stands for",
            "The datasets are like simple random samples of the population: means, shares and "
            f"models need no weights, and no strata or clusters; {weights.variable} is for totals. "
            "The uncertainty that came from the design of the survey shows in the differences "
            "between the datasets, so that a result from one of them has no standard error.",
        )
        return
    design = _design(facts)
    errors = (
        f" Standard errors need the design of the sample ({listed(design)}), as those of the real "
        "data would: without it they are too small."
        if design
        else ""
    )
    if weights.replicates is not None:
        scales = weights.replicates.scales
        scale = f"{scales[0]:.6g}" if len(set(scales)) == 1 else "those of the real data"
        errors += (
            f" So do the {len(scales)} replicate weights {weights.replicates.first} to "
            f"{weights.replicates.last}, which were made anew for this file: analyse them as those "
            f"of the real data ({weights.replicates.method}, scale {scale})."
        )
    yield (
        f"{weights.variable} is a survey weight",
        f"Weigh records by {weights.variable} where a result is about the population. It was drawn "
        f"like any other variable, and does not show how anybody was sampled.{errors}{raked}",
    )


def _design(facts: Facts) -> list[str]:
    """Return the variables of strata and units, where records are weighted by the design."""
    if facts.weights is None or facts.weights.draw == "design":
        return []
    return [name for name in (facts.weights.strata, facts.weights.psu) if name is not None]


def _about_persons(facts: Facts, released: Released) -> Iterator[tuple[str, str]]:
    kept = facts.kept
    if kept:
        yield (
            "Records are real in part",
            f"The values of {listed(kept)} are those of real persons; the rest of each record is "
            "drawn. What is drawn is no finding about the person whose values stand beside it.",
        )
    else:
        yield (
            "Records are drawn",
            "Models drew them. That a record looks like somebody you know, or is unique, is no "
            "finding about that person.",
        )
    yield _IDENTIFY
    ids = [name for name, seen in released.variables.items() if seen.kind is Kind.ID]
    which = f": {listed(ids)} {'was' if len(ids) == 1 else 'were'} numbered anew" if ids else ""
    several = ids and not kept and len(released.files) > 1
    many = "; the same number in two of these datasets is not the same person either"
    yield (
        "Do not merge with other files",
        f"Records cannot be matched with records of other files{which}{many if several else ''}.",
    )


def _about_results(facts: Facts, released: Released) -> Iterator[tuple[str, str]]:
    m = len(released.files)
    yield _PROVISIONAL
    if facts.start is not None:
        yield _uncertain(m)
    elif narrow := " ".join(_too_narrow(facts, released)):
        yield "Intervals can be too narrow", narrow
    yield "Associations that were not modelled are missing", _associations(facts, released)
    if imposed(facts).sentences:
        yield (
            "What was imposed is no finding",
            "The data holder imposed rules (named with how the data were made). They hold in every "
            "synthetic record because they were imposed: that none breaks them says nothing of the "
            "original.",
        )
    yield (
        "Small groups and tails are unreliable",
        "A model smooths what few records tell. Rare levels, small cells of a table and rare "
        "combinations may be lost, thinned out or made up by chance.",
    )
    yield _EXTREMES
    if facts.person:
        yield (
            f"The rows of a {facts.unit} belong together",
            f"Rows with the same {facts.person} are one synthetic {_over_time(facts)}. Standard "
            "errors that take rows for independent are too small: use ones that allow for "
            f"clusters by {facts.person}.",
        )
    if facts.published_periods is not None:
        yield (
            "Periods were added to an earlier release",
            f"The first {facts.published_periods} periods were released before and stand here "
            "unchanged; the later ones were drawn given them. The earlier files hold the same "
            "synthetic persons and are no further data: do not pool both.",
        )
    if facts.wide:
        yield (
            "The columns of a person belong together",
            f"The columns of {listed(list(facts.wide))} hold one variable over time, one record a "
            "person. If you stack them into rows, number the records first and use standard errors "
            "that allow for clusters by these numbers.",
        )
    if m > 1:
        yield _stacked(m)
    yield _WEIGHTS
    yield _MISSING
    yield _HUNTING


def _stacked(m: int) -> tuple[str, str]:
    """Return the caution against one file of all datasets."""
    return (
        "Do not stack the datasets",
        f"The {m} datasets are versions of the same data, not more data. A file of all their "
        "records gives standard errors that are far too small; combine the results of all of them.",
    )


def _uncertain(m: int) -> tuple[str, str]:
    """Return the caution on standard errors of m evolved datasets."""
    between = " Nor do differences between the datasets show how sure a result is." if m > 1 else ""
    return (
        "Standard errors are not known",
        "The rules for synthetic data take every dataset for a fresh draw from a model. Evolved "
        "datasets are none: they were selected, so that they can lie closer to the confidential "
        "sample than a fresh draw, and they were changed where records carried a disclosure risk. "
        f"No rule gives valid standard errors.{between}",
    )


def _associations(facts: Facts, released: Released) -> str:
    general = _lost_relations(facts, released)
    pairs = sum(map(len, unmodelled(facts).values())) // 2
    if not pairs:
        return f"Every pair of variables was modelled together here. {general}"
    selected = "" if facts.start is None else ", or as selection happened to favour it"
    return (
        f"{pairs} {'pair' if pairs == 1 else 'pairs'} of variables (named with each variable) were "
        "not modelled together: an association between them is in the data only as far as it runs "
        f"through other variables{selected}, and its absence here proves nothing. {general}"
    )


def _lost_relations(facts: Facts, released: Released) -> str:
    """Return one or two sentences on the relations that are lost first."""
    leaning = tilted(facts, released)
    drawn = [
        step.variable
        for step in facts.steps
        if (step.predictors or step.closest)
        and not step.kept
        and step.model not in ("derived", "constant", "sample")
    ]
    first = "Even where a model was given a variable, it may have found only a part of the relation"
    if drawn and set(drawn) <= set(leaning):
        return f"{first}: interactions and curved relations are the first to be lost."
    words = f"{first}: weak effects, interactions and curved relations are the first to be lost."
    if leaning:
        words += f" Weak linear effects on {_owners(facts, leaning)} were kept: see there (tilted)."
    return words


def _too_narrow(facts: Facts, released: Released) -> Iterator[str]:
    """Yield why intervals from data of trees may be too narrow; nothing where no tree was used."""
    trees, leaning = facts.trees, tilted(facts, released)
    if not trees:
        return
    yield (
        "The rule assumes independent draws from a right model. Some variables here were made by "
        "trees."
    )
    if leaning:
        yield (
            f"The draws of {_owners(facts, leaning)} were tilted: they {TILTED}, which keeps weak "
            "linear effects of the predictors on them. Interactions and curved relations can still "
            "be flattened."
        )
    if set(trees) - set(leaning):
        yield (
            f"{'Other trees' if leaning else 'Trees'} with large leaves pull relations between "
            "variables towards zero, so that intervals for regression coefficients can cover the "
            "true value well below 95 % of the time: 0.85 in a simulation with leaves of 50 "
            "and 1,000 records."
        )
    if any(tree.even for tree in trees.values()):
        yield (
            "The draws from the trees were spread evenly over the records of a leaf (even draws). "
            "Therefore the datasets differ less from each other than independent draws would, and "
            "agreement between them does not show how sure a result is."
        )
    yield "Have every result verified on the confidential data before you rely on it."


def _owners(facts: Facts, names: Iterable[str]) -> str:
    """Name variables; columns of one variable over time by its name."""
    owner = {step.variable: step.of for step in facts.steps}
    return listed(list(dict.fromkeys(owner[name] for name in names)))


_REAL: Mapping[str, str] = {
    "mutants": (
        "Records are those of real persons as far as nothing in them was changed, and that is "
        "usually most of them."
    ),
    "files": (
        "How the files that these datasets began as were made is not told here, so that records "
        "may be those of real persons."
    ),
}
_TREAT = (
    "Which ones were changed is not told. Protect every record as that of a real person, and "
    "conclude nothing about anybody: what stands in a record may be right, changed, or somebody "
    "else's."
)


def _about_evolved_persons(facts: Facts, released: Released) -> Iterator[tuple[str, str]]:
    yield "Records may be real", f"{_REAL[facts.start or 'files']} {_TREAT}"
    yield _IDENTIFY
    ids = [name for name, seen in released.variables.items() if seen.kind is Kind.ID]
    which = f", by {listed(ids)} or by values" if ids else ""
    yield (
        "Do not merge with other files",
        f"Do not match records with those of other files{which}. Some would meet the real person "
        "behind them, others somebody who only looks like it.",
    )


def _about_evolved_results(released: Released) -> Iterator[tuple[str, str]]:
    m = len(released.files)
    yield _PROVISIONAL
    yield _uncertain(m)
    yield (
        "Associations can be weakened",
        "Values that were drawn anew and records that were replaced weaken associations. The "
        "datasets were selected by how close whole tables are: that says little of a single "
        "association, and nothing of one in a small group.",
    )
    yield (
        "Small groups and rare combinations are unreliable",
        "Rare combinations carry the risk that the datasets were selected against, so that they "
        "are the first to be changed. They may be lost, thinned out or made up, and what they show "
        "need not even be right on average.",
    )
    yield _EXTREMES
    if m > 1:
        yield _stacked(m)
    yield _WEIGHTS
    yield _MISSING
    yield _HUNTING


_RULES: Mapping[str, tuple[str, str, str]] = {
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
    "fully": (
        "proper synthesis with many datasets",
        "T = (1 + 1/m) B - U",
        "Raghunathan, Reiter and Rubin (2003), Multiple imputation for statistical disclosure "
        "limitation, Journal of Official Statistics 19(1)",
    ),
    "partially": (
        "partial synthesis",
        "T = U + B/m",
        "Reiter (2003), Inference for partially synthetic, public use microdata sets, Survey "
        "Methodology 29(2)",
    ),
    "design": (
        "simple synthesis of a survey, whose standard errors allow for its design",
        "T = U + B/m",
        "after Reiter (2003), Inference for partially synthetic, public use microdata sets, Survey "
        "Methodology 29(2)",
    ),
    "redrawn": (
        "synthesis of samples that were drawn anew by the design of the survey",
        "T = (1 + 1/m) B - U (1 + k/n), or U k/n where that is more",
        "after Mathur, Si and Reiter, Fully synthetic data for complex surveys, arXiv 2309.09115",
    ),
}
"""Name of the synthesis, total variance, and source of each combining rule."""


def rule_in_words(rule: str) -> str:
    """Return what a combining rule is for, its total variance, and its source."""
    return f"for {'; '.join(_RULES[rule])}"


_ENOUGH = 20
"""The rule for fully synthetic data is unstable with fewer datasets."""


def analysis(facts: Facts, released: Released) -> Analysis:
    """Return how to compute estimates and standard errors from all datasets."""
    m, k = len(released.files), released.units[0]
    n = facts.original_rows
    if facts.start is not None:
        return Analysis(
            rule=None,
            name="evolved datasets",
            formula=None,
            source=None,
            applies=False,
            m=m,
            k=k,
            n=n,
            words=tuple(_without_errors(m)),
            code=None,
        )
    rule = rule_for(
        proper=facts.config.proper,
        keeps=bool(facts.kept),
        redrawn=facts.is_redrawn,
        designed=facts.weights is not None and facts.weights.psu is not None and m > 1,
    )
    name, formula, source = _RULES[rule]
    applies = rule not in ("partially", "design", "redrawn") or m > 1
    return Analysis(
        rule=rule,
        name=name,
        formula=formula,
        source=source,
        applies=applies,
        m=m,
        k=k,
        n=n,
        words=tuple(_steps(rule, n, facts, released) if applies else _too_few(rule)),
        code=_program(facts, released, rule, n) if applies else None,
    )


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


def _too_few(rule: str) -> Iterator[str]:
    name, formula, _ = _RULES[rule]
    yield (
        f"This is {name}, and there is a single dataset. The rule that fits, {formula}, "
        "needs at least two, since B is the variance between datasets: no valid standard "
        "error can be computed from this release. Ask the data holder for more datasets."
    )


def _over_time(facts: Facts) -> str:
    return "person over time" if facts.unit == "person" else f"{facts.unit} of several persons"


def _steps(rule: str, n: int | None, facts: Facts, released: Released) -> Iterator[str]:
    name, formula, _ = _RULES[rule]
    m, unit = len(released.files), f"{facts.unit}s" if facts.person else "records"
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
            f"Here n = {n}, which the data holder publishes, and k = {released.units[0]}."
            if n is not None
            else "n is not published with these datasets: ask the data holder for it."
        )
    if facts.person:
        yield (
            f"{facts.unit.capitalize()}s count, not rows: every standard error has to allow for "
            f"clusters by {facts.person}, as in the example."
        )
    yield from _too_narrow(facts, released)
    if rule == "proper" and m >= _ENOUGH:
        _, full, source = _RULES["fully"]
        yield (
            f"With {m} datasets the rule for fully synthetic data may be used as well: {full}, "
            f"where B is the variance between the estimates ({source})."
        )
    yield (
        "A standard error that is computed as if a synthetic dataset were the real data is wrong: "
        "it leaves out what the synthesis adds to the uncertainty."
    )


_MOST_FILES = 20


def _program(facts: Facts, released: Released, rule: str, n: int | None) -> str | None:
    """Return a short program that gets one result; it runs beside the datasets if n is published.

    Its standard error is that of a mean. Where a person has several rows, it allows for clusters:
    the variance is the sum of the squared sums of residuals of the persons over the squared
    number of rows, times G / (G - 1), G being the number of persons (Liang and Zeger 1986,
    Biometrika 73).
    """
    example = _example(released, facts.time)
    if example is None:
        return None
    files = ",\n    ".join(repr(name) for name in released.files[:_MOST_FILES])
    more = "\n    # and the others" if len(released.files) > _MOST_FILES else ""
    sizes = f", n={'n' if n is None else n}, k={released.units[0]}"
    unit = f"{facts.unit}s" if facts.person else "records"
    asked = f"n = ...  # number of original {unit}: ask the data holder\n" if n is None else ""
    if n is None and rule in ("partially", "design"):
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
        f"{_estimate(facts)}"
        f"{_variance(facts)}"
        f'result = combine(estimates, variances, rule="{rule}"{sizes})\n'
        "print(result.estimate, result.std_error, result.low, result.high)\n"
    )


def _estimate(facts: Facts) -> str:
    """Return the lines that compute the mean of ``values``, weighted where there is a weight."""
    weights = facts.weights
    if weights is None or weights.draw == "design":
        return "    estimates.append(values.mean())  # any estimate, from any program\n"
    return (
        f"    weights = data[{weights.variable!r}].loc[values.index]\n"
        "    weights = weights / weights.sum()\n"
        "    estimates.append((weights * values).sum())  # any estimate, from any program\n"
    )


def _variance(facts: Facts) -> str:
    """Return the lines that compute the squared standard error of the mean of ``values``."""
    person = facts.person
    if facts.weights is not None and facts.weights.draw != "design" and not person:
        return _by_design(facts.weights.strata, facts.weights.psu)
    if not person:
        return "    variances.append(values.var() / len(values))  # its squared standard error\n"
    return (
        f"    # the rows of a {facts.unit} belong together: clusters by {person!a}\n"
        f"    sums = (values - values.mean()).groupby(data[{person!r}]).sum()\n"
        "    correction = len(sums) / (len(sums) - 1)\n"
        "    variances.append(correction * (sums**2).sum() / len(values) ** 2)\n"
    )


def _by_design(strata: str | None, psu: str | None) -> str:
    """Return the lines of the linearised variance, units drawn with replacement within strata."""
    lines = "    scores = weights * (values - estimates[-1])\n"
    if psu is not None:
        names = ", ".join(f"data[{name!r}]" for name in (strata, psu) if name is not None)
        lines += f"    scores = scores.groupby([{names}]).sum()  # of units\n"
    if strata is None:
        return (
            f"{lines}    variances.append(len(scores) * scores.var())  # squared standard error\n"
        )
    groups = "level=0" if psu is not None else f"data[{strata!r}]"
    return (
        f"{lines}    of_strata = scores.groupby({groups})\n"
        "    variances.append((of_strata.size() * of_strata.var()).sum())  # its squared error\n"
    )


def _example(released: Released, time: str) -> tuple[str, str] | None:
    """Return how a file is opened, and values whose mean is asked for: numbers or a share."""
    numbers = {
        name: seen
        for name, seen in released.variables.items()
        if seen.kind is Kind.NUMERIC and seen.low is not None and name != time
    }
    is_labelled = released.format.type in _LABELLED
    for name, seen in numbers.items():
        if is_labelled:
            return _opened(released.format), f"data[{name!r}].dropna()"
        if not seen.missing:
            return _opened(released.format), f"data[{name!r}]"
    for name, seen in released.variables.items():
        if seen.levels and name != time:
            level = max(seen.levels, key=lambda key: seen.levels[key])
            is_number = is_labelled and seen.labelling is not None and not seen.labelling.is_text
            equal = f"== {level}" if is_number else f".astype(str) == {level!r}"
            words = f"(data[{name!r}]{' ' if is_number else ''}{equal}).astype(float)"
            return _opened(released.format, text=True), words
    for name, seen in numbers.items():
        codes = f"data[{name!r}].astype(str).isin({sorted(seen.missing)!r})"
        words = f'pd.to_numeric(data[{name!r}].mask({codes}), errors="coerce").dropna()'
        return _opened(released.format), words
    return None


_LABELLED = {"sav": "read_spss", "zsav": "read_spss", "dta": "read_stata"}
"""How pandas reads files that say themselves which codes mean that a value is missing."""


def _opened(form: FileFormat, *, text: bool = False) -> str:
    if form.type == "parquet":
        return "pd.read_parquet(file)"
    if form.type in _LABELLED:
        return f"pd.{_LABELLED[form.type]}(file, convert_categoricals=False)"
    options = "" if form.delimiter == "," else f", sep={form.delimiter!r}"
    options += "" if form.encoding in (None, "utf-8") else f", encoding={form.encoding!r}"
    options += "" if form.decimal_mark == "." else f", decimal={form.decimal_mark!r}"
    return f"pd.read_csv(file{options}{', dtype=str' if text else ''})"
