"""What a cluster says of itself, asked with kubectl: however somebody signs in to theirs, kubectl can.

A client of our own would have to do what kubeconfigs ask for: sign-in programs, tokens that end, proxies.
Lists are read, nothing is ever written, and a list that may not be read is said to be missing.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard.errors import EnvironmentMissing

SECONDS = 300.0
"""For one list; a cluster of ten thousand pods answers in a tenth of that."""
SECONDS_IN_ALL = 120.0
"""For many lists: a cluster that answers needs some tenths of a second for each."""
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
_NO_SUCH_KIND = "the server doesn't have a resource type"
_DENIED = ("(Forbidden)", _NO_SUCH_KIND)
OFFLINE_HINT = (
    "Or give the cluster's answer in a file: kubectl get pods,workloads,nodes -A -o json >now.json,"
    " then --running now.json."
)


@dataclass(frozen=True, slots=True)
class ClusterListing:
    """A cluster's own words."""

    context: str
    objects: tuple[Any, ...]
    read: dict[str, int]
    """How many of each list."""
    unreadable: tuple[str, ...]
    """Lists that could not be read, why, and what an answer lacks without them."""


def query_cluster(context: str | None) -> ClusterListing:
    """Read nodes, pods and Kueue's workloads.

    Raises:
        EnvironmentMissing: no kubectl, no way in, no answer, or nothing that may be read.
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
            raise EnvironmentMissing(f"the cluster did not answer: {problem}. {OFFLINE_HINT}")
        if code:
            skipped[name] = problem
            continue
        result = _items(output, name)
        objects += result
        read[name] = len(result)
    if not read:
        raise EnvironmentMissing(
            f"none of {', '.join(_ASKED)} may be read there: {skipped['nodes']}. {OFFLINE_HINT}"
        )
    lacks = (f"{n} were not read: {_WITHOUT[n]} (kubectl: {why})" for n, why in skipped.items())
    return ClusterListing(context or _current(), tuple(objects), read, tuple(lacks))


@dataclass(slots=True)
class ReadLists:
    """Objects by the name of their list."""

    objects: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    unread: dict[str, str] = field(default_factory=dict[str, str])
    """Lists that could not be read, and why."""
    absent: set[str] = field(default_factory=set[str])
    """Lists of kinds that the cluster does not have."""
    stop_reason: str = ""
    """Why nothing more was asked; empty where every list was."""


def read_lists(context: str | None, commands: Mapping[str, tuple[str, ...]]) -> ReadLists:
    """Every list that can be read, in bounded time; one without an answer ends the asking."""
    chosen = ("--context", context) if context else ()
    until = time.monotonic() + SECONDS_IN_ALL
    result = ReadLists()
    for name, words in commands.items():
        remaining = until - time.monotonic()
        if not result.stop_reason and remaining <= 0:
            result.stop_reason = f"the time for asking, {SECONDS_IN_ALL:.0f} seconds, was over"
        if result.stop_reason:
            result.unread[name] = result.stop_reason
            continue
        try:
            _read_one(result, name, (*chosen, "get", *words), remaining)
        except EnvironmentMissing as silent:
            result.stop_reason = result.unread[name] = str(silent)
    return result


def _read_one(result: ReadLists, name: str, words: tuple[str, ...], seconds: float) -> None:
    code, output, problem = _kubectl(*words, "-o", "json", seconds=seconds)
    if not code:
        result.objects[name] = _items(output, name)
    elif _NO_SUCH_KIND in problem:
        result.absent.add(name)
    elif any(denied in problem for denied in _DENIED):
        result.unread[name] = problem
    else:
        raise EnvironmentMissing(f"the cluster did not answer: {problem}")


def _current() -> str:
    """The name of the context that was asked; a pod inside a cluster has none."""
    code, output, _ = _kubectl("config", "current-context")
    return "" if code else output.decode(errors="replace").strip()


def _items(output: bytes, name: str) -> list[Any]:
    try:
        result = json.loads(output)["items"]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise EnvironmentMissing(f"kubectl's list of {name} is none: {problem}") from problem
    return list(result) if isinstance(result, list) else []


def _kubectl(*words: str, seconds: float | None = None) -> tuple[int, bytes, str]:
    """Its exit code, what it wrote, and its last words of complaint in one line."""
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
                f"the cluster did not answer within {limit:.0f} seconds."
            ) from None
        except OSError as problem:
            raise EnvironmentMissing(
                f"--live asks the cluster with kubectl, which does not run here ({problem})."
            ) from problem
        out.seek(0)
        err.seek(0)
        error_lines = err.read().decode(errors="replace").strip().splitlines()
        return (
            ended.returncode,
            out.read(),
            error_lines[-1].rstrip(".") if error_lines else "no word why",
        )
