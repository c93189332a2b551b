"""How programs reach a cluster of a cloud: a kubeconfig without a credential. It runs the cloud's program."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.render.cloud.graph import Joined, Json

API = "client.authentication.k8s.io/v1beta1"
"""What kubectl and every client of Kubernetes understand of such a program's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccess:
    """Where a cluster answers, and as whom; late values are those of its graph."""

    endpoint: Any
    """With its scheme."""
    authority: Any
    """The certificate of its authority, in base64; None where a public one vouches for it."""
    identity: Any
    """What is another one for another cluster, also for one that has the name of this one."""
    run: Mapping[str, Any]
    """The program that has the credential: `command`, `args` and so on, as a kubeconfig says them."""

    def kubeconfig(self, name: str) -> Json:
        """As text of a kubeconfig, in which cluster, user and context have this name."""
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
    """The address of a host that is named without its scheme."""
    return Joined("https://", host)
