"""Proofs about what a cluster is given: subnets that it can use, and a key of its own region."""

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
    """Subnets of a network that is there, and the key."""
    subnets = cluster_spec(draft.spec).network.subnets
    results = list(_key_elsewhere(draft))
    if subnets is not None and draft.spec.cloud is Cloud.GCP:
        results += _on_gcp(subnets)
    if subnets is not None and draft.spec.cloud is Cloud.AWS:
        results += [*_duplicates(subnets), *_without_use(subnets)]
    return results


def _on_gcp(subnets: Subnets) -> Iterator[Finding]:
    """A subnetwork is of a whole region there, and a cluster has one."""
    if len(subnets.private) > 1:
        first = subnets.private[0]
        yield error(
            "cluster.subnets",
            (*_SUBNETS, "private"),
            "a cluster has one subnetwork on gcp, which is in all zones of its region",
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
            "the same subnet twice: EKS wants each once",
            value=format_list(subnets.private),
            allowed="each subnet once",
            fix=Fix(message=f"write [{', '.join(once)}]", at=(*_SUBNETS, "private"), value=once),
        )


def _without_use(subnets: Subnets) -> Iterator[Finding]:
    """Controllers of load balancers look for tags, and a network that is there is not ours to tag."""
    if subnets.public:
        yield info(
            "cluster.subnets",
            (*_SUBNETS, "public"),
            "nothing is done with them: load balancers find public subnets by the tag kubernetes.io/role/elb",
            value=format_list(subnets.public),
            allowed="subnets that carry the tag kubernetes.io/role/elb: 1",
            fix=Fix(message="see that they carry it, or remove `public`"),
        )


def _key_elsewhere(draft: Draft) -> Iterator[Finding]:
    """What a service of a region encrypts, it encrypts with a key of that region."""
    cloud, key = draft.spec.cloud.value, cluster_spec(draft.spec).key
    read = KEYS[cloud].pattern.fullmatch(key) if key is not None and cloud in KEYS else None
    if read is None or draft.region is None:
        return
    theirs, ours = read["region"], draft.region
    if theirs != ours.name and theirs in region_names(cloud):
        yield error(
            "cluster.key_region",
            ("cluster", "key"),
            f"a key of {theirs}, and the cluster is in {ours.name} ({ours.source})",
            value=str(key),
            allowed=f"a key of {ours.name}",
            fix=Fix(message=f"write a key of {ours.name}"),
        )
