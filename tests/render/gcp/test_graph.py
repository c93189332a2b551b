"""The whole graph at Google: golden for three stacks, and nothing that its provider or our rules refuse."""

import json
from functools import cache
from random import Random

import pytest
from testbed.plugins.cloud.checking import refusals

import sizes
from gpuyard.plan import plan as judged
from gpuyard.plan import plan_or_raise
from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.cloud.graph import resolve_values
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.platform import platform_objects
from gpuyard.spec.read import read_stack_file
from gpuyard_core.catalogue.fabric import GPUDIRECT
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from gpuyard_core.names import GPU
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.embedded_values import with_embedded
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.pulumi import pulumi_resource
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN
from gpuyard_lint.rules.run import FindingState, evaluate
from kit.every import every
from kit.stacks import platform, spec_of

HERE = sizes.ROOT / "tests" / "render" / "gcp"
STACKS = ("gke-h200", "gb200-dra", "notebooks")
POOL = "gcp:container/nodePool:NodePool"
OWNED = {"tags": {"owner": "ml-platform", "cost-center": "4711"}}
LATE = "late-value"
NOWHERE = FileLocation("", Document(None, {}))


@cache
def stack(name):
    path = sizes.ROOT / "tests" / "golden_stacks" / f"{name}.yaml"
    return plan_or_raise(read_stack_file(path.read_bytes(), name).spec)


def as_text(graph):
    """One object a resource, late values as `${name.output}`."""

    def row(each, fields):
        given = {field: getattr(each, field) for field in fields}
        return {key: value for key, value in given.items() if value not in ((), "", False)}

    def shown(value):
        return resolve_values(value, lambda name: f"${{{name}}}")

    resources = [
        row(each, ("name", "kind", "part", "after", "protect", "ignores", "delete_first"))
        | {"inputs": shown(dict(each.inputs))}
        for each in graph.resources
    ]
    calls = [
        row(each, ("name", "kind", "outputs")) | {"args": shown(dict(each.args))}
        for each in graph.calls
    ]
    return json.dumps({"calls": calls, "resources": resources}, indent=1) + "\n"


def judged_by_rules(graph, late, beside=()):
    """What our rules say of a graph whose late values are these, and of objects beside it."""
    resources = [
        pulumi_resource(
            each.kind,
            each.name,
            settled(dict(each.inputs), late),
            protected=each.protect,
        )
        for each in graph.resources
    ]
    outcomes = evaluate([*resources, *beside], RULES)
    return {(o.rule.id, o.resource.name if o.resource else "", o.state) for o in outcomes}


def settled(value, late):
    plain = resolve_values(value, lambda _: LATE)
    return known(plain) if late is UNKNOWN else plain


def known(value):
    if isinstance(value, dict):
        return {key: known(each) for key, each in value.items()}
    if isinstance(value, list):
        return [known(each) for each in value]
    return UNKNOWN if isinstance(value, str) and LATE in value else value


@pytest.mark.parametrize("name", STACKS)
def test_the_graph_of_a_stack_is_the_golden_one(name, golden):
    golden(HERE / "golden" / f"{name}.json", as_text(gcp_graph(stack(name))))


@pytest.mark.parametrize("name", STACKS)
def test_its_provider_refuses_nothing_of_a_stack(name):
    graph = gcp_graph(stack(name))
    assert {r.name: found for r in graph.resources if (found := refusals(r.kind, r.inputs))} == {}


@pytest.mark.parametrize("name", STACKS)
def test_our_rules_find_nothing_in_a_stack_that_says_who_pays(name):
    graph = gcp_graph(plan_or_raise(stack(name).spec.model_copy(update=OWNED)))
    assert judged_by_rules(graph, LATE) == set()
    verdicts = {verdict for _, _, verdict in judged_by_rules(graph, UNKNOWN)}
    assert verdicts <= {FindingState.NOT_EVALUATED}


# ── properties ────────────────────────────────────────────────────────────────────────────────────
SHARINGS = ("none", {"time_slicing": 4}, {"mps": 4}, "dra")
IMAGES = ("cos", "cos-gke", "ubuntu-gke", None)
ZONES = (["us-central1-a"], ["us-central1-a"], [], ["us-central1-a", "us-central1-b"])
HELD = {Capacity.RESERVED, Capacity.BLOCK}
SOME_OF_N1 = ("n1-standard-4+1xt4", "n1-standard-96+4xp100", "n1-standard-32+8xv100")
"""They differ in how many GPUs of a kind are added, and in nothing that a node pool says."""
GPU_MACHINES = [
    name
    for name, machine in MACHINES.items()
    if machine.cloud == "gcp" and machine.gpu and ("+" not in name or name in SOME_OF_N1)
]


def ladder(rng, machine):
    sold = [c for c in Capacity if c in MACHINES[machine].sold]
    picked = rng.sample(sold, k=rng.randint(1, min(2, len(sold))))
    held = len(HELD.intersection(picked))
    rungs = [
        {mode.value: f"res-{mode.value}", "nodes": 4 // held} if mode in HELD else mode.value
        for mode in picked
    ]
    return sorted(rungs, key=lambda rung: isinstance(rung, str))


def made_up(machine, rng):
    """A platform of one machine, bought, shared and booted in some way; most are taken."""
    raw = {
        "name": "train",
        "machine": machine,
        "nodes": rng.choice(["0..4", "2..4", 4, "1..4"]),
        "zones": rng.choice(ZONES),
        "capacity": ladder(rng, machine),
        "sharing": rng.choice(SHARINGS),
        "image": rng.choice(IMAGES),
        "numa": rng.choice(["restricted", "best-effort", None]),
    }
    if raw["capacity"] == ["flex-start"]:
        raw |= {"provisioning": rng.choice(["queued", "atomic"]), "nodes": "0..4"}
    if any(isinstance(rung, dict) for rung in raw["capacity"]):
        raw["zones"] = ZONES[0]
    without = {None, "none"}
    kept = {k: v for k, v in raw.items() if not isinstance(v, str | None) or v not in without}
    return judged(spec_of(platform([kept], cloud="gcp", kubernetes="1.35", **OWNED)))[0]


@cache
def cases():
    """One platform at least of every machine."""
    rng = Random(15)  # noqa: S311  no secret is made of it
    return [
        next(found for _ in range(40) if (found := made_up(machine, rng)))
        for machine in GPU_MACHINES
    ]


def node_pools(plan):
    graph = gcp_graph(plan)
    return [r.inputs for r in graph.of_part(plan.pools[0].stable_name) if r.kind == POOL]


@pytest.mark.repeats("the others of this file and tests/plan/test_stages.py")
def test_no_machine_bought_shared_and_booted_in_any_way_is_refused():
    refused = {}
    for plan in cases():
        for each in gcp_graph(plan).resources:
            if found := refusals(each.kind, each.inputs):
                refused[plan.pools[0].machine.name, each.name] = found
    assert refused == {}


def test_our_rules_find_only_what_a_platform_itself_asks_for():
    for plan in cases():
        one = plan.pools[0]
        # no secure boot where nothing is virtual; a driver that the operator compiles is no finding
        asked = {"GPU-GCP-03"} if one.machine.name.endswith("-metal") else set()
        if {rung.mode for rung in one.capacity_options} == {"spot"}:
            asked |= {"GPU-CAP-03"}
        found = judged_by_rules(gcp_graph(plan), LATE)
        assert {rule for rule, _, _ in found} == asked, one.machine.name


@pytest.mark.repeats("the others of this file and tests/render/gcp/test_pools.py")
def test_nodes_have_the_networks_that_the_catalogue_says():
    for plan in cases():
        one = plan.pools[0]
        direct = GPUDIRECT.get(one.machine.name)
        reachable = direct and (direct.profile is None or len(one.zones) == 1)
        wanted = (direct.device_networks or 0) + direct.host_networks if reachable else 0
        for each in node_pools(plan):
            given = each["networkConfig"].get("additionalNodeNetworkConfigs", [])
            assert len(given) == wanted, one.machine.name


@pytest.mark.repeats("the others of this file and tests/render/gcp/test_pools.py")
def test_rungs_have_room_for_the_pool_and_keep_the_nodes_that_always_run():
    for plan in cases():
        one = plan.pools[0]
        pools = node_pools(plan)
        scaled = [each["autoscaling"] for each in pools if "autoscaling" in each]
        fixed = sum(each["nodeCount"] for each in pools if "nodeCount" in each)
        assert fixed + sum(s["totalMinNodeCount"] for s in scaled) == one.start_nodes, (
            one.machine.name
        )
        assert fixed + sum(s["totalMaxNodeCount"] for s in scaled) >= one.nodes.high, (
            one.machine.name
        )
        assert all(s["totalMaxNodeCount"] <= one.nodes.high for s in scaled), one.machine.name


@pytest.mark.repeats("the others of this file and tests/render/gcp/test_pools.py")
def test_every_gpu_node_is_tainted_in_the_spelling_of_the_api():
    for plan in cases():
        for each in node_pools(plan):
            taint = {"key": GPU, "value": "present", "effect": "NO_SCHEDULE"}
            assert taint in each["nodeConfig"]["taints"]


def test_the_same_plan_gives_the_same_graph():
    assert as_text(gcp_graph(stack("gke-h200"))) == as_text(gcp_graph(stack("gke-h200")))


# ── GPUs that GKE shares ──────────────────────────────────────────────────────────────────────────
def both_teams(sharing):
    """One team with whole GPUs, and one with what GKE cuts or shares."""
    zones = {"zones": ["us-central1-a"], "nodes": 2}
    pools = [
        {"name": "train", "machine": "a2-highgpu-8g", **zones},
        {
            "name": "dev",
            "machine": "a2-highgpu-8g",
            "image": "cos-gke",
            "sharing": sharing,
            **zones,
        },
    ]
    apart = {"isolation": "slice"}
    teams = [
        {"name": "vision", "guarantee": {"train": 8}, **apart},
        {"name": "speech", "guarantee": {"dev": 8}, **apart},
    ]
    return plan_or_raise(spec_of(platform(pools, teams, cloud="gcp", **OWNED)))


@every("sharing", [{"time_slicing": 4}, {"mps": 2}, {"mig": {"1g.5gb": 7}}])
def test_a_whole_platform_with_gpus_that_gke_shares_is_taken_and_keeps_every_rule(sharing):
    plan = both_teams(sharing)
    graph = gcp_graph(plan)
    assert [found for r in graph.resources if (found := refusals(r.kind, r.inputs))] == []
    objects = [resolve_outputs(obj, lambda _: LATE) for obj in platform_objects(plan)]
    items = [each for obj in objects for each in with_embedded(Item(resource(obj), NOWHERE))]
    beside = [each.resource for each in items]
    assert judged_by_rules(graph, LATE, beside) == set()
