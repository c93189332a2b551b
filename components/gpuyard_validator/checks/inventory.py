"""Is what was bought there: number, product, memory, driver, firmware, modes."""

from gpuyard_validator.checks.check import DEVICE, NVML, PLAN, Check, alive, judged
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.floors import Quantity, common
from gpuyard_validator.results import Action, Evidence, Status
from gpuyard_validator.snapshot import Gpu, Snapshot
from gpuyard_validator.values import known

MIB_IN_GIB = 1024
DEFAULT, EXCLUSIVE = 0, 3
FIRMWARE = ("vbios", "gsp_firmware", "inforom_image")


def count(expected: Expectations, machine: Snapshot) -> Evidence:
    """The number of GPUs."""
    found, wanted = len(machine.gpus), expected.gpus
    wrong = "" if found == wanted else f"{found} GPUs, {wanted} are expected"
    return judged(found, wanted, PLAN, wrong, unit="GPUs", action=Action.REPLACE)


def answers(_: Expectations, gpu: Gpu) -> Evidence:
    """The GPU is on the bus and talks."""
    found = known(gpu.answers, "whether it answers")
    wrong = "" if found else "it is lost or wants a reset"
    return judged(found, True, NVML, wrong, action=Action.REBOOT)


def product(expected: Expectations, gpu: Gpu) -> Evidence:
    """Name, and device id on the bus where it is known."""
    name = "-".join(known(gpu.name, "its name").split())
    if name != expected.product:
        return judged(name, expected.product, PLAN, "another product", action=Action.REPLACE)
    if expected.pci_id is None:
        return judged(name, expected.product, PLAN)
    found = known(gpu.pci_id, "its device id").upper()
    wrong = "" if found == expected.pci_id.upper() else "the name is right, the device id is not"
    return judged(found, expected.pci_id, PLAN, wrong, action=Action.REPLACE)


def memory(expected: Expectations, gpu: Gpu) -> Evidence:
    """All memory is there, less what ECC and firmware take."""
    share = common(Quantity.MEMORY_SHARE)
    found, floor = (
        known(gpu.memory_mib, "its memory"),
        expected.memory_gib * MIB_IN_GIB * share.value,
    )
    wrong = "memory is missing" if found < floor else ""
    said = f"{share.value} of {expected.memory_gib} GiB: {share.said}"
    return judged(found, floor, said, wrong, unit="MiB", action=Action.REPLACE)


def identity(_: Expectations, machine: Snapshot) -> Evidence:
    """Every GPU is named, and no two alike. Serials may repeat: two GPUs of one superchip share theirs."""
    found = [known(gpu.uuid, f"UUID of GPU {gpu.index}") for gpu in alive(machine)]
    twice = sorted({each for each in found if found.count(each) > 1 or not each})
    wrong = f"several GPUs are {twice[0]!r}" if twice else ""
    return judged(len({*found} - {""}), len(found), NVML, wrong, unit="UUIDs")


def firmware(_: Expectations, machine: Snapshot) -> Evidence:
    """All GPUs of a node run the same VBIOS, GSP firmware and InfoROM image."""
    found = {
        part: sorted(
            {known(getattr(gpu, part), f"{part} of GPU {gpu.index}") for gpu in alive(machine)}
        )
        for part in FIRMWARE
    }
    mixed = [f"{part}: {', '.join(each)}" for part, each in found.items() if len(each) > 1]
    wrong = f"mixed {'; '.join(mixed)}" if mixed else ""
    return judged(found, "one of each", "one image for a pool", wrong, status=Status.WARN)


def inforom(_: Expectations, gpu: Gpu) -> Evidence:
    """What the board remembers of itself is whole."""
    found = known(gpu.inforom_valid, "whether its InfoROM is valid")
    wrong = "" if found else "the InfoROM is corrupt"
    return judged(found, True, NVML, wrong, action=Action.REPLACE)


def driver(expected: Expectations, machine: Snapshot) -> Evidence:
    """The driver that is pinned, or a later one."""
    found, wanted = known(machine.driver, "the driver"), expected.driver or ""
    wrong = "" if _numbers(found) >= _numbers(wanted) else "the driver is older"
    return judged(found, wanted, PLAN, wrong, action=Action.REBOOT)


def driver_whole(_: Expectations, machine: Snapshot) -> Evidence:
    """Library and kernel module are of one version; otherwise the next program fails."""
    library, kernel = (
        known(machine.driver, "the driver"),
        known(machine.kernel_driver, "the module"),
    )
    wrong = "" if library == kernel else f"the kernel has module {kernel}"
    return judged(library, kernel, "/proc/driver/nvidia/version", wrong, action=Action.REBOOT)


def persistence(_: Expectations, gpu: Gpu) -> Evidence:
    """The driver stays loaded between programs."""
    found = known(gpu.persistence, "its persistence mode")
    wrong = "" if found else "each first program on it waits for the driver"
    return judged(found, True, "DCGM warns of it, code 29", wrong, status=Status.WARN)


def compute_mode(expected: Expectations, gpu: Gpu) -> Evidence:
    """Programs may use it: one at a time only where MPS hands it out."""
    found = known(gpu.compute_mode, "its compute mode")
    allowed = [DEFAULT, EXCLUSIVE] if expected.sharing == "mps" else [DEFAULT]
    wrong = "" if found in allowed else "programs that share it are turned away"
    return judged(found, allowed, PLAN, wrong)


def ecc_mode(_: Expectations, gpu: Gpu) -> Evidence:
    """Errors of memory are corrected, now and after the next reboot."""
    current, pending = known(gpu.ecc_current, "ECC"), known(gpu.ecc_pending, "ECC after a reboot")
    if current != pending:
        return judged(current, pending, DEVICE, "another ECC mode waits", action=Action.REBOOT)
    return judged(current, True, DEVICE, "" if current else "ECC is off", action=Action.REBOOT)


def _pinned(expected: Expectations) -> str:
    return "" if expected.driver else "somebody else chooses the driver"


def _numbers(version: str) -> list[int]:
    """580.105.08 as numbers; what is none counts as 0, so that it is never later."""
    return [int(part) if part.isdecimal() else 0 for part in version.split(".")]


INVENTORY = (
    Check(
        id="gpu.count",
        group="inventory",
        says="the node has another number of GPUs than its machine type",
        do="look for XID 79 in the kernel's log; reboot once, then replace the node",
        node=count,
    ),
    Check(
        id="gpu.answers",
        group="inventory",
        says="a GPU is listed and does not answer",
        do="reboot the node; when it comes back like this, replace it",
        gpu=answers,
    ),
    Check(
        id="gpu.product",
        group="inventory",
        says="the GPU is of another product",
        do="compare the pool's machine with what the cloud has started",
        gpu=product,
    ),
    Check(
        id="gpu.memory",
        group="inventory",
        says="the GPU has less memory than it is sold with",
        do="replace the node",
        gpu=memory,
    ),
    Check(
        id="gpu.identity",
        group="inventory",
        says="two GPUs have one UUID, or one has none",
        do="look at how the container was given its devices",
        node=identity,
    ),
    Check(
        id="firmware.same",
        group="inventory",
        says="GPUs of one node run different firmware",
        do="bring all boards to one VBIOS; after a repair this is usual",
        node=firmware,
        must=False,
    ),
    Check(
        id="gpu.inforom",
        group="inventory",
        says="the board's own record is corrupt",
        do="replace the board",
        gpu=inforom,
    ),
    Check(
        id="driver.version",
        group="inventory",
        says="the driver is older than the pinned one",
        do="look at the node image, or at the driver pod of the GPU Operator",
        node=driver,
        applies=_pinned,
    ),
    Check(
        id="driver.whole",
        group="inventory",
        says="the driver's library and the kernel's module differ in version",
        do="reboot the node, or unload and load the module",
        node=driver_whole,
    ),
    Check(
        id="gpu.persistence",
        group="inventory",
        says="persistence mode is off",
        do="run nvidia-persistenced on the node",
        gpu=persistence,
    ),
    Check(
        id="gpu.compute_mode",
        group="inventory",
        says="the compute mode keeps programs off",
        do="nvidia-smi -c DEFAULT, and look who has set it",
        gpu=compute_mode,
    ),
    Check(
        id="ecc.mode",
        group="inventory",
        says="ECC is off, or will be another after a reboot",
        do="nvidia-smi -e 1, then reboot",
        gpu=ecc_mode,
    ),
)
