"""Checks of existing resources of a cluster: subnets that it can use, and a key in its region."""

from collections.abc import Iterator

from gpuyard.catalogue.cluster.names import KEYS
from gpuyard.catalogue.cluster.places import region_names
from gpuyard.findings import Finding, Fix, Path, error, format_list, info
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections.cluster import Subnets

_SUBNETS: Path = ("cluster", "network", "subnets")


def check_cluster_inputs(draft: Draft) -> list[Finding]:
    """Check subnets of an existing network, and the key."""
    subnets = cluster_spec(draft.spec).network.subnets
    results = list(_key_elsewhere(draft))
    if subnets is not None and draft.spec.cloud is Cloud.GCP:
        results += _on_gcp(subnets)
    if subnets is not None and draft.spec.cloud is Cloud.AWS:
        results += [*_duplicates(subnets), *_without_use(subnets)]
    return results


def _on_gcp(subnets: Subnets) -> Iterator[Finding]:
    """On gcp a subnetwork covers a whole region, and a cluster has one."""
    if len(subnets.private) > 1:
        first = subnets.private[0]
        yield error(
            "cluster.subnets",
            (*_SUBNETS, "private"),
            "on gcp a cluster has one subnetwork, which covers all zones of its region",
            value=format_list(subnets.private),
            allowed="one subnetwork",
            fix=Fix(message=f"write [{first}]", at=(*_SUBNETS, "private"), value=[first]),
        )


def _duplicates(subnets: Subnets) -> Iterator[Finding]:
    once = list(dict.fromkeys(subnets.private))
    if len(once) < len(subnets.private):
        yield error(
            "cluster.subnets",
            (*_SUBNETS, "private"),
            "a subnet is listed twice, which EKS does not accept",
            value=format_list(subnets.private),
            allowed="each subnet once",
            fix=Fix(message=f"write [{', '.join(once)}]", at=(*_SUBNETS, "private"), value=once),
        )


def _without_use(subnets: Subnets) -> Iterator[Finding]:
    """Load balancer controllers look for tags, and gpuyard does not tag an existing network."""
    if subnets.public:
        yield info(
            "cluster.subnets",
            (*_SUBNETS, "public"),
            "the field has no effect: load balancers find public subnets by the tag kubernetes.io/role/elb",
            value=format_list(subnets.public),
            allowed="subnets with the tag kubernetes.io/role/elb: 1",
            fix=Fix(message="add the tag to these subnets, or remove `public`"),
        )


def _key_elsewhere(draft: Draft) -> Iterator[Finding]:
    """A regional service encrypts only with a key in its region."""
    cloud, key = draft.spec.cloud.value, cluster_spec(draft.spec).key
    read = KEYS[cloud].pattern.fullmatch(key) if key is not None and cloud in KEYS else None
    if read is None or draft.region is None:
        return
    key_region, region = read["region"], draft.region
    if key_region != region.name and key_region in region_names(cloud):
        yield error(
            "cluster.key_region",
            ("cluster", "key"),
            f"the key is in {key_region}, but the cluster is in {region.name} ({region.source})",
            value=str(key),
            allowed=f"a key in {region.name}",
            fix=Fix(message=f"write a key in {region.name}"),
        )
