"""Nodes of a run on this machine: each a thread with its own processes, which all end with it."""

import os
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

from gpuyard_validator.nccl.agent import NodeAssignment, run_agent
from gpuyard_validator.nccl.coordinator import CollectiveRun
from gpuyard_validator.nccl.record import Work
from gpuyard_validator.values import encode

PROGRAM = Path(__file__).with_name("loopback.py")
ROOT = Path(__file__).parents[3]
TOKEN = b"0123456789abcdef0123456789abcdef"
WORK = Work(operations=("all_reduce",), size=1 << 20, rounds=2, halving_size=0)


def free_port():
    with socket.socket() as result:
        result.bind(("127.0.0.1", 0))
        return result.getsockname()[1]


def a_run(nodes, gpus, **more):
    values = {"join_seconds": 20, "step_seconds": 20, "work": WORK, "token": TOKEN, **more}
    return CollectiveRun(nodes=nodes, gpus=gpus, on="2026-11-24", **values)


def alive(marker):
    """Processes that have this word among their arguments."""
    results = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes()
        except OSError:
            continue
        if marker.encode() in words and int(each.parent.name) != os.getpid():
            results.append(words.replace(b"\0", b" "))
    return results


class Nodes:
    """All nodes of one run; `part` changes the configuration of one of them."""

    def __init__(self, marker, run, seconds=60, host="127.0.0.1"):
        self.marker, self.run, self.records, self.threads = marker, run, {}, []
        self.common = NodeAssignment(
            run=run,
            index=0,
            node="",
            host=host,
            port=free_port(),
            seconds=seconds,
            command=(sys.executable, str(PROGRAM), marker),
        )

    def part(self, index, **more):
        # The node's own name in its processes, because faults are set by node.
        command = ("env", f"NODE={index}", *self.common.command)
        return replace(
            self.common, **{"index": index, "node": f"host-{index}", "command": command, **more}
        )

    def start(self, index, **more):
        def go():
            self.records[index] = run_agent(self.part(index, **more))

        thread = threading.Thread(target=go)
        thread.start()
        self.threads.append(thread)

    def all(self, **more):
        for index in range(self.run.nodes):
            self.start(index, **more)
        return self.ended()

    def ended(self):
        for thread in self.threads:
            thread.join()
        return self.records

    @property
    def record(self):
        """The record of all nodes, which must be equal."""
        first, *others = (encode(each) for each in self.records.values())
        assert all(each == first for each in others)
        return self.records[0]

    @property
    def ends(self):
        return {each.rank: each.end for each in self.record.ends}


def as_process(marker, port, seconds):
    """One node in a separate process, with two ranks that wait forever."""
    program = (
        "import sys; from kit.ranks.group import Nodes, a_run; from dataclasses import replace;"
        "nodes = Nodes(sys.argv[1], a_run(1, 2), seconds=float(sys.argv[3]));"
        "nodes.common = replace(nodes.common, port=int(sys.argv[2])); nodes.all()"
    )
    return subprocess.Popen([sys.executable, "-c", program, marker, str(port), str(seconds)])
