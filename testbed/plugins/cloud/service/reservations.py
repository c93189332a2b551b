"""Reservations at a cloud that exist before any program runs: `reservations.json` of an account.

    {"aws": [{"id": "cr-0123456789abcdef0", "instanceType": "p5.48xlarge",
              "availabilityZone": "us-east-1a", "instanceCount": 8}],
     "gcp": [{"name": "h200", "zone": "us-central1-b", "machineType": "a3-ultragpu-8g", "count": 4}]}

A test or a stand writes the file; nothing is derived from a plan. Optional fields: `state` (for gcp `status`),
by default active (READY), and for gcp `project`, if another project shares the reservation. Reservations that
a program created or bought in the account are included.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.plugins.cloud import shapes
from testbed.plugins.cloud.rules.looking import at, items, text
from testbed.plugins.cloud.service import machines
from testbed.plugins.cloud.service.ties import Resource

FILE = "reservations.json"
_FIELDS = {
    "aws": ({"id", "instanceType", "availabilityZone", "instanceCount"}, {"state"}),
    "gcp": ({"name", "zone", "machineType", "count"}, {"status", "project"}),
}
"""Required and optional fields, by cloud."""
_MADE = "aws:ec2/capacityReservation:CapacityReservation"
_BOUGHT = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
_GCE = "gcp:compute/reservation:Reservation"
_AFFINITY = "nodeConfig.reservationAffinity"
_NAMED = re.compile(r"(projects/(?P<project>[^/]+)/reservations/)?(?P<name>[^/]+)(/.*)?")


def write(folder: Path, reserved: Mapping[str, Any]) -> None:
    """Write the reservations."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{FILE}.new"
    fresh.write_text(json.dumps(reserved), encoding="utf-8")
    fresh.replace(folder / FILE)


def read(folder: Path | None, cloud: str) -> list[dict[str, Any]]:
    """The reservations of one cloud."""
    file = folder / FILE if folder else None
    return held_in(file, cloud) if file and file.exists() else []


def held_in(file: Path, cloud: str) -> list[dict[str, Any]]:
    """The reservations of one cloud in a file; an invalid file is an error."""
    message = json.loads(file.read_text(encoding="utf-8"))
    if unknown := set(message) - set(_FIELDS):
        raise ValueError(f"{file} has {', '.join(sorted(unknown))}; allowed: aws, gcp")
    needed, more = _FIELDS[cloud]
    for place, each in enumerate(message.get(cloud, [])):
        if wrong := (needed - set(each)) | (set(each) - needed - more):
            names = f"{', '.join(sorted(needed))}, and perhaps {', '.join(sorted(more))}"
            raise ValueError(
                f"{file}: {cloud}[{place}]: {', '.join(sorted(wrong))}: it has {names}"
            )
    return [dict(each) for each in message.get(cloud, [])]


def of_ec2(folder: Path | None, existing: Iterable[Resource], id_: str) -> dict[str, Any] | None:
    """The reservation of an id, on-demand or a block, as its data source returns it; EC2 lists both together."""
    for each in read(folder, "aws"):
        if each["id"] == id_:
            return {"state": "active", "reservationType": "default", **each}
    kinds = {_MADE: ("active", "default"), _BOUGHT: ("scheduled", "capacity-block")}
    for one in existing:
        if one.kind in kinds and id_ in {one.id, *one.imports}:
            state, sort = kinds[one.kind]
            return {**one.state, "id": one.id, "state": state, "reservationType": sort}
    return None


def of_gce(
    folder: Path | None, existing: Iterable[Resource], name: str, zone: str, project: str, own: str
) -> dict[str, Any] | None:
    """The reservation of a name in one zone of a project, as its data source returns it."""
    for each in read(folder, "gcp"):
        if (each["name"], each["zone"], each.get("project", own)) == (name, zone, project):
            shape = [{"machineType": each["machineType"]}]
            blocked = [{"count": each["count"], "inUseCount": 0, "instanceProperties": shape}]
            return {"status": each.get("status", "READY"), "specificReservations": blocked}
    for one in existing:
        place = [one.state.get(key) for key in ("name", "zone", "project")]
        if one.kind == _GCE and place == [name, zone, project]:
            blocked = [one.state["specificReservation"]]
            return {"status": "READY", **one.state, "specificReservations": blocked}
    return None


def lacking(
    folder: Path | None, pool: Resource, existing: Sequence[Resource], own: str
) -> Iterator[str]:
    """Errors of GKE for a new node pool whose reservation is missing or has too few machines left.

    [GoogleCloudPlatform/cluster-toolkit pull request 5043; GoogleCloudPlatform/gsutil issue 1000] Machines of
    another shape do not count. An account in memory has no reservations. The errors of GKE for a pool without
    nodes, or when it grows, and of EKS for a group, are not known from a source.
    """
    if folder is None or pool.kind != machines.POOL or not _in_each_zone(pool):
        return
    if not (message := _held_by(pool)):
        return
    named = _NAMED.fullmatch(message)
    name, project = (named["name"], named["project"] or own) if named else (message, own)
    type_, expected = text(pool.inputs, "nodeConfig.machineType"), _in_each_zone(pool)
    for zone in machines.zones_of(pool, existing):
        blocked = of_gce(folder, existing, name, zone, project, own)
        place = f'node pool "{shapes.last(pool.id)}" at zone "{zone}"'
        if blocked is None:
            yield f'Error 404: Google Compute Engine: reservation "{message}" not found for {place}.'
            continue
        short = expected - max(0, _machines(blocked, type_) - _used(message, zone, existing))
        if short > 0:
            yield (
                "Error 429: Reservation does not have enough resources for the request: specific"
                f' reservation "{message}" is insufficient for {place}: required {expected} and short of'
                f" {short} VM count of machine type {type_}."
            )


def _held_by(pool: Resource) -> str:
    """The reservation that a node pool names, as written."""
    return next((str(each) for each in items(pool.inputs, f"{_AFFINITY}.values")), "")


def _in_each_zone(pool: Resource) -> int:
    return int(at(pool.state, "nodeCount") or at(pool.state, "initialNodeCount") or 0)


def _machines(blocked: Mapping[str, Any], type_: str) -> int:
    """The number of machines of a type in a reservation; for one that a program created the shape is not in a list."""
    result = 0
    for each in blocked["specificReservations"]:
        shapes_ = each["instanceProperties"]
        one = shapes_[0] if isinstance(shapes_, list) else shapes_
        result += int(each["count"]) if one["machineType"] == type_ else 0
    return result


def _used(message: str, zone: str, existing: Sequence[Resource]) -> int:
    """Machines of the reservation that other node pools use."""
    others = (each for each in existing if each.kind == machines.POOL and _held_by(each) == message)
    return sum(_in_each_zone(each) for each in others if zone in machines.zones_of(each, existing))
