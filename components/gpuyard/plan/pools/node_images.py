"""GPU software of a pool's nodes: who brings driver, container toolkit, device plugin and MIG manager.

The image decides most of it. The GPU Operator has one setting for all nodes of a cluster, so what pools have
in different ways is switched on for all and kept off, by a node label, where the image brings it already.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from gpuyard.catalogue.fabric import pod_limit
from gpuyard.catalogue.gpus import Gpu
from gpuyard.catalogue.machines import Machine
from gpuyard.catalogue.software.images import (
    DEPLOY_LABEL,
    IMAGES,
    NodeImage,
    Owner,
    SoftwarePart,
    find_image,
    images_of,
)
from gpuyard.catalogue.software.pins import DRIVER, OPERATOR_PARTS
from gpuyard.catalogue.software.versions import is_version, parse_version
from gpuyard.findings import Finding, Fix, Path, refuse, warn
from gpuyard.plan.capacity.scaling import plan_scaling
from gpuyard.plan.records import NodeSoftware, OperatorParts, PoolPlan
from gpuyard.spec.nearest import nearest
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import Pool, Scaling

_WHERE = {"aws": "EKS", "gcp": "GKE", "none": "nodes of your own"}

DRIVERS = (
    DRIVER.version,
    *(p.version for p in OPERATOR_PARTS if p.advised_as == "driver" and p is not DRIVER),
)
"""Drivers that the operator can bring, the default first."""


def choose_image(
    spec: PlatformSpec, pool: Pool, machine: Machine, method: str, path: Path
) -> tuple[NodeImage | None, list[Finding]]:
    """The image of a pool's nodes: the one it names, else the first that fits; None on simulated nodes."""
    if spec.cloud is Cloud.SIMULATED:
        return None, []
    here = (*path, "image")
    fitting = [i for i in images_of(spec.cloud.value) if not _problems(i, machine, method)]
    default = fitting[0]
    if pool.image is None:
        return default, []
    found = find_image(pool.image, spec.cloud.value)
    if found is None:
        return None, [_unknown(pool.image, fitting, here)]
    image, arch = found
    problems = _problems(image, machine, method, arch)
    return image, [_refused(problems[0], pool.image, fitting, here)] if problems else []


def _problems(
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
            _unfit(
                unfit, (), f"{machine.gpu.name} needs {unfit}; {image.name} holds {image.driver}"
            )
        )
    return found


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


def _unfit(unfit: Unfit, path: Path, problem: str) -> Finding:
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


def software_of(image: NodeImage | None, machine: Machine) -> NodeSoftware | None:
    """What an image says about a machine's node; the operator's part in it is settled with all pools."""
    if image is None:
        return None
    return NodeSoftware(
        image=image.name,
        variant=image.variants.get(machine.arch, ""),
        driver=image.driver,
        owners={part.value: owner.value for part, owner in image.owners.items()},
        labels=image.node_labels,
    )


def check_pods(spec: PlatformSpec, pool: PoolPlan, path: Path) -> list[Finding]:
    """A node of EKS gives addresses to so many pods: shares beyond that can never be in use together."""
    limit = pod_limit(pool.machine) if spec.cloud is Cloud.AWS else None
    offers = sum(a.per_node for a in pool.advertised)
    if limit is None or offers <= limit:
        return []
    return [
        warn(
            "pool.pod_limit",
            (*path, "sharing"),
            f"{pool.machine.name} has addresses for {limit} pods, agents among them; its GPUs are offered in"
            f" {offers} parts, and the others stay free",
            given=f"{offers} parts a node",
            allowed=f"{limit} pods, without prefix delegation in the VPC CNI",
            fix=Fix(says="share each GPU among fewer, or turn on prefix delegation"),
        )
    ]


def settle(
    spec: PlatformSpec, pools: Mapping[str, PoolPlan | None]
) -> tuple[dict[str, PoolPlan | None], list[Finding]]:
    """Decide what the operator does on each pool's nodes, seen over all pools of the cluster."""
    settled = dict(pools)
    with_image = {
        pool.name: (pool, pool.node_software)
        for pool in pools.values()
        if pool and pool.node_software
    }
    places = {pool.name: index for index, pool in reversed(list(enumerate(spec.pools)))}
    driver, findings = _driver(spec, with_image, places)
    findings += _settings(with_image, places)
    needed = _needed(software for _, software in with_image.values())
    for name, (pool, software) in with_image.items():
        keeps_off = {
            DEPLOY_LABEL[part]: "false"
            for part in SoftwarePart
            if part in needed and software.owners[part.value] != Owner.OPERATOR.value
        }
        labels = keeps_off | dict(software.labels)
        brings = software.owners[SoftwarePart.DRIVER.value] == Owner.OPERATOR.value
        all_labels = dict(sorted((dict(pool.labels) | labels).items()))
        settled[name] = replace(
            pool,
            labels=all_labels,
            scale=plan_scaling(
                spec.cloud, Scaling(pool.scaling), all_labels, pool.taints, pool.advertised
            ),
            node_software=replace(
                software, labels=labels, driver=driver if brings else software.driver
            ),
        )
    return settled, findings


_WithImage = Mapping[str, tuple[PoolPlan, NodeSoftware]]


def _needed(software: Iterable[NodeSoftware]) -> set[SoftwarePart]:
    """Parts that the operator brings to at least one pool."""
    every = list(software)
    return {
        p for p in SoftwarePart if any(s.owners[p.value] == Owner.OPERATOR.value for s in every)
    }


def _driver(
    spec: PlatformSpec, pools: _WithImage, places: Mapping[str, int]
) -> tuple[str | None, list[Finding]]:
    """The driver that the operator brings to every node that has none; one serves them all."""
    gpus = {
        name: pool.machine.gpu
        for name, (pool, software) in pools.items()
        if software.owners[SoftwarePart.DRIVER.value] == Owner.OPERATOR.value and pool.machine.gpu
    }
    if not gpus:
        return None, []
    pinned = spec.software.get("driver")
    if pinned is not None and is_version("driver", pinned):
        return pinned, _judge_pin(pinned, gpus, places)
    left = list(DRIVERS)
    for name, gpu in gpus.items():
        fit = [version for version in left if not unfit_driver(gpu, version)]
        if not fit:
            return None, [_disagree(spec, name, gpus, pools, places)]
        left = fit
    return left[0], []


def _judge_pin(pinned: str, gpus: Mapping[str, Gpu], places: Mapping[str, int]) -> list[Finding]:
    """A driver that the stack file pins, against the GPUs that get it: the first it does not fit."""
    unfit = [(name, gpu, why) for name, gpu in gpus.items() if (why := unfit_driver(gpu, pinned))]
    if not unfit:
        return []
    name, gpu, why = unfit[0]
    fit = [v for v in DRIVERS if not any(unfit_driver(each, v) for each in gpus.values())]
    at = ("software", "driver")
    fix = (
        Fix(says=f'write "{fit[0]}"', at=at, value=fit[0])
        if fit
        else Fix(says="leave it out, and give a pool an image that holds its own driver")
    )
    found = _unfit(why, at, f"{gpu.name} of pools[{places[name]}] needs {why}")
    return [replace(found, given=pinned, allowed=", ".join(fit) or why.needs, fix=fix)]


def _disagree(
    spec: PlatformSpec,
    name: str,
    gpus: Mapping[str, Gpu],
    pools: _WithImage,
    places: Mapping[str, int],
) -> Finding:
    """No driver serves this pool and those before it: one of them needs an image that holds its own."""
    needs = {n: _needs(gpu) for n, gpu in gpus.items() if places[n] <= places[name] and _needs(gpu)}
    other, image = next(
        (other, image)
        for other in reversed(needs)
        for image in images_of(spec.cloud.value)
        if image.owners[SoftwarePart.DRIVER] is not Owner.OPERATOR
        and not _problems(image, pools[other][0].machine, pools[other][0].sharing)
    )
    return refuse(
        "driver.pools_disagree",
        ("pools", places[name]),
        "the GPU Operator brings one driver to all nodes, and none serves these pools: "
        + ", ".join(f"{n} ({gpus[n].name}) needs {what}" for n, what in needs.items()),
        given=", ".join(DRIVERS),
        allowed="pools that one driver serves, or an image that holds its own",
        fix=Fix(
            says=f"write image: {image.name} for {other}",
            at=("pools", places[other], "image"),
            value=image.name,
        ),
    )


def _needs(gpu: Gpu) -> str:
    if gpu.last_driver_branch:
        return f"branch {gpu.last_driver_branch} or before"
    return f"{gpu.first_driver} or later" if gpu.first_driver else ""


def _settings(pools: _WithImage, places: Mapping[str, int]) -> list[Finding]:
    """Values of the operator's chart that hold for every node must be the same for all images."""
    first: tuple[str, NodeImage] | None = None
    for name, (pool, software) in pools.items():
        image = IMAGES[software.image]
        if not image.uses_operator:
            continue
        if first is None:
            first = (name, image)
        elif image.settings != first[1].settings:
            at, write = name, first[1]
            if _problems(write, pool.machine, pool.sharing):
                at, write = first[0], image
            where = ("pools", places[at], "image")
            return [
                refuse(
                    "image.pools_disagree",
                    ("pools", places[name]),
                    f"{image.name} needs other settings of the GPU Operator than {first[1].name} of"
                    f" {first[0]}, and they hold for the whole cluster",
                    given=", ".join(sorted({*image.settings, *first[1].settings})),
                    allowed=f"{image.name} for all pools, or {first[1].name}",
                    fix=Fix(says=f"write image: {write.name} for {at}", at=where, value=write.name),
                )
            ]
    return []


def operator_parts(pools: Iterable[PoolPlan]) -> OperatorParts | None:
    """What the GPU Operator is told for the whole cluster; None on simulated nodes."""
    software = [pool.node_software for pool in pools if pool.node_software]
    if not software:
        return None
    needed = _needed(software)
    settings: dict[str, str] = {}
    drivers = [
        s.driver for s in software if s.owners[SoftwarePart.DRIVER.value] == Owner.OPERATOR.value
    ]
    for each in software:
        settings |= IMAGES[each.image].settings
    return OperatorParts(
        enabled={part.value: part in needed for part in SoftwarePart},
        driver=next(iter(drivers), None),
        settings=settings,
    )
