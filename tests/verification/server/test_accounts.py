"""Who is let in, and who learns nothing by trying."""

from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest
from argon2 import PasswordHasher
from sqlalchemy import text

from synthesizer.data.errors import RequestError
from synthesizer.verification.database import METADATA, transaction
from synthesizer.verification.server import audit
from synthesizer.verification.server.accounts import Accounts

PASSWORD = "correct horse battery"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class Clock:
    def __init__(self):
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.now

    def wait(self, **time):
        self.now += timedelta(**time)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def accounts(database, clock):
    return Accounts(database, hasher=CHEAP, clock=clock, failures=3)


@pytest.fixture
def ada(accounts):
    return accounts.add("ada", "researcher", actor="root", password=PASSWORD)


def sign_in(accounts, name="ada", password=PASSWORD, address="10.0.0.1"):
    """Return a session, or the status and the words of the refusal."""
    try:
        return accounts.sign_in(name, password, address=address)
    except RequestError as error:
        return error.status, error.problems


WRONG = (401, ("name or password is wrong",))


def actions(accounts):
    with transaction(accounts.engine, reads=True) as store:
        return [(e.actor, e.action) for e in reversed(audit.entries(store))]


def test_a_session_lets_in_until_it_ends(accounts, ada, clock):
    made = sign_in(accounts)
    known = accounts.session(made.secret)
    assert known == made.session
    assert known.account == ada
    assert len({made.secret, known.csrf}) == 2
    assert accounts.session(made.secret + "x") is None
    assert sign_in(accounts).session.csrf != known.csrf
    clock.wait(hours=8)
    assert accounts.session(made.secret) is None
    again = sign_in(accounts)
    accounts.sign_out(again.secret)
    accounts.sign_out(again.secret)
    assert accounts.session(again.secret) is None


def test_a_token_lets_in_until_it_ends(accounts, ada, clock):
    first, second = (
        accounts.new_token(ada, label, actor="root", days=1) for label in ("one", "two")
    )
    assert accounts.by_token(first) == accounts.by_token(second) == ada
    assert accounts.by_token("") is accounts.by_token(first.swapcase()) is None
    one, _ = accounts.tokens("ada")
    accounts.revoke(one.id, actor="root")
    accounts.revoke(one.id, actor="root")
    assert (accounts.by_token(first), accounts.by_token(second)) == (None, ada)
    clock.wait(days=1)
    assert accounts.by_token(second) is None
    assert [token.revoked is None for token in accounts.tokens("ada")] == [False, True]
    assert actions(accounts).count(("root", "token revoked")) == 1


def test_a_token_begins_a_session_that_ends_with_it(accounts, ada, clock):
    token = accounts.new_token(ada, "laptop", days=0.25, actor="root")
    first = accounts.sign_in_by_token(token)
    assert accounts.session(first.secret).account == ada
    clock.wait(hours=6)  # shorter than sessions by password
    assert accounts.session(first.secret) is None
    with pytest.raises(RequestError) as raised:
        accounts.sign_in_by_token(token)
    assert raised.value.status == 401


def test_a_revoked_token_ends_the_sessions_that_it_may_have_begun(accounts, ada):
    token = accounts.new_token(ada, "laptop", actor="root")
    other = accounts.new_token(accounts.add("bob", "researcher", actor="root"), "x", actor="root")
    mine, theirs = accounts.sign_in_by_token(token), accounts.sign_in_by_token(other)
    accounts.revoke(accounts.tokens("ada")[0].id, actor="root")
    assert accounts.session(mine.secret) is None
    assert accounts.session(theirs.secret) is not None


def test_a_closed_account_is_out_at_once(accounts, ada):
    token, session = accounts.new_token(ada, "laptop", actor="root"), sign_in(accounts)
    accounts.set_active("ada", is_active=False, actor="root")
    assert accounts.by_token(token) is accounts.session(session.secret) is None
    assert sign_in(accounts) == WRONG
    accounts.set_active("ada", is_active=True, actor="root")
    assert accounts.by_token(token) == ada
    assert accounts.session(session.secret) is None


def test_another_password_ends_sessions(accounts, ada):
    session = sign_in(accounts)
    accounts.set_password("ada", PASSWORD[::-1], actor="ada")
    assert accounts.session(session.secret) is None
    assert sign_in(accounts) == WRONG
    assert not isinstance(sign_in(accounts, password=PASSWORD[::-1]), tuple)


def hashes_of(accounts, monkeypatch):
    """Return a list to which the hash of each verification is added."""
    seen = []

    class Seen(PasswordHasher):
        def verify(self, kept, password):
            seen.append(kept)
            return super().verify(kept, password)

    monkeypatch.setattr(accounts, "_hasher", Seen(1, 8, 1))
    return seen


@pytest.mark.parametrize("name", ["ada", "nobody", "closed", "program", "A'; --", "\udcff", "\0"])
def test_whatever_is_wrong_costs_one_hash_and_says_the_same(accounts, ada, monkeypatch, name):
    accounts.add("closed", "researcher", actor="root", password=PASSWORD)
    accounts.set_active("closed", is_active=False, actor="root")
    accounts.add("program", "researcher", actor="root")
    seen = hashes_of(accounts, monkeypatch)
    password = PASSWORD if name == "closed" else "wrong"
    assert sign_in(accounts, name, password) == WRONG
    (kept,) = seen
    assert kept.split("$")[:4] == CHEAP.hash("x").split("$")[:4]  # the same costs


def test_without_the_dummy_unknown_names_would_be_quick(accounts, ada, monkeypatch):
    """The control: a server that looks at passwords only of names that it knows."""
    seen = hashes_of(accounts, monkeypatch)
    look = accounts._is_right
    is_right = lambda kept, word: kept != accounts._dummy and look(kept, word)  # noqa: E731
    monkeypatch.setattr(accounts, "_is_right", is_right)
    for name, hashes in (("ada", 1), ("nobody", 0)):
        seen.clear()
        sign_in(accounts, name, "wrong")
        assert len(seen) == hashes


def test_the_recommended_costs_are_those_of_argon2id(database):
    dummy = Accounts(database)._dummy
    assert dummy.startswith("$argon2id$v=19$m=65536,t=3,p=4$")


@pytest.mark.parametrize("name", ["ada", "nobody"])
def test_a_name_is_locked_out_after_its_failures_known_or_not(accounts, ada, clock, name):
    for number in range(3):
        assert sign_in(accounts, name, "wrong", f"10.0.0.{number}") == WRONG
    for password in (PASSWORD, "wrong"):
        status, _ = sign_in(accounts, name, password, "10.0.0.9")
        assert status == 429
    assert actions(accounts).count(("server", "locked out")) == 1
    assert accounts.by_token(accounts.new_token(ada, "still", actor="root")) == ada
    clock.wait(minutes=15)
    assert (sign_in(accounts, name) == WRONG) is (name == "nobody")


def test_an_address_is_locked_out_after_ten_times_as_many(accounts, ada, clock):
    for number in range(30):
        assert sign_in(accounts, f"name{number}", "wrong") == WRONG
    assert sign_in(accounts)[0] == 429
    assert not isinstance(sign_in(accounts, address="10.0.0.2"), tuple)
    clock.wait(minutes=15)
    assert not isinstance(sign_in(accounts), tuple)


def test_who_succeeds_begins_anew_and_locks_no_address_out(accounts, ada):
    for _ in range(40):
        sign_in(accounts, password="wrong", address="10.0.0.9")
        assert not isinstance(sign_in(accounts), tuple)


def at_once(accounts, tries):
    results = []
    threads = [
        Thread(target=lambda: results.append(sign_in(accounts, password="wrong")[0]))
        for _ in range(tries)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results.count(401)


def test_tries_at_once_are_counted_before_a_password_is_looked_at(accounts, ada):
    assert at_once(accounts, 12) == 3


def test_counted_afterwards_more_would_get_through(accounts, ada, monkeypatch):
    """The control: all are let through to the hash before the first has failed."""
    monkeypatch.setattr(accounts, "_begin", lambda tries: 0)
    assert at_once(accounts, 12) == 12


def test_no_secret_is_in_the_database(accounts, ada):
    secrets = [PASSWORD, accounts.new_token(ada, "laptop", actor="root"), sign_in(accounts).secret]
    sign_in(accounts, name="My password, in the wrong field")
    with transaction(accounts.engine, reads=True) as store:
        rows = [str(store.execute(table.select()).all()) for table in METADATA.sorted_tables]
    everything = "".join(rows)
    assert "laptop" in everything
    assert not [secret for secret in [*secrets, "wrong field"] if secret in everything]
    assert PASSWORD not in repr(sign_in(accounts))


def test_a_hash_of_older_costs_is_renewed(accounts, ada, database):
    dearer = Accounts(database, hasher=PasswordHasher(2, 8, 1))
    assert not isinstance(sign_in(dearer), tuple)
    with transaction(database, reads=True) as store:
        kept = store.execute(text("SELECT password FROM account")).scalar_one()
    assert "t=2" in kept
    assert not isinstance(sign_in(dearer), tuple)


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (lambda a: a.add("ada", "researcher", actor="root"), 409),
        (lambda a: a.add("Eve", "owner", actor="root", password="short"), 422),
        (lambda a: a.add("server", "steward", actor="root"), 422),
        (lambda a: a.set_password("ada", "\udcff" * 12, actor="root"), 422),
        (lambda a: a.set_password("nobody", PASSWORD, actor="root"), 404),
        (lambda a: a.named("\0"), 404),
        (lambda a: a.new_token(a.named("ada"), "", actor="root", days=1e9), 422),
        (lambda a: a.revoke(99, actor="root"), 404),
    ],
)
def test_what_cannot_be_is_refused_with_its_status_and_no_trace(accounts, ada, call, status):
    before = actions(accounts)
    with pytest.raises(RequestError) as error:
        call(accounts)
    assert error.value.status == status
    assert actions(accounts) == before
    assert accounts.all() == [ada]


def test_all_problems_of_an_account_are_told_at_once(accounts):
    with pytest.raises(RequestError) as error:
        accounts.add("Eve", "owner", actor="root", password="short")
    assert len(error.value.problems) == 3


def test_the_last_admin_stays(accounts):
    accounts.add("one", "admin", actor="root")
    with pytest.raises(RequestError, match="last admin"):
        accounts.set_active("one", is_active=False, actor="one")
    accounts.add("two", "admin", actor="one")
    accounts.set_active("one", is_active=False, actor="two")
    assert [account.is_active for account in accounts.all()] == [False, True]


def test_every_change_is_in_the_audit_log(accounts, ada):
    accounts.set_password("ada", PASSWORD, actor="ada")
    accounts.new_token(ada, "laptop", actor="ada")
    sign_in(accounts)
    accounts.set_active("ada", is_active=False, actor="root")
    assert actions(accounts) == [
        ("root", "account made"), ("ada", "password set"),
        ("ada", "token made"), ("ada", "signed in"), ("root", "account closed"),
    ]  # fmt: skip
