"""GPU-AWS-01: the API server of the cluster is not open to the internet."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
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
    # EKS makes the endpoint public to all addresses by default.
    if known_value(public) is None or is_true(public):
        allowed = items(network.get("publicAccessCidrs"))
        if not allowed or any(known_value(each) in _WORLD for each in allowed):
            yield Violation(
                ("vpcConfig", "publicAccessCidrs"),
                "the whole internet reaches the API server of this cluster",
                "set endpointPublicAccess: false, or set publicAccessCidrs to your networks",
            )
    if not is_true(network.get("endpointPrivateAccess")):
        yield Violation(
            ("vpcConfig", "endpointPrivateAccess"),
            "nodes reach the API server through the public endpoint only",
            "set endpointPrivateAccess: true",
            severity=Severity.WARNING,
            is_advisory=True,  # exposes nothing, provided that nodes reach the internet
        )


RULE = Rule(
    id="GPU-AWS-01",
    title="The EKS endpoint is private, or public to listed networks only",
    severity=Severity.ERROR,
    why="A leaked token of a GPU cluster works from any network.",
    fix="Enable private access; disable public access or limit it to listed networks.",
    sources=("EKS API, VpcConfigRequest: defaults of endpointPublicAccess and publicAccessCidrs",),
    references=(AuditReference("CIS EKS 1.8.0", "5.4.1"), AuditReference("CIS EKS 1.8.0", "5.4.2")),
    kinds=("aws:eks/Cluster",),
    check=_check,
)
