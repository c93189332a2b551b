"""Addresses of the projects' own releases, and which may be downloaded: those with a row in checksums.toml.

Versions are those of `go/<family>/go.mod`, which also pin what is built. So a downloaded program and a built
one have the same version, and a tool whose version changed without its row is built.
"""

import platform
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from testbed.families import GO_FOLDER, Tool, module_versions

TABLE = Path(__file__).resolve().parent / "checksums.toml"
CHOICES = ("auto", "releases", "source")


@dataclass(frozen=True, slots=True)
class Platform:
    """An operating system and a processor, by Go's names."""

    os: str
    arch: str


LINUX = (Platform("linux", "amd64"), Platform("linux", "arm64"))
PLATFORMS = (*LINUX, Platform("darwin", "amd64"), Platform("darwin", "arm64"))


def this_platform() -> Platform:
    """The current machine."""
    machine = platform.machine().lower()
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
    return Platform(platform.system().lower(), arch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One file that a project publishes for each platform, and the programs in it.

    `programs` are pairs of a tool's name and its path in the archive; the path is empty where the
    file is the program itself. `url` and paths contain {version}, {os} and {arch}. With `image` the file is
    the index of a container image, for tools without a program to download, and paths are in its layers.
    """

    family: str
    module: str
    url: str
    programs: tuple[tuple[str, str], ...]
    on: tuple[Platform, ...] = PLATFORMS
    amd64: str = "amd64"
    image: bool = False
    published_as: Callable[[str], str] = str

    def version(self) -> str:
        """The release's version, from the family's go.mod."""
        text = (GO_FOLDER / self.family / "go.mod").read_text(encoding="utf-8")
        return self.published_as(module_versions(text)[self.module].removeprefix("v"))

    def address(self, where: Platform) -> str:
        """Address of the file for a platform; the table lists which exist."""
        return self._filled(self.url, where)

    def places(self, where: Platform) -> tuple[tuple[str, str], ...]:
        """The tools in the file, and the path of each."""
        return tuple((tool, self._filled(place, where)) for tool, place in self.programs)

    def _filled(self, text: str, where: Platform) -> str:
        arch = self.amd64 if where.arch == "amd64" else where.arch
        return text.format(version=self.version(), os=where.os, arch=arch)


def _prometheus(version: str) -> str:
    """Its modules are v0.309.0 where the release is 3.9.0."""
    _, number, patch = version.split(".", 2)
    return f"{int(number) // 100}.{int(number) % 100}.{patch}"


def _kubernetes(program: str) -> Release:
    return Release(
        family="cluster",
        module="k8s.io/kubernetes",
        url="https://dl.k8s.io/v{version}/bin/{os}/{arch}/" + program,
        programs=((program, ""),),
        on=LINUX,
    )


def _kwok(program: str) -> Release:
    return Release(
        family="cluster",
        module="sigs.k8s.io/kwok",
        url="https://github.com/kubernetes-sigs/kwok/releases/download/v{version}/"
        + program
        + "-{os}-{arch}",
        programs=((program, ""),),
    )


RELEASES = (
    Release(
        family="engine",
        module="github.com/pulumi/pulumi/pkg/v3",
        url="https://github.com/pulumi/pulumi/releases/download/v{version}/pulumi-v{version}-{os}-{arch}.tar.gz",
        programs=(("pulumi", "pulumi/pulumi"),),
        amd64="x64",
    ),
    Release(
        family="cluster",
        module="go.etcd.io/etcd/server/v3",
        url="https://github.com/etcd-io/etcd/releases/download/v{version}/etcd-v{version}-{os}-{arch}.tar.gz",
        programs=(("etcd", "etcd-v{version}-{os}-{arch}/etcd"),),
    ),
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    _kwok("kwok"),
    _kwok("kwokctl"),
    Release(
        family="cluster",
        module="sigs.k8s.io/kueue",
        url="https://registry.k8s.io/v2/kueue/kueue/manifests/v{version}",
        programs=(("kueue", "manager"),),
        on=LINUX,
        image=True,
    ),
    Release(
        family="helm",
        module="helm.sh/helm/v4",
        url="https://get.helm.sh/helm-v{version}-{os}-{arch}.tar.gz",
        programs=(("helm", "{os}-{arch}/helm"),),
    ),
    Release(
        family="prometheus",
        module="github.com/prometheus/prometheus",
        url="https://github.com/prometheus/prometheus/releases/download/v{version}/prometheus-{version}.{os}-{arch}.tar.gz",
        programs=(
            ("prometheus", "prometheus-{version}.{os}-{arch}/prometheus"),
            ("promtool", "prometheus-{version}.{os}-{arch}/promtool"),
        ),
        published_as=_prometheus,
    ),
)


@dataclass(frozen=True, slots=True)
class Download:
    """A file that may be downloaded: its address, its expected checksum, the tools in it.

    `image` is the platform to look for when the file is the index of an image.
    """

    url: str
    sha256: str
    programs: tuple[tuple[str, str], ...]
    image: Platform | None = None

    @property
    def host(self) -> str:
        """The host that serves it without a mirror."""
        return urlsplit(self.url).netloc

    @property
    def stamp(self) -> str:
        """The source of a tool, for its stamp."""
        return "release " + sha256(f"{self.url} {self.sha256}".encode()).hexdigest()

    def at(self, mirror: str) -> str:
        """The address to request: `<mirror>/<host>/<path>` with a mirror."""
        return mirrored(self.url, mirror)


def mirrored(url: str, mirror: str) -> str:
    """The mirror's address of a file; the address itself without a mirror."""
    parts = urlsplit(url)
    return f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}" if mirror else url


@dataclass(frozen=True, slots=True)
class Sources:
    """Source of the tools: one of CHOICES, and a mirror of the releases or none."""

    choice: str = "auto"
    mirror: str = ""

    def downloads(self, tools: Iterable[Tool]) -> list[Download]:
        """The files with these tools that may be downloaded on this machine."""
        if self.choice == "source":
            return []
        names = {tool.name for tool in tools}
        return [
            result
            for release in RELEASES
            if names & {name for name, _ in release.programs} and (result := offered(release))
        ]


def sources_of(environment: Mapping[str, str]) -> Sources:
    """The settings in GPUYARD_TOOLS_FROM and GPUYARD_TOOLS_MIRROR; ValueError when invalid."""
    choice = environment.get("GPUYARD_TOOLS_FROM") or "auto"
    mirror = environment.get("GPUYARD_TOOLS_MIRROR") or ""
    if choice not in CHOICES:
        raise ValueError(f"GPUYARD_TOOLS_FROM={choice}; allowed: {', '.join(CHOICES)}")
    if mirror and urlsplit(mirror).scheme not in ("http", "https"):
        raise ValueError(
            f"GPUYARD_TOOLS_MIRROR={mirror} is not an address; use one such as https://mirror.example/releases"
        )
    return Sources(choice, mirror)


def offered(release: Release, where: Platform | None = None) -> Download | None:
    """The release file for a platform (by default this one), when its checksum is known."""
    where = where or this_platform()
    url = release.address(where)
    if where not in release.on or not (digest := known_sums().get(url)):
        return None
    return Download(url, digest, release.places(where), where if release.image else None)


def known_sums() -> dict[str, str]:
    """Address to SHA-256."""
    with TABLE.open("rb") as table:
        return {url: row["sha256"] for url, row in tomllib.load(table).items()}
