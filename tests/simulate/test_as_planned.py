"""Node agents make of what is rendered exactly what the plan says: golden stacks, and hundreds at random.

The agents see labels of a node, the policy and its ConfigMaps, and never the plan. The policy is the one that
the chart makes of our values, or on a simulated cluster the one that is rendered.
"""

import random
from dataclasses import replace
from functools import lru_cache

import pytest

from gpuyard.plan import plan as judge
from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.gpu_operator.values import operator_values
from gpuyard.render.nodes import fake_node_objects
from gpuyard.render.platform import platform_objects
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.images import ComponentOwner, SoftwarePart
from gpuyard_simulate.agents.gpu_operator import NAMESPACE, Operator, read_operator
from gpuyard_simulate.agents.node import changes
from kit.generated import platforms
from kit.stacks import plan_of as planned_of
from kit.stacks import platform, shared_pool, spec_of
from render.test_golden import PLANNED, stack

RANDOM = 200
CUTS = {
    "p4d.24xlarge": ["1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"],
    "p5.48xlarge": ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"],
}
SOLD = [*CUTS, "g6.12xlarge"]


def mixed(number):
    """A cluster of two to four pools, each shared in a way of its own; it may be refused."""
    rng = random.Random(f"as planned {number}")  # noqa: S311  no secret is made of it

    def counts(machine):
        picked = rng.sample(CUTS[machine], rng.randint(1, 3))
        return {profile: rng.randint(1, 3) for profile in picked}

    def sharing(machine):
        turns = rng.randint(2, 12)
        ways = ["none", {"time_slicing": turns}, {"mps": turns}]
        if machine in CUTS:
            groups = [{"gpus": gpus, **counts(machine)} for gpus in ("0-3", "4-7")]
            ways += [
                {"mig": counts(machine)},
                {"mig": groups},
                {"mig": groups[:1]},
                {"mig": counts(machine), "time_slicing": turns},
            ]
        return rng.choice(ways)

    pools = []
    for index in range(rng.randint(2, 4)):
        machine = rng.choice(SOLD)
        one = {"name": f"p{index}", "machine": machine, "nodes": 1, "sharing": sharing(machine)}
        pools.append(one)
    return platform(pools, cloud=rng.choice(["none", "simulated"]))


@lru_cache
def random_plans():
    """The first two hundred of them that are not refused."""
    found = []
    for number in range(20 * RANDOM):
        planned, _ = judge(spec_of(mixed(number)))
        if planned is not None:
            found.append((f"mixed {number}", planned))
        if len(found) == RANDOM:
            break
    return found


def made_up():
    known = ((f"known {n}", platforms.known(n)[0]) for n in platforms.KNOWN)
    return [(name, planned) for name, planned in known if planned is not None]


def policy_of(planned, objects):
    """The ClusterPolicy of this platform; None where GPUs are claimed, or none is ours."""
    (rendered,) = [o for o in objects if o["kind"] == "ClusterPolicy"] or [None]
    parts = planned.operator
    if rendered is not None or parts is None or parts.claims:
        return rendered
    values = operator_values(planned, parts)
    return {
        "spec": {
            word: values[word]
            for word in ("mig", "driver", "devicePlugin", "migManager", "daemonsets")
        }
    }


def operator_of(planned) -> Operator | None:
    objects = [resolve_outputs(o, lambda _: "later") for o in platform_objects(planned)]
    maps = {
        o["metadata"]["name"]: o["data"]
        for o in objects
        if o["kind"] == "ConfigMap" and o["metadata"].get("namespace") == NAMESPACE
    }
    return read_operator(policy_of(planned, objects), maps)


def settled(node, operator):
    """What the node has in the end, and what the agents complained of."""
    told = []
    for _ in range(12):
        found = changes(node, operator, lambda: 0)
        told += [event.message for event in found.events]
        if not found.metadata and not found.status:
            return node["status"].get("allocatable", {}), told
        for section, patch in ((node["metadata"], found.metadata), (node["status"], found.status)):
            for name, change in patch.items():
                merged = {**section.get(name, {}), **change}
                section[name] = {key: value for key, value in merged.items() if value is not None}
    pytest.fail(f"never settles: {node}")


def pools_of(planned):
    """Those whose devices the operator's own device plugin tells of, on machines that fakes know."""
    for pool in planned.pools:
        software = pool.node_software
        by = (
            software.owners[SoftwarePart.DEVICE_PLUGIN.value]
            if software
            else ComponentOwner.OPERATOR.value
        )
        known = pool.machine.name in MACHINES
        if (
            known
            and pool.start_nodes
            and by == ComponentOwner.OPERATOR.value
            and not planned.queueing.dispatch
        ):
            yield pool


def differences(name, planned):
    operator = operator_of(planned)
    for pool in pools_of(planned):
        node = {**fake_node_objects(planned, pool)[0], "status": {}}
        node["metadata"] = {**node["metadata"], "labels": dict(node["metadata"]["labels"])}
        has, told = settled(node, operator)
        devices = {key: count for key, count in has.items() if key.startswith("nvidia.com/")}
        wanted = {a.resource: str(a.per_node) for a in pool.advertised if pool.dra is None}
        if (devices, told) != (wanted, []):
            yield f"{name}, pool {pool.name}: {devices} and not {wanted}; {told}"


@pytest.mark.parametrize("name", PLANNED)
def test_nodes_of_a_golden_stack_are_what_the_plan_says(name):
    assert list(differences(name, stack(name))) == []


def test_nodes_of_two_hundred_random_clusters_are_what_the_plan_says():
    found = random_plans()
    assert len(found) == RANDOM
    ways = {pool.sharing for _, planned in found for pool in planned.pools}
    cut = [pool for _, planned in found for pool in planned.pools if pool.mig_config]
    assert len(ways) >= 4
    assert len(cut) > RANDOM / 4
    assert [text for name, planned in found for text in differences(name, planned)] == []


def test_nodes_of_made_up_platforms_are_what_the_plan_says():
    found = made_up()
    assert len(found) > 30
    assert [text for name, planned in found for text in differences(name, planned)] == []


def test_a_wrong_configuration_would_be_seen():
    """What a guide writes kills the agents, and the property says so."""
    (name, planned) = next(
        (name, planned)
        for name, planned in random_plans()
        if any(pool.mig_config for pool in planned.pools)
    )
    node = {**fake_node_objects(planned, planned.pools[0])[0], "status": {}}
    operator = operator_of(planned)
    assert operator is not None
    _, told = settled(node, replace(operator, plugin=type(operator.plugin)("x")))
    assert told, name


def test_a_forgotten_toleration_would_be_seen():
    planned = planned_of(platform([shared_pool()]))
    (one,) = planned.pools
    operator = operator_of(planned)
    for bears, has in (((), {}), (operator.tolerations, {"nvidia.com/gpu.shared": "16"})):
        node = {**fake_node_objects(planned, one)[0], "status": {}}
        found, _ = settled(node, replace(operator, tolerations=bears))
        assert {k: v for k, v in found.items() if k.startswith("nvidia.com/")} == has
