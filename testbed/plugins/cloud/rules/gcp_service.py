"""Errors of Google Cloud itself, which its provider does not check."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

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
from testbed.plugins.kubernetes.values import Unknown

_TOTALS, _PER_ZONE = ("totalMinNodeCount", "totalMaxNodeCount"), ("minNodeCount", "maxNodeCount")
_COMPACT_FLEX = ("a3-ultragpu", "a4-", "h4d-")
_KEY = "compute.googleapis.com/reservation-name"
_MOST_CLIENTS = 48
_NAT_RANGES = ("ALL_IP_RANGES", "LIST_OF_SECONDARY_IP_RANGES", "PRIMARY_IP_RANGE")
_ADDRESS_PURPOSES = (
    "DNS_RESOLVER",
    "GCE_ENDPOINT",
    "IPSEC_INTERCONNECT",
    "NAT_AUTO",
    "PRIVATE_SERVICE_CONNECT",
    "SERVERLESS",
    "SHARED_LOADBALANCER_VIP",
    "VPC_PEERING",
)
_TIERS = (
    *("STANDARD", "PREMIUM", "BASIC_HDD", "BASIC_SSD", "HIGH_SCALE_SSD"),
    *("ENTERPRISE", "ZONAL", "REGIONAL"),
)
_KEY_PURPOSES = (
    "ENCRYPT_DECRYPT",
    "ASYMMETRIC_SIGN",
    "ASYMMETRIC_DECRYPT",
    "RAW_ENCRYPT_DECRYPT",
    "MAC",
    "KEY_ENCAPSULATION",
    "AES_WRAPPING",
)
_A_WEEK = 7 * 24 * 3600
_MOST_EXCLUSIONS, _LONGEST_EXCLUSION = 3, timedelta(days=90)
_GIVEN_LABELS = tuple(
    f"cloud.google.com/{name}"
    for name in ("gke-dpv2-unified-cni", "gke-networking-dra-driver", "gke-queued", "compute-class")
)


# ── pools ─────────────────────────────────────────────────────────────────────────────────────────
def bounds(inputs: Inputs) -> Iterator[str]:
    """[disc] Bounds count the pool or its zones, and the lower bound is at most the upper."""
    scaling = at(inputs, "autoscaling")
    if any(has(scaling, each) for each in _TOTALS) and any(
        has(scaling, each) for each in _PER_ZONE
    ):
        yield "autoscaling: counts in total and counts a zone exclude each other"
    for low, high in (_TOTALS, _PER_ZONE):
        least, most = number(scaling, low, 0), number(scaling, high)
        if least is not None and most is not None and least > most:
            yield f"autoscaling.{low} {least} is more than {high} {most}"


def sharing(inputs: Inputs) -> Iterator[str]:
    """[disc] A GPU is shared in one of two ways, by as many as GKE's ComputeClass allows."""
    for each in items(inputs, "nodeConfig.guestAccelerators"):
        way = at(each, "gpuSharingConfig.gpuSharingStrategy")
        clients = number(each, "gpuSharingConfig.maxSharedClientsPerGpu")
        if (
            has(each, "gpuSharingConfig")
            and way not in ("TIME_SHARING", "MPS")
            and not isinstance(way, Unknown)
        ):
            yield f"gpuSharingConfig.gpuSharingStrategy is {way!r}; allowed: TIME_SHARING, MPS"
        if clients is not None and clients not in range(2, _MOST_CLIENTS + 1):
            yield f"gpuSharingConfig.maxSharedClientsPerGpu is {clients}; allowed: 2 to {_MOST_CLIENTS}"


def flex_start(inputs: Inputs) -> Iterator[str]:
    """[ct] A flex-start pool waits for capacity: it excludes fixed sizes and node repair."""
    if at(inputs, "nodeConfig.flexStart") is not True:
        return
    if at(inputs, "management.autoRepair") not in (False, None) and not unsure(
        inputs, "management.autoRepair"
    ):
        yield "nodeConfig.flexStart needs management.autoRepair false"
    if has(inputs, "nodeCount"):
        yield "nodeConfig.flexStart cannot have nodeCount"
    machine = text(inputs, "nodeConfig.machineType")
    if _compact(inputs) and machine and not machine.startswith(_COMPACT_FLEX):
        yield f"placementPolicy COMPACT with flexStart is not for {machine}"
    yield from _no_reservation(inputs, "nodeConfig.flexStart")
    yield from _not_spot(inputs, "nodeConfig.flexStart")


def run_duration(inputs: Inputs) -> Iterator[str]:
    """[disc] A duration is seconds with an s; [doc] at most seven days."""
    value = text(inputs, "nodeConfig.maxRunDuration")
    seconds = value.removesuffix("s")
    if value and (not value.endswith("s") or not seconds.replace(".", "", 1).isdigit()):
        yield f"nodeConfig.maxRunDuration is {value}; allowed: seconds with an s, such as 604800s"
    elif value and at(inputs, "nodeConfig.flexStart") is True and float(seconds) > _A_WEEK:
        yield f"nodeConfig.maxRunDuration is {value}; allowed: {_A_WEEK}s or less with flexStart"


def queued(inputs: Inputs) -> Iterator[str]:
    """[ct] A queued pool grows from zero by requests."""
    if at(inputs, "queuedProvisioning.enabled") is not True:
        return
    if not has(inputs, "autoscaling"):
        yield "queuedProvisioning needs autoscaling"
    for name in (_TOTALS[0], _PER_ZONE[0]):
        if number(inputs, f"autoscaling.{name}", 0):
            yield f"queuedProvisioning needs autoscaling.{name} 0"
    if _compact(inputs) and has(inputs, "nodeConfig.guestAccelerators"):
        yield "queuedProvisioning of GPUs cannot have placementPolicy COMPACT"
    yield from _no_reservation(inputs, "queuedProvisioning")
    yield from _not_spot(inputs, "queuedProvisioning")


def spot(inputs: Inputs) -> Iterator[str]:
    """[ct] Spot excludes reservations."""
    if at(inputs, "nodeConfig.spot") is True:
        yield from _no_reservation(inputs, "nodeConfig.spot", absent=True)


def _no_reservation(inputs: Inputs, who: str, *, absent: bool = False) -> Iterator[str]:
    """cluster-toolkit requires NO_RESERVATION; without a value spot never uses a reservation."""
    message = at(inputs, "nodeConfig.reservationAffinity.consumeReservationType")
    if message is None and absent:
        return
    if message != "NO_RESERVATION" and not isinstance(message, Unknown):
        where = "nodeConfig.reservationAffinity.consumeReservationType"
        yield f"{who} needs {where} NO_RESERVATION; it is {message}"


def _not_spot(inputs: Inputs, who: str) -> Iterator[str]:
    if at(inputs, "nodeConfig.spot") is True:
        yield f"{who} and nodeConfig.spot exclude each other"


def _compact(inputs: Inputs) -> bool:
    return text(inputs, "placementPolicy.type") == "COMPACT"


def compact(inputs: Inputs) -> Iterator[str]:
    """[ct] A compact group is in one zone, and has no blue-green upgrade."""
    if not _compact(inputs):
        return
    zones = at(inputs, "nodeLocations")
    if isinstance(zones, list) and len(zones) != 1:
        yield f"placementPolicy COMPACT needs one zone in nodeLocations; there are {len(zones)}"
    if text(inputs, "upgradeSettings.strategy") == "BLUE_GREEN":
        yield "placementPolicy COMPACT cannot have upgradeSettings.strategy BLUE_GREEN"


def reservation(inputs: Inputs) -> Iterator[str]:
    """[ct] A specific reservation has its key and a zone; other affinities name none."""
    affinity = at(inputs, "nodeConfig.reservationAffinity")
    way = text(affinity, "consumeReservationType")
    if way == "SPECIFIC_RESERVATION":
        if text(affinity, "key") != _KEY and not unsure(affinity, "key"):
            yield f"reservationAffinity.key is {text(affinity, 'key')!r}; allowed: {_KEY}"
        names = at(affinity, "values")
        if not isinstance(names, Unknown) and len(names or []) != 1:
            yield f"reservationAffinity.values has {len(names or [])} items; allowed: one"
        if not has(inputs, "nodeLocations"):
            yield "reservationAffinity SPECIFIC_RESERVATION needs nodeLocations"
    elif way:
        for name in ("key", "values"):
            if has(affinity, name):
                yield f"reservationAffinity.{name} is for SPECIFIC_RESERVATION; it is {way}"


def node_labels(inputs: Inputs) -> Iterator[str]:
    """[ct] Of GKE's labels only those that it sets, and [about custom ComputeClasses] that of a class.

    Else as in GoogleCloudPlatform/magic-modules#11878.
    """
    for key in mapping(inputs, "nodeConfig.labels"):
        if within(key, ("kubernetes.io", "k8s.io")):
            yield f"Applying kubernetes label is not allowed: {key}"
        elif within(key, ("cloud.google.com",)) and key not in _GIVEN_LABELS:
            managed = "managed by GKE or Kubernetes and must not be manually specified"
            yield f'Node labels with key "{key}" are {managed}'


# ── others ────────────────────────────────────────────────────────────────────────────────────────
def first_pool(inputs: Inputs) -> Iterator[str]:
    """[doc] A cluster starts with a pool, also if the pool is removed afterwards."""
    autopilot = at(inputs, "enableAutopilot") is True
    count = number(inputs, "initialNodeCount", 0)
    if not autopilot and not has(inputs, "nodePools") and count is not None and count < 1:
        yield f"initialNodeCount is {count}; allowed: 1 or more, or nodePools"


def exclusions(inputs: Inputs) -> Iterator[str]:
    """[doc] At most three exclusions of all upgrades, of at most 90 days."""
    results = [
        each
        for each in items(inputs, "maintenancePolicy.maintenanceExclusions")
        if text(each, "exclusionOptions.scope") in {"", "NO_UPGRADES"}
    ]
    if len(results) > _MOST_EXCLUSIONS:
        yield f"{len(results)} maintenance exclusions of NO_UPGRADES; allowed: {_MOST_EXCLUSIONS}"
    for each in results:
        begins, ends = (text(each, name) for name in ("startTime", "endTime"))
        if not begins or not ends:
            continue
        length = datetime.fromisoformat(ends) - datetime.fromisoformat(begins)
        if not timedelta(0) < length <= _LONGEST_EXCLUSION:
            yield f"maintenance exclusion {begins} to {ends}; allowed: up to {_LONGEST_EXCLUSION.days} days"


def subnetworks(inputs: Inputs) -> Iterator[str]:
    """[doc] Subnetworks are listed only for LIST_OF_SUBNETWORKS."""
    which = text(inputs, "sourceSubnetworkIpRangesToNat")
    if has(inputs, "subnetworks") and which not in {"", "LIST_OF_SUBNETWORKS"}:
        yield f"subnetworks is for sourceSubnetworkIpRangesToNat LIST_OF_SUBNETWORKS; it is {which}"


def nat_ranges(inputs: Inputs) -> Iterator[str]:
    """[disc] The translated addresses of a subnetwork."""
    for each in items(inputs, "subnetworks"):
        for which in items(each, "sourceIpRangesToNats"):
            if which not in _NAT_RANGES:
                allowed = ", ".join(_NAT_RANGES)
                yield f"subnetworks.sourceIpRangesToNats has {which!r}; allowed: {allowed}"


def key_purpose(inputs: Inputs) -> Iterator[str]:
    """[disc] The purpose of a key."""
    yield from _listed(inputs, "purpose", _KEY_PURPOSES)


def address_purpose(inputs: Inputs) -> Iterator[str]:
    """[disc] The purpose of an address range."""
    yield from _listed(inputs, "purpose", _ADDRESS_PURPOSES)


def tier(inputs: Inputs) -> Iterator[str]:
    """[disc] The tier of a Filestore instance."""
    yield from _listed(inputs, "tier", _TIERS)


def _listed(inputs: Inputs, field: str, allowed: Sequence[str]) -> Iterator[str]:
    value = text(inputs, field)
    if value and value not in allowed:
        yield f"{field} is {value!r}; allowed: {', '.join(allowed)}"


def direction(inputs: Inputs) -> Iterator[str]:
    """[doc] An egress rule has destination ranges."""
    if text(inputs, "direction") == "EGRESS":
        for name in ("sourceRanges", "sourceTags", "sourceServiceAccounts"):
            if has(inputs, name):
                yield f"{name} is not for direction EGRESS"


_POOL = (bounds, sharing, flex_start, run_duration, queued, spot, compact, reservation, node_labels)
RULES: Mapping[str, Sequence[Rule]] = {
    "gcp:container/nodePool:NodePool": _POOL,
    "gcp:container/cluster:Cluster": (first_pool, exclusions),
    "gcp:compute/routerNat:RouterNat": (subnetworks, nat_ranges),
    "gcp:compute/globalAddress:GlobalAddress": (address_purpose,),
    "gcp:filestore/instance:Instance": (tier,),
    "gcp:kms/cryptoKey:CryptoKey": (key_purpose,),
    "gcp:compute/firewall:Firewall": (direction,),
}
