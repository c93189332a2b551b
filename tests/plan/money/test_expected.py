"""The expected bill: what it assumes, at its edges, and that it stands between floor and worst case."""

import random
from functools import cache

import pytest

from gpuyard.cli.views.documents import money
from gpuyard.plan import plan
from gpuyard.plan.money.bill import DEFAULT_UTILISATION
from gpuyard.plan.money.savings import to_monthly_total
from gpuyard.plan.records import Total
from gpuyard_core.catalogue.machines import MACHINES
from kit.generated import platforms
from kit.stacks import SYSTEM, plan_of, platform, pool, spec_of

P5 = MACHINES["p5.48xlarge"]
LIST, LOW, HIGH = P5.on_demand.high, P5.spot.low, P5.spot.high
MEAN = (LOW + HIGH) / 2


def bill(*pools, **rest):
    return plan_of(platform(pools, **rest)).bill


def line(aim=None, **rest):
    targets = {} if aim is None else {"targets": {"utilisation_percent": aim}}
    return bill(pool(**rest), **targets).lines[0]


@pytest.mark.parametrize(
    ("targets", "percent"),
    [
        ({}, 75),
        ({"targets": {"utilisation_percent": "60..70"}}, 65),
        ({"targets": {"utilisation_percent": 75}}, 75),
        ({"targets": {"utilisation_percent": "60..61"}}, 60.5),
        ({"targets": {"idle_percent": 20}}, 75),
        ({"targets": {"utilisation_percent": 0}}, 0),
    ],
)
def test_the_middle_of_the_target_is_reckoned_with_and_75_without_one(targets, percent):
    assert bill(pool(), **targets).utilisation_percent == percent
    assert (DEFAULT_UTILISATION.low + DEFAULT_UTILISATION.high) / 2 == 75


@pytest.mark.parametrize(
    ("aim", "rest", "running", "used", "usd"),
    [
        (50, {"nodes": "0..8"}, 4, 4, 4 * LIST),
        (75, {"nodes": "0..6"}, 4.5, 4.5, 4.5 * LIST),
        (50, {"nodes": "6..8"}, 6, 4, 6 * LIST),
        (0, {"nodes": "0..8"}, 0, 0, 0),
        (0, {"nodes": "2..8"}, 2, 0, 2 * LIST),
        (100, {"nodes": "0..8"}, 8, 8, 8 * LIST),
        (50, {"nodes": 8}, 8, 4, 8 * LIST),
        (50, {"nodes": 0}, 0, 0, 0),
        (50, {"nodes": "0..8", "capacity": ["spot"]}, 4, 4, 4 * MEAN),
        (50, {"nodes": "0..8", "capacity": ["spot", "on-demand"]}, 4, 4, 4 * MEAN),
        (50, {"nodes": "0..8", "capacity": ["on-demand", "spot"]}, 4, 4, 4 * LIST),
        (50, {"nodes": "0..8", "capacity": [{"spot": True, "nodes": 3}, "on-demand"]}, 4, 4, 3 * MEAN + LIST),
        (50, {"nodes": "0..8", "capacity": [{"reserved": "r", "nodes": 6}, "spot"]}, 4, 4, 6 * LIST),
        (50, {"nodes": "0..8", "capacity": [{"reserved": "r", "nodes": 3}, "spot"]}, 4, 4, 3 * LIST + MEAN),
    ],
)  # fmt: skip
def test_a_share_of_the_maximum_runs_and_never_less_than_the_minimum(aim, rest, running, used, usd):
    found = line(aim, **rest)
    assert (found.running_nodes, found.used_nodes) == (running, used)
    assert found.expected_usd_per_hour == pytest.approx(usd)


def warm(*windows):
    return [{"cron": cron, "hours": float(hours), "nodes": nodes} for cron, hours, nodes in windows]


WEEKDAYS = "0 7 * * 1-5"


@pytest.mark.parametrize(
    ("windows", "running"),
    [
        ([(WEEKDAYS, 10, 8)], 4 + 4 * 50 / 168),
        ([(WEEKDAYS, 10, 4)], 4),
        ([(WEEKDAYS, 10, 3)], 4),
        ([("0 0 * * 0", 168, 8)], 8),
        ([(WEEKDAYS, 10, 6), ("0 7 * * 1", 10, 8)], 4 + (2 * 40 + 4 * 10) / 168),
    ],
)
def test_warm_windows_keep_nodes_for_their_hours_a_week_and_leave_the_floor_alone(windows, running):
    found = line(50, nodes="0..8", keep_warm=warm(*windows))
    assert found.running_nodes == pytest.approx(running)
    assert found.expected_usd_per_hour == pytest.approx(running * LIST)
    assert (found.minimum_usd_per_hour, found.used_nodes) == (0, 4)
    assert found.maximum_usd_per_hour == pytest.approx(8 * LIST)


def test_system_nodes_do_not_follow_the_use_of_gpus():
    found = bill(pool(), system={**SYSTEM, "nodes": "2..9"}, targets={"utilisation_percent": 90})
    assert (found.lines[0].running_nodes, found.lines[0].used_nodes) == (2, 0)
    assert found.lines[0].expected_usd_per_hour == pytest.approx(0.4032)


def test_a_spot_price_nobody_knows_is_unknown_where_spot_nodes_run_and_bounded_at_worst():
    found = line(50, machine="g5g.xlarge", nodes="0..8", capacity=["spot", "on-demand"])
    assert (found.minimum_usd_per_hour, found.expected_usd_per_hour) == (0, None)
    assert found.maximum_usd_per_hour == pytest.approx(8 * 0.42)
    whole = bill(pool(machine="g5g.xlarge", nodes="1..8", capacity=["spot"]), pool("b"))
    assert whole.minimum.unknown == whole.expected.unknown == ("train",)
    assert whole.maximum.unknown == ()
    assert (whole.minimum.known_usd, whole.unknown) == (pytest.approx(4 * LIST), ("train",))


def test_one_rung_of_unknown_price_leaves_the_others_known():
    """8 reserved nodes and 10 of flex-start: the 8 are known, and expected is never below the floor."""
    ladder = [{"reserved": "h100-mega-res", "nodes": 8}, "flex-start", "spot"]
    mega = pool(machine="a3-megagpu-8g", nodes="0..24", capacity=ladder, zones=["us-central1-a"])
    whole = bill(mega, cloud="gcp", system={"machine": "e2-standard-8", "nodes": 3})
    [_, found] = whole.lines
    assert found.minimum.usd == pytest.approx(8 * 92.21, rel=1e-3)
    assert found.expected == Total(found.minimum.known_usd, ("train",), 10)
    assert (found.expected_usd_per_hour, whole.expected_usd_per_hour) == (None, None)
    assert whole.expected.known_usd == pytest.approx(whole.minimum.known_usd)
    assert money(whole.expected) == f"{whole.minimum.known_usd:,.2f} + unknown for 10 nodes"
    assert money(to_monthly_total(whole.expected), nodes=False).endswith(" + unknown")


def test_one_node_of_unknown_price_is_one_node():
    assert money(Total(1.5, ("a",), 1.0)) == "1.50 + unknown for 1 node"
    assert money(Total(0.0, ("a",), 4.0)) == "unknown"


WAYS = ("on_demand", "spot", "reserved")


def priced(number):
    """A made-up platform with prices, targets and commitments of its own."""
    rng = random.Random(number)  # noqa: S311  no secret is made of it
    raw = platforms.platform(number)
    named = {p["machine"] for p in raw["pools"] if isinstance(p["machine"], str)}
    machines = sorted(named & set(MACHINES))
    prices = {"discount_percent": rng.choice([0, 10, 55])}
    prices["machines"] = {
        name: {way: round(rng.uniform(0.1, 60), 2) for way in WAYS if rng.random() < 0.4}
        for name in machines
        if rng.random() < 0.5
    }
    prices["commitments"] = [
        {"machine": rng.choice(machines), "nodes": rng.randint(1, 6), "years": rng.choice([1, 3])}
        | ({"usd_per_hour": round(rng.uniform(0.1, 40), 2)} if rng.random() < 0.7 else {})
        for _ in range(rng.randint(0, 3) if machines else 0)
    ]
    low = rng.randint(0, 100)
    raw["prices"] = prices
    raw["targets"] = {"utilisation_percent": f"{low}..{rng.randint(low, 100)}"}
    raw.pop("budget", None)
    for team in raw["teams"]:
        team.pop("budget_usd_per_month", None)
    return raw


@cache
def priced_bills():
    """Of those that are planned; planned once for the laws below."""
    both = (
        (number, found)
        for number in platforms.KNOWN
        for found in (platforms.known(number)[0], plan(spec_of(priced(number)))[0])
    )
    return tuple((number, found) for number, found in both if found is not None)


def close(one, two):
    return one == pytest.approx(two, rel=1e-9, abs=1e-9)


@pytest.mark.repeats("the others of this file")
def test_floor_expected_and_worst_stand_in_this_order_whatever_the_prices():
    seen = 0
    for number, found in priced_bills():
        whole = found.bill
        if not whole.unknown:
            seen += 1
            assert whole.minimum.usd <= whole.expected.usd + 1e-9, number
            assert whole.expected.usd <= whole.maximum.usd + 1e-9, number
        for each in whole.lines:
            assert each.nodes.low <= each.running_nodes <= each.nodes.high
            assert each.used_nodes <= each.running_nodes
    assert seen > 20


def test_lines_and_idle_commitments_are_the_bill():
    for number, found in priced_bills():
        whole = found.bill
        for case in ("minimum", "expected", "maximum"):
            parts = [getattr(x, case) for x in whole.lines]
            parts += [c.idle_cost(case) for c in whole.commitments]
            total = getattr(whole, case)
            assert close(total.known_usd, sum(p.known_usd for p in parts)), number
            assert close(total.unknown_nodes, sum(p.unknown_nodes for p in parts)), number
            assert (total.usd is None) == (None in [p.usd for p in parts])


@pytest.mark.repeats("the others of this file")
def test_teams_and_what_is_nobodys_are_the_bill():
    """The law that a statement rests on: nothing is paid twice, and nothing by nobody."""
    shared = 0
    for number, found in priced_bills():
        whole = found.bill
        assert [s.team for s in whole.shares] == [*(t.name for t in found.teams), None]
        shared += len(whole.shares) > 1
        for case in ("minimum", "expected", "maximum"):
            totals = [getattr(s, case) for s in whole.shares]
            assert all(t.known_usd >= 0 for t in totals)
            together = getattr(whole, case)
            assert close(sum(t.known_usd for t in totals), together.known_usd), (number, case)
            assert close(sum(t.unknown_nodes for t in totals), together.unknown_nodes), number
            unknown = {name for t in totals for name in t.unknown}
            assert unknown == set(getattr(whole, case).unknown), (number, case)
    assert shared > 20


@pytest.mark.repeats("the others of this file")
def test_commitments_are_paid_once_used_or_not():
    """What runs does not change what they cost: covered and idle nodes are all that is committed."""
    used = 0
    for number, found in priced_bills():
        for entry in found.bill.commitments:
            for case in ("minimum", "expected"):
                covered = sum(getattr(c, case) for c in entry.covers)
                assert close(covered + getattr(entry, f"idle_{case}"), entry.nodes), number
                used += covered > 0
            assert sum(c.baseline for c in entry.covers) <= entry.nodes
            assert all(c.burst >= 0 for c in entry.covers)
            assert entry.idle_expected <= entry.idle_minimum + 1e-9
    assert used > 10
