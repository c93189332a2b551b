"""The interface that puts load on a GPU: one protocol, and the CUDA driver behind it."""

from collections.abc import Callable, Sequence
from typing import Protocol


class NoLibrary(Exception):
    """A library that the load needs is missing from the image, or too old."""


class CardError(Exception):
    """A call that failed, and its CUDA error code."""

    def __init__(self, call: str, code: int, name: str) -> None:
        super().__init__(f"{call}: {name} ({code})")
        self.code = code


class Card(Protocol):
    """One GPU. Pointers are numbers; calls are asynchronous until `timed` or `wait` returns."""

    def uuid(self) -> str:
        """As NVML reports it."""
        ...

    def versions(self) -> Sequence[str]:
        """Versions of the libraries in use."""
        ...

    def device(self, size: int, gpu: int | None = None) -> int:
        """Memory of this GPU, or of another one."""
        ...

    def host(self, size: int) -> memoryview:
        """Pinned host memory."""
        ...

    def free(self) -> None:
        """Free all memory."""
        ...

    def peers(self) -> Sequence[int]:
        """Indexes of the other GPUs with peer access."""
        ...

    def put(self, target: int, source: memoryview, size: int) -> None:
        """Host to device."""
        ...

    def get(self, target: memoryview, source: int, size: int) -> None:
        """Device to host."""
        ...

    def move(self, target: int, source: int, size: int) -> None:
        """Within the device."""
        ...

    def send(self, target: int, gpu: int, source: int, size: int) -> None:
        """To another device."""
        ...

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

        Raises:
            NoLibrary: the image has no cuBLAS.
        """
        ...

    def timed(self, work: Callable[[], None], rounds: int) -> list[float]:
        """Seconds of each round, by the GPU's clock."""
        ...

    def wait(self) -> None:
        """Wait until all work is done."""
        ...
