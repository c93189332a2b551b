"""What somebody has reserved at a cloud, long before any program runs: `reservations.json` of an account.

    {"aws": [{"id": "cr-0123456789abcdef0", "instanceType": "p5.48xlarge",
              "availabilityZone": "us-east-1a", "instanceCount": 8}],
     "gcp": [{"name": "h200", "zone": "us-central1-b", "machineType": "a3-ultragpu-8g", "count": 4}]}

Whoever writes a test or a stand writes it; nothing here is read off a plan. Also there: `state` (of gcp
`status`), which is active (READY) where nothing is said, and of gcp `project`, where another one shares it.
What a program made or bought in the account is a reservation as well.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from testbed.plugins.cloud.service.ties import Resource

FILE = "reservations.json"
_FIELDS = {
    "aws": ({"id", "instanceType", "availabilityZone", "instanceCount"}, {"state"}),
    "gcp": ({"name", "zone", "machineType", "count"}, {"status", "project"}),
}
"""By cloud: what each has, and what it may have."""
_MADE = "aws:ec2/capacityReservation:CapacityReservation"
_BOUGHT = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
_GCE = "gcp:compute/reservation:Reservation"


def write(folder: Path, reserved: Mapping[str, Any]) -> None:
    """Let these be there from now on."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{FILE}.new"
    fresh.write_text(json.dumps(reserved), encoding="utf-8")
    fresh.replace(folder / FILE)


def read(folder: Path | None, cloud: str) -> list[dict[str, Any]]:
    """Those of one cloud."""
    file = folder / FILE if folder else None
    return held_in(file, cloud) if file and file.exists() else []


def held_in(file: Path, cloud: str) -> list[dict[str, Any]]:
    """Those of one cloud; a file that cannot be meant is an error."""
    said = json.loads(file.read_text(encoding="utf-8"))
    if unknown := set(said) - set(_FIELDS):
        raise ValueError(f"{file} has {', '.join(sorted(unknown))}; allowed: aws, gcp")
    needed, more = _FIELDS[cloud]
    for place, each in enumerate(said.get(cloud, [])):
        if wrong := (needed - set(each)) | (set(each) - needed - more):
            names = f"{', '.join(sorted(needed))}, and perhaps {', '.join(sorted(more))}"
            raise ValueError(
                f"{file}: {cloud}[{place}]: {', '.join(sorted(wrong))}: it has {names}"
            )
    return [dict(each) for each in said.get(cloud, [])]


def of_ec2(folder: Path | None, there: Iterable[Resource], id_: str) -> dict[str, Any] | None:
    """The reservation of an id, on-demand or a block, as its data source has it; EC2 has one list of both."""
    for each in read(folder, "aws"):
        if each["id"] == id_:
            return {"state": "active", "reservationType": "default", **each}
    kinds = {_MADE: ("active", "default"), _BOUGHT: ("scheduled", "capacity-block")}
    for one in there:
        if one.kind in kinds and id_ in {one.id, *one.imports}:
            state, sort = kinds[one.kind]
            return {**one.state, "id": one.id, "state": state, "reservationType": sort}
    return None


def of_gce(
    folder: Path | None, there: Iterable[Resource], name: str, zone: str, project: str, own: str
) -> dict[str, Any] | None:
    """The reservation of a name in one zone of a project, as its data source has it."""
    for each in read(folder, "gcp"):
        if (each["name"], each["zone"], each.get("project", own)) == (name, zone, project):
            shape = [{"machineType": each["machineType"]}]
            held = [{"count": each["count"], "inUseCount": 0, "instanceProperties": shape}]
            return {"status": each.get("status", "READY"), "specificReservations": held}
    for one in there:
        place = [one.state.get(key) for key in ("name", "zone", "project")]
        if one.kind == _GCE and place == [name, zone, project]:
            held = [one.state["specificReservation"]]
            return {"status": "READY", **one.state, "specificReservations": held}
    return None
