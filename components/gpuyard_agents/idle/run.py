"""One run over all teams: read all of a team, evaluate, and only then change anything.

The run reports an object that it cannot read or whose change the API server rejects, and does not change
it. After any other error for a team it changes nothing of that team and continues with the others. When
Prometheus does not answer, it evaluates no team.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from gpuyard_agents.agent import Say
from gpuyard_agents.client import (
    NOT_FOUND,
    JsonClient,
    RequestRejected,
    Unreachable,
    list_objects,
    resource_path,
)
from gpuyard_agents.idle.actions import ActionRunner
from gpuyard_agents.idle.decisions import (
    State,
    Step,
    Verdict,
    is_resumable,
    state_from_measurements,
    state_without_measurements,
    step_for,
)
from gpuyard_agents.idle.measure import Reading, readings
from gpuyard_agents.idle.settings import Settings, Team
from gpuyard_agents.idle.workloads import (
    KUEUE,
    SCALED,
    Object,
    Owner,
    Pod,
    ScaledWorkload,
    Unit,
    Workload,
    deployment_of,
    group_units,
    is_pod_terminated,
    read_pod,
    read_scaled,
    read_workload,
)

T = TypeVar("T")


class UnmanagedNamespaceError(Exception):
    """A namespace without the labels of this platform or this team."""


@dataclass(slots=True)
class Summary:
    """Results and actions of one run."""

    now: datetime
    states: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    gpus: int = 0
    """GPUs released by suspension."""
    problems: list[str] = field(default_factory=list)

    def line(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "now": self.now.isoformat(),
            "states": dict(sorted(self.states.items())),
            "steps": dict(sorted(self.steps.items())),
            "suspended_gpus": self.gpus,
            "problems": self.problems,
        }


@dataclass(frozen=True, slots=True)
class ReclaimRun:
    """One run over all teams."""

    settings: Settings
    server: JsonClient
    prometheus: JsonClient
    now: datetime
    say: Say

    def run_all_teams(self) -> Summary:
        """All teams, one after the other."""
        summary = Summary(self.now)
        for team in self.settings.teams:
            try:
                self._team(team, summary)
            except (RequestRejected, Unreachable, UnmanagedNamespaceError) as problem:
                summary.problems.append(f"team {team.name}: {problem}")
        return summary

    def _team(self, team: Team, summary: Summary) -> None:
        space = self._namespace(team)
        if space is None:
            return
        view = NamespaceView(self, team, space, summary.problems)
        actor = ActionRunner(self.server, self.settings, team, self.now)
        for verdict in self._verdicts(team, view):
            summary.states[verdict.state] += 1
            step = str(verdict.step)
            step = (
                self._rehearse(verdict, team, actor)
                if team.dry_run
                else self._carry_out(verdict, team, actor, summary)
            )
            if step == Step.NOTHING:
                continue
            summary.steps[step] += 1
            summary.gpus += verdict.unit.gpus if step == Step.SUSPEND else 0
            self.say(f"{team.name} {verdict.unit.owner}: {verdict.state}, {step}")

    def _carry_out(
        self, verdict: Verdict, team: Team, actor: ActionRunner, summary: Summary
    ) -> str:
        try:
            return str(verdict.step) if actor.carry_out(verdict) else "changed"
        except RequestRejected as refused:
            summary.problems.append(f"team {team.name}: {verdict.unit.owner}: {refused}")
            return "refused"

    def _namespace(self, team: Team) -> Object | None:
        """None when it does not exist or is terminating; one without the labels of the team is an error."""
        try:
            space: Object = self.server.request_json("GET", f"/api/v1/namespaces/{team.namespace}")
        except RequestRejected as refused:
            if refused.status == NOT_FOUND:
                return None
            raise
        if "deletionTimestamp" in space["metadata"]:
            return None
        labels, names = space["metadata"].get("labels", {}), self.settings.names
        required = {names.platform: self.settings.platform, names.team: team.label}
        if any(labels.get(name) != value for name, value in required.items()):
            raise UnmanagedNamespaceError(
                f"namespace {team.namespace} has no labels {names.platform}={self.settings.platform}"
                f" and {names.team}={team.label}: gpuyard changes nothing in it"
            )
        return space

    def _verdicts(self, team: Team, view: "NamespaceView") -> list[Verdict]:
        """All units of a team, evaluated before any action."""
        results: list[Verdict] = [
            Verdict(unit, State.EXEMPT, Step.RESUME)
            for unit in view.suspended()
            if view.keeps(unit)
        ]
        open_units: list[Unit] = []
        for unit in view.units():
            state = state_without_measurements(unit, team, self.now, kept=view.keeps(unit))
            if state is None:
                open_units.append(unit)
            else:
                results.append(Verdict(unit, state, step_for(unit, state, team, self.now)))
        measured = self._measure(open_units, team, team.after_minutes)
        for unit in open_units:
            state = state_from_measurements(unit, team, measured)
            results.append(Verdict(unit, state, step_for(unit, state, team, self.now)))
        return results

    def _measure(self, units: list[Unit], team: Team, minutes: int) -> dict[str, Reading]:
        pods = [pod.name for unit in units for pod in unit.pods if pod.gpus]
        return readings(self.prometheus, self.settings, team.namespace, pods, minutes, self.now)

    def _rehearse(self, verdict: Verdict, team: Team, actor: ActionRunner) -> str:
        """A dry run keeps no state, so it queries how long the unit has been idle."""
        if verdict.state is not State.IDLE:
            return Step.NOTHING
        unit, long = verdict.unit, team.after_minutes + team.grace_minutes
        old = all(
            w.admitted and w.admitted <= self.now - timedelta(minutes=long) for w in unit.workloads
        )
        suspend = (
            old
            and not unit.cannot_suspend_reason
            and state_from_measurements(unit, team, self._measure([unit], team, long)) is State.IDLE
        )
        actor.dry_run(unit, suspend=suspend)
        return "would_suspend" if suspend else "would_warn"


class NamespaceView:
    """Objects in a team's namespace, read in a few requests independent of their number."""

    def __init__(self, run: ReclaimRun, team: Team, space: Object, problems: list[str]) -> None:
        self._run, self._team, self._problems = run, team, problems
        self._settings = run.settings
        self._kept = space["metadata"].get("labels", {}).get(self._settings.names.keep) == "true"
        self._workloads = list(self._read(read_workload, self._all(KUEUE, "workloads")))
        self._scaled: dict[str, ScaledWorkload] = {}
        self._keepers: dict[str, set[str]] = {}

    def units(self) -> list[Unit]:
        """Running units. Pods are read only when a workload runs."""
        running = [w for w in self._workloads if w.runs]
        if not running:
            return []
        labelled = self._all("v1", "pods", label=self._settings.names.pod_set)
        pods = list(
            self._read(read_pod, (each for each in labelled if not is_pod_terminated(each)))
        )
        return group_units(running, pods, self._makers(pods), self._scalable(running, pods))

    def suspended(self) -> Iterator[Unit]:
        """Units that this program has suspended and that are not resumed."""
        for workload in self._workloads:
            if is_resumable(workload) and workload.owners:
                yield Unit(owner=workload.owners[0], workloads=[workload])
        for kind in SCALED:
            for scaled in self._scaled_of(kind, label=f"{self._settings.names.keep}=true"):
                if scaled.replicas_before_suspension is not None and scaled.replicas == 0:
                    yield Unit(owner=scaled.reference, scaled=scaled)

    def keeps(self, unit: Unit) -> bool:
        """Whether the namespace, the owner or the unit has the label that keeps it."""
        return self._kept or unit.kept or unit.owner.uid in self._kept_of(unit.owner)

    def _kept_of(self, owner: Owner) -> set[str]:
        """The uids of all objects of one kind with the label."""
        kind = owner.group_kind
        if kind not in self._keepers:
            self._keepers[kind] = set()
            if plural := self._settings.kinds.get(kind):
                label = f"{self._settings.names.keep}=true"
                result = self._all(owner.api_version, plural, label=label, bare=True)
                self._keepers[kind] = {each["metadata"]["uid"] for each in result}
        return self._keepers[kind]

    def _makers(self, pods: list[Pod]) -> dict[str, Owner | None]:
        """The owner of each ReplicaSet that owns a pod."""
        if not any(p.controller and p.controller.group_kind == "apps/ReplicaSet" for p in pods):
            return {}
        return dict(map(deployment_of, self._all("apps/v1", "replicasets", bare=True)))

    def _scalable(self, running: list[Workload], pods: list[Pod]) -> dict[str, ScaledWorkload]:
        """Deployments and StatefulSets, when a running pod belongs to one."""
        kinds = {o.group_kind for w in running for o in w.owners}
        kinds |= {p.controller.group_kind for p in pods if p.controller}
        kinds_by_owner = {"apps/Deployment": {"apps/Deployment", "apps/ReplicaSet"}}
        results: dict[str, ScaledWorkload] = {}
        for kind in SCALED:
            if kinds & kinds_by_owner.get(kind, {kind}):
                results |= {each.reference.uid: each for each in self._scaled_of(kind)}
        return results

    def _scaled_of(self, group_kind: str, label: str = "") -> list[ScaledWorkload]:
        kind = group_kind.rpartition("/")[2]
        listed = self._all("apps/v1", self._settings.kinds[group_kind], label=label)
        return list(self._read(partial(read_scaled, api_version="apps/v1", kind=kind), listed))

    def _read(self, read: Callable[..., T], objects: Iterable[Object]) -> Iterator[T]:
        """Each object; one that cannot be read is reported and skipped."""
        for each in objects:
            try:
                yield read(each, settings=self._settings)
            except (KeyError, TypeError, ValueError) as problem:
                name = each["metadata"]["name"]
                message = f"team {self._team.name}: cannot read {name}: {problem!r}"
                self._problems.append(message)

    def _all(
        self, api_version: str, plural: str, *, label: str = "", bare: bool = False
    ) -> Iterator[Object]:
        path = resource_path(api_version, plural, self._team.namespace)
        return list_objects(self._run.server, path, bare=bare, labelSelector=label)
