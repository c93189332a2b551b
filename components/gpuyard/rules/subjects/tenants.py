"""Tenants of a stack: its namespaces that have a claim on GPUs."""

from collections.abc import Iterable

from gpuyard.names import TEAM_LABEL
from gpuyard.rules.rule import Resource, Stack, at, mapping, number, text
from gpuyard.rules.subjects.pods import VENDOR

LOCAL_QUEUE = "kueue.x-k8s.io/LocalQueue"
QUOTA = "ResourceQuota"


def gpu_tenants(stack: Stack) -> set[str]:
    """Namespaces with a queue of Kueue's, or a quota of GPUs."""
    quotas = (quota for quota in stack.of(QUOTA) if gpu_keys(quota))
    found = {resource.namespace for resource in (*stack.of(LOCAL_QUEUE), *quotas)}
    return found - {""}


def teams_of(stack: Stack, namespaces: Iterable[str]) -> set[str]:
    """Whose the namespaces are: several of one team are one tenant, one that says nothing is its own."""
    said = {
        namespace.name: text(
            mapping(at(namespace.properties, "metadata", "labels")).get(TEAM_LABEL)
        )
        for namespace in stack.of("Namespace")
    }
    return {said.get(name) or name for name in namespaces}


def gpu_keys(quota: Resource) -> list[str]:
    """The keys of a quota that give GPUs: 0 says that there are none."""
    hard = mapping(at(quota.properties, "spec", "hard"))
    return [key for key, most in hard.items() if VENDOR in key and number(most) != 0]
