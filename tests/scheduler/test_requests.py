"""What a job needs is counted as the API server, Kueue and the scheduler count it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_advisor.scheduler.requests import Request, request_of
from gpuyard_advisor.scheduler.selectors import NodeRequirement, Toleration
from gpuyard_advisor.workloads import read_job
from gpuyard_core.manifests.templates import WORKLOADS
from kit.cases.explain import GPU, SPEC, job, pod_spec
from kit.searches import examples

GIB = 2**30


def need(value) -> Request:
    read = read_job(value)
    assert read is not None
    return request_of(read)


def container(limits=None, requests=None, **rest):
    return {"resources": {"limits": limits or {}, "requests": requests or {}}, **rest}


def asked(*containers, **rest):
    return dict(need(job(containers=list(containers), **rest)).pod_sets[0].requests)


@pytest.mark.parametrize(
    ("api_version", "kind", "place"),
    [
        ("ray.io/v1", "RayCluster", ()),
        ("ray.io/v1", "RayJob", ("rayClusterSpec",)),
        ("ray.io/v1", "RayService", ("rayClusterConfig",)),
    ],
)
def test_the_head_and_all_workers_of_a_ray_cluster_start_together(api_version, kind, place):
    spec = {
        "headGroupSpec": {"template": {"spec": {"containers": [container({"cpu": 2})]}}},
        "workerGroupSpecs": [
            {"replicas": 3, "template": {"spec": {"containers": [container({GPU: 8})]}}}
        ],
    }
    for step in place:
        spec = {step: spec}
    labels = {"kueue.x-k8s.io/queue-name": "default"}
    value = {"apiVersion": api_version, "kind": kind, "metadata": {"labels": labels}, "spec": spec}
    found = need(value)
    assert found.is_gang
    assert found.queue_label == "default"
    submitter = [(1, {"cpu": 500, "memory": 200 * 1024**2})] if kind == "RayJob" else []
    assert [(p.count, dict(p.requests)) for p in found.pod_sets] == [
        (1, {"cpu": 2000}),
        (3, {GPU: 8}),
        *submitter,
    ]


@pytest.mark.parametrize(
    ("api_version", "kind", "spec"),
    [
        ("v1", "ReplicationController", {"replicas": 2, "template": {}}),
        ("batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"replicas": 2, "template": {}}]}),
    ],
)
def test_pods_of_kinds_that_kueue_does_not_know_queue_by_themselves(api_version, kind, spec):
    found = need({"apiVersion": api_version, "kind": kind, "spec": spec})
    assert not found.is_gang
    assert [p.count for p in found.pod_sets] == [2]
    assert "Kueue queues each pod" in found.cautions[0]


def test_containers_add_up_and_requests_come_before_limits():
    both = asked(container({GPU: 1, "cpu": 4}, {"cpu": 2}), container({GPU: "2", "memory": "1Gi"}))
    assert both == {"cpu": 2000, "memory": GIB, GPU: 3}


def test_an_init_container_counts_when_it_is_larger():
    first = container({"cpu": 60})
    assert asked(container({"cpu": 4}), initContainers=[first]) == {"cpu": 60000}
    assert asked(container({"cpu": 64}), initContainers=[first]) == {"cpu": 64000}


def test_sidecars_run_beside_everything_that_starts_after_them():
    side = container({"cpu": 2}, restartPolicy="Always")
    first = container({"cpu": 60})
    assert asked(container({"cpu": 4}), initContainers=[side, first]) == {"cpu": 62000}
    assert asked(container({"cpu": 4}), initContainers=[first, side]) == {"cpu": 60000}
    assert asked(container({"cpu": 64}), initContainers=[side]) == {"cpu": 66000}


def test_overhead_is_added_and_nothing_else_of_it():
    found = asked(container({GPU: 1}), overhead={"cpu": "250m", "memory": "x", 3: 4, "z": -1})
    assert found == {"cpu": 250, GPU: 1}


def test_disks_are_not_judged():
    found = need(job(containers=[container({"ephemeral-storage": "10Gi"})]))
    assert dict(found.pod_sets[0].requests) == {}
    assert found.cautions == (
        "its ephemeral storage is not evaluated: the plan has no size of a node's disk",
    )


AT = f"{SPEC}.containers[0].resources"


@pytest.mark.parametrize(
    ("limits", "requests", "says", "at", "value", "amount"),
    [
        ({}, {GPU: 2}, (
            f"{GPU}: a request without a limit, which Kubernetes rejects"
        ), f"limits.{GPU}", 2, 2),
        ({GPU: 2}, {GPU: 1}, (
            f"{GPU}: request 1 and limit 2 differ, which Kubernetes rejects for devices"
        ), f"requests.{GPU}", 2, 2),
        ({GPU: "500m"}, {}, (
            f"{GPU}: 500m is not a whole number, which Kubernetes rejects for devices"
        ), f"limits.{GPU}", 1, 1),
        ({GPU: "eight"}, {}, f"{GPU}: 'eight' is not a quantity", f"limits.{GPU}", 1, 1),
        ({GPU: -1}, {}, f"{GPU}: -1 is not a quantity", f"limits.{GPU}", 1, 1),
        ({GPU: 1}, {GPU: "x"}, f"{GPU}: 'x' is not a quantity", f"requests.{GPU}", 1, 1),
        ({"gpu": 4}, {}, (
            f"`gpu` is not a resource of Kubernetes: device names have a domain, as in {GPU}"
        ), "limits.gpu", GPU, 4),
        ({"cpu": "much"}, {}, "cpu: 'much' is not a quantity", "limits.cpu", 1, 1),
    ],
)  # fmt: skip
def test_what_the_api_server_refuses_is_named_with_what_to_write(
    limits, requests, says, at, value, amount
):
    found = need(job(containers=[container(limits, requests)]))
    (refused,) = found.rejection
    assert (refused.message, refused.at, refused.value) == (says, f"{AT}.{at}", value)
    assert refused.amount == amount


def test_eight_thousand_thousandths_are_eight():
    assert asked(container({GPU: "8000m"})) == {GPU: 8}


def test_names_that_are_no_text_are_passed_over():
    assert asked(container({3: 4, GPU: 1})) == {GPU: 1}


def test_the_second_pod_set_knows_its_own_refusals():
    bad = {"replicas": 1, "template": {"spec": {"template": {"spec": pod_spec("x")}}}}
    good = {
        "replicas": 2,
        "template": {"spec": {"parallelism": 3, "template": {"spec": pod_spec(1)}}},
    }
    found = need({"kind": "JobSet", "spec": {"replicatedJobs": [good, bad]}})
    assert [p.count for p in found.pod_sets] == [6, 1]
    assert [r.pod_set for r in found.rejection] == [1]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ({"parallelism": 4}, 4),
        ({"parallelism": 4, "completions": 2}, 2),
        ({"completions": 9}, 1),
        ({}, 1),
    ],
)
def test_a_job_runs_no_more_pods_than_it_completes(body, count):
    value = job()
    value["spec"] = {**body, "template": value["spec"]["template"]}
    assert need(value).pod_sets[0].count == count
    cron = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": value["spec"]}}}
    assert need(cron).pod_sets[0].count == count


def test_selectors_affinity_and_tolerations_are_read():
    line = {"key": "zone", "operator": "In", "values": ["a", 1]}
    node = {"nodeSelectorTerms": [{"matchExpressions": [line], "matchFields": [{}]}, {}, "x"]}
    value = job(
        nodeSelector={"a": "b", "c": 1},
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": node}},
        tolerations=[{"key": "k", "operator": "Exists", "effect": 3}, "x"],
    )
    found = need(value).pod_sets[0]
    assert found.selector == {"a": "b"}
    assert found.terms == (
        (NodeRequirement("zone", "In", ("a", "1")), NodeRequirement("", "", ())),
        (),
    )
    assert found.tolerations == (Toleration("k", "Exists", "", ""),)


def anti(labels, topology="kubernetes.io/hostname"):
    rule = {"topologyKey": topology, "labelSelector": {"matchLabels": labels}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}


def test_pods_that_keep_apart_from_their_own_kind_need_a_node_each():
    found = need(job(affinity=anti({"x": "y"}), pod_labels={"x": "y"}))
    assert found.pod_sets[0].is_anti_affine
    assert found.cautions == ()


@pytest.mark.parametrize(
    ("rest", "caution"),
    [
        ({"affinity": anti({"other": "job"})}, "its pod anti-affinity is not evaluated"),
        ({"affinity": anti({})}, "its pod anti-affinity is not evaluated"),
        (
            {"affinity": anti({"x": "y"}, "zone"), "pod_labels": {"x": "y"}},
            "its pod anti-affinity is not evaluated",
        ),
        (
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
            "its pod affinity is not evaluated",
        ),
        (
            {"resourceClaims": [{}]},
            ("each of its resource claims (DRA) counts as one GPU; gpuyard does not read their "
            "content"),
        ),
        ({"topologySpreadConstraints": [{}]}, "its topology spread constraints are not evaluated"),
        (
            {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}},
            "it belongs to a pod group; the other pods of the group are not counted",
        ),
        ({"kind": "Deployment", "pods": 2}, (
            "Kueue queues each pod of a Deployment separately: some may run without the others"
        )),
    ],
)  # fmt: skip
def test_what_is_not_judged_is_said(rest, caution):
    found = need(job(**rest))
    assert found.cautions == (caution,)
    assert not found.pod_sets[0].is_anti_affine


def test_a_train_job_says_that_its_runtime_is_unknown():
    trainer = {"numNodes": 4, "resourcesPerNode": {"limits": {GPU: 8}}}
    found = need(
        {"kind": "TrainJob", "spec": {"runtimeRef": {"name": "torch"}, "trainer": trainer}}
    )
    assert found.pod_sets[0].count == 4
    assert found.pod_sets[0].requests == {GPU: 8}
    assert found.is_gang
    assert found.cautions[0].startswith("its runtime torch is unknown to gpuyard")
    assert "(not named)" in need({"kind": "TrainJob"}).cautions[0]


QUEUE = {"kueue.x-k8s.io/queue-name": "q"}


@pytest.mark.parametrize(
    ("value", "queue"),
    [
        (job(labels=QUEUE), "q"),
        (job(pod_labels=QUEUE), ""),
        (job(kind="Deployment", labels=QUEUE), "q"),
        (job(kind="Deployment", pod_labels=QUEUE), ""),
        (job(kind="DaemonSet", labels=QUEUE), ""),
        (job(kind="DaemonSet", pod_labels=QUEUE), "q"),
        (job(kind="Pod", labels=QUEUE), "q"),
        ({"kind": "CronJob", "metadata": {"labels": QUEUE}}, ""),
        ({"kind": "CronJob", "spec": {"jobTemplate": {"metadata": {"labels": QUEUE}}}}, "q"),
        ({"kind": "JobSet", "metadata": {"labels": QUEUE}, "spec": {}}, "q"),
        ({"kind": "LeaderWorkerSet", "spec": {}}, ""),
        ({"kind": "PyTorchJob"}, ""),
    ],
)
def test_the_queue_label_counts_where_kueue_reads_it(value, queue):
    assert need(value).queue_label == queue


def test_a_priority_stands_in_the_label_or_in_the_pods():
    label = {"kueue.x-k8s.io/priority-class": "high"}
    found = need(job(labels=label, priorityClassName="low"))
    assert (found.priority_label, found.priority_class) == ("high", "low")
    found = need(job(priorityClassName="low"))
    assert (found.priority_label, found.priority_class) == ("", "low")
    found = need(job())
    assert (found.priority_label, found.priority_class) == ("", "")


def test_several_kinds_queue_pod_by_pod():
    assert need(job(kind="Job")).is_gang
    assert need(job(kind="StatefulSet")).is_gang
    assert not need(job(kind="Deployment")).is_gang


def test_an_integrated_kind_queues_as_one():
    value = {"kind": "PyTorchJob", "metadata": {"labels": QUEUE}, "spec": {
        "pytorchReplicaSpecs": {"Worker": {"replicas": 4, "template": {}}}
    }}  # fmt: skip
    apart, together = (
        request_of(read_job(value), integrations=kinds)
        for kinds in ((), ("kubeflow.org/PyTorchJob",))
    )
    assert (apart.is_gang, apart.queue_label) == (False, "")
    (caution,) = apart.cautions
    assert caution == (
        "Kueue queues each pod of a PyTorchJob separately: some may run without the others; with"
        " `queueing.integrations: [pytorchjob]` it queues them as one"
    )
    assert (together.is_gang, together.queue_label, together.cautions) == (True, "q", ())


leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from([GPU, "cpu", "8"])
)
KEYS = [
    "spec", "template", "containers", "initContainers", "resources", "limits", "requests", "affinity", "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", "matchExpressions", "tolerations",
    "nodeSelector", "replicatedJobs", "metadata", "labels", "trainer", "overhead", GPU,
]  # fmt: skip
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=25,
)


@settings(max_examples=examples(50))
@given(st.sampled_from(WORKLOADS), st.dictionaries(st.sampled_from(KEYS), values, max_size=4))
def test_anything_at_all_is_read(kind, value):
    found = need({**value, "kind": kind})
    assert all(n >= 0 for p in found.pod_sets for n in p.requests.values())


def test_a_number_of_pods_in_quotes_is_refused_and_judged_as_meant():
    found = need({"kind": "Job", "spec": {"parallelism": "2", "template": {"spec": pod_spec(1)}}})
    assert [p.count for p in found.pod_sets] == [2]
    (refused,) = found.rejection
    assert refused.message == "spec.parallelism: '2' is not a whole number"
    assert (refused.at, refused.value, refused.resource) == ("spec.parallelism", 2, "")
