"""The Kubernetes provider for a platform: which cluster it is, and who wins a conflict."""

import pulumi

from gpuyard.names import SIMULATED_CONTEXT
from gpuyard.plan.records import PlatformPlan
from gpuyard.resources.diagnosis.hooks import hooks_of
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.errors import PlatformRejected, no_context
from gpuyard.resources.objects import provider_version
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import Apply


class ClusterProvider(pulumi.ProviderResource):
    """A kubernetes provider that knows its cluster by a name, and owns what the platform owns.

    Without an identifier the provider tells clusters apart by their kubeconfig, and a renewed
    certificate would replace every object; with one, only another name does (pulumi-kubernetes
    `clusterIdentifier`). A field of ours that somebody edits by hand is ours again at the next `up`:
    without `enablePatchForce` server-side apply would stop at the conflict. A changed ConfigMap is changed
    where it is: the provider's default is to delete it first, and node agents read ours all the time.
    """

    error_hooks: pulumi.ResourceHookBinding | None
    """Hooks that say more of an object that can't be made, or will not go, and wait for kinds that `brings`
    names; None where there are none."""
    kubectl: Kubectl | None
    """Who looks at the cluster for what a person should know; None where there is nobody to tell."""
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
        """A kubeconfig without a `credential` in it is not hidden."""
        # A provider's inputs are text; the SDK sends what is not as JSON (pulumi_kubernetes/provider.py).
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
        versioned = pulumi.ResourceOptions(version=provider_version())
        super().__init__("kubernetes", name, props, pulumi.ResourceOptions.merge(versioned, opts))
        self.chart_api_groups = set()
        # What is only written to a folder meets nobody.
        kubectl = Kubectl(kubeconfig, context)
        self.error_hooks = (
            None if render_to is not None else hooks_of(name, kubectl, self.chart_api_groups)
        )
        self.kubectl = kubectl if self.error_hooks is not None else None


def provider_of(
    plan: PlatformPlan,
    name: str = "cluster",
    render_to: str | None = None,
    opts: pulumi.ResourceOptions | None = None,
) -> ClusterProvider | None:
    """The provider that a stack file asks for: a context of the kubeconfig, or a folder of manifests.

    None in a cloud: a Platform has its cluster below it, and finds the way into that one itself.
    `cluster.existing` names the kubeconfig's context on a cluster of your own; a simulated platform uses the
    context that only kubeconfigs of simulated clusters have. With `apply: render` nothing is sent anywhere:
    `render_to` (by default `rendered/<platform>`) receives a file for each object.

    Raises:
        PlatformRejected: the spec names no cluster.
    """
    existing_cluster = plan.spec.cluster.existing if plan.spec.cluster is not None else None
    identifier = existing_cluster or plan.name
    if plan.spec.apply is Apply.RENDER:
        folder = render_to or f"rendered/{plan.name}"
        return ClusterProvider(name, identifier, opts=opts, render_to=folder)
    if plan.cloud in {Cloud.AWS, Cloud.GCP}:
        return None
    context = existing_cluster if plan.cloud is Cloud.NONE else SIMULATED_CONTEXT
    if context is None:
        raise PlatformRejected(f"platform {plan.name}", [no_context()])
    return ClusterProvider(name, identifier, opts=opts, context=context)
