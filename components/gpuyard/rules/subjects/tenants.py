"""Tenants of a stack: its namespaces that have a claim on GPUs."""

from gpuyard.rules.rule import Resource, Stack, at, mapping, number
from gpuyard.rules.subjects.pods import VENDOR

LOCAL_QUEUE = "kueue.x-k8s.io/LocalQueue"
QUOTA = "ResourceQuota"


def gpu_tenants(stack: Stack) -> set[str]:
    """Namespaces with a queue of Kueue's, or a quota of GPUs."""
    quotas = (quota for quota in stack.of(QUOTA) if gpu_keys(quota))
    found = {resource.namespace for resource in (*stack.of(LOCAL_QUEUE), *quotas)}
    return found - {""}


def gpu_keys(quota: Resource) -> list[str]:
    """The keys of a quota that give GPUs: 0 says that there are none."""
    hard = mapping(at(quota.properties, "spec", "hard"))
    return [key for key, most in hard.items() if VENDOR in key and number(most) != 0]
