"""The nearest change makes the job start: it was tried, and here it is applied."""

import copy
from typing import Any

import pytest

from gpuyard_advisor.explain import Verdict
from kit.cases.explain import (
    GPU,
    SHARE,
    SLICE,
    SPEC,
    job,
    local,
    one_team,
    pod_spec,
    running,
    said,
    state_of,
)
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

RESOURCES = f"{SPEC}.containers[0].resources"


def changed(
    value: Any, limits: Any = None, requests: Any = None, pods: Any = None, **spec: Any
) -> Any:
    """The manifest after a person did what the answer says."""
    made = copy.deepcopy(value)
    inner = made["spec"]["template"]["spec"]
    resources = inner["containers"][0]["resources"]
    if limits is not None:
        resources["limits"] = limits
    if requests is not None:
        resources["requests"] = requests
    if pods is not None:
        made["spec"]["replicas" if "replicas" in made["spec"] else "parallelism"] = pods
    inner |= spec
    return made


@pytest.mark.repeats("tests/explain")
@pytest.mark.parametrize(
    ("value", "says", "at", "to", "by_hand"),
    [
        (
            job(resource="nvidia.com/gpus"),
            "request nvidia.com/gpu instead of nvidia.com/gpus",
            f"{SPEC}: nvidia.com/gpus",
            "nvidia.com/gpu: 1",
            {"limits": {GPU: 1}},
        ),
        (
            job(resource="nvidia.com/mig-3g.20g"),
            f"request {SLICE} instead of nvidia.com/mig-3g.20g",
            f"{SPEC}: nvidia.com/mig-3g.20g",
            f"{SLICE}: 1",
            {"limits": {SLICE: 1}},
        ),
        (
            job(pods=4, gpus=8),
            "run 3 pods instead of 4",
            f"{SPEC}: pods",
            3,
            {"pods": 3},
        ),
        (
            job(gpus=9),
            "request 8 nvidia.com/gpu per pod instead of 9 nvidia.com/gpu",
            f"{SPEC}: nvidia.com/gpu",
            8,
            {"limits": {GPU: 8}},
        ),
        (
            job(requests={"cpu": 500}),
            "request 192 CPUs per pod instead of 500 CPUs",
            f"{SPEC}: cpu",
            "192",
            {"requests": {"cpu": "192"}},
        ),
        (
            job(requests={"memory": "4Ti"}),
            "request 2048 GiB per pod instead of 4096 GiB",
            f"{SPEC}: memory",
            "2048Gi",
            {"requests": {"memory": "2048Gi"}},
        ),
        (
            job(nodeSelector={"disk": "ssd"}),
            "remove nodeSelector disk: ssd",
            f"{SPEC}.nodeSelector.disk",
            None,
            {"nodeSelector": {}},
        ),
        (
            job(gpus="500m"),
            f"write {RESOURCES}.limits.nvidia.com/gpu: 1",
            f"{RESOURCES}.limits.nvidia.com/gpu",
            1,
            {"limits": {GPU: 1}},
        ),
        (
            job(requests={GPU: 2}),
            f"write {RESOURCES}.requests.nvidia.com/gpu: 1",
            f"{RESOURCES}.requests.nvidia.com/gpu",
            1,
            {"requests": {GPU: 1}},
        ),
        (
            job(pods=8, gpus=4, kind="Deployment"),
            "run 6 pods instead of 8",
            f"{SPEC}: pods",
            6,
            {"pods": 6},
        ),
    ],
)
def test_one_change_suffices(value, says, at, to, by_hand):
    found = said(local(), value)
    assert found.verdict is Verdict.NEVER
    (change,) = found.changes
    assert (change.message, change.at, change.value) == (says, at, to)
    assert said(local(), changed(value, **by_hand)).verdict is Verdict.STARTS


def affinity(*pools):
    line = {"key": "gpuyard.dev/pool", "operator": "In", "values": list(pools)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [line]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_an_affinity_that_no_pool_meets_is_removed():
    value = job(affinity=affinity("gone"))
    (change,) = said(local(), value).changes
    assert change.message == "remove the required node affinity"
    assert said(local(), changed(value, affinity={})).verdict is Verdict.STARTS


def test_a_selector_that_leads_astray_is_removed():
    wrong = {"node.kubernetes.io/instance-type": "g6.12xlarge"}
    (change,) = said(local(), job(nodeSelector=wrong, namespace="speech")).changes
    assert change.message == "remove nodeSelector node.kubernetes.io/instance-type: g6.12xlarge"


def test_a_queue_label_that_leads_nowhere_is_removed():
    (change,) = said(local(), job(labels={"kueue.x-k8s.io/queue-name": "gold"})).changes
    assert (change.message, change.value) == (
        "remove the label kueue.x-k8s.io/queue-name: gold",
        None,
    )


def test_a_pool_is_named_by_the_label_that_queues_see():
    plan = one_team([pool("small", machine="g6.12xlarge"), pool()], {"small": 8, "train": 8})
    value = job(gpus=8)
    (change,) = said(plan, value).changes
    assert change.value == {"gpuyard.dev/pool": "train"}
    pinned = changed(value, nodeSelector={"gpuyard.dev/pool": "train"})
    assert said(plan, pinned).verdict is Verdict.STARTS


def test_two_changes_where_one_does_not_do():
    value = job(gpus=9, labels={"kueue.x-k8s.io/queue-name": "gold"})
    assert [c.message for c in said(local(), value).changes] == [
        "remove the label kueue.x-k8s.io/queue-name: gold",
        "request 8 nvidia.com/gpu per pod instead of 9 nvidia.com/gpu",
    ]


def test_a_name_and_a_number_at_once():
    (change,) = said(local(), job(gpus=9, resource="nvidia.com/gpus")).changes
    assert change.message == "request 8 nvidia.com/gpu instead of 9 nvidia.com/gpus"
    assert change.value == "nvidia.com/gpu: 8"


def test_nothing_small_helps():
    assert said(local(), job(resource="vpc.amazonaws.com/efa")).changes == ()
    assert said(one_team([pool()]), job()).changes == ()
    assert said(local(), job(namespace="default", gpus=99)).changes == ()
    assert said(local(), job(namespace="default", gpus="x")).changes == ()


def test_a_namespace_of_a_team_is_named():
    (change,) = said(local(), job(namespace="default")).changes
    assert change.message == "submit it in the namespace of a team, such as vision"
    assert (change.at, change.value) == ("metadata.namespace", "vision")
    (change,) = said(local(), job(namespace="default", resource=SHARE)).changes
    assert change.value == "speech"


def test_not_everything_is_tried():
    many = {"kind": "JobSet", "metadata": {"namespace": "vision"}}
    part = {"template": {"spec": {"template": {"spec": pod_spec(9, nodeSelector={"disk": "ssd"})}}}}
    many["spec"] = {"replicatedJobs": [part] * 40}
    assert said(local(), many).changes == ()


def test_a_job_that_would_wait_may_start_elsewhere():
    plan = one_team([pool("a", nodes=1), pool("b", nodes=1)], {"a": 8, "b": 8})
    busy = state_of(running(None, 4, pool="a", nodes=["n0"]))
    found = said(plan, job(gpus=8), busy)
    assert found.verdict is Verdict.WAITS
    assert [c.value for c in found.changes] == [{"gpuyard.dev/pool": "b"}]
    only_a = state_of(
        running(None, 4, pool="a", nodes=["n0"]), running(None, 4, pool="b", nodes=["n1"])
    )
    assert said(plan, job(gpus=8), only_a).changes == ()


def test_what_would_start_on_an_empty_platform_is_better_than_nothing():
    full = state_of(running("vision", 8, 3))
    found = said(local(), job(pods=4, gpus=8), full)
    assert [c.message for c in found.changes] == ["run 3 pods instead of 4"]


# ── the same in the stack file ────────────────────────────────────────────────────────────────────
def test_borrowing_what_the_answer_says_makes_it_start():
    pools = [pool(), cut_pool(), shared_pool()]
    teams = [team(guarantee={"train": 8}, borrow={"serve/3g.20gb": 1})]
    plan = plan_of(platform(pools, teams))
    found = said(plan, job(pods=3, gpus=8))
    assert found.stack_change == "allow team vision to borrow 16: teams[0].borrow.train: 16"
    more = [team(guarantee={"train": 8}, borrow={"train": 16})]
    assert said(plan_of(platform(pools, more)), job(pods=3, gpus=8)).verdict is Verdict.STARTS
    found = said(plan, job(gpus=4, resource=SLICE))
    assert found.stack_change == "allow team vision to borrow 4: teams[0].borrow.serve/3g.20gb: 4"


def test_more_nodes_where_the_pool_is_too_small():
    plan = one_team([pool(nodes=2)], {"train": 16})
    found = said(plan, job(pods=3, gpus=8))
    assert found.stack_change == (
        "raise train to 3 nodes (pools[0].nodes) and allow team vision to borrow 24 (teams[0].borrow.train)"
    )
    more = one_team([pool(nodes=3)], {"train": 24})
    assert said(more, job(pods=3, gpus=8)).verdict is Verdict.STARTS


def test_no_change_of_the_stack_where_quota_is_not_what_is_missing():
    assert said(local(), job(nodeSelector={"gpuyard.dev/pool": "dev"})).stack_change == ""
    assert said(local(), job(gpus=16)).stack_change == ""
    plan = one_team([shared_pool(), pool()], {"dev/shared": 8, "train": 8})
    assert said(plan, job(99, gpus=1, resource=SHARE)).stack_change.startswith("raise dev to ")


def test_no_quota_helps_a_pod_that_is_larger_than_a_node():
    plan = one_team([pool(nodes=2)], {"train": 16})
    assert said(plan, job(pods=3, gpus=8)).stack_change
    for more in ({"gpus": 16}, {"gpus": 8, "requests": {"memory": "9Ti"}}):
        found = said(plan, job(pods=3, **more))
        assert (found.verdict, found.stack_change) == (Verdict.NEVER, "")


def test_a_number_in_quotes_is_written_without():
    quoted = job(pods="2")  # type: ignore[arg-type]
    answer = said(local(), quoted)
    assert answer.verdict is Verdict.NEVER
    assert (
        "the API server rejects it: spec.parallelism: '2' is not a whole number" in answer.message
    )
    (change,) = answer.changes
    assert (change.message, change.at, change.value) == (
        "write spec.parallelism: 2",
        "spec.parallelism",
        2,
    )
    assert said(local(), changed(quoted, pods=2)).verdict is Verdict.STARTS
