"""The Kubernetes provider of a platform: cluster identity and conflict resolution."""

import pulumi
import pulumi_kubernetes
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor

from gpuyard.plan.records import PlatformPlan
from gpuyard.resources.diagnosis.hooks import hooks_of
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.errors import PlatformRejected
from gpuyard.sdk_classes import sdk_version
from gpuyard.spec.late_inputs import is_late_input
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import Apply
from gpuyard_core.findings import Fix, error
from gpuyard_core.names import SIMULATED_CONTEXT


class ClusterProvider(pulumi_kubernetes.Provider):
    """A Kubernetes provider that identifies its cluster by name and owns the platform's fields.

    Without an identifier the provider tells clusters apart by their kubeconfig, and a renewed
    certificate would replace every object; with one, only another name does (pulumi-kubernetes
    `clusterIdentifier`). The next `up` resets a field of gpuyard that was edited manually: without
    `enablePatchForce` server-side apply would fail with a conflict. A changed ConfigMap is updated
    in place: the provider's default is to delete it first, but node agents read it continuously.
    """

    error_hooks: pulumi.ResourceHookBinding | None
    """Hooks that add a diagnosis when creation or deletion of an object fails, and wait for kinds
    of `chart_api_groups`; None if the engine supports none.
    """
    kubectl: Kubectl | None
    """Read access to the cluster for diagnoses and warnings; None if manifests are only rendered."""
    chart_api_groups: set[str]
    """API groups whose kinds come with a chart that is installed through this provider."""

    def __init__(
        self,
        name: str,
        cluster_identifier: pulumi.Input[str],
        kubeconfig: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        *,
        context: str | None = None,
        render_to: str | None = None,
        credential: bool = True,
    ) -> None:
        """`credential`: whether the kubeconfig contains a credential and must be a secret."""
        # The constructor of the SDK's class is skipped: it would write KUBECONFIG and other variables
        # of the environment into the state. Inputs of a provider are strings; the SDK sends other
        # types as JSON (pulumi_kubernetes/provider.py).
        props: dict[str, pulumi.Input[str]] = {
            "clusterIdentifier": cluster_identifier,
            "enableConfigMapMutable": "true",
            "enablePatchForce": "true",
        }
        if kubeconfig is not None:
            props["kubeconfig"] = pulumi.Output.secret(kubeconfig) if credential else kubeconfig
        if context is not None:
            props["context"] = context
        if render_to is not None:
            props["renderYamlToDirectory"] = render_to
        versioned = pulumi.ResourceOptions(version=sdk_version("kubernetes"))
        merged_opts = pulumi.ResourceOptions.merge(versioned, opts)
        pulumi.ProviderResource.__init__(self, "kubernetes", name, props, merged_opts)
        self.chart_api_groups = set()
        # Rendered manifests and unit tests have no cluster to diagnose.
        kubectl = Kubectl(kubeconfig, context)
        self.error_hooks = (
            None
            if render_to is not None or is_stock_mock()
            else hooks_of(name, kubectl, self.chart_api_groups)
        )
        self.kubectl = kubectl if self.error_hooks is not None else None


def names_cluster(plan: PlatformPlan) -> bool:
    """Whether `provider_of` returns a provider: the plan names a cluster outside the clouds, or a folder."""
    existing = plan.spec.cluster.existing if plan.spec.cluster is not None else None
    if plan.spec.apply is Apply.RENDER:
        return True
    if plan.provider.cluster_component:
        return False
    return plan.simulated or (existing is not None and not is_late_input(existing))


def is_stock_mock() -> bool:
    """Whether the test of a user mocks the engine with Pulumi's own monitor, which computes no outputs."""
    return type(get_monitor()) is MockMonitor


def provider_of(
    plan: PlatformPlan,
    name: str = "cluster",
    render_to: str | None = None,
    opts: pulumi.ResourceOptions | None = None,
) -> ClusterProvider | None:
    """The provider of a stack file: a context of the kubeconfig, or a manifest folder.

    None in a cloud: a Platform contains its cluster and derives the access to it.
    `cluster.existing` names the kubeconfig's context on a cluster of your own; a simulated platform
    uses the context that only kubeconfigs of simulated clusters have. With `apply: render` nothing
    is sent anywhere: `render_to` (by default `rendered/<platform>`) receives a file for each
    object.

    Raises:
        PlatformRejected: the spec names no cluster.
    """
    existing_cluster = plan.spec.cluster.existing if plan.spec.cluster is not None else None
    identifier = existing_cluster or plan.name
    if plan.spec.apply is Apply.RENDER:
        folder = render_to or f"rendered/{plan.name}"
        return ClusterProvider(name, identifier, opts=opts, render_to=folder)
    if plan.provider.cluster_component:
        return None
    context = existing_cluster if plan.cloud is Cloud.NONE else SIMULATED_CONTEXT
    if context is None:
        finding = error(
            "args.cluster",
            ("platform", "cluster", "existing"),
            "the platform names no cluster; the kubeconfig's current context is never a default",
            given="no cluster.existing",
            allowed="a context that `kubectl config get-contexts` lists",
            fix=Fix(message="set cluster: {existing: CONTEXT}"),
        )
        raise PlatformRejected(f"platform {plan.name}", [finding])
    return ClusterProvider(name, identifier, opts=opts, context=context)
