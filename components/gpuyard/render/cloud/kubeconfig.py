"""Access to a cloud's cluster: a kubeconfig that runs the cloud's program for a credential."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.render.cloud.graph import Joined, Json

API = "client.authentication.k8s.io/v1beta1"
"""The version of the exec credential API that kubectl and all Kubernetes clients support."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccess:
    """The endpoint and credentials of a cluster; late values are those of its graph."""

    endpoint: Any
    """With its scheme."""
    authority: Any
    """The certificate of the cluster's authority, in base64; None with a public certificate."""
    identity: Any
    """A value that differs between clusters, also between two with the same name."""
    run: Mapping[str, Any]
    """The program that gets the credential: `command`, `args` and so on, as in a kubeconfig."""

    def kubeconfig(self, name: str) -> Json:
        """The text of a kubeconfig; its cluster, user and context have this name."""
        trust = {"certificate-authority-data": self.authority} if self.authority else {}
        return Json(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": name, "cluster": {"server": self.endpoint, **trust}}],
                "users": [{"name": name, "user": {"exec": {"apiVersion": API, **self.run}}}],
                "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
                "current-context": name,
                "preferences": {},
            }
        )


def https(host: Any) -> Joined:
    """The URL of a host that is named without a scheme."""
    return Joined("https://", host)
