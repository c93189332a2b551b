"""The decision, step by step: queue, quota, nodes."""

import pytest

from gpuyard_advisor.explain import Verdict
from gpuyard_advisor.scheduler.model import PlatformState
from kit.cases.explain import GPU, SHARE, SLICE, job, local, one_team, running, said, state_of
from kit.stacks import cut_pool, plan_of, platform, pool, team

STARTS, WAITS, NEVER = Verdict


def test_a_job_starts_where_its_team_has_quota():
    found = said(local(), job(pods=3, gpus=8))
    assert (found.verdict, found.admitted) == (STARTS, True)
    assert found.message == "on 3 nodes of train, running already"
    assert (found.pools, found.nodes, found.pods_started, found.queue, found.team) == (
        ("train",), 3, 3, "default", "vision",
    )  # fmt: skip
    assert [(r.pool, r.is_chosen, r.reason) for r in found.reasons] == [
        ("train", True, "24 nvidia.com/gpu of 24 free, partly borrowed")
    ]
    assert found.requests == {GPU: 24}
    assert not found.scales_from_zero
    assert (found.conditions, found.meanwhile, found.cautions, found.changes) == ((), "", (), ())


def test_within_the_guarantee_is_said():
    assert (
        said(local(), job(gpus=8)).reasons[0].reason
        == "8 nvidia.com/gpu of 24 free, within its guarantee"
    )


def test_more_than_the_queue_can_ever_have_is_never():
    found = said(local(), job(pods=4, gpus=8))
    assert (found.verdict, found.admitted, found.pools) == (NEVER, False, ())
    why = (
        "32 nvidia.com/gpu requested, the maximum of team vision is 24 (guaranteed 8, may borrow "
        "16)"
    )
    assert found.message == f"train: {why}"
    assert found.stack_change == "allow team vision to borrow 24: teams[0].borrow.train: 24"


def test_a_resource_that_no_pool_has_is_never():
    found = said(local(), job(resource="example.com/efa"))
    assert found.verdict is NEVER
    assert (
        found.message
        == "no pool advertises example.com/efa: a queue admits only resources that it has quota for"
    )
    assert [(r.pool, r.reason) for r in found.reasons] == [
        ("train", "its nodes have nvidia.com/gpu"),
        (
            "serve",
            "its nodes have nvidia.com/mig-1g.5gb, nvidia.com/mig-2g.10gb, nvidia.com/mig-3g.20gb",
        ),
        ("dev", "its nodes have nvidia.com/gpu.shared"),
    ]
    assert found.stack_change == ""


def test_a_resource_that_others_have_quota_of_is_never():
    found = said(local(), job(resource=SHARE))
    assert found.message == f"{SHARE} is provided by dev, where team vision has no quota"
    assert found.reasons[-1].reason == "team vision has no quota there"
    assert (
        found.stack_change == "give team vision quota of dev/shared: teams[0].guarantee or .borrow"
    )
    nobody = one_team([pool()], {})
    found = said(nobody, job())
    assert found.message == f"{GPU} is provided by train, where team vision has no quota"
    assert found.stack_change == "give team vision quota of train: teams[0].guarantee or .borrow"


def test_a_pod_cannot_stand_in_two_pools():
    found = said(
        local(),
        job(requests={SLICE: 1}, containers=[{"resources": {"limits": {GPU: 1, SLICE: 1}}}]),
    )
    assert found.verdict is NEVER
    assert (
        found.message
        == "one pod requests resources of train and serve, and a node belongs to one pool only"
    )


def test_one_pod_larger_than_a_node_is_let_go_and_never_runs():
    found = said(local(), job(gpus=16))
    assert (found.verdict, found.admitted) == (NEVER, True)
    assert found.message == (
        "its queue assigns it to train, where one pod requests 16 nvidia.com/gpu, and a node has 8 nvidia.com/gpu"
    )


@pytest.mark.parametrize(
    ("requests", "says"),
    [
        ({"cpu": 100}, "one pod requests 100 CPUs, and a node has 48 CPUs"),
        ({"memory": "1Ti"}, "one pod requests 1024 GiB, and a node has 192 GiB"),
        ({"hugepages-2Mi": "1Gi"}, "and a node has no hugepages-2Mi"),
        ({"cpu": 49, "memory": "1Ti"}, "49 CPUs and 1024 GiB, and a node has 48 CPUs and 192 GiB"),
    ],
)  # fmt: skip
def test_cpu_and_memory_are_the_schedulers_business(requests, says):
    found = said(local(), job(resource=SHARE, namespace="speech", requests=requests))
    assert (found.verdict, found.admitted) == (NEVER, True)
    assert says in found.message


def test_pods_that_share_no_nodes_may_be_more_than_the_pool():
    found = said(local(), job(pods=3, gpus=5))
    assert (found.verdict, found.nodes) == (STARTS, 3)
    small = one_team([pool(nodes=2)], {"train": 16})
    found = said(small, job(pods=3, gpus=5))
    assert (found.verdict, found.admitted) == (NEVER, True)
    assert found.message == (
        "its queue assigns it to train, whose 2 nodes do not fit 3 pods with 5 nvidia.com/gpu"
    )
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"x": "y"}}}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    found = said(small, job(pods=3, gpus=1, affinity=rule, pod_labels={"x": "y"}))
    assert found.message.endswith("fit 3 pods with 1 nvidia.com/gpu, each on a separate node")


def test_the_queue_tries_pools_in_their_order_and_sees_only_quota():
    plan = one_team([pool("small", machine="g6.12xlarge"), pool()], {"small": 8, "train": 8})
    found = said(plan, job(gpus=8))
    assert (found.verdict, found.pools) == (NEVER, ("small",))
    assert found.changes[0].message == "select the pool train: nodeSelector gpuyard.dev/pool: train"
    found = said(plan, job(gpus=8, nodeSelector={"gpuyard.dev/pool": "train"}))
    assert (found.verdict, found.pools) == (STARTS, ("train",))
    assert [(r.pool, r.is_chosen) for r in found.reasons] == [("small", False), ("train", True)]
    full = state_of(running("vision", 4, 2, pool="small"))
    assert said(plan, job(gpus=8), full).pools == ("train",), "quota of the first is gone"


def test_a_selector_that_queues_do_not_see_leads_astray():
    plan = one_team([pool("small", machine="g6.12xlarge"), pool()], {"small": 8, "train": 8})
    found = said(plan, job(nodeSelector={"node.kubernetes.io/instance-type": "p5.48xlarge"}))
    assert (found.verdict, found.admitted) == (NEVER, True)
    assert found.message == (
        "its queue assigns it to small, whose nodes do not have node.kubernetes.io/instance-type=p5.48xlarge:"
        " Kueue matches only gpuyard.dev/pool"
    )
    assert found.changes[0].value["gpuyard.dev/pool"] == "train"


def test_a_label_only_a_node_could_show_is_a_caution():
    found = said(local(), job(nodeSelector={"vendor.example/rack": "7"}))
    assert found.verdict is STARTS
    assert found.cautions == ("it is unknown whether nodes of train have vendor.example/rack=7",)


def test_no_pool_of_the_team_is_selected():
    found = said(local(), job(nodeSelector={"gpuyard.dev/pool": "dev"}))
    assert (found.verdict, found.admitted) == (NEVER, False)
    assert found.message == "train: the node selector or affinity of the job selects other nodes"
    two = one_team([pool("a"), pool("b")], {"a": 8, "b": 8})
    found = said(two, job(nodeSelector={"gpuyard.dev/pool": "c"}))
    assert found.message == "none of a and b can ever admit it, even when empty"


def test_pools_of_one_kind_that_do_not_give_out_this_resource_are_told():
    other = cut_pool("other", sharing={"mig": {"3g.20gb": 2}})
    plan = one_team([other, cut_pool()], {"other/3g.20gb": 4, "serve/1g.5gb": 4})
    found = said(plan, job(resource="nvidia.com/mig-1g.5gb"))
    assert [(r.pool, r.is_chosen, r.reason) for r in found.reasons] == [
        ("other", False, "its nodes have no nvidia.com/mig-1g.5gb, only nvidia.com/mig-3g.20gb"),
        ("serve", True, "1 nvidia.com/mig-1g.5gb of 4 free, partly borrowed"),
    ]


# ── nodes that do not run yet ─────────────────────────────────────────────────────────────────────
def scaling(queueing=None, **rest):
    teams = [team(borrow={"train": 32})]
    pools = [pool(nodes="1..4", **rest)]
    return plan_of(platform(pools, teams, cloud="aws", queueing=queueing))


def test_nodes_that_do_not_run_must_start_first():
    found = said(scaling(), job(pods=3, gpus=8))
    assert (found.verdict, found.nodes, found.nodes_to_start) == (STARTS, 3, {"train": 2})
    assert found.scales_from_zero
    assert found.message == "on 3 nodes of train, 1 running already"
    assert found.conditions == ("after 2 nodes of train have started (1 of at most 4 run)",)


def test_from_zero_nothing_runs():
    plan = plan_of(platform([pool(nodes="0..2")], [team(borrow={"train": 16})], cloud="aws"))
    found = said(plan, job(gpus=8))
    assert found.message == "on 1 node of train, none running yet"
    assert found.conditions == ("after 1 node of train has started (0 of at most 2 run)",)
    found = said(plan, job(nodeSelector={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}))
    assert found.verdict is STARTS
    assert found.cautions[0].startswith(
        "nodes of train get the label nvidia.com/gpu.product only after they start"
    )


def test_an_autoscaler_may_not_know_what_a_node_would_have():
    cut = cut_pool(nodes="0..2", machine="a2-highgpu-8g")
    plan = plan_of(platform([cut], [team(borrow={"serve/3g.20gb": 8})], cloud="gcp"))
    assert plan.pool("serve").autoscaler_hints.undiscovered_resources
    found = said(plan, job(resource=SLICE))
    assert found.verdict is STARTS
    assert found.cautions == (
        f"pool serve has no node, and the autoscaler discovers {SLICE} only from a running node: the job may never start",
    )
    cut = cut_pool(nodes="1..2", machine="a2-highgpu-8g", zones=["us-central1-a"])
    plan = plan_of(platform([cut], [team(borrow={"serve/3g.20gb": 16})], cloud="gcp"))
    assert said(plan, job(pods=16, resource=SLICE)).cautions == ()


def test_real_nodes_keep_some_of_their_cpu_and_memory():
    assert said(local(), job(requests={"cpu": 192})).verdict is STARTS
    found = said(scaling(), job(requests={"cpu": 192}))
    assert found.verdict is NEVER
    assert (
        "one pod requests 192 CPUs, and a node has 191 CPUs" in found.message
        or "a node has 190 CPUs" in found.message
    )


def test_nodes_that_exist_are_told_by_their_own_labels():
    own = pool(select={"rack": "7"})
    plan = plan_of(platform([own, pool("b")], [team(borrow={"train": 8, "b": 8})]))
    assert said(plan, job(nodeSelector={"rack": "7"})).pools == ("train",)
    found = said(plan, job(nodeSelector={"rack": "8"}))
    assert (found.verdict, found.pools) == (STARTS, ("b",))
    assert found.cautions == ("it is unknown whether nodes of b have rack=8",)
    found = said(plan, job(gpus=None, nodeSelector={"rack": "7"}))
    assert found.verdict is NEVER


# ── what runs already ─────────────────────────────────────────────────────────────────────────────
def test_a_guarantee_is_taken_back():
    busy = state_of(
        *(running("speech", 8, name=f"s{n}", since=n) for n in range(3)),
        running("search", 8, name="other"),
    )
    found = said(local(), job(gpus=8), busy)
    assert (found.verdict, found.admitted) == (STARTS, True)
    assert [(p.team, p.name, p.why) for p in found.preempts] == [
        ("speech", "s2", "it borrows from the team's guarantee")
    ]
    assert found.reasons[0].is_chosen


def test_a_queue_that_may_not_evict_waits_for_others():
    plan = local(queueing={"engine": "kueue", "preemption": "never"})
    busy = state_of(running("speech", 8, 3), running("search", 8))
    found = said(plan, job(gpus=8), busy)
    assert (found.verdict, found.admitted) == (WAITS, False)
    assert found.message == "8 nvidia.com/gpu of train are not available, and it may not preempt"
    assert found.conditions == (
        "when teams search (borrows 8) and speech (borrows 8) release 8 nvidia.com/gpu of train",
    )
    assert found.meanwhile == "It stays in its queue, and none of its pods is created."
    assert found.reasons[0].reason.endswith("preemption is off here")


def test_without_fair_sharing_borrowing_waits():
    plan = local(queueing={"engine": "kueue", "preemption": "reclaim", "fair_sharing": False})
    busy = state_of(running("speech", 8, 2), running("vision", 8))
    found = said(plan, job(pods=2, gpus=8), busy)
    assert found.verdict is WAITS
    assert found.reasons[0].reason.endswith("it would borrow, which preempts no job")
    assert found.conditions == ("when team speech (uses 16) releases 8 nvidia.com/gpu of train",)


def test_ones_own_jobs_may_be_what_is_in_the_way():
    busy = state_of(running("vision", 8, 3))
    found = said(local(), job(gpus=8), busy)
    assert found.verdict is WAITS
    assert found.message.endswith("and it may preempt none of the running jobs")
    assert found.conditions == (
        "when team vision's own jobs release 8 nvidia.com/gpu of train (they use 24)",
    )


def test_both_may_be_in_the_way():
    busy = state_of(running("vision", 8), running("speech", 8, 3))
    found = said(local(), job(pods=3, gpus=8), busy)
    assert found.conditions == (
        "when team vision's own jobs release 8 nvidia.com/gpu of train (they use 8)",
        "when team speech (uses 24) releases 24 nvidia.com/gpu of train",
    )


def test_one_is_less_than_several():
    busy = state_of(running("vision", 8, 3))
    assert said(local(), job(gpus=1), busy).message.startswith(
        "1 nvidia.com/gpu of train is not available"
    )


def test_free_quota_in_pieces():
    busy = state_of(
        running("speech", 8, 2, nodes=["n0", "n1"], name="steady"),
        running("vision", 4, 2, nodes=["n2", "n3"], name="halves"),
    )
    found = said(local(), job(gpus=8, namespace="search"), busy)
    assert (found.verdict, found.admitted, found.pools) == (WAITS, True, ("train",))
    assert found.message == (
        "its quota is available, but not on one node: train has 4 nvidia.com/gpu on 2 nodes,"
        " and one pod requests 8 nvidia.com/gpu"
    )
    assert found.conditions == (
        "when in train a node has capacity for 1 pod with 8 nvidia.com/gpu, for example when steady of team speech ends",
    )
    assert found.meanwhile == (
        "Kueue admits it, its pods stay pending and its quota stays in use. After 5 minutes Kueue evicts the whole job"
        " and requeues it 1 minute later, then after twice as long, up to 1 hour."
    )


def test_free_quota_on_too_few_nodes():
    busy = state_of(running(None, 8, nodes=["n0"], name="stranger"))
    found = said(local(), job(3, gpus=8, namespace="speech"), busy)
    assert found.verdict is STARTS
    busy = state_of(running(None, 8, 2, nodes=["n0", "n1"], name="stranger"))
    found = said(local(), job(3, gpus=8, namespace="speech"), busy)
    assert found.message == (
        "its quota is available, but train fits 2 of its 3 pods: 8 nvidia.com/gpu on 2 nodes,"
        " and one pod requests 8 nvidia.com/gpu"
    )


def test_several_jobs_may_have_to_end():
    busy = state_of(*(running("speech", 2, nodes=[f"n{n}"]) for n in range(4)))
    found = said(local(), job(pods=3, gpus=8), busy)
    assert found.verdict is WAITS
    assert found.conditions == (
        "when in train nodes have capacity for 3 pods with 8 nvidia.com/gpu",
    )


def test_strangers_take_room_and_no_quota():
    busy = state_of(*(running(None, 8, nodes=[f"n{n}"], name=f"stray-{n}") for n in range(4)))
    found = said(local(), job(gpus=8), busy)
    assert (
        found.message == "its quota is available, but no node of train has any nvidia.com/gpu left"
    )
    assert found.conditions == (
        "when in train a node has capacity for 1 pod with 8 nvidia.com/gpu, for example when stray-0 ends",
    )


def test_what_never_fits_is_never_however_busy_it_is():
    found = said(local(), job(gpus=16), state_of(running("speech", 8)))
    assert found.verdict is NEVER
    small = one_team([pool(nodes=2)], {"train": 16})
    found = said(small, job(pods=3, gpus=5), state_of(running("vision", 1)))
    assert found.verdict is NEVER


def test_on_real_clouds_kueue_waits_longer():
    full = state_of(running(None, 8, 4))
    assert "After 30 minutes Kueue evicts" in said(scaling(), job(gpus=8), full).meanwhile
    theirs = scaling(queueing={"install": False})
    assert (
        "After 30 minutes (unless Kueue is configured otherwise) Kueue"
        in said(theirs, job(gpus=8), full).meanwhile
    )


@pytest.mark.parametrize(("count", "told"), [(1, "1 job is"), (2, "2 jobs are")])
def test_jobs_that_wait_already_are_told(count, told):
    assert said(local(), job(), PlatformState(waiting=count)).cautions == (
        f"{told} already pending and may be admitted first",
    )


def test_a_higher_priority_takes_from_its_own_queue():
    plan = local(priorities={"high": 10, "low": -10})
    busy = state_of(
        running("vision", 8, name="old", priority=-10), running("vision", 8, 2, name="new")
    )
    label = {"kueue.x-k8s.io/priority-class": "high"}
    found = said(plan, job(gpus=8, labels=label), busy)
    assert [(p.name, p.why) for p in found.preempts] == [
        ("old", "it is in the same queue with a lower priority")
    ]
    assert [p.name for p in said(plan, job(gpus=8), busy).preempts] == ["old"], "0 is above -10"


def test_a_teams_own_priority_needs_the_label_where_kubernetes_is_old():
    teams = [team(guarantee={"train": 8}, priority="high")]
    raw = platform([pool()], teams, cloud="simulated", priorities={"high": 10})
    busy = state_of(running("vision", 8))
    assert said(plan_of(raw), job(gpus=8), busy).verdict is STARTS
    plan = plan_of(raw | {"kubernetes": "1.35"})
    found = said(plan, job(gpus=8), busy)
    assert found.verdict is WAITS
    (caution,) = found.cautions
    assert caution == (
        "the priority high of team vision is not applied automatically: a job without the label"
        " kueue.x-k8s.io/priority-class has priority 0"
    )
    label = {"kueue.x-k8s.io/priority-class": "high"}
    assert said(plan, job(gpus=8, labels=label), busy).verdict is STARTS


def test_a_priority_of_somebody_elses_is_a_caution():
    found = said(local(), job(priorityClassName="vip"))
    assert found.cautions[0].startswith(
        "the priority class vip is not part of this platform and counts as 0"
    )
    label = {"kueue.x-k8s.io/priority-class": "vip"}
    assert said(local(), job(labels=label)).cautions == found.cautions
    assert said(local(), job(priorityClassName="system-node-critical")).cautions == ()
