"""The GPUs of a fake node as the DCGM exporter sees them, and the pods that hold them.

A kubelet keeps the devices of a pod until the pod ends. The fake nodes have no kubelet, so `Allocations` keeps them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.manifests.quantities import quantity
from gpuyard_simulate.agents.hardware import hardware_of

_GPU = "nvidia.com/gpu"
_MIG = "nvidia.com/mig-"
_RENAMED = ".shared"
_ENDED = frozenset({"Succeeded", "Failed"})
_DRA_DRIVER = "gpu.nvidia.com"

Value = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Holder:
    """A container that holds a device."""

    namespace: str
    pod: str
    container: str
    claim: Mapping[str, str] = field(default_factory=dict)
    """Labels of its DRA claim."""


@dataclass(frozen=True, slots=True)
class Device:
    """A whole GPU, or a MIG instance of one."""

    node: str
    index: int
    profile: str = ""
    instance: int = 0
    number: int = 0
    """Its number among the instances of its GPU, as the DRA driver counts them."""

    @property
    def uuid(self) -> str:
        """The UUID of the GPU, for an instance that of its parent."""
        return f"GPU-{self.node}-{self.index}"

    @property
    def claimed_as(self) -> str:
        """Its name in a ResourceSlice."""
        return f"gpu-{self.index}-mig-{self.number}" if self.profile else f"gpu-{self.index}"


@dataclass(frozen=True, slots=True)
class Unit:
    """What one unit of an extended resource is: a device, or a replica of one."""

    device: Device
    replica: int | None = None


Held = tuple[Unit, Holder]


def devices_of(node: Value) -> list[Device]:
    """The devices of a node; empty without GPUs."""
    hardware = hardware_of(node)
    if hardware is None or hardware.machine.gpu is None:
        return []
    name = str(node["metadata"]["name"])
    results: list[Device] = []
    for index, cut in enumerate(hardware.layout):
        profiles = [p for p, count in sorted((cut or {}).items()) for _ in range(count)]
        if not profiles:
            results.append(Device(name, index))
        # DCGM numbers the GPU instances of a GPU, and 0 is the GPU itself.
        results += [Device(name, index, p, n + 1, n) for n, p in enumerate(profiles)]
    return results


def units_of(node: Value) -> dict[str, list[Unit]]:
    """The units of each extended resource that a node advertises, in the order of their allocation.

    The device plugin distributes replicas: the first of each device comes before the second of any.
    """
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    found = devices_of(node)
    results: dict[str, list[Unit]] = {}
    for resource in sorted(allocatable):
        devices = _behind(resource.removesuffix(_RENAMED), found)
        count = int(quantity(allocatable[resource]) or 0)
        if not devices or not count:
            continue
        replicas = count // len(devices)
        if replicas <= 1:
            results[resource] = [Unit(device) for device in devices]
        else:
            results[resource] = [Unit(d, r) for r in range(replicas) for d in devices]
    return results


def _behind(resource: str, devices: Sequence[Device]) -> list[Device]:
    """The devices behind a resource; MIG strategy single advertises instances as GPUs."""
    if resource.startswith(_MIG):
        profile = resource.removeprefix(_MIG)
        return [d for d in devices if d.profile.replace("+", ".") == profile]
    if resource != _GPU:
        return []
    whole = [d for d in devices if not d.profile]
    return whole or list(devices)


@dataclass(slots=True)
class Allocations:
    """The devices of the pods of all nodes."""

    _held: dict[str, list[Held]] = field(default_factory=dict)

    def update(self, node: Value, pods: Iterable[Value], claims: Iterable[Value]) -> list[Held]:
        """Devices that pods of this node hold now, with their holders."""
        name = str(node["metadata"]["name"])
        running = {
            str(pod["metadata"]["uid"]): pod
            for pod in sorted(pods, key=_age)
            if pod["spec"].get("nodeName") == name
            and (pod.get("status") or {}).get("phase") not in _ENDED
        }
        units = units_of(node)
        kept = {uid: self._held[uid] for uid in running if uid in self._held}
        taken = {unit for held in kept.values() for unit, _ in held}
        for uid, pod in running.items():
            if uid not in kept:
                kept[uid] = [*_given(pod, units, taken)]
                self._held[uid] = kept[uid]
        by_claim = [*_claimed(running.values(), claims, devices_of(node))]
        return [*(each for held in kept.values() for each in held), *by_claim]


def _age(pod: Value) -> tuple[str, str]:
    metadata = pod["metadata"]
    return str(metadata.get("creationTimestamp", "")), str(metadata["name"])


def _given(pod: Value, units: Mapping[str, list[Unit]], taken: set[Unit]) -> Iterable[Held]:
    """Free units for the requests of a pod; what is given is added to `taken`."""
    for container in pod["spec"]["containers"]:
        limits = (container.get("resources") or {}).get("limits") or {}
        for resource, amount in limits.items():
            free = [unit for unit in units.get(resource, ()) if unit not in taken]
            for unit in free[: int(quantity(amount) or 0)]:
                taken.add(unit)
                yield unit, _holder(pod, str(container["name"]))


def _holder(pod: Value, container: str, claim: Mapping[str, str] | None = None) -> Holder:
    metadata = pod["metadata"]
    return Holder(metadata["namespace"], metadata["name"], container, claim or {})


def _claimed(
    pods: Iterable[Value], claims: Iterable[Value], devices: Sequence[Device]
) -> Iterable[Held]:
    """Devices that pods hold by claims of the driver of NVIDIA."""
    names = {device.claimed_as: device for device in devices}
    allocated = {(c["metadata"]["namespace"], c["metadata"]["name"]): c for c in claims}
    for pod in pods:
        statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        for status in statuses:
            claim = allocated.get((pod["metadata"]["namespace"], status.get("resourceClaimName")))
            if claim is None:
                continue
            allocation = (claim.get("status") or {}).get("allocation") or {}
            for result in (allocation.get("devices") or {}).get("results") or ():
                device = names.get(result["device"])
                if device is not None and result["driver"] == _DRA_DRIVER:
                    labels = _claim_labels(claim, result, device)
                    container = str(pod["spec"]["containers"][0]["name"])
                    yield Unit(device), _holder(pod, container, labels)


def _claim_labels(claim: Value, result: Value, device: Device) -> dict[str, str]:
    labels = {
        "dra_claim_name": str(claim["metadata"]["name"]),
        "dra_claim_namespace": str(claim["metadata"]["namespace"]),
        "dra_driver_name": _DRA_DRIVER,
        "dra_pool_name": str(result["pool"]),
        "dra_device_name": str(result["device"]),
    }
    if device.profile:
        labels["dra_mig_profile"] = device.profile
        labels["dra_mig_device_uuid"] = f"MIG-{device.node}-{device.index}-{device.number}"
    return labels
