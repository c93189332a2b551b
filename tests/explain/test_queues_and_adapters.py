"""Jobs in one of several queues, in none, and jobs that ask for network adapters."""

import pytest

from gpuyard_advisor.explain import Verdict
from gpuyard_core.names import PRIORITY_LABEL, QUEUE_LABEL
from kit.cases.explain import GPU, job, local, one_team, running, said, state_of
from kit.stacks import cut_pool, plan_of, platform, pool, team

EFA = "vpc.amazonaws.com/efa"
STARTS, WAITS, NEVER = Verdict.STARTS, Verdict.WAITS, Verdict.NEVER


def several(enforce="deny", **queues):
    one = team(guarantee={"train": 8}, queues=queues)
    admission = {"enforce": enforce}
    return plan_of(platform([pool()], [one], cloud="simulated", admission=admission))


@pytest.mark.parametrize(
    ("label", "queue"),
    [(None, "default"), ("default", "default"), ("night", "night")],
)
def test_a_job_waits_in_the_queue_it_names(label, queue):
    found = said(several(default=1, night=1), job(labels={QUEUE_LABEL: label} if label else {}))
    assert (found.verdict, found.queue) == (STARTS, queue)


def test_a_queue_that_the_team_does_not_have_is_never():
    found = said(several(default=1, night=1), job(labels={QUEUE_LABEL: "nigth"}))
    assert (found.verdict, found.queue) == (NEVER, None)
    assert found.message == (
        f"its label {QUEUE_LABEL} names the queue nigth, but team vision has only default and night:"
        " no queue ever admits it"
    )
    assert [c.message for c in found.changes] == [f"remove the label {QUEUE_LABEL}: nigth"]


def test_a_job_without_a_label_where_no_queue_is_the_default_is_in_none():
    found = said(several("warn", batch=1, night=1), job())
    assert (found.verdict, found.queue) == (NEVER, None)
    assert found.message == (
        f"it has no label {QUEUE_LABEL}, and team vision has no queue called default, only batch and"
        " night, so no queue admits it; pool train: its nodes have the taint"
        " nvidia.com/gpu=present:NoSchedule, which the pods do not tolerate"
    )
    (change,) = found.changes
    assert (change.message, change.at, change.value) == (
        f"label it {QUEUE_LABEL}: batch",
        f"metadata.labels.{QUEUE_LABEL}",
        "batch",
    )


def test_the_policy_refuses_a_job_without_a_label_and_the_change_is_the_same():
    found = said(several(batch=1, night=1), job())
    assert found.message == (
        "the platform's admission policy rejects it: GPU-ADM-01: this Job requests GPUs but names no queue; "
        f"label it {QUEUE_LABEL}: batch"
    )
    assert [c.message for c in found.changes] == [f"label it {QUEUE_LABEL}: batch"]


def test_a_wrong_label_where_no_queue_is_the_default_is_to_be_another():
    found = said(several(batch=1), job(labels={QUEUE_LABEL: "default"}))
    assert (found.verdict, [c.value for c in found.changes]) == (NEVER, ["batch"])


def test_what_tolerates_the_taint_passes_by_the_queues():
    tolerations = [{"key": GPU, "operator": "Exists"}]
    found = said(several("warn", batch=1), job(tolerations=tolerations))
    assert found.verdict is STARTS
    assert any(
        c.endswith("only batch: the job bypasses every queue and quota") for c in found.cautions
    )


def with_adapters(count, name=EFA, gpus=8):
    value = job(gpus=gpus)
    container = value["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"][name] = count
    return value


@pytest.mark.parametrize("cloud", ["simulated", "aws"])
def test_adapters_that_the_machine_has_need_no_quota(cloud):
    plan = one_team([pool()], {"train": 16}, cloud=cloud)
    found = said(plan, with_adapters(32))
    assert (found.verdict, found.pools, found.cautions) == (STARTS, ("train",), ())


@pytest.mark.parametrize("cloud", ["simulated", "aws"])
def test_more_adapters_than_the_machine_has_are_never(cloud):
    plan = one_team([pool()], {"train": 16}, cloud=cloud)
    found = said(plan, with_adapters(33))
    assert (found.verdict, found.admitted) == (NEVER, True)
    assert "one pod requests 33 vpc.amazonaws.com/efa, and a node has 32" in found.message


def test_adapters_of_a_machine_without_any_are_never_on_a_cloud_that_is_known():
    plan = one_team([pool(machine="g6.xlarge")], {"train": 4}, cloud="aws")
    found = said(plan, with_adapters(1, gpus=1))
    assert (
        "requests 1 vpc.amazonaws.com/efa, and a node has no vpc.amazonaws.com/efa" in found.message
    )


@pytest.mark.parametrize(
    ("cloud", "name"),
    [
        ("none", EFA),
        ("none", "rdma/hca_shared_devices_a"),
        ("aws", "hugepages-2Mi"),
        ("gcp", "networking.gke.io.networks/rdma-0"),
    ],
)
def test_what_nobody_knows_of_nodes_is_said_and_not_refused(cloud, name):
    machine = {"machine": "a3-ultragpu-8g", "capacity": ["spot"]} if cloud == "gcp" else {}
    found = said(one_team([pool(**machine)], {"train": 8}, cloud=cloud), with_adapters(1, name))
    assert found.verdict is STARTS
    assert found.cautions == (f"it is unknown whether its nodes have {name}",)
    assert found.requests == {GPU: 8}


def test_fake_nodes_have_no_huge_pages():
    found = said(one_team([pool()], {"train": 8}), with_adapters("2Mi", "hugepages-2Mi"))
    assert found.verdict is NEVER
    assert "a node has no hugepages-2Mi" in found.message


def test_adapters_are_used_up_like_devices():
    busy = state_of(running("speech", 4, pods=4, nodes=["n0", "n1", "n2", "n3"]))
    half = with_adapters(32)
    half["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"][GPU] = 4
    assert said(local(), half, busy).verdict is STARTS


def test_adapters_on_cut_gpus_go_with_the_node():
    plan = one_team([cut_pool()], {"serve/3g.20gb": 2})
    value = job(gpus=1, resource="nvidia.com/mig-3g.20gb")
    value["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"][EFA] = 4
    assert said(plan, value).verdict is STARTS


def counting(queues=("default", "night"), hours=168):
    teams = [
        team("vision", guarantee={"train": 16}, queues=dict.fromkeys(queues, 1)),
        team("speech", borrow={"train": 16}, queues={"default": 1, "day": 1}),
    ]
    queueing = {"usage_half_life_hours": hours} if hours else {}
    priorities = {"high": 100}
    return plan_of(
        platform(
            [pool(nodes=2)], teams, cloud="simulated", queueing=queueing, priorities=priorities
        )
    )


HIGH = {PRIORITY_LABEL: "high"}
FIRST = (
    "among the queues of vision, the one with less usage is admitted first, whatever the priority; the usage is"
    " not known here"
)


def evicted(name):
    return (
        f"among the jobs of {name}, those of the queue with more usage are evicted first, whatever the priority;"
        " the usage of each queue is unknown"
    )


@pytest.mark.parametrize(
    ("jobs", "waiting", "labels", "cautions"),
    [
        ([], 0, {}, []),
        ([], 1, {}, ["1 job is already pending and may be admitted first", FIRST]),
        ([running("vision", 8, 2)], 0, HIGH, [FIRST, evicted("vision")]),
        ([running("speech", 8, 2)], 0, {}, [evicted("speech")]),
    ],
)
def test_where_use_is_counted_it_decides_and_is_not_known(jobs, waiting, labels, cautions):
    found = said(counting(), job(gpus=8, labels=labels), state_of(*jobs, waiting=waiting))
    assert found.verdict is STARTS
    assert list(found.cautions) == cautions


@pytest.mark.parametrize("plan", [counting(hours=None), counting(queues=("default",))])
def test_where_use_of_its_queues_is_not_compared_nothing_is_said_of_it(plan):
    found = said(plan, job(gpus=8, labels=HIGH), state_of(running("vision", 8, 2), waiting=1))
    assert list(found.cautions) == ["1 job is already pending and may be admitted first"]
