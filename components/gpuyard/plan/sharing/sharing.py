"""Sharing of a node's GPUs: layouts by GPU, and the resources that the node advertises."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gpuyard.plan.records import AdvertisedResource, GpuLayout
from gpuyard.plan.renames import short_digest
from gpuyard.plan.sharing.dra import advertised_claim
from gpuyard.spec.sharing import MigGroup, Sharing
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.catalogue.machines import Machine
from gpuyard_core.catalogue.mig import MigProduct
from gpuyard_core.catalogue.mig_layouts import nearest_layout, place_profiles, placement_error
from gpuyard_core.catalogue.sharing import SharingMethod, mps_clients
from gpuyard_core.findings import Diagnostic, Fix, Path, error
from gpuyard_core.models.values import show_gpu_indexes
from gpuyard_core.names import GPU, GPU_SHARED, SHARED_UNIT, shared_resource_name


@dataclass(frozen=True, slots=True)
class SharedGpus:
    """How a node's GPUs are shared."""

    method: SharingMethod
    layouts: tuple[GpuLayout, ...]
    advertised: tuple[AdvertisedResource, ...]
    replicas: int
    is_gke_managed: bool = False
    """Whether GKE's own device plugin partitions and shares them, without agents of the operator."""


def share_gpus(
    sharing: Sharing, machine: Machine, path: Path
) -> tuple[SharedGpus | None, list[Diagnostic]]:
    """The advertised resources of a node, or why its GPUs cannot be shared in this way."""
    if machine.gpu_fraction != 1 and sharing != Sharing():
        return None, [
            error(
                "sharing.fraction",
                path,
                f"{machine.name} has {machine.gpu_fraction} of a GPU, which cannot be shared again",
                allowed="no sharing",
                fix=Fix(message="remove `sharing`", at=path),
            )
        ]
    if sharing.dra:
        return SharedGpus(SharingMethod.DRA, (), (advertised_claim(machine),), 1), []
    if sharing.mig:
        return _share_slices(sharing, machine, path)
    if sharing.mps and (too_many := _mps_limit(sharing.mps, machine, path)):
        return None, [too_many]
    return _share_whole(sharing, machine), []


def _share_whole(sharing: Sharing, machine: Machine) -> SharedGpus:
    if replicas := sharing.time_slicing or sharing.mps:
        method = SharingMethod.TIME_SLICING if sharing.time_slicing else SharingMethod.MPS
        share = AdvertisedResource(
            GPU_SHARED, machine.gpus * replicas, SHARED_UNIT, Fraction(1, replicas)
        )
        return SharedGpus(method, (), (share,), replicas)
    whole_gpus = AdvertisedResource(GPU, machine.gpus, "", machine.gpu_fraction)
    return SharedGpus(SharingMethod.NONE, (), (whole_gpus,), 1)


def _share_slices(
    sharing: Sharing, machine: Machine, path: Path
) -> tuple[SharedGpus | None, list[Diagnostic]]:
    product = machine.gpu.mig if machine.gpu else None
    if product is None:
        return None, [_not_cuttable(machine, path)]
    if machine.uses_cdmm and any(group.slices for group in sharing.mig):
        return None, [
            error(
                "mig.cdmm",
                (*path, "mig"),
                f"the driver of {machine.name} nodes uses Coherent Driver-based Memory Management (CDMM), which does"
                " not support MIG",
                given=machine.name,
                allowed="whole GPUs, time_slicing or mps",
                fix=Fix(
                    message="write time_slicing: 4 instead", at=path, value={"time_slicing": 4}
                ),
            )
        ]
    layouts, findings = _layouts(sharing, machine, product, (*path, "mig"))
    if findings:
        return None, findings
    if not layouts:  # `mig: {}`, or every group leaves its GPUs whole
        return _share_whole(sharing, machine), []
    replicas, partitioned = sharing.time_slicing, {i for layout in layouts for i in layout.gpus}
    advertised = _advertised(layouts, machine.gpus - len(partitioned), product, replicas)
    method = SharingMethod.MIG_TIME_SLICING if replicas else SharingMethod.MIG
    return SharedGpus(method, tuple(layouts), advertised, replicas or 1), []


def _mps_limit(replicas: int, machine: Machine, path: Path) -> Diagnostic | None:
    limit = mps_clients(machine.gpu.compute_capability) if machine.gpu else None
    if machine.gpu is None or limit is None or replicas <= limit:
        return None
    return error(
        "mps.clients",
        (*path, "mps"),
        f"{machine.gpu.name} (compute capability below 7.5) serves at most {limit} MPS clients",
        given=str(replicas),
        allowed=f"2 to {limit}",
        fix=Fix(message=f"write mps: {limit}", at=(*path, "mps"), value=limit),
    )


def _layouts(
    sharing: Sharing, machine: Machine, product: MigProduct, path: Path
) -> tuple[list[GpuLayout], list[Diagnostic]]:
    """The layouts with slices, by GPU; groups without slices leave their GPUs whole."""
    one = len(sharing.mig) == 1 and sharing.mig[0].gpus is None
    findings: list[Diagnostic] = []
    layouts: list[GpuLayout] = []
    partitioned: set[int] = set()
    for index, group in enumerate(sharing.mig):
        gpus = group.gpus if group.gpus is not None else tuple(range(machine.gpus))
        here = path if one else (*path, index)
        if problem := _wrong_gpus(group, gpus, machine, here, partitioned):
            findings.append(problem)
        partitioned |= set(gpus)
        placement = place_profiles(product, group.slices)
        if placement is None:
            suggestion = nearest_layout(product, group.slices)
            value: dict[str, object] = (
                {"gpus": show_gpu_indexes(group.gpus)} if group.gpus is not None else {}
            )
            findings.append(
                error(
                    "mig.placement",
                    here,
                    f"this layout does not fit on one {product.gpu}: {placement_error(product, group.slices)}",
                    given=format_layout(group.slices),
                    allowed=f"{product.slices} compute slices on {product.units} memory units;"
                    f" `gpuyard mig {product.gpu}` lists every profile",
                    fix=Fix(
                        message=f"write the nearest layout that fits: {format_layout(suggestion)}",
                        at=here,
                        value={**value, **suggestion},
                    ),
                )
            )
        elif placement:
            names = [p.name for p in product.profiles if p.name in group.slices]
            layouts.append(GpuLayout(gpus, {n: group.slices[n] for n in names}, placement))
    return sorted(layouts, key=lambda x: x.gpus), findings


def _not_cuttable(machine: Machine, path: Path) -> Diagnostic:
    name = machine.gpu.name if machine.gpu else machine.name
    return error(
        "mig.not_possible",
        (*path, "mig"),
        f"{name} does not support MIG, or NVIDIA publishes no profiles for it",
        given=machine.name,
        allowed="MIG on " + ", ".join(MIG_PRODUCTS),
        fix=Fix(message="write time_slicing: 4 instead", at=path, value={"time_slicing": 4}),
    )


def _wrong_gpus(
    group: MigGroup, gpus: tuple[int, ...], machine: Machine, path: Path, partitioned: set[int]
) -> Diagnostic | None:
    absent = [i for i in gpus if i >= machine.gpus]
    twice = [i for i in gpus if i in partitioned]
    if not absent and not twice:
        return None
    problem = "no such GPU in a node" if absent else "this GPU already has a layout"
    available = tuple(i for i in gpus if i < machine.gpus and i not in partitioned)
    shown = show_gpu_indexes(available) if available else ""
    return error(
        "mig.gpus",
        (*path, "gpus") if group.gpus is not None else path,
        f"{problem}: {', '.join(str(i) for i in absent or twice)}",
        given=show_gpu_indexes(gpus),
        allowed=f"0-{machine.gpus - 1}, each GPU in one layout",
        fix=Fix.write(shown, (*path, "gpus"))
        if available
        else Fix(message="remove this layout", at=path),
    )


def format_layout(counts: Mapping[str, int]) -> str:
    """A layout in stack file syntax."""
    return "{" + ", ".join(f"{name}: {count}" for name, count in counts.items()) + "}"


def _advertised(
    layouts: list[GpuLayout], whole_gpus: int, product: MigProduct, replicas: int
) -> tuple[AdvertisedResource, ...]:
    """Slices by profile in catalogue order, then whole GPUs."""
    results: list[AdvertisedResource] = []
    for profile in product.profiles:
        count = sum(len(x.gpus) * x.counts.get(profile.name, 0) for x in layouts)
        if not count:
            continue
        share = sum((_share(x, profile.name, product) for x in layouts), Fraction(0)) / count
        resource, unit = profile.resource, profile.name
        if replicas:
            resource, unit = shared_resource_name(resource), f"{unit}.shared"
        times = replicas or 1
        results.append(AdvertisedResource(resource, count * times, unit, share / times))
    if whole_gpus:
        results.append(AdvertisedResource(GPU, whole_gpus, "", Fraction(1)))
    return tuple(results)


def _share(layout: GpuLayout, profile: str, product: MigProduct) -> Fraction:
    """GPUs that the slices of one profile use in a layout; the slices in use share the cost of the GPU."""
    slices = {p.name: p.slices for p in product.profiles}
    total_slices = sum(slices[name] * count for name, count in layout.counts.items())
    mine = slices[profile] * layout.counts.get(profile, 0)
    return Fraction(mine * len(layout.gpus), total_slices)


# The MIG manager and the device plugin react to a changed node label, never to a changed ConfigMap. An
# unchanged layout keeps its name, also if its order in the stack file changes.

_APART = "."
"""Pool names contain no dot, so configuration names of two pools cannot be equal."""


def mig_config_name(pool: str, gpus: SharedGpus) -> str | None:
    """The name for the layout of each GPU; None if the MIG manager partitions none."""
    layouts = () if gpus.is_gke_managed else gpus.layouts
    cut = {gpu: sorted(layout.counts.items()) for layout in layouts for gpu in layout.gpus}
    return f"{pool}{_APART}{short_digest(sorted(cut.items()))}" if cut else None


def plugin_config_name(pool: str, gpus: SharedGpus) -> str:
    """The name for the sharing mode and its resources; the pool's name if the operator shares no GPU."""
    if gpus.is_gke_managed or (not gpus.layouts and gpus.replicas == 1):
        return pool
    resources = sorted(each.resource for each in gpus.advertised)
    return f"{pool}{_APART}{short_digest(gpus.method.value, gpus.replicas, resources)}"
