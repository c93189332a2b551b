"""On a node that has passed: stay until every other pod of the Job runs, or has ended.

A pod that has ended keeps no other off its node. One that starts later, because its own node did, would look
at this node a second time, and nobody at its own.
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
"""Where a pod finds its own account."""
PAUSE_SECONDS = 2.0
PATIENCE = 30
"""So often in a row the API server may not answer."""
ANSWER_SECONDS = 10.0

Ask = Callable[[], Mapping[str, Any]]
"""The Job, as it is now."""


def wait_for_others(ask: Ask, pause: Callable[[float], None] = time.sleep) -> None:
    """Return when they are all there; how long that may take, the Job's own deadline says.

    Raises:
        CannotRead: the Job cannot be asked about.
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
                raise CannotRead(f"the Job cannot be asked whether all run: {problem}") from None
        pause(PAUSE_SECONDS)


def all_pods_ready(job: Mapping[str, Any]) -> bool:
    """Whether as many pods as it wants run, or have passed."""
    status = job.get("status") or {}
    ready_pods = int(status.get("ready") or 0) + int(status.get("succeeded") or 0)
    return ready_pods >= int(job["spec"]["completions"])


def job_of(name: str, account: Path = ACCOUNT) -> Ask:
    """Asks the API server of the cluster that this pod runs in, as the pod's own account."""
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
