"""Errors of AWS itself, which its provider does not check."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from testbed.plugins.cloud.rules.looking import (
    Inputs,
    Rule,
    at,
    has,
    items,
    mapping,
    number,
    text,
    unsure,
    within,
)

_NODE_TYPES = ("EC2", "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "HYBRID_LINUX")
_MOST_TYPES = 20
_MACHINE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
_RESERVED = ("kubernetes.io", "k8s.io", "eks.amazonaws.com")


# ── eks ───────────────────────────────────────────────────────────────────────────────────────────
def scaling(inputs: Inputs) -> Iterator[str]:
    """[api] The size of a node group is within its bounds."""
    least, expected, most = (
        number(inputs, f"scalingConfig.{name}") for name in ("minSize", "desiredSize", "maxSize")
    )
    if least is not None and most is not None and least > most:
        yield f"InvalidParameterException: minSize {least} is more than maxSize {most}"
    if expected is not None and least is not None and expected < least:
        yield f"InvalidParameterException: desiredSize {expected} is less than minSize {least}"
    if expected is not None and most is not None and expected > most:
        yield f"InvalidParameterException: desiredSize {expected} is more than maxSize {most}"


def with_template(inputs: Inputs) -> Iterator[str]:
    """[api] Fields that a launch template sets must not be set again."""
    if has(inputs, "launchTemplate"):
        for name in ("diskSize", "remoteAccess"):
            if has(inputs, name):
                yield f"InvalidParameterException: {name} cannot be given with a launch template"
    if len(types := items(inputs, "instanceTypes")) > _MOST_TYPES:
        yield f"InvalidParameterException: {len(types)} instanceTypes; {_MOST_TYPES} at most"


def capacity_block(inputs: Inputs) -> Iterator[str]:
    """[ug] A block is bought through a launch template."""
    if text(inputs, "capacityType") == "CAPACITY_BLOCK" and not has(inputs, "launchTemplate"):
        yield "InvalidParameterException: capacityType CAPACITY_BLOCK needs a launchTemplate"


def warm_pool(inputs: Inputs) -> Iterator[str]:
    """[api] Bottlerocket nodes do not return to a warm pool."""
    reuse = at(inputs, "warmPoolConfig.reuseOnScaleIn") is True
    if reuse and text(inputs, "amiType").startswith("BOTTLEROCKET"):
        yield "InvalidParameterException: warmPoolConfig.reuseOnScaleIn is not for Bottlerocket"


def access_entry(inputs: Inputs) -> Iterator[str]:
    """[api] Nodes authenticate with a role."""
    who, type_ = text(inputs, "principalArn"), text(inputs, "type")
    if type_ in _NODE_TYPES and who and ":role/" not in who:
        yield f"InvalidParameterException: type {type_} takes an IAM role; principalArn is {who}"


def access_scope(inputs: Inputs) -> Iterator[str]:
    """[api] A scope is the cluster or a list of namespaces."""
    if text(inputs, "accessScope.type") not in {"", "cluster", "namespace"}:
        yield "InvalidParameterException: accessScope.type is neither cluster nor namespace"
    if text(inputs, "accessScope.type") == "namespace" and not has(
        inputs, "accessScope.namespaces"
    ):
        yield "InvalidParameterException: accessScope.type namespace needs accessScope.namespaces"


def service_range(inputs: Inputs) -> Iterator[str]:
    """[api] An IPv6 cluster gets its service range from EKS."""
    value = has(inputs, "kubernetesNetworkConfig.serviceIpv4Cidr")
    if value and text(inputs, "kubernetesNetworkConfig.ipFamily") == "ipv6":
        yield "InvalidParameterException: serviceIpv4Cidr cannot be given with ipFamily ipv6"


def node_labels(inputs: Inputs) -> Iterator[str]:
    """[doc] Only Kubernetes and EKS set these labels (cloud-provider-aws#242)."""
    for key in mapping(inputs, "labels"):
        if within(key, _RESERVED):
            prefixes = ", ".join(f"{each}/" for each in _RESERVED)
            yield f"InvalidParameterException: Label cannot contain reserved prefixes [{prefixes}]"


# ── ec2 ───────────────────────────────────────────────────────────────────────────────────────────
def template_of_a_block(inputs: Inputs) -> Iterator[str]:
    """[ug] A template for a capacity block names the block and its type."""
    if text(inputs, "instanceMarketOptions.marketType") != "capacity-block":
        return
    target = "capacityReservationSpecification.capacityReservationTarget.capacityReservationId"
    for name in (target, "instanceType"):
        if not has(inputs, name):
            yield f"InvalidParameterCombination: marketType capacity-block needs {name}"


def machine(inputs: Inputs) -> Iterator[str]:
    """[api] EC2 lists its types; each is a family, a dot and a size."""
    value = text(inputs, "instanceType")
    if value and not _MACHINE.fullmatch(value):
        yield f"InvalidParameterValue: The following supplied instance types do not exist: [{value}]"


def groups_once(inputs: Inputs) -> Iterator[str]:
    """[ug] Security groups are set on the instance or on its interfaces."""
    on_interfaces = any(has(each, "securityGroups") for each in items(inputs, "networkInterfaces"))
    both = [name for name in ("vpcSecurityGroupIds", "securityGroupNames") if has(inputs, name)]
    if on_interfaces and both:
        yield f"InvalidParameterCombination: {both[0]} beside networkInterfaces[].securityGroups; give one"


def reservation_end(inputs: Inputs) -> Iterator[str]:
    """[doc] An end date requires the limited end type."""
    limited = text(inputs, "endDateType") == "limited"
    if has(inputs, "endDate") != limited and not unsure(inputs, "endDateType", "endDate"):
        yield "InvalidParameterCombination: endDate and endDateType limited go together"


def endpoint(inputs: Inputs) -> Iterator[str]:
    """[doc] A gateway is in route tables, an interface in subnets."""
    kind = text(inputs, "vpcEndpointType") or "Gateway"
    refused: tuple[str, ...] = ()
    if kind == "Gateway":
        refused = ("subnetIds", "securityGroupIds", "privateDnsEnabled")
    elif kind == "Interface":
        refused = ("routeTableIds",)
    if unsure(inputs, "vpcEndpointType"):
        return
    for name in refused:
        if has(inputs, name) and at(inputs, name) is not False:
            yield f"InvalidParameter: {name} is not for an endpoint of type {kind}"


def ports(inputs: Inputs) -> Iterator[str]:
    """[doc] A rule for all protocols has no ports."""
    if text(inputs, "ipProtocol") == "-1":
        for name in ("fromPort", "toPort"):
            if has(inputs, name):
                yield f"InvalidParameterValue: {name} cannot be given with ipProtocol -1"


# ── others ────────────────────────────────────────────────────────────────────────────────────────
def throughput(inputs: Inputs) -> Iterator[str]:
    """[doc] A throughput value requires the provisioned mode."""
    mode = text(inputs, "throughputMode") or "bursting"
    value = has(inputs, "provisionedThroughputInMibps")
    if value and mode != "provisioned" and not unsure(inputs, "throughputMode"):
        yield f"BadRequest: provisionedThroughputInMibps is for throughputMode provisioned; it is {mode}"


def policy_document(inputs: Inputs) -> Iterator[str]:
    """[moto] A policy has statements, with an effect, actions and resources that are ARNs or a star."""
    written = text(inputs, "policy")
    if not written:
        return
    try:
        statements = _list(json.loads(written)["Statement"])
    except (ValueError, KeyError, TypeError):
        yield "MalformedPolicyDocument: Syntax errors in policy."
        return
    for each in statements:
        yield from _statement(each)


def _statement(statement: Any) -> Iterator[str]:
    if not isinstance(statement, Mapping) or statement.get("Effect") not in {"Allow", "Deny"}:
        yield "MalformedPolicyDocument: a statement needs Effect Allow or Deny"
        return
    if not {"Action", "NotAction"} & set(statement):
        yield "MalformedPolicyDocument: Policy statement must contain actions."
    if not {"Resource", "NotResource"} & set(statement):
        yield "MalformedPolicyDocument: Policy statement must contain resources."
    for resource in _list(statement.get("Resource", [])):
        if resource != "*" and not str(resource).startswith("arn:"):
            yield f"MalformedPolicyDocument: Resource {resource} must be in ARN format or *."


def trust_document(inputs: Inputs) -> Iterator[str]:
    """[doc] A trust policy names who may assume the role, and no resources."""
    written = text(inputs, "assumeRolePolicy")
    if not written:
        return
    try:
        statements = _list(json.loads(written)["Statement"])
    except (ValueError, KeyError, TypeError):
        yield "MalformedPolicyDocument: This policy contains invalid Json or no statement"
        return
    for each in statements:
        if "Principal" not in each:
            yield "MalformedPolicyDocument: a trust policy's statement needs a Principal"
        if "Resource" in each:
            yield "MalformedPolicyDocument: Has prohibited field Resource"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


RULES: Mapping[str, Sequence[Rule]] = {
    "aws:eks/nodeGroup:NodeGroup": (
        scaling,
        with_template,
        capacity_block,
        warm_pool,
        node_labels,
    ),
    "aws:eks/accessEntry:AccessEntry": (access_entry,),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": (access_scope,),
    "aws:eks/cluster:Cluster": (service_range,),
    "aws:ec2/launchTemplate:LaunchTemplate": (template_of_a_block, groups_once, machine),
    "aws:ec2/capacityReservation:CapacityReservation": (reservation_end,),
    "aws:ec2/vpcEndpoint:VpcEndpoint": (endpoint,),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": (ports,),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": (ports,),
    "aws:efs/fileSystem:FileSystem": (throughput,),
    "aws:iam/policy:Policy": (policy_document,),
    "aws:iam/rolePolicy:RolePolicy": (policy_document,),
    "aws:iam/role:Role": (trust_document,),
}
