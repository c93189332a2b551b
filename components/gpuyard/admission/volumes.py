"""Volumes are the cluster's: none that a node mounts for whoever writes down an address."""

from collections.abc import Iterator

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Violation, ViolationTemplate, Workload
from gpuyard.manifests.fields import items, known_value, mapping, text

TYPES = (
    *("configMap", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim"),
    *("projected", "secret", "hostPath"),
)
"""What the Pod Security level `restricted` allows, and what others judge better."""
INLINE = "csi"
"""Allowed by `restricted` as well: whose volumes may be had so is the platform's to say."""
NAME = "name"
TEMPLATE = ("ephemeral", "volumeClaimTemplate", "spec", "volumeName")
PAST = ViolationTemplate(
    "volume {volume} is {type}, which the node mounts itself, past the team's network policy and quotas",
    "claim it: an admin makes a PersistentVolume of it, with the team's claim as its claimRef",
)
OF_DRIVER = ViolationTemplate(
    "volume {volume} is of the driver {driver}, which may mount any address past the team's network policy",
    "claim it, or have the driver listed in admission.csi_drivers where it asks for what the pod may have",
)
BY_NAME = ViolationTemplate(
    "{what} {name} takes the PersistentVolume {volume} by its name, whoever it was made for",
    "leave volumeName out; who makes a volume reserves it for a claim by its claimRef",
)


def check_volumes(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Volumes of types that reach around what holds the team."""
    for pod in workload.pods:
        for index, each in enumerate(items(pod.spec.get("volumes"))):
            volume, path = mapping(each), pod.at("volumes", index)
            name = text(volume.get(NAME))
            for kind in volume:
                if kind in {NAME, *TYPES} or known_value(volume[kind]) is None:
                    continue
                driver = text(mapping(volume[kind]).get("driver"))
                if kind != INLINE:
                    yield PAST.violation((*path, kind), volume=name, type=kind)
                elif driver not in parameters.csi_drivers:
                    yield OF_DRIVER.violation((*path, kind, "driver"), volume=name, driver=driver)
            inner = mapping(mapping(volume.get(TEMPLATE[0])).get(TEMPLATE[1]))
            if volume_name := text(mapping(inner.get("spec")).get("volumeName")):
                yield BY_NAME.violation(
                    (*path, *TEMPLATE), what="volume", name=name, volume=volume_name
                )
