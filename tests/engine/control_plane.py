"""One control plane for all workers of a test run: the first to ask starts it, the last to leave ends it."""

import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "engine"
PROGRAMS = (
    "kwokctl",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
)
# A control plane is ready in about four seconds, and in minutes on a machine that compiles meanwhile.
SECONDS = 600
_PARTS = {
    "etcd": "etcd",
    "kube-apiserver": "kube-apiserver",
    "kube-scheduler": "kube-scheduler",
    "kube-controller-manager": "kube-controller-manager",
    "kwok-controller": "kwok",
}
TRIES = 5
"""A part's port is free when kwokctl looks, and may be another control plane's when the part starts."""
LOST_SECONDS = 5
"""For which a part is gone before nobody waits for it any more: kwokctl may be starting it anew."""
LOG = "kwokctl.log"
_ELECTED = ("kube-controller-manager", "kube-scheduler")
_CONTROLLERS = "*,-validatingadmissionpolicy-status-controller"
"""All but one: it works through every expression of every policy, for each kind that it may be about, and
writes what it thinks of their types into the policy's status: three quarters of all that the controllers did
here. tests/cluster reads what it says of our policies, on a cluster that has it."""


def missing(tools: Path) -> list[str]:
    """The programs that the folder lacks."""
    return [name for name in PROGRAMS if not os.access(tools / name, os.X_OK)]


@contextmanager
def shared(tools: Path, home: Path) -> Iterator[Path]:
    """The kubeconfig of a control plane that lives in `home`, as long as anybody uses it."""
    home.mkdir(exist_ok=True)
    kubeconfig = home / "kubeconfig"
    with _users(home) as users:
        if users.number == 0:
            _start(tools, home, kubeconfig)  # where it fails, the next to ask tries anew
        users.add(1)
    try:
        yield kubeconfig
    finally:
        with _users(home) as users:
            if users.add(-1) == 0:
                _kwokctl(tools, home, "delete", "cluster", f"--kubeconfig={kubeconfig}")


class _Count:
    def __init__(self, file: Path) -> None:
        self.file = file

    @property
    def number(self) -> int:
        return int(self.file.read_text()) if self.file.exists() else 0

    def add(self, number: int) -> int:
        known = self.number + number
        self.file.write_text(str(known))
        return known


@contextmanager
def _users(home: Path) -> Iterator[_Count]:
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield _Count(home / "users")


def _start(tools: Path, home: Path, kubeconfig: Path) -> None:
    binaries = [f"--{part}-binary={tools / program}" for part, program in _PARTS.items()]
    where = (f"--kubeconfig={kubeconfig}", f"--wait={SECONDS}s", f"--timeout={SECONDS}s")
    # Without the limit the garbage collector, which foreground deletion waits for, is quicker.
    quick = ("--runtime=binary", "--disable-qps-limits")
    # There is one of each; on a busy machine it would miss its turn at the lease, and end.
    alone = [f"--extra-args={part}=leader-elect=false" for part in _ELECTED]
    alone.append(f"--extra-args=kube-controller-manager=controllers={_CONTROLLERS}")
    lost: list[str] = []
    for _ in range(TRIES):
        lost = _created(tools, home, *quick, *alone, *binaries, *where)
        if not lost:
            break
        # kwokctl calls it ready all the same; without its controllers every `up` would wait in vain.
        _kwokctl(tools, home, "delete", "cluster", f"--kubeconfig={kubeconfig}")
    assert not lost, f"{', '.join(lost)} ended at each of {TRIES} starts:\n{_said(home)}"
    _kwokctl(tools, home, "scale", "node", "--replicas=2")


def _created(tools: Path, home: Path, *arguments: str) -> list[str]:
    """Start every part; those that ended, without whom kwokctl would wait for the others all its time."""
    process = _begun(tools, home, "create", "cluster", *arguments)
    gone_since = None
    while process.poll() is None:
        gone_since = (gone_since or time.monotonic()) if _ended(home) else None
        if gone_since and time.monotonic() - gone_since > LOST_SECONDS:
            process.kill()
        time.sleep(0.2)
    return _ended(home) or ([] if process.returncode == 0 else ["kwokctl"])


def _ended(home: Path) -> list[str]:
    """The parts that were started and run no more."""
    files = sorted((home / "work" / "clusters" / NAME / "pids").glob("*.pid"))
    known = {one.stem: one.read_text().strip() for one in files}
    return [name for name, pid in known.items() if pid and not Path(f"/proc/{pid}/exe").exists()]


def _kwokctl(tools: Path, home: Path, *arguments: str) -> None:
    assert _begun(tools, home, *arguments).wait(SECONDS) == 0, _said(home)


def _begun(tools: Path, home: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    env = {**os.environ, "KWOK_WORKDIR": str(home / "work"), "KUBECONFIG": str(home / "kubeconfig")}
    env["GOGC"] = "400"  # memory for work: the API server's first minute is mostly garbage
    # Its children keep what they inherit open, hence a file and no pipe.
    with (home / LOG).open("a") as out:
        return subprocess.Popen(
            [str(tools / "kwokctl"), f"--name={NAME}", *arguments],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )


def _said(home: Path) -> str:
    return (home / LOG).read_text()[-3000:]
