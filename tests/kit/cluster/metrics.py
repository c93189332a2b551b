"""The programs of testbed.monitoring for tests, and nodes and pods for fake exporters."""

import os
import time
from collections.abc import Mapping
from itertools import product

from testbed.monitoring import TOOLS, Value

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard_core.catalogue.metrics import Metric, MetricType, metrics_of
from gpuyard_core.names import SYSTEM_POOL
from gpuyard_simulate.agents.hardware import LAYOUT, layout_text
from kit.levels import require_level

PROGRAMS = ("prometheus", "promtool", "alertmanager", "amtool")


def require_programs() -> None:
    """Skip, or fail where they are required, without the programs."""
    lacking = [name for name in PROGRAMS if not os.access(TOOLS / name, os.X_OK)]
    why = f"no {', '.join(lacking)} in {TOOLS}; `scripts/tools prometheus alertmanager` builds them"
    require_level("engine", not lacking, why)


# ── the objects of a platform ─────────────────────────────────────────────────────────────────────
def nodes_of(plan: PlatformPlan, layouts: Mapping[str, Mapping[str, int]]) -> list[Value]:
    """Nodes as the fakes make them: machine, pool, layout and advertised resources."""
    made = [
        node_of(pool, n, layouts.get(pool.name))
        for pool in plan.pools
        for n in range(pool.nodes.high)
    ]
    system = plan.system.running_nodes if plan.system else 0
    labels = {"gpuyard.dev/pool": SYSTEM_POOL}
    for number in range(int(system)):
        metadata = {"name": f"system-{number}", "labels": labels}
        made.append({"kind": "Node", "metadata": metadata, "spec": {}, "status": {}})
    return made


def node_of(pool: PoolPlan, number: int, layout: Mapping[str, int] | None) -> Value:
    labels = dict(pool.node_selector) | {
        "gpuyard.dev/pool": pool.name,
        "node.kubernetes.io/instance-type": pool.machine.name,
        "nvidia.com/gpu.replicas": str(pool.replicas),
    }
    annotations = {LAYOUT: layout_text([layout] * pool.machine.gpus)} if layout else {}
    return {
        "kind": "Node",
        "metadata": {"name": f"{pool.name}-{number}", "labels": labels, "annotations": annotations},
        "spec": {},
        "status": {
            "allocatable": {each.resource: str(each.per_node) for each in pool.advertised},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod_of(
    name: str, namespace: str, node: str, resource: str, count: int = 1, **labels: str
) -> Value:
    container = {"name": "main", "resources": {"limits": {resource: str(count)}}}
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"{namespace}-{name}",
        "labels": labels,
    }
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": node, "containers": [container]},
        "status": {"phase": "Running"},
    }


def claim_of(name: str, namespace: str, node: str, device: str) -> tuple[Value, Value]:
    """A pod that claims a GPU by DRA, and its claim with the device that the scheduler chose."""
    pod = pod_of(name, namespace, node, "cpu")
    pod["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]
    result = {"driver": "gpu.nvidia.com", "pool": node, "device": device, "request": "gpu"}
    metadata = {"name": f"{name}-gpu", "namespace": namespace}
    return pod, {
        "metadata": metadata,
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


# ── exporters that do not run beside a test ───────────────────────────────────────────────────────
NAMED = {"le": "1", "priority_class": "research", "node": "train-0", "pool": "train"}
"""Values of labels; others are what the table knows, or the name of the label."""


def table_text(*names: str) -> str:
    """Each metric of these exporters as the metric table has it, growing with the time."""
    value, lines = time.time(), list[str]()
    for metric in (each for name in names for each in metrics_of(name).values()):
        lines.append(f"# TYPE {metric.name} {metric.type.value}")
        for labels in _labels(metric):
            if metric.type is MetricType.HISTOGRAM:
                buckets = [",".join(filter(None, (labels, f'le="{le}"'))) for le in _BOUNDS]
                lines += [f"{metric.name}_bucket{{{each}}} {value}" for each in buckets]
                lines += [f"{metric.name}_{part}{{{labels}}} {value}" for part in ("sum", "count")]
            else:
                lines.append(f"{metric.name}{{{labels}}} {value}")
    return "\n".join([*lines, ""])


_BOUNDS = ("1", "+Inf")


def _labels(metric: Metric) -> list[str]:
    """Labels of a metric, once for each of their known values."""
    known = [
        [f'{each.name}="{v}"' for v in each.values or (NAMED.get(each.name, each.name),)]
        for each in metric.labels
        if each.name.isidentifier()  # not a prefix of labels, with an asterisk
    ]
    return [",".join(chosen) for chosen in product(*known)]
