"""Kueue's own configuration: what counts as quota, and who shares fairly."""

import pytest
import yaml

from gpuyard.plan import plan_or_raise
from gpuyard.render.kueue.configuration import kueue_configuration
from gpuyard.render.kueue.queueing import queueing_objects
from gpuyard.spec.read import platform_spec
from kit.stacks import platform


def configuration(**overrides):
    return kueue_configuration(plan_or_raise(platform_spec(platform(**overrides))))


def config_maps(cloud, **more):
    spec = platform_spec(platform(cloud=cloud, **more))
    return [o for o in queueing_objects(plan_or_raise(spec)) if o["kind"] == "ConfigMap"]


@pytest.mark.parametrize("fair", [True, False])
def test_fair_sharing_is_on_exactly_when_the_stack_says_so(fair):
    made = configuration(queueing={"fair_sharing": fair})
    assert ("fairSharing" in made) is fair


def test_host_resources_carry_no_quota_and_gpus_always_do():
    prefixes = configuration()["resources"]["excludeResourcePrefixes"]
    assert {"cpu", "memory", "ephemeral-storage", "pods", "hugepages-"} < set(prefixes)
    adapters = (
        "vpc.amazonaws.com/efa",
        "rdma/rdma_shared_device_a",
        "networking.gke.io.networks/rdma-0",
    )
    assert all(name.startswith(tuple(prefixes)) for name in adapters)
    counted = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb")
    assert not any(name.startswith(tuple(prefixes)) for name in counted)


def test_what_is_done_of_a_job_keeps_its_quota_until_the_whole_is_done():
    assert configuration()["featureGates"] == {"ReclaimablePods": False}


def test_what_is_undeclared_stays_blocked():
    assert "quotaCheckStrategy" not in configuration()["resources"]


def test_jobs_without_a_queue_are_left_alone():
    made = configuration()
    assert made["manageJobsWithoutQueueName"] is False
    assert made["waitForPodsReady"]["blockAdmission"] is False


def test_a_simulated_platform_brings_the_configuration_and_a_cloud_leaves_it_to_the_chart():
    (made,) = config_maps("simulated")
    assert made["metadata"]["namespace"] == "kueue-system"
    text = made["data"]["controller_manager_config.yaml"]
    assert yaml.safe_load(text)["kind"] == "Configuration"
    assert config_maps("none") == []
