"""What teams do every day is not only taken: it runs, on a real Kueue and scheduler and simulated nodes.

The cases are those of `attacks/ordinary.yaml`. All of them are made at once, as those people make them, with
quotas that hold them together; then one more job waits in a queue, and runs when there is room.
"""

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard.render.nodes import FAKE_NODE
from gpuyard_core.manifests.templates import KINDS
from gpuyard_core.names import QUEUE_LABEL
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, ApiError
from kit.cluster import lab as reality
from kit.cluster.attacks import CASES, namespace_of, object_of, path_of, three_teams
from kit.cluster.lab import condition
from kit.cluster.tenants import acting, people, tenants
from kit.generated.hostile import MERGE

pytestmark = [pytest.mark.cluster]

Value = dict[str, Any]
ORDINARY = [
    case
    for case in CASES
    if not case.get("refused") and "list" not in case and not case.get("asked_only")
]
LEAST = 40
PLAIN = 2
"""Nodes without GPUs, of a size that stands in the catalogue."""
HUGE = "hugepages-2Mi"
WORKS = {"Pod", "Job", "CronJob", "Deployment", "StatefulSet", "ReplicaSet"}


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome) -> Iterator[reality.Lab]:
    """The platform with room for everything at once, and what a cluster's admins give beside it."""
    with tenants(started.status.name, three_teams(nodes=9, guarantee=64)) as found:
        beside = [*map(_plain_node, range(PLAIN)), *_volumes()]
        try:
            for value in beside:
                reality.create(found.api, _at(value), value)
            for name in ("atk-open-000", "atk-open-001"):
                amount = {HUGE: "4Gi"}
                status = {"status": {"capacity": amount, "allocatable": amount}}
                found.api.call("PATCH", f"/api/v1/nodes/{name}/status", status, MERGE)
            reality.wait(lambda: all(_ready(found, i) for i in range(PLAIN)), "plain nodes")
            yield found
        finally:
            for value in beside:
                reality.delete(found.api, f"{_at(value)}/{value['metadata']['name']}")


def _at(value: Value) -> str:
    return f"/api/v1/{value['kind'].lower()}s"


def _plain_node(index: int) -> Value:
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": f"atk-plain-{index}",
    }
    metadata = {"name": f"atk-plain-{index}", "labels": labels, "annotations": FAKE_NODE}
    room = {"cpu": "64", "memory": "256Gi", "pods": "110", "ephemeral-storage": "1Ti"}
    status = {"capacity": room, "allocatable": room}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def _ready(lab: reality.Lab, index: int) -> bool:
    node = lab.api.get(f"/api/v1/nodes/atk-plain-{index}") or {}
    return condition(node, "Ready").get("status") == "True" and not reality.kept_off(node)


def _volumes() -> list[Value]:
    """Those that claims of the cases find: of a class, of none, and one that is asked for by its name."""

    def volume(name: str, mode: str, **more: str) -> Value:
        spec = {
            "accessModes": [mode],
            "capacity": {"storage": "10Gi"},
            "hostPath": {"path": f"/mnt/{name}"},
            "persistentVolumeReclaimPolicy": "Retain",
            **more,
        }
        kind = {"apiVersion": "v1", "kind": "PersistentVolume"}
        return {**kind, "metadata": {"name": name}, "spec": spec}

    plain = [volume(f"atk-plain-{index}", "ReadWriteOnce") for index in range(5)]
    of_class = volume("atk-fast", "ReadWriteOnce", storageClassName="fast")
    return [*plain, of_class, volume("weights", "ReadWriteMany")]


# ── what is made ──────────────────────────────────────────────────────────────────────────────────


def made_from(case: Value, number: int) -> list[Value]:
    """The objects of a case under a name of their own; `made: 2` makes so many of it."""
    value = copy.deepcopy(case["first"]) if "first" in case else object_of(case)
    if value["metadata"]["name"] == "home":
        return [value]  # others mount it
    found = [_renamed(value, f"n{number}-{index}") for index in range(case.get("made", 1))]
    if value["kind"] == "CronJob":
        found.append(_now(found[0]))
    return found


def _renamed(value: Any, name: str) -> Any:
    """Its own name wherever it stands: labels and selectors of one do not fit another."""
    match value:
        case dict():
            return {key: _renamed(each, name) for key, each in value.items()}
        case list():
            return [_renamed(each, name) for each in value]
        case "x" | "x-debug" | "gang" | "plain" | "serve":
            return name
        case _:
            return value


def _now(cron: Value) -> Value:
    """As `kubectl create job --from=cronjob/…` makes it, without waiting for the night."""
    metadata, template = cron["metadata"], cron["spec"]["jobTemplate"]
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": metadata["name"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{metadata['name']}-now",
            "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
            "labels": template.get("metadata", {}).get("labels", {}),
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": template["spec"],
    }


class Made:
    """One object in the cluster, and the case that it is of."""

    def __init__(self, lab: reality.Lab, case: Value, value: Value) -> None:
        self.case, self.value = case, value
        self.namespace = namespace_of(case)
        path = path_of(value, self.namespace)
        self.at = f"{path}/{value['metadata']['name']}"
        self._lab = lab
        self._api = lab.api if case["who"] == "admins" else acting(lab.api, case["who"])
        for owner in value["metadata"].get("ownerReferences", []):
            found = self._api.call("GET", path.replace("/jobs", f"/cronjobs/{owner['name']}"))
            owner["uid"] = found["metadata"]["uid"]
        self.refused = ""
        try:
            reality.create(self._api, path, value)
        except ApiError as problem:
            self.refused = str(problem)

    def state(self) -> str:
        """ "" once it is as it has to be; else what it is."""
        if self.refused:
            return self.refused
        return _not_yet(self._lab.api.get(self.at) or {})

    def done_to(self) -> None:
        """What the case does to what runs."""
        try:
            if "patch" in self.case:
                asked = ("PATCH", self.at, self.case["patch"], MERGE)
            elif "delete" in self.case:
                asked = ("DELETE", self.at, self.case["delete"])
            else:
                return
            reality.patiently(lambda: self._api.call(*asked))
        except ApiError as problem:
            self.refused = str(problem)

    def state_after(self) -> str:
        """The same once that is done."""
        found = self._lab.api.get(self.at)
        if self.refused:
            return self.refused
        if "delete" in self.case:
            return "" if found is None else "still there"
        return _not_yet(found or {})


def _not_yet(found: Value) -> str:
    """What is missing until it runs, "" when nothing is."""
    spec, status = found.get("spec", {}), found.get("status", {})
    match found.get("kind"):
        case "Pod":
            good = status.get("phase") in {"Running", "Succeeded"}
        case "Job":
            wanted = spec.get("parallelism", 1)
            good = status.get("ready") == wanted or status.get("succeeded") == wanted
        case "Deployment" | "ReplicaSet" | "StatefulSet":
            good = status.get("readyReplicas", 0) == spec.get("replicas", 1)
        case "PersistentVolumeClaim":
            good = status.get("phase") == "Bound"
        case kind:
            good = kind is not None
    return "" if good else f"{found.get('kind', 'not there')}: {status}"


def all_good(found: dict[str, Any]) -> None:
    """Wait until none of them is otherwise than it has to be; those that are then are named."""

    def wrong() -> dict[str, str]:
        return {name: said for name, look in found.items() if (said := look())}

    try:
        reality.wait(lambda: not wrong(), "all of them")
    except TimeoutError:
        left = wrong()
        assert left == {}, "\n".join(f"{name}: {said[:600]}" for name, said in left.items())


def test_what_teams_do_every_day_runs(lab: reality.Lab):
    assert len(ORDINARY) >= LEAST
    made: dict[str, Made] = {}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "weights"}}
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    given = {"what": "a claim of weights", "who": "makers", "object": {**claim, "spec": size}}
    for number, case in enumerate([given, *ORDINARY]):
        for value in [claim | {"spec": size}] if case is given else made_from(case, number):
            name = f"{case['what']}: {value['kind']} {value['metadata']['name']}"
            made[name] = Made(lab, case, value)
    assert {name: each.refused for name, each in made.items() if each.refused} == {}
    all_good({name: each.state for name, each in made.items()})
    done = {name: each for name, each in made.items() if "first" in each.case}
    for each in done.values():
        each.done_to()
    all_good({name: each.state_after for name, each in done.items()})


@pytest.fixture
def queued(lab: reality.Lab) -> Iterator[Api]:
    """A team with eight GPUs and an empty queue, as a member of it."""
    (group,) = (g for g, home in people(lab.plan).items() if home == "atk-b")
    _nothing_of(lab, "atk-b")
    yield acting(lab.api, group)
    _nothing_of(lab, "atk-b")


def _nothing_of(lab: reality.Lab, namespace: str) -> None:
    for kind in ("apps/v1/{}/deployments", "apps/v1/{}/replicasets", "batch/v1/{}/jobs"):
        reality.delete(lab.api, f"/apis/{kind.format(f'namespaces/{namespace}')}")
    reality.delete(lab.api, f"/api/v1/namespaces/{namespace}/pods")
    workloads = f"{reality.KUEUE}/namespaces/{namespace}/workloads"
    reality.wait(lambda: not lab.listed(workloads), "an empty queue")


def _of_four(kind: str, name: str) -> Value:
    """Work of one pod with four GPUs."""
    limits = {"nvidia.com/gpu": 4}
    spec: Value = {"containers": [{"name": "a", "image": "a", "resources": {"limits": limits}}]}
    metadata = {"name": name, "labels": {QUEUE_LABEL: "batch"}}
    labels = {"app": name}
    match kind:
        case "Pod":
            version = "v1"
        case "Job":
            version, spec = "batch/v1", {"template": {"spec": {**spec, "restartPolicy": "Never"}}}
        case _:
            template = {"metadata": {"labels": labels}, "spec": spec}
            version, spec = "apps/v1", {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("kind", ["Job", "Pod", "Deployment"])
def test_what_finds_no_room_waits_and_runs_when_there_is_some(
    lab: reality.Lab, queued: Api, kind: str
):
    """In the pool that is a team's own and in the one that it shares: then its quota is used up.

    Pods that wait are there, and hold nothing.
    """
    path = path_of(_of_four(kind, "x"), "atk-b")
    names = [f"wait-{kind.lower()}-{index}" for index in range(3)]
    for name in names:
        reality.create(queued, path, _of_four(kind, name))

    def running() -> set[str]:
        return {name for name in names if not _not_yet(lab.api.get(f"{path}/{name}") or {})}

    def waits() -> str:
        workloads = lab.listed(f"{reality.KUEUE}/namespaces/atk-b/workloads")
        said = [condition(w, "QuotaReserved").get("message", "") for w in workloads]
        return next((one for one in said if re.search("insufficient|quota", one)), "")

    reality.wait(lambda: len(running()) == 2, "two of them")
    reality.wait(waits, "why the third does not run")
    (last,) = {*names} - running()
    reality.delete(queued, f"{path}/{min(running())}")
    reality.wait(lambda: last in running(), "the one that waited")


def test_every_kind_of_work_that_kubernetes_has_is_among_what_runs():
    seen = {(case.get("object") or case["first"])["kind"] for case in ORDINARY}
    assert seen >= WORKS
    assert {kind.rpartition("/")[2] for kind in KINDS} >= WORKS
