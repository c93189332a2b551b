"""The Kubernetes API server, with the calls that the program needs: lists, patches and events."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from gpuyard_idle.web import JsonClient, RequestRejected
from gpuyard_idle.workloads import Object

PAGE = 500
"""Objects per page of a list."""
NOT_FOUND = 404
EXISTS = 409
"""On creation: it already exists. On a patch: it has changed since it was read."""
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Path of the pod's service account."""


class Cluster:
    """One API server."""

    def __init__(self, server: JsonClient) -> None:
        self._server = server

    def namespace(self, name: str) -> Object | None:
        """A namespace; None when it does not exist or is terminating."""
        try:
            result: Object = self._server.request_json("GET", f"/api/v1/namespaces/{name}")
        except RequestRejected as refused:
            if refused.status == NOT_FOUND:
                return None
            raise
        return None if "deletionTimestamp" in result["metadata"] else result

    def list_objects(
        self, api_version: str, plural: str, namespace: str, *, label: str = "", bare: bool = False
    ) -> Iterator[Object]:
        """Every object of a kind, page by page; bare: without spec and status."""
        path, more = resource_path(api_version, plural, namespace), ""
        kind = "application/json"
        if bare:
            kind = f"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{kind}"
        while True:
            query = {"limit": PAGE, "labelSelector": label, "continue": more}
            query_string = urlencode({key: value for key, value in query.items() if value})
            result = self._server.request_json("GET", f"{path}?{query_string}", accept=kind)
            # Of bare objects none are null, not an empty list (Kubernetes 1.36).
            yield from result["items"] or ()
            if not (more := result["metadata"].get("continue", "")):
                return

    def patch(
        self, api_version: str, plural: str, namespace: str, name: str, change: Object
    ) -> bool:
        """A merge patch of one version of an object; False when the object has changed or no longer exists."""
        path = f"{resource_path(api_version, plural, namespace)}/{quote(name)}"
        try:
            self._server.request_json(
                "PATCH", path, json.dumps(change), "application/merge-patch+json"
            )
        except RequestRejected as refused:
            if refused.status in {NOT_FOUND, EXISTS}:
                return False
            raise
        return True

    def event(self, event: dict[str, Any]) -> None:
        """Record an event of an object, once: an event with the same name is not repeated."""
        path = resource_path("v1", "events", event["metadata"]["namespace"])
        try:
            self._server.request_json("POST", path, json.dumps(event), "application/json")
        except RequestRejected as refused:
            if refused.status != EXISTS:
                raise


def resource_path(api_version: str, plural: str, namespace: str) -> str:
    """The path of a kind in a namespace."""
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    return f"{root}/namespaces/{namespace}/{plural}"


def in_cluster_config(host: str, port: str, account: Path = ACCOUNT) -> JsonClient:
    """The API server of the cluster that this pod runs in."""
    token = (account / "token").read_text(encoding="utf-8").strip()
    name = f"[{host}]" if ":" in host else host
    return JsonClient(f"https://{name}:{port}", token, str(account / "ca.crt"))
