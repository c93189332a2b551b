"""Register a Helm chart as one resource, named like plain objects.

`helm.v3.Release` installs with Helm itself: hooks run, and an upgrade changes custom resource
definitions before the controller. Helm does not wait; resources that need the controller wait for
its Service (docs/decisions/0013-a-release-for-kueue.md).
"""

from __future__ import annotations

from typing import Any

import pulumi

from gpuyard.render.charts import Release
from gpuyard.sdk_classes import sdk_version

RELEASE_TYPE = "kubernetes:helm.sh/v3:Release"


def register_release(
    parent: pulumi.Resource, release: Release, opts: pulumi.ResourceOptions | None = None
) -> pulumi.CustomResource:
    """Register a release under `parent`, named as an object: `<parent>:Release:<namespace>/<name>`."""
    inputs: dict[str, Any] = {
        "name": release.name,
        "namespace": release.namespace,
        "chart": release.chart,
        "values": dict(release.values),
        "skipAwait": True,
    }
    if release.repository:
        inputs["repositoryOpts"] = {"repo": release.repository}
    if release.is_remote:  # a local chart folder has only one version
        inputs["version"] = release.version
    ours = pulumi.ResourceOptions(version=sdk_version("kubernetes"))
    merged_opts = pulumi.ResourceOptions.merge(ours, opts)
    merged_opts = pulumi.ResourceOptions.merge(merged_opts, pulumi.ResourceOptions(parent=parent))
    name = f"{parent.pulumi_resource_name}:Release:{release.namespace}/{release.name}"
    return pulumi.CustomResource(RELEASE_TYPE, name, inputs, merged_opts)
