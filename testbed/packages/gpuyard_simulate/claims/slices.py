"""The DRA driver's devices of a node: GPUs, MIG slices, and channels of its NVLink domain.

Derived from the node alone: its machine type and MIG layout. Names of attributes and devices are those of the
DRA driver v0.5.0. A fake node's driver version is unknown, so no attribute reports it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gpuyard_core.catalogue.kubernetes.claims import (
    CHANNEL_CLASS,
    DAEMON_CLASS,
    GPU_CLASS,
    MIG_CLASS,
)
from gpuyard_simulate.agents.hardware import Hardware, hardware_of
from gpuyard_simulate.api import ApiObject

API: Final = "resource.k8s.io/v1"
GPU_DRIVER: Final = "gpu.nvidia.com"
DOMAIN_DRIVER: Final = "compute-domain.nvidia.com"
CHANNELS: Final = 1
"""The driver offers more for pods that ask for all of them; a claim of the default class gets the first."""


def device_classes(*, domains: bool) -> list[ApiObject]:
    """Device classes that the operator creates for a GPUCluster."""
    results = [_class(GPU_CLASS, _is(GPU_DRIVER, "gpu")), _class(MIG_CLASS, _is(GPU_DRIVER, "mig"))]
    if domains:
        first = f" && device.attributes['{DOMAIN_DRIVER}'].id == 0"
        results += [
            _class(DAEMON_CLASS, _is(DOMAIN_DRIVER, "daemon")),
            _class(CHANNEL_CLASS, _is(DOMAIN_DRIVER, "channel") + first),
        ]
    return results


def _is(driver: str, kind: str) -> str:
    return f"device.driver == '{driver}' && device.attributes['{driver}'].type == '{kind}'"


def _class(name: str, expression: str) -> ApiObject:
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def resource_slices(node: Mapping[str, Any], *, domains: bool) -> list[ApiObject]:
    """The driver's devices of one node; none for a node without GPUs."""
    hardware = hardware_of(node)
    if hardware is None or not hardware.machine.gpus or hardware.machine.gpu is None:
        return []
    name = node["metadata"]["name"]
    results = [_slice(node, GPU_DRIVER, list(_devices(name, hardware)))]
    if domains and hardware.machine.is_rack:
        channels = [_of_domain(f"channel-{n}", "channel", n) for n in range(CHANNELS)]
        results.append(
            _slice(node, DOMAIN_DRIVER, [*channels, _of_domain("daemon-0", "daemon", 0)])
        )
    return results


def _slice(node: Mapping[str, Any], driver: str, devices: list[ApiObject]) -> ApiObject:
    """Owned by its node, and deleted with it."""
    name, uid = node["metadata"]["name"], node["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid, "controller": True}
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-{driver}", "ownerReferences": [owner]},
        "spec": {
            "driver": driver,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def _devices(node: str, hardware: Hardware) -> Iterator[ApiObject]:
    """Each GPU with MIG off, and each slice of the others."""
    gpu = hardware.machine.gpu
    assert gpu is not None  # noqa: S101  the caller has checked
    common = {
        "productName": {"string": f"NVIDIA {gpu.product}"},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": gpu.architecture},
        "cudaComputeCapability": {"version": ".".join(map(str, (*gpu.compute_capability, 0)))},
    }
    for index, cut in enumerate(hardware.layout):
        uuid = f"GPU-{node}-{index}"
        if cut is None:
            own = {"type": {"string": "gpu"}, "uuid": {"string": uuid}}
            yield _device(f"gpu-{index}", own | common, gpu.memory_gib)
            continue
        names = [name for name, count in sorted(cut.items()) for _ in range(count)]
        for number, profile in enumerate(names):
            own = {
                "type": {"string": "mig"},
                "uuid": {"string": f"MIG-{node}-{index}-{number}"},
                "parentUUID": {"string": uuid},
                "profile": {"string": profile},
            }
            memory = profile.partition(".")[2].partition("gb")[0]  # as in 3g.40gb
            yield _device(f"gpu-{index}-mig-{number}", own | common, int(memory))


def _device(name: str, attributes: ApiObject, memory_gib: int) -> ApiObject:
    capacity = {"memory": {"value": f"{memory_gib}Gi"}}
    return {"name": name, "attributes": attributes, "capacity": capacity}


def _of_domain(name: str, kind: str, number: int) -> ApiObject:
    return {"name": name, "attributes": {"type": {"string": kind}, "id": {"int": number}}}
