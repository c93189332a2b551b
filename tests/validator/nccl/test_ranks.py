"""One rank by itself: what it is asked and says, NCCL's Python interface, messages, and who is slow."""

import contextlib
import ctypes
import functools
import importlib
import inspect
import io
import json
import os
import random
import runpy
import socket
import struct
import sys
import threading
import types

import pytest
from packaging.version import Version

from gpuyard_validator.nccl import rank, wire
from gpuyard_validator.nccl.arithmetic import Operation
from gpuyard_validator.nccl.collective import NcclCollective
from gpuyard_validator.nccl.coordinator import bisect_slow_nodes
from gpuyard_validator.nccl.log import excerpt, read_log
from gpuyard_validator.nccl.wire import AuthenticationError, authenticate, receive, send, send_proof
from kit.every import every
from kit.ranks.loopback import Loopback, sent_by, spread
from kit.searches import numbers

TOKEN = b"token"


def served(tasks, made=Loopback):
    said = io.StringIO()
    code = rank.serve(made, io.StringIO("".join(json.dumps(t) + "\n" for t in tasks)), said)
    return code, [json.loads(line) for line in said.getvalue().splitlines()]


RUN = {"do": "run", "operation": "all_reduce", "size": 64, "rounds": 1}
JOIN = {"do": "join", "ranks": 1, "rank": 0, "id": b"[]".hex()}


def test_a_rank_says_its_version_then_enters_and_ends_each_task():
    class Alone(Loopback):
        def join(self, ranks, rank, unique_id):
            assert (ranks, rank, unique_id) == (1, 0, b"[]")

    code, said = served([JOIN, RUN, {"do": "leave"}], Alone)
    assert (code, said[0]) == (0, {"version": "2.31.2"})
    assert [each.get("entered") or each["done"] for each in said[1:]] == [
        "join", "join", "run", "run", "leave", "leave",
    ]  # fmt: skip
    assert said[4]["wrong"] == 0


def test_an_id_is_told_in_hex():
    class Named(Loopback):
        def unique_id(self):
            return b"\x00\xff"

    assert served([{"do": "id"}], Named)[1][-1] == {"done": "id", "id": "00ff"}


@every(
    "tasks, said",
    [
        ([{"do": "dance"}], "ValueError: unknown task: 'dance'"),
        (
            [{"do": "run", **RUN, "operation": "scan"}],
            "ValueError: 'scan' is not a valid Operation",
        ),
        ([RUN | {"do": "id"}, 7], "TypeError: 'int' object is not subscriptable"),
    ],
)
def test_what_breaks_is_told_and_ends_the_rank(tasks, said):
    class Quiet(Loopback):
        def unique_id(self):
            return b""

    code, found = served(tasks, Quiet)
    assert (code, found[-1]) == (1, {"failed": said})


def test_the_process_keeps_its_replies_apart_from_what_libraries_print(monkeypatch, tmp_path):
    replies, turned = tmp_path / "replies", []
    monkeypatch.setattr(rank, "die_with_parent", lambda: turned.append("dies"))
    monkeypatch.setattr(rank.os, "dup2", lambda *fds: turned.append(fds))
    file = replies.open("w")
    monkeypatch.setattr(rank.os, "fdopen", lambda *_, **__: file)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys, "argv", ["rank", "3"])
    made = []
    monkeypatch.setattr(rank, "NcclCollective", lambda gpu: made.append(gpu) or Loopback())
    monkeypatch.setattr(rank.os, "dup", turned.append)
    assert rank.main() == 0
    file.close()
    assert (made, turned) == ([3], ["dies", 1, (2, 1)])
    assert replies.read_text() == '{"version": "2.31.2"}\n'


def test_started_by_its_name_it_says_that_nccl_is_missing(monkeypatch, tmp_path):
    """As a parent starts it, but for the files and the word to the kernel, which are this process's own."""
    file = (tmp_path / "replies").open("w")
    for name in ("dup", "dup2"):
        monkeypatch.setattr(os, name, lambda *_: 0)
    monkeypatch.setattr(os, "fdopen", lambda *_, **__: file)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys, "argv", ["rank", "0"])
    monkeypatch.setitem(sys.modules, "nccl.core", None)
    monkeypatch.delitem(sys.modules, "gpuyard_validator.nccl.rank")
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("gpuyard_validator.nccl.rank", run_name="__main__")
    file.close()
    assert ended.value.code == 1
    said = json.loads((tmp_path / "replies").read_text())
    assert said["failed"].startswith("ModuleNotFoundError: import of nccl.core halted")


def test_a_system_without_a_word_for_it_does_without(monkeypatch):
    asked = []

    class Libc:
        def prctl(self, *given):
            asked.append(given)

    monkeypatch.setattr(rank.ctypes, "CDLL", lambda _: Libc())
    rank.die_with_parent()
    assert asked == [(1, 9)]
    monkeypatch.setattr(rank.ctypes, "CDLL", lambda _: object())
    rank.die_with_parent()


class Memory:
    """Device or pinned memory, as cuda.core has it: here it is the host's."""

    def __init__(self, size=0, handle=None, *, stream=None):
        self.raw = ctypes.create_string_buffer(max(1, size)) if handle is None else None
        self.handle, self.size = handle or ctypes.addressof(self.raw), size

    @classmethod
    def from_handle(cls, ptr, size):
        return cls(size, ptr)

    def fill(self, value, *, stream):
        ctypes.memmove(self.handle, value * (self.size // 4), self.size)

    def copy_to(self, dst, *, stream):
        assert dst.size == self.size, "cuda.core wants both of one size"
        ctypes.memmove(dst.handle, self.handle, self.size)

    def close(self):
        self.size = None


def floats(spec):
    found = spec.__cuda_array_interface__
    assert (found["typestr"], found["version"]) == ("<f4", 3)
    (count,) = found["shape"]
    return (ctypes.c_float * count).from_address(found["data"][0])


class Communicator:
    """What nccl4py's does when all ranks send the same."""

    def __init__(self, ranks):
        self.ranks, self.calls, self.sent = ranks, [], {}

    @classmethod
    def init(cls, *, nranks, rank, unique_id):
        made = cls(nranks)
        made.calls.append((rank, unique_id))
        return made

    def allreduce(self, out, into, op, *, stream):
        self.sum(out, into, len(floats(out)), op)

    def reduce_scatter(self, out, into, op, *, stream):
        self.sum(out, into, len(floats(out)) // self.ranks, op)

    def sum(self, out, into, count, op):
        assert op == "sum"
        assert len(floats(into)) == count
        floats(into)[:] = [self.ranks * floats(out)[0]] * count

    def allgather(self, out, into, *, stream):
        assert len(floats(into)) == self.ranks * len(floats(out))
        floats(into)[:] = [floats(out)[0]] * len(floats(into))

    def alltoall(self, out, into, *, stream):
        assert len(floats(into)) == len(floats(out))
        floats(into)[:] = floats(out)[:]

    def destroy(self):
        self.calls.append("destroyed")

    def send(self, out, peer, *, stream):
        self.sent[peer] = floats(out)

    def recv(self, into, peer, *, stream):
        floats(into)[:] = self.sent[peer][:]


def like(real, fake):
    """The fake, asked only as the real one can be."""
    form = inspect.signature(real)

    @functools.wraps(fake)
    def asked(*given, **named):
        form.bind(*given, **named)
        return fake(*given, **named)

    return asked


def as_real(real, fake, *names):
    """A fake class whose methods take what those of the real one take."""
    body = {name: like(getattr(real, name), getattr(fake, name)) for name in names}
    fixed = {name: staticmethod(body[name]) for name in {"init", "from_handle"} & set(names)}
    return type(fake.__name__, (fake,), body | fixed)


@pytest.fixture
def nccl(monkeypatch):
    """Both modules, with the names and arguments of the installed ones, which say those without a GPU."""
    core, cuda = (importlib.import_module(name) for name in ("nccl.core", "cuda.core"))
    version = types.SimpleNamespace(libnccl=types.SimpleNamespace(version=Version("2.32.3")))
    assert set(core.get_version().__dataclass_fields__) >= {"libnccl"}
    assert set(core.LibraryInfo.__dataclass_fields__) >= {"version"}
    methods = (
        "init",
        "allreduce",
        "reduce_scatter",
        "allgather",
        "alltoall",
        "send",
        "recv",
        "destroy",
    )
    memory = as_real(cuda.Buffer, Memory, "from_handle", "fill", "copy_to", "close")
    fake = types.SimpleNamespace(
        get_version=like(core.get_version, lambda: version),
        get_unique_id=like(core.get_unique_id, lambda: b"u" * 128),
        UniqueId=types.SimpleNamespace(
            from_bytes=like(core.UniqueId.from_bytes, lambda raw: ("id", raw))
        ),
        Communicator=as_real(core.Communicator, Communicator, *methods),
        SUM="sum",
        group=like(core.group, contextlib.nullcontext),
        mem_alloc=like(core.mem_alloc, memory),
    )
    assert not [name for name in vars(fake) if not hasattr(core, name)]
    stream = types.SimpleNamespace(sync=lambda: None)
    device = types.SimpleNamespace(set_current=lambda: None, create_stream=lambda: stream)
    assert hasattr(cuda.Stream, "sync")
    assert all(hasattr(cuda.Device, name) for name in vars(device))
    allocate = cuda.LegacyPinnedMemoryResource.allocate
    pinned = types.SimpleNamespace(
        allocate=lambda *given, **named: like(allocate, lambda _, *g, **n: memory(*g, **n))(
            None, *given, **named
        )
    )
    there = types.SimpleNamespace(
        Device=lambda gpu: device, LegacyPinnedMemoryResource=lambda: pinned, Buffer=memory
    )
    monkeypatch.setitem(sys.modules, "nccl.core", fake)
    monkeypatch.setitem(sys.modules, "cuda.core", there)
    return fake


@pytest.mark.parametrize("ranks", [1, 4])
def test_an_nccl_before_its_all_to_all_sends_each_part_by_itself(nccl, ranks):
    old = types.SimpleNamespace(libnccl=types.SimpleNamespace(version=Version("2.27.7")))
    nccl.get_version = lambda: old
    nccl.Communicator.alltoall = None
    made = NcclCollective(0)
    made.join(ranks, 0, b"raw")
    assert made.run(Operation.ALL_TO_ALL, 4096 + 7, 2).wrong == 0
    assert set(made._group.sent) == set(range(ranks))


@pytest.mark.parametrize("operation", list(Operation))
@pytest.mark.parametrize("ranks", [1, 4])
def test_nccl_is_asked_with_whole_buffers_and_its_results_are_looked_at(nccl, operation, ranks):
    made = NcclCollective(0)
    assert (made.version(), made.unique_id()) == ("2.32.3", b"u" * 128)
    made.join(ranks, 0, b"raw")
    ran = made.run(operation, 4096 + 7, 2)
    assert ran.wrong == 0
    assert ran.seconds > 0


@pytest.mark.parametrize("operation", list(Operation))
def test_a_wrong_element_is_counted(nccl, operation, monkeypatch):
    made = NcclCollective(0)
    made.join(4, 0, b"raw")
    real = made._once

    def spoil(operation, source, target, sent, taken):
        real(operation, source, target, sent, taken)
        floats(Spec(target.handle, taken // 4))[2] = 99.0

    monkeypatch.setattr(made, "_once", spoil)
    assert made.run(operation, 4096, 1).wrong == 1


class Spec:
    def __init__(self, pointer, count):
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": "<f4", "data": (pointer, False), "version": 3,
        }  # fmt: skip


def test_an_earlier_communicator_is_left(nccl):
    made = NcclCollective(0)
    made.leave()
    made.join(2, 1, b"raw")
    first = made._group
    assert first.calls == [(1, ("id", b"raw"))]
    made.join(2, 1, b"raw")
    assert first.calls[-1] == "destroyed"


def test_without_its_libraries_nccl_is_not_made(monkeypatch):
    monkeypatch.setitem(sys.modules, "nccl.core", None)
    with pytest.raises(ImportError, match="nccl"):
        NcclCollective(0)


def test_bindings_without_the_library_say_so(nccl):
    nccl.get_version = lambda: types.SimpleNamespace(libnccl=None)
    with pytest.raises(ImportError, match=r"cannot load libnccl\.so\.2"):
        NcclCollective(0).version()


@every("operation", Operation)
def test_the_loopback_does_what_the_operation_means(operation):
    """A fake that got it wrong would prove nothing."""
    buffers = [sent_by(n, operation, 8, 2) for n in range(2)]
    expected = {
        Operation.ALL_REDUCE: [b"\x03" * 8] * 2,
        Operation.ALL_GATHER: [b"\x01" * 4 + b"\x02" * 4] * 2,
        Operation.REDUCE_SCATTER: [b"\x03" * 4] * 2,
        Operation.ALL_TO_ALL: [b"\x01" * 4 + b"\x02" * 4] * 2,
    }
    assert spread(operation, buffers) == expected[operation]


def both(one, other):
    """What two ends of a connection come to, a value or the error."""
    left, right = socket.socketpair()
    found = {}

    def go():
        try:
            found["one"] = one(left)
        except (AuthenticationError, OSError) as problem:
            found["one"] = problem
        left.close()

    thread = threading.Thread(target=go)
    thread.start()
    right.settimeout(5)
    try:
        found["other"] = other(right)
    except (AuthenticationError, OSError) as problem:
        found["other"] = problem
    right.close()
    thread.join()
    return str(found["one"]), str(found["other"])


@every(
    "one, other, said",
    [
        (TOKEN, TOKEN, ("None", "None")),
        (TOKEN, b"other", ("wrong token", "the token was rejected")),
    ],
)
def test_both_sides_prove_the_token(one, other, said):
    assert both(lambda s: authenticate(s, one), lambda s: send_proof(s, other)) == said


@every(
    "answer",
    [{}, {"nonce": "zz", "proof": "zz"}, {"nonce": 1, "proof": None}, {"proof": "ab"}],
)
def test_what_proves_nothing_is_not_let_in(answer):
    def stranger(peer):
        receive(peer)
        send(peer, answer)

    assert both(lambda s: authenticate(s, TOKEN), stranger)[0] == "wrong token"


def test_a_proof_of_another_day_or_of_the_other_side_is_none():
    """What was heard on the wire is of no use: each side adds a number of its own, and its part."""
    heard = {}

    def listens(peer):
        heard["challenge"] = receive(peer)
        send(peer, {"nonce": heard["challenge"]["nonce"], "proof": heard["challenge"]["nonce"]})

    assert both(lambda s: authenticate(s, TOKEN), listens)[0] == "wrong token"
    mirror = {}

    def mirrors(peer):
        mirror["nonce"] = "11" * 32
        send(peer, {"nonce": mirror["nonce"]})
        send(peer, {"proof": receive(peer)["proof"]})

    assert both(lambda s: send_proof(s, TOKEN), mirrors)[0] == "the server has another token"


@every(
    "raw, said",
    [
        (struct.pack("!I", 1 << 30), "a message of 1073741824 bytes"),
        (struct.pack("!I", 2) + b"[]", "not a JSON object"),
        (struct.pack("!I", 2) + b"{{", "not JSON"),
        (struct.pack("!I", 2) + b"\xff\xff", "not JSON"),
        (struct.pack("!I", 9) + b"{", "the other side has disconnected"),
        (b"\x00", "the other side has disconnected"),
        (b"GET / HTTP/1.1\r\n", "a message of 1195725856 bytes"),
    ],
)
def test_what_is_no_message_is_refused(raw, said):
    assert both(lambda s: s.sendall(raw), receive)[1] == said


def test_little_is_read_of_somebody_who_has_proved_nothing():
    long = {"nonce": "0" * wire.MOST_BEFORE_TOKEN}
    found, _ = both(lambda s: authenticate(s, TOKEN), lambda s: send(s, long) or receive(s))
    assert found.startswith("a message of ")
    assert both(lambda s: send_proof(s, TOKEN), lambda s: send(s, long))[0].startswith(
        "a message of "
    )


def sought(count, slow):
    """Who is named when these are slow, and in how many rounds."""
    looking, rounds = bisect_slow_nodes(range(count)), 0
    try:
        groups = next(looking)
        while True:
            rounds += 1
            named = [rank for group in groups for rank in group]
            assert len(named) == len(set(named)), "nobody can be in two groups at once"
            assert all(len(group) >= 2 for group in groups)
            groups = looking.send({g: 10.0 if set(g) & slow else 100.0 for g in groups})
    except StopIteration as end:
        return end.value, rounds


@every(
    "count, slow, found",
    [
        (4, {3}, (3,)),
        (4, {2, 3}, (2, 3)),
        (8, {5}, (5,)),
        (8, set(), ()),
        (5, set(), ()),
        (6, {5}, (5,)),
        (16, {0}, (0,)),
        (16, {0, 15}, (0, 15)),
        (7, {6}, (6,)),
        (5, {0}, (0,)),
        (128, {77}, (77,)),
        (128, {1, 2, 90}, (1, 2, 90)),
        (2, {0}, ()),
        (3, {1}, ()),
        (1, {0}, ()),
        (8, set(range(8)), ()),
    ],
)
def test_slow_ranks_are_named(count, slow, found):
    assert sought(count, slow)[0] == found


def test_one_among_many_takes_few_rounds():
    assert sought(1024, {700})[1] <= 12


@pytest.mark.search
def test_whoever_is_slow_among_any_number_is_named_and_nobody_else():
    for number in numbers("300"):
        chance = random.Random(number)  # noqa: S311  a search that can be had again
        count = chance.randint(4, 96)
        slow = set(chance.sample(range(count), chance.randint(0, max(1, count // 8))))
        found, _ = sought(count, slow)
        assert set(found) <= slow, number
        if len(slow) == 1:
            assert set(found) == slow, number


def test_an_excerpt_says_what_the_log_says_in_fewer_lines():
    line = "h:1:2 [0] NCCL INFO Channel {:02}/0 : 0[0] -> 8[0] [send] via NET/Libfabric/0/GDRDMA\n"
    text = "noise\n" * 1000 + "NCCL INFO NET/OFI Selected provider is efa\n" * 5
    text += "".join(line.format(n) for n in range(64)) + "NCCL version 2.31.2+cuda13.3\n"
    short = excerpt(text)
    assert len(short.splitlines()) == 3
    assert read_log(short) == read_log(text)
