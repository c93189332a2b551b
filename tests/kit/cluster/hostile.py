"""Hostile teams on a real API server and Kueue, and a referee that counts continuously.

Two properties must hold. GPUs of running pods are at most those that Kueue counts, team by team and workload
by workload; and no pod of an admitted workload waits for a node on which an uncounted pod, or one without
GPUs, runs.

Two lists are never of the same moment, and pods are removed a moment after their workload. So a violation
must be seen in several snapshots, with the same pods, for `LASTING` seconds.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.manifests.pods import GPU_PREFIXES
from gpuyard_simulate.api import Api, ApiError, Unreachable
from kit.cluster.lab import KUEUE, condition, patiently, slack
from kit.cluster.tenants import acting, cleared
from kit.generated.hostile import Member, Move

Value = dict[str, Any]
LASTING = 4.0
"""Seconds for which a violation must last: the garbage collector takes so long on a busy machine."""
STANDING = 20.0
"""Seconds that an admitted pod may wait for its node."""
MOST_SLACK = 4.0
_OVER = {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True)
class Wrong:
    """A violation that must not last: what, of which team, and its pods."""

    what: str
    pods: frozenset[str]
    about: str = ""


@dataclass
class Picture:
    """A snapshot: pods and workloads, read one after the other."""

    pods: list[Value]
    workloads: list[Value]

    @classmethod
    def taken(cls, api: Api, namespaces: set[str]) -> "Picture":
        """Pods are those that ran before the workloads were read, and run after it."""
        before = _running(api, namespaces)
        workloads = [
            w
            for w in patiently(lambda: api.call("GET", f"{KUEUE}/workloads"))["items"]
            if w["metadata"]["namespace"] in namespaces
        ]
        after = _running(api, namespaces)
        return cls([after[uid] for uid in before if uid in after], workloads)

    def wrongs(self) -> Iterator[Wrong]:
        """All violations in this snapshot."""
        counted = [w for w in self.workloads if _is_counted(w)]
        placed = [p for p in self.pods if p["spec"].get("nodeName")]
        of_workload: dict[tuple[str, str], list[Value]] = {_key(w): [] for w in counted}
        for pod in placed:
            for workload in _counted_by(pod, counted):
                of_workload[_key(workload)].append(pod)
        for workload in counted:
            mine = of_workload[_key(workload)]
            yield from _more(f"workload {'/'.join(_key(workload))}", mine, _amounts(workload))
        for namespace in sorted({p["metadata"]["namespace"] for p in placed}):
            mine = [p for p in placed if p["metadata"]["namespace"] == namespace]
            theirs = [w for w in counted if w["metadata"]["namespace"] == namespace]
            have: Counter[str] = Counter()
            for workload in theirs:
                have.update(_amounts(workload))
            yield from _more(f"team {namespace}", mine, have)
        strangers = self._strangers(placed, of_workload)
        for pod in strangers:
            yield Wrong(f"stranger {_name(pod)}", frozenset({_uid(pod)}), _about(pod))

    def waiting(self) -> Iterator[Wrong]:
        """Pods of admitted workloads with GPU requests but without a node, and pods without GPUs."""
        for workload in self.workloads:
            if condition(workload, "Admitted").get("status") != "True" or not _is_counted(workload):
                continue
            mine = [p for p in self.pods if _belongs(p, workload)]
            late = [p for p in mine if _gpus(p) and not p["spec"].get("nodeName")]
            for pod in late:
                yield Wrong(f"{_name(pod)} waits", frozenset({_uid(pod)}), _about(pod))

    def _strangers(
        self, placed: list[Value], of_workload: Mapping[tuple[str, str], list[Value]]
    ) -> list[Value]:
        known = {_uid(p) for pods in of_workload.values() for p in pods}
        return [
            p
            for p in placed
            if _uid(p) not in known and (_gpus(p) or p["spec"]["nodeName"].startswith("hos-"))
        ]


def _running(api: Api, namespaces: set[str]) -> dict[str, Value]:
    """Pods that have not ended and are not terminating, including those without a node."""
    return {
        _uid(p): p
        for p in patiently(lambda: api.call("GET", "/api/v1/pods"))["items"]
        if p["metadata"]["namespace"] in namespaces
        and p.get("status", {}).get("phase") not in _OVER
        and "deletionTimestamp" not in p["metadata"]
    }


def _is_counted(workload: Value) -> bool:
    finished = condition(workload, "Finished").get("status") == "True"
    return condition(workload, "QuotaReserved").get("status") == "True" and not finished


def _amounts(workload: Value) -> Counter[str]:
    """What Kueue counts now: less than admitted once pods have ended, or an elastic job has shrunk."""
    result: Counter[str] = Counter()
    status = workload["status"]
    remaining = {each["name"]: int(each["count"]) for each in workload["spec"]["podSets"]}
    for each in status.get("reclaimablePods", []):
        remaining[each["name"]] -= int(each["count"])
    for each in status.get("admission", {}).get("podSetAssignments", []):
        admitted = int(each["count"])
        usage = each.get("resourceUsage", {}) if admitted else {}
        stays = min(remaining[each["name"]], admitted)
        result.update(
            {k: int(v) * stays // admitted for k, v in usage.items() if k.startswith(GPU_PREFIXES)}
        )
    return result


def _gpus(pod: Value) -> Counter[str]:
    """What the scheduler takes from the node: the sum of containers, or the largest init container."""
    spec = pod["spec"]
    side: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for container in spec.get("initContainers", []):
        requested = _asked(container)
        if container.get("restartPolicy") == "Always":
            side.update(requested)
        for name in {*requested, *side}:
            alone = 0 if container.get("restartPolicy") == "Always" else requested[name]
            most[name] = max(most[name], side[name] + alone)
    for container in spec["containers"]:
        side.update(_asked(container))
    return Counter({n: max(most[n], side[n]) for n in {*most, *side} if max(most[n], side[n])})


def _asked(container: Value) -> Counter[str]:
    requests = container.get("resources", {}).get("requests", {})
    return Counter({k: int(v) for k, v in requests.items() if k.startswith(GPU_PREFIXES)})


def _counted_by(pod: Value, workloads: list[Value]) -> list[Value]:
    """The workloads of its owner or of itself; without any, that of its group.

    Pods of a counted Job may carry the label of a group too: Kueue counts them with their Job, and once.
    """
    owned = [w for w in workloads if _owned(pod, w)]
    return owned or [w for w in workloads if _grouped(pod, w)]


def _belongs(pod: Value, workload: Value) -> bool:
    """Whether a pod belongs to a workload: by its owner, by itself, or by its group."""
    return _owned(pod, workload) or _grouped(pod, workload)


def _owned(pod: Value, workload: Value) -> bool:
    metadata, theirs = pod["metadata"], workload["metadata"]
    owners = {o["uid"] for o in theirs.get("ownerReferences", [])}
    # a pod of a JobSet has the set's uid: its owner is the job, and the set is counted
    complete = metadata.get("labels", {}).get("jobset.sigs.k8s.io/jobset-uid", "")
    mine = {_uid(pod), complete, *(o["uid"] for o in metadata.get("ownerReferences", []))}
    return metadata["namespace"] == theirs["namespace"] and bool(owners & mine)


def _grouped(pod: Value, workload: Value) -> bool:
    """Whether a pod's group has the name of the workload."""
    metadata, theirs = pod["metadata"], workload["metadata"]
    group = metadata.get("labels", {}).get("kueue.x-k8s.io/pod-group-name")
    return bool(metadata["namespace"] == theirs["namespace"] and group == theirs["name"])


def _more(what: str, pods: list[Value], counted: Counter[str]) -> Iterator[Wrong]:
    run: Counter[str] = Counter()
    for pod in pods:
        run.update(_gpus(pod))
    for name, number in run.items():
        if number > counted[name]:
            message = f"{number} {name} run, {counted[name]} counted: " + "; ".join(
                map(_about, pods)
            )
            yield Wrong(f"{what} {name}", frozenset(map(_uid, pods)), message)


def _uid(value: Value) -> str:
    return str(value["metadata"]["uid"])


def _key(value: Value) -> tuple[str, str]:
    return value["metadata"]["namespace"], value["metadata"]["name"]


def _name(pod: Value) -> str:
    return "/".join(_key(pod))


def _about(pod: Value) -> str:
    owners = [f"{o['kind']} {o['name']}" for o in pod["metadata"].get("ownerReferences", [])]
    labels = {k: v for k, v in pod["metadata"].get("labels", {}).items() if "kueue" in k}
    return (
        f"{_name(pod)} on {pod['spec'].get('nodeName')} {dict(_gpus(pod))}"
        f" owners {owners} labels {labels}"
    )


@dataclass
class Referee:
    """Takes snapshots continuously; a violation that lasts too long fails the test."""

    api: Api
    namespaces: set[str]
    looks: int = 0
    longest: float = 0.0
    """Maximum seconds of a temporary violation."""
    most: int = 0
    """Maximum GPUs in use at once, over all teams."""
    late: float = 0.0
    """Maximum seconds that a pod of an admitted workload waited for its node."""
    _since: dict[str, tuple[float, frozenset[str]]] = field(default_factory=dict)
    _waits: dict[str, float] = field(default_factory=dict)
    _behind: dict[str, float] = field(default_factory=dict)
    """Start of waiting of pods while uncounted pods run: one that exists only briefly delays no pod."""

    def look(self) -> None:
        """Take a snapshot; an AssertionError names a violation that lasted too long."""
        picture = Picture.taken(self.api, self.namespaces)
        self.judge(picture, time.monotonic(), min(slack(), MOST_SLACK))

    def judge(self, picture: Picture, now: float, patience: float) -> None:
        """Compare the snapshot with earlier ones."""
        self.looks += 1
        placed = (p for p in picture.pods if p["spec"].get("nodeName"))
        self.most = max(self.most, sum(sum(_gpus(p).values()) for p in placed))
        results = {wrong.what: wrong for wrong in picture.wrongs()}
        still: dict[str, tuple[float, frozenset[str]]] = {}
        for what, wrong in results.items():
            since, pods = self._since.get(what, (now, wrong.pods))
            same = pods & wrong.pods
            still[what] = (since, same) if same else (now, wrong.pods)
            lasted = now - still[what][0]
            self.longest = max(self.longest, lasted)
            assert lasted <= LASTING * patience, f"for {lasted:.1f} s: {what}: {wrong.about}"
        self._since = still
        waits = {each.what + next(iter(each.pods)): each for each in picture.waiting()}
        self._waits = {what: self._waits.get(what, now) for what in waits}
        self.late = max([self.late, *(now - since for since in self._waits.values())])
        strangers = any(what.startswith("stranger") for what in results)
        behind = waits if strangers else {}
        self._behind = {what: self._behind.get(what, now) for what in behind}
        for what, since in self._behind.items():
            assert now - since <= STANDING * patience, waits[what].about


@dataclass
class Hostile:
    """Teams that attack, each as its own users."""

    api: Api
    members: Mapping[str, Member]
    """By namespace."""
    groups: Mapping[str, str]
    """Of users, by namespace."""
    answers: Counter[str] = field(default_factory=Counter)
    """How often the cluster accepted a request, and what rejected the others."""
    log: list[str] = field(default_factory=list)
    wholes: tuple[str, ...] = ()
    """Paths of kinds of other projects."""

    def act(self, namespace: str) -> None:
        """Send the next move of a team."""
        member = self.members[namespace]
        move = member.move()
        answer = self._send(namespace, member, move)
        self.answers[answer.split(":")[0]] += 1
        self.log.append(f"{time.monotonic():.2f} {namespace}: {move.what}: {answer[:160]}")

    def _send(self, namespace: str, member: Member, move: Move) -> str:
        try:
            team = acting(self.api, self.groups[namespace])
            created = team.call(move.verb, move.path, move.body, move.kind)
        except Unreachable:
            return "no answer"
        except ApiError as problem:
            return _refused(problem)
        if move.verb == "POST" and "uid" in created.get("metadata", {}):
            member.uids[created["kind"], created["metadata"]["name"]] = created["metadata"]["uid"]
        return "taken"

    def clears(self, namespace: str) -> None:
        """Delete all objects of a team."""
        self.answers["not cleared"] += cleared(self.api, namespace, self.wholes)
        self.log.append(f"{time.monotonic():.2f} {namespace}: cleared")

    def left(self) -> str:
        """Jobs, workloads and pods of the teams, with the writer and time of each field, to analyze a violation."""
        kinds = ("/apis/batch/v1/jobs", f"{KUEUE}/workloads", "/api/v1/pods", "/api/v1/events")
        results = (each for kind in kinds for each in self.api.call("GET", kind)["items"])
        mine = (each for each in results if each["metadata"]["namespace"] in self.members)
        return "\n".join(map(json.dumps, mine))


def _refused(problem: ApiError) -> str:
    message = str(problem)
    for who, words in (
        ("policy", "ValidatingAdmissionPolicy"),
        ("kueue", "admission webhook"),
        ("quota", "exceeded quota"),
        ("access", " cannot "),
        ("there already", "already exists"),
        ("not there", "not found"),
    ):
        if words in message:
            return f"{who}: {message}"
    return f"{problem.status}: {message}"
