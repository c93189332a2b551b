"""Observability component: Prometheus or its configuration, rules, monitors and dashboards."""

from typing import NotRequired

import pulumi

from gpuyard.plan.observability.stage import installs_monitoring
from gpuyard.render.observability.dashboards import dashboard_objects
from gpuyard.render.observability.monitoring import monitoring_objects, monitoring_release
from gpuyard.render.observability.monitors import monitor_objects
from gpuyard.resources.component import Component
from gpuyard.resources.part_args import LateValues, Part, PartArgs, read_part, read_stores, sections
from gpuyard.resources.state import spec_without_defaults
from gpuyard_core.names import MONITORING_GROUP

_PART = Part(
    "Observability", ("targets",), required=("pools", "observability"), optional=("stores",)
)


class ObservabilityArgs(PartArgs):
    """Arguments of an Observability: the monitoring of a platform, its pools and teams."""

    targets: NotRequired[sections.Targets]
    """Service targets, which alerts compare with. Default: none."""
    stores: NotRequired[LateValues]
    """The output `stores` of the EksCluster: where to send samples to a managed Prometheus."""


class Observability(Component):
    """Metrics of GPUs and queues: monitors, recording rules, alerts and dashboards.

    With `prometheus: install` it installs kube-prometheus-stack; otherwise a Prometheus Operator must
    run in the cluster. Monitors are in the namespaces of the GPU Operator and Kueue: add the
    components that create them to `depends_on`.
    """

    def __init__(
        self,
        name: str,
        args: ObservabilityArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        proof, values = read_part(_PART, name, args, opts)
        plan = proof.plan
        release = monitoring_release(plan)
        what = f"{name}: the endpoint and region of the managed Prometheus"
        late = read_stores(what, values, release.values if release else (), proof.late_inputs)
        observed = plan.spec.observability
        shown = spec_without_defaults(observed) if observed else {}
        super().__init__(
            "gpuyard:index:Observability",
            name,
            {"platform": plan.name, "observability": shown},
            opts,
            plan,
        )
        if installs_monitoring(plan.spec):
            self._expect(MONITORING_GROUP)
        objects = self._register(monitoring_objects(plan))
        if release is not None:
            chart = self._register_chart(plan, release, objects, late=late)
            self._waits_for = self._after([chart])
        self._register([*monitor_objects(plan), *dashboard_objects(plan)])
        self.register_outputs({})
