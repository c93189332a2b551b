"""GPU-GCP-06: GKE repairs GPU nodes and does not upgrade them during a run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    NotEvaluatedError,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    block,
    is_true,
    mappings,
    text,
)
from gpuyard_lint.rules.subjects.pools import NODE_POOL, gpu_pool, gpu_pools

_CLUSTER = "gcp:container/Cluster"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    properties = resource.properties
    if resource.group_kind == _CLUSTER:
        channel = text(at(properties, "releaseChannel", "channel"))
        if channel in {"", "UNSPECIFIED"}:
            yield Violation(
                ("releaseChannel",),
                "without a release channel the version ages until GKE upgrades it automatically",
                "set releaseChannel to REGULAR or STABLE",
                severity=Severity.INFO if channel else None,
                is_advisory=bool(channel),  # an explicit value is deliberate
            )
    elif gpu_pool(resource) is not None and not _repaired(properties):
        yield Violation(
            ("management", "autoRepair"),
            "a node with a failed GPU stays in the pool, and the next job fails on it too",
            "set management: {autoRepair: true}",
        )


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
    pools = stack.resources_of_kinds(NODE_POOL)
    if pools and all(map(_upgraded_by_hand, pools)):
        return
    for cluster in stack.resources_of_kinds(_CLUSTER):
        if cluster.properties.get("maintenancePolicy") is None:
            yield Violation(
                ("maintenancePolicy",),
                "GKE may upgrade and drain nodes at any time",
                "set a maintenance window, and exclusions for long training runs",
                cluster,
                is_advisory=_end_anyway(cluster, pools),
            )


def _end_anyway(cluster: Resource, pools: Sequence[Resource]) -> bool:
    """Whether all GPU nodes may be reclaimed at any time despite a window; False if unknown."""
    properties = cluster.properties
    try:
        # GKE itself creates nodes there when pods request them
        if is_true(properties.get("enableAutopilot")) or block(
            properties.get("clusterAutoscaling")
        ):
            return False
        results = list(gpu_pools((*pools, *_inline(cluster))))
        return bool(results) and all(
            pool.only_spot or _is_queued(pool.resource) for pool in results
        )
    except NotEvaluatedError:
        return False


def _is_queued(pool: Resource) -> bool:
    """Whether its nodes serve one request and are deleted after it: GKE drains none for an upgrade."""
    return is_true(at(pool.properties, "queuedProvisioning", "enabled")) or is_true(
        at(pool.properties, "nodeConfig", "flexStart")
    )


def _inline(cluster: Resource) -> Iterator[Resource]:
    """The pools in the cluster resource: the default pool and the listed ones."""
    for each in (cluster.properties, *mappings(cluster.properties, "nodePools")):
        yield Resource(NODE_POOL, cluster.name, {"nodeConfig": each.get("nodeConfig")})


def _upgraded_by_hand(pool: Resource) -> bool:
    """Whether only its owner upgrades it, as far as known."""
    management = pool.properties.get("management")
    result = management[0] if isinstance(management, list) and management else management
    return isinstance(result, Mapping) and result.get("autoUpgrade") is False


def _repaired(properties: Mapping[str, Any]) -> bool:
    """GKE replaces flex-start nodes instead: it rejects auto repair for them."""
    flex = is_true(at(properties, "nodeConfig", "flexStart"))
    return flex or is_true(at(properties, "management", "autoRepair"))


RULE = Rule(
    id="GPU-GCP-06",
    title="GKE repairs GPU nodes and upgrades them in a maintenance window",
    severity=Severity.WARNING,
    why="A drain during a run loses every GPU hour since the last checkpoint.",
    fix="Enable auto repair; set a release channel and a maintenance window.",
    sources=(
        "GKE documentation, release channels, maintenance windows and exclusions",
        "GKE documentation, node upgrade strategies: short-lived upgrades of queued and flex-start nodes",
    ),
    references=(AuditReference("CIS GKE 1.9.0", "5.5.2-5.5.4"),),
    kinds=(_CLUSTER, NODE_POOL),
    check=_check,
    check_stack=_check_together,
)
