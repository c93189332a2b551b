"""What check says of a golden stack, up does: none is fine for one and refused by the other."""

import json
from pathlib import Path

import pulumi
import pytest
import yaml
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.service import reservations

from gpuyard.resources import Platform, PlatformRejected
from gpuyard.spec.read import read_stack_file
from gpuyard.stack_validation import validate
from gpuyard_testing import StackRunner
from kit.clouds import answers
from kit.clouds.given import account_with

FOLDER = Path(__file__).parents[2] / "golden_stacks"
SHIPPED = Path(__file__).parents[3] / "stacks"
RESERVED = {path.stem: path for path in sorted((FOLDER / "reservations").glob("*.json"))}
HELD = RESERVED | {
    f"Pulumi.{path.stem}": path for path in (SHIPPED / "reservations").glob("*.json")
}
"""What the account of a stack holds, as its owner would see it: no test reads it off the stack."""
FILES = sorted([*FOLDER.glob("*.yaml"), *SHIPPED.glob("Pulumi.*.yaml")])
GET_SUBNETS = "aws:ec2/getSubnets:getSubnets"
BY_NAME = {
    "aws": {"cluster": {"existing": "blue"}},
    "gcp": {"cluster": {"existing": "blue", "endpoint": {"dns": True}}},
}
"""The second of two stacks."""


def check(text):
    """The findings of `gpuyard check` that refuse, as it says them."""
    judged = validate(read_stack_file(text.encode(), "stack.yaml"))
    return sorted(str(f) for f in judged.findings if f.severity.value == "error")


def up(runner, text):
    """The same of a deployment; all of it is registered where nothing refuses."""
    config = yaml.safe_load(text)["config"]

    def program():
        for key, value in config.items():
            if not key.startswith("gpuyard:"):
                pulumi.runtime.set_config(key, value)
        Platform("lab", {"platform": config["gpuyard:platform"]})

    try:
        runner.run(program)
    except PlatformRejected as refused:
        return sorted(str(f) for f in refused.findings if f.severity.value == "error")
    return []


def subnets(args):
    """Those that a question names are there; else two."""
    named = [each["values"] for each in args["filters"] if each["name"] == "subnet-id"]
    return {"ids": named[0] if named else ["subnet-1", "subnet-2"]}


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_up_makes_what_check_finds_fine(pulumi_mocks, tmp_path, file):
    text = file.read_text(encoding="utf-8")
    platform = yaml.safe_load(text)["config"]["gpuyard:platform"]
    given = platform["cloud"] != "none" and "existing" in platform.get("cluster", {})
    there = answers.calls(account_with(platform) if given else Account(tmp_path))
    if file.stem in HELD:
        reservations.write(tmp_path, json.loads(HELD[file.stem].read_text("utf-8")))
    if not given:
        there[GET_SUBNETS] = subnets
    runner = pulumi_mocks.with_settings(outputs=answers.outputs, calls=there)
    assert (check(text), up(runner, text)) == ([], [])


@pytest.mark.parametrize("name", RESERVED)
def test_a_stack_whose_reservations_are_not_there_is_refused_and_makes_nothing(tmp_path, name):
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    made = []
    seen = StackRunner(
        outputs=lambda each: made.append(each.type) or answers.outputs(each),
        calls=answers.calls(Account(tmp_path)) | {GET_SUBNETS: subnets},
    )
    assert "does not exist" in "".join(up(seen, text))
    assert not [each for each in made if each.startswith(("aws:", "gcp:", "kubernetes:"))]


def test_each_golden_stack_that_names_a_reservation_has_an_account_that_holds_some():
    naming = {path.stem for path in FOLDER.glob("*.yaml") if ": cr-" in path.read_text("utf-8")}
    assert set(RESERVED) >= naming


@pytest.mark.parametrize("name", ["aws-training", "gcp-inference"])
def test_a_stack_in_a_cluster_that_exists_is_made_where_check_finds_it_fine(pulumi_mocks, name):
    content = yaml.safe_load((SHIPPED / f"Pulumi.{name}.yaml").read_text(encoding="utf-8"))
    platform = content["config"]["gpuyard:platform"]
    platform.update(BY_NAME[platform["cloud"]])
    for each in platform["pools"]:
        each["capacity"] = ["on-demand"]
        if "scaling" in each:
            each["scaling"] = "autoscaler"
    text = yaml.safe_dump(content)
    calls = answers.calls(account_with(platform))
    runner = pulumi_mocks.with_settings(outputs=answers.outputs, calls=calls)
    assert (check(text), up(runner, text)) == ([], [])
    nobody = pulumi_mocks.with_settings(outputs=answers.outputs, calls=answers.calls())
    with pytest.raises(Exception, match="blue"):
        up(nobody, text)


def test_up_refuses_what_check_refuses_in_the_same_words(pulumi_mocks):
    text = (FOLDER / "research.yaml").read_text(encoding="utf-8")
    text = text.replace(
        "nodes: 0..16", "nodes: 0..16\n        scaling: karpenter\n        image: ubuntu-eks"
    )
    said = check(text)
    (only,) = [line.partition(": ") for line in said]
    assert only[0] == "pools[0].image"
    assert "Karpenter would boot the latest release" in only[2]
    assert up(pulumi_mocks, text) == said
