"""Pods that read volumes on fake nodes: claims have no storage, and the read rate comes from the volume.

The claim, its binding and the pod's volume are real objects. A volume without a rate is read at the
network rate of the node's machine type.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from gpuyard_simulate.agents.hardware import hardware_of
from gpuyard_simulate.api import Api, ApiObject

PACKAGE: Final = "gpuyard_validator.volumes"
READS: Final = "sim.gpuyard.dev/reads"
"""Annotation of a PersistentVolume: MB/s, or `empty`."""
_UNKNOWN_GBPS: Final = 10.0


def is_reading(pod: Mapping[str, Any]) -> bool:
    """Whether a pod reads volumes."""
    return any(PACKAGE in (each.get("command") or ()) for each in pod["spec"]["containers"])


def read_text(api: Api, node: Mapping[str, Any], pod: ApiObject, expectations: str) -> str:
    """The pod's readings of each expected volume, in the program's format."""
    results = {one["name"]: _read(api, node, pod, one["path"]) for one in _readings(expectations)}
    return json.dumps({"node": node["metadata"]["name"], "reads": results})


def _readings(expectations: str) -> list[dict[str, str]]:
    """The expected readings; an invalid document has none, which the program reports itself."""
    try:
        result = json.loads(expectations)["readings"]
        return [{"name": str(one["name"]), "path": str(one["path"])} for one in result]
    except (ValueError, KeyError, TypeError):
        return []


def _read(api: Api, node: Mapping[str, Any], pod: ApiObject, path: str) -> Any:
    claim = _claim_at(pod, path)
    if claim is None:
        return _missing(f"cannot be read: nothing is mounted at {path}")
    space = pod["metadata"]["namespace"]
    bound = api.get(f"/api/v1/namespaces/{space}/persistentvolumeclaims/{claim}") or {}
    volume = (bound.get("spec") or {}).get("volumeName")
    persistent_volume = api.get(f"/api/v1/persistentvolumes/{volume}") if volume else None
    if persistent_volume is None:
        return _missing(f"cannot be read: the claim {claim} has no volume")
    annotation = (persistent_volume["metadata"].get("annotations") or {}).get(READS)
    if annotation == "empty":
        return _missing("the volume is empty")
    return _carried(node) if annotation is None else _number(annotation)


def _claim_at(pod: ApiObject, path: str) -> str | None:
    """The claim that its container mounts at this path."""
    mounts = {m["mountPath"]: m["name"] for m in pod["spec"]["containers"][0]["volumeMounts"]}
    for volume in pod["spec"]["volumes"]:
        if volume["name"] == mounts.get(path) and "persistentVolumeClaim" in volume:
            return str(volume["persistentVolumeClaim"]["claimName"])
    return None


def _carried(node: Mapping[str, Any]) -> float:
    """Network rate of the node in MB/s."""
    hardware = hardware_of(node)
    gbps = hardware.machine.network_gbps if hardware is not None else None
    return (gbps or _UNKNOWN_GBPS) * 1000 / 8


def _number(text: str) -> Any:
    """The number, or the text if it is none, which the program rejects."""
    try:
        return float(text)
    except ValueError:
        return text


def _missing(detail: str) -> dict[str, str]:
    return {"missing": "failed", "detail": detail}
