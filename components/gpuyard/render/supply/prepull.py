"""Images that GPU nodes pull when they come: a training image of 20 GiB takes minutes, with GPUs held idle.

A DaemonSet of the platform's own namespace, held to `restricted`. Its init containers are the images, one
after the other, each of which runs `true` and ends; then nothing runs but a pause. What was pulled a kubelet
may throw out again where a disk is full; a pod that comes then pulls as ever.
"""

from gpuyard.catalogue.software.digests import pinned
from gpuyard.catalogue.software.programs import PAUSE_HOME, PAUSE_TAG
from gpuyard.names import prepull_name, system_namespace
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.gpu_operator.objects import agent_tolerations
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object, managed_object, on_pools
from gpuyard.render.programs import CONFINED, UNPRIVILEGED_USER

_SMALL = {"requests": {"cpu": "5m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}}


def prepull_images(plan: PlatformPlan) -> list[str]:
    """Images, as the stack file names them; none where no node of this cluster has GPUs."""
    mirror = plan.spec.mirror
    if mirror is None or plan.queueing.dispatch:
        return []
    return list(dict.fromkeys(mirror.prepull))


def pause_image(plan: PlatformPlan) -> str:
    """As nodes are told it."""
    return f"{mirrored(plan.spec, PAUSE_HOME)}:{pinned(PAUSE_HOME, PAUSE_TAG)}"


def prepull_objects(plan: PlatformPlan) -> list[Object]:
    """One DaemonSet for all pools; nothing where nothing is to be pulled."""
    images = prepull_images(plan)
    if not images:
        return []
    name = prepull_name(plan.name)
    labels = {"app.kubernetes.io/name": name}
    spec = {
        "selector": {"matchLabels": labels},
        # All at once: it is a change of what to pull, and nobody waits for these pods.
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
        "template": {"metadata": {"labels": labels}, "spec": _pod(plan, images)},
    }
    return [
        managed_object(
            plan.name,
            "apps/v1",
            "DaemonSet",
            name,
            namespace=system_namespace(plan.name),
            # Nodes come and go: a deployment does not wait for one that boots.
            annotations={"pulumi.com/skipAwait": "true"},
            spec=spec,
        )
    ]


def _pod(plan: PlatformPlan, images: list[str]) -> Object:
    """On nodes of every pool, whatever they are tainted with; it asks for no GPU and holds none up."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,
        "tolerations": agent_tolerations(plan),
        "affinity": on_pools(plan.pools),
        "securityContext": dict(UNPRIVILEGED_USER),
        "initContainers": [
            {**_container(f"image-{n}", image), "command": ["true"]}
            for n, image in enumerate(images)
        ],
        "containers": [_container("pause", pause_image(plan))],
    }


def _container(name: str, image: str) -> Object:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "resources": _SMALL,
        "securityContext": dict(CONFINED),
    }
