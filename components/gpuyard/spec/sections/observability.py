"""Observability: metrics, alerts, and the targets they are compared with."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard_core.models.values import (
    Address,
    Name,
    NamespaceName,
    Percent,
    PercentRange,
    Positive,
    SpecModel,
    Switch,
    Text,
)

SnsTopic = Annotated[
    str,
    Field(
        strict=True,
        max_length=317,
        pattern=r"^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+$",
    ),
]
LabelText = Annotated[str, Field(strict=True, max_length=317)]


class Prometheus(StrEnum):
    """Which Prometheus: `install` one, the `existing` operator's, the `managed` service of the cloud, or `none`."""

    INSTALL = "install"
    EXISTING = "existing"
    MANAGED = "managed"
    NONE = "none"


class SecretKey(SpecModel):
    """A key of a Secret in the namespace of Prometheus."""

    secret: Name
    """Name of the Secret."""
    key: Text
    """Key of the Secret."""


class Receiver(SpecModel):
    """Where Alertmanager sends alerts; several fields send to several places."""

    slack: SecretKey | None = None
    """Secret with the URL of a Slack webhook. Default: none."""
    channel: Text | None = None
    """Slack channel. Default: that of the webhook."""
    pagerduty: SecretKey | None = None
    """Secret with the routing key of a PagerDuty service. Default: none."""
    webhook: SecretKey | None = None
    """Secret with the URL of a webhook. Default: none."""
    email: Text | None = None
    """Address of an e-mail recipient; needs `smtp`. Default: none."""
    sns: SnsTopic | None = None
    """ARN of an SNS topic, for Amazon Managed Service for Prometheus. Default: none."""


class Smtp(SpecModel):
    """The mail server of Alertmanager."""

    host: Text
    """Host and port: smtp.example.org:587."""
    sender: Text
    """Address of the sender."""
    user: Text | None = None
    """User name. Default: no authentication."""
    password: SecretKey | None = None
    """Secret with the password of the user. Default: none."""


class Alerts(SpecModel):
    """Receivers of alerts by severity, and by the team that owns the workload."""

    critical: Receiver | None = None
    """Receiver of critical alerts. Default: none."""
    warning: Receiver | None = None
    """Receiver of warnings. Default: none."""
    info: Receiver | None = None
    """Receiver of alerts that are only information. Default: none."""
    teams: Annotated[dict[Name, Receiver], Field(max_length=200)] = Field(default_factory=dict)
    """Receivers of all alerts of one team, besides those above: {vision: {slack: …}}. Default: none."""
    smtp: Smtp | None = None
    """Mail server for `email`. Default: none."""


class Observability(SpecModel):
    """Metrics and their retention, dashboards, alerts."""

    prometheus: Prometheus = Prometheus.INSTALL
    """Prometheus of the platform: install, existing (a prometheus-operator in the cluster), managed (the service of
    AWS or Google Cloud) or none. Default: install."""
    prometheus_address: Address | None = None
    """URL of Prometheus. Default: http://prometheus-operated.monitoring.svc:9090."""
    namespace: NamespaceName = "monitoring"
    """Namespace of an existing Prometheus; monitors and rules are created in it. Default: monitoring."""
    labels: Annotated[dict[LabelText, LabelText], Field(max_length=20)] = Field(
        default_factory=dict
    )
    """Labels that an existing Prometheus selects monitors and rules by: {release: prometheus}. Default: none."""
    retention_days: Positive = 15
    """Retention of metrics in days. Default: 15, as in Prometheus."""
    scrape_seconds: Annotated[int, Field(strict=True, ge=1, le=300)] = 15
    """Scrape interval of GPU metrics in seconds. Default: 15."""
    storage_class: Name | None = None
    """Storage class of the installed Prometheus. Default: that of the cluster."""
    storage_gib: Positive | None = None
    """Size of its volume in GiB. Default: sized from the fleet, the scrape interval and the retention."""
    grafana: Switch = False
    """Whether Grafana gets the dashboards of the platform. With install, the chart also installs Grafana, which has
    the licence AGPL-3.0; otherwise your Grafana needs its dashboard sidecar. Default: off."""
    alerts: Alerts | None = None
    """Receivers of alerts. Default: none; Alertmanager displays them."""


class Targets(SpecModel):
    """Service targets; each is measured, displayed and alerted on."""

    utilisation_percent: PercentRange | None = None
    """Target share of GPU time in use, in percent, for example 65..85; expected cost uses the middle.
    Default: none."""
    memory_percent: Percent | None = None
    """Minimum share of GPU memory that a pod should use, in percent, for example 80. Default: none."""
    idle_percent: Percent | None = None
    """Maximum share of allocated GPU time that may be idle, in percent, for example 20. Default: none."""
    wait_p95_minutes: dict[Name, Positive] = Field(default_factory=dict)
    """Maximum 95th percentile of the wait time in minutes, by priority: {research: 120, production:
    10}. Default: none."""
