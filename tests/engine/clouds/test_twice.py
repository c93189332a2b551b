"""Stacks as users write them, deployed twice with the policy pack: no finding, no second change."""

import re
import shutil

import pytest
import yaml
from testbed.plugins.cloud.account import CALLER

from kit.clouds.given import account_with, unprotected
from kit.clouds.stored import STORED
from kit.stacks import cut_pool, pool, shared_pool, team
from stacks import ROOT, STACK

GOLDEN = ROOT / "tests" / "golden_stacks"
FILES = [*(ROOT / "stacks").glob("Pulumi.*.yaml"), *GOLDEN.glob("*.yaml")]
CONFIGS = {
    file.stem.removeprefix("Pulumi."): yaml.safe_load(file.read_text())["config"] for file in FILES
}
MIXED = {
    "aws": [
        cut_pool("slices", nodes="1..2", zones=["us-east-1a"]),
        shared_pool("small", nodes="0..2", zones=["us-east-1a"]),
        pool("late", nodes="0..2", scaling="karpenter", zones=["us-east-1a"]),
    ],
    "gcp": [
        cut_pool("slices", machine="a2-highgpu-8g", nodes="1..2", zones=["us-central1-a"]),
        shared_pool("small", machine="g2-standard-48", nodes="1..2", zones=["us-central1-a"]),
    ],
}
"""MIG beside time-slicing in ranges, and a pool of Karpenter on AWS."""
TEAM = team(guarantee={"slices/3g.20gb": 8, "small/shared": 8}, groups=["seers"])
for cloud, pools in MIXED.items():
    changed = {"name": f"mixed-{cloud}", "pools": pools, "teams": [TEAM]}
    cluster = STORED[cloud]["cluster"] | {"protect": True}
    CONFIGS[f"mixed-{cloud}"] = {"gpuyard:platform": STORED[cloud] | changed | {"cluster": cluster}}

NOT_PLAYED = {"fleet"}
"""Its network is in no fake account."""
STACKS = [
    name
    for name, config in sorted(CONFIGS.items())
    if config["gpuyard:platform"]["cloud"] in MIXED and name not in NOT_PLAYED
]


@pytest.mark.parametrize(
    "name",
    [pytest.param(it, marks=pytest.mark.always) if it == "mixed-aws" else it for it in STACKS],
)
def test_a_second_up_changes_nothing_and_no_rule_is_violated(
    new_yard, api, pack, karpenter_kinds, name
):
    config = dict(CONFIGS[name])
    raw = dict(config.pop("gpuyard:platform"))
    raw["queueing"] = {**raw.get("queueing", {}), "install": False}
    raw.pop(
        "validation", None
    )  # no node of this lab runs its pods; tests/yard deploys stacks with it
    if raw.get("observability", {}).get("prometheus") == "existing":
        raw["observability"] = {**raw["observability"], "namespace": api.namespace}
    lab = new_yard(raw)
    for key, value in config.items():
        lab.stack.run("config", "set", "--stack", STACK, key, value)
    _prepare(lab, api, raw, name)
    said = lab.stack.up("--policy-pack", str(pack)).output
    again = ("--expect-no-changes", "--policy-pack", str(pack))
    said += lab.stack.preview(*again).output
    said += lab.stack.up("--refresh", *again).output
    assert re.findall(r"GPU-[A-Z]+-\d+[^\n]*", said) == []
    lab.write(**unprotected(raw))
    lab.stack.up()
    lab.stack.destroy()


def _prepare(lab, api, raw, name):
    """What the stack expects to be there: who deploys it, a cluster, reservations, namespaces."""
    cluster = raw.get("cluster", {})
    if admins := cluster.get("admins"):
        lab.stack.env[CALLER] = admins[0]
    if "existing" in cluster:
        account_with(raw, lab.folder)
    for folder in (GOLDEN, ROOT / "stacks"):
        reserved = folder / "reservations" / f"{name}.json"
        if reserved.exists():
            lab.folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(reserved, lab.folder / "reservations.json")
    spaces = [space for each in raw["teams"] for space in each.get("namespaces", ())]
    for space in spaces:
        if isinstance(space, dict) and space.get("existing"):
            metadata = {"name": space["name"]}
            api.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, {})
