"""GPUs that pods claim: what queues count, what nodes carry, and who else must stay away."""

from fractions import Fraction

import pytest

from gpuyard.plan.records import AdvertisedResource, DraPlan
from gpuyard.plan.sharing.dra import quota_key
from gpuyard.render.gpu_operator import plugin_config
from gpuyard.render.kueue.configuration import kueue_configuration
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.pins import PINS
from gpuyard_core.manifests.pods import Taint
from kit.stacks import UNCLAIMED, findings, plan_of, platform, pool, shape, team

CLAIM = "gpuyard.dev/gpu-claim"
THEIRS = {"install": False}
CHANNEL = "compute-domain-default-channel.nvidia.com"


def claims(name="train", **rest):
    return pool(name, sharing="dra", **rest)


def test_a_pool_of_claims_is_counted_by_whole_gpus():
    found = plan_of(platform([claims()])).pools[0]
    assert found.advertised == (AdvertisedResource(CLAIM, 8, "", Fraction(1)),)
    assert (found.sharing, found.replicas, found.layouts) == ("dra", 1, ())
    assert found.taints == (Taint("nvidia.com/gpu", "present"),)
    assert found.dra == DraPlan(
        driver=PINS["dra-driver"].version,
        device_classes=("gpu.nvidia.com",),
        quota_resource=CLAIM,
        compute_domains=False,
    )


def test_beside_another_operator_the_device_plugin_stays_off_these_nodes_alone():
    plan = plan_of(platform([claims(), pool("b")], gpu_operator=THEIRS))
    key = "nvidia.com/gpu.deploy.device-plugin"
    assert [p.labels.get(key) for p in plan.pools] == ["false", None]
    assert plan.pools[0].labels["nvidia.com/gpu.deploy.mig-manager"] == "false"
    assert plan.pools[1].dra is None
    assert "sharing" not in plugin_config(plan.pools[0])


def test_a_bare_pool_name_guarantees_gpus_that_are_claimed():
    plan = plan_of(platform([claims()], [team(guarantee={"train": 12}, borrow={"train": 4})]))
    quota = plan.teams[0].quota("train", CLAIM)
    assert (quota.nominal, quota.borrow) == (12, 4)
    assert plan.teams[0].resource_groups[0].resources == (CLAIM,)
    assert plan.queueing.unassigned[0].nominal == 32 - 12


def test_a_namespace_counts_devices_of_the_class():
    plan = plan_of(
        platform(
            [claims(), pool("b")], [team(guarantee={"train": 12, "b": 1})], gpu_operator=THEIRS
        )
    )
    assert plan.teams[0].hard == UNCLAIMED | {
        "gpu.nvidia.com.deviceclass.resource.k8s.io/devices": 5 * 12,
        "requests.nvidia.com/gpu": 1 + 32,
    }
    assert quota_key("nvidia.com/mig-1g.5gb") == "requests.nvidia.com/mig-1g.5gb"


def test_kueue_maps_the_device_class_to_what_queues_count():
    resources = kueue_configuration(plan_of(platform([claims()])))["resources"]
    assert resources["deviceClassMappings"] == [
        {"name": CLAIM, "deviceClassNames": ["gpu.nvidia.com"]}
    ]
    assert "deviceClassMappings" not in kueue_configuration(plan_of(platform()))["resources"]


def test_a_shape_of_whole_gpus_claims_them():
    found = plan_of(platform([claims()], shapes=[shape(gpus_per_node=8, nodes=2)])).shapes[0]
    assert (found.resource, found.per_node) == (CLAIM, 8)


def test_isolation_by_node_keeps_teams_apart_whatever_hands_out_the_gpus():
    teams = [team("a", guarantee={"train": 8}, isolation="node"), team("b", guarantee={"train": 8})]
    (found,) = [f for f in findings(platform([claims()], teams)) if f.id == "tenancy.isolation"]
    assert "(claimed GPUs of one node)" in found.problem
    teams[0]["isolation"] = "slice"
    assert findings(platform([claims()], teams)) == []


def test_no_tag_promises_a_resource_that_no_node_advertises():
    one = claims(nodes="1..4", scaling="autoscaler")
    scale = plan_of(platform([one], cloud="aws")).pools[0].autoscaler_hints
    assert scale.undiscovered_resources == (CLAIM,)
    assert [key for key in scale.tags if "/resources/" in key] == []


@pytest.mark.parametrize("name", sorted(m.name for m in MACHINES.values() if m.is_rack))
def test_racks_claim_channels_too(name):
    found = plan_of(platform([claims(machine=name)])).pools[0]
    assert found.dra.compute_domains
    assert found.dra.device_classes == ("gpu.nvidia.com", CHANNEL)
    assert found.machine.gpu.in_rack


def test_a_kubernetes_that_nobody_supports_is_blamed_once():
    assert [f.id for f in findings(platform([claims()], kubernetes="1.20"))] == [
        "kubernetes.unsupported",
    ]


def test_an_image_with_a_device_plugin_of_its_own_is_not_for_claims():
    found = findings(platform([claims(image="bottlerocket-nvidia")], cloud="aws"))
    (refused,) = [f for f in found if f.severity.value == "error"]
    assert refused.id == "image.sharing"
