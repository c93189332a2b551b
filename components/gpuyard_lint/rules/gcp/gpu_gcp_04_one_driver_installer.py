"""GPU-GCP-04: exactly one component installs the driver."""

import re
from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_core.manifests.placeholders import is_entirely_placeholder
from gpuyard_lint.rules.rule import (
    Parameters,
    Rule,
    Stack,
    Violation,
    at,
    block,
    items,
    known_value,
    text,
)
from gpuyard_lint.rules.subjects.components import is_switched_off
from gpuyard_lint.rules.subjects.installed_versions import has_driver_installer
from gpuyard_lint.rules.subjects.pools import NODE_POOL, GpuPool, gpu_pools

_OPERATOR = ("values:gpu-operator", "nvidia.com/ClusterPolicy")
_OFF = "INSTALLATION_DISABLED"
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})-gke\.(\d{1,9})")
_INSTALLS_SINCE = (1, 30, 1, 1156000)
"""The first version in which GKE installs its default driver without configuration."""


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    by_operator = any(
        _installs(result.properties) for result in stack.resources_of_kinds(*_OPERATOR)
    )
    for pool in gpu_pools(stack.resources_of_kinds(NODE_POOL)):
        mode, path = _mode(pool)
        is_unset = mode in {"", "GPU_DRIVER_VERSION_UNSPECIFIED"}
        version = pool.resource.properties.get("version")
        old = is_unset and _comes_before_it_installed(version)
        if by_operator and mode != _OFF and not old:
            shown_mode = "by default" if is_unset else mode
            yield Violation(
                path,
                f"GKE ({shown_mode}) and the GPU Operator both install the driver: nodes fail at boot",
                f"set {_OFF} here, or driver.enabled: false in the operator",
                pool.resource,
            )
        elif (
            is_unset
            and not (by_operator or has_driver_installer(stack))
            and _comes_before_it_installed(known_value(version))
        ):
            yield Violation(
                path,
                f"nothing installs the driver: GKE {version} does not by default",
                "set gpuDriverVersion: LATEST, or INSTALLATION_DISABLED with the GPU Operator",
                pool.resource,
            )


def _comes_before_it_installed(version: object) -> bool:
    """Whether GKE of this version does not install a driver by default."""
    numbers = _VERSION.match(version) if isinstance(version, str) else None
    return numbers is not None and tuple(map(int, numbers.groups())) < _INSTALLS_SINCE


def _mode(pool: GpuPool) -> tuple[str, tuple[str | int, ...]]:
    path = ("nodeConfig", "guestAccelerators")
    first = block(next(iter(items(at(pool.resource.properties, *path))), None))
    install = block(first.get("gpuDriverInstallationConfig"))
    return text(install.get("gpuDriverVersion")), path


def _installs(values: object) -> bool:
    """The operator installs the driver unless driver.enabled is false."""
    for driver in (at(values, "driver"), at(values, "spec", "driver")):
        if driver is not None:
            enabled = driver if is_entirely_placeholder(driver) else block(driver).get("enabled")
            return not is_switched_off(enabled) and not is_entirely_placeholder(enabled)
    return True


RULE = Rule(
    id="GPU-GCP-04",
    title="One installer provides the GPU driver on GKE",
    severity=Severity.ERROR,
    why="Two installers conflict over one kernel module, and the node advertises no GPU.",
    fix="Set the driver installation mode of the pool, and disable the other installer.",
    sources=(
        "NVIDIA GPU Operator documentation, google-gke.rst",
        "GKE documentation, GPUs in Standard node pools: installed by default since 1.30.1-gke.1156000",
        "GoogleCloudPlatform/container-engine-accelerators, nvidia-driver-installer: Google's DaemonSet",
    ),
    kinds=(NODE_POOL,),
    check_stack=_check,
)
