"""A node of a lower rung: told once, while it is new, with what of better ones was not to be had."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuyard.render.kueue.requeue import pod_failure_policy_objects, requeue_objects
from gpuyard.render.programs import SETTINGS_FILE
from gpuyard_agents.agent import read_settings
from gpuyard_agents.client import RequestRejected
from gpuyard_agents.requeue import reconcile as looking
from gpuyard_agents.requeue.decisions import fallback_nodes
from gpuyard_agents.requeue.reconcile import Settings, reconcile
from kit.every import every
from kit.stacks import plan_of, platform, pool, team

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
LADDER = [{"reserved": "cr-0123456789abcdef0", "nodes": 1}, {"spot": True, "nodes": 2}, "on-demand"]
CLOUDS = {
    "karpenter": {"cloud": "aws", "words": {"scaling": "karpenter"}},
    "eks": {"cloud": "aws", "words": {}},
    "gke": {"cloud": "gcp", "words": {"machine": "a3-highgpu-8g", "zones": ["us-central1-a"]}},
}
LABELS = {
    "karpenter": "karpenter.sh/nodepool",
    "eks": "eks.amazonaws.com/nodegroup",
    "gke": "cloud.google.com/gke-nodepool",
}


def planned(how="karpenter", capacity=None):
    place = CLOUDS[how]
    rungs = capacity or (LADDER if place["cloud"] == "aws" else LADDER[1:])
    words = {"nodes": "0..4", "zones": ["us-east-1a"], "capacity": rungs, **place["words"]}
    return plan_of(platform([pool(**words)], [team(guarantee={"train": 8})], cloud=place["cloud"]))


def settings_in(objects):
    found = next(o for o in objects if SETTINGS_FILE in o.get("data", {}))
    return read_settings(Settings, found["data"][SETTINGS_FILE])


def settings_of(how="karpenter", capacity=None):
    return settings_in(requeue_objects(planned(how, capacity)))


def node(name, rung, minutes=1, label="karpenter.sh/nodepool"):
    made = (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"gpuyard.dev/pool": "train", label: rung}
    return {
        "metadata": {"name": name, "uid": f"u-{name}", "labels": labels, "creationTimestamp": made},
        "spec": {},
    }


SPOT, DEMAND, HELD = "train-spot", "train-on-demand", "train-reserved-cr-0123456789abcdef0"


@every(
    ("nodes", "told"),
    [
        ([node("a", HELD)], []),
        ([node("a", SPOT)], ["a: spot, 0 of 1 reserved cr-0123456789abcdef0"]),
        ([node("a", HELD), node("b", SPOT)], []),
        (
            [node("a", HELD), node("b", SPOT), node("c", DEMAND)],
            ["c: on-demand, 1 of 2 spot"],
        ),
        (
            [node("c", DEMAND)],
            ["c: on-demand, 0 of 1 reserved cr-0123456789abcdef0 and 0 of 2 spot"],
        ),
        ([node("a", HELD), node("b", SPOT), node("c", SPOT), node("d", DEMAND)], []),
        # what came before is no news; a node of somebody else is of no rung
        ([node("c", DEMAND, minutes=6)], []),
        ([node("x", "other")], []),
        ([{"metadata": {"name": "bare"}, "spec": {}}], []),
    ],
)
def test_a_node_of_a_lower_rung_is_told_while_a_better_one_is_not_full(nodes, told):
    (ladder,) = settings_of().pool_options
    found = [(each["metadata"]["name"], says) for each, says in fallback_nodes(nodes, ladder, NOW)]
    assert [name for name, _ in found] == [each.partition(":")[0] for each in told]
    for (_, says), each in zip(found, told, strict=True):
        bought, _, lacks = each.partition(": ")[2].partition(", ")
        assert (
            says
            == f"The node uses capacity option {bought}: pool train has {lacks} nodes, and no more were available."
        )


@pytest.mark.parametrize("how", CLOUDS)
def test_each_cloud_says_in_its_own_label_which_rung_a_node_is_of(how):
    (ladder,) = settings_of(how).pool_options
    assert (ladder.pool, ladder.label) == ("train", LABELS[how])
    assert [each.description for each in ladder.options][-2:] == ["spot", "on-demand"]
    (name,) = ladder.options[-1].names
    (told,) = fallback_nodes([node("a", name, label=ladder.label)], ladder, NOW)
    assert "0 of 2 spot" in told[1]


def test_what_is_bought_in_one_way_has_no_ladder():
    assert settings_of(capacity=["spot"]).pool_options == ()
    assert planned("eks", ["on-demand"]).interruption is None
    raw = platform([pool(capacity=LADDER[1:], nodes=2)], [team(guarantee={"train": 8})])
    plan = plan_of({**raw, "cloud": "simulated"})
    assert settings_in(requeue_objects(plan)).pool_options == plan.interruption.fallback_pools == ()


STEADY = [LADDER[0], "on-demand"]
"""No node of it goes while jobs run."""


def test_a_ladder_of_which_no_node_goes_is_told_of_too_and_no_workload_touched():
    """By node groups: beside Karpenter, whom AWS tells, nodes go all the same."""
    plan = planned("eks", STEADY)
    objects = requeue_objects(plan)
    settings = settings_in(objects)
    assert (settings.selectors, settings.flavors, settings.namespaces) == ((), (), ())
    (ladder,) = settings.pool_options
    (told,) = fallback_nodes(
        [node("a", ladder.options[-1].names[0], label=ladder.label)], ladder, NOW
    )
    assert told[1].startswith(
        "The node uses capacity option on-demand: pool train has 0 of 1 reserved"
    )
    rights = [rule for each in objects for rule in each.get("rules", ())]
    assert sorted((*rule["resources"], *rule["verbs"]) for rule in rights) == [
        ("events", "create"),
        ("nodes", "list"),
    ]
    assert not any(each["kind"].startswith("Validating") for each in objects)
    assert pod_failure_policy_objects(plan) == []
    assert pod_failure_policy_objects(planned("eks")) != []


@pytest.mark.parametrize("capacity", [None, STEADY], ids=["nodes go", "none goes"])
def test_the_rungs_that_are_told_of_are_those_of_the_plan(capacity):
    for how in ("karpenter", "eks"):
        plan = planned(how, capacity)
        told = [each.pool for each in settings_in(requeue_objects(plan)).pool_options]
        assert tuple(told) == plan.interruption.fallback_pools == ("train",)


class Server:
    """A cluster of these nodes, and no gangs."""

    def __init__(self, *nodes, refuses=0):
        self.nodes, self.refuses, self.events = nodes, refuses, []

    def request_json(self, method, path, body=None, _kind="", *, accept=""):
        if method == "POST":
            assert path == "/api/v1/namespaces/default/events"
            if self.refuses:
                raise RequestRejected(self.refuses, "no")
            self.events.append(body)
            return {}
        return {"items": list(self.nodes) if "/nodes" in path else [], "metadata": {}}


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr(looking, "_REPORTED", set())

    class Clock(datetime):
        @classmethod
        def now(cls, _zone=None):
            return NOW

    monkeypatch.setattr(looking, "datetime", Clock)


@pytest.mark.usefixtures("told")
def test_an_event_of_the_node_says_it_once():
    server, said = Server(node("c", DEMAND)), []
    for _ in range(3):
        assert reconcile(server, settings_of(), said.append) == 0
    (event,) = server.events
    assert '"reason": "CapacityFallback"' in event
    assert '"type": "Warning"' in event
    assert '"uid": "u-c"' in event
    assert said[0].startswith("c: CapacityFallback: The node uses capacity option on-demand")


@pytest.mark.usefixtures("told")
def test_nodes_are_asked_for_once_a_look_and_also_where_none_goes():
    for settings in (settings_of(), settings_of("eks", STEADY)):
        asked = []

        class Asked(Server):
            def request_json(self, method, path, body=None, kind="", *, accept=""):
                asked.append(path)  # noqa: B023  used before the next
                return super().request_json(method, path, body, kind)

        (ladder,) = settings.pool_options
        lowest = node("c", ladder.options[-1].names[0], label=ladder.label)
        server = Asked(lowest)
        looking._REPORTED.clear()
        reconcile(server, settings, lambda _: None)
        assert len(server.events) == 1
        assert sum("/nodes" in path for path in asked) == 1


@pytest.mark.usefixtures("told")
def test_what_was_told_before_the_program_began_is_not_told_again_and_a_refusal_is_said():
    settings = settings_of()
    there, said = Server(node("c", DEMAND), refuses=409), []
    reconcile(there, settings, said.append)
    there.refuses = 0
    reconcile(there, settings, said.append)
    assert (there.events, said) == ([], [])
    refused = Server(node("d", DEMAND), refuses=403)
    reconcile(refused, settings, said.append)
    assert said == ["d: event not recorded: 403: no"]
    refused.refuses = 0
    reconcile(refused, settings, said.append)
    assert len(refused.events) == 1


@pytest.mark.usefixtures("told")
def test_a_node_that_is_gone_is_kept_in_mind_no_longer():
    """Years of spot nodes must not fill the program's memory."""
    settings, nodes = settings_of(), Server(node("c", DEMAND))
    reconcile(nodes, settings, print)
    assert sorted(looking._REPORTED) == ["u-c"]
    nodes.nodes = (node("d", DEMAND),)
    reconcile(nodes, settings, print)
    assert sorted(looking._REPORTED) == ["u-d"]
