"""The admission requirements as rules, so that lint finds what a team namespace would reject.

A file or a preview defines the requirements of a team if it contains the team's namespace with its
annotations. Files without it are not about a team of gpuyard and are not checked.
"""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard_core.admission import requirements
from gpuyard_core.admission.parameters import TeamParameters, read_parameters
from gpuyard_core.admission.queued import OF_OTHER_PROJECTS, SUSPEND
from gpuyard_core.admission.requirement import Requirement, Workload
from gpuyard_core.manifests.fields import at, is_true, mapping
from gpuyard_core.manifests.pods import Pod
from gpuyard_core.manifests.templates import KINDS
from gpuyard_core.names import ADMISSION_ANNOTATIONS
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Stack, Violation, load_rule
from gpuyard_lint.rules.subjects.pods import pods_in

ADMISSION_KINDS = (
    "Pod",
    "ReplicationController",
    "apps/DaemonSet",
    "apps/Deployment",
    "apps/ReplicaSet",
    "apps/StatefulSet",
    "batch/CronJob",
    "batch/Job",
    *OF_OTHER_PROJECTS,
)
"""Kinds for which the API server enforces them."""
_AS_WRITTEN = {
    name: replace(kind, places=tuple(replace(place, adapter=None) for place in kind.places))
    for name, kind in KINDS.items()
    if name in ADMISSION_KINDS
}
"""The paths of their pods, before other components add fields on creation."""
BELONGINGS = ("PersistentVolumeClaim", "Secret", "Service", "apps/StatefulSet")
"""The requirement on objects other than pods that members create."""


def _rule(requirement: Requirement, kinds: tuple[str, ...] = ADMISSION_KINDS) -> Rule:
    """An admission requirement as a rule."""

    def check(stack: Stack, _: Parameters) -> Iterator[Violation]:
        parameters = parameters_by_namespace(stack)
        for resource in stack.resources_of_kinds(*kinds) if parameters else ():
            mine = parameters.get(resource.namespace)
            # controllers have set fields that members must not set in what the API server returned
            if mine is not None and at(resource.properties, "metadata", "uid") is None:
                for violation in requirement.check(workload(resource), mine):
                    yield replace(violation, resource=resource)

    return load_rule(requirement.id, title=requirement.title, kinds=kinds, check_stack=check)


def parameters_by_namespace(stack: Stack) -> dict[str, TeamParameters]:
    """The requirements of each team namespace, from its annotations."""
    results: dict[str, TeamParameters] = {}
    for each in stack.resources_of_kinds("Namespace"):
        annotations = mapping(at(each.properties, "metadata", "annotations"))
        if any(str(key).startswith(ADMISSION_ANNOTATIONS) for key in annotations):
            results[each.name] = read_parameters(annotations)
    return results


def workload(resource: Resource) -> Workload:
    """A resource with pods, or a pod template, as admission sees it."""
    return Workload(
        kind=resource.group_kind.rpartition("/")[2],
        metadata=mapping(resource.properties, "metadata"),
        pods=_pods(resource),
        jobs_metadata=mapping(at(resource.properties, "spec", "jobTemplate", "metadata")),
        body=resource.properties,
        suspended=any(is_true(at(resource.properties, *path)) for path in SUSPEND),
    )


def _pods(resource: Resource) -> tuple[Pod, ...]:
    written = _AS_WRITTEN.get(resource.group_kind)
    return tuple(pods_in(written, resource)) if written else ()


RULES = (
    _rule(requirements.QUEUED),
    _rule(requirements.PRIVILEGES),
    _rule(requirements.DEVICES),
    _rule(requirements.PLACING),
    _rule(requirements.SOURCES),
    _rule(requirements.GUARANTEED),
    _rule(requirements.OWNED),
    _rule(requirements.TURNS),
    _rule(requirements.VOLUMES),
    _rule(requirements.BELONGINGS, BELONGINGS),
)
