"""Are the ways open: PCIe, NVLink, the fabric, other nodes."""

from gpuyard_validator.checks.check import NVML, PLAN, Check, alive, at_least, evaluate
from gpuyard_validator.expectations import Expectations
from gpuyard_validator.results import Action, Evidence
from gpuyard_validator.snapshot import Adapter, Gpu, Snapshot
from gpuyard_validator.thresholds import Quantity, common, threshold_of
from gpuyard_validator.values import known

FABRIC_COMPLETED = 3
_FABRIC_STATES = ("not supported", "not started", "in progress", "completed")
_NOBODY = "00000000-0000-0000-0000-000000000000"
_HEALTH = {
    "bandwidth degraded": (0, 1),
    "routes in recovery": (2, 1),
    "routes unhealthy": (4, 1),
    "access timed out": (6, 1),
}
"""Two bits each, at this shift; 1 is true. The configuration's four bits lie at 8, and 2 or more is wrong."""
_CONFIGURATION, _FOUR_BITS, _BAD = 8, 0xF, 2
_PEER_MODULES = ("nvidia_peermem", "nv_peer_mem", "efa_nv_peermem")
_FABRIC_SINCE = ("Hopper", "Blackwell")
_SWITCHED = 8
"""Fewer GPUs of one node may be joined without a switch, and such have no fabric."""


def pcie_width(expected: Expectations, gpu: Gpu) -> Evidence:
    """Lanes, against what nodes of this product have: a card of 16 is well on 8 where all are."""
    floor = threshold_of(Quantity.PCIE_WIDTH, expected.product) or common(Quantity.PCIE_WIDTH)
    return at_least(
        known(gpu.pcie_width, "its lanes"), floor, "lanes", "fewer lanes than it should"
    )


def pcie_generation(expected: Expectations, gpu: Gpu) -> Evidence:
    """What card and slot agree on at most; an idle link is slower, and rightly."""
    floor = threshold_of(Quantity.PCIE_GENERATION, expected.product) or common(
        Quantity.PCIE_GENERATION
    )
    result = known(gpu.pcie_generation, "its PCIe generation")
    return at_least(result, floor, "generation", "a slower slot than it should")


def nvlinks(expected: Expectations, gpu: Gpu) -> Evidence:
    """All links that make up the bandwidth are active."""
    rate = threshold_of(Quantity.NVLINK_RATE, expected.architecture)
    assert rate is not None, "it applies only where there is one"  # noqa: S101
    states = known(gpu.nvlinks, "its NVLinks")
    result, required = sum(states), int(expected.nvlink_gbps / rate.value)
    down = [str(n) for n, active in enumerate(states) if not active]
    source = f"{expected.nvlink_gbps} GB/s at {rate.value:g} a link: {rate.source_text}"
    wrong = f"links down: {', '.join(down) or 'some are not there'}" if result < required else ""
    return evaluate(result, required, source, wrong, unit="links", action=Action.RESET)


def nvlink_errors(_: Expectations, gpu: Gpu) -> Evidence:
    """No link had to recover."""
    result = known(gpu.nvlink_recoveries, "its link recoveries")
    wrong = "links have recovered from errors" if result else ""
    return evaluate(
        result, 0, "DCGM: 1 or more fails", wrong, unit="recoveries", action=Action.RESET
    )


def peers(_: Expectations, machine: Snapshot) -> Evidence:
    """Every GPU reaches every other: links can be up and the switch's tables wrong."""
    here = {gpu.index for gpu in alive(machine)}
    cut = [
        f"{gpu.index}-{other}"
        for gpu in alive(machine)
        for other in known(gpu.unreachable, f"peers of GPU {gpu.index}")
        if other in here
    ]
    wrong = f"no NVLink path {', '.join(cut[:8])}" if cut else ""
    return evaluate(len(cut), 0, NVML, wrong, unit="pairs", action=Action.REBOOT)


def fabric_state(_: Expectations, gpu: Gpu) -> Evidence:
    """The fabric manager has finished, and well."""
    fabric = known(gpu.fabric, "its fabric")
    if fabric.state != FABRIC_COMPLETED or fabric.status:
        names = dict(enumerate(_FABRIC_STATES))
        state_name = names.get(fabric.state, f"state {fabric.state}")
        wrong = f"the fabric is {state_name}, status {fabric.status}"
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


def fabric_domain(_: Expectations, machine: Snapshot) -> Evidence:
    """All GPUs of the node are in one NVLink domain, and in one at all."""
    results = sorted(
        {
            f"{fabric.cluster}.{fabric.clique}"
            for gpu in alive(machine)
            for fabric in [known(gpu.fabric, f"fabric of GPU {gpu.index}")]
        }
    )
    wrong = "its GPUs are in several NVLink domains" if len(results) > 1 else ""
    if any(each.startswith(_NOBODY) for each in results):
        wrong = "its GPUs are in no NVLink domain"
    return evaluate(results, 1, "one domain a rack", wrong, unit="domains", action=Action.REBOOT)


def rdma_devices(expected: Expectations, machine: Snapshot) -> Evidence:
    """The adapters of the machine; without them NCCL takes TCP, and that looks like slow GPUs."""
    network = expected.network
    assert network is not None, "it applies only where there is one"  # noqa: S101
    results = [each.name for each in _of_kind(expected, machine)]
    missing = [name for name in network.names if name not in results]
    wrong = f"{len(results)} of {network.devices} {network.kind} devices"
    wrong = wrong if len(results) < network.devices or missing else ""
    wrong = f"{wrong}, without {', '.join(missing)}" if missing else wrong
    return evaluate(
        len(results), network.devices, PLAN, wrong, unit="devices", action=Action.REPLACE
    )


def rdma_ports(expected: Expectations, machine: Snapshot) -> Evidence:
    """Every port is up and as fast as it should be."""
    network = expected.network
    assert network is not None, "it applies only where there is one"  # noqa: S101
    floor, bad = network.gbps_per_device or 0, []
    for each in _of_kind(expected, machine):
        if not each.active:
            bad.append(f"{each.name} is down")
        elif each.gbps < floor:
            bad.append(f"{each.name} runs at {each.gbps:g}")
    return evaluate(len(bad), 0, PLAN, ", ".join(bad[:8]), unit=f"ports below {floor:g} Gb/s")


def gpudirect(_: Expectations, machine: Snapshot) -> Evidence:
    """Adapters may reach the GPUs' memory: by dma-buf of the open module, or by a peer-memory module."""
    modules = known(machine.modules, "the kernel's modules")
    peer = [name for name in _PEER_MODULES if name in modules]
    opened = machine.open_modules is True
    wrong = "" if peer or opened else "neither the open kernel module nor one for peer memory"
    results = [*peer, *(["open module"] if opened else [])]
    return evaluate(
        results, "one of them", "NVIDIA GPUDirect RDMA: dma-buf or nvidia-peermem", wrong
    )


def _of_kind(expected: Expectations, machine: Snapshot) -> list[Adapter]:
    """Adapters of the expected kind: those named, where some are."""
    network = expected.network
    assert network is not None, "it applies only where there is one"  # noqa: S101
    kinds = {"efa": ("efa", ""), "infiniband": ("", "InfiniBand"), "roce": ("", "Ethernet")}
    driver, link = kinds.get(network.kind, ("", ""))
    results = [
        each
        for each in known(machine.adapters, "the host's RDMA devices")
        if (each.driver == driver if driver else each.driver != "efa" and each.link == link)
    ]
    return [each for each in results if each.name in network.names] if network.names else results


def _nvlink(expected: Expectations) -> str:
    if not expected.nvlink_gbps or expected.gpus < 2:  # noqa: PLR2004  two ends make a link
        return "its GPUs are not joined by NVLink"
    known_rate = threshold_of(Quantity.NVLINK_RATE, expected.architecture)
    return "" if known_rate else f"the rate of one link of {expected.architecture} is not known"


def _peers(expected: Expectations) -> str:
    return _nvlink(expected) or (
        "its GPUs are cut: slices have no NVLink" if expected.layouts else ""
    )


def _fabric(expected: Expectations) -> str:
    if reason := _nvlink(expected):
        return reason
    if expected.architecture not in _FABRIC_SINCE:
        return f"{expected.architecture} does not tell of its fabric"
    switched = expected.gpus >= _SWITCHED or expected.rack
    return "" if switched else "its GPUs may be joined without a switch"


def _rack(expected: Expectations) -> str:
    return "" if expected.rack else "its NVLink domain is the node"


def _network(expected: Expectations) -> str:
    return "" if expected.network else "no adapters are expected"


LINKS = (
    Check(
        id="pcie.width",
        group="links",
        description="the GPU has fewer PCIe lanes than others of its kind",
        remediation="replace the node; of your own: reseat the card",
        gpu=pcie_width,
        unit=Quantity.PCIE_WIDTH.value,
    ),
    Check(
        id="pcie.generation",
        group="links",
        description="the slot is slower than the product's nodes have",
        remediation="look at the BIOS's link speed of the slot",
        gpu=pcie_generation,
        unit=Quantity.PCIE_GENERATION.value,
    ),
    Check(
        id="nvlink.links",
        group="links",
        description="NVLinks are down",
        remediation="reset all GPUs of the node; when they stay down, replace it",
        gpu=nvlinks,
        applies=_nvlink,
    ),
    Check(
        id="nvlink.errors",
        group="links",
        description="NVLinks had to recover from errors",
        remediation="reset the GPUs; when it happens again, replace the node",
        gpu=nvlink_errors,
        applies=_nvlink,
        is_required=False,
    ),
    Check(
        id="nvlink.peers",
        group="links",
        description="GPUs of the node do not reach each other by NVLink",
        remediation="restart the fabric manager, then reboot",
        node=peers,
        applies=_peers,
    ),
    Check(
        id="fabric.state",
        group="links",
        description="the NVLink fabric is not ready, or not healthy",
        remediation="look at nvidia-fabricmanager's log; reboot",
        gpu=fabric_state,
        applies=_fabric,
    ),
    Check(
        id="fabric.domain",
        group="links",
        description="the node's GPUs are not in one NVLink domain of the rack",
        remediation="look at the rack's fabric manager and at IMEX",
        node=fabric_domain,
        applies=_rack,
    ),
    Check(
        id="rdma.devices",
        group="links",
        description="network adapters are missing",
        remediation="look whether the node was launched with all its interfaces; they may come late",
        node=rdma_devices,
        applies=_network,
    ),
    Check(
        id="rdma.ports",
        group="links",
        description="ports of network adapters are down or slow",
        remediation="look at cable, switch port and subnet manager",
        node=rdma_ports,
        applies=_network,
    ),
    Check(
        id="rdma.gpudirect",
        group="links",
        description="adapters cannot reach the GPUs' memory",
        remediation="use the open kernel modules, or load nvidia-peermem",
        node=gpudirect,
        applies=_network,
    ),
)
