"""GPU-AWS-07: rights to data belong to pods, not to nodes."""

import re
from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Reference, Rule, Stack, Violation, known, text

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
ATTACHMENT = "aws:iam/RolePolicyAttachment"


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    nodes = {text(group.properties.get("nodeRoleArn")) for group in stack.of("aws:eks/NodeGroup")}
    roles = {arn.rpartition("/")[2] for arn in nodes if arn}
    for attachment in stack.of(ATTACHMENT):
        role = known(attachment.properties.get("role"))
        if not isinstance(role, str) or not (role in roles or _NODE.search(role)):
            continue
        policy = text(attachment.properties.get("policyArn")).rpartition("/")[2]
        if policy and policy not in _NEEDED:
            yield Violation(
                ("policyArn",),
                f"every pod on the nodes of {role} can use {policy}",
                "give it to a role that the one workload assumes by Pod Identity",
                attachment,
            )


RULE = Rule(
    id="GPU-AWS-07",
    title="The role of GPU nodes has no rights to data",
    severity=Severity.WARN,
    why="What the node may do, every pod on it may do: one notebook reads every team's bucket.",
    fix="Leave nodes the policies that joining needs; give workloads roles by Pod Identity or IRSA.",
    sources=("EKS user guide, node IAM role: the policies that nodes need",),
    references=(Reference("CIS EKS 1.8.0", "5.2.1"),),
    kinds=(ATTACHMENT,),
    check_stack=_check,
)
