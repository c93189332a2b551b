"""Finds the programs of the simulated cluster."""

import os
from dataclasses import dataclass
from pathlib import Path

from gpuyard_core.errors import EnvironmentMissing

PROGRAMS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "kueue",
)
HOW_TO_GET = "run `make tools` to build them (about ten minutes, once)"


@dataclass(frozen=True, slots=True)
class Tools:
    """The folder of the programs, and of the files from their sources."""

    bin: Path

    @property
    def share(self) -> Path:
        """CRDs and webhook manifests of the versions in `bin`."""
        return self.bin.parent / "share"

    def program(self, name: str) -> str:
        """The path of one program."""
        return str(self.bin / name)


def find_tools(start: Path | None = None) -> Tools:
    """The folder named by GPUYARD_TOOLS, else `.testbed/bin` here or in a folder above.

    Raises:
        EnvironmentMissing: no such folder has all programs.
    """
    value = os.environ.get("GPUYARD_TOOLS")
    here = (start or Path.cwd()).resolve()
    folders = [Path(value)] if value else [f / ".testbed" / "bin" for f in (here, *here.parents)]
    present = [folder for folder in folders if folder.is_dir()]
    if not present:
        where = (
            f"GPUYARD_TOOLS={value} is not a folder"
            if value
            else f"{here} and its parent folders have no .testbed/bin"
        )
        raise EnvironmentMissing(
            f"the programs of the simulated cluster are not installed: {where}; {HOW_TO_GET}"
        )
    tools = Tools(present[0].resolve())
    missing = [name for name in PROGRAMS if not os.access(tools.program(name), os.X_OK)]
    missing += [] if (tools.share / "kueue" / "crds").is_dir() else ["share/kueue"]
    if missing:
        raise EnvironmentMissing(f"{tools.bin} lacks {', '.join(missing)}; {HOW_TO_GET}")
    return tools
