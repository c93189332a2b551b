"""Runs the programs of clouds that a user has, with that user's own sign-in: nothing is changed by them.

Each has a limit, and some run at once. What one writes goes into files, so that a sign-in program which
outlives it holds nothing up.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from gpuyard.preflight.probes import CommandResult, Probe, ProbeAnswer, parse_answer

SECONDS = 60.0
"""For one question; a sign-in takes some of it."""
AT_ONCE = 4
"""More than these, and clouds ask for fewer."""
_QUIET = {"AWS_PAGER": "", "CLOUDSDK_CORE_DISABLE_PROMPTS": "1"}


def run_commands(questions: Sequence[Probe]) -> dict[str, ProbeAnswer]:
    """Put all questions, and wait for each."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ended = list(pool.map(_run, questions))
    return {
        question.name: parse_answer(each) for question, each in zip(questions, ended, strict=True)
    }


def _run(question: Probe) -> CommandResult:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            done = subprocess.run(  # noqa: S603  no shell; each word is one word
                list(question.words),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=SECONDS,
                check=False,
                env={**os.environ, **_QUIET},
            )
        except subprocess.TimeoutExpired:
            return CommandResult(
                failed=f"{question.program} did not answer within {SECONDS:.0f} seconds"
            )
        except FileNotFoundError:
            return CommandResult(failed=f"{question.program} is not installed here")
        except (OSError, ValueError) as problem:
            return CommandResult(failed=f"{question.program} does not run here ({problem})")
        out.seek(0)
        err.seek(0)
        output, complained = (each.read().decode(errors="replace") for each in (out, err))
        return CommandResult(done.returncode, output, complained)
