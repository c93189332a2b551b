"""Register a Helm chart as one resource, in the manner of plain objects.

`helm.v3.Release` lets Helm itself install: hooks run, an upgrade changes custom resource definitions before the
controller, and the release is done when the controller is ready (docs/decisions/0014-a-release-for-kueue.md).
"""

from __future__ import annotations

import pulumi

from gpuyard.plan.charts import is_remote
from gpuyard.render.charts import Release
from gpuyard.resources.objects import provider_version

TOKEN = "kubernetes:helm.sh/v3:Release"
TIMEOUT_SECONDS = 600
"""A controller's image has to be pulled first, often onto nodes that have to come first."""


def register_release(
    parent: pulumi.Resource, release: Release, opts: pulumi.ResourceOptions | None = None
) -> pulumi.CustomResource:
    """Register a release under `parent`, called as an object would be: `<parent>:Release:<namespace>/<name>`."""
    inputs = {
        "name": release.name,
        "namespace": release.namespace,
        "chart": release.chart,
        "values": dict(release.values),
        "timeout": TIMEOUT_SECONDS,
    }
    if is_remote(release.chart):  # a folder has the version that it has
        inputs["version"] = release.version
    ours = pulumi.ResourceOptions(version=provider_version())
    merged = pulumi.ResourceOptions.merge(ours, opts)
    merged = pulumi.ResourceOptions.merge(merged, pulumi.ResourceOptions(parent=parent))
    name = f"{parent.pulumi_resource_name}:Release:{release.namespace}/{release.name}"
    return pulumi.CustomResource(TOKEN, name, inputs, merged)
