"""The audit log is a chain of hashes: what was altered, taken out or cut off is found."""

import pytest
import server_trials as trials

from synthesizer.extensions.verification.database import transaction
from synthesizer.extensions.verification.messages import LedgerError
from synthesizer.extensions.verification.server import audit


@pytest.fixture
def log(database):
    trials.begin_audit(database, 40)
    return database


def test_an_entry_that_was_altered_taken_out_put_in_or_moved_is_found(log):
    assert trials.undetected_changes(log, range(1, 41)) == 0
    assert trials.undetected_changes(log, range(1, 41), trials.verify_hashes_only) > 0  # control
    for change in (trials.remove, trials.insert_one, trials.swap):
        for number in (1, 20):
            with trials.undone(log) as store:
                change(store, number)
                assert audit.verify(store).problems
    with transaction(log, reads=True) as store:
        made = audit.verify(store)
    assert (made.problems, made.head.number) == ((), 40)


@pytest.mark.parametrize("change", [trials.cut_off, trials.rewrite])
def test_what_is_cut_off_or_made_anew_is_found_by_a_noted_head(log, change):
    with transaction(log, reads=True) as store:
        noted = audit.Head.read(str(audit.head(store)))
    with trials.undone(log) as store:
        change(store, 30)
        assert audit.verify(store).problems == ()  # the control: the log itself shows nothing
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
    for wrong in ("", "12", "12:abc", "x:" + "0" * 64):
        with pytest.raises(LedgerError, match="NUMBER:HASH"):
            audit.Head.read(wrong)
