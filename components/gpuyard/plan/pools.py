"""Pools: from what was asked for to labels, taints and what each node advertises."""

from gpuyard.catalogue.machines import Machine
from gpuyard.findings import Finding, Fix, Path, refused
from gpuyard.plan.machines import check_ladder, choose_machines
from gpuyard.plan.names import (
    GPU,
    GPU_TAINT_VALUE,
    MIG_CONFIG_LABEL,
    PLATFORM_LABEL,
    PLUGIN_CONFIG_LABEL,
    POOL_LABEL,
    RESERVED_LABEL_DOMAINS,
    SYSTEM_POOL,
)
from gpuyard.plan.records import PoolPlan, Taint
from gpuyard.plan.refusals import refuse
from gpuyard.plan.renames import rename_fix
from gpuyard.plan.sharing import SharedGpus, share_gpus
from gpuyard.plan.warm import check_warm
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Rung, Scaling

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
    return pools, findings


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
        fix=rename_fix(pool.name, pool.formerly, taken, path),
    )


def _plan_pool(spec: PlatformSpec, pool: Pool, path: Path) -> tuple[PoolPlan | None, list[Finding]]:
    fixed = scaling_of(spec.cloud, pool) is Scaling.FIXED
    findings = [
        *_check_labels(pool, path),
        *_check_scaling(pool, path),
        *check_warm(pool, path, fixed=fixed),
    ]
    machines, problems = choose_machines(spec, pool, path)
    findings += problems
    if not machines:
        return None, findings
    findings += check_ladder(spec, pool, machines, path)
    gpus, problems = share_gpus(pool.sharing, machines[0], (*path, "sharing"))
    findings += problems
    if gpus is None or refused(findings):
        return None, findings
    return _record(spec, pool, machines, gpus), findings


def _record(
    spec: PlatformSpec, pool: Pool, machines: tuple[Machine, ...], gpus: SharedGpus
) -> PoolPlan:
    scaling = scaling_of(spec.cloud, pool)
    stable = pool.stable_name
    mig_config = stable if gpus.layouts else None
    return PoolPlan(
        name=pool.name,
        stable_name=stable,
        machine=machines[0],
        machines=tuple(m.name for m in machines),
        nodes=pool.nodes,
        start_nodes=pool.nodes.high if scaling is Scaling.FIXED else pool.nodes.low,
        scaling=scaling.value,
        capacity=tuple(show_rung(r) for r in pool.capacity),
        zones=pool.zones,
        warm=pool.warm,
        sharing=gpus.method,
        mig_strategy="mixed" if gpus.layouts else "none",
        replicas=gpus.replicas,
        layouts=gpus.layouts,
        mig_config=mig_config,
        plugin_config=stable,
        labels=_labels(spec, pool, mig_config),
        taints=_taints(stable, gpus.method),
        advertised=gpus.advertised,
    )


def scaling_of(cloud: Cloud, pool: Pool) -> Scaling:
    """Who adds nodes. Simulated nodes exist from the beginning, all of them: nothing scales there."""
    if cloud is Cloud.SIMULATED:
        return Scaling.FIXED
    if pool.scaling is not None:
        return pool.scaling
    if pool.nodes.low == pool.nodes.high:
        return Scaling.FIXED
    return Scaling.KARPENTER if cloud is Cloud.AWS else Scaling.AUTOSCALER


def _labels(spec: PlatformSpec, pool: Pool, mig_config: str | None) -> dict[str, str]:
    ours = {
        PLATFORM_LABEL: spec.name,
        POOL_LABEL: pool.stable_name,
        PLUGIN_CONFIG_LABEL: pool.stable_name,
    }
    if mig_config:
        ours[MIG_CONFIG_LABEL] = mig_config
    return dict(sorted((pool.labels | ours).items()))


def _taints(stable_name: str, method: str) -> tuple[Taint, ...]:
    """GPU nodes take GPU pods only; shared ones only pods that were sent there.

    The second taint is a fence: an autoscaler that knows a node both by its whole GPUs and by its slices
    would otherwise start one node for a pod of each kind.
    """
    gpu = Taint(GPU, GPU_TAINT_VALUE)
    return (gpu,) if method == "none" else (gpu, Taint(POOL_LABEL, stable_name))


def show_rung(rung: Rung) -> str:
    """`reserved cr-0123 (8 nodes)`, `spot`."""
    nodes = f" ({rung.nodes} nodes)" if rung.nodes else ""
    return (
        f"{rung.mode.value} {rung.reservation}{nodes}"
        if rung.reservation
        else f"{rung.mode.value}{nodes}"
    )


def _check_labels(pool: Pool, path: Path) -> list[Finding]:
    findings = []
    for key in pool.labels:
        domain = key.partition("/")[0] if "/" in key else ""
        if any(domain == d or domain.endswith(f".{d}") for d in RESERVED_LABEL_DOMAINS):
            where = (*path, "labels", key)
            findings.append(
                refuse(
                    "pool.label_reserved",
                    where,
                    f"labels of {domain} are set by Kubernetes, NVIDIA or this platform",
                    given=key,
                    allowed="labels of a domain of yours, or without one",
                    fix=Fix(says="remove it", at=where),
                )
            )
    return findings


def _check_scaling(pool: Pool, path: Path) -> list[Finding]:
    if pool.scaling is not Scaling.FIXED or pool.nodes.low == pool.nodes.high:
        return []
    return [
        refuse(
            "pool.fixed_range",
            (*path, "nodes"),
            "a pool that does not scale has one number of nodes",
            given=str(pool.nodes),
            allowed="one number, or scaling: karpenter or autoscaler",
            fix=Fix(says=f"write {pool.nodes.high}", at=(*path, "nodes"), value=pool.nodes.high),
        )
    ]
