"""GPU Operator of a cluster: gpuyard's, or an existing one that you must configure."""

from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard_core.catalogue.software.images import ComponentOwner
from gpuyard_core.findings import Diagnostic, info
from gpuyard_core.names import COUNTERS_CONFIGMAP, MIG_CONFIGMAP, PLUGIN_CONFIGMAP


def joins_operator(spec: PlatformSpec) -> bool:
    """Whether gpuyard uses an existing operator; a simulated cluster includes its own."""
    return spec.cloud is not Cloud.SIMULATED and not spec.gpu_operator.install


def config_map_names(spec: PlatformSpec) -> tuple[str, str]:
    """ConfigMaps of MIG manager and device plugin; with the platform's name if existing."""
    return _own_name(spec, MIG_CONFIGMAP), _own_name(spec, PLUGIN_CONFIGMAP)


def counters_config_map(spec: PlatformSpec) -> str:
    """The ConfigMap of the DCGM exporter; with the platform's name if the operator is an existing one."""
    return _own_name(spec, COUNTERS_CONFIGMAP)


def _own_name(spec: PlatformSpec, name: str) -> str:
    return f"{name}-{spec.name}" if joins_operator(spec) else name


def check_operator(draft: Draft) -> list[Diagnostic]:
    """Report what an existing operator must read: one ConfigMap of each kind, of any name."""
    spec = draft.spec
    if not joins_operator(spec) or not any(
        ComponentOwner.OPERATOR.value in pool.node_software.owners.values()
        for pool in draft.valid_pools.values()
        if pool.node_software
    ):
        return []
    mig, plugin = config_map_names(spec)
    counters = (
        f", dcgmExporter.config.name to {counters_config_map(spec)}" if draft.observability else ""
    )
    return [
        info(
            "operator.existing",
            ("gpu_operator", "install"),
            f"gpuyard does not change the GPU Operator in {spec.gpu_operator.namespace}: set"
            f" devicePlugin.config.name to {plugin}{counters} and migManager.config.name to {mig}, or nodes differ from"
            " the plan. Each preview and `pulumi up` compares these values and the others that the plan needs",
        )
    ]
