"""Whether an exporter in view serves the list that it comes with."""

from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource, Stack
from gpuyard_lint.rules.run import FindingState, evaluate
from gpuyard_lint.rules.subjects.exporters import serves_custom_metrics, serves_default_metrics
from kit.every import every

OWN = [{"name": "DCGM_EXPORTER_COLLECTORS", "value": "/etc/mine.csv"}]
SHIPPED = [
    {"name": "DCGM_EXPORTER_COLLECTORS", "value": "/etc/dcgm-exporter/dcp-metrics-included.csv"}
]


def values(chart, **given):
    return Resource(f"values:{chart}", chart, given)


def policy(**exporter):
    return Resource("nvidia.com/v1/ClusterPolicy", "p", {"spec": {"dcgmExporter": exporter}})


def agent(image="nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-4.8.3-distroless", **given):
    spec = {"containers": [{"name": "a", "image": image, **given}]}
    return Resource("apps/v1/DaemonSet", "d", {"spec": {"template": {"spec": spec}}})


@every(
    "exporter",
    [
        values("gpu-operator"),
        values("gpu-operator", dcgmExporter={"env": [*SHIPPED, {"name": "x", "value": "y"}]}),
        policy(enabled=True),
        values("dcgm-exporter", arguments=["-f", "/etc/dcgm-exporter/default-counters.csv"]),
        agent(),
        agent(args=["--collectors=/etc/dcgm-exporter/dcp-metrics-included.csv"], env=SHIPPED),
        agent(args=["-m", "none"], volumeMounts=[{"mountPath": "/var/lib/kubelet/pod-resources"}]),
    ],
)
def test_an_exporter_without_a_list_of_its_own_serves_what_it_comes_with(exporter):
    assert serves_default_metrics(Stack((exporter,)))
    assert not serves_custom_metrics(Stack((exporter,)))


@every(
    "exporter",
    [
        values("gpu-operator", dcgmExporter={"config": {"name": "counters"}}),
        policy(env=OWN),
        values("dcgm-exporter", customMetrics="DCGM_FI_DEV_GPU_UTIL, gauge, use"),
        values("dcgm-exporter", extraEnv=OWN),
        values("dcgm-exporter", arguments=["-f", "/etc/mine.csv"]),
        agent(args=["--collectors=/etc/mine.csv"]),
        agent(args=["-m", "gpus:counters"]),
        agent(args=["--config-file=/etc/exporter.yaml"]),
        agent(command=["/bin/sh", "-c", "dcgm-exporter -f /etc/mine.csv -k"]),
        agent(env=[{"name": "DCGM_EXPORTER_CONFIGMAP_DATA", "value": "gpus:counters"}]),
        agent(volumeMounts=[{"mountPath": "/etc/dcgm-exporter/default-counters.csv"}]),
        agent(image="nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0", env=OWN),
    ],
)
def test_of_one_with_a_list_of_its_own_nothing_is_known(exporter):
    assert not serves_default_metrics(Stack((exporter,)))
    assert serves_custom_metrics(Stack((exporter,)))


@every(
    "other",
    [
        values("gpu-operator", dcgmExporter={"enabled": False, "config": {"name": "counters"}}),
        values("gpu-operator", dcgmExporter={"enabled": "false", "config": {"name": "counters"}}),
        agent(image="example.org/other:1", env=OWN),
    ],
)
def test_what_is_off_or_no_exporter_serves_nothing(other):
    assert not serves_default_metrics(Stack((other,)))
    assert not serves_custom_metrics(Stack((other,)))


def test_one_of_several_is_enough():
    both = Stack((policy(env=OWN), agent()))
    assert serves_default_metrics(both)
    assert serves_custom_metrics(both)
    assert not serves_default_metrics(Stack(()))


def test_variables_of_an_operator_that_are_not_known_hide_nothing_else():
    rule = next(each for each in RULES if each.id == "GPU-MET-05")
    fields = {"name": "DCGM_EXPORTER_COLLECTORS", "value": "DCGM_FI_DEV_GPU_UTIL"}
    stack = Stack((policy(env=UNKNOWN), values("gpu-operator", dcgmExporter={"env": [fields]})))
    assert rule.check_stack is not None
    assert [each.path for each in rule.check_stack(stack, {})] == [
        ("dcgmExporter", "env", 0, "value")
    ]


@every("unknown", ["labels", "port", "ports"])
def test_of_a_monitor_of_pods_that_nobody_knows_nothing_is_said(unknown):
    pod = agent(ports=UNKNOWN if unknown == "ports" else [{"name": "metrics"}])
    template = pod.properties["spec"]["template"]
    template["metadata"] = {"labels": UNKNOWN if unknown == "labels" else {"app": "x"}}
    endpoint = {"port": UNKNOWN if unknown == "port" else "http"}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "podMetricsEndpoints": [endpoint]}
    monitor = Resource("monitoring.coreos.com/v1/PodMonitor", "m", {"spec": spec})
    (rule,) = (each for each in RULES if each.id == "GPU-MET-05")
    said = {each.state for each in evaluate([monitor, pod], [rule])}
    assert said == (set() if unknown == "labels" else {FindingState.NOT_EVALUATED})
