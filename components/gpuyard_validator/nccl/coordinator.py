"""The first node's coordinator: it admits nodes, commands each step, and names ranks that did not finish.

It runs in the first node's parent process, not in rank 0: a rank may hang or crash, the coordinator must not.
"""

import queue
import socket
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from gpuyard_validator.nccl.arithmetic import Operation, bus_gbps
from gpuyard_validator.nccl.record import (
    ABSENT,
    CRASHED,
    DONE,
    HUNG,
    STOPPED,
    Collectives,
    Measure,
    RankEnd,
    Work,
)
from gpuyard_validator.nccl.wire import AuthenticationError, Message, authenticate, receive, send
from gpuyard_validator.values import encode

Group = tuple[int, ...]
Rates = Mapping[Group, float]
"""Bus bandwidth of each group; all groups of one round run at the same time."""
SLOW = 0.75
"""A group below this share of the round's best is slow."""
_PAIR = 2


def bisect_slow_nodes(ranks: Sequence[int]) -> Generator[list[Group], Rates, Group]:
    """Yields the groups of each round, receives their rates, and returns the slow ranks.

    Equal halves prove nothing: each may have a slow rank. Each rank of a slow pair runs with a good one.
    With fewer than four ranks, no slow rank can be identified.
    """
    suspects: list[Group] = [tuple(ranks)]
    good: list[int] = []
    while max(map(len, suspects), default=0) > _PAIR:
        groups = [half for group in suspects for half in _halves(group)]
        ran = [group for group in groups if len(group) >= _PAIR]
        slow = _slow((yield ran))
        if slow:
            good += [rank for group in ran if group not in slow for rank in group]
            groups = [group for group in groups if group in slow or len(group) < _PAIR]
        suspects = groups
    return (yield from _with_good_ones(suspects, good))


def _with_good_ones(suspects: list[Group], good: list[int]) -> Generator[list[Group], Rates, Group]:
    """Two good ranks show the rate of a pair alone. They exist: a group has at least two ranks."""
    if not good:
        return ()
    reference = (good[0], good[1])
    best = (yield [reference])[reference]
    untested = [rank for group in suspects for rank in group]
    results: list[int] = []
    while untested:
        pairs: list[Group] = list(zip(untested, good, strict=False))
        rates = yield pairs
        slow = _slow(rates, best)
        results += [pair[0] for pair in pairs if pair in slow]
        untested = untested[len(pairs) :]
    return tuple(sorted(results))


def _halves(group: Group) -> list[Group]:
    if len(group) <= _PAIR:
        return [group]
    middle = (len(group) + 1) // 2
    return [group[:middle], group[middle:]]


def _slow(rates: Rates, known: float = 0.0) -> set[Group]:
    best = max(rates.values(), default=0.0)
    return {group for group, rate in rates.items() if rate < SLOW * max(best, known)}


TOKEN_SECONDS = 10.0
"""Read timeout for connections that are not authenticated."""
MAX_UNAUTHENTICATED = 64
"""Maximum of concurrent connections that are not authenticated; others wait in the listen queue."""
GRACE_SECONDS = 5.0
"""Allowed delay of an answer whose time the node itself keeps."""
Tasks = Mapping[int, Message]
"""The command to each rank."""
ANSWERED, ENTERED, WAITING, FAILED, DIED = "answered", "entered", "waiting", "failed", "died"
"""The state of a rank in a step, as its node reports it. One may have failed because another crashed."""

_HOW = {HUNG: "its node did not answer", WAITING: "did not start", ENTERED: "did not finish"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveRun:
    """Parameters that all nodes agree on beforehand."""

    nodes: int
    gpus: int
    work: Work
    token: bytes
    on: str
    join_seconds: float
    step_seconds: float


class _Over(Exception):
    """A step did not finish; the argument is the state of each rank."""

    def __init__(self, what: str, states: Mapping[int, tuple[str, str]]) -> None:
        super().__init__(what)
        self.what, self.states = what, states


@dataclass
class Coordinator:
    """One run, on a listening socket."""

    run: CollectiveRun
    listening: socket.socket
    _said: queue.SimpleQueue[tuple[str, int, Any]] = field(default_factory=queue.SimpleQueue)
    _members: dict[int, socket.socket] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _begun: bool = False

    def serve(self) -> None:
        """From the first node that joins until all have the result."""
        slots = threading.Semaphore(MAX_UNAUTHENTICATED)
        threading.Thread(target=self._accept, args=(slots,), daemon=True).start()
        try:
            record = self._record()
            for peer in self._members.values():
                with suppress(OSError):
                    send(peer, {"kind": "end", "record": encode(record)})
            self._goodbyes()
        finally:
            self.listening.close()
            for peer in self._members.values():
                with suppress(OSError):  # a thread reads it: close() alone would not end that
                    peer.shutdown(socket.SHUT_RDWR)

    def _accept(self, slots: threading.Semaphore) -> None:
        while True:
            slots.acquire()
            try:
                peer, _ = self.listening.accept()
            except OSError:
                return  # closed: the run is over
            threading.Thread(target=self._read, args=(peer, slots), daemon=True).start()

    def _read(self, peer: socket.socket, room: threading.Semaphore) -> None:
        index = None
        with peer:
            try:
                peer.settimeout(TOKEN_SECONDS)
                try:
                    authenticate(peer, self.run.token)
                    index = self._admit(peer, receive(peer))
                finally:
                    room.release()
                peer.settimeout(None)
                while index is not None:
                    self._said.put(("said", index, receive(peer)))
            except (OSError, AuthenticationError) as problem:
                if index is not None:
                    self._said.put(("gone", index, str(problem)))

    def _admit(self, peer: socket.socket, message: Message) -> int | None:
        index, gpus = message.get("index"), message.get("gpus")
        with self._lock:
            if not isinstance(index, int) or not 0 <= index < self.run.nodes:
                why = f"node index {index!r} is not below {self.run.nodes}, the number of nodes"
            elif gpus != self.run.gpus:
                why = f"it has {gpus!r} GPUs, the run has {self.run.gpus} per node"
            elif self._begun:
                why = "the run has started without it"
            elif index in self._members:
                why = f"node {index} has already joined"
            else:
                self._members[index] = peer
                self._names[index] = str(message.get("node"))
                send(peer, {"kind": "in"})
                self._said.put(("in", index, None))
                return index
        send(peer, {"kind": "refused", "why": why})
        return None

    def _record(self) -> Collectives:
        measures: list[Measure] = []
        slow: tuple[int, ...] | None = None
        logs: tuple[str, ...] = ()
        versions: set[str] = set()
        try:
            self._gather()
            for step in self._steps(measures, versions):
                slow = step
            logs = self._logs()
            ends = self._ends(dict.fromkeys(self._ranks(), (DONE, "")))
        except _Over as over:
            ends = self._ends(_blamed(over))
        run = self.run
        return Collectives(
            on=run.on,
            nodes=run.nodes,
            gpus=run.gpus,
            ends=ends,
            measures=tuple(measures),
            slow=slow or (),
            bisected=slow is not None,
            versions=tuple(sorted(versions)),
            logs=logs,
        )

    def _ranks(self) -> range:
        return range(self.run.nodes * self.run.gpus)

    def _ends(self, results: Mapping[int, tuple[str, str]]) -> tuple[RankEnd, ...]:
        return tuple(
            RankEnd(
                rank=rank,
                node=self._names.get(rank // self.run.gpus, f"node {rank // self.run.gpus}"),
                end=end,
                output=output,
            )
            for rank, (end, output) in sorted(results.items())
        )

    def _gather(self) -> None:
        """Wait for every node; if one has disconnected, wait only for the first, which does not know yet."""
        until = time.monotonic() + self.run.join_seconds
        failed: dict[int, tuple[str, str]] = {}
        while not (0 in self._members if failed else len(self._members) == self.run.nodes):
            kind, index, message = self._next(until)
            if not kind:
                break
            if kind == "gone":
                failed |= self._of_node(index, CRASHED, message)
        with self._lock:
            self._begun = True
        if failed:
            raise _Over("joining", self._all(STOPPED) | failed)
        if missing := [n for n in range(self.run.nodes) if n not in self._members]:
            message = f"it did not join within {self.run.join_seconds:g} s"
            states = self._all(STOPPED)
            for index in missing:
                states |= self._of_node(index, ABSENT, message)
            raise _Over("joining", states)

    def _all(self, state: str) -> dict[int, tuple[str, str]]:
        return dict.fromkeys(self._ranks(), (state, ""))

    def _of_node(self, index: int, state: str, message: str) -> dict[int, tuple[str, str]]:
        first = index * self.run.gpus
        return dict.fromkeys(range(first, first + self.run.gpus), (state, message))

    def _next(self, until: float) -> tuple[str, int, Any]:
        try:
            return self._said.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return "", -1, None

    def _next_message(self, until: float) -> tuple[str, int, Any]:
        """A node's message or its disconnection; a join may be reported late."""
        while True:
            kind, index, said = self._next(until)
            if kind != "in":
                return kind, index, said

    def _steps(self, measures: list[Measure], versions: set[str]) -> Iterator[tuple[int, ...]]:
        """The whole run; yields the slow ranks after they were searched."""
        work, everyone = self.run.work, tuple(self._ranks())
        for reply in self._join([everyone]).values():
            versions.add(str(reply.get("version", "")))
        for operation in work.operations:
            result = self._measure([everyone], operation, work.size)
            measures.append(result[everyone])
        if not work.halving_size or len(everyone) == 1:
            return
        looking = bisect_slow_nodes(everyone)
        try:
            groups = next(looking)
            while True:
                self._join(groups)
                result = self._measure(groups, Operation.ALL_REDUCE, work.halving_size)
                groups = looking.send({group: _rate(result[group]) for group in groups})
        except StopIteration as end:
            yield end.value

    def _join(self, groups: list[Group]) -> dict[int, Message]:
        ids = self._step({group[0]: {"do": "id"} for group in groups}, "creating an id")
        tasks = {
            rank: {"do": "join", "ranks": len(group), "rank": n, "id": ids[group[0]]["id"]}
            for group in groups
            for n, rank in enumerate(group)
        }
        return self._step(tasks, "joining the communicator")

    def _measure(self, groups: list[Group], operation: str, size: int) -> dict[Group, Measure]:
        task = {"do": "run", "operation": operation, "size": size, "rounds": self.run.work.rounds}
        ranks = [rank for group in groups for rank in group]
        replies = self._step(dict.fromkeys(ranks, task), str(operation))
        return {
            group: Measure(
                operation=str(operation),
                size=size,
                ranks=group,
                seconds=max(float(replies[rank]["seconds"]) for rank in group),
                wrong=sum(int(replies[rank]["wrong"]) for rank in group),
            )
            for group in groups
        }

    def _logs(self) -> tuple[str, ...]:
        replies = self._step({rank: {"do": "leave"} for rank in self._ranks()}, "leaving")
        return tuple(str(replies[rank].get("log", "")) for rank in self._ranks())

    def _step(self, tasks: Tasks, what: str) -> dict[int, Message]:
        """Run it on all of them at once.

        Raises:
            _Over: a rank did not finish; all were ordered to stop.
        """
        seconds, gpus = self.run.step_seconds, self.run.gpus
        owing = {rank // gpus for rank in tasks}
        for index in owing:
            mine = {str(r % gpus): task for r, task in tasks.items() if r // gpus == index}
            with suppress(OSError):  # the thread that reads from it reports the disconnection
                send(self._members[index], {"kind": "step", "tasks": mine, "seconds": seconds})
        replies: dict[int, Message] = {}
        states: dict[int, tuple[str, str]] = {}
        until = time.monotonic() + seconds + GRACE_SECONDS
        while owing - {rank // gpus for rank in states}:
            kind, index, message = self._next_message(until)
            if not kind:
                break
            self._noted(kind, index, message, replies, states)
            if any(state != ANSWERED for state, _ in states.values()):
                break
        if len(replies) == len(tasks):
            return replies
        self._abort(replies, states)
        silent = self._all(HUNG)
        raise _Over(what, {**silent, **states})

    def _noted(
        self,
        kind: str,
        index: int,
        message: Any,
        replies: dict[int, Message],
        states: dict[int, tuple[str, str]],
    ) -> None:
        first = index * self.run.gpus
        if kind == "gone":
            states |= self._of_node(index, DIED, f"its node disconnected: {message}")
            return
        for local, (state, words) in message["states"].items():
            states[first + int(local)] = (state, words)
        for local, reply in message["replies"].items():
            replies[first + int(local)] = reply

    def _abort(self, replies: dict[int, Message], states: dict[int, tuple[str, str]]) -> None:
        """Send to all, and collect the state of their ranks."""
        reporting_nodes = {rank // self.run.gpus for rank in states}
        for peer in self._members.values():
            with suppress(OSError):
                send(peer, {"kind": "abort"})
        until = time.monotonic() + GRACE_SECONDS
        while len(reporting_nodes) < self.run.nodes:
            kind, index, message = self._next_message(until)
            if not kind:
                return
            self._noted(kind, index, message, replies, states)
            reporting_nodes.add(index)

    def _goodbyes(self) -> None:
        """Return when all have read the result."""
        until = time.monotonic() + GRACE_SECONDS
        members_left = set(self._members)
        while members_left:
            kind, index, _ = self._next(until)
            if not kind:
                return
            if kind == "gone":
                members_left.discard(index)


def _rate(measure: Measure) -> float:
    operation = Operation(measure.operation)
    return bus_gbps(operation, len(measure.ranks), measure.size, measure.seconds)


def _blamed(over: _Over) -> dict[int, tuple[str, str]]:
    """The ranks at fault: those that crashed, else failed, else did not start, else all in the step."""
    states = {state for state, _ in over.states.values()}
    faults = (DIED, ABSENT, CRASHED, FAILED, HUNG, WAITING, ENTERED)
    worst = next((each for each in faults if each in states), "")
    results = {}
    for rank, (state, output) in over.states.items():
        if state != worst:
            results[rank] = (STOPPED, f"waited for others: {over.what}")
        elif state in _HOW:
            results[rank] = (HUNG, f"{_HOW[state]}: {over.what}")
        else:
            results[rank] = (ABSENT if state == ABSENT else CRASHED, output)
    return results
