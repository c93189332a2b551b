"""Sizes of images, as their registries say them: which are asked for, and what is said of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuyard.catalogue.machines import MACHINES
from gpuyard.cli.exit_codes import ENVIRONMENT_MISSING, FINDINGS, OK
from gpuyard.plan.records import PlatformPlan
from gpuyard.registries.manifests import ANY, ImageName, image_name
from gpuyard.registries.sizes import Size, sizes_of
from gpuyard.render.supply.images import PulledImage

_MIB = 1024 * 1024
_UNNAMED = "no registry is asked for it: "


@dataclass(frozen=True, slots=True)
class Sizes:
    """All that came of asking."""

    by_image: Mapping[str, Size]
    """By image, as nodes are told it."""
    unnamed: frozenset[str]
    """Images of which nobody could be asked: no fault of a registry."""

    def of(self, image: PulledImage) -> Size:
        """Of one image of the list."""
        return self.by_image[image.reference]

    @property
    def code(self) -> int:
        """How the command ends: an image that is not there is found, a registry that is silent is lacking."""
        sizes = [size for name, size in self.by_image.items() if name not in self.unnamed]
        if any(size.absent for size in sizes):
            return FINDINGS
        return ENVIRONMENT_MISSING if any(size.reason for size in sizes) else OK

    def summary(self) -> str:
        """All together; a node pulls what it runs, and not each of them."""
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
    """Ask for each that has a whole name, for the processors that the platform's nodes have."""
    names = {each.reference: _reference(each) for each in images}
    image_names = {name: result for name, result in names.items() if isinstance(result, ImageName)}
    answers = sizes_of(image_names.values(), processors_of(plan))
    unnamed = {name: result for name, result in names.items() if not isinstance(result, ImageName)}
    by = {name: answers[result] for name, result in image_names.items()}
    by |= {name: Size(reason=_UNNAMED + result) for name, result in unnamed.items()}
    return Sizes(by, frozenset(unnamed))


def processors_of(plan: PlatformPlan) -> list[str]:
    """Of pools, and of the nodes that controllers run on."""
    machines = [pool.machine for pool in plan.pools]
    system = plan.spec.system.machine if plan.spec.system else None
    if isinstance(system, str) and system in MACHINES:
        machines.append(MACHINES[system])
    return sorted({machine.arch for machine in machines})


def _reference(image: PulledImage) -> ImageName | str:
    """Where its registry has it, or why nobody can say that."""
    if image.tag_suffix:
        return "each node's system has another image"
    if not image.tag and not image.digest:
        return image.why_by_tag
    return image_name(image.repository, image.tag, image.digest)


def format_size(size: Size) -> str:
    """`312 MiB`, or by processor where they differ in more than their names."""
    sizes = dict(size.compressed)
    if not sizes:
        return "size unknown"
    if len(sizes) == 1:
        return _mib(next(iter(sizes.values())))
    return ", ".join(f"{_mib(each)} on {processor}" for processor, each in sorted(sizes.items()))


def _mib(number: int) -> str:
    return f"{number / _MIB:,.0f} MiB" if number >= _MIB else f"{-(-number // 1024)} KiB"
