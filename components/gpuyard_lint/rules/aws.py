"""Rules on AWS and EKS."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuyard_core.catalogue.software.versions import is_version, parse_version
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import (
    at,
    block,
    enum_value,
    is_true,
    items,
    known_value,
    mapping,
    number,
    text,
)
from gpuyard_lint.rules.rule import (
    UNKNOWN,
    NotEvaluatedError,
    Parameters,
    Resource,
    Stack,
    Violation,
    load_rule,
    read_table,
)
from gpuyard_lint.rules.subjects.pools import (
    NODE_CLASS,
    NODE_GROUP,
    classes_of_gpus,
    gpu_pool,
    is_class_without_gpus,
)

# GPU-AWS-01
_WORLD = frozenset({"0.0.0.0/0", "::/0"})


def _check_endpoint(resource: Resource, _: Parameters) -> Iterator[Violation]:
    network = block(at(resource.properties, "vpcConfig"))
    public = network.get("endpointPublicAccess")
    # EKS makes the endpoint public to all addresses by default.
    if known_value(public) is None or is_true(public):
        allowed = items(network, "publicAccessCidrs")
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


# GPU-AWS-02
def _check_secrets_key(resource: Resource, _: Parameters) -> Iterator[Violation]:
    result = block(at(resource.properties, "encryptionConfig"))
    key = at(result, "provider", "keyArn")
    if not key or "secrets" not in map(enum_value, items(result, "resources")):
        yield Violation(
            ("encryptionConfig",),
            "Secrets in etcd are encrypted with an AWS-owned key, which you can neither audit nor revoke",
            "set encryptionConfig with your KMS key and resources: [secrets]",
            is_advisory=True,
        )


# GPU-AWS-03
_AUDIT = "audit"
_NEEDED_LOGS = (_AUDIT, "authenticator")
_LOG_TYPES = "enabledClusterLogTypes"


def _check_logs(resource: Resource, _: Parameters) -> Iterator[Violation]:
    on = {enum_value(each) for each in items(resource.properties.get(_LOG_TYPES))}
    if missing := [each for each in _NEEDED_LOGS if each not in on]:
        # the audit log names the principal of each request, but not of rejected logins
        seen = _AUDIT in on
        yield Violation(
            (_LOG_TYPES,),
            f"the cluster does not log {'rejected logins' if seen else 'who did what'}:"
            f" {' and '.join(missing)} logs are disabled",
            f"add {', '.join(missing)} to {_LOG_TYPES}",
            severity=Severity.INFO if seen else None,
        )


def _enable_logs(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    on = [*items(properties.get(_LOG_TYPES))]
    return {**properties, _LOG_TYPES: sorted({*on, *_NEEDED_LOGS})}


# GPU-AWS-04
_HOPS_OF_PODS = 2
"""The hop limit that pods with access to IMDS need, and that common EKS modules set by default."""


def _check_metadata_options(resource: Resource, _: Parameters) -> Iterator[Violation]:
    options = block(at(resource.properties, "metadataOptions"))
    requires_tokens = text(options, "httpTokens") == "required"
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
            is_advisory=requires_tokens and hops == _HOPS_OF_PODS,
        )


def _require_tokens(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    options = {**block(properties.get("metadataOptions"))}
    options |= {"httpTokens": "required", "httpPutResponseHopLimit": 1}
    return {**properties, "metadataOptions": options}


# GPU-AWS-05
_TOKENS_REQUIRED = frozenset({"", "required"})
"""Values that require tokens; Karpenter's default does."""


def _check_class_options(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for resource in stack.resources_of_kinds(NODE_CLASS):
        if not is_class_without_gpus(resource, stack):
            for violation in _class_options(resource):
                yield replace(violation, resource=resource)


def _class_options(resource: Resource) -> Iterator[Violation]:
    path = ("spec", "metadataOptions")
    tokens = text(at(resource.properties, *path, "httpTokens"))
    hops = number(at(resource.properties, *path, "httpPutResponseHopLimit"))
    # Karpenter's own defaults are required and 1; only an explicit value can be worse.
    if tokens not in _TOKENS_REQUIRED:
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
            is_advisory=tokens in _TOKENS_REQUIRED and hops == _HOPS_OF_PODS,
        )


# GPU-AWS-06
_LISTED = ("API", "API_AND_CONFIG_MAP")
"""With these modes the creator has an access entry that you can list and delete."""


_ACCESS_ENTRIES_SINCE = (1, 23)
"""The first Kubernetes version of EKS with access entries."""


def _check_access(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if _has_no_access_entries(resource.properties.get("version")):
        return
    mode = text(at(resource.properties, "accessConfig", "authenticationMode"))
    if mode != "API":
        yield Violation(
            ("accessConfig", "authenticationMode"),
            "the aws-auth ConfigMap controls access: one wrong edit locks out all users or admits too many",
            "set authenticationMode: API, and create access entries",
            is_advisory=bool(mode),  # an explicit value is deliberate
        )
    creator = at(resource.properties, "accessConfig", "bootstrapClusterCreatorAdminPermissions")
    if mode not in _LISTED and (creator is None or is_true(creator)):
        yield Violation(
            ("accessConfig", "bootstrapClusterCreatorAdminPermissions"),
            "the creator of the cluster stays its administrator, and no list of access shows it",
            "set it to false, and create an access entry for the administrator role",
            is_advisory=creator is not None,
        )


def _has_no_access_entries(version: object) -> bool:
    written = str(version)  # a number if it is not quoted
    return (
        is_version("kubernetes", written)
        and parse_version("kubernetes", written).numbers < _ACCESS_ENTRIES_SINCE
    )


# GPU-AWS-07
_NODE_ROLE = re.compile(
    r"(^|[-_./])(node|worker|gpu)s?(group)?([-_./]|$)|karpenter.*node", re.IGNORECASE
)
_NODE_POLICIES = frozenset(read_table("node_policies"))
_TEMPLATE = "aws:ec2/LaunchTemplate"
ATTACHMENT = "aws:iam/RolePolicyAttachment"
REFERENCE = "aws_iam_role."
"""The prefix of references to Terraform roles: such a role has no known name."""


def _check_node_roles(stack: Stack, _: Parameters) -> Iterator[Violation]:
    sure, maybe = _roles(stack)
    unknown, closed = False, _keeps_tokens(stack)
    for attachment in stack.resources_of_kinds(ATTACHMENT):
        role, policy = (attachment.properties.get(each) for each in ("role", "policyArn"))
        if not isinstance(role, str):
            unknown = unknown or role is UNKNOWN
            continue
        named = not role.startswith(REFERENCE) and _NODE_ROLE.search(role)
        if not (named or role in sure | maybe):
            continue
        if policy is UNKNOWN or not (named or role in sure):
            unknown = True
            continue
        name = text(policy).rpartition("/")[2]
        if name and name not in _NODE_POLICIES:
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


# GPU-AWS-08
_ENDED = ("AL2_",)
_NO_DRIVER = frozenset({"AL2023_x86_64_STANDARD", "AL2023_ARM_64_STANDARD"})
_ALIAS, _NAME, _PARAMETER = "al2@", "amazon-eks-gpu-node-", "/amazon-linux-2-gpu/"
"""Names of Amazon Linux 2 GPU images in node classes; names of AL2023 images contain the family."""
_MAKERS = ("", "amazon", "602401143452")
_OF_CLASSES = "alias: al2023@VERSION or bottlerocket@VERSION"
_OF_FAMILIES = "amiFamily: AL2023 or Bottlerocket"
_V1BETA1 = "karpenter.k8s.aws/v1beta1/"
"""The API version in which amiFamily alone selects its newest image; it has no alias."""


def _check_image(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == NODE_CLASS or gpu_pool(resource) is None:
        return
    image = text(resource.properties, "amiType")
    if image.startswith(_ENDED):
        yield _of_before(("amiType",), image, "AL2023_x86_64_NVIDIA or BOTTLEROCKET_x86_64_NVIDIA")
    elif image in _NO_DRIVER:
        yield Violation(
            ("amiType",),
            f"{image} has no GPU driver: the nodes join but advertise no GPU",
            f"use {image.replace('STANDARD', 'NVIDIA')}",
        )


def _check_classes(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for node_class, pools in classes_of_gpus(stack):
        spec = mapping(node_class.properties, "spec")
        results = [_old_image(mapping(each)) for each in items(spec, "amiSelectorTerms")]
        # of several terms Karpenter boots the newest image, which may be of another kind
        for index, (key, image) in enumerate(each for each in results if all(results) and each):
            path = ("spec", "amiSelectorTerms", index, key)
            yield _class_image(path, image, node_class, pools)
        if not results and node_class.kind.startswith(_V1BETA1):
            family = text(spec, "amiFamily")
            if family == "AL2":
                yield _class_image(("spec", "amiFamily"), family, node_class, pools)


def _old_image(term: Mapping[str, Any]) -> tuple[str, str] | None:
    """The key and value of a term that selects an Amazon Linux 2 GPU image, if it does."""
    alias, name, parameter = (text(term.get(key)) for key in ("alias", "name", "ssmParameter"))
    if alias.startswith(_ALIAS):
        return "alias", alias
    if name.startswith(_NAME) and text(term, "owner") in _MAKERS:
        return "name", name
    return ("ssmParameter", parameter) if _PARAMETER in parameter else None


def _class_image(path: Path, image: str, node_class: Resource, pools: Sequence[str]) -> Violation:
    """For a node class and the pools that use it: the class itself does not mention GPUs."""
    before = node_class.kind.startswith(_V1BETA1)
    violation = _of_before(path, image, _OF_FAMILIES if before else _OF_CLASSES)
    names = ", ".join(sorted(set(pools)))
    of_gpus = f"GPU pool {names}" if len(set(pools)) == 1 else f"GPU pools {names}"
    return replace(violation, problem=f"{violation.problem} ({of_gpus})", resource=node_class)


def _of_before(path: Path, image: str, instead: str) -> Violation:
    message = (
        f"{image} is Amazon Linux 2: EKS publishes no new AMIs of it, so its driver gets no updates"
    )
    return Violation(path, message, f"use {instead}")


# GPU-AWS-09
def _check_repair(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if gpu_pool(resource) and not is_true(at(resource.properties, "nodeRepairConfig", "enabled")):
        yield Violation(
            ("nodeRepairConfig",),
            "a node with a failed GPU stays in the group, and the next job fails on it too",
            "set nodeRepairConfig: {enabled: true}, and install the node monitoring agent",
        )


def _enable_repair(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    repair = {**block(properties.get("nodeRepairConfig")), "enabled": True}
    return {**properties, "nodeRepairConfig": repair}


RULES = (
    load_rule("GPU-AWS-01", kinds=("aws:eks/Cluster",), check=_check_endpoint),
    load_rule("GPU-AWS-02", kinds=("aws:eks/Cluster",), check=_check_secrets_key),
    load_rule("GPU-AWS-03", kinds=("aws:eks/Cluster",), check=_check_logs, remediate=_enable_logs),
    load_rule(
        "GPU-AWS-04",
        kinds=("aws:ec2/LaunchTemplate",),
        check=_check_metadata_options,
        remediate=_require_tokens,
    ),
    load_rule("GPU-AWS-05", kinds=(NODE_CLASS,), check_stack=_check_class_options),
    load_rule("GPU-AWS-06", kinds=("aws:eks/Cluster",), check=_check_access),
    load_rule("GPU-AWS-07", kinds=(ATTACHMENT,), check_stack=_check_node_roles),
    load_rule(
        "GPU-AWS-08", kinds=(NODE_GROUP, NODE_CLASS), check=_check_image, check_stack=_check_classes
    ),
    load_rule("GPU-AWS-09", kinds=(NODE_GROUP,), check=_check_repair, remediate=_enable_repair),
)
