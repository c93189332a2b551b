"""Karpenter's nodes: a node class and a NodePool for each capacity option of a pool, and overlays.

Only empty nodes are removed: consolidation and drift would take half a gang. In a pool with
failback, nodes of its later capacity options are also replaced by cheaper ones.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gpuyard.plan.capacity.disruption_window import closed_hours
from gpuyard.plan.capacity.scaling import installs_karpenter
from gpuyard.plan.cluster.ranges import without_local_zones
from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.aws.launch import (
    disk_needs,
    ec2_purchase,
    fabric_interfaces,
    placement_name,
    uses_placement_group,
)
from gpuyard.render.aws.network import added_groups, network_of
from gpuyard.render.aws.place import aws_location, aws_tags
from gpuyard.render.aws.pools import GroupSize, disk_gib, group_name, group_sizes
from gpuyard.render.aws.roles import disk_key_arn
from gpuyard.render.aws.user_data import kubelet_of, node_config
from gpuyard.render.cloud.spelling import fit_name
from gpuyard.render.objects import Object, managed_object, taint_object
from gpuyard.spec.pools import Scaling
from gpuyard_core.catalogue.kubernetes.eks_nodes import AL2023_RELEASES, DATA_DISKS
from gpuyard_core.catalogue.kubernetes.karpenter import (
    CAPACITY_TYPE,
    DRAIN_MINUTES,
    EMPTY_ALONE,
    EMPTY_FOR,
    GRACE,
    HIGHEST_WEIGHT,
    IMAGE_FAMILY,
    NODE_CLASS_GROUP,
    PACKED,
    POOL_GROUP,
    POOL_OF_NODE,
    SPOT_GRACE,
)
from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine
from gpuyard_core.names import (
    ARCH_LABEL,
    GPU,
    INSTANCE_TYPE_LABEL,
    OFFERING_TAG,
    OS_LABEL,
    ZONE_LABEL,
)

PROFILE = "karpenter-nodes"
"""Name of the nodes' instance profile in the graph."""
QUEUE = "interruptions"
"""Name of the queue of interruption events in the graph."""
_GROUPS = ("cluster.vpcConfig.clusterSecurityGroupId", "nodes.id")


def karpenter_pools(plan: PlatformPlan) -> tuple[PoolPlan, ...]:
    """The pools whose nodes Karpenter creates."""
    return tuple(pool for pool in plan.pools if pool.scaling is Scaling.KARPENTER)


def karpenter_nodes(plan: PlatformPlan) -> dict[str, list[Object]]:
    """Node classes, NodePools and overlays (resources that no machine type lists), by the first name of a pool."""
    if not installs_karpenter(plan.spec):
        return {}
    return {pool.stable_name: list(pool_objects(plan, pool)) for pool in karpenter_pools(plan)}


def karpenter_objects(plan: PlatformPlan) -> list[Object]:
    """The objects of all pools."""
    return [each for objects in karpenter_nodes(plan).values() for each in objects]


def pool_objects(plan: PlatformPlan, pool: PoolPlan) -> Iterator[Object]:
    """The objects of one pool."""
    sizes = group_sizes(pool)
    for place, size in enumerate(sizes):
        yield _node_class(plan, pool, size.option)
        yield _node_pool(plan, pool, size, HIGHEST_WEIGHT - place)
    if pool.autoscaler_hints.overlay:
        yield _overlay(plan, pool, [_name(pool, size.option) for size in sizes])


def _name(pool: PoolPlan, option: CapacityOption) -> str:
    return fit_name(group_name(pool, option))


# ── node classes ──────────────────────────────────────────────────────────────────────────────────
def _node_class(plan: PlatformPlan, pool: PoolPlan, option: CapacityOption) -> Object:
    """The counterpart of a launch template; one for each capacity option with its placement."""
    machines = tuple(MACHINES[name] for name in pool.machines)
    kubelet = kubelet_of(pool, machines)
    spec: dict[str, Any] = {
        "amiSelectorTerms": [{"alias": _image(plan)}],
        "instanceProfile": UnresolvedOutput(f"{PROFILE}.name"),
        "subnetSelectorTerms": [{"id": each} for each in _subnets(plan, pool)],
        "securityGroupSelectorTerms": [
            {"id": each} for each in (*map(UnresolvedOutput, _GROUPS), *added_groups(plan))
        ],
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": 1,
        },
        "detailedMonitoring": True,
        "blockDeviceMappings": [_disk(plan, machines, disk_gib(plan, pool))],
        "kubelet": {
            **({"kubeReserved": dict(kubelet.reserved)} if kubelet.reserved else {}),
            "evictionHard": dict(kubelet.eviction),
        },
        # The node class has no field for NUMA policies: the document of node groups sets them.
        "userData": node_config(plan.spec, kubelet, machines, local_disks=False),
        "tags": aws_tags(plan, pool.stable_name, " ".join(pool.owners)),
    }
    if option.reservation:
        reservation = {"id": option.reservation}
        bought = {"tags": {OFFERING_TAG: option.reservation}}  # its id is known when it is bought
        spec["capacityReservationSelectorTerms"] = [bought if option.purchase else reservation]
    if uses_placement_group(option):
        spec["placementGroupSelector"] = {"name": UnresolvedOutput(f"{placement_name(pool)}.id")}
    if result := _interfaces(machines):
        spec["networkInterfaces"] = result
    if all(machine.nvme_gb for machine in machines):
        spec["instanceStorePolicy"] = "RAID0"
    version = f"{NODE_CLASS_GROUP}/v1"
    return managed_object(plan.name, version, "EC2NodeClass", _name(pool, option), spec=spec)


def _image(plan: PlatformPlan) -> str:
    """The release of node groups; each image release covers every Kubernetes minor."""
    release = AL2023_RELEASES.get(plan.kubernetes) or max(AL2023_RELEASES.values())
    return f"{IMAGE_FAMILY.lower()}@v{release.partition('-')[2]}"


def _subnets(plan: PlatformPlan, pool: PoolPlan) -> list[Any]:
    private = network_of(plan, aws_location(plan)).private
    return [private[zone] for zone in sorted(pool.zones or without_local_zones(private))]


def _disk(plan: PlatformPlan, machines: Sequence[Machine], gib: int) -> dict[str, Any]:
    ebs: dict[str, Any] = {"volumeType": "gp3", "encrypted": True, "deleteOnTermination": True}
    if key := disk_key_arn(plan):
        ebs["kmsKeyID"] = key
    size = {**disk_needs(machines, gib), "volumeSize": f"{gib}Gi"}
    return {"deviceName": DATA_DISKS[IMAGE_FAMILY], "rootVolume": True, "ebs": {**ebs, **size}}


def _interfaces(machines: Sequence[Machine]) -> list[dict[str, Any]]:
    """Without a combined type, the first card gets an interface with an address and one for EFA."""
    results: list[tuple[int, int, str]] = []
    for one in fabric_interfaces(machines):
        both = one.kind == "efa"
        results.append((one.card, one.device, "interface" if both else one.kind))
        results += [(one.card, one.device + 1, "efa-only")] if both else []
    return [
        {"networkCardIndex": card, "deviceIndex": device, "interfaceType": kind}
        for card, device, kind in results
    ]


# ── node pools ────────────────────────────────────────────────────────────────────────────────────
def _node_pool(plan: PlatformPlan, pool: PoolPlan, size: GroupSize, weight: int) -> Object:
    """One capacity option, tried before those of lower weight, with its maximum of nodes.

    Partitioned nodes advertise no whole GPU once they run, so a limit on GPUs alone would not bind.
    """
    spot = size.option.mode == Capacity.SPOT.value
    name = _name(pool, size.option)
    upgrade = pool.upgrade
    grace = (
        f"{upgrade.drain_minutes}m" if upgrade and upgrade.drain_minutes != DRAIN_MINUTES else GRACE
    )
    starts = [taint_object(taint) for taint in plan.startup_taints(pool)]
    template = {
        "metadata": {"labels": dict(pool.labels)},
        "spec": {
            "nodeClassRef": {"group": NODE_CLASS_GROUP, "kind": "EC2NodeClass", "name": name},
            "requirements": [_in(key, values) for key, values in _requirements(pool, size.option)],
            "taints": [taint_object(taint) for taint in pool.taints],
            **({"startupTaints": starts} if starts else {}),
            "expireAfter": _age(pool),
            "terminationGracePeriod": SPOT_GRACE if spot else grace,
        },
    }
    spec = {
        "weight": weight,
        "limits": {"nodes": str(size.high), GPU: str(size.high * pool.gpus_per_node)},
        "disruption": {
            "consolidationPolicy": PACKED if size.option.failback else EMPTY_ALONE,
            "consolidateAfter": EMPTY_FOR,
            "budgets": _budgets(pool, size.option),
        },
        "template": template,
    }
    return managed_object(plan.name, f"{POOL_GROUP}/v1", "NodePool", name, spec=spec)


def _budgets(pool: PoolPlan, option: CapacityOption) -> list[dict[str, Any]]:
    """Disruption: empty nodes, old nodes in the disruption window, and one at a time for failback.

    The strictest of several budgets applies. With a disruption window, failback happens only in it.
    """
    moved = ["Underutilized"] if option.failback else []
    never: list[dict[str, Any]] = [] if moved else [{"nodes": "0", "reasons": ["Underutilized"]}]
    if pool.disruption_window is None:
        closed: list[dict[str, Any]] = (
            [{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "1", "reasons": moved}]
            if moved
            else [{"nodes": "0", "reasons": ["Drifted", "Underutilized"]}]
        )
    else:
        closed = [
            *never,
            {"nodes": str(pool.disruption_window.nodes), "reasons": ["Drifted", *moved]},
            *(
                {
                    "nodes": "0",
                    "reasons": ["Drifted", *moved],
                    "schedule": schedule,
                    "duration": f"{minutes // 60}h{minutes % 60}m",
                }
                for schedule, minutes in closed_hours(pool.disruption_window)
            ),
        ]
    return [*closed, {"nodes": "100%", "reasons": ["Empty"]}]


def _age(pool: PoolPlan) -> str:
    """The age at which a node is replaced at any hour; Karpenter's unit is hours."""
    days = pool.disruption_window.max_days if pool.disruption_window else None
    return f"{days * 24}h" if days else "Never"


def _requirements(pool: PoolPlan, option: CapacityOption) -> Iterator[tuple[str, list[str]]]:
    yield INSTANCE_TYPE_LABEL, [MACHINES[name].type_name for name in pool.machines]
    yield CAPACITY_TYPE, [ec2_purchase(pool, option).karpenter_capacity_type]
    yield ARCH_LABEL, [pool.machine.arch]
    yield OS_LABEL, ["linux"]
    if pool.zones:
        yield ZONE_LABEL, sorted(pool.zones)


def _in(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def _overlay(plan: PlatformPlan, pool: PoolPlan, names: list[str]) -> Object:
    """Resources that node agents create, and whole GPUs: taints exclude pods for the latter."""
    spec = {
        "requirements": [_in(POOL_OF_NODE, names)],
        "capacity": {
            name: str(count) for name, count in sorted(pool.autoscaler_hints.overlay.items())
        },
    }
    return managed_object(
        plan.name, f"{POOL_GROUP}/v1alpha1", "NodeOverlay", fit_name(pool.stable_name), spec=spec
    )
