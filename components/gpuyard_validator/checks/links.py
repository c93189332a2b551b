"""Links: PCIe, NVLink, the NVLink fabric, network adapters."""

from gpuyard_validator.checks.check import (
    NVML,
    PLAN,
    check,
    evaluate,
    evaluate_minimum,
    responding_gpus,
)
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Action, Evidence
from gpuyard_validator.snapshot import Adapter, Gpu, Snapshot
from gpuyard_validator.thresholds import Quantity, common, threshold_of
from gpuyard_validator.values import require_known

FABRIC_COMPLETED = 3
_FABRIC_STATES = ("not supported", "not started", "in progress", "completed")
_NO_CLUSTER_UUID = "00000000-0000-0000-0000-000000000000"
_HEALTH = {
    "bandwidth degraded": (0, 1),
    "routes in recovery": (2, 1),
    "routes unhealthy": (4, 1),
    "access timed out": (6, 1),
}
"""Two bits each, at this shift; 1 is true. The configuration's four bits start at 8; 2 or more is an error."""
_CONFIGURATION, _FOUR_BITS, _BAD = 8, 0xF, 2
_PEER_MODULES = ("nvidia_peermem", "nv_peer_mem", "efa_nv_peermem")
_FABRIC_SINCE = ("Hopper", "Blackwell")
_SWITCHED = 8
"""Fewer GPUs than this may be connected without an NVSwitch, and then have no fabric."""


def pcie_width(expected: Expectations, gpu: Gpu) -> Evidence:
    """PCIe lanes, compared with other nodes of this product: an x16 card with 8 lanes passes where all have 8."""
    floor = threshold_of(Quantity.PCIE_WIDTH, expected.product) or common(Quantity.PCIE_WIDTH)
    return evaluate_minimum(
        require_known(gpu.pcie_width, "the PCIe lane count"),
        floor,
        "lanes",
        "fewer PCIe lanes than expected",
    )


def pcie_generation(expected: Expectations, gpu: Gpu) -> Evidence:
    """Highest PCIe generation of card and slot; an idle link runs slower, which is normal."""
    floor = threshold_of(Quantity.PCIE_GENERATION, expected.product) or common(
        Quantity.PCIE_GENERATION
    )
    result = require_known(gpu.pcie_generation, "the PCIe generation")
    return evaluate_minimum(result, floor, "generation", "a slower PCIe slot than expected")


def nvlinks(expected: Expectations, gpu: Gpu) -> Evidence:
    """All NVLinks that make up the bandwidth are active."""
    rate = threshold_of(Quantity.NVLINK_RATE, expected.architecture)
    assert rate is not None, "the check applies only where NVLink is expected"  # noqa: S101
    states = require_known(gpu.nvlinks, "the NVLink state")
    result, required = sum(states), int(expected.nvlink_gbps / rate.value)
    down = [str(n) for n, active in enumerate(states) if not active]
    source = f"{expected.nvlink_gbps} GB/s at {rate.value:g} per link: {rate.source_text}"
    wrong = f"links down: {', '.join(down) or 'some are missing'}" if result < required else ""
    return evaluate(result, required, source, wrong, unit="links", action=Action.RESET)


def nvlink_errors(_: Expectations, gpu: Gpu) -> Evidence:
    """No NVLink has recovered from errors."""
    result = require_known(gpu.nvlink_recoveries, "the NVLink recovery count")
    wrong = "links have recovered from errors" if result else ""
    return evaluate(
        result, 0, "DCGM: 1 or more fails", wrong, unit="recoveries", action=Action.RESET
    )


def peer_reachability(_: Expectations, machine: Snapshot) -> Evidence:
    """Every GPU reaches every other: with all links up, the switch's routing tables can still be wrong."""
    here = {gpu.index for gpu in responding_gpus(machine)}
    cut = [
        f"{gpu.index}-{other}"
        for gpu in responding_gpus(machine)
        for other in require_known(gpu.unreachable, f"the peers of GPU {gpu.index}")
        if other in here
    ]
    wrong = f"no NVLink path {', '.join(cut[:8])}" if cut else ""
    return evaluate(len(cut), 0, NVML, wrong, unit="pairs", action=Action.REBOOT)


def fabric_state(_: Expectations, gpu: Gpu) -> Evidence:
    """Fabric initialization has completed successfully."""
    fabric = require_known(gpu.fabric, "the fabric state")
    if fabric.state != FABRIC_COMPLETED or fabric.status:
        names = dict(enumerate(_FABRIC_STATES))
        state_name = names.get(fabric.state, f"state {fabric.state}")
        wrong = f"fabric {state_name}, status {fabric.status}"
        value = f"state {fabric.state}, status {fabric.status}"
        return evaluate(
            value, f"state {FABRIC_COMPLETED}, status 0", NVML, wrong, action=Action.REBOOT
        )
    mask = fabric.health or 0
    bad = [
        state_name for state_name, (shift, true) in _HEALTH.items() if (mask >> shift) & 3 == true
    ]
    if (mask >> _CONFIGURATION) & _FOUR_BITS >= _BAD:
        bad.append("wrong configuration")
    wrong = f"fabric: {', '.join(bad)}" if bad else ""
    return evaluate(hex(mask), "healthy", NVML, wrong, action=Action.RESET)


def one_fabric_domain(_: Expectations, machine: Snapshot) -> Evidence:
    """All GPUs of the node are in one NVLink domain."""
    results = sorted(
        {
            f"{fabric.cluster}.{fabric.clique}"
            for gpu in responding_gpus(machine)
            for fabric in [require_known(gpu.fabric, f"the fabric of GPU {gpu.index}")]
        }
    )
    wrong = "its GPUs are in several NVLink domains" if len(results) > 1 else ""
    if any(each.startswith(_NO_CLUSTER_UUID) for each in results):
        wrong = "its GPUs are in no NVLink domain"
    return evaluate(
        results, 1, "one domain for each rack", wrong, unit="domains", action=Action.REBOOT
    )


def rdma_devices(expected: Expectations, machine: Snapshot) -> Evidence:
    """The machine's network adapters; without them NCCL falls back to TCP, and GPUs appear slow."""
    network = expected.network
    assert network is not None, "the check applies only where adapters are expected"  # noqa: S101
    results = [each.name for each in _of_kind(expected, machine)]
    missing = [name for name in network.names if name not in results]
    wrong = f"{len(results)} of {network.devices} {network.kind} devices"
    wrong = wrong if len(results) < network.devices or missing else ""
    wrong = f"{wrong}, missing {', '.join(missing)}" if missing else wrong
    return evaluate(
        len(results), network.devices, PLAN, wrong, unit="devices", action=Action.REPLACE
    )


def rdma_ports(expected: Expectations, machine: Snapshot) -> Evidence:
    """Every port is up, at the expected rate."""
    network = expected.network
    assert network is not None, "the check applies only where adapters are expected"  # noqa: S101
    floor, bad = network.gbps_per_device or 0, []
    for each in _of_kind(expected, machine):
        if not each.active:
            bad.append(f"{each.name} is down")
        elif each.gbps < floor:
            bad.append(f"{each.name} runs at {each.gbps:g} Gb/s")
    return evaluate(len(bad), 0, PLAN, ", ".join(bad[:8]), unit=f"expected {floor:g} Gb/s")


def gpudirect_module_loaded(_: Expectations, machine: Snapshot) -> Evidence:
    """Adapters can access GPU memory: through dma-buf of the open module, or a peer-memory module."""
    modules = require_known(machine.modules, "the list of kernel modules")
    peer = [name for name in _PEER_MODULES if name in modules]
    opened = machine.open_modules is True
    wrong = (
        ""
        if peer or opened
        else "neither the open kernel module nor a peer-memory module is loaded"
    )
    results = [*peer, *(["open module"] if opened else [])]
    return evaluate(
        results,
        "open module or peer-memory module",
        "NVIDIA GPUDirect RDMA: dma-buf or nvidia-peermem",
        wrong,
    )


def _of_kind(expected: Expectations, machine: Snapshot) -> list[Adapter]:
    """Adapters of the expected kind; the expected names, where they are listed."""
    network = expected.network
    assert network is not None, "the check applies only where adapters are expected"  # noqa: S101
    kinds = {"efa": ("efa", ""), "infiniband": ("", "InfiniBand"), "roce": ("", "Ethernet")}
    driver, link = kinds.get(network.kind, ("", ""))
    results = [
        each
        for each in require_known(machine.adapters, "the list of RDMA devices")
        if (each.driver == driver if driver else each.driver != "efa" and each.link == link)
    ]
    return [each for each in results if each.name in network.names] if network.names else results


def _nvlink(expected: Expectations) -> str:
    if not expected.nvlink_gbps or expected.gpus < 2:  # noqa: PLR2004  two ends make a link
        return "its GPUs are not connected by NVLink"
    known_rate = threshold_of(Quantity.NVLINK_RATE, expected.architecture)
    return "" if known_rate else f"the NVLink rate of {expected.architecture} is unknown"


def _peers(expected: Expectations) -> str:
    return _nvlink(expected) or (
        "its GPUs are partitioned: MIG slices have no NVLink" if expected.layouts else ""
    )


def _fabric(expected: Expectations) -> str:
    if reason := _nvlink(expected):
        return reason
    if expected.architecture not in _FABRIC_SINCE:
        return f"{expected.architecture} does not report its fabric"
    switched = expected.gpus >= _SWITCHED or expected.rack
    return "" if switched else "its GPUs may be connected without an NVSwitch"


def _rack(expected: Expectations) -> str:
    return "" if expected.rack else "its NVLink domain is the node"


def _network(expected: Expectations) -> str:
    return "" if expected.network else "no network adapters are expected"


LINKS = (
    check("pcie.width", pcie_width),
    check("pcie.generation", pcie_generation),
    check("nvlink.links", nvlinks, _nvlink),
    check("nvlink.errors", nvlink_errors, _nvlink),
    check("nvlink.peers", peer_reachability, _peers),
    check("fabric.state", fabric_state, _fabric),
    check("fabric.domain", one_fabric_domain, _rack),
    check("rdma.devices", rdma_devices, _network),
    check("rdma.ports", rdma_ports, _network),
    check("rdma.gpudirect", gpudirect_module_loaded, _network),
)
