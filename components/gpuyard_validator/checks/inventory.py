"""Is what was bought there: number, product, memory, driver, firmware, modes."""

from gpuyard_validator.checks.check import DEVICE, NVML, PLAN, Check, alive, evaluate
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Action, Evidence, Status
from gpuyard_validator.snapshot import Gpu, Snapshot
from gpuyard_validator.thresholds import Quantity, common
from gpuyard_validator.values import known

MIB_IN_GIB = 1024
DEFAULT, EXCLUSIVE = 0, 3
FIRMWARE = ("vbios", "gsp_firmware", "inforom_image")


def count(expected: Expectations, machine: Snapshot) -> Evidence:
    """The number of GPUs."""
    result, required = len(machine.gpus), expected.gpus
    wrong = "" if result == required else f"{result} GPUs, {required} are expected"
    return evaluate(result, required, PLAN, wrong, unit="GPUs", action=Action.REPLACE)


def answers(_: Expectations, gpu: Gpu) -> Evidence:
    """The GPU is on the bus and talks."""
    result = known(gpu.answers, "whether it answers")
    wrong = "" if result else "it is lost or wants a reset"
    return evaluate(result, True, NVML, wrong, action=Action.REBOOT)


def product(expected: Expectations, gpu: Gpu) -> Evidence:
    """Name, and device id on the bus where it is known."""
    name = "-".join(known(gpu.name, "its name").split())
    if name != expected.product:
        return evaluate(name, expected.product, PLAN, "another product", action=Action.REPLACE)
    if expected.pci_id is None:
        return evaluate(name, expected.product, PLAN)
    result = known(gpu.pci_id, "its device id").upper()
    wrong = "" if result == expected.pci_id.upper() else "the name is right, the device id is not"
    return evaluate(result, expected.pci_id, PLAN, wrong, action=Action.REPLACE)


def memory(expected: Expectations, gpu: Gpu) -> Evidence:
    """All memory is there, less what ECC and firmware take."""
    share = common(Quantity.MEMORY_SHARE)
    result, floor = (
        known(gpu.memory_mib, "its memory"),
        expected.memory_gib * MIB_IN_GIB * share.value,
    )
    wrong = "memory is missing" if result < floor else ""
    source = f"{share.value} of {expected.memory_gib} GiB: {share.source_text}"
    return evaluate(result, floor, source, wrong, unit="MiB", action=Action.REPLACE)


def identity(_: Expectations, machine: Snapshot) -> Evidence:
    """Every GPU is named, and no two alike. Serials may repeat: two GPUs of one superchip share theirs."""
    results = [known(gpu.uuid, f"UUID of GPU {gpu.index}") for gpu in alive(machine)]
    twice = sorted({each for each in results if results.count(each) > 1 or not each})
    wrong = f"several GPUs are {twice[0]!r}" if twice else ""
    return evaluate(len({*results} - {""}), len(results), NVML, wrong, unit="UUIDs")


def firmware(_: Expectations, machine: Snapshot) -> Evidence:
    """All GPUs of a node run the same VBIOS, GSP firmware and InfoROM image."""
    results = {
        part: sorted(
            {known(getattr(gpu, part), f"{part} of GPU {gpu.index}") for gpu in alive(machine)}
        )
        for part in FIRMWARE
    }
    mixed = [f"{part}: {', '.join(each)}" for part, each in results.items() if len(each) > 1]
    wrong = f"mixed {'; '.join(mixed)}" if mixed else ""
    return evaluate(results, "one of each", "one image for a pool", wrong, status=Status.WARN)


def inforom(_: Expectations, gpu: Gpu) -> Evidence:
    """What the board remembers of itself is whole."""
    result = known(gpu.inforom_valid, "whether its InfoROM is valid")
    wrong = "" if result else "the InfoROM is corrupt"
    return evaluate(result, True, NVML, wrong, action=Action.REPLACE)


def driver(expected: Expectations, machine: Snapshot) -> Evidence:
    """The driver that is pinned, or a later one."""
    result, required = known(machine.driver, "the driver"), expected.driver or ""
    wrong = "" if _numbers(result) >= _numbers(required) else "the driver is older"
    return evaluate(result, required, PLAN, wrong, action=Action.REBOOT)


def driver_whole(_: Expectations, machine: Snapshot) -> Evidence:
    """Library and kernel module are of one version; otherwise the next program fails."""
    library, kernel = (
        known(machine.driver, "the driver"),
        known(machine.kernel_driver, "the module"),
    )
    wrong = "" if library == kernel else f"the kernel has module {kernel}"
    return evaluate(library, kernel, "/proc/driver/nvidia/version", wrong, action=Action.REBOOT)


def persistence(_: Expectations, gpu: Gpu) -> Evidence:
    """The driver stays loaded between programs."""
    result = known(gpu.persistence, "its persistence mode")
    wrong = "" if result else "each first program on it waits for the driver"
    return evaluate(result, True, "DCGM warns of it, code 29", wrong, status=Status.WARN)


def compute_mode(expected: Expectations, gpu: Gpu) -> Evidence:
    """Programs may use it: one at a time only where MPS hands it out."""
    result = known(gpu.compute_mode, "its compute mode")
    allowed = [DEFAULT, EXCLUSIVE] if expected.sharing == "mps" else [DEFAULT]
    wrong = "" if result in allowed else "programs that share it are turned away"
    return evaluate(result, allowed, PLAN, wrong)


def ecc_mode(_: Expectations, gpu: Gpu) -> Evidence:
    """Errors of memory are corrected, now and after the next reboot."""
    current, pending = known(gpu.ecc_current, "ECC"), known(gpu.ecc_pending, "ECC after a reboot")
    if current != pending:
        return evaluate(current, pending, DEVICE, "another ECC mode waits", action=Action.REBOOT)
    return evaluate(current, True, DEVICE, "" if current else "ECC is off", action=Action.REBOOT)


def _pinned(expected: Expectations) -> str:
    return "" if expected.driver else "somebody else chooses the driver"


def _numbers(version: str) -> list[int]:
    """580.105.08 as numbers; what is none counts as 0, so that it is never later."""
    return [int(part) if part.isdecimal() else 0 for part in version.split(".")]


INVENTORY = (
    Check(
        id="gpu.count",
        group="inventory",
        description="the node has another number of GPUs than its machine type",
        remediation="look for XID 79 in the kernel's log; reboot once, then replace the node",
        node=count,
    ),
    Check(
        id="gpu.answers",
        group="inventory",
        description="a GPU is listed and does not answer",
        remediation="reboot the node; when it comes back like this, replace it",
        gpu=answers,
    ),
    Check(
        id="gpu.product",
        group="inventory",
        description="the GPU is of another product",
        remediation="compare the pool's machine with what the cloud has started",
        gpu=product,
    ),
    Check(
        id="gpu.memory",
        group="inventory",
        description="the GPU has less memory than it is sold with",
        remediation="replace the node",
        gpu=memory,
    ),
    Check(
        id="gpu.identity",
        group="inventory",
        description="two GPUs have one UUID, or one has none",
        remediation="look at how the container was given its devices",
        node=identity,
    ),
    Check(
        id="firmware.same",
        group="inventory",
        description="GPUs of one node run different firmware",
        remediation="bring all boards to one VBIOS; after a repair this is usual",
        node=firmware,
        is_required=False,
    ),
    Check(
        id="gpu.inforom",
        group="inventory",
        description="the board's own record is corrupt",
        remediation="replace the board",
        gpu=inforom,
    ),
    Check(
        id="driver.version",
        group="inventory",
        description="the driver is older than the pinned one",
        remediation="look at the node image, or at the driver pod of the GPU Operator",
        node=driver,
        applies=_pinned,
    ),
    Check(
        id="driver.whole",
        group="inventory",
        description="the driver's library and the kernel's module differ in version",
        remediation="reboot the node, or unload and load the module",
        node=driver_whole,
    ),
    Check(
        id="gpu.persistence",
        group="inventory",
        description="persistence mode is off",
        remediation="run nvidia-persistenced on the node",
        gpu=persistence,
    ),
    Check(
        id="gpu.compute_mode",
        group="inventory",
        description="the compute mode keeps programs off",
        remediation="nvidia-smi -c DEFAULT, and look who has set it",
        gpu=compute_mode,
    ),
    Check(
        id="ecc.mode",
        group="inventory",
        description="ECC is off, or will be another after a reboot",
        remediation="nvidia-smi -e 1, then reboot",
        gpu=ecc_mode,
    ),
)
