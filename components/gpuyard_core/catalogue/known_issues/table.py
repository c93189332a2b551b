"""The table of known issues: one row per symptom, ordered by area.

The remedies of XIDs are the immediate actions of NVIDIA's catalogue, with two marked exceptions: for 63 and 64
the driver's record of remapped rows decides, because NVIDIA, AWS and gpud differ. Codes for which the catalogue
refers to a separate workflow have the remedy `follow`: another symptom decides what to do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpuyard_core.catalogue.known_issues.sources import (
    CUDA_ERRORS,
    LOST_DEVICES,
    NVML_HEADER,
    RUNTIME_CLASS,
    XID_CATALOGUE,
    XID_REMAPS,
)
from gpuyard_core.catalogue.sources import Source


class Area(StrEnum):
    """The components that report symptoms, in the order in which to check them."""

    XID = "xid"
    DRIVER = "driver"
    RECOVERY = "recovery"
    TEMPERATURE = "temperature"
    CUDA = "cuda"
    RUNTIME = "runtime"


class Remedy(StrEnum):
    """The first action, ordered by disruption."""

    NOTHING = "nothing"
    FOLLOW = "follow"
    """Another symptom decides the action."""
    LOOK = "look"
    RESTART_APP = "restart-app"
    RESET = "reset"
    REBOOT = "reboot"
    REPLACE = "replace"


IN_WORDS: Mapping[Remedy, str] = {
    Remedy.NOTHING: "no action; count occurrences",
    Remedy.FOLLOW: "follow the accompanying error: this one is a consequence",
    Remedy.LOOK: "investigate before restarting anything",
    Remedy.RESTART_APP: "restart the program; if the error recurs on one node only, validate that node",
    Remedy.RESET: "drain the node and reset its GPUs; if the error recurs, replace the node",
    Remedy.REBOOT: "drain the node and reboot it; if the error recurs, replace it",
    Remedy.REPLACE: "drain and replace the node",
}
"""Default remediation by remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIssue:
    """A known symptom with its meaning and remediation."""

    id: str
    """Area and code, for example xid.79 or cuda.802."""
    meaning: str
    remedy: Remedy
    remediation: str
    checks: tuple[str, ...]
    """Validator checks that detect the same problem."""
    source: Source

    @property
    def area(self) -> Area:
        """The component that reports the symptom."""
        return Area(self.id.partition(".")[0])


_XIDS = """
8    restart-app  a program on the GPU stopped making progress                                -
11   restart-app  a program sent an invalid or corrupted command stream                       -
13   restart-app  graphics engine exception, for example an out-of-bounds access of a kernel  -
25   restart-app  a program sent an invalid or illegal command stream                         -
31   restart-app  GPU memory page fault: a program accessed an invalid address                -
32   restart-app  a program sent an invalid or corrupted command stream                       -
37   nothing      driver firmware error, recovered                                            -
38   nothing      driver firmware error, recovered                                            -
39   restart-app  copy engine error                                                           -
40   restart-app  copy engine error                                                           -
41   restart-app  copy engine error                                                           -
43   nothing      a program's work was stopped after a fault of its own                       -
44   nothing      fault during a context switch of the GPU                                    -
45   follow       a program was terminated because of an earlier error                        -
46   reset        the GPU stopped processing                                                  gpu.answers
48   follow       uncorrectable double-bit memory error                                       ecc.dram ecc.sram memory.remapped_rows
54   look         the auxiliary power cable of the board is not connected                     clocks.held
62   reset        an internal controller of the GPU halted                                    gpu.recovery
63   nothing      a memory row was remapped or a page retired                                 memory.remapped_rows memory.retired_pages
64   reset        a memory row could not be remapped                                          memory.remapped_rows memory.retired_pages
66   nothing      illegal access by the driver                                                -
67   nothing      illegal access by the driver                                                -
68   restart-app  video decoder error                                                         -
69   restart-app  a program sent an engine an unknown command                                 -
74   follow       NVLink error                                                                nvlink.links nvlink.errors
78   look         a virtual GPU failed to start: check driver and licence                     -
79   reboot       the GPU has fallen off the bus                                              gpu.count gpu.answers
80   restart-app  corrupted data was sent to the GPU                                          -
92   nothing      high rate of corrected single-bit errors                                    ecc.dram
93   nothing      the InfoROM is written more often than it should be                         gpu.inforom
94   restart-app  contained memory error: one program is affected                             ecc.dram memory.remapped_rows
95   reset        uncontained memory error: all programs may be affected                      ecc.dram memory.remapped_rows
109  reset        context switch timeout                                                      gpu.recovery
110  reset        security fault of the GPU                                                   gpu.recovery
119  reset        the GSP did not respond to the driver                                       gpu.recovery gpu.answers
120  reset        GSP error                                                                   gpu.recovery gpu.answers
121  nothing      error of the link between GPU and Grace                                     -
136  reset        link training failed                                                        nvlink.links
137  nothing      NVLink rejected a request                                                   -
140  reset        unrecovered ECC error of memory                                             ecc.dram ecc.sram
141  nothing      error in a CUDA fast path                                                   -
142  look         video encoder error                                                         -
143  reset        the GPU failed to initialise                                                gpu.answers gpu.recovery
144  follow       NVLink error in unit SAW                                                    nvlink.links nvlink.errors
145  follow       NVLink error in unit RLW                                                    nvlink.links nvlink.errors
146  follow       NVLink error in unit TLW                                                    nvlink.links nvlink.errors
147  follow       NVLink error in unit TREX                                                   nvlink.links nvlink.errors
148  follow       NVLink error in unit NVLPW                                                  nvlink.links nvlink.errors
149  follow       NVLink error in unit NETIR                                                  nvlink.links nvlink.errors
150  follow       NVLink error in unit MSE                                                    nvlink.links nvlink.errors
151  reboot       confidential computing keys could not be rotated                            -
154  follow       the driver changed the recovery action that it requests                     gpu.recovery
155  reset        NVLink error reported by software                                           nvlink.links nvlink.errors
156  reset        a part of the GPU was retired                                               gpu.recovery memory.repair
157  nothing      a part of the GPU could not be retired                                      memory.repair
158  reset        the GPU timed out                                                           gpu.recovery gpu.answers
160  nothing      a memory channel was retired                                                memory.repair
161  nothing      a memory channel could not be retired                                       memory.repair
"""
"""Code, remedy, meaning, checks. Codes that NVIDIA marks unused or gives no remedy for are omitted."""

_SIGNS = """
driver.unreachable | look | nvidia-smi cannot communicate with the driver: no kernel module is loaded | check the driver pod of the GPU Operator or the node image, and dmesg for the module | gpu.count | nvml
driver.mismatch | reboot | NVML: driver/library version mismatch: the loaded module predates an update | reboot the node, or reload the module while no process uses a GPU | driver.whole | nvml
driver.fewer_gpus | reboot | nvidia-smi lists fewer GPUs than the machine has | check for XID 79 and 143; reboot once, then replace the node | gpu.count gpu.answers | nvml
driver.older | look | the program needs a newer driver than the installed one | compare the pinned driver with the CUDA of the image | driver.version | nvml
temperature.hardware | look | clocks are reduced by heat (hardware thermal slowdown) | check airflow and fans of the node; if neighbouring nodes are unaffected, replace it | clocks.held gpu.temperature | nvml
temperature.software | look | clocks are reduced by heat (software thermal slowdown) | check the load and the airflow; training continues at a lower speed | clocks.held gpu.temperature | nvml
temperature.power_brake | look | clocks are reduced by the power supply (power brake) | check the power supply of the rack and its limits | clocks.held power.limit | nvml
cuda.2 | restart-app | out of memory: the GPU, MPS share or MIG slice is full | check which other processes use the GPU; request a larger slice, or reduce memory use | load.processes mig.geometry | cuda
cuda.35 | look | the driver is older than the program's CUDA | raise the pinned driver, or use an image with an older CUDA | driver.version | cuda
cuda.46 | look | all GPUs are busy or unavailable: another process has exclusive use | check the compute mode and the processes on the GPU | gpu.compute_mode load.processes | cuda
cuda.100 | look | no GPU is visible to the program | check whether the pod requests one, and its runtime class | gpu.count | cuda
cuda.214 | reset | uncorrectable memory error | follow the accompanying XID 48, 94 or 95 | ecc.dram ecc.sram memory.remapped_rows | cuda
cuda.220 | reset | uncorrectable NVLink error | follow the accompanying XID 74, or 144 to 150 | nvlink.links nvlink.errors | cuda
cuda.700 | restart-app | illegal memory access by the program | fix the program; suspect hardware only if a single node is affected | - | cuda
cuda.719 | restart-app | a kernel failed to launch or crashed | fix the program; if XID 48, 63 or 94 accompanies it, follow that | ecc.dram | cuda
cuda.802 | look | the system is not ready: the fabric manager has not finished | start nvidia-fabricmanager in the driver's version, then reset the GPUs | fabric.state nvlink.peers | cuda
cuda.803 | look | the driver library in the container does not match the kernel module | remove the library from the image: the toolkit mounts the node's | driver.whole | cuda
cuda.999 | look | unknown error, often after another | check for an XID at the same time, and validate the node | gpu.recovery gpu.answers | cuda
runtime.lost_devices | restart-app | a running container reports Failed to initialize NVML: Unknown Error, its node does not | restart the pod; systemd reloaded its units and removed the device access: use CDI | - | lost
runtime.no_handler | look | no runtime for "nvidia" is configured: the pod's runtime class has no handler on this node | check the toolkit pod of the GPU Operator, which configures containerd | - | class
runtime.no_class | look | RuntimeClass "nvidia" not found | check whether the GPU Operator is installed | - | class
"""

_BY = {"nvml": NVML_HEADER, "cuda": CUDA_ERRORS, "lost": LOST_DEVICES, "class": RUNTIME_CLASS}
_REMAPS = ("63", "64")

RECOVERIES: Mapping[int, tuple[str, Remedy]] = {
    1: ("the driver requests a GPU reset", Remedy.RESET),
    2: ("the driver requests a node reboot", Remedy.REBOOT),
    3: ("the driver requests a drain of peer-to-peer work", Remedy.LOOK),
    4: ("the driver requests a drain, then a GPU reset", Remedy.RESET),
    5: ("the driver requests a check of IMEX, the NVLink domain of the rack", Remedy.LOOK),
    6: ("the driver requests a bus reset", Remedy.REBOOT),
    7: ("the driver requests a system reboot", Remedy.REBOOT),
}
"""Values of NVML field 230; 0 requests no action."""


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
"""All known issues by id, ordered by area."""


def find_known_issue(name: str) -> KnownIssue | None:
    """Find a known issue by a name such as `xid.79`, `XID 79` or `79`."""
    plain = name.strip().lower().replace(" ", ".").replace("-", ".")
    return KNOWN_ISSUES.get(plain) or (
        KNOWN_ISSUES.get(f"xid.{plain}") if plain.isdecimal() else None
    )


def issues_for_check(check: str) -> list[KnownIssue]:
    """The known issues that a check of the validator detects."""
    return [each for each in KNOWN_ISSUES.values() if check in each.checks]
