"""Drivers by pools, beside an operator that does as the real one does."""

import asyncio
import itertools
from types import SimpleNamespace

import pulumi
import pytest

from gpuyard.resources.gpu_operator import driver_rollout
from gpuyard.resources.gpu_operator.driver_rollout import (
    DriverRollout,
    DriverRolloutError,
    finish_rollout,
    pause_rollout,
    release_and_retry_nodes,
    resume_rollout,
    wait_for_driver,
)
from gpuyard_core.names import (
    DRIVER_VERSION_LABEL,
    DRIVER_WAITS_LABEL,
    PODSET_LABEL,
    POOL_LABEL,
    SKIP_UPGRADE_LABEL,
    UPGRADE_LABEL,
)
from gpuyard_simulate.drivers.upgrading import BROKEN, POD, failure_reason
from kit.drivers import NEW, OLD, OURS, gpu_node, look
from kit.stacks import plan_of, platform, pool, shared_pool

PLAN = plan_of(
    platform([pool(nodes=2), shared_pool(nodes=2)], cloud="simulated", software={"driver": NEW})
)
BEFORE = plan_of(
    platform([pool(nodes=2), shared_pool(nodes=2)], cloud="simulated", software={"driver": OLD})
)
DEV, TRAIN = PLAN.pool("dev"), PLAN.pool("train")
EXCHANGE = DriverRollout({"dev": OLD, "train": OLD}, ("train",))


class World:
    """A cluster as kubectl shows it: with each look its operator looks once, too."""

    command = staticmethod(lambda *what: " ".join(("kubectl", *what)))

    def __init__(self, version=NEW):
        self.version, self.told_after = version, 0
        self.nodes, self.pods = {}, {}
        for name in ("dev-0", "dev-1", "train-0", "train-1"):
            labels = {POOL_LABEL: name.partition("-")[0], DRIVER_VERSION_LABEL: OLD}
            self.nodes[name] = gpu_node(labels=labels)
            self.nodes[name]["metadata"]["name"] = name
        self.blind, self.deaf, self.logs, self.events = False, "", None, []
        self.emptied, self.calls = set(), []

    def labels(self, name):
        return self.nodes[name]["metadata"]["labels"]

    def breaks(self, name, version=NEW):
        self.nodes[name]["metadata"]["annotations"][BROKEN] = f"{version}: no symbol version"

    def look(self):
        """Of the operator; its DaemonSet has the version that it was told some looks ago."""
        self.told_after -= 1
        known = self.version if self.told_after < 0 else OLD if self.version == NEW else NEW
        found = look(self.nodes, OURS, known, self.pods)
        self.emptied |= {name for name, step in found.items() if step.is_cordoned}
        for name in found:
            if not failure_reason(self.nodes[name]):
                runs = self.nodes[name]["metadata"]["annotations"][POD]
                self.labels(name)[DRIVER_VERSION_LABEL] = runs

    def settle(self):
        for _ in range(60):
            self.look()

    def chosen(self, selector):
        def fits(labels, term):
            key, unlike, value = term.partition("!=")
            if not unlike:
                key, _, value = term.partition("=")
            return (labels.get(key) == value) is not bool(unlike)

        return [
            node
            for node in self.nodes.values()
            if all(fits(node["metadata"]["labels"], term) for term in selector.split(","))
        ]

    async def get(self, kind, *rest):
        if kind == "pods":
            driver = {"metadata": {"name": "driver-x", "namespace": "gpu-operator"}}
            return {"items": [driver] if self.logs is not None else []}
        if kind == "events":
            return {"items": [{"message": each} for each in self.events]}
        assert (kind, rest[0]) == ("nodes", "-l")
        self.look()
        return None if self.blind else {"items": list(self.chosen(rest[1]))}

    async def names(self, *what):
        found = await self.get(*what)
        return found and [f"node/{each['metadata']['name']}" for each in found["items"]]

    async def said_nothing(self, *_):
        return []

    async def run(self, *what):
        assert what[:2] == ("logs", "driver-x")
        return self.logs

    async def run_mutating(self, verb, *rest):
        assert verb == "label"
        if self.deaf:
            return self.deaf
        if rest[0] == "node":
            names, given = rest[1:2], rest[2:]
        else:
            names = [each.partition("/")[2] for each in rest if each.startswith("node/")]
            given = rest[len(names) :]
        self.calls.append(len(names))
        if gone := [name for name in names if name not in self.nodes]:
            return f'nodes "{gone[0]}" not found'
        for node in (self.nodes[name] for name in names):
            for word in given:
                key, _, value = word.partition("=")
                if word.endswith("-"):
                    node["metadata"]["labels"].pop(word[:-1], None)
                elif word != "--overwrite":
                    node["metadata"]["labels"][key] = value
        return ""

    def drivers(self):
        return [self.labels(name)[DRIVER_VERSION_LABEL] for name in self.nodes]

    def marked(self):
        both = {SKIP_UPGRADE_LABEL, DRIVER_WAITS_LABEL}
        return [name for name in self.nodes if both & self.labels(name).keys()]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A clock that goes on by a second whenever somebody looks at it."""
    times = {"PAUSE_SECONDS": 0, "TOLD_SECONDS": 0, "STILL_SECONDS": 40, "BACK_SECONDS": 40}
    for name, seconds in times.items():
        monkeypatch.setattr(driver_rollout, name, seconds)
    monkeypatch.setattr(
        driver_rollout, "time", SimpleNamespace(monotonic=itertools.count().__next__)
    )


@pytest.fixture
def warned(monkeypatch):
    found = []
    monkeypatch.setattr(pulumi.log, "warn", found.append)
    return found


def held(world):
    """Up to the moment when the operator is told."""
    world.version = OLD
    asyncio.run(pause_rollout(world, PLAN, EXCHANGE))
    world.version = NEW
    return world


def try_first(world):
    asyncio.run(wait_for_driver(world, PLAN, DEV, had=OLD, comes=NEW))


def refused(world):
    with pytest.raises(DriverRolloutError) as why:
        try_first(world)
    return str(why.value)


def go_back(world):
    world.version = OLD
    asyncio.run(release_and_retry_nodes(world, BEFORE, DriverRollout()))


# ── the way there ─────────────────────────────────────────────────────────────────────────────────


def test_the_first_pool_goes_and_the_others_wait_until_they_are_let_go():
    world = held(World())
    assert world.marked() == ["train-0", "train-1"]
    try_first(world)
    assert world.drivers() == [NEW, NEW, OLD, OLD]
    world.settle()
    assert world.drivers() == [NEW, NEW, OLD, OLD], "however long it takes to check the first"
    assert world.emptied == {"dev-0", "dev-1"}
    asyncio.run(resume_rollout(world, PLAN, TRAIN))
    assert world.marked() == []
    world.settle()
    assert world.drivers() == [NEW] * 4


def test_what_the_operator_has_yet_to_do_when_the_deployment_ends_is_said(monkeypatch):
    said = []
    monkeypatch.setattr(pulumi.log, "info", said.append)
    world = held(World())
    try_first(world)
    world.nodes["train-1"]["metadata"]["annotations"][POD] = NEW  # has come meanwhile
    world.labels("train-1")[DRIVER_VERSION_LABEL] = NEW
    del world.labels("train-1")[UPGRADE_LABEL]
    asyncio.run(finish_rollout(world, PLAN, TRAIN, comes=NEW))
    assert world.marked() == []
    (text,) = said
    assert text.startswith(f"pool train: the GPU Operator now installs driver {NEW} on its nodes")
    assert "1 of 2 nodes remain" in text
    assert "continues after this deployment without another `up`" in text
    assert "`gpuyard readiness STACK --live` shows its progress (INF-02)" in text
    world.settle()
    asyncio.run(finish_rollout(world, PLAN, TRAIN, comes=NEW))
    assert len(said) == 1, "where all have it nothing is left to say"


def test_which_pools_wait_and_which_are_tried():
    assert [EXCHANGE.is_pending(each) for each in (DEV, TRAIN)] == [False, True]
    assert [EXCHANGE.is_awaited(each) for each in (DEV, TRAIN)] == [True, False]
    alone = DriverRollout({"dev": OLD})
    assert [alone.is_awaited(each) for each in (DEV, TRAIN)] == [True, False]
    later = DriverRollout({"dev": OLD}, ("train",))
    assert not later.is_pending(TRAIN), "one that changes in another way keeps its driver anyway"
    idle = plan_of(platform([pool(nodes="0..4", scaling="autoscaler")], cloud="none")).pools[0]
    assert not DriverRollout({"train": OLD}).is_awaited(idle)


def test_nodes_are_labelled_as_many_at_a_time_as_kubectl_has_time_for(monkeypatch):
    monkeypatch.setattr(driver_rollout, "AT_ONCE", 1)
    world = held(World())
    assert (world.marked(), world.calls) == (["train-0", "train-1"], [1, 1])


def test_a_node_that_goes_while_others_are_labelled_stops_nothing(monkeypatch):
    world, real = World(), World.run_mutating

    async def one_goes(self, *what):
        self.nodes.pop("train-0", None)
        return await real(self, *what)

    monkeypatch.setattr(World, "run_mutating", one_goes)
    assert held(world).marked() == ["train-1"]


def test_nodes_of_ones_own_are_known_by_the_labels_that_their_pools_select():
    """They have no label of ours: `select` alone says whose they are."""
    own = [pool(nodes=2, select={"rack": "a"}), shared_pool(nodes=2, select={"rack": "b"})]
    plan = plan_of(platform(own, software={"driver": NEW}))
    world = World()
    for name, node in world.nodes.items():
        labels = node["metadata"]["labels"]
        labels["rack"] = "a" if name.startswith("train") else "b"
        del labels[POOL_LABEL]
    asyncio.run(pause_rollout(world, plan, EXCHANGE))
    assert world.marked() == ["train-0", "train-1"]
    world.breaks("dev-0")
    with pytest.raises(DriverRolloutError, match="does not start on node dev-0 of pool dev"):
        asyncio.run(wait_for_driver(world, plan, plan.pool("dev"), had=OLD, comes=NEW))
    asyncio.run(release_and_retry_nodes(world, plan, EXCHANGE))
    assert world.marked() == ["train-0", "train-1"], "they wait on"
    world.version = OLD
    asyncio.run(release_and_retry_nodes(world, plan, DriverRollout()))
    world.settle()
    assert (world.marked(), world.drivers()) == ([], [OLD] * 4)
    assert not world.emptied & {"train-0", "train-1"}


def test_a_label_that_a_hand_has_put_stays(warned):
    world = World()
    for name in ("train-0", "dev-0"):
        world.labels(name)[SKIP_UPGRADE_LABEL] = "true"
    held(world)
    assert DRIVER_WAITS_LABEL not in world.labels("train-0")
    try_first(world)
    assert world.drivers()[:2] == [OLD, NEW]
    (said,) = warned
    assert said.startswith(
        "dev-0 of pool dev keep their driver: nvidia.com/gpu-driver-upgrade.skip=true was set"
    )
    asyncio.run(resume_rollout(world, PLAN, TRAIN))
    assert world.marked() == ["dev-0", "train-0"]


def test_who_tries_nothing_says_so(warned):
    world = held(World())
    for name in ("dev-0", "dev-1"):
        del world.nodes[name]
    try_first(world)
    assert warned == [f"pool dev has no node with driver {NEW}: the other pools get it untested"]


def test_a_node_that_has_just_come_counts():
    world = held(World())
    world.nodes["dev-0"]["metadata"]["annotations"][POD] = NEW
    world.labels("dev-0")[DRIVER_VERSION_LABEL] = NEW
    del world.labels("dev-0")[UPGRADE_LABEL]
    assert driver_rollout._has(world.nodes["dev-0"], NEW)
    try_first(world)


def test_a_pool_that_waited_before_is_let_go_when_it_is_first():
    world = held(World())
    asyncio.run(wait_for_driver(world, PLAN, TRAIN, had=OLD, comes=NEW))
    assert world.drivers() == [NEW] * 4


# ── failures ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("logs", "events", "says"),
    [
        ("insmod:\n  no symbol version", ["old"], "insmod: no symbol version"),
        ("", ["one", "driver 595.91.07: lost"], "driver 595.91.07: lost"),
        (None, [], "no reason reported"),
    ],
)
def test_a_failed_node_stops_the_others_and_says_why_and_the_way_back(logs, events, says):
    world = held(World())
    world.breaks("dev-0")
    world.logs, world.events = logs, events
    said = refused(world)
    assert f"driver {NEW} does not start on node dev-0 of pool dev: {says}\n" in said
    assert "Only pool dev was started: nodes of other pools keep their driver." in said
    assert f"set `software: {{driver: {OLD}}}` and deploy" in said
    world.settle()
    assert world.drivers()[1:] == [OLD] * 3
    assert world.emptied == {"dev-0"}


def test_another_deployment_begins_a_failed_node_again():
    world = held(World())
    world.breaks("dev-0")
    refused(world)
    del world.nodes["dev-0"]["metadata"]["annotations"][BROKEN]
    try_first(world)
    assert world.drivers() == [NEW, NEW, OLD, OLD]


def test_of_one_pool_alone_nobody_else_is_spoken():
    alone = plan_of(platform([shared_pool(nodes=2)], cloud="simulated", software={"driver": NEW}))
    world = World()
    world.breaks("dev-1")
    with pytest.raises(DriverRolloutError, match="No other pool uses it"):
        asyncio.run(wait_for_driver(world, alone, alone.pools[0], had=OLD, comes=NEW))


def test_jobs_that_run_on_are_no_failure_and_are_named():
    world = held(World())
    metadata = {"name": "one", "labels": {PODSET_LABEL: "main"}}
    running = {"metadata": metadata, "spec": {"containers": []}, "status": {"phase": "Running"}}
    world.pods["dev-0"] = [running]
    said = refused(world)
    assert f"the rollout of driver {NEW} in pool dev is stalled: no change for 1 minutes on" in said
    assert "dev-0 (wait-for-jobs-required), dev-1 (upgrade-required)" in said
    assert "deploy again after that" in said
    assert "spec.nodeName=dev-0" in said
    world.pods["dev-0"] = []
    try_first(world)
    assert world.drivers() == [NEW, NEW, OLD, OLD]


def test_where_nothing_is_begun_the_places_that_are_taken_are_to_be_looked_at():
    world = held(World())
    world.nodes["train-0"]["spec"]["unschedulable"] = True
    said = refused(world)
    assert f"get nodes -L {UPGRADE_LABEL}" in said
    world.nodes["train-0"]["spec"] = {}
    world.version = OLD
    assert "dev-0 (upgrade-done)" in refused(world)


@pytest.mark.parametrize("step", ["hold", "release"])
def test_who_cannot_look_labels_nobody(step):
    world = held(World())
    world.blind = True
    call = (
        pause_rollout(world, PLAN, EXCHANGE)
        if step == "hold"
        else resume_rollout(world, PLAN, TRAIN)
    )
    with pytest.raises(DriverRolloutError, match="gpuyard could not list the nodes"):
        asyncio.run(call)


def test_labels_that_do_not_stay_are_said_once_and_not_written_for_ever(monkeypatch):
    world = World()

    async def in_vain(*_):
        return ""

    monkeypatch.setattr(world, "run_mutating", in_vain)
    with pytest.raises(
        DriverRolloutError, match="node/train-0, node/train-1: the labels were changed back"
    ):
        held(world)


@pytest.mark.parametrize("step", ["hold", "tried", "release"])
def test_who_cannot_reach_the_cluster_exchanges_nothing(step):
    world = World() if step == "hold" else held(World())
    world.deaf = "forbidden"
    calls = {
        "hold": lambda: pause_rollout(world, PLAN, EXCHANGE),
        "tried": lambda: wait_for_driver(world, PLAN, TRAIN, had=OLD, comes=NEW),
        "release": lambda: resume_rollout(world, PLAN, TRAIN),
    }
    with pytest.raises(DriverRolloutError, match="forbidden"):
        asyncio.run(calls[step]())


def test_who_cannot_look_knows_nothing(monkeypatch):
    world = held(World())
    monkeypatch.setattr(world, "names", world.said_nothing)
    world.blind = True
    assert "so their driver is unknown" in refused(world)


# ── the way back ──────────────────────────────────────────────────────────────────────────────────


def test_the_driver_of_before_empties_nobody_who_has_waited():
    world = held(World())
    world.breaks("dev-0")
    refused(world)
    world.told_after = 6
    go_back(world)
    assert world.marked() == []
    world.settle()
    assert world.drivers() == [OLD] * 4
    assert {world.labels(name)[UPGRADE_LABEL] for name in world.nodes} == {"upgrade-done"}
    assert not any(node["spec"].get("unschedulable") for node in world.nodes.values())
    assert not world.emptied & {"train-0", "train-1"}


def test_without_the_way_back_they_would_be_closed():
    """What the label's end alone comes to: the reason for all of this."""
    world = held(World())
    world.settle()
    world.version = OLD
    asyncio.run(resume_rollout(world, BEFORE, BEFORE.pool("train")))
    world.settle()
    assert world.emptied >= {"train-0", "train-1"}


def test_on_the_way_there_nobody_who_waits_is_let_go():
    world = held(World())
    asyncio.run(release_and_retry_nodes(world, PLAN, EXCHANGE))
    assert world.marked() == ["train-0", "train-1"]
    asyncio.run(release_and_retry_nodes(world, PLAN, DriverRollout({"train": OLD})))
    assert world.marked() == [], "it is to get another driver, and waits for nobody"


def test_marks_that_stay_are_said_and_end_nothing(warned):
    world = held(World())
    world.settle()
    world.deaf = "forbidden"
    go_back(world)
    (first,) = warned
    assert first.startswith("train-0, train-1 may keep nvidia.com/gpu-driver-upgrade.skip")
    assert f"-l {DRIVER_WAITS_LABEL}=lab {SKIP_UPGRADE_LABEL}- {DRIVER_WAITS_LABEL}-" in first


def test_who_cannot_look_waits_for_nobody(warned):
    world = held(World())
    world.blind = True
    go_back(world)
    assert (warned, world.marked()) == ([], ["train-0", "train-1"])


def test_a_look_that_fails_between_two_changes_nothing(monkeypatch):
    world = held(World())
    world.settle()
    looks, real = itertools.count(), World.get

    async def now_and_then(self, *what):
        return None if next(looks) % 2 else await real(self, *what)

    monkeypatch.setattr(World, "get", now_and_then)
    go_back(world)
    assert world.marked() == []


def test_a_node_that_the_operator_never_compares_keeps_its_mark(warned):
    world = held(World())
    del (
        world.labels("train-0")[UPGRADE_LABEL],
        world.nodes["train-0"]["metadata"]["annotations"][POD],
    )
    go_back(world)
    assert world.marked() == ["train-0"]
    assert warned[0].startswith("train-0 may keep")


def test_where_nobody_waited_a_failed_node_is_begun_again():
    world = World()
    world.breaks("dev-0")
    with pytest.raises(DriverRolloutError):
        try_first(world)
    go_back(world)
    world.settle()
    assert world.drivers() == [OLD] * 4


# ── where in a deployment ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def hooked(monkeypatch):
    """Which functions run in which hooks."""
    ran = []

    def noted(name):
        async def call(_kubectl, _plan, *what, **named):
            ran.append((name, *what, *named.values()))

        return call

    for name in ("pause_rollout", "release_and_retry_nodes", "finish_rollout", "wait_for_driver"):
        monkeypatch.setattr(driver_rollout, name, noted(name))
    monkeypatch.setattr(
        pulumi, "ResourceHook", lambda name, call: SimpleNamespace(name=name, call=call)
    )

    def run(hooks):
        for hook in hooks:
            asyncio.run(hook.call(None))
        return ran

    return run


def test_nodes_are_held_before_the_operator_is_told_and_looked_at_after_it(hooked):
    bound = driver_rollout.rollout_hooks("lab", World(), PLAN, EXCHANGE)
    before, after = bound.before_update, bound.after_update
    assert (before[0].name, after[0].name) == (
        "gpuyard:lab:drivers:hold",
        "gpuyard:lab:drivers:back",
    )
    assert bound.before_create is None
    assert hooked([*before, *after]) == [
        ("pause_rollout", EXCHANGE),
        ("release_and_retry_nodes", EXCHANGE),
    ]


def test_a_record_waits_for_the_first_pool_and_lets_the_others_go(hooked):
    first = driver_rollout.rollout_record_hooks("lab", World(), PLAN, DEV, EXCHANGE)
    later = driver_rollout.rollout_record_hooks("lab", World(), PLAN, TRAIN, EXCHANGE)
    assert first.before_create == first.before_update
    assert hooked([*first.before_update, *later.before_update]) == [
        ("wait_for_driver", DEV, OLD, NEW),
        ("finish_rollout", TRAIN, NEW),
    ]
    assert first.before_update[0].name == "gpuyard:lab:drivers:dev"
    assert driver_rollout.rollout_record_hooks("lab", World(), PLAN, DEV, DriverRollout()) is None
