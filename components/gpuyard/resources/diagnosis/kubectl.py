"""A look at the cluster of a provider, with kubectl: whatever it signs in by, kubectl can.

Only for what explains a failure. So a look has a limit, changes nothing, and gives None when it fails in any
way: no kubectl, no way in, no answer in time.
"""

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi

SECONDS = 20.0
"""A look at most; a failed deployment is not made to wait longer for its explanation."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """How a provider reaches its cluster: a kubeconfig (text or path), else the ambient one; its context."""

    kubeconfig: pulumi.Input[str] | None = None
    context: str | None = None

    async def get(self, *what: str) -> dict[str, Any] | None:
        """`kubectl get`, as JSON; None when nobody could look."""
        # The future gives a secret's plain value; it goes to a file of ours that only we can read.
        config = await pulumi.Output.from_input(self.kubeconfig).future()
        return await asyncio.to_thread(self._look, config, what)

    def command(self, *what: str) -> str:
        """The same for a person, who has the kubeconfig."""
        return " ".join(("kubectl", *self._in_context(), *what))

    def _in_context(self) -> tuple[str, ...]:
        return ("--context", self.context) if self.context else ()

    def _look(self, config: str | None, what: tuple[str, ...]) -> dict[str, Any] | None:
        asked = ("--request-timeout=10s", "get", *what, "-o", "json", "--show-managed-fields")
        try:
            # Into a file: a sign-in program that outlives kubectl would hold a pipe open.
            with _file(config) as chosen, tempfile.TemporaryFile() as out:
                command = ["kubectl", *chosen, *self._in_context(), *asked]
                none = subprocess.DEVNULL
                subprocess.run(  # noqa: S603  no shell; names of objects as the spec allows them
                    command, stdin=none, stdout=out, stderr=none, timeout=SECONDS, check=True
                )
                out.seek(0)
                found = json.load(out)
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return found if isinstance(found, dict) else None


@contextmanager
def _file(config: str | None) -> Generator[tuple[str, ...]]:
    """The option that names the kubeconfig; a provider takes the text of one, or its path."""
    if config is None:
        yield ()
    elif "\n" not in config and not config.lstrip().startswith("{"):
        yield (f"--kubeconfig={Path(config).expanduser()}",)
    else:
        with tempfile.NamedTemporaryFile("w", prefix="gpuyard-", encoding="utf-8") as file:
            file.write(config)
            file.flush()
            yield (f"--kubeconfig={file.name}",)
