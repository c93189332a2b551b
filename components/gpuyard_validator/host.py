"""What the host's files say: the driver's module, RDMA devices, variables. Nothing is run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuyard_validator.snapshot import Adapter
from gpuyard_validator.values import Answer, Missing, Why


@dataclass(frozen=True, slots=True)
class Host:
    """A host, by where its files are."""

    root: Path = Path("/")
    environment: Mapping[str, str] | None = None
    """Of this program, where none is given."""

    def variables(self) -> Mapping[str, str]:
        """Names and values; a check looks for names only."""
        return dict(os.environ if self.environment is None else self.environment)

    def node(self) -> str:
        """As the pod was told; else as the kernel calls itself."""
        given = self.variables().get("NODE_NAME")
        name = self._read("proc/sys/kernel/hostname")
        return given or (name.strip() if isinstance(name, str) else "unknown")

    def kernel_driver(self) -> Answer[str]:
        """The version in the first line of the driver's own file."""
        text = self._read("proc/driver/nvidia/version")
        if isinstance(text, Missing):
            return text
        for word in text.partition("\n")[0].split():
            if word[0].isdecimal() and word.count("."):
                return word
        return Missing(Why.MALFORMED, text[:80])

    def open_modules(self) -> Answer[bool]:
        """Whether that line calls the module open."""
        text = self._read("proc/driver/nvidia/version")
        return text if isinstance(text, Missing) else "Open Kernel Module" in text

    def modules(self) -> Answer[tuple[str, ...]]:
        """Names of the kernel's modules."""
        text = self._read("proc/modules")
        if isinstance(text, Missing):
            return text
        return tuple(line.split()[0] for line in text.splitlines() if line.strip())

    def adapters(self) -> Answer[tuple[Adapter, ...]]:
        """Every RDMA device; none at all is an answer too."""
        folder = self.root / "sys/class/infiniband"
        if not (self.root / "sys/class").is_dir():
            return Missing(Why.FAILED, "there is no /sys")
        if not folder.is_dir():
            return ()
        return tuple(self._adapter(each) for each in sorted(folder.iterdir()))

    def _adapter(self, device: Path) -> Adapter:
        """One of them, by its first port: those next to GPUs have one."""
        port = device / "ports" / "1"
        state, rate, link = (_text(port / name) for name in ("state", "rate", "link_layer"))
        try:
            gbps = float(rate.split()[0])
        except (ValueError, IndexError):
            gbps = 0.0
        driver = (device / "device" / "driver").resolve().name
        active = state.startswith("4:")
        return Adapter(name=device.name, driver=driver, active=active, link=link, gbps=gbps)

    def _read(self, path: str) -> Answer[str]:
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError as problem:
            return Missing(Why.FAILED, f"/{path}: {problem.strerror}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
