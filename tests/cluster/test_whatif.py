"""Jobs of a public trace through a real Kueue and kube-scheduler, and the replay of the same jobs.

`benchmarks/whatif_live.py` does the same with 1,000 jobs of two traces.
"""

from dataclasses import replace

import pytest

from gpuyard_simulate import cluster
from kit.cluster.judged import JUDGED, judge, observe
from kit.traces import trace_file, trace_jobs

pytestmark = [pytest.mark.cluster]

JOBS = 80
SMALL = replace(JUDGED["openb"], train=1, burst=1, halves=1, seconds=500, longest=8)
"""Forty seconds of submissions for a tenth of the nodes."""


def test_a_replay_predicts_the_order_waits_and_node_hours_of_a_real_cluster(
    started: cluster.Outcome,
):
    jobs = trace_jobs(trace_file("openb", "openb_pod_list_default.csv"))
    found = judge(observe(started.status.name, SMALL, jobs, JOBS))
    print(*found.figures(), sep="\n")  # noqa: T201  the figures of a longer run
    assert found.order.wrong_pairs <= 0.05
    errors = {title: error for title, _, _, error in found.figures()}
    assert abs(errors["wait P95"]) <= 0.25
    assert abs(errors["node-hours"]) <= 0.10
