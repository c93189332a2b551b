"""What a namespace lets in beside GPUs, as `explain` tells it."""

from dataclasses import replace

import pytest

from gpuyard_advisor.explain import Verdict
from kit.cases.explain import GPU, SHARE, job, local, one_team, running, said, state_of
from kit.stacks import plan_of, platform, pool, team

NEVER, STARTS, WAITS = Verdict.NEVER, Verdict.STARTS, Verdict.WAITS
TOLERATED = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
EVICTED = (
    "After 5 minutes Kueue evicts the whole job and requeues it 1 minute later,"
    " then after twice as long, up to 1 hour."
)


def limited(**limits):
    """Four nodes with eight GPUs and 192 CPUs each, for one team that may have less than all of it."""
    mine = team(guarantee={"train": 32}, limits=limits)
    return plan_of(platform([pool()], [mine], cloud="simulated", admission={"enforce": "warn"}))


# ── one container ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", ["Job", "Pod", "Deployment", "JobSet"])
def test_a_container_larger_than_any_node_is_not_let_in(kind):
    if kind == "JobSet":
        template = {"spec": job(requests={"cpu": 193})["spec"]}
        value = job(kind="Job") | {"kind": kind}
        value["spec"] = {"replicatedJobs": [{"name": "a", "replicas": 1, "template": template}]}
    else:
        value = job(kind=kind, requests={"cpu": 193})
    found = said(local(), value)
    assert (found.verdict, found.admitted) == (NEVER, False)
    assert found.message == (
        "one of its containers has a request or limit of 193 CPUs, and the LimitRange of"
        " namespace vision allows at most 192 CPUs"
    )


def test_a_limit_counts_as_much_as_a_request():
    value = job()
    value["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = "3Ti"
    found = said(local(), value)
    assert "has a request or limit of 3072 GiB" in found.message
    assert found.verdict is NEVER


def test_init_containers_are_held_to_it_too():
    first = {"resources": {"requests": {"cpu": "200"}}}
    assert said(local(), job(initContainers=[first])).verdict is NEVER


def test_a_job_of_no_pods_has_no_container():
    assert said(local(), job(pods=0, requests={"cpu": 500})).verdict is STARTS


def test_the_limit_of_a_team_holds_for_one_container_as_well():
    found = said(limited(cpu=64), job(requests={"cpu": 65}))
    assert found.message.endswith("allows at most 64 CPUs")
    assert [c.message for c in found.changes] == ["request 64 CPUs per pod instead of 65 CPUs"]


def test_other_namespaces_have_no_such_limit():
    found = said(local(), job(gpus=None, namespace="elsewhere", requests={"cpu": 500}))
    assert "LimitRange" not in found.message


# ── all pods together ─────────────────────────────────────────────────────────────────────────────
def test_a_gang_beyond_the_quota_is_admitted_and_never_whole():
    found = said(limited(cpu=300), job(pods=4, gpus=8, requests={"cpu": 100}))
    assert (found.verdict, found.admitted, found.pods_started) == (NEVER, True, 0)
    assert found.message == (
        "its pods request 400 CPUs in total, and the ResourceQuota of namespace vision allows 300 CPUs"
    )
    assert (found.conditions, found.meanwhile) == ((), "")
    assert found.pools == ("train",)
    assert found.stack_change == "raise the limit of team vision: teams[0].limits.cpu: 400"
    assert [c.message for c in found.changes] == ["request 75 CPUs per pod instead of 100 CPUs"]


@pytest.mark.parametrize(
    ("limits", "requests", "asked", "word"),
    [
        ({"memory_gib": 100}, {"memory": "60Gi"}, "120 GiB", "memory_gib: 120"),
        ({"memory_gib": 100}, {"memory": "50.5Gi"}, "101 GiB", "memory_gib: 101"),
        ({"pods": 1}, {}, "2 pods", "pods: 2"),
        ({"cpu": 1}, {"cpu": "600m"}, "1.2 CPUs", "cpu: 2"),
    ],
)
def test_memory_and_the_number_of_pods_are_counted_as_well(limits, requests, asked, word):
    found = said(limited(**limits), job(pods=2, requests=requests))
    assert found.message.startswith(f"its pods request {asked} in total")
    assert found.stack_change.endswith(word)


def test_what_runs_already_is_counted_and_then_it_waits():
    plan = limited(cpu=300)
    busy = state_of(running("vision", 8, nodes=["train-000", "train-001"]))
    for pods in busy.jobs[0].pods:
        pods.requests["cpu"] = 100_000
    found = said(plan, job(pods=2, gpus=8, requests={"cpu": 100}), busy)
    assert (found.verdict, found.admitted) == (WAITS, True)
    assert found.message == (
        "its pods request 200 CPUs in total, and the ResourceQuota of namespace vision allows"
        " 300 CPUs and its pods use 200 CPUs"
    )
    assert found.conditions == ("when pods of team vision that use 100 CPUs have ended",)
    assert found.meanwhile == (
        "Kueue admits it, and the API server rejects each pod beyond the quota; existing pods"
        f" keep their GPUs. {EVICTED}"
    )
    assert said(plan, job(gpus=8, requests={"cpu": 100}), busy).verdict is STARTS


def test_pods_of_another_team_do_not_count():
    teams = [team(guarantee={"train": 8}, limits={"pods": 2}), team("b", guarantee={"train": 8})]
    plan = plan_of(platform([pool()], teams, cloud="simulated"))
    others = state_of(running("b", 1, pods=8))
    assert said(plan, job(pods=2), others).verdict is STARTS


def test_a_pod_of_its_own_is_refused_at_once():
    found = said(limited(cpu=10), job(kind="Pod", requests={"cpu": "6"}))
    assert found.verdict is STARTS
    busy = state_of(running("vision", 1))
    busy.jobs[0].pods[0].requests["cpu"] = 5_000
    found = said(limited(cpu=10), job(kind="Pod", requests={"cpu": "6"}), busy)
    assert (found.verdict, found.admitted) == (WAITS, False)
    assert found.meanwhile.startswith("The API server rejects the pod, and it does not queue")


def test_a_pod_without_gpus_is_held_to_the_quota_too():
    plan = limited(pods=1)
    busy = state_of(running("vision", 1))
    found = said(plan, job(kind="Pod", gpus=None, tolerations=TOLERATED), busy)
    assert (found.verdict, found.admitted) == (WAITS, False)


def test_a_pod_whose_sidecars_are_too_many_never_comes():
    value = job(kind="Pod", requests={"cpu": 6})
    value["spec"]["containers"] *= 2
    found = said(limited(cpu=10), value)
    assert (found.verdict, found.admitted) == (NEVER, False)
    assert "its pods request 12 CPUs in total" in found.message


def test_pods_of_a_stateful_set_exist_before_they_are_admitted():
    found = said(limited(cpu=10), job(kind="StatefulSet", pods=3, requests={"cpu": 4}))
    assert (found.verdict, found.admitted) == (NEVER, False)
    busy = state_of(running("vision", 1))
    busy.jobs[0].pods[0].requests["cpu"] = 2_000
    found = said(limited(cpu=10), job(kind="StatefulSet", pods=2, requests={"cpu": 5}), busy)
    assert (found.verdict, found.admitted) == (WAITS, False)
    assert found.meanwhile == (
        "The API server rejects the pods beyond that; their controller retries with back-off."
    )
    assert said(limited(cpu=10), job(kind="StatefulSet", pods=2)).verdict is STARTS


def test_of_a_deployment_so_many_pods_start_as_the_quota_holds():
    found = said(limited(cpu=10), job(kind="Deployment", pods=4, requests={"cpu": 4}))
    assert (found.verdict, found.pods_started, found.admitted) == (NEVER, 2, False)
    assert found.message == (
        "2 of 4 pods start; for the next, its pods request 12 CPUs in total, and the ResourceQuota"
        " of namespace vision allows 10 CPUs"
    )


def test_what_finds_no_node_stays_what_is_said():
    found = said(limited(cpu=500), job(gpus=16))
    assert found.message.startswith("its queue assigns it to train")


# ── what is not said ──────────────────────────────────────────────────────────────────────────────
def test_a_container_that_names_nothing_gets_the_defaults_of_the_namespace():
    five = job(pods=3, gpus=8)
    five["spec"]["template"]["spec"]["containers"] += [{"name": f"s{i}"} for i in range(4)]
    assert said(limited(cpu=2), five).verdict is STARTS
    found = said(limited(cpu=1), five)
    assert found.message.startswith("its pods request 1.5 CPUs in total")
    assert found.requests == {GPU: 24}


def test_a_limit_alone_is_its_request():
    value = job(pods=2)
    value["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "8"
    assert "16 CPUs in total" in said(limited(cpu=15), value).message


def test_sentences_name_what_the_job_names():
    found = said(one_team([pool(nodes=2)], {"train": 16}), job(pods=3, gpus=5))
    assert found.message.endswith("do not fit 3 pods with 5 nvidia.com/gpu")
    found = said(
        local(), job(pods=2, gpus=1, resource=SHARE, namespace="speech", requests={"cpu": 40})
    )
    assert "with 40 CPUs and 1 nvidia.com/gpu.shared" in found.message


# ── several namespaces ────────────────────────────────────────────────────────────────────────────
def two(**rest):
    """Four nodes with eight GPUs, for a team with a large and a small namespace."""
    mine = team(
        guarantee={"train": 32},
        namespaces=[{"name": "vision", "percent": 75}, "dev"],
        limits={"cpu": 100, **rest},
    )
    return plan_of(platform([pool()], [mine], cloud="simulated", admission={"guaranteed": False}))


def inside(namespace, **rest):
    value = job(labels={}, **rest)
    value["metadata"]["namespace"] = namespace
    return value


def test_a_job_is_held_to_the_part_of_its_own_namespace():
    plan, asks = two(), {"cpu": 30}
    found = said(plan, inside("vision", requests=asks))
    assert (found.verdict, found.team, found.namespace) == (STARTS, "vision", "vision")
    found = said(plan, inside("dev", requests=asks))
    assert (found.verdict, found.team, found.namespace) == (NEVER, "vision", "dev")
    assert found.message.endswith("LimitRange of namespace dev allows at most 25 CPUs")


def test_what_runs_in_another_namespace_takes_no_room_in_this_one_but_of_the_queue():
    plan = two()
    there = running("vision", 4, pods=2, namespace="dev")
    asks = {"cpu": 20}
    full = said(plan, inside("dev", requests=asks), state_of(_with_cpu(there, 10)))
    assert full.verdict is WAITS
    assert full.conditions == ("when pods of team vision in dev that use 15 CPUs have ended",)
    other = said(plan, inside("vision", requests=asks), state_of(_with_cpu(there, 10)))
    assert other.verdict is STARTS
    all_gpus = running("vision", 8, pods=4, namespace="dev")
    assert said(plan, inside("vision"), state_of(all_gpus)).verdict is WAITS


def _with_cpu(one, milli_cores):
    pods = tuple(
        replace(each, requests={**each.requests, "cpu": milli_cores * 1000}) for each in one.pods
    )
    return replace(one, pods=pods)


def test_a_bare_pod_meets_the_gpus_of_its_own_namespace_only():
    plan = two()
    there = running("vision", 8, pods=20, namespace="dev")
    here = said(plan, inside("dev", kind="Pod"), state_of(there))
    assert "the ResourceQuota of namespace dev allows 160 nvidia.com/gpu" in here.message
    other = said(plan, inside("vision", kind="Pod"), state_of(there))
    assert other.verdict is WAITS
    assert "ResourceQuota" not in other.message


def test_a_job_of_nobody_is_sent_home():
    found = said(two(), inside("elsewhere", gpus=1))
    assert found.changes[0].value == "vision"
