"""Alertmanager: receivers and routes by severity and by team; secrets are references only."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gpuyard.plan.records import ObservabilityPlan, PlatformPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard.spec.sections import Alerts, Receiver, SecretKey, Smtp

RECEIVERS = "gpuyard"
"""The AlertmanagerConfig with the receivers of the platform."""
_NOWHERE = "nowhere"
Matcher = tuple[str, str, str]
"""A label, the operator and the value."""
_SEVERITIES = ("critical", "warning", "info")


def routing_object(plan: PlatformPlan, observed: ObservabilityPlan, alerts: Alerts) -> Object:
    """The receivers of the platform: of an installed Alertmanager its global configuration.

    prometheus-operator adds no matcher of a namespace to a global configuration.
    """
    spec = {
        "route": {
            "receiver": _NOWHERE,
            "groupBy": ["alertname", "namespace", "pool"],
            "groupWait": "30s",
            "groupInterval": "5m",
            "repeatInterval": "12h",
            "routes": [_route(*each) for each in _routes(plan, alerts)],
        },
        "receivers": [
            {"name": _NOWHERE},
            *(_receiver(name, each, alerts.smtp) for name, each in _receivers(alerts)),
        ],
    }
    return managed_object(
        plan.name,
        "monitoring.coreos.com/v1alpha1",
        "AlertmanagerConfig",
        RECEIVERS,
        namespace=observed.namespace,
        labels=observed.labels,
        spec=spec,
    )


def sns_routing(plan: PlatformPlan, alerts: Alerts) -> str:
    """The alert manager definition of Amazon Managed Service for Prometheus; JSON is YAML.

    The service accepts receivers with only a name (terraform-provider-aws, amp/alert_manager_definition_test.go).
    """
    configuration = {
        "route": {
            "receiver": _NOWHERE,
            "group_by": ["alertname", "namespace", "pool"],
            "routes": [
                {
                    "receiver": name,
                    "matchers": [f'{label}{operator}"{value}"' for label, operator, value in of],
                    "continue": True,
                }
                for name, of in _routes(plan, alerts)
            ],
        },
        "receivers": [{"name": _NOWHERE}, *(_sns(*each) for each in _receivers(alerts))],
    }
    return json.dumps({"alertmanager_config": json.dumps(configuration, indent=1)}, indent=1)


def _sns(name: str, receiver: Receiver) -> Object:
    """The region of the topic, which the service requires, is the fourth part of its ARN."""
    if receiver.sns is None:
        return {"name": name}
    region = receiver.sns.split(":")[3]
    topic = {"topic_arn": receiver.sns, "sigv4": {"region": region}, "send_resolved": True}
    return {"name": name, "sns_configs": [topic]}


def _receivers(alerts: Alerts) -> Iterator[tuple[str, Receiver]]:
    for team, receiver in sorted(alerts.teams.items()):
        yield f"team-{team}", receiver
    for severity in _SEVERITIES:
        if receiver := getattr(alerts, severity):
            yield severity, receiver


def _routes(plan: PlatformPlan, alerts: Alerts) -> Iterator[tuple[str, tuple[Matcher, ...]]]:
    """The receivers of teams and of severities, with their matchers.

    Alerts of a team have its name, or those about the exporter's own series only the namespace of its pods.
    """
    for name in sorted(alerts.teams):
        namespaces = "|".join(each.name for each in plan.team(name).namespaces)
        yield f"team-{name}", (("team", "=", name),)
        of_pods = (("owner", "=", "team"), ("team", "=", ""), ("namespace", "=~", namespaces))
        yield f"team-{name}", of_pods
    for severity in _SEVERITIES:
        if getattr(alerts, severity):
            yield severity, (("severity", "=", severity),)


def _route(receiver: str, matchers: Iterable[Matcher]) -> Object:
    listed = [{"name": n, "matchType": t, "value": v} for n, t, v in matchers]
    return {"receiver": receiver, "matchers": listed, "continue": True}


def _receiver(name: str, receiver: Receiver, smtp: Smtp | None) -> Object:
    result: Object = {"name": name}
    if receiver.slack:
        channel = {"channel": receiver.channel} if receiver.channel else {}
        slack = {"apiURL": _key(receiver.slack), "sendResolved": True, **channel}
        result["slackConfigs"] = [slack]
    if receiver.pagerduty:
        result["pagerdutyConfigs"] = [
            {"routingKey": _key(receiver.pagerduty), "sendResolved": True}
        ]
    if receiver.webhook:
        result["webhookConfigs"] = [{"urlSecret": _key(receiver.webhook), "sendResolved": True}]
    if receiver.email and smtp:
        result["emailConfigs"] = [_email(receiver.email, smtp)]
    return result


def _email(recipient: str, smtp: Smtp) -> dict[str, Any]:
    mail: dict[str, Any] = {"to": recipient, "from": smtp.sender, "smarthost": smtp.host}
    if smtp.user:
        mail["authUsername"] = smtp.user
    if smtp.password:
        mail["authPassword"] = _key(smtp.password)
    return mail


def _key(secret: SecretKey) -> Object:
    return {"name": secret.secret, "key": secret.key}
