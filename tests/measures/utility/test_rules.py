import pytest

from synthesizer.measures.utility.combining import kind_problems, rule_for, rule_problems

KINDS = [(proper, keeps) for proper in (False, True) for keeps in (False, True)]
FITTING = {
    (False, False): {"simple", "partially"},
    (False, True): {"partially"},
    (True, False): {"proper", "fully", "partially"},
    (True, True): {"partially"},
}


@pytest.mark.parametrize(("proper", "keeps"), KINDS)
def test_which_rules_fit_which_data(proper, keeps):
    """As `coverage_of_rules.py` finds: bold cells of designs with as many records."""
    rules = {"fully", "partially", "simple", "proper"}
    fit = {rule for rule in rules if not kind_problems(rule, proper=proper, keeps=keeps)}
    assert fit == FITTING[proper, keeps]
    assert rule_for(proper=proper, keeps=keeps) in fit


@pytest.mark.parametrize(
    ("rule", "proper", "keeps", "message"),
    [
        ("fully", False, False, "these were fixed (proper: false): use rule 'simple'"),
        ("proper", False, False, "these were fixed (proper: false): use rule 'simple'"),
        ("simple", True, False, "intervals would be too narrow: use rule 'proper'"),
        ("simple", False, True, "these keep original values"),
        ("fully", True, True, "use rule 'partially'"),
    ],
)
def test_refusals_say_why_and_what_to_use(rule, proper, keeps, message):
    (problem,) = kind_problems(rule, proper=proper, keeps=keeps)
    assert message in problem
    assert problem.startswith(f"rule '{rule}' is for data")


@pytest.mark.parametrize("rule", ["fully", "partially"])
def test_one_dataset_is_too_few(rule):
    (problem,) = rule_problems(rule, 1, n=10, k=10)
    assert problem == (
        f"rule '{rule}' needs at least two synthetic datasets, there is one: generate more, or "
        "use rule 'simple' if all values were drawn with fixed parameters, 'proper' if with "
        "parameters drawn anew"
    )
    assert not list(rule_problems("simple", 1, n=10, k=10))
    assert not list(rule_problems("proper", 1, n=10, k=10))
