"""The key service of a test's stack: the part of Vault that the engine uses for secrets.

From a passphrase the engine derives the key at each command, deliberately with a million rounds of SHA-256:
two thirds of the CPU of a small `up`. It calls a key service once. Secrets are encrypted in the state either
way, and tests about secrets still use the passphrase, as a user's stack does.
"""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROVIDER = "hashivault://tests"
"""The value of `secretsprovider` in a stack file, and of `--secrets-provider` in `pulumi stack init`."""
SEALED = "vault:v1:"
_ANSWERS = {
    "/v1/transit/encrypt/tests": ("plaintext", "ciphertext", lambda text: SEALED + text),
    "/v1/transit/decrypt/tests": ("ciphertext", "plaintext", lambda text: text[len(SEALED) :]),
}


class _Vault(BaseHTTPRequestHandler):
    """The two calls that encrypt and decrypt the key of a stack."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path not in _ANSWERS:
            self.send_error(404)
            return
        value, expected, change = _ANSWERS[self.path]
        answer = json.dumps({"data": {expected: change(json.loads(body)[value])}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the base class's
        """Log nothing: the engine reports errors."""


@contextmanager
def answering() -> Iterator[None]:
    """Run the service, and configure its address for every engine that is started meanwhile."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Vault)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    where = {
        "VAULT_SERVER_URL": f"http://127.0.0.1:{server.server_port}",
        "VAULT_SERVER_TOKEN": "tests",
    }
    os.environ.update(where)
    try:
        yield
    finally:
        for name in where:
            del os.environ[name]
        server.shutdown()
        server.server_close()
