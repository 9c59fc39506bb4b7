"""Projects: numbers of questions that groups of researchers may ask about a dataset.

A steward counts in questions, the ledger in epsilon. A project's budget in the ledger is its number
of questions times the largest cost of a question, so the ledger enforces the number. An answer with
a larger epsilon, which only experts request, counts as several questions. A question that was
charged before, to any user, is free. Accounts that are no member get the same message as for a
missing project.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, Engine, delete, insert, select, update

from synthesizer.data.errors import listed, plural
from synthesizer.extensions.verification.database import now, transaction
from synthesizer.extensions.verification.ledger import ANSWER
from synthesizer.extensions.verification.mechanisms import MICRO, micro
from synthesizer.extensions.verification.messages import WORDS, Project, RequestError
from synthesizer.extensions.verification.server import audit
from synthesizer.extensions.verification.server.accounts import Account
from synthesizer.extensions.verification.server.server_datasets import Dataset
from synthesizer.extensions.verification.server.server_tables import ACCOUNT, MEMBER, PROJECT

MAX_QUESTIONS = 100_000
PROJECT_NAME = r"^\w[\w .-]{0,99}$"
"""Letters, digits, spaces and . _ -, which are safe in an address."""


class Projects:
    """The projects of a server; routes check the role of the account.

    Parameters
    ----------
    engine : Engine
        Database with the tables of the server.
    datasets : mapping
        From `open_datasets`.
    """

    def __init__(self, engine: Engine, datasets: Mapping[str, Dataset]) -> None:
        self.engine, self.datasets = engine, datasets

    def of_member(self, account: Account) -> list[Project]:
        """Return the projects of an account."""
        return [one for one in self.every() if account.name in one.members]

    def every(self) -> list[Project]:
        """Return all projects."""
        with transaction(self.engine, reads=True) as store:
            return self._all(store)

    def check_member(self, store: Connection, account: Account, dataset: str, name: str) -> None:
        """Raise RequestError (404) if a dataset has no such project of an account."""
        query = select(PROJECT.c.name).join(MEMBER).where(
            PROJECT.c.name == name, PROJECT.c.dataset == dataset, MEMBER.c.account == account.id
        )  # fmt: skip
        if store.execute(query).first() is None:
            raise RequestError("you have no such project; see your list", 404)

    def refusal(self, store: Connection, name: str, user: str, cost: int) -> str:
        """Return why a project cannot pay ``cost`` questions of a user, "" if it can.

        The ledger of the dataset must be locked against other charges.
        """
        project = self._named(store, name)
        if user not in project.members:
            return str(WORDS["wrong"]["member"].format(name))
        remaining = project.left
        if cost <= remaining:
            return ""
        return str(WORDS["wrong"]["project"].format(name, plural(remaining, "question"), cost))

    def make(
        self, account: Account, name: str, dataset: str, members: Sequence[str], *,
        questions: int | None = None, budget: float | None = None,
    ) -> Project:  # fmt: skip
        """Make a project.

        Parameters
        ----------
        account : Account
            A steward.
        name, dataset : str
            A new name, and the dataset of the project.
        members : sequence of str
            Names of researchers.
        questions, budget : int, float
            One of both: a number of questions, or an epsilon that is converted into it.

        Raises
        ------
        RequestError
            If there is no such dataset (404), the name exists already (409), or a name or number
            is invalid (422).
        """
        if not re.fullmatch(PROJECT_NAME, name):
            raise RequestError(WORDS["wrong"]["project_name"], 422)
        if dataset not in self.datasets:
            raise RequestError("there is no such dataset; see the list of datasets", 404)
        one = self.datasets[dataset]
        number = _questions(one, questions, budget)
        if number is None:
            raise RequestError("questions: write a number of questions, or a budget", 422)
        with transaction(self.engine) as store:
            one.ledger.lock(store)
            if store.execute(select(PROJECT.c.name).where(PROJECT.c.name == name)).first():
                raise RequestError("name: a project has this name; choose another one", 409)
            made = {"name": name, "dataset": dataset, "questions": number, "made": now()}
            store.execute(insert(PROJECT).values(made))
            _give(store, account, one, name, number, "project made")
            _set_members(store, account, one, name, members)
            return self._named(store, name)

    def change(
        self, account: Account, name: str, *, questions: int | None = None,
        budget: float | None = None, members: Sequence[str] | None = None,
    ) -> Project:  # fmt: skip
        """Change the questions and the members of a project; see `make`.

        Raises
        ------
        RequestError
            As in `make`; 404 if there is no such project, 409 if more questions are used.
        """
        with transaction(self.engine, reads=True) as store:
            one = self.datasets[self._named(store, name).dataset]
        number = _questions(one, questions, budget)
        with transaction(self.engine) as store:
            one.ledger.lock(store)
            used = self._named(store, name).used
            if number is not None and number < used:
                raise RequestError(f"questions: {used} are used; write {used} or more", 409)
            if number is not None:
                _give(store, account, one, name, number, "questions changed")
            if members is not None:
                _set_members(store, account, one, name, members)
            return self._named(store, name)

    def set_cap(self, account: Account, dataset: str, cap: float) -> None:
        """Change the cap of all answers about a dataset; LedgerError if more is spent."""
        one = self.datasets[dataset]
        with transaction(self.engine) as store:
            one.ledger.lock(store)
            before = one.ledger.spending(within=store).budgets[0].cap
            one.ledger.set_cap("global", "", cap, within=store)
            details = {"cap before": before, "cap": micro(cap)}
            audit.append(store, account.name, "cap changed", dataset=dataset, details=details)

    def set_paused(self, account: Account, dataset: str, reason: str, *, is_paused: bool) -> None:
        """Pause charges and answers of a dataset, or resume and answer charged questions."""
        with transaction(self.engine) as store:
            self.datasets[dataset].ledger.set_paused(is_paused, within=store)
            action = "paused" if is_paused else "resumed"
            details = {"reason": reason[:200]}
            audit.append(store, account.name, action, dataset=dataset, details=details)

    def _named(self, store: Connection, name: str) -> Project:
        if projects := self._all(store, PROJECT.c.name == name):
            return projects[0]
        raise RequestError("there is no such project; see the list of projects", 404)

    def _all(self, store: Connection, *where: ColumnElement[bool]) -> list[Project]:
        where = (*where, PROJECT.c.dataset.in_([*self.datasets]))
        rows = store.execute(select(PROJECT).where(*where).order_by(PROJECT.c.name)).all()
        of_projects = select(MEMBER.c.project, ACCOUNT.c.name).join(ACCOUNT)
        of_projects = of_projects.where(ACCOUNT.c.is_active).order_by(ACCOUNT.c.name)
        members = store.execute(of_projects).all()
        is_theirs = ANSWER.c.analysis == PROJECT.c.name
        charged = select(PROJECT.c.name, PROJECT.c.dataset, ANSWER.c.epsilon)
        used = Counter[str]()
        for name, dataset, epsilon in store.execute(charged.where(is_theirs, *where)):
            used[name] += self.datasets[dataset].questions(epsilon)
        return [
            Project(
                name=row.name, dataset=row.dataset, questions=row.questions, used=used[row.name],
                members=tuple(name for project, name in members if project == row.name),
            )
            for row in rows
        ]  # fmt: skip


def _questions(one: Dataset, questions: int | None, budget: float | None) -> int | None:
    """Return a number of questions, or None; a budget in epsilon is converted."""
    if questions is not None and budget is not None:
        raise RequestError("questions: write a number of questions or a budget, not both", 422)
    if budget is not None:
        questions = micro(budget) // micro(one.question_epsilon)
    if questions is not None and not 1 <= questions <= MAX_QUESTIONS:
        wrong = WORDS["wrong"]["questions"].format(MAX_QUESTIONS, one.question_epsilon)
        raise RequestError(wrong, 422)
    return questions


def _give(
    store: Connection, account: Account, one: Dataset, name: str, questions: int, action: str
) -> None:
    """Store the number of questions of a project, with the budget for them."""
    store.execute(update(PROJECT).where(PROJECT.c.name == name).values(questions=questions))
    cap = questions * micro(one.question_epsilon) / MICRO
    one.ledger.set_cap("analysis", name, cap, within=store)
    details = {"project": name, "questions": questions}
    audit.append(store, account.name, action, dataset=one.name, details=details)


def _set_members(
    store: Connection, account: Account, one: Dataset, name: str, names: Iterable[str]
) -> None:
    """Set the members of a project, and log added and removed ones."""
    people, wanted = select(ACCOUNT.c.name, ACCOUNT.c.id), {*names}
    chosen = people.where(ACCOUNT.c.role == "researcher", ACCOUNT.c.name.in_(wanted))
    after = {row.name: row.id for row in store.execute(chosen)}
    before = {
        row.name: row.id
        for row in store.execute(people.join(MEMBER).where(MEMBER.c.project == name))
    }
    if unknown := sorted(wanted - {*after}):
        raise RequestError(WORDS["wrong"]["members"].format(listed(unknown)), 422)
    for member in sorted({*after} ^ {*before}):
        if member in after:
            store.execute(insert(MEMBER).values(project=name, account=after[member]))
        else:
            here = MEMBER.c.project == name, MEMBER.c.account == before[member]
            store.execute(delete(MEMBER).where(*here))
        action = "member added" if member in after else "member removed"
        details = {"project": name, "member": member}
        audit.append(store, account.name, action, dataset=one.name, details=details)
