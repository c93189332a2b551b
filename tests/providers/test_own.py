"""The defaults of the interface: a cloud that overrides nothing adds nothing to a cluster."""

from gpuyard.provider import Provider
from kit.stacks import plan_of, platform

PLAN = plan_of(platform())
POOL = PLAN.pools[0]


def test_without_overrides_no_cloud_is_asked_and_nothing_is_created():
    cloud = Provider()
    assert cloud.graph(PLAN) is None
    assert cloud.access(PLAN) is None
    assert cloud.permissions(PLAN, "") is None
    assert cloud.nodes_by_option(POOL) == ("", [])
    assert not any(
        (
            cloud.node_agents(PLAN),
            cloud.autoscaler_objects(PLAN),
            cloud.autoscaler_release(PLAN),
            cloud.karpenter_releases(PLAN),
            cloud.karpenter_nodes(PLAN),
            cloud.network_interfaces(POOL.machine),
            cloud.reservation_findings(PLAN, None, {}),
            cloud.offer_findings(PLAN, {}),
            cloud.cluster_kind,
        )
    )
