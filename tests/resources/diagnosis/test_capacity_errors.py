"""What is said of a pool that gets no nodes: the pool, the zone, and what there is to do."""

from dataclasses import dataclass, field
from typing import Any

import pulumi
import pytest

from gpuyard.resources import clouds
from gpuyard.resources.clouds import (
    capacity_error_message,
    capacity_hook,
    reject_failed_groups,
)

URN = "urn:pulumi:dev::p::gpuyard:index:GpuNodePool$aws:eks/nodeGroup:NodeGroup::lab-train-spot"
AGAIN = f"`pulumi up --replace '{URN}'`"


@dataclass(frozen=True)
class Failure:
    """What the engine tells an error hook."""

    errors: tuple[str, ...]
    new_inputs: dict[str, Any] | None = None
    urn: str = URN
    failed_operation: str = field(default="create")


@pytest.mark.parametrize(
    ("error", "inputs", "says"),
    [
        (
            "InsufficientInstanceCapacity - We do not have sufficient p5.48xlarge capacity in (us-east-1a).",
            None,
            "no capacity in us-east-1a now",
        ),
        (
            "in us-central1-a: the zone does not have enough resources available. (GCE_STOCKOUT)",
            {"nodeLocations": ["us-central1-b"]},
            "no capacity in us-central1-a now",
        ),
        (
            "ZONE_RESOURCE_POOL_EXHAUSTED",
            {"nodeLocations": ["b", "c"]},
            "no capacity in b, c now",
        ),
        ("GCE_STOCKOUT", None, "no capacity in the zones of the pool now"),
    ],
)
def test_pool_zone_and_what_there_is_to_do_are_named(error, inputs, says):
    said = capacity_error_message(Failure((error,), inputs), "train")
    assert said.startswith("pool train: ")
    assert says in said
    assert AGAIN in said
    assert "`zones`" in said
    assert "`capacity`" in said


@pytest.mark.parametrize(
    "error",
    [
        "VcpuLimitExceeded: You have requested more vCPU capacity than your current limit allows",
        "MaxSpotInstanceCountExceeded: Max spot instance count exceeded",
        "googleapi: Error 403: Insufficient regional quota to satisfy request, quotaExceeded",
        "QUOTA_EXCEEDED",
    ],
)
def test_of_a_quota_nothing_is_replaced(error):
    said = capacity_error_message(Failure((error,)), "train")
    assert "gpuyard check --live" in said
    assert "--replace" not in said


@pytest.mark.parametrize("errors", [(), ("AccessDenied: no",)])
def test_of_another_error_nothing_is_said(errors):
    assert capacity_error_message(Failure(errors), "train") == ""


def test_a_group_that_failed_ends_the_program_and_any_other_does_not():
    for status in (None, "ACTIVE", "DEGRADED", "CREATING"):
        reject_failed_groups("train", URN, status)
    with pytest.raises(pulumi.RunError) as said:
        reject_failed_groups("train", URN, "CREATE_FAILED")
    assert str(said.value) == (
        "pool train: its group lab-train-spot exists, failed at its creation and gets no nodes: "
        f"{AGAIN} replaces it"
    )


def test_the_hook_tells_and_never_retries(monkeypatch):
    told: list[str] = []
    monkeypatch.setattr(clouds, "monitor_supports_feature", lambda _: True)
    monkeypatch.setattr(clouds.pulumi, "ErrorHook", lambda name, run: (name, run))
    monkeypatch.setattr(clouds.pulumi, "ResourceHookBinding", lambda on_error: on_error)
    monkeypatch.setattr(clouds.pulumi.log, "warn", told.append)
    ((name, tell),) = capacity_hook("lab-train-spot", "train")
    assert name == "gpuyard:lab-train-spot:machines"
    assert tell(Failure(("AccessDenied: no",))) is False
    assert told == []
    assert tell(Failure(("GCE_STOCKOUT",))) is False
    assert told[0].startswith("pool train: ")
    monkeypatch.setattr(clouds, "monitor_supports_feature", lambda _: False)
    assert capacity_hook("lab-train-spot", "train") is None
