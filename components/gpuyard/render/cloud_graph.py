"""The graph of a plan's cloud."""

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.spec.platform import Cloud


def graph_of(plan: PlatformPlan) -> CloudGraph | None:
    """None if the platform has no cloud. The modules of one cloud are not loaded for the other."""
    if plan.cloud is Cloud.AWS:
        from gpuyard.render.aws.graph import aws_graph

        return aws_graph(plan)
    if plan.cloud is Cloud.GCP:
        from gpuyard.render.gcp.graph import gcp_graph

        return gcp_graph(plan)
    return None
