"""A third cloud of one screen: two machines, one zone, a network, a cluster and a node group per pool."""

from dataclasses import replace
from types import ModuleType
from typing import ClassVar

import pulumi
from pulumi.runtime import rpc

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.provider import Provider
from gpuyard.render.cloud.graph import CloudGraph, CloudResource
from gpuyard.render.cloud.kubeconfig import ClusterAccess
from gpuyard_core.catalogue.cluster.networks import GKE_RANGES
from gpuyard_core.catalogue.machines import MACHINES, Capacity, Price
from gpuyard_core.catalogue.software.images import IMAGES
from gpuyard_core.catalogue.software.providers import PROVIDERS

SOLD = frozenset({Capacity.ON_DEMAND})


def machine(name, like, usd):
    """A machine of the toy cloud: the hardware of a known one, at a price of its own."""
    known = MACHINES[like]
    price = Price(usd, usd, known.source)
    return replace(
        known, name=name, cloud="toy", region=None, on_demand=price, spot=None, sold=SOLD
    )


CATALOGUE = (
    (MACHINES, machine("toy-8xh100", "a3-megagpu-8g", 20.0)),
    (MACHINES, machine("toy-4cpu", "e2-standard-4", 0.1)),
    (IMAGES, replace(IMAGES["own"], name="toy-linux", cloud="toy")),
    (PROVIDERS, replace(PROVIDERS["aws"], name="toy", version="1.0.0")),
)
"""What the catalogue has about it, by name: two machines, a node image, and a Pulumi provider."""
RANGES = {"cidr": GKE_RANGES["cidr"]}


class _Resource(pulumi.CustomResource):
    """A resource as a generated SDK has it: a class of its own, with its inputs as keywords."""

    def __init__(self, resource_name, opts=None, **inputs):
        kind = type(self).__name__
        outputs = dict.fromkeys(("address", "authority")) if kind == "Cluster" else {}
        super().__init__(f"toy:index:{kind}", resource_name, {**outputs, **inputs}, opts)


class _Module(rpc.ResourceModule):
    """The record by which a generated SDK registers its classes."""

    mod_info: ClassVar = {
        "fqn": "pulumi_toy",
        "classes": {f"toy:index:{kind}": kind for kind in ("Network", "Cluster", "NodePool")},
    }

    def version(self):
        return None

    def construct(self, name, typ, urn):
        raise NotImplementedError


def sdk():
    """The SDK of the toy cloud: a module with a class for each kind, registered with Pulumi."""
    module = ModuleType("pulumi_toy")
    for kind in ("Network", "Cluster", "NodePool"):
        each = type(kind, (_Resource,), {"__module__": "pulumi_toy"})
        setattr(module, kind, each)
    if rpc.get_resource_module("toy", "index", "") is None:
        rpc.register_resource_module("toy", "index", _Module())
    return module


class Toy(Provider):
    """One zone, one price list, one network."""

    name = "toy"
    service = "Toy Kubernetes"
    sells_machines = True
    cluster_component = "gpuyard.resources.clusters.cluster:CloudCluster"
    network_ranges = RANGES

    def graph(self, plan):
        network = CloudResource(kind="toy:index:Network", name="network", inputs={"zone": "toy-1"})
        cluster = CloudResource(
            kind="toy:index:Cluster",
            name="cluster",
            inputs={
                "name": plan.name,
                "version": plan.kubernetes,
                "network": network.get("id"),
                "systemNodes": plan.system.nodes.low,
            },
            outputs=("address", "authority"),
        )
        return CloudGraph((network, cluster, *(node_pool(each, cluster) for each in plan.pools)))

    def access(self, plan, profile=None):
        return ClusterAccess(
            endpoint=UnresolvedOutput("cluster.address"),
            authority=UnresolvedOutput("cluster.authority"),
            identity=UnresolvedOutput("cluster.id"),
            run={"command": "toy", "args": ["token"]},
        )


def node_pool(pool, cluster):
    """The nodes of one pool."""
    return CloudResource(
        kind="toy:index:NodePool",
        name=f"{pool.stable_name}-nodes",
        part=pool.stable_name,
        inputs={
            "cluster": cluster.get("id"),
            "machine": pool.machine.name,
            "nodes": pool.nodes.high,
            "labels": dict(pool.node_selector),
        },
    )
