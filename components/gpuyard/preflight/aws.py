"""Queries about a plan for an AWS account, and findings from the results. Nothing here runs them."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec, configured_zones
from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.plan.records.pools import CapacityBlock
from gpuyard.preflight.existing_clusters import KEY, eks_incompatibility, kms_findings
from gpuyard.preflight.probes import (
    UNEXPECTED_FORMAT,
    AnswersByName,
    Probe,
    ProbeAnswer,
    ProbeResult,
    items,
    probe_result,
    skipped,
)
from gpuyard.preflight.quota_requirements import (
    LIMIT_PROBE_NAMES,
    PlannedAccount,
    check_quota,
    ec2_requirements,
    limit_findings,
    limit_probes,
    zones_without_pools,
)
from gpuyard.preflight.reservations import (
    Reserved,
    check_reservation,
    not_reserved,
    parse_count,
    reservation_uses,
)
from gpuyard.preflight.stores import (
    LEFT,
    OWN,
    RequiredBucket,
    check_bucket,
    leftover_findings,
    own_name_findings,
    required_buckets,
)
from gpuyard.preflight.zones import (
    check_offers,
    check_zones,
    control_plane_zone_findings,
    named_subnets,
    pool_path,
)
from gpuyard.render.aws.disk_key import disk_key_arn
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard_core.catalogue.cluster.eks import AUTO_SCALING_ROLE, ZONES_WITHOUT
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, warning
from gpuyard_core.names import OFFERING_TAG, PLATFORM_LABEL

OFFER, BOUGHT = "offer", "bought"
"""Prefixes of query names: the offer, and its purchase."""


def purchases(plan: PlatformPlan) -> Iterator[tuple[str, PoolPlan, CapacityOption, CapacityBlock]]:
    """Every capacity option that purchases a block, by its offer."""
    for pool in plan.pools:
        for option in pool.capacity_options:
            if option.reservation and option.purchase:
                yield option.reservation, pool, option, option.purchase


def block_probes(plan: PlatformPlan) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Name, subject and arguments of two queries for each purchase."""
    for offer, pool, option, buys in purchases(plan):
        ends = buys.starts + timedelta(hours=buys.hours + 48)
        yield (
            f"{OFFER} {offer}",
            f"the offer {offer}",
            (
                *("ec2", "describe-capacity-block-offerings"),
                *(
                    "--instance-type",
                    pool.machine.type_name,
                    "--instance-count",
                    str(option.max_nodes),
                ),
                *("--capacity-duration-hours", str(buys.hours)),
                *("--start-date-range", f"{buys.starts}T00:00:00Z"),
                *("--end-date-range", f"{ends}T00:00:00Z"),
            ),
        )
        yield (
            f"{BOUGHT} {offer}",
            f"whether {offer} was purchased",
            (
                *("ec2", "describe-capacity-reservations"),
                *("--filters", f"Name=tag:{OFFERING_TAG},Values={offer}"),
            ),
        )


def check_block(plan: PlatformPlan, offer: str, answers: AnswersByName) -> ProbeResult:
    """Findings from both results: a purchased block is no longer offered."""
    pool, option, buys = next((p, r, b) for each, p, r, b in purchases(plan) if each == offer)
    at: Path = (*pool_path(plan, pool), "capacity")
    bought = items(answers[f"{BOUGHT} {offer}"].value, "CapacityReservations")
    if bought:
        reservation, state = (str(bought[0].get(k)) for k in ("CapacityReservationId", "State"))
        return probe_result(said=f"{offer} was purchased as {reservation}, which is {state}")
    offering = answers[f"{OFFER} {offer}"]
    offers = items(offering.value, "CapacityBlockOfferings")
    if offers is None or bought is None:
        why = (
            offering.failure_reason
            or offering.error
            or answers[f"{BOUGHT} {offer}"].failure_reason
            or "no response"
        )
        return skipped(f"the offer {offer}", why)
    mine = [each for each in offers if each.get("CapacityBlockOfferingId") == offer]
    if not mine:
        offer_texts = [f"{each.get('CapacityBlockOfferingId')} ({_fee(each)})" for each in offers]
        return probe_result(
            error(
                "live.block",
                at,
                f"AWS no longer offers block {offer} for {option.max_nodes} × {pool.machine.type_name}",
                given=offer,
                allowed=format_list(offer_texts) or "no block of this size on this date",
                fix=Fix(
                    message="set a listed offer with its price, and deploy immediately: offers expire"
                ),
            )
        )
    return probe_result(
        *_wrong(at, mine[0], pool, option, buys),
        said=f"{offer} is offered for {_fee(mine[0])}, as approved",
    )


def _fee(offered: Mapping[str, Any]) -> str:
    return f"{offered.get('UpfrontFee')} {offered.get('CurrencyCode', 'USD')}"


def _wrong(
    at: Path,
    offered: Mapping[str, Any],
    pool: PoolPlan,
    option: CapacityOption,
    buys: CapacityBlock,
) -> Iterator[Diagnostic]:
    zone, agreed = offered.get("AvailabilityZone"), buys.usd
    try:
        fee = float(offered.get("UpfrontFee", ""))
    except (TypeError, ValueError):
        fee = agreed
    if fee != agreed:
        make = error if fee > agreed else warning
        yield make(
            "live.block",
            at,
            f"AWS charges {_fee(offered)} for {option.reservation}, and ${agreed:,.2f} is approved",
            given=f"usd: {agreed:g}",
            allowed=f"usd: {fee:g}",
            fix=Fix(message=f"to approve the price, write usd: {fee:g}"),
        )
    if pool.zones and zone not in pool.zones:
        yield error(
            "live.block",
            at,
            f"the block of {option.reservation} is in {zone}",
            given=format_list(pool.zones),
            fix=Fix(message=f"write zones: [{zone}]"),
        )


CALLER, QUOTAS, OFFERINGS, VERSION, CLUSTER = "caller", "quotas", "offerings", "version", "cluster"
ZONES, SUBNETS, ROLE = "zones", "subnets", "role"
_AUTO_SCALING = AUTO_SCALING_ROLE.rpartition("/")[2]
_PARAMETER = "aws:ssm/getParameter:getParameter"
_NO_REGION = "REGION"
_SILENT = ProbeAnswer(failure_reason="not queried")
_OFFERED = frozenset({"STANDARD_SUPPORT", "EXTENDED_SUPPORT"})


# ── queries ───────────────────────────────────────────────────────────────────────────────────────
def caller_probe(plan: PlatformPlan) -> Probe:
    """The signed-in identity; without it no other query is run."""
    return _question(plan, CALLER, "signed-in identity", "sts", "get-caller-identity")


def account_of(caller: Any) -> str:
    """The signed-in account; a placeholder when unknown."""
    known = caller.get("Account") if isinstance(caller, Mapping) else None
    return str(known or "ACCOUNT")


def aws_probes(ahead: PlannedAccount) -> list[Probe]:
    """All queries except permissions, which depend on the identity."""
    plan = ahead.plan
    probes = [
        _question(
            plan,
            QUOTAS,
            "service quotas of EC2",
            *("service-quotas", "list-service-quotas", "--service-code", "ec2"),
        ),
        _question(
            plan,
            OFFERINGS,
            "zones that offer the machine types",
            *("ec2", "describe-instance-type-offerings", "--location-type", "availability-zone"),
            *("--filters", f"Name=instance-type,Values={','.join(_types(plan))}"),
        ),
    ]
    if name := cluster_spec(plan.spec).existing:
        probes.append(
            _question(plan, CLUSTER, f"cluster {name}", "eks", "describe-cluster", "--name", name)
        )
    else:
        words: tuple[str, ...] = (
            "eks",
            "describe-cluster-versions",
            "--cluster-versions",
            plan.kubernetes,
        )
        probes.append(_question(plan, VERSION, f"Kubernetes {plan.kubernetes} on EKS", *words))
        words = ("eks", "describe-cluster", "--name", plan.name)
        probes.append(_question(plan, OWN, f"whether cluster {plan.name} exists", *words))
        words = ("logs", "describe-log-groups", "--log-group-name-prefix", _eks_logs(plan))
        probes.append(_question(plan, LEFT, f"log groups of {plan.name}", *words))
    if key := cluster_spec(plan.spec).key:
        words = ("kms", "describe-key", "--key-id", key)
        probes.append(_question(plan, KEY, "KMS key of the cluster", *words))
    probes += [_question(plan, name, name, *words) for name, words in limit_probes(ahead.graph)]
    if disk_key_arn(plan):
        words = ("iam", "get-role", "--role-name", _AUTO_SCALING)
        probes.append(_question(plan, ROLE, "service-linked role of Auto Scaling", *words))
    for reservation in dict.fromkeys(draw.id for draw in reservation_uses(plan)):
        words = ("ec2", "describe-capacity-reservations", "--capacity-reservation-ids", reservation)
        probes.append(
            _question(plan, f"reservation {reservation}", f"reservation {reservation}", *words)
        )
    probes += [_question(plan, name, about, *words) for name, about, words in block_probes(plan)]
    if configured_zones(plan.spec):
        words = ("ec2", "describe-availability-zones")
        probes.append(_question(plan, ZONES, "zones of the region", *words))
    if ids := [each for _, each in named_subnets(plan)]:
        words = ("ec2", "describe-subnets", "--filters", f"Name=subnet-id,Values={','.join(ids)}")
        probes.append(_question(plan, SUBNETS, "subnets of the network", *words))
    for each in _buckets(ahead):
        words = ("s3api", "head-bucket", "--bucket", each.name)
        probes.append(_question(plan, each.question, each.question, *words))
    image = ("ssm", "get-parameter", "--name")
    probes += [
        _question(plan, f"image {name}", f"image {name}", *image, name)
        for name in _images(ahead.graph)
    ]
    return probes


def _question(plan: PlatformPlan, name: str, about: str, *words: str) -> Probe:
    region = _in_region(plan).split()
    return Probe(name, about, ("aws", *words, *region, "--output", "json"))


def _eks_logs(plan: PlatformPlan) -> str:
    return f"/aws/eks/{plan.name}/cluster"


def _in_region(plan: PlatformPlan) -> str:
    """The region option; empty when the stack file sets no region."""
    return f" --region {plan.region}" if plan.region else ""


def _types(plan: PlatformPlan) -> list[str]:
    return sorted({name for pool in plan.pools for name in pool.machines})


def _buckets(ahead: PlannedAccount) -> list[RequiredBucket]:
    """Buckets with a known name; the name contains account and region."""
    known = {"accountId": ahead.account, "region": ahead.plan.region or _NO_REGION}
    return [each for each in required_buckets(ahead, known) if not each.name.endswith(_NO_REGION)]


def _images(graph: CloudGraph) -> list[str]:
    return sorted({str(call.args["name"]) for call in graph.calls if call.kind == _PARAMETER})


# ── results ───────────────────────────────────────────────────────────────────────────────────────
def aws_findings(
    ahead: PlannedAccount, questions: list[Probe], answers: AnswersByName
) -> ProbeResult:
    """Findings from the results."""
    result = limit_findings(ahead, answers, _in_region(ahead.plan))
    for question in questions:
        answer = answers[question.name]
        kind, _, offer = question.name.partition(" ")
        if kind == OFFER:
            result += check_block(ahead.plan, offer, answers)
        elif kind == BOUGHT or question.name in LIMIT_PROBE_NAMES:
            continue  # evaluated with its offer or its limit
        elif answer.failure_reason:
            result += skipped(question.subject, answer.failure_reason)
        else:
            result += _one(ahead, question, answer, answers.get(OWN, _SILENT))
    return result


def _one(
    ahead: PlannedAccount, question: Probe, answer: ProbeAnswer, own: ProbeAnswer
) -> ProbeResult:
    kind, _, name = question.name.partition(" ")
    plan, value, failure = ahead.plan, answer.value, answer.error
    match kind:
        case "quotas":
            result = _quotas(ahead, items(value, "Quotas"))
        case "offerings":
            result = _offerings(plan, items(value, "InstanceTypeOfferings"))
        case "version":
            result = _version(plan, items(value, "clusterVersions"))
        case "cluster":
            result = _cluster(ahead, value, failure)
        case "own" | "left" | "key" | "role":
            result = _named(ahead, kind, answer, own)
        case "reservation":
            result = _reservation(plan, name, items(value, "CapacityReservations"), failure)
        case "zones":
            result = _zones_findings(plan, items(value, "AvailabilityZones"))
        case "subnets":
            result = _subnets_findings(plan, items(value, "Subnets"))
        case "bucket":
            bucket = next(each for each in _buckets(ahead) if each.name == name)
            result = check_bucket(bucket, answer)
        case _:
            result = _image(plan, name, failure)
    return result or skipped(question.subject, failure or UNEXPECTED_FORMAT)


def _named(
    ahead: PlannedAccount, kind: str, answer: ProbeAnswer, own: ProbeAnswer
) -> ProbeResult | None:
    """Findings about explicit names and the key."""
    plan = ahead.plan
    if kind == ROLE:
        return _role(answer.value, answer.error)
    if kind == KEY:
        return kms_findings(ahead, answer)
    if kind == OWN:
        return own_name_findings(plan.name, answer, "cluster", "tags", PLATFORM_LABEL)
    way = f"aws logs delete-log-group --log-group-name {_eks_logs(plan)}{_in_region(plan)}"
    return leftover_findings(ahead, own, items(answer.value, "logGroups"), "logGroupName", way)


def _quotas(ahead: PlannedAccount, quotas: list[Any] | None) -> ProbeResult | None:
    if quotas is None:
        return None
    values = {str(q.get("QuotaCode")): q for q in quotas}
    result = ProbeResult()
    for want in ec2_requirements(ahead.plan, ahead.graph):
        code = next((code for code in want.quotas if code in values), None)
        limit = values[code].get("Value") if code else None
        if code is None or not isinstance(limit, int | float):
            why = f"the account has no quota {' or '.join(want.quotas) or 'that gpuyard knows'}"
            result += skipped(f"quota for {want.subject}", why, is_expected=True)
            continue
        name = f"{values[code].get('QuotaName', code)} ({code})"
        ask = (
            f"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {code}"
            f" --desired-value {want.maximum}{_in_region(ahead.plan)}"
        )
        result += check_quota(want, name, limit, ask)
    return result


def _offerings(plan: PlatformPlan, offers: list[Any] | None) -> ProbeResult | None:
    if offers is None:
        return None
    zones: dict[str, set[str]] = {}
    for each in offers:
        zones.setdefault(str(each.get("InstanceType")), set()).add(str(each.get("Location")))
    return check_offers(plan, zones)


def _version(plan: PlatformPlan, versions: list[Any] | None) -> ProbeResult | None:
    if versions is None:
        return None
    offered = [v for v in versions if v.get("versionStatus") in _OFFERED]
    if any(v.get("clusterVersion") == plan.kubernetes for v in offered):
        return probe_result(said=f"EKS offers Kubernetes {plan.kubernetes}")
    return probe_result(
        error(
            "live.version",
            ("kubernetes",),
            f"EKS offers no Kubernetes {plan.kubernetes} in this region",
            given=plan.kubernetes,
            fix=Fix(
                message="set `kubernetes` to a version that `aws eks describe-cluster-versions` lists"
            ),
        )
    )


def _cluster(ahead: PlannedAccount, value: Any, failure: str) -> ProbeResult | None:
    plan = ahead.plan
    name, at = str(cluster_spec(plan.spec).existing), ("cluster", "existing")
    if failure.startswith("ResourceNotFound"):
        fix = Fix(message="set `cluster.existing` to a cluster of this account and region")
        return probe_result(
            error("live.cluster", at, f"cluster {name} does not exist", given=name, fix=fix)
        )
    cluster = value.get("cluster") if isinstance(value, Mapping) else None
    status = cluster.get("status") if isinstance(cluster, Mapping) else None
    if not isinstance(cluster, Mapping) or not isinstance(status, str):
        return None
    if status == "ACTIVE":
        unfit = eks_incompatibility(ahead, cluster)
        return probe_result(*unfit, said=f"cluster {name} exists and is active")
    fix = Fix(message="wait until it is ACTIVE")
    return probe_result(
        error("live.cluster", at, f"cluster {name} is {status}", given=name, fix=fix)
    )


def _role(value: Any, failure: str) -> ProbeResult | None:
    """Whether the role that needs the disk key exists: an account's first Auto Scaling group creates it."""
    if isinstance(value, Mapping) and "Role" in value:
        return probe_result(said=f"{_AUTO_SCALING} exists and can be granted the disk key")
    if not failure.startswith("NoSuchEntity"):
        return None
    make = "aws iam create-service-linked-role --aws-service-name autoscaling.amazonaws.com"
    problem = f"the account has no role {_AUTO_SCALING} yet, which needs a grant for the key"
    at: Path = ("cluster", "key")
    return probe_result(error("live.role", at, problem, given=_AUTO_SCALING, fix=Fix(message=make)))


def _zones_findings(plan: PlatformPlan, results: list[Any] | None) -> ProbeResult | None:
    """Whether zones without a pool are in the region, and all support a control plane."""
    if results is None:
        return None
    ids = {str(each.get("ZoneName")): str(each.get("ZoneId")) for each in results}
    alone = zones_without_pools(plan)
    zone_result = (
        check_zones(alone, set(ids), plan.region or "the region") if alone else ProbeResult()
    )
    return zone_result + probe_result(*control_plane_zone_findings(plan, ids))


def _subnets_findings(plan: PlatformPlan, results: list[Any] | None) -> ProbeResult | None:
    """Whether the configured subnets exist in the configured network."""
    if results is None:
        return None
    network = str(cluster_spec(plan.spec).network.id)
    subnets_by_id = {str(each.get("SubnetId")): each for each in results}
    wrong: list[Diagnostic] = []
    for at, subnet in named_subnets(plan):
        problem = _wrong_subnet(subnets_by_id.get(subnet), at, subnet, network)
        if not problem:
            continue
        fix = Fix(message=f"use subnets of {network} in this account and region")
        value = f"{subnet} in {network}"
        wrong.append(error("live.subnet", at, problem, given=value, fix=fix))
    return probe_result(
        *wrong, said=f"all {len(list(named_subnets(plan)))} subnets belong to {network}"
    )


def _wrong_subnet(found: Mapping[str, Any] | None, at: Path, subnet: str, network: str) -> str:
    """Why the cluster cannot use the subnet; "" if it can."""
    if found is None:
        return f"subnet {subnet} does not exist"
    if found.get("VpcId") != network:
        return f"subnet {subnet} belongs to another network, {found.get('VpcId')}"
    zone = found.get("AvailabilityZoneId")
    if zone in ZONES_WITHOUT and "private" in at:
        return f"subnet {subnet} is in {zone}, where EKS offers no control plane"
    return ""


def _reservation(
    plan: PlatformPlan, name: str, results: list[Any] | None, failure: str
) -> ProbeResult | None:
    here = [draw for draw in reservation_uses(plan) if draw.id == name]
    if failure.startswith("InvalidCapacityReservationId") or results == []:
        return probe_result(*(not_reserved(plan, draw) for draw in here))
    if results is None:
        return None
    reserved = Reserved(
        state=results[0].get("State"),
        machine=results[0].get("InstanceType"),
        zone=results[0].get("AvailabilityZone"),
        count=parse_count(results[0].get("TotalInstanceCount")),
    )
    result = ProbeResult()
    for draw in here:
        message = f"reservation {name} is active and has {draw.capacity_option.max_nodes} of {draw.pool.machine.type_name}"
        result += probe_result(*check_reservation(plan, draw, reserved), said=message)
    return result


def _image(plan: PlatformPlan, name: str, failure: str) -> ProbeResult | None:
    if not failure:
        return probe_result(said=f"image {name} exists")
    if not failure.startswith("ParameterNotFound"):
        return None
    fix = Fix(message="set another `image`, or a Kubernetes minor that the image supports")
    at = next((pool_path(plan, p) for p in plan.pools if p.node_software), ())
    problem = f"image {name} does not exist"
    return probe_result(
        error("live.image", (*at, "image"), problem, given=plan.kubernetes, fix=fix)
    )
