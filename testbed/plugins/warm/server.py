"""A process with modules already imported, and copies of it that become plugins or programs.

The proxy that the engine starts for a plugin connects to `server.py plugins SOCKET`, the language host to
`server.py programs SOCKET` for a stack's program and for policy packs. Only imports are shared: no thread, no
connection and no file is open when a copy is made. It lives as long as its stdin is open, so neither it nor a
copy outlives the process that started it.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import marshal
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

PLUGINS = Path(__file__).resolve().parents[1]
MODULES = {
    "plugins": (
        "testbed.plugins.language.host",
        "testbed.plugins.kubernetes.provider",
        "testbed.plugins.cloud.provider",
        "testbed.plugins.cloud.inside.stand_ins",
    ),
    "programs": (
        "pulumi",
        "pulumi.policy",
        "pulumi_policy",
        "pulumi_kubernetes.core.v1",
        "gpuyard.resources",
        "gpuyard_lint.embedded_values",
        "gpuyard_lint.settings",
        "gpuyard_lint.rules",
    ),
}
PACK = ["-u", "-m", "pulumi.policy"]
"""How the language host starts a policy pack; components, which begin with `-u` as well, start normally."""
MAINS = {
    "language": "host",
    "kubernetes": "provider",
    "cloud": "provider",
    "cloud/inside": "stand_ins",
}
"""Folders of plugins, and of programs that kubeconfigs run, with the module there that has its `main`."""
NEITHER = b"n"
YES = b"y"


@dataclass(frozen=True)
class Wanted:
    """A requested command, and the descriptors that it gets."""

    command: list[str]
    environment: dict[str, str]
    folder: str
    descriptors: list[int]


class Server:
    """Waits for requests and for the ends of copies; it has one thread."""

    def __init__(self, address: Path, *, isolated: bool) -> None:
        self.address = address
        self.isolated = isolated
        self.python = pythons(os.environ)
        self.copies: dict[int, socket.socket] = {}
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX)
        fresh = address.with_suffix(".new")
        self.listener.bind(str(fresh))
        self.listener.listen(64)
        fresh.rename(address)  # once the name exists, connections work
        self.ends, written = socket.socketpair()
        for end in (self.ends, written):
            end.settimeout(0)
        signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)
        self.written = written
        signal.signal(signal.SIGCHLD, lambda *_: None)  # its byte wakes the loop

    def serve(self) -> None:
        """Serve until stdin is closed."""
        for readable in (self.listener, self.ends, sys.stdin):
            self.selector.register(readable, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is sys.stdin:
                    self.close()
                elif key.fileobj is self.ends:
                    self.reap()
                elif key.fileobj is self.listener:
                    self.accept()
                elif key.data in self.copies:
                    self.signal(key.data)

    def close(self) -> NoReturn:
        for copy in self.copies:
            os.kill(copy, signal.SIGKILL)
        for copy in self.copies:
            os.waitpid(copy, 0)
        self.address.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the socket of the other may still exist
            self.address.parent.rmdir()
        os._exit(0)

    def reap(self) -> None:
        self.ends.recv(1 << 12)
        for copy in list(self.copies):
            ended, status = os.waitpid(copy, os.WNOHANG)
            if ended:
                self.forget(copy, os.waitstatus_to_exitcode(status))

    def forget(self, copy: int, code: int) -> None:
        link = self.copies.pop(copy)
        self.selector.unregister(link)
        with contextlib.suppress(OSError):  # it was killed because its requester is gone
            link.sendall(code.to_bytes(4, "big", signed=True))
        link.close()

    def signal(self, copy: int) -> None:
        """Handle input for a copy: signals, or the end of its requester."""
        link = self.copies[copy]
        try:
            numbers = link.recv(64)
        except OSError:
            numbers = b""
        for number in numbers:
            os.kill(copy, number)
        if not numbers:
            os.kill(copy, signal.SIGKILL)
            os.waitpid(copy, 0)
            self.forget(copy, -signal.SIGKILL)

    def accept(self) -> None:
        """Make a copy for a request, or reply that it must be started normally."""
        link, _ = self.listener.accept()
        expected = received(link)
        if expected is None:
            link.close()
            return
        copy = self.copied(link, expected)
        for descriptor in expected.descriptors:
            os.close(descriptor)
        if copy is None:
            link.close()
        else:
            self.copies[copy] = link
            self.selector.register(link, selectors.EVENT_READ, copy)

    def copied(self, link: socket.socket, expected: Wanted) -> int | None:
        """The copy that runs the command; None without one."""
        fits = self.fits(expected)
        try:
            link.sendall(YES if fits else NEITHER)
        except OSError:
            return None
        if not fits:
            return None
        copy = os.fork()
        if not copy:
            self.leave(link)
            become(expected)
        return copy

    def fits(self, expected: Wanted) -> bool:
        """Whether a normal start would be the same: the same environment, the same settings of Python."""
        arguments = expected.command[1:]
        if arguments[:1] == PACK[:1] and arguments[:3] != PACK:
            return False
        same = self.isolated or pythons(expected.environment) == self.python
        return same and environment_of(expected.command[0]) == environment_of(sys.executable)

    def leave(self, link: socket.socket) -> None:
        """In a copy: close the server's descriptors."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.selector.close()
        for each in (link, self.listener, self.ends, self.written, *self.copies.values()):
            each.close()


def environment_of(python: str) -> Path:
    """The folder of an interpreter: its own file is a link, the same in every environment."""
    return Path(python).parent.resolve()


def pythons(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that an interpreter reads when it starts."""
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


def received(link: socket.socket) -> Wanted | None:
    """A whole request; None if its sender is gone."""
    descriptors: list[int] = []
    try:
        first, descriptors, _, _ = socket.recv_fds(link, 4, 3)
        body, size = b"", int.from_bytes(first, "big")
        while len(body) < size and (more := link.recv(size - len(body))):
            body += more
        command, environment, folder = marshal.loads(body)  # noqa: S302  from our own proxy
    except (OSError, EOFError):
        for descriptor in descriptors:
            os.close(descriptor)
        return None
    return Wanted(command, environment, folder, descriptors)


def become(expected: Wanted) -> NoReturn:
    """Run the command, and end like an interpreter, but without its teardown."""
    os.setpgid(0, 0)
    for own, value in enumerate(expected.descriptors):
        os.dup2(value, own)
        os.close(value)
    os.chdir(expected.folder)
    os.environ.clear()
    os.environ.update(expected.environment)
    code = 0
    try:
        start(expected)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException as error:  # noqa: BLE001  as an interpreter does at its top
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def start(expected: Wanted) -> None:
    """Run a plugin by its name, a program by its path, a policy pack like `-u -m`."""
    sys.argv[:] = expected.command[1:]
    what = sys.argv[0]
    if sys.argv[:3] == PACK:
        at_once()
        del sys.argv[:2]
        sys.path.insert(0, expected.folder)
        runpy.run_module(PACK[2], run_name="__main__", alter_sys=True)
    elif what in MAINS:
        main: Callable[[], Any] = importlib.import_module(
            f"testbed.plugins.{what.replace('/', '.')}.{MAINS[what]}"
        ).main
        main()
    else:
        sys.path.insert(0, str(Path(what).parent))
        runpy.run_path(what, run_name="__main__")


def at_once() -> None:
    """Make output unbuffered: the same streams as with `-u`."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        old = getattr(sys, name)
        raw = io.FileIO(number, "w", closefd=False)
        setattr(sys, name, io.TextIOWrapper(raw, old.encoding, old.errors, write_through=True))


def prepare(kind: str) -> None:
    """Import what copies of this kind need, and check that nothing else is shared."""
    if kind == "plugins":
        sys.path.insert(0, str(PLUGINS.parents[1]))
        importlib.import_module("testbed.plugins.messages").alone()
    for module in MODULES[kind]:
        importlib.import_module(module)
    if threading.active_count() > 1:
        message = (
            f"a module of {', '.join(MODULES[kind])} has started a thread, which a copy would lack"
        )
        raise RuntimeError(message)
    gc.collect()
    gc.freeze()  # copies need not scan shared objects


def main() -> None:
    """Import, then listen: once the socket exists, everything is ready."""
    kind, address = sys.argv[1:]
    if not sys.flags.isolated:
        sys.path.pop(0)  # this folder: a program must not see its module names
    prepare(kind)
    Server(Path(address), isolated=kind == "plugins").serve()


main()
