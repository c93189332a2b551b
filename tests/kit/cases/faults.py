"""Faults of GPU nodes, and the thresholds of each check of the validator: rows for several tests."""

import re
from dataclasses import replace

from gpuyard_validator.nccl.arithmetic import Operation
from gpuyard_validator.results import Action, Status
from gpuyard_validator.snapshot import Fabric
from gpuyard_validator.values import Missing, MissingReason
from kit.cases.hardware import SLICES, altered, measure, rate

PASS, WARN, FAIL = Status.PASS, Status.WARN, Status.FAIL
NO, NOBODY = Missing(MissingReason.NOT_SUPPORTED), "00000000-0000-0000-0000-000000000000"
FABRIC = Fabric(state=3, status=0, cluster=f"{1:08d}-0000-0000-0000-{1:012d}", clique=2, health=0)
LOST = Missing(MissingReason.LOST)
H100, T4, GB200 = ("H100", False), ("T4", False), ("GB200", False)
A100, CUT = ("A100-40", False), ("A100-40", True)


def of_gpu(**values):
    return lambda m: altered(m, **values)


def node(**values):
    return lambda m: replace(m, **values)


def adapters(change):
    """Another first adapter, or none when there is no change."""

    def turn(m):
        first = () if change is None else (replace(m.adapters[0], **change),)
        return replace(m, adapters=(*first, *m.adapters[1:]))

    return turn


def fabric(**values):
    return of_gpu(fabric=replace(FABRIC, **values))


TWO, ONE = ("H100-loaded", False), ("B200-loaded", False)


def run(**values):
    """Another run of the same nodes."""
    return lambda m: replace(m, collectives=replace(m.collectives, **values))


def logged(form, other):
    """Each rank's log with one text replaced by another."""

    return lambda m: run(logs=tuple(re.sub(form, other, log) for log in m.collectives.logs))(m)


def ran(operation, bus=None, **values):
    """One of its collectives with another bus bandwidth or other values."""

    def turn(m):
        def other(result):
            if result.operation != operation:
                return result
            created = measure(Operation(operation), result.ranks, bus) if bus else result
            return replace(created, **values)

        return run(measures=tuple(map(other, m.collectives.measures)))(m)

    return turn


def ended(**ends):
    """Some ranks end otherwise."""

    def turn(m):
        every = m.collectives.ends
        return run(ends=tuple(replace(e, **ends) if e.rank == 3 else e for e in every))(m)

    return turn


RUNS = [
    ("nccl.ranks", ended(end="hung", output="did not finish: all_reduce"), FAIL),
    ("nccl.ranks", ended(end="crashed", output="exit code 7"), FAIL),
    ("nccl.ranks", ended(end="absent", output="it did not join within 60 s"), FAIL),
    ("nccl.ranks", run(ends=()), FAIL),
    ("nccl.ranks", lambda m: run(ends=m.collectives.ends[:15])(m), FAIL),
    ("nccl.results", ran("all_gather", wrong=1), FAIL),
    ("nccl.versions", run(versions=("2.18.1", "2.31.2")), FAIL),
    ("nccl.transport", logged(r"NET/Libfabric/0/GDRDMA", "NET/Socket/0"), FAIL),
    ("nccl.transport", logged(r"provider is efa", "provider is tcp"), FAIL),
    ("nccl.transport", logged(r"P2P/CUMEM", "SHM/direct/direct"), FAIL),
    ("nccl.gpudirect", logged(r"/GDRDMA", ""), FAIL),
    ("nccl.all_reduce", ran("all_reduce", 292.1), FAIL),
    ("nccl.all_reduce", ran("all_reduce", 438.2), WARN),
    ("nccl.all_gather", ran("all_gather", 203.1), FAIL),
    ("nccl.reduce_scatter", ran("reduce_scatter", 269.9), FAIL),
    ("nccl.all_to_all", ran("all_to_all", 47.4), FAIL),
    ("nccl.all_to_all", ran("all_to_all", 71.1), WARN),
    ("nccl.stragglers", run(slow=(5,)), FAIL),
]

T4_LOADED = ("T4-loaded", False)


def loaded(**values):
    """Another result of one GPU's work."""
    return lambda m: altered(m, load=replace(m.gpus[min(1, len(m.gpus) - 1)].load, **values))


def rated(task, giga=None, only=None, **values):
    """Another value of one of its rates: of all other GPUs, or of one."""

    def turn(m):
        def other(result):
            if result.task != task or only not in (None, result.other):
                return result
            return replace(rate(task, giga, other=result.other) if giga else result, **values)

        load = m.gpus[min(1, len(m.gpus) - 1)].load
        return loaded(rates=tuple(map(other, load.rates)))(m)

    return turn


def told(tasks, **values):
    """The driver's report during some of its work."""

    def turn(m):
        load = m.gpus[min(1, len(m.gpus) - 1)].load
        seen = (replace(s, **values) if s.task in tasks else s for s in load.seen)
        return loaded(seen=tuple(seen))(m)

    return turn


def drawn(milliwatts):
    return told(["step"], milliwatts=milliwatts)


def unshared(m):
    """The machine where it shares no memory with one other GPU."""
    rates = m.gpus[1].load.rates
    return loaded(rates=tuple(each for each in rates if each.other != 6))(m)


LOADS = [
    ("work.ran", TWO, loaded(ended="hung", output="product: not finished in time"), FAIL, Action.RESET),
    ("work.ran", TWO, loaded(ended="crashed", output="memory: cuMemAlloc_v2", code=2), FAIL, Action.INVESTIGATE),
    ("work.ran", T4_LOADED, loaded(ended="crashed", output="product: ECC", code=214), FAIL, Action.RESET),
    ("work.ran", TWO, loaded(uuid="GPU-another"), FAIL, Action.INVESTIGATE),
    ("work.results", TWO, rated("product", wrong=1), FAIL, Action.REPLACE),
    ("work.results", ONE, rated("step", wrong=7), FAIL, Action.REPLACE),
    ("work.results", T4_LOADED, rated("to_host", wrong=1), FAIL, Action.REPLACE),
    ("work.memory", TWO, rated("memory", 1904.0), FAIL, Action.INVESTIGATE),
    ("work.memory", T4_LOADED, rated("memory", 182.0), FAIL, Action.INVESTIGATE),
    ("work.to_device", TWO, rated("to_device", 47.9), FAIL, Action.INVESTIGATE),
    ("work.to_device", T4_LOADED, rated("to_device", 4.6), WARN, Action.INVESTIGATE),
    ("work.to_host", TWO, rated("to_host", 47.9), FAIL, Action.INVESTIGATE),
    ("work.peers", TWO, rated("peers", 334.9, only=6), FAIL, Action.INVESTIGATE),
    ("work.peers", ONE, rated("peers", 539.9, only=0), WARN, Action.INVESTIGATE),
    ("work.peers", TWO, unshared, FAIL, Action.INVESTIGATE),
    ("work.product", TWO, rated("product", 596_000.0), FAIL, Action.INVESTIGATE),
    ("work.product", T4_LOADED, rated("product", 32_400.0), WARN, Action.INVESTIGATE),
    ("work.spread", TWO, rated("product", 702_900.0), WARN, Action.INVESTIGATE),
    ("work.step", ONE, rated("step", 1_112_000.0), FAIL, Action.INVESTIGATE),
    ("work.clocks", TWO, told(["product"], reasons=0x4 | 0x8), FAIL, Action.INVESTIGATE),
    ("work.clocks", ONE, told(["step"], reasons=0x40), FAIL, Action.INVESTIGATE),
    ("work.clocks", T4_LOADED, told(["product"], reasons=0x80), FAIL, Action.INVESTIGATE),
    ("work.clocks", T4_LOADED, told(["product"], reasons=0x24), WARN, Action.INVESTIGATE),
    ("work.temperature", TWO, told(["product"], margin=0), FAIL, Action.INVESTIGATE),
    ("work.power", ONE, drawn(749_000), WARN, Action.INVESTIGATE),
    ("work.errors", TWO, told(["memory"], uncorrected=1), FAIL, Action.RESET),
    ("work.errors", ONE, told(["step"], remapped=1), FAIL, Action.RESET),
    ("work.pcie", TWO, told(["to_device", "to_host"], pcie_generation=4), FAIL, Action.INVESTIGATE),
    ("work.pcie", TWO, told(["to_device", "to_host"], pcie_width=8), FAIL, Action.INVESTIGATE),
    ("work.pcie", T4_LOADED, told(["to_device", "to_host"], pcie_width=4), FAIL, Action.INVESTIGATE),
]  # fmt: skip

# A check, a machine after its work, a value that just passes, one that just fails, and the result.
BUS = ["to_device", "to_host"]
LOAD_EDGES = [
    ("work.ran", "H100-loaded", loaded(), loaded(ended="crashed"), FAIL),
    ("work.results", "H100-loaded", rated("memory", wrong=0), rated("memory", wrong=1), FAIL),
    ("work.memory", "H100-loaded", rated("memory", 1905.0), rated("memory", 1904.9), FAIL),
    ("work.memory", "T4-loaded", rated("memory", 183.0), rated("memory", 182.9), FAIL),
    ("work.to_device", "H100-loaded", rated("to_device", 48.0), rated("to_device", 47.9), FAIL),
    ("work.to_host", "H100-loaded", rated("to_host", 48.0), rated("to_host", 47.9), FAIL),
    ("work.to_host", "B200-loaded", rated("to_host", 37.8), rated("to_host", 37.7), WARN),
    ("work.peers", "H100-loaded", rated("peers", 335.0), rated("peers", 334.9), FAIL),
    ("work.peers", "B200-loaded", rated("peers", 540.0), rated("peers", 539.9), WARN),
    ("work.peers", "H100-loaded", loaded(), unshared, FAIL),
    ("work.product", "H100-loaded", rated("product", 596_300.0), rated("product", 596_100.0), FAIL),
    ("work.product", "T4-loaded", rated("product", 32_500.0), rated("product", 32_400.0), WARN),
    ("work.spread", "H100-loaded", rated("product", 703_000.0), rated("product", 702_900.0), WARN),
    ("work.step", "B200-loaded", rated("step", 1_112_500.0), rated("step", 1_112_300.0), FAIL),
    *(
        ("work.clocks", "B200-loaded", told([task], reasons=0x115), told([task], reasons=bits), comes)
        for task in ("product", "step")
        for bits, comes in ((0x8, FAIL), (0x40, FAIL), (0x80, FAIL), (0x20, WARN), (0xE8, FAIL))
    ),
    *(
        ("work.temperature", "B200-loaded", told([task], margin=1), told([task], margin=0), FAIL)
        for task in ("product", "step")
    ),
    ("work.clocks", "B200-loaded", told(["memory"], reasons=0x8), told(["step"], reasons=0x8), FAIL),
    ("work.temperature", "B200-loaded", told(["to_host"], margin=0), told(["step"], margin=-3), FAIL),
    ("work.power", "B200-loaded", drawn(749_600), drawn(749_400), WARN),
    ("work.power", "B200-loaded", told(["product"], milliwatts=1), drawn(1), WARN),
    ("work.errors", "B200-loaded", told(["peers"], uncorrected=0), told(["peers"], uncorrected=1), FAIL),
    ("work.errors", "B200-loaded", told(["peers"], remapped=0), told(["peers"], remapped=1), FAIL),
    ("work.pcie", "H100-loaded", told(BUS, pcie_generation=5), told(BUS, pcie_generation=4), FAIL),
    ("work.pcie", "H100-loaded", told(["to_host"], pcie_generation=1), told(BUS, pcie_generation=1), FAIL),
    ("work.pcie", "H100-loaded", told(["memory"], pcie_width=1), told(BUS, pcie_width=15), FAIL),
    ("work.pcie", "T4-loaded", told(BUS, pcie_width=8), told(BUS, pcie_width=7), FAIL),
]  # fmt: skip

# Of the idle slot: whose lower threshold is accepted, which, the link under load, and the result.
SLOTS = [
    ("pcie.width", 8.0, told(BUS, pcie_width=8), Status.PASS),
    ("pcie.width", 8.0, told(BUS, pcie_width=7), FAIL),
    ("pcie.width", 32.0, told(BUS, pcie_width=15), FAIL),
    ("pcie.width", 4.0, told(BUS, pcie_generation=4), FAIL),
    ("pcie.generation", 4.0, told(BUS, pcie_generation=4), Status.PASS),
    ("pcie.generation", 4.0, told(BUS, pcie_generation=3), FAIL),
    ("pcie.generation", 4.0, told(BUS, pcie_width=8), FAIL),
    ("work.memory", 1.0, told(BUS, pcie_width=8), FAIL),
]

# The check, the machine, the fault, the result, and the action that the node then needs.
FAULTS = [
    ("gpu.count", H100, lambda m: replace(m, gpus=m.gpus[:7]), FAIL, Action.REPLACE),
    ("gpu.answers", H100, of_gpu(answers=False, name=LOST, uuid=LOST), FAIL, Action.REBOOT),
    ("gpu.product", H100, of_gpu(name="NVIDIA H100 PCIe"), FAIL, Action.REPLACE),
    ("gpu.product", H100, of_gpu(pci_id="2331"), FAIL, Action.REPLACE),
    ("gpu.memory", A100, of_gpu(memory_mib=38000), FAIL, Action.REPLACE),
    ("gpu.identity", H100, lambda m: altered(m, uuid=m.gpus[0].uuid), FAIL, Action.INVESTIGATE),
    ("gpu.identity", T4, of_gpu(uuid=""), FAIL, Action.INVESTIGATE),
    ("firmware.same", H100, of_gpu(vbios="96.00.74.00.09"), WARN, Action.INVESTIGATE),
    ("firmware.same", H100, of_gpu(gsp_firmware="570.1"), WARN, Action.INVESTIGATE),
    ("firmware.same", H100, of_gpu(inforom_image="G520.0200.00.04"), WARN, Action.INVESTIGATE),
    ("gpu.inforom", T4, of_gpu(inforom_valid=False), FAIL, Action.REPLACE),
    ("driver.version", H100, node(driver="570.148.08", kernel_driver="570.148.08"), FAIL, Action.REBOOT),
    ("driver.version", H100, node(driver="580.95.05", kernel_driver="580.95.05"), FAIL, Action.REBOOT),
    ("driver.version", H100, node(driver="newest", kernel_driver="newest"), FAIL, Action.REBOOT),
    ("driver.whole", H100, node(kernel_driver="580.95.05"), FAIL, Action.REBOOT),
    ("gpu.persistence", H100, of_gpu(persistence=False), WARN, Action.INVESTIGATE),
    ("gpu.compute_mode", T4, of_gpu(compute_mode=2), FAIL, Action.INVESTIGATE),
    ("gpu.compute_mode", H100, of_gpu(compute_mode=3), FAIL, Action.INVESTIGATE),
    ("ecc.mode", H100, of_gpu(ecc_current=False, ecc_pending=False), FAIL, Action.REBOOT),
    ("ecc.mode", T4, of_gpu(ecc_pending=False), FAIL, Action.REBOOT),
    ("gpu.recovery", H100, of_gpu(recovery_action=1), FAIL, Action.RESET),
    ("gpu.recovery", T4, of_gpu(recovery_action=2), FAIL, Action.REBOOT),
    ("gpu.recovery", T4, of_gpu(recovery_action=99), FAIL, Action.INVESTIGATE),
    ("memory.repair", H100, of_gpu(unrepairable=True), FAIL, Action.REPLACE),
    ("memory.repair", H100, of_gpu(repair_pending=True), FAIL, Action.RESET),
    ("memory.remapped_rows", H100, of_gpu(remap_failure=True), FAIL, Action.REPLACE),
    ("memory.remapped_rows", A100, of_gpu(remap_pending=True), FAIL, Action.RESET),
    ("memory.remapped_rows", A100, of_gpu(remapped_uncorrectable=512), WARN, Action.INVESTIGATE),
    ("memory.retired_pages", T4, of_gpu(retired_pages=63), FAIL, Action.REPLACE),
    ("memory.retired_pages", T4, of_gpu(retired_pending=True), FAIL, Action.REBOOT),
    ("ecc.sram", H100, of_gpu(sram_uncorrected=1), FAIL, Action.RESET),
    ("ecc.sram", H100, of_gpu(sram_threshold=True), FAIL, Action.REPLACE),
    ("ecc.dram", H100, of_gpu(dram_uncorrected=1), WARN, Action.INVESTIGATE),
    ("clocks.held", H100, of_gpu(clock_reasons=0x1 | 0x8), FAIL, Action.INVESTIGATE),
    ("clocks.held", H100, of_gpu(clock_reasons=0x5 | 0x40), FAIL, Action.INVESTIGATE),
    ("clocks.held", T4, of_gpu(clock_reasons=0x80), FAIL, Action.INVESTIGATE),
    ("clocks.held", T4, of_gpu(clock_reasons=0x21), WARN, Action.INVESTIGATE),
    ("gpu.temperature", H100, of_gpu(thermal_margin=0), FAIL, Action.INVESTIGATE),
    ("power.limit", H100, of_gpu(power_limit_mw=699_999), WARN, Action.INVESTIGATE),
    ("clocks.limit", H100, of_gpu(max_sm_mhz=1755), WARN, Action.INVESTIGATE),
    ("pcie.width", H100, of_gpu(pcie_width=8), FAIL, Action.INVESTIGATE),
    ("pcie.width", T4, of_gpu(pcie_width=4), FAIL, Action.INVESTIGATE),
    ("pcie.generation", H100, of_gpu(pcie_generation=4), FAIL, Action.INVESTIGATE),
    ("pcie.generation", T4, of_gpu(pcie_generation=2), FAIL, Action.INVESTIGATE),
    ("nvlink.links", H100, of_gpu(nvlinks=(True,) * 17 + (False,)), FAIL, Action.RESET),
    ("nvlink.links", A100, of_gpu(nvlinks=(True,) * 11), FAIL, Action.RESET),
    ("nvlink.errors", H100, of_gpu(nvlink_recoveries=1), FAIL, Action.RESET),
    ("nvlink.peers", H100, of_gpu(unreachable=(0,)), FAIL, Action.REBOOT),
    ("fabric.state", H100, of_gpu(fabric=replace(FABRIC, state=2)), FAIL, Action.REBOOT),
    ("fabric.state", GB200, fabric(status=1), FAIL, Action.REBOOT),
    ("fabric.state", GB200, fabric(state=9), FAIL, Action.REBOOT),
    ("fabric.state", GB200, fabric(health=1), FAIL, Action.RESET),
    ("fabric.state", GB200, fabric(health=1 << 4), FAIL, Action.RESET),
    ("fabric.state", GB200, fabric(health=2 << 8), FAIL, Action.RESET),
    ("fabric.domain", GB200, fabric(clique=3), FAIL, Action.REBOOT),
    ("fabric.domain", GB200, fabric(cluster="00000000-0000-0000-0000-000000000000"), FAIL, Action.REBOOT),
    ("rdma.devices", H100, adapters(None), FAIL, Action.REPLACE),
    ("rdma.devices", H100, node(adapters=()), FAIL, Action.REPLACE),
    ("rdma.devices", H100, adapters({"driver": "mlx5_core", "link": "Ethernet"}), FAIL, Action.REPLACE),
    ("rdma.devices", ("H200", False), adapters({"link": "Ethernet"}), FAIL, Action.REPLACE),
    ("rdma.ports", H100, adapters({"active": False}), FAIL, Action.INVESTIGATE),
    ("rdma.ports", ("H200", False), adapters({"gbps": 200.0}), FAIL, Action.INVESTIGATE),
    ("rdma.gpudirect", H100, node(open_modules=False), FAIL, Action.INVESTIGATE),
    ("mig.mode", CUT, of_gpu(mig_pending=False), FAIL, Action.INVESTIGATE),
    ("mig.mode", A100, of_gpu(mig_current=True, mig_pending=True), FAIL, Action.INVESTIGATE),
    ("mig.mode", CUT, of_gpu(mig_current=False, mig_pending=False), FAIL, Action.INVESTIGATE),
    ("mig.geometry", CUT, of_gpu(instances=(SLICES["3g.20gb"], SLICES["3g.20gb"])), FAIL, Action.INVESTIGATE),
    ("mig.geometry", CUT, of_gpu(instances=()), FAIL, Action.INVESTIGATE),
    ("load.processes", H100, of_gpu(processes=(4711,)), FAIL, Action.INVESTIGATE),
    ("load.utilization", H100, of_gpu(utilization=11), FAIL, Action.INVESTIGATE),
    ("host.environment", H100, node(environment={"CUDA_INJECTION64_PATH": "/x"}), WARN, Action.INVESTIGATE),
    *((check, TWO, fault, status, Action.INVESTIGATE) for check, fault, status in RUNS),
    ("nccl.transport", ONE, logged(r"P2P/CUMEM", "SHM/direct/direct"), FAIL, Action.INVESTIGATE),
    ("nccl.all_reduce", ONE, ran("all_reduce", 599.0), FAIL, Action.INVESTIGATE),
    *LOADS,
]  # fmt: skip


def joined(**values):
    return {"fabric": replace(FABRIC, **values)}


# A check, a card, values of one GPU that just pass, values that just fail, and the result of those.
OF_GPU = [
    ("gpu.answers", "T4", {"answers": True}, {"answers": False}, FAIL),
    ("gpu.product", "H100", {"name": "NVIDIA H100 80GB HBM3"}, {"name": "NVIDIA H100 80GB HBM2"}, FAIL),
    ("gpu.product", "H100", {"name": "NVIDIA-H100-80GB-HBM3"}, {"name": "NVIDIA H100 80GB HBM3 MIG"}, FAIL),
    ("gpu.product", "H100", {"pci_id": "2330"}, {"pci_id": "2331"}, FAIL),
    ("gpu.product", "A100-40", {"pci_id": "20b0"}, {"pci_id": "20b1"}, FAIL),
    ("gpu.memory", "A100-40", {"memory_mib": 38093}, {"memory_mib": 38092}, FAIL),
    ("gpu.memory", "A100-80", {"memory_mib": 76186}, {"memory_mib": 76185}, FAIL),
    ("gpu.memory", "H100", {"memory_mib": 76186}, {"memory_mib": 76185}, FAIL),
    ("gpu.memory", "H200", {"memory_mib": 134278}, {"memory_mib": 134277}, FAIL),
    ("gpu.memory", "B200", {"memory_mib": 171418}, {"memory_mib": 171417}, FAIL),
    ("gpu.memory", "GB200", {"memory_mib": 177132}, {"memory_mib": 177131}, FAIL),
    ("gpu.memory", "L4", {"memory_mib": 22856}, {"memory_mib": 22855}, FAIL),
    ("gpu.memory", "L40S", {"memory_mib": 45712}, {"memory_mib": 45711}, FAIL),
    ("gpu.memory", "T4", {"memory_mib": 15238}, {"memory_mib": 15237}, FAIL),
    ("gpu.memory", "RTX6000", {"memory_mib": 91423}, {"memory_mib": 91422}, FAIL),
    ("gpu.inforom", "L4", {"inforom_valid": True}, {"inforom_valid": False}, FAIL),
    ("gpu.persistence", "L4", {"persistence": True}, {"persistence": False}, WARN),
    ("gpu.compute_mode", "L4", {"compute_mode": 0}, {"compute_mode": 1}, FAIL),
    ("gpu.compute_mode", "L4", {"compute_mode": 0}, {"compute_mode": 3}, FAIL),
    ("ecc.mode", "L4", {"ecc_current": True}, {"ecc_current": False}, FAIL),
    ("ecc.mode", "L4", {"ecc_pending": True}, {"ecc_current": False, "ecc_pending": False}, FAIL),
    ("gpu.recovery", "B200", {"recovery_action": 0}, {"recovery_action": 1}, FAIL),
    ("gpu.recovery", "B200", {"recovery_action": 0}, {"recovery_action": 7}, FAIL),
    ("gpu.recovery", "B200", {"recovery_action": 0}, {"recovery_action": -1}, FAIL),
    ("memory.repair", "B200", {"unrepairable": False}, {"unrepairable": True}, FAIL),
    ("memory.repair", "B200", {"repair_pending": False}, {"repair_pending": True}, FAIL),
    ("memory.remapped_rows", "L4", {"remapped_uncorrectable": 511}, {"remapped_uncorrectable": 512}, WARN),
    ("memory.remapped_rows", "L4", {"remap_pending": False}, {"remap_pending": True}, FAIL),
    ("memory.remapped_rows", "L4", {"remap_failure": False}, {"remap_failure": True}, FAIL),
    ("memory.retired_pages", "T4", {"retired_pages": 62}, {"retired_pages": 63}, FAIL),
    ("memory.retired_pages", "T4", {"retired_pending": False}, {"retired_pending": True}, FAIL),
    ("ecc.sram", "L40S", {"sram_uncorrected": 0}, {"sram_uncorrected": 1}, FAIL),
    ("ecc.sram", "L40S", {"sram_threshold": NO}, {"sram_threshold": True}, FAIL),
    ("ecc.dram", "L40S", {"dram_uncorrected": 0}, {"dram_uncorrected": 1}, WARN),
    ("clocks.held", "H200", {"clock_reasons": 0x117}, {"clock_reasons": 0x11F}, FAIL),
    ("clocks.held", "H200", {"clock_reasons": 0x000}, {"clock_reasons": 0x040}, FAIL),
    ("clocks.held", "H200", {"clock_reasons": 0x001}, {"clock_reasons": 0x080}, FAIL),
    ("clocks.held", "H200", {"clock_reasons": 0x110}, {"clock_reasons": 0x020}, WARN),
    ("clocks.held", "H200", {"clock_reasons": 0x002}, {"clock_reasons": 0x060}, FAIL),
    ("gpu.temperature", "T4", {"thermal_margin": 1}, {"thermal_margin": 0}, FAIL),
    ("gpu.temperature", "T4", {"thermal_margin": 90}, {"thermal_margin": -1}, FAIL),
    ("power.limit", "T4", {"power_limit_mw": 70_000}, {"power_limit_mw": 69_999}, WARN),
    ("power.limit", "T4", {"power_limit_mw": 75_000}, {"power_default_mw": 75_000}, WARN),
    ("clocks.limit", "T4", {"max_sm_mhz": 1590}, {"max_sm_mhz": 1589}, WARN),
    ("clocks.limit", "L40S", {"max_sm_mhz": 2520}, {"max_sm_mhz": 2519}, WARN),
    ("clocks.limit", "A100-40", {"max_sm_mhz": 1410}, {"max_sm_mhz": 1409}, WARN),
    ("clocks.limit", "H100", {"max_sm_mhz": 1980}, {"max_sm_mhz": 1979}, WARN),
    ("clocks.limit", "B200", {"max_sm_mhz": 1965}, {"max_sm_mhz": 1964}, WARN),
    ("clocks.limit", "GB200", {"max_sm_mhz": 2062}, {"max_sm_mhz": 2061}, WARN),
    ("pcie.width", "T4", {"pcie_width": 8}, {"pcie_width": 7}, FAIL),
    ("pcie.width", "L40S", {"pcie_width": 8}, {"pcie_width": 4}, FAIL),
    ("pcie.width", "L4", {"pcie_width": 8}, {"pcie_width": 4}, FAIL),
    ("pcie.width", "H200", {"pcie_width": 16}, {"pcie_width": 15}, FAIL),
    ("pcie.width", "RTX6000", {"pcie_width": 16}, {"pcie_width": 8}, FAIL),
    ("pcie.generation", "T4", {"pcie_generation": 3}, {"pcie_generation": 2}, FAIL),
    ("pcie.generation", "L40S", {"pcie_generation": 4}, {"pcie_generation": 3}, FAIL),
    ("pcie.generation", "A100-40", {"pcie_generation": 4}, {"pcie_generation": 3}, FAIL),
    ("pcie.generation", "H100", {"pcie_generation": 5}, {"pcie_generation": 4}, FAIL),
    ("pcie.generation", "B200", {"pcie_generation": 6}, {"pcie_generation": 4}, FAIL),
    ("pcie.generation", "GB200", {"pcie_generation": 5}, {"pcie_generation": 4}, FAIL),
    ("nvlink.links", "A100-40", {"nvlinks": (True,) * 12}, {"nvlinks": (True,) * 11}, FAIL),
    ("nvlink.links", "H100", {"nvlinks": (True,) * 18}, {"nvlinks": (False, *(True,) * 17)}, FAIL),
    ("nvlink.links", "B200", {"nvlinks": (True,) * 18}, {"nvlinks": (True,) * 17}, FAIL),
    ("nvlink.links", "GB200", {"nvlinks": (*(True,) * 18, False)}, {"nvlinks": ()}, FAIL),
    ("nvlink.errors", "B200", {"nvlink_recoveries": 0}, {"nvlink_recoveries": 1}, FAIL),
    ("nvlink.peers", "B200", {"unreachable": ()}, {"unreachable": (7,)}, FAIL),
    ("nvlink.peers", "B200", {"unreachable": (8, 99)}, {"unreachable": (0, 99)}, FAIL),
    ("fabric.state", "GB200", joined(state=3), joined(state=2), FAIL),
    ("fabric.state", "GB200", joined(state=3), joined(state=4), FAIL),
    ("fabric.state", "GB200", joined(status=0), joined(status=1), FAIL),
    ("fabric.state", "GB200", joined(health=None), joined(health=1 << 0), FAIL),
    ("fabric.state", "GB200", joined(health=2 << 0), joined(health=1 << 2), FAIL),
    ("fabric.state", "GB200", joined(health=2 << 2), joined(health=3 << 2 | 1 << 4), FAIL),
    ("fabric.state", "GB200", joined(health=2 << 4), joined(health=1 << 4), FAIL),
    ("fabric.state", "GB200", joined(health=2 << 6), joined(health=1 << 6), FAIL),
    ("fabric.state", "GB200", joined(health=1 << 8), joined(health=2 << 8), FAIL),
    ("fabric.state", "GB200", joined(health=3 << 12), joined(health=8 << 8), FAIL),
    ("fabric.domain", "GB200", joined(clique=2), joined(clique=1), FAIL),
    ("fabric.domain", "GB200", joined(cluster=FABRIC.cluster), joined(cluster=NOBODY), FAIL),
    ("load.processes", "L4", {"processes": ()}, {"processes": (1,)}, FAIL),
    ("load.utilization", "L4", {"utilization": 10}, {"utilization": 11}, FAIL),
    ("mig.mode", "L4", {"mig_current": NO}, {"mig_current": True, "mig_pending": True}, FAIL),
    ("mig.mode", "H100", {"mig_pending": False}, {"mig_pending": True}, FAIL),
]  # fmt: skip
# The same for values of the node.
NODE = [
    ("driver.version", {"driver": "580.105.08"}, {"driver": "580.105.07"}, FAIL),
    ("driver.version", {"driver": "580.105.08.01"}, {"driver": "580.105"}, FAIL),
    ("driver.version", {"driver": "1000.1"}, {"driver": "99.105.08"}, FAIL),
    ("driver.version", {"driver": "590.44.01"}, {"driver": "580.95.99"}, FAIL),
    ("driver.whole", {"kernel_driver": "580.105.08"}, {"kernel_driver": "580.105.8"}, FAIL),
    ("host.environment", {"environment": {"CUDA_PROFILER": "1"}},
     {"environment": {"CUDA_PROFILE": ""}}, WARN),
    ("rdma.gpudirect", {"modules": (), "open_modules": True}, {"modules": (), "open_modules": False}, FAIL),
    ("rdma.gpudirect", {"modules": ("nv_peer_mem",), "open_modules": NO},
     {"modules": ("nvidia_peer",), "open_modules": NO}, FAIL),
    ("rdma.gpudirect", {"modules": ("efa_nv_peermem",), "open_modules": False},
     {"modules": ("efa",), "open_modules": False}, FAIL),
]  # fmt: skip
# Adapters: how many, which names, how fast; and the result for a machine with 8 of 400 Gb/s.
ADAPTERS = [
    ("rdma.devices", {"devices": 8}, PASS),
    ("rdma.devices", {"devices": 9}, FAIL),
    ("rdma.devices", {"devices": 7}, PASS),
    ("rdma.devices", {"kind": "roce"}, FAIL),
    ("rdma.devices", {"kind": "efa"}, FAIL),
    ("rdma.devices", {"kind": "token-ring"}, FAIL),
    ("rdma.devices", {"devices": 1, "names": ("infiniband_7",)}, PASS),
    ("rdma.devices", {"devices": 1, "names": ("infiniband_8",)}, FAIL),
    ("rdma.devices", {"devices": 3, "names": ("infiniband_0", "infiniband_1")}, FAIL),
    ("rdma.ports", {"gbps_per_device": 400.0}, PASS),
    ("rdma.ports", {"gbps_per_device": 400.1}, FAIL),
    ("rdma.ports", {"gbps_per_device": None}, PASS),
]
# MIG: slices of a GPU with so much memory, and the profile's name.
PROFILES = [
    ((1, 1, 4864), 40960, "1g.5gb"),
    ((1, 1, 9856), 40960, "1g.10gb"),
    ((2, 2, 9856), 40960, "2g.10gb"),
    ((3, 3, 19968), 40960, "3g.20gb"),
    ((4, 4, 19968), 40960, "4g.20gb"),
    ((7, 7, 40192), 40960, "7g.40gb"),
    ((1, 1, 9728), 81920, "1g.10gb"),
    ((1, 1, 19968), 81920, "1g.20gb"),
    ((7, 7, 80384), 81920, "7g.80gb"),
    ((7, 3, 80384), 81920, "3c.7g.80gb"),
    ((1, 1, 10240), 81920, "1g.10gb"),
    ((1, 1, 10241), 81920, "1g.20gb"),
    ((1, 1, 16384), 143771, "1g.18gb"),
    ((1, 1, 100), 0, "1g.0gb"),
]
# A card, a fault, and its report: check, value, threshold, unit, and the complete reason.
TOLD = [
    (
        "L4",
        {"answers": False},
        ("gpu.answers", False, True, "", "the GPU is lost or needs a reset"),
    ),
    (
        "L4",
        {"pci_id": "27b9"},
        ("gpu.product", "27B9", "27B8", "", "the product name matches, the PCI device id does not"),
    ),
    ("L4", {"memory_mib": 9}, ("gpu.memory", 9, 22855.68, "MiB", "memory is missing")),
    ("L4", {"uuid": ""}, ("gpu.identity", 0, 1, "UUIDs", "several GPUs have UUID ''")),
    ("L4", {"recovery_action": 1}, ("gpu.recovery", 1, 0, "", "the driver reports: reset the GPU")),
    (
        "L4",
        {"recovery_action": 2},
        ("gpu.recovery", 2, 0, "", "the driver reports: reboot the node"),
    ),
    (
        "L4",
        {"recovery_action": 8},
        ("gpu.recovery", 8, 0, "", "the driver reports: unknown recovery action 8"),
    ),
    ("L4", {"repair_pending": True}, ("memory.repair", True, False, "", "a repair is pending")),
    (
        "L4",
        {"remap_pending": True},
        ("memory.remapped_rows", True, False, "", "a remapping is pending until the GPU is reset"),
    ),
    (
        "L4",
        {"remapped_uncorrectable": 600},
        ("memory.remapped_rows", 600, 512, "rows", "too many rows are remapped"),
    ),
    (
        "T4",
        {"retired_pages": 64},
        ("memory.retired_pages", 64, 63, "pages", "no spare pages are left"),
    ),
    (
        "T4",
        {"retired_pending": True},
        ("memory.retired_pages", True, False, "", "a page retirement is pending"),
    ),
    ("L4", {"sram_uncorrected": 2}, ("ecc.sram", 2, 0, "", "uncorrected SRAM errors")),
    (
        "L4",
        {"sram_threshold": True},
        ("ecc.sram", True, False, "", "SRAM errors exceed the device's threshold"),
    ),
    (
        "L4",
        {"clock_reasons": 0xC8},
        (
            "clocks.held",
            "0xc8",
            "none of 0xc8",
            "",
            "clocks throttled: hardware slowdown, heat, power brake",
        ),
    ),
    (
        "L4",
        {"clock_reasons": 0x21},
        ("clocks.held", "0x21", "none of 0xe8", "", "the driver throttles clocks because of heat"),
    ),
    (
        "L4",
        {"thermal_margin": -3},
        ("gpu.temperature", -3, 1, "°C to slowdown", "the idle GPU is at its slowdown temperature"),
    ),
    ("L4", {"pcie_width": 1}, ("pcie.width", 1, 8, "lanes", "fewer PCIe lanes than expected")),
    (
        "L4",
        {"pcie_generation": 1},
        ("pcie.generation", 1, 3, "generation", "a slower PCIe slot than expected"),
    ),
    (
        "H100",
        {"nvlinks": (False, *(True,) * 16, False)},
        ("nvlink.links", 16, 18, "links", "links down: 0, 17"),
    ),
    (
        "H100",
        {"nvlinks": (True,) * 16},
        ("nvlink.links", 16, 18, "links", "links down: some are missing"),
    ),
    (
        "H100",
        {"unreachable": (0, 2, 9)},
        ("nvlink.peers", 2, 0, "pairs", "no NVLink path 1-0, 1-2"),
    ),
    (
        "H100",
        {"unreachable": (*range(8), 0)},
        ("nvlink.peers", 9, 0, "pairs", "no NVLink path 1-0, 1-1, 1-2, 1-3, 1-4, 1-5, 1-6, 1-7"),
    ),
    (
        "H100",
        {"fabric": replace(FABRIC, state=1)},
        (
            "fabric.state",
            "state 1, status 0",
            "state 3, status 0",
            "",
            "fabric not started, status 0",
        ),
    ),
    (
        "H100",
        {"fabric": replace(FABRIC, state=3, status=7)},
        (
            "fabric.state",
            "state 3, status 7",
            "state 3, status 0",
            "",
            "fabric completed, status 7",
        ),
    ),
    (
        "H100",
        {"fabric": replace(FABRIC, health=0x51)},
        (
            "fabric.state",
            "0x51",
            "healthy",
            "",
            "fabric: bandwidth degraded, routes unhealthy, access timed out",
        ),
    ),
    (
        "H100",
        {"fabric": replace(FABRIC, health=0x204)},
        ("fabric.state", "0x204", "healthy", "", "fabric: routes in recovery, wrong configuration"),
    ),
    (
        "L4",
        {"processes": tuple(range(10))},
        ("load.processes", 10, 0, "processes", "running processes: 0, 1, 2, 3, 4, 5, 6, 7"),
    ),
    ("L4", {"utilization": 100}, ("load.utilization", 100, 10, "%", "the GPU is in use")),
    (
        "H100",
        {"mig_current": True, "mig_pending": True},
        ("mig.mode", True, False, "", "MIG is on"),
    ),
    (
        "H100",
        {"mig_pending": True},
        ("mig.mode", True, False, "", "a MIG mode change is pending until the GPU is reset"),
    ),
]
