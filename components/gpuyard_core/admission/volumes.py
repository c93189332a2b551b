"""Volume types: none whose address the author of a pod chooses and the node mounts."""

from collections.abc import Iterator

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.manifests.fields import items, known_value, mapping, text
from gpuyard_core.manifests.resources import Violation

TYPES = (
    *("configMap", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim"),
    *("projected", "secret", "hostPath"),
)
"""Types that the Pod Security level `restricted` allows, and types that other requirements check."""
INLINE = "csi"
"""Also allowed by `restricted`: the platform lists the drivers of inline volumes."""
NAME = "name"
TEMPLATE = ("ephemeral", "volumeClaimTemplate", "spec", "volumeName")
PAST = ViolationTemplate(
    "volume {volume} is of type {type}, which the node mounts outside the team's network policy "
    "and quotas",
    "use a claim: an administrator creates a PersistentVolume with the team's claim as its "
    "claimRef",
)
OF_DRIVER = ViolationTemplate(
    "volume {volume} uses driver {driver}, which can mount any address outside the team's network "
    "policy",
    "use a claim, or list the driver in admission.csi_drivers if it checks what the pod may access",
)
BY_NAME = ViolationTemplate(
    "{what} {name} binds PersistentVolume {volume} by name, even one created for another team",
    "remove volumeName; administrators reserve a volume for a claim by its claimRef",
)


def check_volumes(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Volumes whose type bypasses the isolation of the team."""
    for pod in workload.pods:
        for index, each in enumerate(items(pod.spec.get("volumes"))):
            volume, path = mapping(each), pod.field_path("volumes", index)
            name = text(volume.get(NAME))
            for kind in volume:
                if kind in {NAME, *TYPES} or known_value(volume[kind]) is None:
                    continue
                driver = text(mapping(volume[kind]).get("driver"))
                if kind != INLINE:
                    yield PAST.fill_in((*path, kind), volume=name, type=kind)
                elif driver not in parameters.csi_drivers:
                    yield OF_DRIVER.fill_in((*path, kind, "driver"), volume=name, driver=driver)
            inner = mapping(mapping(volume.get(TEMPLATE[0])).get(TEMPLATE[1]))
            if volume_name := text(mapping(inner.get("spec")).get("volumeName")):
                yield BY_NAME.fill_in(
                    (*path, *TEMPLATE), what="volume", name=name, volume=volume_name
                )
