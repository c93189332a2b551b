"""The command line: a look every few seconds, until it is ended."""

import argparse
import os
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from gpuyard_gate.look import Settings, look, read_settings
from gpuyard_idle.web import Refused, Server, Unreachable

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its own account; its token is renewed there."""
FINE, FAILED, UNUSABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """With `--once` 0 after a look, 1 where it went wrong; 2 where it cannot begin."""
    given = _parser().parse_args(arguments)
    try:
        settings = read_settings(given.settings.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError) as problem:
        _say(f"cannot begin: {problem!r}")
        return UNUSABLE
    while True:
        fine = _look(given, settings)
        if given.once:
            return FINE if fine else FAILED
        time.sleep(settings.every_seconds)


def _look(given: argparse.Namespace, settings: Settings) -> bool:
    """What goes wrong is said, and tried again in the next look."""
    try:
        token = (given.account / "token").read_text(encoding="utf-8").strip()
        with closing(Server(given.server, token, str(given.account / "ca.crt"))) as server:
            look(server, settings, _say)
    except (OSError, Refused, Unreachable, KeyError, TypeError, ValueError) as problem:
        _say(f"left alone: {problem!r}")
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    host, port = (
        os.environ.get(f"KUBERNETES_SERVICE_{name}", default)
        for name, default in (("HOST", "kubernetes.default.svc"), ("PORT", "443"))
    )
    inside = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    parser = argparse.ArgumentParser(prog="gpuyard_gate", description=__doc__)
    parser.add_argument("--settings", type=Path, required=True, help="what it is told, as JSON")
    parser.add_argument("--server", default=inside, help="default: that of the cluster around it")
    parser.add_argument("--account", type=Path, default=ACCOUNT, help="folder of token and ca.crt")
    parser.add_argument("--once", action="store_true", help="one look, then end")
    return parser


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  the log of the pod
