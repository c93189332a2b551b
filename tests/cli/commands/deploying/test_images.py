"""`gpuyard images`: what a stack pulls, for people and for programs."""

import json

from kit.stacks import platform, pool, stack_file, team


def stack(tmp_path, **more):
    path = tmp_path / "stack.yaml"
    path.write_bytes(stack_file(platform(**more)))
    return str(path)


def test_each_image_stands_whole_on_a_line(gpuyard, tmp_path):
    teams = [team("a", guarantee={"train": 8}, idle={})]
    given = stack(tmp_path, teams=teams, observability={"prometheus": "existing"})
    ended = gpuyard("images", given)
    assert ended.code == 0
    assert "  registry.k8s.io/kueue/kueue:v0.19.2  Kueue, tag only\n" in ended.out
    (python,) = [line for line in ended.out.splitlines() if "python:" in line]
    assert "@sha256:" in python
    assert python.endswith("  idle reclaim")
    assert "by tag only" in ended.out
    assert "nvcr.io/nvidia/driver: after the tag stands the system of the node" in ended.out


def test_programs_get_tag_digest_and_size_apart(gpuyard, tmp_path):
    said = json.loads(gpuyard("images", stack(tmp_path), "--format", "json").out)
    (kueue,) = [each for each in said["images"] if each["of"] == "Kueue"]
    assert kueue == {
        "image": "registry.k8s.io/kueue/kueue:v0.19.2",
        "repository": "registry.k8s.io/kueue/kueue",
        "tag": "v0.19.2",
        "digest": None,
        "size_mib": None,
        "of": "Kueue",
        "adds": None,
    }


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
