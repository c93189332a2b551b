"""The driver of claims by its own chart, on GKE: who installs it, with what values, and on which nodes."""

from gpuyard.plan.sharing.dra import (
    installs_dra_driver,
    installs_dra_driver_chart,
    operator_serves_dra_claims,
)
from gpuyard.render.gpu_operator.dra_driver import dra_driver_release
from gpuyard.render.gpu_operator.values import gpu_operator_release
from gpuyard.render.platform import object_groups, releases
from gpuyard.render.supply.images import pulled_images
from gpuyard.render.teams import claim_objects
from gpuyard_core.catalogue.software.digests import digest_of
from kit.every import every
from kit.stacks import plan_of, platform, pool, shape, spec_of, team

MACHINE = {"machine": "a3-highgpu-8g", "zones": ["us-central1-a"]}
RACK = {
    "machine": "a4x-highgpu-4g",
    "nodes": 18,
    "zones": ["us-central1-a"],
    "capacity": [{"reserved": "racks", "nodes": 18}],
}
HOME = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu"
TREE = {
    "nvidiaDriverRoot": None,
    "gpuResourcesEnabledOverride": None,
    "resourceApiVersion": None,
    "image": {"repository": None, "tag": None},
    "resources": {"gpus": {"enabled": None}, "computeDomains": {"enabled": None}},
    "controller": {"priorityClassName": None, "nodeSelector": None, "tolerations": None, "affinity": None},
    "kubeletPlugin": {"priorityClassName": None, "nodeSelector": None, "tolerations": None},
}  # fmt: skip
"""What of its values file we say: the path of each, as read there of v0.4.1 and after v0.5.0."""


def plan(*more, **rest):
    one = {**MACHINE, "sharing": "dra", **rest.pop("one", {})}
    return plan_of(platform([pool(**one), *more], cloud="gcp", **rest))


def fits(values, tree):
    return set(values) <= set(tree) and all(
        inner is None or fits(values[word], inner) for word, inner in tree.items() if word in values
    )


def test_its_values_are_the_charts_and_say_what_gke_needs():
    found = dra_driver_release(plan())
    assert (found.namespace, found.version) == ("gpu-operator", "0.5.0")
    assert fits(found.values, TREE)
    assert found.values["nvidiaDriverRoot"] == "/home/kubernetes/bin/nvidia"
    assert found.values["gpuResourcesEnabledOverride"] is True
    assert found.values["image"] == {
        "repository": HOME,
        "tag": f"v0.5.0@{digest_of(HOME, 'v0.5.0')}",
    }
    assert digest_of(HOME, "v0.5.0").startswith("sha256:")
    plugin = found.values["kubeletPlugin"]
    assert plugin["nodeSelector"] == {"nvidia.com/gpu.deploy.operands": "false"}
    assert plugin["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]
    assert found.values["controller"]["nodeSelector"] == {"gpuyard.dev/pool": "system"}


def test_its_critical_pods_are_counted_by_the_quota_that_lets_them_in():
    groups = dict(object_groups(plan()))
    (quota,) = [o for o in groups["gpu-operator"] if o["kind"] == "ResourceQuota"]
    (scope,) = quota["spec"]["scopeSelector"]["matchExpressions"]
    values = dra_driver_release(plan()).values
    assert {values[part]["priorityClassName"] for part in ("controller", "kubeletPlugin")} == set(
        scope["values"]
    )
    assert quota["metadata"]["namespace"] == dra_driver_release(plan()).namespace


def test_nodes_say_that_they_have_gpus_and_keep_every_other_owner_off():
    (found,) = plan().pools
    assert {
        "gke-no-default-nvidia-gpu-device-plugin": "true",
        "nvidia.com/gpu.deploy.device-plugin": "false",
        "nvidia.com/gpu.deploy.operands": "false",
        "nvidia.com/gpu.present": "true",
    }.items() <= found.labels.items()
    assert found.node_software.owners == {
        "driver": "Google's DaemonSet",
        "toolkit": "the container runtime",
        "devicePlugin": "the DRA driver",
        "migManager": "the DRA driver",
    }
    assert found.dra.driver == "0.5.0"


def test_an_operator_comes_only_for_pools_that_are_counted():
    assert gpu_operator_release(plan()) is None
    mixed = plan(pool("counted", **MACHINE))
    assert gpu_operator_release(mixed).values["toolkit"]["enabled"] is True
    labels = {one.name: one.labels.get("nvidia.com/gpu.deploy.operands") for one in mixed.pools}
    assert labels == {"train": "false", "counted": None}
    assert [name for name in releases(mixed) if name in {"gpu-operator", "dra-driver"}] == [
        "gpu-operator",
        "dra-driver",
    ]


def test_files_have_it_after_the_namespace_that_it_stands_in():
    names = [name for name, _ in object_groups(plan())]
    assert names.index("dra-driver") == names.index("gpu-operator") + 1
    assert "dra-driver" not in [name for name, _ in object_groups(plan(one={"sharing": "none"}))]


def test_racks_have_compute_domains():
    wide = shape("moe", pool="train", nodes=2, gpus_per_node=4)
    rack = plan(one=RACK, shapes=[wide], teams=[team(guarantee={"train": 72})])
    assert dra_driver_release(rack).values["resources"]["computeDomains"] == {"enabled": True}
    assert dra_driver_release(plan()).values["resources"]["computeDomains"] == {"enabled": False}
    (space,) = rack.teams[0].namespaces
    kinds = [each["kind"] for each in claim_objects(rack, rack.teams[0], space)]
    assert kinds == ["ResourceClaimTemplate", "ComputeDomain"]


def test_its_image_is_listed_by_digest_and_a_mirror_serves_it():
    (found,) = [each for each in pulled_images(plan()) if each.component == "NVIDIA's DRA driver"]
    assert (found.repository, found.tag) == (HOME, "v0.5.0")
    assert found.digest == digest_of(HOME, "v0.5.0")
    mirrored = plan(mirror={"images": "mirror.example/gpu"})
    assert dra_driver_release(mirrored).values["image"]["repository"] == (
        "mirror.example/gpu/dra-driver-nvidia/dra-driver-nvidia-gpu"
    )


@every(
    ("cloud", "one", "more", "who"),
    [
        ("gcp", MACHINE, {}, "chart"),
        ("gcp", MACHINE | {"image": "cos"}, {}, "chart"),
        ("gcp", MACHINE | {"image": "ubuntu-gke"}, {}, ""),
        ("gcp", MACHINE, {"gpu_operator": {"install": False}}, ""),
        ("none", {}, {}, "operator"),
        ("none", {}, {"gpu_operator": {"install": False}}, ""),
    ],
)
def test_claims_have_one_who_answers_them(cloud, one, more, who):
    found = plan_of(platform([pool(**one, sharing="dra")], cloud=cloud, **more))
    by = {
        "operator": operator_serves_dra_claims(found.spec),
        "chart": installs_dra_driver_chart(found.spec),
    }
    assert [name for name, does in by.items() if does] == ([who] if who else [])
    assert installs_dra_driver(found.spec) is bool(who)
    assert (dra_driver_release(found) is not None) is (who == "chart")


def test_an_image_that_nobody_knows_is_no_reason_to_install_it():
    unknown = platform([pool(**MACHINE, image="nope", sharing="dra")], cloud="gcp")
    assert not installs_dra_driver_chart(spec_of(unknown))


def test_who_claims_nothing_gets_no_driver_of_claims():
    found = plan_of(platform([pool(**MACHINE)], cloud="gcp"))
    assert not installs_dra_driver(found.spec)
    assert dra_driver_release(found) is None
