"""Before a cluster's first resource is registered, its cloud is asked for what the stack file names of it.

At a preview as at an `up`: a zone that is not there would else be met midway, with half a network made.
"""

from collections.abc import Iterable
from typing import Any

import pulumi

from gpuyard.catalogue.software.providers import PROVIDERS
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.before import heard_before
from gpuyard.render.cloud.graph import CloudCall
from gpuyard.resources.errors import PlatformRefused


def ask_before(parent: pulumi.Resource, plan: PlatformPlan, calls: Iterable[CloudCall]) -> None:
    """PlatformRefused where the cloud has not what is named; what is not answered refuses nothing."""
    told: dict[str, dict[str, Any]] = {}
    for call in calls:
        version = PROVIDERS[call.kind.partition(":")[0]].version
        opts = pulumi.InvokeOptions(parent=parent, version=version)
        try:
            said = pulumi.runtime.invoke(call.kind, dict(call.args), opts).value
            told[call.name] = {field: _plain(said[field]) for field in call.outputs}
        except Exception as problem:  # noqa: BLE001  the SDK has no other class
            pulumi.log.info(
                f"{call.kind} is not answered, so nothing is said of it before it is met: {problem}",
                parent,
            )
            continue
        # Nobody is asked what a zone sells that is not there.
        if found := heard_before(plan, told):
            raise PlatformRefused(f"the platform {plan.name}", found)


def _plain(value: Any) -> Any:
    """A list of the engine's as one of Python's; a text as it is."""
    return value if isinstance(value, str) else [*value]
