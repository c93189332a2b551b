"""A registry on this machine, as strict as real ones: it requires a token, redirects, and limits rates."""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER = "application/vnd.docker.distribution.manifest.v2+json"
SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1+prettyjws"


def digest_of(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def part(seed: str, size: int) -> dict[str, Any]:
    return {"mediaType": "x", "digest": digest_of(seed.encode()), "size": size}


class Registry:
    """Its images, their access, and the recorded requests."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.tokens: dict[str, str] = {}
        """By image, the token for access; without one access is public."""
        self.challenge: Callable[[str], str] = self._bearer
        self.script: dict[str, list[tuple[int, dict[str, str], bytes]]] = {}
        """By path, responses that are sent first, once each."""
        self.asked: Counter[str] = Counter()
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.names_type = True
        self.host = ""

    def put(
        self, name: str, tree: dict[str, Any], kind: str, *tags: str, typed: bool = True
    ) -> str:
        """Keep a document under its digest and tags."""
        body = json.dumps(
            {"schemaVersion": 2, **({"mediaType": kind} if typed else {}), **tree}
        ).encode()
        for at in (digest_of(body), *tags):
            self.documents[name, at] = kind, body
        return digest_of(body)

    def image(
        self, name: str, *tags: str, layers: dict[str, int], kind: str = OCI, **more: Any
    ) -> str:
        """One manifest; its configuration has 1,000 bytes."""
        tree = {"config": part(f"{name}/config", 1_000)}
        tree["layers"] = [part(seed, size) for seed, size in layers.items()]
        return self.put(name, tree, kind, *tags, **more)

    def index(self, name: str, *tags: str, kind: str = OCI_INDEX, **of: str) -> str:
        """Manifests by processor, with an attestation, as builders create them."""
        members = [
            {"digest": each, "platform": {"os": "linux", "architecture": arch}}
            for arch, each in of.items()
        ]
        windows = {
            "digest": digest_of(b"w"),
            "platform": {"os": "windows", "architecture": "amd64"},
        }
        unknown = {"os": "unknown", "architecture": "unknown"}
        others = {"digest": digest_of(b"a"), "platform": unknown}
        return self.put(name, {"manifests": [windows, *members, others]}, kind, *tags)

    def _bearer(self, name: str) -> str:
        realm = f'realm="http://{self.host}/token",service="registry.example"'
        return f'Bearer {realm},scope="repository:{name}:pull"'

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        self.asked[path] += 1
        self.seen.append((path, headers))
        if self.script.get(path):
            return self.script[path].pop(0)
        parts = urlsplit(path)
        if parts.path == "/token":
            requested = parse_qs(parts.query)
            name = requested["scope"][0].split(":")[1]
            assert requested["service"] == ["registry.example"]
            return 200, {}, json.dumps({"token": self.tokens.get(name, "none")}).encode()
        name, _, at = parts.path.removeprefix("/v2/").rpartition("/manifests/")
        token = self.tokens.get(name)
        if token and headers.get("Authorization") != f"Bearer {token}":
            return 401, {"WWW-Authenticate": self.challenge(name)}, b'{"errors": []}'
        if (name, at) not in self.documents:
            return 404, {}, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}'
        kind, body = self.documents[name, at]
        if kind not in headers.get("Accept", ""):
            kind = SCHEMA_1  # as registries answer a client that accepts none of their types
        return 200, {"Content-Type": kind}, body


@contextmanager
def serving(registry: Registry) -> Iterator[str]:
    """Serve it; yields its host and port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):  # the client is gone
                self._answer()

        def _answer(self) -> None:
            status, headers, body = registry.answer(self.path, dict(self.headers.items()))
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.host = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield registry.host
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
