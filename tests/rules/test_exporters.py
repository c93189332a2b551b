"""Whether an exporter in view serves the list that it comes with."""

from gpuyard.rules.rule import Resource, Stack
from gpuyard.rules.subjects.exporters import serve_the_default
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
    ],
)
def test_an_exporter_without_a_list_of_its_own_serves_what_it_comes_with(exporter):
    assert serve_the_default(Stack((exporter,)))


@every(
    "exporter",
    [
        values("gpu-operator", dcgmExporter={"enabled": False}),
        values("gpu-operator", dcgmExporter={"config": {"name": "counters"}}),
        policy(env=OWN),
        values("dcgm-exporter", customMetrics="DCGM_FI_DEV_GPU_UTIL, gauge, use"),
        values("dcgm-exporter", extraEnv=OWN),
        values("dcgm-exporter", arguments=["-f", "/etc/mine.csv"]),
        agent(args=["--collectors=/etc/mine.csv"]),
        agent(image="example.org/other:1"),
        agent(image="nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0", env=OWN),
    ],
)
def test_of_one_with_a_list_of_its_own_nothing_is_known(exporter):
    assert not serve_the_default(Stack((exporter,)))


def test_one_of_several_is_enough():
    assert serve_the_default(Stack((policy(env=OWN), agent())))
    assert not serve_the_default(Stack(()))
