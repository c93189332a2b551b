"""Node images: the one that a pool names, or the first that fits its machines and how they are shared."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from gpuyard.catalogue.fabric import GPUDIRECT, pod_limit
from gpuyard.catalogue.gpus import Gpu
from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.software.images import IMAGES, NodeImage, find_image, images_of
from gpuyard.catalogue.software.versions import parse_version
from gpuyard.findings import Finding, Fix, Path, Severity, refuse, warn
from gpuyard.plan.records import Advertised
from gpuyard.spec.nearest import nearest
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool

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
        if not (misfits(image, machine, method) or _without_rdma(image, machine, pool))
    ]
    default = fitting[0]
    if pool.image is None:
        return default, []
    found = find_image(pool.image, spec.cloud.value)
    if found is None:
        return None, [_unknown(pool.image, fitting, here)]
    image, arch = found
    problems = misfits(image, machine, method, arch) or _without_rdma(image, machine, pool)
    return image, [_refused(problems[0], pool.image, fitting, here)] if problems else []


def misfits(
    image: NodeImage, machine: Machine, method: str, arch: str | None = None
) -> list[Finding]:
    """What keeps a machine from an image, worst first; where and what to do is for whoever asks."""
    found = []
    if image.variants and machine.arch not in ({arch} if arch else set(image.variants)):
        theirs = arch or ", ".join(image.variants)
        problem = f"the image is for {theirs}, {machine.name} is {machine.arch}"
        found.append(refuse("image.architecture", (), problem))
    if machine.gpu_fraction != 1 and image.cloud == "aws" and not image.grid:
        part = (
            f"{machine.name} has {machine.gpu_fraction} of a GPU, which needs NVIDIA's GRID driver"
        )
        found.append(refuse("image.fraction", (), f"{part}; {image.name} has none"))
    if method not in image.sharing:
        ways = ", ".join(sorted(image.sharing))
        problem = f"{image.name} cannot do {method}: {image.why_not}"
        found.append(refuse("image.sharing", (), problem, allowed=ways))
    if image.driver and machine.gpu and (unfit := unfit_driver(machine.gpu, image.driver)):
        found.append(
            driver_misfit(
                unfit, (), f"{machine.gpu.name} needs {unfit}; {image.name} holds {image.driver}"
            )
        )
    return found


def _without_rdma(image: NodeImage, machine: Machine, pool: Pool) -> list[Finding]:
    """GPUDirect RDMA of GKE needs Container-Optimized OS; one node alone does not use it."""
    direct = GPUDIRECT.get(machine.name)
    if image.cloud != "gcp" or image.name.startswith("cos"):
        return []
    if direct is None or direct.name != "GPUDirect-RDMA":
        return []
    problem = f"GKE supports {direct.name} of {machine.name} on Container-Optimized OS only"
    found = refuse("image.rdma", (), problem)
    return [found if pool.nodes.high > 1 else replace(found, severity=Severity.WARN)]


class Unfit(NamedTuple):
    """Why a GPU does not run with a driver."""

    too_old: bool
    needs: str

    def __str__(self) -> str:
        return self.needs


def unfit_driver(gpu: Gpu, version: str) -> Unfit | None:
    """Why a GPU does not run with a driver; None when it does."""
    numbers = parse_version("driver", version).numbers
    if gpu.first_driver and numbers < parse_version("driver", gpu.first_driver).numbers:
        return Unfit(too_old=True, needs=f"driver {gpu.first_driver} or later")
    if gpu.last_driver_branch and numbers[0] > gpu.last_driver_branch:
        return Unfit(too_old=False, needs=f"a driver of branch {gpu.last_driver_branch} or before")
    return None


def driver_misfit(unfit: Unfit, path: Path, problem: str) -> Finding:
    """A GPU and a driver that do not go together."""
    return refuse(
        "driver.too_old" if unfit.too_old else "driver.too_new", path, problem, allowed=unfit.needs
    )


def _unknown(given: str, fitting: list[NodeImage], path: Path) -> Finding:
    other = IMAGES.get(given.lower())
    names = [image.name for image in fitting]
    near = nearest(given, names)
    return refuse(
        "image.unknown",
        path,
        f"an image for {_WHERE[other.cloud]}" if other else "no such node image in the catalogue",
        given=given,
        allowed=", ".join(names),
        fix=Fix(says=f"write {near}", at=path, value=near)
        if near
        else Fix(says=f"remove `image`: then it is {names[0]}", at=path),
    )


def _refused(problem: Finding, given: str, fitting: list[NodeImage], path: Path) -> Finding:
    names = ", ".join(image.name for image in fitting)
    return replace(
        problem,
        path=path,
        given=given,
        allowed=f"{problem.allowed}; images that fit: {names}" if problem.allowed else names,
        fix=Fix(says=f"write {fitting[0].name}", at=path, value=fitting[0].name),
    )


def check_pods(
    spec: PlatformSpec, machine: Machine, advertised: Iterable[Advertised], path: Path
) -> list[Finding]:
    """A node of EKS gives addresses to so many pods: shares beyond that can never be in use together."""
    limit = pod_limit(machine) if spec.cloud is Cloud.AWS else None
    offers = sum(a.per_node for a in advertised)
    if limit is None or offers <= limit:
        return []
    return [
        warn(
            "pool.pod_limit",
            (*path, "sharing"),
            f"{machine.name} has addresses for {limit} pods, agents among them; its GPUs are offered in"
            f" {offers} parts, and the others stay free",
            given=f"{offers} parts a node",
            allowed=f"{limit} pods, without prefix delegation in the VPC CNI",
            fix=Fix(says="share each GPU among fewer, or turn on prefix delegation"),
        )
    ]
