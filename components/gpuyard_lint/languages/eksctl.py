"""eksctl's clusters and node groups as the EKS resources that it creates, with eksctl's defaults.

`nodeGroups` become self-managed groups, which EKS does not maintain. Of the cluster only explicit
settings are known: a file without them gives no finding.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.catalogue.cluster.machine_gpus import has_gpus
from gpuyard_core.manifests.placeholders import is_entirely_placeholder
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.rules.rule import UNKNOWN, Resource
from gpuyard_lint.rules.subjects.pools import NODE_GROUP, gpu_pool

CLUSTER_CONFIG = "eksctl.io/ClusterConfig"
CLUSTER = "aws:eks/Cluster"
_MANAGED, _OWN = "managedNodeGroups", "nodeGroups"
_USUAL = "AmazonLinux2023"
_IMAGES: Mapping[str, tuple[str, str]] = {
    _USUAL: ("AL2023_x86_64_STANDARD", "AL2023_x86_64_NVIDIA"),
    "AmazonLinux2": ("AL2_x86_64", "AL2_x86_64_GPU"),
    "Bottlerocket": ("BOTTLEROCKET_x86_64", "BOTTLEROCKET_x86_64_NVIDIA"),
}
"""By family: eksctl's image, and the one for GPU machines."""
_SIZES = ("maxSize", "desiredCapacity", "minSize")
_NODES = 2
"""The default number of nodes."""
_WORDS: Mapping[str, str] = {
    "amiType": "amiFamily",
    "capacityType": "spot",
    "remoteAccess": "ssh",
}
"""The names in eksctl of EKS fields."""
_OF_EKS = {own: name for name, own in _WORDS.items()}


_OF_CLUSTER: Mapping[str, str] = {
    "vpcConfig": "vpc",
    "endpointPublicAccess": "clusterEndpoints",
    "endpointPrivateAccess": "clusterEndpoints",
    "publicAccessCidrs": "publicAccessCIDRs",
    "encryptionConfig": "secretsEncryption",
    "enabledClusterLogTypes": "cloudWatch",
    "bootstrapClusterCreatorAdminPermissions": "bootstrapClusterCreatorAdminPermissions",
}
_IN_EKS = {own: name for name, own in _OF_CLUSTER.items() if own != "clusterEndpoints"}
_EVERY_LOG = ["api", "audit", "authenticator", "controllerManager", "scheduler"]


def cluster(value: Mapping[str, Any], place: FileLocation) -> Iterator[Item]:
    """The cluster itself, if the file has settings that rules check, and GPUs."""
    vpc, logs = _mapping(value.get("vpc")), _mapping(value.get("cloudWatch"))
    key = _mapping(value.get("secretsEncryption")).get("keyARN")
    encrypted = {"provider": {"keyArn": key}, "resources": ["secrets"]}
    properties = {
        "vpcConfig": _network(vpc),
        "encryptionConfig": UNKNOWN if key is None else encrypted,
        "enabledClusterLogTypes": _logs(_mapping(logs.get("clusterLogging")).get("enableTypes")),
        "accessConfig": _access(_mapping(value.get("accessConfig"))),
    }
    groups = [item.resource for item in node_groups(value, place)]
    if any(each is not UNKNOWN for each in properties.values()) and any(map(gpu_pool, groups)):
        name = _mapping(value.get("metadata")).get("name")
        shown = name if isinstance(name, str) else "(no name)"
        at = replace(
            place,
            pulumi_name=lambda own: _IN_EKS.get(own, own),
            to_document_name=lambda name: _OF_CLUSTER.get(name, name),
        )
        yield Item(Resource(CLUSTER, shown, properties), at)


def _network(vpc: Mapping[str, Any]) -> Any:
    """Public to all addresses, and not private, by default."""
    ends = _mapping(vpc.get("clusterEndpoints"))
    cidrs = vpc.get("publicAccessCIDRs")
    if not ends and cidrs is None:
        return UNKNOWN
    return {
        "endpointPublicAccess": ends.get("publicAccess", True),
        "endpointPrivateAccess": ends.get("privateAccess", UNKNOWN if not ends else False),
        "publicAccessCidrs": cidrs if isinstance(cidrs, list) else [],
    }


def _logs(value: Any) -> Any:
    if not isinstance(value, list):
        return UNKNOWN
    return _EVERY_LOG if {"*", "all"} & {str(each) for each in value} else value


def _access(access: Mapping[str, Any]) -> Any:
    if "authenticationMode" not in access:
        return UNKNOWN
    fields = ("authenticationMode", "bootstrapClusterCreatorAdminPermissions")
    return {field: access[field] for field in fields if field in access}


def node_groups(value: Mapping[str, Any], place: FileLocation) -> Iterator[Item]:
    """Every node group of a ClusterConfig."""
    of_all = _mapping(_mapping(value.get("metadata")).get("tags"))
    for field in (_MANAGED, _OWN):
        listed = value.get(field)
        for index, group in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(group, Mapping):
                name = group.get("name")
                shown = name if isinstance(name, str) else "(no name)"
                result = _properties(group)
                result["tags"] = {**of_all, **_mapping(group.get("tags"))}
                if field == _OWN:  # EKS does not repair self-managed nodes
                    result["nodeRepairConfig"] = {"enabled": True}
                at = replace(
                    place,
                    prefix=(*place.prefix, field, index),
                    pulumi_name=lambda own: _OF_EKS.get(own, own),
                    to_document_name=lambda name: _WORDS.get(name, name),
                )
                yield Item(Resource(NODE_GROUP, shown, result), at)


def _properties(group: Mapping[str, Any]) -> dict[str, Any]:
    distribution = _mapping(group.get("instancesDistribution"))
    machines = group.get("instanceTypes") or distribution.get("instanceTypes")
    types = machines if isinstance(machines, list) else [group.get("instanceType")]
    types = [each for each in types if isinstance(each, str)]
    above = distribution.get("onDemandPercentageAboveBaseCapacity")
    no_on_demand = above == 0 and not distribution.get("onDemandBaseCapacity")
    elsewhere = not types and ("launchTemplate" in group or "instanceSelector" in group)
    return {
        "instanceTypes": UNKNOWN if elsewhere else types,
        "amiType": _image(group, for_gpus=any(map(has_gpus, types))),
        "capacityType": "SPOT" if group.get("spot") is True or no_on_demand else "ON_DEMAND",
        "scalingConfig": {"maxSize": next(filter(None, map(group.get, _SIZES)), _NODES)},
        "taints": _taints(group.get("taints")),
        "remoteAccess": _ssh(
            _mapping(group.get("ssh")), private=bool(group.get("privateNetworking"))
        ),
        **{key: group.get(key) or {} for key in ("labels", "nodeRepairConfig")},
    }


def _image(group: Mapping[str, Any], *, for_gpus: bool) -> str:
    """The default image is the one for GPUs, if eksctl knows the machine."""
    if group.get("ami") or "launchTemplate" in group:
        return "CUSTOM"
    return _IMAGES.get(str(group.get("amiFamily") or _USUAL), ("CUSTOM", "CUSTOM"))[for_gpus]


def _taints(value: Any) -> Any:
    """A list; for self-managed groups also by key, `value:effect`. Placeholders are unchanged."""
    if is_entirely_placeholder(value):
        return value
    if isinstance(value, Mapping):
        return [
            {
                "key": key,
                "effect": each if is_entirely_placeholder(each) else str(each).rpartition(":")[2],
            }
            for key, each in value.items()
        ]
    listed = value if isinstance(value, list) else []
    return [each for each in listed if isinstance(each, Mapping) or is_entirely_placeholder(each)]


def _ssh(ssh: Mapping[str, Any], *, private: bool) -> dict[str, Any]:
    """Open if enabled or with a key: to groups, to the network of private nodes, or to all."""
    names = ("publicKey", "publicKeyName", "publicKeyPath")
    allowed = ssh.get("allow", any(ssh.get(name) for name in names))
    if allowed is not True:
        return {}
    to = ssh.get("sourceSecurityGroupIds") or (["its network"] if private else [])
    return {"ec2SshKey": "a key", "sourceSecurityGroupIds": to}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
