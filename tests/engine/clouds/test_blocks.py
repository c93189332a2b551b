"""A capacity block is bought once: not by a second `up`, not after a kill, and no destroy gives it back."""

import json

from testbed.plugins.cloud import faults, installing
from testbed.plugins.cloud.account import Account

from gpuyard.render.cloud.graph import BLOCK
from kit.clouds.programs import GRAPH
from kit.cluster.warm import AT_EVERY_STEP
from kit.stacks import platform, pool
from stacks import STACK

OFFER = "cb-0123456789abcdef0"
BUYS = {"block": OFFER, "nodes": 4, "purchase": {"hours": 48, "starts": "2099-12-01", "usd": 8000}}
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def ladder(*rungs):
    """A pool that is bought so."""
    one = pool(nodes="0..4", zones=["us-east-1a"], capacity=list(rungs), scaling="autoscaler")
    return json.dumps(platform([one], cloud="aws", cluster={"protect": False}))


def test_a_block_is_bought_once_whatever_becomes_of_the_deployment(of_clouds, tmp_path):
    lab, account = of_clouds, Account(tmp_path / "cloud", "aws")
    lab.env["PATH"] = f"{installing.STAND_INS}:{lab.env['PATH']}"
    lab.run("config", "set", "--stack", STACK, "aws:region", "us-east-1")
    (lab.folder / "platform.json").write_text(ladder("on-demand"))
    (lab.folder / "__main__.py").write_text(GRAPH)
    lab.up()
    (lab.folder / "platform.json").write_text(ladder(BUYS, "on-demand"))

    def blocks():
        return [each.id for each in account.all(BLOCK)]

    faults.write(tmp_path / "cloud", {"faults": [{"fault": "kill", "kind": BLOCK, "times": 1}]})
    lab.up(fails=True, GPUYARD_WARM="", **AT_EVERY_STEP)
    (held,) = blocks()
    # Bought, and the engine does not know: it is not bought again, and a message says what to do.
    lab.run("cancel", "--yes")
    said = " ".join(lab.up(fails=True).output.split())
    assert f"{OFFER} was already purchased as {held}" in said
    assert "gpuyard recover" in said
    assert blocks() == [held]

    assert f"it exists as {held}, and gpuyard adopted it" in lab.gpuyard("recover", STACK)
    lab.up()
    lab.unchanged()
    lab.up("--refresh", "--expect-no-changes")
    assert blocks() == [held]
    (template,) = [t for t in account.all(TEMPLATE) if "block" in t.state["name"]]
    target = template.state["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target["capacityReservationId"] == held

    lab.run("destroy", "--yes", "--skip-preview", "--stack", STACK)
    assert [each.kind for each in account.all()] == [BLOCK]
