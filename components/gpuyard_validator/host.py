"""The host's files: the driver's kernel module, RDMA devices, environment variables. Runs no command."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuyard_validator.snapshot import BAD_VARIABLES, Adapter, NumaNode
from gpuyard_validator.values import Answer, Missing, MissingReason


@dataclass(frozen=True, slots=True)
class Host:
    """A host, by the paths of its files."""

    root: Path = Path("/")
    environment: Mapping[str, str] | None = None
    """The program's environment by default."""

    def variables(self) -> Mapping[str, str]:
        """The variables that a check reads, and no others."""
        result = self._environment()
        return {name: result[name] for name in BAD_VARIABLES if name in result}

    def _environment(self) -> Mapping[str, str]:
        return os.environ if self.environment is None else self.environment

    def node(self) -> str:
        """The node name given to the pod; otherwise the kernel's host name."""
        value = self._environment().get("NODE_NAME")
        name = self._read("proc/sys/kernel/hostname")
        return value or (name.strip() if isinstance(name, str) else "unknown")

    def kernel_driver(self) -> Answer[str]:
        """The version in the first line of the driver's own file."""
        text = self._read("proc/driver/nvidia/version")
        if isinstance(text, Missing):
            return text
        for word in text.partition("\n")[0].split():
            if word[0].isdecimal() and word.count("."):
                return word
        return Missing(MissingReason.MALFORMED, text[:80])

    def open_modules(self) -> Answer[bool]:
        """Whether that line names the open kernel module."""
        text = self._read("proc/driver/nvidia/version")
        return text if isinstance(text, Missing) else "Open Kernel Module" in text

    def modules(self) -> Answer[tuple[str, ...]]:
        """Names of the kernel's modules."""
        text = self._read("proc/modules")
        if isinstance(text, Missing):
            return text
        return tuple(line.split()[0] for line in text.splitlines() if line.strip())

    def adapters(self) -> Answer[tuple[Adapter, ...]]:
        """All RDMA devices; an empty list is a valid answer."""
        folder = self.root / "sys/class/infiniband"
        if not (self.root / "sys/class").is_dir():
            return Missing(MissingReason.FAILED, "/sys does not exist")
        if not folder.is_dir():
            return ()
        return tuple(self._adapter(each) for each in sorted(folder.iterdir()))

    def _adapter(self, device: Path) -> Adapter:
        """One RDMA device, by its first port: adapters next to GPUs have one."""
        port = device / "ports" / "1"
        state, rate, link = (_text(port / name) for name in ("state", "rate", "link_layer"))
        try:
            gbps = float(rate.split()[0])
        except (ValueError, IndexError):
            gbps = 0.0
        driver = (device / "device" / "driver").resolve().name
        active = state.startswith("4:")
        return Adapter(
            name=device.name,
            driver=driver,
            active=active,
            link=link,
            gbps=gbps,
            numa=_numa(device / "device"),
        )

    def numa(self) -> Answer[tuple[NumaNode, ...]]:
        """Numbers of the NUMA nodes that have CPUs."""
        folder = self.root / "sys/devices/system/node"
        results = [
            NumaNode(index=int(each.name[4:]), cpus=cpus, memory_mib=memory)
            for each in folder.glob("node[0-9]*")
            if (cpus := _count(_text(each / "cpulist")))
            and (memory := _total_mib(_text(each / "meminfo")))
        ]
        if not results:
            return Missing(MissingReason.FAILED, "the kernel lists no NUMA node")
        return tuple(sorted(results, key=lambda node: node.index))

    def numa_of(self, address: str) -> Answer[int]:
        """The NUMA node of a PCI device, by its address as NVML writes it: 00000000:1B:00.0."""
        domain, _, rest = address.lower().partition(":")
        return _numa(self.root / "sys/bus/pci/devices" / f"{domain[-4:]}:{rest}")

    def _read(self, path: str) -> Answer[str]:
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace")
        except OSError as problem:
            return Missing(MissingReason.FAILED, f"/{path}: {problem.strerror}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _numa(device: Path) -> Answer[int]:
    """The NUMA node of a device, as the kernel reports it; -1 means none."""
    result = _text(device / "numa_node")
    if result.isdecimal():
        return int(result)
    return Missing(MissingReason.NOT_SUPPORTED, f"numa_node is {result or 'empty'}")


def _count(ranges: str) -> int:
    """The number of entries of a kernel list: 0-47,96-143."""
    ends = [part.split("-") for part in ranges.split(",") if part]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)


def _total_mib(text: str) -> int:
    """The value of a line such as `Node 0 MemTotal: 1056289972 kB`."""
    for line in text.splitlines():
        words = line.split()
        if "MemTotal:" in words[:-1]:
            return int(words[words.index("MemTotal:") + 1]) // 1024
    return 0
