"""The steps of users; the API and the pages call this and nothing else.

The states of a question:

    submit  ->  dry run on synthetic data  ->  charged, or refused  ->  its slot  ->  due: answered

The dry run of a question without epsilon, partitions and errors chooses them, and predicts whether
an answer would decide it. One that cannot be decided is refused. The same question gets the same
numbers for all users, so it is charged once.

User, charge and slot are stored in one transaction. Nothing is refunded. The time of an answer is
fixed at the charge, from public facts alone. A query of another user and a missing one get the same
message.

A lane runs one job per slot. All slots have the same length, so neither their ends nor waiting
times reveal anything about a job. The answer is released at the first tick after the slot, even if
it was ready earlier: against timing and state channels of query servers (Haeberlen, Pierce and
Narayan 2011).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, Row, and_, func, insert, or_, select, tuple_, update

from synthesizer.extensions.verification.database import insert_once, now, transaction
from synthesizer.extensions.verification.ledger import DATASET
from synthesizer.extensions.verification.mechanisms import MICRO
from synthesizer.extensions.verification.messages import (
    DatasetInfo,
    DryRun,
    RequestError,
    Submission,
    SubmissionState,
)
from synthesizer.extensions.verification.public_schema import digest_of
from synthesizer.extensions.verification.server import audit
from synthesizer.extensions.verification.server.accounts import Account
from synthesizer.extensions.verification.server.projects import Projects
from synthesizer.extensions.verification.server.runner import TaskResult
from synthesizer.extensions.verification.server.server_config import ServerConfig
from synthesizer.extensions.verification.server.server_datasets import Dataset
from synthesizer.extensions.verification.server.server_tables import (
    ACCOUNT,
    DRY_RUN,
    JOB,
    SUBMISSION,
)

MAX_LISTED = 200


class Service:
    """The steps of users and stewards, each for an account; routes check its role.

    Parameters
    ----------
    engine : Engine
        Database with the tables of the server.
    config : ServerConfig
        Limits.
    datasets : mapping
        From `open_datasets`.
    """

    def __init__(
        self, engine: Engine, config: ServerConfig, datasets: Mapping[str, Dataset]
    ) -> None:
        self.engine, self.config, self.datasets = engine, config, datasets
        self.projects = Projects(engine, datasets)

    # Public facts

    def list_datasets(self) -> list[DatasetInfo]:
        """Return the datasets of the server."""
        with transaction(self.engine, reads=True) as store:
            paused = {row.name: row.is_paused for row in store.execute(select(DATASET))}
        return [
            DatasetInfo(
                name=name,
                title=one.title,
                is_paused=paused[name],
                schema_digest=one.schema.digest,
                synthetic_digest=one.synthetic_digest,
            )
            for name, one in self.datasets.items()
        ]

    def dataset(self, name: str) -> Dataset:
        """Return a dataset; RequestError (404) if there is none of this name."""
        if name not in self.datasets:
            raise RequestError("there is no such dataset; see the list of datasets", 404)
        return self.datasets[name]

    # Steps of researchers

    def dry_run(self, account: Account, dataset: str, content: Mapping[str, Any]) -> DryRun:
        """Return the dry run of a query; begins it if it is new.

        Raises
        ------
        ConfigError
            With every problem of the query, by public facts.
        RequestError
            If there is no such dataset (404), or too many queries of the account wait (429).
        """
        one = self.dataset(dataset)
        query = one.asked(content)
        with transaction(self.engine) as store:
            self._begin_dry_run(store, account, one, query)
            return self._dry_run(store, account, one, digest_of(query))

    def find_dry_run(self, account: Account, dataset: str, digest: str) -> DryRun:
        """Return a dry run by the digest of its query; RequestError (404) if there is none."""
        one = self.dataset(dataset)
        with transaction(self.engine, reads=True) as store:
            return self._dry_run(store, account, one, digest)

    def submit(
        self, account: Account, dataset: str, content: Mapping[str, Any], *, project: str
    ) -> Submission:
        """Submit a question to the confidential data.

        It is charged when its dry run is done. The same question of the same user is the same
        submission.

        Parameters
        ----------
        account : Account
            A researcher.
        dataset : str
            Name of the dataset.
        content : mapping
            The query as plain values.
        project : str
            The project that pays, unless the question was charged before.

        Raises
        ------
        ConfigError
            With every problem of the query, by public facts.
        RequestError
            If there is no such dataset or no such project of the account (404), or too many of its
            queries wait (429).
        """
        one = self.dataset(dataset)
        query = one.asked(content)
        digest = digest_of(query)
        with transaction(self.engine, "nothing was charged") as store:
            one.ledger.lock(store)
            self.projects.check_member(store, account, dataset, project)
            name = self._same(store, account, one, digest)
            if name is None:
                self._begin_dry_run(store, account, one, query)
                name = secrets.token_hex(16)
                store.execute(
                    insert(SUBMISSION).values(
                        id=name, account=account.id, dataset=dataset, version=one.ledger.version,
                        query=digest, project=project, state="checking", problems=[], charged=0,
                        made=now(),
                    )
                )  # fmt: skip
                self.settle(store, one, digest)
        return self.find(account, name)

    def find(self, account: Account, submission: str) -> Submission:
        """Return a submission, with its answer when that is due.

        Raises
        ------
        RequestError
            404 if it does not exist or belongs to another account.
        """
        # Most calls find nothing new: they need no lock.
        with transaction(self.engine, reads=True) as store:
            row = self._row(store, account, submission)
        info = _info(row, self.datasets.get(row.dataset))
        if info.state != "answered":
            return info
        if row.account == account.id and row.shown is None:
            self._note_shown(account, info)
        return info.model_copy(update={"content": row.result, "page": row.page})

    def submissions(
        self,
        account: Account,
        *,
        dataset: str | None = None,
        everybody: bool = False,
        before: str | None = None,
        limit: int = 50,
    ) -> list[Submission]:
        """Return submissions without their answers, the latest first.

        Parameters
        ----------
        dataset : str, optional
            This dataset only.
        everybody : bool
            Submissions of all users; for stewards.
        before : str, optional
            Submissions older than this one, for the next page.
        limit : int
            Largest number.
        """
        chosen = [] if everybody else [SUBMISSION.c.account == account.id]
        if dataset is not None:
            chosen.append(SUBMISSION.c.dataset == self.dataset(dataset).name)
        with transaction(self.engine, reads=True) as store:
            if before is not None:
                last = self._row(store, account, before)
                order = tuple_(SUBMISSION.c.made, SUBMISSION.c.id)
                chosen.append(order < (last.made, last.id))  # with the types of the columns
            rows = store.execute(
                _all_submissions()
                .where(*chosen)
                .order_by(SUBMISSION.c.made.desc(), SUBMISSION.c.id.desc())
                .limit(min(limit, MAX_LISTED))
            ).all()
        return [_info(row, self.datasets.get(row.dataset)) for row in rows]

    # Steps of stewards

    def alarms(self) -> list[audit.AuditEntry]:
        """Return the latest pause of each paused dataset; the actor ``server`` if a job died."""
        pause = select(DATASET.c.name).where(DATASET.c.is_paused, DATASET.c.name.in_(self.datasets))
        with transaction(self.engine, reads=True) as store:
            return [
                entry
                for name in store.execute(pause).scalars().all()
                for entry in audit.entries(store, dataset=name, action="paused", limit=1)
            ]

    # Steps of the dispatcher

    def settle(self, store: Connection, one: Dataset, digest: str) -> None:
        """Charge or refuse the submissions of a finished dry run; the ledger is locked."""
        dry = store.execute(select(DRY_RUN).where(*_of_dry_run(one.name, digest))).one()
        if dry.state not in ("done", "refused"):
            return
        waiting = store.execute(
            select(SUBMISSION, ACCOUNT.c.name)
            .join(ACCOUNT)
            .where(
                SUBMISSION.c.dataset == one.name,
                SUBMISSION.c.query == digest,
                SUBMISSION.c.state == "checking",
            )
            .order_by(SUBMISSION.c.made, SUBMISSION.c.id)
        ).all()
        for row in waiting:
            if dry.state == "refused":
                self._refuse(store, row, dry.problems)
            else:
                self._charge(store, one, row, dry)

    def _charge(self, store: Connection, one: Dataset, row: Row[Any], dry: Row[Any]) -> None:
        is_repeat = one.ledger.is_charged(dry.chosen, within=store)
        if problems := self._refusals(store, one, row, dry, is_repeat=is_repeat):
            self._refuse(store, row, problems)
            return
        one.ledger.reserve(
            dry.chosen, content=dry.chosen_content, epsilon=dry.charge, user=row.name,
            analysis=row.project, within=store,
        )  # fmt: skip
        charged = 0 if is_repeat else dry.charge
        if not is_repeat:
            store.execute(
                insert(JOB).values(
                    version=one.ledger.version, query=dry.chosen, state="queued",
                    limits=dry.limits, **self.next_slot(store, now()),
                )
            )  # fmt: skip
        version = {"version": one.ledger.version}
        _change(store, row.id, state="accepted", chosen=dry.chosen, charged=charged, **version)
        details = {"query": dry.chosen, "submission": row.id, "project": row.project}
        audit.append(
            store, row.name, "repeated" if is_repeat else "charged", dataset=one.name,
            details={**details, "epsilon": charged, **version},
        )  # fmt: skip

    def _refusals(
        self, store: Connection, one: Dataset, row: Row[Any], dry: Row[Any], *, is_repeat: bool
    ) -> Sequence[str]:
        """Return why a question is refused; numbers of the ledger only for experts."""
        if dry.outlook == "impossible":
            return dry.words or ["this question cannot be decided with this file"]
        cost = 0 if is_repeat else one.questions(dry.charge)
        refusal = self.projects.refusal(store, row.project, row.name, cost)
        if refusal or is_repeat:
            return [refusal] if refusal else []
        account = {"user": row.name, "analysis": row.project}
        refusals = one.ledger.refusals(dry.chosen, epsilon=dry.charge, within=store, **account)
        if refusals and dry.outlook is not None and not self._is_paused(store, one):
            return ["the budget of the dataset is too small: ask the steward for more"]
        return refusals

    def _is_paused(self, store: Connection, one: Dataset) -> bool:
        paused = select(DATASET.c.is_paused).where(DATASET.c.name == one.name)
        return bool(store.execute(paused).scalar())

    def next_slot(self, store: Connection, moment: datetime) -> dict[str, Any]:
        """Return lane, begin and end of the earliest free slot."""
        length = timedelta(seconds=self.config.job.seconds)
        rows = store.execute(select(JOB.c.lane, func.max(JOB.c.begins)).group_by(JOB.c.lane)).all()
        free = dict.fromkeys(range(self.config.job.lanes), moment)
        for lane, begins in rows:
            if lane in free:
                free[lane] = max(moment, begins + length)
        lane = min(free, key=lambda slot: (free[slot], slot))
        due = self.config.tick_after(free[lane] + length)
        return {"lane": lane, "begins": free[lane], "due": due}

    def _refuse(self, store: Connection, row: Row[Any], problems: Sequence[str]) -> None:
        _change(store, row.id, state="refused", problems=list(problems))
        details = {"query": row.query, "submission": row.id}
        audit.append(store, row.name, "refused", dataset=row.dataset, details=details)

    def end_dry_run(self, one: Dataset, digest: str, outcome: TaskResult | None) -> None:
        """Store the result of a dry run, and charge or refuse its submissions."""
        if outcome is None:
            problem = (
                f"the dry run took more than {self.config.job.seconds:g} seconds or "
                f"{self.config.job.memory_mb} MB; ask with fewer levels or a simpler model"
            )
            outcome = TaskResult(problems=(problem,))
        values: dict[str, Any] = {"limits": self.limits(one)}
        if outcome.problems:
            values |= {"state": "refused", "problems": list(outcome.problems)}
        else:
            values |= {
                "state": "done",
                "charge": outcome.charge or None,
                "result": dict(outcome.content),
                "page": outcome.page,
                "chosen": digest_of(outcome.chosen),
                "chosen_content": json.dumps(dict(outcome.chosen), sort_keys=True),
                "outlook": outcome.outlook,
                "words": list(outcome.words),
            }
        with transaction(self.engine) as store:
            one.ledger.lock(store)
            store.execute(update(DRY_RUN).where(*_of_dry_run(one.name, digest)).values(values))
            self.settle(store, one, digest)

    # Rows

    def _begin_dry_run(
        self, store: Connection, account: Account, one: Dataset, query: Mapping[str, Any]
    ) -> None:
        key = _of_dry_run(one.name, digest_of(query))
        # a dry run with other limits or files is not valid today
        store.execute(DRY_RUN.delete().where(*key, DRY_RUN.c.limits != self.limits(one)))
        if store.execute(select(DRY_RUN.c.state).where(*key)).first() is not None:
            return
        self._check_waiting(store, account)
        insert_once(
            store, DRY_RUN, dataset=one.name, query=digest_of(query), state="waiting",
            content=json.dumps(query, sort_keys=True), account=account.id, asked=now(),
        )  # fmt: skip

    def limits(self, one: Dataset) -> str:
        """Return the digest of limits and files, on which a dry run depends."""
        job, files = self.config.job, (one.schema.digest, one.synthetic_digest)
        limits = (job.seconds, job.memory_mb, job.confined, one.question_epsilon)
        return digest_of([*limits, *files])

    def _check_waiting(self, store: Connection, account: Account) -> None:
        """Raise RequestError if too many queries of an account wait."""
        jobs = select(func.count()).where(
            SUBMISSION.c.account == account.id,
            or_(
                SUBMISSION.c.state == "checking",
                and_(JOB.c.state.in_(("queued", "running")), SUBMISSION.c.charged > 0),
            ),
        )
        runs = select(func.count()).where(
            DRY_RUN.c.account == account.id, DRY_RUN.c.state.in_(("waiting", "running"))
        )
        joined = jobs.select_from(SUBMISSION.outerjoin(JOB, _job_of_submission()))
        counts = [store.execute(query).scalar_one() for query in (joined, runs)]
        if max(counts) >= self.config.job.waiting:
            raise RequestError(
                f"{max(counts)} of your queries wait, which is the limit; ask again when one of "
                "them is done",
                429,
            )

    def _dry_run(self, store: Connection, account: Account, one: Dataset, digest: str) -> DryRun:
        row = store.execute(select(DRY_RUN).where(*_of_dry_run(one.name, digest))).first()
        if row is None:
            raise RequestError("there is no such dry run; begin it first", 404)
        return DryRun(
            dataset=one.name,
            digest=digest,
            query=json.loads(row.content),
            state=row.state,
            problems=tuple(row.problems or ()),
            outlook=row.outlook,
            words=tuple(row.words or ()),
            chosen=json.loads(row.chosen_content) if row.chosen_content else None,
            epsilon=None if row.charge is None else row.charge / MICRO,
            questions=None if row.charge is None else one.questions(row.charge),
            is_charged=self._same(store, account, one, digest) is not None,
            content=row.result,
            page=row.page,
        )

    def _same(self, store: Connection, account: Account, one: Dataset, digest: str) -> str | None:
        """Return an earlier submission of the same question by an account."""
        rows = store.execute(
            select(SUBMISSION.c.id).where(
                SUBMISSION.c.account == account.id,
                SUBMISSION.c.version == one.ledger.version,
                SUBMISSION.c.query == digest,
                SUBMISSION.c.state != "refused",
            )
        ).first()
        return None if rows is None else str(rows.id)

    def _row(self, store: Connection, account: Account, submission: str) -> Row[Any]:
        with_answer = _all_submissions().add_columns(JOB.c.result, JOB.c.page)
        row = store.execute(with_answer.where(SUBMISSION.c.id == submission)).first()
        if row is None or (row.account != account.id and account.role == "researcher"):
            raise RequestError("you have no such query; see your list", 404)
        return row

    def _note_shown(self, account: Account, submission: Submission) -> None:
        """Log once that an answer is given, before it is shown."""
        first = update(SUBMISSION).where(
            SUBMISSION.c.id == submission.id, SUBMISSION.c.shown.is_(None)
        )
        details = {"query": submission.digest, "submission": submission.id}
        with transaction(self.engine) as store:
            if store.execute(first.values(shown=now())).rowcount:
                audit.append(
                    store, account.name, "answer given", dataset=submission.dataset, details=details
                )


def _change(store: Connection, submission: str, **values: Any) -> None:
    store.execute(update(SUBMISSION).where(SUBMISSION.c.id == submission).values(values))


def _of_dry_run(dataset: str, digest: str) -> tuple[Any, ...]:
    return DRY_RUN.c.dataset == dataset, DRY_RUN.c.query == digest


def _job_of_submission() -> Any:
    return and_(JOB.c.version == SUBMISSION.c.version, JOB.c.query == SUBMISSION.c.chosen)


def _all_submissions() -> Any:
    """Return the rows of submissions with user, query and slot; not their answers."""
    dry_run = and_(DRY_RUN.c.dataset == SUBMISSION.c.dataset, DRY_RUN.c.query == SUBMISSION.c.query)
    return select(
        SUBMISSION, ACCOUNT.c.name, DRY_RUN.c.content, JOB.c.state.label("job_state"), JOB.c.due
    ).select_from(
        SUBMISSION.join(ACCOUNT).join(DRY_RUN, dry_run).outerjoin(JOB, _job_of_submission())
    )


def _info(row: Row[Any], one: Dataset | None) -> Submission:
    return Submission(
        id=row.id,
        user=row.name,
        dataset=row.dataset,
        project=row.project,
        digest=row.query,
        query=json.loads(row.content),
        chosen=row.chosen,
        state=_state(row),
        problems=tuple(row.problems or ()),
        charged=row.charged / MICRO,
        questions=one.questions(row.charged) if one else 0,
        asked=row.made,
        due=row.due if row.state == "accepted" else None,
    )


def _state(row: Row[Any]) -> SubmissionState:
    if row.state in ("checking", "refused"):
        return "checking" if row.state == "checking" else "refused"
    return "answered" if row.job_state == "computed" and row.due <= now() else "waiting"
