"""GPU-GCP-06: GPU nodes are repaired, and not upgraded in the middle of a run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuyard.findings import Severity
from gpuyard.rules.rule import (
    NotEvaluatedError,
    Parameters,
    Reference,
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
from gpuyard.rules.subjects.pools import NODE_POOL, gpu_pool, gpu_pools

_CLUSTER = "gcp:container/Cluster"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    properties = resource.properties
    if resource.group_kind == _CLUSTER:
        channel = text(at(properties, "releaseChannel", "channel"))
        if channel in {"", "UNSPECIFIED"}:
            yield Violation(
                ("releaseChannel",),
                "without a release channel the cluster ages until Google upgrades it by force",
                "choose a channel: REGULAR, or STABLE",
                severity=Severity.INFO if channel else None,
                is_advisory=bool(channel),  # who says it in so many words means it
            )
    elif gpu_pool(resource) is not None and not _repaired(properties):
        yield Violation(
            ("management", "autoRepair"),
            "a node whose GPU has failed stays, and takes the next job as well",
            "set management: {autoRepair: true}",
        )


def _check_together(stack: Stack, _: Parameters) -> Iterator[Violation]:
    pools = stack.of(NODE_POOL)
    if pools and all(map(_upgraded_by_hand, pools)):
        return
    for cluster in stack.of(_CLUSTER):
        if cluster.properties.get("maintenancePolicy") is None:
            yield Violation(
                ("maintenancePolicy",),
                "nodes may be upgraded, and drained, at any hour of any day",
                "set a maintenance window, and exclusions for long training runs",
                cluster,
                is_advisory=_end_anyway(cluster, pools),
            )


def _end_anyway(cluster: Resource, pools: Sequence[Resource]) -> bool:
    """Whether all nodes with GPUs in view may be taken at any hour whatever the window; not where unsure."""
    properties = cluster.properties
    try:
        # there GKE makes nodes of its own accord, as pods ask for them
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
    """Whether its nodes are there for one request, and end with it: GKE drains none for an upgrade."""
    return is_true(at(pool.properties, "queuedProvisioning", "enabled")) or is_true(
        at(pool.properties, "nodeConfig", "flexStart")
    )


def _inline(cluster: Resource) -> Iterator[Resource]:
    """The pools that stand in the cluster itself: the default one, and those that it lists."""
    for each in (cluster.properties, *mappings(cluster.properties, "nodePools")):
        yield Resource(NODE_POOL, cluster.name, {"nodeConfig": each.get("nodeConfig")})


def _upgraded_by_hand(pool: Resource) -> bool:
    """Whether nobody but its owner upgrades it, as far as it is known."""
    management = pool.properties.get("management")
    result = management[0] if isinstance(management, list) and management else management
    return isinstance(result, Mapping) and result.get("autoUpgrade") is False


def _repaired(properties: Mapping[str, Any]) -> bool:
    """Flex-start nodes are had anew instead: GKE takes no pool of them that is repaired."""
    flex = is_true(at(properties, "nodeConfig", "flexStart"))
    return flex or is_true(at(properties, "management", "autoRepair"))


RULE = Rule(
    id="GPU-GCP-06",
    title="GKE repairs GPU nodes and upgrades them in a maintenance window",
    severity=Severity.WARNING,
    why="A drain in the middle of a run costs every GPU hour since the last checkpoint.",
    fix="Turn auto repair on; choose a release channel and a maintenance window.",
    sources=(
        "GKE documentation, release channels, maintenance windows and exclusions",
        "GKE documentation, node upgrade strategies: short-lived upgrades of queued and flex-start nodes",
    ),
    references=(Reference("CIS GKE 1.9.0", "5.5.2-5.5.4"),),
    kinds=(_CLUSTER, NODE_POOL),
    check=_check,
    check_stack=_check_together,
)
