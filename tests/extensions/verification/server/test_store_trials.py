"""Trials of the server that take minutes, on both databases: as jobs of scripts/benchmark.py."""

import pytest

from tests.extensions.verification.test_trials import rows_of

TRIALS = {
    "server_trials.races": {},
    "server_trials.crashes": {},
    "server_trials.differences": {},
    "server_trials.tampering": {},
    "server_trials.refusals": {},
    "server_channels.release_time": {},
    "http_trials.conversations": {},
    "page_claims.pages": {},
    "fuzz_server.bodies": {},
}


@pytest.mark.parametrize("name", TRIALS)
def test_every_claim_of_a_trial_holds(name):
    rows = rows_of(name, **TRIALS[name])
    assert rows
    assert [row for row in rows if not row.holds] == []
