"""The text that the DCGM exporter 4.5.3-4.8.2 serves for one node (template of its internal/pkg/rendermetrics).

Only counters of its list are served, and of those only what the GPUs have: MIG instances lack some metrics, and
GPUs before Volta have no profiling metrics.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gpuyard_core.catalogue.gpus import Gpu
from gpuyard_core.catalogue.metrics import Measured, Metric, dcgm_default, metrics_of
from gpuyard_simulate.agents.hardware import hardware_of
from gpuyard_simulate.metrics.devices import Device, Held, Holder, devices_of
from gpuyard_simulate.metrics.load import Load, PodLoad

_BY_PROCESS = frozenset({"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED"})
_RESERVED_MIB = 600
_PROFILED_FROM = (7, 0)
_DRIVER = "580.95.05"


@dataclass(frozen=True, slots=True)
class Counter:
    """A line of the list of counters."""

    name: str
    type: str
    help: str


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of one node at a scrape."""

    node: Mapping[str, Any]
    held: Sequence[Held]
    load: Load
    seconds: float
    """Seconds since the counters were last reset."""


def read_counters(text: str) -> list[Counter]:
    """The counters of a list such as default-counters.csv."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    rows = csv.reader(lines, skipinitialspace=True)
    return [Counter(row[0].strip(), row[1].strip(), ", ".join(row[2:])) for row in rows]


def text_of(moment: Moment, counters: Iterable[Counter]) -> str:
    """The exposition text of one node."""
    hardware = hardware_of(moment.node)
    gpu = hardware.machine.gpu if hardware else None
    lines: list[str] = []
    if gpu is None:
        return ""
    exporter = _Exporter(moment, gpu)
    for counter in counters:
        if counter.type == "label":
            continue
        series = [*exporter.series(counter.name)]
        if series:
            lines += [
                f"# HELP {counter.name} {counter.help}",
                f"# TYPE {counter.name} {counter.type}",
            ]
            lines += series
    return "\n".join([*lines, ""])


class _Exporter:
    """The series of one node."""

    def __init__(self, moment: Moment, gpu: Gpu) -> None:
        self._moment = moment
        self._gpu = gpu
        self._devices = devices_of(moment.node)
        self._held: dict[Device, list[tuple[int | None, Holder]]] = {d: [] for d in self._devices}
        for unit, holder in moment.held:
            self._held.setdefault(unit.device, []).append((unit.replica, holder))

    def series(self, name: str) -> Iterator[str]:
        """The lines of one metric."""
        metric = metrics_of("dcgm-exporter").get(name)
        if metric is None or not self._has(metric):
            return
        for device in self._devices:
            if not (device.profile and metric.mig is Measured.NOTHING):
                yield from self._of_device(metric, device)

    def _has(self, metric: Metric) -> bool:
        needs = set(metric.products.split())
        has_profiling = self._gpu.compute_capability >= _PROFILED_FROM
        if "profiling" in needs and not has_profiling:
            return False
        return not ("nvlink" in needs and not self._gpu.nvlink_gbps)

    def _of_device(self, metric: Metric, device: Device) -> Iterator[str]:
        """One series, or on a shared device one for each pod."""
        if given := self._moment.load.values_of(device.uuid, metric.name):
            for labels, value in given:
                yield self._line(metric, device, None, None, value, labels)
            return
        held = self._held.get(device) or []
        everything = [self._load(holder) for _, holder in held]
        by_process = metric.name in _BY_PROCESS and any(r is not None for r, _ in held)
        whole = self._value(metric, device, everything)
        if whole is None:
            return
        if not held or by_process:
            yield self._line(metric, device, None, None, whole)
        for (replica, holder), load in zip(held, everything, strict=True):
            own = self._value(metric, device, [load]) if by_process else whole
            yield self._line(metric, device, replica, holder, own or 0.0)

    def _load(self, holder: Holder) -> PodLoad:
        return self._moment.load.of(holder.namespace, holder.pod)

    def _value(self, metric: Metric, device: Device, loads: Sequence[PodLoad]) -> float | None:
        """The value of a device with these loads; None without a series."""
        if metric.name.startswith("DCGM_EXP_"):
            return None  # the exporter's own counters exist only for what occurred
        if (memory := self._memory(metric.name, device, loads)) is not None:
            return memory
        activity = min(1.0, sum(self._part(device) * load.activity for load in loads))
        known = _values().get(metric.name)
        if known is None:
            return 0.0
        value = known["idle"] + (known["busy"] - known["idle"]) * activity
        return value * self._moment.seconds if metric.type == "counter" else value

    def _part(self, device: Device) -> float:
        """The part of a device that each of its pods has."""
        held = self._held.get(device) or []
        replicas = self._replicas() if any(r is not None for r, _ in held) else 1
        return 1 / replicas

    def _replicas(self) -> int:
        """Shares of each device of this node, as feature discovery labels it."""
        labels = self._moment.node["metadata"].get("labels") or {}
        found = [int(v) for k, v in labels.items() if k.endswith(".replicas") and v.isdigit()]
        return max([1, *found])

    def _memory(self, name: str, device: Device, loads: Sequence[PodLoad]) -> float | None:
        if not name.startswith("DCGM_FI_DEV_FB_"):
            return None
        total = self._total_mib(device)
        used = sum(self._part(device) * load.memory for load in loads) * total
        values = {"USED": used, "FREE": total - used - _RESERVED_MIB, "RESERVED": _RESERVED_MIB}
        return float(round(values.get(name.removeprefix("DCGM_FI_DEV_FB_"), total)))

    def _total_mib(self, device: Device) -> int:
        if device.profile:
            return int(device.profile.partition(".")[2].partition("gb")[0]) * 1024
        return self._gpu.memory_gib * 1024

    def _line(
        self,
        metric: Metric,
        device: Device,
        replica: int | None,
        holder: Holder | None,
        value: float,
        more: str = "",
    ) -> str:
        labels = {
            "gpu": str(device.index),
            "UUID": device.uuid,
            "pci_bus_id": f"00000000:{device.index + 16:02X}:00.0",
            "device": f"nvidia{device.index}",
            "modelName": _model_name(self._gpu),
        }
        if device.profile:
            labels |= {"GPU_I_PROFILE": device.profile, "GPU_I_ID": str(device.instance)}
        labels |= {"Hostname": device.node, "DCGM_FI_DRIVER_VERSION": _DRIVER}
        if holder is not None:
            labels |= _holder_labels(holder)
        if replica is not None:
            labels["vgpu"] = str(replica)
        text = ",".join(f'{key}="{item}"' for key, item in labels.items())
        return f"{metric.name}{{{text}{more and ','}{more}}} {value:.6f}"


def _model_name(gpu: Gpu) -> str:
    """The name as the driver has it: feature discovery writes a dash for each space."""
    return f"NVIDIA {gpu.product.replace('-', ' ').removeprefix('NVIDIA ')}"


def default_counters() -> str:
    """The exporter's default list of counters."""
    return "".join(f"{each.name}, {each.type}, {each.name}.\n" for each in dcgm_default().values())


def _holder_labels(holder: Holder) -> dict[str, str]:
    labels = {"container": holder.container, "namespace": holder.namespace, "pod": holder.pod}
    return labels | dict(holder.claim)


@cache
def _values() -> Mapping[str, Mapping[str, float]]:
    path = Path(__file__).parent / "values.yaml"
    content: dict[str, Mapping[str, float]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content
