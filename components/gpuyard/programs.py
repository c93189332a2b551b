"""Runs read-only commands of the clouds' CLIs with the user's own credentials.

Each has a time limit, and some run in parallel. Output goes into files, so that a credential plugin that
outlives a command does not block.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from gpuyard.preflight.probes import CommandResult, Probe, ProbeAnswer, parse_answer

SECONDS = 60.0
"""Time limit of one command, including authentication."""
AT_ONCE = 4
"""Maximum parallel commands; the clouds throttle more."""
_QUIET = {"AWS_PAGER": "", "CLOUDSDK_CORE_DISABLE_PROMPTS": "1"}


def run_commands(questions: Sequence[Probe]) -> dict[str, ProbeAnswer]:
    """Run all commands and wait for each."""
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
            return CommandResult(failed=f"{question.program} is not installed")
        except (OSError, ValueError) as problem:
            return CommandResult(failed=f"{question.program} cannot be run ({problem})")
        out.seek(0)
        err.seek(0)
        output, complained = (each.read().decode(errors="replace") for each in (out, err))
        return CommandResult(done.returncode, output, complained)
