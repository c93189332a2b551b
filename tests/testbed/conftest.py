"""Fixtures for the builder's tests: a separate folder with a fake Go, and a mirror."""

import io
import json
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kit.waiting import SHORTER

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from testbed.releases import RELEASES, Platform  # noqa: E402

BUILD = ROOT / "testbed" / "build.py"

# Answers the builder's queries, records each build, and behaves as FAKE_GO sets while building.
FAKE_GO = """#!/bin/sh
case "$1 $2" in
"env GOVERSION") echo "go${FAKE_VERSION:-1.26.8}" ;;
"env GOPROXY") echo "https://user:secret@modules.invalid" ;;
"env GOMODCACHE") printf '%s\\n%s\\n' "$HERE/modules" "$HERE/cache" ;;
"list -m") [ -e "$HERE/not-fetched" ] || echo "$HERE/module" ;;
"list -deps") echo "$(basename "$PWD")" >> "$HERE/fetched" ;;
"mod download")
  case "$3" in
  *gpu-operator*) echo "go: reading it: 403 Forbidden" >&2; exit 1 ;;
  *) rm -f "$HERE/not-fetched" ;;
  esac ;;
"install -v")
  echo "$(basename "$PWD") $GOFLAGS $*" >> "$HERE/builds"
  echo "go: downloading example.com/a v1.0.0" >&2
  echo "example.com/a" >&2
  case "$FAKE_GO" in
  unreachable)
    echo 'go: example.com/a: Get "https://user:secret@modules.invalid": dial tcp: no such host' >&2
    exit 1 ;;
  full) echo "write /x: no space left on device" >&2; exit 1 ;;
  broken) echo "a.go:3: undefined: certificate" >&2; exit 1 ;;
  stuck) exec sleep "$SLOW" ;;
  held) touch "$HERE/building"; while [ ! -e "$HERE/go-on" ]; do sleep 0.05; done ;;
  slow) touch "$HERE/building"; sleep "$SLOW"; rm "$HERE/building" ;;
  esac
  mkdir -p "$GOBIN"
  for tool in pulumi server kube-apiserver kube-controller-manager kube-scheduler kueue kwok kwokctl; do
    echo "#!/bin/sh" > "$GOBIN/$tool"; chmod +x "$GOBIN/$tool"
  done ;;
esac
"""


# The builder with another table of checksums and, if given, on another platform.
WITH_TABLE = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from testbed import build, releases
releases.TABLE = Path(os.environ["TABLE"])
if on := os.environ.get("PLATFORM"):
    releases.this_platform = lambda: releases.Platform(*on.split("/"))
sys.exit(build.main(sys.argv[1:]))
"""


class Place:
    """A folder to build into, with its own PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.into = folder / ".testbed"
        self.path = folder / "path"
        self.path.mkdir()
        self.program("go", FAKE_GO)
        for pattern in ("config/components/crd/bases", "config/components/webhook"):
            (folder / "module" / pattern).mkdir(parents=True)
            (folder / "module" / pattern / "manifests.yaml").write_text("kind: X\n")
        for file in (
            "config/crd/autoscaling.x-k8s.io_provisioningrequests.yaml",
            "manifests/base/crds/kubeflow.org_pytorchjobs.yaml",
            "manifests/base/kubeflow.org_mpijobs.yaml",
        ):
            (folder / "module" / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / "module" / file).write_text("kind: X\n")

    def program(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)
        (self.path / name).chmod(0o755)

    def environment(self, **extra: str) -> dict[str, str]:
        return {
            "PATH": f"{self.path}:/usr/bin:/bin",
            "HERE": str(self.folder),
            "HOME": str(self.folder),
            "GPUYARD_TOOLS_FROM": "source",  # a test overrides it to use releases
            **extra,
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(BUILD), "--into", str(self.into), *arguments]

    def command_with_table(self, *arguments: str) -> list[str]:
        return [sys.executable, "-c", WITH_TABLE, "--into", str(self.into), *arguments]

    def run(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        command = self.command_with_table if "TABLE" in environment else self.command
        return subprocess.run(
            command(*arguments),
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=SHORTER,
        )

    def builds(self) -> list[str]:
        """The families built so far, in order."""
        notes = self.folder / "builds"
        return (
            [line.split()[0] for line in notes.read_text().splitlines()] if notes.exists() else []
        )

    def packages(self) -> list[list[str]]:
        """The requested packages of each build, by their last names."""
        notes = (self.folder / "builds").read_text() if self.builds() else ""
        return [
            [
                word.rpartition("/")[2]
                for word in line.split()[1:]
                if "/" in word and "=" not in word
            ]
            for line in notes.splitlines()
        ]

    def tools(self) -> dict[str, str]:
        """Each existing tool, and how it was installed."""
        listed = json.loads((self.into / "tools.json").read_text())
        return {name: tool["source"] for name, tool in listed.items()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


Answer = Callable[[BaseHTTPRequestHandler, bytes], None]


def whole(request: BaseHTTPRequestHandler, body: bytes) -> None:
    """Send the whole file."""
    request.send_response(200)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


class Mirror:
    """A server on this machine with fake releases at their paths, and a table of their checksums."""

    def __init__(self, folder: Path) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.answers: dict[str, Answer] = {}
        self.table = folder / "checksums.toml"
        self.table.write_text("")
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.asked.append(self.path)
                body = mirror.files.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                name = self.path.rpartition("/")[2]
                mirror.answers.get(name, whole)(self, body)

            def log_message(self, *_arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def publish(self, *tools: str, on: str = "linux/amd64", but: str = "") -> None:
        """Publish the releases with these tools (default: all), and add their checksums to the table."""
        where = Platform(*on.split("/"))
        for release in RELEASES:
            names = {name for name, _ in release.programs}
            if (tools and not names & set(tools)) or but in names or where not in release.on:
                continue
            body = _release(release.places(where), on)
            url = urlsplit(release.address(where))
            path = f"/{url.netloc}{url.path}"
            if release.image:
                body = self._image(path.partition("/manifests/")[0], where, body)
            self.files[path] = body
            self._add_row(url.geturl(), sha256(body).hexdigest())

    def _image(self, path: str, where: Platform, layer: bytes) -> bytes:
        """Publish the parts of an image, each under its digest; returns the index."""

        def put(kind: str, body: bytes) -> str:
            digest = f"sha256:{sha256(body).hexdigest()}"
            self.files[f"{path}/{kind}/{digest}"] = body
            return digest

        base, last = put("blobs", b"the base"), put("blobs", layer)
        layers = [{"digest": base}, {"digest": last}]
        manifest = put("manifests", json.dumps({"layers": layers}).encode())
        on = {"os": where.os, "architecture": where.arch}
        other = {"digest": "sha256:0", "platform": {"os": "linux", "architecture": "s390x"}}
        return json.dumps({"manifests": [other, {"digest": manifest, "platform": on}]}).encode()

    def _add_row(self, url: str, digest: str) -> None:
        with self.table.open("a") as table:
            table.write(f'["{url}"]\nsha256 = "{digest}"\n')

    def environment(self, **extra: str) -> dict[str, str]:
        """The environment of the builder."""
        return {
            "TABLE": str(self.table),
            "PLATFORM": "linux/amd64",
            "GPUYARD_TOOLS_FROM": "auto",
            "GPUYARD_TOOLS_MIRROR": self.address,
            **extra,
        }

    def files_asked(self) -> set[str]:
        """The last parts of the requested paths."""
        return {path.rpartition("/")[2] for path in self.asked}


def _release(places: tuple[tuple[str, str], ...], on: str) -> bytes:
    """One fake file: a program that prints its name, or an archive with such programs."""
    if places[0][1] == "":
        return _program(places[0][0], on)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for place in [("README", "../../outside"), *places]:
            member = tarfile.TarInfo(place[1])
            body = _program(place[0], on)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return packed.getvalue()


def _program(name: str, on: str) -> bytes:
    return f"#!/bin/sh\necho {name} for {on}\n".encode()


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    """A mirror for the duration of a test; the test must allow 127.0.0.1."""
    made = Mirror(tmp_path)
    yield made
    made.server.shutdown()
    made.server.server_close()
