"""Any pool that a plan takes is a graph that AWS takes, that keeps our rules, and that adds up."""

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
from testbed.plugins.cloud.checking import refusals

from gpuyard.plan import plan
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.aws.pools import group_sizes, node_group_pools
from gpuyard.render.cloud.graph import CloudGraph, CloudResource, late_value_names
from gpuyard_core.catalogue.fabric import efa_interfaces_to_launch
from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine
from gpuyard_core.catalogue.software.images import images_of
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource
from gpuyard_lint.rules.run import FindingState, RuleConfiguration, evaluate
from kit.clouds.node_groups import GROUP, PLACEMENT, TAG, TEMPLATE, ZONES, aws, graph_of
from kit.searches import examples
from kit.stacks import Raw, pool, spec_of

SOLD = [m for m in MACHINES.values() if m.cloud == "aws" and m.is_gpu_machine]
IMAGES = [None, *(image.name for image in images_of("aws"))]
AREAS = ("GPU-AWS-", "GPU-CAP-", "GPU-NET-", "GPU-STK-")
NUMBERS = range(examples(160))


# ── made-up platforms ─────────────────────────────────────────────────────────────────────────────
def alike(machine: Machine) -> list[str]:
    """Machines that may stand in one pool with this one."""
    kind = (machine.gpu, machine.gpus, machine.gpu_fraction, machine.arch, machine.sold)
    return [m.name for m in SOLD if (m.gpu, m.gpus, m.gpu_fraction, m.arch, m.sold) == kind]


def made_up(number: int) -> Raw:
    """A pool of every machine in turn, bought, shared and imaged somehow."""
    rng = random.Random(f"pool {number}")  # noqa: S311  no secret is made of it
    machine = SOLD[number % len(SOLD)]
    held = rng.choice([2, 4]) if not machine.name.startswith("p6e") else 9
    ladder = [rung(mode, held, rng) for mode in sorted(machine.sold) if rng.random() < 0.6]
    rng.shuffle(ladder)
    ladder = ladder or [rung(rng.choice(sorted(machine.sold)), held, rng)]
    high = max(8, *(r["nodes"] for r in ladder if isinstance(r, dict)), sum_held(ladder))
    if all(isinstance(r, dict) for r in ladder):
        high = sum(r["nodes"] for r in ladder)
    low = rng.choice([0, 1, high])
    types = alike(machine)
    one = pool(
        machine=rng.sample(types, k=min(len(types), rng.choice([1, 1, 2]))),
        nodes=f"{low}..{high}",
        capacity=ladder,
        scaling="fixed" if low == high else "autoscaler",
        zones=["us-east-1a"] if sum_held(ladder) or rng.random() < 0.5 else [],
        sharing=rng.choice(["none", "none", {"time_slicing": 4}, {"mps": 4}, "dra", cut(machine)]),
    )
    chosen = {"image": rng.choice(IMAGES), "numa": rng.choice([None, "none", "restricted"])}
    chosen |= {"disk_gib": rng.choice([None, 500])}
    return aws(
        [{**one, **{key: value for key, value in chosen.items() if value}}],
        kubernetes=rng.choice(["1.34", "1.35", "1.36"]),
    )


def rung(mode: Capacity, held: int, rng: random.Random) -> Any:
    if mode in {Capacity.RESERVED, Capacity.BLOCK}:
        return {mode.value: f"cr-{mode.value[:3]}0123456789abc", "nodes": held}
    return mode.value if rng.random() < 0.7 else {mode.value: True, "nodes": held}


def sum_held(ladder: list[Any]) -> int:
    return sum(r["nodes"] for r in ladder if isinstance(r, dict) and {"reserved", "block"} & set(r))


def cut(machine: Machine) -> Any:
    if machine.gpu is None or not machine.gpu.mig:
        return "none"
    return {"mig": {"1g.10gb": 7}} if machine.gpu.name == "H100" else {"mig": {"1g.5gb": 7}}


@lru_cache
def accepted() -> list[tuple[PlatformPlan, CloudGraph]]:
    """Those that a plan takes; the others it has refused with a finding that says why not."""
    plans = []
    for number in NUMBERS:
        made, findings = plan(spec_of(made_up(number)))
        assert made is not None or findings, number
        plans += [made] if made else []
    return [(made, graph_of(made)) for made in plans]


def pools() -> Iterator[tuple[PoolPlan, CloudGraph]]:
    for made, graph in accepted():
        for one in node_group_pools(made):
            yield one, graph


def groups(one: PoolPlan, graph: CloudGraph) -> list[CloudResource]:
    return [each for each in graph.resources_of_kind(GROUP) if each.part == one.stable_name]


def template_of(group: CloudResource, graph: CloudGraph) -> CloudResource:
    name = next(late_value_names(group.inputs["launchTemplate"])).partition(".")[0]
    return graph.resource(name)


# ── what holds for all ────────────────────────────────────────────────────────────────────────────
@pytest.mark.repeats("tests/render/aws and tests/plan")
def test_most_are_taken_and_every_kind_is_among_them():
    taken = [one for one, _ in pools()]
    assert len(taken) > len(NUMBERS) / 2
    assert {one.sharing.value for one in taken} >= {"none", "time-slicing", "mps", "mig", "dra"}
    assert {rung.mode for one in taken for rung in one.capacity_options} == {
        "reserved",
        "block",
        "spot",
        "on-demand",
    }
    assert {one.node_software.image for one in taken if one.node_software} == {*IMAGES} - {None}


@pytest.mark.repeats("tests/render/cloud/test_graph.py")
def test_aws_refuses_nothing_of_them():
    for _, graph in accepted():
        for each in graph.resources[1:]:
            assert refusals(each.kind, each.inputs) == [], each.name


def unknown(value: Any) -> Any:
    """Plain values, and the preview's unknown where one is late."""
    if isinstance(value, dict):
        return {key: unknown(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [unknown(each) for each in value]
    return UNKNOWN if list(late_value_names(value)) else value


TAGGED = RuleConfiguration(parameters={"GPU-CAP-06": {"tags": ("owner", "cost-center")}})


def test_no_rule_of_ours_finds_anything_in_them():
    rules = [rule for rule in RULES if rule.id.startswith(AREAS)]
    judged = set()
    for made, graph in accepted():
        resources = []
        for each in graph.resources[1:]:
            module, _, type_ = each.kind.rpartition(":")
            kind = f"{module.rpartition('/')[0]}/{type_}"
            resources.append(Resource(kind, each.name, unknown(dict(each.inputs)), each.protect))
        found = evaluate(resources, rules, TAGGED)
        judged |= {rule.id for rule in rules if any(map(rule.applies_to, resources))}
        said = {(each.rule.id, each.state) for each in found}
        if {rung.mode for one in made.pools for rung in one.capacity_options} <= {"spot", "block"}:
            said -= {("GPU-CAP-03", FindingState.OPEN)}  # the stack file wants no fallback
        assert said == set(), made.pools[0]
    assert {"GPU-AWS-04", "GPU-AWS-08", "GPU-AWS-09", "GPU-CAP-01", "GPU-CAP-06"} <= judged


def test_every_efa_that_all_machines_of_a_pool_have_is_there():
    seen = set()
    for one, graph in pools():
        wanted = [efa_interfaces_to_launch(MACHINES[name]) for name in one.machines]
        fewest = min(sum(i.kind.startswith("efa") for i in each) for each in wanted)
        for group in groups(one, graph):
            found = template_of(group, graph).inputs.get("networkInterfaces", ())
            efas = [i for i in found if i["interfaceType"].startswith("efa")]
            assert len(efas) == fewest, one.machines
            assert len({(i["networkCardIndex"], i["deviceIndex"]) for i in found}) == len(found)
            assert sum(i["interfaceType"] != "efa-only" for i in found) == bool(found)
            seen.add(len(efas))
    assert {0, 1, 4, 8, 16, 32} <= seen


def test_a_placement_group_never_stands_beside_a_reservation():
    seen = set()
    for one, graph in pools():
        for group in groups(one, graph):
            said = template_of(group, graph).inputs
            held = "capacityReservationTarget" in said["capacityReservationSpecification"]
            assert not (held and "placement" in said)
            seen.add((held, "placement" in said))
        close = [
            each for each in graph.resources_of_kind(PLACEMENT) if each.part == one.stable_name
        ]
        assert len(close) == any(rung.placement == "cluster" for rung in one.capacity_options)
        if close:
            assert len(one.zones) == 1
    assert seen == {(False, False), (False, True), (True, False)}


def test_what_always_runs_and_what_may_run_are_the_pools_own():
    for one, graph in pools():
        sizes = [each.inputs["scalingConfig"] for each in groups(one, graph)]
        for size in sizes:
            assert 0 <= size["minSize"] <= size["desiredSize"] <= size["maxSize"] <= one.nodes.high
            assert size["maxSize"] >= 1
        blocks = any(rung.mode == "block" for rung in one.capacity_options)
        low, start = (sum(size[key] for size in sizes) for key in ("minSize", "desiredSize"))
        assert low <= one.nodes.low
        assert start <= one.start_nodes
        assert blocks or (low, start) == (one.nodes.low, one.start_nodes)
        assert sum(size["maxSize"] for size in sizes) >= one.nodes.high
        if len(sizes) == 1:
            assert sizes[0]["maxSize"] == one.nodes.high


@pytest.mark.repeats("tests/render/aws and tests/plan")
def test_a_rung_more_replaces_no_group():
    for number in NUMBERS[:: max(1, len(NUMBERS) // 40)]:
        raw = made_up(number)
        ladder = raw["pools"][0]["capacity"]
        made, _ = plan(spec_of(raw))
        if made is None or len(ladder) < 2:
            continue
        whole = graph_of(made)
        for at in range(len(ladder)):
            rest = [*ladder[:at], *ladder[at + 1 :]]
            fewer, _ = plan(spec_of({**raw, "pools": [{**raw["pools"][0], "capacity": rest}]}))
            if fewer is None:
                continue
            for each in graph_of(fewer).resources[1:]:
                if each.kind in {GROUP, TEMPLATE, TAG}:
                    assert replaced_by(each) == replaced_by(whole.resource(each.name)), each.name


def replaced_by(each: CloudResource) -> Any:
    """What a provider makes a resource anew for when it changes."""
    own = {"amiType", "capacityType", "instanceTypes", "subnetIds", "nodeGroupName", "nodeRoleArn"}
    return each.kind, {key: each.inputs[key] for key in own & each.inputs.keys()}


def test_each_way_of_buying_has_its_group():
    for one, graph in pools():
        assert len(groups(one, graph)) == len(group_sizes(one))
        assert {rung.mode for rung in one.capacity_options} == {
            s.option.mode for s in group_sizes(one)
        }


def test_nodes_stand_in_zones_of_the_pool_only():
    for one, graph in pools():
        wanted = {f"cluster.{zone}" for zone in one.zones or ZONES}
        for group in groups(one, graph):
            assert set(late_value_names(group.inputs["subnetIds"])) == wanted
