"""Responses of the clouds to a mocked engine: realistic outputs, and function calls."""

from collections.abc import Mapping
from typing import Any

import grpc  # type: ignore[import-untyped]  # has no stubs of its own
from testbed.plugins.cloud import asking, facts, shapes
from testbed.plugins.cloud.account import Account, Refused
from testbed.plugins.kubernetes.values import transform

from gpuyard_testing import Registered

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
    "gcp:compute/getReservation:getReservation",
)


class NotAnswered(grpc.RpcError):  # type: ignore[misc]  # has no stubs of its own
    """The engine's error for a function call that a provider rejected; a program may continue."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self._said = message

    def code(self) -> grpc.StatusCode:
        """The code that the engine uses for all errors of providers."""
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        """The provider's message."""
        return self._said


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
    """Responses to function calls: by this account, else by an empty one."""
    existing = account or Account()

    def answered(token: str) -> Any:
        place = PLACES[token.partition(":")[0]]

        def ask(args: dict[str, Any]) -> Any:
            try:
                return transform(asking.answer(token, args, existing, place), lambda leaf: leaf)
            except Refused as said:
                raise NotAnswered(str(said)) from None

        return ask

    return {token: answered(token) for token in QUESTIONS}
