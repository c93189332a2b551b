"""The command line: path of the settings; for tests also servers and the time."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from gpuyard_idle.cluster import Cluster, in_cluster_config
from gpuyard_idle.run import ReclaimRun
from gpuyard_idle.settings import SettingsError, read_settings
from gpuyard_idle.web import JsonClient, Unreachable

FINE, FAILED, UNUSABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """One run. Returns 0 ok, 1 some objects were skipped because of errors, 2 cannot start."""
    options = _parser().parse_args(arguments)
    try:
        settings = read_settings(options.settings.read_text(encoding="utf-8"))
        server = _server(options.server, options.token_file, options.authority)
        prometheus = JsonClient(settings.prometheus)
    except (OSError, SettingsError, Unreachable) as problem:
        print(f"cannot start: {problem}", file=sys.stderr)  # noqa: T201  a program's own voice
        return UNUSABLE
    with closing(server), closing(prometheus):
        summary = ReclaimRun(
            settings, Cluster(server), prometheus, options.now, _say
        ).run_all_teams()
    for unhandled in summary.problems:
        _say(f"skipped: {unhandled}")
    _say(json.dumps(summary.line()))
    return FAILED if summary.problems else FINE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpuyard_idle", description=__doc__)
    parser.add_argument("--settings", type=Path, required=True, help="the settings, as JSON")
    parser.add_argument("--server", help="API server; by default that of the pod's cluster")
    parser.add_argument("--token-file", type=Path, help="with --server: the bearer token")
    parser.add_argument("--authority", help="with --server: file of its certificate authority")
    parser.add_argument(
        "--now",
        type=_moment,
        default=datetime.now(UTC),
        help="current time, for example 2026-11-21T12:00:00Z; by default the clock",
    )
    return parser


def _server(url: str | None, token_file: Path | None, authority: str | None) -> JsonClient:
    if url is None:
        host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
        if not host:
            raise Unreachable("not in a cluster: --server is required")
        return in_cluster_config(host, os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
    token = token_file.read_text(encoding="utf-8").strip() if token_file else ""
    return JsonClient(url, token, authority)


def _moment(text: str) -> datetime:
    result = datetime.fromisoformat(text)
    return result if result.tzinfo else result.replace(tzinfo=UTC)


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  the log of the pod
