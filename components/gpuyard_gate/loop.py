"""A program of ours that looks at its cluster every few seconds, until it is ended: what all of them share.

What such a program knows stands in the cluster, so a look that goes wrong is made again by the next one.
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

from gpuyard_idle.web import Refused, Server, Unreachable

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its own account; its token is renewed there."""
FINE, FAILED, UNUSABLE = 0, 1, 2
PAGE = 500
"""Objects in one answer."""


class AgentSettings(Protocol):
    """What every such program is told."""

    @property
    def every_seconds(self) -> float:
        """From one look to the next."""
        ...


_Settings = TypeVar("_Settings", bound=AgentSettings)
Say = Callable[[str], None]


def run(
    name: str,
    read: Callable[[str], _Settings],
    look: Callable[[Server, _Settings, Say], int],
    arguments: Sequence[str] | None,
) -> int:
    """With `--once` 0 after a look, 1 where it went wrong; 2 where it cannot begin."""
    parsed_args = options(name).parse_args(arguments)
    try:
        settings = read(parsed_args.settings.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError) as problem:
        say(f"cannot begin: {problem!r}")
        return UNUSABLE
    while True:
        fine = run_once(parsed_args, lambda server: look(server, settings, say)) is not None
        if parsed_args.once:
            return FINE if fine else FAILED
        time.sleep(settings.every_seconds)


def run_once(parsed_args: argparse.Namespace, look: Callable[[Server], int]) -> int | None:
    """What a look comes to; None where it went wrong, which is said and tried again in the next one."""
    try:
        token = (parsed_args.account / "token").read_text(encoding="utf-8").strip()
        with closing(
            Server(parsed_args.server, token, str(parsed_args.account / "ca.crt"))
        ) as server:
            return look(server)
    except (OSError, Refused, Unreachable, KeyError, TypeError, ValueError) as problem:
        say(f"left alone: {problem!r}")
        return None


def listed(server: Server, path: str, **query: str) -> Iterator[dict[str, Any]]:
    """Every object at a path, page by page: `labelSelector`, `fieldSelector`.

    Raises:
        Refused, Unreachable: the API server did not do what it was asked.
    """
    more = ""
    while True:
        query_values = {"limit": PAGE, **query, "continue": more}
        result = server.ask(
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
    """What people read of an object; its name is of `once`, so that what is told again is not there twice."""
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
    """Those that every such program has."""
    host, port = (
        os.environ.get(f"KUBERNETES_SERVICE_{part}", default)
        for part, default in (("HOST", "kubernetes.default.svc"), ("PORT", "443"))
    )
    inside = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("--settings", type=Path, required=True, help="what it is told, as JSON")
    parser.add_argument("--server", default=inside, help="default: that of the cluster around it")
    parser.add_argument("--account", type=Path, default=ACCOUNT, help="folder of token and ca.crt")
    parser.add_argument("--once", action="store_true", help="one look, then end")
    return parser


def say(text: str) -> None:
    """A line in the log of the pod."""
    print(text, flush=True)  # noqa: T201  a pod's log
