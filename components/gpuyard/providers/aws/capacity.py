"""Capacity of AWS: how EC2 sells nodes, and what Karpenter and Cluster Autoscaler know of them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

from gpuyard.plan.capacity.capacity_checks import check_reservation_id
from gpuyard.plan.capacity.capacity_options import (
    DELETED,
    contract_usd_per_hour,
    ec2_purchases,
    format_batch,
    is_placed_together,
    max_nodes,
    node_count,
    upgrade_settings,
)
from gpuyard.plan.capacity.scaling import check_blind, miscounted, scaling_of
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import AdvertisedResources, AutoscalerHints, CapacityOption, PoolPlan
from gpuyard.plan.records.pools import CapacityBlock, UpgradePlan
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import BlockPurchase, CapacityOptionSpec, Pool, Scaling
from gpuyard_core.catalogue.commitments import CommitmentPrice, capacity_block
from gpuyard_core.catalogue.fabric import pod_limit
from gpuyard_core.catalogue.kubernetes.autoscalers import TEMPLATE_TAG
from gpuyard_core.catalogue.kubernetes.eks_nodes import DRAIN_MINUTES, MOST_UNAVAILABLE
from gpuyard_core.catalogue.kubernetes.karpenter import DRAIN_MINUTES as KARPENTER_DRAIN_MINUTES
from gpuyard_core.catalogue.machines import Capacity, Machine
from gpuyard_core.catalogue.node_pools import ACCELERATOR_LABEL, ec2_capacity_settings
from gpuyard_core.catalogue.purchasing import (
    BLOCK_SIZES,
    CAPACITY_BLOCK,
    EC2_OFFERING,
    EC2_RESERVATION,
    ULTRASERVER_BLOCK,
    ULTRASERVERS,
)
from gpuyard_core.catalogue.software.pins import PINS
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.models.values import Range
from gpuyard_core.names import GPU, GPU_CLAIM

_HOURS = tuple(days * 24 for days in BLOCK_SIZES.days)
_FAR = 2
"""A price that differs from the list price by more than this factor is likely a mistake."""


def check_block(
    draft: Draft, pool: Pool, option: CapacityOptionSpec, path: Path
) -> list[Diagnostic]:
    """Check one block: approved, not over, and at a plausible price."""
    wrong = list(_unagreed(pool, option, path)) or list(_over(draft, option, path))
    return wrong or _purchase_findings(draft, pool, option, path)


def _refused(path: Path, problem: str, value: str, allowed: str, fix: Fix) -> Diagnostic:
    return error("capacity.block_agreed", path, problem, given=value, allowed=allowed, fix=fix)


def _unagreed(pool: Pool, option: CapacityOptionSpec, path: Path) -> Iterator[Diagnostic]:
    """An offering without approval, or an approval without an offering that is sold."""
    reservation = option.reservation or ""
    offered = bool(EC2_OFFERING.pattern.fullmatch(reservation)) and option.mode is Capacity.BLOCK
    if option.purchase is None and offered:
        yield _refused(
            path,
            f"{reservation} is an offering: a deployment would purchase {option.nodes} nodes,"
            f" {_about(pool, option)}paid upfront and not refundable",
            reservation,
            "purchase: {hours: HOURS, starts: DAY, usd: PRICE} with the values of the offering; or an"
            f" existing block, such as {EC2_RESERVATION.example}",
            Fix(message="add `purchase`, or name a block that you have purchased"),
        )
    elif option.purchase is not None and not offered:
        yield _refused(
            path,
            f"{reservation or option.mode.value} is not an offering, so there is nothing to purchase",
            f"{option.mode.value} {reservation}".strip(),
            f"a capacity block offering, such as {EC2_OFFERING.example}",
            Fix(message="remove `purchase`", at=(*path, "purchase")),
        )
    elif option.purchase is not None and not ULTRASERVERS.keys().isdisjoint(pool.machines):
        yield _refused(
            path,
            f"{format_list(pool.machines)} is sold as whole UltraServers, which have no offerings for machines",
            reservation,
            "the reservation of an UltraServer that you purchased yourself, without `purchase`",
            Fix(message="remove `purchase`, and name your reservation"),
        )
    elif option.purchase is not None and option.purchase.hours not in _HOURS:
        longer = next((hours for hours in _HOURS if hours > option.purchase.hours), _HOURS[-1])
        yield _refused(
            path,
            f"EC2 sells blocks of 1 to 14 days, or of up to 26 whole weeks, not of {option.purchase.hours} hours",
            f"hours: {option.purchase.hours}",
            f"whole days, such as {longer} hours",
            Fix(
                message=f"write {longer}, if the offering has it",
                at=(*path, "purchase", "hours"),
                value=longer,
            ),
        )


def _list_price(pool: Pool) -> CommitmentPrice | None:
    return capacity_block(pool.machines[0]) if pool.machines else None


def _about(pool: Pool, option: CapacityOptionSpec) -> str:
    """The list price of a day."""
    price = _list_price(pool)
    if price is None:
        return ""
    day = price.usd_per_hour.high * (option.nodes or 0) * 24
    return f"about ${day:,.0f} a day at list price, "


def _over(draft: Draft, option: CapacityOptionSpec, path: Path) -> Iterator[Diagnostic]:
    """An ended block has no nodes. AWS forgets it: a stack without its state would buy again."""
    buys = option.purchase
    if buys is None or draft.today is None:
        return
    ends = buys.starts + timedelta(hours=buys.hours)
    if draft.today > ends:
        yield error(
            "capacity.block_over",
            path,
            f"the block of {option.reservation} ended on {ends}: it provides no nodes,"
            " and AWS no longer sells this offering",
            given=f"{buys.hours} hours from {buys.starts}",
            allowed=f"a block that ends after {draft.today}",
            fix=Fix(message="remove the capacity option, and give the pool another one"),
        )


def _purchase_findings(
    draft: Draft, pool: Pool, option: CapacityOptionSpec, path: Path
) -> list[Diagnostic]:
    """What a purchase costs, and what the platform costs before it begins and after it ends."""
    buys = option.purchase
    if buys is None:
        return []
    results = list(_unlikely(pool, option, buys, path))
    hourly = buys.usd / buys.hours
    minimum = draft.bill.minimum
    remainder = (
        ""
        if minimum.usd is None
        else f"; everything else costs at least ${max(minimum.usd - hourly, 0):,.2f} an hour"
    )
    results.append(
        info(
            "capacity.block_buys",
            path,
            f"the first deployment purchases {option.nodes} × {format_list(pool.machines)} for {buys.hours} hours"
            f" from {buys.starts}: ${buys.usd:,.2f} upfront, which is ${hourly:,.2f} an hour during the block"
            f" and nothing before and after{remainder}, with or without it",
            given=f"{option.reservation}, ${buys.usd:,.2f}",
            fix=Fix(
                message="none, if you intend the purchase: it happens once; `pulumi destroy` or removing the"
                " capacity option refunds nothing"
            ),
        )
    )
    return results


def _unlikely(
    pool: Pool, option: CapacityOptionSpec, buys: BlockPurchase, path: Path
) -> Iterator[Diagnostic]:
    price = _list_price(pool)
    if price is None:
        return
    usd = price.usd_per_hour.high
    agreed = contract_usd_per_hour(option)
    if agreed is not None and not usd / _FAR <= agreed <= usd * _FAR:
        total_usd = usd * (option.nodes or 0) * buys.hours
        yield warning(
            "capacity.block_price",
            (*path, "purchase", "usd"),
            f"${agreed:,.2f} for an hour of {pool.machines[0]} is far from the list price, ${usd:,.2f}"
            f" in {price.region} {price.usd_per_hour.source.formatted_date}",
            given=f"{buys.usd:g}",
            allowed=f"about ${total_usd:,.0f} in total, {option.nodes} nodes for {buys.hours} hours",
            fix=Fix(
                message="compare it with the UpfrontFee of the offering: it covers all nodes and all hours"
            ),
        )


# ── capacity options ──────────────────────────────────────────────────────────────────────────────
def complete_option(
    option: CapacityOption, written: CapacityOptionSpec, pool: Pool, machine: Machine
) -> CapacityOption:
    """Add the placement group, the lifetime, the purchase and the settings of EC2."""
    buys = written.purchase
    block = ULTRASERVER_BLOCK if machine.name in ULTRASERVERS else CAPACITY_BLOCK
    return replace(
        option,
        placement="cluster" if is_placed_together(pool, machine, written) else "none",
        lifetime=block.description if written.mode is Capacity.BLOCK else "",
        aws=ec2_capacity_settings(written.mode),
        purchase=CapacityBlock(hours=buys.hours, starts=buys.starts, usd=buys.usd)
        if buys
        else None,
    )


def max_autoscaled_nodes(pool: PoolPlan) -> int:
    """The sum over its node groups."""
    return sum(option.max_nodes for option in ec2_purchases(pool))


# ── checks of capacity options ────────────────────────────────────────────────────────────────────
def check_reservation(option: CapacityOptionSpec, machine: Machine, path: Path) -> list[Diagnostic]:
    """Check the ID, and block sizes: EC2 limits them, and sells UltraServers as a whole."""
    is_block = option.mode is Capacity.BLOCK
    formats = (EC2_RESERVATION, EC2_OFFERING) if is_block else (EC2_RESERVATION,)
    findings = check_reservation_id(Cloud.AWS, option, path, *formats)
    if is_block and machine.cloud == Cloud.AWS:
        findings += _check_block_size(option.nodes or 0, machine, path)
    return findings


def _check_block_size(nodes: int, machine: Machine, path: Path) -> list[Diagnostic]:
    sizes = ULTRASERVERS.get(machine.name)
    if sizes and nodes % sizes[0]:
        machines = " or ".join(str(size) for size in sizes)
        problem = f"{machine.name} is sold as whole UltraServers of {machines} machines"
        whole = -(-nodes // sizes[0]) * sizes[0]
        return [_block_size(problem, nodes, f"a multiple of {sizes[0]}, such as {whole}", path)]
    if nodes > BLOCK_SIZES.most:
        problem = f"EC2 sells at most {BLOCK_SIZES.most} instances in one capacity block"
        return [_block_size(problem, nodes, f"{BLOCK_SIZES.most}, and more blocks", path)]
    return []


def _block_size(problem: str, nodes: int, allowed: str, path: Path) -> Diagnostic:
    return error(
        "capacity.block_size",
        path,
        f"{problem}, so EC2 sells no capacity block of {nodes}",
        given=str(nodes),
        allowed=allowed,
        fix=Fix(message="write the block's size, here and in `nodes` of the pool"),
    )


def check_capacity(
    _spec: PlatformSpec, pool: Pool, _machine: Machine, path: Path
) -> list[Diagnostic]:
    """Find options without fallback: a node group of fixed size waits for its own nodes."""
    remaining = pool.nodes.high
    if scaling_of(Cloud.AWS, pool) is not Scaling.FIXED:
        return []
    for index, option in enumerate(pool.capacity):
        if not remaining and index and not pool.capacity[index - 1].reservation:
            return [_no_fallback(pool, index, path)]
        remaining -= min(remaining, max_nodes(option, pool))
    return []


def _no_fallback(pool: Pool, index: int, path: Path) -> Diagnostic:
    nodes = Range(0, pool.nodes.high)
    before = pool.capacity[index - 1].mode.value
    return warning(
        "capacity.no_fallback",
        (*path, "capacity", index),
        f"a pool of fixed size does not fall back to the next capacity option: all remaining nodes are"
        f" requested from {before} before it, and if it has none the pool stays incomplete",
        given=pool.capacity[index].mode.value,
        allowed=f"nodes: {nodes}, which an autoscaler fills in order, or `nodes` on each capacity option",
        fix=Fix(message=f"write {nodes}", at=(*path, "nodes"), value=str(nodes)),
    )


# ── scaling ───────────────────────────────────────────────────────────────────────────────────────
def complete_hints(
    hints: AutoscalerHints,
    scaling: Scaling,
    labels: Mapping[str, str],
    taints: tuple[Taint, ...],
    advertised: AdvertisedResources,
) -> AutoscalerHints:
    """Add an overlay for Karpenter, or tags for Cluster Autoscaler.

    Karpenter knows whole GPUs of EC2 instance types; an overlay adds resources to them, and
    replaces none. Cluster Autoscaler on EC2 reads tags.
    """
    added = {a.resource: a.per_node for a in advertised if a.resource != GPU}
    if scaling is Scaling.KARPENTER:
        return replace(hints, source="overlay" if added else "cloud", overlay=added)
    hidden = (GPU_CLAIM,) if GPU_CLAIM in added else ()
    tags = _tags(labels, taints, advertised)
    return replace(hints, source="tags", tags=tags, undiscovered_resources=hidden)


def _tags(
    labels: Mapping[str, str], taints: tuple[Taint, ...], advertised: AdvertisedResources
) -> dict[str, str]:
    return {
        **{f"{TEMPLATE_TAG}/label/{key}": value for key, value in labels.items()},
        **{f"{TEMPLATE_TAG}/taint/{t.key}": f"{t.value}:{t.effect}" for t in taints},
        **{
            f"{TEMPLATE_TAG}/resources/{a.resource}": str(a.per_node)
            for a in advertised
            if a.resource != GPU_CLAIM  # no node advertises it; only queues count it
        },
    }


def check_scaling(
    pool: Pool, machine: Machine, advertised: AdvertisedResources, path: Path
) -> list[Diagnostic]:
    """Reject what Karpenter miscounts, and warn of what Cluster Autoscaler cannot see at zero."""
    scaling = scaling_of(Cloud.AWS, pool)
    if scaling is Scaling.KARPENTER:
        return _check_karpenter(pool, machine, advertised, path)
    if scaling is Scaling.AUTOSCALER and pool.sharing.dra:
        return check_blind(pool, advertised, path)
    return []


def _check_karpenter(
    pool: Pool, machine: Machine, advertised: AdvertisedResources, path: Path
) -> list[Diagnostic]:
    if machine.gpu_fraction != 1:
        why = (
            f"EC2 reports no whole GPU for {machine.name}, so Karpenter never launches one for a pod that"
            " requests a GPU"
        )
        return [miscounted(why, f"karpenter with {machine.name}", path)]
    if pool.sharing.dra:
        why = (
            f"Karpenter {PINS['karpenter'].version} ignores pods with resource claims unless an unfinished"
            " feature is enabled"
        )
        return [miscounted(why, "karpenter with dra", path)]
    whole_gpus = next((a.per_node for a in advertised if a.resource == GPU), None)
    if whole_gpus is not None and len(advertised) > 1:
        why = (
            f"Karpenter counts {machine.gpus} whole GPUs in {machine.name}, but {whole_gpus} are not partitioned,"
            " and no NodeOverlay can lower the count: pods would wait for GPUs that do not exist"
        )
        return [miscounted(why, "karpenter with some GPUs partitioned", path)]
    return []


def plan_upgrade(pool: Pool) -> UpgradePlan:
    """By Karpenter when nodes are empty or in a window, else by EKS."""
    unavailable = pool.upgrade.max_unavailable
    if scaling_of(Cloud.AWS, pool) is Scaling.KARPENTER:
        window = pool.disruption_window
        when = f"{node_count(window.nodes)} at once in the disruption window" if window else ""
        at_once = f"by Karpenter, {when or 'only when empty'}"
        return upgrade_settings(pool, unavailable, KARPENTER_DRAIN_MINUTES, at_once)
    out = "a tenth of a group" if unavailable is None else node_count(unavailable)
    at_once = format_batch(pool, out, "as many nodes (at least two for each zone)")
    late = DELETED if pool.upgrade.force else "; if one still runs, EKS stops the update"
    return upgrade_settings(pool, unavailable, DRAIN_MINUTES, at_once, late)


def unsupported_upgrade_fields(pool: Pool, _machine: Machine) -> Iterator[tuple[str, str, str]]:
    """The field, why it has no effect, and what is allowed."""
    if scaling_of(Cloud.AWS, pool) is Scaling.KARPENTER:
        for word in ("max_unavailable", "max_surge", "blue_green", "force"):
            if getattr(pool.upgrade, word):
                why = "Karpenter replaces nodes only when they are empty: the field has no effect"
                yield word, why, "drain_minutes"
    else:
        yield from _on_eks(pool)


def _on_eks(pool: Pool) -> Iterator[tuple[str, str, str]]:
    upgrade = pool.upgrade
    if upgrade.blue_green:
        yield (
            "blue_green",
            "EKS does not support blue-green upgrades of node groups",
            "max_surge: 1",
        )
    if upgrade.drain_minutes not in {None, DRAIN_MINUTES}:
        why = f"EKS gives pods {DRAIN_MINUTES} minutes, which is not configurable"
        yield (
            "drain_minutes",
            why,
            f"{DRAIN_MINUTES}, or scaling: karpenter, where the time is configurable",
        )
    if (upgrade.max_unavailable or 0) > MOST_UNAVAILABLE:
        yield (
            "max_unavailable",
            f"EKS replaces at most {MOST_UNAVAILABLE} at once",
            f"1 to {MOST_UNAVAILABLE}",
        )


def node_labels(pool: Pool, machine: Machine) -> Mapping[str, str]:
    """The GPU, for which Cluster Autoscaler waits on a new node."""
    if machine.gpu is None or scaling_of(Cloud.AWS, pool) is not Scaling.AUTOSCALER:
        return {}
    return {ACCELERATOR_LABEL: f"nvidia-{machine.gpu.name.lower()}"}


def check_pods(machine: Machine, advertised: AdvertisedResources, path: Path) -> list[Diagnostic]:
    """An EKS node has addresses for a limited number of pods: more shares can never be in use at once."""
    limit = pod_limit(machine)
    offers = sum(a.per_node for a in advertised)
    if limit is None or offers <= limit:
        return []
    return [
        warning(
            "pool.pod_limit",
            (*path, "sharing"),
            f"{machine.name} has addresses for {limit} pods, including agents, but its GPUs are shared in"
            f" {offers} parts: the others stay idle",
            given=f"{offers} parts a node",
            allowed=f"at most {limit} parts a node, without prefix delegation in the VPC CNI",
            fix=Fix(message="share each GPU among fewer pods, or enable prefix delegation"),
        )
    ]
