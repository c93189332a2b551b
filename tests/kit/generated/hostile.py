"""Actions of a hostile team: permitted work, changed to run GPUs that are not counted.

A member creates, changes, deletes and recreates objects under few names, so that an object meets remains of
another.
The same seed gives the same moves, independent of the cluster's responses.
"""

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpuyard_core.names import PRIORITY_LABEL, QUEUE_GATE, QUEUE_LABEL

Value = dict[str, Any]
GPU = "nvidia.com/gpu"
GROUP, GROUP_COUNT = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
TIME, ROLE = "kueue.x-k8s.io/max-exec-time-seconds", "kueue.x-k8s.io/role-hash"
DURATION = "sim.gpuyard.dev/duration"
PLURALS = {
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "Job": "/apis/batch/v1/namespaces/{namespace}/jobs",
    "CronJob": "/apis/batch/v1/namespaces/{namespace}/cronjobs",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/{namespace}/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/{namespace}/statefulsets",
}
WHOLES = {"JobSet": "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets"}
"""Kinds of other projects, which teams make where their controllers run."""
KINDS = ("Pod", "Pod", "Job", "Job", "Job", "Deployment", "StatefulSet", "ReplicaSet", "CronJob")
SCALED = ("Deployment", "ReplicaSet", "StatefulSet")
MERGE, JSON = "application/merge-patch+json", "application/json-patch+json"
NAMES = 3
"""Per kind: few, so that names are reused."""
AMOUNTS = (1, 1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Move:
    """One request of a member."""

    what: str
    verb: str
    path: str
    body: Value | list[Value] | None = None
    kind: str = "application/json"


class Member:
    """A member of a team with the queue `queue`; `others` are resources that are not the team's."""

    def __init__(
        self,
        seed: str,
        namespace: str,
        queue: str,
        others: tuple[str, ...],
        wholes: tuple[str, ...] = (),
    ) -> None:
        self._dice = random.Random(seed)  # noqa: S311  dice, not keys
        self._namespace = namespace
        self._queue = queue
        self._others = others
        self._wholes = wholes
        self._made: dict[tuple[str, str], Value] = {}
        """The last object sent under each name, accepted or not."""
        self.uids: dict[tuple[str, str], str] = {}
        """Uids of accepted objects: a forged owner names an existing one."""
        self._then: Move | None = None
        """The moves that follow at once."""

    def move(self) -> Move:
        """The next move."""
        if self._then:
            then, self._then = self._then, None
            return then
        if not self._made or self._chance(0.45):
            return self._makes()
        return self._dice.choice(
            (
                *(self._deletes, self._deletes, self._deletes, self._deletes_pods),
                *(self._groups, self._groups, self._groups, self._groups, self._deletes_workloads),
                *(self._suspends, self._suspends, self._grows, self._grows, self._scales),
                *(self._labels, self._owns, self._keeps, self._evicts, self._changes_template),
                self._renumbers,
                *((self._grows_whole,) * 3 if self._wholes else ()),
            )
        )()

    def _chance(self, of: float) -> bool:
        return self._dice.random() < of

    # ── creation ──────────────────────────────────────────────────────────────────────────────────
    def _makes(self) -> Move:
        kind = self._dice.choice((*KINDS, *self._wholes * 3))
        value = self._allowed(kind)
        tried = self._dice.sample(BENT, self._dice.choice((0, 0, 1, 1, 2)))
        for bend in tried:
            bend(self, value)
        name = value["metadata"]["name"]
        self._made[kind, name] = value
        how = ", ".join(bend.__name__.strip("_") for bend in tried)
        path = PATHS[kind].format(namespace=self._namespace)
        if kind == "Job" and self._chance(0.3):
            self._then = self._grown(name)
        return Move(f"make {kind} {name} ({how})", "POST", path, value)

    def _grown(self, name: str) -> Move:
        """More pods, or larger ones, just when the queue counts the existing ones."""
        at = "/spec/template/spec/containers/0/resources/limits/" + GPU.replace("/", "~1")
        steps = (("/spec/parallelism", 8), ("/spec/parallelism", 2), (at, 8))
        where, number = self._dice.choice(steps)
        step = {"op": "add", "path": where, "value": number}
        return Move(
            f"at once {where}={number} of {name}", "PATCH", self._at("Job", name), [step], JSON
        )

    def _allowed(self, kind: str) -> Value:
        """An object that the platform accepts and a queue starts."""
        name = f"{kind.lower()}-{self._dice.randrange(NAMES)}"
        gpus = self._dice.choice(AMOUNTS)
        notes = {DURATION: f"{self._dice.choice((1, 3, 10))}s"} if self._chance(0.4) else {}
        spec: Value = {
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "a",
                    "image": "example.invalid/a:1",
                    "resources": {
                        "requests": {"cpu": "1", "memory": "1Gi"},
                        "limits": {"cpu": "1", "memory": "1Gi", GPU: gpus},
                    },
                }
            ],
        }
        labels = {"app": name}
        own = {QUEUE_LABEL: self._queue}
        template: Value = {"metadata": {"labels": labels, "annotations": notes}, "spec": spec}
        result: Value = {"metadata": {"name": name, "labels": own}, "kind": kind}
        if kind == "Pod":
            result["metadata"] |= {"labels": {**labels, **own}, "annotations": notes}
            return {"apiVersion": "v1", **result, "spec": {"restartPolicy": "Never", **spec}}
        if kind in {"Job", "CronJob", "JobSet"}:
            spec["restartPolicy"] = "Never"
            pods = self._dice.choice((1, 1, 2))
            job: Value = {
                "parallelism": pods,
                "completions": self._dice.choice((pods, pods, 8)),
                "template": template,
            }
            if kind == "JobSet":
                each = {"name": "a", "replicas": self._dice.choice((1, 1, 2)), "template": {}}
                each["template"] = {"spec": job}
                body = {"replicatedJobs": [each], "failurePolicy": {"maxRestarts": 1}}
                return {"apiVersion": "jobset.x-k8s.io/v1alpha2", **result, "spec": body}
            if kind == "Job":
                return {"apiVersion": "batch/v1", **result, "spec": job}
            created = {"metadata": {"labels": own}, "spec": job}
            body: Value = {"schedule": "* * * * *", "jobTemplate": created}
            return {"apiVersion": "batch/v1", **result, "spec": body}
        body = {
            "replicas": self._dice.choice((0, 1, 2)),
            "selector": {"matchLabels": labels},
            "template": template,
        }
        if kind == "StatefulSet":
            together = "OrderedReady" if name.endswith("-1") else "Parallel"
            body |= {"serviceName": name, "podManagementPolicy": together}
        else:
            template["metadata"]["labels"] = {**labels, **own}
        return {"apiVersion": "apps/v1", **result, "spec": body}

    def _one(self, *kinds: str) -> tuple[str, str, Value] | None:
        """An object that was created before, of these kinds or of any."""
        results = [key for key in self._made if not kinds or key[0] in kinds]
        if not results:
            return None
        kind, name = self._dice.choice(results)
        return kind, name, self._made[kind, name]

    def _at(self, kind: str, name: str) -> str:
        return f"{PATHS[kind].format(namespace=self._namespace)}/{name}"

    # ── changes ───────────────────────────────────────────────────────────────────────────────────
    def _patch(self, what: str, kinds: tuple[str, ...], body: Value) -> Move:
        if (one := self._one(*kinds)) is None:
            return self._makes()
        kind, name, _ = one
        return Move(f"{what} {kind} {name}", "PATCH", self._at(kind, name), body, MERGE)

    def _deletes(self) -> Move:
        kind, name, _ = self._one() or ("Job", "job-0", {})
        how = self._dice.choice(("Background", "Background", "Foreground", "Orphan", ""))
        body = {"propagationPolicy": how} if how else None
        return Move(f"delete {kind} {name} {how}", "DELETE", self._at(kind, name), body)

    def _deletes_pods(self) -> Move:
        """All pods of something, or of everything: its controller creates them again."""
        _, name, _ = self._one() or ("Job", "job-0", {})
        path = PLURALS["Pod"].format(namespace=self._namespace)
        query = f"labelSelector=app%3D{name}" if self._chance(0.9) else ""
        grace = self._dice.choice((None, None, 0, 31536000))
        more = "" if grace is None else f"&gracePeriodSeconds={grace}"
        return Move(f"delete pods of {name} in {grace} s", "DELETE", f"{path}?{query}{more}")

    def _groups(self) -> Move:
        """A pod of a group, as a replacement or in addition; some differ from the others of the group."""
        group, number = self._dice.randrange(2), self._dice.randrange(4)
        value = self._allowed("Pod")
        name = value["metadata"]["name"] = f"group-{group}-{number}"
        labels, notes = value["metadata"]["labels"], value["metadata"]["annotations"]
        labels[GROUP], notes[GROUP_COUNT] = f"group-{group}", "2"
        _resources_of(value)["limits"][GPU] = 1 + group
        how = ""
        if self._chance(0.5):
            field, configured = self._dice.choice(
                (
                    (GROUP_COUNT, self._dice.choice(("1", "3", "7"))),
                    (ROLE, self._dice.choice(("zzz", "main"))),
                    ("kueue.x-k8s.io/pod-group-serving", "true"),
                    ("kueue.x-k8s.io/pod-group-fast-admission", "true"),
                    ("kueue.x-k8s.io/retriable-in-group", "false"),
                    (TIME, "86400"),
                    (QUEUE_LABEL, ""),
                    (GPU, "4"),
                )
            )
            part = {TIME: labels, QUEUE_LABEL: labels, GPU: _resources_of(value)["limits"]}
            part.get(field, notes)[field] = configured
            how = f"{field}={configured}"
        self._made["Pod", name] = value
        path = PLURALS["Pod"].format(namespace=self._namespace)
        return Move(f"make {name} ({how})", "POST", path, value)

    def _deletes_workloads(self) -> Move:
        """Delete the workload of a group, or all of the namespace: Kueue counts the remaining pods again."""
        path = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{self._namespace}/workloads"
        one = f"/group-{self._dice.randrange(2)}" if self._chance(0.8) else ""
        return Move(f"delete workloads{one}", "DELETE", f"{path}{one}")

    def _suspends(self) -> Move:
        flag = self._chance(0.35)
        kinds = ("Job", *self._wholes)
        return self._patch(f"suspend={flag}", kinds, {"spec": {"suspend": flag}})

    def _grows(self) -> Move:
        number = self._dice.choice((0, 1, 2, 3, 8))
        field = self._dice.choice(("parallelism", "completions"))
        return self._patch(f"{field}={number}", ("Job",), {"spec": {field: number}})

    def _grows_whole(self) -> Move:
        """More jobs of a set, more pods of each, larger ones, or a second kind of jobs; some with suspend."""
        if (one := self._one(*self._wholes)) is None:
            return self._makes()
        kind, name, value = one
        at = "/spec/replicatedJobs/0"
        limits = f"{at}/template/spec/template/spec/containers/0/resources/limits/"
        more = {**copy.deepcopy(value["spec"]["replicatedJobs"][0]), "name": "b"}
        number = self._dice.choice((1, 2, 3, 8))
        steps: list[Value] = [
            self._dice.choice(
                (
                    {"op": "add", "path": f"{at}/replicas", "value": number},
                    {"op": "add", "path": f"{at}/template/spec/parallelism", "value": number},
                    {"op": "add", "path": limits + GPU.replace("/", "~1"), "value": str(number)},
                    {"op": "add", "path": "/spec/replicatedJobs/-", "value": more},
                )
            )
        ]
        if self._chance(0.3):
            steps.append({"op": "add", "path": "/spec/suspend", "value": True})
        what = f"{steps[0]['path']}={number} of {kind} {name}, {len(steps)}"
        return Move(what, "PATCH", self._at(kind, name), steps, JSON)

    def _scales(self) -> Move:
        if (one := self._one(*SCALED)) is None:
            return self._makes()
        kind, name, _ = one
        number = self._dice.choice((0, 1, 2, 3, 8))
        path = self._at(kind, name) + ("/scale" if self._chance(0.7) else "")
        body = {"spec": {"replicas": number}}
        return Move(f"replicas={number} of {kind} {name}", "PATCH", path, body, MERGE)

    def _renumbers(self) -> Move:
        """Pods with other ordinals are created first; the old ones are deleted late, when these are ready."""
        if (one := self._one("StatefulSet")) is None:
            return self._makes()
        kind, name, _ = one
        first = self._dice.randrange(9)
        body = {"spec": {"minReadySeconds": 3600, "ordinals": {"start": first}}}
        return Move(
            f"ordinals={first} of {kind} {name}", "PATCH", self._at(kind, name), body, MERGE
        )

    def _labels(self) -> Move:
        queue = self._dice.choice((None, "", self._queue, "elsewhere"))
        label = self._dice.choice((QUEUE_LABEL, QUEUE_LABEL, GROUP, PRIORITY_LABEL))
        body = {"metadata": {"labels": {label: queue}}}
        return self._patch(f"label {label}={queue}", (), body)

    def _owns(self) -> Move:
        owners = [self._owner()] if self._chance(0.6) else None
        return self._patch("owner of", (), {"metadata": {"ownerReferences": owners}})

    def _keeps(self) -> Move:
        retained = self._dice.choice(
            (["orphan"], ["foregroundDeletion"], ["example.org/kept"], None)
        )
        return self._patch(f"finalizers {retained} of", (), {"metadata": {"finalizers": retained}})

    def _evicts(self) -> Move:
        _, name, _ = self._one("Pod") or ("Pod", "pod-0", {})
        grace = self._dice.choice(({}, {}, {"gracePeriodSeconds": 31536000}))
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name},
            "deleteOptions": grace,
        }
        return Move(f"evict {name}", "POST", f"{self._at('Pod', name)}/eviction", body)

    def _changes_template(self) -> Move:
        """More GPUs, by limit, by request, in another container, or another label of the pods."""
        if (one := self._one("Job", *SCALED)) is None:
            return self._makes()
        kind, name, _ = one
        at = "/spec/template/spec/containers/0/resources"
        key = GPU.replace("/", "~1")
        amount = str(self._dice.choice(AMOUNTS))
        more = {"name": "b", "image": "example.invalid/b:1", "resources": {"limits": {GPU: amount}}}
        label = "/spec/template/metadata/labels/" + QUEUE_LABEL.replace("/", "~1")
        step = self._dice.choice(
            (
                {"op": "add", "path": f"{at}/limits/{key}", "value": amount},
                {"op": "add", "path": f"{at}/requests/{key}", "value": amount},
                {"op": "remove", "path": f"{at}/limits/{key}"},
                {"op": "add", "path": "/spec/template/spec/containers/-", "value": more},
                {"op": "add", "path": "/spec/template/spec/initContainers", "value": [more]},
                {"op": "remove", "path": label},
                {"op": "remove", "path": "/spec/template/spec/schedulingGates"},
            )
        )
        return Move(
            f"{step['op']} {step['path']} of {kind} {name}",
            "PATCH",
            self._at(kind, name),
            [step],
            JSON,
        )

    # ── modifications ─────────────────────────────────────────────────────────────────────────────
    def _owner(self) -> Value:
        kind, name, value = self._one() or ("Job", "job-0", {"apiVersion": "batch/v1"})
        invented = {"apiVersion": "x.example/v1", "kind": "X", "name": "x"}
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "name": "x"}
        own = {"apiVersion": value["apiVersion"], "kind": kind, "name": name}
        result = self._dice.choice((own, own, own, invented, role))
        uid = self.uids.get((result["kind"], result["name"]), "nobodys")
        return {**result, "uid": uid, "controller": self._chance(0.8)}

    def forged_owner(self, value: Value) -> None:
        value["metadata"]["ownerReferences"] = [self._owner()]

    def no_queue(self, value: Value) -> None:
        for labels in _labels_of(value):
            labels.pop(QUEUE_LABEL, None)

    def another_queue(self, value: Value) -> None:
        name = self._dice.choice(("default", "batch", "work", "elsewhere"))
        for labels in _labels_of(value):
            labels[QUEUE_LABEL] = name

    def group_of_few(self, value: Value) -> None:
        """Pods that claim to belong to a group with another size."""
        metadata = _pod_of(value).setdefault("metadata", {})
        metadata["labels"][GROUP] = f"group-{self._dice.randrange(2)}"
        notes = metadata.setdefault("annotations", {})
        notes[GROUP_COUNT] = str(self._dice.choice((1, 1, 2)))
        if self._chance(0.3):
            notes["kueue.x-k8s.io/pod-group-fast-admission"] = "true"
        if self._chance(0.3):
            notes["kueue.x-k8s.io/pod-group-serving"] = "true"
        if self._chance(0.3):
            notes["kueue.x-k8s.io/retriable-in-group"] = "false"

    def managed_already(self, value: Value) -> None:
        labels, notes = _pod_of(value)["metadata"]["labels"], value["metadata"]
        match self._dice.randrange(5):
            case 0:
                labels["kueue.x-k8s.io/managed"] = "true"
            case 1:
                notes["labels"]["kueue.x-k8s.io/managed"] = "true"
            case 2:
                notes["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] = "x"
            case 3:
                one = self._one("StatefulSet", "Deployment")
                kind, name = one[:2] if one else ("StatefulSet", "statefulset-0")
                labels["kueue.x-k8s.io/pod-suspending-parent"] = f"{kind.lower()}"
                labels["kueue.x-k8s.io/pod-group-name"] = name
            case _:
                notes.setdefault("annotations", {})["kueue.x-k8s.io/job-min-parallelism"] = "1"

    def own_gate(self, value: Value) -> None:
        gates = [{"name": self._dice.choice((QUEUE_GATE, "example.org/later"))}]
        _pod_of(value)["spec"]["schedulingGates"] = gates

    def first(self, value: Value) -> None:
        """Priority over others, on every node."""
        spec = _pod_of(value)["spec"]
        spec["priorityClassName"] = self._dice.choice(("system-node-critical", "hostile-high"))

    def first_in_queues(self, value: Value) -> None:
        name = self._dice.choice(("hos-high", "strange", ""))
        value["metadata"].setdefault("labels", {})[PRIORITY_LABEL] = name

    def tolerates(self, value: Value) -> None:
        spec = _pod_of(value)["spec"]
        pool = {"key": "gpuyard.dev/pool", "operator": "Exists"}
        spec["tolerations"] = [
            self._dice.choice((pool, {"operator": "Exists"}, {"key": GPU, "operator": "Exists"}))
        ]

    def without_gpus(self, value: Value) -> None:
        """Only CPU of GPU nodes."""
        self.tolerates(value)
        _resources_of(value)["limits"].pop(GPU)
        self.no_queue(value)

    def of_others(self, value: Value) -> None:
        """Slices and shares for which the team has no quota, or a device of a class."""
        limits = _resources_of(value)["limits"]
        del limits[GPU]
        limits[self._dice.choice(self._others)] = 1

    def requests_alone(self, value: Value) -> None:
        resources = _resources_of(value)
        resources["requests"][GPU] = resources["limits"][GPU]
        if self._chance(0.5):
            resources["requests"][GPU] = 1

    def in_first_containers(self, value: Value) -> None:
        """GPUs of an init container, which may be a sidecar."""
        spec = _pod_of(value)["spec"]
        first = {**copy.deepcopy(spec["containers"][0]), "name": "i"}
        spec["initContainers"] = [
            first | ({"restartPolicy": "Always"} if self._chance(0.6) else {})
        ]

    def all_devices(self, value: Value) -> None:
        container = _pod_of(value)["spec"]["containers"][0]
        container["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]

    def by_hand(self, value: Value) -> None:
        _pod_of(value)["spec"]["nodeName"] = "hos-open-0"

    def stays(self, value: Value) -> None:
        retained = self._dice.choice(("orphan", "example.org/kept", "foregroundDeletion"))
        where = value if self._chance(0.6) else _pod_of(value)
        where.setdefault("metadata", {})["finalizers"] = [retained]

    def started(self, value: Value) -> None:
        if value["kind"] == "Job":
            value["spec"]["suspend"] = self._chance(0.5)

    def of_somebody_else(self, value: Value) -> None:
        if value["kind"] == "Job":
            value["spec"]["managedBy"] = "example.org/mine"

    def elastic(self, value: Value) -> None:
        """An elastic job: Kueue counts each size as a slice, and gates its pods."""
        notes = value["metadata"].setdefault("annotations", {})
        notes["kueue.x-k8s.io/elastic-job"] = "true"

    def takes_pods_in(self, value: Value) -> None:
        """A controller with the selector of others, which adopts their pods."""
        _, name, _ = self._one() or ("Job", "job-0", {})
        labels = {"app": name}
        if value["kind"] in SCALED:
            value["spec"]["selector"]["matchLabels"] = labels
            value["spec"]["template"]["metadata"]["labels"] |= labels
        elif value["kind"] == "Job":
            value["spec"] |= {"manualSelector": True, "selector": {"matchLabels": labels}}
            value["spec"]["template"]["metadata"]["labels"] |= labels

    def one_after_the_other(self, value: Value) -> None:
        if value["kind"] == "Job":
            value["spec"] |= {"completionMode": "Indexed", "completions": 4}
            if self._chance(0.5):
                value["spec"] |= {"backoffLimitPerIndex": 1, "maxFailedIndexes": 2}
                value["spec"].pop("backoffLimit", None)


PATHS = {**PLURALS, **WHOLES}
Bend = Callable[[Member, Value], None]
BENT: tuple[Bend, ...] = (
    Member.forged_owner,
    Member.forged_owner,
    Member.no_queue,
    Member.another_queue,
    Member.group_of_few,
    Member.group_of_few,
    Member.managed_already,
    Member.managed_already,
    Member.own_gate,
    Member.first,
    Member.first_in_queues,
    Member.tolerates,
    Member.without_gpus,
    Member.of_others,
    Member.requests_alone,
    Member.in_first_containers,
    Member.all_devices,
    Member.by_hand,
    Member.stays,
    Member.started,
    Member.of_somebody_else,
    Member.elastic,
    Member.elastic,
    Member.takes_pods_in,
    Member.takes_pods_in,
    Member.one_after_the_other,
)


def _pod_of(value: Value) -> Value:
    """The part with metadata and spec of the pods."""
    if value["kind"] == "Pod":
        return value
    spec = value["spec"]
    if value["kind"] == "JobSet":
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    result: Value = (spec["jobTemplate"]["spec"] if value["kind"] == "CronJob" else spec)[
        "template"
    ]
    return result


def _resources_of(value: Value) -> Value:
    result: Value = _pod_of(value)["spec"]["containers"][0]["resources"]
    result["limits"].setdefault(GPU, 1)
    return result


def _labels_of(value: Value) -> list[Value]:
    results = [value, _pod_of(value)]
    if value["kind"] == "CronJob":
        results.append(value["spec"]["jobTemplate"])
    return [one.setdefault("metadata", {}).setdefault("labels", {}) for one in results]
