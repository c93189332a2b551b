"""Lower floors that a stack file accepts: what the check is told, and what is said of those nobody reads."""

from datetime import date

from gpuyard.plan.platform import calendar_findings
from gpuyard.spec.read import read_platform
from gpuyard.stack_validation import validate
from kit.every import every
from kit.stacks import cut_pool, findings, plan_of, platform, pool

IMAGE = {"image": "registry.example.org/ml/base:1"}
DEFERRED = "the accepted threshold of {} on {} has no effect: {}"


def lower(check, value, where="train", **more):
    entry = {
        "pool": where,
        "check": check,
        "value": value,
        "reason": "known",
        "until": "2027-03-31",
    }
    return entry | more


def asked(*accepted, pools=None, cloud="simulated", **more):
    validation = {**IMAGE, **more, "accepted_thresholds": list(accepted)}
    return platform(pools or [pool(), cut_pool()], cloud=cloud, validation=validation)


def test_each_is_in_the_plan_with_its_unit_and_whether_it_needs_gpus_at_work():
    raw = asked(
        lower("pcie.width", 8), lower("work.memory", 1500), lower("pcie.generation", 3, "serve"),
        profile="full",
    )  # fmt: skip
    found = [
        (e.pool, e.check, e.value, e.unit, e.reason, e.until, e.at_work)
        for e in plan_of(raw).validation.accepted_thresholds
    ]
    assert found == [
        ("train", "pcie.width", 8.0, "lanes", "known", "2027-03-31", False),
        ("train", "work.memory", 1500.0, "GB/s", "known", "2027-03-31", True),
        ("serve", "pcie.generation", 3.0, "generation", "known", "2027-03-31", False),
    ]
    assert plan_of(asked()).validation.accepted_thresholds == ()


QUICK = "the profile quick puts no load on a GPU"
CUT = "its GPUs are partitioned or shared, and a share does not represent the whole GPU"
UNIMAGED = "no validation image is configured"
PART = "a node has a fraction of a GPU, which cannot validate the whole GPU"
AWS = [pool(machine="g6f.xlarge", nodes=1)]


@every(
    "raw, said",
    [
        (asked(lower("pcie.width", 8)), []),
        (asked(lower("work.memory", 1500)), [("work.memory", "train", QUICK)]),
        (asked(lower("work.memory", 1500), profile="full"), []),
        (
            asked(lower("work.memory", 700, "serve"), profile="full"),
            [("work.memory", "serve", CUT)],
        ),
        (
            asked(lower("work.step", 300), profile="full"),
            [("work.step", "train", "only the profile soak runs this check")],
        ),
        (asked(lower("work.step", 300), profile="soak"), []),
        (
            asked(lower("pcie.width", 8), image=None, required=False),
            [("pcie.width", "train", UNIMAGED)],
        ),
        (
            asked(lower("pcie.width", 4), pools=AWS, required=False),
            [("pcie.width", "train", PART)],
        ),
    ],
)
def test_one_that_no_check_reads_is_noted(raw, said):
    found = [f.problem for f in findings(raw) if "has no effect" in f.problem]
    assert found == [DEFERRED.format(*each) for each in said]


def values(raw):
    return [
        (f.path[-1], f.allowed.partition(" (")[0])
        for f in findings(raw)
        if f.id == "validation.accepted"
    ]


@every(
    "pools, check, value, allowed",
    [
        # One node alone, several by TCP, by EFA as somebody has measured, and a product of which nobody says.
        ([pool(nodes=1)], "nccl.all_reduce", 325.6, "less than 325.6 GB/s"),
        ([pool(nodes=1)], "nccl.all_reduce", 325.5, None),
        ([pool(nodes=4)], "nccl.all_reduce", 300, "less than 270 GB/s"),
        ([pool(machine="g6.12xlarge", nodes=1)], "nccl.all_reduce", 2, "less than 1.2 GB/s"),
        ([pool(machine="g6.12xlarge", nodes=1)], "work.peers", 2, None),
    ],
)
def test_a_floor_is_compared_with_that_of_its_own_nodes(pools, check, value, allowed):
    found = values(asked(lower(check, value), pools=pools, profile="full"))
    assert found == ([("value", allowed)] if allowed else [])


def test_a_pool_that_nobody_checks_has_floors_all_the_same():
    """A cluster that sends its jobs away has no check of its own: what its file accepts says nothing."""
    hub = {"clusters": [{"name": "east", "secret": "east-kubeconfig"}]}
    raw = asked(lower("pcie.width", 16), pools=[pool()], cloud="none") | {"queueing": hub}
    assert values(raw) == []


def test_what_is_over_is_said_on_a_day_alone():
    raw = asked(lower("pcie.width", 8, until="2026-01-31"))
    assert not [f for f in findings(raw) if f.id == "validation.accepted_over"]
    reading = read_platform(raw)
    assert validate(reading).plan == validate(reading, date(2026, 2, 1)).plan
    plan = validate(reading).plan
    before, after = (calendar_findings(plan, date(2026, *day)) for day in ((1, 31), (2, 1)))
    assert [f.id for f in before if f.id.startswith("validation")] == []
    (over,) = [f for f in after if f.id.startswith("validation")]
    assert (over.where, over.given) == ("validation.accepted_thresholds[0]", "2026-01-31")
