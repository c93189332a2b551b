"""One rank: a process with one GPU. It does what its parent asks, a line each, and dies with it.

python -m gpuyard_validator.nccl.rank GPU
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, TextIO

from gpuyard_validator.nccl.arithmetic import Operation
from gpuyard_validator.nccl.collective import Collective, NcclCollective

_PARENT_DEATH = 1
"""prctl's PR_SET_PDEATHSIG: a parent that is killed takes its ranks along, whatever they wait for."""


def serve(open_collective: Callable[[], Collective], tasks: TextIO, replies: TextIO) -> int:
    """Do each task; `entered` is said before what can hang, so that it is known who did not get there."""

    def say(**message: object) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    try:
        collective = open_collective()
        say(version=collective.version())
        for line in tasks:
            task = json.loads(line)
            say(entered=task["do"])
            say(done=task["do"], **_done(collective, task))
    except Exception as problem:  # noqa: BLE001  its parent is told, whatever it was
        say(failed=f"{type(problem).__name__}: {problem}"[:400])
        return 1
    return 0


def _done(collective: Collective, task: dict[str, Any]) -> dict[str, Any]:
    match task["do"]:
        case "id":
            return {"id": collective.unique_id().hex()}
        case "join":
            collective.join(task["ranks"], task["rank"], bytes.fromhex(task["id"]))
            return {}
        case "run":
            ran = collective.run(Operation(task["operation"]), task["size"], task["rounds"])
            return {"seconds": ran.seconds, "wrong": ran.wrong}
        case "leave":
            collective.leave()
            return {}
        case other:
            raise ValueError(f"no such task: {other!r}")


def run(open_collective: Callable[[], Collective]) -> int:
    """The process: replies go where stdout was, and what libraries print goes to stderr."""
    die_with_parent()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return serve(open_collective, sys.stdin, replies)


def die_with_parent() -> None:
    """Linux alone has it; elsewhere the end of stdin is all there is."""
    try:
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    except (OSError, AttributeError):
        return


def main() -> int:
    """NCCL on the GPU that the parent names."""
    return run(lambda: NcclCollective(int(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
