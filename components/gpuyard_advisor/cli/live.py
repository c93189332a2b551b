"""Query a cluster with kubectl, which supports every way to sign in.

A client of gpuyard's own would need the features of kubeconfigs: credential plugins, expiring tokens,
proxies. Lists are read, nothing is written, and a list that cannot be read is reported as missing.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.errors import EnvironmentMissing

SECONDS = 300.0
"""Time limit of one list; a cluster of ten thousand pods answers in a tenth of it."""
SECONDS_IN_ALL = 120.0
"""Time limit of all lists; a responsive cluster needs tenths of a second for each."""
_ASKED = {
    "nodes": ("nodes",),
    # finished and unscheduled pods use no capacity
    "pods": (
        "pods",
        "--all-namespaces",
        "--field-selector=status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=",
    ),
    "workloads": ("workloads.kueue.x-k8s.io", "--all-namespaces"),
}
_WITHOUT = {
    "nodes": "nodes are assumed to be as planned",
    "pods": "the pods on the nodes are unknown, and only quota is checked",
    "workloads": "quota is counted from running pods, and pending workloads are unknown",
}
"""Consequence of a list that could not be read."""
_NO_SUCH_KIND = "the server doesn't have a resource type"
_DENIED = ("(Forbidden)", _NO_SUCH_KIND)
OFFLINE_HINT = (
    "Or save the listing to a file: kubectl get pods,workloads,nodes -A -o json >now.json,"
    " then --running now.json."
)


@dataclass(frozen=True, slots=True)
class ClusterListing:
    """Objects of a cluster."""

    context: str
    objects: tuple[Any, ...]
    read: dict[str, int]
    """Number of objects by list."""
    unreadable: tuple[str, ...]
    """Lists that could not be read, why, and the consequence."""


def query_cluster(context: str | None) -> ClusterListing:
    """Read nodes, pods and Kueue's workloads.

    Raises:
        EnvironmentMissing: no kubectl, no access, no response, or no readable list.
    """
    chosen = ("--context", context) if context else ()
    objects: list[Any] = []
    read: dict[str, int] = {}
    skipped: dict[str, str] = {}
    for name, arguments in _ASKED.items():
        try:
            code, output, problem = _kubectl(*chosen, "get", *arguments, "-o", "json")
        except EnvironmentMissing as silent:
            raise EnvironmentMissing(f"{silent} {OFFLINE_HINT}") from None
        if code and not any(words in problem for words in _DENIED):
            raise EnvironmentMissing(f"the cluster did not respond: {problem}. {OFFLINE_HINT}")
        if code:
            skipped[name] = problem
            continue
        result = _items(output, name)
        objects += result
        read[name] = len(result)
    if not read:
        raise EnvironmentMissing(
            f"none of {', '.join(_ASKED)} can be read: {skipped['nodes']}. {OFFLINE_HINT}"
        )
    lacks = (f"{n} were not read: {_WITHOUT[n]} (kubectl: {why})" for n, why in skipped.items())
    return ClusterListing(context or _current(), tuple(objects), read, tuple(lacks))


@dataclass(slots=True)
class ReadLists:
    """Objects by list."""

    objects: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    unread: dict[str, str] = field(default_factory=dict[str, str])
    """Lists that could not be read, and why."""
    absent: set[str] = field(default_factory=set[str])
    """Lists whose kind the cluster does not have."""
    stop_reason: str = ""
    """Why the queries stopped; empty when every list was queried."""


def read_lists(context: str | None, commands: Mapping[str, tuple[str, ...]]) -> ReadLists:
    """Read every list within the time limit; a list without a response ends the queries."""
    chosen = ("--context", context) if context else ()
    until = time.monotonic() + SECONDS_IN_ALL
    result = ReadLists()
    for name, words in commands.items():
        remaining = until - time.monotonic()
        if not result.stop_reason and remaining <= 0:
            result.stop_reason = f"the query limit of {SECONDS_IN_ALL:.0f} seconds was reached"
        if result.stop_reason:
            result.unread[name] = result.stop_reason
            continue
        try:
            _read_one(result, name, (*chosen, "get", *words), remaining)
        except EnvironmentMissing as silent:
            result.stop_reason = result.unread[name] = str(silent)
    return result


def read_secret_names(context: str | None, namespace: str, names: Sequence[str]) -> list[str]:
    """The names of those Secrets that exist; the server sends a table without their values.

    Raises:
        EnvironmentMissing: the cluster does not respond, or denies access.
    """
    chosen = ("--context", context) if context else ()
    words = (*chosen, "get", "secrets", *names, f"--namespace={namespace}")
    code, output, problem = _kubectl(*words, "--ignore-not-found", "--no-headers")
    if code:
        raise EnvironmentMissing(problem)
    lines = output.decode(errors="replace").splitlines()
    return [line.split()[0] for line in lines if line.strip()]


def _read_one(result: ReadLists, name: str, words: tuple[str, ...], seconds: float) -> None:
    code, output, problem = _kubectl(*words, "-o", "json", seconds=seconds)
    if not code:
        result.objects[name] = _items(output, name)
    elif _NO_SUCH_KIND in problem:
        result.absent.add(name)
    elif any(denied in problem for denied in _DENIED):
        result.unread[name] = problem
    else:
        raise EnvironmentMissing(f"the cluster did not respond: {problem}")


def _current() -> str:
    """The name of the current context; a pod inside a cluster has none."""
    code, output, _ = _kubectl("config", "current-context")
    return "" if code else output.decode(errors="replace").strip()


def _items(output: bytes, name: str) -> list[Any]:
    try:
        result = json.loads(output)["items"]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise EnvironmentMissing(f"kubectl returned no list of {name}: {problem}") from problem
    return list(result) if isinstance(result, list) else []


def _kubectl(*words: str, seconds: float | None = None) -> tuple[int, bytes, str]:
    """Run kubectl: exit code, output, and the last error message in one line."""
    limit = SECONDS if seconds is None else seconds
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        command = ["kubectl", "--request-timeout=60s", *words]
        try:
            # Into files: a sign-in program that outlives kubectl would hold a pipe open.
            ended = subprocess.run(  # noqa: S603  no shell; the context is one word
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise EnvironmentMissing(
                f"the cluster did not respond within {limit:.0f} seconds."
            ) from None
        except OSError as problem:
            raise EnvironmentMissing(
                f"--live queries the cluster with kubectl, which could not be started ({problem})."
            ) from problem
        out.seek(0)
        err.seek(0)
        error_lines = err.read().decode(errors="replace").strip().splitlines()
        return (
            ended.returncode,
            out.read(),
            error_lines[-1].rstrip(".") if error_lines else "no error message",
        )
