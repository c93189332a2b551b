"""Resources are registered through the classes of Pulumi's SDKs, whose types hold every graph."""

import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pulumi
import pytest
from pulumi import _types

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import Base64, ClampedNumber, Joined, Json, TextBefore
from gpuyard.sdk_classes import (
    SdkMissing,
    load_sdk,
    output,
    register_resource,
    resource_class,
    sdk_version,
)
from gpuyard.spec.read import read_stack_file
from gpuyard.stack_validation import validate
from gpuyard_core.catalogue.software.providers import PROVIDERS
from gpuyard_testing import UNKNOWN
from gpuyard_testing.sdk_types import input_violations
from kit.clouds.stored import STORED
from kit.stacks import plan_of

ROOT = Path(__file__).parents[1]
FILES = sorted(
    [
        *(ROOT / "tests" / "golden_stacks").glob("*.yaml"),
        *(ROOT / "stacks").glob("Pulumi.*.yaml"),
    ]
)
LATE = (UnresolvedOutput, Joined, Json, Base64, TextBefore, ClampedNumber)


def graphs():
    """The graphs of all shipped stacks and test stacks in a cloud, by name."""
    plans = {
        path.stem: validate(read_stack_file(path.read_bytes(), path.stem)).plan for path in FILES
    }
    plans |= {f"{cloud} with storage": plan_of(raw) for cloud, raw in STORED.items()}
    return {
        name: graph
        for name, plan in plans.items()
        if (graph := plan.provider.graph(plan)) is not None
    }


def settled(value):
    """The value with late values as unknown ones."""
    if isinstance(value, LATE):
        return UNKNOWN
    if isinstance(value, Mapping):
        return {key: settled(each) for key, each in value.items()}
    return [settled(each) for each in value] if isinstance(value, list | tuple) else value


def test_every_field_and_output_of_every_graph_is_one_of_the_sdk():
    found = graphs()
    wrong = [
        f"{name}: {each.kind} {each.name}: {problem}"
        for name, graph in found.items()
        for each in graph.resources
        for problem in [
            *(input_violations(each.kind, settled(each.inputs)) or ()),
            *({*each.outputs} - {*_types.resource_types(resource_class(each.kind))}),
        ]
    ]
    assert wrong == []
    assert {
        cloud: sum(
            any(each.kind.startswith(cloud) for each in graph.resources) for graph in found.values()
        )
        for cloud in ("aws", "gcp")
    } == {"aws": 11, "gcp": 6}


@pytest.mark.parametrize("package", ["aws", "gcp", "kubernetes"])
def test_the_plugin_has_the_version_that_the_sdk_requires(package):
    load_sdk(package)
    required = importlib.import_module(f"pulumi_{package}._utilities").get_version()
    assert sdk_version(package) == required
    assert package not in PROVIDERS or PROVIDERS[package].version == required


@pytest.mark.parametrize(
    ("installed", "semantic"),
    [
        ("4.34.2", "4.34.2"),
        ("4.35.0a1", "4.35.0-alpha.1"),
        ("4.35.0b2", "4.35.0-beta.2"),
        ("4.35.0rc3", "4.35.0-rc.3"),
        ("4.35.0.dev4", "4.35.0-dev.4"),
    ],
)
def test_a_prerelease_is_named_as_the_engine_reads_it(monkeypatch, installed, semantic):
    monkeypatch.setattr("importlib.metadata.version", lambda _: installed)
    assert sdk_version("kubernetes") == semantic


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        (
            "nosuch:index:Thing",
            "resources of nosuch need the package pulumi-nosuch, which is not installed",
        ),
        (
            "aws:eks/nosuch:Thing",
            f"pulumi-aws {PROVIDERS['aws'].version} has no class for aws:eks/nosuch:Thing",
        ),
    ],
)
def test_a_missing_sdk_or_class_is_an_error_with_its_fix(token, problem):
    with pytest.raises(SdkMissing) as raised:
        register_resource(token, "thing", {})
    package = token.partition(":")[0]
    assert str(raised.value) == f"{problem}\n  fix: pip install --upgrade 'gpuyard[{package}]'"


def test_a_query_without_its_sdk_is_the_same_error():
    with pytest.raises(SdkMissing, match="need the package pulumi-nosuch"):
        sdk_version("nosuch")


def test_outputs_have_the_names_of_the_provider_to_their_depths(pulumi_mocks):
    found = {}

    def program():
        parent = pulumi.ComponentResource("test:index:Group", "group")
        inputs = {"roleArn": "arn", "vpcConfig": {"subnetIds": ["a"]}, "name": None}
        made = register_resource(
            "aws:eks/cluster:Cluster", "one", inputs, pulumi.ResourceOptions(parent=parent)
        )
        output(made, "vpcConfig").apply(lambda value: found.update(config=value))
        output(made, "certificateAuthority").apply(lambda value: found.update(ca=value))
        found["class"] = type(made).__module__
        parent.register_outputs({})

    outputs = {
        "aws:eks/cluster:Cluster": {
            "vpcConfig": {"subnetIds": ["a"], "vpcId": "vpc-1"},
            "certificateAuthority": {"data": "x"},
        }
    }
    graph = pulumi_mocks.with_settings(outputs=outputs).run(program)
    assert found == {
        "class": "pulumi_aws.eks.cluster",
        "config": {"subnetIds": ["a"], "vpcId": "vpc-1"},
        "ca": {"data": "x"},
    }
    assert graph.one("aws:eks/cluster:Cluster").inputs == {
        "roleArn": "arn",
        "vpcConfig": {"subnetIds": ["a"]},
    }


def loaded(source, *arguments):
    """Modules of SDKs that a program leaves imported; those without modules of their own may be lazy."""
    listing = "print('\\n' + json.dumps([m for m in sys.modules if m.startswith('pulumi_')]))"
    ended = subprocess.run(
        [sys.executable, "-c", f"import json, sys\n{source}\n{listing}", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    )
    return json.loads(ended.stdout.splitlines()[-1])


COMMANDS = """
from gpuyard.cli import main
import gpuyard.resources
gpuyard.resources.Platform
for arguments in json.loads(sys.argv.pop()):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, (arguments, ended.code)
"""


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize("stack", ["aws-training", "gcp-training"])
def test_commands_and_imports_load_no_sdk(tmp_path, stack):
    file = str(ROOT / "stacks" / f"Pulumi.{stack}.yaml")
    commands = [
        ["check", file],
        ["plan", file],
        ["render", file, "--out", str(tmp_path / "out")],
        ["lint", str(tmp_path / "out")],
    ]
    names = {name.partition(".")[0] for name in loaded(COMMANDS, json.dumps(commands))}
    assert names <= {"pulumi_kubernetes"}


PROGRAM = """
import pulumi
from gpuyard.resources import Platform
from gpuyard_testing import StackRunner
from kit.clouds import answers
runner = StackRunner(outputs=answers.outputs, calls=answers.calls())
runner.run(lambda: Platform("lab", {"platform": json.loads(sys.argv[1])}))
"""


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_a_program_loads_only_the_modules_of_its_graph(cloud):
    graph = plan_of(STORED[cloud]).provider.graph(plan_of(STORED[cloud]))
    used = {each.kind.split(":")[1].partition("/")[0] for each in graph.resources}
    names = [name.split(".") for name in loaded(PROGRAM, json.dumps(STORED[cloud]))]
    inside = {name[1] for name in names if len(name) == 3 and name[0] == f"pulumi_{cloud}"}
    assert inside - {"config"} == used
