"""Attacks on the store of the verification server, on SQLite and on PostgreSQL.

T9 and T16 to T18 of docs/verification.md. Tests run them small, the jobs at the end in full.
Each has a control, something made wrong on purpose, that the same trial must find.
"""

from __future__ import annotations

import os
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
from measuring import Row, Rows, job
from noise_trials import race
from panel_server import MISSING, programs, running
from sqlalchemy import Connection, Engine, delete, func, insert, select, text, update

from synthesizer.extensions.verification.database import connect, transaction
from synthesizer.extensions.verification.ledger import ANSWER, Ledger, new_dataset, new_version
from synthesizer.extensions.verification.mechanisms import MICRO
from synthesizer.extensions.verification.messages import LedgerError, RequestError
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.server import audit
from synthesizer.extensions.verification.server.accounts import Account, Accounts
from synthesizer.extensions.verification.server.audit import AuditEntry, Verified
from synthesizer.extensions.verification.server.problem_json import install
from synthesizer.extensions.verification.server.security import Guard, GuardedRoute, Shield
from synthesizer.extensions.verification.server.server_config import Access
from synthesizer.extensions.verification.server.server_tables import AUDIT, TOKEN, create_tables

TENTH = MICRO // 10
SCOPES = ("global", "user", "analysis")


@lru_cache(maxsize=1)
def _engine_of(url: str, process: int) -> Engine:  # noqa: ARG001
    return connect(url, seconds=60)


def engine_of(url: str) -> Engine:
    """Return the engine of this process: connections do not survive a fork."""
    return _engine_of(url, os.getpid())


# T9: many ask at once.


def begin(url: str, scope: str = "") -> None:
    """Make a dataset whose budget of one scope is 1, and whose others are out of the way."""
    cap, user_cap, analysis_cap = (1.0 if scope == one else 1000.0 for one in SCOPES)
    engine = connect(url)
    create_tables(engine)
    new_dataset(
        engine, "data", data="0" * 64, cap=cap, user_cap=user_cap, analysis_cap=analysis_cap
    )
    with transaction(engine) as store:
        store.execute(text("CREATE TABLE naive (spent INTEGER)"))
        store.execute(text("INSERT INTO naive VALUES (0)"))
    engine.dispose()


def ask(url: str, number: int) -> bool:
    """Ask a question of its own at 0.1."""
    ledger = Ledger(engine_of(url), dataset="data")
    try:
        ledger.reserve(f"q{number}", content="{}", epsilon=TENTH, user="u", analysis="a")
    except LedgerError:
        return False
    return True


def ask_naively(url: str, number: int) -> bool:  # noqa: ARG001
    """Read what is spent, check, and write: the control."""
    engine = engine_of(url)
    with transaction(engine, reads=True) as store:
        spent = store.execute(text("SELECT spent FROM naive")).scalar_one()
    if spent + TENTH > MICRO:
        return False
    time.sleep(0.002)  # the gap in which others read the same
    with transaction(engine) as store:
        store.execute(text("UPDATE naive SET spent = :spent"), {"spent": spent + TENTH})
    return True


# T9: processes are killed between charge and answer.


@dataclass(frozen=True)
class Killed:
    """Answers, charges and log entries after processes were killed."""

    shown: int
    """Questions with an answer that was shown."""
    spent: int
    """Questions that were paid."""
    answers: int
    """Most answers to one question that were shown."""
    unanswered: int
    """Charged questions that can no longer be answered."""
    chain: Verified
    entries: tuple[int, int]
    """In the audit log: charges and answers."""
    recorded: tuple[int, int]
    """In the ledger: charges and answers."""

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return (
            self.shown <= self.spent
            and self.answers <= 1
            and not self.unanswered
            and not self.chain.problems
            and self.entries == self.recorded
        )


def answer(url: str, query: str, *, apart: bool = False) -> int:
    """Answer a question as the server does; the answer is drawn anew each time it is computed."""
    engine = engine_of(url)
    ledger = Ledger(engine, dataset="data")
    with transaction(engine) as store:
        ledger.lock(store)
        is_new = not ledger.is_charged(query, within=store)
        stored = ledger.reserve(
            query, content="{}", epsilon=TENTH, user="u", analysis="a", within=store
        )
        if is_new and not apart:
            audit.append(store, "u", "charged", details={"query": query})
    if is_new and apart:
        time.sleep(0.005)
        with transaction(engine) as store:
            audit.append(store, "u", "charged", details={"query": query})
    if stored is None:
        drawn = secrets.randbelow(10**9)
        with transaction(engine) as store:
            ledger.lock(store)
            is_first = ledger.answer(query, within=store) is None
            stored = ledger.store(query, [[drawn]], within=store)
            if is_first:
                audit.append(store, "server", "answered", details={"query": query})
    return stored[0][0]


def answer_unkept(url: str, query: str) -> int:
    """Show the computed answer, not the one stored first: a control."""
    answer(url, query)
    return secrets.randbelow(10**9)


def answer_unpaid(url: str, query: str) -> int:
    """Charge only half of what is shown: a control."""
    if int(query[1:]) % 2:
        answer(url, query)
    return 0


def answer_apart(url: str, query: str) -> int:
    """Charge and audit in two transactions: a control."""
    return answer(url, query, apart=True)


Answers = Callable[[str, str], int]


def kills(url: str, shown: Path, times: int, seed: int, answers: Answers = answer) -> Killed:
    """Let two processes answer the same questions, and kill both at random moments, many times.

    Each round begins where the last one was cut off; ``shown`` is a file that they show answers in.
    """
    begin(url)
    shown.write_bytes(b"")
    rng = np.random.default_rng(seed)
    context = get_context("fork")
    for _ in range(times):
        wanted = _lines(shown) + int(rng.integers(1, 8))
        first = max(0, len(seen_in(shown)) - 2)
        workers = [
            context.Process(target=_answer_on, args=(url, shown, first, answers)) for _ in range(2)
        ]
        for worker in workers:
            worker.start()
        while _lines(shown) < wanted:
            time.sleep(0.001)
        for worker in workers:
            time.sleep(float(rng.uniform(0, 0.01)))
            with suppress(ProcessLookupError):
                os.kill(worker.pid or 0, signal.SIGKILL)
        for worker in workers:
            worker.join()
    return _killed(url, shown, answers)


def _lines(shown: Path) -> int:
    return shown.read_bytes().count(b"\n")


def seen_in(shown: Path) -> dict[str, set[str]]:
    """Return the answers that somebody saw, by question."""
    seen: dict[str, set[str]] = {}
    for line in shown.read_text().splitlines():
        query, value = line.split()
        seen.setdefault(query, set()).add(value)
    return seen


def _answer_on(url: str, shown: Path, first: int, answers: Answers) -> None:
    with shown.open("ab", buffering=0) as file:
        for number in range(first, first + 10_000):
            file.write(f"q{number} {answers(url, f'q{number}')}\n".encode())


def _killed(url: str, shown: Path, answers: Answers) -> Killed:
    engine = engine_of(url)
    ledger = Ledger(engine, dataset="data")
    ledger.check()
    spent = _spent(ledger)
    with transaction(engine, reads=True) as store:
        charged = [row.query for row in store.execute(select(ANSWER.c.query))]
        entries = (_actions(store, "charged"), _actions(store, "answered"))
        released = select(func.count()).where(ANSWER.c.released.is_not(None))
        recorded = (len(charged), int(store.execute(released).scalar_one()))
        chain = audit.verify(store)
    seen = seen_in(shown)
    for query in charged:
        seen.setdefault(query, set()).add(str(answers(url, query)))
    unanswered = [query for query in charged if ledger.answer(query) is None]
    missed = len(unanswered) + (_spent(ledger) != spent)
    most = max(map(len, seen.values()), default=0)
    engine.dispose()
    return Killed(len(seen_in(shown)), spent, most, missed, chain, entries, recorded)


def _spent(ledger: Ledger) -> int:
    return ledger.spending().budgets[0].spent // TENTH


def _actions(store: Connection, action: str) -> int:
    counted = select(func.count()).select_from(AUDIT).where(AUDIT.c.action == action)
    return int(store.execute(counted).scalar_one())


# T16: pairs of questions that differ in few persons.

QUESTION: dict[str, Any] = {
    "formula": "I(log(pay)) ~ sex + age | agency + year",
    "ask": {"measure": "interval", "coefficient": "sex[M]", "above": 0.05},
    "partitions": 10,
}


def pairs(number: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield digests of two questions whose subsets differ at one border or level."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        age, year = int(rng.integers(18, 70)), int(rng.integers(2000, 2004))
        sex, agency = str(rng.choice(["F", "M"])), str(rng.choice(["AG", "DD", "TR", "VA"]))
        subset = f"sex == '{sex}' and agency == '{agency}' and year >= {year}"
        others = (f"{subset} and age > {age + 1}", f"{subset} and age <= {age}", subset)
        both = (f"{subset} and age > {age}", str(rng.choice(others)))
        yield tuple(query_of({**QUESTION, "subset": one}).digest for one in both)  # type: ignore[misc]


def differenced(url: str, number: int, seed: int, *, is_apart: bool = False) -> tuple[int, int]:
    """Return how many questions were asked, and how many the global budget paid.

    Two users ask in turn, about two versions. ``is_apart`` gives each version a dataset of its own,
    which must not happen: then the global budget of one pays half.
    """
    engine = connect(url)
    create_tables(engine)
    first = new_dataset(engine, "one", data="a" * 64, cap=1e6)
    if is_apart:
        second = new_dataset(engine, "two", data="b" * 64, cap=1e6)
    else:
        second = new_version(engine, "one", data="b" * 64)
    ledgers, questions = (first, second), set()
    for index, pair in enumerate(pairs(number, seed)):
        for turn, query in enumerate(pair):
            which, user = (index + turn) % 2, ("ada", "bob")[index // 2 % 2]
            ledgers[which].reserve(query, content="{}", epsilon=TENTH, user=user, analysis=user)
            questions.add((which, query))
    paid = _spent(first)
    engine.dispose()
    return len(questions), paid


# T17: the audit log is changed by a person who can write to the database.

FIELDS = ("id", "at", "actor", "action", "dataset", "details", "previous", "hash")
OTHERS = {"at": "2020-01-01T00:00:00.000000+00:00", "details": '{"epsilon": 1}'}


def begin_audit(engine: Engine, number: int) -> None:
    """Fill an audit log, and take away the triggers that keep it."""
    of = " ON audit" if engine.dialect.name == "postgresql" else ""
    with transaction(engine) as store:
        for entry in range(number):
            audit.append(store, f"user{entry % 7}", "charged", details={"number": entry})
        for trigger in ("no_change_of_audit", "no_end_of_audit"):
            store.execute(text(f"DROP TRIGGER {trigger}{of}"))


@contextmanager
def undone(engine: Engine) -> Iterator[Connection]:
    """Yield a transaction of which nothing is kept."""
    with engine.connect() as store:
        store.begin()
        yield store
        store.rollback()


def alter(store: Connection, number: int, column: str) -> None:
    """Change one field of an entry."""
    value: Any = OTHERS.get(column, "f" * 64 if column in ("previous", "hash") else "eve")
    value = 10**6 + number if column == "id" else value
    change = f"UPDATE audit SET {column} = :value WHERE id = :number"  # noqa: S608 - of FIELDS
    store.execute(text(change), {"value": value, "number": number})


def undetected_changes(
    engine: Engine, numbers: Sequence[int], verify: Callable[[Connection], Verified] = audit.verify
) -> int:
    """Return how many of the entries can be altered without `verify` finding it."""
    missed = 0
    for number in numbers:
        with undone(engine) as store:
            alter(store, number, FIELDS[number % len(FIELDS)])
            missed += not verify(store).problems
    return missed


def verify_hashes_only(store: Connection) -> Verified:
    """Look at each entry by itself, as a log without a chain could: the control."""
    entries = audit.entries(store, limit=10**6)
    whole = all(len(entry.hash) == 64 for entry in entries)
    return Verified(audit.head(store), () if whole else ("hash",))


def remove(store: Connection, number: int) -> None:
    """Take an entry out and close the gap."""
    store.execute(delete(AUDIT).where(AUDIT.c.id == number))
    later = update(AUDIT).where(AUDIT.c.id > number)
    store.execute(later.values(id=-AUDIT.c.id))
    store.execute(update(AUDIT).where(AUDIT.c.id < 0).values(id=-AUDIT.c.id - 1))


def insert_one(store: Connection, number: int) -> None:
    """Put a copy of an entry behind it."""
    store.execute(update(AUDIT).where(AUDIT.c.id > number).values(id=-AUDIT.c.id))
    store.execute(update(AUDIT).where(AUDIT.c.id < 0).values(id=-AUDIT.c.id + 1))
    row = store.execute(select(AUDIT).where(AUDIT.c.id == number)).one()
    store.execute(insert(AUDIT).values({**row._mapping, "id": number + 1}))


def swap(store: Connection, number: int) -> None:
    """Change the places of an entry and the next one."""
    for old, new in ((number, -1), (number + 1, number), (-1, number + 1)):
        store.execute(update(AUDIT).where(AUDIT.c.id == old).values(id=new))


def cut_off(store: Connection, number: int) -> None:
    """Take an entry and all later ones away."""
    store.execute(delete(AUDIT).where(AUDIT.c.id >= number))


def rewrite(store: Connection, number: int) -> None:
    """Take an entry out and make all later ones anew, with hashes that are right."""
    later: list[AuditEntry] = [
        entry for entry in reversed(audit.entries(store, limit=10**6)) if entry.number > number
    ]
    cut_off(store, number)
    for entry in later:
        audit.append(store, entry.actor, entry.action, details=entry.details)


# T18: what the refusal of a token reveals.


class Talkative(Accounts):
    """Accounts that reveal what is wrong with a token: the control."""

    def by_token(self, token: str) -> Account | None:
        """Return the account of a token; reveal in the refusal whether it exists."""
        known = select(TOKEN.c.id).where(TOKEN.c.digest == sha256(token.encode()).hexdigest())
        with transaction(self.engine, reads=True) as store:
            is_known = store.execute(known).first() is not None
        account = super().by_token(token)
        if account is None and is_known:
            raise RequestError("the token is no longer valid", 401)
        return account


def guesses(token: str, number: int, seed: int) -> Iterator[str]:
    """Yield tokens of which a single character differs from a valid one, or is missing."""
    rng = np.random.default_rng(seed)
    for position in rng.integers(len(token), size=number):
        other = str(rng.choice([*"abcXYZ019_-", ""]))
        if other != token[position]:
            yield token[:position] + other + token[position + 1 :]


def token_replies(accounts: Accounts, number: int, seed: int) -> dict[str, set[tuple[Any, ...]]]:
    """Return status, headers and bytes of all replies to each kind of token, valid ones, too."""
    app, router = FastAPI(), APIRouter(route_class=GuardedRoute)
    router.add_api_route("/me", lambda: "ada")
    app.include_router(router)
    app.state.guard = Guard(accounts, Access(requests_per_minute=10**9))
    install(app)
    app.add_middleware(Shield, access=Access())
    ada, eve = (accounts.add(name, "researcher", actor="trial") for name in ("ada", "eve"))
    valid, revoked = (accounts.new_token(ada, label, actor="trial") for label in ("a", "b"))
    accounts.revoke(ada, accounts.tokens(ada)[1].id, actor="trial")
    kinds = {
        "valid": [valid],
        "near": [*guesses(valid, number, seed)],
        "expired": [accounts.new_token(ada, "c", days=1e-9, actor="trial")],
        "revoked": [revoked],
        "closed": [accounts.new_token(eve, "d", actor="trial")],
    }
    accounts.set_active("eve", is_active=False, actor="trial")
    replies: dict[str, set[tuple[Any, ...]]] = {}
    with TestClient(app) as http:
        for kind, tokens in kinds.items():
            for token in tokens:
                reply = http.get("/me", headers={"Authorization": f"Bearer {token}"})
                words = tuple(sorted(reply.headers.items()))
                replies.setdefault(kind, set()).add((reply.status_code, words, reply.content))
    return replies


def tells_nothing(replies: dict[str, set[tuple[Any, ...]]]) -> bool:
    """Whether a valid token lets in, and all others hear the same."""
    refused = set[tuple[Any, ...]]().union(*(r for kind, r in replies.items() if kind != "valid"))
    return {one[0] for one in replies["valid"]} == {200} and [one[0] for one in refused] == [401]


# The jobs: full sizes, on both databases.


@contextmanager
def databases() -> Iterator[dict[str, Callable[[], Any]]]:
    """Yield what makes empty databases, by their kind: context managers of their URLs."""
    with tempfile.TemporaryDirectory() as folder:

        @contextmanager
        def lite() -> Iterator[str]:
            yield f"sqlite:///{folder}/{secrets.token_hex(8)}.sqlite"

        if programs() is None:
            print(MISSING)
            yield {"SQLite": lite}
            return
        with running() as cluster:
            yield {"SQLite": lite, "PostgreSQL": cluster.database}


@contextmanager
def made(new: Callable[[], Any]) -> Iterator[Engine]:
    """Yield the engine of a new database with the tables of the server."""
    with new() as url:
        engine = connect(url)
        create_tables(engine)
        yield engine
        engine.dispose()


@job(repetitions=1)
def races(repetitions: int = 20) -> Rows:
    """T9: how many of 80 questions are granted where 10 may be; the control reads and writes."""
    with databases() as kinds:
        for kind, new in kinds.items():
            for scope in SCOPES:
                for repetition in range(repetitions):
                    with new() as url:
                        begin(url, scope)
                        granted = race(url, ask, 8, 10)
                        case = f"{kind}, budget {scope}"
                        yield Row(case, "granted, of 80", granted, holds=granted == 10)
                        if repetition < 3:
                            naive = race(url, ask_naively, 8, 10)
                            case = f"{case}, control: read, check, write"
                            yield Row(case, "granted, of 80", naive, holds=naive > 10)


@job(times=4)
def crashes(times: int = 50) -> Rows:
    """T9: answers and charges after processes were killed; the controls break a promise each."""
    trials = ((answer, times), (answer_unkept, 3), (answer_unpaid, 3), (answer_apart, 20))
    with databases() as kinds, tempfile.TemporaryDirectory() as folder:
        for kind, new in kinds.items():
            for answers, number in trials:
                with new() as url:
                    killed = kills(url, Path(folder) / "shown", number, 1, answers)
                case = f"{kind}, {answers.__name__}, {number} times"
                yield Row(case, "answers shown", killed.shown)
                yield Row(case, "paid", killed.spent)
                yield Row(case, "most answers to one question", killed.answers)
                yield Row(case, "charged questions without an answer", killed.unanswered)
                yield Row(case, "problems of the chain", len(killed.chain.problems))
                keeps = "yes" if killed.holds else "no"
                holds = killed.holds == (answers is answer)
                yield Row(case, "every promise is kept", keeps, holds=holds)


@job(number=50)
def differences(number: int = 1_000) -> Rows:
    """T16: what pairs of questions that differ little cost; the control has a budget a version."""
    with databases() as kinds:
        for kind, new in kinds.items():
            for is_apart in (False, True):
                with new() as url:
                    questions, paid = differenced(url, number, 1, is_apart=is_apart)
                control = ", control: a budget of each version" * is_apart
                case, holds = f"{kind}, {number} pairs{control}", (questions == paid) != is_apart
                yield Row(case, f"paid, of {questions} questions", paid, holds=holds)


@job(number=40)
def tampering(number: int = 1_000) -> Rows:
    """T17: how many changes of an audit log are not found; the control has no chain."""
    with databases() as kinds:
        for kind, new in kinds.items():
            with made(new) as engine:
                begin_audit(engine, number)
                altered = undetected_changes(engine, range(1, number + 1))
                few = range(1, min(51, number + 1))
                control = undetected_changes(engine, few, verify_hashes_only)
                yield Row(kind, f"not found, of {number} altered", altered, holds=not altered)
                yield Row(f"{kind}, control: no chain", "not found", control, holds=control > 0)
                with transaction(engine, reads=True) as store:
                    noted = audit.head(store)
                for change in (remove, insert_one, swap, cut_off, rewrite):
                    with undone(engine) as store:
                        change(store, number // 2)
                        alone = len(audit.verify(store).problems)
                        with_head = len(audit.verify(store, [noted]).problems)
                    case = f"{kind}, {change.__name__}"
                    yield Row(case, "problems", alone)
                    yield Row(case, "problems with a noted head", with_head, holds=with_head > 0)


@job(number=40)
def refusals(number: int = 1_000) -> Rows:
    """T18: different refusals of invalid tokens; the control reveals what is wrong."""
    with databases() as kinds:
        for kind, new in kinds.items():
            for accounts in (Accounts, Talkative):
                with made(new) as engine:
                    replies = token_replies(accounts(engine), number, seed=1)
                count = len(set().union(*(r for name, r in replies.items() if name != "valid")))
                holds = tells_nothing(replies) == (accounts is Accounts)
                yield Row(f"{kind}, {accounts.__name__}", "different refusals", count, holds=holds)
