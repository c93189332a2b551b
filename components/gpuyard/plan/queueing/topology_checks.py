"""Topology-aware scheduling: what it asks of a platform, by Kueue's rules (v0.19.2, pkg/cache/scheduler)."""

from collections.abc import Sequence

from gpuyard.findings import Finding, Fix, Path, error, format_list, info, warning
from gpuyard.names import HOSTNAME_LABEL, ZONE_LABEL
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan, ShapePlan, TeamPlan, usable_pools
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import Provisioning

_ADDS_NODES = frozenset({Provisioning.ATOMIC, Provisioning.QUEUED})
"""Answers that come after nodes were made; the other looks at nodes that run."""


def check_topology(draft: Draft) -> list[Finding]:
    """Pods placed by topology need nodes that run, that carry labels, that hold what is asked."""
    spec, pools, teams, shapes = draft.spec, draft.valid_pools, draft.teams, draft.shapes
    findings: list[Finding] = []
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


def _claims(pool: PoolPlan, path: Path) -> list[Finding]:
    if pool.dra is None:
        return []
    return [
        warning(
            "topology.claims",
            path,
            f"queues place pods by what nodes of {pool.name} advertise, and claims (sharing: dra) they do not"
            " see: pods are sent to nodes whose GPUs may be taken, unless CPU or memory fills them first",
            value="true with sharing dra",
            allowed=f"GPUs that are counted, or pods that ask for {pool.cpu_per_gpu} CPUs with each GPU",
            fix=_off(path),
        )
    ]


def _nodes(pool: PoolPlan, path: Path) -> list[Finding]:
    """A queue places pods on nodes that exist; nobody starts a node for a job that it holds back."""
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
        "a queue admits a job onto nodes that run, and an autoscaler starts nodes for pods that exist:"
        f" {pool.name} {runs}"
    )
    value = f"nodes: {pool.nodes}, scaling: {pool.scaling}"
    allowed = "one number of nodes"
    allowed += ", or provisioning: atomic, which asks for the nodes first" if asks else ""
    if low:
        return [warning("topology.nodes", path, problem, value=value, allowed=allowed, fix=fix)]
    return [error("topology.nodes", path, problem, value=value, allowed=allowed, fix=fix)]


def _levels(pool: PoolPlan, path: Path) -> list[Finding]:
    if pool.topology_levels != (HOSTNAME_LABEL,):
        return []
    return [
        info(
            "topology.levels",
            path,
            f"of nodes of {pool.name} only the name is known, not how near they are: queues count each node"
            " by itself, so that no job starts whose pods find no room, and put none near another",
            value=f"levels: {HOSTNAME_LABEL}",
            allowed="zones, or a machine whose cloud tells more",
        )
    ]


def _blocks(
    spec: PlatformSpec, pool: PoolPlan, shapes: Sequence[ShapePlan], path: Path
) -> list[Finding]:
    """Simulated nodes are dealt over the zones in turn, so how many each has is known."""
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
            f"shape {wide.name} takes {wide.nodes} nodes, and a zone of {pool.name} has {most}:"
            f" a job of it that requires one {ZONE_LABEL} never starts",
            value=f"{pool.start_nodes} nodes in {len(pool.zones)} zones",
            allowed="podset-preferred-topology for such jobs, or fewer zones",
        )
    ]


def _mixed(
    pools: dict[str, PoolPlan], teams: Sequence[TeamPlan], placed: list[PoolPlan], path: Path
) -> list[Finding]:
    """In a queue with flavors of both kinds, only a job's own words lead to those with a topology."""
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
            f" a topology annotation never goes to {format_list(p.name for p in placed)}, one with it goes nowhere"
            f" else{more}",
            allowed="topology: true in all pools of a team, or annotated jobs",
            fix=Fix(message=f"write topology: true in {format_list(others)} too, or annotate jobs"),
        )
    ]


def _gpus_only(teams: Sequence[TeamPlan], placed: list[PoolPlan], path: Path) -> list[Finding]:
    """A queue finds a pool by the GPUs that pods ask for; where it must place all, others have none."""
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
            f"all pools of {format_list(results)} have a topology, and such a queue admits no pods without GPUs: a"
            " job on CPUs alone never starts there, and one with a launcher only where it leads a group",
            allowed="a pool without topology for the team, or CPU jobs in a namespace of no team",
        )
    ]


def _replaced(placed: list[PoolPlan], path: Path) -> Finding:
    names = format_list(p.flavor for p in placed)
    return info(
        "topology.flavor",
        path,
        "Kueue changes nothing in a flavor with a topology: turning it on or off, or other labels, taints or"
        " levels, make a flavor of a new name beside the old one. Jobs that run go on, but the quota of the"
        " new flavor does not count them: change it while the pool is idle, or after `stop_policy: hold`",
        value=f"flavors {names}" if len(placed) > 1 else f"flavor {names}",
    )
