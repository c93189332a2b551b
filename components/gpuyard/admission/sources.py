"""Images come from registries that are allowed."""

from collections.abc import Iterator

from gpuyard.admission.images import allowed
from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Sentence, Slip, Workload
from gpuyard.findings import Path
from gpuyard.manifests.fields import items, mapping, text
from gpuyard.manifests.pods import Pod

ELSEWHERE = Sentence(
    "the image of {what} {name} comes from no allowed registry: {image}",
    "use one of {allowed}",
)
SEPARATOR = ", "


def sources(workload: Workload, parameters: TeamParameters) -> Iterator[Slip]:
    """Images from elsewhere, of containers and of volumes."""
    if not parameters.images_from:
        return
    places = SEPARATOR.join(parameters.images_from)
    for pod in workload.pods:
        for path, what, name, image in _images(pod):
            if image and not allowed(image, parameters.images_from):
                yield ELSEWHERE.slip(path, what=what, name=name, image=image, allowed=places)


def _images(pod: Pod) -> Iterator[tuple[Path, str, str, str]]:
    for path, container in pod.containers():
        name, image = text(container.get("name")), text(container.get("image"))
        yield (*path, "image"), "container", name, image
    for index, each in enumerate(items(pod.spec.get("volumes"))):
        volume = mapping(each)
        where = pod.at("volumes", index, "image", "reference")
        image = text(mapping(volume.get("image")).get("reference"))
        yield where, "volume", text(volume.get("name")), image
