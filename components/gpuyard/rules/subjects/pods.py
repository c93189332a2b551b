"""Pods inside the many kinds that make them, so that a pod rule is written once."""

from collections.abc import Iterator

from gpuyard.manifests.pods import GPU_PREFIXES, VENDOR, Pod, gpu_requests
from gpuyard.manifests.templates import KINDS, POD_KINDS, Kind, PodsForm, templates_of
from gpuyard.rules.rule import Resource

__all__ = ["GPU_PREFIXES", "POD_KINDS", "VENDOR", "Pod", "gpu_requests", "pods_in", "pods_of"]


def pods_of(resource: Resource) -> Iterator[Pod]:
    """Every pod, or template of pods, that stands in a resource as Kubernetes has it."""
    kind = KINDS.get(resource.group_kind)
    return pods_in(kind, resource) if kind else iter(())


def pods_in(kind: Kind, resource: Resource) -> Iterator[Pod]:
    """The same where it is known of what kind it is."""
    for found in templates_of(kind, resource.properties):
        if not (found.spec and found.written) or found.form is PodsForm.PARTS:
            continue
        inline = found.form is PodsForm.INLINE
        path = found.path if inline else found.path[:-1]
        yield Pod(path, found.metadata, found.spec, inline, found.servers)
