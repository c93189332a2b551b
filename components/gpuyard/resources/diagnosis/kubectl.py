"""A look at the cluster of a provider, beside a deployment that it does not hold up."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pulumi

from gpuyard.kubectl import as_object, in_context, look


@dataclass(frozen=True, slots=True)
class Kubectl:
    """How a provider reaches its cluster: a kubeconfig (text or path), else the ambient one; its context."""

    kubeconfig: pulumi.Input[str] | None = None
    context: str | None = None

    async def get(self, *what: str) -> dict[str, Any] | None:
        """`kubectl get`, as JSON; None when nobody could look."""
        return as_object(await self._asked(*what, "-o", "json", "--show-managed-fields"))

    async def names(self, *what: str) -> list[str] | None:
        """The same as `kind/name`, without what is in the objects: that of a secret is nobody's business."""
        text = await self._asked(*what, "-o", "name")
        return None if text is None else text.split()

    async def _asked(self, *what: str) -> str | None:
        # The future gives a secret's plain value.
        config = await pulumi.Output.from_input(self.kubeconfig).future()
        return await asyncio.to_thread(look, config, self.context, *what)

    def command(self, *what: str) -> str:
        """The same for a person, who has the kubeconfig."""
        return " ".join(("kubectl", *in_context(self.context), *what))
