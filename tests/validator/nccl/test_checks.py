"""What the checks of collectives say: values, floors, reasons, and when they cannot say anything."""

import json
import re
from dataclasses import replace

from gpuyard_validator import command
from gpuyard_validator.checks import CHECKS
from gpuyard_validator.expectations import AcceptedThreshold, CollectivePeers, Network
from gpuyard_validator.nccl.arithmetic import GIB, Operation
from gpuyard_validator.results import Code, Status
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import read_snapshot, snapshot_json
from gpuyard_validator.values import Missing, MissingReason, encode
from kit.cases.faults import ended, logged, ran, run
from kit.cases.hardware import collectives, expected, machine
from kit.every import every

PASS, WARN, FAIL, SKIP = Status.PASS, Status.WARN, Status.FAIL, Status.SKIP
NCCL = {name: check for name, check in CHECKS.items() if name.startswith("nccl.")}
TWO, ONE = "H100-loaded", "B200-loaded"
TODAY = "2026-11-24"
BETWEEN = ("nccl.gpudirect",)


def said(check, fault=lambda m: m, name=TWO, **wanted):
    """The evidence of one check on a machine with this fault."""
    found = validate(expected(name, **wanted), fault(machine(name)), {check: CHECKS[check]})
    (result,) = found.results
    return result.evidence


def together(**more):
    return {"collectives": CollectivePeers(**{"nodes": 2, "between": "efa", **more})}


def accepted(gbps, until=TODAY, check="nccl.all_reduce"):
    lower = AcceptedThreshold(check=check, value=gbps, reason="NVLS is off", until=until)
    return {**together(), "accepted": (lower,)}


# A check, a fault, what it says of it: value, floor, unit and reason.
TOLD = [
    ("nccl.ranks", ended(end="hung", output="did not finish: all_reduce"), 15, 16, "ranks",
     "rank 3 on node-1 hung: did not finish: all_reduce"),
    ("nccl.ranks", ended(end="stopped"), 15, 16, "ranks", "not all ranks joined"),
    ("nccl.results", ran("all_gather", wrong=7), 7, 0, "elements", "wrong elements in all_gather"),
    ("nccl.versions", run(versions=("2.18.1", "2.31.2")), ["2.18.1", "2.31.2", "Libfabric"], "one version",
     "", "mixed: 2.18.1, 2.31.2"),
    ("nccl.versions", lambda m: run(logs=("", *m.collectives.logs[1:]))(m), ["2.31.2", "Libfabric"],
     "one version", "", "mixed: Libfabric, none"),
    ("nccl.transport", logged(r"NET/Libfabric/0/GDRDMA", "NET/Socket/0"), 16,
     "nvlink within a node, efa between nodes", "channels on another transport", ", ".join(
         f"{a} to {b} by NET/Socket/0" for a, b in ((0, 8), (1, 9), (10, 2), (11, 3)))),
    ("nccl.transport", logged("Using network Libfabric", "NET/IB : No device found."), 0,
     "nvlink within a node, efa between nodes", "channels on another transport", ""),
    ("nccl.gpudirect", logged(r"(0\[0\] -> 8.*)/GDRDMA", r"\1"), 1, 0,
     "channels", "copied through host memory: 0 to 8 by NET/Libfabric/0"),
    ("nccl.all_reduce", ran("all_reduce", 292.1), 292.1, 292.2, "GB/s", "slower than its links allow"),
    ("nccl.all_reduce", ran("all_reduce", 400), 400.0, 438.3, "GB/s", "slower than published measurements"),
    ("nccl.all_reduce", ran("all_reduce", 292.24), 292.2, 438.3, "GB/s", "slower than published measurements"),
    ("nccl.all_reduce", ran("all_reduce", 438.3), 438.3, 438.3, "GB/s", ""),
    ("nccl.stragglers", run(slow=(5, 12)), 2, 0, "ranks",
     "slower than the others: rank 5 on node-1, rank 12 on node-2"),
]  # fmt: skip


@every("check, fault, value, floor, unit, reason", TOLD)
def test_value_floor_and_reason_are_told(check, fault, value, floor, unit, reason):
    found = said(check, fault)
    assert (found.value, found.threshold, found.unit, found.reason) == (value, floor, unit, reason)
    assert (found.status is PASS) is not reason


def test_a_fall_back_to_tcp_says_why_and_what_to_do():
    log = "NCCL INFO NET/IB : No device found.\nNCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0"
    found = said("nccl.transport", run(logs=(log,) * 16))
    assert (found.status, found.value) == (FAIL, 1)
    assert found.reason == (
        "0 to 8 by NET/Socket/0; NCCL sees no InfiniBand device: give the pod its adapters"
    )


def test_no_more_than_four_are_named():
    all_hung = said("nccl.ranks", lambda m: run(ends=tuple(
        replace(each, end="hung", output="did not finish") for each in m.collectives.ends))(m))  # fmt: skip
    assert all_hung.value == 0
    assert len(all_hung.reason.split("; ")) == 4
    slow = said("nccl.stragglers", run(slow=tuple(range(9))))
    assert (slow.value, len(slow.reason.split(", "))) == (9, 4)
    bare = said("nccl.gpudirect", logged("/GDRDMA", ""))
    assert (bare.value, len(bare.reason.split(", "))) == (16, 4)


@every(
    "check, fault, reason",
    [
        (
            "nccl.transport",
            run(logs=("",) * 16),
            "the transport of its channels is unknown (malformed",
        ),
        ("nccl.stragglers", run(bisected=False), "the set of slow ranks is unknown (unasked)"),
        ("nccl.all_reduce", run(measures=()), "the bandwidth of all_reduce is unknown (unasked)"),
        (
            "nccl.all_reduce",
            ran("all_reduce", size=GIB - 1),
            "the threshold of all_reduce is unknown",
        ),
        (
            "nccl.ranks",
            lambda m: replace(m, collectives=Missing(MissingReason.UNASKED)),
            "the result of the collectives",
        ),
        (
            "nccl.results",
            lambda m: replace(m, collectives=Missing(MissingReason.UNASKED)),
            "the result of the collectives",
        ),
    ],
)
def test_what_was_not_seen_has_not_run_and_so_fails_where_it_is_required(check, fault, reason):
    report = validate(expected(TWO), fault(machine(TWO)), {check: CHECKS[check]})
    (result,) = report.results
    assert (result.evidence.status, result.required) == (SKIP, True)
    assert result.evidence.reason.startswith(f"not run: {reason}")
    assert report.code is Code.FAILED


def test_channels_inside_a_node_do_not_stand_for_those_between():
    inside = logged(r"NCCL INFO Channel 00/0 : \d+\[0\] -> \d+\[0\].*\n", "")
    assert said("nccl.transport", inside).status is SKIP
    alone = said("nccl.transport", name=ONE)
    assert (alone.status, alone.value) == (PASS, 0)


def test_a_check_that_another_tells_of_counts_only_without_that_one():
    """Left out is not passed: without `nccl.ranks` its dependents fail in its place."""
    broken = ended(end="hung", output="did not finish")(machine(TWO))
    report = validate(expected(TWO), broken)
    assert [each.check for each in report.blocking_results] == ["nccl.ranks"]
    others = {name: check for name, check in CHECKS.items() if name != "nccl.ranks"}
    report = validate(expected(TWO), broken, others)
    assert {each.check for each in report.blocking_results} == NCCL.keys() - {"nccl.ranks"}
    tcp = logged("Libfabric/0/GDRDMA", "Socket/0")(machine(TWO))
    assert [each.check for each in validate(expected(TWO), tcp).blocking_results] == [
        "nccl.transport"
    ]
    only = {"nccl.gpudirect": CHECKS["nccl.gpudirect"]}
    assert validate(expected(TWO), tcp, only).code is Code.FAILED


@every(
    "wanted, without, reason",
    [
        ({"profile": "quick"}, set(), "profile quick puts no load on GPUs"),
        ({"collectives": None}, set(), "profile quick puts no load on GPUs"),
        ({"gpus": 1, **together(nodes=1)}, set(), "a collective needs more than one GPU"),
        ({"layouts": expected("A100-40", cut=True).layouts}, set(), "its GPUs are partitioned"),
        ({"gpus": 3, **together(nodes=1)}, NCCL.keys() - {*BETWEEN, "nccl.stragglers"}, "fewer"),
        ({"gpus": 2, **together(nodes=1)}, NCCL.keys() - {*BETWEEN, "nccl.stragglers"}, "fewer"),
        ({"gpus": 2, **together(nodes=2)}, NCCL.keys(), ""),
        (together(nodes=1), NCCL.keys() - {"nccl.gpudirect"}, "the collectives run within one node"),
        (together(between="nvlink"), NCCL.keys() - {"nccl.gpudirect"}, "its network has no GPUDirect RDMA"),
        (together(between="tcp"), NCCL.keys() - {"nccl.gpudirect"}, "its network has no GPUDirect RDMA"),
        (
            {"network": None, **together(between="tcp")},
            {"nccl.ranks", "nccl.results", "nccl.versions", "nccl.transport", "nccl.stragglers"},
            "the rate of its network is unknown",
        ),
    ],
)  # fmt: skip
def test_they_apply_to_whole_gpus_that_run_together(wanted, without, reason):
    asked = expected(TWO, **wanted)
    applies = {name for name, check in NCCL.items() if not check.inapplicable_reason(asked)}
    assert applies == without
    reasons = {check.inapplicable_reason(asked) for check in NCCL.values()} - {""}
    assert not reason or any(each.startswith(reason) for each in reasons)


ODD = {"product": "NVIDIA-H100-NVL", "nvlink_gbps": 0}


@every(
    "wanted, gbps, status, floor",
    [
        # Nobody has measured three nodes: half of what adapters carry, as the plan or the fastest says.
        (together(nodes=3), 100.0, FAIL, 270.0),
        (together(nodes=3, between="roce"), 271.0, PASS, 270.0),
        ({"network": Network(kind="roce", devices=8, names=(), gbps_per_device=50.0),
          **together(nodes=3, between="roce")}, 35.8, FAIL, 0.5 * 6.25 * 23 / 2),
        ({"network": Network(kind="roce", devices=8, names=(), gbps_per_device=None),
          **together(nodes=3, between="roce")}, 71.0, FAIL, 0.5 * 12.5 * 23 / 2),
        # PCIe alone: told, not failed.
        ({**ODD, **together(nodes=1)}, 4.0, PASS, 0.15 * 16 * 0.985),
        ({**ODD, **together(nodes=1)}, 2.0, WARN, 0.15 * 16 * 0.985),
        # Accepted until its last day, and not after; above the real floor it changes nothing.
        (accepted(200), 300.0, WARN, 438.3),
        (accepted(200), 250.0, WARN, 200.0),
        (accepted(200), 199.0, FAIL, 200.0),
        (accepted(200, "2026-11-23"), 250.0, FAIL, 292.2),
        (accepted(200, check="nccl.all_gather"), 250.0, FAIL, 292.2),
    ],
)  # fmt: skip
def test_a_floor_is_the_one_of_product_nodes_and_network(wanted, gbps, status, floor):
    nodes = wanted["collectives"].nodes
    whole = replace(collectives(TWO), ends=collectives(TWO).ends[:8] * nodes)
    seen = replace(machine(TWO), collectives=whole)
    seen = ran("all_reduce", gbps)(seen)
    (result,) = validate(
        expected(TWO, **wanted), seen, {"nccl.all_reduce": CHECKS["nccl.all_reduce"]}, TODAY
    ).results
    assert result.evidence.status is status, result.evidence
    assert result.evidence.threshold == round(floor, 1)


def test_adapters_of_unknown_rate_leave_a_network_unjudged():
    unknown = {"network": Network(kind="roce", devices=8, names=(), gbps_per_device=None)}
    for adapters in (Missing(MissingReason.FAILED), ()):
        seen = replace(machine(TWO), adapters=adapters)
        asked = expected(TWO, **unknown, **together(nodes=3, between="roce"))
        (result,) = validate(asked, seen, {"nccl.all_reduce": CHECKS["nccl.all_reduce"]}).results
        assert (result.evidence.status, result.required) == (SKIP, True)


def test_a_run_is_part_of_a_recorded_machine():
    whole = machine(TWO)
    again = read_snapshot(snapshot_json(whole))
    assert again == whole
    assert validate(expected(TWO), again).code is Code.PASSED


def files(tmp_path, wanted, name=TWO, **more):
    whole = replace(machine(name), **more)
    (tmp_path / "machine").write_text(snapshot_json(whole))
    (tmp_path / "wanted").write_text(json.dumps(encode(wanted)))
    (tmp_path / "token").write_bytes(b"0123456789abcdef\n")
    return ["--snapshot", f"{tmp_path}/machine", "--expect", f"{tmp_path}/wanted"]


def test_the_program_runs_with_the_others_when_it_is_told_where_they_meet(
    tmp_path, monkeypatch, capsys
):
    parts = []
    monkeypatch.setattr(command, "run_agent", lambda part: parts.append(part) or collectives(TWO))
    bare = {"collectives": Missing(MissingReason.UNASKED)}
    given = files(tmp_path, expected(TWO), **bare)
    meet = ["--first", "check-0.svc:29500", "--token-file", f"{tmp_path}/token"]
    assert command.main(given) == 1
    assert "the result of the collectives is unknown" in capsys.readouterr().err
    assert command.main([*given, *meet, "--index", "1", "--deadline", "100"]) == 0
    (part,) = parts
    assert (part.host, part.port, part.index, part.node) == ("check-0.svc", 29500, 1, "node-1")
    assert (part.seconds, part.run.join_seconds, part.run.step_seconds) == (80, 32, 16)
    assert (part.run.nodes, part.run.gpus, part.run.token) == (2, 8, b"0123456789abcdef")
    assert (part.run.work.size, part.run.work.rounds) == (8 * GIB, 20)
    assert part.run.work.operations == tuple(each.value for each in Operation)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", part.run.on)
    assert command.main([*given, *meet, "--profile", "soak"]) == 1, "no steps were made"
    assert "work.step on gpu 7: not run" in capsys.readouterr().err
    assert parts[1].run.work.rounds == 2000
    assert command.main([*given, "--first", "[fd00::1]:29500", *meet[2:]]) == 0
    assert (parts[2].host, parts[2].index) == ("fd00::1", 0)
    assert command.main([*given, *meet, "--profile", "quick"]) == 0
    assert len(parts) == 3, "quick runs nothing"


def test_small_gpus_send_small_messages():
    assert command.collective_work(expected("L4")).size == GIB


@every(
    "more, problem",
    [
        ([], "--token-file FILE is required, with at least 16 secret bytes"),
        (
            ["--token-file", "{}/short"],
            "--token-file FILE is required, with at least 16 secret bytes",
        ),
        (["--token-file", "{}/none"], "No such file"),
        (
            ["--token-file", "{}/token", "--index", "2"],
            "--first HOST:PORT is required, and --index N below",
        ),
        (
            ["--token-file", "{}/token", "--index", "-1"],
            "--first HOST:PORT is required, and --index N below",
        ),
        (["--token-file", "{}/token", "--first", "host"], "--first HOST:PORT is required"),
        (["--token-file", "{}/token", "--first", ":29500"], "--first HOST:PORT is required"),
    ],
)
def test_a_run_that_cannot_begin_says_why(tmp_path, capsys, more, problem):
    given = files(tmp_path, expected(TWO))
    (tmp_path / "short").write_bytes(b" short ")
    more = [each.format(tmp_path) for each in more]
    assert command.main([*given, "--first", "host:1", *more]) == 3
    assert problem in capsys.readouterr().err


def test_a_profile_that_the_document_does_not_prepare_is_refused(tmp_path, capsys):
    given = files(tmp_path, expected("T4"), "T4")
    assert command.main([*given, "--profile", "full"]) == 3
    assert "collectives: required, because profile full runs collectives" in capsys.readouterr().err


def test_the_number_of_the_pod_is_that_of_its_job(tmp_path, monkeypatch):
    parts = []
    monkeypatch.setattr(command, "run_agent", lambda part: parts.append(part) or collectives(TWO))
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    meet = ["--first", "check-0.svc:29500", "--token-file", f"{tmp_path}/token"]
    assert command.main([*files(tmp_path, expected(TWO)), *meet]) == 0
    assert parts[0].index == 1
