"""Tenants of a stack: namespaces with a claim on GPUs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpuyard_core.manifests.fields import at, items, mapping, mappings, number, text
from gpuyard_core.manifests.pods import VENDOR
from gpuyard_core.names import PLATFORM_LABEL, TEAM_LABEL
from gpuyard_lint.rules.rule import Resource, Stack, once_per_stack
from gpuyard_lint.rules.subjects.pods import OTHER_ACCELERATORS

CLUSTER_QUEUE = "kueue.x-k8s.io/ClusterQueue"
LOCAL_QUEUE = "kueue.x-k8s.io/LocalQueue"
FLAVOR = "kueue.x-k8s.io/ResourceFlavor"
QUOTA = "ResourceQuota"
_ORDINARY = ("cpu", "memory", "pods", "ephemeral-storage", "hugepages-")


@once_per_stack
def gpu_tenants(stack: Stack) -> set[str]:
    """Namespaces with a Kueue queue or a GPU quota, unless the queue is known to have no GPUs."""
    without = {
        each.name for each in stack.resources_of_kinds(CLUSTER_QUEUE) if not covers_gpus(each)
    }
    queues = (
        queue
        for queue in stack.resources_of_kinds(LOCAL_QUEUE)
        if text(at(queue.properties, "spec", "clusterQueue")) not in without
    )
    quotas = (quota for quota in stack.resources_of_kinds(QUOTA) if gpu_keys(quota))
    results = {resource.namespace for resource in (*queues, *quotas)}
    return results - {""}


def tenants_of_nodes(stack: Stack, labels: Mapping[str, Any]) -> set[str] | None:
    """Namespaces whose queues may send pods to nodes with these labels; None if no flavor selects them.

    The namespace of the platform's own checks is none: all teams trust it.
    """
    by_label = _flavors_by_label(stack)
    flavors = {
        flavor
        for key in labels
        for selects, flavor in by_label.get((key, text(labels.get(key))), ())
        if all(value == text(labels.get(name)) for name, value in selects.items())
    }
    if not flavors:
        return None
    led = _namespaces_by_flavor(stack)
    return set[str]().union(*(led.get(flavor, ()) for flavor in flavors)) - platform_namespaces(
        stack
    )


_Selects = Mapping[str, str]


@once_per_stack
def _flavors_by_label(stack: Stack) -> Mapping[tuple[str, str], list[tuple[_Selects, str]]]:
    """The labels and the name of each flavor, by the label that the fewest flavors select."""
    selecting = [
        ({key: text(value) for key, value in selects.items()}, flavor.name)
        for flavor in stack.resources_of_kinds(FLAVOR)
        if (selects := mapping(at(flavor.properties, "spec", "nodeLabels")))
    ]
    often = Counter(label for selects, _ in selecting for label in selects.items())
    found: dict[tuple[str, str], list[tuple[_Selects, str]]] = {}
    for selects, name in selecting:
        rarest = min(selects.items(), key=lambda label: often[label])
        found.setdefault(rarest, []).append((selects, name))
    return found


@once_per_stack
def _namespaces_by_flavor(stack: Stack) -> Mapping[str, set[str]]:
    """Namespaces whose queues have quota of each flavor, or may borrow it."""
    namespaces: dict[str, set[str]] = {}
    for local in stack.resources_of_kinds(LOCAL_QUEUE):
        queue = text(at(local.properties, "spec", "clusterQueue"))
        namespaces.setdefault(queue, set()).add(local.namespace)
    found: dict[str, set[str]] = {}
    for each in stack.resources_of_kinds(CLUSTER_QUEUE):
        for flavor in _given(each):
            found.setdefault(flavor, set()).update(namespaces.get(each.name, ()))
    return found


@once_per_stack
def platform_namespaces(stack: Stack) -> set[str]:
    """System namespaces, which belong to no team."""
    labels = {
        n.name: mapping(at(n.properties, "metadata", "labels"))
        for n in stack.resources_of_kinds("Namespace")
    }
    return {name for name, of in labels.items() if PLATFORM_LABEL in of and TEAM_LABEL not in of}


def _given(queue: Resource) -> Iterator[str]:
    """The flavors of which a ClusterQueue has quota, or may borrow."""
    for group in mappings(resource_groups(queue)):
        for flavor in mappings(group, "flavors"):
            for quota in mappings(flavor, "resources"):
                if (
                    number(quota.get("nominalQuota")) != 0
                    or number(quota.get("borrowingLimit")) != 0
                ):
                    yield text(flavor, "name")


def resource_groups(queue: Resource) -> list[Any]:
    """The resource groups of a ClusterQueue."""
    return items(at(queue.properties, "spec", "resourceGroups"))


def covers_gpus(queue: Resource) -> bool:
    """Whether a ClusterQueue may have GPUs."""
    return any(
        can_match_gpu(name)
        for group in resource_groups(queue)
        for name in items(group, "coveredResources")
    )


def can_match_gpu(name: Any) -> bool:
    """Whether a resource may be a GPU: device claims are counted under any name configured in Kueue."""
    return bool(text(name)) and not text(name).startswith((*_ORDINARY, *OTHER_ACCELERATORS))


def teams_of(stack: Stack, namespaces: Iterable[str]) -> set[str]:
    """The tenant of each namespace: several of one team are one tenant, one without a team is its own."""
    team_labels = _team_labels(stack)
    return {team_labels.get(name) or name for name in namespaces}


@once_per_stack
def _team_labels(stack: Stack) -> Mapping[str, str]:
    """By namespace."""
    return {
        namespace.name: text(
            mapping(at(namespace.properties, "metadata", "labels")).get(TEAM_LABEL)
        )
        for namespace in stack.resources_of_kinds("Namespace")
    }


def gpu_keys(quota: Resource) -> list[str]:
    """The keys of a quota that allow GPUs: 0 means none."""
    hard = mapping(at(quota.properties, "spec", "hard"))
    return [key for key, most in hard.items() if VENDOR in key and number(most) != 0]
