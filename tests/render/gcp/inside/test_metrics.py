"""Objects of the managed service for Prometheus exist with the service only."""

from kit.stacks import plan_of, platform, pool


def test_without_the_service_an_operator_reads_the_monitors():
    pools = [pool(machine="a2-highgpu-8g", nodes=4)]
    raw = platform(
        pools, cloud="gcp", observability={"prometheus": "existing", "labels": {"release": "x"}}
    )
    plan = plan_of(raw)
    assert plan.provider.metric_objects(plan, plan.observability) is None
    assert plan.provider.pod_monitor(plan, plan.observability, None, "chat") is None
