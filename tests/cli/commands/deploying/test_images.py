"""`gpuyard images`: what a stack pulls, for people and for programs."""

import json

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from gpuyard.cli import image_sizes
from gpuyard.registries import sizes as sizes_module
from gpuyard.registries.sizes import ImageSize
from gpuyard_core.catalogue.software.digests import pinned_image_reference
from kit.stacks import platform, pool, stack_file, team
from kit.supply import registry as served

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


def test_programs_get_tag_digest_and_size_apart(gpuyard, tmp_path):
    said = json.loads(gpuyard("images", stack(tmp_path), "--format", "json").out)
    (kueue,) = [each for each in said["images"] if each["of"] == "Kueue"]
    assert kueue == {
        "image": KUEUE,
        "repository": "registry.k8s.io/kueue/kueue",
        "tag": "v0.19.2",
        "digest": KUEUE.partition("@")[2],
        "compressed_bytes": None,
        "size_unknown_because": "no registry was queried",
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


@pytest.mark.parametrize("form", ["cyclonedx", "crane"])
def test_only_lists_have_sizes(gpuyard, tmp_path, form):
    given = stack(tmp_path, mirror={"images": "mirror.example/gpu"})
    ended = gpuyard("images", given, "--format", form, "--sizes")
    assert ended.code == 2
    assert ended.err == f"gpuyard: --format {form} has no sizes. Drop --sizes.\n"


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


# ── sizes ─────────────────────────────────────────────────────────────────────────────────────────
MIB = 1024 * 1024
OURS = {"gpu_operator": {"install": False}, "queueing": {"install": False}}


@pytest.fixture
def registry():
    there = served.Registry()
    with served.serving(there):
        yield there


def pulling(tmp_path, host, *images, machines=("g6.xlarge",), **more):
    """A stack whose nodes pull these ahead, and a pause, all from one host."""
    pools = [pool(f"p{number}", machine=machine) for number, machine in enumerate(machines)]
    mirror = {"images": f"{host}/mirror", "prepull": [f"{host}/{each}" for each in images]}
    return stack(tmp_path, cloud="aws", pools=pools, mirror=mirror, **OURS, **more)


def pause_of(gpuyard, given):
    """The name of the pause in the mirror, and its digest."""
    rows = json.loads(gpuyard("images", given, "--format", "json").out)["images"]
    (row,) = [each for each in rows if "/pause" in each["repository"]]
    return row["repository"].partition("/")[2], row["digest"]


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_each_size_is_what_its_registry_says_and_exit_is_zero_where_all_are_known(
    gpuyard, tmp_path, registry, monkeypatch
):
    registry.image("team/train", "1.0", layers={"a": 8 * MIB, "b": 3 * MIB})
    given = pulling(tmp_path, registry.host, "team/train:1.0")
    name, digest = pause_of(gpuyard, given)
    registry.image(name, digest, layers={"p": 1_000})
    monkeypatch.setattr(sizes_module, "_is_what_it_names", lambda *_: True)  # of a real one
    ended = gpuyard("images", given, "--sizes")
    assert ended.code == 0, ended.out
    (train,) = [line for line in ended.out.splitlines() if "team/train" in line and "pull" in line]
    assert train == f"  {registry.host}/team/train:1.0  image pre-pull, tag only, 11 MiB"
    assert ", 2 KiB\n" in ended.out
    assert "sizes of all are known: 11 MiB, compressed" in " ".join(ended.out.split())
    rows = json.loads(gpuyard("images", given, "--sizes", "--format", "json").out)["images"]
    (row,) = [each for each in rows if each["repository"].endswith("/train")]
    assert row["compressed_bytes"] == {"any": 11 * MIB + 1_000}
    assert row["size_unknown_because"] is None


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_an_image_that_a_mirror_does_not_have_is_found(gpuyard, tmp_path, registry):
    registry.image("team/train", "1.0", layers={"a": 8 * MIB})
    given = pulling(tmp_path, registry.host, "team/train:1.0")
    ended = gpuyard("images", given, "--sizes")
    said = " ".join(ended.out.split())
    assert ended.code == 3
    assert f"size unknown: {registry.host} has no such image" in said
    assert "sizes of 1 of 2 are known: 8 MiB, compressed" in said


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_processors_of_all_nodes_are_asked_for(gpuyard, tmp_path, registry):
    sizes = {"amd64": 8 * MIB, "arm64": 6 * MIB}
    made = {a: registry.image("team/train", layers={a: n}) for a, n in sizes.items()}
    registry.index("team/train", "1.0", **made)
    machines = ("g6.xlarge", "g5g.xlarge")
    given = pulling(tmp_path, registry.host, "team/train:1.0", machines=machines)
    said = " ".join(gpuyard("images", given, "--sizes").out.split())
    assert "tag only, 8 MiB on amd64, 6 MiB on arm64" in said
    assert "8 MiB on amd64 and 6 MiB on arm64, compressed" in said


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_registry_that_says_nothing_is_lacking_and_the_others_are_told(gpuyard, tmp_path):
    ended = gpuyard("images", pulling(tmp_path, "127.0.0.1:1", "team/train:1.0"), "--sizes")
    assert ended.code == 4
    assert "127.0.0.1:1: it is unreachable" in " ".join(ended.out.split())
    assert "no size is known" in ended.out


def test_images_without_a_whole_name_are_asked_of_nobody(gpuyard, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        image_sizes,
        "fetch_image_sizes",
        lambda refs, _: {each: asked.append(each) or ImageSize({"any": 1}) for each in refs},
    )
    ended = gpuyard("images", stack(tmp_path), "--sizes")
    assert ended.code == 0
    assert "nvidia/driver" not in {each.name for each in asked}
    said = " ".join(ended.out.split())
    assert "size unknown: not queried: each node's operating system has another image" in said
