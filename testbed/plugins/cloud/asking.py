"""Functions of the providers: questions about the account, answered from what is there."""

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
"""Zones of a region of AWS; three, a to c, where nothing else is said."""
_IMAGES = (
    "/aws/service/eks/",
    "/aws/service/bottlerocket/",
    "/aws/service/canonical/ubuntu/eks/",
)


def failures(token: str, given: Arguments) -> list[str]:
    """What is wrong with a question itself."""
    about = facts.function(token)
    if about is None or token not in _ANSWERS:
        return [f"{token}: no such function here{nearest(token, tuple(_ANSWERS))}"]
    inputs = about["inputs"]
    unknown = [
        f"{token}: {name} is no argument{nearest(name, tuple(inputs))}"
        for name in given
        if name not in inputs
    ]
    lacking = [
        f"{token}: {name} is missing; it is required"
        for name, each in inputs.items()
        if each.get("required") and given.get(name) is None
    ]
    return [*unknown, *lacking]


def answer(token: str, given: Arguments, account: Account, place: Place) -> dict[str, Any]:
    """The answer; Refused where nobody is there to be asked about."""
    account.saw(calls.QUESTIONS.get(token, ()))
    return {**given, **_ANSWERS[token](given, account, place)}


# ── aws ───────────────────────────────────────────────────────────────────────────────────────────
def _identity(_given: Arguments, _account: Account, _place: Place) -> dict[str, Any]:
    return {"accountId": ACCOUNT, "arn": caller(), "id": ACCOUNT, "userId": "AIDAFAKE0000000000000"}


def _partition(_given: Arguments, _account: Account, _place: Place) -> dict[str, Any]:
    known = {"dnsSuffix": "amazonaws.com", "reverseDnsPrefix": "com.amazonaws"}
    return {"id": "aws", "partition": "aws", **known}


def _region(given: Arguments, _account: Account, place: Place) -> dict[str, Any]:
    name = given.get("region") or place.region
    return {"id": name, "name": name, "region": name, "endpoint": f"ec2.{name}.amazonaws.com"}


def _aws_zones(given: Arguments, _account: Account, place: Place) -> dict[str, Any]:
    region = given.get("region") or place.region
    known = [f"{region}{each}" for each in _LETTERS.get(region, "abc")]
    without, ids_without = (given.get(each) or () for each in ("excludeNames", "excludeZoneIds"))
    left = {
        zone: zone_id
        for zone in known
        if zone not in without and (zone_id := shapes.zone_id(zone)) not in ids_without
    }
    ids = {"zoneIds": [*left.values()], "groupNames": [f"{region}-zg-1"]}
    return {"id": region, "names": [*left], **ids}


def _sold(account: Account, type_: str, zone: str) -> bool:
    """A zone sells every type there is, but for what a script of faults takes from it."""
    taken = (each.script for each in faults.read(account.folder)[1] if each.word == "unsold")
    return not any(
        script.get("type", type_) == type_ and script.get("zone", zone) == zone for script in taken
    )


def _offers(given: Arguments, account: Account, place: Place) -> dict[str, Any]:
    if given.get("locationType") != "availability-zone":
        raise Refused("InvalidParameterValue: only offers by availability-zone are known here")
    zones = _aws_zones({"region": given.get("region")}, account, place)["names"]
    filters = {each["name"]: each["values"] for each in given.get("filters") or ()}
    if set(filters) != {"instance-type"}:
        raise Refused("InvalidParameterValue: only offers of types that are named are known here")
    found = [
        (type_, zone)
        for type_ in filters["instance-type"]
        for zone in zones
        if _sold(account, type_, zone)
    ]
    return {
        "id": place.region,
        "instanceTypes": [type_ for type_, _ in found],
        "locations": [zone for _, zone in found],
        "locationTypes": ["availability-zone"] * len(found),
    }


def _matches(each: Resource, given: Arguments) -> bool:
    """Whether a VPC or subnet has the tags and passes the filters that are asked for."""
    tags = each.state.get("tags") or {}
    if any(tags.get(key) != value for key, value in (given.get("tags") or {}).items()):
        return False
    for wanted in given.get("filters") or ():
        name = wanted["name"]
        if name.startswith("tag:"):
            found = tags.get(name[4:])
        elif name == "vpc-id":
            found = each.state.get("vpcId") or each.id
        elif name == "subnet-id":
            found = each.id
        elif name == "availability-zone":
            found = each.state.get("availabilityZone")
        else:
            raise Refused(f"InvalidParameterValue: The filter '{name}' is invalid")
        if found not in wanted["values"]:
            return False
    return True


def _subnets(given: Arguments, account: Account, place: Place) -> dict[str, Any]:
    found = sorted(each.id for each in account.all(_SUBNET) if _matches(each, given))
    return {"id": place.region, "ids": found}


def _block(given: Arguments, account: Account, _place: Place) -> dict[str, Any]:
    """One of any kind. Where no id is given the provider sends an empty one beside its filters."""
    if not given.get("id"):
        raise Refused(
            "operation error EC2: DescribeCapacityReservations, https response error StatusCode: 400,"
            " api error InvalidCapacityReservationId.Malformed:"
            " The ID for the Capacity Reservation is malformed"
        )
    held = reservations.of_ec2(account.folder, account.all(), given["id"])
    if held is None or not _matches(Resource(_BLOCK, given["id"], {}, held), given):
        raise Refused("couldn't find resource")
    return _known(_GET_BLOCK, held)


def _tagged(given: Arguments, account: Account, place: Place) -> dict[str, Any]:
    """What has these tags, as a list that may be empty."""
    kinds = given.get("resourceTypeFilters") or ()
    if not kinds or not set(kinds) <= set(_KINDS_OF_TAGGED):
        raise Refused(
            f"InvalidParameterException: of tagged things only these are known here:"
            f" {', '.join(_KINDS_OF_TAGGED)}"
        )
    wanted = {each["key"]: each.get("values") or () for each in given.get("tagFilters") or ()}
    found = [
        {"resourceArn": one.state["arn"], "tags": one.state["tags"], "complianceDetails": []}
        for kind in kinds
        for one in account.all(_KINDS_OF_TAGGED[kind])
        if all(one.state.get("tags", {}).get(key) in values for key, values in wanted.items())
    ]
    return {"id": place.region, "resourceTagMappingLists": found}


def _vpc(given: Arguments, account: Account, _place: Place) -> dict[str, Any]:
    found = [
        each
        for each in account.all(_VPC)
        if given.get("id") in {None, each.id}
        and given.get("cidrBlock") in {None, each.state.get("cidrBlock")}
        and _matches(each, given)
    ]
    one = _one("EC2 VPC", found)
    return {**one.state, "id": one.id, "state": "available"}


def _one(what: str, found: list[Resource]) -> Resource:
    if len(found) == 1:
        return found[0]
    number = "no" if not found else "multiple"
    raise Refused(f"{number} matching {what} found")


def _eks(given: Arguments, account: Account, _place: Place) -> dict[str, Any]:
    name = given["name"]
    found = account.find(_EKS, name)
    if found is None:
        raise Refused(f"reading EKS Cluster ({name}): couldn't find resource")
    state = dict(found.state)
    state["certificateAuthorities"] = [state.pop("certificateAuthority")]
    for single in ("vpcConfig", "accessConfig", "kubernetesNetworkConfig"):
        if single in state and f"{single}s" in _outputs("aws:eks/getCluster:getCluster"):
            state[f"{single}s"] = [state[single]]
    return {**_known("aws:eks/getCluster:getCluster", state), "id": name}


def _node_group(given: Arguments, account: Account, _place: Place) -> dict[str, Any]:
    id_ = f"{given['clusterName']}:{given['nodeGroupName']}"
    found = account.find("aws:eks/nodeGroup:NodeGroup", id_)
    if found is None:
        raise Refused(f"reading EKS Node Group ({id_}): couldn't find resource")
    state = {**found.state, "scalingConfigs": [found.state["scalingConfig"]]}
    return {**_known("aws:eks/getNodeGroup:getNodeGroup", state), "id": id_}


def _token(given: Arguments, account: Account, place: Place) -> dict[str, Any]:
    token = entering.eks_token(account, given["name"], given.get("region") or place.region)
    return {"id": given["name"], "token": Secret(token)}


def _parameter(given: Arguments, account: Account, place: Place) -> dict[str, Any]:
    name = given["name"]
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


def _gcp_zones(given: Arguments, _account: Account, place: Place) -> dict[str, Any]:
    region = given.get("region") or place.region
    project = given.get("project") or place.project
    names = shapes.zones_of(region)
    id_ = f"projects/{project}/regions/{region}"
    return {"id": id_, "names": names, "project": project, "region": region}


def _machine_types(given: Arguments, account: Account, place: Place) -> dict[str, Any]:
    zone, project = given.get("zone") or place.zone, given.get("project") or place.project
    if zone not in shapes.zones_of(zone.rpartition("-")[0]):
        raise Refused(
            f"Error 400: Invalid value for field 'zone': '{zone}'. Unknown zone., invalid"
        )
    names = re.findall(r'name = "([^"]+)"', given.get("filter") or "")
    if not names:
        raise Refused("Error 400: only machine types that a filter names are known here, invalid")
    sold = [{"name": name} for name in names if _sold(account, name, zone)]
    return {"id": f"projects/{project}/zones/{zone}/machineTypes", "machineTypes": sold}


def _reservation(given: Arguments, account: Account, place: Place) -> dict[str, Any]:
    """One of a zone. Of none the provider answers with an id alone: it takes a 404 for one that is gone."""
    zone, project = given["zone"], given.get("project") or place.project
    if zone not in shapes.zones_of(zone.rpartition("-")[0]):
        raise Refused(
            f"Error 400: Invalid value for field 'zone': '{zone}'. Unknown zone., invalid"
        )
    asked = (given["name"], zone, project, place.project)
    held = reservations.of_gce(account.folder, account.all(), *asked) or {}
    id_ = f"projects/{project}/zones/{zone}/reservations/{given['name']}"
    return {**_known(_GET_RESERVATION, held), "id": id_, "project": project}


def _gke(given: Arguments, account: Account, place: Place) -> dict[str, Any]:
    project = given.get("project") or place.project
    location = given.get("location") or place.zone or place.region
    id_ = f"projects/{project}/locations/{location}/clusters/{given['name']}"
    found = account.find(_GKE, id_)
    if found is None:
        raise Refused(f"{id_} not found")
    state = {**found.state, **_listed(found.state)}
    return {**_known("gcp:container/getCluster:getCluster", state), "id": id_}


def _listed(state: Mapping[str, Any]) -> dict[str, Any]:
    """Questions have each block as a list of one, at every depth; maps of labels are no blocks."""
    found: dict[str, Any] = {}
    for name, value in state.items():
        block = isinstance(value, dict) and not name.lower().endswith(("labels", "metadata"))
        found[f"{name}s" if block else name] = [_listed(value)] if block else value
    return found


def _project(given: Arguments, _account: Account, place: Place) -> dict[str, Any]:
    name = given.get("projectId") or place.project
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
