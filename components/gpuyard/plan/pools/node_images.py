"""Node images: the one that a pool names, or the first that fits its machines and sharing mode."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from gpuyard.catalogue.fabric import GPUDIRECT, pod_limit
from gpuyard.catalogue.gpus import Gpu
from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.software.images import IMAGES, NodeImage, find_image, images_of
from gpuyard.catalogue.software.versions import parse_version
from gpuyard.findings import Finding, Fix, Path, Severity, error, warning
from gpuyard.plan.records import AdvertisedResource
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.suggestions import nearest_name

_WHERE = {"aws": "EKS", "gcp": "GKE", "none": "nodes of your own"}


def choose_image(
    spec: PlatformSpec, pool: Pool, machine: Machine, method: str, path: Path
) -> tuple[NodeImage | None, list[Finding]]:
    """The image of a pool's nodes: the one it names, else the first that fits; None on simulated nodes."""
    if spec.cloud is Cloud.SIMULATED:
        return None, []
    here = (*path, "image")
    fitting = [
        image
        for image in images_of(spec.cloud.value)
        if not (incompatibilities(image, machine, method) or _without_rdma(image, machine, pool))
    ]
    default = fitting[0]
    if pool.image is None:
        return default, []
    result = find_image(pool.image, spec.cloud.value)
    if result is None:
        return None, [_unknown(pool.image, fitting, here)]
    image, arch = result
    problems = incompatibilities(image, machine, method, arch) or _without_rdma(
        image, machine, pool
    )
    return image, [_rejected(problems[0], pool.image, fitting, here)] if problems else []


def incompatibilities(
    image: NodeImage, machine: Machine, method: str, arch: str | None = None
) -> list[Finding]:
    """Why a machine cannot use an image, most severe first; the caller adds the path and the fix."""
    results = []
    if image.variants and machine.arch not in ({arch} if arch else set(image.variants)):
        theirs = arch or ", ".join(image.variants)
        problem = f"the image is for {theirs}, but {machine.name} is {machine.arch}"
        results.append(error("image.architecture", (), problem))
    if machine.gpu_fraction != 1 and image.cloud == "aws" and not image.grid:
        part = (
            f"{machine.name} has {machine.gpu_fraction} of a GPU, which needs NVIDIA's GRID driver"
        )
        results.append(error("image.fraction", (), f"{part}; {image.name} has none"))
    if method not in image.sharing:
        ways = ", ".join(sorted(image.sharing))
        problem = f"{image.name} does not support {method}: {image.unsupported_reason}"
        results.append(error("image.sharing", (), problem, allowed=ways))
    if image.driver and machine.gpu and (unfit := incompatible_driver(machine.gpu, image.driver)):
        results.append(
            driver_mismatch_finding(
                unfit, (), f"{machine.gpu.name} needs {unfit}; {image.name} has {image.driver}"
            )
        )
    return results


def _without_rdma(image: NodeImage, machine: Machine, pool: Pool) -> list[Finding]:
    """GPUDirect RDMA of GKE needs Container-Optimized OS; one node alone does not use it."""
    direct = GPUDIRECT.get(machine.name)
    if image.cloud != "gcp" or image.name.startswith("cos"):
        return []
    if direct is None or direct.name != "GPUDirect-RDMA":
        return []
    problem = f"GKE supports {direct.name} of {machine.name} on Container-Optimized OS only"
    result = error("image.rdma", (), problem)
    return [result if pool.nodes.high > 1 else replace(result, severity=Severity.WARNING)]


class DriverMismatch(NamedTuple):
    """Why a GPU does not run with a driver."""

    too_old: bool
    needs: str

    def __str__(self) -> str:
        return self.needs


def incompatible_driver(gpu: Gpu, version: str) -> DriverMismatch | None:
    """Why a GPU does not run with a driver; None when it does."""
    numbers = parse_version("driver", version).numbers
    if gpu.first_driver and numbers < parse_version("driver", gpu.first_driver).numbers:
        return DriverMismatch(too_old=True, needs=f"driver {gpu.first_driver} or later")
    if gpu.last_driver_branch and numbers[0] > gpu.last_driver_branch:
        return DriverMismatch(
            too_old=False, needs=f"a driver of branch {gpu.last_driver_branch} or older"
        )
    return None


def driver_mismatch_finding(unfit: DriverMismatch, path: Path, problem: str) -> Finding:
    """The finding for a GPU and a driver that are incompatible."""
    return error(
        "driver.too_old" if unfit.too_old else "driver.too_new", path, problem, allowed=unfit.needs
    )


def _unknown(value: str, fitting: list[NodeImage], path: Path) -> Finding:
    other = IMAGES.get(value.lower())
    names = [image.name for image in fitting]
    suggestion = nearest_name(value, names)
    return error(
        "image.unknown",
        path,
        f"this is an image for {_WHERE[other.cloud]}"
        if other
        else "the catalogue has no such node image",
        value=value,
        allowed=", ".join(names),
        fix=Fix(message=f"write {suggestion}", at=path, value=suggestion)
        if suggestion
        else Fix(message=f"remove `image`: the default is {names[0]}", at=path),
    )


def _rejected(problem: Finding, value: str, fitting: list[NodeImage], path: Path) -> Finding:
    names = ", ".join(image.name for image in fitting)
    return replace(
        problem,
        path=path,
        value=value,
        allowed=f"{problem.allowed}; images that fit: {names}" if problem.allowed else names,
        fix=Fix(message=f"write {fitting[0].name}", at=path, value=fitting[0].name),
    )


def check_pods(
    spec: PlatformSpec, machine: Machine, advertised: Iterable[AdvertisedResource], path: Path
) -> list[Finding]:
    """An EKS node has addresses for a limited number of pods: more shares can never be in use at once."""
    limit = pod_limit(machine) if spec.cloud is Cloud.AWS else None
    offers = sum(a.per_node for a in advertised)
    if limit is None or offers <= limit:
        return []
    return [
        warning(
            "pool.pod_limit",
            (*path, "sharing"),
            f"{machine.name} has addresses for {limit} pods, including agents, but its GPUs are shared in"
            f" {offers} parts: the others stay idle",
            value=f"{offers} parts a node",
            allowed=f"at most {limit} parts a node, without prefix delegation in the VPC CNI",
            fix=Fix(message="share each GPU among fewer pods, or enable prefix delegation"),
        )
    ]
