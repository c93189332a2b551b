"""A GKE node pool is checked against its reservation: name, zone, project, and remaining machines."""

from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud.account import Account, Refused
from testbed.plugins.cloud.service import reservations
from testbed.plugins.cloud.shapes import Place

from kit.every import every

GCP = Place("gcp", region="us-central1", project="my-project")
CLUSTER, POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
RESERVATION = "gcp:compute/reservation:Reservation"
A, B, TYPE = "us-central1-a", "us-central1-b", "a3-megagpu-8g"
HELD = {"name": "held", "zone": A, "machineType": TYPE, "count": 4}
SHARED = {**HELD, "name": "shared", "project": "capacity"}
OF_THEM = "projects/capacity/reservations/shared"


def given(name: str, reservation: str = "held", **more: Any) -> dict[str, Any]:
    affinity = {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [reservation],
    }
    config = {"machineType": more.pop("machine", TYPE), "reservationAffinity": affinity}
    rest = {"cluster": "c", "nodeLocations": [A], "nodeCount": 4, "nodeConfig": config}
    return {"name": name, "location": "us-central1", **rest, **more}


@pytest.fixture
def account(tmp_path: Path) -> Account:
    reservations.write(tmp_path, {"gcp": [HELD, SHARED]})
    return cluster(Account(tmp_path, "gcp"))


def cluster(account: Account) -> Account:
    own = {"name": "c", "location": "us-central1", "initialNodeCount": 1}
    account.create(CLUSTER, "c", own, GCP)
    return account


def refused(account: Account, **inputs: Any) -> str:
    with pytest.raises(Refused) as said:
        account.create(POOL, "p", given("p", **inputs), GCP)
    return str(said.value).removeprefix("create nodePool: googleapi: ")


GONE = f'Error 404: Google Compute Engine: reservation "gone" not found for node pool "p" at zone "{A}".'
SHORT = (
    "Error 429: Reservation does not have enough resources for the request: specific reservation"
    f' "held" is insufficient for node pool "p" at zone "{A}": required 5 and short of 1 VM count'
    f" of machine type {TYPE}."
)


@every(
    ("more", "says"),
    [
        ({"reservation": "gone"}, GONE),
        ({"nodeLocations": [A, B]}, f'"held" not found for node pool "p" at zone "{B}".'),
        ({"reservation": "shared"}, f'"shared" not found for node pool "p" at zone "{A}".'),
        ({"nodeCount": 5}, SHORT),
        (
            {"machine": "a3-highgpu-8g", "nodeCount": 1},
            "required 1 and short of 1 VM count of machine type a3-highgpu-8g.",
        ),
        ({"reservation": OF_THEM, "nodeCount": None, "initialNodeCount": 6}, "short of 2 VM"),
    ],
)
def test_what_the_reservation_does_not_hold_is_refused_and_nothing_is_made(
    account: Account, more: dict[str, Any], says: str
) -> None:
    assert says in refused(account, **more)
    assert account.all(POOL) == []


def test_what_it_holds_is_given_out_once(account: Account) -> None:
    account.create(POOL, "x", given("x", nodeCount=3), GCP)
    account.create(POOL, "y", given("y", OF_THEM), GCP)
    assert "required 2 and short of 1 VM" in refused(account, nodeCount=2)
    account.create(POOL, "p", given("p", nodeCount=1), GCP)
    for name, more in (("later", {}), ("any", {"reservation": "gone"})):
        none = {"nodeCount": None, "initialNodeCount": 0, **more}
        account.create(POOL, name, given(name, **none), GCP)


def test_a_reservation_of_the_same_program_counts(account: Account) -> None:
    shape = {"count": 2, "instanceProperties": {"machineType": TYPE}}
    made = {"name": "ours", "zone": B, "specificReservation": shape}
    account.create(RESERVATION, "ours", made, GCP)
    there = {"reservation": "ours", "nodeLocations": [B]}
    assert "required 3 and short of 1 VM" in refused(account, nodeCount=3, **there)
    account.create(POOL, "p", given("p", nodeCount=2, **there), GCP)


def test_who_names_none_is_asked_nothing_and_an_account_in_memory_knows_none(
    account: Account,
) -> None:
    free = {
        "machineType": TYPE,
        "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
    }
    account.create(POOL, "free", given("free", nodeConfig=free, nodeCount=9), GCP)
    cluster(Account()).create(POOL, "p", given("p", "gone"), GCP)
