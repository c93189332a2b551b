"""GPU Operator of a cluster: ours, or one that is there already and must be told what its nodes are to be."""

from gpuyard.catalogue.software.images import ComponentOwner
from gpuyard.findings import Finding, info
from gpuyard.names import MIG_CONFIGMAP, PLUGIN_CONFIGMAP
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud, PlatformSpec


def joins_operator(spec: PlatformSpec) -> bool:
    """Whether the cluster has an operator that is not ours; a simulated one has the platform's."""
    return spec.cloud is not Cloud.SIMULATED and not spec.gpu_operator.install


def config_map_names(spec: PlatformSpec) -> tuple[str, str]:
    """What the MIG manager reads, and the device plugin; beside another's they carry the platform's name."""
    if not joins_operator(spec):
        return MIG_CONFIGMAP, PLUGIN_CONFIGMAP
    return f"{MIG_CONFIGMAP}-{spec.name}", f"{PLUGIN_CONFIGMAP}-{spec.name}"


def check_operator(draft: Draft) -> list[Finding]:
    """Say what an operator that is there must read: it reads one configuration of each kind, of any name."""
    spec = draft.spec
    if not joins_operator(spec) or not any(
        ComponentOwner.OPERATOR.value in pool.node_software.owners.values()
        for pool in draft.valid_pools.values()
        if pool.node_software
    ):
        return []
    mig, plugin = config_map_names(spec)
    return [
        info(
            "operator.existing",
            ("gpu_operator", "install"),
            f"the operator in {spec.gpu_operator.namespace} keeps its values, and nodes are what the plan"
            f" says only when devicePlugin.config.name is {plugin} and migManager.config.name is {mig}; a"
            " preview and `pulumi up` compare these and the others that matter",
        )
    ]
