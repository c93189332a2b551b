"""Download programs from the projects' own releases; keep only files with the pinned checksum.

A host that does not answer is tried once for all of its files; its tools are built instead. A
file with another checksum than the table's ends the run: it is never unpacked or silently replaced.
"""

import http.client
import json
import shutil
import socket
import tarfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from testbed.progress import clock, note
from testbed.releases import Download, Platform, mirrored
from testbed.workspace import Stamp, Workspace

FIRST_ANSWER_SECONDS = 5.0
SILENCE_SECONDS = 30.0
# For these types a registry returns the index of an image, not the manifest of one platform.
ACCEPT = (
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json,"
    " application/vnd.docker.distribution.manifest.list.v2+json,"
    " application/vnd.docker.distribution.manifest.v2+json, */*"
)
_CHUNK = 1 << 18


class CannotBeHad(Exception):
    """The file cannot be downloaded; the message is the reason."""


class WrongChecksum(Exception):
    """A file differs from its pinned checksum. Exit code 1; the file is discarded."""

    exit_code = 1

    def __init__(self, url: str, expected: str, got: str) -> None:
        super().__init__(
            f"{url} has the SHA-256 {got}, but testbed/checksums.toml has {expected}. The file was"
            " discarded. It was changed at its source or in transit: compare with the checksum that the project"
            " publishes, or ask the operator of your mirror or proxy. GPUYARD_TOOLS_FROM=source builds instead."
        )


def answering(
    downloads: Sequence[Download], mirror: str
) -> tuple[list[Download], dict[str, list[str]]]:
    """The downloads whose hosts answer, and the error of each other host; all are tried at once."""
    first = {_asked(d, mirror): d.at(mirror) for d in reversed(downloads)}
    messages: dict[str, str] = {}

    def ask(host: str, url: str) -> None:
        try:
            with _open(url, FIRST_ANSWER_SECONDS):
                messages[host] = ""
        except CannotBeHad as problem:
            messages[host] = str(problem)

    asking = [threading.Thread(target=ask, args=pair, daemon=True) for pair in first.items()]
    until = time.monotonic() + FIRST_ANSWER_SECONDS
    for thread in asking:
        thread.start()
    for (
        thread
    ) in asking:  # a name server that hangs does not respect the time limit of a connection
        thread.join(max(0.0, until - time.monotonic()))
    silent: dict[str, list[str]] = {}
    for host in first:
        if why := messages.get(host, f"no answer in {FIRST_ANSWER_SECONDS:.0f} s"):
            silent.setdefault(why, []).append(host)
    deaf = {host for hosts in silent.values() for host in hosts}
    return [d for d in downloads if _asked(d, mirror) not in deaf], silent


def _asked(download: Download, mirror: str) -> str:
    """The host of a download, or the mirror that serves all; without a password that its URL may contain."""
    return urlsplit(mirror).netloc.rpartition("@")[2] if mirror else download.host


def _open(url: str, seconds: float) -> http.client.HTTPResponse:
    """Request a file; raises CannotBeHad when the answer is not one."""
    try:
        request = urllib.request.Request(url, headers={"Accept": ACCEPT})  # noqa: S310  http or https, see sources_of
        answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=seconds)  # noqa: S310
    except urllib.error.HTTPError as problem:
        raise CannotBeHad(f"HTTP status {problem.code}") from problem
    except urllib.error.URLError as problem:
        raise CannotBeHad(_in_words(problem.reason)) from problem
    except (OSError, http.client.HTTPException) as problem:
        raise CannotBeHad(_in_words(problem)) from problem
    # A proxy or captive portal answers for a missing file with a web page and status 200.
    if answer.headers.get_content_type() == "text/html":
        answer.close()
        raise CannotBeHad("the answer is a web page")
    return answer


def _in_words(reason: object) -> str:
    """Why a connection failed, in short."""
    if isinstance(reason, TimeoutError):
        return f"no answer in {FIRST_ANSWER_SECONDS:.0f} s"
    if isinstance(reason, socket.gaierror):
        return "the host name does not resolve"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror.lower()
    return str(reason) or type(reason).__name__


class Fetching:
    """Downloads in the background, one thread for each, while the caller compiles something else."""

    def __init__(self, downloads: Sequence[Download], workspace: Workspace, mirror: str) -> None:
        self.downloads = downloads
        self.workspace = workspace
        self.mirror = mirror
        self.received = 0
        self.expected = 0
        self._refused: list[WrongChecksum] = []
        self._lost: dict[str, str] = {}
        self._taken: set[str] = set()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._take, args=(download,), daemon=True)
            for download in downloads
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Prevent all threads from installing files."""
        self._stop.set()

    def check(self) -> None:
        """Raise errors that must not be hidden by a fallback."""
        if self._refused:
            raise self._refused[0]

    def finish(self, tell: Callable[[str], None]) -> dict[str, str]:
        """Wait for all; returns the tools that could not be downloaded, with the reason."""
        while any(thread.is_alive() for thread in self._threads):
            self.check()
            tell(f"{self.received / 2**20:.0f} of {self.expected / 2**20:.0f} MiB")
            time.sleep(0.1)
        self.check()
        expected = {tool for download in self.downloads for tool, _ in download.programs}
        return {
            tool: self._lost.get(tool, "the file could not be read")
            for tool in sorted(expected - self._taken)
        }

    def _take(self, download: Download) -> None:
        """Download, verify, unpack and install one file; runs in its own thread."""
        began = time.monotonic()
        folder = self.workspace.partial / "releases" / sha256(download.url.encode()).hexdigest()
        names = [tool for tool, _ in download.programs]
        try:
            folder.mkdir(parents=True)
            file = folder / "file"
            size = self._receive(download.url, download.sha256, file)
            if download.image:
                file, size = self._layer(download, file)
            for tool, created in unpacked(file, download, folder):
                self._put(tool, created, download)
        except WrongChecksum as problem:
            self._refused.append(problem)
        except (CannotBeHad, OSError, ValueError, LookupError) as problem:
            self._lost |= dict.fromkeys(names, _in_words(problem))
        else:
            took = clock(time.monotonic() - began)
            note(f"{' and '.join(names)}: {size / 2**20:.0f} MiB from {download.host} in {took}")

    def _receive(self, url: str, expected: str, file: Path) -> int:
        """Write the file and compute its checksum; returns its size."""
        url = mirrored(url, self.mirror)
        digest = sha256()
        size = 0
        with _open(url, SILENCE_SECONDS) as answer, file.open("wb") as out:
            complete = int(answer.headers.get("Content-Length") or 0)
            self.expected += complete
            try:
                while chunk := answer.read(_CHUNK):
                    if self._stop.is_set():
                        raise CannotBeHad("stopped")
                    digest.update(chunk)
                    out.write(chunk)
                    size += len(chunk)
                    self.received += len(chunk)
            except (OSError, http.client.HTTPException) as problem:
                raise CannotBeHad(f"the download ended after {size} bytes") from problem
        if size < complete:
            raise CannotBeHad(f"the download ended after {size} of {complete} bytes")
        if digest.hexdigest() != expected:
            file.unlink()
            raise WrongChecksum(url, expected, digest.hexdigest())
        return size

    def _layer(self, download: Download, index: Path) -> tuple[Path, int]:
        """The last layer of a platform's image, and its size: programs are copied in last.

        The index, whose checksum is pinned, names a manifest by digest, and the manifest names its layers.
        """
        image = download.url.partition("/manifests/")[0]
        file = index.with_name("manifest")
        digest = _digest_for(json.loads(index.read_bytes()), download)
        self._receive(f"{image}/manifests/sha256:{digest}", digest, file)
        layers = json.loads(file.read_bytes())["layers"]
        digest = layers[-1]["digest"].removeprefix("sha256:")
        file = index.with_name("layer")
        return file, self._receive(f"{image}/blobs/sha256:{digest}", digest, file)

    def _put(self, tool: str, created: Path, download: Download) -> None:
        if self._stop.is_set():
            raise CannotBeHad("stopped")
        created.chmod(0o755)
        size = created.stat().st_size
        created.replace(self.workspace.bin / tool)
        self.workspace.write_stamp(tool, Stamp(download.stamp, "", size))
        self._taken.add(tool)


def _digest_for(index: dict[str, Any], download: Download) -> str:
    """Digest of the manifest for the requested platform."""
    for manifest in index["manifests"]:
        on = manifest.get("platform", {})
        if Platform(on.get("os", ""), on.get("architecture", "")) == download.image:
            return str(manifest["digest"]).removeprefix("sha256:")
    raise CannotBeHad("there is no image for this platform")


def unpacked(file: Path, download: Download, folder: Path) -> list[tuple[str, Path]]:
    """The programs of a verified file; nothing else in it is read."""
    if [place for _, place in download.programs] == [""]:
        return [(download.programs[0][0], file)]
    results = []
    place = ""
    try:
        with tarfile.open(file, "r:*") as archive:
            for tool, place in download.programs:
                source = archive.extractfile(place)
                if source is None:
                    raise CannotBeHad(f"{download.url} has no program {place}")
                with source, (folder / tool).open("wb") as out:
                    shutil.copyfileobj(source, out, _CHUNK)
                results.append((tool, folder / tool))
    except (KeyError, tarfile.TarError, EOFError) as problem:
        raise CannotBeHad(f"{download.url} has no program {place}") from problem
    return results
