"""Values that a cloud fills in, in real form: ids, ARNs, links, endpoints. Equal for equal accounts and names."""

import base64
import hashlib
import ipaddress
import json
import uuid
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.plugins.cloud import facts
from testbed.plugins.cloud.preparing import DEFAULTS

ACCOUNT = "123456789012"
PROJECT_NUMBER = "123456789012"
CREATED = "2026-11-22T13:00:00Z"
_HEX = 17


@dataclass(frozen=True)
class Place:
    """The place where a provider works: its configuration."""

    cloud: str
    region: str = ""
    project: str = ""
    zone: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


# By type the state's `id`, the import id where it differs, the `arn`; `{hex}` is 17 digits.
SHAPES: Mapping[str, Mapping[str, str]] = json.loads(
    (facts.FOLDER / "shapes.json").read_text("utf-8")
)
_LINKS = {
    "compute": "https://www.googleapis.com/compute/v1",
    "container": "https://container.googleapis.com/v1beta1",
}


class _Words(dict[str, Any]):
    """A template's variables; missing ones are empty."""

    def __missing__(self, key: str) -> str:
        return ""


def words(kind: str, inputs: Mapping[str, Any], place: Place, seed: str) -> dict[str, Any]:
    """The variables of templates."""
    digest = hashlib.sha256(f"{kind}/{seed}".encode()).hexdigest()
    created = _Words(inputs)
    created.update(
        inputs=_Words(inputs),
        account=ACCOUNT,
        region=inputs.get("region") or place.region,
        project=last(inputs.get("project")) or place.project,
        zone=inputs.get("zone") or place.zone,
        location=inputs.get("location") or place.zone or place.region,
        hex=digest[:_HEX],
        digits=str(int(digest[:8], 16)),
        checksum=str(zlib.crc32(str(inputs.get("destinationCidrBlock", "")).encode())),
        uuid=str(uuid.UUID(digest[:32])),
        digest=digest,
        network_name=last(inputs.get("network")),
        network_escaped=str(inputs.get("network", "")).replace("/", "%2F"),
        cluster_name=last(inputs.get("cluster")),
        topic_name=str(inputs.get("topic", "")).rpartition(":")[2],
        url_alone=str(inputs.get("url", "")).removeprefix("https://"),
        role_of_service=_service_role(str(inputs.get("awsServiceName", ""))),
    )
    cluster = str(inputs.get("cluster", "")).split("/")
    if len(cluster) == len(("projects", "P", "locations", "L", "clusters", "C")):
        created.update(project=cluster[1], location=cluster[3])
    form = SHAPES[kind]
    if "{id}" not in form.get("arn", "{id}"):
        created["arn"] = form["arn"].format_map(created)
    created["id"] = form["id"].format_map(created)
    if "arn" in form:
        created["arn"] = form["arn"].format_map(created)
    return created


def _service_role(service: str) -> str:
    return (
        f"AWSServiceRoleFor{service.partition('.')[0].title().replace('-', '')}" if service else ""
    )


def zones_of(region: str) -> list[str]:
    """The zones of a Google region: by default three, a to c."""
    return [f"{region}-{each}" for each in _ZONES.get(region, "abc")]


_ZONES = {"us-central1": "abcf"}


def zone_id(zone: str) -> str:
    """AWS's zone id, independent of the account's zone name: us-east-1e is use1-az3."""
    *_, side, number = zone[:-1].split("-")
    order = _SHUFFLED.get(zone[:-1], "abcdef")
    return f"{zone[:2]}{side[0]}{number}-az{order.index(zone[-1]) + 1}"


_SHUFFLED = {"us-east-1": "abecdf"}


def last(value: Any) -> str:
    """The last part of a link or an id."""
    return str(value or "").rpartition("/")[2]


def import_ids(kind: str, filled: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids by which a resource can be imported."""
    form = SHAPES[kind].get("import")
    return (filled["id"], *((form.format_map(_Words(filled)),) if form else ()))


# ── computed values ───────────────────────────────────────────────────────────────────────────────
Fill = Callable[[dict[str, Any]], Any]
_CA = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nfake\n-----END CERTIFICATE-----\n").decode()


def _eks_endpoint(word: dict[str, Any]) -> str:
    return f"https://{word['digest'][:32].upper()}.gr7.{word['region']}.eks.amazonaws.com"


def _issuer(word: dict[str, Any]) -> str:
    return f"https://oidc.eks.{word['region']}.amazonaws.com/id/{word['digest'][:32].upper()}"


def _public(word: dict[str, Any]) -> str:
    return str(ipaddress.IPv4Address("203.0.113.0") + int(word["digest"][:2], 16) % 254 + 1)


def _gke_ways_in(word: dict[str, Any]) -> dict[str, Any]:
    """The IP address and the DNS endpoint."""
    name = f"gke-{word['digest'][:32]}-{PROJECT_NUMBER}.{word['location']}.gke.goog"
    return {
        "dnsEndpointConfig": {"allowExternalTraffic": False, "endpoint": name},
        "ipEndpointsConfig": {"enabled": True},
    }


def _part(of: Fill, name: str) -> Fill:
    return lambda word: of(word)[name]


def _private(word: dict[str, Any]) -> str:
    return f"10.90.0.{int(word['digest'][:2], 16) % 254 + 1}"


def _status(value: str) -> Fill:
    return lambda _word: value


# Outputs that are the same for every type.
_BY_NAME: Mapping[str, Fill] = {
    **dict.fromkeys(
        (
            *("createTime", "creationTimestamp", "createdAt", "modifiedAt", "createDate"),
            *("timeCreated", "updateTime", "updated", "associatedAt", "createdDate"),
        ),
        _status(CREATED),
    ),
    "ownerId": lambda _word: ACCOUNT,
    "owner": lambda _word: ACCOUNT,
    "etag": lambda word: word["digest"][:12],
    "fingerprint": lambda word: word["digest"][:12],
    "labelFingerprint": lambda word: word["digest"][:8],
    "associationId": lambda word: word["id"],
    "securityGroupRuleId": lambda word: word["id"],
    "networkInterfaceId": lambda word: f"eni-{word['hex']}",
    "networkInterfaceIds": lambda word: [f"eni-{word['hex']}"],
    "accessEntryArn": lambda word: word["arn"],
    "associationArn": lambda word: word["arn"],
    "projectNumber": lambda _word: PROJECT_NUMBER,
    "name": lambda word: word["id"],
}
_CLUSTER_OF_EKS: Mapping[str, Fill] = {
    "endpoint": _eks_endpoint,
    "certificateAuthority": lambda _word: {"data": _CA},
    "identities": lambda word: [{"oidcs": [{"issuer": _issuer(word)}]}],
    "status": _status("ACTIVE"),
    "platformVersion": _status("eks.14"),
    "version": _status("1.34"),
    "vpcConfig.clusterSecurityGroupId": lambda word: f"sg-{word['hex']}",
    "accessConfig": lambda _word: {"authenticationMode": "CONFIG_MAP"},
    "kubernetesNetworkConfig": lambda _word: {
        "ipFamily": "ipv4",
        "serviceIpv4Cidr": "172.20.0.0/16",
    },
    "kubernetesNetworkConfig.serviceIpv4Cidr": _status("172.20.0.0/16"),
    "kubernetesNetworkConfig.ipFamily": _status("ipv4"),
}
_FILLED: Mapping[str, Mapping[str, Fill]] = {
    "aws:amp/workspace:Workspace": {
        "prometheusEndpoint": lambda word: (
            f"https://aps-workspaces.{word['region']}.amazonaws.com/workspaces/{word['id']}/"
        ),
    },
    "aws:ec2/vpc:Vpc": {
        "mainRouteTableId": lambda word: f"rtb-{word['hex']}",
        "defaultRouteTableId": lambda word: f"rtb-{word['hex']}",
        "defaultSecurityGroupId": lambda word: f"sg-{word['hex']}",
        "defaultNetworkAclId": lambda word: f"acl-{word['hex']}",
    },
    "aws:ec2/launchTemplate:LaunchTemplate": {
        "latestVersion": lambda _word: 1,
        "defaultVersion": lambda _word: 1,
    },
    "aws:ec2/eip:Eip": {"allocationId": lambda word: word["id"], "publicIp": _public},
    "aws:ec2/natGateway:NatGateway": {"publicIp": _public},
    "aws:ec2/placementGroup:PlacementGroup": {"placementGroupId": lambda word: f"pg-{word['hex']}"},
    "aws:ec2/vpcEndpoint:VpcEndpoint": {
        "state": _status("available"),
        "prefixListId": lambda word: f"pl-{word['hex'][:8]}",
    },
    "aws:eks/cluster:Cluster": _CLUSTER_OF_EKS,
    "aws:eks/nodeGroup:NodeGroup": {
        "resources": lambda word: [
            {
                "autoscalingGroups": [{"name": f"eks-{word['nodeGroupName']}-{word['uuid']}"}],
                "remoteAccessSecurityGroupId": "",
            }
        ],
        "status": _status("ACTIVE"),
        "capacityType": _status("ON_DEMAND"),
        "releaseVersion": _status("1.34.1-20260714"),
    },
    "aws:efs/fileSystem:FileSystem": {
        "dnsName": lambda word: f"{word['id']}.efs.{word['region']}.amazonaws.com",
    },
    "aws:efs/mountTarget:MountTarget": {
        "dnsName": lambda word: f"{word['fileSystemId']}.efs.{word['region']}.amazonaws.com",
    },
    "aws:fsx/lustreFileSystem:LustreFileSystem": {
        "dnsName": lambda word: f"{word['id']}.fsx.{word['region']}.amazonaws.com",
        "mountName": lambda word: word["hex"][:8],
    },
    "aws:iam/role:Role": {"uniqueId": lambda word: f"AROA{word['digest'][:17].upper()}"},
    "aws:iam/policy:Policy": {"policyId": lambda word: f"ANPA{word['digest'][:17].upper()}"},
    "aws:iam/instanceProfile:InstanceProfile": {
        "uniqueId": lambda word: f"AIPA{word['digest'][:17].upper()}",
    },
    "aws:kms/key:Key": {"keyId": lambda word: word["uuid"]},
    "aws:s3/bucket:Bucket": {
        "bucketDomainName": lambda word: f"{word['bucket']}.s3.amazonaws.com",
        "bucketRegionalDomainName": lambda word: (
            f"{word['bucket']}.s3.{word['region']}.amazonaws.com"
        ),
        "bucketRegion": lambda word: word["region"],
    },
    "aws:sqs/queue:Queue": {"url": lambda word: word["id"]},
    "gcp:compute/address:Address": {"address": _public},
    "gcp:compute/globalAddress:GlobalAddress": {"address": _public},
    "gcp:compute/subnetwork:Subnetwork": {
        "gatewayAddress": lambda word: str(ipaddress.ip_network(word["ipCidrRange"])[1]),
    },
    "gcp:compute/network:Network": {"networkId": lambda word: word["digits"]},
    "gcp:container/cluster:Cluster": {
        "endpoint": _public,
        "masterVersion": lambda word: word["minMasterVersion"] or "1.34.1-gke.2037000",
        "servicesIpv4Cidr": _status("34.118.224.0/20"),
        "masterAuth": lambda _word: {"clusterCaCertificate": _CA},
        "masterAuth.clusterCaCertificate": _status(_CA),
        "controlPlaneEndpointsConfig": _gke_ways_in,
        "controlPlaneEndpointsConfig.dnsEndpointConfig": _part(_gke_ways_in, "dnsEndpointConfig"),
        "controlPlaneEndpointsConfig.ipEndpointsConfig": _part(_gke_ways_in, "ipEndpointsConfig"),
        "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint": (
            lambda word: _gke_ways_in(word)["dnsEndpointConfig"]["endpoint"]
        ),
    },
    "gcp:container/nodePool:NodePool": {
        "instanceGroupUrls": lambda _word: [],
        "managedInstanceGroupUrls": lambda _word: [],
        "version": _status("1.34.1-gke.2037000"),
    },
    "gcp:logging/projectSink:ProjectSink": {
        "writerIdentity": lambda word: (
            f"serviceAccount:service-{PROJECT_NUMBER}@gcp-sa-logging.iam.gserviceaccount.com"
            if word["project"]
            else None
        ),
    },
    "gcp:lustre/instance:Instance": {
        "mountPoint": lambda word: f"{_private(word)}@tcp:/{word['filesystem']}",
        "state": _status("ACTIVE"),
    },
    "gcp:serviceaccount/account:Account": {
        "email": lambda word: last(word["id"]),
        "member": lambda word: f"serviceAccount:{last(word['id'])}",
        "uniqueId": lambda word: word["digits"],
    },
    "gcp:servicenetworking/connection:Connection": {
        "peering": lambda word: str(word["service"]).replace(".", "-"),
    },
    "gcp:storage/bucket:Bucket": {"url": lambda word: f"gs://{word['name']}"},
}


_FILESTORE = "gcp:filestore/instance:Instance"


def filled(
    kind: str, word: dict[str, Any], inputs: Mapping[str, Any], place: Place
) -> dict[str, Any]:
    """The whole state of a resource: its inputs and what the cloud adds."""
    about = facts.resource(kind) or {"inputs": {}, "outputs": {}}
    state = plain(inputs)
    for name in ("region", "project", "zone", "location"):
        if name in about["inputs"] and about["inputs"][name].get("computed") and word[name]:
            state.setdefault(name, word[name])
    service = kind.split(":")[1].partition("/")[0]
    if "selfLink" in (*about["outputs"], *about["inputs"]) and service in _LINKS:
        state.setdefault("selfLink", f"{_LINKS[service]}/{word['id']}")
    for path, fill in _FILLED.get(kind, {}).items():
        _put(state, path.split("."), fill(word))
    for name in about["outputs"]:
        if name in _BY_NAME:
            _put(state, [name], _BY_NAME[name](word))
    for network in state.get("networks", ()) if kind == _FILESTORE else ():
        network.setdefault("ipAddresses", [_private(word)])
    return {**state, **labelled(about, inputs, place), **_arn(about, word)}


def _arn(about: facts.Facts, word: Mapping[str, Any]) -> dict[str, Any]:
    return {"arn": word["arn"]} if "arn" in about["outputs"] else {}


def labelled(about: facts.Facts, inputs: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """All tags and labels of a resource, with those that the provider adds."""
    added: dict[str, Any] = {}
    if "tagsAll" in about["outputs"]:
        added["tagsAll"] = {**place.tags, **(inputs.get("tags") or {})}
    for name in ("effectiveLabels", "pulumiLabels"):
        if name in about["outputs"]:
            labels = inputs.get("labels") or inputs.get("resourceLabels") or {}
            added[name] = {**labels, "goog-pulumi-provisioned": "true"}
    return added


def plain(value: Any) -> Any:
    """A copy of inputs without the bridge's marks."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items() if key != DEFAULTS}
    return [plain(each) for each in value] if isinstance(value, list) else value


def _put(state: dict[str, Any], steps: list[str], value: Any) -> None:
    """Fill in a missing value; a missing block is not created for it."""
    for step in steps[:-1]:
        inner = state.get(step)
        if not isinstance(inner, dict):
            return
        state = inner
    if value is not None and state.get(steps[-1]) is None:
        state[steps[-1]] = value
