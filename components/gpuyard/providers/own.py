"""A cluster of your own, with nodes that exist already: the defaults of the interface."""

from typing import TYPE_CHECKING

from gpuyard.provider import Provider

if TYPE_CHECKING:
    from gpuyard.plan.records import PlatformPlan
    from gpuyard.render.objects import Object


class Own(Provider):
    """Nodes that an inventory describes."""

    # ── rendering ─────────────────────────────────────────────────────────────────────────────────
    def node_agents(self, plan: "PlatformPlan") -> "list[Object]":
        """The device plugin of network adapters."""
        from gpuyard.render.gpu_operator.adapters import adapter_objects

        return adapter_objects(plan)


PROVIDER = Own()
