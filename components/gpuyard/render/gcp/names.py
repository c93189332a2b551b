"""Names of what is bought at Google, and the labels by which a bill finds its owner."""

from gpuyard.catalogue.cluster.tags import gcp_key, gcp_letters
from gpuyard.plan.records import PlatformPlan

GKE_LENGTH = 40
"""Of clusters and node pools."""
ACCOUNT_LENGTH = 30
PLATFORM_KEY = "gpuyard-platform"
"""The label that says whose a resource is."""


def resource_labels(plan: PlatformPlan, pool: str = "") -> dict[str, str]:
    """What every resource is labelled with: the stack file's tags, in Google's letters, and ours."""
    ours = {PLATFORM_KEY: plan.name} | ({"gpuyard-pool": pool} if pool else {})
    theirs = {gcp_key(key): gcp_letters(value) for key, value in plan.spec.tags.items()}
    return dict(sorted((theirs | ours).items()))
