"""Delivery of events by EventBridge: to queues that a rule targets and whose policy allows it.

Supported patterns are those in use for instances: lists of allowed values, and trees of these.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from testbed.plugins.cloud.rules.looking import items, text
from testbed.plugins.cloud.service.ties import Resource

RULE, TARGET = "aws:cloudwatch/eventRule:EventRule", "aws:cloudwatch/eventTarget:EventTarget"
QUEUE, POLICY = "aws:sqs/queue:Queue", "aws:sqs/queuePolicy:QueuePolicy"
_SENDS = frozenset({"sqs:SendMessage", "sqs:*", "SQS:*", "SQS:SendMessage", "*"})
_SENDER = "events.amazonaws.com"


def queues_of(event: Mapping[str, Any], existing: Iterable[Resource]) -> list[str]:
    """Ids of the queues that receive the event, each once."""
    blocked = list(existing)
    rules = [each for each in blocked if each.kind == RULE and _takes(each, event)]
    results = [
        queue.id
        for target in blocked
        if target.kind == TARGET and any(target.inputs["rule"] in rule.names for rule in rules)
        for queue in blocked
        if queue.kind == QUEUE
        and target.inputs["arn"] in queue.names
        and _may_be_sent(queue, blocked)
    ]
    return list(dict.fromkeys(results))


def _takes(rule: Resource, event: Mapping[str, Any]) -> bool:
    pattern = text(rule.inputs, "eventPattern")
    on = text(rule.inputs, "state") != "DISABLED" and rule.inputs.get("isEnabled") is not False
    return on and bool(pattern) and _matches(json.loads(pattern), event)


def _matches(pattern: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    for key, expected in pattern.items():
        has = event.get(key)
        if isinstance(expected, Mapping):
            if not isinstance(has, Mapping) or not _matches(expected, has):
                return False
            continue
        if any(not isinstance(each, str | int | bool) for each in expected):
            raise ValueError(f"this fake does not support content filters in a pattern: {expected}")
        if not any(each in expected for each in (has if isinstance(has, list) else [has])):
            return False
    return True


def _may_be_sent(queue: Resource, existing: Iterable[Resource]) -> bool:
    """[SQS] Only its owner may send to a queue without a policy that allows more; EventBridge uses TLS."""
    messages = [
        statement
        for each in existing
        if each.kind == POLICY and each.inputs["queueUrl"] in queue.names
        for statement in items(json.loads(each.inputs["policy"]), "Statement")
        if _is_about(statement, queue)
    ]
    denied = any(s["Effect"] == "Deny" and not s.get("Condition") for s in messages)
    return not denied and any(s["Effect"] == "Allow" for s in messages)


def _is_about(statement: Mapping[str, Any], queue: Resource) -> bool:
    principal = statement.get("Principal")
    who = (
        _listed(principal.get("Service")) if isinstance(principal, Mapping) else _listed(principal)
    )
    return (
        bool({"*", _SENDER} & set(who))
        and bool(_SENDS & set(_listed(statement.get("Action"))))
        and bool({"*", *queue.names} & set(_listed(statement.get("Resource"))))
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
