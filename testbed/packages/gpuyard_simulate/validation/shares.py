"""Pods with a share of a fake GPU: which others run at the same time, and what the share exposes.

The number of concurrent pods comes from the real Job, so a fake node that advertises too few or too
many is detected.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gpuyard_simulate.api import Api, ApiObject
from gpuyard_simulate.validation.machine import FAULTS

PACKAGE: Final = "gpuyard_validator.shares"
_LOOK_SECONDS: Final = 0.5
_HOLD: Final = 5
"""Number of further observations once all pods run, as in the program."""


@dataclass(slots=True)
class SharePod:
    """A pod with a share, and its observations of the others so far."""

    pod: ApiObject
    expected: str
    until: float
    max_running: int = 0
    late: bool = False
    held: int = 0

    def sees(self, job: Mapping[str, Any]) -> None:
        """Record one observation of its Job."""
        status = job.get("status") or {}
        ready, ended = (int(status.get(key) or 0) for key in ("ready", "succeeded"))
        at_once = int(_parse_expectations(self.expected).get("at_once") or 0)
        self.late = self.late or (ended > 0 and self.max_running < at_once)
        self.max_running = max(self.max_running, ready)
        all_came = self.max_running >= at_once
        self.held += bool(self.late or all_came or ended)


class FakeShares:
    """All pods with a share that wait for the others."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._waiting: dict[str, SharePod] = {}
        self._observed = float("-inf")

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def start(self, pod: ApiObject, expectations: str, now: float) -> None:
        """Start a pod; a pod that already waits continues."""
        until = now + float(_option(pod, "--seconds") or 0)
        self._waiting.setdefault(pod["metadata"]["uid"], SharePod(pod, expectations, until))

    def forget(self, share: SharePod) -> None:
        """Remove a pod that has ended."""
        self._waiting.pop(share.pod["metadata"]["uid"], None)

    def look(self, now: float) -> list[SharePod]:
        """Pods that have observed enough, or have reached their deadline."""
        if now - self._observed < _LOOK_SECONDS:
            return []
        self._observed = now
        jobs = {path: self._api.get(path) or {} for path in map(_job, self._waiting.values())}
        for share in self._waiting.values():
            share.sees(jobs[_job(share)])
        return [s for s in self._waiting.values() if s.held >= _HOLD or now >= s.until]


def is_share(pod: Mapping[str, Any]) -> bool:
    """Whether a pod tests a share."""
    return any(PACKAGE in (each.get("command") or ()) for each in pod["spec"]["containers"])


def observation_text(node: Mapping[str, Any], share: SharePod) -> str:
    """The pod's observations; `share` in the faults of its node replaces them.

    Memory is limited to the share if the node's device plugin shares GPUs with MPS.
    """
    metadata = node["metadata"]
    resource = str(_parse_expectations(share.expected).get("resource", "")).removesuffix(".shared")
    strategy = (metadata.get("labels") or {}).get(f"{resource}.sharing-strategy")
    results = {
        "node": metadata["name"],
        "devices": 1,
        "together": share.max_running,
        "waited": share.late,
        "within": True,
        "beyond": strategy != "mps",
    }
    text = str((metadata.get("annotations") or {}).get(FAULTS, "{}"))
    try:
        return json.dumps(results | json.loads(text).get("share", {}))
    except (ValueError, AttributeError, TypeError):
        return text


def _job(share: SharePod) -> str:
    space = share.pod["metadata"]["namespace"]
    return f"/apis/batch/v1/namespaces/{space}/jobs/{_option(share.pod, '--job')}"


def _option(pod: Mapping[str, Any], option: str) -> str:
    words = [str(each) for each in pod["spec"]["containers"][0].get("args") or ()]
    return words[words.index(option) + 1] if option in words[:-1] else ""


def _parse_expectations(expectations: str) -> dict[str, Any]:
    try:
        result = json.loads(expectations)
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}
