"""One control plane for all workers of a test run: the first to ask starts it, the last to leave ends it."""

import fcntl
import os
import subprocess
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
_ELECTED = ("kube-controller-manager", "kube-scheduler")


def missing(tools: Path) -> list[str]:
    """The programs that the folder lacks."""
    return [name for name in PROGRAMS if not os.access(tools / name, os.X_OK)]


@contextmanager
def shared(tools: Path, home: Path) -> Iterator[Path]:
    """The kubeconfig of a control plane that lives in `home`, as long as anybody uses it."""
    home.mkdir(exist_ok=True)
    kubeconfig = home / "kubeconfig"
    with _users(home) as users:
        if users.add(1) == 1:
            _start(tools, home, kubeconfig)
    try:
        yield kubeconfig
    finally:
        with _users(home) as users:
            if users.add(-1) == 0:
                _kwokctl(tools, home, "delete", "cluster", f"--kubeconfig={kubeconfig}")


class _Count:
    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, number: int) -> int:
        known = int(self.file.read_text()) if self.file.exists() else 0
        self.file.write_text(str(known + number))
        return known + number


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
    for _ in range(TRIES):
        _kwokctl(tools, home, "create", "cluster", *quick, *alone, *binaries, *where)
        if not (lost := _ended(home)):
            break
        # kwokctl calls it ready all the same; without its controllers every `up` would wait in vain.
        _kwokctl(tools, home, "delete", "cluster", f"--kubeconfig={kubeconfig}")
    else:
        raise AssertionError(f"{', '.join(lost)} ended at each of {TRIES} starts")
    _kwokctl(tools, home, "scale", "node", "--replicas=2")


def _ended(home: Path) -> list[str]:
    """The parts that were started and run no more."""
    files = sorted((home / "work" / "clusters" / NAME / "pids").glob("*.pid"))
    return [one.stem for one in files if not Path(f"/proc/{one.read_text().strip()}/exe").exists()]


def _kwokctl(tools: Path, home: Path, *arguments: str) -> None:
    log = home / "kwokctl.log"
    env = {**os.environ, "KWOK_WORKDIR": str(home / "work"), "KUBECONFIG": str(home / "kubeconfig")}
    env["GOGC"] = "400"  # memory for work: the API server's first minute is mostly garbage
    # Its children keep what they inherit open, hence a file and no pipe.
    with log.open("a") as out:
        done = subprocess.run(
            [str(tools / "kwokctl"), f"--name={NAME}", *arguments],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 0, log.read_text()[-3000:]
