"""Does the API server of a cluster that exists answer? Asked before anything is bought for it.

Behind a private endpoint, or a firewall, the cloud still knows the cluster: roles, stores and nodes would be
made, and nothing could be put inside. No credential is sent, and whatever is answered is an answer, a refusal
too.
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
"""How long one question may take, the look-up of the name with it."""
PAUSE = 1.0
DELETE_UNREACHABLE_VARIABLE = "PULUMI_K8S_DELETE_UNREACHABLE"
"""With it set, the Kubernetes provider forgets what is in a cluster that is gone, and nobody need answer."""


class ClusterUnreachable(pulumi.RunError):
    """The cluster is there, and its API server cannot be reached from here."""

    def __init__(self, name: str, endpoint: str, why: str) -> None:
        super().__init__(
            f"cluster.existing: the API server of the cluster {name} does not answer at {endpoint}: {why}\n"
            "  nothing was made or changed\n"
            "  fix: deploy from where it answers (a private endpoint does inside its network alone: a VPN, a"
            " runner there), or have your range admitted; when the cluster is gone for good:"
            f" {DELETE_UNREACHABLE_VARIABLE}=true pulumi destroy"
        )


def wait_until_reachable(
    plan: PlatformPlan, reach: ClusterAccess, cloud: CloudResources
) -> pulumi.ResourceOptions | None:
    """Options for what must not be made before the cluster has answered; None where nobody need ask.

    That is a cluster that is made, manifests that go to a folder, a cluster that is gone, or a mock of an
    engine.
    """
    name = cluster_spec(plan.spec).existing
    is_removed = os.environ.get(DELETE_UNREACHABLE_VARIABLE) == "true"
    if not name or is_removed or plan.spec.apply is Apply.RENDER or _is_mocked():
        return None
    where = pulumi.Output.all(cloud.resolve(reach.endpoint), cloud.resolve(reach.authority))
    return pulumi.ResourceOptions(depends_on=where.apply(lambda at: _nothing(name, *at)))


def _is_mocked() -> bool:
    """A test of a program has no cluster, and no network."""
    return isinstance(get_monitor(), MockMonitor)


async def _nothing(name: str, endpoint: str, authority: str | None) -> list[pulumi.Resource]:
    """No resource to wait for, but the answer."""
    if why := await asyncio.to_thread(unreachable_message, endpoint, authority):
        raise ClusterUnreachable(name, endpoint, why)
    return []


def unreachable_message(
    endpoint: str,
    authority: str | None,
    ask: Callable[[str, str | None], None] | None = None,
    *,
    seconds: float = SECONDS,
    pause: float = PAUSE,
) -> str:
    """Why nobody answers; empty when somebody does. Asked twice: a control plane may be changing over."""
    why = ""
    for wait in (0.0, pause):
        time.sleep(wait)
        why = _within(seconds, lambda: (ask or _ask)(endpoint, authority))
        if not why:
            break
    return why


def _within(seconds: float, ask: Callable[[], None]) -> str:
    """The look-up of a name has no limit of its own: it may go on while nobody waits for it any more."""
    reasons: list[str] = []

    def look() -> None:
        try:
            ask()
        except Exception as problem:  # noqa: BLE001  whatever comes instead of an answer
            reason = getattr(problem, "reason", None) or problem
            reasons.append(str(reason) or type(reason).__name__)
        else:
            reasons.append("")

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(seconds)
    return reasons[0] if reasons else f"no answer within {seconds:.0f} s"


def _ask(endpoint: str, authority: str | None) -> None:
    """By the proxy that the environment names, as every client of Kubernetes."""
    # Most programs make their cluster themselves, and ask nobody.
    from urllib.error import HTTPError
    from urllib.request import urlopen

    trusted = base64.b64decode(authority).decode() if authority else None
    tls = ssl.create_default_context(cadata=trusted)
    try:
        with urlopen(f"{endpoint}/version", timeout=SECONDS, context=tls):  # noqa: S310
            return
    except HTTPError:
        return  # it wants to know who asks: it is there
