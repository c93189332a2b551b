"""Interruption notices of the clouds, and their lead times; EC2's in EventBridge's form.

Sources: EC2 user guide (spot-instance-termination-notices, rebalance-recommendations,
monitor-interruptible-cr: `resources` is a list as in all others, where that page has a text); GKE concepts,
Spot VMs; what Karpenter reads, in aws/karpenter-provider-aws pkg/controllers/interruption/messages:
metadata, an `instance-id`, states from stopping to terminated, and of AWS Health scheduled changes of EC2
alone.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gpuyard_core.catalogue.kubernetes.interruptions import MACHINE_SECONDS
from gpuyard_core.catalogue.kubernetes.karpenter import EVENTS

SPOT, REBALANCE, HEALTH, STATE, RESERVATION = "spot", "rebalance", "health", "state", "reservation"
PREEMPTION = "preemption"


@dataclass(frozen=True)
class Notice:
    """One kind of notice."""

    cloud: str
    seconds: int | None
    """Time from the notice until the machine is gone; None: it stays."""
    spot: bool = False
    """Only for spot machines."""


NOTICES: Mapping[str, Notice] = {
    SPOT: Notice("aws", MACHINE_SECONDS["aws"], spot=True),
    REBALANCE: Notice("aws", None, spot=True),
    HEALTH: Notice("aws", None),
    STATE: Notice("aws", 0),
    RESERVATION: Notice("aws", MACHINE_SECONDS["aws"]),
    PREEMPTION: Notice("gcp", MACHINE_SECONDS["gcp"], spot=True),
}
"""EC2's by the words of gpuyard's event rules, and GKE's one."""


def event(word: str, instance: str, account: str, region: str, at: float) -> dict[str, Any]:
    """An event of EC2, as a rule's target receives it."""
    source, kind = EVENTS[word]
    time = written(at)
    return {
        "version": "0",
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{word}/{instance}/{at}")),
        "detail-type": kind,
        "source": source,
        "account": account,
        "time": time,
        "region": region,
        "resources": [f"arn:aws:ec2:{region}:{account}:instance/{instance}"],
        "detail": _detail(word, instance, region, time),
    }


def written(at: float) -> str:
    """Seconds since 1970 as a timestamp of clouds and Kubernetes."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _detail(word: str, instance: str, region: str, time: str) -> dict[str, Any]:
    if word == HEALTH:
        code = "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED"
        return {
            "eventArn": f"arn:aws:health:{region}::event/EC2/{code}/{instance}",
            "service": "EC2",
            "eventTypeCode": code,
            "eventTypeCategory": "scheduledChange",
            "startTime": time,
            "eventDescription": [
                {"language": "en_US", "latestDescription": "The hardware is retired."}
            ],
            "affectedEntities": [{"entityValue": instance}],
        }
    more = {STATE: {"state": "shutting-down"}, REBALANCE: {}}
    return {"instance-id": instance, **more.get(word, {"instance-action": "terminate"})}
