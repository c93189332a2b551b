"""A tree of cohorts and network adapters, on a real Kueue that counts use as well."""

from collections.abc import Iterator

import pytest

from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api
from kit.cluster import lab as reality
from kit.cluster.queues import QueueLab, job, kueue_as_rendered, one_pool, soon

pytestmark = [pytest.mark.cluster]

COUNTING = {"usage_half_life_hours": 24}


@pytest.fixture(scope="module")
def kueue(started: cluster.Outcome) -> Iterator[Api]:
    """The cluster with Kueue set up as these platforms set it up: use is counted."""
    raw = one_pool("any", 1, a={"queues": {"default": 1, "other": 1}}, queueing=COUNTING)
    with kueue_as_rendered(started.status.name, raw) as api:
        yield api


def test_a_cohort_borrows_to_its_limit_and_gives_back_across_the_tree(kueue: Api):
    cohorts = [{"name": "labs", "borrow": {"tree": 4}}]
    raw = one_pool(
        "tree",
        2,
        a={"guarantee": 4, "borrow": 8, "cohort": "labs"},
        b={"guarantee": 4, "cohort": "labs"},
        c={"guarantee": 8},
        queueing={"cohorts": cohorts, **COUNTING},
    )
    with QueueLab(kueue, raw) as lab:
        for index in range(4):
            lab.submit("a", f"a{index}", gpus=4)
        lab.comes_to(a=12, b=0, c=0)  # 4 of its own, 4 of b, 4 from outside
        lab.submit("b", "b", gpus=4)
        lab.expect("b", "b", "admitted")
        lab.submit("c", "c", gpus=8)
        lab.expect("c", "c", "admitted")
        lab.comes_to(a=4, b=4, c=8)


def test_a_job_that_asks_for_every_adapter_of_its_node_runs(kueue: Api):
    with QueueLab(kueue, one_pool("efa", 1, a={"guarantee": 8}, queueing=COUNTING)) as lab:
        made = job(lab.namespace("a"), "nccl")
        container = made["spec"]["template"]["spec"]["containers"][0]
        container["resources"]["limits"]["vpc.amazonaws.com/efa"] = "32"
        told = lab.explained(made)
        assert told.verdict == "starts", told
        lab.noted(made)
        reality.create(kueue, reality.path_of(made).rpartition("/")[0], made)
        lab.expect("a", "nccl", "admitted")
        soon(lambda: lab.running("a", "nccl") == 1, "the pod to run")
