"""The Kubernetes provider for a platform: which cluster it is, and who wins a conflict."""

import pulumi

from gpuyard.resources.objects import provider_version


class ClusterProvider(pulumi.ProviderResource):
    """A kubernetes provider that knows its cluster by a name, and owns what the platform owns.

    Without an identifier the provider tells clusters apart by their kubeconfig, and a renewed
    certificate would replace every object; with one, only another name does (pulumi-kubernetes
    `clusterIdentifier`). A field of ours that somebody edits by hand is ours again at the next `up`:
    without `enablePatchForce` server-side apply would stop at the conflict. A changed ConfigMap is changed
    where it is: the provider's default is to delete it first, and node agents read ours all the time.
    """

    def __init__(
        self,
        name: str,
        cluster_identifier: pulumi.Input[str],
        kubeconfig: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        # A provider's inputs are text; the SDK sends what is not as JSON (pulumi_kubernetes/provider.py).
        props: dict[str, pulumi.Input[str]] = {
            "clusterIdentifier": cluster_identifier,
            "enableConfigMapMutable": "true",
            "enablePatchForce": "true",
        }
        if kubeconfig is not None:
            props["kubeconfig"] = pulumi.Output.secret(kubeconfig)
        versioned = pulumi.ResourceOptions(version=provider_version())
        super().__init__("kubernetes", name, props, pulumi.ResourceOptions.merge(versioned, opts))
