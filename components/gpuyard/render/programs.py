"""Programs of gpuyard that run in the cluster, embedded as text: neither side imports the other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import gpuyard
from gpuyard.plan.renames import short_digest
from gpuyard.render.objects import Object, managed_object, system_tolerations
from gpuyard_core.names import POOL_LABEL

_UNPRIVILEGED_ID = 65534
UNPRIVILEGED_USER: Object = {
    "runAsNonRoot": True,
    "runAsUser": _UNPRIVILEGED_ID,
    "runAsGroup": _UNPRIVILEGED_ID,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""Security context of pods that need no access to their node."""
CONFINED: Object = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""The security context of their containers."""


@cache
def package_source(package: str) -> Mapping[str, str]:
    """The source and data of a package by file, as a path below the package: `checks/links.py`."""
    folder = Path(gpuyard.__file__).parents[1] / package
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".py", ".csv"}
    }


def agent_source(agent: str) -> Mapping[str, str]:
    """The source of an agent and of what all agents share, by path: `gpuyard_agents/gate/reconcile.py`."""
    return {
        f"{AGENTS}/{path}": text
        for path, text in package_source(AGENTS).items()
        if "/" not in path or path.startswith(f"{agent}/")
    }


AGENTS = "gpuyard_agents"
SETTINGS_FILE = "settings.json"
_CARRIES = "gpuyard.dev/carries"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDeployment:
    """An agent that reconciles its cluster every few seconds, in one pod, with its own account."""

    name: str
    namespace: str
    agent: str
    """Its package in `gpuyard_agents`."""
    image: str
    settings: str
    """The settings, as JSON."""

    def files(self) -> dict[str, str]:
        """All mounted files, by path."""
        return {**agent_source(self.agent), SETTINGS_FILE: self.settings}

    def objects(self, owner: str, tolerations: Sequence[Object]) -> list[Object]:
        """The files and the Deployment; changed files replace the pod, since it reads them once."""
        space, files = self.namespace, self.files()
        labels = {"app.kubernetes.io/name": self.name}
        spec = {
            "replicas": 1,
            # Two agents at once would both do the same work.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {_CARRIES: short_digest(files)}},
                "spec": self.pod(tolerations),
            },
        }
        return [
            config_map(owner, self.name, space, files),
            managed_object(owner, "apps/v1", "Deployment", self.name, namespace=space, spec=spec),
        ]

    def pod(self, tolerations: Sequence[Object]) -> Object:
        """On nodes without GPUs if there are any; otherwise on those of the tolerated pools."""
        elsewhere = {"matchExpressions": [{"key": POOL_LABEL, "operator": "DoesNotExist"}]}
        first: dict[str, Any] = {"weight": 100, "preference": elsewhere}
        return {
            "serviceAccountName": self.name,
            "automountServiceAccountToken": True,
            "tolerations": [*system_tolerations(), *tolerations],
            "affinity": {
                "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [first]}
            },
            "securityContext": dict(UNPRIVILEGED_USER),
            "containers": [
                {
                    "name": self.agent,
                    "image": self.image,
                    "command": ["python3", "-B", "-m", f"{AGENTS}.{self.agent}"],
                    "args": ["--settings", f"/program/{SETTINGS_FILE}"],
                    "workingDir": "/program",
                    "resources": {
                        "requests": {"cpu": "20m", "memory": "64Mi"},
                        "limits": {"memory": "512Mi"},
                    },
                    "securityContext": dict(CONFINED),
                    "volumeMounts": [
                        {"name": "program", "mountPath": "/program", "readOnly": True}
                    ],
                }
            ],
            "volumes": [program_volume(self.name, self.files())],
        }


def config_map(owner: str, name: str, namespace: str, files: Mapping[str, str]) -> Object:
    """The ConfigMap of a program's files."""
    data = {file_key(path): text for path, text in files.items()}
    return managed_object(owner, "v1", "ConfigMap", name, namespace=namespace, data=data)


def program_volume(name: str, paths: Iterable[str]) -> Object:
    """The volume that mounts these files from a ConfigMap."""
    items = [{"key": file_key(path), "path": path} for path in paths]
    return {"name": "program", "configMap": {"name": name, "items": items}}


def file_key(path: str) -> str:
    """The key of a file in a ConfigMap, whose keys allow no slash."""
    return path.replace("/", "..")
