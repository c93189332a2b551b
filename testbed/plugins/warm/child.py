"""A warm program for the language host: only the part of `subprocess.Popen` that the host uses."""

import _socket
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from testbed.plugins.warm import asking


class Child(Protocol):
    """The host's interface to a program, warm or in its own process."""

    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


class Warm:
    """A copy of the warm process at the other end of a connection."""

    def __init__(
        self,
        link: _socket.socket,
        stdout: IO[bytes] | None = None,
        stderr: IO[bytes] | None = None,
    ) -> None:
        self._link = link
        self.stdout, self.stderr = stdout, stderr
        self._ended = threading.Event()
        self._code = 0
        threading.Thread(target=self._await, daemon=True).start()

    def poll(self) -> int | None:
        return self._code if self._ended.is_set() else None

    def wait(self, timeout: float | None = None) -> int:
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired("a warm program", timeout or 0)
        return self._code

    def send_signal(self, sig: int) -> None:
        with suppress(OSError):  # it may have ended meanwhile
            self._link.send(bytes([sig]))

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _await(self) -> None:
        self._code = asking.ended(self._link)
        self._link.close()
        self._ended.set()


def start(command: Sequence[str], environment: Mapping[str, str], folder: str | None) -> Child:
    """Start a Python program: warm if there is a process for it, else normally."""
    link = asking.connect("programs", command, environment, _absolute(folder))
    if link is not None:
        return Warm(link)
    return subprocess.Popen(command, env=dict(environment), cwd=folder)


def start_read(command: Sequence[str], environment: Mapping[str, str], folder: str | None) -> Child:
    """The same, with its stdout and stderr readable."""
    (message, text), (complained, complains) = os.pipe(), os.pipe()
    link = asking.connect("programs", command, environment, _absolute(folder), (text, complains))
    for end in (text, complains):
        os.close(end)
    if link is not None:
        return Warm(link, os.fdopen(message, "rb", 0), os.fdopen(complained, "rb", 0))
    for end in (message, complained):
        os.close(end)
    return subprocess.Popen(
        command,
        env=dict(environment),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )


def _absolute(folder: str | None) -> str:
    return str(Path(folder or ".").resolve())
