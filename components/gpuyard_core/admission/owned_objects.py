"""Requirements for other objects of a team: no external IPs, permanent tokens or volumes of others."""

from collections.abc import Iterator

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.admission.volumes import BY_NAME
from gpuyard_core.manifests.fields import items, mapping, text
from gpuyard_core.manifests.resources import Violation

TOKEN_TYPE = "kubernetes.io/service-account-token"  # noqa: S105  the name of a type
EXTERNAL = ViolationTemplate(
    "externalIPs makes this Service receive the cluster's traffic to {address}",
    "remove externalIPs; ask the platform administrators for an ingress from outside",
)
TOKEN = ViolationTemplate(
    "a Secret of this type holds a service account token that never expires",
    "mount a short-lived token in the pod: a projected volume with serviceAccountToken",
)
CLAIM = "claim"


def check_non_pod_objects(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """Violations of a Service, a Secret, a claim, or the claims of a StatefulSet."""
    spec = mapping(workload.body.get("spec"))
    match workload.kind:
        case "Service":
            for index, address in enumerate(items(spec.get("externalIPs"))):
                yield EXTERNAL.fill_in(("spec", "externalIPs", index), address=text(address))
        case "Secret":
            if text(workload.body.get("type")) == TOKEN_TYPE:
                yield TOKEN.fill_in(("type",))
        case "PersistentVolumeClaim":
            name = text(workload.metadata.get("name"))
            if volume := text(spec.get("volumeName")):
                yield BY_NAME.fill_in(("spec", "volumeName"), what=CLAIM, name=name, volume=volume)
        case _:
            for index, each in enumerate(items(spec.get("volumeClaimTemplates"))):
                template = mapping(each)
                name = text(mapping(template.get("metadata")).get("name"))
                if volume := text(mapping(template.get("spec")).get("volumeName")):
                    path = ("spec", "volumeClaimTemplates", index, "spec", "volumeName")
                    yield BY_NAME.fill_in(path, what=CLAIM, name=name, volume=volume)
