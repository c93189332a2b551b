"""Request a plugin or a program from a warm process: for the proxy in proxy.py and the language host.

Built-in modules only: each command of the engine starts the proxy several times, and importing `socket`
would double that time.
"""

from __future__ import annotations

import _socket
import marshal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FOLDER = "GPUYARD_WARM"
"""The variable that names the folder with the sockets; without it every start is cold."""
YES = b"y"
CODE_BYTES = 4


def connect(
    kind: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: str,
    outputs: tuple[int, int] = (1, 2),
) -> _socket.socket | None:
    """A connection whose other end has become the command; None if it must be started normally.

    The command is an interpreter, a program, a plugin's name or what starts a policy pack, and arguments;
    the folder is absolute. Its outputs are the given descriptors of this process.
    Bytes sent are numbers of signals for the command. Its exit code is received when it has ended. Closing
    the connection kills it.
    """
    home = environment.get(FOLDER)
    if not home:
        return None
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        link.connect(f"{home}/{kind}")
        body = marshal.dumps((list(command), dict(environment), folder))
        descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, *outputs))
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)]
        link.sendmsg([len(body).to_bytes(4, "big")], rights)
        sent = 0
        while sent < len(body):
            sent += link.send(body[sent:])
        if link.recv(1) == YES:
            return link
    except OSError:
        pass  # no server, or no longer
    link.close()
    return None


def ended(link: _socket.socket) -> int:
    """Wait for the end; returns the exit code, negative for a signal, like `subprocess`."""
    code = b""
    while len(code) < CODE_BYTES:
        more = link.recv(CODE_BYTES - len(code))
        if not more:
            return -9  # the warm process ended, and its copies with it
        code += more
    return int.from_bytes(code, "big", signed=True)
