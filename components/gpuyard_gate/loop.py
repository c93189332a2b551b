"""The reconcile loop that gpuyard's in-cluster agents share.

All state is in the cluster, so the next iteration repeats one that failed.
"""

import argparse
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

from gpuyard_idle.web import JsonClient, RequestRejected, Unreachable

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Path of the pod's service account; its token is renewed there."""
FINE, FAILED, UNUSABLE = 0, 1, 2
PAGE = 500
"""Objects per page of a list."""


class AgentSettings(Protocol):
    """Settings that all agents have."""

    @property
    def every_seconds(self) -> float:
        """Seconds between two iterations."""
        ...


_Settings = TypeVar("_Settings", bound=AgentSettings)
Say = Callable[[str], None]


def run(
    name: str,
    read: Callable[[str], _Settings],
    look: Callable[[JsonClient, _Settings, Say], int],
    arguments: Sequence[str] | None,
) -> int:
    """With `--once` 0 after one iteration, 1 if it failed; 2 if the agent cannot start."""
    parsed_args = options(name).parse_args(arguments)
    try:
        settings = read(parsed_args.settings.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError) as problem:
        say(f"cannot start: {problem!r}")
        return UNUSABLE
    while True:
        fine = run_once(parsed_args, lambda server: look(server, settings, say)) is not None
        if parsed_args.once:
            return FINE if fine else FAILED
        time.sleep(settings.every_seconds)


def run_once(parsed_args: argparse.Namespace, look: Callable[[JsonClient], int]) -> int | None:
    """The result of one iteration; None if it failed, which is logged; the next one tries again."""
    try:
        token = (parsed_args.account / "token").read_text(encoding="utf-8").strip()
        with closing(
            JsonClient(parsed_args.server, token, str(parsed_args.account / "ca.crt"))
        ) as server:
            return look(server)
    except (OSError, RequestRejected, Unreachable, KeyError, TypeError, ValueError) as problem:
        say(f"skipped: {problem!r}")
        return None


def list_objects(server: JsonClient, path: str, **query: str) -> Iterator[dict[str, Any]]:
    """Every object at a path, page by page: `labelSelector`, `fieldSelector`.

    Raises:
        Refused, Unreachable: the API server did not serve the request.
    """
    more = ""
    while True:
        query_values = {"limit": PAGE, **query, "continue": more}
        result = server.request_json(
            "GET", f"{path}?{urlencode({k: v for k, v in query_values.items() if v})}"
        )
        yield from result["items"] or ()
        if not (more := result["metadata"].get("continue", "")):
            return


def event(
    component: str,
    about: Mapping[str, Any],
    *,
    namespace: str,
    once: str,
    reason: str,
    message: str,
    warns: bool,
) -> dict[str, Any]:
    """An event of an object; its name derives from `once`, so that repeating it creates no second event."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = hashlib.sha256(once.encode()).hexdigest()[:16]
    name = f"{about['name'][:200].rstrip('.-')}.{digest}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": dict(about),
        "type": "Warning" if warns else "Normal",
        "reason": reason,
        "message": message[:1024],
        "source": {"component": component},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def options(name: str) -> argparse.ArgumentParser:
    """Options of all agents."""
    host, port = (
        os.environ.get(f"KUBERNETES_SERVICE_{part}", default)
        for part, default in (("HOST", "kubernetes.default.svc"), ("PORT", "443"))
    )
    inside = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("--settings", type=Path, required=True, help="the settings, as JSON")
    parser.add_argument(
        "--server", default=inside, help="API server; by default that of the pod's cluster"
    )
    parser.add_argument(
        "--account", type=Path, default=ACCOUNT, help="folder with token and ca.crt"
    )
    parser.add_argument("--once", action="store_true", help="run one iteration, then exit")
    return parser


def say(text: str) -> None:
    """A line in the pod's log."""
    print(text, flush=True)  # noqa: T201  a pod's log
