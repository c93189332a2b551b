"""GPU-AWS-04: pods cannot take the credentials of their node."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Severity
from gpuyard.rules.rule import (
    Parameters,
    Reference,
    Resource,
    Rule,
    Violation,
    at,
    block,
    number,
    text,
)

OF_PODS = 2
"""As many as pods need that are meant to ask: what the usual modules for EKS set by themselves."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    options = block(at(resource.properties, "metadataOptions"))
    requires_tokens = text(options.get("httpTokens")) == "required"
    if not requires_tokens:
        yield Violation(
            ("metadataOptions", "httpTokens"),
            "any request to the metadata service is answered, also one a pod was tricked into",
            "set httpTokens: required (IMDSv2)",
        )
    hops = number(options.get("httpPutResponseHopLimit"))
    if hops is not None and hops > 1:
        yield Violation(
            ("metadataOptions", "httpPutResponseHopLimit"),
            f"a hop limit of {hops:.0f} lets pods fetch the credentials of their node",
            "set it to 1, and give pods credentials by Pod Identity",
            # as EKS's own managed node groups have it: whoever asks for tokens has thought of it
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
    fix="Set httpTokens: required and httpPutResponseHopLimit: 1; nodes are replaced to take it up.",
    sources=(
        "EKS best practices guide, identity and access: restrict access to the instance profile",
    ),
    references=(Reference("EKS Best Practices", "IAM"),),
    kinds=("aws:ec2/LaunchTemplate",),
    check=_check,
    remediate=_remediate,
)
