"""Checks that the API server of an existing cluster responds, before anything is purchased for it.

With a private endpoint or a firewall the cloud API still knows the cluster: roles, storage and
nodes would be created, but no object inside it. The request carries no credential, and any HTTP
response counts, including a denial.
"""

import asyncio
import base64
import os
import ssl
import threading
import time
from collections.abc import Callable

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.kubeconfig import ClusterAccess
from gpuyard.resources.clouds import CloudResources
from gpuyard.spec.sections import Apply

SECONDS = 10.0
"""Timeout of one request, including the name lookup."""
PAUSE = 1.0
DELETE_UNREACHABLE_VARIABLE = "PULUMI_K8S_DELETE_UNREACHABLE"
"""With it set, the Kubernetes provider drops the objects of an unreachable cluster from the state,
and gpuyard does not check.
"""


def wait_until_reachable(
    plan: PlatformPlan, reach: ClusterAccess, cloud: CloudResources
) -> pulumi.ResourceOptions | None:
    """Options for resources that wait for the cluster's response; None if there is nothing to check.

    Nothing is checked for a new cluster, for rendered manifests, for a deleted cluster, or with a
    mocked engine.
    """
    name = cluster_spec(plan.spec).existing
    is_removed = os.environ.get(DELETE_UNREACHABLE_VARIABLE) == "true"
    if not name or is_removed or plan.spec.apply is Apply.RENDER or _is_mocked():
        return None
    where = pulumi.Output.all(cloud.resolve(reach.endpoint), cloud.resolve(reach.authority))
    return pulumi.ResourceOptions(depends_on=where.apply(lambda at: _nothing(name, *at)))


def _is_mocked() -> bool:
    """Whether a test mocks the engine: then there is no cluster and no network."""
    return isinstance(get_monitor(), MockMonitor)


async def _nothing(name: str, endpoint: str, authority: str | None) -> list[pulumi.Resource]:
    """Wait for the response; there are no resources to depend on."""
    if why := await asyncio.to_thread(unreachable_message, endpoint, authority):
        raise pulumi.RunError(
            f"cluster.existing: the API server of the cluster {name} does not answer at "
            f"{endpoint}: {why}\n  nothing was created or changed\n  fix: deploy from a network "
            "that reaches it (a private endpoint needs a VPN or a runner in its network), or add "
            "your address range to the allowed ones; if the cluster was deleted: "
            f"{DELETE_UNREACHABLE_VARIABLE}=true pulumi destroy"
        )
    return []


def unreachable_message(
    endpoint: str,
    authority: str | None,
    ask: Callable[[str, str | None], None] | None = None,
    *,
    seconds: float = SECONDS,
    pause: float = PAUSE,
) -> str:
    """Why the API server does not respond, or "". Two attempts: a control plane may be failing over."""
    why = ""
    for wait in (0.0, pause):
        time.sleep(wait)
        why = _within(seconds, lambda: (ask or _ask)(endpoint, authority))
        if not why:
            break
    return why


def _within(seconds: float, ask: Callable[[], None]) -> str:
    """Run a request with a timeout. A name lookup has no timeout of its own and may continue in its thread."""
    reasons: list[str] = []

    def look() -> None:
        try:
            ask()
        except Exception as problem:  # noqa: BLE001  any error counts as no response
            reason = getattr(problem, "reason", None) or problem
            reasons.append(str(reason) or type(reason).__name__)
        else:
            reasons.append("")

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(seconds)
    return reasons[0] if reasons else f"no answer within {seconds:.0f} s"


def _ask(endpoint: str, authority: str | None) -> None:
    """Send the request through the proxy of the environment, as Kubernetes clients do."""
    # Imported here: most programs create their cluster and never check.
    from urllib.error import HTTPError
    from urllib.request import urlopen

    trusted = base64.b64decode(authority).decode() if authority else None
    tls = ssl.create_default_context(cadata=trusted)
    try:
        with urlopen(f"{endpoint}/version", timeout=SECONDS, context=tls):  # noqa: S310
            return
    except HTTPError:
        return  # 401 or 403: the API server responds
