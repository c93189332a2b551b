"""Pools: from the stack file to labels, taints and the resources that each node advertises."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace

from gpuyard.plan.capacity.capacity_checks import check_capacity_options
from gpuyard.plan.capacity.capacity_options import (
    check_upgrade,
    format_capacity_options,
    plan_capacity_options,
)
from gpuyard.plan.capacity.keep_warm import check_keep_warm
from gpuyard.plan.capacity.provisioning import check_provisioning
from gpuyard.plan.capacity.scaling import class_label, class_taint, plan_scaling, scaling_of
from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.gpu_operator import ImagedPool, plan_node_software
from gpuyard.plan.pools.inventories.machine import (
    check_inventory,
    inventory_of,
    topology_levels,
    with_fabric_adapters,
    with_numa_nodes,
)
from gpuyard.plan.pools.machines import choose_machines, karpenter_overhead, plan_allocatable
from gpuyard.plan.pools.node_images import choose_image, plan_numa
from gpuyard.plan.pools.own_nodes import (
    check_labels,
    check_own_nodes,
    hardware_labels,
    node_selector,
)
from gpuyard.plan.pools.topology import flavor_name, plan_nccl, plan_placement, plan_topology
from gpuyard.plan.records import NodeSoftware, PoolPlan
from gpuyard.plan.renames import rename_fix
from gpuyard.plan.sharing.compute_slices import compute_slices
from gpuyard.plan.sharing.dra import check_dra, dra_labels, plan_dra
from gpuyard.plan.sharing.gke_sharing import with_gke_resource_names
from gpuyard.plan.sharing.sharing import SharedGpus, mig_config_name, plugin_config_name, share_gpus
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling
from gpuyard_core.catalogue.cluster.disks import fitting_sizes
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.catalogue.software.images import NodeImage
from gpuyard_core.findings import Diagnostic, Fix, Path, error
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.names import (
    GPU,
    GPU_TAINT_VALUE,
    MIG_CONFIG_LABEL,
    PLATFORM_LABEL,
    PLUGIN_CONFIG_LABEL,
    POOL_LABEL,
    SYSTEM_POOL,
)

DecidedPools = dict[str, PoolPlan | None]
"""By name; None for an invalid pool, so that no other check reports it again."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """What is chosen for one pool, before its image is combined with those of the others."""

    index: int
    pool: Pool
    machines: tuple[Machine, ...]
    gpus: SharedGpus
    image: NodeImage | None


def decide_pools(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """Decide every pool: choose each one, combine the node software of all, then record them."""
    spec = draft.spec
    chosen, findings = _choose_all(spec, draft.invalid_fields)
    images = [  # simulated nodes have none
        ImagedPool(c.pool.name, c.index, c.machines[0], c.gpus.method, c.image)
        for c in chosen.values()
        if c and c.image
    ]
    software, problems = plan_node_software(spec, images)
    overhead = karpenter_overhead(
        machine
        for choice in chosen.values()
        if choice and scaling_of(spec.cloud, choice.pool) is Scaling.KARPENTER
        for machine in choice.machines
    )
    pools = {
        name: _record(spec, choice, software.get(name), overhead) if choice else None
        for name, choice in chosen.items()
    }
    return replace(draft, pools=pools), findings + problems


def _choose_all(
    spec: PlatformSpec, broken: Container[int]
) -> tuple[dict[str, _Choice | None], list[Diagnostic]]:
    """Choices by name; of two pools with one name the first; None for an invalid pool."""
    chosen: dict[str, _Choice | None] = {}
    findings: list[Diagnostic] = []
    used = {SYSTEM_POOL}
    for index, pool in enumerate(spec.pools):
        choice, problems = _choose(spec, pool, index)
        if pool.name in chosen or pool.name == SYSTEM_POOL or pool.stable_name in used:
            findings.append(_name_taken(pool, spec, ("pools", index)))
            chosen.setdefault(pool.name, None)
        else:
            used.add(pool.stable_name)
            chosen[pool.name] = None if index in broken else choice
        findings += problems
    return chosen, findings


def _name_taken(pool: Pool, spec: PlatformSpec, path: Path) -> Diagnostic:
    ours = {pool.name, pool.stable_name}
    others = [p for p in spec.pools if p is not pool]
    used = {p.name for p in others} | {p.stable_name for p in others} | {SYSTEM_POOL}
    reason = "the system nodes use it" if SYSTEM_POOL in ours else "another pool has or had it"
    return error(
        "pool.duplicate",
        (*path, "name"),
        f"the name is taken: {reason}",
        given=" formerly ".join(dict.fromkeys([pool.name, pool.stable_name])),
        allowed="a unique name for each pool",
        fix=rename_fix(pool, used, path),
    )


def _choose(spec: PlatformSpec, pool: Pool, index: int) -> tuple[_Choice | None, list[Diagnostic]]:
    path: Path = ("pools", index)
    written, pool = pool, with_fabric_adapters(pool)
    fixed = scaling_of(spec.cloud, pool) is Scaling.FIXED
    findings = [
        *check_labels(spec.cloud.value, pool, path),
        *_check_range(pool, path),
        *check_own_nodes(spec, pool, path),
        *check_dra(spec, pool, path),
        *check_keep_warm(pool, path, fixed=fixed),
    ]
    machines, problems = choose_machines(spec, pool, path)
    findings += problems
    if not machines:
        return None, findings
    findings += check_inventory(spec, written, machines[0], path)
    machines = tuple(with_numa_nodes(machine, inventory_of(pool)) for machine in machines)
    findings += check_capacity_options(spec, pool, machines, path)
    gpus, problems = share_gpus(pool.sharing, machines[0], (*path, "sharing"))
    findings += problems
    if gpus is None:
        return None, findings
    image, unimaged = choose_image(spec, pool, machines[0], gpus.method, path)
    gpus, problems = with_gke_resource_names(image, gpus, machines[0], (*path, "sharing"))
    findings += problems
    provider = provider_of(spec.cloud)
    findings += provider.check_scaling(pool, machines[0], gpus.advertised, path)
    findings += check_provisioning(spec, pool, path)
    findings += unimaged
    findings += check_disk(spec, pool, image, path)
    findings += check_upgrade(spec, pool, machines[0], path)
    findings += provider.check_pods(machines[0], gpus.advertised, path)
    return _Choice(index, pool, machines, gpus, image), findings


def _record(
    spec: PlatformSpec, choice: _Choice, software: NodeSoftware | None, overhead: float
) -> PoolPlan:
    """The plan of one pool; `overhead` is the memory share that Karpenter subtracts, for its pools only."""
    pool, machines, gpus = choice.pool, choice.machines, choice.gpus
    scaling = scaling_of(spec.cloud, pool)
    stable = pool.stable_name
    mig_config = mig_config_name(stable, gpus)
    plugin_config = plugin_config_name(stable, gpus)
    options = plan_capacity_options(spec, pool, machines[0])
    provider = provider_of(spec.cloud)
    chosen = provider.compute_class(spec, pool)
    software_labels = {**class_label(chosen), **(software.labels if software else {})}
    labels = _labels(spec, pool, machines, (mig_config, plugin_config), software_labels)
    taints = (
        *_taints(stable, gpus.method, fenced=bool(pool.owners)),
        *provider.node_taints(pool, machines[0]),
        *class_taint(chosen),
    )
    selector = {**node_selector(pool), **class_label(chosen)}
    inventory = inventory_of(pool)
    levels = plan_topology(
        spec.cloud, machines[0], pool.zones, topology_levels(inventory) if inventory else ()
    )
    topology = plan_placement(spec, pool, levels)
    return PoolPlan(
        name=pool.name,
        stable_name=stable,
        machine=machines[0],
        machines=tuple(m.name for m in machines),
        nodes=pool.nodes,
        start_nodes=pool.nodes.high if scaling is Scaling.FIXED else pool.nodes.low,
        scaling=scaling,
        capacity=tuple(format_capacity_options(options)),
        capacity_options=options,
        zones=pool.zones,
        keep_warm=pool.keep_warm,
        disruption_window=pool.disruption_window,
        sharing=gpus.method,
        mig_strategy="mixed" if mig_config else "none",
        replicas=gpus.replicas,
        layouts=gpus.layouts,
        mig_config=mig_config,
        plugin_config=plugin_config,
        labels=labels,
        taints=taints,
        advertised=gpus.advertised,
        node_selector=selector,
        autoscaler_hints=plan_scaling(spec.cloud, scaling, labels, taints, gpus.advertised),
        allocatable=plan_allocatable(machines[0], overhead if scaling is Scaling.KARPENTER else 0),
        numa=plan_numa(pool, machines[0]),
        topology_levels=levels,
        fabric=pool.fabric,
        dra=plan_dra(spec, pool, machines[0]),
        nccl=plan_nccl(pool, machines[0]),
        node_software=software,
        owners=tuple(dict.fromkeys(pool.owners)),
        stop_policy=pool.stop_policy or "",
        compute_slices=compute_slices(spec, gpus, machines[0]),
        flavor=flavor_name(stable, topology, selector, taints),
        topology=topology,
        provisioning=pool.provisioning,
        compute_class=chosen,
        upgrade=provider.plan_upgrade(pool),
    )


def _labels(
    spec: PlatformSpec,
    pool: Pool,
    machines: tuple[Machine, ...],
    configurations: tuple[str | None, str],
    software_labels: Mapping[str, str],
) -> dict[str, str]:
    """The labels of the nodes; `software_labels` come from their compute class and image."""
    mig_config, plugin_config = configurations
    ours = {PLUGIN_CONFIG_LABEL: plugin_config}
    if spec.cloud is not Cloud.NONE or pool.select:  # the user labels other nodes
        ours |= hardware_labels(pool, machines)
    if not pool.select:  # nodes that exist are found by their own labels
        ours |= {PLATFORM_LABEL: spec.name, POOL_LABEL: pool.stable_name}
    if mig_config:
        ours[MIG_CONFIG_LABEL] = mig_config
    ours |= dra_labels(spec, pool)
    ours |= provider_of(spec.cloud).node_labels(pool, machines[0])
    return dict(sorted({**pool.labels, **ours, **software_labels}.items()))


def _taints(stable_name: str, method: SharingMethod, *, fenced: bool) -> tuple[Taint, ...]:
    """GPU nodes accept only GPU pods; shared and dedicated nodes only pods that tolerate their pool.

    Without the second taint, an autoscaler that sees a node both with its whole GPUs and with its slices
    would start one node for a pod of each kind.
    """
    gpu = Taint(GPU, GPU_TAINT_VALUE)
    return (
        (gpu,)
        if method.is_counted_as_whole_gpu and not fenced
        else (gpu, Taint(POOL_LABEL, stable_name))
    )


def _check_range(pool: Pool, path: Path) -> Iterator[Diagnostic]:
    if (pool.scaling is not Scaling.FIXED and not pool.select) or pool.nodes.low == pool.nodes.high:
        return
    yield error(
        "pool.fixed_range",
        (*path, "nodes"),
        "a pool that does not scale needs a fixed number of nodes",
        given=str(pool.nodes),
        allowed="the number of existing nodes"
        if pool.select
        else "one number, or scaling: karpenter or autoscaler",
        fix=Fix.write(pool.nodes.high, (*path, "nodes")),
    )


def check_disk(
    spec: PlatformSpec, pool: Pool, image: NodeImage | None, path: Path
) -> Iterator[Diagnostic]:
    """The cloud rejects a disk that is too small only when a node starts, at each start and without a message."""
    sold, size = provider_of(spec.cloud).disk_sizes, pool.disk_gib
    if sold is None or size is None:
        return
    bounds = fitting_sizes(sold, image.name if image else None)
    suggestion = max(bounds.least, min(size, bounds.most or size))
    if suggestion == size:
        return
    where = (*path, "disk_gib")
    on = f"{image.name} on {spec.cloud.value}" if image else spec.cloud.value
    yield error(
        "pool.disk_size",
        where,
        f"nodes of {on} cannot boot from a disk of this size",
        given=f"{size:,} GiB",
        allowed=f"{bounds.least:,} to {bounds.most:,} GiB"
        if bounds.most
        else f"{bounds.least:,} GiB or more",
        fix=Fix.write(suggestion, where),
    )
