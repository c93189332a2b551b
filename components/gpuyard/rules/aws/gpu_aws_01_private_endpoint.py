"""GPU-AWS-01: the API of the cluster is not open to the world."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import (
    Parameters,
    Reference,
    Resource,
    Rule,
    Violation,
    at,
    block,
    is_true,
    items,
    known_value,
)

_WORLD = frozenset({"0.0.0.0/0", "::/0"})


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    network = block(at(resource.properties, "vpcConfig"))
    public = network.get("endpointPublicAccess")
    # EKS makes the endpoint public, to everybody, unless it is told otherwise.
    if known_value(public) is None or is_true(public):
        allowed = items(network.get("publicAccessCidrs"))
        if not allowed or any(known_value(each) in _WORLD for each in allowed):
            yield Violation(
                ("vpcConfig", "publicAccessCidrs"),
                "the whole internet reaches the API of this cluster",
                "set endpointPublicAccess: false, or publicAccessCidrs to your networks",
            )
    if not is_true(network.get("endpointPrivateAccess")):
        yield Violation(
            ("vpcConfig", "endpointPrivateAccess"),
            "nodes reach the API through the public endpoint only",
            "set endpointPrivateAccess: true",
            severity=Severity.WARNING,
            is_advisory=True,  # nothing is open by it, as long as there is a way out
        )


RULE = Rule(
    id="GPU-AWS-01",
    title="The EKS endpoint is private, or public to listed networks only",
    severity=Severity.ERROR,
    why="Whoever holds a leaked token of a GPU cluster can use it from anywhere.",
    fix="Turn private access on; turn public access off or bound it by networks.",
    sources=("EKS API, VpcConfigRequest: defaults of endpointPublicAccess and publicAccessCidrs",),
    references=(Reference("CIS EKS 1.8.0", "5.4.1"), Reference("CIS EKS 1.8.0", "5.4.2")),
    kinds=("aws:eks/Cluster",),
    check=_check,
)
