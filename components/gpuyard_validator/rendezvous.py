"""On a node that has passed: stay until every other pod of the Job runs or has ended.

A pod that has ended frees its node. A pod that starts later, because its own node did, could then run on
this node a second time, and its own node would not be validated.
"""

import json
import os
import ssl
import time
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any

from gpuyard_validator.snapshot import CannotRead

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Path of the pod's service account."""
PAUSE_SECONDS = 2.0
PATIENCE = 30
"""Maximum number of consecutive errors of the API server."""
ANSWER_SECONDS = 10.0

Ask = Callable[[], Mapping[str, Any]]
"""The current Job."""


def wait_for_others(ask: Ask, pause: Callable[[float], None] = time.sleep) -> None:
    """Return when all pods run or have ended; the Job's own deadline is the limit.

    Raises:
        CannotRead: the Job cannot be read.
    """
    failures = 0
    while True:
        try:
            if all_pods_ready(ask()):
                return
            failures = 0
        except (OSError, ValueError, HTTPException) as problem:
            failures += 1
            if failures >= PATIENCE:
                raise CannotRead(
                    f"cannot read the Job to see whether all pods run: {problem}"
                ) from None
        pause(PAUSE_SECONDS)


def all_pods_ready(job: Mapping[str, Any]) -> bool:
    """Whether as many pods as the Job requests run or have passed."""
    status = job.get("status") or {}
    ready_pods = int(status.get("ready") or 0) + int(status.get("succeeded") or 0)
    return ready_pods >= int(job["spec"]["completions"])


def job_of(name: str, account: Path = ACCOUNT) -> Ask:
    """Queries the API server of this pod's cluster with the pod's service account."""
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{part}", "") for part in ("HOST", "PORT"))
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"

    def ask() -> Mapping[str, Any]:
        namespace, token = (
            (account / file).read_text(encoding="utf-8").strip() for file in ("namespace", "token")
        )
        url = f"{server}/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310  https
        trusted = ssl.create_default_context(cafile=str(account / "ca.crt"))
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS, context=trusted) as answer:  # noqa: S310
            result: Mapping[str, Any] = json.load(answer)
        return result

    return ask
