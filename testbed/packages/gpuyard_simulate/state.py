"""The folder of one simulated cluster: ports, records of processes, logs, the lock.

<home>/<name>/
  cluster.json     ports and the access token; written before the first process starts
  parts/<part>.json  process id and start time of each part
  kubeconfig       for users
  logs/<part>.log
  etcd/ pki/ kueue/  data of the parts
"""

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import socket
from collections.abc import Generator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from gpuyard_core.errors import EnvironmentMissing, UsageError
from gpuyard_simulate.processes import Process

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
PORT_NAMES = (
    "etcd",
    "etcd-peer",
    "kube-apiserver",
    "kwok",
    "kueue-webhook",
    "kueue-health",
    "kueue-metrics",
)
# Below the range from which Linux takes ports for outgoing connections, to avoid collisions.
PORTS = range(20000, 32000)


def home() -> Path:
    """The folder of all simulated clusters of this user."""
    if value := os.environ.get("GPUYARD_SIM_HOME"):
        return Path(value).absolute()
    state_home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state_home).expanduser().absolute() / "gpuyard" / "sim"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Settings that a cluster keeps from its first start to its removal."""

    token: str
    ports: dict[str, int]
    checkout: str | None = None
    """The checkout whose `make up` deploys here; None when only `python -m gpuyard_simulate` was used."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The state of one named cluster."""

    name: str
    path: Path

    @property
    def kubeconfig(self) -> Path:
        """For users and for the parts themselves."""
        return self.path / "kubeconfig"

    def log(self, part: str) -> Path:
        """The log of one part."""
        return self.path / "logs" / f"{part}.log"

    def settings(self) -> ClusterSettings | None:
        """The settings of the first start; None when the cluster does not exist."""
        try:
            result = json.loads((self.path / "cluster.json").read_text(encoding="utf-8"))
            return ClusterSettings(
                result["token"],
                {name: int(result["ports"][name]) for name in PORT_NAMES},
                result.get("checkout"),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write_settings(self, settings: ClusterSettings) -> None:
        """Write the settings, readable by the user alone: they hold the token."""
        write_private(self.path / "cluster.json", json.dumps(asdict(settings), indent=2) + "\n")

    def record(self, part: str, process: Process) -> None:
        """Remember the process of a part."""
        write_private(self.path / "parts" / f"{part}.json", json.dumps(asdict(process)) + "\n")

    def read_process(self, part: str) -> Process | None:
        """The process a part had, running or not."""
        try:
            result = json.loads((self.path / "parts" / f"{part}.json").read_text(encoding="utf-8"))
            return Process(int(result["pid"]), str(result["started"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remove(self) -> None:
        """Remove this folder, and the one above it if it is empty."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()

    def empty(self) -> None:
        """Remove everything but the folder itself, which is the lock."""
        for path in self.path.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def folder_of(name: str) -> Folder:
    """The folder of a cluster by its name.

    Raises:
        UsageError: the name is not valid as a folder and a kubeconfig context.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--name {name!r} is not a valid name of a simulated cluster; allowed: 1 to 40 lowercase letters, digits"
            " and dashes, starting and ending with a letter or digit; for example `local`"
        )
    return Folder(name, home() / name)


def require_own(name: str, checkout: Path) -> None:
    """Restrict a checkout to clusters of its own: the state of a stack is in the checkout.

    Raises:
        EnvironmentMissing: `make up` in another checkout deploys to this cluster.
    """
    settings = folder_of(name).settings()
    if settings and settings.checkout not in {None, str(checkout)}:
        raise EnvironmentMissing(
            f"cluster {name} belongs to the checkout {settings.checkout}: run `make` there, or add"
            f" NAME=another-name here for a cluster of this checkout; `python -m gpuyard_simulate down --name {name}`"
            " removes it"
        )


def write_private(path: Path, text: str) -> None:
    """Write a file as a whole, readable by the user alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.touch(mode=0o600)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


@contextlib.contextmanager
def locked(folder: Folder) -> Generator[None]:
    """One command at a time for each cluster; the lock is the folder itself, so `down` leaves no file."""
    while True:
        folder.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _opened(folder.path) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_same(handle, folder.path):  # else a `down` removed it while we waited
                yield
                return


@contextlib.contextmanager
def _opened(path: Path) -> Generator[int]:
    handle = os.open(path, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def _is_same(handle: int, path: Path) -> bool:
    try:
        return os.fstat(handle).st_ino == path.stat().st_ino
    except OSError:
        return False


def new_settings(folder: Folder, checkout: Path | None = None) -> ClusterSettings:
    """A new token, and ports that are free and not used by another cluster of this user.

    The search starts at a different port for each folder, so that clusters of two users or two test runs
    that start at the same moment rarely choose the same ports.
    """
    every = (other.settings() for other in every_folder())
    used_ports = {port for settings in every if settings for port in settings.ports.values()}
    first = int.from_bytes(sha256(str(folder.path).encode()).digest()[:4], "big") % len(PORTS)
    free_ports = (
        port
        for port in (*PORTS[first:], *PORTS[:first])
        if port not in used_ports and is_free(port)
    )
    ports: dict[str, int] = dict(zip(PORT_NAMES, free_ports, strict=False))
    if len(ports) < len(PORT_NAMES):
        raise EnvironmentMissing(
            f"no {len(PORT_NAMES)} free ports from {PORTS.start} to {PORTS.stop} on this machine"
        )
    return ClusterSettings(secrets.token_urlsafe(24), ports, str(checkout) if checkout else None)


def every_folder() -> list[Folder]:
    """The folders of all clusters of this user, running or not, by name."""
    return [Folder(path.name, path) for path in sorted(home().glob("*/"))]


def is_free(port: int) -> bool:
    """Whether a local port is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
