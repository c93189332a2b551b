"""A platform on a real Kueue: from its spec to the jobs of its teams and their results.

    with QueueLab(api, one_pool("lend", 3, a={"guarantee": 8}, b={"guarantee": 16, "lend": 8})) as lab:
        lab.submit("a", "first", gpus=8)
        lab.expect("a", "first", "admitted")

Every queue is rendered from the platform's plan; only the jobs are written manually.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from gpuyard.render.kueue.configuration import kueue_configuration_object
from gpuyard.render.platform import platform_objects
from gpuyard_core.names import CLASS_LABEL, KUEUE_CONFIG_KEY, PRIORITY_LABEL, QUEUE_LABEL
from gpuyard_simulate import cluster, processes, state
from gpuyard_simulate.api import Api, ApiError, ApiObject, Unreachable, connect
from gpuyard_simulate.kueue import manager as kueue_manager
from kit import waiting
from kit.cluster import lab as reality
from kit.cluster.lab import KUEUE, Lab, Value, condition
from kit.generated.small_platforms import pod_spec
from kit.stacks import Raw, plan_of, platform, pool

DURATION = "sim.gpuyard.dev/duration"
SHARES = ("guarantee", "borrow", "lend")
IN_QUEUES = {"Topology", "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue"}
QUIET = 2.5
"""Seconds without any change after which Kueue has nothing more to do: it retries workloads that it set aside
one second after capacity became free."""


def one_pool(name: str, nodes: int, shapes: Iterable[Raw] = (), **rest: Any) -> Raw:
    """A platform with nodes of eight GPUs; teams are given by letter, their amounts are of its only pool.

    All names contain the platform's, so that one platform can start while the last one is still terminating.
    """
    teams: list[Raw] = []
    for letter in [key for key in rest if len(key) == 1]:
        value = rest.pop(letter)
        shares = {k: {name: n} if n else {} for k, n in value.items() if k in SHARES}
        teams.append({"name": f"{name}-{letter}", **value, **shares})
    pools = [pool(name, nodes=nodes)]
    return platform(
        name=name, cloud="simulated", pools=pools, teams=teams, shapes=[*shapes], **rest
    )


class QueueLab(Lab):
    """One platform's queues, and jobs in them. Teams are called by their letter, see `one_pool`."""

    def __init__(self, api: Api, raw: Mapping[str, Any]) -> None:
        super().__init__(api, plan_of(raw))
        self.jobs: dict[tuple[str, str], str] = {}
        """Submitted jobs that are not withdrawn: namespace and name, and Kueue's state."""

    def becomes(self, raw: Mapping[str, Any]) -> None:
        """Apply the same platform after a change of its stack file."""
        self.plan = plan_of(raw)
        for value in platform_objects(self.plan):
            if value["kind"] in IN_QUEUES:
                reality.apply(self.api, value)

    def __exit__(self, *_: object) -> None:
        """Delete jobs first: a queue in use stays until its last workload is gone."""
        namespaces = {namespace for namespace, _ in self.jobs}
        for namespace in namespaces:
            reality.delete(self.api, f"/apis/batch/v1/namespaces/{namespace}/jobs")
        reality.wait(lambda: not self._left(namespaces), "workloads to be gone")
        super().__exit__()

    def _left(self, namespaces: set[str]) -> list[Value]:
        return [w for n in namespaces for w in self.listed(f"{KUEUE}/namespaces/{n}/workloads")]

    def namespace(self, team: str) -> str:
        """The home namespace of a team; a namespace stays as it is."""
        if team in reality.namespaces_of(self.plan):
            return team
        return self.plan.team(f"{self.plan.name}-{team}").default_namespace.name

    def node(self, index: int) -> str:
        """The name of one of the platform's nodes."""
        return [o["metadata"]["name"] for o in self.objects if o["kind"] == "Node"][index]

    def submit(self, team: str, name: str, **shape: Any) -> Value:
        """Create a job of the team; see `job` for its shape."""
        created = job(self.namespace(team), name, **shape)
        self.noted(created)
        reality.create(self.api, reality.path_of(created).rpartition("/")[0], created)
        return created

    def noted(self, created: Value) -> None:
        """Record a job, so that it is removed at the end."""
        metadata, spec = created["metadata"], created["spec"]
        looks = {**spec, "template": {"spec": spec["template"]["spec"]}, **metadata["labels"]}
        self.jobs[metadata["namespace"], metadata["name"]] = repr(looks)

    def withdraw(self, team: str, name: str) -> None:
        """Delete a job; its quota and its nodes are free when this returns."""
        namespace = self.namespace(team)
        reality.delete(self.api, f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
        reality.wait(
            lambda: self.workload(team, name) is None and not self.pods(team, name),
            f"{name} to be gone",
        )
        self.jobs.pop((namespace, name), None)

    def workload(self, team: str, name: str) -> Value | None:
        """Kueue's Workload of a job."""
        result = self._workloads(self.namespace(team), name)
        return result[0] if result else None

    def state(self, team: str, name: str) -> str:
        """In one word: admitted, finished, waits; "" while Kueue has not processed it."""
        return state_of(self.workload(team, name) or {})

    def says(self, team: str, name: str) -> str:
        """Kueue's message for a waiting job."""
        result = condition(self.workload(team, name) or {}, "QuotaReserved")
        return str(result.get("message", ""))

    def expect(self, team: str, name: str, expected: str) -> None:
        """Wait until a job is in this state; a failure has Kueue's message."""
        try:
            reality.wait(lambda: self.state(team, name) == expected, "a state")
        except TimeoutError:
            seen = self.state(team, name) or "not looked at"
            raise AssertionError(
                f"{team}'s {name}: wanted {expected}, is {seen}: {self.says(team, name)}"
            ) from None

    def evicted(self, team: str, name: str) -> str:
        """Kueue's reason of a job's last eviction; "" without one."""
        result = self.workload(team, name) or {}
        why = condition(result, "Preempted") or condition(result, "Evicted")
        return str(why.get("reason", ""))

    def ready(self, team: str, name: str) -> bool:
        """Whether Kueue knows that all pods of a job are ready."""
        known = condition(self.workload(team, name) or {}, "PodsReady")
        return bool(known.get("status") == "True")

    def pods(self, team: str, name: str) -> list[Value]:
        """The pods of a job, including ended ones."""
        return self._pods(self.namespace(team), name)

    def running(self, team: str, name: str) -> int:
        """The number of a job's running pods."""
        return sum(p["status"].get("phase") == "Running" for p in self.pods(team, name))

    def used(self, resource: str = "nvidia.com/gpu") -> dict[str, int]:
        """The amount of a resource that Kueue has admitted for each team."""
        team_of = self._letters()
        result = dict.fromkeys(team_of.values(), 0)
        for one in self._admitted():
            if condition(one, "Finished").get("status") == "True":
                continue
            for pods in one["status"]["admission"]["podSetAssignments"]:
                result[team_of[one["metadata"]["namespace"]]] += int(
                    pods["resourceUsage"].get(resource, 0)
                )
        return result

    def pool_of(self, team: str, name: str) -> str:
        """The pool whose quota a job uses."""
        admission = (self.workload(team, name) or {})["status"]["admission"]
        (flavor,) = admission["podSetAssignments"][0]["flavors"].values()
        return next(p.name for p in self.plan.pools if p.flavor == flavor)

    def stopped(self, team: str) -> bool:
        """Whether Kueue reports the team's queue as stopped."""
        name = self.plan.team(f"{self.plan.name}-{team}").cluster_queue
        active = condition(self.api.get(f"{KUEUE}/clusterqueues/{name}") or {}, "Active")
        return active.get("reason") == "Stopped"

    def comes_to(self, **used: int) -> None:
        """Wait until each team holds so many GPUs, and check it again in the final state."""
        with suppress(TimeoutError):
            soon(lambda: self.used() == used, "what the assertion below shows better")
        self.settle()
        assert reality.wait(self.used, "what is used") == used

    def settle(self) -> dict[str, str]:
        """Wait until nothing changes; returns the state of every job by `team/name`."""
        before: object = None
        since = time.monotonic()

        def rested() -> dict[str, str] | None:
            nonlocal before, since
            now = self._picture()
            if now != before or not all(now.values()):
                before, since = now, time.monotonic()
            return now if time.monotonic() - since > reality.at_rest(QUIET) else None

        results: dict[str, str] = reality.wait(rested, "nothing to change any more")
        return results

    def _letters(self) -> dict[str, str]:
        """The letters of the teams by their namespaces."""
        return {
            space.name: t.name.removeprefix(f"{self.plan.name}-")
            for t in self.plan.teams
            for space in t.namespaces
        }

    def _picture(self) -> dict[str, str]:
        """Kueue sets equivalent jobs aside together and writes the reason to one: it applies to all."""
        result = dict.fromkeys(self.jobs, "")
        for namespace in self._letters():
            for one in self.listed(f"{KUEUE}/namespaces/{namespace}/workloads"):
                result[namespace, self._title(one).partition("/")[2]] = state_of(one)
        waiting = {(key[0], self.jobs[key]) for key, state in result.items() if state == "waits"}
        return {
            f"{self._letters()[key[0]]}/{key[1]}": state
            or ("waits" if (key[0], self.jobs[key]) in waiting else "")
            for key, state in result.items()
        }


def state_of(workload: Value) -> str:
    """A workload's state in one word."""
    if condition(workload, "Finished").get("status") == "True":
        return "finished"
    if condition(workload, "Admitted").get("status") == "True":
        return "admitted"
    reserved = condition(workload, "QuotaReserved")
    pending = str(reserved.get("message", ""))
    if reserved.get("status") == "False" and pending and "Pending the preemption" not in pending:
        return "waits"
    return ""


def job(  # noqa: PLR0913  a shape has many parameters
    namespace: str,
    name: str,
    *,
    pods: int = 1,
    gpus: int = 8,
    seconds: float | None = None,
    priority: str = "",
    queue: str = "",
    spec: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    workload_class: str = "",
) -> Value:
    """A Job with so many pods and so many GPUs each; without `seconds` they run until they are deleted."""
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": str(gpus)}
    labels = {"job": name} | ({CLASS_LABEL: workload_class} if workload_class else {})
    notes = {} if seconds is None else {DURATION: f"{round(seconds * 1000)}ms"}
    template = {
        "metadata": {"labels": labels, "annotations": {**notes, **(annotations or {})}},
        "spec": {**pod_spec(amounts), **(spec or {})},
    }
    metadata: Value = {"name": name, "namespace": namespace, "labels": {}}
    if priority:
        metadata["labels"][PRIORITY_LABEL] = priority
    if queue:
        metadata["labels"][QUEUE_LABEL] = queue
    body = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": body}


_found: dict[str, ApiObject | None] = {}
"""By cluster whose Kueue has a platform's configuration: its original one, or None."""
_wanted: dict[str, list[Mapping[str, str]]] = {}
"""By cluster: the configurations in use, the innermost last."""


@contextmanager
def kueue_as_rendered(name: str, raw: Mapping[str, Any], **changes: object) -> Iterator[Api]:
    """The cluster's Kueue with the configuration that this platform renders, `changes` at its top."""
    with kueue_with(
        name, yaml.safe_load(_rendered(raw)["data"][KUEUE_CONFIG_KEY]) | changes
    ) as api:
        yield api


@contextmanager
def kueue_with(name: str, content: ApiObject) -> Iterator[Api]:
    """The cluster's Kueue with this configuration.

    Kueue reads it when it starts, and a start is slow. So it stays until another one is needed; use
    `kueue_as_it_was` for the cluster's own configuration.
    """
    cluster.up(name)
    api = connect(Path(cluster.status(name).kubeconfig))
    _found.setdefault(name, api.get(kueue_manager.CONFIG_MAP))
    blocked = _wanted.setdefault(name, [])
    blocked.append({KUEUE_CONFIG_KEY: yaml.safe_dump(content)})
    _configure(api, name, blocked[-1])
    try:
        yield api
    finally:
        blocked.pop()
        if blocked:
            _configure(api, name, blocked[-1])


def kueue_as_it_was(name: str) -> None:
    """Restore the cluster's own Kueue configuration, unless a platform's is in use."""
    if name in _found and not _wanted[name]:
        api = connect(Path(cluster.status(name).kubeconfig))
        if (own := _found.pop(name)) is None:
            reality.delete(api, kueue_manager.CONFIG_MAP)
        else:
            reality.apply(api, configuration_of(own["data"]))
    cluster.up(name)


def forget(name: str) -> None:
    """Drop a removed cluster: its Kueue need not be restored."""
    _found.pop(name, None)


def _rendered(raw: Mapping[str, Any]) -> ApiObject:
    return kueue_configuration_object(plan_of(raw))


def _configure(api: Api, name: str, data: Mapping[str, str]) -> None:
    """Apply a configuration; many platforms share it, and Kueue restarts only if it differs."""
    now = api.get(kueue_manager.CONFIG_MAP)
    if now is None or now.get("data") != data:
        reality.apply(api, configuration_of(data))
    cluster.up(name)


def configuration_of(data: Mapping[str, str]) -> Value:
    """The ConfigMap with the configuration of a cluster's Kueue."""
    namespace, _, own = kueue_manager.CONFIG_MAP.partition("/configmaps/")
    metadata = {"name": own, "namespace": namespace.rpartition("/")[2]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def soon(look: Callable[[], Any], what: str, seconds: float = waiting.PATIENCE) -> Any:
    """Wait for a condition and ignore errors of the cluster meanwhile."""

    def safely() -> Any:
        try:
            return look()
        except (ApiError, Unreachable):
            return None

    return reality.wait(safely, what, seconds)


def starts_kueue_anew(name: str, was: processes.Process | None) -> None:
    """`up` restarts Kueue for another configuration, unless the agents did so first."""
    message = cluster.up(name).says
    by_up = f"repaired cluster {name}: started kueue"
    assert message in {by_up, f"cluster {name} is already up; nothing changed"}
    assert state.folder_of(name).read_process("kueue") not in {None, was}


def kill(name: str, part: str) -> None:
    """End a process of the cluster without warning."""
    record = state.folder_of(name).read_process(part)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    while record.alive:
        processes.reap()
        time.sleep(0.01)
