"""The table: one row a sign, in the order in which one looks, and whoever explains one reads it here.

The remedies of XIDs are the immediate ones of NVIDIA's catalogue, with two exceptions that are marked: for 63
and 64 the driver's own record of remapped rows decides, since NVIDIA, AWS and gpud differ on them. What its
catalogue sends to a workflow of its own is `follow`: another sign beside it says what is to be done.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpuyard.catalogue.known_issues.sources import (
    CUDA_ERRORS,
    LOST_DEVICES,
    NVML_HEADER,
    RUNTIME_CLASS,
    XID_CATALOGUE,
    XID_REMAPS,
)
from gpuyard.catalogue.sources import Source


class Area(StrEnum):
    """Where one looks, in this order."""

    XID = "xid"
    DRIVER = "driver"
    RECOVERY = "recovery"
    TEMPERATURE = "temperature"
    CUDA = "cuda"
    RUNTIME = "runtime"


class Remedy(StrEnum):
    """What is done first, the mildest before."""

    NOTHING = "nothing"
    FOLLOW = "follow"
    """Another sign beside it says what."""
    LOOK = "look"
    RESTART_APP = "restart-app"
    RESET = "reset"
    REBOOT = "reboot"
    REPLACE = "replace"


IN_WORDS: Mapping[Remedy, str] = {
    Remedy.NOTHING: "nothing; count it",
    Remedy.FOLLOW: "what the sign beside it says: this one follows from another",
    Remedy.LOOK: "look, before anything is restarted",
    Remedy.RESTART_APP: "start the program again; when it comes back on one node alone, check that node",
    Remedy.RESET: "drain the node and reset its GPUs; when it comes back, replace the node",
    Remedy.REBOOT: "drain the node and reboot it; when it comes back, replace it",
    Remedy.REPLACE: "drain the node and have it replaced",
}
"""What to do where a row has no words of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIssue:
    """One sign."""

    id: str
    """xid.79, cuda.802: the area, and what the sign is called."""
    meaning: str
    remedy: Remedy
    remediation: str
    checks: tuple[str, ...]
    """Checks of the validator that see the same."""
    source: Source

    @property
    def area(self) -> Area:
        """Where one looks for it."""
        return Area(self.id.partition(".")[0])


_XIDS = """
8    restart-app  the GPU stopped working on a program                                -
11   restart-app  a program sent the GPU commands that make no sense                   -
13   restart-app  a kernel of a program did what it must not, as out of bounds         -
25   restart-app  a program sent the GPU commands that make no sense                   -
31   restart-app  a program reached memory of the GPU that it does not have            -
32   restart-app  a program sent the GPU commands that make no sense                   -
37   nothing      the driver's firmware met an error and went on                       -
38   nothing      the driver's firmware met an error and went on                       -
39   restart-app  a copy engine met an error                                           -
40   restart-app  a copy engine met an error                                           -
41   restart-app  a copy engine met an error                                           -
43   nothing      a program's work was stopped, by a fault of its own                  -
44   nothing      a fault while the GPU changed from one program to another            -
45   follow       a program was ended because of an error before                       -
46   reset        the GPU stopped working                                              gpu.answers
48   follow       memory had an error of two bits, which nothing corrects              ecc.dram ecc.sram memory.remapped_rows
54   look         the board's own power cable is not plugged in                        clocks.held
62   reset        a controller inside the GPU stopped                                  gpu.recovery
63   nothing      a row of memory was remapped, or a page retired                      memory.remapped_rows memory.retired_pages
64   reset        a row of memory could not be remapped                                memory.remapped_rows memory.retired_pages
66   nothing      the driver reached what it must not                                  -
67   nothing      the driver reached what it must not                                  -
68   restart-app  the video decoder met an error                                       -
69   restart-app  a program asked an engine for what it does not know                  -
74   follow       an NVLink met an error                                               nvlink.links nvlink.errors
78   look         a virtual GPU could not be started: driver and licence               -
79   reboot       the GPU no longer answers on the bus                                 gpu.count gpu.answers
80   restart-app  data came to the GPU damaged                                         -
92   nothing      many errors of one bit were corrected                                ecc.dram
93   nothing      the board's own record is written more often than it should          gpu.inforom
94   restart-app  an error of memory stayed within one program                         ecc.dram memory.remapped_rows
95   reset        an error of memory may have reached all programs                     ecc.dram memory.remapped_rows
109  reset        the GPU could not change from one program to another                 gpu.recovery
110  reset        a fault of the GPU's own security                                    gpu.recovery
119  reset        the GPU's own processor (GSP) did not answer the driver              gpu.recovery gpu.answers
120  reset        the GPU's own processor (GSP) met an error                           gpu.recovery gpu.answers
121  nothing      the link from GPU to Grace met an error                              -
136  reset        a link could not be trained                                          nvlink.links
137  nothing      an NVLink was asked for what it does not allow                       -
140  reset        memory had an error that nothing recovered                           ecc.dram ecc.sram
141  nothing      a fast path of CUDA met an error                                     -
142  look         a video encoder met an error                                         -
143  reset        the GPU could not be started                                         gpu.answers gpu.recovery
144  follow       an NVLink met an error: its unit SAW                                 nvlink.links nvlink.errors
145  follow       an NVLink met an error: its unit RLW                                 nvlink.links nvlink.errors
146  follow       an NVLink met an error: its unit TLW                                 nvlink.links nvlink.errors
147  follow       an NVLink met an error: its unit TREX                                nvlink.links nvlink.errors
148  follow       an NVLink met an error: its unit NVLPW                               nvlink.links nvlink.errors
149  follow       an NVLink met an error: its unit NETIR                               nvlink.links nvlink.errors
150  follow       an NVLink met an error: its unit MSE                                 nvlink.links nvlink.errors
151  reboot       keys of confidential computing could not be changed                  -
154  follow       the driver has changed what it asks for: its recovery action         gpu.recovery
155  reset        an NVLink met an error that software reports                         nvlink.links nvlink.errors
156  reset        a part of the GPU was retired                                        gpu.recovery memory.repair
157  nothing      a part of the GPU could not be retired                               memory.repair
158  reset        the GPU did not answer in time                                       gpu.recovery gpu.answers
160  nothing      a channel of memory was retired                                      memory.repair
161  nothing      a channel of memory could not be retired                             memory.repair
"""
"""Code, remedy, meaning, checks. What the catalogue calls unused is not here, nor what has no remedy in it."""

_SIGNS = """
driver.unreachable | look | nvidia-smi cannot talk to the driver: no module is loaded | look at the driver pod of the GPU Operator or at the node image, and at dmesg for the module | gpu.count | nvml
driver.mismatch | reboot | NVML: driver/library version mismatch: the module is of before an update | reboot the node, or unload and load the module while nobody uses a GPU | driver.whole | nvml
driver.fewer_gpus | reboot | nvidia-smi lists fewer GPUs than the machine has | look for XID 79 and 143; reboot once, then have the node replaced | gpu.count gpu.answers | nvml
driver.older | look | the program needs a newer driver than there is | compare the pinned driver with the CUDA of the image | driver.version | nvml
temperature.hardware | look | clocks are held by heat (hardware thermal slowdown) | look at air and fans of the node; when its neighbours are well, have it replaced | clocks.held gpu.temperature | nvml
temperature.software | look | clocks are held by heat (software thermal slowdown) | look at the load and the air; training goes on, slower | clocks.held gpu.temperature | nvml
temperature.power_brake | look | clocks are held by the power supply (power brake) | look at the supply of the rack, and at its limits | clocks.held power.limit | nvml
cuda.2 | restart-app | out of memory: all of it, or the share of MPS or of the slice, is used | look who else is on the GPU; ask for a larger slice, or set less | load.processes mig.geometry | cuda
cuda.35 | look | the driver is older than the program's CUDA | raise the pinned driver, or take an image of an older CUDA | driver.version | cuda
cuda.46 | look | all GPUs are busy or not to be had: another program holds one alone | look at the compute mode, and at processes on the GPU | gpu.compute_mode load.processes | cuda
cuda.100 | look | no GPU is there for the program | look whether the pod asks for one, and at its runtime class | gpu.count | cuda
cuda.214 | reset | memory had an error that nothing corrected | follow XID 48, 94 or 95 beside it | ecc.dram ecc.sram memory.remapped_rows | cuda
cuda.220 | reset | an NVLink had an error that nothing corrected | follow XID 74, or 144 to 150, beside it | nvlink.links nvlink.errors | cuda
cuda.700 | restart-app | the program reached memory that it does not have | mend the program: it is not the hardware unless one node alone has it | - | cuda
cuda.719 | restart-app | a kernel ended badly | mend the program; with XID 48, 63 or 94 beside it, follow that | ecc.dram | cuda
cuda.802 | look | the system is not ready: the fabric manager has not finished | start nvidia-fabricmanager of the driver's own version, then reset the GPUs | fabric.state nvlink.peers | cuda
cuda.803 | look | the driver's library in the container is of another version than the module | take the library out of the image: the toolkit mounts the node's | driver.whole | cuda
cuda.999 | look | an error that nobody knows, often after another | look for an XID at the same second, and check the node | gpu.recovery gpu.answers | cuda
runtime.lost_devices | restart-app | a running container says Failed to initialize NVML: Unknown Error, its node does not | start the pod again; systemd reloaded its units and took the devices: use CDI | - | lost
runtime.no_handler | look | no runtime for "nvidia" is configured: the pod's runtime class has no handler here | look at the toolkit pod of the GPU Operator: it writes containerd's configuration | - | class
runtime.no_class | look | RuntimeClass "nvidia" not found | look whether the GPU Operator is installed, or join one that is | - | class
"""

_BY = {"nvml": NVML_HEADER, "cuda": CUDA_ERRORS, "lost": LOST_DEVICES, "class": RUNTIME_CLASS}
_REMAPS = ("63", "64")

RECOVERIES: Mapping[int, tuple[str, Remedy]] = {
    1: ("the driver asks for a reset of the GPU", Remedy.RESET),
    2: ("the driver asks for a reboot of the node", Remedy.REBOOT),
    3: ("the driver asks that what reaches other GPUs be drained", Remedy.LOOK),
    4: ("the driver asks for a drain, then a reset of the GPU", Remedy.RESET),
    5: ("the driver asks for a look at IMEX: the NVLink domain of the rack", Remedy.LOOK),
    6: ("the driver asks for a reset of the bus", Remedy.REBOOT),
    7: ("the driver asks for a reboot of the system", Remedy.REBOOT),
}
"""NVML's field 230, by its value; 0 asks for nothing."""


def _all() -> Iterator[KnownIssue]:
    for line in _XIDS.strip().splitlines():
        code, word, rest = line.split(None, 2)
        means, _, checks = rest.rpartition("  ")
        remedy = Remedy(word)
        source = XID_REMAPS if code in _REMAPS else XID_CATALOGUE
        yield _trouble(f"xid.{code}", means, remedy, IN_WORDS[remedy], checks, source)
    for value, (means, remedy) in RECOVERIES.items():
        yield _trouble(
            f"recovery.{value}", means, remedy, IN_WORDS[remedy], "gpu.recovery", NVML_HEADER
        )
    for line in _SIGNS.strip().splitlines():
        name, word, means, do, checks, by = line.split(" | ")
        yield _trouble(name, means, Remedy(word), do, checks, _BY[by])


def _trouble(
    name: str, means: str, remedy: Remedy, do: str, checks: str, source: Source
) -> KnownIssue:
    named = tuple(each for each in checks.split() if each != "-")
    return KnownIssue(
        id=name, meaning=means.strip(), remedy=remedy, remediation=do, checks=named, source=source
    )


KNOWN_ISSUES: Mapping[str, KnownIssue] = {
    each.id: each for each in sorted(_all(), key=lambda each: list(Area).index(each.area))
}
"""All of them by id, in the order in which one looks."""


def find_known_issue(name: str) -> KnownIssue | None:
    """The one that somebody means: `xid.79`, `XID 79`, `79`."""
    plain = name.strip().lower().replace(" ", ".").replace("-", ".")
    return KNOWN_ISSUES.get(plain) or (
        KNOWN_ISSUES.get(f"xid.{plain}") if plain.isdecimal() else None
    )


def issues_for_check(check: str) -> list[KnownIssue]:
    """The signs that go with a check of the validator."""
    return [each for each in KNOWN_ISSUES.values() if check in each.checks]
