"""Pools: from what was asked for to labels, taints and what each node advertises."""

from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.sharing import SharingMethod
from gpuyard.findings import Finding, Fix, Path, refuse, refused
from gpuyard.names import (
    GPU,
    GPU_TAINT_VALUE,
    MIG_CONFIG_LABEL,
    PLATFORM_LABEL,
    PLUGIN_CONFIG_LABEL,
    POOL_LABEL,
    SYSTEM_POOL,
)
from gpuyard.plan.capacity.ladder import plan_ladder, show_ladder
from gpuyard.plan.capacity.ladder_proofs import check_ladder, check_reservations
from gpuyard.plan.capacity.provisioning import check_provisioning
from gpuyard.plan.capacity.scaling import check_scaling, plan_scaling, scaling_of
from gpuyard.plan.capacity.warm import check_warm
from gpuyard.plan.pools.flavor_topology import flavor_name, plan_placement
from gpuyard.plan.pools.labels import check_labels
from gpuyard.plan.pools.machines import choose_machines
from gpuyard.plan.pools.node_images import check_pods, choose_image, settle, software_of
from gpuyard.plan.pools.numa import plan_numa
from gpuyard.plan.pools.own_nodes import check_own_nodes, check_selectors, node_selector
from gpuyard.plan.pools.room import plan_room
from gpuyard.plan.pools.topology import check_zones, plan_topology
from gpuyard.plan.records import NodeSoftware, PoolPlan, Taint
from gpuyard.plan.renames import rename_fix
from gpuyard.plan.sharing.compute_slices import compute_slices
from gpuyard.plan.sharing.dra import check_dra, dra_labels, plan_dra
from gpuyard.plan.sharing.sharing import SharedGpus, share_gpus
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool, Scaling

Pools = dict[str, PoolPlan | None]
"""By name; None for a pool that a finding refuses, so that nothing else blames it again."""


def plan_pools(spec: PlatformSpec) -> tuple[Pools, list[Finding]]:
    """Every pool, or every reason why not."""
    pools: Pools = {}
    findings: list[Finding] = []
    taken = {SYSTEM_POOL}
    for index, pool in enumerate(spec.pools):
        path: Path = ("pools", index)
        if pool.name in pools or pool.name == SYSTEM_POOL or pool.stable_name in taken:
            findings.append(_name_taken(pool, spec, path))
            pools.setdefault(pool.name, None)
            findings += _plan_pool(spec, pool, path)[1]
            continue
        taken.add(pool.stable_name)
        plan, problems = _plan_pool(spec, pool, path)
        pools[pool.name] = plan
        findings += problems
    findings += [*check_zones(spec), *check_reservations(spec), *check_selectors(spec)]
    settled, problems = settle(spec, pools)
    return settled, findings + problems


def _name_taken(pool: Pool, spec: PlatformSpec, path: Path) -> Finding:
    ours = {pool.name, pool.stable_name}
    others = [p for p in spec.pools if p is not pool]
    taken = {p.name for p in others} | {p.stable_name for p in others} | {SYSTEM_POOL}
    reason = (
        "the system nodes have it"
        if SYSTEM_POOL in ours
        else "another pool has it, now or formerly"
    )
    return refuse(
        "pool.duplicate",
        (*path, "name"),
        f"the name is taken: {reason}",
        given=" formerly ".join(dict.fromkeys([pool.name, pool.stable_name])),
        allowed="a name of its own for each pool",
        fix=rename_fix(pool, taken, path),
    )


def _plan_pool(spec: PlatformSpec, pool: Pool, path: Path) -> tuple[PoolPlan | None, list[Finding]]:
    fixed = scaling_of(spec.cloud, pool) is Scaling.FIXED
    findings = [
        *check_labels(pool, path),
        *_check_range(pool, path),
        *check_own_nodes(spec, pool, path),
        *check_dra(spec, pool, path),
        *check_warm(pool, path, fixed=fixed),
    ]
    machines, problems = choose_machines(spec, pool, path)
    findings += problems
    if not machines:
        return None, findings
    findings += check_ladder(spec, pool, machines, path)
    gpus, problems = share_gpus(pool.sharing, machines[0], (*path, "sharing"))
    findings += problems
    if gpus is None:
        return None, findings
    findings += check_scaling(spec, pool, machines[0], gpus.advertised, path)
    findings += check_provisioning(spec, pool, path)
    image, problems = choose_image(spec, pool, machines[0], gpus.method, path)
    findings += problems
    if refused(findings):
        return None, findings
    plan = _record(spec, pool, machines, gpus, software_of(image, machines[0]))
    return plan, findings + check_pods(spec, plan, path)


def _record(
    spec: PlatformSpec,
    pool: Pool,
    machines: tuple[Machine, ...],
    gpus: SharedGpus,
    software: NodeSoftware | None,
) -> PoolPlan:
    scaling = scaling_of(spec.cloud, pool)
    stable = pool.stable_name
    mig_config = stable if gpus.layouts else None
    ladder = plan_ladder(spec, pool, machines[0])
    labels = _labels(spec, pool, mig_config)
    taints = _taints(stable, gpus.method, fenced=bool(pool.owners))
    selector = node_selector(pool)
    levels = plan_topology(spec.cloud, machines[0], pool.zones)
    topology = plan_placement(spec, pool, levels)
    return PoolPlan(
        name=pool.name,
        stable_name=stable,
        machine=machines[0],
        machines=tuple(m.name for m in machines),
        nodes=pool.nodes,
        start_nodes=pool.nodes.high if scaling is Scaling.FIXED else pool.nodes.low,
        scaling=scaling,
        capacity=tuple(show_ladder(ladder)),
        ladder=ladder,
        zones=pool.zones,
        warm=pool.warm,
        sharing=gpus.method,
        mig_strategy="mixed" if gpus.layouts else "none",
        replicas=gpus.replicas,
        layouts=gpus.layouts,
        mig_config=mig_config,
        plugin_config=stable,
        labels=labels,
        taints=taints,
        advertised=gpus.advertised,
        node_selector=selector,
        scale=plan_scaling(spec.cloud, scaling, labels, taints, gpus.advertised),
        room=plan_room(machines[0]),
        numa=plan_numa(pool, machines[0]),
        topology_levels=levels,
        fabric=pool.fabric,
        dra=plan_dra(pool, machines[0]),
        node_software=software,
        owners=tuple(dict.fromkeys(pool.owners)),
        stop=pool.stop or "",
        compute_slices=compute_slices(spec, gpus.method, gpus.layouts, machines[0]),
        flavor=flavor_name(stable, topology, selector, taints),
        topology=topology,
        provisioning=pool.provisioning,
    )


def _labels(spec: PlatformSpec, pool: Pool, mig_config: str | None) -> dict[str, str]:
    ours = {PLUGIN_CONFIG_LABEL: pool.stable_name}
    if not pool.select:  # nodes that exist are told by their own labels
        ours |= {PLATFORM_LABEL: spec.name, POOL_LABEL: pool.stable_name}
    if mig_config:
        ours[MIG_CONFIG_LABEL] = mig_config
    ours |= dra_labels(pool)
    return dict(sorted((pool.labels | ours).items()))


def _taints(stable_name: str, method: SharingMethod, *, fenced: bool) -> tuple[Taint, ...]:
    """GPU nodes take GPU pods only; shared ones, and those of a team, only pods that were sent there.

    The second taint is a fence: an autoscaler that knows a node both by its whole GPUs and by its slices
    would otherwise start one node for a pod of each kind.
    """
    gpu = Taint(GPU, GPU_TAINT_VALUE)
    return (gpu,) if method.counted_whole and not fenced else (gpu, Taint(POOL_LABEL, stable_name))


def _check_range(pool: Pool, path: Path) -> list[Finding]:
    if (pool.scaling is not Scaling.FIXED and not pool.select) or pool.nodes.low == pool.nodes.high:
        return []
    return [
        refuse(
            "pool.fixed_range",
            (*path, "nodes"),
            "a pool that does not scale has one number of nodes",
            given=str(pool.nodes),
            allowed="one number: as many as exist"
            if pool.select
            else "one number, or scaling: karpenter or autoscaler",
            fix=Fix(says=f"write {pool.nodes.high}", at=(*path, "nodes"), value=pool.nodes.high),
        )
    ]
