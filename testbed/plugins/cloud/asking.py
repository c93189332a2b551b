"""Functions of the providers: queries of the account's resources."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from testbed.plugins.cloud import calls, facts, faults, shapes
from testbed.plugins.cloud.account import Account, Refused, caller
from testbed.plugins.cloud.checking import nearest
from testbed.plugins.cloud.inside import entering
from testbed.plugins.cloud.service import reservations
from testbed.plugins.cloud.service.ties import Resource
from testbed.plugins.cloud.shapes import ACCOUNT, Place
from testbed.plugins.kubernetes.values import Secret

Arguments = Mapping[str, Any]
_VPC, _SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"
_BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
_GET_BLOCK = "aws:ec2/getCapacityBlockReservation:getCapacityBlockReservation"
_GET_RESERVATION = "gcp:compute/getReservation:getReservation"
_TAGGED = "aws:resourcegroupstaggingapi/getResources:getResources"
_KINDS_OF_TAGGED = {"ec2:capacity-reservation": _BLOCK}
_EKS, _GKE = "aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster"
_LETTERS = {"us-east-1": "abcdef"}
"""Zones of a region of AWS; by default three, a to c."""
_IMAGES = (
    "/aws/service/eks/",
    "/aws/service/bottlerocket/",
    "/aws/service/canonical/ubuntu/eks/",
)


def failures(token: str, value: Arguments) -> list[str]:
    """Errors of the arguments."""
    about = facts.function(token)
    if about is None or token not in _ANSWERS:
        return [f"{token}: no such function here{nearest(token, tuple(_ANSWERS))}"]
    inputs = about["inputs"]
    unknown = [
        f"{token}: {name} is no argument{nearest(name, tuple(inputs))}"
        for name in value
        if name not in inputs
    ]
    lacking = [
        f"{token}: {name} is missing; it is required"
        for name, each in inputs.items()
        if each.get("required") and value.get(name) is None
    ]
    return [*unknown, *lacking]


def answer(token: str, value: Arguments, account: Account, place: Place) -> dict[str, Any]:
    """The result; Refused if the resource does not exist."""
    account.saw(calls.QUESTIONS.get(token, ()))
    return {**value, **_ANSWERS[token](value, account, place)}


# ── aws ───────────────────────────────────────────────────────────────────────────────────────────
def _identity(_given: Arguments, _account: Account, _place: Place) -> dict[str, Any]:
    return {"accountId": ACCOUNT, "arn": caller(), "id": ACCOUNT, "userId": "AIDAFAKE0000000000000"}


def _partition(_given: Arguments, _account: Account, _place: Place) -> dict[str, Any]:
    known = {"dnsSuffix": "amazonaws.com", "reverseDnsPrefix": "com.amazonaws"}
    return {"id": "aws", "partition": "aws", **known}


def _region(value: Arguments, _account: Account, place: Place) -> dict[str, Any]:
    name = value.get("region") or place.region
    return {"id": name, "name": name, "region": name, "endpoint": f"ec2.{name}.amazonaws.com"}


def _aws_zones(value: Arguments, _account: Account, place: Place) -> dict[str, Any]:
    region = value.get("region") or place.region
    known = [f"{region}{each}" for each in _LETTERS.get(region, "abc")]
    without, ids_without = (value.get(each) or () for each in ("excludeNames", "excludeZoneIds"))
    remaining = {
        zone: zone_id
        for zone in known
        if zone not in without and (zone_id := shapes.zone_id(zone)) not in ids_without
    }
    ids = {"zoneIds": [*remaining.values()], "groupNames": [f"{region}-zg-1"]}
    return {"id": region, "names": [*remaining], **ids}


def _sold(account: Account, type_: str, zone: str) -> bool:
    """Whether a zone offers a type: every type, except those that a fault removes."""
    used = (each.script for each in faults.read(account.folder)[1] if each.word == "unsold")
    return not any(
        script.get("type", type_) == type_ and script.get("zone", zone) == zone for script in used
    )


def _offers(value: Arguments, account: Account, place: Place) -> dict[str, Any]:
    if value.get("locationType") != "availability-zone":
        raise Refused("InvalidParameterValue: only offers by availability-zone are known here")
    zones = _aws_zones({"region": value.get("region")}, account, place)["names"]
    filters = {each["name"]: each["values"] for each in value.get("filters") or ()}
    if set(filters) != {"instance-type"}:
        raise Refused("InvalidParameterValue: only offers of types that are named are known here")
    results = [
        (type_, zone)
        for type_ in filters["instance-type"]
        for zone in zones
        if _sold(account, type_, zone)
    ]
    return {
        "id": place.region,
        "instanceTypes": [type_ for type_, _ in results],
        "locations": [zone for _, zone in results],
        "locationTypes": ["availability-zone"] * len(results),
    }


def _matches(each: Resource, configured: Arguments) -> bool:
    """Whether a VPC or subnet has the requested tags and passes the filters."""
    tags = each.state.get("tags") or {}
    if any(tags.get(key) != value for key, value in (configured.get("tags") or {}).items()):
        return False
    for expected in configured.get("filters") or ():
        name = expected["name"]
        if name.startswith("tag:"):
            result = tags.get(name[4:])
        elif name == "vpc-id":
            result = each.state.get("vpcId") or each.id
        elif name == "subnet-id":
            result = each.id
        elif name == "availability-zone":
            result = each.state.get("availabilityZone")
        else:
            raise Refused(f"InvalidParameterValue: The filter '{name}' is invalid")
        if result not in expected["values"]:
            return False
    return True


def _subnets(value: Arguments, account: Account, place: Place) -> dict[str, Any]:
    results = sorted(each.id for each in account.all(_SUBNET) if _matches(each, value))
    return {"id": place.region, "ids": results}


def _block(value: Arguments, account: Account, _place: Place) -> dict[str, Any]:
    """A reservation of any kind. Without an id the provider sends an empty one with its filters."""
    if not value.get("id"):
        raise Refused(
            "operation error EC2: DescribeCapacityReservations, https response error StatusCode: 400,"
            " api error InvalidCapacityReservationId.Malformed:"
            " The ID for the Capacity Reservation is malformed"
        )
    blocked = reservations.of_ec2(account.folder, account.all(), value["id"])
    if blocked is None or not _matches(Resource(_BLOCK, value["id"], {}, blocked), value):
        raise Refused("couldn't find resource")
    return _known(_GET_BLOCK, blocked)


def _tagged(value: Arguments, account: Account, place: Place) -> dict[str, Any]:
    """The resources with these tags, as a list that may be empty."""
    kinds = value.get("resourceTypeFilters") or ()
    if not kinds or not set(kinds) <= set(_KINDS_OF_TAGGED):
        raise Refused(
            f"InvalidParameterException: of tagged things only these are known here:"
            f" {', '.join(_KINDS_OF_TAGGED)}"
        )
    expected = {each["key"]: each.get("values") or () for each in value.get("tagFilters") or ()}
    results = [
        {"resourceArn": one.state["arn"], "tags": one.state["tags"], "complianceDetails": []}
        for kind in kinds
        for one in account.all(_KINDS_OF_TAGGED[kind])
        if all(one.state.get("tags", {}).get(key) in values for key, values in expected.items())
    ]
    return {"id": place.region, "resourceTagMappingLists": results}


def _vpc(value: Arguments, account: Account, _place: Place) -> dict[str, Any]:
    results = [
        each
        for each in account.all(_VPC)
        if value.get("id") in {None, each.id}
        and value.get("cidrBlock") in {None, each.state.get("cidrBlock")}
        and _matches(each, value)
    ]
    one = _one("EC2 VPC", results)
    return {**one.state, "id": one.id, "state": "available"}


def _one(what: str, results: list[Resource]) -> Resource:
    if len(results) == 1:
        return results[0]
    number = "no" if not results else "multiple"
    raise Refused(f"{number} matching {what} found")


def _eks(value: Arguments, account: Account, _place: Place) -> dict[str, Any]:
    name = value["name"]
    result = account.find(_EKS, name)
    if result is None:
        raise Refused(f"reading EKS Cluster ({name}): couldn't find resource")
    state = dict(result.state)
    state["certificateAuthorities"] = [state.pop("certificateAuthority")]
    for single in ("vpcConfig", "accessConfig", "kubernetesNetworkConfig"):
        if single in state and f"{single}s" in _outputs("aws:eks/getCluster:getCluster"):
            state[f"{single}s"] = [state[single]]
    return {**_known("aws:eks/getCluster:getCluster", state), "id": name}


def _node_group(value: Arguments, account: Account, _place: Place) -> dict[str, Any]:
    id_ = f"{value['clusterName']}:{value['nodeGroupName']}"
    result = account.find("aws:eks/nodeGroup:NodeGroup", id_)
    if result is None:
        raise Refused(f"reading EKS Node Group ({id_}): couldn't find resource")
    state = {**result.state, "scalingConfigs": [result.state["scalingConfig"]]}
    return {**_known("aws:eks/getNodeGroup:getNodeGroup", state), "id": id_}


def _token(value: Arguments, account: Account, place: Place) -> dict[str, Any]:
    token = entering.eks_token(account, value["name"], value.get("region") or place.region)
    return {"id": value["name"], "token": Secret(token)}


def _parameter(value: Arguments, account: Account, place: Place) -> dict[str, Any]:
    name = value["name"]
    if not name.startswith(_IMAGES):
        raise Refused(f"reading SSM Parameter ({name}): couldn't find resource")
    word = shapes.words(_VPC, {}, place, name)
    arn = f"arn:aws:ssm:{place.region}::parameter{name}"
    ami = f"ami-{word['hex']}"
    account.publish(ami, name)
    return {
        "arn": arn,
        "id": name,
        "type": "String",
        "version": 12,
        "value": Secret(ami),
        "insecureValue": ami,
    }


# ── gcp ───────────────────────────────────────────────────────────────────────────────────────────
def _client(_given: Arguments, _account: Account, place: Place) -> dict[str, Any]:
    where = {"project": place.project, "region": place.region, "zone": place.zone}
    id_ = "/".join(f'{key}s/"{value}"' for key, value in where.items())
    return {**where, "id": f"{id_}/labels/{{}}", "accessToken": Secret("ya29.fake-of-a-token")}


def _gcp_zones(value: Arguments, _account: Account, place: Place) -> dict[str, Any]:
    region = value.get("region") or place.region
    project = value.get("project") or place.project
    names = shapes.zones_of(region)
    id_ = f"projects/{project}/regions/{region}"
    return {"id": id_, "names": names, "project": project, "region": region}


def _machine_types(value: Arguments, account: Account, place: Place) -> dict[str, Any]:
    zone, project = value.get("zone") or place.zone, value.get("project") or place.project
    if zone not in shapes.zones_of(zone.rpartition("-")[0]):
        raise Refused(
            f"Error 400: Invalid value for field 'zone': '{zone}'. Unknown zone., invalid"
        )
    names = re.findall(r'name = "([^"]+)"', value.get("filter") or "")
    if not names:
        raise Refused("Error 400: only machine types that a filter names are known here, invalid")
    sold = [{"name": name} for name in names if _sold(account, name, zone)]
    return {"id": f"projects/{project}/zones/{zone}/machineTypes", "machineTypes": sold}


def _reservation(value: Arguments, account: Account, place: Place) -> dict[str, Any]:
    """A reservation of a zone. For a missing one the provider returns only an id: it treats a 404 as deleted."""
    zone, project = value["zone"], value.get("project") or place.project
    if zone not in shapes.zones_of(zone.rpartition("-")[0]):
        raise Refused(
            f"Error 400: Invalid value for field 'zone': '{zone}'. Unknown zone., invalid"
        )
    requested = (value["name"], zone, project, place.project)
    blocked = reservations.of_gce(account.folder, account.all(), *requested) or {}
    id_ = f"projects/{project}/zones/{zone}/reservations/{value['name']}"
    return {**_known(_GET_RESERVATION, blocked), "id": id_, "project": project}


def _gke(value: Arguments, account: Account, place: Place) -> dict[str, Any]:
    project = value.get("project") or place.project
    location = value.get("location") or place.zone or place.region
    id_ = f"projects/{project}/locations/{location}/clusters/{value['name']}"
    result = account.find(_GKE, id_)
    if result is None:
        raise Refused(f"{id_} not found")
    state = {**result.state, **_listed(result.state)}
    return {**_known("gcp:container/getCluster:getCluster", state), "id": id_}


def _listed(state: Mapping[str, Any]) -> dict[str, Any]:
    """Functions return each block as a list of one, at every depth; maps of labels are not blocks."""
    results: dict[str, Any] = {}
    for name, value in state.items():
        block = isinstance(value, dict) and not name.lower().endswith(("labels", "metadata"))
        results[f"{name}s" if block else name] = [_listed(value)] if block else value
    return results


def _project(value: Arguments, _account: Account, place: Place) -> dict[str, Any]:
    name = value.get("projectId") or place.project
    number = {"number": shapes.PROJECT_NUMBER, "name": name}
    return {"id": f"projects/{name}", "projectId": name, **number}


def _outputs(token: str) -> Iterable[str]:
    return tuple((facts.function(token) or {"outputs": ()})["outputs"])


def _known(token: str, state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name in _outputs(token)}


_ANSWERS: Mapping[str, Callable[[Arguments, Account, Place], dict[str, Any]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": _identity,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _region,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _aws_zones,
    "aws:ec2/getSubnets:getSubnets": _subnets,
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": _offers,
    _GET_BLOCK: _block,
    _TAGGED: _tagged,
    "aws:ec2/getVpc:getVpc": _vpc,
    "aws:eks/getCluster:getCluster": _eks,
    "aws:eks/getClusterAuth:getClusterAuth": _token,
    "aws:eks/getNodeGroup:getNodeGroup": _node_group,
    "aws:ssm/getParameter:getParameter": _parameter,
    "gcp:organizations/getClientConfig:getClientConfig": _client,
    "gcp:organizations/getProject:getProject": _project,
    "gcp:compute/getMachineTypes:getMachineTypes": _machine_types,
    _GET_RESERVATION: _reservation,
    "gcp:compute/getZones:getZones": _gcp_zones,
    "gcp:container/getCluster:getCluster": _gke,
}
