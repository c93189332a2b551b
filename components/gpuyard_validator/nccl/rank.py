"""One rank: a process with one GPU. It follows its parent's commands, one line each, and ends with it.

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
from gpuyard_validator.nccl.collective import NcclCollective

_PARENT_DEATH = 1
"""prctl's PR_SET_PDEATHSIG: when the parent is killed, its ranks are killed too, even while they wait."""


def serve(open_collective: Callable[[], NcclCollective], tasks: TextIO, replies: TextIO) -> int:
    """Do each task; `entered` is reported before any call that can hang, to identify ranks that did not start."""

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
    except Exception as problem:  # noqa: BLE001  any error is reported to the parent
        say(failed=f"{type(problem).__name__}: {problem}"[:400])
        return 1
    return 0


def _done(collective: NcclCollective, task: dict[str, Any]) -> dict[str, Any]:
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
            raise ValueError(f"unknown task: {other!r}")


def run(open_collective: Callable[[], NcclCollective]) -> int:
    """The process: replies go to the original stdout; output of libraries goes to stderr."""
    die_with_parent()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return serve(open_collective, sys.stdin, replies)


def die_with_parent() -> None:
    """Linux only; elsewhere only the end of stdin ends the rank."""
    try:
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    except (OSError, AttributeError):
        return


def main() -> int:
    """NCCL on the GPU that the parent assigns."""
    return run(lambda: NcclCollective(int(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
