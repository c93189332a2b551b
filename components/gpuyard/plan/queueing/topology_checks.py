"""Topology-aware scheduling: what it requires of a platform, by Kueue v0.19.2 (pkg/cache/scheduler)."""

from collections.abc import Iterator

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan, usable_pools
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import Provisioning
from gpuyard_core.findings import Diagnostic, Fix, Path, Severity, format_list, info, warning
from gpuyard_core.names import HOSTNAME_LABEL, ZONE_LABEL

_ADDS_NODES = frozenset({Provisioning.ATOMIC, Provisioning.QUEUED})
"""Provisioning that creates nodes before it answers; the third kind checks running nodes only."""


def check_topology(draft: Draft) -> Iterator[Diagnostic]:
    """Placement by topology needs running nodes with topology labels and enough resources."""
    placed: list[tuple[Path, PoolPlan]] = []
    for index, one in enumerate(draft.spec.pools):
        pool = draft.pools.get(one.name)
        if pool is None or pool.topology is None:
            continue
        path: Path = ("pools", index, "topology")
        placed.append((path, pool))
        yield from _pool(draft, pool, path)
        yield from _nodes(pool, path)
    if placed:
        yield from _teams(draft, [pool for _, pool in placed], placed[0][0])


def _off(path: Path) -> Fix:
    return Fix(message="write topology: false", at=path, value=False)


def _pool(draft: Draft, pool: PoolPlan, path: Path) -> Iterator[Diagnostic]:
    if pool.dra is not None:
        yield warning(
            "topology.claims",
            path,
            f"queues place pods by the resources that nodes of {pool.name} advertise, which exclude resource"
            " claims (sharing: dra): pods may be sent to nodes without free GPUs, unless CPU or memory fills them first",
            given="true with sharing dra",
            allowed=f"extended resources, or pods that request {pool.cpu_per_gpu} CPUs with each GPU",
            fix=_off(path),
        )
    if pool.topology_levels == (HOSTNAME_LABEL,):
        yield info(
            "topology.levels",
            path,
            f"the topology of {pool.name} has no level above the node: queues check that pods fit on nodes,"
            " but do not place pods close together",
            given=f"levels: {HOSTNAME_LABEL}",
            allowed="zones, or a machine for which the cloud reports more levels",
        )
    if draft.spec.cloud is not Cloud.SIMULATED or ZONE_LABEL not in pool.topology_levels:
        return
    # simulated nodes are spread over the zones in turn, so the number in each zone is known
    most = -(-pool.start_nodes // len(pool.zones))
    if wide := next((s for s in draft.shapes if s.pool == pool.name and s.nodes > most), None):
        yield warning(
            "topology.block",
            path,
            f"shape {wide.name} needs {wide.nodes} nodes, but a zone of {pool.name} has {most}:"
            f" a job that requires one {ZONE_LABEL} never starts",
            given=f"{pool.start_nodes} nodes in {len(pool.zones)} zones",
            allowed="podset-preferred-topology for such jobs, or fewer zones",
        )


def _nodes(pool: PoolPlan, path: Path) -> Iterator[Diagnostic]:
    """A queue places pods on running nodes; no autoscaler starts a node for a job that is not admitted."""
    low, asks = pool.nodes.low, pool.scaling is Scaling.AUTOSCALER
    if pool.scaling is Scaling.FIXED or low == pool.nodes.high or pool.provisioning in _ADDS_NODES:
        return
    runs = f"has more than the {low} nodes that always run" if low else "starts a node"
    fix, allowed = _off(path), "a fixed number of nodes"
    if asks:
        at, atomic = (*path[:-1], "provisioning"), Provisioning.ATOMIC.value
        fix = Fix(message="write provisioning: atomic", at=at, value=atomic)
        allowed += ", or provisioning: atomic, which requests the nodes first"
    yield Diagnostic(
        "topology.nodes",
        path,
        "a queue with topology admits jobs to running nodes only, but an autoscaler starts nodes for"
        f" existing pods only: {pool.name} never {runs}",
        severity=Severity.WARNING if low else Severity.ERROR,
        given=f"nodes: {pool.nodes}, scaling: {pool.scaling}",
        allowed=allowed,
        fix=fix,
    )


def _teams(draft: Draft, placed: list[PoolPlan], path: Path) -> Iterator[Diagnostic]:
    """Teams with pools of both kinds, or only with pools that have a topology."""
    with_it, order = {p.name for p in placed}, list(draft.valid_pools)
    mixed: dict[str, list[str]] = {}
    gpus_only: list[str] = []
    for team in draft.teams:
        pools = set(usable_pools(team.quotas))
        if pools and pools <= with_it:
            gpus_only.append(team.name)
        elif pools & with_it:
            mixed[team.name] = sorted(pools - with_it, key=order.index)
    if mixed:
        first, others = next(iter(mixed.items()))
        more = f" (the same for {format_list(list(mixed)[1:])})" if len(mixed) > 1 else ""
        yield warning(
            "topology.mixed",
            path,
            f"the queue of team {first} has pools with topology and without ({format_list(others)}): a job without"
            f" a topology annotation never runs in {format_list(p.name for p in placed)}, and a job with one runs"
            f" only there{more}",
            allowed="topology: true in all pools of a team, or annotated jobs",
            fix=Fix(
                message=f"write topology: true in {format_list(others)} too, or add a topology annotation to the jobs"
            ),
        )
    if gpus_only:
        yield info(
            "topology.gpus_only",
            path,
            f"all pools of {format_list(gpus_only)} have a topology, and such a queue admits no pods without GPUs:"
            " a CPU-only job never starts, and a job with a launcher only if the launcher leads a pod group",
            allowed="a pool without topology for the team, or CPU jobs in a namespace without a team",
        )
    names = format_list(p.flavor for p in placed)
    yield info(
        "topology.flavor",
        path,
        "a Kueue flavor with a topology is immutable: to change the topology, labels, taints or levels,"
        " gpuyard creates a new flavor alongside the old one. Running jobs continue, but the new flavor's"
        " quota does not count them: change it while the pool is idle, or after `stop_policy: hold`",
        given=f"flavors {names}" if len(placed) > 1 else f"flavor {names}",
    )
