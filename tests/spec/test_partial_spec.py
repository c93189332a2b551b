"""The part of a malformed platform that can be checked: fixes are assumed, and the smallest part is dropped."""

import pytest

from gpuyard.spec.partial_spec import SalvagedSpec, salvage_spec, suppressed_findings
from gpuyard.spec.read import read_platform
from gpuyard.spec.teams import Team
from gpuyard.stack_validation import validate
from kit.every import every
from kit.stacks import SYSTEM, platform, pool, shape, team

LOST = {"time_slicing": "often"}
"""No sharing mode, and no error that has a fix."""


def left(raw):
    found = salvage_spec(raw)
    return found.spec, found.dropped


def said(raw):
    return [(f.id, f.where) for f in validate(read_platform(raw)).findings]


def test_what_has_a_fix_is_judged_as_if_it_were_mended():
    raw = platform([pool(nodes="4..1", capactiy=["spot"])], [team(garantee={"train": "8"})])
    spec, lost = left(raw)
    assert lost == frozenset()
    assert (str(spec.pools[0].nodes), spec.pools[0].capacity[0].mode) == ("1..4", "spot")
    assert spec.teams[0].guarantee == {"train": 8}


@pytest.mark.parametrize(
    ("raw", "lost"),
    [
        (platform([pool(sharing=LOST)]), {("pools", 0, "sharing")}),
        (platform([pool(zones=[1, 2])]), set()),
        (platform([pool(zones=[{}])]), {("pools", 0, "zones")}),
        (platform([pool(nodes="many")]), {("pools", 0, "nodes")}),
        (platform([pool(machine={})]), {("pools", 0, "machine")}),
        (platform([pool(name={})]), {("pools", 0, "name")}),
        (platform([pool(labels={"a": {}, "b": "c"})]), {("pools", 0, "labels", "a")}),
        (platform([pool(), 5]), {("pools", 1)}),
        (platform(name=[]), {("name",)}),
        (platform(teams=[team(guarantee={"train": "x", "a": 1})]), {("teams", 0, "guarantee", "train")}),
        (platform(teams=[team(guarantee=5)]), {("teams", 0, "guarantee")}),
        (platform(teams=[{"weight": 1}]), {("teams", 0, "name")}),
        (platform(teams=[team(weight={})]), {("teams", 0, "weight")}),
        (platform(teams=[5]), {("teams", 0)}),
        (platform(shapes=[shape("odd")]), set()),
        (platform(shapes=[shape("odd", gpus_per_node={})]), {("shapes", 0)}),
        (platform(shapes=[{"gpus_per_node": 1}]), {("shapes", 0)}),
        (platform(budget={}), {("budget",)}),
        (platform(budget={"max_usd_per_hour": "much"}), {("budget", "max_usd_per_hour"), ("budget",)}),
        (platform(queueing={"engine": "slurm", "fair_sharing": True}), {("queueing", "engine")}),
        (platform(queueing={"cohorts": [{"name": {}}]}), {("queueing", "cohorts")}),
        (platform(storage=7), {("storage",)}),
    ],
)  # fmt: skip
def test_the_least_part_that_can_go_is_left_out(raw, lost):
    spec, found = left(raw)
    assert spec is not None
    assert found == lost


@pytest.mark.parametrize(
    "raw",
    [
        platform(cloud="moon"),
        platform(kubernetes={}),
        platform([]),
        {**platform(), "pools": {"name": "train"}},
        {**platform(), "teams": 5},
        [platform()],
        None,
        {},
    ],
)
def test_a_platform_without_cloud_or_pools_is_none(raw):
    assert salvage_spec(raw) == SalvagedSpec()
    reading = read_platform(raw)
    assert (reading.spec, reading.checkable_spec) == (None, None)
    assert reading.findings != ()


def test_what_takes_too_many_rounds_is_given_up(monkeypatch):
    raw = platform([pool(sharing=LOST)])
    assert left(raw)[0]
    monkeypatch.setattr("gpuyard.spec.partial_spec._ROUNDS", 1)
    assert salvage_spec(raw) == SalvagedSpec()


def test_a_pool_stays_under_its_name_and_nobody_is_blamed_for_naming_it():
    raw = platform(
        [pool("bad", sharing=LOST), pool()],
        [
            team("a", guarantee={"bad": 1, "train": 40}),
            team("b", borrow={"bad/3g.20gb": 1}),
            team("c", lend={"bad": 1}),
        ],
        shapes=[
            shape("x", pool="bad", gpus_per_node=1),
            shape("y", gpus_per_node=99),
            shape("z", pool="train", gpus_per_node=99),
        ],
    )
    assert said(raw) == [
        ("spec.wrong_type", "pools[0].sharing.time_slicing"),
        ("shape.cannot_start", "shapes[2]"),
        ("quota.over_capacity", "teams[0].guarantee.train"),
        ("checks.waiting", "pools[0]"),
    ]


def test_the_fields_that_a_broken_pool_has_left_are_judged():
    raw = platform(
        [pool(sharing=LOST, machine="p5.48xlarg", zones=["us-east-1"], nodes=2, scaling="fixed")],
        cloud="aws",
        system=SYSTEM,
    )
    assert said(raw) == [
        ("pool.machine_unknown", "pools[0].machine"),
        ("spec.wrong_type", "pools[0].sharing.time_slicing"),
        ("pool.zone", "pools[0].zones[0]"),
    ]


def test_nothing_is_said_of_a_field_that_rests_on_a_lost_one():
    """Whether a machine supports MIG is unknown if the machine is unknown."""
    raw = platform(
        [pool(machine=[7], sharing={"mig": {"1g.5gb": 9}}, labels={"nvidia.com/x": "y"})]
    )
    assert said(raw) == [
        ("pool.label_reserved", "pools[0].labels.nvidia.com/x"),
        ("spec.wrong_type", "pools[0].machine[0]"),
    ]


def test_a_lost_part_of_anything_else_is_said_to_be_waited_for_by_its_inmost_place():
    raw = platform(
        teams=[team(isolation="vm"), team("kube-system")], budget={"max_usd_per_hour": []}
    )
    assert said(raw) == [
        ("spec.wrong_type", "budget.max_usd_per_hour"),
        ("spec.unknown_word", "teams[0].isolation"),
        ("team.reserved", "teams[1].name"),
        ("checks.waiting", "budget.max_usd_per_hour"),
        ("checks.waiting", "teams[0].isolation"),
    ]


def test_a_misspelled_machine_of_the_system_nodes_is_shown_beside_refusals():
    misspelled = {"machine": "m7i.xlrge", "nodes": 2}
    raw = platform([pool(colour="red")], cloud="aws", system=misspelled)
    assert said(raw) == [
        ("spec.unknown_field", "pools[0].colour"),
        ("system.machine_unknown", "system.machine"),
    ]


def test_what_could_be_mistaken_without_a_lost_part_is_not_said():
    raw = platform(
        teams=[team(priority="gold"), team("b", cohort="none", guarantee={"train": "x"})],
        shapes=[shape(gpus_per_node=8, pool="train")],
        priorities={"gold": "high"},
        queueing={"cohorts": 7},
    )
    ids = {kind for kind, _ in said(raw)}
    assert ids == {"spec.wrong_type", "checks.waiting"}


@every(
    ("lost", "found"),
    [
        ([], ()),
        ([("pools", 0, "sharing")], ()),
        ([("name",)], ()),
        ([("queueing", "engine")], ()),
        ([("queueing", "fair_sharing")], ("weight.",)),
        ([("teams", 3, "isolation"), ("queueing", "fair_sharing")], ("tenancy.", "weight.")),
        ([("teams", 3, "weight")], suppressed_findings([("teams", 3)])),
        ([("software", "kueue")], ("software.",)),
    ],
)
def test_what_is_silenced_follows_the_part(lost, found):
    assert suppressed_findings(lost) == found


def test_models_and_mappings_of_a_program_are_read_like_a_file():
    raw = platform()
    raw["pools"] = (pool("bad", nodes="4..1"), pool())
    raw["teams"] = [Team(name="a"), team("b", guarantee={"bad": 1}, weight={})]
    spec, lost = left(raw)
    assert [t.name for t in spec.teams] == ["a", "b"]
    assert [p.name for p in spec.pools] == ["bad", "train"]
    assert lost == {("teams", 1, "weight")}
    assert raw["teams"][1]["weight"] == {}, "what was given stays as it was"
