"""What collectives have shown under load: that all ranks end, rightly, fast, by the way that was bought."""

from functools import partial

from gpuyard_validator.checks.check import PLAN, Check, evaluate
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
from gpuyard_validator.values import Missing, MissingReason, ReportedBy, UnknownValue, known

OWN_LOG = "NCCL's own log"
SHOWN = 4
"""So many ranks or channels are named."""
FEW = 4
"""Of fewer ranks none can be compared with the others."""
_BITS = 8


def ranks(expected: Expectations, machine: Snapshot) -> Evidence:
    """Each came, and none hung or died."""
    run = _run(machine)
    required = expected.gpus * _peers(expected).nodes
    ended = sum(each.end == DONE for each in run.ends)
    bad = [
        f"rank {each.rank} on {each.node} {each.end}: {each.output}"
        for each in run.ends
        if each.end not in (DONE, "stopped")
    ]
    is_complete = run.finished and ended == required
    wrong = "" if is_complete else "; ".join(bad[:SHOWN]) or "not all ranks took part"
    return evaluate(ended, required, PLAN, wrong, unit="ranks")


def results(_: Expectations, machine: Snapshot) -> Evidence:
    """Sums are sums, and copies copies."""
    measures = _finished(machine).measures
    bad = {each.operation: each.wrong for each in measures if each.wrong}
    wrong = f"wrong elements in {', '.join(bad)}" if bad else ""
    return evaluate(sum(bad.values()), 0, "arithmetic", wrong, unit="elements")


def versions(_: Expectations, machine: Snapshot) -> Evidence:
    """One library and one network plugin on all nodes."""
    run = _finished(machine)
    networks = {log.network for log in _logs(run)}
    mixed = [each for each in (set(run.versions), networks) if len(each) > 1]
    wrong = f"mixed: {', '.join(sorted(name or 'none' for name in mixed[0]))}" if mixed else ""
    distinct = sorted({*run.versions, *networks} - {""})
    return evaluate(distinct, "one of each", "one image for a pool", wrong)


def transport(expected: Expectations, machine: Snapshot) -> Evidence:
    """The way that each channel took, against the way that was bought."""
    together, logs = _peers(expected), _logs(_finished(machine))
    inside = NVLINK if expected.nvlink_gbps else PCIE
    hops = {hop for log in logs for hop in log.hops}
    outer = {hop for log in logs for hop in between_nodes(log, expected.gpus)}
    if not (outer if together.nodes > 1 else hops):
        raise UnknownValue(
            "the way of its channels", Missing(MissingReason.MALFORMED, f"{OWN_LOG} names none")
        )
    bad = [
        hop
        for log in logs
        for hop in wrong_transport_hops(log, expected.gpus, inside, together.between)
    ]
    ways = sorted({f"{hop.source} to {hop.target} by {hop.log_line}" for hop in bad})
    causes = dict.fromkeys(cause for log in logs for cause in log.causes)
    wrong = "; ".join([", ".join(ways[:SHOWN]), *causes]) if bad else ""
    floor = f"{inside} inside, {together.between} between nodes"
    return evaluate(len(ways), floor, OWN_LOG, wrong, unit="channels astray")


def gpudirect(expected: Expectations, machine: Snapshot) -> Evidence:
    """Adapters reach GPU memory on every channel between nodes: else all goes through the host's."""
    together, logs = _peers(expected), _logs(_finished(machine))
    right = INTER_NODE[together.between]
    outer = {hop for log in logs for hop in between_nodes(log, expected.gpus)}
    hops = {hop for hop in outer if hop.transport in right}
    if not hops:
        raise ReportedBy("nccl.transport")
    without = sorted(
        f"{hop.source} to {hop.target} by {hop.log_line}" for hop in hops if not hop.gdr
    )
    wrong = f"through the host's memory: {', '.join(without[:SHOWN])}" if without else ""
    return evaluate(len(without), 0, OWN_LOG, wrong, unit="channels")


def bandwidth(operation: Operation, expected: Expectations, machine: Snapshot) -> Evidence:
    """Bus bandwidth of the slowest rank, against what was measured elsewhere or what the links carry."""
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
    wrong = "slower than others have measured" if result < usual else ""
    return evaluate_rate(usual, wrong=wrong, status=Status.WARN)


def stragglers(_: Expectations, machine: Snapshot) -> Evidence:
    """No rank makes the others slow."""
    run = _finished(machine)
    if not run.bisected:
        raise UnknownValue("which ranks are slow", Missing(MissingReason.UNASKED))
    names = [f"rank {each.rank} on {each.node}" for each in run.ends if each.rank in run.slow]
    wrong = f"slower than the others: {', '.join(names[:SHOWN])}" if names else ""
    return evaluate(len(names), 0, "pairs of the same run", wrong, unit="ranks")


def _peers(expected: Expectations) -> CollectivePeers:
    assert expected.collectives is not None, "they apply only where there is one"  # noqa: S101
    return expected.collectives


def _run(machine: Snapshot) -> Collectives:
    return known(machine.collectives, "how collectives run")


def _finished(machine: Snapshot) -> Collectives:
    """Half a run says nothing of the rest."""
    run = _run(machine)
    if not run.finished:
        raise ReportedBy("nccl.ranks")
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
        why = "a message below 1 GiB, or adapters of unknown rate"
        raise UnknownValue(f"a floor for {operation}", Missing(MissingReason.NOT_SUPPORTED, why))
    return result


def _network_gbps(expected: Expectations, machine: Snapshot) -> float | None:
    """GB/s of adapters a GPU: as the plan says; else as many as it says, at the rate of the fastest."""
    network = expected.network
    if network is None:
        return None
    each = network.gbps_per_device
    if each is None and not isinstance(machine.adapters, Missing):
        each = max((adapter.gbps for adapter in machine.adapters), default=0.0)
    return network.devices * each / _BITS / expected.gpus if each else None


def _loaded(expected: Expectations) -> str:
    if expected.profile == QUICK or expected.collectives is None:
        return "the profile quick puts no load on a GPU"
    if expected.layouts:
        return "its GPUs are cut: NCCL joins whole ones"
    return "" if expected.gpus * expected.collectives.nodes > 1 else "one GPU has nobody to talk to"


def _between(expected: Expectations) -> str:
    if reason := _loaded(expected):
        return reason
    if _peers(expected).nodes == 1:
        return "it runs inside one node"
    by = INTER_NODE[_peers(expected).between]
    return "no adapters reach GPU memory" if {Transport.TCP, Transport.P2P} & set(by) else ""


def _fast(expected: Expectations) -> str:
    if reason := _loaded(expected):
        return reason
    together = _peers(expected)
    unknown = together.nodes > 1 and together.between == "tcp" and expected.network is None
    return "nobody says what its network carries" if unknown else ""


def _compared(expected: Expectations) -> str:
    if reason := _loaded(expected):
        return reason
    few = expected.gpus * _peers(expected).nodes < FEW
    return f"fewer than {FEW} ranks cannot be compared" if few else ""


_SAID = "the collective is slower than its links allow"
_DO = "look at nccl.transport and nccl.stragglers first; then at clocks and links of the slow node"
COLLECTIVES = (
    Check(
        id="nccl.ranks",
        group="nccl",
        description="a rank hung, died or never came",
        remediation="look at the node that is named: its GPU by nvidia-smi, the kernel's log for XIDs, its network",
        node=ranks,
        applies=_loaded,
    ),
    Check(
        id="nccl.results",
        group="nccl",
        description="a collective came to a wrong result",
        remediation="run the node's memory checks; take it out until they have passed",
        node=results,
        applies=_loaded,
    ),
    Check(
        id="nccl.versions",
        group="nccl",
        description="nodes run different versions of NCCL or of its network plugin",
        remediation="use one image, by its digest",
        node=versions,
        applies=_loaded,
    ),
    Check(
        id="nccl.transport",
        group="nccl",
        description="NCCL took another way than the machine has, as TCP where there is EFA or InfiniBand",
        remediation="do what the reason says; the image needs the cloud's network plugin, and the pod its devices",
        node=transport,
        applies=_loaded,
    ),
    Check(
        id="nccl.gpudirect",
        group="nccl",
        description="adapters go through the host's memory",
        remediation="use the open kernel modules, or load nvidia-peermem; look whether the pod may lock memory",
        node=gpudirect,
        applies=_between,
    ),
    *(
        Check(
            id=f"nccl.{operation}",
            group="nccl",
            description=_SAID,
            remediation=_DO,
            node=partial(bandwidth, operation),
            applies=_fast,
            unit="GB/s",
        )
        for operation in Operation
    ),
    Check(
        id="nccl.stragglers",
        group="nccl",
        description="some ranks are slower than the others, and hold them up",
        remediation="take the node that is named out, and run again; compare its links and clocks",
        node=stragglers,
        applies=_compared,
    ),
)
