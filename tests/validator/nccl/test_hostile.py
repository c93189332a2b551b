"""What nobody meant to happen: mutilated logs and records, noise on the port, chance, a missing library."""

import json
import os
import random
import socket
import subprocess
import sys
import threading

import pytest

from gpuyard_validator.expectations import CollectivePeers
from gpuyard_validator.nccl import agent, coordinator
from gpuyard_validator.nccl.coordinator import ANSWERED, DIED, ENTERED, FAILED, WAITING
from gpuyard_validator.nccl.log import Transport, excerpt, read_log, wrong_transport_hops
from gpuyard_validator.nccl.record import ABSENT, CRASHED, HUNG, STOPPED
from gpuyard_validator.results import Code, Status
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import CannotRead, read_snapshot, snapshot_json
from gpuyard_validator.values import Missing, MissingReason, encode
from kit.cases.hardware import expected, machine
from kit.every import every
from kit.ranks import loopback
from kit.ranks.group import PROGRAM, ROOT, TOKEN, Nodes, a_run, alive, free_port
from kit.searches import numbers
from kit.waiting import SHORTER, until

LOGS = sorted((ROOT / "tests/validator/nccl/logs").glob("*.log"))
LOCAL = pytest.mark.allow_hosts(["127.0.0.1", "::1"])


# How the ranks of a step stood, and what is said of each: the worst kind alone is to blame.
BLAMED = [
    ([ENTERED, ENTERED], [HUNG, HUNG]),
    ([ANSWERED, ENTERED], [STOPPED, HUNG]),
    ([ENTERED, WAITING, ENTERED], [STOPPED, HUNG, STOPPED]),
    ([FAILED, WAITING, ENTERED], [CRASHED, STOPPED, STOPPED]),
    ([FAILED, DIED, FAILED], [STOPPED, CRASHED, STOPPED]),
    ([FAILED, FAILED, ANSWERED], [CRASHED, CRASHED, STOPPED]),
    ([HUNG, WAITING], [HUNG, STOPPED]),
    ([HUNG, DIED], [STOPPED, CRASHED]),
    ([STOPPED, ABSENT], [STOPPED, ABSENT]),
    ([STOPPED, CRASHED], [STOPPED, CRASHED]),
    ([ANSWERED, ANSWERED], [STOPPED, STOPPED]),
]


@every("states, ends", BLAMED)
def test_the_worst_is_to_blame_and_the_others_waited(states, ends):
    over = coordinator._Over("all_reduce", {n: (state, "words") for n, state in enumerate(states)})
    found = coordinator._blamed(over)
    assert [end for end, _ in found.values()] == ends
    for end, said in found.values():
        if end == STOPPED:
            assert said == "waited for others: all_reduce"
        elif end == HUNG:
            assert said.endswith(": all_reduce")
        else:
            assert said == "words"


def test_every_state_has_its_blame():
    seen = {state for states, _ in BLAMED for state in states}
    assert seen == {ANSWERED, ENTERED, WAITING, FAILED, DIED, HUNG, ABSENT, STOPPED, CRASHED}
    assert {end for _, ends in BLAMED for end in ends} == {HUNG, STOPPED, CRASHED, ABSENT}


def mutilated(text, chance):
    lines = text.splitlines()
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(lines))
        line = lines[place]
        match chance.randrange(5):
            case 0:
                lines[place] = line[: chance.randrange(len(line) + 1)]
            case 1:
                lines[place] = line[chance.randrange(len(line) + 1) :]
            case 2:
                lines.insert(place, chance.choice(lines))
            case 3:
                lines[place] = line.replace(" ", chance.choice(["", "  ", "\t", "\x00", "/"]))
            case 4:
                lines[place] = line + chance.choice(lines)
    return "\n".join(lines)


@pytest.mark.search
def test_a_mutilated_log_is_read_and_its_excerpt_says_the_same():
    texts = [path.read_text() for path in LOGS]
    for number in numbers("1500"):
        chance = random.Random(number)  # noqa: S311  a search that can be had again
        text = mutilated(chance.choice(texts), chance)
        found = read_log(text)
        assert {hop.transport for hop in found.hops} <= set(Transport), number
        assert set(wrong_transport_hops(found, 8, "nvlink", "efa")) <= set(found.hops), number
        assert read_log(excerpt(text)) == found, number


@pytest.mark.search
def test_a_mutilated_record_of_a_run_never_passes_by_what_it_lacks():
    whole = json.loads(snapshot_json(machine("H100-loaded")))
    fields = sorted(whole["collectives"])
    for number in numbers("120"):
        chance = random.Random(number)  # noqa: S311  a search that can be had again
        raw = json.loads(json.dumps(whole))
        name = chance.choice(fields)
        strange = chance.choice([None, True, -1, 10**30, "x", [], {}, [None], {"missing": "lost"}])
        raw["collectives"][name] = strange
        try:
            seen = read_snapshot(json.dumps(raw))
        except CannotRead:
            continue
        report = validate(expected("H100-loaded"), seen)
        broken = [r for r in report.results if r.evidence.status is Status.ERROR]
        assert not broken, (number, name, strange, broken)
        same = seen.collectives == machine("H100-loaded").collectives
        harmless = name in ("on", "versions", "slow", "nodes", "gpus", "bisected")
        assert report.code is Code.FAILED or same or harmless, (number, name, strange)


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    marker = f"hostile-{tmp_path.name}-{os.getpid()}"
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}/components{os.pathsep}{ROOT}/tests")
    monkeypatch.setattr(coordinator, "GRACE_SECONDS", 3.0)

    def make(*shape, faults=(), **more):
        monkeypatch.setenv("FAULTS", json.dumps(dict(faults)))
        return Nodes(marker, a_run(*shape, **more), seconds=100)

    yield make
    assert alive(marker) == []


@LOCAL
def test_noise_on_the_port_keeps_nobody_out(nodes):
    """Strangers who send nonsense, nothing, or half of something, while the nodes come."""
    group = nodes(2, 1)
    group.start(0)
    chance, open_ones, stop = random.Random(17), [], threading.Event()  # noqa: S311  noise

    def noise():
        while not stop.is_set() and len(open_ones) < coordinator.MAX_UNAUTHENTICATED // 2:
            try:
                peer = socket.create_connection(("127.0.0.1", group.common.port), 1)
            except OSError:
                continue
            open_ones.append(peer)
            with_it = chance.randbytes(chance.choice([0, 1, 4, 64, 4096]))
            try:
                peer.sendall(with_it)
            except OSError:
                continue

    stranger = threading.Thread(target=noise)
    stranger.start()
    until(lambda: len(open_ones) > 8, seconds=SHORTER)
    group.start(1)
    group.ended()
    stop.set()
    stranger.join()
    for peer in open_ones:
        peer.close()
    assert set(group.ends.values()) == {"done"}


@LOCAL
@pytest.mark.search
@pytest.mark.parametrize("seed", range(3))
def test_whoever_breaks_by_chance_is_among_those_that_are_named(nodes, seed):
    chance = random.Random(seed)  # noqa: S311  a search that can be had again
    bad = chance.randrange(4)
    fault = chance.choice(["die@run", "break@run", "die@join", "no-library", "hang@begin"])
    group = nodes(2, 2, step_seconds=6, faults={f"{bad // 2}.{bad % 2}": fault})
    group.all()
    named = {rank for rank, end in group.ends.items() if end in ("crashed", "hung")}
    assert bad in named, (fault, group.record.ends)
    if "break" not in fault:
        assert named == {bad}, (fault, group.record.ends)


@LOCAL
def test_the_program_by_itself_names_what_it_lacks(tmp_path):
    """Two nodes as whole programs, as a Job would start them; there is no GPU here, nor a driver."""
    wanted = expected("H100-loaded", gpus=1, collectives=CollectivePeers(nodes=2, between="efa"))
    (tmp_path / "wanted").write_text(json.dumps(encode(wanted)))
    (tmp_path / "token").write_bytes(TOKEN)
    port, started = free_port(), []
    for index in range(2):
        seen = encode(machine("H100-loaded")) | {
            "collectives": encode(Missing(MissingReason.UNASKED)),
            "node": f"n{index}",
        }
        (tmp_path / f"machine{index}").write_text(json.dumps(seen))
        given = {
            "expect": "wanted", "snapshot": f"machine{index}", "token-file": "token",
            "termination-log": f"said{index}",
        }  # fmt: skip
        words = [
            word for name, file in given.items() for word in (f"--{name}", str(tmp_path / file))
        ]
        words += ["--first", f"127.0.0.1:{port}", "--check", "nccl.ranks", "--deadline", "60"]
        environment = {
            **os.environ,
            "JOB_COMPLETION_INDEX": str(index),
            "PYTHONPATH": f"{ROOT}/components",
        }
        program = [sys.executable, "-m", "gpuyard_validator", *words]
        started.append(
            subprocess.Popen(
                program, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )
    assert [each.wait(timeout=90) for each in started] == [1, 1]
    for index in range(2):
        said = (tmp_path / f"said{index}").read_text()
        assert said.startswith(f"failed: node n{index}, pool train: 1 checks ran, 1 failed\n")
        assert 'crashed: DynamicLibNotFoundError: "cuda" is an NVIDIA driver library' in said


def test_a_rank_s_program_is_where_it_says():
    assert loopback.__file__ == str(PROGRAM)
    assert agent.NCCL[-1] == "gpuyard_validator.nccl.rank"
