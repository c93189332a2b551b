"""Who makes a GPU work: one protocol, and CUDA's driver behind it."""

from collections.abc import Callable, Sequence
from typing import Protocol


class NoLibrary(Exception):
    """What the work needs is not in this image, or too old."""


class CardError(Exception):
    """A call that failed, and CUDA's code of it."""

    def __init__(self, call: str, code: int, name: str) -> None:
        super().__init__(f"{call}: {name} ({code})")
        self.code = code


class Card(Protocol):
    """One GPU. Pointers are numbers; what is asked runs when `timed` or `wait` has waited for it."""

    def uuid(self) -> str:
        """As NVML calls it too."""
        ...

    def versions(self) -> Sequence[str]:
        """Of the libraries that were used."""
        ...

    def device(self, size: int, gpu: int | None = None) -> int:
        """Memory of this GPU, or of another one."""
        ...

    def host(self, size: int) -> memoryview:
        """Memory of the host that stays where it is."""
        ...

    def free(self) -> None:
        """Give all of it back."""
        ...

    def peers(self) -> Sequence[int]:
        """Indexes of the other GPUs that this one can reach without the host."""
        ...

    def put(self, target: int, source: memoryview, size: int) -> None:
        """Host to device."""
        ...

    def get(self, target: memoryview, source: int, size: int) -> None:
        """Device to host."""
        ...

    def move(self, target: int, source: int, size: int) -> None:
        """Inside the device."""
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
        """Square matrices, row after row; the result is float32. A turned one is taken transposed.

        Raises:
            NoLibrary: this image has no cuBLAS.
        """
        ...

    def timed(self, work: Callable[[], None], rounds: int) -> list[float]:
        """Seconds of each round, by the GPU's clock."""
        ...

    def wait(self) -> None:
        """Until all is done."""
        ...
