"""T12 and T20: no reply, header or line of the log reveals the data, but through the noise."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from http_trials import QUERIES, conversation, differences, in_this_process
from replay_trials import people

from synthesizer.extensions.verification.server import runner
from synthesizer.extensions.verification.server.server_config import JobLimits


def rows_of(task):
    return pa.ipc.open_file(task.prepared).read_all().num_rows


@pytest.fixture
def counting():
    """Return a process whose page contains the number of rows: a leak."""

    def process(task):
        done = runner.outcome(task, JobLimits())
        if task.prepared is None:
            return done
        return done.model_copy(update={"page": f"{rows_of(task)} rows"})

    return process


@pytest.fixture
def giving_up():
    """Return a process that dies where the data have a further person: an error that leaks."""

    def process(task):
        if task.prepared is not None and rows_of(task) > 240:
            return None
        return runner.outcome(task, JobLimits())

    return process


@pytest.mark.parametrize("control", ["counting", "giving_up"])
def test_leaks_are_seen(control, request):
    frame = people(60, seed=1)
    other = frame[frame["person"] != "p3"]
    newcomer = frame[frame["person"] == "p3"].assign(person="newcomer")
    other = other if control == "counting" else pd.concat([frame, newcomer])
    assert differences(frame, other, QUERIES[:1], request.getfixturevalue(control))


def canaries(frame):
    """Return a file whose values are found where they stand, and texts that must not be."""
    pay = [73_313.5 + 8 * row for row in range(len(frame))]
    frame = frame.assign(pay=pay, person=[f"zq{one}qz" for one in frame["person"]])
    return frame, [*map(str, pay), *sorted(set(frame["person"]))]


def released_bytes(talk, folder, inputs):
    """Return all bytes that left the server: replies, log, and the files that it made."""
    made = [path for path in folder.iterdir() if path.name not in inputs]
    assert any(path.name.startswith("server.sqlite") for path in made)
    replies = b"".join(body + repr(headers).encode() for _, headers, body in talk.replies)
    files = (path for path in made if path.is_file())  # not the copies for jobs: secret, too
    return replies + talk.log.getvalue().encode() + b"".join(p.read_bytes() for p in files)


def found_in(tmp_path, run):
    frame, texts = canaries(people(60, seed=1))
    frame.to_csv(tmp_path / "confidential.csv", index=False)
    talk = conversation(tmp_path / "confidential.csv", tmp_path, QUERIES[:3], run)
    assert b"The chain is intact" in talk.replies[-1][2]  # the chain of the audit log
    all_bytes = released_bytes(talk, tmp_path, ("confidential.csv", "synthetic.csv", "schema.yaml"))
    return [text for text in texts if text.encode() in all_bytes]


def test_no_confidential_value_is_in_replies_log_or_database(tmp_path):
    assert found_in(tmp_path, in_this_process) == []


def telling(task):
    done = runner.outcome(task, JobLimits())
    if task.prepared is not None:
        folder = Path(task.prepared).parents[1]
        row = (folder / "confidential.csv").read_text().splitlines()[1]
        return done.model_copy(update={"content": {**done.content, "row": row}})
    return done


def test_a_value_that_leaves_with_an_answer_is_found(tmp_path):
    """Control."""
    assert len(found_in(tmp_path, telling)) == 2
