"""GPU-AWS-07: pods, not nodes, have permissions on data."""

import re
from collections.abc import Iterator
from typing import Any

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    UNKNOWN,
    AuditReference,
    NotEvaluatedError,
    Parameters,
    Rule,
    Stack,
    Violation,
    block,
    number,
    text,
)
from gpuyard_lint.rules.subjects.pools import NODE_GROUP, gpu_pool

_NODE = re.compile(
    r"(^|[-_./])(node|worker|gpu)s?(group)?([-_./]|$)|karpenter.*node", re.IGNORECASE
)
_NEEDED = frozenset(
    {
        "AmazonEKSWorkerNodePolicy",
        "AmazonEKSWorkerNodeMinimalPolicy",
        "AmazonEKS_CNI_Policy",
        "AmazonEC2ContainerRegistryReadOnly",
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonSSMManagedInstanceCore",
        "CloudWatchAgentServerPolicy",
    }
)
_TEMPLATE = "aws:ec2/LaunchTemplate"
ATTACHMENT = "aws:iam/RolePolicyAttachment"
REFERENCE = "aws_iam_role."
"""The prefix of references to Terraform roles: such a role has no known name."""


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    sure, maybe = _roles(stack)
    unknown, closed = False, _keeps_tokens(stack)
    for attachment in stack.resources_of_kinds(ATTACHMENT):
        role, policy = (attachment.properties.get(each) for each in ("role", "policyArn"))
        if not isinstance(role, str):
            unknown = unknown or role is UNKNOWN
            continue
        named = not role.startswith(REFERENCE) and _NODE.search(role)
        if not (named or role in sure | maybe):
            continue
        if policy is UNKNOWN or not (named or role in sure):
            unknown = True
            continue
        name = text(policy).rpartition("/")[2]
        if name and name not in _NEEDED:
            yield Violation(
                ("policyArn",),
                f"every pod on the nodes of {role} can use {name}",
                "attach it to a role that only the workload assumes, with Pod Identity",
                attachment,
                is_advisory=closed,
            )
    if unknown or UNKNOWN in maybe:
        raise NotEvaluatedError


def _keeps_tokens(stack: Stack) -> bool:
    """Whether every launch template in the input keeps the node's role from pods: tokens and a hop limit of 1."""
    templates = stack.resources_of_kinds(_TEMPLATE)
    options = [block(each.properties.get("metadataOptions")) for each in templates]
    return bool(options) and all(
        each.get("httpTokens") == "required" and number(each.get("httpPutResponseHopLimit")) == 1
        for each in options
    )


def _roles(stack: Stack) -> tuple[set[Any], set[Any]]:
    """Roles of groups with GPUs, and of groups with unknown machines."""
    sure: set[Any] = set()
    maybe: set[Any] = set()
    for group in stack.resources_of_kinds(NODE_GROUP):
        value = group.properties.get("nodeRoleArn")
        role = value.rpartition("/")[2] if isinstance(value, str) else value
        try:
            has_gpus = gpu_pool(group) is not None
        except NotEvaluatedError:
            maybe.add(role)
            continue
        if has_gpus:
            (maybe if role is UNKNOWN else sure).add(role)
    return sure, maybe


RULE = Rule(
    id="GPU-AWS-07",
    title="The role of GPU nodes has no access to data",
    severity=Severity.WARNING,
    why="Every pod on a node can use the node's role: one notebook can read the buckets of all teams.",
    fix="Attach only the policies that nodes need to join; give workloads roles with Pod Identity or IRSA.",
    sources=("EKS user guide, node IAM role: the policies that nodes need",),
    references=(AuditReference("CIS EKS 1.8.0", "5.2.1"),),
    kinds=(ATTACHMENT,),
    check_stack=_check,
)
