"""A collective over TCP on this machine: each rank sends its buffer to the first, and gets its part.

As a program it is one rank of the validator; FAULTS (JSON, by node.gpu) sets its fault.
"""

import json
import os
import socket
import struct
import sys
import time

from gpuyard_validator.nccl import rank
from gpuyard_validator.nccl.arithmetic import Operation
from gpuyard_validator.nccl.collective import CollectiveTiming

MOST = 1 << 14
"""Bytes that are really moved, regardless of the requested size: the time is multiplied instead."""
LENGTH = struct.Struct("!I")


def put(to, raw):
    to.sendall(LENGTH.pack(len(raw)) + raw)


def take(of):
    (length,) = LENGTH.unpack(exactly(of, LENGTH.size))
    return exactly(of, length)


def exactly(of, length):
    raw = b""
    while len(raw) < length:
        part = of.recv(length - len(raw))
        if not part:
            raise ConnectionResetError("a rank has gone")
        raw += part
    return raw


def parts_of(raw, count):
    size = len(raw) // count
    return [raw[n * size : (n + 1) * size] for n in range(count)]


def summed(buffers):
    return bytes(sum(column) % 256 for column in zip(*buffers, strict=True))


def spread(operation, buffers):
    """The result of each rank for these buffers."""
    count = len(buffers)
    match operation:
        case Operation.ALL_REDUCE:
            return [summed(buffers)] * count
        case Operation.ALL_GATHER:
            return [b"".join(buffers)] * count
        case Operation.REDUCE_SCATTER:
            return parts_of(summed(buffers), count)
        case Operation.ALL_TO_ALL:
            cut = [parts_of(raw, count) for raw in buffers]
            return [b"".join(each[n] for each in cut) for n in range(count)]


def sent_by(number, operation, size, count):
    """A rank's buffer: filled with its own number."""
    return bytes([number + 1]) * (size // count if operation is Operation.ALL_GATHER else size)


class Loopback:
    def __init__(self, fault=""):
        self.fault, self.listening, self.peers, self.rank, self.ranks = fault, None, [], 0, 1
        if fault == "no-library":
            raise ImportError("No module named 'nccl'")

    def version(self):
        return "2.31.2" if self.fault != "old" else "2.18.1"

    def unique_id(self):
        self.go_wrong("id")
        self.listening = socket.create_server(("127.0.0.1", 0))
        return json.dumps(self.listening.getsockname()).encode()

    def join(self, ranks, rank, unique_id):
        self.go_wrong("join")
        listening, self.listening = self.listening, None
        self.leave()
        self.ranks, self.rank = ranks, rank
        if rank:
            peer = socket.create_connection(tuple(json.loads(unique_id)))
            put(peer, bytes([rank]))
            self.peers = [peer]
            return
        results = {}
        for _ in range(ranks - 1):
            peer, _ = listening.accept()
            results[take(peer)[0]] = peer
        listening.close()
        self.peers = [results[number] for number in sorted(results)]

    def run(self, operation, size, rounds):
        self.go_wrong("run")
        requested, size = size, min(size, MOST) // self.ranks * self.ranks
        began = time.perf_counter()
        mine = sent_by(self.rank, operation, size, self.ranks)
        got = self.first(operation, mine) if not self.rank else self.other(mine)
        seconds = (time.perf_counter() - began) * requested / size
        every = [sent_by(n, operation, size, self.ranks) for n in range(self.ranks)]
        if self.fault == "wrong":
            got = b"\xff" + got[1:]
        expected = spread(operation, every)[self.rank]
        if self.fault.startswith("takes:"):
            seconds = float(self.fault.partition(":")[2])
        elif os.environ.get("TAKES"):
            seconds = float(os.environ["TAKES"])
        return CollectiveTiming(seconds, sum(a != b for a, b in zip(got, expected, strict=True)))

    def first(self, operation, mine):
        results = spread(operation, [mine, *map(take, self.peers)])
        for peer, raw in zip(self.peers, results[1:], strict=True):
            put(peer, raw)
        return results[0]

    def other(self, mine):
        put(self.peers[0], mine)
        return take(self.peers[0])

    def leave(self):
        for peer in self.peers:
            peer.close()
        self.peers = []

    def go_wrong(self, where):
        """Hang, die, fail or print garbage at this place."""
        how, _, place = self.fault.partition("@")
        if place != where:
            return
        if how == "hang":
            time.sleep(3600)
        if how == "die":
            sys.stderr.write("CUDA error: an illegal memory access\n")
            sys.stderr.flush()
            os._exit(7)
        if how == "break":
            raise RuntimeError("NCCLError UnhandledCudaError (1)")
        if how == "babble":
            # Its messages go to a separate descriptor: libraries print to stdout.
            os.write(3, b"not a line of ours\n")


def main():
    me = f"{os.environ.get('NODE', '0')}.{sys.argv[-1]}"
    fault = json.loads(os.environ.get("FAULTS", "{}")).get(me, "")
    log = os.environ.get("LOG")
    if log:
        with open(log) as source, open(os.environ["NCCL_DEBUG_FILE"], "w") as target:  # noqa: PTH123
            target.write(source.read())
    if fault == "hang@begin":
        # It never reports that it entered: the process stops where it reads the command.
        rank.die_with_parent()
        time.sleep(3600)
    ended = rank.run(lambda: Loopback(fault))
    if fault == "hang@end":
        time.sleep(3600)
    return ended


if __name__ == "__main__":
    sys.exit(main())
