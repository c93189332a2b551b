"""Carries out a verdict: one patch of exactly the version that was evaluated, then an event."""

from datetime import datetime, timedelta
from typing import Any

from gpuyard_idle import events
from gpuyard_idle.cluster import Cluster
from gpuyard_idle.decisions import Step, Verdict
from gpuyard_idle.settings import Settings, Team
from gpuyard_idle.workloads import KUEUE, Object, ScaledWorkload, Unit, Workload

HOUR = timedelta(hours=1)


class ActionRunner:
    """Acts for one team. Each step returns whether it was done: False when the object has changed meanwhile."""

    def __init__(self, cluster: Cluster, settings: Settings, team: Team, now: datetime) -> None:
        self._cluster, self._settings, self._team, self._now = cluster, settings, team, now

    def carry_out(self, verdict: Verdict) -> bool:
        """Do what follows from a verdict."""
        unit, names = verdict.unit, self._settings.names
        match verdict.step:
            case Step.WARN:
                done = self._note(unit, {names.warned: events.stamp(self._now)})
                say = events.warned_event(self._settings, self._team, unit, self._now)
            case Step.SUSPEND:
                done = self._suspend(unit)
                say = events.suspended_event(self._settings, self._team, unit)
            case Step.RESET:
                done = self._note(unit, {names.warned: None, names.suspended: None})
                say = events.reset_event(verdict.state)
            case Step.RESUME:
                done = self._resume(unit)
                say = events.resumed_event(self._settings)
            case _:
                return True
        if done:
            self._report(unit, say, timedelta(seconds=1))
        return done

    def dry_run(self, unit: Unit, *, suspend: bool) -> None:
        """A dry run changes nothing; it reports once an hour what it would do."""
        self._report(unit, events.dry_run_event(self._team, unit, suspend=suspend), HOUR)

    def _report(self, unit: Unit, say: events.EventMessage, often: timedelta) -> None:
        self._cluster.event(events.event(self._team.namespace, unit.owner, say, self._now, often))

    def _note(self, unit: Unit, annotations: Object) -> bool:
        changes = {"metadata": {"annotations": dict(annotations)}}
        return all(self._change(each, changes) for each in unit.workloads)

    def _suspend(self, unit: Unit) -> bool:
        names = self._settings.names
        when = {names.suspended: events.stamp(self._now)}
        if unit.scaled:
            before = {names.replicas: str(unit.scaled.replicas)}
            return self._scale(unit.scaled, 0, {**when, **before})
        changes = {"metadata": {"annotations": when}, "spec": {"active": False}}
        return all(self._change(each, changes) for each in unit.workloads)

    def _resume(self, unit: Unit) -> bool:
        names = self._settings.names
        if unit.scaled:
            annotations = {names.suspended: None, names.replicas: None}
            return self._scale(
                unit.scaled, unit.scaled.replicas_before_suspension or 1, annotations
            )
        annotations = {names.suspended: None, names.warned: None}
        changes = {"metadata": {"annotations": annotations}, "spec": {"active": True}}
        return all(self._change(each, changes) for each in unit.workloads)

    def _change(self, workload: Workload, changes: dict[str, Any]) -> bool:
        return self._patch(KUEUE, "workloads", workload.name, workload.resource_version, changes)

    def _scale(self, scaled: ScaledWorkload, replicas: int, annotations: Object) -> bool:
        changes = {"metadata": {"annotations": dict(annotations)}, "spec": {"replicas": replicas}}
        owner = scaled.reference
        plural = self._settings.kinds[owner.group_kind]
        return self._patch(owner.api_version, plural, owner.name, scaled.resource_version, changes)

    def _patch(
        self, api_version: str, plural: str, name: str, version: str, changes: dict[str, Any]
    ) -> bool:
        metadata = {**changes["metadata"], "resourceVersion": version}
        return self._cluster.patch(
            api_version, plural, self._team.namespace, name, {**changes, "metadata": metadata}
        )
