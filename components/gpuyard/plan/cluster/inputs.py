"""Checks of existing resources of a cluster: subnets that it can use, and a key in its region."""

from collections.abc import Iterator

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.draft import Draft
from gpuyard_core.catalogue.cluster.places import region_names
from gpuyard_core.findings import Diagnostic, Fix, error


def check_cluster_inputs(draft: Draft) -> list[Diagnostic]:
    """Check the key, and what only one cloud has: kinds of subnets, and upgrade hours."""
    return [*_key_elsewhere(draft), *draft.provider.check_cluster(draft)]


def _key_elsewhere(draft: Draft) -> Iterator[Diagnostic]:
    """A regional service encrypts only with a key in its region."""
    formats, key = draft.provider.cluster_names, cluster_spec(draft.spec).key
    read = formats.key.pattern.fullmatch(key or "") if formats else None
    if read is None or draft.region is None:
        return
    key_region, region = read["region"], draft.region
    if key_region != region.name and key_region in region_names(draft.spec.cloud):
        yield error(
            "cluster.key_region",
            ("cluster", "key"),
            f"the key is in {key_region}, but the cluster is in {region.name} ({region.source})",
            given=str(key),
            allowed=f"a key in {region.name}",
            fix=Fix(message=f"write a key in {region.name}"),
        )
