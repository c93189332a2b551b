"""The decision about pods without GPUs, sets of jobs, replicas, bare pods, and those nobody queues."""

from gpuyard_advisor.explain import Verdict
from kit.cases.explain import SHARE, SLICE, job, local, one_team, pod_spec, running, said, state_of
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

STARTS, WAITS, NEVER = Verdict


def scaling(**rest):
    return plan_of(
        platform([pool(nodes="1..4", **rest)], [team(borrow={"train": 32})], cloud="aws")
    )


# ── pods without GPUs ─────────────────────────────────────────────────────────────────────────────
ALL = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def test_pods_without_gpus_find_no_node_where_all_have_some():
    found = said(local(), job(gpus=None, requests={"cpu": 1}))
    assert (found.verdict, found.admitted) == (NEVER, True)
    assert found.message == (
        "1 pod (spec.template.spec) requests no GPU, and every node of this platform is a GPU node with a taint that"
        " such pods do not tolerate"
    )


def test_pods_without_gpus_stand_on_gpu_nodes_only_where_that_is_not_refused():
    found = said(local(), job(gpus=None, tolerations=ALL))
    assert found.verdict is NEVER
    assert "the toleration of nvidia.com/gpu allows it on GPU nodes" in found.message
    told = local(admission={"enforce": "warn"})
    found = said(told, job(gpus=None, tolerations=ALL))
    assert (found.verdict, found.nodes, found.message) == (
        STARTS,
        1,
        "it requests no resource that a queue counts",
    )
    many = [team("vision", borrow={"train": 8}, limits={"cpu": 999, "pods": 999})]
    told = local(teams=many, admission={"enforce": "warn"})
    full = said(told, job(pods=661, gpus=None, tolerations=ALL))
    assert full.verdict is NEVER
    assert "661 pods (spec.template.spec) request no GPU" in full.message


def test_elsewhere_pods_without_gpus_go_to_other_nodes():
    found = said(scaling(), job(gpus=None))
    assert found.verdict is STARTS
    assert found.cautions == (
        "pods without GPUs run on nodes outside the pools; whether those have capacity is unknown",
    )
    found = said(scaling(), job(gpus=None, nodeSelector={"gpuyard.dev/pool": "train"}))
    assert found.verdict is NEVER
    assert "the nodes it selects are GPU nodes" in found.message


def launcher(count=1, **rest):
    inner = {"parallelism": count, "template": {"spec": pod_spec(None, **rest)}}
    return {"replicas": 1, "template": {"spec": inner}}


def workers(count, gpus, **rest):
    inner = {"parallelism": count, "template": {"spec": pod_spec(gpus, **rest)}}
    return {"replicas": 1, "template": {"spec": inner}}


def jobset(*parts):
    metadata = {"name": "set", "namespace": "vision"}
    return {"kind": "JobSet", "metadata": metadata, "spec": {"replicatedJobs": list(parts)}}


def test_a_job_set_is_one_workload_of_all_its_pods():
    found = said(scaling(), jobset(launcher(), workers(3, 8)))
    assert (found.verdict, found.pods, found.nodes) == (STARTS, 4, 3)
    assert said(local(), jobset(workers(2, 8), workers(2, 8))).verdict is NEVER
    assert said(local(), jobset(workers(2, 8), workers(0, 8))).verdict is STARTS


def test_a_change_names_the_template_where_a_job_has_several():
    (change,) = said(local(), jobset(workers(1, 1), workers(1, 9))).changes
    assert change.message == (
        "request 8 nvidia.com/gpu per pod instead of 9 nvidia.com/gpu, at"
        " spec.replicatedJobs[1].template.spec.template.spec: nvidia.com/gpu"
    )


def test_pods_of_different_size_may_take_each_others_place():
    small = one_team([pool(nodes=2)], {"train": 16})
    found = said(small, jobset(workers(2, 4), workers(1, 8)))
    assert (found.verdict, found.nodes) == (STARTS, 2)
    assert found.cautions[0].startswith("its pods differ in size and share nodes")
    found = said(small, jobset(workers(1, 2), workers(1, 4)))
    assert (found.nodes, found.cautions) == (1, ())


# ── who queues, and who does not ──────────────────────────────────────────────────────────────────
def test_a_queue_label_that_leads_nowhere():
    label = {"kueue.x-k8s.io/queue-name": "gold"}
    found = said(local(), job(labels=label))
    assert (found.verdict, found.queue) == (NEVER, None)
    assert found.message == (
        "its label kueue.x-k8s.io/queue-name names the queue gold, but team vision has only default:"
        " no queue ever admits it"
    )
    assert said(local(), job(labels={"kueue.x-k8s.io/queue-name": "default"})).verdict is STARTS


def test_what_the_api_server_refuses_is_never():
    found = said(local(), job(gpus="500m"))
    assert (found.verdict, found.admitted) == (NEVER, False)
    assert found.message.startswith(
        "the API server rejects it: nvidia.com/gpu: 500m is not a whole number"
    )


def test_a_namespace_without_a_team_passes_by_the_queues():
    found = said(local(), job(namespace="default"))
    assert (found.verdict, found.team, found.queue) == (NEVER, None, None)
    assert found.message == (
        "namespace default belongs to no team, so no queue admits it; pool train: its nodes have the taint"
        " nvidia.com/gpu=present:NoSchedule, which the pods do not tolerate"
    )
    found = said(local(), job(namespace="default", tolerations=ALL))
    assert (found.verdict, found.pools) == (STARTS, ("train",))
    assert found.cautions == (
        "namespace default belongs to no team: the job bypasses every queue and quota",
    )
    found = said(
        local(), job(namespace="x", tolerations=ALL, nodeSelector={"gpuyard.dev/pool": "dev"})
    )
    assert [r.reason for r in found.reasons][:2] == [
        "its nodes do not have gpuyard.dev/pool=dev",
        "one pod requests 1 nvidia.com/gpu, and a node has no nvidia.com/gpu",
    ]
    assert said(scaling(), job(namespace="x", gpus=None)).verdict is STARTS


def test_the_team_can_be_named():
    value = job(gpus=8)
    del value["metadata"]["namespace"]
    found = said(local(), value, team="speech")
    assert (found.team, found.namespace, found.verdict) == ("speech", "speech", STARTS)


def test_no_pods_at_all():
    found = said(local(), job(pods=0, gpus=8))
    assert (found.verdict, found.message) == (STARTS, "it requests no pods")
    assert said(local(), job(pods=0, gpus=8, kind="Deployment")).message == "it requests no pods"


# ── pod by pod ────────────────────────────────────────────────────────────────────────────────────
def test_replicas_start_one_by_one():
    found = said(local(), job(pods=6, gpus=4, kind="Deployment"))
    assert (found.verdict, found.pods_started, found.nodes, found.pools) == (
        STARTS,
        6,
        3,
        ("train",),
    )
    assert found.reasons[0].reason == "3 nodes"
    found = said(scaling(), job(pods=2, gpus=8, kind="Deployment"))
    assert (found.nodes_to_start, found.conditions) == (
        {"train": 1},
        ("after 1 node of train has started (1 of at most 4 run)",),
    )


def test_some_replicas_start_and_the_rest_never():
    found = said(local(), job(pods=8, gpus=4, kind="Deployment"))
    assert (found.verdict, found.pods_started) == (NEVER, 6)
    assert found.message.startswith(
        "6 of 8 pods start; for the next, 4 nvidia.com/gpu of train are not available"
    )
    assert found.changes[0].message == "run 6 pods instead of 8"


def test_some_replicas_start_and_the_rest_waits():
    found = said(local(), job(pods=6, gpus=4, kind="Deployment"), state_of(running("vision", 8)))
    assert (found.verdict, found.pods_started) == (WAITS, 4)
    assert found.conditions
    found = said(local(), job(pods=1, gpus=8, kind="Deployment"), state_of(running("vision", 8, 3)))
    assert (found.verdict, found.pods_started) == (WAITS, 0)


def test_replicas_evict_too():
    busy = state_of(*(running("speech", 8, name=f"s{n}", since=n) for n in range(4)))
    found = said(local(), job(pods=2, gpus=4, kind="Deployment"), busy)
    assert found.verdict is STARTS
    assert [p.name for p in found.preempts] == ["s3"]


def test_a_replica_that_finds_no_node_holds_its_quota():
    plan = one_team([pool("small", machine="g6.12xlarge"), pool()], {"small": 8, "train": 8})
    found = said(plan, job(pods=2, gpus=8, kind="Deployment"))
    assert (found.verdict, found.pods_started, found.admitted) == (NEVER, 1, True)


def test_replicas_that_keep_apart_need_a_node_each():
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"x": "y"}}}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    plan = one_team([pool(nodes=2)], {"train": 16})
    value = job(pods=3, gpus=1, kind="Deployment", affinity=rule, pod_labels={"x": "y"})
    found = said(plan, value)
    assert (found.verdict, found.pods_started, found.admitted) == (NEVER, 2, True)
    value["spec"]["replicas"] = 2
    assert said(plan, value).nodes == 2


def test_very_many_replicas_are_tried_in_part():
    plan = one_team(
        [pool("dev", machine="g6.12xlarge", nodes=1000, sharing={"time_slicing": 4})],
        {"dev/shared": 16000},
    )
    found = said(plan, job(pods=1001, resource=SHARE, kind="Deployment"))
    assert found.verdict is STARTS
    assert found.cautions[-1] == "only the first 1,000 pods were simulated"


def test_a_leader_and_its_workers_start_together_or_not_at_all():
    template = {"spec": pod_spec(8)}
    leader = {"spec": pod_spec(1, resource=SHARE)}
    body = {"size": 2, "leaderTemplate": leader, "workerTemplate": template}
    metadata = {"name": "lws", "namespace": "vision"}
    found = said(
        local(),
        {"kind": "LeaderWorkerSet", "metadata": metadata, "spec": {"leaderWorkerTemplate": body}},
    )
    assert (found.verdict, found.pods_started) == (NEVER, 0)


# ── a pod alone ───────────────────────────────────────────────────────────────────────────────────
def test_a_bare_pod_queues_while_its_namespace_has_room():
    assert said(local(), job(gpus=8, kind="Pod")).verdict is STARTS
    full = state_of(running("speech", 8, 2), running("vision", 8))
    found = said(
        local(queueing={"preemption": "never"}), job(gpus=8, kind="Pod", namespace="search"), full
    )
    assert found.verdict is STARTS


FULL = (
    "the ResourceQuota of namespace vision allows 24 nvidia.com/gpu, its pods use 24, and the job"
    " requests 8 more"
)


def test_a_bare_pod_waits_in_its_queue_while_the_quota_is_used_up():
    found = said(local(), job(gpus=8, kind="Pod"), state_of(running("vision", 8, 3)))
    as_a_job = said(local(), job(gpus=8), state_of(running("vision", 8, 3)))
    assert (found.verdict, found.admitted) == (WAITS, False)
    assert (found.message, found.conditions) == (as_a_job.message, as_a_job.conditions)
    assert found.meanwhile.startswith("It stays in its queue: the pod exists")
    assert as_a_job.meanwhile == "It stays in its queue, and none of its pods is created."


def test_a_bare_pod_beyond_its_namespaces_quota_is_refused_where_policies_only_warn():
    def warned(**more):
        return local(admission={"enforce": "warn"}, **more)

    found = said(warned(), job(gpus=8, kind="Pod"), state_of(running("vision", 8, 3)))
    assert (found.verdict, found.admitted, found.message) == (WAITS, False, FULL)
    assert found.meanwhile.startswith("The API server rejects the pod, and it does not queue")
    assert found.conditions
    plan = warned(priorities={"high": 10})
    label = {"kueue.x-k8s.io/priority-class": "high"}
    found = said(plan, job(gpus=8, kind="Pod", labels=label), state_of(running("vision", 8, 3)))
    assert (found.verdict, found.preempts) == (WAITS, ())
    assert found.conditions == ("when pods of team vision that use 8 nvidia.com/gpu have ended",)


def test_a_pod_that_can_never_start_is_no_matter_of_room():
    assert said(local(), job(gpus=16, kind="Pod")).verdict is NEVER
    found = said(local(), job(gpus=1, kind="Pod", resource=SLICE), state_of(running("vision", 8)))
    assert found.verdict is STARTS


def test_owned_and_described_platforms_are_explained_too():
    plan = plan_of(platform([pool(), cut_pool(), shared_pool()], [team(borrow={"dev/shared": 4})]))
    assert said(plan, job(resource=SHARE, gpus=1)).verdict is STARTS


# ── claims ────────────────────────────────────────────────────────────────────────────────────────
CLAIMS = [{"name": "gpu", "resourceClaimTemplateName": "one"}] * 2


def test_claims_need_a_pool_that_hands_out_by_claim():
    found = said(local(), job(gpus=None, resourceClaims=CLAIMS))
    assert found.verdict is NEVER
    assert (
        found.message == "it claims devices (DRA), and no pool offers GPUs by claim (sharing: dra)"
    )
    plan = plan_of(platform([pool(sharing="dra")], [team(guarantee={"train": 8})]))
    found = said(plan, job(pods=2, gpus=None, resourceClaims=CLAIMS))
    assert (found.verdict, found.nodes) == (STARTS, 1)
    assert found.requests == {"gpuyard.dev/gpu-claim": 4}
    assert said(plan, job(pods=5, gpus=None, resourceClaims=CLAIMS)).verdict is NEVER
    busy = state_of(running("vision", 7, resource="gpuyard.dev/gpu-claim"))
    bare = said(plan, job(gpus=None, resourceClaims=CLAIMS, kind="Pod"), busy)
    assert bare.meanwhile.startswith("It stays in its queue: the pod exists")


def test_what_a_device_plugin_refuses_never_starts():
    plan = local()
    two = job(gpus=2, resource=SHARE, namespace="speech")
    found = said(plan, two)
    assert found.verdict is Verdict.NEVER
    assert found.message == (
        "the device plugin rejects its pods (UnexpectedAdmissionError): a container requests 2 "
        "nvidia.com/gpu.shared and gets 1: several shares of a GPU give no more of it"
    )
    (change,) = found.changes
    assert (change.at, change.value) == (
        "spec.template.spec.containers[0].resources.limits.nvidia.com/gpu.shared",
        1,
    )
    one_each = job(gpus=1, resource=SHARE, namespace="speech")
    spec = one_each["spec"]["template"]["spec"]
    spec["containers"] = spec["containers"] * 2
    assert said(plan, one_each).verdict is Verdict.STARTS
    spec["containers"][0] = {"resources": {"limits": {SHARE: 2, "gpu": 1}}}
    assert said(plan, one_each).message.startswith(
        "the API server rejects it: `gpu` is not a resource"
    )
