"""NCCL collectives under load: every rank finishes, with correct results, at speed, over the expected transport."""

from functools import partial

from gpuyard_validator.checks.check import PLAN, check, evaluate
from gpuyard_validator.expectations import QUICK, CollectivePeers, Expectations
from gpuyard_validator.nccl.arithmetic import Operation, bus_gbps
from gpuyard_validator.nccl.log import (
    INTER_NODE,
    NcclLog,
    Transport,
    between_nodes,
    read_log,
    wrong_transport_hops,
)
from gpuyard_validator.nccl.record import DONE, Collectives
from gpuyard_validator.nccl.thresholds import (
    NVLINK,
    PCIE,
    BandwidthThreshold,
    Shape,
    bandwidth_threshold,
)
from gpuyard_validator.results import Evidence, Status
from gpuyard_validator.snapshot import Snapshot
from gpuyard_validator.values import (
    Missing,
    MissingReason,
    ReportedByOtherCheck,
    UnknownValue,
    require_known,
)

OWN_LOG = "the NCCL log"
SHOWN = 4
"""Maximum number of ranks or channels that a message lists."""
FEW = 4
"""With fewer ranks than this, stragglers cannot be identified."""
_BITS = 8


def ranks(expected: Expectations, machine: Snapshot) -> Evidence:
    """Every rank joined, and none hung or crashed."""
    run = _run(machine)
    required = expected.gpus * _peers(expected).nodes
    ended = sum(each.end == DONE for each in run.ends)
    bad = [
        f"rank {each.rank} on {each.node} {each.end}: {each.output}"
        for each in run.ends
        if each.end not in (DONE, "stopped")
    ]
    is_complete = run.finished and ended == required
    wrong = "" if is_complete else "; ".join(bad[:SHOWN]) or "not all ranks joined"
    return evaluate(ended, required, PLAN, wrong, unit="ranks")


def results(_: Expectations, machine: Snapshot) -> Evidence:
    """Reductions and copies have the correct values."""
    measures = _finished(machine).measures
    bad = {each.operation: each.wrong for each in measures if each.wrong}
    wrong = f"wrong elements in {', '.join(bad)}" if bad else ""
    return evaluate(sum(bad.values()), 0, "arithmetic", wrong, unit="elements")


def versions(_: Expectations, machine: Snapshot) -> Evidence:
    """All nodes run the same NCCL version and network plugin."""
    run = _finished(machine)
    networks = {log.network for log in _logs(run)}
    mixed = [each for each in (set(run.versions), networks) if len(each) > 1]
    wrong = f"mixed: {', '.join(sorted(name or 'none' for name in mixed[0]))}" if mixed else ""
    distinct = sorted({*run.versions, *networks} - {""})
    return evaluate(distinct, "one version", "one image for a pool", wrong)


def transport(expected: Expectations, machine: Snapshot) -> Evidence:
    """The transport of each channel, compared with the expected one."""
    together, logs = _peers(expected), _logs(_finished(machine))
    inside = NVLINK if expected.nvlink_gbps else PCIE
    hops = {hop for log in logs for hop in log.hops}
    outer = {hop for log in logs for hop in between_nodes(log, expected.gpus)}
    if not (outer if together.nodes > 1 else hops):
        raise UnknownValue(
            "the transport of its channels",
            Missing(MissingReason.MALFORMED, f"{OWN_LOG} lists no channel"),
        )
    bad = [
        hop
        for log in logs
        for hop in wrong_transport_hops(log, expected.gpus, inside, together.between)
    ]
    ways = sorted({f"{hop.source} to {hop.target} by {hop.log_line}" for hop in bad})
    causes = dict.fromkeys(cause for log in logs for cause in log.causes)
    wrong = "; ".join([", ".join(ways[:SHOWN]), *causes]) if bad else ""
    floor = f"{inside} within a node, {together.between} between nodes"
    return evaluate(len(ways), floor, OWN_LOG, wrong, unit="channels on another transport")


def gpudirect(expected: Expectations, machine: Snapshot) -> Evidence:
    """GPUDirect RDMA on every channel between nodes; without it, data is copied through host memory."""
    together, logs = _peers(expected), _logs(_finished(machine))
    right = INTER_NODE[together.between]
    outer = {hop for log in logs for hop in between_nodes(log, expected.gpus)}
    hops = {hop for hop in outer if hop.transport in right}
    if not hops:
        raise ReportedByOtherCheck("nccl.transport")
    without = sorted(
        f"{hop.source} to {hop.target} by {hop.log_line}" for hop in hops if not hop.gdr
    )
    wrong = f"copied through host memory: {', '.join(without[:SHOWN])}" if without else ""
    return evaluate(len(without), 0, OWN_LOG, wrong, unit="channels")


def bandwidth(operation: Operation, expected: Expectations, machine: Snapshot) -> Evidence:
    """Bus bandwidth of the slowest rank, compared with published measurements or the link rate."""
    run = _finished(machine)
    measure = next((each for each in run.measures if each.operation == operation), None)
    if measure is None:
        raise UnknownValue(f"the bandwidth of {operation}", Missing(MissingReason.UNASKED))
    limit = _bandwidth_threshold(operation, measure.size, expected, machine)
    floor, usual = round(limit.floor, 1), round(limit.typical, 1)
    result = round(bus_gbps(operation, len(measure.ranks), measure.size, measure.seconds), 1)
    evaluate_rate = partial(evaluate, result, source=limit.said, unit="GB/s")
    if result < floor:
        status = Status.FAIL if limit.is_enforced else Status.WARN
        return evaluate_rate(floor, wrong="slower than its links allow", status=status)
    wrong = "slower than published measurements" if result < usual else ""
    return evaluate_rate(usual, wrong=wrong, status=Status.WARN)


def stragglers(_: Expectations, machine: Snapshot) -> Evidence:
    """No rank slows down the others."""
    run = _finished(machine)
    if not run.bisected:
        raise UnknownValue("the set of slow ranks", Missing(MissingReason.UNASKED))
    names = [f"rank {each.rank} on {each.node}" for each in run.ends if each.rank in run.slow]
    wrong = f"slower than the others: {', '.join(names[:SHOWN])}" if names else ""
    return evaluate(len(names), 0, "pairs of ranks in the same run", wrong, unit="ranks")


def _peers(expected: Expectations) -> CollectivePeers:
    assert expected.collectives is not None, "applies only with collectives"  # noqa: S101
    return expected.collectives


def _run(machine: Snapshot) -> Collectives:
    return require_known(machine.collectives, "the result of the collectives")


def _finished(machine: Snapshot) -> Collectives:
    """A run that did not finish has no valid measurements."""
    run = _run(machine)
    if not run.finished:
        raise ReportedByOtherCheck("nccl.ranks")
    return run


def _logs(run: Collectives) -> list[NcclLog]:
    return [read_log(text) for text in run.logs]


def _bandwidth_threshold(
    operation: Operation, size: int, expected: Expectations, machine: Snapshot
) -> BandwidthThreshold:
    together = _peers(expected)
    several = together.nodes > 1
    shape = Shape(
        product=expected.product,
        gpus=expected.gpus,
        nodes=together.nodes,
        operation=operation,
        size=size,
        way=together.between if several else NVLINK if expected.nvlink_gbps else PCIE,
        nvlink=expected.nvlink_gbps,
        network=_network_gbps(expected, machine),
    )
    result = bandwidth_threshold(shape)
    if result is None:
        why = "the message is below 1 GiB, or the adapter rate is unknown"
        raise UnknownValue(
            f"the threshold of {operation}", Missing(MissingReason.NOT_SUPPORTED, why)
        )
    return result


def _network_gbps(expected: Expectations, machine: Snapshot) -> float | None:
    """Adapter GB/s per GPU, from the plan; without a planned rate, the rate of the fastest adapter found."""
    network = expected.network
    if network is None:
        return None
    each = network.gbps_per_device
    if each is None and not isinstance(machine.adapters, Missing):
        each = max((adapter.gbps for adapter in machine.adapters), default=0.0)
    return network.devices * each / _BITS / expected.gpus if each else None


def _loaded(expected: Expectations) -> str:
    if expected.profile == QUICK or expected.collectives is None:
        return "profile quick puts no load on GPUs"
    if expected.layouts:
        return "its GPUs are partitioned: NCCL needs whole GPUs"
    return (
        ""
        if expected.gpus * expected.collectives.nodes > 1
        else "a collective needs more than one GPU"
    )


def _between(expected: Expectations) -> str:
    if reason := _loaded(expected):
        return reason
    if _peers(expected).nodes == 1:
        return "the collectives run within one node"
    by = INTER_NODE[_peers(expected).between]
    return "its network has no GPUDirect RDMA" if {Transport.TCP, Transport.P2P} & set(by) else ""


def _fast(expected: Expectations) -> str:
    if reason := _loaded(expected):
        return reason
    together = _peers(expected)
    unknown = together.nodes > 1 and together.between == "tcp" and expected.network is None
    return "the rate of its network is unknown" if unknown else ""


def _compared(expected: Expectations) -> str:
    if reason := _loaded(expected):
        return reason
    few = expected.gpus * _peers(expected).nodes < FEW
    return f"fewer than {FEW} ranks cannot be compared" if few else ""


COLLECTIVES = (
    check("nccl.ranks", ranks, _loaded),
    check("nccl.results", results, _loaded),
    check("nccl.versions", versions, _loaded),
    check("nccl.transport", transport, _loaded),
    check("nccl.gpudirect", gpudirect, _between),
    *(check(f"nccl.{operation}", partial(bandwidth, operation), _fast) for operation in Operation),
    check("nccl.stragglers", stragglers, _compared),
)
