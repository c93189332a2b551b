"""Kueue's admission checks by ProvisioningRequest."""

from typing import Any

from gpuyard.plan.records import AdmissionCheckPlan, PlatformPlan, TeamPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard_core.names import KUEUE_API, KUEUE_GROUP

_CONFIG = "ProvisioningRequestConfig"
CONTROLLER = f"{KUEUE_GROUP}/provisioning-request"


def check_objects(plan: PlatformPlan) -> list[Object]:
    """The configuration before the check that refers to it: a check without it is inactive."""
    return [obj for check in plan.queueing.checks for obj in _check(plan.name, check)]


def _check(owner: str, check: AdmissionCheckPlan) -> list[Object]:
    config: dict[str, Any] = {
        "provisioningClassName": check.provisioning_class,
        "retryStrategy": {
            "backoffLimitCount": check.retries,
            "backoffBaseSeconds": check.first_wait_seconds,
            "backoffMaxSeconds": check.longest_wait_seconds,
        },
    }
    if check.parameters:
        config["parameters"] = dict(check.parameters)
    if check.resources:
        config["managedResources"] = list(check.resources)
    if check.node_label:
        key, detail = check.node_label
        selector = [{"key": key, "valueFromProvisioningClassDetail": detail}]
        config["podSetUpdates"] = {"nodeSelector": selector}
    named = {"apiGroup": KUEUE_GROUP, "kind": _CONFIG, "name": check.name}
    spec = {"controllerName": CONTROLLER, "parameters": named}
    return [
        managed_object(owner, KUEUE_API, _CONFIG, check.name, spec=config),
        managed_object(owner, KUEUE_API, "AdmissionCheck", check.name, spec=spec),
    ]


def admission_checks(plan: PlatformPlan, team: TeamPlan) -> dict[str, Any]:
    """The part of a queue's spec with its checks, each for the flavors that it applies to."""
    queue_flavors = {flavor for group in team.resource_groups for flavor in group.flavors}
    checks = []
    for check in plan.queueing.checks:
        checked_flavors = [
            p.flavor
            for p in plan.pools
            if p.provisioning is check.provisioning and p.flavor in queue_flavors
        ]
        if checked_flavors:
            checks.append({"name": check.name, "onFlavors": checked_flavors})
    return {"admissionChecksStrategy": {"admissionChecks": checks}} if checks else {}
