"""Who moves the bytes: one protocol, and NCCL behind it."""

import ctypes
import importlib
import time
from dataclasses import dataclass
from typing import Any, Protocol

from gpuyard_validator.nccl.arithmetic import Operation


@dataclass(frozen=True, slots=True)
class Ran:
    """One collective as this rank has seen it."""

    seconds: float
    """Of one round."""
    wrong: int
    """Elements that are not what they must be."""


class Collective(Protocol):
    """One rank's part; every call but the first two is made by all ranks of a group together."""

    def version(self) -> str:
        """Of the library that moves the bytes."""
        ...

    def unique_id(self) -> bytes:
        """What the ranks of one group find each other by; one of them asks for it."""
        ...

    def join(self, ranks: int, rank: int, unique_id: bytes) -> None:
        """Be one of a group; an earlier one is left."""
        ...

    def run(self, operation: Operation, size: int, rounds: int) -> Ran:
        """Do it so often, and look at the result; `size` is bytes of the whole buffer of one rank."""
        ...

    def leave(self) -> None:
        """End it."""
        ...


class _Floats:
    """Device memory as float32, by the CUDA array interface, which nccl4py takes."""

    def __init__(self, pointer: int, count: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": "<f4",
            "data": (pointer, False),
            "version": 3,
        }


class NcclCollective:
    """NCCL by nccl4py and cuda-core, which are imported only here and only when it is made.

    Names and arguments are those of nccl4py 0.6.0, which a test holds them against.
    """

    _FLOAT, _ONE, _SEEN = 4, b"\x00\x00\x80\x3f", 1 << 16
    """Bytes of a float32, the number 1 as one, and how many elements of a result are looked at."""
    _ALL_TO_ALL = (2, 28)
    """NCCL has it as one call since then; before, it is made of sends, as nccl-tests does."""

    def __init__(self, gpu: int) -> None:
        self._nccl: Any = importlib.import_module("nccl.core")
        self._cuda: Any = importlib.import_module("cuda.core")
        self._device = self._cuda.Device(gpu)
        self._device.set_current()
        self._stream = self._device.create_stream()
        self._group: Any = None
        self._ranks, self._sends = 1, False

    def version(self) -> str:
        """Of the libnccl that was loaded."""
        return str(self._release())

    def _release(self) -> Any:
        result = self._nccl.get_version().libnccl
        if result is None:
            raise ImportError(
                "nccl4py finds no libnccl.so.2: the image's NCCL is not where it looks"
            )
        return result.version

    def unique_id(self) -> bytes:
        """128 bytes."""
        return bytes(self._nccl.get_unique_id())

    def join(self, ranks: int, rank: int, unique_id: bytes) -> None:
        """A communicator."""
        self.leave()
        result = self._nccl.UniqueId.from_bytes(unique_id)
        self._group = self._nccl.Communicator.init(nranks=ranks, rank=rank, unique_id=result)
        self._ranks, self._sends = ranks, self._release().release[:2] < self._ALL_TO_ALL

    def run(self, operation: Operation, size: int, rounds: int) -> Ran:
        """Every rank sends ones: sums are the number of ranks, copies are one."""
        sent, received = self._lengths(operation, size)
        source, target = self._nccl.mem_alloc(sent), self._nccl.mem_alloc(received)
        try:
            source.fill(self._ONE, stream=self._stream)
            for _ in range(2):
                self._once(operation, source, target, sent, received)
            self._stream.sync()
            began = time.perf_counter()
            for _ in range(rounds):
                self._once(operation, source, target, sent, received)
            self._stream.sync()
            seconds = (time.perf_counter() - began) / rounds
            sums = operation in (Operation.ALL_REDUCE, Operation.REDUCE_SCATTER)
            return Ran(seconds, self._wrong(target, received, float(self._ranks if sums else 1)))
        finally:
            source.close()
            target.close()

    def _lengths(self, operation: Operation, size: int) -> tuple[int, int]:
        whole = size - size % (self._FLOAT * self._ranks)
        part = whole // self._ranks
        received = part if operation is Operation.REDUCE_SCATTER else whole
        return (part if operation is Operation.ALL_GATHER else whole), received

    def _once(
        self, operation: Operation, source: Any, target: Any, sent: int, received: int
    ) -> None:
        out = _Floats(int(source.handle), sent // self._FLOAT)
        into = _Floats(int(target.handle), received // self._FLOAT)
        match operation:
            case Operation.ALL_REDUCE:
                self._group.allreduce(out, into, self._nccl.SUM, stream=self._stream)
            case Operation.REDUCE_SCATTER:
                self._group.reduce_scatter(out, into, self._nccl.SUM, stream=self._stream)
            case Operation.ALL_GATHER:
                self._group.allgather(out, into, stream=self._stream)
            case _ if self._sends:
                self._each_to_each(source, target, sent)
            case _:
                self._group.alltoall(out, into, stream=self._stream)

    def _each_to_each(self, source: Any, target: Any, sent: int) -> None:
        part = sent // self._ranks
        with self._nccl.group():
            for peer in range(self._ranks):
                out, into = (
                    _Floats(int(each.handle) + peer * part, part // self._FLOAT)
                    for each in (source, target)
                )
                self._group.send(out, peer, stream=self._stream)
                self._group.recv(into, peer, stream=self._stream)

    def _wrong(self, target: Any, received: int, expected: float) -> int:
        """In the first elements, copied to the host."""
        count = min(self._SEEN, received // self._FLOAT)
        size = count * self._FLOAT
        host = self._cuda.LegacyPinnedMemoryResource().allocate(size, stream=self._stream)
        first = self._cuda.Buffer.from_handle(ptr=int(target.handle), size=size)
        try:
            first.copy_to(host, stream=self._stream)
            self._stream.sync()
            seen = (ctypes.c_float * count).from_address(int(host.handle))
            return sum(each != expected for each in seen)
        finally:
            host.close()

    def leave(self) -> None:
        """Destroy the communicator, where there is one."""
        if self._group is not None:
            self._group.destroy()
            self._group = None
