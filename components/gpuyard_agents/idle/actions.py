"""Carries out a verdict: one patch of exactly the version that was evaluated, then an event."""

from datetime import datetime, timedelta
from typing import Any

from gpuyard_agents.agent import event, stamp
from gpuyard_agents.client import (
    EXISTS,
    NOT_FOUND,
    JsonClient,
    RequestRejected,
    patch_object,
    post_event,
    resource_path,
)
from gpuyard_agents.idle import events
from gpuyard_agents.idle.decisions import Step, Verdict
from gpuyard_agents.idle.settings import Settings, Team
from gpuyard_agents.idle.workloads import KUEUE, Object, ScaledWorkload, Unit

HOUR = timedelta(hours=1)


class ActionRunner:
    """Acts for one team. Each step returns whether it was done: False when the object has changed meanwhile."""

    def __init__(self, server: JsonClient, settings: Settings, team: Team, now: datetime) -> None:
        self._server, self._settings, self._team, self._now = server, settings, team, now

    def carry_out(self, verdict: Verdict) -> bool:
        """Do what follows from a verdict."""
        unit, names = verdict.unit, self._settings.names
        match verdict.step:
            case Step.WARN:
                done = self._note(unit, {names.warned: stamp(self._now)})
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
        """Once in a period, although every run does so: an event of the same name is not repeated."""
        owner, space = unit.owner, self._team.namespace
        about = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name}
        event_object = event(
            "gpuyard-idle",
            {**about, "namespace": space, "uid": owner.uid},
            once=f"{owner.uid} {say.reason} {int(self._now.timestamp() // often.total_seconds())}",
            reason=say.reason,
            message=say.message,
            warns=say.serious,
            now=self._now,
        )
        try:
            post_event(self._server, event_object)
        except RequestRejected as refused:
            if refused.status != EXISTS:
                raise

    def _note(self, unit: Unit, annotations: Object) -> bool:
        changes = {"metadata": {"annotations": dict(annotations)}}
        return self._change(unit, changes)

    def _suspend(self, unit: Unit) -> bool:
        names = self._settings.names
        when = {names.suspended: stamp(self._now)}
        if unit.scaled:
            before = {names.replicas: str(unit.scaled.replicas)}
            return self._scale(unit.scaled, 0, {**when, **before})
        changes = {"metadata": {"annotations": when}, "spec": {"active": False}}
        return self._change(unit, changes)

    def _resume(self, unit: Unit) -> bool:
        names = self._settings.names
        if unit.scaled:
            annotations = {names.suspended: None, names.replicas: None}
            return self._scale(
                unit.scaled, unit.scaled.replicas_before_suspension or 1, annotations
            )
        annotations = {names.suspended: None, names.warned: None}
        changes = {"metadata": {"annotations": annotations}, "spec": {"active": True}}
        return self._change(unit, changes)

    def _change(self, unit: Unit, changes: dict[str, Any]) -> bool:
        return all(
            self._patch(KUEUE, "workloads", each.name, each.resource_version, changes)
            for each in unit.workloads
        )

    def _scale(self, scaled: ScaledWorkload, replicas: int, annotations: Object) -> bool:
        changes = {"metadata": {"annotations": dict(annotations)}, "spec": {"replicas": replicas}}
        owner = scaled.reference
        plural = self._settings.kinds[owner.group_kind]
        return self._patch(owner.api_version, plural, owner.name, scaled.resource_version, changes)

    def _patch(
        self, api_version: str, plural: str, name: str, version: str, changes: dict[str, Any]
    ) -> bool:
        """Of one version; False when the object has changed or no longer exists."""
        metadata = {**changes["metadata"], "resourceVersion": version}
        path = resource_path(api_version, plural, self._team.namespace, name)
        try:
            patch_object(self._server, path, {**changes, "metadata": metadata})
        except RequestRejected as refused:
            if refused.status in {NOT_FOUND, EXISTS}:
                return False
            raise
        return True
