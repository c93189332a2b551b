"""Alertmanager: receivers and routes by severity and by team; secrets are references only."""

from collections.abc import Iterator
from typing import Any

from gpuyard.plan.records import ObservabilityPlan, PlatformPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard.spec.sections import Alerts, Receiver, SecretKey, Smtp

RECEIVERS = "gpuyard"
"""The AlertmanagerConfig with the receivers of the platform."""
_NOWHERE = "nowhere"


def routing_object(plan: PlatformPlan, observed: ObservabilityPlan, alerts: Alerts) -> Object:
    """The receivers of the platform: of an installed Alertmanager its global configuration.

    prometheus-operator adds no matcher of a namespace to a global configuration.
    """
    routes = [*_routes(alerts)]
    spec = {
        "route": {
            "receiver": _NOWHERE,
            "groupBy": ["alertname", "namespace", "pool"],
            "groupWait": "30s",
            "groupInterval": "5m",
            "repeatInterval": "12h",
            "routes": [_route(name, label, value) for name, label, value, _ in routes],
        },
        "receivers": [
            {"name": _NOWHERE},
            *(_receiver(name, each, alerts.smtp) for name, _, _, each in routes),
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


def _routes(alerts: Alerts) -> Iterator[tuple[str, str, str, Receiver]]:
    for team, receiver in sorted(alerts.teams.items()):
        yield f"team-{team}", "team", team, receiver
    severities = {"critical": alerts.critical, "warning": alerts.warning, "info": alerts.info}
    for severity, each in severities.items():
        if each is not None:
            yield severity, "severity", severity, each


def _route(receiver: str, label: str, value: str) -> Object:
    matcher = {"name": label, "value": value, "matchType": "="}
    return {"receiver": receiver, "matchers": [matcher], "continue": True}


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
