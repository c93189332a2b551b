"""Ranks of several nodes, as real processes over real sockets: how they meet, and how each failure ends."""

import json
import os
import queue
import signal
import socket
import sys
import threading
import time

import pytest

from gpuyard_validator.nccl import agent, coordinator
from gpuyard_validator.nccl.log import Transport, read_log
from gpuyard_validator.nccl.record import Collectives, Work
from gpuyard_validator.nccl.wire import authenticate, receive, send, send_proof
from gpuyard_validator.values import decode
from kit.ranks.group import ROOT, TOKEN, Nodes, a_run, alive, as_process, free_port
from kit.waiting import SHORTER, until

pytestmark = pytest.mark.allow_hosts(["127.0.0.1", "::1", "localhost"])
SHAPES = [(2, 1), (2, 2), (4, 4)]
FOUR = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
STEP = 6


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    """Makes a run; when the test has ended no process of it is alive."""
    marker = f"ranks-of-{tmp_path.name}-{os.getpid()}"
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}/components{os.pathsep}{ROOT}/tests")
    monkeypatch.setattr(coordinator, "GRACE_SECONDS", 3.0)
    monkeypatch.setattr(agent, "PAUSE_SECONDS", 0.1)

    def make(*shape, seconds=100, host="127.0.0.1", faults=(), **more):
        monkeypatch.setenv("FAULTS", json.dumps(dict(faults)))
        return Nodes(marker, a_run(*shape, **more), seconds=seconds, host=host)

    yield make
    assert alive(marker) == []


@pytest.mark.parametrize(("count", "gpus"), SHAPES)
def test_all_ranks_meet_run_and_leave_with_one_record(nodes, count, gpus):
    group = nodes(count, gpus, work=Work(operations=FOUR, size=1 << 20, rounds=1, halving_size=0))
    group.all()
    record = group.record
    assert set(group.ends.values()) == {"done"}
    assert record.finished
    assert [(each.rank, each.node) for each in record.ends] == [
        (rank, f"host-{rank // gpus}") for rank in range(count * gpus)
    ]
    assert [(m.operation, m.wrong, len(m.ranks)) for m in record.measures] == [
        (each, 0, count * gpus) for each in FOUR
    ]
    assert all(each.seconds > 0 for each in record.measures)
    assert record.versions == ("2.31.2",)
    assert (record.bisected, record.slow) == (False, ())


@pytest.mark.parametrize(("count", "gpus"), SHAPES)
def test_a_rank_that_hangs_is_named_with_its_node_and_killed(nodes, count, gpus):
    """It never enters, so it and no other is to blame; the others wait inside."""
    last = f"{count - 1}.{gpus - 1}"
    group = nodes(count, gpus, step_seconds=STEP + count, faults={last: "hang@begin"})
    began = time.monotonic()
    group.all()
    assert time.monotonic() - began < 4 * STEP + count
    *others, bad = group.record.ends
    assert (bad.rank, bad.node, bad.end) == (count * gpus - 1, f"host-{count - 1}", "hung")
    assert bad.output == "did not start: joining the communicator"
    assert {each.end for each in others} == {"stopped"}
    assert others[0].output == "waited for others: joining the communicator"
    assert not group.record.finished


@pytest.mark.parametrize(("count", "gpus"), SHAPES)
def test_a_rank_that_dies_is_named_at_once_with_its_last_words(nodes, count, gpus):
    group = nodes(count, gpus, faults={"0.0": "die@run"})
    began = time.monotonic()
    group.all()
    assert time.monotonic() - began < group.run.step_seconds, "nobody waits for a step to run out"
    bad, *others = group.record.ends
    assert (bad.rank, bad.node, bad.end) == (0, "host-0", "crashed")
    assert bad.output == "exit code 7: CUDA error: an illegal memory access"
    assert {each.end for each in others} <= {"stopped", "crashed"}, (
        "whom it was connected to may break too"
    )


def test_a_split_network_is_no_rank_s_fault_alone(nodes):
    """All have begun, and whom it cannot reach does not end either: neither is called innocent."""
    group = nodes(2, 2, step_seconds=STEP, faults={"1.1": "hang@join"})
    group.all()
    assert group.ends == {0: "hung", 1: "stopped", 2: "stopped", 3: "hung"}
    assert group.record.ends[3].output == "did not finish: joining the communicator"


def test_a_library_that_is_missing_or_breaks_is_told_in_its_own_words(nodes):
    group = nodes(1, 2, faults={"0.1": "no-library"})
    group.all()
    assert group.record.ends[1].output == "ImportError: No module named 'nccl'"
    group = nodes(1, 2, faults={"0.0": "break@run"})
    group.all()
    assert group.record.ends[0].output == "RuntimeError: NCCLError UnhandledCudaError (1)"
    assert group.ends[1] in ("stopped", "crashed"), (
        "it may see the end of the other's connection first"
    )


def test_a_rank_that_says_nonsense_is_broken(nodes):
    group = nodes(1, 2, faults={"0.1": "babble@join"})
    group.all()
    assert group.record.ends[1].output == "printed 'not a line of ours\\n'"


def test_a_node_that_comes_late_is_waited_for_and_one_that_comes_too_late_is_not(nodes):
    group = nodes(2, 1)
    group.start(0)
    time.sleep(1)
    group.start(1)
    group.ended()
    assert set(group.ends.values()) == {"done"}
    group = nodes(3, 2, join_seconds=3)
    group.start(1)
    group.start(0)
    group.ended()
    assert group.ends == {
        0: "stopped",
        1: "stopped",
        2: "stopped",
        3: "stopped",
        4: "absent",
        5: "absent",
    }
    absent = group.record.ends[4]
    assert (absent.node, absent.output) == ("node 2", "it did not join within 3 s")


def knocks(port, index, gpus=1, token=TOKEN):
    """What the first node answers to somebody with the token."""
    with socket.create_connection(("127.0.0.1", port)) as peer:
        send_proof(peer, token)
        send(peer, {"index": index, "gpus": gpus, "node": "late"})
        return receive(peer)


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_who_does_not_belong_is_told_why_and_disturbs_nobody(nodes):
    group = nodes(2, 1, faults={"1.0": "hang@run"}, step_seconds=STEP)
    group.start(0)
    port = group.common.port
    until(lambda: listens(port), seconds=SHORTER)
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
    for index, gpus, why in (
        (2, 1, "node index 2 is not below 2, the number of nodes"),
        ("x", 1, "node index 'x' is not below 2, the number of nodes"),
        (1, 8, "it has 8 GPUs, the run has 1 per node"),
        (0, 1, "node 0 has already joined"),
    ):
        said = until(
            lambda i=index, g=gpus: knocks(port, i, g), lambda a, w=why: a["why"] == w, SHORTER
        )
        assert said["kind"] == "refused"
    group.start(1)
    until(lambda: len(alive(group.marker)), lambda count: count == 2, SHORTER)
    assert knocks(port, 1) == {"kind": "refused", "why": "the run has started without it"}
    group.ended()
    assert group.ends == {0: "hung", 1: "hung"}


def test_another_token_lets_nobody_in(nodes):
    group = nodes(2, 1, join_seconds=4)
    group.start(0)
    until(lambda: listens(group.common.port), seconds=SHORTER)
    group.start(1, run=a_run(2, 1, token=b"another", join_seconds=4))
    found = group.ended()
    assert [each.end for each in found[0].ends] == ["stopped", "absent"]
    (bad,) = found[1].ends
    assert (bad.rank, bad.node, bad.end, bad.output) == (
        1,
        "host-1",
        "crashed",
        "the token was rejected",
    )


def test_a_node_obeys_no_stranger_in_the_first_node_s_place(nodes):
    group = nodes(2, 1)
    with agent.listen(group.common.port, "127.0.0.1") as false:
        group.start(1)
        peer, _ = false.accept()
        with peer:
            send(peer, {"nonce": "00" * 32})
            receive(peer)
            send(peer, {"proof": "00" * 32})
        group.ended()
    assert group.records[1].ends[0].output == "the server has another token"


def test_a_node_that_cannot_reach_the_first_is_named_by_both(nodes):
    group = nodes(2, 1, join_seconds=3)
    group.start(0)
    group.start(1, port=free_port())
    found = group.ended()
    assert [each.end for each in found[0].ends] == ["stopped", "absent"]
    assert found[1].ends[0].output.startswith("cannot reach the first node at 127.0.0.1 port")


def test_a_node_that_goes_away_is_named(nodes):
    """Before all are there, and after: its connection ends, as when a pod is evicted."""
    group = nodes(2, 1, join_seconds=20)
    group.start(0)
    until(lambda: listens(group.common.port), seconds=SHORTER)
    group.run = a_run(2, 1)
    assert knocks(group.common.port, 1) == {"kind": "in"}
    group.ended()
    assert group.ends == {0: "stopped", 1: "crashed"}
    group = nodes(2, 1)
    group.start(0)
    until(lambda: listens(group.common.port), seconds=SHORTER)
    with socket.create_connection(("127.0.0.1", group.common.port)) as peer:
        send_proof(peer, TOKEN)
        send(peer, {"index": 1, "gpus": 1, "node": "host-1"})
        assert receive(peer) == {"kind": "in"}
        assert receive(peer)["kind"] == "step"
    group.ended()
    assert group.ends == {0: "stopped", 1: "crashed"}
    assert group.record.ends[1].output.startswith("its node disconnected: ")


def test_the_first_node_hears_of_one_that_has_gone_before_it_came_itself():
    """It comes a moment later than the other went: on a busy machine that is so."""
    said = queue.SimpleQueue()
    for each in (("in", 1, None), ("gone", 1, "it closed")):
        said.put(each)
    mine, other = socket.socketpair(), socket.socketpair()
    members = {1: other[0]}

    def comes():
        members[0] = mine[0]
        said.put(("in", 0, None))

    later = threading.Timer(0.2, comes)
    with socket.create_server(("127.0.0.1", 0)) as listening, mine[1] as first, other[1]:
        later.start()
        coordinator.Coordinator(a_run(2, 1), listening, said, members, {0: "a", 1: "b"}).serve()
        heard = receive(first)
    record = decode(Collectives, heard["record"])
    assert [(each.end, each.output) for each in record.ends] == [
        ("stopped", "waited for others: joining"),
        ("crashed", "it closed"),
    ]


def test_that_a_node_came_may_be_heard_after_that_another_has_gone(monkeypatch):
    """A node goes in the moment in which the last one comes."""
    monkeypatch.setattr(coordinator, "GRACE_SECONDS", 3.0)
    said = queue.SimpleQueue()
    waits = {"states": {"0": ("waiting", "")}, "replies": {}}
    for each in (("in", 1, None), ("gone", 1, "it closed"), ("in", 0, None), ("said", 0, waits)):
        said.put(each)
    pairs = [socket.socketpair() for _ in range(2)]
    members = {n: pair[0] for n, pair in enumerate(pairs)}
    with socket.create_server(("127.0.0.1", 0)) as listening, pairs[0][1] as first, pairs[1][1]:
        coordinator.Coordinator(a_run(2, 1), listening, said, members, {0: "a", 1: "b"}).serve()
        heard = [receive(first) for _ in range(3)]
    assert [each["kind"] for each in heard] == ["step", "abort", "end"]
    assert [each.end for each in decode(Collectives, heard[-1]["record"]).ends] == [
        "stopped",
        "crashed",
    ]


def test_a_node_that_falls_silent_is_named(nodes):
    group = nodes(2, 1, step_seconds=STEP)
    group.start(0)
    until(lambda: listens(group.common.port), seconds=SHORTER)
    with socket.create_connection(("127.0.0.1", group.common.port)) as peer:
        send_proof(peer, TOKEN)
        send(peer, {"index": 1, "gpus": 1, "node": "host-1"})
        group.ended()
    assert [(each.end, each.output) for each in group.record.ends] == [
        ("stopped", "waited for others: joining the communicator"),
        ("hung", "its node did not answer: joining the communicator"),
    ]


def test_a_first_node_that_goes_away_ends_the_others(nodes):
    group = nodes(2, 1)
    with agent.listen(group.common.port, "127.0.0.1") as first:
        group.start(1)
        peer, _ = first.accept()
        with peer:
            authenticate(peer, TOKEN)
            receive(peer)
            send(peer, {"kind": "in"})
        group.ended()
    assert group.records[1].ends[0].output.startswith("lost the connection to the first node: ")


@pytest.mark.parametrize("record", [{"on": 1}, None])
def test_a_result_that_makes_no_sense_is_none(nodes, record):
    group = nodes(2, 1)
    with agent.listen(group.common.port, "127.0.0.1") as first:
        group.start(1)
        peer, _ = first.accept()
        with peer:
            authenticate(peer, TOKEN)
            receive(peer)
            send(peer, {"kind": "in"})
            send(peer, {"kind": "end", "record": record})
            group.ended()
    assert group.records[1].ends[0].output.startswith("cannot read the first node's result: ")


def test_the_parent_s_deadline_is_the_last_word(nodes):
    """Longer steps than time: what waits is killed, and told by how far it had come."""
    group = nodes(1, 2, seconds=4, step_seconds=60, faults={"0.1": "hang@join"})
    began = time.monotonic()
    group.all()
    assert time.monotonic() - began < 4 + agent.LEAVE_SECONDS + STEP
    assert group.record.ends[1].output.startswith(
        "not finished within 4 s: GPU 0 entered, GPU 1 entered"
    )


def test_a_rank_that_does_not_leave_is_killed(nodes, monkeypatch):
    monkeypatch.setattr(agent, "LEAVE_SECONDS", 0.5)
    group = nodes(1, 1, faults={"0.0": "hang@end"})
    group.all()
    assert group.ends == {0: "done"}, "it has done all that it was asked for"


def test_ranks_die_with_a_parent_that_is_killed(nodes):
    group = nodes(1, 2, faults={"0.0": "hang@run", "0.1": "hang@run"})
    process = as_process(group.marker, free_port(), 100)
    until(lambda: len(alive(group.marker)), lambda count: count == 3, SHORTER, what="both ranks")
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: alive(group.marker), lambda found: not found, SHORTER, what="their end")


def test_nodes_meet_by_ipv6(nodes):
    group = nodes(2, 1, host="::1")
    group.all()
    assert set(group.ends.values()) == {"done"}


@pytest.mark.parametrize("able", [True, False])
def test_it_listens_by_ipv4_where_there_is_no_ipv6(monkeypatch, able):
    real = socket.create_server

    def without(address, **given):
        if given.get("family") is socket.AF_INET6:
            raise OSError("Address family not supported by protocol")
        return real(address, **given)

    monkeypatch.setattr(socket, "create_server", without)
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: able)
    with agent.listen(0) as found:
        assert found.family is socket.AF_INET


def test_a_first_node_that_cannot_listen_says_so(nodes):
    group = nodes(2, 1)
    with agent.listen(group.common.port):
        group.start(0)
        group.ended()
    assert "Address already in use" in group.records[0].ends[0].output


def test_wrong_results_are_counted_and_logs_and_versions_are_collected(nodes, monkeypatch):
    log = ROOT / "tests/validator/nccl/logs/efa.log"
    monkeypatch.setenv("LOG", str(log))
    group = nodes(1, 2, faults={"0.1": "wrong"})
    group.all()
    assert [each.wrong for each in group.record.measures] == [1]
    assert [{hop.transport for hop in read_log(text).hops} for text in group.record.logs] == [
        {Transport.EFA}
    ] * 2
    group = nodes(1, 2, faults={"0.1": "old"})
    group.all()
    assert group.record.versions == ("2.18.1", "2.31.2")


def test_a_slow_rank_is_found_among_eight_by_halving(nodes, monkeypatch):
    monkeypatch.setenv("TAKES", "0.001")
    work = Work(operations=("all_reduce",), size=1 << 16, rounds=1, halving_size=1 << 14)
    group = nodes(2, 4, work=work, faults={"1.1": "takes:0.01"})
    group.all()
    assert (group.record.bisected, group.record.slow) == (True, (5,))
    assert group.record.measures[0].seconds == 0.01, "the slowest rank's"


def test_one_rank_alone_has_nobody_to_be_compared_with(nodes):
    group = nodes(1, 1, work=Work(operations=(), size=1 << 16, rounds=1, halving_size=1 << 14))
    group.all()
    assert (group.record.finished, group.record.bisected) == (True, False)


def test_what_each_rank_of_nccl_is_started_with():
    assert list(agent.NCCL) == [sys.executable, "-B", "-m", "gpuyard_validator.nccl.rank"]


def test_a_program_that_is_not_there_is_told(nodes):
    group = nodes(1, 1)
    group.start(0, command=("/nowhere/python",))
    group.ended()
    assert "No such file or directory: '/nowhere/python'" in group.records[0].ends[0].output
