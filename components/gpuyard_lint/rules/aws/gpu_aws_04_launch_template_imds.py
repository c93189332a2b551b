"""GPU-AWS-04: pods cannot use the credentials of their node."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Violation,
    at,
    block,
    number,
    text,
)

OF_PODS = 2
"""The hop limit that pods with access to IMDS need, and that common EKS modules set by default."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    options = block(at(resource.properties, "metadataOptions"))
    requires_tokens = text(options.get("httpTokens")) == "required"
    if not requires_tokens:
        yield Violation(
            ("metadataOptions", "httpTokens"),
            "the metadata service answers IMDSv1 requests, including forged ones (SSRF)",
            "set httpTokens: required (IMDSv2)",
        )
    hops = number(options.get("httpPutResponseHopLimit"))
    if hops is not None and hops > 1:
        yield Violation(
            ("metadataOptions", "httpPutResponseHopLimit"),
            f"a hop limit of {hops:.0f} lets pods fetch the credentials of their node",
            "set it to 1, and give pods credentials with Pod Identity",
            # the default of EKS managed node groups: requiring tokens shows that it is deliberate
            severity=Severity.WARNING if requires_tokens else None,
            is_advisory=requires_tokens and hops == OF_PODS,
        )


def _remediate(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    options = {**block(properties.get("metadataOptions"))}
    options |= {"httpTokens": "required", "httpPutResponseHopLimit": 1}
    return {**properties, "metadataOptions": options}


RULE = Rule(
    id="GPU-AWS-04",
    title="Launch templates require IMDSv2 with a hop limit of 1",
    severity=Severity.ERROR,
    why="The node's role can pull every image and often read every bucket; a pod must not have it.",
    fix="Set httpTokens: required and httpPutResponseHopLimit: 1; EKS replaces the nodes to apply it.",
    sources=(
        "EKS best practices guide, identity and access: restrict access to the instance profile",
    ),
    references=(AuditReference("EKS Best Practices", "IAM"),),
    kinds=("aws:ec2/LaunchTemplate",),
    check=_check,
    remediate=_remediate,
)
