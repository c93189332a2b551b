"""Collectives of one rank, by NCCL."""

import ctypes
import importlib
import time
from dataclasses import dataclass
from typing import Any

from gpuyard_validator.nccl.arithmetic import Operation


@dataclass(frozen=True, slots=True)
class CollectiveTiming:
    """One collective, as this rank measured it."""

    seconds: float
    """Seconds of one round."""
    wrong: int
    """Number of wrong elements."""


class _Floats:
    """Device memory as float32, by the CUDA array interface, which nccl4py accepts."""

    def __init__(self, pointer: int, count: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": "<f4",
            "data": (pointer, False),
            "version": 3,
        }


class NcclCollective:
    """NCCL by nccl4py and cuda-core, imported here only, on first use.

    All ranks of a group make every call but `version` and `unique_id` together.

    A test compares names and arguments with those of nccl4py 0.6.0.
    """

    _FLOAT, _ONE, _SEEN = 4, b"\x00\x00\x80\x3f", 1 << 16
    """Bytes of a float32, the number 1 as one, and how many elements of a result are checked."""
    _ALL_TO_ALL = (2, 28)
    """First NCCL version with alltoall as one call; older ones use sends, as nccl-tests does."""

    def __init__(self, gpu: int) -> None:
        self._nccl: Any = importlib.import_module("nccl.core")
        self._cuda: Any = importlib.import_module("cuda.core")
        self._device = self._cuda.Device(gpu)
        self._device.set_current()
        self._stream = self._device.create_stream()
        self._group: Any = None
        self._ranks, self._sends = 1, False

    def version(self) -> str:
        """Version of the loaded libnccl."""
        return str(self._release())

    def _release(self) -> Any:
        result = self._nccl.get_version().libnccl
        if result is None:
            raise ImportError(
                "nccl4py cannot load libnccl.so.2: put the image's NCCL on the library path"
            )
        return result.version

    def unique_id(self) -> bytes:
        """128 bytes, by which the ranks of one group find each other; one rank requests it."""
        return bytes(self._nccl.get_unique_id())

    def join(self, ranks: int, rank: int, unique_id: bytes) -> None:
        """Join a group, and leave the earlier one."""
        self.leave()
        result = self._nccl.UniqueId.from_bytes(unique_id)
        self._group = self._nccl.Communicator.init(nranks=ranks, rank=rank, unique_id=result)
        self._ranks, self._sends = ranks, self._release().release[:2] < self._ALL_TO_ALL

    def run(self, operation: Operation, size: int, rounds: int) -> CollectiveTiming:
        """Repeat it and check the result; `size` is the bytes of one rank's whole buffer.

        Every rank sends ones: sums equal the number of ranks, copies equal one.
        """
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
            return CollectiveTiming(
                seconds, self._wrong(target, received, float(self._ranks if sums else 1))
            )
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
        """Wrong values among the first elements, copied to the host."""
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
