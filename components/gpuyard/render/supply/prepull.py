"""Images that new GPU nodes pull in advance: 20 GiB of a training image take minutes of idle GPUs.

A DaemonSet in the platform's own namespace, which enforces `restricted`. Its init containers use
the images, one after the other; each runs `true` and ends, and then only a pause container runs. A
kubelet may delete pulled images when its disk is full; later pods pull them again.
"""

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.gpu_operator.objects import agent_tolerations
from gpuyard.render.objects import Object, node_agent, pool_affinity
from gpuyard.render.programs import CONFINED, UNPRIVILEGED_USER
from gpuyard.render.pulled_image import PulledImage, named_image, published_image
from gpuyard_core.catalogue.software.programs import PAUSE_HOME, PAUSE_TAG
from gpuyard_core.names import prepull_name, system_namespace

PREPULL = "image pre-pull"
"""The component of images that no other component pulls."""
_SMALL = {"requests": {"cpu": "5m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}}


def prepull_images(plan: PlatformPlan) -> list[str]:
    """Images of the stack file; none if no node of this cluster has GPUs."""
    mirror = plan.spec.mirror
    if mirror is None or plan.queueing.dispatch:
        return []
    return list(dict.fromkeys(mirror.prepull))


def prepulled_images(plan: PlatformPlan) -> list[PulledImage]:
    """Images of the stack file, and the pause image of the pod that pulls them."""
    images = [named_image(image, PREPULL) for image in prepull_images(plan)]
    return images and [pause_image(plan), *images]


def pause_image(plan: PlatformPlan, component: str = PREPULL) -> PulledImage:
    """The image of a container that does nothing."""
    return published_image(plan, PAUSE_HOME, PAUSE_TAG, component)


def prepull_objects(plan: PlatformPlan) -> list[Object]:
    """One DaemonSet for all pools; none without images to pull."""
    images = prepull_images(plan)
    if not images:
        return []
    name, space = prepull_name(plan.name), system_namespace(plan.name)
    pod, label = _pod(plan, images), "app.kubernetes.io/name"
    # All at once: only the images change, and no user depends on these pods.
    return [node_agent(plan.name, name, label, pod, space, at_once=True)]


def _pod(plan: PlatformPlan, images: list[str]) -> Object:
    """On nodes of every pool, with any taint; it requests no GPU and blocks none."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,
        "tolerations": agent_tolerations(plan),
        "affinity": pool_affinity(plan.pools),
        "securityContext": dict(UNPRIVILEGED_USER),
        "initContainers": [
            {**_container(f"image-{n}", image), "command": ["true"]}
            for n, image in enumerate(images)
        ],
        "containers": [_container("pause", pause_image(plan).reference)],
    }


def _container(name: str, image: str) -> Object:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "resources": _SMALL,
        "securityContext": dict(CONFINED),
    }
