"""Alertmanager: receivers and routes by severity and by team; secrets are references only."""

from collections.abc import Iterator
from typing import Any

from gpuyard.plan.records import ObservabilityPlan, PlatformPlan
from gpuyard.render.objects import Object, managed_object
from gpuyard.spec.sections import Alerts, Receiver, SecretKey, Smtp

RECEIVERS = "gpuyard"
"""The AlertmanagerConfig with the receivers of the platform."""
_NOWHERE = "nowhere"
_SEVERITIES = ("critical", "warning", "info")


def routing_object(plan: PlatformPlan, observed: ObservabilityPlan, alerts: Alerts) -> Object:
    """The receivers of the platform: of an installed Alertmanager its global configuration.

    prometheus-operator adds no matcher of a namespace to a global configuration.
    """
    receivers = dict(_receivers(alerts))
    spec = {
        "route": {
            "receiver": _NOWHERE,
            "groupBy": ["alertname", "namespace", "pool"],
            "groupWait": "30s",
            "groupInterval": "5m",
            "repeatInterval": "12h",
            "routes": [*_team_routes(plan, alerts), *_severity_routes(alerts)],
        },
        "receivers": [
            {"name": _NOWHERE},
            *(_receiver(name, each, alerts.smtp) for name, each in receivers.items()),
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


def _receivers(alerts: Alerts) -> Iterator[tuple[str, Receiver]]:
    for team, receiver in sorted(alerts.teams.items()):
        yield f"team-{team}", receiver
    for severity in _SEVERITIES:
        if receiver := getattr(alerts, severity):
            yield severity, receiver


def _team_routes(plan: PlatformPlan, alerts: Alerts) -> Iterator[Object]:
    """Alerts of a team have its name, or those about the exporter's own series only the namespace of its pods."""
    for name in sorted(alerts.teams):
        namespaces = "|".join(each.name for each in plan.team(name).namespaces)
        yield _route(f"team-{name}", ("team", "=", name))
        of_pods = ("owner", "=", "team"), ("team", "=", ""), ("namespace", "=~", namespaces)
        yield _route(f"team-{name}", *of_pods)


def _severity_routes(alerts: Alerts) -> Iterator[Object]:
    for severity in _SEVERITIES:
        if getattr(alerts, severity):
            yield _route(severity, ("severity", "=", severity))


def _route(receiver: str, *matchers: tuple[str, str, str]) -> Object:
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
