"""Topology-aware scheduling: what it requires of a platform, by Kueue v0.19.2 (pkg/cache/scheduler)."""

from collections.abc import Sequence

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan, ShapePlan, TeamPlan, usable_pools
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import Provisioning
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning
from gpuyard_core.names import HOSTNAME_LABEL, ZONE_LABEL

_ADDS_NODES = frozenset({Provisioning.ATOMIC, Provisioning.QUEUED})
"""Provisioning that creates nodes before it answers; the third kind checks running nodes only."""


def check_topology(draft: Draft) -> list[Diagnostic]:
    """Placement by topology needs running nodes with topology labels and enough resources."""
    spec, pools, teams, shapes = draft.spec, draft.valid_pools, draft.teams, draft.shapes
    findings: list[Diagnostic] = []
    placed: list[tuple[Path, PoolPlan]] = []
    for index, one in enumerate(spec.pools):
        pool = pools.get(one.name)
        if pool is None or pool.topology is None:
            continue
        path: Path = ("pools", index, "topology")
        placed.append((path, pool))
        findings += [*_claims(pool, path), *_nodes(pool, path), *_levels(pool, path)]
        findings += _blocks(spec, pool, shapes, path)
    if placed:
        path, those = placed[0][0], [pool for _, pool in placed]
        findings += _mixed(pools, teams, those, path)
        findings += [*_gpus_only(teams, those, path), _replaced(those, path)]
    return findings


def _off(path: Path) -> Fix:
    return Fix(message="write topology: false", at=path, value=False)


def _claims(pool: PoolPlan, path: Path) -> list[Diagnostic]:
    if pool.dra is None:
        return []
    return [
        warning(
            "topology.claims",
            path,
            f"queues place pods by the resources that nodes of {pool.name} advertise, which exclude resource"
            " claims (sharing: dra): pods may be sent to nodes without free GPUs, unless CPU or memory fills them first",
            given="true with sharing dra",
            allowed=f"extended resources, or pods that request {pool.cpu_per_gpu} CPUs with each GPU",
            fix=_off(path),
        )
    ]


def _nodes(pool: PoolPlan, path: Path) -> list[Diagnostic]:
    """A queue places pods on running nodes; no autoscaler starts a node for a job that is not admitted."""
    if pool.scaling is Scaling.FIXED or pool.nodes.low == pool.nodes.high:
        return []
    if pool.provisioning in _ADDS_NODES:
        return []
    low = pool.nodes.low
    runs = (
        "never starts a node"
        if low == 0
        else f"never has more than the {low} nodes that always run"
    )
    asks = pool.scaling is Scaling.AUTOSCALER
    at = (*path[:-1], "provisioning")
    fix = _off(path)
    if asks:
        fix = Fix(message="write provisioning: atomic", at=at, value=Provisioning.ATOMIC.value)
    problem = (
        "a queue with topology admits jobs to running nodes only, but an autoscaler starts nodes for"
        f" existing pods only: {pool.name} {runs}"
    )
    value = f"nodes: {pool.nodes}, scaling: {pool.scaling}"
    allowed = "a fixed number of nodes"
    allowed += ", or provisioning: atomic, which requests the nodes first" if asks else ""
    if low:
        return [warning("topology.nodes", path, problem, given=value, allowed=allowed, fix=fix)]
    return [error("topology.nodes", path, problem, given=value, allowed=allowed, fix=fix)]


def _levels(pool: PoolPlan, path: Path) -> list[Diagnostic]:
    if pool.topology_levels != (HOSTNAME_LABEL,):
        return []
    return [
        info(
            "topology.levels",
            path,
            f"the topology of {pool.name} has no level above the node: queues check that pods fit on nodes,"
            " but do not place pods close together",
            given=f"levels: {HOSTNAME_LABEL}",
            allowed="zones, or a machine for which the cloud reports more levels",
        )
    ]


def _blocks(
    spec: PlatformSpec, pool: PoolPlan, shapes: Sequence[ShapePlan], path: Path
) -> list[Diagnostic]:
    """Simulated nodes are spread over the zones in turn, so the number in each zone is known."""
    if spec.cloud is not Cloud.SIMULATED or ZONE_LABEL not in pool.topology_levels:
        return []
    most = -(-pool.start_nodes // len(pool.zones))
    wide = next((s for s in shapes if s.pool == pool.name and s.nodes > most), None)
    if wide is None:
        return []
    return [
        warning(
            "topology.block",
            path,
            f"shape {wide.name} needs {wide.nodes} nodes, but a zone of {pool.name} has {most}:"
            f" a job that requires one {ZONE_LABEL} never starts",
            given=f"{pool.start_nodes} nodes in {len(pool.zones)} zones",
            allowed="podset-preferred-topology for such jobs, or fewer zones",
        )
    ]


def _mixed(
    pools: dict[str, PoolPlan], teams: Sequence[TeamPlan], placed: list[PoolPlan], path: Path
) -> list[Diagnostic]:
    """In a queue with both kinds of flavors, only annotated jobs use the flavors with a topology."""
    with_it = {p.name for p in placed}
    results: dict[str, list[str]] = {}
    for team in teams:
        pool_names = set(usable_pools(team.quotas))
        if pool_names & with_it and pool_names - with_it:
            results[team.name] = sorted(pool_names - with_it, key=list(pools).index)
    if not results:
        return []
    first, others = next(iter(results.items()))
    more = f" (the same for {format_list(list(results)[1:])})" if len(results) > 1 else ""
    return [
        warning(
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
    ]


def _gpus_only(teams: Sequence[TeamPlan], placed: list[PoolPlan], path: Path) -> list[Diagnostic]:
    """A queue finds a pool by the requested GPUs; if all its pools have a topology, it admits no other pods."""
    with_it = {p.name for p in placed}
    results = [
        t.name
        for t in teams
        if (pool_names := set(usable_pools(t.quotas))) and pool_names <= with_it
    ]
    if not results:
        return []
    return [
        info(
            "topology.gpus_only",
            path,
            f"all pools of {format_list(results)} have a topology, and such a queue admits no pods without GPUs:"
            " a CPU-only job never starts, and a job with a launcher only if the launcher leads a pod group",
            allowed="a pool without topology for the team, or CPU jobs in a namespace without a team",
        )
    ]


def _replaced(placed: list[PoolPlan], path: Path) -> Diagnostic:
    names = format_list(p.flavor for p in placed)
    return info(
        "topology.flavor",
        path,
        "a Kueue flavor with a topology is immutable: to change the topology, labels, taints or levels,"
        " gpuyard creates a new flavor alongside the old one. Running jobs continue, but the new flavor's"
        " quota does not count them: change it while the pool is idle, or after `stop_policy: hold`",
        given=f"flavors {names}" if len(placed) > 1 else f"flavor {names}",
    )
