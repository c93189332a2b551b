"""Inference services: all objects as a file, accepted by their CRDs, admission and the query contract."""

from pathlib import Path

import pytest

import sizes
from gpuyard.plan import plan_or_raise
from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.admission.team_parameters import parameters_of
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.observability.reads import series_regex
from gpuyard.render.platform import platform_objects
from gpuyard.render.text import yaml_text
from gpuyard.render.workloads.scalers import check_scalers, queue_query
from gpuyard.render.workloads.services import service_objects
from gpuyard.spec.read import read_stack_file
from gpuyard_advisor.explain.answer import explain
from gpuyard_advisor.workloads import read_job
from gpuyard_core.admission.requirements import denials
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules.adm import workload
from gpuyard_testing import CrdFolder
from kit.levels import upstream
from kit.stacks import findings, plan_of, platform, pool, shape, shared_pool, team

HERE = Path(__file__).parent
LWS = sizes.ROOT / ".testbed" / "share" / "lws" / "crds"
IMAGE = "registry.example.org/ml/vllm:0.11"
OURS = {"Deployment", "LeaderWorkerSet", "InferenceService"}


@pytest.fixture(scope="module")
def serving():
    file = HERE / "serving.yaml"
    return plan_or_raise(read_stack_file(file.read_bytes(), file.stem).spec)


def planned(*services, cloud="none", pools=None, **rest):
    raw = platform(
        [pool()] if pools is None else pools,
        [team(guarantee=rest.pop("guarantee", {"train": 16}))],
        cloud=cloud,
        shapes=[shape("chat", gpus_per_node=1), *rest.pop("shapes", ())],
        addons=["keda", "leader-worker-set", "cert-manager", "kserve"],
        workloads={"services": [{"image": IMAGE, "team": "vision", **each} for each in services]},
        **rest,
    )
    return plan_of(raw)


def service(name="api", replicas="1..4", **rest):
    return {"name": name, "shape": "chat", "replicas": replicas, **rest}


def objects(plan):
    return [each for group in service_objects(plan).values() for each in group]


def resolved(plan):
    return [resolve_outputs(each, lambda name: f"<{name}>") for each in objects(plan)]


def of_kind(plan, kind, name="api"):
    found = [o for o in objects(plan) if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return found[0] if found else None


def triggers(plan, name="api"):
    return of_kind(plan, "ScaledObject", name)["spec"]["triggers"]


# ── objects ───────────────────────────────────────────────────────────────────────────────────────
def test_the_objects_of_every_kind_and_scaler_are_a_file(golden, serving):
    golden(HERE / "golden" / "services.yaml", yaml_text(resolved(serving)))


@pytest.mark.parametrize("folder", ["crds", "more-crds"])
def test_objects_have_the_form_of_their_crds(serving, folder):
    known = CrdFolder(upstream(folder))
    found = [(each["kind"], known.violations(each)) for each in resolved(serving)]
    served = {(kind, *problems) for kind, problems in found if problems is not None}
    expected = {
        "crds": {("PodMonitor",), ("ScaledObject",), ("TriggerAuthentication",)},
        "more-crds": {("InferenceService",)},
    }
    assert served == expected[folder]


@pytest.mark.skipif(not LWS.is_dir(), reason="LeaderWorkerSet is not built")
def test_a_leader_worker_set_has_the_form_of_its_crd(serving):
    assert CrdFolder(LWS).violations(of_kind(serving, "LeaderWorkerSet", "llm")) == []


def test_admission_accepts_every_service(serving):
    chat = parameters_of(serving, serving.team("chat"))
    for each in objects(serving):
        if each["kind"] in OURS:
            assert list(denials(workload(resource(each)), chat)) == [], each["metadata"]["name"]


def test_explain_says_that_every_service_starts(serving):
    for each in objects(serving):
        if each["kind"] in OURS - {"InferenceService"}:
            answer = explain(serving, read_job(each))
            assert answer.verdict.value == "starts", answer.message


def test_a_service_that_scales_has_no_replicas_of_its_own():
    plan = planned(service(scale_on="cpu"), service("fixed", 3), service("off", 0))
    assert "replicas" not in of_kind(plan, "Deployment")["spec"]
    assert of_kind(plan, "Deployment", "fixed")["spec"]["replicas"] == 3
    assert of_kind(plan, "Deployment", "off")["spec"]["replicas"] == 0
    assert of_kind(plan, "ScaledObject", "fixed") is None


def test_no_deployment_waits_for_replicas():
    plan = planned(service(scale_on="cpu"))
    for kind in ("Deployment", "Service"):
        assert of_kind(plan, kind)["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}


@pytest.mark.parametrize(
    ("services", "more", "surge"),
    [
        ([service(replicas=15)], {}, 1),
        ([service(replicas=16)], {}, 0),
        ([service(replicas=8), service("other", 7)], {}, 1),
        ([service(replicas=8), service("other", 8)], {}, 0),
        ([service(replicas=1, priority="batch")], {"priorities": {"batch": 1}}, 0),
        ([service(replicas=1)], {"queueing": {"preemption": "never"}}, 0),
    ],
)
def test_a_rollout_adds_a_replica_only_where_it_gets_the_guarantee(services, more, surge):
    """A rollout whose additional replica waits for quota would never end."""
    rollout = of_kind(planned(*services, **more), "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert rollout == {"maxSurge": surge, "maxUnavailable": 1 - surge}


def test_a_replica_of_several_nodes_is_placed_as_one_group():
    large = shape("large", nodes=2, gpus_per_node=8)
    pools = [pool(topology=True, zones=["us-east-1a"])]
    one = service(shape="large", replicas=1)
    plan = planned(one, cloud="aws", pools=pools, shapes=[large])
    pods = of_kind(plan, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    assert pods["size"] == 2
    for each in ("leaderTemplate", "workerTemplate"):
        notes = pods[each]["metadata"]["annotations"]
        assert notes["kueue.x-k8s.io/podset-group-name"] == "replica"
        assert "kueue.x-k8s.io/podset-preferred-topology" in notes
    assert "readinessProbe" not in pods["workerTemplate"]["spec"]["containers"][0]


def test_the_startup_probe_allows_for_loading_the_model():
    plan = planned(service(load_minutes=20, replicas=1))
    pod = of_kind(plan, "Deployment")["spec"]["template"]["spec"]
    probe = pod["containers"][0]["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 20 * 60


def test_services_have_a_priority_above_all_others():
    plan = planned(service(replicas=1), priorities={"production": 1000, "batch": 100})
    classes = {
        o["metadata"]["name"]: o["value"]
        for o in platform_objects(plan)
        if o["kind"] == "WorkloadPriorityClass"
    }
    assert classes == {"lab-services": 1001, "production": 1000, "batch": 100}
    labels = of_kind(plan, "Deployment")["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/priority-class"] == "lab-services"
    assert labels["kueue.x-k8s.io/queue-name"] == "default"
    own = planned(service(replicas=1, priority="batch"), priorities={"batch": 100})
    labels = of_kind(own, "Deployment")["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/priority-class"] == "batch"
    assert [each.name for each in own.queueing.priorities] == ["batch"]


def test_callers_and_prometheus_reach_the_port_and_nothing_else():
    plan = planned(service(replicas=1, callers=["gateway"]), observability={})
    (rule,) = of_kind(plan, "NetworkPolicy")["spec"]["ingress"]
    spaces = [
        peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
        for peer in rule["from"]
    ]
    assert spaces == ["gateway", "monitoring"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8000}]
    assert of_kind(planned(service(replicas=1)), "NetworkPolicy")["spec"]["ingress"] == []


# ── scalers ───────────────────────────────────────────────────────────────────────────────────────
def test_cpu_alone_needs_no_keda():
    plan = planned(service(scale_on="cpu", targets={"cpu": 50.0}))
    scaler = of_kind(plan, "HorizontalPodAutoscaler")["spec"]
    assert scaler["metrics"][0]["resource"]["target"]["averageUtilization"] == 50
    assert scaler["behavior"]["scaleDown"] == {"stabilizationWindowSeconds": 300}
    assert of_kind(plan, "ScaledObject") is None


def test_cpu_beside_another_metric_is_a_trigger_of_keda():
    plan = planned(service(scale_on=["cpu", "requests"]), observability={})
    cpu, _ = triggers(plan)
    assert cpu == {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "70"}}
    assert of_kind(plan, "HorizontalPodAutoscaler") is None


def test_windows_cooldown_and_fallback_are_those_of_the_stack_file():
    plan = planned(
        service(scale_on="requests", scale_up_seconds=5, scale_down_seconds=9, cooldown_seconds=7),
        observability={},
    )
    spec = of_kind(plan, "ScaledObject")["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"], spec["cooldownPeriod"]) == (1, 4, 7)
    assert spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"] == {
        "scaleUp": {"stabilizationWindowSeconds": 5},
        "scaleDown": {"stabilizationWindowSeconds": 9},
    }
    assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"


def test_a_schedule_needs_no_fallback_and_no_identity():
    windows = [{"start": "0 8 * * 1-7", "end": "0 18 * * *", "replicas": 2}]
    plan = planned(service(replicas="0..4", scale_on="schedule", schedule=windows), cloud="aws")
    assert "fallback" not in of_kind(plan, "ScaledObject")["spec"]
    assert of_kind(plan, "TriggerAuthentication") is None
    (trigger,) = triggers(plan)
    assert trigger["metadata"]["start"] == "0 8 * * 0,1,2,3,4,5,6"


@pytest.mark.parametrize(
    ("kind", "pods"),
    [
        ("deployment", "api-[a-z0-9]+-[a-z0-9]{5}"),
        ("leader-worker-set", "api-[0-9]+(-[0-9]+)?"),
        ("inference-service", "api-predictor-[a-z0-9]+-[a-z0-9]{5}"),
    ],
)
def test_the_query_for_gpus_selects_the_pods_of_the_service(kind, pods):
    plan = planned(service(scale_on="gpu", kind=kind), observability={})
    (trigger,) = triggers(plan)
    assert trigger["metadata"]["query"] == (
        "100 * avg(max by (UUID, GPU_I_ID) (DCGM_FI_PROF_GR_ENGINE_ACTIVE"
        f'{{exported_namespace="vision", exported_pod=~"{pods}"}}))'
    )
    assert trigger["metricType"] == "Value"
    assert list(check_scalers(plan)) == []


def test_queries_hold_on_shared_gpus_too():
    plan = planned(
        service(shape="share", scale_on="gpu"),
        pools=[pool(), shared_pool()],
        shapes=[shape("share", per_pod={"shares": 1})],
        guarantee={"train": 8, "dev/shared": 8},
        observability={},
    )
    assert list(check_scalers(plan)) == []


def test_a_service_whose_shape_starts_nowhere_is_reported_by_its_shape():
    raw = platform(
        [pool()],
        [team(guarantee={"train": 16})],
        shapes=[shape("wide", gpus_per_node=16)],
        workloads={"services": [service(replicas=1, team="vision", shape="wide", image=IMAGE)]},
    )
    assert [each.id for each in findings(raw)] == ["shape.cannot_start"]


def test_a_query_without_its_metric_is_reported_with_the_query():
    wrong = "sum(vllm:num_request_waiting)"
    plan = planned(service(scale_on="requests", query=wrong), observability={})
    (finding,) = check_scalers(plan)
    assert (finding.id, finding.where) == ("metric.unknown", "workloads.services[0].query")
    assert "write vllm:num_requests_waiting" in str(finding)


def test_a_query_that_is_not_promql_is_reported():
    plan = planned(service(replicas="0..4", scale_on="requests", query="sum("), observability={})
    (finding,) = check_scalers(plan)
    assert (finding.id, finding.where) == ("metric.query", "workloads.services[0].query")


def test_a_lost_metric_is_an_error_unless_there_may_be_no_replica():
    gateway = "sum(envoy_cluster_upstream_rq_active)"
    plan = planned(
        service(scale_on="requests"),
        service("zero", "0..2", scale_on="requests", query=gateway),
        observability={},
    )
    values = [triggers(plan, n)[0]["metadata"]["ignoreNullValues"] for n in ("api", "zero")]
    assert values == ["false", "true"]


# ── clouds ────────────────────────────────────────────────────────────────────────────────────────
def part(graph, name):
    return next(each for each in graph.resources if each.name == name)


def test_keda_may_read_exactly_the_queues_of_the_services(serving):
    graph = aws_graph(serving)
    statements = part(graph, "keda-rights").inputs["policy"].tree["Statement"]
    queues, metrics = statements
    assert queues["Action"] == "sqs:GetQueueAttributes"
    assert [each.parts for each in queues["Resource"]] == [
        ("arn:", "aws", ":sqs:eu-west-1:123456789012:prompts")
    ]
    assert metrics["Action"] == "aps:QueryMetrics"
    account = part(graph, "keda-identity").inputs
    assert (account["namespace"], account["serviceAccount"]) == ("keda", "keda-operator")
    assert triggers(serving, "batch")[0] == {
        "type": "aws-sqs-queue",
        "metadata": {
            "queueURL": "https://sqs.eu-west-1.amazonaws.com/123456789012/prompts",
            "queueLength": "5",
            "awsRegion": "eu-west-1",
        },
        "authenticationRef": {"name": "batch"},
    }


def test_a_platform_without_queues_has_no_role_for_keda():
    names = {each.name for each in aws_graph(planned(service(replicas=1), cloud="aws")).resources}
    assert not any(name.startswith("keda") for name in names)


def test_a_subscription_is_read_through_cloud_monitoring():
    queue = {"pubsub": "projects/ml-prod/subscriptions/prompts"}
    plan = planned(
        service(replicas="0..4", scale_on="queue", queue=queue),
        cloud="gcp",
        pools=[pool(machine="a2-highgpu-8g")],
        guarantee={"train": 16},
    )
    (trigger,) = triggers(plan)
    assert trigger["metadata"]["serverAddress"] == (
        "https://monitoring.googleapis.com/v1/projects/ml-prod/location/global/prometheus"
    )
    assert trigger["metadata"]["query"] == queue_query(plan.services[0])
    assert list(check_scalers(plan)) == []
    grant = part(gcp_graph(plan), "keda-ml-prod").inputs
    assert (grant["project"], grant["role"]) == ("ml-prod", "roles/monitoring.viewer")
    assert grant["member"].parts[-1].endswith("/subject/ns/keda/sa/keda-operator")


def test_a_managed_prometheus_of_google_cloud_scrapes_the_service_and_answers_keda():
    plan = planned(
        service(scale_on="requests"),
        cloud="gcp",
        pools=[pool(machine="a2-highgpu-8g")],
        observability={"prometheus": "managed"},
    )
    monitoring = of_kind(plan, "PodMonitoring")
    assert monitoring["metadata"]["namespace"] == "vision"
    assert of_kind(plan, "PodMonitor", "gpuyard-service-api") is None
    (trigger,) = triggers(plan)
    assert trigger["metadata"]["serverAddress"].name == "metrics.query_url"
    assert of_kind(plan, "TriggerAuthentication")["spec"] == {"podIdentity": {"provider": "gcp"}}
    graph = gcp_graph(plan)
    assert part(graph, "keda-viewer").inputs["role"] == "roles/monitoring.viewer"
    assert graph.late_values["metrics.query_url"].parts[-1] == "/location/global/prometheus"


def test_a_managed_prometheus_receives_the_series_of_scalers():
    plan = planned(
        service(scale_on="requests", query="sum(envoy_cluster_upstream_rq_active)"),
        cloud="aws",
        observability={"prometheus": "managed"},
    )
    assert "envoy_cluster_upstream_rq_active" in series_regex(plan).split("|")
