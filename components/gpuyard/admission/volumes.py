"""Volumes are the cluster's: none that a node mounts for whoever writes down an address."""

from collections.abc import Iterator

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Sentence, Slip, Workload
from gpuyard.manifests.fields import items, known, mapping, text

TYPES = (
    *("configMap", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim"),
    *("projected", "secret", "hostPath"),
)
"""What the Pod Security level `restricted` allows, but inline CSI volumes; and what others judge better."""
NAME = "name"
TEMPLATE = ("ephemeral", "volumeClaimTemplate", "spec", "volumeName")
PAST = Sentence(
    "volume {volume} is {type}, which the node mounts itself, past the team's network policy and quotas",
    "claim it: an admin makes a PersistentVolume of it, with the team's claim as its claimRef",
)
BY_NAME = Sentence(
    "{what} {name} takes the PersistentVolume {volume} by its name, whoever it was made for",
    "leave volumeName out; who makes a volume reserves it for a claim by its claimRef",
)


def volumes(workload: Workload, _: TeamParameters) -> Iterator[Slip]:
    """Volumes of types that reach around what holds the team."""
    for pod in workload.pods:
        for index, each in enumerate(items(pod.spec.get("volumes"))):
            volume, path = mapping(each), pod.at("volumes", index)
            name = text(volume.get(NAME))
            for kind in volume:
                if kind != NAME and kind not in TYPES and known(volume[kind]) is not None:
                    yield PAST.slip((*path, kind), volume=name, type=kind)
            inner = mapping(mapping(volume.get(TEMPLATE[0])).get(TEMPLATE[1]))
            if taken := text(mapping(inner.get("spec")).get("volumeName")):
                yield BY_NAME.slip((*path, *TEMPLATE), what="volume", name=name, volume=taken)
