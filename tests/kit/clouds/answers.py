"""What the clouds answer a mocked engine: outputs in true form, and questions about an account."""

from collections.abc import Mapping
from typing import Any

from testbed.plugins.cloud import asking, facts, shapes
from testbed.plugins.cloud.account import Account
from testbed.plugins.kubernetes.values import transform

from gpuyard.testing import Registered

PLACES = {
    "aws": shapes.Place("aws", region="us-east-1"),
    "gcp": shapes.Place("gcp", region="us-central1", project="acme-ml"),
}
DNS = "gke-0123456789ab-123456789012.us-central1.gke.goog"
QUESTIONS = (
    "aws:index/getCallerIdentity:getCallerIdentity",
    "aws:index/getPartition:getPartition",
    "aws:index/getRegion:getRegion",
    "aws:index/getAvailabilityZones:getAvailabilityZones",
    "aws:ec2/getSubnets:getSubnets",
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings",
    "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation",
    "aws:resourcegroupstaggingapi/getResources:getResources",
    "aws:eks/getCluster:getCluster",
    "aws:ssm/getParameter:getParameter",
    "gcp:organizations/getClientConfig:getClientConfig",
    "gcp:organizations/getProject:getProject",
    "gcp:container/getCluster:getCluster",
    "gcp:compute/getZones:getZones",
    "gcp:compute/getMachineTypes:getMachineTypes",
)


def outputs(resource: Registered) -> Mapping[str, Any]:
    """All that the cloud fills in for a resource."""
    cloud = resource.type.partition(":")[0]
    if not resource.custom or cloud not in PLACES or facts.resource(resource.type) is None:
        return {}
    place = PLACES[cloud]
    word = shapes.words(resource.type, resource.inputs, place, resource.name)
    filled = shapes.filled(resource.type, word, resource.inputs, place)
    return {key: value for key, value in filled.items() if value != resource.inputs.get(key)}


def calls(account: Account | None = None) -> dict[str, Any]:
    """What is answered to questions: by this account, else by an empty one."""
    there = account or Account()

    def answered(token: str) -> Any:
        place = PLACES[token.partition(":")[0]]
        return lambda args: transform(asking.answer(token, args, there, place), lambda leaf: leaf)

    return {token: answered(token) for token in QUESTIONS}
