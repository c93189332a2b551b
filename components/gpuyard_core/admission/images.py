"""Fully qualified image names, as container runtimes resolve them."""

from collections.abc import Iterator

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import Workload, new_violation
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, mapping, text
from gpuyard_core.manifests.pods import Pod
from gpuyard_core.manifests.quantities import Violation

HUB = "docker.io"
LIBRARY = "library"
OLD_HUB = "index.docker.io"


def repository(image: str) -> str:
    """The repository of an image, without tag and digest: `nginx:1.27` is docker.io/library/nginx.

    As splitDockerDomain of github.com/distribution/reference.
    """
    name = image.partition("@")[0]
    if ":" in name.rpartition("/")[2]:
        name = name.rpartition(":")[0]
    return _in_full(name)


def normalized_prefix(value: str) -> str:
    """The fully qualified form of an allowed registry or repository of a stack file."""
    name = value.rstrip("/")
    if "/" not in name and _is_registry(name):
        return HUB if name == OLD_HUB else name
    return _in_full(name) if "/" not in name else _with_registry(name)


def is_allowed_image(image: str, prefixes: tuple[str, ...]) -> bool:
    """Whether an image is below one of the prefixes; a prefix ends at a path separator."""
    return f"{repository(image)}/".startswith(tuple(f"{each}/" for each in prefixes))


def _in_full(name: str) -> str:
    full = _with_registry(name)
    registry, _, path = full.partition("/")
    return f"{HUB}/{LIBRARY}/{path}" if registry == HUB and "/" not in path else full


def _with_registry(name: str) -> str:
    first, slash, rest = name.partition("/")
    if not (slash and _is_registry(first)):
        return f"{HUB}/{name}"
    return f"{HUB}/{rest}" if first == OLD_HUB else name


def _is_registry(first: str) -> bool:
    """A dot, a port or a capital letter distinguishes a host from a path component."""
    return "." in first or ":" in first or first == "localhost" or first != first.lower()


SEPARATOR = ", "


def check_image_sources(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Images of containers and volumes from other registries."""
    if not parameters.allowed_image_prefixes:
        return
    places = SEPARATOR.join(parameters.allowed_image_prefixes)
    for pod in workload.pods:
        for path, what, name, image in _images(pod):
            if image and not is_allowed_image(image, parameters.allowed_image_prefixes):
                yield new_violation(
                    "images.ELSEWHERE", path, what=what, name=name, image=image, allowed=places
                )


def _images(pod: Pod) -> Iterator[tuple[Path, str, str, str]]:
    for path, container in pod.containers():
        name, image = text(container.get("name")), text(container.get("image"))
        yield (*path, "image"), "container", name, image
    for index, each in enumerate(items(pod.spec.get("volumes"))):
        volume = mapping(each)
        where = pod.field_path("volumes", index, "image", "reference")
        image = text(mapping(volume.get("image")).get("reference"))
        yield where, "volume", text(volume.get("name")), image
