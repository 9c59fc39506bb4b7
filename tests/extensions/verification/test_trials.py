"""Each trial of docs/verification.md, small: what is claimed holds, and every control finds
what was planted. Those of the server's database and pages are in server/test_store_trials.py.
"""

from importlib import import_module

import pytest
from measuring import JOBS

TRIALS = {
    "noise_trials.law": {"draws": 10_000},
    "noise_trials.floats": {},
    "noise_trials.forks": {},
    "noise_trials.modes": {},
    "noise_trials.intervals": {},
    "noise_trials.categories": {"draws": 2_000_000},
    "noise_trials.errors": {},
    "partition_trials.dealing": {},
    "replay_trials.replay": {"pairs": 12},
    "server_channels.code": {"number": 30},
}
"""Names of jobs, with settings that are smaller than those of ``--small``."""


def rows_of(name, **settings):
    """Return what a job claims, each with whether it holds."""
    import_module(name.partition(".")[0])
    rows = JOBS[name].run(**JOBS[name].small | settings)
    return [row for row in rows if row.holds is not None]


@pytest.mark.parametrize("name", TRIALS)
def test_every_claim_of_a_trial_holds(name):
    rows = rows_of(name, **TRIALS[name])
    assert rows
    assert [row for row in rows if not row.holds] == []
