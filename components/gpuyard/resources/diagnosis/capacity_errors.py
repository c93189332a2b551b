"""Nodes that a cloud does not give: which pool, where, and what there is to do.

A node group or node pool for which there are no machines is made all the same, stays there as failed, and is
in the state. The next `up` finds nothing to change of it and ends well, without nodes: so who made it has to
be told, when it fails and at each `up` until it is replaced.
https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#managed-node-group-errors-faq
"""

import re
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.runtime.proto import resource_pb2
from pulumi.runtime.settings import monitor_supports_feature

AWS_GROUP = "aws:eks/nodeGroup:NodeGroup"
"""Of GKE no status is an output: it goes on asking for the machines of a pool by itself."""
GROUPS = (AWS_GROUP, "gcp:container/nodePool:NodePool")
_NONE_LEFT = re.compile(
    r"InsufficientInstanceCapacity|GCE_STOCKOUT|ZONE_RESOURCE_POOL_EXHAUSTED"
    r"|does not have enough resources available"
)
_TOO_MANY = re.compile(r"VcpuLimitExceeded|MaxSpotInstanceCountExceeded|(?i:quota_?exceeded)")
_ZONE = re.compile(r"\b(?:[a-z]{2}(?:-[a-z]+)+-\d[a-z]|[a-z]+-[a-z]+\d-[a-z])\b")
_FAILED = "CREATE_FAILED"


def capacity_hook(name: str, pool: str) -> pulumi.ResourceHookBinding | None:
    """The hook of one group; None where the engine, or a mock of it, knows none."""
    if not monitor_supports_feature(resource_pb2.RESOURCE_MONITOR_FEATURE_ERROR_HOOKS):
        return None

    def tell(args: pulumi.ErrorHookArgs) -> bool:
        if message := capacity_error_message(args, pool):
            pulumi.log.warn(message)
        return False

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(f"gpuyard:{name}:machines", tell)])


def capacity_error_message(args: pulumi.ErrorHookArgs, pool: str) -> str:
    """What to say beside the cloud's error; "" where it is about something else."""
    error = args.errors[0] if args.errors else ""
    if _TOO_MANY.search(error):
        return (
            f"pool {pool}: this is more than the account may have; nothing was made of this group.\n"
            "  fix: ask for the quota that `gpuyard check --live` names, then `pulumi up` again; what is made"
            " stays"
        )
    if not _NONE_LEFT.search(error):
        return ""
    where = ", ".join(_zones(error, args.new_inputs or {})) or "the zones of the pool"
    return (
        f"pool {pool}: the cloud has no machines for it in {where} now; what is made stays, and so does this"
        f" group, without nodes.\n  fix: {_replace(args.urn)} when there are some; or give the pool other"
        " `zones`, or one more way to buy under `capacity`"
    )


def _zones(error: str, inputs: Mapping[str, Any]) -> list[str]:
    """Those that the error names; else those that were asked for by name."""
    return sorted(set(_ZONE.findall(error))) or list(inputs.get("nodeLocations") or [])


def _replace(urn: str) -> str:
    return f"`pulumi up --replace '{urn}'`"


class NoInstancesLaunched(pulumi.RunError):
    """A group is in the state and at the cloud, and failed when it was made."""

    def __init__(self, urn: str, pool: str) -> None:
        super().__init__(
            f"pool {pool}: its group {urn.rpartition('::')[2]} is there, failed when it was made, and gets no"
            f" nodes: {_replace(urn)} makes it anew"
        )


def reject_failed_groups(pool: str, urn: str, status: object) -> None:
    """End the program where a group is left of an `up` that failed: the engine takes it for made."""
    if status == _FAILED:
        raise NoInstancesLaunched(urn, pool)
