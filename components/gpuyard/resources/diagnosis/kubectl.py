"""A look at the cluster of a provider, beside a deployment that it does not hold up."""

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpuyard.kubectl import as_object, get_objects, in_context, patch_object, run_kubectl


def label_selector(labels: Mapping[str, str], *more: str) -> str:
    """A selector of nodes that have all these labels, and what `more` says."""
    return ",".join((*(f"{key}={value}" for key, value in sorted(labels.items())), *more))


@dataclass(frozen=True, slots=True)
class Kubectl:
    """How a provider reaches its cluster: a kubeconfig (text or path), else the ambient one; its context."""

    kubeconfig: pulumi.Input[str] | None = None
    context: str | None = None

    async def get(self, *what: str) -> dict[str, Any] | None:
        """`kubectl get`, as JSON; None when nobody could look."""
        return as_object(await self._query(*what, "-o", "json", "--show-managed-fields"))

    async def names(self, *what: str) -> list[str] | None:
        """The same as `kind/name`, without what is in the objects: that of a secret is nobody's business."""
        text = await self._query(*what, "-o", "name")
        return None if text is None else text.split()

    async def run(self, *what: str) -> str | None:
        """What a command says that only looks; None when nobody could look."""
        reached, config = await self._reached()
        return (
            await asyncio.to_thread(run_kubectl, config, self.context, *what) if reached else None
        )

    async def change(self, *what: str) -> str:
        """Carry out a command that changes something: what was said against it, empty when it is done."""
        reached, config = await self._reached()
        if not reached:
            return "the cluster is not made yet"
        return await asyncio.to_thread(patch_object, config, self.context, *what)

    async def apply(self, obj: Mapping[str, Any], manager: str) -> str:
        """Make these fields this manager's, and none but these: what was said against it."""
        # a program that asks for a password would read an object that comes by the standard input
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(obj, file)
            file.flush()
            how = ("--server-side", "--force-conflicts", f"--field-manager={manager}")
            return await self.change("apply", *how, "-f", file.name)

    async def _query(self, *what: str) -> str | None:
        reached, config = await self._reached()
        return (
            await asyncio.to_thread(get_objects, config, self.context, *what) if reached else None
        )

    async def _reached(self) -> tuple[bool, str | None]:
        """Whether there is a cluster to ask, and its kubeconfig, None for the ambient one."""
        # The future gives a secret's plain value.
        config = await pulumi.Output.from_input(self.kubeconfig).future()
        # where the cluster is not made yet, the ambient one is another
        return config is not None or self.kubeconfig is None, config

    def command(self, *what: str) -> str:
        """The same for a person, who has the kubeconfig."""
        return " ".join(("kubectl", *in_context(self.context), *what))
