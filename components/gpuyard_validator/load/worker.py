"""One GPU's process: it does its work, reports each kind, and ends with its parent.

python -m gpuyard_validator.load.worker GPU WORK
"""

import json
import os
import sys
from collections.abc import Callable
from typing import TextIO

from gpuyard_validator.load.cuda import CardError, CudaCard, NoLibrary
from gpuyard_validator.load.record import HARD, LoadPlan, Task
from gpuyard_validator.load.work import measure_rates
from gpuyard_validator.nccl.rank import die_with_parent
from gpuyard_validator.values import decode, encode

WORDS = 400


def serve(open_card: Callable[[], CudaCard], todo: LoadPlan, replies: TextIO) -> int:
    """Each kind of work; `begin` is reported before any call that can hang."""

    def say(**message: object) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    try:
        card = open_card()
        say(uuid=card.uuid())
        for task in map(Task, todo.tasks):
            say(begin=task)
            _work(card, task, todo, say)
        say(versions=list(card.versions()), end=True)
    except NoLibrary as problem:
        say(missing=str(problem)[:WORDS])
    except CardError as problem:
        say(failed=str(problem)[:WORDS], code=problem.code)
    except Exception as problem:  # noqa: BLE001  any error is reported to the parent
        say(failed=f"{type(problem).__name__}: {problem}"[:WORDS], code=0)
    else:
        return 0
    return 1


def _work(card: CudaCard, task: Task, todo: LoadPlan, say: Callable[..., None]) -> None:
    """Work whose library is missing is reported; other work still runs."""
    try:
        for rate in measure_rates(card, task, todo):
            say(rate=encode(rate))
    except NoLibrary as problem:
        if task not in HARD:
            raise
        say(lacks=str(problem)[:WORDS])


def main() -> int:
    """Replies go to the original stdout; output of libraries goes to stderr."""
    die_with_parent()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    todo: LoadPlan = decode(LoadPlan, json.loads(sys.argv[2]))
    return serve(lambda: CudaCard(int(sys.argv[1])), todo, replies)


if __name__ == "__main__":
    sys.exit(main())
