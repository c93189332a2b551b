"""GPU-AWS-05: Karpenter nodes have the metadata options of GPU-AWS-04."""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.aws.gpu_aws_04_launch_template_imds import OF_PODS
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    number,
    text,
)
from gpuyard_lint.rules.subjects.pools import is_class_without_gpus

_CLASS = "karpenter.k8s.aws/EC2NodeClass"
_ASKED = frozenset({"", "required"})
"""Values that require tokens; Karpenter's default does."""


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for resource in stack.resources_of_kinds(_CLASS):
        if not is_class_without_gpus(resource, stack):
            for violation in _of_class(resource):
                yield replace(violation, resource=resource)


def _of_class(resource: Resource) -> Iterator[Violation]:
    path = ("spec", "metadataOptions")
    tokens = text(at(resource.properties, *path, "httpTokens"))
    hops = number(at(resource.properties, *path, "httpPutResponseHopLimit"))
    # Karpenter's own defaults are required and 1; only an explicit value can be worse.
    if tokens not in _ASKED:
        yield Violation(
            (*path, "httpTokens"),
            f"httpTokens: {tokens} lets the metadata service answer requests without a session token",
            "set it to required, or omit it: that is Karpenter's default",
        )
    if hops is not None and hops > 1:
        yield Violation(
            (*path, "httpPutResponseHopLimit"),
            f"a hop limit of {hops:.0f} lets pods fetch the credentials of their node",
            "set it to 1, or omit it: that is Karpenter's default",
            severity=Severity.WARNING if tokens == "required" else None,  # set explicitly
            is_advisory=tokens in _ASKED and hops == OF_PODS,
        )


RULE = Rule(
    id="GPU-AWS-05",
    title="Karpenter node classes require IMDSv2 with a hop limit of 1",
    severity=Severity.ERROR,
    why="The node's role can pull every image and often read every bucket; a pod must not have it.",
    fix="Omit metadataOptions, or set httpTokens: required and httpPutResponseHopLimit: 1.",
    sources=("aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go, defaults",),
    references=(AuditReference("EKS Best Practices", "IAM"),),
    kinds=(_CLASS,),
    check_stack=_check,
)
