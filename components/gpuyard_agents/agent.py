"""What all agents share: options, settings, the reconcile loop and events.

All state is in the cluster, so the next iteration repeats one that failed.
"""

import argparse
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

from gpuyard_agents.client import (
    JsonClient,
    Object,
    RequestRejected,
    Unreachable,
    patch_object,
    post_event,
)

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Path of the pod's service account; its token is renewed there."""
FINE, FAILED, UNUSABLE = 0, 1, 2
LONGEST = 1024
"""Maximum length of an event message in the API server."""


class SettingsError(Exception):
    """The settings are invalid."""


class AgentSettings(Protocol):
    """Settings of an agent that reconciles every few seconds."""

    @property
    def every_seconds(self) -> float:
        """Seconds between two iterations."""
        ...


_Settings = TypeVar("_Settings")
_AgentSettings = TypeVar("_AgentSettings", bound=AgentSettings)
Say = Callable[[str], None]


def run(
    name: str,
    kind: type[_AgentSettings],
    reconcile: Callable[[JsonClient, _AgentSettings, Say], int],
    arguments: Sequence[str] | None,
) -> int:
    """With `--once` 0 after one iteration, 1 if it failed; 2 if the agent cannot start."""
    options = parser(name).parse_args(arguments)
    settings = load_settings(kind, options.settings)
    if settings is None:
        return UNUSABLE
    while True:
        fine = run_once(options, lambda server: reconcile(server, settings, say)) is not None
        if options.once:
            return FINE if fine else FAILED
        time.sleep(settings.every_seconds)


def run_once(options: argparse.Namespace, reconcile: Callable[[JsonClient], int]) -> int | None:
    """The result of one iteration; None if it failed, which is logged; the next one tries again."""
    try:
        with closing(connect(options)) as server:
            return reconcile(server)
    except (OSError, RequestRejected, Unreachable, KeyError, TypeError, ValueError) as problem:
        say(f"skipped: {problem!r}")
        return None


def connect(options: argparse.Namespace) -> JsonClient:
    """The API server, as the pod's account."""
    token = (options.account / "token").read_text(encoding="utf-8").strip()
    return JsonClient(options.server, token, str(options.account / "ca.crt"))


def parser(name: str) -> argparse.ArgumentParser:
    """Options of all agents."""
    host, port = (
        os.environ.get(f"KUBERNETES_SERVICE_{part}", default)
        for part, default in (("HOST", "kubernetes.default.svc"), ("PORT", "443"))
    )
    inside = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    result = argparse.ArgumentParser(prog=name, description=__doc__)
    result.add_argument("--settings", type=Path, required=True, help="the settings, as JSON")
    result.add_argument(
        "--server", default=inside, help="API server; by default that of the pod's cluster"
    )
    result.add_argument(
        "--account", type=Path, default=ACCOUNT, help="folder with token and ca.crt"
    )
    result.add_argument("--once", action="store_true", help="run one iteration, then exit")
    return result


def load_settings(kind: type[_Settings], path: Path) -> _Settings | None:
    """The settings in a file; None, with the reason in the log, if the agent cannot start."""
    try:
        return read_settings(kind, path.read_text(encoding="utf-8"))
    except (OSError, SettingsError) as problem:
        say(f"cannot start: {problem}")
        return None


def read_settings(kind: type[_Settings], text: str) -> _Settings:
    """A dataclass from a JSON document with exactly its fields; nested ones, too.

    Raises:
        SettingsError: the document is invalid or incomplete.
    """
    try:
        raw = json.loads(text)
    except ValueError as problem:
        raise SettingsError(f"not JSON: {problem}") from None
    try:
        result: _Settings = _value(kind, raw)
    except (TypeError, ValueError) as problem:
        raise SettingsError(f"invalid settings: {problem!r}") from None
    return result


def _value(kind: Any, raw: Any) -> Any:
    if isinstance(kind, type) and is_dataclass(kind):
        types = get_type_hints(kind)
        if wrong := ", ".join(sorted(set(raw) ^ set(types))):
            raise ValueError(f"{kind.__name__}: missing or unknown {wrong}")
        return kind(**{name: _value(of, raw[name]) for name, of in types.items()})
    if get_origin(kind) is tuple:
        return tuple(_value(get_args(kind)[0], each) for each in raw)
    return raw


def event(
    component: str,
    about: Mapping[str, Any],
    *,
    once: str,
    reason: str,
    message: str,
    warns: bool,
    now: datetime | None = None,
) -> dict[str, Any]:
    """An event of an object; its name derives from `once`, so that repeating it creates no second event.

    Events of nodes, which have no namespace, are in `default`.
    """
    time_text = stamp(now or datetime.now(UTC))
    digest = hashlib.sha256(once.encode()).hexdigest()[:16]
    name = f"{about['name'][:200].rstrip('.-')}.{digest}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about.get("namespace", "default")},
        "involvedObject": dict(about),
        "type": "Warning" if warns else "Normal",
        "reason": reason,
        "message": message[:LONGEST],
        "source": {"component": component},
        "firstTimestamp": time_text,
        "lastTimestamp": time_text,
        "count": 1,
    }


def report_and_patch(
    server: JsonClient, path: str, change: Object, event_object: Object | None = None
) -> str:
    """Why the patch failed, if so: the next iteration decides again, and other objects are not affected.

    The event comes first: after a crash it is repeated under the same name, so it exists once.
    """
    try:
        if event_object is not None:
            with suppress(RequestRejected):
                post_event(server, event_object)
        patch_object(server, path, change)
    except RequestRejected as refused:
        return f"skipped: {refused}"
    return ""


def stamp(time: datetime) -> str:
    """A time as Kubernetes writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def say(text: str) -> None:
    """A line in the pod's log."""
    print(text, flush=True)  # noqa: T201  a pod's log
