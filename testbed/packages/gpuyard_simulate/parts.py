"""Parts of the simulated cluster: program, arguments and readiness of each."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gpuyard_simulate.state import ClusterSettings, Folder
from gpuyard_simulate.tools import Tools

TYPE_CHECKER: Final = "validatingadmissionpolicy-status-controller"
STAGES: Final = Path(__file__).with_name("stages.yaml")


@dataclass(frozen=True, slots=True)
class Place:
    """Everything that a part needs to start."""

    folder: Folder
    settings: ClusterSettings
    tools: Tools

    def port(self, name: str) -> int:
        """A port of this cluster."""
        return self.settings.ports[name]

    def address(self, name: str) -> str:
        """Listen address: this machine only."""
        return f"127.0.0.1:{self.port(name)}"

    def file(self, *parts: str) -> str:
        """A path inside the cluster's folder."""
        return str(self.folder.path.joinpath(*parts))


@dataclass(frozen=True, slots=True)
class ClusterProcess:
    """One process of the cluster."""

    name: str
    command: Callable[[Place], list[str]]
    ports: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Its variables; the caller's environment overrides the memory limit."""
        inherited = {name: os.environ[name] for name in _THRIFTY if name in os.environ}
        return {
            **self.env,
            **{name: value for name, value in inherited.items() if name in self.env},
        }


def _etcd(place: Place) -> list[str]:
    client, peer = f"http://{place.address('etcd')}", f"http://{place.address('etcd-peer')}"
    return [
        place.tools.program("etcd"),
        "--name=sim",
        f"--data-dir={place.file('etcd')}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=sim={peer}",
        # A killed process loses nothing without fsync; only a machine crash does.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _apiserver(place: Place) -> list[str]:
    return [
        place.tools.program("kube-apiserver"),
        f"--etcd-servers=http://{place.address('etcd')}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={place.port('kube-apiserver')}",
        f"--cert-dir={place.file('pki')}",
        f"--token-auth-file={place.file('pki', 'tokens.csv')}",
        f"--service-account-key-file={place.file('pki', 'service-accounts.key')}",
        f"--service-account-signing-key-file={place.file('pki', 'service-accounts.key')}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        # The service `kubernetes` has no real endpoint; a loopback address would be rejected.
        "--endpoint-reconciler-type=none",
        "--enable-priority-and-fairness=false",
        "--profiling=false",
    ]


def _controller_manager(place: Place) -> list[str]:
    return [
        place.tools.program("kube-controller-manager"),
        f"--kubeconfig={place.folder.kubeconfig}",
        f"--service-account-private-key-file={place.file('pki', 'service-accounts.key')}",
        f"--root-ca-file={place.file('pki', 'apiserver.crt')}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        # Each autoscaler is looked at first after one such period, 15 s by default.
        "--horizontal-pod-autoscaler-sync-period=2s",
        # It checks every expression of every policy for each kind, for a warning that nothing reads
        # here: half of the controllers' work. tests/cluster starts it and reads its warnings about our policies.
        f"--controllers=*,-{TYPE_CHECKER}",
        "--profiling=false",
    ]


def _scheduler(place: Place) -> list[str]:
    return [
        place.tools.program("kube-scheduler"),
        f"--kubeconfig={place.folder.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--profiling=false",
    ]


def _kwok(place: Place) -> list[str]:
    return [
        place.tools.program("kwok"),
        f"--kubeconfig={place.folder.kubeconfig}",
        f"--config={STAGES}",
        "--manage-all-nodes=false",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        f"--server-address={place.address('kwok')}",
        "--node-ip=10.0.0.1",
        "--node-lease-duration-seconds=40",
    ]


def _kueue(place: Place) -> list[str]:
    return [
        place.tools.program("kueue"),
        f"--config={place.file('kueue', 'configuration.yaml')}",
        f"--kubeconfig={place.folder.kubeconfig}",
    ]


def _agents(place: Place) -> list[str]:
    return [
        sys.executable,
        "-m",
        "gpuyard_simulate.agents",
        "--kubeconfig",
        str(place.folder.kubeconfig),
        "--cluster",
        place.folder.name,
        "--tools",
        str(place.tools.bin),
    ]


# Collecting garbage earlier saves a third of the API server's memory, and makes it work half as much again
# while it starts.
_THRIFTY: Final = {"GOGC": "50"}

# In start order; the API server's readiness gates all that follow it.
PARTS: Final = (
    ClusterProcess("etcd", _etcd, ("etcd", "etcd-peer")),
    ClusterProcess("kube-apiserver", _apiserver, ("kube-apiserver",), _THRIFTY),
    ClusterProcess("kube-controller-manager", _controller_manager, env=_THRIFTY),
    ClusterProcess("kube-scheduler", _scheduler, env=_THRIFTY),
    ClusterProcess("kwok", _kwok, ("kwok",)),
    ClusterProcess(
        "kueue",
        _kueue,
        ("kueue-webhook", "kueue-health", "kueue-metrics"),
        {"POD_NAMESPACE": "kueue-system", **_THRIFTY},
    ),
    ClusterProcess("agents", _agents),
)
