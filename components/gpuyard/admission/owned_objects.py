"""What members make beside pods opens nothing: no address, no token that lasts, no volume of others."""

from collections.abc import Iterator

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Violation, ViolationTemplate, Workload
from gpuyard.admission.volumes import BY_NAME
from gpuyard.manifests.fields import items, mapping, text

TOKEN_TYPE = "kubernetes.io/service-account-token"  # noqa: S105  the name of a type
EXTERNAL = ViolationTemplate(
    "with externalIPs this Service gets what the nodes send to {address}, whoever has that address",
    "remove externalIPs; who is outside comes in by what the platform's admins set up",
)
TOKEN = ViolationTemplate(
    "a Secret of this type is a token of a service account that never expires",
    "let pods mount a token of their own: a projected volume with serviceAccountToken",
)
CLAIM = "claim"


def check_owned_objects(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """What is wrong with a Service, a Secret, a claim or claims of a StatefulSet."""
    spec = mapping(workload.body.get("spec"))
    match workload.kind:
        case "Service":
            for index, address in enumerate(items(spec.get("externalIPs"))):
                yield EXTERNAL.violation(("spec", "externalIPs", index), address=text(address))
        case "Secret":
            if text(workload.body.get("type")) == TOKEN_TYPE:
                yield TOKEN.violation(("type",))
        case "PersistentVolumeClaim":
            name = text(workload.metadata.get("name"))
            if volume := text(spec.get("volumeName")):
                yield BY_NAME.violation(
                    ("spec", "volumeName"), what=CLAIM, name=name, volume=volume
                )
        case _:
            for index, each in enumerate(items(spec.get("volumeClaimTemplates"))):
                template = mapping(each)
                name = text(mapping(template.get("metadata")).get("name"))
                if volume := text(mapping(template.get("spec")).get("volumeName")):
                    path = ("spec", "volumeClaimTemplates", index, "spec", "volumeName")
                    yield BY_NAME.violation(path, what=CLAIM, name=name, volume=volume)
