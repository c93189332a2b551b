"""The tuple of add-ons: one order for all layers, and a new record needs no other change."""

import json
import re

import pytest
import yaml

from gpuyard.render.files import render_files
from gpuyard.render.platform import ADDONS, object_groups
from gpuyard.render.supply.images import pulled_images
from gpuyard.render.supply.mirror_scripts import pulled_charts
from kit.addons import TOY_CHART, add_toys
from kit.inprocess import run
from kit.stacks import plan_of, platform, pool, team

TEAMS = [team("a", guarantee={"train": 8})]
RAW = platform([pool()], TEAMS, mirror={"images": "mirror.example/gpu"})


@pytest.fixture
def toys(monkeypatch):
    add_toys(monkeypatch)


def test_each_add_on_comes_after_those_that_it_names():
    alone = [each.name for each in ADDONS if not each.part_of]
    assert len({each.name for each in ADDONS}) == len(ADDONS)
    for each in ADDONS:
        assert not each.part_of or each.part_of in alone
        assert not (each.part_of and each.after)
        before = alone[: alone.index(each.name)] if each.after else []
        assert set(each.after) <= set(before), each.name


def test_a_new_add_on_is_in_the_files_in_its_place(monkeypatch):
    plan = plan_of(RAW)
    before = [name for name, _ in object_groups(plan)]
    add_toys(monkeypatch)
    files = render_files(plan, {})
    names = [name for name, _ in object_groups(plan)]
    place = names.index("toy")
    assert [name for name in names if not name.startswith("toy")] == before
    assert names[place - 1 : place + 2] == ["team-a", "toy", "toy-user"]
    toy = {file.partition("-")[2]: text for file, text in files.items() if "-toy" in file}
    assert list(toy) == ["toy.yaml", "toy/release.yaml", "toy/values.yaml", "toy-user.yaml"]
    assert yaml.safe_load(toy["toy.yaml"])["metadata"]["name"] == "toys"
    assert yaml.safe_load(toy["toy/release.yaml"]) == {
        "release": "toy",
        "namespace": "toys",
        "chart": "oci://mirror.example/gpu/charts/toy",
        "version": plan.software["keda"],
    }
    assert yaml.safe_load(toy["toy/values.yaml"]) == {"replicas": 2}
    assert list(files) == sorted(files)


@pytest.mark.usefixtures("toys")
def test_its_images_and_its_chart_are_listed_and_mirrored():
    plan = plan_of(RAW)
    version = plan.software["keda"]
    found = {each.upstream: each for each in pulled_images(plan) if each.component == "Toy"}
    assert {home: each.reference for home, each in found.items()} == {
        "toys.example/toy/controller": f"mirror.example/gpu/toy/controller:v{version}",
        "toys.example/toy/agent": "toys.example/toy/agent:1",
    }
    (chart,) = [each for each in pulled_charts(plan) if each.name == TOY_CHART.name]
    assert (chart.upstream, chart.version) == ("oci://toys.example/charts/toy", version)


@pytest.mark.usefixtures("toys")
def test_the_command_lists_them(tmp_path):
    stack = tmp_path / "Pulumi.lab.yaml"
    stack.write_text(yaml.safe_dump({"config": {"gpuyard:platform": RAW}}), encoding="utf-8")
    document = json.loads(run("images", stack, "--format", "json").out)
    assert [each["home"] for each in document["images"] if each["of"] == "Toy"] == [
        "toys.example/toy/controller",
        "toys.example/toy/agent",
    ]
    script = run("images", stack, "--format", "skopeo").out
    assert re.search(r"^helm pull oci://toys\.example/charts/toy ", script, re.MULTILINE)
