"""Query the cloud for resources that the stack file names, before the first resource is registered.

This runs in a preview as in an `up`: otherwise an unknown zone would fail the deployment midway,
with half of the network created.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pulumi

from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.prerequisites import is_not_found, prerequisite_findings
from gpuyard.render.cloud.graph import CloudCall, late_value_names
from gpuyard.render.cloud.prerequisites import named_reservations
from gpuyard.resources.clusters.change_preview import last_known_state
from gpuyard.resources.errors import PlatformRejected
from gpuyard.sdk_classes import sdk_version
from gpuyard_core.findings import Diagnostic, Severity, has_errors


def check_prerequisites(
    parent: pulumi.Resource, plan: PlatformPlan, calls: Iterable[CloudCall]
) -> None:
    """Raise PlatformRejected if the cloud lacks a named resource; a failed query rejects nothing."""
    answers: dict[str, dict[str, Any]] = {}
    results: tuple[Diagnostic, ...] = ()
    for call in calls:
        if any(late_value_names(call.args)):
            continue
        answer = _answer(parent, call)
        if answer is None:
            continue
        answers[call.name] = answer
        # Machine types are not queried in zones that do not exist.
        results = prerequisite_findings(plan, answers)
        if has_errors(results):
            results = prerequisite_findings(plan, answers, _drawn_on(plan))
        if has_errors(results):
            raise PlatformRejected(f"the platform {plan.name}", results)
    for each in results:
        if each.severity is Severity.WARNING:
            pulumi.log.warn(str(each), parent)


def _answer(parent: pulumi.Resource, call: CloudCall) -> dict[str, Any] | None:
    """The response; {} if there is no result; None, with the reason in the log, if the query failed."""
    version = sdk_version(call.kind.partition(":")[0])
    opts = pulumi.InvokeOptions(parent=parent, version=version)
    try:
        answer = pulumi.runtime.invoke(call.kind, dict(call.args), opts).value
        if lacks := [field for field in call.outputs if answer.get(field) is None]:
            raise LookupError(f"the response has no {', '.join(lacks)}")  # noqa: TRY301
    except Exception as problem:  # noqa: BLE001  the SDK has no other class
        if is_not_found(call.kind, str(problem)):
            return {}
        pulumi.log.info(
            f"the query {call.kind} got no response, so gpuyard cannot check it before the "
            f"deployment: {problem}",
            parent,
        )
        return None
    return {field: _plain(answer.get(field)) for field in (*call.outputs, *call.may_lack)}


def _drawn_on(plan: PlatformPlan) -> Collection[str]:
    """Reservations of the stack file that resources of the last deployment use."""
    state = last_known_state()
    outputs = [json.dumps(each.outputs, default=str) for each in state.resources] if state else ()
    return {
        name for name, _ in named_reservations(plan) if any(f'"{name}"' in text for text in outputs)
    }


def _plain(value: Any) -> Any:
    """A value of the engine as plain Python values."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
