"""A reservation that a stack file names, as a provider answers for it before anything is registered."""

from gpuyard.preflight.prerequisites import is_not_found, prerequisite_findings
from gpuyard.preflight.reservations import (
    Reserved,
    check_reservation,
    parse_count,
    reservation_uses,
)
from gpuyard.render.cloud.prerequisites import EC2_RESERVATION, GCE_RESERVATION
from kit.every import every
from kit.stacks import plan_of, platform, pool

CR, SHARED = "cr-0a", "projects/capacity/reservations/h200/reservationBlocks/b-1"
ON_EC2 = f"asked-reservation-{CR}"
ON_GCE = "asked-reservation-h200-us-central1-a"
ON_SHARED = f"asked-reservation-{SHARED}-us-central1-a"
REST = "set the id of a reservation of this account and region, or of one shared with it"
OF_GOOGLE = "set the name of a reservation of this project, or of one shared with it"

LISTED = "gcloud compute reservations list --filter=name=h200"


def aws(nodes=4, mode="reserved", **more):
    rungs = [{mode: CR, "nodes": 4}]
    return plan_of(
        platform([pool(nodes=nodes, zones=["us-east-1a"], capacity=rungs, **more)], cloud="aws")
    )


def gcp(name="h200", nodes=4):
    one = {"machine": "a3-megagpu-8g", "zones": ["us-central1-a"]}
    raw = platform(
        [pool(nodes=nodes, capacity=[{"reserved": name, "nodes": 4}], **one)], cloud="gcp"
    )
    return plan_of(raw)


def ec2(zone="us-east-1a", machine="p5.48xlarge", **more):
    return {ON_EC2: {"availabilityZone": zone, "instanceType": machine, **more}}


def gce(machine="a3-megagpu-8g", count=4.0, status="READY", at=ON_GCE):
    """As the provider answers: every block is a list of one, every number a float."""
    held = {"count": count, "inUseCount": 0.0, "instanceProperties": [{"machineType": machine}]}
    return {at: {"id": "x", "status": status, "specificReservations": [held]}}


def said(plan, told, before=()):
    return [
        (f.severity.value, f.problem, f.fix.message)
        for f in prerequisite_findings(plan, told, before)
    ]


@every(
    "plan, told, found",
    [
        (aws(), ec2(), []),
        (aws(), ec2(state="active", instanceCount=4.0), []),
        (aws(mode="block"), ec2(state="scheduled", instanceCount=4.0), []),
        (
            aws(),
            ec2(zone="us-east-1b"),
            [("error", "is in us-east-1b", "write zones: [us-east-1b]")],
        ),
        (
            aws(mode="block"),
            ec2(machine="p4d.24xlarge"),
            [
                (
                    "error",
                    "has the machine type p4d.24xlarge",
                    "use a reservation of the pool's machine type",
                )
            ],
        ),
        (
            aws(),
            ec2(state="expired"),
            [("error", "is expired", "use a reservation that is active")],
        ),
        (
            aws(),
            ec2(state="active", instanceCount=3.0),
            [("error", "has 3 machines", "write nodes: 3 on its capacity option")],
        ),
        (
            aws("0..4"),
            ec2(state="active", instanceCount=3.0),
            [("warning", "has 3 machines", "write nodes: 3 on its capacity option")],
        ),
        (
            aws("2..4"),
            ec2(instanceCount=2.0),
            [("warning", *("has 2 machines", "write nodes: 2 on its capacity option"))],
        ),
        (
            aws("3..4"),
            ec2(instanceCount=2.0),
            [("error", *("has 2 machines", "write nodes: 2 on its capacity option"))],
        ),
        (
            aws(
                "3..4", mode="block", scaling="autoscaler"
            ),  # EKS starts no node of it before its time
            ec2(instanceCount=2.0),
            [("warning", "has 2 machines", "write nodes: 2 on its capacity option")],
        ),
        (
            aws("3..4", scaling="karpenter"),  # its nodes come when the deployment is over
            ec2(instanceCount=2.0),
            [("warning", "has 2 machines", "write nodes: 2 on its capacity option")],
        ),
        (aws(), {ON_EC2: {}}, [("error", "does not exist", REST)]),
        (aws(), {}, []),
        (gcp(), gce(), []),
        (gcp(), {}, []),
        (gcp(), {ON_GCE: {"id": "x", "status": "READY", "specificReservations": None}}, []),
        (gcp(), {ON_GCE: {"id": "x", "status": "READY", "specificReservations": ["?"]}}, []),
        (
            gcp(),
            {ON_GCE: {"id": "x", "status": "READY", "specificReservations": {"count": "4"}}},
            [],
        ),
        (
            gcp(),
            gce(status="DELETING"),
            [("error", "is DELETING", "use a reservation that is READY")],
        ),
        (
            gcp(),
            gce(machine="a2-highgpu-8g", count=2.0),
            [
                (
                    "error",
                    "has the machine type a2-highgpu-8g",
                    "use a reservation of the pool's machine type",
                ),
                ("error", "has 2 machines", "write nodes: 2 on its capacity option"),
            ],
        ),
        (
            gcp(),
            {ON_GCE: {"id": "x", "status": "", "specificReservations": []}},
            [
                (
                    *("error", "does not exist in us-central1-a"),
                    f"write its zone ({LISTED}), or {OF_GOOGLE}",
                )
            ],
        ),
        (gcp(SHARED), gce(at=ON_SHARED), []),
        (
            gcp(SHARED),
            {ON_SHARED: {"id": "x", "status": None, "specificReservations": None}},
            [
                (
                    *("error", "does not exist in us-central1-a"),
                    f"write its zone ({LISTED} --project=capacity), or {OF_GOOGLE}",
                )
            ],
        ),
    ],
)
def test_what_a_provider_answers_is_held_against_the_rung(plan, told, found):
    name = "h200" if plan.cloud.value == "gcp" else CR
    got = [
        (how, words.removeprefix("no ").removeprefix(f"reservation {name} "), fix)
        for how, words, fix in said(plan, told)
    ]
    assert got == found
    at = {each.where for each in prerequisite_findings(plan, told)}
    assert at <= {"pools[0].capacity"}


@every(
    "told, found",
    [
        (ec2(state="expired"), [("warning", "reservation cr-0a is expired")]),
        ({ON_EC2: {}}, [("warning", "reservation cr-0a does not exist")]),
        (ec2(instanceCount=1), [("warning", "reservation cr-0a has 1 machines")]),
        (ec2("us-east-1b"), [("error", "reservation cr-0a is in us-east-1b")]),
    ],
)
def test_one_that_ends_keeps_nobody_from_changing_the_platform_that_drew_on_it(told, found):
    assert [each[:2] for each in said(aws(), told, {CR})] == found


def test_a_warning_hides_no_machine_that_is_not_sold():
    told = ec2(state="active", instanceCount=3) | {
        "asked-offers": {"instanceTypes": [], "locations": []}
    }
    assert [each.id for each in prerequisite_findings(aws("0..4"), told)] == [
        "live.reservation",
        "live.offering",
    ]


def test_a_block_that_is_still_to_be_bought_is_not_there_yet():
    buys = {"hours": 48, "starts": "2099-12-01", "usd": 8000}
    rungs = [{"block": "cb-0123456789abcdef0", "nodes": 4, "purchase": buys}, "on-demand"]
    raw = platform([pool(nodes="0..4", zones=["us-east-1a"], capacity=rungs)], cloud="aws")
    assert list(reservation_uses(plan_of(raw))) == []


def test_nodes_that_always_run_are_drawn_from_the_first_rungs():
    rungs = [{"reserved": "cr-0a", "nodes": 3}, {"reserved": "cr-0b", "nodes": 3}, "on-demand"]
    raw = platform([pool(nodes="4..8", zones=["us-east-1a"], capacity=rungs)], cloud="aws")
    assert [(each.id, each.min_nodes) for each in reservation_uses(plan_of(raw))] == [
        ("cr-0a", 3),
        ("cr-0b", 1),
    ]


def test_an_answer_that_says_neither_machine_nor_zone_is_not_taken_for_the_pool_s():
    """`--live` asks for both: an answer without them is no answer to rest on."""
    plan = aws()
    (draw,) = reservation_uses(plan)
    there = Reserved(state="active", machine=None, zone=None)
    assert [each.problem for each in check_reservation(plan, draw, there)] == [
        "reservation cr-0a has the machine type None",
        "reservation cr-0a is in None",
    ]


@every(
    "problem, there",
    [
        ("invocation failed: reading: couldn't find resource", True),
        ("empty result", True),
        ("api error InvalidCapacityReservationId.NotFound: The ID 'cr-0a' does not exist", True),
        ("api error InvalidCapacityReservationId.Malformed: The ID is malformed", True),
        (
            "api error UnauthorizedOperation: You are not authorized to perform this operation",
            False,
        ),
        ("no valid credential sources found", False),
        ("dial tcp: i/o timeout", False),
    ],
)
def test_that_there_is_none_is_told_from_that_nobody_says(problem, there):
    assert is_not_found(EC2_RESERVATION, problem) is there
    assert not is_not_found(GCE_RESERVATION, problem)


@every(
    "value, number",
    [(4, 4), (4.0, 4), ("4", 4), (4.5, None), ("", None), (None, None), (True, None), ([4], None)],
)
def test_a_number_is_read_however_it_is_sent(value, number):
    assert parse_count(value) == number
