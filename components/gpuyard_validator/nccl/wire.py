"""Messages between nodes: a length and a JSON document. Peers without the token are rejected.

Both sides prove that they have the token without sending it: no foreign peer joins, and no node follows
an impostor at the first node's address. The messages are not encrypted: they carry rates and names.
"""

import hashlib
import hmac
import json
import secrets
import socket
import struct
from typing import Any

MOST_BYTES = 16 << 20
MOST_BEFORE_TOKEN = 256
"""Maximum message size before authentication."""
_LENGTH = struct.Struct("!I")
_NONCE = 32

Message = dict[str, Any]


class AuthenticationError(Exception):
    """The peer has no token, another token, or sends an invalid message."""


def send(to: socket.socket, message: Message) -> None:
    """Send the whole message."""
    raw = json.dumps(message).encode()
    to.sendall(_LENGTH.pack(len(raw)) + raw)


def receive(of: socket.socket, most: int = MOST_BYTES) -> Message:
    """Receive one message.

    Raises:
        AuthenticationError: the message is invalid.
        OSError: the peer disconnected, or sent nothing within the socket's timeout.
    """
    (length,) = _LENGTH.unpack(_exactly(of, _LENGTH.size))
    if length > most:
        raise AuthenticationError(f"a message of {length} bytes")
    try:
        result = json.loads(_exactly(of, length))
    except (ValueError, RecursionError):
        raise AuthenticationError("not JSON") from None
    if not isinstance(result, dict):
        raise AuthenticationError("not a JSON object")
    return result


def _exactly(of: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        part = of.recv(min(length, 1 << 16))
        if not part:
            raise ConnectionResetError("the other side has disconnected")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def authenticate(of: socket.socket, token: bytes) -> None:
    """The first node's side: the client proves the token, then the server does.

    Raises:
        AuthenticationError: the client does not.
    """
    mine = secrets.token_bytes(_NONCE)
    send(of, {"nonce": mine.hex()})
    answer = receive(of, MOST_BEFORE_TOKEN)
    theirs = _bytes(answer.get("nonce"))
    if not hmac.compare_digest(_bytes(answer.get("proof")), _proof(token, b"node", mine, theirs)):
        raise AuthenticationError("wrong token")
    send(of, {"proof": _proof(token, b"first", theirs, mine).hex()})


def send_proof(to: socket.socket, token: bytes) -> None:
    """The client's side.

    Raises:
        AuthenticationError: the server has another token, or rejected this one.
    """
    theirs = _bytes(receive(to, MOST_BEFORE_TOKEN).get("nonce"))
    mine = secrets.token_bytes(_NONCE)
    send(to, {"nonce": mine.hex(), "proof": _proof(token, b"node", theirs, mine).hex()})
    try:
        answer = receive(to, MOST_BEFORE_TOKEN)
    except ConnectionError:
        raise AuthenticationError("the token was rejected") from None
    if not hmac.compare_digest(_bytes(answer.get("proof")), _proof(token, b"first", mine, theirs)):
        raise AuthenticationError("the server has another token")


def _proof(token: bytes, who: bytes, challenge: bytes, own: bytes) -> bytes:
    return hmac.new(token, who + challenge + own, hashlib.sha256).digest()


def _bytes(text: object) -> bytes:
    try:
        return bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        return b""
