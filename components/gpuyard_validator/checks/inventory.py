"""Inventory: number of GPUs, product, memory, driver, firmware, modes."""

from gpuyard_validator.checks.check import DEVICE, NVML, PLAN, check, evaluate, responding_gpus
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Action, Evidence, Status
from gpuyard_validator.snapshot import Gpu, Snapshot
from gpuyard_validator.thresholds import Quantity, common
from gpuyard_validator.values import require_known

MIB_IN_GIB = 1024
DEFAULT, EXCLUSIVE = 0, 3
FIRMWARE = ("vbios", "gsp_firmware", "inforom_image")


def count(expected: Expectations, machine: Snapshot) -> Evidence:
    """The number of GPUs."""
    result, required = len(machine.gpus), expected.gpus
    wrong = "" if result == required else f"{result} GPUs, expected {required}"
    return evaluate(result, required, PLAN, wrong, unit="GPUs", action=Action.REPLACE)


def gpu_responds(_: Expectations, gpu: Gpu) -> Evidence:
    """The GPU is on the bus and responds."""
    result = require_known(gpu.answers, "the state of the GPU")
    wrong = "" if result else "the GPU is lost or needs a reset"
    return evaluate(result, True, NVML, wrong, action=Action.REBOOT)


def product(expected: Expectations, gpu: Gpu) -> Evidence:
    """Product name, and PCI device id where it is known."""
    name = "-".join(require_known(gpu.name, "the product name").split())
    if name != expected.product:
        return evaluate(name, expected.product, PLAN, "another product", action=Action.REPLACE)
    if expected.pci_id is None:
        return evaluate(name, expected.product, PLAN)
    result = require_known(gpu.pci_id, "the PCI device id").upper()
    wrong = (
        ""
        if result == expected.pci_id.upper()
        else "the product name matches, the PCI device id does not"
    )
    return evaluate(result, expected.pci_id, PLAN, wrong, action=Action.REPLACE)


def memory(expected: Expectations, gpu: Gpu) -> Evidence:
    """All memory is present, less what ECC and firmware use."""
    share = common(Quantity.MEMORY_SHARE)
    result, floor = (
        require_known(gpu.memory_mib, "the memory size"),
        expected.memory_gib * MIB_IN_GIB * share.value,
    )
    wrong = "memory is missing" if result < floor else ""
    source = f"{share.value} of {expected.memory_gib} GiB: {share.source_text}"
    return evaluate(result, floor, source, wrong, unit="MiB", action=Action.REPLACE)


def identity(_: Expectations, machine: Snapshot) -> Evidence:
    """Every GPU has a unique UUID. Serials may repeat: two GPUs of one superchip share theirs."""
    results = [
        require_known(gpu.uuid, f"the UUID of GPU {gpu.index}") for gpu in responding_gpus(machine)
    ]
    twice = sorted({each for each in results if results.count(each) > 1 or not each})
    wrong = f"several GPUs have UUID {twice[0]!r}" if twice else ""
    return evaluate(len({*results} - {""}), len(results), NVML, wrong, unit="UUIDs")


def firmware(_: Expectations, machine: Snapshot) -> Evidence:
    """All GPUs of a node run the same VBIOS, GSP firmware and InfoROM image."""
    results = {
        part: sorted(
            {
                require_known(getattr(gpu, part), f"the {part} of GPU {gpu.index}")
                for gpu in responding_gpus(machine)
            }
        )
        for part in FIRMWARE
    }
    mixed = [f"{part}: {', '.join(each)}" for part, each in results.items() if len(each) > 1]
    wrong = f"mixed {'; '.join(mixed)}" if mixed else ""
    return evaluate(results, "one version", "one image for a pool", wrong, status=Status.WARN)


def inforom(_: Expectations, gpu: Gpu) -> Evidence:
    """The InfoROM is valid."""
    result = require_known(gpu.inforom_valid, "the InfoROM state")
    wrong = "" if result else "the InfoROM is corrupt"
    return evaluate(result, True, NVML, wrong, action=Action.REPLACE)


def driver(expected: Expectations, machine: Snapshot) -> Evidence:
    """The pinned driver version, or a later one."""
    result, required = require_known(machine.driver, "the driver version"), expected.driver or ""
    wrong = (
        ""
        if _numbers(result) >= _numbers(required)
        else "the driver is older than the pinned version"
    )
    return evaluate(result, required, PLAN, wrong, action=Action.REBOOT)


def driver_versions_match(_: Expectations, machine: Snapshot) -> Evidence:
    """Driver library and kernel module have the same version; otherwise the next program fails."""
    library, kernel = (
        require_known(machine.driver, "the driver version"),
        require_known(machine.kernel_driver, "the kernel module version"),
    )
    wrong = "" if library == kernel else f"the kernel module is {kernel}"
    return evaluate(library, kernel, "/proc/driver/nvidia/version", wrong, action=Action.REBOOT)


def persistence(_: Expectations, gpu: Gpu) -> Evidence:
    """The driver stays loaded between programs."""
    result = require_known(gpu.persistence, "the persistence mode")
    wrong = "" if result else "the first program on an idle GPU waits for the driver to load"
    return evaluate(result, True, "DCGM warns of it, code 29", wrong, status=Status.WARN)


def compute_mode(expected: Expectations, gpu: Gpu) -> Evidence:
    """Programs may use the GPU; exclusive mode is expected with MPS only."""
    result = require_known(gpu.compute_mode, "the compute mode")
    allowed = [DEFAULT, EXCLUSIVE] if expected.sharing == "mps" else [DEFAULT]
    wrong = "" if result in allowed else "the compute mode rejects programs that share the GPU"
    return evaluate(result, allowed, PLAN, wrong)


def ecc_mode(_: Expectations, gpu: Gpu) -> Evidence:
    """Memory errors are corrected (ECC), now and after the next reboot."""
    current, pending = (
        require_known(gpu.ecc_current, "ECC"),
        require_known(gpu.ecc_pending, "the pending ECC mode"),
    )
    if current != pending:
        return evaluate(
            current, pending, DEVICE, "another ECC mode is pending", action=Action.REBOOT
        )
    return evaluate(current, True, DEVICE, "" if current else "ECC is off", action=Action.REBOOT)


def _pinned(expected: Expectations) -> str:
    return "" if expected.driver else "no driver version is pinned"


def _numbers(version: str) -> list[int]:
    """580.105.08 as numbers; a part that is not a number counts as 0, so it is never the later version."""
    return [int(part) if part.isdecimal() else 0 for part in version.split(".")]


INVENTORY = (
    check("gpu.count", count),
    check("gpu.answers", gpu_responds),
    check("gpu.product", product),
    check("gpu.memory", memory),
    check("gpu.identity", identity),
    check("firmware.same", firmware),
    check("gpu.inforom", inforom),
    check("driver.version", driver, _pinned),
    check("driver.whole", driver_versions_match),
    check("gpu.persistence", persistence),
    check("gpu.compute_mode", compute_mode),
    check("ecc.mode", ecc_mode),
)
