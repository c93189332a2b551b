"""A real Karpenter with its kwok provider: the catalogue's machines, gpuyard's NodePools, a plan's forecast."""

import json
import os
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.request import urlopen

import pytest

from gpuyard.plan.pools.machines import plan_allocatable
from gpuyard.plan.records import PlatformPlan, PoolPlan, ShapePlan
from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.aws.karpenter.nodes import karpenter_objects
from gpuyard.render.aws.launch import ec2_purchase
from gpuyard.render.aws.pools import group_sizes
from gpuyard.render.objects import toleration_object
from gpuyard_core.catalogue.machines import MACHINES, Machine
from gpuyard_core.manifests.quantities import MILLI
from gpuyard_core.names import EFA, GPU, INSTANCE_TYPE_LABEL, POOL_LABEL, ZONE_LABEL
from gpuyard_simulate.api import Api

PROGRAM, DEFINITIONS = "GPUYARD_KARPENTER", "GPUYARD_KARPENTER_CRDS"
ZONES = tuple(f"us-east-1{letter}" for letter in "abcdf")
SPOT_OF_LIST = 0.4
"""Share of the on-demand price: the catalogue has none for spot."""
RESERVED_OF_LIST = 1e-7
"""A reservation costs almost nothing, as Karpenter calculates for EC2."""
KEPT_CPU, KEPT_MIB = 100, 10
"""What the provider subtracts from every machine; the kubelet's share is subtracted here."""
KIB = 1024
CLASS = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
Value = dict[str, Any]
Nodes = Counter[tuple[str, str]]
"""Number of nodes, by machine type and capacity type."""


def needs_karpenter() -> list[pytest.MarkDecorator]:
    """Marks of campaigns: the program is built manually."""
    why = f"a campaign: {PROGRAM} names no program"
    return [
        pytest.mark.search,
        pytest.mark.timeout(7200),
        pytest.mark.skipif(PROGRAM not in os.environ, reason=why),
    ]


# ── inputs ────────────────────────────────────────────────────────────────────────────────────────
def instance_types() -> list[Value]:
    """Every EC2 machine with GPUs of the catalogue that has a price, in every zone of the test stack."""
    result = MACHINES.values()
    return [_type(each) for each in result if each.cloud == "aws" and each.gpus and each.on_demand]


def _type(machine: Machine) -> Value:
    assert machine.on_demand
    price = machine.on_demand.high
    prices = {
        "on-demand": price,
        "spot": price * SPOT_OF_LIST,
        "reserved": price * RESERVED_OF_LIST,
    }
    free = plan_allocatable(machine)
    blocked = {
        "cpu": f"{free.cpu * MILLI + KEPT_CPU}m",
        "memory": f"{free.memory_gib * KIB + KEPT_MIB}Mi",
        "ephemeral-storage": "200Gi",
        "pods": "110",
        GPU: str(machine.gpus) if machine.gpu_fraction == 1 else "0",
        EFA: str(machine.efa_interfaces),
    }
    return {
        "name": machine.type_name,
        "architecture": machine.arch,
        "operatingSystems": ["linux"],
        "resources": {name: count for name, count in blocked.items() if count != "0"},
        "offerings": [_offering(*sold, zone) for zone in ZONES for sold in prices.items()],
    }


def _offering(kind: str, price: float, zone: str) -> Value:
    expected = {"karpenter.sh/capacity-type": kind, ZONE_LABEL: zone}
    keys = [{"key": key, "operator": "In", "values": [value]} for key, value in expected.items()]
    return {"Price": price, "Available": True, "Requirements": keys}


def for_kwok(plan: PlatformPlan, empty_for: str = "5s") -> list[Value]:
    """The plan's NodePools and overlays, with another node class and time for empty nodes."""
    created: list[Value] = [{"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": CLASS["kind"]}]
    created[0]["metadata"] = {"name": CLASS["name"]}
    for each in karpenter_objects(plan):
        if each["kind"] == "EC2NodeClass":
            continue
        value = json.loads(json.dumps(resolve_outputs(each, str)))
        if each["kind"] == "NodePool":
            value["spec"]["template"]["spec"]["nodeClassRef"] = CLASS
            value["spec"]["disruption"]["consolidateAfter"] = empty_for
        created.append(value)
    return created


# ── requests, and a plan's forecast ───────────────────────────────────────────────────────────────
def pods(plan: PlatformPlan, shape: ShapePlan) -> Iterator[Value]:
    """The pods of one job of a shape: one for each node, with the selectors that queues add."""
    pool = plan.pool(shape.pool)
    tolerations = [toleration_object(taint) for taint in pool.taints]
    expected = {shape.resource: str(shape.per_node)}
    for number in range(shape.nodes):
        container = {
            "name": "c",
            "image": "example.org/x",
            "resources": {"requests": {"cpu": "1", **expected}, "limits": expected},
        }
        spread = {
            "labelSelector": {"matchLabels": {"shape": shape.name}},
            "topologyKey": "kubernetes.io/hostname",
        }
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{shape.name}-{number}",
                "namespace": "default",
                "labels": {"shape": shape.name},
            },
            "spec": {
                "nodeSelector": {POOL_LABEL: pool.stable_name},
                "tolerations": tolerations,
                # A job with one pod per node has that by its size; here pods of one job have anti-affinity.
                "affinity": {
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [spread]}
                },
                "containers": [container],
            },
        }


def foreseen(plan: PlatformPlan, shape: ShapePlan) -> Nodes:
    """The capacity options of its pool in order, each with as many nodes as it allows."""
    pool, remaining = plan.pool(shape.pool), shape.nodes
    result: Nodes = Counter()
    for size in group_sizes(pool):
        if used := min(remaining, size.high):
            result[_cheapest(pool), ec2_purchase(pool, size.option).karpenter_capacity_type] += used
            remaining -= used
    return result


def _cheapest(pool: PoolPlan) -> str:
    machines = [MACHINES[name] for name in pool.machines]
    return min(machines, key=lambda each: each.on_demand.high if each.on_demand else 0).type_name


def zones_of(plan: PlatformPlan, shape: ShapePlan) -> set[str]:
    """The zones of its nodes."""
    return set(plan.pool(shape.pool).zones or ZONES)


def seen(nodes: list[Value]) -> tuple[Nodes, set[str]]:
    """The same for existing nodes: their types, and their zones."""
    labels: list[Mapping[str, str]] = [each["metadata"]["labels"] for each in nodes]
    kinds = Counter((e[INSTANCE_TYPE_LABEL], e["karpenter.sh/capacity-type"]) for e in labels)
    return kinds, {each[ZONE_LABEL] for each in labels}


def place(value: Value) -> str:
    """The path of an object."""
    version, kind = value["apiVersion"], value["kind"].lower()
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = value["metadata"].get("namespace")
    inside = f"/namespaces/{namespace}" if namespace else ""
    plural = f"{kind}es" if kind.endswith("s") else f"{kind}s"
    return f"{root}{inside}/{plural}/{value['metadata']['name']}"


# ── requests to a cluster ─────────────────────────────────────────────────────────────────────────
NODES = "/api/v1/nodes"
OF_KARPENTER = f"{NODES}?labelSelector=karpenter.sh%2Fnodepool"


def within(seconds: float, look: Callable[[], Any]) -> bool:
    """Whether the condition becomes true in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if look():
            return True
        time.sleep(0.3)
    return False


def put(api: Api, value: Value) -> bool:
    """Create or update an object."""
    query = "?fieldManager=test&force=true"
    api.call("PATCH", place(value) + query, value, "application/apply-patch+yaml")
    return True


def items(api: Api, path: str) -> list[Value]:
    """The objects listed at a path."""
    results: list[Value] = (api.get(path) or {}).get("items", [])
    return results


def running(api: Api, expected: Sequence[Value], *, again: bool = False) -> bool:
    """Whether all of these pods run; with `again` missing ones are created again, as their Job would.

    A pod may be bound to a node just before the node gets its taint for unregistered nodes, and is evicted at
    once: 2 of 250 were.
    """
    results = [api.get(place(each)) for each in expected]
    for each, pod in zip(expected, results, strict=True) if again else ():
        if pod is None:
            put(api, each)
    return all((each or {}).get("status", {}).get("phase") == "Running" for each in results)


# ── the program ───────────────────────────────────────────────────────────────────────────────────
class Beside:
    """A program next to a cluster, until the block ends; `health` is the port of its readiness endpoint."""

    def __init__(
        self, words: Sequence[str], log: Path, health: int, environment: Mapping[str, str]
    ) -> None:
        self._log = log.open("ab")
        self._health = health
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
            env={**os.environ, **environment},
        )

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    def __enter__(self) -> Self:
        until = time.monotonic() + 90
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with urlopen(f"http://127.0.0.1:{self._health}/readyz", timeout=2):
                    return self
            except OSError:
                time.sleep(0.2)
        self.__exit__()
        raise AssertionError(Path(self._log.name).read_text()[-2000:])

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._log.close()


def beside(program: Path, kubeconfig: Path, folder: Path) -> Beside:
    """Karpenter with the catalogue's machines.

    Its kwok provider has no label for a reservation's id, and with the feature gate its claims are rejected for
    that. Without the gate, reserved is a third capacity type that only a NodePool's own limits count.
    """
    catalogue = folder / "types.json"
    catalogue.write_text(json.dumps(instance_types()))
    metrics, health = ports()
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "INSTANCE_TYPES_FILE_PATH": str(catalogue),
        "DISABLE_LEADER_ELECTION": "true",
        "SYSTEM_NAMESPACE": "kube-system",
        "METRICS_PORT": str(metrics),
        "HEALTH_PROBE_PORT": str(health),
        "FEATURE_GATES": "NodeOverlay=true,ReservedCapacity=false",
    }
    return Beside([str(program)], folder / "karpenter.log", health, environment)


def ports() -> tuple[int, int]:
    """Two free ports."""
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]
