"""Compressed sizes of images, queried from their registries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuyard.plan.records import PlatformPlan
from gpuyard.registries.manifests import ANY, ImageName, image_name
from gpuyard.registries.sizes import ImageSize, fetch_image_sizes
from gpuyard.render.pulled_image import PulledImage
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.terminal.exit_codes import ENVIRONMENT_MISSING, FINDINGS, OK

_MIB = 1024 * 1024
_UNNAMED = "not queried: "


@dataclass(frozen=True, slots=True)
class Sizes:
    """The result of the queries."""

    by_image: Mapping[str, ImageSize]
    """By image reference, as nodes pull it."""
    unnamed: frozenset[str]
    """Images that cannot be queried; not an error of a registry."""

    def of(self, image: PulledImage) -> ImageSize:
        """The size of one image."""
        return self.by_image[image.reference]

    @property
    def code(self) -> int:
        """Exit code: a missing image is a finding, an unreachable registry is a missing environment."""
        sizes = [size for name, size in self.by_image.items() if name not in self.unnamed]
        if any(size.absent for size in sizes):
            return FINDINGS
        return ENVIRONMENT_MISSING if any(size.reason for size in sizes) else OK

    def summary(self) -> str:
        """The sum over all images; a node pulls only what it runs."""
        known = [size.compressed for size in self.by_image.values() if size.compressed]
        processors = sorted({each for size in known for each in size if each != ANY})
        sums = [
            f"{_mib(sum(size.get(each, size.get(ANY, 0)) for size in known))} on {each}"
            for each in processors
        ] or ([_mib(sum(size[ANY] for size in known))] if known else [])
        many = len(self.by_image)
        said = f"sizes of {'all' if len(known) == many else f'{len(known)} of {many}'} are known"
        return f"{said}: {' and '.join(sums)}, compressed" if sums else "no size is known"


def query_sizes(plan: PlatformPlan, images: Sequence[PulledImage]) -> Sizes:
    """Query each image with a complete name, for the architectures of the platform's nodes."""
    names = {each.reference: _reference(each) for each in images}
    image_names = {name: result for name, result in names.items() if isinstance(result, ImageName)}
    answers = fetch_image_sizes(image_names.values(), processors_of(plan))
    unnamed = {name: result for name, result in names.items() if not isinstance(result, ImageName)}
    by = {name: answers[result] for name, result in image_names.items()}
    by |= {name: ImageSize(reason=_UNNAMED + result) for name, result in unnamed.items()}
    return Sizes(by, frozenset(unnamed))


def processors_of(plan: PlatformPlan) -> list[str]:
    """Architectures of the pools and of the system nodes."""
    machines = [pool.machine for pool in plan.pools]
    system = plan.spec.system.machine if plan.spec.system else None
    if isinstance(system, str) and system in MACHINES:
        machines.append(MACHINES[system])
    return sorted({machine.arch for machine in machines})


def _reference(image: PulledImage) -> ImageName | str:
    """Its name in the registry, or why it is unknown."""
    if image.tag_suffix:
        return "each node's operating system has another image"
    if not image.tag and not image.digest:
        return image.why_by_tag
    return image_name(image.repository, image.tag, image.digest)


def format_size(size: ImageSize) -> str:
    """`312 MiB`, or the sizes by architecture."""
    sizes = dict(size.compressed)
    if not sizes:
        return "size unknown"
    if len(sizes) == 1:
        return _mib(next(iter(sizes.values())))
    return ", ".join(f"{_mib(each)} on {processor}" for processor, each in sorted(sizes.items()))


def _mib(number: int) -> str:
    return f"{number / _MIB:,.0f} MiB" if number >= _MIB else f"{-(-number // 1024)} KiB"
