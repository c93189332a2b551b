"""`gpuyard images`: what a stack pulls, for people and for programs."""

import json

from gpuyard.catalogue.software.digests import pinned
from kit.stacks import platform, pool, stack_file, team

HOME = "registry.k8s.io/kueue/kueue"
KUEUE = f"{HOME}:{pinned(HOME, 'v0.19.2')}"


def stack(tmp_path, **more):
    path = tmp_path / "stack.yaml"
    path.write_bytes(stack_file(platform(**more)))
    return str(path)


def test_each_image_stands_whole_on_a_line(gpuyard, tmp_path):
    teams = [team("a", guarantee={"train": 8}, idle={})]
    given = stack(tmp_path, teams=teams, observability={"prometheus": "existing"})
    ended = gpuyard("images", given)
    assert ended.code == 0
    assert f"  {KUEUE}  Kueue\n" in ended.out
    assert "  nvcr.io/nvidia/driver:595.91.07  GPU Operator, tag only\n" in ended.out
    (python,) = [line for line in ended.out.splitlines() if "python:" in line]
    assert "@sha256:" in python
    assert python.endswith("  idle reclaim")
    assert "by tag only" in ended.out
    assert "nvcr.io/nvidia/driver: after the tag stands the system of the node" in ended.out
    assert "nvcr.io/nvidia/driver: by tag, for each node's system has an image" in ended.out
    assert "  oci://registry.k8s.io/kueue/charts/kueue 0.19.2@sha256:ab436c" in ended.out
    assert "  gpu-operator v26.7.0 from https://" in ended.out


def test_programs_get_tag_digest_and_size_apart(gpuyard, tmp_path):
    said = json.loads(gpuyard("images", stack(tmp_path), "--format", "json").out)
    (kueue,) = [each for each in said["images"] if each["of"] == "Kueue"]
    assert kueue == {
        "image": KUEUE,
        "repository": "registry.k8s.io/kueue/kueue",
        "tag": "v0.19.2",
        "digest": KUEUE.partition("@")[2],
        "size_mib": None,
        "of": "Kueue",
        "adds": None,
        "home": "registry.k8s.io/kueue/kueue",
        "by_tag_because": None,
    }
    (driver,) = [each for each in said["images"] if each["home"] == "nvcr.io/nvidia/driver"]
    assert driver["by_tag_because"].startswith("each node's system")
    charts = {each["chart"]: each for each in said["charts"]}
    assert charts["gpu-operator"]["repository"].startswith("https://")
    assert charts["oci://registry.k8s.io/kueue/charts/kueue"]["digest"].startswith("sha256:")


def test_what_fills_the_mirror_is_a_script(gpuyard, tmp_path):
    given = stack(tmp_path, mirror={"images": "mirror.example/gpu"})
    skopeo, crane = (gpuyard("images", given, "--format", how) for how in ("skopeo", "crane"))
    assert skopeo.code == crane.code == 0
    source = "registry.k8s.io/kueue/kueue@" + KUEUE.partition("@")[2]
    there = "mirror.example/gpu/kueue/kueue:v0.19.2"
    copy = f"skopeo copy --all --preserve-digests docker://{source} docker://{there}\n"
    assert copy in skopeo.out
    assert f"crane copy {source} {there}\n" in crane.out


def test_without_a_mirror_there_is_no_place_to_copy_to(gpuyard, tmp_path):
    ended = gpuyard("images", stack(tmp_path), "--format", "skopeo")
    assert ended.code == 2
    assert "The stack file has no `mirror`" in ended.err


def test_a_platform_that_pulls_nothing_says_why(gpuyard, tmp_path):
    assert "its nodes are simulated" in gpuyard("images", stack(tmp_path, cloud="simulated")).out
    theirs = {"gpu_operator": {"install": False}, "queueing": {"install": False}}
    assert (
        "nothing of it is installed as a chart" in gpuyard("images", stack(tmp_path, **theirs)).out
    )


def test_what_is_refused_has_no_images(gpuyard, tmp_path):
    given = stack(tmp_path, pools=[pool(machine="no-such")])
    assert gpuyard("images", given).code == 3
    ended = gpuyard("images", given, "--format", "json")
    assert (ended.code, json.loads(ended.out)["images"]) == (3, None)


def test_a_version_with_a_published_vulnerability_is_refused_here_too(gpuyard, tmp_path):
    ended = gpuyard("images", stack(tmp_path, software={"container-toolkit": "1.17.7"}))
    assert ended.code == 3
    assert "published vulnerability" in ended.out + ended.err
