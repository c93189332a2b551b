"""A look at a cluster with the user's kubectl: whatever it signs in by, kubectl can.

A look has a limit, changes nothing, and gives None when it fails in any way: no kubectl, no way in, no answer
in time. `change` is for the one thing that a deployment does with it beside looking.
"""

import json
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 45.0
"""A look at most: a sign-in takes some of it, and so does a server or a machine with much to do."""


def get_objects(config: str | None, context: str | None, *what: str) -> str | None:
    """`kubectl get`, with the text of a kubeconfig, its path, or for None the ambient one."""
    return run_kubectl(config, context, "get", *what)


def run_kubectl(config: str | None, context: str | None, *what: str) -> str | None:
    """What any command says that only looks."""
    code, text = _ran(config, context, what)
    return text if code == 0 else None


def patch_object(config: str | None, context: str | None, *what: str) -> str:
    """A command that changes something: what was said against it, empty when it is done."""
    code, text = _ran(config, context, what, errors=True)
    return "" if code == 0 else text.strip() or "kubectl could not be run"


def _ran(
    config: str | None, context: str | None, what: Sequence[str], *, errors: bool = False
) -> tuple[int | None, str]:
    """Its exit code, None where it did not come so far, and what it wrote."""
    none = subprocess.DEVNULL
    try:
        # Into a file: a sign-in program that outlives kubectl would hold a pipe open.
        with _file(config) as chosen, tempfile.TemporaryFile() as out:
            command = ["kubectl", *chosen, *in_context(context), "--request-timeout=30s", *what]
            err = out if errors else none
            done = subprocess.run(  # noqa: S603  no shell; names of objects as the spec allows them
                command, stdin=none, stdout=out, stderr=err, timeout=SECONDS, check=False
            )
            out.seek(0)
            return done.returncode, out.read().decode()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None, ""


def as_object(text: str | None) -> dict[str, Any] | None:
    """What a look at JSON gave; None when it is none."""
    try:
        result = json.loads(text or "")
    except ValueError:
        return None
    return result if isinstance(result, dict) else None


def in_context(context: str | None) -> tuple[str, ...]:
    """The option that picks a context of the kubeconfig."""
    return ("--context", context) if context else ()


@contextmanager
def _file(config: str | None) -> Generator[tuple[str, ...]]:
    """The option that names the kubeconfig; the text of one goes to a file that only we can read."""
    if config is None:
        yield ()
    elif "\n" not in config and not config.lstrip().startswith("{"):
        yield (f"--kubeconfig={Path(config).expanduser()}",)
    else:
        with tempfile.NamedTemporaryFile("w", prefix="gpuyard-", encoding="utf-8") as file:
            file.write(config)
            file.flush()
            yield (f"--kubeconfig={file.name}",)
