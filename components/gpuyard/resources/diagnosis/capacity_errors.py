"""Diagnosis of missing cloud capacity: which pool, which zones, and what to do.

A node group or node pool without available machines is created nevertheless, stays in a failed
state, and is in Pulumi's state. The next `up` finds no change and succeeds without nodes. So
gpuyard reports the group when it fails and at each `up` until it is replaced.
https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#managed-node-group-errors-faq
"""

import re
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import monitor_supports_feature

AWS_GROUP = "aws:eks/nodeGroup:NodeGroup"
"""A GKE node pool has no such status: GKE retries by itself."""
GROUPS = (AWS_GROUP, "gcp:container/nodePool:NodePool")
_NONE_LEFT = re.compile(
    r"InsufficientInstanceCapacity|GCE_STOCKOUT|ZONE_RESOURCE_POOL_EXHAUSTED"
    r"|does not have enough resources available"
)
_TOO_MANY = re.compile(r"VcpuLimitExceeded|MaxSpotInstanceCountExceeded|(?i:quota_?exceeded)")
_ZONE = re.compile(r"\b(?:[a-z]{2}(?:-[a-z]+)+-\d[a-z]|[a-z]+-[a-z]+\d-[a-z])\b")
_FAILED = "CREATE_FAILED"


def capacity_hook(name: str, pool: str) -> pulumi.ResourceHookBinding | None:
    """The hook of one group; None if the engine (or a mock) supports none."""
    if not monitor_supports_feature(resource_pb2.RESOURCE_MONITOR_FEATURE_ERROR_HOOKS):
        return None

    def tell(args: pulumi.ErrorHookArgs) -> bool:
        if message := capacity_error_message(args, pool):
            pulumi.log.warn(message)
        return False

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(f"gpuyard:{name}:machines", tell)])


def capacity_error_message(args: pulumi.ErrorHookArgs, pool: str) -> str:
    """The message in addition to the cloud's error; "" if the error has another cause."""
    error = args.errors[0] if args.errors else ""
    if _TOO_MANY.search(error):
        return (
            f"pool {pool}: the request exceeds the account's quota; this group was not created.\n "
            " fix: request the quota that `gpuyard check --live` names, then run `pulumi up` "
            "again; created resources stay"
        )
    if not _NONE_LEFT.search(error):
        return ""
    where = ", ".join(_zones(error, args.new_inputs or {})) or "the zones of the pool"
    return (
        f"pool {pool}: the cloud has no capacity in {where} now; created resources stay, "
        f"including this group without nodes.\n  fix: run {_replace(args.urn)} when capacity is "
        "available; or set other `zones` for the pool, or add an option under `capacity`"
    )


def _zones(error: str, inputs: Mapping[str, Any]) -> list[str]:
    """The zones that the error names, otherwise the zones in the inputs."""
    return sorted(set(_ZONE.findall(error))) or list(inputs.get("nodeLocations") or [])


def _replace(urn: str) -> str:
    return f"`pulumi up --replace '{urn}'`"


class NoInstancesLaunched(pulumi.RunError):
    """A group exists in the state and the cloud, but its creation failed."""

    def __init__(self, urn: str, pool: str) -> None:
        super().__init__(
            f"pool {pool}: its group {urn.rpartition('::')[2]} exists, failed at its creation and "
            f"gets no nodes: {_replace(urn)} replaces it"
        )


def reject_failed_groups(pool: str, urn: str, status: object) -> None:
    """End the program if a group of a failed `up` remains: the engine considers it created."""
    if status == _FAILED:
        raise NoInstancesLaunched(urn, pool)
