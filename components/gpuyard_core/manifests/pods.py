"""A pod spec with its GPU requests, for rules and for admission."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, known_value, mapping, text
from gpuyard_core.manifests.quantities import quantity

CONTAINER_GROUPS = ("initContainers", "containers", "ephemeralContainers")
"""Where a pod has containers; those of the last field may not request resources."""
VENDOR = "nvidia.com/"
GPU_PREFIXES = ("nvidia.com/gpu", "nvidia.com/mig-", "deviceclass.resource.kubernetes.io/")
"""Extended resources that are GPUs or parts of them; the last means devices of resource claims."""
_OF_ARGO = frozenset({"container", "script"})
"""The only container of an Argo Workflows step, which Argo names."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node: pods need a toleration for it."""

    key: str
    value: str
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod, or a pod template, inside a resource."""

    path: Path
    """The path of the pod; `spec` and `metadata` are below it."""
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]
    inline: bool = False
    """Whether the fields of the pod spec are at the path itself, among other fields."""
    container_fields: tuple[str, ...] = ()
    """Fields of the spec that hold one container each, under their own name."""
    inherited_volumes: tuple[tuple[Path, Mapping[str, Any]], ...] = ()
    """Volumes of the enclosing object, with their paths; the pod has those it mounts and does not
    define."""

    def field_path(self, *steps: str | int) -> Path:
        """The path of a field in the pod spec."""
        return (*self.path, *steps) if self.inline else (*self.path, "spec", *steps)

    def containers(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """Every container, including init and ephemeral containers, with its path."""
        for group in CONTAINER_GROUPS:
            if (listed := self.spec.get(group)) is not None:  # most pods have one group
                for index, container in enumerate(items(listed)):
                    yield self.field_path(group, index), mapping(container)
        for server in self.container_fields:
            yield self.field_path(server), mapping(self.spec.get(server))

    def volumes(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """Every volume, with its path."""
        own = [mapping(each) for each in items(self.spec.get("volumes"))]
        for index, volume in enumerate(own):
            yield self.field_path("volumes", index), volume
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
        """The amount of each GPU resource that all containers of the pod request together."""
        totals: dict[str, float] = {}
        for _, container in self.containers():
            for resource, count in gpu_requests(container).items():
                totals[resource] = totals.get(resource, 0) + count
        return totals

    @property
    def claims_devices(self) -> bool:
        """Whether the pod uses dynamic resource allocation, where no resource is counted."""
        return bool(items(self.spec.get("resourceClaims")))


def container_name(path: Path, container: Mapping[str, Any]) -> str:
    """The name of a container; a template's only container may have none until run time."""
    return text(container.get("name")) or ("main" if path[-1] in _OF_ARGO else str(path[-1]))


def gpu_requests(container: Mapping[str, Any]) -> dict[str, float]:
    """The amount of each GPU resource that a container requests, read from its limits."""
    resources = mapping(container.get("resources"))
    both = {**mapping(resources.get("requests")), **mapping(resources.get("limits"))}
    return {
        key: float(quantity(known_value(value)) or 0)
        for key, value in both.items()
        # a key in a manifest can have any type
        if str(key).startswith(GPU_PREFIXES) and known_value(value) is not None
    }
