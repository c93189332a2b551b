"""Drivers for resource claims: `sharing: dra` needs a newer driver than extended resources."""

from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.gpu_operator import DRIVERS
from gpuyard.plan.pools.node_images import incompatible_driver
from gpuyard_core.catalogue.gpus import Gpu
from gpuyard_core.catalogue.kubernetes.claims import FIRST_DRIVER
from gpuyard_core.catalogue.software.versions import is_version, parse_version
from gpuyard_core.findings import Diagnostic, Fix, error, format_list


def check_claim_drivers(draft: Draft) -> list[Diagnostic]:
    """Reject a pinned driver that does not support claims, if the operator installs it on nodes that need them.

    Every driver that is not pinned is newer: those of the operator and those in images.
    """
    pinned = draft.spec.software.get("driver")
    if pinned is None or not is_version("driver", pinned) or not _older(pinned):
        return []
    served = [
        p
        for p in draft.valid_pools.values()
        if p.node_software and p.node_software.driver == pinned
    ]
    claimed = [pool.name for pool in served if pool.dra]
    if not claimed:
        return []
    at = ("software", "driver")
    gpus = [pool.machine.gpu for pool in served if pool.machine.gpu]
    fit = next((v for v in DRIVERS if _serves(v, gpus)), None)
    return [
        error(
            "dra.driver",
            at,
            f"resource claims, used in {format_list(claimed)}, need driver {FIRST_DRIVER} or newer",
            given=pinned,
            allowed=f"driver {FIRST_DRIVER} or later, or pools without sharing: dra",
            fix=Fix(message=f'write "{fit}"', at=at, value=fit)
            if fit
            else Fix(message=f"remove `sharing: dra` of {format_list(claimed)}"),
        )
    ]


def _older(version: str) -> bool:
    numbers = parse_version("driver", version).numbers
    return numbers < parse_version("driver", FIRST_DRIVER).numbers


def _serves(version: str, gpus: list[Gpu]) -> bool:
    return not _older(version) and not any(incompatible_driver(gpu, version) for gpu in gpus)
