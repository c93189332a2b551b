"""Node pools of GKE as its autoscaler sees them: with gpuyard's ComputeClasses, and with others."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.inside import gke
from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Settings
from testbed.plugins.cloud.inside.classes import pools
from testbed.plugins.cloud.inside.classes.definition import PATH, definition
from testbed.plugins.cloud.inside.classes.health import LABEL, PoolSeen, conditions, named, rank
from testbed.plugins.cloud.inside.joining import GROUP
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.service import machines
from testbed.plugins.cloud.service.ties import Resource
from testbed.plugins.cloud.shapes import Place

from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.gcp.in_cluster.compute_classes import compute_class_objects
from gpuyard_core.names import GPU
from gpuyard_simulate.api import ApiError
from kit.stacks import plan_of, platform, pool

GCP = Place("gcp", region="us-central1", project="my-project")
LADDER = pool(
    machine="a3-megagpu-8g",
    nodes="0..4",
    zones=["us-central1-a"],
    capacity=["spot", "on-demand"],
)
PLAN = plan_of(platform([LADDER], cloud="gcp"))


class Server:
    """Pods, nodes and classes of an API server; it stores the status of classes."""

    def __init__(self, *pods: dict[str, Any], classes: Any = None) -> None:
        self.pods, self.nodes, self.told = list(pods), list[Any](), list[str]()
        self.classes = compute_class_objects(PLAN) if classes is None else classes

    def call(self, _method: str, path: str, /) -> dict[str, Any]:
        if path == PATH and isinstance(self.classes, int):
            raise ApiError(self.classes, "no")
        held = {PATH: self.classes, "/api/v1/pods": self.pods, "/api/v1/nodes": self.nodes}
        return {"items": held[path]}

    def patch(self, path: str, change: dict[str, Any], /) -> None:
        name = path.removesuffix("/status").rpartition("/")[2]
        self.told.append(name)
        (one,) = [each for each in self.classes if each["metadata"]["name"] == name]
        one.update(change)

    def health(self, name: str = "pool-train") -> str:
        (one,) = [each for each in self.classes if each["metadata"]["name"] == name]
        return str(one["status"]["conditions"][-1]["status"])


def waiting(selects: str | None = "pool-train", **resources: str) -> dict[str, Any]:
    """A pod after its queue admitted it."""
    chosen = {} if selects is None else {LABEL: selects}
    return {
        "metadata": {},
        "spec": {
            "nodeSelector": {"gpuyard.dev/pool": "train", **chosen},
            "tolerations": [{"key": key, "operator": "Exists"} for key in (GPU, LABEL)],
            "containers": [{"resources": {"limits": resources or {GPU: "8"}}}],
        },
        "status": {
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
        },
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The account's book, created once."""
    folder = tmp_path_factory.mktemp("classes")
    assert judged(gcp_graph(PLAN), GCP, Account(folder, "gcp")) == []
    return folder


@pytest.fixture
def account(tmp_path: Path, made: Path) -> Account:
    shutil.copy(made / "gcp.json", tmp_path)
    return Account(tmp_path, "gcp")


def scarce(account: Account, name: str = "train-spot") -> None:
    assert account.folder
    fault = {"fault": "capacity", "at": "scale", "name": name, "times": 1}
    (account.folder / "faults.json").write_text(json.dumps({"faults": [fault]}))


def held(account: Account, name: str) -> Resource:
    (one,) = [each for each in account.all(gke.POOL) if each.inputs["name"] == name]
    return one


def sizes(account: Account) -> dict[str, int]:
    """Sizes of the pools with GPUs."""
    found = {
        each.inputs["name"]: machines.size_of(each, account.all()) for each in account.all(gke.POOL)
    }
    return {name: size for name, size in found.items() if name.startswith("train")}


def scaler(server: Server) -> Autoscaler:
    return Autoscaler(Settings(priorities=pools.order(server)))


def said(found: list[Any]) -> list[tuple[str, int]]:
    return [(each.group, each.size) for each in found]


# ── growing ───────────────────────────────────────────────────────────────────────────────────────
def test_a_spot_option_without_machines_falls_back_to_the_next(account):
    """From zero, with the rendered classes: spot is first, and is backed off when it has no machines."""
    scarce(account)
    server = Server(waiting(), waiting())
    acts = scaler(server)
    assert sizes(account) == {"train-spot": 0, "train-on-demand": 0}
    assert said(pools.step(account, server, acts, 0)) == [("train-spot", 2)]
    missing, says = account.missing(held(account, "train-spot").id)
    assert missing == 2
    assert says == (
        "a3-megagpu-8g in us-central1-a: the zone does not have enough resources available to fulfill"
        " the request. (GCE_STOCKOUT)"
    )
    back, taken = pools.step(account, server, acts, 10)
    assert said([back, taken]) == [("train-spot", 0), ("train-on-demand", 2)]
    assert back.why == says
    assert sizes(account) == {"train-spot": 0, "train-on-demand": 2}
    assert acts.left_alone("train-spot", 300)


def test_an_option_with_machines_is_used_whatever_follows_it(account):
    for seed in range(8):
        server = Server(waiting())
        acts = Autoscaler(Settings(priorities=pools.order(server)), seed)
        assert said(pools.step(account, server, acts, 0)) == [("train-spot", 1)]
        account.scale(held(account, "train-spot").id, 0)


@pytest.mark.parametrize("selects", [None, "pool-other"])
def test_a_pod_that_selects_no_class_or_another_gets_no_node(account, selects):
    pod = waiting(selects)
    pod["spec"]["tolerations"] = [{"key": GPU, "operator": "Exists"}] if selects is None else []
    server = Server(pod)
    assert pools.step(account, server, scaler(server), 0) == []


@pytest.mark.parametrize(
    ("spec", "grows"),
    [
        ({"priorities": []}, False),
        ({"priorities": [{"nodepools": ["other"]}]}, False),
        ({"priorities": [], "whenUnsatisfiable": "ScaleUpAnyway"}, True),
        ({"priorities": [{"nodepools": ["train-spot"]}]}, True),
        ({"priorities": [{"machineFamily": "a3"}]}, False),
    ],
    ids=str,
)
def test_a_pool_of_a_class_grows_by_a_rule_of_it_or_where_it_lets_the_rest(account, spec, grows):
    server = Server(waiting(), classes=[{"metadata": {"name": "pool-train"}, "spec": spec}])
    assert bool(pools.step(account, server, scaler(server), 0)) is grows


def test_a_pool_whose_class_is_not_there_does_not_grow(account):
    for classes in ([], 404):
        server = Server(waiting(), classes=classes)
        assert pools.step(account, server, scaler(server), 0) == []
    with pytest.raises(ApiError):
        pools.order(Server(classes=403))


def test_a_pool_without_a_class_grows_for_any_pod_that_fits(account):
    for name in ("train-spot", "train-on-demand"):
        one = held(account, name)
        config = one.inputs["nodeConfig"]
        labels = {key: value for key, value in config["labels"].items() if key != LABEL}
        bare = {**config, "labels": labels, "taints": []}
        account.meddle(gke.POOL, one.id, {"nodeConfig": bare})
    server = Server(waiting(None), classes=[])
    ((name, size),) = said(pools.step(account, server, scaler(server), 0))
    assert (name.startswith("train"), size) == (True, 1)


def test_the_autoscaler_counts_what_gkes_own_plugin_will_hand_out(account):
    one = held(account, "train-spot")
    config = one.inputs["nodeConfig"]
    shared = {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 4}
    (gpu,) = config["guestAccelerators"]
    theirs = {
        **config,
        "labels": {k: v for k, v in config["labels"].items() if not k.startswith("gke-no-")},
        "guestAccelerators": [
            {"type": gpu["type"], "count": gpu["count"], "gpuSharingConfig": shared}
        ],
    }
    for given, count in ((config, "8"), (theirs, "32")):
        account.meddle(gke.POOL, one.id, {"nodeConfig": given})
        node = pools._next(held(account, "train-spot"), account.all())
        assert node["status"]["allocatable"][GPU] == count


class Queued(Account):
    """The on-demand pool is one for which jobs queue."""

    def all(self, kind: str = "") -> list[Resource]:
        return [
            replace(each, inputs={**each.inputs, "queuedProvisioning": {"enabled": True}})
            if "train-on-demand" in each.id
            else each
            for each in super().all(kind)
        ]


def test_a_pool_that_is_queued_for_is_no_choice(account):
    scarce(account)
    server, queued = Server(waiting()), Queued(account.folder, "gcp")
    acts = scaler(server)
    found = [said(pools.step(queued, server, acts, now)) for now in (0, 10, 20)]
    assert found == [[("train-spot", 1)], [("train-spot", 0)], []]


def test_a_pool_that_failed_is_no_choice(account):
    account.meddle(gke.POOL, held(account, "train-spot").id, {"status": "ERROR"})
    server = Server(waiting())
    assert said(pools.step(account, server, scaler(server), 0)) == [("train-on-demand", 1)]
    assert server.health() == "False", "the class names a pool that does not scale"


# ── shrinking ─────────────────────────────────────────────────────────────────────────────────────
def test_a_node_that_is_used_stays_and_an_empty_pool_goes_to_its_least(account):
    one = held(account, "train-spot")
    account.scale(one.id, 2)
    pod = {**waiting(), "metadata": {"ownerReferences": [{"kind": "Job"}]}}
    pod["spec"]["nodeName"] = "two"
    server = Server(pod)
    server.nodes = [
        {
            "metadata": {"name": name, "annotations": {GROUP: one.id}, "labels": {}},
            "spec": {},
            "status": {"allocatable": {GPU: "8"}},
        }
        for name in ("one", "two")
    ]
    acts = scaler(server)
    assert [pools.step(account, server, acts, now) for now in (0, 900)] == [[], []]
    server.pods[0] = {**pod, "status": {"phase": "Succeeded"}}
    assert pools.step(account, server, acts, 1000) == []
    assert said(pools.step(account, server, acts, 1600)) == [("train-spot", 0)]


# ── sizes of pools ────────────────────────────────────────────────────────────────────────────────
def resource(state: dict[str, Any], **inputs: Any) -> Resource:
    return Resource(gke.POOL, "one", inputs, state)


@pytest.mark.parametrize(
    ("state", "inputs", "size"),
    [
        ({"location": "us-central1-a", "nodeCount": 2}, {}, 2),
        ({"location": "us-central1", "nodeCount": 2}, {}, 6),
        ({"location": "us-central1", "nodeCount": 0, "initialNodeCount": 1}, {}, 0),
        ({"location": "us-central1", "initialNodeCount": 1}, {"nodeLocations": ["a", "b"]}, 2),
        ({"location": "us-central1"}, {}, 0),
    ],
)
def test_a_pool_counts_in_each_of_its_zones(state, inputs, size):
    assert machines.size_of(resource(state, **inputs), []) == size


@pytest.mark.parametrize("named", ["mine", "projects/p/locations/us-central1/clusters/mine"])
def test_a_pool_without_zones_of_its_own_has_those_of_its_cluster(named):
    cluster = {"name": "mine", "nodeLocations": ["us-central1-a", "us-central1-b"]}
    there = [Resource(machines.CLUSTER, "its-id", cluster, {"location": "us-central1"})]
    one = resource({"location": "us-central1", "nodeCount": 2}, cluster=named)
    assert machines.zones_of(one, there) == cluster["nodeLocations"]
    assert machines.size_of(one, there) == 4
    assert machines.sized(one, 3, there) == {"nodeCount": 2}
    assert machines.size_of(machines.smaller(one, there), there) == 2


def test_a_pool_of_no_place_of_its_own_is_where_its_cluster_is():
    cluster = Resource(machines.CLUSTER, "its-id", {"name": "mine"}, {"location": "us-central1-a"})
    assert machines.zones_of(resource({}, cluster="mine"), [cluster]) == ["us-central1-a"]


def test_a_zone_gets_no_less_than_another():
    one = resource({"location": "us-central1"})
    assert [machines.sized(one, size, []) for size in (0, 1, 3, 4)] == [
        {"nodeCount": count} for count in (0, 1, 1, 2)
    ]


# ── status of a class ───────────────────────────────────────────────────────────────────────
def seen(label: str | None = "mine", taint: str | None = "mine") -> PoolSeen:
    labels = {} if label is None else {LABEL: label}
    return PoolSeen(labels, () if taint is None else ({"key": LABEL, "value": taint},))


RULE = {"priorities": [{"nodepools": ["a"]}]}


@pytest.mark.parametrize(
    ("spec", "there", "reasons"),
    [
        (RULE, {"a": seen()}, []),
        ({**RULE, "whenUnsatisfiable": "ScaleUpAnyway"}, {"a": seen(), "b": seen()}, []),
        (RULE, {"a": seen(), "b": seen()}, ["NoRuleMatching"]),
        (RULE, {"a": seen(taint=None)}, ["TaintMissing"]),
        (RULE, {"a": seen(taint="yours")}, ["TaintValueNotMatching"]),
        (
            RULE,
            {"a": seen(label=None)},
            ["CrdLabelNotMatching", "NapDisabledAndNoMatchingNodegroups"],
        ),
        (RULE, {}, ["NodePoolNotExist"]),
        ({"priorities": []}, {}, ["NapDisabledAndNoMatchingNodegroups"]),
        ({"priorities": [], "whenUnsatisfiable": "ScaleUpAnyway"}, {}, []),
    ],
    ids=str,
)
def test_a_class_is_healthy_when_its_pools_are_there_and_carry_it(spec, there, reasons):
    *wrong, health = conditions("mine", spec, there)
    assert [each["reason"] for each in wrong] == reasons
    assert (health["type"], health["status"]) == ("Health", "False" if reasons else "True")
    assert health["message"] == ("Crd is not healthy." if reasons else "Crd is healthy.")


def test_the_first_rule_that_names_a_pool_is_its_rank():
    spec = {
        "priorities": [{"machineFamily": "a3"}, {"nodepools": ["a"]}, {"nodepools": ["b", "a"]}]
    }
    assert named(spec) == [[], ["a"], ["b", "a"]]
    assert [rank(spec, name) for name in "abc"] == [1, 2, None]


def test_an_error_is_reported_once_and_its_fix_too(account):
    server = Server()
    acts = scaler(server)
    for _ in range(2):
        pools.step(account, server, acts, 0)
    assert (server.health(), server.told) == ("True", ["pool-train"])
    one = held(account, "train-spot")
    account.meddle(gke.POOL, one.id, {"nodeConfig": {**one.inputs["nodeConfig"], "taints": []}})
    pools.step(account, server, acts, 0)
    assert server.health() == "False"
    account.meddle(gke.POOL, one.id, {"nodeConfig": one.inputs["nodeConfig"]})
    pools.step(account, server, acts, 0)
    assert (server.health(), len(server.told)) == ("True", 3)


def test_the_definition_is_of_the_kind_that_is_asked_for():
    spec = definition()["spec"]
    assert f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}" == PATH
