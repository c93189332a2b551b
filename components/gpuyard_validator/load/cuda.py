"""A GPU through the CUDA driver library, and cuBLAS for matrix products; both by ctypes, loaded on first use.

Signatures are those of cuda.h and cublas_api.h of CUDA 13.5; the calls are unchanged since CUDA 11. It has run
on an H100 and an H200; tests use their own library, compiled against these headers.
"""

import ctypes
import itertools
import sys
from collections.abc import Callable, Iterator
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from pathlib import Path

DRIVER = "libcuda.so.1"
BLAS = ("libcublas.so.13", "libcublas.so.12", "libcublas.so.11")
_FP16, _BF16, _FP32 = 2, 14, 0
"""cudaDataType: CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F."""
_NUMBERS = {"fp16": _FP16, "bf16": _BF16}
_COMPUTE_32F, _DEFAULT = 68, -1
_ALREADY = 704
"""CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED."""


class NoLibrary(Exception):
    """A library that the load needs is missing from the image, or too old."""


class CardError(Exception):
    """A call that failed, and its CUDA error code."""

    def __init__(self, call: str, code: int, name: str) -> None:
        super().__init__(f"{call}: {name} ({code})")
        self.code = code


class CudaCard:
    """One GPU. Pointers are numbers; calls are asynchronous until `timed` or `wait` returns."""

    def __init__(self, index: int) -> None:
        self._cuda = _loaded(DRIVER)
        self._call("cuInit", c_uint(0))
        self._index = index
        self._contexts: dict[int, c_void_p] = {}
        self._held: list[tuple[int, int]] = []
        self._pinned: list[c_void_p] = []
        self._blas: _Blas | None = None
        self._here = self._context(index)
        self._use(self._here)
        self._stream = c_void_p()
        self._call("cuStreamCreate", byref(self._stream), c_uint(0))

    def uuid(self) -> str:
        """As nvidia-smi prints it."""
        raw = (ctypes.c_ubyte * 16)()
        self._call("cuDeviceGetUuid_v2", byref(raw), self._device(self._index))
        text = bytes(raw).hex()
        return "GPU-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def versions(self) -> list[str]:
        """The CUDA version of the driver, and the cuBLAS version where it is used."""
        result = c_int()
        self._call("cuDriverGetVersion", byref(result))
        major, minor = divmod(result.value, 1000)
        blas = [] if self._blas is None else [f"cuBLAS {self._blas.version()}"]
        return [f"CUDA {major}.{minor // 10}", *blas]

    def device(self, size: int, gpu: int | None = None) -> int:
        """Memory of this GPU, or of another one."""
        where = self._index if gpu is None else gpu
        self._use(self._context(where))
        result = c_ulonglong()
        try:
            self._call("cuMemAlloc_v2", byref(result), c_size_t(size))
        finally:
            self._use(self._here)
        self._held.append((where, result.value))
        return result.value

    def host(self, size: int) -> memoryview:
        """Pinned memory."""
        result = c_void_p()
        self._call("cuMemHostAlloc", byref(result), c_size_t(size), c_uint(0))
        self._pinned.append(result)
        assert result.value is not None, "the driver has allocated memory"  # noqa: S101
        return memoryview((ctypes.c_ubyte * size).from_address(result.value)).cast("B")

    def free(self) -> None:
        """All memory of all GPUs."""
        held, self._held = self._held, []
        pinned, self._pinned = self._pinned, []
        for where, pointer in held:
            self._use(self._context(where))
            self._call("cuMemFree_v2", c_ulonglong(pointer))
        self._use(self._here)
        for each in pinned:
            self._call("cuMemFreeHost", each)

    def peers(self) -> list[int]:
        """GPUs with peer access to this one."""
        count = c_int()
        self._call("cuDeviceGetCount", byref(count))
        return [n for n in range(count.value) if n != self._index and self._reaches(n)]

    def _reaches(self, other: int) -> bool:
        able = c_int()
        here, there = self._device(self._index), self._device(other)
        self._call("cuDeviceCanAccessPeer", byref(able), here, there)
        if able.value:
            self._call(
                "cuCtxEnablePeerAccess", self._context(other), c_uint(0), allowed=(_ALREADY,)
            )
        return bool(able.value)

    def put(self, target: int, source: memoryview, size: int) -> None:
        """Host to device."""
        self._call(
            "cuMemcpyHtoDAsync_v2",
            c_ulonglong(target),
            _address(source),
            c_size_t(size),
            self._stream,
        )

    def get(self, target: memoryview, source: int, size: int) -> None:
        """Device to host."""
        self._call(
            "cuMemcpyDtoHAsync_v2",
            _address(target),
            c_ulonglong(source),
            c_size_t(size),
            self._stream,
        )

    def move(self, target: int, source: int, size: int) -> None:
        """Within the device."""
        self._call(
            "cuMemcpyDtoDAsync_v2",
            c_ulonglong(target),
            c_ulonglong(source),
            c_size_t(size),
            self._stream,
        )

    def send(self, target: int, gpu: int, source: int, size: int) -> None:
        """To another device."""
        target_context = self._context(gpu)
        self._call(
            "cuMemcpyPeerAsync",
            c_ulonglong(target),
            target_context,
            c_ulonglong(source),
            self._here,
            c_size_t(size),
            self._stream,
        )

    def multiply(
        self,
        target: int,
        left: int,
        right: int,
        side: int,
        *,
        numbers: str,
        left_turned: bool = False,
        right_turned: bool = False,
    ) -> None:
        """Square row-major matrices; the result is float32. A turned matrix is used transposed.

        cuBLAS is column-major, so it computes the transposed product.

        Raises:
            NoLibrary: the image has no cuBLAS.
        """
        if self._blas is None:
            self._blas = _Blas(self._stream)
        self._blas.multiply(target, (right, right_turned), (left, left_turned), side, numbers)

    def timed(self, work: Callable[[], None], rounds: int) -> list[float]:
        """Seconds of each round, by the GPU's clock: the time between events on the stream."""
        events = [c_void_p() for _ in range(rounds + 1)]
        for each in events:
            self._call("cuEventCreate", byref(each), c_uint(0))
        self._call("cuEventRecord", events[0], self._stream)
        for each in events[1:]:
            work()
            self._call("cuEventRecord", each, self._stream)
        self.wait()
        results = [self._between(a, b) for a, b in itertools.pairwise(events)]
        for each in events:
            self._call("cuEventDestroy_v2", each)
        return results

    def _between(self, begin: c_void_p, end: c_void_p) -> float:
        milliseconds = c_float()
        self._call("cuEventElapsedTime", byref(milliseconds), begin, end)
        return milliseconds.value / 1000

    def wait(self) -> None:
        """Wait until the stream is empty."""
        self._call("cuStreamSynchronize", self._stream)

    def _device(self, index: int) -> c_int:
        result = c_int()
        self._call("cuDeviceGet", byref(result), c_int(index))
        return result

    def _context(self, index: int) -> c_void_p:
        """The primary context, which all libraries of a process share."""
        if index not in self._contexts:
            context = c_void_p()
            self._call("cuDevicePrimaryCtxRetain", byref(context), self._device(index))
            self._contexts[index] = context
        return self._contexts[index]

    def _use(self, context: c_void_p) -> None:
        self._call("cuCtxSetCurrent", context)

    def _call(self, name: str, *given: object, allowed: tuple[int, ...] = ()) -> None:
        code = _function(self._cuda, DRIVER, name)(*given)
        if code and code not in allowed:
            name_pointer = c_char_p()
            _function(self._cuda, DRIVER, "cuGetErrorName")(c_int(code), byref(name_pointer))
            raise CardError(name, code, (name_pointer.value or b"unknown").decode(errors="replace"))


class _Blas:
    """cuBLAS on a stream."""

    def __init__(self, stream: c_void_p) -> None:
        self._name, self._library = _load_blas()
        self._handle = c_void_p()
        self._call("cublasCreate_v2", byref(self._handle))
        self._call("cublasSetStream_v2", self._handle, stream)

    def version(self) -> str:
        result = c_int()
        self._call("cublasGetVersion_v2", self._handle, byref(result))
        return str(result.value)

    def multiply(
        self,
        target: int,
        left: tuple[int, bool],
        right: tuple[int, bool],
        side: int,
        numbers: str,
    ) -> None:
        """Column-major."""
        one, nothing, kind = c_float(1), c_float(0), c_int(_NUMBERS[numbers])
        length = c_int(side)
        self._call(
            "cublasGemmEx",
            self._handle,
            c_int(left[1]),
            c_int(right[1]),
            length,
            length,
            length,
            byref(one),
            c_void_p(left[0]),
            kind,
            length,
            c_void_p(right[0]),
            kind,
            length,
            byref(nothing),
            c_void_p(target),
            c_int(_FP32),
            length,
            c_int(_COMPUTE_32F),
            c_int(_DEFAULT),
        )

    def _call(self, name: str, *given: object) -> None:
        if code := _function(self._library, self._name, name)(*given):
            raise CardError(name, code, "cuBLAS status")


def _function(library: ctypes.CDLL, file: str, name: str) -> Callable[..., int]:
    try:
        result: Callable[..., int] = getattr(library, name)
    except AttributeError:
        raise NoLibrary(f"{file} has no {name}") from None
    return result


def _loaded(name: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(name)
    except OSError as problem:
        raise NoLibrary(str(problem)) from None


def _load_blas() -> tuple[str, ctypes.CDLL]:
    """The system's library path, then the folders of NVIDIA's wheels."""
    problems = []
    for name in (*BLAS, *_wheels()):
        try:
            return name, _loaded(name)
        except NoLibrary as problem:
            problems.append(str(problem))
    raise NoLibrary(f"cuBLAS not found: {problems[0]}")


def _wheels() -> Iterator[str]:
    """nvidia-cublas and nvidia-cublas-cu12 install it into nvidia/NAME/lib."""
    for folder in sys.path:
        for name in BLAS:
            yield from map(str, sorted(Path(folder or ".").glob(f"nvidia/*/lib/{name}")))


def _address(view: memoryview) -> c_void_p:
    return c_void_p(ctypes.addressof(ctypes.c_ubyte.from_buffer(view)))
