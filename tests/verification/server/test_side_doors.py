"""Trials of side doors, small: the jobs of server_channels are in full."""

from pathlib import Path
from statistics import median

from scipy.stats import ks_2samp
from server_channels import Canary, control, injection, releases


def test_the_time_of_release_does_not_tell_of_a_slow_job():
    plain, slow = ([one.seconds for one in side] for side in releases(24))
    assert ks_2samp(plain, slow).pvalue > 1e-6


def test_were_answers_to_leave_when_ready_it_would():
    sides = releases(8, at_once=True, lanes=2)
    plain, slow = (median(one.seconds for one in side) for side in sides)
    assert plain < slow


def test_no_text_of_a_query_runs_code(tmp_path: Path):
    tried, _, did = injection(30)
    assert tried > 500
    assert did == 0
    canary = Canary(tmp_path)  # the control: by eval the same payloads do
    try:
        assert control(canary.payloads[:-2], canary) >= 5
    finally:
        canary.close()
