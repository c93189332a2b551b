"""Every image that a platform's own pods pull, and no other."""

import yaml

from gpuyard.render.supply.images import pulled_images
from gpuyard_core.catalogue.software.charts import OPERATOR_IMAGES
from gpuyard_core.catalogue.software.programs import PYTHON
from kit.every import every
from kit.levels import upstream
from kit.stacks import cut_pool, plan_of, platform, pool, team


def names(**more):
    plan = plan_of(platform(**more))
    found = pulled_images(plan)
    return [each.reference.rpartition("/")[2].partition("@")[0] for each in found]


def test_each_image_of_the_chart_is_called_as_its_values_call_it():
    own = yaml.safe_load(upstream("values", "gpu-operator.yaml").read_text(encoding="utf-8"))
    for image in OPERATOR_IMAGES:
        section = own
        for word in image.values:
            section = section[word]
        assert (section["repository"], section["image"]) == (image.repository, image.image)


def test_what_runs_is_pulled_and_nothing_else():
    bare = names(pools=[pool(image="own-driver-toolkit")])
    assert set(bare) == {
        "gpu-operator:v26.7.1",
        "k8s-device-plugin:v0.20.1",
        "k8s-mig-manager:v0.15.1",
        "dcgm-exporter:4.6.1-4.8.4-distroless",
        "kueue:v0.19.2",
        "node-feature-discovery:v0.19.0",
    }
    assert len(set(bare)) == len(bare)
    whole = names(pools=[cut_pool()])
    assert set(whole) - set(bare) == {
        "driver:595.91.07",
        "k8s-driver-manager:v0.12.1",
        "container-toolkit:v1.20.1",
        "gdrdrv:v2.6",  # these machines have EFA
    }
    assert not [name for name in whole if name.startswith(("dcgm:", "dra-driver"))]


def test_claims_bring_their_driver_in_the_place_of_the_device_plugin():
    found = names(pools=[pool(sharing="dra", image="own-driver")])
    assert "dra-driver-nvidia-gpu:v0.5.0" in found
    assert not [name for name in found if "device-plugin" in name or "toolkit" in name]


def test_versions_are_those_of_the_stack_file_and_places_those_of_the_mirror():
    plan = plan_of(
        platform(
            software={"driver": "580.178.04"},
            mirror={"images": "mirror.example/gpu"},
            teams=[team("a", guarantee={"train": 8}, idle={})],
            observability={"prometheus": "existing"},
        )
    )
    found = {each.repository.rpartition("/")[2]: each for each in pulled_images(plan)}
    assert all(each.repository.startswith("mirror.example/gpu/") for each in found.values())
    assert found["driver"].tag == "580.178.04"
    assert "ubuntu24.04" in found["driver"].tag_suffix
    assert found["python"].digest == PYTHON.digest
    assert found["python"].reference.endswith(f":{PYTHON.tag}@{PYTHON.digest}")
    assert {each.upstream for each in found.values()} >= {"python", "nvcr.io/nvidia/driver"}
    assert {name for name, each in found.items() if not each.digest} == {"driver", "gdrdrv"}


def test_what_has_no_digest_says_why():
    by_tag = {
        each.upstream.rpartition("/")[2]: each.why_by_tag
        for each in pulled_images(plan_of(platform(software={"kueue": "0.18.6"})))
        if not each.digest
    }
    assert set(by_tag) == {"driver", "gdrdrv", "kueue"}
    assert "each operating system" in by_tag["driver"]
    assert by_tag["kueue"] == "no published digest of this version is known"


def test_of_a_chart_that_is_not_known_only_the_operator_itself_has_a_tag():
    """Its parts are those that it names: ours are of another one."""
    plan = plan_of(platform(software={"gpu-operator": "26.3.3", "mig-manager": "0.14.2"}))
    found = {each.upstream.rpartition("/")[2]: each for each in pulled_images(plan)}
    assert found["gpu-operator"].tag == "v26.3.3"
    assert found["k8s-mig-manager"].tag == "v0.14.2"
    assert found["k8s-device-plugin"].tag == found["node-feature-discovery"].tag == ""
    assert found["k8s-device-plugin"].reference == "nvcr.io/nvidia/k8s-device-plugin"
    assert "gpuyard does not know that chart" in found["k8s-device-plugin"].why_by_tag
    assert found["driver"].tag


def test_what_others_install_and_what_is_simulated_is_not_pulled():
    theirs = {"gpu_operator": {"install": False}, "queueing": {"install": False}}
    assert names(**theirs) == []
    assert names(cloud="simulated") == []


@every(
    "image, shown",
    [
        ("registry.example.org/ml/base:1", ("registry.example.org/ml/base", "1", "")),
        ("localhost:5000/base", ("localhost:5000/base", "latest", "")),
        ("python:3@sha256:00", ("python", "3", "sha256:00")),
        ("python@sha256:00", ("python", "", "sha256:00")),
    ],
)
def test_the_image_of_the_check_of_hardware_is_pulled_where_nodes_are_checked(image, shown):
    found = [
        (each.repository, each.tag, each.digest)
        for each in pulled_images(plan_of(platform(validation={"image": image})))
        if each.component == "hardware validation"
    ]
    assert found == [shown]
    idle = platform(validation={"required": False})
    assert "hardware validation" not in {each.component for each in pulled_images(plan_of(idle))}
