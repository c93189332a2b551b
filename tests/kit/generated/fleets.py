"""Generated fleets: nodes that come and go, with GPUs and pods, as series of their exporters.

Hypothesis chooses the nodes; a number that it chooses too determines GPUs, pods and gaps of a node.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from gpuyard.plan.records import PlatformPlan, PoolPlan
from kit.promtool import series
from kit.stacks import Raw, cut_pool, plan_of, platform, pool, shared_pool, team

SAMPLES = 24
CUT_HALF = {"mig": [{"gpus": "0-3", "1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}, {"gpus": "4-7"}]}
SHARED_HALF = {"mig": [{"gpus": "0-3", "1g.5gb": 7}, {"gpus": "4-7"}], "time_slicing": 2}
RESERVED = {"mode": "reserved", "reservation": "cr-0123456789abcdef0", "nodes": 2}
POOLS: list[Raw] = [
    pool("whole", nodes="0..4"),
    pool("spot", machine="g6.12xlarge", capacity=["spot", "on-demand"], nodes="0..4"),
    pool("kept", capacity=[RESERVED, "on-demand"], zones=["us-east-1a"], nodes="0..4"),
    pool("fraction", machine="g6f.large", nodes="0..4"),
    cut_pool("mig"),
    cut_pool("half", sharing=CUT_HALF),
    cut_pool("both", sharing={"mig": {"1g.5gb": 7}, "time_slicing": 2}),
    cut_pool("half-shared", sharing=SHARED_HALF),
    shared_pool("slices"),
    shared_pool("mps", sharing={"mps": 4}),
]
TEAMS = [team("vision", guarantee={"whole": 1}), team("speech", guarantee={"whole": 1})]
COMMITTED, COMMITTED_PRICE, RESERVED_PRICE = 1, 40.0, 30.0
PRICES = {
    "commitments": [
        {"machine": "p5.48xlarge", "nodes": COMMITTED, "years": 1, "usd_per_hour": COMMITTED_PRICE}
    ],
    "machines": {"p5.48xlarge": {"reserved": RESERVED_PRICE}, "g6.12xlarge": {"spot": 1.9}},
}
TARGETS = {
    "utilisation_percent": "65..85",
    "memory_percent": 80,
    "idle_percent": 20,
    "wait_p95_minutes": {"research": 120},
}
COVERED = frozenset({"whole", "kept"})
"""Pools whose on-demand nodes the commitment covers."""
ON_DEMAND = {"label_eks_amazonaws_com_capacity_type": "ON_DEMAND"}
LABELS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("spot", "spot"): {"label_eks_amazonaws_com_capacity_type": "SPOT"},
    ("kept", "reserved"): {
        "label_eks_amazonaws_com_nodegroup": "kept-reserved-cr-0123456789abcdef0",
        **ON_DEMAND,
    },
}
"""Labels of nodes by pool and capacity mode; on demand otherwise."""


def plan_of_modes() -> PlatformPlan:
    """Pools of all sharing modes that one cluster allows, spot, reserved and committed nodes, and targets."""
    more = {"prices": PRICES, "targets": TARGETS, "priorities": {"research": 10}}
    return plan_of(platform(POOLS, TEAMS, cloud="aws", **more))


def plan_of_claims() -> PlatformPlan:
    """Pools whose GPUs pods claim."""
    pools = [pool("claims", sharing={"dra": True}), shared_pool("more", sharing={"dra": True})]
    return plan_of(platform(pools, cloud="aws"))


@dataclass(frozen=True)
class Node:
    """A node from its first to its last sample, and what determines its GPUs and pods."""

    mode: str
    span: tuple[int, int]
    measured: tuple[int, int]
    """Samples of which its exporter runs."""
    has_other_layout: bool
    """Its GPUs are not yet, or still, partitioned."""
    more_gpus: int
    """GPUs beyond those of its machine type."""
    seed: int


Fleet = Mapping[str, list[Node]]
_REST_OF_MEMORY = (("DCGM_FI_DEV_FB_FREE", 4e4), ("DCGM_FI_DEV_FB_RESERVED", 600))


def fleets(plan: PlatformPlan, most: int = 3) -> st.SearchStrategy[Fleet]:
    """Up to so many nodes of each pool."""
    return st.fixed_dictionaries(
        {each.name: st.lists(_nodes(each), max_size=most) for each in plan.pools}
    )


@st.composite
def _spans(draw: st.DrawFn) -> tuple[int, int]:
    first = draw(st.integers(0, SAMPLES - 1))
    return first, draw(st.integers(first + 1, SAMPLES))


def _nodes(of: PoolPlan) -> st.SearchStrategy[Node]:
    always = st.just((0, SAMPLES))
    return st.builds(
        Node,
        st.sampled_from([each.mode for each in of.capacity_options]),
        always | _spans(),
        always | _spans(),
        st.sampled_from([False, False, True]),
        st.sampled_from([0, 0, 0, 1, -1]),
        st.integers(0, 2**16),
    )


# ── what the fleet costs ──────────────────────────────────────────────────────────────────────────────


def bill(plan: PlatformPlan, fleet: Fleet, at: int) -> dict[str, float]:
    """The price of the nodes that exist at a sample, by pool, without the rules."""
    runs = {
        name: [n.mode for n in nodes if n.span[0] <= at < n.span[1]]
        for name, nodes in fleet.items()
    }
    price = {(line.pool, each.mode): each.mean for line in plan.bill.lines for each in line.prices}
    covered = sum(modes.count("on-demand") for name, modes in runs.items() if name in COVERED)
    result = {
        name: sum(price[name, mode] for mode in modes) for name, modes in runs.items() if modes
    }
    if not plan.bill.commitments:
        return result
    for name in COVERED & result.keys():
        part = min(1.0, COMMITTED / covered) if covered else 0.0
        on_demand = runs[name].count("on-demand")
        result[name] += on_demand * part * (COMMITTED_PRICE - price[name, "on-demand"])
    return {**result, "commitment": max(0, COMMITTED - covered) * COMMITTED_PRICE}


# ── its series ────────────────────────────────────────────────────────────────────────────────────────


def series_of(plan: PlatformPlan, fleet: Fleet) -> list[dict[str, str]]:
    """The series of kube-state-metrics and of the DCGM exporters."""
    system = {"node": "system-0", "label_gpuyard_dev_pool": "system"}
    result = [series("kube_node_labels", ["1"] * SAMPLES, **system)]
    for each in plan.pools:
        for number, node in enumerate(fleet[each.name]):
            result += _series_of_node(each, node, f"{each.name}-{number}")
    return result


def _series_of_node(of: PoolPlan, node: Node, name: str) -> Iterator[dict[str, str]]:
    chance = random.Random(node.seed)  # noqa: S311  a repeatable choice
    labels = {
        "node": name,
        "label_gpuyard_dev_pool": of.name,
        **LABELS.get((of.name, node.mode), ON_DEMAND),
    }
    for instance, span in _restarted(chance, node.span):
        yield series(
            "kube_node_labels", _values(chance, span, 1, 1, 0), instance=instance, **labels
        )
    span = max(node.span[0], node.measured[0]), min(node.span[1], node.measured[1])
    if span[0] >= span[1]:
        return
    layouts = [] if node.has_other_layout else _layouts(of)
    for gpu in range(of.machine.gpus + node.more_gpus):
        place = {"pool": of.name, "node": name, "UUID": f"GPU-{name}-{gpu}"}
        devices = layouts[gpu] if gpu < len(layouts) else [""]
        for index, profile in enumerate(devices):
            ids = {"GPU_I_PROFILE": profile, "GPU_I_ID": str(index + 1) if profile else ""}
            yield from _series_of_device(chance, of, {**place, **ids}, span)


def _layouts(of: PoolPlan) -> list[list[str]]:
    """The MIG profiles of each GPU."""
    cut = {gpu: layout.counts for layout in of.layouts for gpu in layout.gpus}
    return [
        [profile for profile, count in cut.get(gpu, {}).items() for _ in range(count)] or [""]
        for gpu in range(of.machine.gpus)
    ]


def _series_of_device(
    chance: random.Random, of: PoolPlan, device: Mapping[str, str], span: tuple[int, int]
) -> Iterator[dict[str, str]]:
    """A device: pods hold it one after the other, its replicas at once; sometimes more than it has."""
    is_shared = of.replicas > 1
    most = of.replicas + 1 if is_shared else 2
    is_measured = chance.random() < 0.9
    for instance, during in _restarted(chance, span):
        for replica in range(chance.randrange(most)):
            yield from _series_of_pod(
                chance, device, during, instance, str(replica) if is_shared else "", is_measured
            )
        for metric, high in (*_metrics(device, is_measured), *_REST_OF_MEMORY):
            yield series(metric, _values(chance, during, 0, high), instance=instance, **device)


def _series_of_pod(
    chance: random.Random,
    device: Mapping[str, str],
    span: tuple[int, int],
    instance: str,
    replica: str,
    is_measured: bool,
) -> Iterator[dict[str, str]]:
    change = chance.randint(*span)
    for number, during in enumerate(((span[0], change), (change, span[1]))):
        if during[0] < during[1]:
            labels = {
                **device,
                "instance": instance,
                "vgpu": replica,
                "exported_namespace": chance.choice(["vision", "speech", "other"]),
                "exported_pod": f"pod-{device['UUID']}-{device['GPU_I_ID']}-{replica}-{number}",
            }
            yield from _classes(
                chance, during, labels["exported_namespace"], labels["exported_pod"]
            )
            for metric, high in _metrics(device, is_measured):
                yield series(metric, _values(chance, during, 0, high), **labels)


def _classes(
    chance: random.Random, span: tuple[int, int], namespace: str, pod: str
) -> Iterator[dict[str, str]]:
    """The label of a pod in kube-state-metrics, whose restart may see it changed."""
    for instance, during in _restarted(chance, span):
        labels = {
            "label_gpuyard_dev_class": chance.choice(["", "training", "training", "notebook"])
        }
        place = {"namespace": namespace, "pod": pod, "instance": instance}
        yield series("kube_pod_labels", _values(chance, during, 1, 1, 0), **place, **labels)


def _metrics(device: Mapping[str, str], is_measured: bool) -> Iterator[tuple[str, float]]:
    yield "DCGM_FI_DEV_FB_USED", 4e4
    if is_measured:
        yield "DCGM_FI_PROF_GR_ENGINE_ACTIVE", 1.2  # beyond its range, which the rules clamp
        if not device["GPU_I_PROFILE"]:
            yield "DCGM_FI_DEV_GPU_UTIL", 100


def _restarted(chance: random.Random, span: tuple[int, int]) -> list[tuple[str, tuple[int, int]]]:
    """The exporter's instances: one, or two of which the second starts before the first ends."""
    first, last = span
    if last - first < 4 or chance.random() < 0.7:
        return [("a", span)]
    change = chance.randint(first + 1, last - 2)
    return [("a", (first, change + 1)), ("b", (change, last))]


def _values(
    chance: random.Random, span: tuple[int, int], low: float, high: float, missing: float = 0.1
) -> list[str]:
    """Random values in a span, with gaps of up to two samples, and a stale marker at its end."""
    first, last = span
    within = [f"{chance.uniform(low, high):.3f}" for _ in range(first, last)]
    for index in range(1, len(within)):
        if chance.random() < missing:
            within[index : index + 2] = ["_"] * len(within[index : index + 2])
    after = ["stale"] + ["_"] * (SAMPLES - last - 1) if last < SAMPLES else []
    return ["_"] * first + within + after


def counter(chance: random.Random) -> list[str]:
    """A counter that its process resets at times."""
    value, values = 0.0, []
    for _ in range(SAMPLES):
        value = 0.0 if chance.random() < 0.1 else value + chance.choice([0, chance.uniform(0, 400)])
        values.append(f"{value:.1f}")
    return values
