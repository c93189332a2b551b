"""What prevents the deletion of a resource: protection, a policy, objects inside."""

from collections.abc import Mapping
from typing import Any

from testbed.plugins.cloud.service.ties import Resource

# The cloud cannot delete these: a block stays paid for, and a key ring is permanent.
STAYS = ("aws:ec2/capacityBlockReservation:CapacityBlockReservation", "gcp:kms/keyRing:KeyRing")


def refusals(resource: Resource, objects: int) -> list[str]:
    """Errors of a delete, before its users are checked."""
    kind, inputs = resource.kind, resource.inputs
    results: list[str] = []
    if inputs.get("deletionPolicy") == "PREVENT":
        results.append(f'cannot destroy {resource.id} without setting deletion_policy="DELETE"')
    if kind == "gcp:container/cluster:Cluster" and inputs.get("deletionProtection", True):
        results.append(
            "Error: Cannot destroy cluster because deletion_protection is set to true. Set it to false "
            "to proceed with cluster deletion"
        )
    if kind == "aws:eks/cluster:Cluster" and inputs.get("deletionProtection"):
        results.append(
            f"InvalidRequestException: Deletion protection is enabled for cluster {resource.id}"
        )
    if kind == "gcp:filestore/instance:Instance" and inputs.get("deletionProtectionEnabled"):
        results.append(f"Error 400: {resource.id} has deletion protection, failedPrecondition")
    if objects and not _emptied(inputs):
        results += _not_empty(resource)
    return results


def _emptied(inputs: Mapping[str, Any]) -> bool:
    return inputs.get("forceDestroy") is True


def _not_empty(resource: Resource) -> list[str]:
    if resource.kind == "aws:s3/bucket:Bucket":
        return ["BucketNotEmpty: The bucket you tried to delete is not empty"]
    if resource.kind == "gcp:storage/bucket:Bucket":
        force = "without `force_destroy` set to true"
        return [f"Error trying to delete bucket {resource.id} containing objects {force}"]
    return []
