"""What researchers may and may not conclude from a release, generated from how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from synthesizer.data.table import Kind
from synthesizer.report.codebook.datasets import Released
from synthesizer.report.codebook.facts import Facts, listed
from synthesizer.report.codebook.words import evolution_words, imposed, lost_relations, too_narrow

IDENTIFY = (
    "Do not try to identify anyone",
    "Do not compare records with people, registers or other files in order to learn about "
    "somebody, even as a test. Tell the data holder if you think that somebody can be recognised.",
)
PROVISIONAL = (
    "Results are provisional",
    "Use these data to learn the structure, to write and test programs and to explore. Before you "
    "publish a result or decide by it, ask the data holder to verify it on the confidential data.",
)
EXTREMES = (
    "Extreme values tell nothing",
    "The smallest and the largest value here need not be those of the real data, and ranges in "
    "this codebook are those of the synthetic data. Do not interpret single values.",
)


def synthesis_words(facts: Facts) -> list[str]:
    """Return paragraphs on how the datasets as a whole were made."""
    if not facts.is_modelled:
        return [*evolution_words(facts)]
    kept = [step.variable for step in facts.steps if step.kept]
    words = [
        "The variables were made one after the other. For each one a model was fitted to the "
        "confidential data that tells it from variables before it; then values were drawn from "
        "that model, given the synthetic values so far."
    ]
    if kept:
        words.append(
            f"Partial synthesis: {listed(kept)} {'is' if len(kept) == 1 else 'are'} copied from "
            "the confidential data. The other variables are synthetic."
        )
    if facts.strata:
        each = "Every combination" if len(facts.strata) > 1 else "Every value"
        words.append(f"{each} of {listed(facts.strata)} had models of its own.")
    if any(own.even for own in facts.trees().values()):
        words.append(
            "Draws from trees were even: spread over the records of a leaf instead of drawn "
            "independently. This removes chance, so that the datasets vary less than independent "
            "draws would."
        )
    words.append(
        "For every dataset the models were fitted anew, on a bootstrap sample of the confidential "
        "records (proper synthesis)."
        if facts.proper
        else "All datasets were drawn from the same fitted models (no proper synthesis)."
    )
    return [*words, *evolution_words(facts)]


def cautions(
    facts: Facts, released: Released, unmodelled: Mapping[str, Sequence[str]]
) -> list[dict[str, str]]:
    """Return what not to conclude from records that models drew: ``title`` and ``text``."""
    found = [
        *_about_persons(facts, released),
        *_about_results(facts, released, unmodelled),
    ]
    return [{"title": title, "text": text} for title, text in found]


def _about_persons(facts: Facts, released: Released) -> Iterator[tuple[str, str]]:
    kept = [step.variable for step in facts.steps if step.kept]
    if kept:
        yield (
            "Records are real in part",
            f"The values of {listed(kept)} are those of real persons; the rest of each record is "
            "drawn. What is drawn is no finding about the person whose values stand beside it.",
        )
    else:
        yield (
            "No record is a person",
            "A synthetic record stands for nobody. That it looks like somebody you know, or is "
            "unique, is no finding about that person.",
        )
    yield IDENTIFY
    ids = [name for name, seen in released.variables.items() if seen.kind is Kind.ID]
    which = f": {listed(ids)} {'was' if len(ids) == 1 else 'were'} numbered anew" if ids else ""
    several = ids and not kept and len(released.files) > 1
    many = "; the same number in two of these datasets is not the same person either"
    yield (
        "Do not merge with other files",
        f"Records cannot be matched with records of other files{which}{many if several else ''}.",
    )


def _about_results(
    facts: Facts, released: Released, unmodelled: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str]]:
    m = len(released.files)
    yield PROVISIONAL
    if facts.evolution is not None:
        yield uncertain(m)
    elif narrow := too_narrow(facts, released):
        yield "Intervals can be too narrow", " ".join(narrow)
    yield (
        "Associations that were not modelled are missing",
        _associations(unmodelled, lost_relations(facts, released), facts),
    )
    if any(imposed(facts).values()):
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
    yield EXTREMES
    if facts.person:
        yield (
            "The rows of a person belong together",
            f"Rows with the same {facts.person} are one synthetic person over time. Standard "
            "errors that take rows for independent are too small: use ones that allow for "
            f"clusters by {facts.person}.",
        )
    if facts.wide:
        yield (
            "The columns of a person belong together",
            f"The columns of {listed(list(facts.wide))} hold one variable over time, one record a "
            "person. If you stack them into rows, number the records first and use standard errors "
            "that allow for clusters by these numbers.",
        )
    if m > 1:
        yield stacked(m)
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


def stacked(m: int) -> tuple[str, str]:
    """Return the caution against one file of all m datasets."""
    return (
        "Do not stack the datasets",
        f"The {m} datasets are versions of the same data, not more data. A file of all their "
        "records gives standard errors that are far too small; combine the results of all of them.",
    )


def uncertain(m: int) -> tuple[str, str]:
    """Return the caution on standard errors of m evolved datasets."""
    between = " Nor do differences between the datasets show how sure a result is." if m > 1 else ""
    return (
        "Standard errors are not known",
        "The rules for synthetic data take every dataset for a fresh draw from a model. Evolved "
        "datasets are none: they were selected, so that they can lie closer to the confidential "
        "sample than a fresh draw, and they were changed where records carried a disclosure risk. "
        f"No rule gives valid standard errors.{between}",
    )


def _associations(unmodelled: Mapping[str, Sequence[str]], general: str, facts: Facts) -> str:
    pairs = sum(len(others) for others in unmodelled.values()) // 2
    if not pairs:
        return f"Every pair of variables was modelled together here. {general}"
    selected = "" if facts.evolution is None else ", or as selection happened to favour it"
    return (
        f"{pairs} {'pair' if pairs == 1 else 'pairs'} of variables (named with each variable) were "
        "not modelled together: an association between them is in the data only as far as it runs "
        f"through other variables{selected}, and its absence here proves nothing. {general}"
    )


# What not to conclude from datasets that were evolved from records that no model drew.

REAL: Mapping[str, str] = {
    "mutants": (
        "Records are those of real persons as far as nothing in them was changed, and that is "
        "usually most of them."
    ),
    "files": (
        "How the files that these datasets began as were made is not told here, so that records "
        "may be those of real persons."
    ),
}
TREAT = (
    "Which ones were changed is not told. Protect every record as that of a real person, and "
    "conclude nothing about anybody: what stands in a record may be right, changed, or somebody "
    "else's."
)


def evolved_cautions(facts: Facts, released: Released) -> list[dict[str, str]]:
    """Return what not to conclude: entries with ``title`` and ``text``."""
    found = [*_evolved_about_persons(facts, released), *_evolved_about_results(released)]
    return [{"title": title, "text": text} for title, text in found]


def _evolved_about_persons(facts: Facts, released: Released) -> Iterator[tuple[str, str]]:
    start = "files" if facts.evolution is None else facts.evolution.start
    yield "Records may be real", f"{REAL[start]} {TREAT}"
    yield IDENTIFY
    ids = [name for name, seen in released.variables.items() if seen.kind is Kind.ID]
    which = f", by {listed(ids)} or by values" if ids else ""
    yield (
        "Do not merge with other files",
        f"Do not match records with those of other files{which}. Some would meet the real person "
        "behind them, others somebody who only looks like it.",
    )


def _evolved_about_results(released: Released) -> Iterator[tuple[str, str]]:
    m = len(released.files)
    yield PROVISIONAL
    yield uncertain(m)
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
    yield EXTREMES
    if m > 1:
        yield stacked(m)
    yield (
        "Weights were changed too",
        "If a variable is a sampling weight, its values were changed like those of any other "
        "variable: they need not add up to population totals, nor keep their relation to the "
        "sample design.",
    )
    yield (
        "Missing codes are no values",
        "Leave out missing codes before you compute with a variable; a change may have put one in "
        "or taken one out.",
    )
    yield (
        "No hunting for significance",
        "Changes and selection leave traces that look like effects, and remove real effects. "
        "Decide before you look which analyses you will have verified; a test that is significant "
        "here proves nothing, and one that is not disproves nothing.",
    )
