"""Queries a cluster with the user's kubectl, which supports every kind of authentication.

A query has a time limit, changes nothing, and returns None on any failure: no kubectl, no access, no answer
in time. `patch_object` is the only function that changes something.
"""

import json
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 45.0
"""Time limit of a query; includes authentication, and allows for a busy server or machine."""


def run_kubectl(config: str | None, context: str | None, *what: str) -> str | None:
    """The output of a read-only command; None if it fails.

    `config` is the text of a kubeconfig, its path, or None for the default one.
    """
    code, text = _ran(config, context, what)
    return text if code == 0 else None


def run_mutating_kubectl(config: str | None, context: str | None, *what: str) -> str:
    """Run a command that changes something; returns the error, empty on success."""
    code, text = _ran(config, context, what, errors=True)
    return "" if code == 0 else text.strip() or "kubectl could not be run"


def _ran(
    config: str | None, context: str | None, what: Sequence[str], *, errors: bool = False
) -> tuple[int | None, str]:
    """The exit code, None if it did not run to its end, and the output."""
    none = subprocess.DEVNULL
    try:
        # Into a file: a credential plugin that outlives kubectl would hold a pipe open.
        with _file(config) as chosen, tempfile.TemporaryFile() as out:
            command = ["kubectl", *chosen, *context_option(context), "--request-timeout=30s", *what]
            err = out if errors else none
            done = subprocess.run(  # noqa: S603  no shell; names of objects as the spec allows them
                command, stdin=none, stdout=out, stderr=err, timeout=SECONDS, check=False
            )
            out.seek(0)
            return done.returncode, out.read().decode()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None, ""


def parse_json_object(text: str | None) -> dict[str, Any] | None:
    """The output parsed as a JSON object; None if it is not one."""
    try:
        result = json.loads(text or "")
    except ValueError:
        return None
    return result if isinstance(result, dict) else None


def context_option(context: str | None) -> tuple[str, ...]:
    """The option that selects a context of the kubeconfig."""
    return ("--context", context) if context else ()


@contextmanager
def _file(config: str | None) -> Generator[tuple[str, ...]]:
    """The option that names the kubeconfig; its text goes to a file that only this user can read."""
    if config is None:
        yield ()
    elif "\n" not in config and not config.lstrip().startswith("{"):
        yield (f"--kubeconfig={Path(config).expanduser()}",)
    else:
        with tempfile.NamedTemporaryFile("w", prefix="gpuyard-", encoding="utf-8") as file:
            file.write(config)
            file.flush()
            yield (f"--kubeconfig={file.name}",)
