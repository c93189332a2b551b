"""GPU-AWS-05: nodes of Karpenter hold to the same as those of launch templates."""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.findings import Severity
from gpuyard.rules.aws.gpu_aws_04_launch_template_imds import OF_PODS
from gpuyard.rules.rule import (
    Parameters,
    Reference,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    number,
    text,
)
from gpuyard.rules.subjects.pools import has_no_gpus

_CLASS = "karpenter.k8s.aws/EC2NodeClass"
_ASKED = frozenset({"", "required"})
"""What asks for tokens: Karpenter does by itself."""


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for resource in stack.of(_CLASS):
        if not has_no_gpus(resource, stack):
            for violation in _of_class(resource):
                yield replace(violation, resource=resource)


def _of_class(resource: Resource) -> Iterator[Violation]:
    path = ("spec", "metadataOptions")
    tokens = text(at(resource.properties, *path, "httpTokens"))
    hops = number(at(resource.properties, *path, "httpPutResponseHopLimit"))
    # Karpenter's own defaults are required and 1; only what is written can be worse.
    if tokens not in _ASKED:
        yield Violation(
            (*path, "httpTokens"),
            f"httpTokens: {tokens} answers any request to the metadata service",
            "set it to required, or leave it out: that is Karpenter's default",
        )
    if hops is not None and hops > 1:
        yield Violation(
            (*path, "httpPutResponseHopLimit"),
            f"a hop limit of {hops:.0f} lets pods fetch the credentials of their node",
            "set it to 1, or leave it out: that is Karpenter's default",
            severity=Severity.WARNING if tokens == "required" else None,  # in so many words
            is_advisory=tokens in _ASKED and hops == OF_PODS,
        )


RULE = Rule(
    id="GPU-AWS-05",
    title="Karpenter node classes require IMDSv2 with a hop limit of 1",
    severity=Severity.ERROR,
    why="The node's role can pull every image and often read every bucket; a pod must not have it.",
    fix="Leave metadataOptions to Karpenter, or write required and 1.",
    sources=("aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go, defaults",),
    references=(Reference("EKS Best Practices", "IAM"),),
    kinds=(_CLASS,),
    check_stack=_check,
)
