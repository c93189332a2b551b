"""What a platform costs beside its nodes: the fee of its cluster; and what is in no sum.

A cluster that exists already is paid by whoever made it, and may hold several platforms: its fee is on the
bill where `prices.cluster_usd_per_hour` says so. Simulated clusters cost nothing.
"""

from gpuyard.catalogue.fees import CLUSTER_FEES, ClusterFee, standard_ended
from gpuyard.plan.records import Fee
from gpuyard.spec.platform import Cloud, PlatformSpec

EXCLUDED_FEES = (
    "root disks",
    "traffic and public addresses",
    "load balancers",
    "file systems and buckets",
    "logs and metrics",
)
"""What a cloud bills beside nodes and clusters: what of it there will be, a stack file does not say."""


def plan_fees(spec: PlatformSpec) -> tuple[Fee, ...]:
    """The fee of the cluster, where the platform pays one."""
    mine = spec.prices.cluster_usd_per_hour if spec.prices else None
    listed = CLUSTER_FEES.get(spec.cloud.value)
    if spec.cloud is Cloud.SIMULATED:
        return ()
    if mine is not None:
        return (_user_provided(mine, listed),)
    return (_listed(spec, listed),) if listed and not spec.cluster_exists else ()


def _user_provided(usd: float, listed: ClusterFee | None) -> Fee:
    return Fee(
        service=listed.service if listed else "your own",
        floor_usd=usd,
        expected_usd=usd,
        worst_usd=usd,
        basis="your price",
    )


def _listed(spec: PlatformSpec, fee: ClusterFee) -> Fee:
    """At worst it stays on its minor when standard support of that ends."""
    ended = standard_ended(spec.cloud.value, spec.kubernetes)
    extended = fee.standard + fee.extended
    now = extended if ended else fee.standard
    minor = f"standard support of Kubernetes {spec.kubernetes}"
    return Fee(
        service=fee.service,
        floor_usd=now,
        expected_usd=now,
        worst_usd=extended,
        basis=f"list price {fee.source.when}{fee.source.doubt}",
        checked_on=fee.source.checked_on,
        as_of=fee.source.as_of,
        source=fee.source.title,
        note=f"{fee.extended:.2f} of it because {minor} has ended"
        if ended
        else f"at worst {fee.extended:.2f} more, when {minor} has ended",
    )


def excluded_fees(spec: PlatformSpec) -> tuple[str, ...]:
    """What the cloud bills and no sum has; of nodes of your own nobody knows what else they cost."""
    return EXCLUDED_FEES if spec.cloud.value in CLUSTER_FEES else ()
