"""The script that fills a mirror: each image and chart that a stack takes from there, and no other."""

import subprocess

import pytest

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.platform import releases
from gpuyard.render.supply.images import pulled_images
from gpuyard.render.supply.mirror_scripts import Copier, copy_script, pulled_charts
from kit.stacks import plan_of, platform, pool, team

MIRROR = {"images": "mirror.example/gpu"}


def script(copier=Copier.CRANE, **more):
    return copy_script(plan_of(platform(mirror=more.pop("mirror", MIRROR), **more)), copier)


def lines(text, word):
    return [line.strip() for line in text.splitlines() if line.strip().startswith(word)]


@pytest.fixture
def everything() -> PlatformPlan:
    """Charts of all four kinds, programs of ours and the device plugin of EFA."""
    return plan_of(
        platform(
            [pool(nodes="0..4", scaling="karpenter"), pool("b", nodes="0..4")],
            cloud="aws",
            zones=None,
            mirror=MIRROR,
            system={"machine": "m7i.xlarge", "nodes": 2},
            teams=[team("a", guarantee={"train": 8}, idle={})],
            observability={"prometheus": "existing"},
        )
    )


def told(plan):
    """Every place of the mirror that nodes or Helm are told, found in what is rendered."""
    for each in pulled_images(plan):
        yield f"{each.repository}:{each.tag}"
    for release in releases(plan).values():
        yield release.chart


def test_all_that_is_told_is_copied(everything):
    text = copy_script(everything, Copier.CRANE)
    targets = {line.rsplit(" ", 1)[1] for line in lines(text, "crane copy")}
    images = {place for place in told(everything) if not place.startswith("oci://")}
    assert {target.removesuffix("-$system") for target in targets} == images
    assert all(
        place.partition("://")[2].startswith("mirror.example/")
        for place in targets
        if "://" in place
    )
    pushed = lines(text, "helm push")
    assert len(lines(text, "helm pull")) == len(pushed) == len(releases(everything))


def test_an_image_is_copied_from_its_digest_to_its_tag():
    (kueue,) = [line for line in lines(script(Copier.SKOPEO), "skopeo") if "kueue/kueue" in line]
    assert kueue.startswith(
        "skopeo copy --all --preserve-digests docker://registry.k8s.io/kueue/kueue@sha256:"
    )
    assert kueue.endswith(" docker://mirror.example/gpu/kueue/kueue:v0.19.2")


def test_images_of_each_system_are_copied_for_the_systems_that_somebody_names():
    text = script()
    assert "for system in ${NODE_SYSTEMS:?}; do" in text
    assert (
        "  crane copy nvcr.io/nvidia/driver:595.91.07-$system"
        " mirror.example/gpu/nvidia/driver:595.91.07-$system" in text
    )
    assert "NODE_SYSTEMS" not in script(pools=[pool(image="own-driver-toolkit")])


@pytest.mark.parametrize("copier", list(Copier))
def test_it_is_a_script(copier, tmp_path):
    """With stand-ins for the tools: every command of it is run, in order."""
    for tool in ("skopeo", "crane", "helm"):
        path = tmp_path / tool
        path.write_text(f'#!/bin/sh\necho "{tool} $1" >> "$LOG"\n', encoding="utf-8")
        path.chmod(0o755)
    log = tmp_path / "log"
    env = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "LOG": str(log),
        "NODE_SYSTEMS": "ubuntu22.04 ubuntu24.04",
    }
    text = script(copier)
    subprocess.run(["/bin/sh", "-c", text], env=env, check=True)
    ran = log.read_text(encoding="utf-8").splitlines()
    twice = text.count("for system in")
    assert ran.count("helm pull") == ran.count("helm push") == 2
    assert ran.count(f"{copier.value} copy") == len(lines(text, copier.value)) + twice
    bare = subprocess.run(
        ["/bin/sh", "-c", text], env={**env, "NODE_SYSTEMS": ""}, check=False, capture_output=True
    )
    assert bare.returncode != 0


def test_charts_go_where_the_stack_file_takes_them_from():
    def helm(**mirror):
        return lines(script(mirror=MIRROR | mirror, pools=[pool(image="own")]), "helm")

    same = helm()
    assert (
        "helm pull gpu-operator --repo https://helm.ngc.nvidia.com/nvidia --version v26.7.1" in same
    )
    assert "helm push gpu-operator-v26.7.1.tgz oci://mirror.example/gpu/nvidia/charts" in same
    assert "helm pull oci://registry.k8s.io/kueue/charts/kueue --version 0.19.2" in same
    assert "helm push kueue-0.19.2.tgz oci://mirror.example/gpu/kueue/charts" in same
    apart = helm(charts="oci://other.example/charts")
    assert "helm push kueue-0.19.2.tgz oci://other.example/charts" in apart
    folder = helm(charts="./charts")
    assert folder == [
        (
            "helm pull gpu-operator --repo https://helm.ngc.nvidia.com/nvidia --version v26.7.1"
            " --untar --untardir ./charts"
        ),
        "helm pull oci://registry.k8s.io/kueue/charts/kueue --version 0.19.2 --untar --untardir ./charts",
    ]


def test_what_a_chart_that_is_not_known_names_is_left_to_people():
    text = script(software={"gpu-operator": "26.3.3"})
    assert "# nvcr.io/nvidia/k8s-device-plugin: its chart sets the version" in text
    assert "k8s-device-plugin" not in "".join(lines(text, "crane"))


def test_what_the_stack_file_names_itself_is_where_it_says():
    text = script(validation={"image": "registry.example.org/check:1"})
    assert "registry.example.org" not in text


def test_charts_have_their_version_and_digest():
    charts = {each.name: each for each in pulled_charts(plan_of(platform(mirror=MIRROR)))}
    assert set(charts) == {"kueue", "gpu-operator"}
    assert charts["kueue"].digest.startswith("sha256:")
    assert charts["kueue"].chart == "oci://mirror.example/gpu/kueue/charts/kueue"
    assert (charts["gpu-operator"].upstream, charts["gpu-operator"].digest) == ("gpu-operator", "")
    assert pulled_charts(plan_of(platform(cloud="simulated"))) == []
