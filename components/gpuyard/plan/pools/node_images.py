"""Node images: the one that a pool names, or the first that fits its machines and sharing mode."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan, ShapePlan
from gpuyard.plan.renames import nearest_fix
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.sections import Numa
from gpuyard_core.catalogue.fabric import GPUDIRECT
from gpuyard_core.catalogue.gpus import Gpu
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.software.images import IMAGES, NodeImage, find_image
from gpuyard_core.catalogue.software.versions import parse_version
from gpuyard_core.findings import Diagnostic, Fix, Path, Severity, error, warning


def choose_image(
    spec: PlatformSpec, pool: Pool, machine: Machine, method: str, path: Path
) -> tuple[NodeImage | None, list[Diagnostic]]:
    """The image of a pool's nodes: the one it names, else the first that fits; None on simulated nodes."""
    images = provider_of(spec.cloud).images
    if not images:
        return None, []
    here = (*path, "image")
    fitting = [
        image
        for image in images
        if not (incompatibilities(image, machine, method) or _without_rdma(image, machine, pool))
    ]
    default = fitting[0]
    if pool.image is None:
        return default, []
    result = find_image(pool.image, images)
    if result is None:
        return None, [_unknown(pool.image, fitting, here)]
    image, arch = result
    problems = incompatibilities(image, machine, method, arch) or _without_rdma(
        image, machine, pool
    )
    return image, [_rejected(problems[0], pool.image, fitting, here)] if problems else []


def incompatibilities(
    image: NodeImage, machine: Machine, method: str, arch: str | None = None
) -> list[Diagnostic]:
    """Why a machine cannot use an image, most severe first; the caller adds the path and the fix."""
    results = []
    if image.variants and machine.arch not in ({arch} if arch else set(image.variants)):
        theirs = arch or ", ".join(image.variants)
        problem = f"the image is for {theirs}, but {machine.name} is {machine.arch}"
        results.append(error("image.architecture", (), problem))
    if machine.gpu_fraction != 1 and not image.fractions:
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


def _without_rdma(image: NodeImage, machine: Machine, pool: Pool) -> list[Diagnostic]:
    """GPUDirect RDMA of GKE needs Container-Optimized OS; one node alone does not use it."""
    direct = GPUDIRECT.get(machine.name)
    if image.gpudirect_rdma or direct is None or direct.name != "GPUDirect-RDMA":
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


def driver_mismatch_finding(unfit: DriverMismatch, path: Path, problem: str) -> Diagnostic:
    """The finding for a GPU and a driver that are incompatible."""
    return error(
        "driver.too_old" if unfit.too_old else "driver.too_new", path, problem, allowed=unfit.needs
    )


def _unknown(value: str, fitting: list[NodeImage], path: Path) -> Diagnostic:
    other = IMAGES.get(value.lower())
    names = [image.name for image in fitting]
    own = other is not None and other.cloud == Cloud.NONE
    whose = "nodes of your own" if own or other is None else provider_of(other.cloud).service
    return error(
        "image.unknown",
        path,
        f"this is an image for {whose}" if other else "the catalogue has no such node image",
        given=value,
        allowed=", ".join(names),
        fix=nearest_fix(
            value, names, path, Fix(message=f"remove `image`: the default is {names[0]}", at=path)
        ),
    )


def _rejected(problem: Diagnostic, value: str, fitting: list[NodeImage], path: Path) -> Diagnostic:
    names = ", ".join(image.name for image in fitting)
    return replace(
        problem,
        path=path,
        given=value,
        allowed=f"{problem.allowed}; images that fit: {names}" if problem.allowed else names,
        fix=Fix.write(fitting[0].name, path),
    )


def plan_numa(pool: Pool, machine: Machine) -> Numa:
    """The policy of the stack file, else `restricted` if the NUMA nodes are known, else none."""
    if pool.numa is not None:
        return pool.numa
    return Numa.RESTRICTED if machine.numa_nodes else Numa.NONE


def check_numa(draft: Draft) -> Iterator[Diagnostic]:
    """With `single-numa-node` the kubelet rejects pods that need two NUMA nodes: no shape may be one."""
    for index, one in enumerate(draft.spec.pools):
        pool = draft.pools.get(one.name)
        if pool is None or one.numa is not Numa.SINGLE:
            continue
        path: Path = ("pools", index, "numa")
        if result := _too_wide(pool, draft.shapes, path) or _risk(pool, path):
            yield result


def _in_one(pool: PoolPlan) -> int | None:
    """The maximum number of GPUs in one NUMA node; None if unknown."""
    nodes = pool.machine.numa_nodes
    return pool.machine.gpus_in_numa or (pool.gpus_per_node // nodes if nodes else None)


def _parts(pool: PoolPlan, most: int) -> str:
    uneven = "at most " if pool.machine.gpus_in_numa else ""
    return f"{pool.machine.name} has {pool.machine.numa_nodes} NUMA nodes with {uneven}{most} GPUs each"


def _too_wide(pool: PoolPlan, shapes: Sequence[ShapePlan], path: Path) -> Diagnostic | None:
    most = _in_one(pool)
    whole_gpus = pool.find_advertised_resource("")
    mine = [
        s
        for s in shapes
        if s.pool == pool.name and whole_gpus and s.resource == whole_gpus.resource
    ]
    wide = max(mine, key=lambda s: s.per_node, default=None)
    if most is None or wide is None or wide.per_node <= most:
        return None
    return error(
        "numa.single_node",
        path,
        f"{_parts(pool, most)}; a pod of shape {wide.name} needs {wide.per_node}, and the kubelet would"
        " reject it",
        given="single-numa-node",
        allowed=f"restricted, or pods with at most {most} GPUs",
        fix=Fix.write("restricted", path),
    )


def _risk(pool: PoolPlan, path: Path) -> Diagnostic | None:
    most = _in_one(pool)
    if pool.gpus_per_node in {1, most}:
        return None
    why = (
        f"the number of NUMA nodes of {pool.machine.name} is unknown"
        if most is None
        else _parts(pool, most)
    )
    bound = "more GPUs than one of them has" if most is None else f"more than {most} GPUs"
    return warning(
        "numa.single_node",
        path,
        f"{why}: the kubelet rejects every pod with {bound}, and the job fails",
        given="single-numa-node",
        allowed="restricted, which aligns where possible and rejects no pod that needs a whole node",
        fix=Fix.write("restricted", path),
    )
