"""From a question to its answer: what is charged, when it leaves, what a death costs."""

import random
import time
from datetime import UTC, datetime, timedelta

import pytest
from replay_trials import GAP

from synthesizer.data.errors import DataError
from synthesizer.extensions.verification.database import now, transaction
from synthesizer.extensions.verification.public_schema import digest_of
from synthesizer.extensions.verification.server.dispatch import Dispatcher
from synthesizer.extensions.verification.server.server_config import JobLimits
from synthesizer.extensions.verification.server.server_datasets import open_datasets
from synthesizer.extensions.verification.server.server_tables import JOB
from synthesizer.extensions.verification.server.service import Service
from tests.extensions.verification.server.conftest import ask, in_this_process, log_of, spent

pytestmark = pytest.mark.usefixtures("project")


def until(service, account, submission, state, seconds=600.0):
    end = time.monotonic() + seconds
    while (current := service.find(account, submission)).state != state:
        assert time.monotonic() < end, current
        time.sleep(0.05)
    return current


def test_a_question_is_checked_charged_once_and_answered_when_due(service, ada, bob, work, files):
    """The confidential file was read when the server started, and is away by then."""
    first = ask(service, ada)
    assert (first.state, first.charged) == ("checking", 0)
    away = files[0].rename(files[0].with_suffix(".away"))
    dispatcher = Dispatcher(service)  # with real processes
    dispatcher.start()
    try:
        answered = until(service, ada, first.id, "answered")
        assert answered.due <= now()
        assert answered.charged == 1.0
        ((held,),) = answered.content["answer"]["released"]
        again = ask(service, bob, formula="I( log(pay) ) ~ age + sex|year+agency", epsilon=1)
        assert (again.state, again.charged) == ("answered", 0)
        assert service.find(bob, again.id).content["answer"]["released"] == [[held]]
        assert ask(service, ada).id == first.id
    finally:
        dispatcher.stop()
        away.rename(files[0])
    second = ask(service, ada, epsilon=0.5)
    work(service)
    with transaction(service.engine) as store:  # as a server that dies leaves it
        store.execute(JOB.update().where(JOB.c.state == "queued").values(state="running"))
    dispatcher = Dispatcher(service, process=in_this_process)
    dispatcher.start()
    try:
        until(service, ada, second.id, "answered")
    finally:
        dispatcher.stop()
    assert spent(service) == 1.5


def test_an_answer_leaves_at_a_time_that_was_fixed_before_its_job_began(service, ada, work):
    """T8: durations that hang on the data change nothing; by the end of the job they would."""
    service.config = service.config.model_copy(update={"job": JobLimits(seconds=3_600)})
    ask(service, ada)
    ask(service, ada, epsilon=0.5)
    work(service)
    dues = sorted(s.due for s in service.submissions(ada))
    length = timedelta(seconds=service.config.job.seconds)
    assert dues[1] - dues[0] >= length - timedelta(seconds=service.config.tick)
    early = service.find(ada, service.submissions(ada)[-1].id)
    assert early.state == "waiting"
    work(service, answers=True)  # computed at once, long before they are due
    with transaction(service.engine, reads=True) as store:
        assert {row.state for row in store.execute(JOB.select())} == {"queued", "computed"}
    after = service.find(ada, early.id)
    assert (after.state, after.content, after.due) == ("waiting", None, early.due)


@pytest.mark.parametrize("tick", [0.2, 1, 7, 30])
def test_ticks_are_multiples_and_never_early(config, tick):
    config = config.model_copy(update={"tick": tick})
    rng = random.Random(1)
    for _ in range(200):
        moment = datetime.fromtimestamp(rng.uniform(1e9, 2e9), UTC)
        due = config.tick_after(moment)
        assert timedelta(0) <= due - moment + timedelta(microseconds=5)
        assert due - moment < timedelta(seconds=tick)
        assert abs(due.timestamp() / tick - round(due.timestamp() / tick)) < 1e-5


@pytest.mark.parametrize(("deaths", "state"), [(2, "waiting"), (3, "refused")])
def test_a_dry_run_whose_process_dies_is_tried_again_twice(service, ada, deaths, state):
    submission = ask(service, ada)
    failures = iter([None] * deaths)

    def dies(task, limits, *, seconds, is_stopped):
        return next(failures, in_this_process(task, limits, seconds=seconds, is_stopped=is_stopped))

    dispatcher = Dispatcher(service, process=dies)
    while dispatcher.check_next(0):
        pass
    current = service.find(ada, submission.id)
    assert (current.state, current.charged) == (state, 1.0 if state == "waiting" else 0)
    assert [problem.partition(" more than")[0] for problem in current.problems] == (
        [] if state == "waiting" else ["the dry run took"]
    )


def test_a_process_that_dies_pauses_the_dataset_for_everybody(service, ada, bob, work, caplog):
    """Neither answer nor refund nor error: who asked sees what everybody sees, a pause."""
    submission, other = ask(service, ada), ask(service, bob, epsilon=0.5)
    work(service)
    work(service, answers=True, process=lambda *_, **__: None)
    assert service.list_datasets()[0].is_paused
    assert "panel" in caplog.text
    assert submission.digest not in caplog.text
    work(service, answers=True)  # nothing runs while it is paused
    for account, one, charged in ((ada, submission, 1.0), (bob, other, 0.5)):
        current = service.find(account, one.id)
        assert (current.state, current.charged, current.content) == ("waiting", charged, None)
    assert [e.action for e in log_of(service)[:2]] == ["paused", "process died"]
    assert [(one.dataset, one.actor) for one in service.alarms()] == [("panel", "server")]
    service.datasets["panel"].ledger.set_paused(False)
    assert service.alarms() == []
    work(service, answers=True)
    until(service, ada, submission.id, "answered")
    assert spent(service) == 1.5


def test_an_answer_that_a_busy_computer_holds_up_leaves_by_whole_slots(service, ada, work):
    service.config = service.config.model_copy(
        update={"tick": 1.0, "job": JobLimits(seconds=3_600)}
    )
    submission = ask(service, ada)
    work(service)
    due = service.find(ada, submission.id).due - timedelta(hours=2.5)
    with transaction(service.engine) as store:
        store.execute(JOB.update().values(due=due))
    work(service, answers=True)
    late = service.find(ada, submission.id)
    assert (late.state, late.content) == ("waiting", None)
    assert late.due == due + timedelta(hours=2)


def test_a_job_whose_slot_is_over_gets_another_one_before_it_runs(service, ada, work):
    service.config = service.config.model_copy(update={"job": JobLimits(seconds=3_600)})
    first, second = ask(service, ada), ask(service, ada, epsilon=0.5)
    work(service)
    with transaction(service.engine) as store:
        long_ago = now() - timedelta(days=2)
        store.execute(JOB.update().values(begins=long_ago, due=long_ago + timedelta(hours=1)))
    runs, run = [], in_this_process
    dispatcher = Dispatcher(service, process=lambda *a, **k: (runs.append(now()), run(*a, **k))[1])
    assert dispatcher.answer_next(0)
    assert dispatcher.answer_next(0)
    assert runs == []  # both were given slots, and no job ran
    slots = sorted(service.find(ada, one.id).due for one in (first, second))
    assert (slots[1] - slots[0]).total_seconds() == pytest.approx(3_600, abs=60)
    assert slots[0] >= now()


@pytest.mark.parametrize("copy", ["absent", "there", "damaged"])
def test_a_file_of_more_rows_than_are_public_is_refused_at_every_start(engine, config, copy):
    """`rows` decides nothing about how cells are read, so a copy may be older than the bound."""
    if copy != "absent":
        path = open_datasets(engine, config)["panel"].prepared
        if copy == "damaged":
            path.write_bytes(path.read_bytes()[:100])
    schema = config.datasets["panel"].public_schema
    schema.write_text(schema.read_text() + "rows: 10\n")
    with pytest.raises(DataError, match="more rows"):
        open_datasets(engine, config)


@pytest.mark.parametrize("key", ["public_schema", "synthetic"])
def test_a_charged_query_waits_for_the_schema_and_synthetic_file_that_it_is_about(
    service, ada, work, config, engine, tmp_path, key, caplog
):
    """after a restart with others its process reports problems, which is no death."""
    submission = ask(service, ada)
    work(service)
    old = config.datasets["panel"]
    text = getattr(old, key).read_text()
    new = tmp_path / f"new{getattr(old, key).suffix}"
    if key == "synthetic":
        new.write_text(text + text.splitlines()[-1] + "\n")
    else:
        new.write_text(text.replace("period: year", "period: age"))
    changed = config.model_copy(update={"datasets": {"panel": old.model_copy(update={key: new})}})
    again = Service(engine, changed, open_datasets(engine, changed))
    dispatcher = Dispatcher(again, process=in_this_process)
    assert [dispatcher.answer_next(0) for _ in range(5)] == [True, False, False, False, False]
    with transaction(engine, reads=True) as store:
        assert [job.state for job in store.execute(JOB.select())] == ["queued"]
    assert "process died" not in {entry.action for entry in log_of(service)}
    assert "panel" in caplog.text
    assert ask(again, ada).id != submission.id  # the new one is another question
    work(service, answers=True)  # they are put back
    until(service, ada, submission.id, "answered")


def test_a_file_that_changed_holds_up_no_other_dataset(
    config, engine, ada, sam, work, tmp_path, caplog
):
    """Nor does it hold the database, whatever the lane has before the others."""
    changed = tmp_path / "changed.csv"
    changed.write_bytes(config.datasets["panel"].synthetic.read_bytes())
    first = config.datasets["panel"].model_copy(update={"synthetic": changed})
    both = config.model_copy(
        update={
            "datasets": {"changed": first, **config.datasets},
            "job": JobLimits(seconds=3_600),
        }
    )
    service = Service(engine, both, open_datasets(engine, both))
    for name in both.datasets:
        service.projects.make(sam, f"gap of {name}", name, ["ada"], questions=1)
        service.submit(ada, name, GAP, project=f"gap of {name}")
    work(service)
    with transaction(engine) as store:  # both slots have begun
        store.execute(JOB.update().values(begins=now() - timedelta(seconds=1)))
    away = changed.rename(tmp_path / "away.csv")
    changed.write_text("")
    dispatcher = Dispatcher(service, process=in_this_process)
    assert [dispatcher.answer_next(0) for _ in range(3)] == [True, False, False]
    states = {
        one.name: one.ledger.answer(digest_of(one.asked(GAP))) for one in service.datasets.values()
    }
    assert (states["changed"], states["panel"] is None) == (None, False)
    lines = [record.getMessage() for record in caplog.records]
    assert [line.partition(":")[0] for line in lines] == ["datasets.changed"]
    away.replace(changed)  # no attempt was counted
    assert dispatcher.answer_next(0)
    one = service.datasets["changed"]
    assert one.ledger.answer(digest_of(one.asked(GAP))) is not None


def test_a_look_that_finds_nothing_new_waits_for_no_other(service, ada, work):
    """A look that took the lock of the file would fail here, and delay others' releases."""
    service.config = service.config.model_copy(update={"job": JobLimits(seconds=3_600)})
    submission = ask(service, ada)
    work(service)
    work(service, answers=True)
    dispatcher = Dispatcher(service)
    with transaction(service.engine):
        assert service.find(ada, submission.id).state == "waiting"
        assert not dispatcher.answer_next(0)
        assert not dispatcher.check_next(0)


def test_of_two_first_looks_at_once_one_is_on_record(service, ada, sam, work):
    submission = ask(service, ada)
    work(service)
    work(service, answers=True)
    with transaction(service.engine) as store:
        store.execute(JOB.update().values(due=now()))
    current = service.find(sam, submission.id)  # a steward's look is none of the owner's
    assert current.state == "answered"
    for _ in range(2):  # both saw that it was not shown
        service._note_shown(ada, current)
    service.find(ada, submission.id)
    given = [one for one in log_of(service) if one.action == "answer given"]
    assert len(given) == 1
