"""Messages of a provider for rejected changes, and for failed resources."""

import uuid

from testbed.plugins.cloud.faults import LOOKS
from testbed.plugins.cloud.inside.user_data import BadUserData
from testbed.plugins.cloud.service import machines
from testbed.plugins.cloud.service.ties import Resource


def _service(kind: str) -> str:
    return " ".join(kind.rpartition(":")[0].partition(":")[2].split("/"))


def words(kind: str, at: str, message: str) -> str:
    """A service error as the provider reports it."""
    service, _, name = kind.partition(":")[2].rpartition(":")[0].partition("/")
    if kind.startswith("gcp:"):
        return f"{at} {name}: googleapi: {message}"
    verb, name = "Describe" if at in LOOKS else at.capitalize(), name.removeprefix("get")
    called = f"{verb}{name[:1].upper()}{name[1:]}"
    request = uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}{message}")
    return (
        f"operation error {service.upper()}: {called}, https response error StatusCode: 400, "
        f"RequestID: {request}, {message}"
    )


def not_rolled(group: Resource, why: BadUserData) -> str:
    """The message for a new version of which no node joined."""
    return (
        f"waiting for EKS Node Group ({group.id}) version update: unexpected state 'Failed', wanted target "
        f"'Successful'. last error: {why.code}: Couldn't proceed with upgrade process as new nodes are not "
        f"joining node group {group.inputs['nodeGroupName']}"
    )


def without_nodes(group: Resource, why: BadUserData) -> str:
    """The message for a group whose nodes did not join; EKS returns only a code."""
    if group.kind == machines.POOL:
        return f"Error waiting for creating GKE NodePool: {why}"
    message = "Instances failed to join the kubernetes cluster"
    return (
        f"waiting for EKS Node Group ({group.id}) create: unexpected state 'CREATE_FAILED', wanted target "
        f"'ACTIVE'. last error: {why.code}: {message if why.code == 'NodeCreationFailure' else why}"
    )


def failure(fault: str, kind: str, created: Resource, expected: machines.Wanted) -> str:
    """The message for a resource that exists and failed."""
    if fault == "time-out":
        return (
            f"waiting for {_service(kind)} ({created.id}) create: timeout while waiting for state to become "
            f"'ACTIVE' (last state: 'CREATING')"
        )
    if kind.startswith("gcp:"):
        return f"Error waiting for creating GKE NodePool: {no_capacity(kind, expected)}"
    return (
        f"waiting for EKS Node Group ({created.id}) create: unexpected state 'CREATE_FAILED', wanted target "
        f"'ACTIVE'. last error: {no_capacity(kind, expected)}"
    )


def no_capacity(kind: str, expected: machines.Wanted) -> str:
    """A cloud's message for a group or pool without capacity."""
    type_, zone = ", ".join(sorted(expected.types)), ", ".join(sorted(expected.zones))
    if kind == machines.POOL:
        return (
            f"{type_} in {zone}: the zone does not have enough resources available to fulfill the"
            " request. (GCE_STOCKOUT)"
        )
    return (
        "AsgInstanceLaunchFailures: Could not launch instances. "
        f"InsufficientInstanceCapacity - We currently do not have sufficient {type_} capacity in the "
        f"Availability Zone you requested ({zone})."
    )
