"""Races, crashes and tampering on both databases; in full by the jobs of server_trials."""

import itertools
from contextlib import suppress

import pytest
import server_trials as trials
from noise_trials import race

from synthesizer.data.errors import LedgerError
from synthesizer.verification.database import transaction
from synthesizer.verification.ledger import Ledger, new_dataset, new_version
from synthesizer.verification.mechanisms import MICRO
from synthesizer.verification.query import query_of
from synthesizer.verification.server import audit
from synthesizer.verification.server.accounts import Accounts


@pytest.mark.parametrize("scope", trials.SCOPES)
def test_processes_that_race_get_exactly_the_cap(url, scope):
    trials.begin(url, scope)
    assert race(url, trials.ask, processes=4, requests=4) == 10
    engine = trials.engine_of(url)
    budgets = {b.scope: b for b in Ledger(engine, dataset="data").spending().budgets}
    assert budgets[scope].spent == budgets[scope].cap == MICRO
    assert {b.spent for b in budgets.values()} == {MICRO}
    engine.dispose()


def test_without_the_conditional_update_they_would_get_more(url):
    trials.begin(url)
    assert race(url, trials.ask_naively, processes=8, requests=10) > 10


def test_killed_at_any_moment_all_is_paid_once_answered_once_and_on_record(url, tmp_path):
    made = trials.kills(url, tmp_path / "shown", 4, seed=1)
    assert made.shown > 1
    assert made.holds, made


@pytest.mark.parametrize("server", [trials.answer_unkept, trials.answer_unpaid])
def test_servers_that_break_a_promise_are_found(url, tmp_path, server):
    assert not trials.kills(url, tmp_path / "shown", 2, seed=1, answers=server).holds


@pytest.fixture
def log(database):
    trials.begin_audit(database, 40)
    return database


def test_an_entry_that_was_altered_is_found(log):
    assert trials.undetected_changes(log, range(1, 41)) == 0
    assert trials.undetected_changes(log, range(1, 41), trials.verify_hashes_only) > 0  # control
    with transaction(log, reads=True) as store:
        made = audit.verify(store)
    assert (made.problems, made.head.number) == ((), 40)


@pytest.mark.parametrize("change", [trials.remove, trials.insert_one, trials.swap])
@pytest.mark.parametrize("number", [1, 20])
def test_an_entry_that_was_taken_out_put_in_or_moved_is_found(log, change, number):
    with trials.undone(log) as store:
        change(store, number)
        assert audit.verify(store).problems


@pytest.mark.parametrize("change", [trials.cut_off, trials.rewrite])
def test_what_is_cut_off_or_made_anew_is_found_by_a_noted_head(log, change):
    with transaction(log, reads=True) as store:
        noted = audit.Head.read(str(audit.head(store)))
    with trials.undone(log) as store:
        change(store, 30)
        assert audit.verify(store).problems == ()  # the control: nothing in the log itself tells
        assert audit.verify(store, [noted]).problems
        audit.append(store, "eve", "grew again")
        assert audit.verify(store, [noted]).problems
    with transaction(log) as store:
        audit.append(store, "ada", "went on")
        assert audit.verify(store, [noted]).problems == ()


def test_an_entry_is_kept_with_its_step_or_not_at_all(log):
    with trials.undone(log) as store:
        audit.append(store, "ada", "undone")
    with transaction(log, reads=True) as store:
        assert audit.head(store).number == 40
        page = audit.entries(store, before=40, limit=2)
        assert [(entry.number, entry.details) for entry in page] == [
            (39, {"number": 38}), (38, {"number": 37}),
        ]  # fmt: skip


def test_a_head_that_is_none():
    for wrong in ("", "12", "12:abc", "x:" + "0" * 64):
        with pytest.raises(LedgerError, match="NUMBER:HASH"):
            audit.Head.read(wrong)


# T18: tokens that let nobody in.


@pytest.mark.parametrize(("accounts", "holds"), [(Accounts, True), (trials.Talkative, False)])
def test_the_refusal_of_a_token_tells_nothing(database, accounts, holds):
    replies = trials.token_replies(accounts(database), 40, seed=1)
    assert trials.tells_nothing(replies) is holds


# T16: two questions that differ in one person.

GAP = {
    "formula": "I(log(pay)) ~ sex + age | agency + year",
    "ask": {"measure": "interval", "coefficient": "sex[M]", "above": 0.05},
    "partitions": 10,
}
SUBSETS = ["age > 30", "age > 31", "sex == 'M'", "agency == 'A'", "year >= 2001"]
DIFFERENCES = [
    *({"subset": subset} for subset in SUBSETS),
    *({"subset": f"{one} and {other}"} for one, other in itertools.combinations(SUBSETS, 2)),
    *({"partitions": number} for number in range(11, 26)),
    *({"ask": {**GAP["ask"], "above": number / 100}} for number in range(6, 26)),
]


def charge(ledger, change, user, epsilon=MICRO // 100):
    query = query_of({**GAP, **change})
    return ledger.reserve(
        query.digest, content="{}", epsilon=epsilon, user=user, analysis=f"of {user}"
    )


def totals(ledger):
    return {(b.scope, b.name): b.spent for b in ledger.spending().budgets}


def test_of_fifty_pairs_that_differ_both_questions_are_paid(database):
    """Whoever asks the second one, of whichever version: the charges add up."""
    first = new_dataset(database, "one", data="a" * 64, cap=2.0)
    second = new_version(database, "one", data="b" * 64)
    assert len(DIFFERENCES) == 50
    charge(first, {}, "ada")
    charge(second, {}, "bob")
    for number, change in enumerate(DIFFERENCES):
        before = totals(first)["global", ""]
        charge((first, second)[number % 2], change, ("ada", "bob")[number // 2 % 2])
        assert totals(second)["global", ""] - before == MICRO // 100
    spent = totals(first)
    assert spent["global", ""] == 52 * (MICRO // 100)
    assert spent["user", "ada"] + spent["user", "bob"] == spent["global", ""]
    assert spent == totals(second)


def test_colluding_users_are_held_by_the_global_cap_alone(database):
    """The control is a cap of each user: two of them get twice as much."""
    for cap, granted in ((0.05, 5), (1.0, 10)):
        ledger = new_dataset(database, f"cap {cap}", data="a" * 64, cap=cap, user_cap=0.05)
        for number, change in enumerate(DIFFERENCES[:20]):
            with suppress(LedgerError):
                charge(ledger, change, ("ada", "bob")[number % 2])
        assert totals(ledger)["global", ""] == granted * (MICRO // 100)
