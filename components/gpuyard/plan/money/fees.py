"""What a platform costs besides its nodes: the cluster fee; and what no total includes.

The owner of an existing cluster pays for it, and it may have several platforms: its fee is on the
bill if `prices.cluster_usd_per_hour` is set. Simulated clusters cost nothing.
"""

from gpuyard.plan.records import Fee
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.sections import Prometheus
from gpuyard_core.catalogue.fees import ClusterFee, has_standard_support_ended

EXCLUDED_FEES = (
    "root disks",
    "traffic and public addresses",
    "load balancers",
    "file systems and buckets",
    "logs and metrics",
)
"""What a cloud bills besides nodes and clusters: a stack file does not determine how much."""


def plan_fees(spec: PlatformSpec) -> tuple[Fee, ...]:
    """The fee of the cluster, where the platform pays one."""
    mine = spec.prices.cluster_usd_per_hour if spec.prices else None
    listed = provider_of(spec.cloud).cluster_fee
    if spec.cloud is Cloud.SIMULATED:
        return ()
    if mine is not None:
        return (_user_provided(mine, listed),)
    return (_listed(spec, listed),) if listed and not spec.cluster_exists else ()


def _user_provided(usd: float, listed: ClusterFee | None) -> Fee:
    return Fee(
        service=listed.service if listed else "your own",
        minimum_usd_per_hour=usd,
        expected_usd_per_hour=usd,
        maximum_usd_per_hour=usd,
        basis="your price",
    )


def _listed(spec: PlatformSpec, fee: ClusterFee) -> Fee:
    """For the maximum cost, the cluster stays on its minor when standard support of that ends."""
    ended = has_standard_support_ended(spec.cloud.value, spec.kubernetes)
    extended = fee.standard + fee.extended
    now = extended if ended else fee.standard
    minor = f"standard support of Kubernetes {spec.kubernetes}"
    return Fee(
        service=fee.service,
        minimum_usd_per_hour=now,
        expected_usd_per_hour=now,
        maximum_usd_per_hour=extended,
        basis=f"list price {fee.source.formatted_date}{fee.source.unverified_suffix}",
        checked_on=fee.source.checked_on,
        as_of=fee.source.as_of,
        source=fee.source.title,
        note=f"{fee.extended:.2f} of it because {minor} has ended"
        if ended
        else f"at most {fee.extended:.2f} more, after {minor} ends",
    )


def excluded_fees(spec: PlatformSpec) -> tuple[str, ...]:
    """What the cloud bills and no total includes; other costs of your own nodes are unknown."""
    if not provider_of(spec.cloud).cluster_fee:
        return ()
    return (*EXCLUDED_FEES, *_of_metrics(spec))


def _of_metrics(spec: PlatformSpec) -> tuple[str, ...]:
    """The volume of an installed Prometheus, or the samples that a managed one bills."""
    mode = spec.observability.prometheus if spec.observability else Prometheus.NONE
    service = provider_of(spec.cloud).managed_prometheus
    if mode is Prometheus.MANAGED and service is not None:
        price = (
            f"{service.usd_per_million_samples:.2f} USD a million{service.source.unverified_suffix}"
        )
        return (f"samples of {service.name} at {price}",)
    return ("the volume of Prometheus",) if mode is Prometheus.INSTALL else ()
