"""Projects: questions that are counted, members, and numbers that are chosen for researchers."""

import threading
from dataclasses import replace

import pytest

from synthesizer.extensions.verification.choosing import chosen
from synthesizer.extensions.verification.mechanisms import MICRO
from synthesizer.extensions.verification.messages import RequestError
from synthesizer.extensions.verification.server import runner
from synthesizer.extensions.verification.server.server_datasets import EXPERT_KEYS
from tests.extensions.verification.server.conftest import log_of

CLAIM = {
    "formula": "I(log(pay)) ~ sex + age",
    "ask": {"measure": "claim", "coefficient": "sex[F]", "below": -0.05},
}
COUNTS = {"ask": {"measure": "counts", "by": ["sex"]}}
"""Questions of researchers who know no numbers; of counts the numbers are quickly chosen."""


@pytest.fixture
def three(service, ada, bob, sam):
    """Return a project of ada's with three questions; bob has one of his own."""
    service.projects.make(sam, "other", "panel", ["bob"], questions=5)
    return service.projects.make(sam, "three", "panel", ["ada"], questions=3)


def ask(service, account, project="three", **changes):
    return service.submit(account, "panel", {**COUNTS, **changes}, project=project)


def remaining(service, account):
    return [one.left for one in service.projects.of_member(account)]


def budgets(service):
    spending = service.datasets["panel"].ledger.spending().budgets
    return {(b.scope, b.name): (b.spent / MICRO, b.cap / MICRO) for b in spending}


def with_outlook(monkeypatch, outlook, words=("It is too small.",)):
    """Let the dry run find this outlook, whatever is asked."""

    def choice(query, most_epsilon):
        return replace(chosen(query, most_epsilon), outlook=outlook, words=words)

    monkeypatch.setattr(runner, "chosen", choice)


def test_numbers_are_chosen_and_one_question_is_charged(service, ada, three, work):
    submission = ask(service, ada, **CLAIM)
    assert [submission.query[key] for key in EXPERT_KEYS] == [None] * 3
    work(service)
    current = service.find(ada, submission.id)
    dry = service.find_dry_run(ada, "panel", submission.digest)
    assert (current.state, current.charged, current.questions) == ("waiting", dry.epsilon, 1)
    assert (dry.outlook, dry.questions, dry.is_charged) == ("decided", 1, True)
    assert 0 < dry.epsilon <= 1
    assert None not in {dry.chosen[key] for key in EXPERT_KEYS}
    assert dry.content["query"] == dry.chosen
    assert remaining(service, ada) == [2]
    assert budgets(service)["analysis", "three"] == (dry.epsilon, 3.0)
    work(service, answers=True)
    stored = service.datasets["panel"].ledger.answer(current.chosen)
    assert stored is not None


def test_the_same_question_is_one_charge_for_all(service, ada, bob, three, work):
    first, second = ask(service, ada), ask(service, bob, "other", subset=None, formula=None)
    assert first.digest == second.digest
    work(service)
    assert [service.submissions(who)[0].questions for who in (ada, bob)] == [1, 0]
    assert (remaining(service, ada), remaining(service, bob)) == ([2], [5])
    chosen_query = service.find_dry_run(ada, "panel", first.digest).chosen
    expert = ask(service, bob, "other", **{key: chosen_query[key] for key in EXPERT_KEYS})
    work(service)
    again = service.find(bob, expert.id)
    assert (again.questions, again.chosen) == (0, service.find(ada, first.id).chosen)
    assert again.digest != first.digest
    assert budgets(service)["global", ""][0] == 1.0


@pytest.mark.parametrize("is_counted", [True, False])
def test_count_and_ledger_each_bound_the_questions_by_itself(
    service, ada, bob, three, work, monkeypatch, is_counted
):
    if not is_counted:
        monkeypatch.setattr(service.projects, "refusal", lambda *_: "")
    for number in range(4):
        ask(service, ada, subset=f"age > {number + 20}", epsilon=1.0)
    work(service)
    states = [one.state for one in service.submissions(ada)]
    assert sorted(states) == ["refused"] + ["waiting"] * 3
    (refused,) = (one for one in service.submissions(ada) if one.state == "refused")
    assert ("three has 0 questions left" in refused.problems[0]) == is_counted
    assert (remaining(service, ada), budgets(service)["analysis", "three"]) == ([0], (3.0, 3.0))
    heard = set()
    for name in ("three", "none"):  # who is no member learns nothing of it
        with pytest.raises(RequestError) as raised:
            service.submit(bob, "panel", COUNTS, project=name)
        heard.add((raised.value.status, raised.value.problems))
    assert [status for status, _ in heard] == [404]


@pytest.mark.parametrize(("epsilon", "questions"), [(1.0, 1), (1.000001, 2), (2.5, 3)])
def test_an_experts_epsilon_counts_as_several_questions(
    service, ada, three, work, epsilon, questions
):
    submission = ask(service, ada, epsilon=epsilon)
    work(service)
    current = service.find(ada, submission.id)
    assert (current.charged, current.questions) == (epsilon, questions)
    assert remaining(service, ada) == [3 - questions]


def test_two_at_once_do_not_both_get_the_last_question(service, ada, sam, work):
    service.projects.make(sam, "three", "panel", ["ada"], questions=1)
    queries = [{"subset": f"age > {20 + number}"} for number in range(2)]
    for query in queries:
        service.dry_run(ada, "panel", {**COUNTS, **query})
    work(service)  # the dry runs are done: a submission is charged at once
    begin = threading.Barrier(2)

    def submit(query):
        begin.wait()
        ask(service, ada, **query)

    threads = [threading.Thread(target=submit, args=(query,)) for query in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.state for one in service.submissions(ada)) == ["refused", "waiting"]
    assert remaining(service, ada) == [0]


def test_a_question_that_cannot_be_decided_costs_nothing(service, ada, three, work, monkeypatch):
    with_outlook(monkeypatch, "impossible")
    submission = ask(service, ada)
    work(service)
    current = service.find(ada, submission.id)
    assert (current.state, current.problems) == ("refused", ("It is too small.",))
    dry = service.find_dry_run(ada, "panel", submission.digest)
    assert (dry.state, dry.outlook, dry.epsilon) == ("done", "impossible", None)
    assert budgets(service)["global", ""][0] == 0
    expert = ask(service, ada, partitions=20)
    work(service)
    assert service.find(ada, expert.id).state == "waiting"


def test_what_the_dataset_cannot_pay_is_refused_without_numbers(service, ada, sam, three, work):
    service.projects.set_cap(sam, "panel", 0.5)
    plain, expert = ask(service, ada), ask(service, ada, epsilon=0.9)
    work(service)
    (problem,) = service.find(ada, plain.id).problems
    assert "epsilon" not in problem
    assert "0.5" in service.find(ada, expert.id).problems[0]
    service.projects.set_paused(sam, "panel", "", is_paused=True)
    paused = ask(service, ada, subset="age > 30")
    work(service)
    assert "paused" in service.find(ada, paused.id).problems[0]


def test_stewards_change_questions_and_members_and_all_is_on_record(service, ada, sam, three, work):
    ask(service, ada)
    ask(service, ada, subset="age > 30")
    work(service)
    with pytest.raises(RequestError, match="2 are used"):
        service.projects.change(sam, "three", questions=1)
    made = service.projects.change(sam, "three", budget=4.7, members=["bob"])
    assert (made.questions, made.used, made.left, made.members) == (4, 2, 2, ("bob",))
    assert budgets(service)["analysis", "three"] == (2.0, 4.0)
    assert service.projects.of_member(ada) == []
    assert len(service.submissions(ada)) == 2  # what she asked stays hers
    log = [(one.action, one.details.get("member")) for one in log_of(service)]
    for entry in (("member added", "bob"), ("member removed", "ada"), ("questions changed", None)):
        assert entry in log
    assert log.count(("project made", None)) == 2


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"name": "three"}, 409),
        ({"name": "a/b"}, 422),
        ({"dataset": "none"}, 404),
        ({"members": ["sam"]}, 422),
        ({"questions": 0}, 422),
        ({"questions": None}, 422),
        ({"budget": 0.3, "questions": None}, 422),
        ({"budget": 3.0}, 422),
    ],
    ids=str,
)
def test_a_wrong_project_is_not_made(service, sam, three, wrong, status):
    right = {"name": "new", "dataset": "panel", "members": ["ada"], "questions": 2}
    with pytest.raises(RequestError) as raised:
        service.projects.make(sam, **{**right, **wrong})
    assert raised.value.status == status
    assert len(service.projects.every()) == 2


@pytest.mark.parametrize("question_epsilon", [0.1, 0.7, 1 / 3])
def test_the_last_question_of_a_project_is_paid_for(service, ada, sam, work, question_epsilon):
    """Sums of floats are no exact multiples: 3 x 0.7 is less than 2.1."""
    one = replace(service.datasets["panel"], question_epsilon=question_epsilon)
    service.datasets["panel"] = one
    service.projects.make(sam, "three", "panel", ["ada"], questions=3)
    for number in range(3):
        ask(service, ada, subset=f"age > {number + 20}")
    work(service)
    assert {entry.state for entry in service.submissions(ada)} == {"waiting"}
    assert remaining(service, ada) == [0]
