"""Images come from allowed registries."""

from collections.abc import Iterator

from gpuyard_core.admission.images import is_allowed_image
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, mapping, text
from gpuyard_core.manifests.pods import Pod
from gpuyard_core.manifests.resources import Violation

ELSEWHERE = ViolationTemplate(
    "image {image} of {what} {name} is not from an allowed registry",
    "use one of {allowed}",
)
SEPARATOR = ", "


def check_image_sources(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Images of containers and volumes from other registries."""
    if not parameters.allowed_image_prefixes:
        return
    places = SEPARATOR.join(parameters.allowed_image_prefixes)
    for pod in workload.pods:
        for path, what, name, image in _images(pod):
            if image and not is_allowed_image(image, parameters.allowed_image_prefixes):
                yield ELSEWHERE.fill_in(path, what=what, name=name, image=image, allowed=places)


def _images(pod: Pod) -> Iterator[tuple[Path, str, str, str]]:
    for path, container in pod.containers():
        name, image = text(container.get("name")), text(container.get("image"))
        yield (*path, "image"), "container", name, image
    for index, each in enumerate(items(pod.spec.get("volumes"))):
        volume = mapping(each)
        where = pod.field_path("volumes", index, "image", "reference")
        image = text(mapping(volume.get("image")).get("reference"))
        yield where, "volume", text(volume.get("name")), image
