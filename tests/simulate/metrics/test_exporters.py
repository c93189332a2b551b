"""The fake exporters: the format, what each GPU has, the pods that hold it, and what a load sets."""

import csv
import re
from typing import Any, cast

import pytest

from gpuyard.render.observability.facts import state_metrics_label
from gpuyard.render.observability.rules import rule_groups
from gpuyard_core.catalogue.metrics import dcgm_default, metrics
from gpuyard_simulate.metrics import cluster, kube_state
from gpuyard_simulate.metrics.devices import Allocations, devices_of, units_of
from gpuyard_simulate.metrics.load import Load, PodLoad, read_load
from gpuyard_simulate.metrics.server import Exporters, Objects
from kit.cluster.metrics import nodes_of, pod_of
from kit.levels import upstream
from kit.stacks import plan_of, platform, pool, team

CUT = {"3g.20gb": 1, "1g.5gb": 4}
POOLS = [
    pool("whole", nodes=1),
    pool("cut", machine="p4d.24xlarge", nodes=1, sharing={"mig": CUT}),
    pool("turns", machine="g6.xlarge", nodes=1, sharing={"time_slicing": 3}),
]
GPU, SHARED, SLICE = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"
NODES = {n["metadata"]["name"]: n for n in nodes_of(plan_of(platform(POOLS)), {"cut": CUT})}
VALIDATION = {"image": "registry.example.org/validator:1"}
LIST = """# a comment
DCGM_FI_DEV_GPU_UTIL,      gauge, GPU utilization (in %).
DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, Ratio of time the graphics engine is active.
DCGM_FI_DEV_FB_USED , gauge, Framebuffer memory used (in MiB).
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION, counter, Total energy consumption since boot (in mJ).
DCGM_EXP_XID_ERRORS_COUNT, gauge, Count of XID Errors within the window.
DCGM_FI_DRIVER_VERSION, label, Driver Version
"""


def exporters(*pods: Any, counters: str = LIST, **rest: Any) -> Exporters:
    objects = Objects([*NODES.values()], list(pods), counters=counters, **rest)
    return Exporters(lambda: objects)


def series(text: str | None, name: str) -> list[str]:
    return [line for line in (text or "").splitlines() if line.startswith(f"{name}{{")]


def test_a_line_is_as_the_exporter_writes_it():
    busy = exporters(pod_of("job", "vision", "whole-0", GPU))
    busy.load = Load(pods=(PodLoad("vision/job", 0.5),))
    first, second, *_ = series(busy.node("whole-0"), "DCGM_FI_DEV_GPU_UTIL")
    assert first == (
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-whole-0-0",pci_bus_id="00000000:10:00.0",device="nvidia0",'
        'modelName="NVIDIA H100 80GB HBM3",Hostname="whole-0",DCGM_FI_DRIVER_VERSION="580.95.05",'
        'container="main",namespace="vision",pod="job"} 50.000000'
    )
    assert second.endswith('DCGM_FI_DRIVER_VERSION="580.95.05"} 0.000000')


def test_only_counters_of_the_list_are_served():
    text = exporters(counters="DCGM_FI_DEV_GPU_TEMP, gauge, Temperature.\n").node("whole-0") or ""
    assert {line.split("{")[0] for line in text.splitlines() if line[0] != "#"} == {
        "DCGM_FI_DEV_GPU_TEMP"
    }
    assert text.startswith(
        "# HELP DCGM_FI_DEV_GPU_TEMP Temperature.\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
    )


def test_the_default_list_is_served_but_for_labels():
    names = [name for name, each in dcgm_default().items() if each.type != "label"]
    text = exporters(counters="\n".join(f"{n}, gauge, x" for n in names)).node("whole-0")
    absent = [name for name in names if not series(text, name)]
    assert absent == []


def test_instances_have_an_id_and_lack_the_utilisation_of_a_gpu():
    text = exporters(pod_of("small", "vision", "cut-0", SLICE, 5)).node("cut-0")
    assert series(text, "DCGM_FI_DEV_GPU_UTIL") == []
    lines = series(text, "DCGM_FI_PROF_GR_ENGINE_ACTIVE")
    assert len(lines) == 8 * 5
    assert sum('pod="small"' in line for line in lines) == 5
    assert 'GPU_I_PROFILE="1g.5gb",GPU_I_ID="1"' in lines[0]


def test_on_a_shared_gpu_each_pod_has_a_series_and_processes_are_told_apart():
    shared = exporters(*(pod_of(f"turn-{n}", "vision", "turns-0", SHARED) for n in range(2)))
    shared.load = Load(pods=(PodLoad(".*/turn-0", 1.0, 1.0),))
    text = shared.node("turns-0")

    def values(name: str) -> dict[str, float]:
        found = series(text, name)
        keys = [re.search(r'vgpu="(\d)"', line) for line in found]
        pairs = zip(keys, found, strict=True)
        return {k[1] if k else "": float(line.split()[-1]) for k, line in pairs}

    third = pytest.approx(100 / 3, abs=0.01)
    assert values("DCGM_FI_DEV_GPU_UTIL") == {"": third, "0": third, "1": 0}
    assert values("DCGM_FI_PROF_GR_ENGINE_ACTIVE") == {
        "0": pytest.approx(1 / 3, abs=0.01),
        "1": pytest.approx(1 / 3, abs=0.01),
    }


def test_a_pod_keeps_its_devices_until_it_ends():
    first, second = (pod_of(name, "vision", "whole-0", GPU, 4) for name in "ab")
    allocations = Allocations()
    node = NODES["whole-0"]
    before = allocations.update(node, [first, second], [])
    after = allocations.update(node, [second], [])
    assert {u.device.index for u, h in before if h.pod == "b"} == {4, 5, 6, 7}
    assert {u.device.index for u, _ in after} == {4, 5, 6, 7}
    ended = {**second, "status": {"phase": "Succeeded"}}
    assert allocations.update(node, [ended], []) == []


def test_a_claim_names_its_device():
    pod = {
        **pod_of("claimer", "vision", "whole-0", "cpu"),
        "status": {"phase": "Running", "resourceClaimStatuses": [{"resourceClaimName": "gpu-x"}]},
    }
    result = {"driver": "gpu.nvidia.com", "pool": "whole-0", "device": "gpu-3", "request": "gpu"}
    claim = {
        "metadata": {"name": "gpu-x", "namespace": "vision"},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }
    (line,) = [
        line
        for line in series(exporters(pod, claims=[claim]).node("whole-0"), "DCGM_FI_DEV_FB_USED")
        if "dra_claim_name" in line
    ]
    assert 'gpu="3"' in line
    assert 'pod="claimer",dra_claim_name="gpu-x",dra_claim_namespace="vision"' in line


def test_an_exporter_that_is_gone_and_a_node_that_is_not_there_do_not_answer():
    found = exporters()
    found.load = Load(gone=frozenset({"whole-0"}))
    assert found.node("whole-0") is None
    assert found.node("whole-9") is None
    assert found.node("cut-0")


def test_a_reset_starts_the_counters_again():
    objects = Objects([NODES["whole-0"]], counters=LIST)
    clock = iter([100.0, 160.0, 200.0])
    found = Exporters(lambda: objects, now=lambda: next(clock))

    def energy() -> float:
        lines = series(found.node("whole-0"), "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION")
        return float(lines[0].split()[-1])

    first, second = energy(), energy()
    found.load = Load(resets={"whole-0": 1})
    assert first < second
    assert energy() == first


def test_a_pod_that_ended_may_stay_for_one_scrape():
    pods = [pod_of("job", "vision", "whole-0", GPU)]
    found = Exporters(lambda: Objects([NODES["whole-0"]], pods, counters=LIST))
    found.load = Load(lingers=True)
    assert 'pod="job"' in (found.node("whole-0") or "")
    pods.clear()
    assert 'pod="job"' in (found.node("whole-0") or "")
    assert 'pod="job"' not in (found.node("whole-0") or "")


def test_a_fault_is_a_value_of_one_gpu():
    found = exporters()
    assert series(found.node("whole-0"), "DCGM_EXP_XID_ERRORS_COUNT") == []
    found.load = read_load(
        {"values": {"GPU-whole-0-3": {'DCGM_EXP_XID_ERRORS_COUNT{xid="79"}': 2}}, "gone": ["cut-0"]}
    )
    (line,) = series(found.node("whole-0"), "DCGM_EXP_XID_ERRORS_COUNT")
    assert 'gpu="3"' in line
    assert line.endswith(',xid="79"} 2.000000')


def test_an_unknown_field_of_a_load_is_refused():
    with pytest.raises(TypeError, match="activty"):
        read_load({"pods": [{"pod": ".*", "activty": 1}]})


def test_units_of_a_shared_gpu_are_its_replicas():
    units = units_of(NODES["turns-0"])
    assert [unit.replica for unit in units[SHARED]] == [0, 1, 2]
    assert len(devices_of(NODES["turns-0"])) == 1


def state() -> str:
    pods = [pod_of("job", "vision", "whole-0", GPU)]
    return kube_state.text_of(NODES.values(), pods, [{"metadata": {"name": "vision"}}])


def test_kube_state_metrics_has_the_labels_of_a_node():
    (line,) = [each for each in series(state(), "kube_node_labels") if 'node="whole-0"' in each]
    assert 'label_gpuyard_dev_pool="whole"' in line


@pytest.mark.parametrize("label", ["eks.amazonaws.com/capacityType", "karpenter.sh/capacity-type"])
def test_labels_have_the_names_that_rules_read(label):
    node = {"metadata": {"name": "a", "labels": {label: "x"}}}
    assert f'{state_metrics_label(label)}="x"' in kube_state.text_of([node], [], [])


def test_kube_state_metrics_serves_what_the_real_one_does():
    path = upstream("data", "kube-state-metrics.csv")
    with path.open(encoding="utf-8") as file:
        real = {row["metric"]: set(row["labels"].split()) for row in csv.DictReader(file)}
    found = [line for line in state().splitlines() if line[0] != "#"]
    assert found
    for line in found:
        name = line.split("{")[0]
        labels = set(re.findall(r'(\w+)="', line))
        known = {label for label in labels if not label.startswith("label_")}
        assert known <= real[name], line
        assert name in metrics() or name == "kube_node_spec_unschedulable"


def test_kube_state_metrics_serves_what_rules_and_alerts_read():
    names = {line.split("{")[0] for line in state().splitlines() if line[0] != "#"}
    raw = platform(POOLS, [team("vision", guarantee={"whole": 8})], validation=VALIDATION)
    texts = [rule["expr"] for group in rule_groups(plan_of(raw)) for rule in group["rules"]]
    assert {name for text in texts for name in re.findall(r"kube_\w+", text)} <= names


def test_kube_state_metrics_names_resources_with_underscores():
    (line,) = [each for each in series(state(), "kube_node_status_allocatable") if "whole" in each]
    assert line.endswith('resource="nvidia_com_gpu",unit="integer"} 8')


class FakeApi:
    """An API server with a node, and perhaps the ConfigMap of a list of counters."""

    def __init__(self, **data: str) -> None:
        self.data, self.reads = data, 0

    def get(self, path: str) -> dict[str, Any] | None:
        if path == "/api/v1/nodes":
            self.reads += 1
            return {"items": [NODES["whole-0"]]}
        is_list = path == "/api/v1/namespaces/gpu-operator/configmaps/counters"
        return {"data": self.data} if is_list and self.data else None


def test_the_cluster_is_read_once_a_second():
    api, times = FakeApi(), [0.0]
    read = cluster.reader(cast("Any", api), now=lambda: times[0])
    read()
    read()
    assert api.reads == 1
    times[0] = 1.5
    assert len(read().nodes) == api.reads - 1 == 1


def test_the_list_of_counters_is_that_of_the_config_map():
    source = ("gpu-operator", "counters", "dcgm-metrics.csv")
    assert cluster.reader(cast("Any", FakeApi(**{source[2]: LIST})), source)().counters == LIST
    assert cluster.reader(cast("Any", FakeApi()), source)().counters == ""
    assert "DCGM_FI_DEV_FB_USED" in cluster.reader(cast("Any", FakeApi()))().counters
