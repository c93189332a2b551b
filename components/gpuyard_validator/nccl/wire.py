"""Messages between nodes: one length, one JSON document. Who has no token is not heard.

Both sides prove that they have the token without sending it, so that nobody joins who does not belong, and no
node obeys a stranger who took the first node's address. What follows is not encrypted: rates and names.
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
"""So much is read of somebody who has not proved anything."""
_LENGTH = struct.Struct("!I")
_NONCE = 32

Message = dict[str, Any]


class AuthenticationError(Exception):
    """The other side has no token, another one, or says what is no message."""


def send(to: socket.socket, message: Message) -> None:
    """All of it."""
    raw = json.dumps(message).encode()
    to.sendall(_LENGTH.pack(len(raw)) + raw)


def receive(of: socket.socket, most: int = MOST_BYTES) -> Message:
    """One message.

    Raises:
        AuthenticationError: it is none.
        OSError: the other side has gone, or is silent for longer than the socket waits.
    """
    (length,) = _LENGTH.unpack(_exactly(of, _LENGTH.size))
    if length > most:
        raise AuthenticationError(f"a message of {length} bytes")
    try:
        result = json.loads(_exactly(of, length))
    except (ValueError, RecursionError):
        raise AuthenticationError("no JSON") from None
    if not isinstance(result, dict):
        raise AuthenticationError("no object")
    return result


def _exactly(of: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        part = of.recv(min(length, 1 << 16))
        if not part:
            raise ConnectionResetError("the other side has gone")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def authenticate(of: socket.socket, token: bytes) -> None:
    """The first node's side: who connects must prove the token, and is shown it in turn.

    Raises:
        AuthenticationError: they have not.
    """
    mine = secrets.token_bytes(_NONCE)
    send(of, {"nonce": mine.hex()})
    answer = receive(of, MOST_BEFORE_TOKEN)
    theirs = _bytes(answer.get("nonce"))
    if not hmac.compare_digest(_bytes(answer.get("proof")), _proof(token, b"node", mine, theirs)):
        raise AuthenticationError("another token")
    send(of, {"proof": _proof(token, b"first", theirs, mine).hex()})


def send_proof(to: socket.socket, token: bytes) -> None:
    """The others' side.

    Raises:
        AuthenticationError: the one who listens has another token, or did not take ours.
    """
    theirs = _bytes(receive(to, MOST_BEFORE_TOKEN).get("nonce"))
    mine = secrets.token_bytes(_NONCE)
    send(to, {"nonce": mine.hex(), "proof": _proof(token, b"node", theirs, mine).hex()})
    try:
        answer = receive(to, MOST_BEFORE_TOKEN)
    except ConnectionError:
        raise AuthenticationError("the token was not taken") from None
    if not hmac.compare_digest(_bytes(answer.get("proof")), _proof(token, b"first", mine, theirs)):
        raise AuthenticationError("whoever listens has another token")


def _proof(token: bytes, who: bytes, challenge: bytes, own: bytes) -> bytes:
    return hmac.new(token, who + challenge + own, hashlib.sha256).digest()


def _bytes(text: object) -> bytes:
    try:
        return bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        return b""
