"""Families of tools that can be built, each pinned by a go.mod and a go.sum of its own.

A family shares one module file because its tools share most of their packages: built together the
control plane compiles in two thirds of the time it takes apart. Versions are kept in `go/<family>/go.mod`
only; the few that a program needs at link time are read from there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

GO_FOLDER = Path(__file__).resolve().parent / "go"


@dataclass(frozen=True, slots=True)
class Tool:
    """One program: its name in the bin folder, and the name `go install` gives it."""

    name: str
    built_as: str


@dataclass(frozen=True, slots=True)
class LinkedVersion:
    """A variable of the program that must hold a module's version."""

    variable: str
    module: str
    strip_v: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Tools that are compiled together.

    `usual_seconds` was measured from empty caches on two cores; `disk_gib` covers modules, compile
    cache and programs.
    """

    name: str
    about: str
    tools: tuple[Tool, ...]
    usual_seconds: int
    disk_gib: float
    tags: str = ""
    linked: tuple[LinkedVersion, ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()
    added: tuple[str, ...] = ()
    """Files that its module lacks and its compiler needs: web pages, built for releases only."""

    @property
    def folder(self) -> Path:
        """The folder of its go.mod and go.sum."""
        return GO_FOLDER / self.name

    def packages(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        """The main packages of these tools, as the go.mod names them."""
        named = tool_packages((self.folder / "go.mod").read_text(encoding="utf-8"))
        return tuple(named[tool.built_as] for tool in tools)

    def build_tags(self) -> tuple[str, ...]:
        """The build tags of its Go commands."""
        return ("-tags", self.tags) if self.tags else ()

    def install_flags(self) -> tuple[str, ...]:
        """Flags of `go install`; part of the stamp, so that a change rebuilds."""
        versions = module_versions((self.folder / "go.mod").read_text(encoding="utf-8"))
        linker = ["-s", "-w"]
        for item in self.linked:
            version = versions[item.module]
            linker += [
                "-X",
                f"{item.variable}={version.removeprefix('v') if item.strip_v else version}",
            ]
        for variable, value in self.fixed:
            linker += ["-X", f"{variable}={value}"]
        return (*self.build_tags(), "-ldflags", " ".join(linker))


def module_versions(go_mod: str) -> dict[str, str]:
    """Module path to version, from the text of a go.mod."""
    pattern = re.compile(
        r"^\s*(?:require\s+)?([\w.\-/~]+\.[\w.\-/~]+)\s+(v[\w.\-+]+)", re.MULTILINE
    )
    return dict(pattern.findall(go_mod))


def tool_packages(go_mod: str) -> dict[str, str]:
    """From a go.mod's tool lines: the program name that `go install` gives, to its main package."""
    block = re.search(r"^tool \((.*?)^\)", go_mod, re.MULTILINE | re.DOTALL)
    single = re.findall(r"^tool ([^\s(]+)", go_mod, re.MULTILINE)
    packages = [*(block.group(1).split() if block else ()), *single]
    return {re.sub(r"/v\d+$", "", package).rpartition("/")[2]: package for package in packages}


_KUBERNETES_VERSION = "k8s.io/component-base/version"

ENGINE = Family(
    name="engine",
    about="the Pulumi engine",
    tools=(Tool("pulumi", "pulumi"),),
    usual_seconds=215,
    disk_gib=2.5,
    # As in the official release build: no cgo user look-ups, no gRPC tracing.
    tags="osusergo,grpcnotrace",
    linked=(
        LinkedVersion(
            "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version",
            "github.com/pulumi/pulumi/pkg/v3",
        ),
    ),
)

CLUSTER = Family(
    name="cluster",
    about="a Kubernetes control plane, kwok and Kueue",
    tools=(
        Tool("etcd", "server"),  # the folder of etcd's main package gives the program its name
        Tool("kube-apiserver", "kube-apiserver"),
        Tool("kube-controller-manager", "kube-controller-manager"),
        Tool("kube-scheduler", "kube-scheduler"),
        Tool("kueue", "kueue"),
        Tool("kwok", "kwok"),
        Tool("kwokctl", "kwokctl"),
    ),
    usual_seconds=390,
    disk_gib=3.5,
    # Without these the API server reports v0.0.0 and version checks of clients fail.
    linked=(
        LinkedVersion(f"{_KUBERNETES_VERSION}.gitVersion", "k8s.io/kubernetes"),
        LinkedVersion("sigs.k8s.io/kueue/pkg/version.GitVersion", "sigs.k8s.io/kueue"),
        LinkedVersion("sigs.k8s.io/kwok/pkg/consts.Version", "sigs.k8s.io/kwok", strip_v=True),
    ),
    fixed=(
        (f"{_KUBERNETES_VERSION}.gitMajor", "1"),
        (f"{_KUBERNETES_VERSION}.gitMinor", "36"),
        (f"{_KUBERNETES_VERSION}.gitTreeState", "clean"),
    ),
)

KARPENTER = Family(
    name="karpenter",
    about="Karpenter with its kwok provider",
    tools=(Tool("karpenter", "kwok"),),
    usual_seconds=95,
    disk_gib=1.5,
)

HELM = Family(
    name="helm",
    about="the Helm CLI",
    tools=(Tool("helm", "helm"),),
    usual_seconds=100,
    disk_gib=1.5,
    linked=(LinkedVersion("helm.sh/helm/v4/internal/version.version", "helm.sh/helm/v4"),),
)

PROMETHEUS = Family(
    name="prometheus",
    about="Prometheus and its rule checker",
    tools=(Tool("prometheus", "prometheus"), Tool("promtool", "promtool")),
    usual_seconds=320,
    disk_gib=2.0,
)

ALERTMANAGER = Family(
    name="alertmanager",
    about="Alertmanager and its command-line tool",
    tools=(Tool("alertmanager", "alertmanager"), Tool("amtool", "amtool")),
    usual_seconds=180,
    disk_gib=1.5,
    linked=(
        LinkedVersion(
            "github.com/prometheus/common/version.Version",
            "github.com/prometheus/alertmanager",
            strip_v=True,
        ),
    ),
    added=("ui/app/dist/elm/index.html", "ui/app/dist/mantine/index.html"),
)

PROMETHEUS_OPERATOR = Family(
    name="prometheus-operator",
    about="the Prometheus Operator",
    tools=(Tool("prometheus-operator", "operator"),),
    usual_seconds=345,
    disk_gib=2.5,
)

SDK_GENERATOR = Family(
    name="sdk-generator",
    about="the generator of SDKs in other languages",
    tools=(Tool("pulumi-generate-sdk", "pulumi-generate-sdk"),),
    usual_seconds=60,
    disk_gib=1.0,
    tags=ENGINE.tags,  # so that both use the same compiled packages
)

YAML = Family(
    name="yaml",
    about="the language host of Pulumi YAML",
    tools=(Tool("pulumi-language-yaml", "pulumi-language-yaml"),),
    usual_seconds=100,
    disk_gib=1.5,
    tags=ENGINE.tags,
)

WORKLOADS = Family(
    name="workloads",
    about="JobSet, Kubeflow Trainer and LeaderWorkerSet",
    tools=(
        Tool("jobset", "jobset"),
        Tool("kubeflow-trainer", "trainer-controller-manager"),
        Tool("lws", "cmd"),  # the folder of its main package gives the program its name
    ),
    usual_seconds=160,
    disk_gib=2.5,
)

KEDA = Family(
    name="keda",
    about="KEDA",
    # The names of its main packages are too general for a folder that all families share.
    tools=(
        Tool("keda-operator", "operator"),
        Tool("keda-adapter", "adapter"),
        Tool("keda-webhooks", "webhooks"),
    ),
    usual_seconds=555,
    disk_gib=6.0,
)

KUBERAY = Family(
    name="kuberay",
    about="KubeRay",
    tools=(Tool("ray-operator", "ray-operator"),),
    usual_seconds=250,
    disk_gib=2.5,
)

FAMILIES = {
    family.name: family
    for family in (
        ENGINE,
        CLUSTER,
        KARPENTER,
        HELM,
        PROMETHEUS,
        ALERTMANAGER,
        PROMETHEUS_OPERATOR,
        SDK_GENERATOR,
        YAML,
        WORKLOADS,
        KEDA,
        KUBERAY,
    )
}
DEFAULT_FAMILIES = ("engine", "cluster")
