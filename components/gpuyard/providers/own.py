"""A cluster of your own, with nodes that exist already: the defaults of the interface."""

from gpuyard.provider import Provider, lazy


class Own(Provider):
    """Nodes that an inventory describes."""

    node_agents = lazy("render.gpu_operator.adapters:adapter_objects")


PROVIDER = Own()
