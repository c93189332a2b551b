"""Queries of a provider's cluster that never block a deployment."""

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpuyard.kubectl import context_option, parse_json_object, run_kubectl, run_mutating_kubectl


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
        return parse_json_object(
            await self.run("get", *what, "-o", "json", "--show-managed-fields")
        )

    async def names(self, *what: str) -> list[str] | None:
        """The objects as `kind/name`, without their content, which may be secret."""
        text = await self.run("get", *what, "-o", "name")
        return None if text is None else text.split()

    async def run(self, *what: str) -> str | None:
        """Output of a read-only command; None if it failed."""
        reached, config = await self._reached()
        if not reached:
            return None
        return await asyncio.to_thread(run_kubectl, config, self.context, *what)

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

    async def _reached(self) -> tuple[bool, str | None]:
        """Whether the cluster exists, and its kubeconfig, None for the ambient one."""
        # The future contains a secret's plain value.
        config = await pulumi.Output.from_input(self.kubeconfig).future()
        # before the cluster exists, the ambient one is another cluster
        return config is not None or self.kubeconfig is None, config

    def command(self, *what: str) -> str:
        """The command for the user, who has the kubeconfig."""
        return " ".join(("kubectl", *context_option(self.context), *what))


async def merge_patch(
    kubectl: Kubectl, kind: str, name: str, namespace: str, change: Mapping[str, Any]
) -> str:
    """Patch an object; returns the error, or ""."""
    where = (kind, name, *(["-n", namespace] if namespace else []))
    return await kubectl.run_mutating("patch", *where, "--type=merge", "-p", json.dumps(change))


async def last_message(kubectl: Kubectl, app: str, node: str) -> str:
    """The last log lines of an agent's pod on the node; "" if it has none or they cannot be read."""
    where = ("-A", "-l", f"app={app}", "--field-selector", f"spec.nodeName={node}")
    for pod in (await kubectl.get("pods", *where) or {}).get("items") or []:
        meta = pod["metadata"]
        if log_text := await kubectl.run("logs", meta["name"], "-n", meta["namespace"], "--tail=3"):
            return " ".join(log_text.split())
    return ""


async def event_messages(kubectl: Kubectl, node: str, reason: str) -> list[str]:
    """Messages of a node's events with this reason, the latest last."""
    fields = f"involvedObject.name={node},reason={reason}"
    result = await kubectl.get("events", "-A", "--field-selector", fields) or {}
    events = sorted(result.get("items") or [], key=lambda one: str(one.get("lastTimestamp")))
    return [str(each["message"]) for each in events]
