"""The GPU Operator: the driver, container toolkit, device plugin and MIG manager that it installs on nodes.

The image decides most of it. The operator has one setting for all nodes of a cluster, so a component that
only some pools need is enabled for all, and a node label disables it where the image already has it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.node_images import (
    driver_mismatch_finding,
    incompatibilities,
    incompatible_driver,
)
from gpuyard.plan.records import NodeSoftware, OperatorParts, PoolPlan
from gpuyard.plan.sharing.dra import installs_dra_driver, operator_serves_dra_claims
from gpuyard.plan.software.support import check_pins
from gpuyard.provider import provider_of
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import FabricKind
from gpuyard_core.catalogue.gpus import Gpu
from gpuyard_core.catalogue.kubernetes.claims import FIRST_DRIVER
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.catalogue.software.images import (
    DEPLOY_LABEL,
    IMAGES,
    ComponentOwner,
    NodeImage,
    SoftwarePart,
)
from gpuyard_core.catalogue.software.pins import PINS, Pin
from gpuyard_core.catalogue.software.versions import is_version, parse_version
from gpuyard_core.findings import Diagnostic, Fix, error, format_list, warning

DRIVERS = tuple(pin.version for pin in PINS.values() if pin.bulletin_component == "driver")
"""Drivers that the operator can install, the default first."""


@dataclass(frozen=True, slots=True, eq=False)
class ImagedPool:
    """A pool whose nodes boot from an image, before its settings are combined with those of other pools."""

    name: str
    index: int
    """Its index in the stack file."""
    machine: Machine
    sharing: str
    image: NodeImage

    @property
    def gets_driver(self) -> bool:
        """Whether the operator installs the driver."""
        return self.image.owners[SoftwarePart.DRIVER] is ComponentOwner.OPERATOR


def plan_node_software(
    spec: PlatformSpec, pools: Sequence[ImagedPool]
) -> tuple[dict[str, NodeSoftware], list[Diagnostic]]:
    """Who installs which component on the nodes of each pool, decided over all pools of the cluster."""
    driver, findings = _driver(spec, pools)
    owners = {pool.name: _owners(spec, pool) for pool in pools}
    needed = {
        part
        for own in owners.values()
        for part, owner in own.items()
        if owner is ComponentOwner.OPERATOR
    }
    software = {
        pool.name: NodeSoftware(
            image=pool.image.name,
            variant=pool.image.variants.get(pool.machine.arch, ""),
            driver=driver if pool.gets_driver else pool.image.driver,
            owners={part.value: owner.value for part, owner in owners[pool.name].items()},
            # labels that disable components of the operator that this image already has
            labels={
                DEPLOY_LABEL[part]: "false"
                for part in SoftwarePart
                if part in needed and owners[pool.name][part] is not ComponentOwner.OPERATOR
            }
            | dict(pool.image.node_labels),
        )
        for pool in pools
    }
    return software, [*findings, *_settings(pools), *_vulnerable(spec, pools)]


def _owners(spec: PlatformSpec, pool: ImagedPool) -> Mapping[SoftwarePart, ComponentOwner]:
    """With claims, the DRA driver allocates GPUs and the container runtime injects them into pods."""
    if pool.sharing != SharingMethod.DRA:
        return pool.image.owners
    claimed = {
        SoftwarePart.DEVICE_PLUGIN: ComponentOwner.DRA_DRIVER,
        SoftwarePart.MIG_MANAGER: ComponentOwner.DRA_DRIVER,
    }
    if installs_dra_driver(spec) and _operator_brings(pool.image, SoftwarePart.TOOLKIT):
        claimed[SoftwarePart.TOOLKIT] = ComponentOwner.RUNTIME  # which reads CDI
    return {**pool.image.owners, **claimed}


def _operator_brings(image: NodeImage, part: SoftwarePart) -> bool:
    return image.owners[part] is ComponentOwner.OPERATOR


def _driver(spec: PlatformSpec, pools: Sequence[ImagedPool]) -> tuple[str | None, list[Diagnostic]]:
    """The driver that the operator installs on every node without one: the same for all nodes."""
    served = {pool: pool.machine.gpu for pool in pools if pool.gets_driver and pool.machine.gpu}
    if not served:
        return None, []
    pinned = spec.software.get("driver")
    if pinned is not None and is_version("driver", pinned):
        return pinned, _judge_pin(pinned, served) or _faults(pinned, served)
    remaining = list(DRIVERS)
    for pool, gpu in served.items():
        fit = [version for version in remaining if not incompatible_driver(gpu, version)]
        if not fit:
            return None, [_disagree(spec, pool, served)]
        remaining = fit
    chosen = next((version for version in remaining if not _faulty(version, served)), remaining[0])
    return chosen, _faults(chosen, served)


_Served = Mapping[ImagedPool, Gpu]
"""The pools that get the operator's driver, with their GPUs."""


def _judge_pin(pinned: str, served: _Served) -> list[Diagnostic]:
    """Compare a pinned driver with the GPUs that get it: the first GPU that it does not support."""
    unfit = [
        (pool, why) for pool, gpu in served.items() if (why := incompatible_driver(gpu, pinned))
    ]
    if not unfit:
        return []
    pool, why = unfit[0]
    fit = [v for v in DRIVERS if not any(incompatible_driver(each, v) for each in served.values())]
    at = ("software", "driver")
    fix = (
        Fix(message=f'write "{fit[0]}"', at=at, value=fit[0])
        if fit
        else Fix(message="remove it, and give a pool an image that includes a driver")
    )
    result = driver_mismatch_finding(
        why, at, f"{served[pool].name} of pools[{pool.index}] needs {why}"
    )
    return [replace(result, given=pinned, allowed=", ".join(fit) or why.needs, fix=fix)]


def _faulty(version: str, served: _Served) -> list[ImagedPool]:
    """The pools whose EFA has known faults with a driver."""
    branch = parse_version("driver", version).numbers[0]
    return [
        pool
        for pool, gpu in served.items()
        if (gpu.name, branch) in provider_of(pool.image.cloud).faulty_drivers
    ]


def _faults(version: str, served: _Served) -> list[Diagnostic]:
    """Warn of the driver that the operator installs; images with their own driver are not affected."""
    return [
        warning(
            "driver.efa",
            ("pools", pool.index, "image"),
            f"driver {version} has known EFA faults on {pool.machine.name}",
            given=version,
            allowed="another driver branch, or an image that includes a driver",
            fix=Fix.write("al2023-nvidia", ("pools", pool.index, "image")),
        )
        for pool in _faulty(version, served)
    ]


def _disagree(spec: PlatformSpec, pool: ImagedPool, served: _Served) -> Diagnostic:
    """No driver supports this pool and those before it: one of them needs an image with its own driver."""
    needs = {
        one: what
        for one, gpu in served.items()
        if one.index <= pool.index and (what := _needs(gpu))
    }
    other, image = next(
        (other, image)
        for other in reversed(needs)
        for image in provider_of(spec.cloud).images
        if not _operator_brings(image, SoftwarePart.DRIVER)
        and not incompatibilities(image, other.machine, other.sharing)
    )
    return error(
        "driver.pools_disagree",
        ("pools", pool.index),
        "the GPU Operator installs one driver on all nodes, and none supports all of these pools: "
        + ", ".join(f"{o.name} ({served[o].name}) needs {what}" for o, what in needs.items()),
        given=", ".join(DRIVERS),
        allowed="pools that one driver supports, or an image that includes a driver",
        fix=Fix(
            message=f"write image: {image.name} for {other.name}",
            at=("pools", other.index, "image"),
            value=image.name,
        ),
    )


def _needs(gpu: Gpu) -> str:
    if gpu.last_driver_branch:
        return f"branch {gpu.last_driver_branch} or older"
    return f"{gpu.first_driver} or later" if gpu.first_driver else ""


def _vulnerable(spec: PlatformSpec, pools: Sequence[ImagedPool]) -> Iterator[Diagnostic]:
    """Images whose own driver has a published vulnerability: one finding per image."""
    by_image: dict[str, list[ImagedPool]] = {}
    for pool in pools:
        by_image.setdefault(pool.image.name, []).append(pool)
    for first, *others in by_image.values():
        if (known := _known(first.image)) is None:
            continue
        safe = [each for each in provider_of(spec.cloud).images if not _known(each)]
        compatible = {
            pool.name: next(
                i.name for i in safe if not incompatibilities(i, pool.machine, pool.sharing)
            )
            for pool in (first, *others)
        }
        one = None if others else compatible[first.name]
        yield warning(
            "image.vulnerable",
            ("pools", first.index, "image"),
            f"driver {first.image.driver} of {first.image.name} {known.problem}",
            given=first.image.name,
            allowed=f"an image with driver {known.allowed}",
            fix=Fix(
                message=f"write {', '.join(f'image: {i} for {name}' for name, i in compatible.items())}",
                at=("pools", first.index, "image") if one else None,
                value=one,
            ),
        )


def _known(image: NodeImage) -> Diagnostic | None:
    result = check_pins([Pin("driver", image.driver, image.source)]) if image.driver else []
    return next(iter(result), None)


def _settings(pools: Sequence[ImagedPool]) -> Iterator[Diagnostic]:
    """Values of the operator's chart apply to every node, so they must be the same for all images."""
    with_operator = [pool for pool in pools if pool.image.uses_operator]
    first = next(iter(with_operator), None)
    pool = next(
        (p for p in with_operator if first and p.image.settings != first.image.settings), None
    )
    if first is None or pool is None:
        return
    # suggest the image of one pool for the other, in the direction that is compatible
    image, at, write = pool.image, pool, first.image
    if incompatibilities(write, pool.machine, pool.sharing):
        at, write = first, image
    yield error(
        "image.pools_disagree",
        ("pools", pool.index),
        f"{image.name} needs other GPU Operator settings than {first.image.name} of {first.name},"
        " and the settings apply to the whole cluster",
        given=", ".join(sorted({*image.settings, *first.image.settings})),
        allowed=f"{image.name} for all pools, or {first.image.name}",
        fix=Fix(
            message=f"write image: {write.name} for {at.name}",
            at=("pools", at.index, "image"),
            value=write.name,
        ),
    )


def operator_parts(spec: PlatformSpec, pools: Iterable[PoolPlan]) -> OperatorParts | None:
    """The GPU Operator's settings for the whole cluster; None on simulated nodes."""
    booted = [(pool, pool.node_software) for pool in pools if pool.node_software]
    if not booted:
        return None
    brought = {
        part
        for part in SoftwarePart
        if any(s.owners[part.value] == ComponentOwner.OPERATOR.value for _, s in booted)
    }
    claims, settings = operator_serves_dra_claims(spec), dict[str, str]()
    for _, each in booted:
        settings |= IMAGES[each.image].settings
    if claims:  # the other components do not run
        settings = {path: value for path, value in settings.items() if path.startswith("hostPaths")}
    served = [
        (pool, s)
        for pool, s in booted
        if s.owners[SoftwarePart.DRIVER.value] == ComponentOwner.OPERATOR.value
    ]
    return OperatorParts(
        enabled={part.value: part in brought for part in SoftwarePart},
        driver=next((s.driver for _, s in served), None),
        settings=settings,
        install=spec.gpu_operator.install and (bool(brought) or claims),
        namespace=spec.gpu_operator.namespace,
        kernel_modules=_kernel_modules([pool.machine.gpu for pool, _ in served]),
        gdrcopy=any(
            pool.machine.efa_interfaces
            or (pool.fabric is not None and pool.fabric.kind is not FabricKind.ETHERNET)
            for pool, _ in served
        ),
        claims=claims,
    )


def _kernel_modules(gpus: Iterable[Gpu | None]) -> str:
    """The kernel module type, if it is the same for every GPU; `auto` decides on each node."""
    known = {gpu.open_modules if gpu else None for gpu in gpus}
    if known == {True}:
        return "open"
    return "proprietary" if known == {False} else "auto"


def check_claim_drivers(draft: Draft) -> Iterator[Diagnostic]:
    """Reject a pinned driver that does not support claims, if the operator installs it on nodes that need them.

    Every driver that is not pinned is newer: those of the operator and those in images.
    """
    pinned = draft.spec.software.get("driver")
    if pinned is None or not is_version("driver", pinned) or not _older(pinned):
        return
    served = [
        p
        for p in draft.valid_pools.values()
        if p.node_software and p.node_software.driver == pinned
    ]
    claimed = [pool.name for pool in served if pool.dra]
    if not claimed:
        return
    at = ("software", "driver")
    gpus = [pool.machine.gpu for pool in served if pool.machine.gpu]
    fit = next(
        (v for v in DRIVERS if not (_older(v) or any(incompatible_driver(g, v) for g in gpus))),
        None,
    )
    yield error(
        "dra.driver",
        at,
        f"resource claims, used in {format_list(claimed)}, need driver {FIRST_DRIVER} or newer",
        given=pinned,
        allowed=f"driver {FIRST_DRIVER} or later, or pools without sharing: dra",
        fix=Fix(message=f'write "{fit}"', at=at, value=fit)
        if fit
        else Fix(message=f"remove `sharing: dra` of {format_list(claimed)}"),
    )


def _older(version: str) -> bool:
    numbers = parse_version("driver", version).numbers
    return numbers < parse_version("driver", FIRST_DRIVER).numbers
