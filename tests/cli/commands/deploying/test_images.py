"""`gpuyard images`: what a stack pulls, for people and for programs."""

import json

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from gpuyard_core.catalogue.software.digests import pinned_image_reference
from kit.stacks import platform, pool, stack_file, team

HOME = "registry.k8s.io/kueue/kueue"
KUEUE = f"{HOME}:{pinned_image_reference(HOME, 'v0.19.2')}"


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
    assert "with a tag only" in ended.out
    assert "nvcr.io/nvidia/driver: the tag is followed by the operating system of the" in ended.out
    assert "nvcr.io/nvidia/driver: tag only: each operating system has its" in ended.out
    assert "  oci://registry.k8s.io/kueue/charts/kueue 0.19.2@sha256:ab436c" in ended.out
    assert "  gpu-operator v26.7.1 from https://" in ended.out


def test_programs_get_tag_and_digest_apart(gpuyard, tmp_path):
    said = json.loads(gpuyard("images", stack(tmp_path), "--format", "json").out)
    (kueue,) = [each for each in said["images"] if each["of"] == "Kueue"]
    assert kueue == {
        "image": KUEUE,
        "repository": "registry.k8s.io/kueue/kueue",
        "tag": "v0.19.2",
        "digest": KUEUE.partition("@")[2],
        "of": "Kueue",
        "adds": None,
        "home": "registry.k8s.io/kueue/kueue",
        "by_tag_because": None,
    }
    (driver,) = [each for each in said["images"] if each["home"] == "nvcr.io/nvidia/driver"]
    assert driver["by_tag_because"].startswith("each operating system")
    charts = {each["chart"]: each for each in said["charts"]}
    assert charts["gpu-operator"]["repository"].startswith("https://")
    assert charts["oci://registry.k8s.io/kueue/charts/kueue"]["digest"].startswith("sha256:")


def test_images_and_charts_are_a_valid_bill_of_materials(gpuyard, tmp_path):
    teams = [team("a", guarantee={"train": 8}, idle={})]
    given = stack(tmp_path, teams=teams, observability={"prometheus": "existing"})
    said = gpuyard("images", given, "--format", "cyclonedx").out
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(said) is None
    bill = json.loads(said)
    rows = json.loads(gpuyard("images", given, "--format", "json").out)
    names = {each["name"] for each in bill["components"]}
    assert {each["repository"] for each in rows["images"]} <= names
    assert len(bill["components"]) == len({each["image"] for each in rows["images"]}) + len(
        rows["charts"]
    )
    digest = KUEUE.partition("@")[2]
    (kueue,) = [each for each in bill["components"] if each["name"] == HOME]
    assert kueue == {
        "type": "container",
        "bom-ref": kueue["purl"],
        "name": HOME,
        "purl": f"pkg:oci/kueue@{digest}?repository_url={HOME}&tag=v0.19.2",
        "version": digest,
        "properties": [{"name": "gpuyard:component", "value": "Kueue"}],
    }
    for each in bill["components"]:
        assert PackageURL.from_string(each["purl"]).to_string() == each["purl"]


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
    assert "gpuyard installs no chart for it" in gpuyard("images", stack(tmp_path, **theirs)).out


def test_what_is_refused_has_no_images(gpuyard, tmp_path):
    given = stack(tmp_path, pools=[pool(machine="no-such")])
    assert gpuyard("images", given).code == 3
    ended = gpuyard("images", given, "--format", "json")
    assert (ended.code, json.loads(ended.out)["images"]) == (3, None)


def test_a_version_with_a_published_vulnerability_is_refused_here_too(gpuyard, tmp_path):
    ended = gpuyard("images", stack(tmp_path, software={"container-toolkit": "1.17.7"}))
    assert ended.code == 3
    assert "published vulnerability" in ended.out + ended.err
