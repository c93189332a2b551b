"""Graphs of platforms on GKE, of which a test says only what it is about."""

from gpuyard.render.gcp.graph import gcp_graph
from kit.stacks import plan_of, platform

POOL = "gcp:container/nodePool:NodePool"


def gpu_pool(name="train", **rest):
    """Up to four machines with eight H100 each, in one zone."""
    return {
        "name": name,
        "machine": "a3-megagpu-8g",
        "nodes": "0..4",
        "zones": ["us-central1-a"],
        **rest,
    }


def plan_on_gcp(*pools, **rest):
    return plan_of(platform(pools or [gpu_pool()], cloud="gcp", **rest))


def graph_of(*pools, **rest):
    return gcp_graph(plan_on_gcp(*pools, **rest))


def inputs_of(graph, name):
    return graph.resource(name).inputs
