"""Names of Google Cloud resources, and the labels that assign their cost to an owner."""

from gpuyard.plan.records import PlatformPlan
from gpuyard_core.catalogue.cluster.tags import gcp_key, gcp_letters

GKE_LENGTH = 40
"""Length limit of names of clusters and node pools."""
ACCOUNT_LENGTH = 30
PLATFORM_KEY = "gpuyard-platform"
"""The label for the owner of a resource."""


def resource_labels(plan: PlatformPlan, pool: str = "") -> dict[str, str]:
    """Labels of every resource: the stack file's tags, in allowed characters, and gpuyard's."""
    ours = {PLATFORM_KEY: plan.name} | ({"gpuyard-pool": pool} if pool else {})
    theirs = {gcp_key(key): gcp_letters(value) for key, value in plan.spec.tags.items()}
    return dict(sorted((theirs | ours).items()))
