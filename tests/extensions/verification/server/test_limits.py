"""What a server's limits decide: how much may wait, and what was rehearsed under other limits."""

import pytest
from replay_trials import GAP

from synthesizer.extensions.verification.database import transaction
from synthesizer.extensions.verification.messages import RequestError
from synthesizer.extensions.verification.server import runner
from synthesizer.extensions.verification.server.dispatch import Dispatcher
from synthesizer.extensions.verification.server.server_config import JobLimits
from synthesizer.extensions.verification.server.server_datasets import open_datasets
from synthesizer.extensions.verification.server.server_tables import JOB
from synthesizer.extensions.verification.server.service import Service
from tests.extensions.verification.server.conftest import ask, spent

pytestmark = pytest.mark.usefixtures("project")


def restarted(service, **limits):
    """Return the service of a server that starts again with other limits of its jobs."""
    job = service.config.job.model_copy(update=limits)
    config = service.config.model_copy(update={"job": job})
    return Service(service.engine, config, open_datasets(service.engine, config))


LOWER = [{"memory_mb": 2_000}, {"seconds": 1.25}]


class Process:
    """Runs tasks in this process, but lets none through that is rehearsed under low limits."""

    def __init__(self, *, is_within_limits=True):
        self.is_within_limits, self.kinds = is_within_limits, []

    def __call__(self, task, limits, *, seconds, is_stopped):
        self.kinds.append("dry run" if task.prepared is None else "answer")
        if task.prepared is None and not self.is_within_limits:
            return runner.TaskResult(problems=("too large",))
        return runner.outcome(task, JobLimits(seconds=3_600, memory_mb=1_000_000))


@pytest.mark.parametrize("limits", LOWER)
def test_a_dry_run_of_other_limits_is_made_again_before_the_charge(service, ada, work, limits):
    service.dry_run(ada, "panel", GAP)
    work(service)
    assert restarted(service).dry_run(ada, "panel", GAP).state == "done"  # of the same limits
    again = restarted(service, **limits)
    submission = ask(again, ada)
    assert (submission.state, spent(again)) == ("checking", 0)
    work(again, process=Process(is_within_limits=False))
    current = again.find(ada, submission.id)
    assert (current.state, current.problems, spent(again)) == ("refused", ("too large",), 0)
    assert ask(service, ada).state == "checking"  # and once more under the limits of before
    work(service)
    assert spent(service) == 1.0


def test_a_refusal_of_another_public_schema_is_forgotten_with_it(service, ada, work):
    """A dry run that waits is refused by a server with another schema; the old one tries anew."""
    submission = ask(service, ada)
    path = service.config.datasets["panel"].public_schema
    old = path.read_text()
    path.write_text(old.replace("period: year", "period: age"))
    again = restarted(service)
    path.write_text(old)
    work(again)
    assert service.find(ada, submission.id).state == "refused"
    assert ask(service, ada).state == "checking"
    work(service)
    assert spent(service) == 1.0


@pytest.mark.parametrize("limits", LOWER)
def test_a_charged_query_of_other_limits_is_rehearsed_again_before_it_runs(
    service, ada, work, limits
):
    submission = ask(service, ada)
    work(service)
    process, again = Process(), restarted(service, **limits)
    assert Dispatcher(again, process=process).answer_next(0)
    assert process.kinds == ["dry run", "answer"]
    with transaction(service.engine, reads=True) as store:
        assert [job.state for job in store.execute(JOB.select())] == ["computed"]
    assert (again.find(ada, submission.id).charged, spent(again)) == (1.0, 1.0)


def test_a_charged_query_that_needs_more_waits_and_the_log_warns(service, ada, work, caplog):
    """No process sees confidential data, so what waits hangs on public facts alone."""
    submission = ask(service, ada)
    work(service)
    process, again = Process(is_within_limits=False), restarted(service, memory_mb=500)
    dispatcher = Dispatcher(again, process=process)
    assert [dispatcher.answer_next(0) for _ in range(3)] == [True, False, False]
    assert process.kinds == ["dry run"]
    assert len(caplog.records) == 1
    assert "limits" in caplog.records[0].getMessage()
    assert not again.list_datasets()[0].is_paused
    current = again.find(ada, submission.id)
    assert (current.state, current.charged) == ("waiting", 1.0)
    process = Process()
    assert Dispatcher(service, process=process).answer_next(0)  # with the limits of before
    assert process.kinds == ["answer"]


# So much may wait


@pytest.fixture
def narrow(service):
    """Return the service with room for two queries and two dry runs of each account."""
    job = service.config.job.model_copy(update={"waiting": 2, "seconds": 3_600})
    service.config = service.config.model_copy(update={"job": job})
    return service


def status_of(call, *args, **changes):
    with pytest.raises(RequestError) as caught:
        call(*args, **changes)
    return caught.value.status


def test_so_many_queries_and_so_many_dry_runs_of_an_account_wait(narrow, ada, bob, work):
    def dry_run(epsilon):
        return narrow.dry_run(ada, "panel", {**GAP, "epsilon": epsilon}).state

    ask(narrow, ada, epsilon=0.1)
    work(narrow)  # charged, but not answered; dry runs are counted apart
    assert [dry_run(0.5), dry_run(0.6), status_of(dry_run, 0.7)] == ["waiting", "waiting", 429]
    work(narrow)
    assert dry_run(0.7) == "waiting"
    work(narrow)
    ask(narrow, ada, epsilon=0.2)
    assert status_of(ask, narrow, ada, epsilon=0.3) == 429
    assert ask(narrow, bob, epsilon=0.3).state == "checking"
    work(narrow, answers=True)  # one is computed
    assert ask(narrow, ada, epsilon=0.4).state == "checking"
    assert len(narrow.submissions(ada)) == 3


def test_a_refused_question_that_is_asked_again_is_another_submission(service, ada, work):
    first = ask(service, ada, epsilon=4.0)  # more than the cap
    work(service)
    second = ask(service, ada, epsilon=4.0)
    assert (second.id != first.id, second.state) == (True, "refused")
    service.datasets["panel"].ledger.set_cap("global", "", 5.0)
    service.datasets["panel"].ledger.set_cap("analysis", "gap", 5.0)
    third = ask(service, ada, epsilon=4.0)
    assert (third.state, third.charged) == ("waiting", 4.0)
    assert ask(service, ada, epsilon=4.0).id == third.id
    assert [one.state for one in service.submissions(ada)] == ["waiting", "refused", "refused"]
