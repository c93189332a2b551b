"""An API server of nodes and pods in memory, behind a fake account."""

import base64
from pathlib import Path
from typing import Any

import yaml
from testbed.plugins.cloud.inside import control_plane

from gpuyard_core.names import GPU
from gpuyard_simulate.api import ApiError


def put_behind(folder: Path) -> Path:
    """A control plane behind an account in this folder; the account's own folder."""
    certificate = base64.b64encode(b"certificate").decode()
    where = {"server": "https://127.0.0.1:1", "certificate-authority-data": certificate}
    config = {"clusters": [{"cluster": where}], "users": [{"user": {"token": "t"}}]}
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))
    control_plane.put(folder / "cloud", folder / "kubeconfig")
    return folder / "cloud"


class Server:
    """The recorded requests; creating a client raises `broken`."""

    nodes: dict[str, dict[str, Any]]
    pods: list[dict[str, Any]]
    evicted: list[str]
    served: list[str]
    ended: dict[str, dict[str, Any]]
    broken: Exception | None = None

    def __init__(self, *_where: str) -> None:
        if self.broken:
            raise self.broken

    def call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        name = path.rpartition("/")[2]
        if method == "GET":
            return {"items": list(self.nodes.values()) if name == "nodes" else self.pods}
        if path.endswith("/eviction"):
            self.evicted.append(path.split("/")[-2])
            if body["metadata"]["name"] == "guarded":
                raise ApiError(
                    429, "Cannot evict pod as it would violate the pod's disruption budget."
                )
            return {}
        if method == "DELETE":
            if self.nodes.pop(name)["metadata"]["name"] == "gone":
                raise ApiError(404, "not found")
            return {}
        if body["metadata"]["name"] in self.nodes:
            raise ApiError(409, "already exists")
        self.nodes[body["metadata"]["name"]] = body
        return body

    def apply(self, manifest: dict[str, Any]) -> None:
        self.served.append(manifest["metadata"]["name"])

    def patch(self, path: str, change: dict[str, Any]) -> dict[str, Any]:
        if "/pods/" in path:
            self.ended[path.split("/")[-2]] = change["status"]
            return change
        item = self.nodes[path.rpartition("/")[2]]
        labels = {**item["metadata"]["labels"], **change.get("metadata", {}).get("labels", {})}
        for part, values in change.items():
            item[part] |= values
        item["metadata"]["labels"] = {k: v for k, v in labels.items() if v is not None}
        return item


def fresh() -> type[Server]:
    """A server for one test."""
    empty = {"nodes": {}, "pods": [], "evicted": [], "served": [], "ended": {}, "broken": None}
    return type("OwnServer", (Server,), empty)


def waiting(**resources: str) -> dict[str, Any]:
    """A pod after its queue admitted it."""
    return {
        "metadata": {},
        "spec": {
            "nodeSelector": {"gpuyard.dev/pool": "train"},
            "tolerations": [{"key": GPU, "operator": "Exists"}],
            "containers": [{"resources": {"limits": resources}}],
        },
        "status": {
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
        },
    }
