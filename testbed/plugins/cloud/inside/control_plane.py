"""The control plane behind a cluster of an account: a running, real API server.

`control-plane.yaml` in the account's folder is its kubeconfig. The first cluster created while the file
exists gets it; further clusters have no working endpoint, nor have clusters of an account without it.
"""

import base64
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from testbed.plugins.cloud.service.ties import Resource

FILE = "control-plane.yaml"
ROOTS = "roots.pem"
_EKS, _GKE = "aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster"
_SYSTEM_ROOTS = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


@dataclass(frozen=True)
class ControlPlane:
    """An API server, and its administrator token."""

    server: str
    authority: str
    """Its certificate, in base64."""
    token: str

    @property
    def host(self) -> str:
        """The host as GKE returns it: without a scheme."""
        return self.server.removeprefix("https://")


def of(folder: Path | None) -> ControlPlane | None:
    """The control plane of an account's folder, or None."""
    file = folder / FILE if folder else None
    if file is None or not file.exists():
        return None
    result = yaml.safe_load(file.read_text(encoding="utf-8"))
    cluster = result["clusters"][0]["cluster"]
    return ControlPlane(
        server=cluster["server"],
        authority=cluster["certificate-authority-data"],
        token=result["users"][0]["user"]["token"],
    )


def put(folder: Path, kubeconfig: Path) -> dict[str, str]:
    """Put a control plane behind an account; returns the environment that its clients need.

    GKE's DNS endpoint has a certificate of a public authority, so that no kubeconfig names one. Here
    the public authorities are those of the machine and this API server's, in a file that OpenSSL
    and Go read instead of the machine's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / FILE, kubeconfig.read_text(encoding="utf-8"))
    inside = of(folder)
    roots = next((Path(each) for each in _SYSTEM_ROOTS if Path(each).exists()), None)
    public = roots.read_text(encoding="utf-8") if roots else ""
    own = base64.b64decode(inside.authority).decode() if inside else ""
    _write(folder / ROOTS, f"{public}\n{own}")
    return {"SSL_CERT_FILE": str((folder / ROOTS).resolve())}


def take_away(folder: Path) -> None:
    """Remove the control plane; clusters keep its endpoint."""
    (folder / FILE).unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)


def put_behind(
    kind: str, state: dict[str, Any], inside: ControlPlane | None, existing: Iterable[Resource]
) -> None:
    """Give the control plane to a new cluster, unless another one has it."""
    if inside is None or kind not in {_EKS, _GKE} or holder(inside, existing):
        return
    if kind == _EKS:
        state["endpoint"] = inside.server
        state["certificateAuthority"] = {"data": inside.authority}
        return
    state["endpoint"] = inside.host
    state["masterAuth"] = {
        **(state.get("masterAuth") or {}),
        "clusterCaCertificate": inside.authority,
    }
    ways = state["controlPlaneEndpointsConfig"]
    state["controlPlaneEndpointsConfig"] = {
        **ways,
        "dnsEndpointConfig": {**ways["dnsEndpointConfig"], "endpoint": inside.host},
    }


def holder(inside: ControlPlane, existing: Iterable[Resource]) -> Resource | None:
    """The cluster that has the control plane."""
    return next((each for each in existing if answers_at(each, inside)), None)


def answers_at(cluster: Resource, inside: ControlPlane) -> bool:
    """Whether a cluster is the one with this control plane."""
    at = {_EKS: inside.server, _GKE: inside.host}.get(cluster.kind)
    return at is not None and cluster.state.get("endpoint") == at
