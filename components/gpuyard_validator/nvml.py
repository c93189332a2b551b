"""Reads NVML through nvidia-ml-py: each query separately, so that one error hides no other value."""

import importlib
from collections.abc import Callable
from ctypes import byref
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard_validator.host import Host
from gpuyard_validator.load.record import LoadSample
from gpuyard_validator.snapshot import CannotRead, Fabric, Gpu, Instance, Snapshot
from gpuyard_validator.values import Answer, Missing, MissingReason, T

RECOVERY_ACTION = 230
"""Field of the recovery action; NVML calls it NVML_FI_DEV_GET_GPU_RECOVERY_ACTION since driver 570."""
LINK_COUNT, LINK_RECOVERIES = 91, 162
SRAM, DRAM = 7, 2
UNCORRECTED, VOLATILE = 1, 0
_MIB = 1 << 20
_NOT_SUPPORTED, _NO_PERMISSION, _NO_FUNCTION, _CORRUPT = 3, 4, 13, 14
_LOST, _RESET_REQUIRED, _VERSION_MISMATCH, _DEPRECATED = 15, 16, 25, 26
_WHY = {
    _NOT_SUPPORTED: MissingReason.NOT_SUPPORTED,
    _NO_PERMISSION: MissingReason.NO_PERMISSION,
    _NO_FUNCTION: MissingReason.NO_FUNCTION,
    _VERSION_MISMATCH: MissingReason.NO_FUNCTION,
    _DEPRECATED: MissingReason.NOT_SUPPORTED,
    _LOST: MissingReason.LOST,
    _RESET_REQUIRED: MissingReason.LOST,
}
_PCI_VENDOR_BITS = 16


@dataclass(frozen=True, slots=True)
class NvmlReader:
    """This machine, by its driver's library."""

    host: Host = field(default_factory=Host)

    def read(self) -> Snapshot:
        """The complete snapshot."""
        nvml = _library()
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as problem:
            raise CannotRead(f"cannot initialize NVML: {problem}") from None
        try:
            return self._machine(nvml)
        finally:
            nvml.nvmlShutdown()

    def _machine(self, nvml: Any) -> Snapshot:
        count = _ask(nvml, nvml.nvmlDeviceGetCount)
        if isinstance(count, Missing):
            raise CannotRead(f"NVML cannot count GPUs: {count}")
        handles = [_ask(nvml, nvml.nvmlDeviceGetHandleByIndex, n) for n in range(count)]
        return Snapshot(
            node=self.host.node(),
            source="nvml",
            gpus=tuple(self._placed(nvml, n, handles) for n in range(count)),
            driver=_ask(nvml, nvml.nvmlSystemGetDriverVersion),
            kernel_driver=self.host.kernel_driver(),
            open_modules=self.host.open_modules(),
            modules=self.host.modules(),
            environment=self.host.variables(),
            adapters=self.host.adapters(),
            numa=self.host.numa(),
        )

    def _placed(self, nvml: Any, index: int, handles: list[Any]) -> Gpu:
        """One GPU, and the NUMA node of its PCI bus."""
        result = _gpu(nvml, index, handles)
        if not result.answers:
            return result
        bus = _ask(nvml, nvml.nvmlDeviceGetPciInfo, handles[index])
        return replace(result, numa=_then(bus, lambda b: self.host.numa_of(_text(b.busId))))


class NvmlWatch:
    """A machine under load, by its driver's library; a value that a GPU does not report is missing, never an error."""

    def __init__(self) -> None:
        self._nvml = _library()
        self._nvml.nvmlInit()

    def sample(self, index: int, task: str) -> LoadSample:
        """A sample of one GPU."""
        nvml = self._nvml
        handle = _ask(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
        if isinstance(handle, Missing):
            return LoadSample(task=task, samples=1)

        def ask(name: str, *given: object) -> Answer[Any]:
            return _ask(nvml, getattr(nvml, name), handle, *given)

        return LoadSample(
            task=task,
            samples=1,
            reasons=_reasons(ask),
            margin=_margin(ask),
            milliwatts=ask("nvmlDeviceGetPowerUsage"),
            sm_mhz=ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
            pcie_generation=ask("nvmlDeviceGetCurrPcieLinkGeneration"),
            pcie_width=ask("nvmlDeviceGetCurrPcieLinkWidth"),
            uncorrected=ask("nvmlDeviceGetTotalEccErrors", UNCORRECTED, VOLATILE),
            remapped=_given_up(ask),
        )


def _given_up(ask: Callable[..., Answer[Any]]) -> Answer[int]:
    """Remapped or pending rows; pages on architectures that retire pages."""
    rows = ask("nvmlDeviceGetRemappedRows")
    if isinstance(rows, Missing) and rows.reason is MissingReason.NOT_SUPPORTED:
        return _retired(ask)
    return _then(rows, lambda r: int(r[0]) + int(r[1]) + int(r[2]) + int(r[3]))


def _library() -> Any:
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        raise CannotRead("nvidia-ml-py is not installed") from None


def _ask(nvml: Any, question: Callable[..., T], *given: object) -> Answer[T]:
    """The value, or why there is none."""
    try:
        return question(*given)
    except nvml.NVMLError as problem:
        return Missing(_WHY.get(problem.value, MissingReason.FAILED), str(problem))
    except UnicodeDecodeError as problem:
        return Missing(MissingReason.MALFORMED, str(problem))


def _then(answer: Answer[Any], turn: Callable[[Any], T]) -> Answer[T]:
    return answer if isinstance(answer, Missing) else turn(answer)


def _gpu(nvml: Any, index: int, handles: list[Any]) -> Gpu:
    handle = handles[index]
    if isinstance(handle, Missing):
        return Gpu(index=index, answers=False)

    def ask(name: str, *given: object) -> Answer[Any]:
        return _ask(nvml, getattr(nvml, name), handle, *given)

    name, uuid = ask("nvmlDeviceGetName"), ask("nvmlDeviceGetUUID")
    if any(
        isinstance(each, Missing) and each.reason is MissingReason.LOST for each in (name, uuid)
    ):
        return Gpu(index=index, answers=False)
    remapped, ecc, mig = (
        ask(f"nvmlDeviceGet{what}") for what in ("RemappedRows", "EccMode", "MigMode")
    )
    repair = ask("nvmlDeviceGetRepairStatus")
    return Gpu(
        index=index,
        answers=True,
        name=name,
        uuid=uuid,
        serial=ask("nvmlDeviceGetSerial"),
        pci_id=_then(
            ask("nvmlDeviceGetPciInfo"), lambda p: f"{p.pciDeviceId >> _PCI_VENDOR_BITS:04X}"
        ),
        memory_mib=_then(ask("nvmlDeviceGetMemoryInfo"), lambda m: int(m.total) // _MIB),
        vbios=ask("nvmlDeviceGetVbiosVersion"),
        gsp_firmware=_then(ask("nvmlDeviceGetGspFirmwareVersion"), _text),
        inforom_image=ask("nvmlDeviceGetInforomImageVersion"),
        inforom_valid=_inforom(nvml, handle),
        persistence=_then(ask("nvmlDeviceGetPersistenceMode"), bool),
        compute_mode=ask("nvmlDeviceGetComputeMode"),
        ecc_current=_then(ecc, lambda e: bool(e[0])),
        ecc_pending=_then(ecc, lambda e: bool(e[1])),
        mig_current=_then(mig, lambda m: bool(m[0])),
        mig_pending=_then(mig, lambda m: bool(m[1])),
        instances=_instances(nvml, handle, mig),
        recovery_action=_field(nvml, handle, RECOVERY_ACTION),
        unrepairable=_then(ask("nvmlDeviceGetUnrepairableMemoryFlag_v1"), bool),
        repair_pending=_then(repair, lambda r: bool(r[0] or r[1])),
        remapped_uncorrectable=_then(remapped, lambda r: int(r[1])),
        remap_pending=_then(remapped, lambda r: bool(r[2])),
        remap_failure=_then(remapped, lambda r: bool(r[3])),
        retired_pages=_retired(ask),
        retired_pending=_then(ask("nvmlDeviceGetRetiredPagesPendingStatus"), bool),
        sram_uncorrected=_sram(nvml, handle, ask),
        sram_threshold=_then(_sram_status(nvml, handle), lambda s: bool(s.bThresholdExceeded)),
        dram_uncorrected=ask("nvmlDeviceGetMemoryErrorCounter", UNCORRECTED, VOLATILE, DRAM),
        clock_reasons=_reasons(ask),
        thermal_margin=_margin(ask),
        power_limit_mw=ask("nvmlDeviceGetEnforcedPowerLimit"),
        power_default_mw=ask("nvmlDeviceGetPowerManagementDefaultLimit"),
        max_sm_mhz=ask("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_SM),
        pcie_generation=ask("nvmlDeviceGetMaxPcieLinkGeneration"),
        pcie_width=ask("nvmlDeviceGetCurrPcieLinkWidth"),
        nvlinks=_links(nvml, handle, ask),
        nvlink_recoveries=_recoveries(nvml, handle),
        unreachable=_unreachable(nvml, index, handles),
        fabric=_fabric(nvml, handle),
        processes=_processes(ask),
        utilization=_then(ask("nvmlDeviceGetUtilizationRates"), lambda u: int(u.gpu)),
    )


def _text(text: str | bytes) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else text


def _field(nvml: Any, handle: Any, number: int, scope: int = 0) -> Answer[int]:
    """One field value; it has a return code of its own, in addition to the call's."""
    result = _ask(nvml, nvml.nvmlDeviceGetFieldValues, handle, [(number, scope)])
    if isinstance(result, Missing):
        return result
    value = result[0]
    if value.nvmlReturn:
        why = _WHY.get(value.nvmlReturn, MissingReason.FAILED)
        return Missing(why, f"field {number}: code {value.nvmlReturn}")
    kinds = {1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal"}
    if value.valueType not in kinds:
        return Missing(MissingReason.MALFORMED, f"field {number} is of type {value.valueType}")
    return int(getattr(value.value, kinds[value.valueType]))


def _inforom(nvml: Any, handle: Any) -> Answer[bool]:
    try:
        nvml.nvmlDeviceValidateInforom(handle)
    except nvml.NVMLError as problem:
        if problem.value == _CORRUPT:
            return False
        return Missing(_WHY.get(problem.value, MissingReason.FAILED), str(problem))
    return True


def _instances(nvml: Any, handle: Any, mig: Answer[Any]) -> Answer[tuple[Instance, ...]]:
    """MIG devices; empty places answer NOT_FOUND."""
    if isinstance(mig, Missing):
        return mig
    if not mig[0]:
        return ()
    places = _ask(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle)
    if isinstance(places, Missing):
        return places
    instances = []
    for place in range(places):
        try:
            device = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place)
        except nvml.NVMLError as problem:
            if problem.value == nvml.NVML_ERROR_NOT_FOUND:
                continue
            return Missing(_WHY.get(problem.value, MissingReason.FAILED), str(problem))
        result = _ask(nvml, nvml.nvmlDeviceGetAttributes_v2, device)
        if isinstance(result, Missing):
            return result
        instances.append(
            Instance(
                gpu_slices=int(result.gpuInstanceSliceCount),
                compute_slices=int(result.computeInstanceSliceCount),
                memory_mib=int(result.memorySizeMB),
            )
        )
    return tuple(instances)


def _retired(ask: Callable[..., Answer[Any]]) -> Answer[int]:
    """Pages of both causes: multiple single-bit errors, one double-bit error."""
    total = 0
    for cause in (0, 1):
        result = ask("nvmlDeviceGetRetiredPages", cause)
        if isinstance(result, Missing):
            return result
        total += len(result)
    return total


def _sram_status(nvml: Any, handle: Any) -> Answer[Any]:
    status = nvml.c_nvmlEccSramErrorStatus_v1_t()
    result = _ask(nvml, nvml.nvmlDeviceGetSramEccErrorStatus, handle, byref(status))
    return result if isinstance(result, Missing) else status


def _sram(nvml: Any, handle: Any, ask: Callable[..., Answer[Any]]) -> Answer[int]:
    """Since the last reset; older drivers have one counter for it."""
    status = _sram_status(nvml, handle)
    if isinstance(status, Missing):
        return ask("nvmlDeviceGetMemoryErrorCounter", UNCORRECTED, VOLATILE, SRAM)
    return int(status.volatileUncParity) + int(status.volatileUncSecDed)


def _reasons(ask: Callable[..., Answer[Any]]) -> Answer[int]:
    result = ask("nvmlDeviceGetCurrentClocksEventReasons")
    if isinstance(result, Missing) and result.reason is MissingReason.NO_FUNCTION:
        return ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    return result


def _margin(ask: Callable[..., Answer[Any]]) -> Answer[int]:
    """The margin that NVML reports since Ada; before, the threshold less the temperature."""
    margin = ask("nvmlDeviceGetMarginTemperature")
    if not isinstance(margin, Missing):
        return int(margin)
    limit, now = ask("nvmlDeviceGetTemperatureThreshold", 1), ask("nvmlDeviceGetTemperature", 0)
    if isinstance(limit, Missing):
        return limit
    return now if isinstance(now, Missing) else int(limit) - int(now)


def _links(nvml: Any, handle: Any, ask: Callable[..., Answer[Any]]) -> Answer[tuple[bool, ...]]:
    count = _field(nvml, handle, LINK_COUNT)
    if isinstance(count, Missing):
        return count
    states = [
        ask("nvmlDeviceGetNvLinkState", n) for n in range(min(count, nvml.NVML_NVLINK_MAX_LINKS))
    ]
    return tuple(state == 1 for state in states)


def _recoveries(nvml: Any, handle: Any) -> Answer[int]:
    count = _field(nvml, handle, LINK_COUNT)
    if isinstance(count, Missing):
        return count
    total = 0
    for link in range(min(count, nvml.NVML_NVLINK_MAX_LINKS)):
        result = _field(nvml, handle, LINK_RECOVERIES, link)
        if isinstance(result, Missing):
            return result
        total += result
    return total


def _unreachable(nvml: Any, index: int, handles: list[Any]) -> Answer[tuple[int, ...]]:
    cut = []
    for other, handle in enumerate(handles):
        if other == index or isinstance(handle, Missing):
            continue
        status = _ask(
            nvml,
            nvml.nvmlDeviceGetP2PStatus,
            handles[index],
            handle,
            nvml.NVML_P2P_CAPS_INDEX_NVLINK,
        )
        if isinstance(status, Missing):
            return status
        if status != nvml.NVML_P2P_STATUS_OK:
            cut.append(other)
    return tuple(cut)


def _fabric(nvml: Any, handle: Any) -> Answer[Fabric]:
    """By the newest structure that the driver knows; those before version 2 have no health."""
    info = nvml.c_nvmlGpuFabricInfo_v3_t()
    result = _ask(nvml, nvml.nvmlDeviceGetGpuFabricInfoV, handle, byref(info))
    if isinstance(result, Missing) and result.reason is MissingReason.NO_FUNCTION:
        info = nvml.c_nvmlGpuFabricInfo_v2_t()
        result = _ask(nvml, nvml.nvmlDeviceGetGpuFabricInfoV, handle, byref(info))
    if isinstance(result, Missing):
        return result
    text = bytes(info.clusterUuid).hex()
    cluster = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return Fabric(
        state=int(info.state),
        status=int(info.status),
        cluster=cluster,
        clique=int(info.cliqueId),
        health=int(info.healthMask),
    )


def _processes(ask: Callable[..., Answer[Any]]) -> Answer[tuple[int, ...]]:
    result = ask("nvmlDeviceGetComputeRunningProcesses")
    return result if isinstance(result, Missing) else tuple(int(each.pid) for each in result)
