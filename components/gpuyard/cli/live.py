"""What a cluster says of itself, asked with kubectl: however somebody signs in to theirs, kubectl can.

A client of our own would have to do what kubeconfigs ask for: sign-in programs, tokens that end, proxies.
Three lists are read, nothing is ever written, and a list that may not be read is said to be missing.
"""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

from gpuyard.errors import EnvironmentLacks

SECONDS = 300.0
"""For one list; a cluster of ten thousand pods answers in a tenth of that."""
_ASKED = {
    "nodes": ("nodes",),
    # those that are over, or have no node yet, hold no room
    "pods": (
        "pods",
        "--all-namespaces",
        "--field-selector=status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=",
    ),
    "workloads": ("workloads.kueue.x-k8s.io", "--all-namespaces"),
}
_WITHOUT = {
    "nodes": "they are taken to be as planned",
    "pods": "what stands on the nodes is not known, and only quota is judged",
    "workloads": "quota is counted by the pods that run, and who waits is not known",
}
"""What an answer lacks where a list could not be read."""
_DENIED = ("(Forbidden)", "the server doesn't have a resource type")
INSTEAD = (
    "Or give the cluster's answer in a file: kubectl get pods,workloads,nodes -A -o json >now.json,"
    " then --running now.json."
)


@dataclass(frozen=True, slots=True)
class ClusterSays:
    """A cluster's own words."""

    context: str
    objects: tuple[Any, ...]
    read: dict[str, int]
    """How many of each list."""
    unread: tuple[str, ...]
    """Lists that could not be read, why, and what an answer lacks without them."""


def ask_cluster(context: str | None) -> ClusterSays:
    """Read nodes, pods and Kueue's workloads.

    Raises:
        EnvironmentLacks: no kubectl, no way in, no answer, or nothing that may be read.
    """
    chosen = ("--context", context) if context else ()
    objects: list[Any] = []
    read: dict[str, int] = {}
    unread: dict[str, str] = {}
    for name, asked in _ASKED.items():
        code, said, problem = _kubectl(*chosen, "get", *asked, "-o", "json")
        if code and not any(words in problem for words in _DENIED):
            raise EnvironmentLacks(f"the cluster did not answer: {problem}. {INSTEAD}")
        if code:
            unread[name] = problem
            continue
        found = _items(said, name)
        objects += found
        read[name] = len(found)
    if not read:
        raise EnvironmentLacks(
            f"none of {', '.join(_ASKED)} may be read there: {unread['nodes']}. {INSTEAD}"
        )
    lacks = (f"{n} were not read: {_WITHOUT[n]} (kubectl: {why})" for n, why in unread.items())
    return ClusterSays(context or _current(), tuple(objects), read, tuple(lacks))


def _current() -> str:
    """The name of the context that was asked; a pod inside a cluster has none."""
    code, said, _ = _kubectl("config", "current-context")
    return "" if code else said.decode(errors="replace").strip()


def _items(said: bytes, name: str) -> list[Any]:
    try:
        found = json.loads(said)["items"]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise EnvironmentLacks(f"kubectl's list of {name} is none: {problem}") from problem
    return list(found) if isinstance(found, list) else []


def _kubectl(*words: str) -> tuple[int, bytes, str]:
    """Its exit code, what it wrote, and its last words of complaint in one line."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        command = ["kubectl", "--request-timeout=60s", *words]
        try:
            # Into files: a sign-in program that outlives kubectl would hold a pipe open.
            ended = subprocess.run(  # noqa: S603  no shell; the context is one word
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise EnvironmentLacks(
                f"the cluster did not answer within {SECONDS:.0f} seconds. {INSTEAD}"
            ) from None
        except OSError as problem:
            raise EnvironmentLacks(
                f"--live asks the cluster with kubectl, which does not run here ({problem}). {INSTEAD}"
            ) from problem
        out.seek(0)
        err.seek(0)
        said = err.read().decode(errors="replace").strip().splitlines()
        return ended.returncode, out.read(), said[-1].rstrip(".") if said else "no word why"
