"""One node's part of a run: a process for each GPU, an enforced deadline, and the coordinator's commands.

`run_agent` always returns in time, and all its processes have ended by then.
"""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from gpuyard_validator.nccl.coordinator import (
    ANSWERED,
    DIED,
    ENTERED,
    FAILED,
    WAITING,
    CollectiveRun,
    Coordinator,
)
from gpuyard_validator.nccl.log import excerpt
from gpuyard_validator.nccl.record import CRASHED, Collectives, RankEnd
from gpuyard_validator.nccl.wire import AuthenticationError, Message, receive, send, send_proof
from gpuyard_validator.values import Malformed, decode

PAUSE_SECONDS = 0.5
CONNECT_SECONDS = 5.0
LEAVE_SECONDS = 5.0
SETTLE_SECONDS = 0.5
_ENDED = {DIED, FAILED}
TAIL = 300
NCCL = (sys.executable, "-B", "-m", "gpuyard_validator.nccl.rank")
"""The command of each rank; the number of its GPU follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAssignment:
    """This node's part in a run."""

    run: CollectiveRun
    index: int
    node: str
    host: str
    """Address of the first node, as the other nodes resolve it."""
    port: int
    seconds: float
    """Time limit of the whole run."""
    command: Sequence[str] = NCCL


@dataclass
class _Rank:
    """One process."""

    local: int
    process: subprocess.Popen[str]
    errors: Path
    log: Path
    state: str = ANSWERED
    said: str = ""
    reply: Message = field(default_factory=dict)
    version: str = ""


class _Cut(Exception):
    """This node cannot continue the run."""


def run_agent(part: NodeAssignment) -> Collectives:
    """The record of the whole run; without the coordinator, what this node knows of its own ranks."""
    until = time.monotonic() + part.seconds
    with ExitStack() as stack:
        try:
            if part.index == 0:
                hub = Coordinator(part.run, listen(part.port))
                thread = threading.Thread(target=hub.serve, daemon=True)
                thread.start()
                stack.callback(thread.join, LEAVE_SECONDS)
            peer = stack.enter_context(_joined(part, until))
            node = stack.enter_context(_Node(part, peer))
            return node.follow(until)
        except (OSError, AuthenticationError, _Cut) as problem:
            return _alone(part, str(problem))


def listen(port: int, host: str | None = None) -> socket.socket:
    """Listens on IPv6 and IPv4, or on the one that the machine has."""
    if host is not None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    if socket.has_dualstack_ipv6():
        with suppress(OSError):
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


def _joined(part: NodeAssignment, until: float) -> socket.socket:
    """Joins through the first node, whose name may resolve late and which may listen late."""
    until = min(until, time.monotonic() + part.run.join_seconds)
    while True:
        try:
            return _join(part)
        except OSError as problem:
            if time.monotonic() + PAUSE_SECONDS > until:
                where = f"{part.host} port {part.port}"
                raise _Cut(f"cannot reach the first node at {where}: {problem}") from None
            time.sleep(PAUSE_SECONDS)


def _join(part: NodeAssignment) -> socket.socket:
    with ExitStack() as stack:
        peer = stack.enter_context(
            socket.create_connection((part.host, part.port), CONNECT_SECONDS)
        )
        send_proof(peer, part.run.token)
        send(peer, {"index": part.index, "gpus": part.run.gpus, "node": part.node})
        answer = receive(peer)
        if answer.get("kind") != "in":
            raise _Cut(f"the first node rejected this node: {answer.get('why')}")
        peer.settimeout(None)
        stack.pop_all()
        return peer


def _alone(part: NodeAssignment, why: str) -> Collectives:
    first, end = part.index * part.run.gpus, CRASHED
    ends = tuple(
        RankEnd(rank=first + n, node=part.node, end=end, output=why) for n in range(part.run.gpus)
    )
    return Collectives(
        on=part.run.on,
        nodes=part.run.nodes,
        gpus=part.run.gpus,
        ends=ends,
        measures=(),
        slow=(),
        bisected=False,
        versions=(),
        logs=(),
    )


class _Node:
    """The processes of one node, and the coordinator's commands to them."""

    def __init__(self, part: NodeAssignment, peer: socket.socket) -> None:
        self._part, self._peer = part, peer
        self._events: queue.SimpleQueue[Callable[[], Collectives | None]] = queue.SimpleQueue()
        self._ranks: list[_Rank] = []
        self._pending: list[_Rank] = []
        self._step_ends: float | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="ranks-")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._folder.cleanup()
        with suppress(OSError):  # a thread reads it: close() alone would not end that
            self._peer.shutdown(socket.SHUT_RDWR)

    def follow(self, until: float) -> Collectives:
        """Follow commands until the end."""
        for local in range(self._part.run.gpus):
            self._ranks.append(self._start(local))
        self._read(self._read_messages)
        while True:
            now = time.monotonic()
            if now >= until:
                state = ", ".join(f"GPU {r.local} {r.state}" for r in self._ranks)
                raise _Cut(f"not finished within {self._part.seconds:g} s: {state}")
            if self._step_ends is not None and now >= self._step_ends:
                self._report()
            wait = min(until, self._step_ends or until) - time.monotonic()
            try:
                event = self._events.get(timeout=max(0.0, wait))
            except queue.Empty:
                continue
            record = event()
            if record is not None:
                return record

    @staticmethod
    def _read(reading: Callable[[], None]) -> None:
        threading.Thread(target=reading, daemon=True).start()

    def _start(self, local: int) -> _Rank:
        folder = Path(self._folder.name)
        errors, log = folder / f"{local}.err", folder / f"{local}.log"
        variables = {
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET",
            "NCCL_DEBUG_FILE": str(log),
        }
        with errors.open("w", encoding="utf-8") as stderr:
            process = subprocess.Popen(  # noqa: S603  our own program
                [*self._part.command, str(local)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                encoding="utf-8",
                errors="replace",
                env={**os.environ, **variables},
                start_new_session=True,
            )
        rank = _Rank(local, process, errors, log)
        self._read(partial(self._listen, rank))
        return rank

    def _listen(self, rank: _Rank) -> None:
        """A thread: each line of a rank is an event, and so is its end."""
        assert rank.process.stdout is not None, "it was started with a pipe"  # noqa: S101
        with suppress(ValueError, OSError):  # closed during the read
            for line in rank.process.stdout:
                self._events.put(partial(self._on_rank, rank, line))
        self._events.put(partial(self._on_rank, rank, None))

    def _read_messages(self) -> None:
        """A thread: messages of the first node."""
        while True:
            try:
                message = receive(self._peer)
            except (OSError, AuthenticationError) as problem:
                self._events.put(
                    partial(self._on_gone, f"lost the connection to the first node: {problem}")
                )
                return
            self._events.put(partial(self._on_first, message))

    def _on_gone(self, why: str) -> None:
        raise _Cut(why)

    def _on_first(self, message: Message) -> Collectives | None:
        kind = message.get("kind")
        if kind == "end":
            return self._end(message["record"])
        if kind == "step":
            self._begin(message["tasks"], float(message["seconds"]))
        else:
            self._settle()
            self._report()
            self._kill()
        return None

    def _end(self, raw: Any) -> Collectives:
        try:
            result: Collectives = decode(Collectives, raw)
        except Malformed as problem:
            raise _Cut(f"cannot read the first node's result: {problem}") from None
        self._leave()
        return result

    def _begin(self, tasks: dict[str, Message], seconds: float) -> None:
        self._pending = [rank for rank in self._ranks if str(rank.local) in tasks]
        self._step_ends = time.monotonic() + seconds
        for rank in self._pending:
            if rank.state in _ENDED:
                continue
            rank.state, rank.reply = WAITING, {}
            with suppress(OSError, ValueError):  # the thread that reads its output reports the end
                assert rank.process.stdin is not None, "a pipe"  # noqa: S101
                rank.process.stdin.write(json.dumps(tasks[str(rank.local)]) + "\n")
                rank.process.stdin.flush()
        self._check_replies()

    def _on_rank(self, rank: _Rank, line: str | None) -> None:
        if rank.state in _ENDED:
            return
        try:
            reply = {} if line is None else json.loads(line)
        except ValueError:
            reply = {"failed": f"printed {line[:40] if line else ''!r}"}
        if line is None:
            rank.state, rank.said = DIED, self._rank_failure(rank)
        elif "failed" in reply:
            rank.state, rank.said = FAILED, str(reply["failed"])
        elif "version" in reply:
            rank.version = str(reply["version"])
        elif "entered" in reply:
            rank.state = ENTERED
        elif "done" in reply:
            rank.state, rank.reply = ANSWERED, reply
        self._check_replies()

    def _rank_failure(self, rank: _Rank) -> str:
        with suppress(subprocess.TimeoutExpired):
            rank.process.wait(timeout=1)
        code = rank.process.poll()
        words = rank.errors.read_text(encoding="utf-8", errors="replace").strip()[-TAIL:]
        ended = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return f"{ended}: {words}" if words else ended

    def _check_replies(self) -> None:
        """Report when all have answered, and at once when one failed: the others would wait forever."""
        if self._step_ends is None:
            return
        states = {rank.state for rank in self._pending}
        if states & _ENDED:
            self._settle()
            self._report()
        elif states <= {ANSWERED}:
            self._report()

    def _settle(self) -> None:
        """Other ranks notice a crash first, because their connections end. Wait for the node's own event."""
        self._step_ends = None
        until, other_events = time.monotonic() + SETTLE_SECONDS, []
        while (remaining := until - time.monotonic()) > 0:
            try:
                event = self._events.get(timeout=remaining)
            except queue.Empty:
                break
            if isinstance(event, partial) and event.func == self._on_rank:
                event()
            else:
                other_events.append(event)
        for event in other_events:
            self._events.put(event)

    def _report(self) -> None:
        self._step_ends = None
        self._say()

    def _say(self) -> None:
        """The state of each rank; a reply contains its NCCL version and log."""
        answered = [rank for rank in self._pending if rank.state == ANSWERED]
        status = {
            "states": {str(r.local): (r.state, r.said) for r in self._ranks},
            "replies": {str(r.local): {**r.reply, **self._more(r)} for r in answered},
        }
        try:
            send(self._peer, status)
        except OSError as problem:
            raise _Cut(f"lost the connection to the first node: {problem}") from None

    def _more(self, rank: _Rank) -> Message:
        if rank.reply.get("done") != "leave" or not rank.log.exists():
            return {"version": rank.version}
        text = rank.log.read_text(encoding="utf-8", errors="replace")
        return {"version": rank.version, "log": excerpt(text)}

    def _leave(self) -> None:
        """A rank ends when its stdin closes; one that does not is killed after this time."""
        until = time.monotonic() + LEAVE_SECONDS
        for rank in self._ranks:
            with suppress(OSError, ValueError):
                assert rank.process.stdin is not None, "a pipe"  # noqa: S101
                rank.process.stdin.close()
        for rank in self._ranks:
            with suppress(subprocess.TimeoutExpired):
                rank.process.wait(timeout=max(0.0, until - time.monotonic()))

    def _kill(self) -> None:
        for rank in self._ranks:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(rank.process.pid, signal.SIGKILL)
            rank.process.wait()
            for pipe in (rank.process.stdin, rank.process.stdout):
                if pipe is not None:
                    with suppress(OSError, ValueError):
                        pipe.close()
