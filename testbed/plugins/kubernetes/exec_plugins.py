"""Users of a kubeconfig that run a program for their token: what `aws eks update-kubeconfig` writes.

Like client-go: the program gets the cluster where `provideClusterInfo` is set, prints an ExecCredential
of the requested version, and runs again when its token has expired.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from testbed.plugins.kubernetes.failures import Unreachable
from testbed.plugins.kubernetes.values import Object

SECONDS = 60
_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclass
class Token:
    """A token from a program, requested when it is needed."""

    run: Object
    cluster: Object
    _kept: str = ""
    _until: datetime | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def header(self) -> str:
        """The authorization header of requests."""
        with self._lock:
            if not self._kept or (self._until and self._until <= datetime.now(tz=UTC)):
                status = self._status()
                self._kept = str(status["token"])
                until = status.get("expirationTimestamp")
                self._until = datetime.fromisoformat(until) if until else None
            return f"Bearer {self._kept}"

    def _status(self) -> Mapping[str, Any]:
        version, command = self.run.get("apiVersion"), str(self.run["command"])
        if version not in _VERSIONS:
            raise Unreachable(
                f"the kubeconfig's exec plugin has apiVersion {version}; allowed: {', '.join(_VERSIONS)}"
            )
        spec: Object = {"interactive": False}
        if self.run.get("provideClusterInfo"):
            spec["cluster"] = self.cluster
        info = {"kind": "ExecCredential", "apiVersion": version, "spec": spec}
        inputs = {each["name"]: each["value"] for each in self.run.get("env") or []}
        env = {**os.environ, **inputs, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        try:
            done = subprocess.run(
                [command, *(self.run.get("args") or [])],
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            hint = self.run.get("installHint") or "is it installed, and on PATH?"
            raise Unreachable(f"getting credentials: exec: {command}: {error}; {hint}") from error
        if done.returncode:
            raise Unreachable(
                f"getting credentials: exec: executable {command} failed with exit code {done.returncode}:"
                f" {done.stderr.strip()}"
            )
        return _read(command, done.stdout, str(version))


def _read(command: str, text: str, version: str) -> Mapping[str, Any]:
    try:
        result = json.loads(text)
        if result["apiVersion"] == version and result["status"]["token"]:
            return dict(result["status"])
    except (ValueError, KeyError, TypeError):
        pass  # reported below
    raise Unreachable(f"getting credentials: exec plugin {command} gave no token of {version}")
