"""Who is let in, and who learns nothing by trying."""

from datetime import UTC, datetime, timedelta

import pytest

from synthesizer.extensions.verification.database import METADATA, transaction
from synthesizer.extensions.verification.messages import RequestError
from synthesizer.extensions.verification.server import audit
from synthesizer.extensions.verification.server.accounts import Accounts


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
    return Accounts(database, clock=clock)


@pytest.fixture
def ada(accounts):
    return accounts.add("ada", "researcher", actor="root")


@pytest.fixture
def token(accounts, ada):
    return accounts.new_token(ada, "laptop", actor="root")


def refused(call, *arguments):
    """Return status and words of a refusal."""
    with pytest.raises(RequestError) as raised:
        call(*arguments)
    return raised.value.status, raised.value.problems


def log(accounts):
    with transaction(accounts.engine, reads=True) as store:
        return audit.entries(store)[::-1]


def actions(accounts):
    return [(entry.actor, entry.action) for entry in log(accounts)]


def test_a_token_lets_in_until_it_ends(accounts, ada, clock):
    first, second = (
        accounts.new_token(ada, label, actor="root", days=1) for label in ("one", "two")
    )
    assert accounts.by_token(first) == accounts.by_token(second) == ada
    assert accounts.by_token("") is accounts.by_token(first.swapcase()) is None
    one, _ = accounts.tokens(ada)
    accounts.revoke(ada, one.id, actor="root")
    accounts.revoke(ada, one.id, actor="root")
    assert (accounts.by_token(first), accounts.by_token(second)) == (None, ada)
    clock.wait(days=1)
    assert accounts.by_token(second) is None
    assert [token.revoked is None for token in accounts.tokens(ada)] == [False, True]
    assert actions(accounts).count(("root", "token revoked")) == 1


def test_a_session_lets_in_until_it_ends(accounts, ada, token, clock):
    cookie = accounts.sign_in(token)
    assert accounts.session(cookie) == ada
    assert accounts.session(cookie + "x") is accounts.session(token) is None
    assert accounts.by_token(cookie) is None
    assert accounts.sign_in(token) != cookie
    clock.wait(hours=8)
    assert accounts.session(cookie) is None
    again = accounts.sign_in(token)
    accounts.sign_out(again)
    accounts.sign_out(again)
    assert accounts.session(again) is None


def test_a_session_ends_with_its_token_and_with_no_other(accounts, ada, clock):
    tokens = [accounts.new_token(ada, "laptop", days=days, actor="root") for days in (0.25, 1, 1)]
    short, ended, other = map(accounts.sign_in, tokens)
    accounts.revoke(ada, accounts.tokens(ada)[1].id, actor="root")
    assert [accounts.session(one) for one in (short, ended, other)] == [ada, None, ada]
    clock.wait(hours=6)  # shorter than other sessions
    assert [accounts.session(one) for one in (short, other)] == [None, ada]


def test_a_closed_account_is_out_at_once(accounts, ada, token):
    cookie = accounts.sign_in(token)
    accounts.set_active("ada", is_active=False, actor="root")
    assert accounts.by_token(token) is accounts.session(cookie) is accounts.signed_on("ada") is None
    assert refused(accounts.sign_in, token) == refused(accounts.sign_in, "none")
    accounts.set_active("ada", is_active=True, actor="root")
    assert accounts.signed_on("ada") == ada
    assert accounts.by_token(token) is accounts.session(cookie) is None  # its tokens ended


def test_a_single_sign_on_lets_in_whom_it_names_exactly(accounts, ada):
    upper = accounts.add("Bob@Agency.gov", "researcher", actor="root")
    assert accounts.signed_on("ada") == ada
    assert accounts.signed_on("Bob@Agency.gov") == upper
    for other in ("Ada", "ada ", "ada, bob", "bob@agency.gov", "", "\0", "server", "ada\n"):
        assert accounts.signed_on(other) is None


def test_no_token_or_cookie_is_in_the_database(accounts, token):
    credentials = [token, accounts.sign_in(token)]
    with transaction(accounts.engine, reads=True) as store:
        rows = [str(store.execute(table.select()).all()) for table in METADATA.sorted_tables]
    everything = "".join(rows)
    assert "laptop" in everything
    assert not [credential for credential in credentials if credential in everything]


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (lambda a: a.add("ada", "researcher", actor="root"), 409),
        (lambda a: a.add("ADA", "researcher", actor="root"), 409),
        (lambda a: a.add("-ve", "researcher", actor="root"), 422),
        (lambda a: a.add("Server", "steward", actor="root"), 422),
        (lambda a: a.set_active("absent", is_active=False, actor="root"), 404),
        (lambda a: a.named("\0"), 404),
        (lambda a: a.new_token(a.named("ada"), "", actor="root", days=1e9), 422),
        (lambda a: a.revoke(a.named("ada"), 99, actor="root"), 404),
    ],
)
def test_what_cannot_be_is_refused_with_its_status_and_no_trace(accounts, ada, call, status):
    before = actions(accounts)
    assert refused(call, accounts)[0] == status
    assert actions(accounts) == before
    assert accounts.all() == [ada]


def test_the_last_admin_stays(accounts):
    accounts.add("one", "admin", actor="root")
    with pytest.raises(RequestError, match="last admin"):
        accounts.set_active("one", is_active=False, actor="one")
    accounts.add("two", "admin", actor="one")
    accounts.set_active("one", is_active=False, actor="two")
    assert [account.is_active for account in accounts.all()] == [False, True]


def test_every_change_is_in_the_audit_log(accounts, ada):
    accounts.sign_in(accounts.new_token(ada, "laptop", actor="ada"))
    accounts.set_active("ada", is_active=False, actor="root")
    accounts.set_active("ada", is_active=True, actor="root")
    assert actions(accounts) == [
        ("root", "account made"), ("ada", "token made"), ("ada", "signed in"),
        ("root", "account closed"), ("root", "account opened"),
    ]  # fmt: skip
    about = [entry.details.get("account") for entry in log(accounts)]
    assert about == ["ada", "ada", None, "ada", "ada"]
    assert {"label", "expires"} < {*log(accounts)[1].details}
