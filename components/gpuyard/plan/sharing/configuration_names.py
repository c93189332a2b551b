"""Names of the node agents' configurations: another name where another thing stands under it.

The MIG manager acts on a node label that changes, never on a ConfigMap that does, and so does the device
plugin. A layout that stays keeps its name, whatever order the stack file has it in.
"""

from gpuyard.plan.digests import short_digest
from gpuyard.plan.sharing.sharing import SharedGpus

_APART = "."
"""No name of a pool has one, so no two pools share a configuration's name."""


def mig_config_name(pool: str, gpus: SharedGpus) -> str | None:
    """Of the layout of each GPU; None where no MIG manager cuts any."""
    layouts = () if gpus.is_gke_managed else gpus.layouts
    cut = {gpu: sorted(layout.counts.items()) for layout in layouts for gpu in layout.gpus}
    return f"{pool}{_APART}{short_digest(sorted(cut.items()))}" if cut else None


def plugin_config_name(pool: str, gpus: SharedGpus) -> str:
    """Of what is shared, and how; the pool's own where GPUs are whole for the operator."""
    if gpus.is_gke_managed or (not gpus.layouts and gpus.replicas == 1):
        return pool
    resources = sorted(each.resource for each in gpus.advertised)
    return f"{pool}{_APART}{short_digest(gpus.method.value, gpus.replicas, resources)}"
