"""Queries of a provider's cluster that never block a deployment."""

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpuyard.kubectl import (
    context_option,
    parse_json_object,
    run_kubectl,
    run_mutating_kubectl,
)


def label_selector(labels: Mapping[str, str], *more: str) -> str:
    """A selector of nodes with all these labels and the conditions in `more`."""
    return ",".join((*(f"{key}={value}" for key, value in sorted(labels.items())), *more))


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Access to a provider's cluster: a kubeconfig (text or path), otherwise the ambient one, and its context."""

    kubeconfig: pulumi.Input[str] | None = None
    context: str | None = None

    async def get(self, *what: str) -> dict[str, Any] | None:
        """`kubectl get` as JSON; None if the query failed."""
        return parse_json_object(await self._query(*what, "-o", "json", "--show-managed-fields"))

    async def names(self, *what: str) -> list[str] | None:
        """The objects as `kind/name`, without their content, which may be secret."""
        text = await self._query(*what, "-o", "name")
        return None if text is None else text.split()

    async def run(self, *what: str) -> str | None:
        """Output of a read-only command; None if it failed."""
        reached, config = await self._reached()
        return (
            await asyncio.to_thread(run_kubectl, config, self.context, *what) if reached else None
        )

    async def run_mutating(self, *what: str) -> str:
        """Run a command that changes something; returns its error, or ""."""
        reached, config = await self._reached()
        if not reached:
            return "the cluster does not exist yet"
        return await asyncio.to_thread(run_mutating_kubectl, config, self.context, *what)

    async def apply(self, obj: Mapping[str, Any], manager: str) -> str:
        """Apply exactly these fields as this field manager; returns the error, or ""."""
        # without stdin: a plugin that prompts for a password would read the object from it
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(obj, file)
            file.flush()
            how = ("--server-side", "--force-conflicts", f"--field-manager={manager}")
            return await self.run_mutating("apply", *how, "-f", file.name)

    async def _query(self, *what: str) -> str | None:
        reached, config = await self._reached()
        return (
            await asyncio.to_thread(run_kubectl, config, self.context, "get", *what)
            if reached
            else None
        )

    async def _reached(self) -> tuple[bool, str | None]:
        """Whether the cluster exists, and its kubeconfig, None for the ambient one."""
        # The future contains a secret's plain value.
        config = await pulumi.Output.from_input(self.kubeconfig).future()
        # before the cluster exists, the ambient one is another cluster
        return config is not None or self.kubeconfig is None, config

    def command(self, *what: str) -> str:
        """The command for the user, who has the kubeconfig."""
        return " ".join(("kubectl", *context_option(self.context), *what))
