"""Images that nodes pull ahead: on every node of a pool, held to `restricted`, and no GPU taken."""

from gpuyard.render.platform import object_groups, platform_objects
from gpuyard.render.supply.images import pulled_images
from gpuyard.render.supply.prepull import prepull_objects
from gpuyard_core.catalogue.software.digests import digest_of
from gpuyard_core.names import PLATFORM_LABEL, POD_SECURITY_LABEL
from kit.stacks import cut_pool, plan_of, platform, pool

IMAGES = ["registry.example.org/train@sha256:" + "0" * 64, "registry.example.org/serve:2"]
MIRROR = {"images": "mirror.example/gpu", "prepull": IMAGES}


def made(**more):
    return prepull_objects(plan_of(platform(mirror=more.pop("mirror", MIRROR), **more)))


def pod_of(daemon):
    return daemon["spec"]["template"]["spec"]


def test_each_image_runs_nothing_and_ends_and_a_pause_stays():
    (daemon,) = made()
    pod = pod_of(daemon)
    assert [each["image"] for each in pod["initContainers"]] == IMAGES
    assert {tuple(each["command"]) for each in pod["initContainers"]} == {("true",)}
    (pause,) = pod["containers"]
    digest = digest_of("registry.k8s.io/pause", "3.10.1")
    assert pause["image"] == f"mirror.example/gpu/pause:3.10.1@{digest}"
    assert "command" not in pause
    assert {each["imagePullPolicy"] for each in (*pod["initContainers"], pause)} == {"IfNotPresent"}


def test_it_is_held_to_what_its_namespace_enforces_and_takes_no_gpu():
    plan = plan_of(platform(mirror=MIRROR))
    (daemon,) = prepull_objects(plan)
    (home,) = [
        each
        for each in platform_objects(plan)
        if each["kind"] == "Namespace"
        and each["metadata"]["name"] == daemon["metadata"]["namespace"]
    ]
    assert home["metadata"]["labels"][POD_SECURITY_LABEL] == "restricted"
    pod = pod_of(daemon)
    assert pod["securityContext"]["runAsNonRoot"] is True
    for each in (*pod["initContainers"], *pod["containers"]):
        assert each["securityContext"]["allowPrivilegeEscalation"] is False
        assert each["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert set(each["resources"]["requests"]) == {"cpu", "memory"}
    assert "volumes" not in pod
    assert daemon["metadata"]["labels"][PLATFORM_LABEL] == "lab"


def test_it_is_on_every_node_of_every_pool_and_on_no_other():
    plan = plan_of(platform([pool(), cut_pool()], mirror=MIRROR))
    (daemon,) = prepull_objects(plan)
    pod = pod_of(daemon)
    chosen = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    terms = [
        {each["key"]: each["values"][0] for each in term["matchExpressions"]}
        for term in chosen["nodeSelectorTerms"]
    ]
    assert terms == [dict(each.node_selector) for each in plan.pools]
    tolerated = {each["key"] for each in pod["tolerations"]}
    assert {taint.key for each in plan.pools for taint in plan.initial_taints(each)} <= tolerated


def test_nothing_is_made_where_nothing_is_to_be_pulled():
    assert made(mirror={"images": "mirror.example/gpu"}) == []
    assert prepull_objects(plan_of(platform())) == []
    assert "prepull" not in dict(object_groups(plan_of(platform())))


def test_a_name_that_is_said_twice_is_pulled_once():
    (daemon,) = made(mirror={**MIRROR, "prepull": [*IMAGES, IMAGES[0]]})
    assert len(pod_of(daemon)["initContainers"]) == 2


def test_another_clusters_nodes_pull_what_that_cluster_says():
    queueing = {"clusters": [{"name": "west", "secret": "w"}]}
    assert made(queueing=queueing) == []


def test_they_are_among_the_images_that_are_listed():
    found = {each.upstream: each for each in pulled_images(plan_of(platform(mirror=MIRROR)))}
    assert found["registry.k8s.io/pause"].digest
    assert found["registry.k8s.io/pause"].repository == "mirror.example/gpu/pause"
    assert found["registry.example.org/serve"].why_by_tag == (
        "no published digest of this version is known"
    )
    assert found["registry.example.org/train"].reference == IMAGES[0]


def test_one_that_something_else_pulls_too_is_listed_once():
    check = {"image": IMAGES[1]}
    found = pulled_images(plan_of(platform(mirror=MIRROR, validation=check)))
    assert [each.component for each in found if each.reference == IMAGES[1]] == [
        "hardware validation"
    ]
