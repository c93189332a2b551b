"""Before a cluster's first resource is registered, its cloud is asked for what the stack file names of it.

At a preview as at an `up`: a zone that is not there would else be met midway, with half a network made.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pulumi

from gpuyard.catalogue.software.providers import PROVIDERS
from gpuyard.findings import Finding, Severity, refused
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.before import heard_before, none_there
from gpuyard.render.cloud.before import held
from gpuyard.render.cloud.graph import CloudCall
from gpuyard.resources.clusters.guarding import last_state
from gpuyard.resources.errors import PlatformRefused


def ask_before(parent: pulumi.Resource, plan: PlatformPlan, calls: Iterable[CloudCall]) -> None:
    """PlatformRefused where the cloud has not what is named; what is not answered refuses nothing."""
    told: dict[str, dict[str, Any]] = {}
    found: tuple[Finding, ...] = ()
    for call in calls:
        answer = _answer(parent, call)
        if answer is None:
            continue
        told[call.name] = answer
        # Nobody is asked what a zone sells that is not there.
        found = heard_before(plan, told)
        if refused(found):
            found = heard_before(plan, told, _drawn_on(plan))
        if refused(found):
            raise PlatformRefused(f"the platform {plan.name}", found)
    for each in found:
        if each.severity is Severity.WARN:
            pulumi.log.warn(str(each), parent)


def _answer(parent: pulumi.Resource, call: CloudCall) -> dict[str, Any] | None:
    """What is there; empty where nothing is; None, with the reason in the log, where nobody says."""
    version = PROVIDERS[call.kind.partition(":")[0]].version
    opts = pulumi.InvokeOptions(parent=parent, version=version)
    try:
        said = pulumi.runtime.invoke(call.kind, dict(call.args), opts).value
        if lacks := [field for field in call.outputs if said.get(field) is None]:
            raise LookupError(f"the answer has no {', '.join(lacks)}")  # noqa: TRY301
    except Exception as problem:  # noqa: BLE001  the SDK has no other class
        if none_there(call.kind, str(problem)):
            return {}
        pulumi.log.info(
            f"{call.kind} is not answered, so nothing is said of it before it is met: {problem}",
            parent,
        )
        return None
    return {field: _plain(said.get(field)) for field in (*call.outputs, *call.may_lack)}


def _drawn_on(plan: PlatformPlan) -> Collection[str]:
    """Reservations of the stack file that something of the last deployment names."""
    stand = last_state()
    there = [json.dumps(each.outputs, default=str) for each in stand.resources] if stand else ()
    return {name for name, _ in held(plan) if any(f'"{name}"' in text for text in there)}


def _plain(value: Any) -> Any:
    """A tree of the engine's as one of Python's."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
