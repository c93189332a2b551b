"""`python -m gpuyard_agents.idle --settings FILE`: one run over all teams."""

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime

from gpuyard_agents.agent import FAILED, FINE, UNUSABLE, connect, load_settings, parser, say
from gpuyard_agents.client import JsonClient, Unreachable
from gpuyard_agents.idle.run import ReclaimRun
from gpuyard_agents.idle.settings import Settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 ok, 1 some objects were skipped because of errors, 2 cannot start."""
    options_parser = parser("gpuyard_agents.idle")
    options_parser.add_argument(
        "--now",
        type=_moment,
        default=datetime.now(UTC),
        help="current time, for example 2026-11-21T12:00:00Z; by default the clock",
    )
    options = options_parser.parse_args(arguments)
    settings = load_settings(Settings, options.settings)
    if settings is None:
        return UNUSABLE
    try:
        server, prometheus = connect(options), JsonClient(settings.prometheus)
    except (OSError, Unreachable) as problem:
        say(f"cannot start: {problem}")
        return UNUSABLE
    with closing(server), closing(prometheus):
        summary = ReclaimRun(settings, server, prometheus, options.now, say).run_all_teams()
    for unhandled in summary.problems:
        say(f"skipped: {unhandled}")
    say(json.dumps(summary.line()))
    return FAILED if summary.problems else FINE


def _moment(text: str) -> datetime:
    result = datetime.fromisoformat(text)
    return result if result.tzinfo else result.replace(tzinfo=UTC)


if __name__ == "__main__":
    sys.exit(main())
