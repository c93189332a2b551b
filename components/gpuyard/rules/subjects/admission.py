"""The requirements of admission as rules: what a team's namespace refuses is found in a file before.

A file, or a preview, says what a team is held to when the team's namespace is in it, with its annotations.
Files without it are about no team of ours, and nothing is said of them.
"""

from collections.abc import Callable, Iterator

from gpuyard.admission.parameters import TeamParameters, read_parameters
from gpuyard.admission.requirement import Requirement, Workload
from gpuyard.names import ADMISSION_ANNOTATIONS
from gpuyard.rules.rule import Parameters, Resource, Stack, Violation, at, mapping
from gpuyard.rules.subjects.pods import pods_of

HELD_KINDS = (
    "Pod",
    "ReplicationController",
    "apps/DaemonSet",
    "apps/Deployment",
    "apps/ReplicaSet",
    "apps/StatefulSet",
    "batch/CronJob",
    "batch/Job",
    "jobset.x-k8s.io/JobSet",
)
"""What the API server holds to them."""


BELONGINGS = ("PersistentVolumeClaim", "Secret", "Service", "apps/StatefulSet")
"""What it holds to the requirement about what members make beside pods."""


def checked(
    requirement: Requirement, kinds: tuple[str, ...] = HELD_KINDS
) -> Callable[[Stack, Parameters], Iterator[Violation]]:
    """The check of a rule that is a requirement of admission."""

    def check(stack: Stack, _: Parameters) -> Iterator[Violation]:
        parameters = parameters_by_namespace(stack)
        for resource in stack.of(*kinds) if parameters else ():
            if (mine := parameters.get(resource.namespace)) is not None:
                for slip in requirement.slips(workload(resource), mine):
                    yield Violation(slip.path, slip.problem, slip.fix, resource)

    return check


def parameters_by_namespace(stack: Stack) -> dict[str, TeamParameters]:
    """What each namespace of a team is held to, as its annotations say."""
    found: dict[str, TeamParameters] = {}
    for each in stack.of("Namespace"):
        annotations = mapping(at(each.properties, "metadata", "annotations"))
        if any(str(key).startswith(ADMISSION_ANNOTATIONS) for key in annotations):
            found[each.name] = read_parameters(annotations)
    return found


def workload(resource: Resource) -> Workload:
    """A resource that has or makes pods, as admission looks at it."""
    return Workload(
        kind=resource.group_kind.rpartition("/")[2],
        metadata=mapping(resource.properties.get("metadata")),
        pods=tuple(pods_of(resource)),
        jobs_metadata=mapping(at(resource.properties, "spec", "jobTemplate", "metadata")),
        body=resource.properties,
    )
