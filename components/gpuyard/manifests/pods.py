"""A pod as it is written, with what it asks of GPUs: for rules and for admission alike."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.findings import Path
from gpuyard.manifests.fields import items, known_value, mapping, text
from gpuyard.manifests.quantities import quantity

CONTAINER_GROUPS = ("initContainers", "containers", "ephemeralContainers")
"""Where a pod has containers; what comes last may not ask for resources."""
VENDOR = "nvidia.com/"
GPU_PREFIXES = ("nvidia.com/gpu", "nvidia.com/mig-", "deviceclass.resource.kubernetes.io/")
"""Extended resources that are GPUs or parts of them; the last, devices that Kubernetes claims."""
_OF_ARGO = frozenset({"container", "script"})
"""The one container of a step of Argo Workflows, which names it itself."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod, or the template of pods, inside a resource."""

    path: Path
    """Where it stands; its `spec` and `metadata` are below."""
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]
    inline: bool = False
    """Whether the fields of its spec stand at the path itself, among others."""
    container_fields: tuple[str, ...] = ()
    """Fields of the spec that are containers under a name of their own."""
    inherited_volumes: tuple[tuple[Path, Mapping[str, Any]], ...] = ()
    """Volumes of what it stands in, with their paths: it has those that it mounts, unless one is its own."""

    def at(self, *steps: str | int) -> Path:
        """The path of something in the pod's spec."""
        return (*self.path, *steps) if self.inline else (*self.path, "spec", *steps)

    def containers(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """Every container, init and ephemeral ones too, with its path."""
        for group in CONTAINER_GROUPS:
            if (listed := self.spec.get(group)) is not None:  # most pods have one group
                for index, container in enumerate(items(listed)):
                    yield self.at(group, index), mapping(container)
        for server in self.container_fields:
            yield self.at(server), mapping(self.spec.get(server))

    def volumes(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """Every volume, with its path."""
        own = [mapping(each) for each in items(self.spec.get("volumes"))]
        for index, volume in enumerate(own):
            yield self.at("volumes", index), volume
        if self.inherited_volumes:
            yield from self._lent({text(volume.get("name")) for volume in own})

    def _lent(self, own: set[str]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        mounted = {
            text(mapping(mount).get("name"))
            for _, container in self.containers()
            for mount in items(container.get("volumeMounts"))
        }
        for path, volume in self.inherited_volumes:
            if text(volume.get("name")) in mounted - own:
                yield path, volume

    def gpus(self) -> dict[str, float]:
        """What the pod asks of each GPU resource, all containers together."""
        totals: dict[str, float] = {}
        for _, container in self.containers():
            for resource, count in gpu_requests(container).items():
                totals[resource] = totals.get(resource, 0) + count
        return totals

    @property
    def claims_devices(self) -> bool:
        """True when it asks through dynamic resource allocation, where no resource is counted."""
        return bool(items(self.spec.get("resourceClaims")))


def container_name(path: Path, container: Mapping[str, Any]) -> str:
    """The name of a container; one without stands alone in a template, and is called so once it runs."""
    return text(container.get("name")) or ("main" if path[-1] in _OF_ARGO else str(path[-1]))


def gpu_requests(container: Mapping[str, Any]) -> dict[str, float]:
    """What a container asks of each GPU resource; limits say it, requests must be the same."""
    resources = mapping(container.get("resources"))
    both = {**mapping(resources.get("requests")), **mapping(resources.get("limits"))}
    return {
        key: float(quantity(known_value(value)) or 0)
        for key, value in both.items()
        # what people write is a key of any type
        if str(key).startswith(GPU_PREFIXES) and known_value(value) is not None
    }
