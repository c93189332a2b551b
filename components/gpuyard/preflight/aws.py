"""Queries about a plan for an AWS account, and findings from the results. Nothing here runs them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec, configured_zones
from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.plan.records.pools import CapacityBlock
from gpuyard.preflight.names import (
    LEFT,
    OWN,
    RequiredBucket,
    check_bucket,
    cluster_error,
    key_error,
    leftover_findings,
    own_name_findings,
    required_buckets,
)
from gpuyard.preflight.probes import (
    UNEXPECTED_FORMAT,
    AnswersByName,
    Check,
    Probe,
    ProbeAnswer,
    ProbeResult,
    at,
    evaluate,
    items,
    list_check,
    probe_result,
    skipped,
)
from gpuyard.preflight.quota_requirements import (
    CREATED,
    NETWORK_PATH,
    PlannedAccount,
    QuotaRequirement,
    check_quota,
    has_quota,
    merge_requirements,
    quota_skipped,
)
from gpuyard.preflight.reservations import (
    Reserved,
    check_reservation,
    not_reserved,
    parse_count,
    reservation_uses,
)
from gpuyard.preflight.zones import (
    check_offers,
    check_zones,
    control_plane_zone_findings,
    named_subnets,
    pool_path,
    zones_without_pools,
)
from gpuyard.render.aws.pools import group_sizes
from gpuyard.render.aws.roles import disk_key_arn
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard_core.catalogue.cluster.eks import AUTO_SCALING_ROLE, ZONES_WITHOUT
from gpuyard_core.catalogue.cluster.quotas import EC2_ADDRESSES, EC2_NETWORKS, ec2_quota
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, warning
from gpuyard_core.names import OFFERING_TAG, PLATFORM_LABEL, SYSTEM_POOL

_AUTO_SCALING = AUTO_SCALING_ROLE.rpartition("/")[2]
_PARAMETER = "aws:ssm/getParameter:getParameter"
_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
_NO_REGION = "REGION"
_OFFERED = frozenset({"STANDARD_SUPPORT", "EXTENDED_SUPPORT"})
_OLDEST = 3
"""Maximum number of minors that a kubelet may be behind its control plane."""


# ── queries ───────────────────────────────────────────────────────────────────────────────────────
def caller_probe(plan: PlatformPlan) -> Probe:
    """The signed-in identity; without it no other query is run."""
    return _probe(plan, "caller", "signed-in identity", None, "sts get-caller-identity")


def account_of(caller: Any) -> str:
    """The signed-in account; a placeholder when unknown."""
    return str(at(caller, "Account") or "ACCOUNT")


def _probe(
    plan: PlatformPlan, name: str, subject: str, check: Check | None, command: str, *values: str
) -> Probe:
    words = (*command.split(), *values, *_in_region(plan).split())
    return Probe(name, subject, ("aws", *words, "--output", "json"), check)


def _in_region(plan: PlatformPlan) -> str:
    """The region option; empty when the stack file sets no region."""
    return f" --region {plan.region}" if plan.region else ""


def aws_probes(ahead: PlannedAccount) -> list[Probe]:
    """All queries except permissions, which depend on the identity."""
    plan, cluster = ahead.plan, cluster_spec(ahead.plan.spec)
    ask = partial(_probe, plan)
    types = ",".join(sorted({name for pool in plan.pools for name in pool.machines}))
    probes = [
        ask(
            "quotas",
            "service quotas of EC2",
            list_check(partial(_quotas, ahead), "Quotas"),
            "service-quotas list-service-quotas --service-code ec2",
        ),
        ask(
            "offerings",
            "zones that offer the machine types",
            list_check(partial(_offerings, plan), "InstanceTypeOfferings"),
            "ec2 describe-instance-type-offerings --location-type availability-zone --filters",
            f"Name=instance-type,Values={types}",
        ),
        *_cluster_probes(ahead, ask),
    ]
    if key := cluster.key:
        about = "KMS key of the cluster"
        probes.append(ask("key", about, partial(_key, key), "kms describe-key --key-id", key))
    probes += [ask(name, name, None, command) for name, command in limit_commands(ahead.graph)]
    if disk_key_arn(plan):
        about = "service-linked role of Auto Scaling"
        probes.append(ask("role", about, _role, "iam get-role --role-name", _AUTO_SCALING))
    describe = "ec2 describe-capacity-reservations --capacity-reservation-ids"
    for each in dict.fromkeys(draw.id for draw in reservation_uses(plan)):
        name = f"reservation {each}"
        probes.append(ask(name, name, partial(_reservation, plan, each), describe, each))
    probes += _block_probes(plan, ask)
    if configured_zones(plan.spec):
        check = list_check(partial(_zones, plan), "AvailabilityZones")
        command = "ec2 describe-availability-zones"
        probes.append(ask("zones", "zones of the region", check, command))
    if ids := ",".join(each for _, each in named_subnets(plan)):
        check = list_check(partial(_subnets, plan), "Subnets")
        command, chosen = "ec2 describe-subnets --filters", f"Name=subnet-id,Values={ids}"
        probes.append(ask("subnets", "subnets of the network", check, command, chosen))
    head = "s3api head-bucket --bucket"
    probes += [
        ask(each.question, each.question, partial(check_bucket, each), head, each.name)
        for each in _buckets(ahead)
    ]
    images = {str(call.args["name"]) for call in ahead.graph.calls if call.kind == _PARAMETER}
    for each in sorted(images):
        name, check = f"image {each}", partial(_image, plan, each)
        probes.append(ask(name, name, check, "ssm get-parameter --name", each))
    return probes


def _cluster_probes(ahead: PlannedAccount, ask: Callable[..., Probe]) -> Iterator[Probe]:
    plan = ahead.plan
    if name := cluster_spec(plan.spec).existing:
        check = partial(_cluster, ahead)
        yield ask("cluster", f"cluster {name}", check, "eks describe-cluster --name", name)
        return
    yield ask(
        "version",
        f"Kubernetes {plan.kubernetes} on EKS",
        list_check(partial(_version, plan), "clusterVersions"),
        "eks describe-cluster-versions --cluster-versions",
        plan.kubernetes,
    )
    yield ask(
        OWN,
        f"whether cluster {plan.name} exists",
        partial(own_name_findings, plan.name, ("cluster", "tags", PLATFORM_LABEL)),
        "eks describe-cluster --name",
        plan.name,
    )
    logs = f"/aws/eks/{plan.name}/cluster"
    delete = f"aws logs delete-log-group --log-group-name {logs}{_in_region(plan)}"
    yield ask(
        LEFT,
        f"log groups of {plan.name}",
        partial(leftover_findings, ahead, delete, "logGroupName", ("logGroups",)),
        "logs describe-log-groups --log-group-name-prefix",
        logs,
    )


def _buckets(ahead: PlannedAccount) -> list[RequiredBucket]:
    """Buckets with a known name; the name contains account and region."""
    known = {"accountId": ahead.account, "region": ahead.plan.region or _NO_REGION}
    return [each for each in required_buckets(ahead, known) if not each.name.endswith(_NO_REGION)]


def aws_findings(
    ahead: PlannedAccount, questions: list[Probe], answers: AnswersByName
) -> ProbeResult:
    """Findings from the results."""
    return limit_findings(ahead, answers) + evaluate(questions, answers)


# ── the cluster ───────────────────────────────────────────────────────────────────────────────────
def _version(plan: PlatformPlan, versions: list[Any]) -> ProbeResult:
    offered = [v for v in versions if v.get("versionStatus") in _OFFERED]
    if any(v.get("clusterVersion") == plan.kubernetes for v in offered):
        return probe_result(said=f"EKS offers Kubernetes {plan.kubernetes}")
    problem = f"EKS offers no Kubernetes {plan.kubernetes} in this region"
    fix = "set `kubernetes` to a version that `aws eks describe-cluster-versions` lists"
    return probe_result(
        error("live.version", ("kubernetes",), problem, given=plan.kubernetes, fix=Fix(message=fix))
    )


def _cluster(
    ahead: PlannedAccount, answer: ProbeAnswer, _others: AnswersByName
) -> ProbeResult | None:
    name = cluster_spec(ahead.plan.spec).existing
    if answer.error.startswith("ResourceNotFound"):
        fix = "set `cluster.existing` to a cluster of this account and region"
        return probe_result(cluster_error(ahead, "does not exist", fix))
    status = at(answer.value, "cluster", "status")
    if not isinstance(status, str):
        return None
    if status != "ACTIVE":
        return probe_result(cluster_error(ahead, f"is {status}", "wait until it is ACTIVE"))
    unfit = _unfit_version(ahead.plan, str(at(answer.value, "cluster", "version") or ""))
    return probe_result(*unfit, said=f"cluster {name} exists and is active")


def _unfit_version(plan: PlatformPlan, runs: str) -> Iterator[Diagnostic]:
    """Nodes may not be newer than their control plane, and at most three minors older."""
    behind = _minor(runs) - _minor(plan.kubernetes)
    if runs and not 0 <= behind <= _OLDEST:
        what = "newer than its control plane" if behind < 0 else f"{behind} minors older than it"
        name = cluster_spec(plan.spec).existing
        yield error(
            "live.version",
            ("kubernetes",),
            f"cluster {name} runs Kubernetes {runs}: EKS does not accept nodes {what}",
            given=plan.kubernetes,
            allowed=f"{runs}, or up to {_OLDEST} minors before it",
            fix=Fix(message=f'write kubernetes: "{runs}", or upgrade the cluster first'),
        )


def _minor(version: str) -> int:
    """`1.36` as 36."""
    part = version.split(".")[1:2]
    return int(part[0]) if part and part[0].isdigit() else 0


def _key(key: str, answer: ProbeAnswer, _others: AnswersByName) -> ProbeResult | None:
    """A KMS key must exist, be enabled, and be symmetric."""
    if answer.error.startswith("NotFound"):
        return key_error(key, "does not exist")
    state, spec = (at(answer.value, "KeyMetadata", name) for name in ("KeyState", "KeySpec"))
    if not isinstance(state, str):
        return None
    if state != "Enabled":
        return key_error(key, f"is {state}")
    if spec not in {None, "SYMMETRIC_DEFAULT"}:
        return key_error(key, f"has the key spec {spec}, and secrets need a symmetric key")
    return probe_result(said=f"key {key} exists and is enabled")


def _role(answer: ProbeAnswer, _others: AnswersByName) -> ProbeResult | None:
    """Whether the role that needs the disk key exists: an account's first Auto Scaling group creates it."""
    if isinstance(answer.value, Mapping) and "Role" in answer.value:
        return probe_result(said=f"{_AUTO_SCALING} exists and can be granted the disk key")
    if not answer.error.startswith("NoSuchEntity"):
        return None
    make = "aws iam create-service-linked-role --aws-service-name autoscaling.amazonaws.com"
    problem = f"the account has no role {_AUTO_SCALING} yet, which needs a grant for the key"
    path: Path = ("cluster", "key")
    fix = Fix(message=make)
    return probe_result(error("live.role", path, problem, given=_AUTO_SCALING, fix=fix))


def _image(
    plan: PlatformPlan, name: str, answer: ProbeAnswer, _others: AnswersByName
) -> ProbeResult | None:
    if not answer.error:
        return probe_result(said=f"image {name} exists")
    if not answer.error.startswith("ParameterNotFound"):
        return None
    fix = Fix(message="set another `image`, or a Kubernetes minor that the image supports")
    path = next((pool_path(plan, p) for p in plan.pools if p.node_software), ())
    problem = f"image {name} does not exist"
    return probe_result(
        error("live.image", (*path, "image"), problem, given=plan.kubernetes, fix=fix)
    )


# ── zones ─────────────────────────────────────────────────────────────────────────────────────────
def _offerings(plan: PlatformPlan, offers: list[Any]) -> ProbeResult:
    return check_offers(plan, ((e.get("InstanceType"), e.get("Location")) for e in offers))


def _zones(plan: PlatformPlan, results: list[Any]) -> ProbeResult:
    """Whether zones without a pool are in the region, and all support a control plane."""
    ids = {str(each.get("ZoneName")): str(each.get("ZoneId")) for each in results}
    alone = zones_without_pools(plan)
    zone_result = (
        check_zones(alone, set(ids), plan.region or "the region") if alone else ProbeResult()
    )
    return zone_result + probe_result(*control_plane_zone_findings(plan, ids))


def _subnets(plan: PlatformPlan, results: list[Any]) -> ProbeResult:
    """Whether the configured subnets exist in the configured network."""
    network = str(cluster_spec(plan.spec).network.id)
    subnets_by_id = {str(each.get("SubnetId")): each for each in results}
    fix = Fix(message=f"use subnets of {network} in this account and region")
    named = list(named_subnets(plan))
    wrong = [
        error("live.subnet", path, problem, given=f"{subnet} in {network}", fix=fix)
        for path, subnet in named
        if (problem := _wrong_subnet(subnets_by_id.get(subnet), path, subnet, network))
    ]
    return probe_result(*wrong, said=f"all {len(named)} subnets belong to {network}")


def _wrong_subnet(found: Mapping[str, Any] | None, path: Path, subnet: str, network: str) -> str:
    """Why the cluster cannot use the subnet; "" if it can."""
    if found is None:
        return f"subnet {subnet} does not exist"
    if found.get("VpcId") != network:
        return f"subnet {subnet} belongs to another network, {found.get('VpcId')}"
    zone = found.get("AvailabilityZoneId")
    if zone in ZONES_WITHOUT and "private" in path:
        return f"subnet {subnet} is in {zone}, where EKS offers no control plane"
    return ""


# ── reservations and capacity blocks ──────────────────────────────────────────────────────────────
def _reservation(
    plan: PlatformPlan, name: str, answer: ProbeAnswer, _others: AnswersByName
) -> ProbeResult | None:
    results = items(answer.value, "CapacityReservations")
    here = [draw for draw in reservation_uses(plan) if draw.id == name]
    if answer.error.startswith("InvalidCapacityReservationId") or results == []:
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


def _block_probes(plan: PlatformPlan, ask: Callable[..., Probe]) -> Iterator[Probe]:
    """Two queries for each block that is purchased: whether it is offered, and whether it was purchased."""
    for pool in plan.pools:
        for option in pool.capacity_options:
            offer, buys = option.reservation, option.purchase
            if not offer or not buys:
                continue
            ends = buys.starts + timedelta(hours=buys.hours + 48)
            offering = ask(
                f"offer {offer}",
                f"the offer {offer}",
                partial(_block, plan, pool, option, buys),
                "ec2 describe-capacity-block-offerings --instance-type",
                pool.machine.type_name,
                *("--instance-count", str(option.max_nodes)),
                *("--capacity-duration-hours", str(buys.hours)),
                *("--start-date-range", f"{buys.starts}T00:00:00Z"),
                *("--end-date-range", f"{ends}T00:00:00Z"),
            )
            yield replace(offering, checks_failures=True)
            yield ask(
                f"bought {offer}",
                f"whether {offer} was purchased",
                None,
                "ec2 describe-capacity-reservations --filters",
                f"Name=tag:{OFFERING_TAG},Values={offer}",
            )


def _block(
    plan: PlatformPlan,
    pool: PoolPlan,
    option: CapacityOption,
    buys: CapacityBlock,
    offering: ProbeAnswer,
    answers: AnswersByName,
) -> ProbeResult:
    """Findings from both results: a purchased block is no longer offered."""
    offer, path = option.reservation, (*pool_path(plan, pool), "capacity")
    purchase = answers[f"bought {offer}"]
    bought = items(purchase.value, "CapacityReservations")
    if bought:
        reservation, state = (str(bought[0].get(k)) for k in ("CapacityReservationId", "State"))
        return probe_result(said=f"{offer} was purchased as {reservation}, which is {state}")
    offers = items(offering.value, "CapacityBlockOfferings")
    if offers is None or bought is None:
        whys = (offering.failure_reason, offering.error, purchase.failure_reason, "no response")
        return skipped(f"the offer {offer}", next(filter(None, whys)))
    mine = [each for each in offers if each.get("CapacityBlockOfferingId") == offer]
    if not mine:
        offer_texts = [f"{each.get('CapacityBlockOfferingId')} ({_fee(each)})" for each in offers]
        return probe_result(
            error(
                "live.block",
                path,
                f"AWS no longer offers block {offer} for {option.max_nodes} × {pool.machine.type_name}",
                given=str(offer),
                allowed=format_list(offer_texts) or "no block of this size on this date",
                fix=Fix(
                    message="set a listed offer with its price, and deploy immediately: offers expire"
                ),
            )
        )
    return probe_result(
        *_unlike_approval(path, mine[0], pool, option, buys),
        said=f"{offer} is offered for {_fee(mine[0])}, as approved",
    )


def _fee(offered: Mapping[str, Any]) -> str:
    return f"{offered.get('UpfrontFee')} {offered.get('CurrencyCode', 'USD')}"


def _unlike_approval(
    path: Path,
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
            path,
            f"AWS charges {_fee(offered)} for {option.reservation}, and ${agreed:,.2f} is approved",
            given=f"usd: {agreed:g}",
            allowed=f"usd: {fee:g}",
            fix=Fix(message=f"to approve the price, write usd: {fee:g}"),
        )
    if pool.zones and zone not in pool.zones:
        yield error(
            "live.block",
            path,
            f"the block of {option.reservation} is in {zone}",
            given=format_list(pool.zones),
            fix=Fix(message=f"write zones: [{zone}]"),
        )


# ── quotas ────────────────────────────────────────────────────────────────────────────────────────
def _quotas(ahead: PlannedAccount, quotas: list[Any]) -> ProbeResult:
    values = {str(q.get("QuotaCode")): q for q in quotas}
    result = ProbeResult()
    for want in ec2_requirements(ahead.plan, ahead.graph):
        code = next((code for code in want.quotas if code in values), None)
        limit = values[code].get("Value") if code else None
        if code is None or not isinstance(limit, int | float):
            result += quota_skipped(want, "account has no quota", "that gpuyard knows")
            continue
        name = f"{values[code].get('QuotaName', code)} ({code})"
        ask = _increase("ec2", code, want.maximum, ahead.plan)
        result += check_quota(want, name, limit, ask)
    return result


def _increase(service: str, code: str, value: int, plan: PlatformPlan) -> str:
    return (
        f"aws service-quotas request-service-quota-increase --service-code {service}"
        f" --quota-code {code} --desired-value {value}{_in_region(plan)}"
    )


def ec2_requirements(plan: PlatformPlan, graph: CloudGraph) -> list[QuotaRequirement]:
    """VCPUs by quota, of pools and system nodes."""
    wants: list[QuotaRequirement] = []
    for pool in plan.pools:
        vcpus = max(MACHINES[name].vcpus for name in pool.machines)
        machine, path = pool.machine.type_name, pool_path(plan, pool)
        for size in filter(lambda size: has_quota(size.option), group_sizes(pool)):
            floor, most = size.initial_nodes * vcpus, size.high * vcpus
            spot = size.option.mode == Capacity.SPOT.value
            wants.append(_vcpus(machine, floor, most, path, spot=spot))
    for each in graph.resources_of_kind(_NODE_GROUP):
        if each.part == SYSTEM_POOL and (name := each.inputs["instanceTypes"][0]) in MACHINES:
            nodes, vcpus = each.inputs["scalingConfig"], MACHINES[name].vcpus
            floor, most = nodes["minSize"] * vcpus, nodes["maxSize"] * vcpus
            wants.append(_vcpus(name, floor, most, ("system",), spot=False))
    return merge_requirements(wants)


def _vcpus(machine: str, floor: int, most: int, path: Path, *, spot: bool) -> QuotaRequirement:
    known = ec2_quota(machine)
    codes = () if known is None else known.spot if spot else (known.on_demand,)
    subject = f"vCPUs of {machine}{' on spot' if spot else ''}"
    return QuotaRequirement(codes, subject, floor, most, path)


@dataclass(frozen=True, slots=True)
class _Limit:
    """A regional limit."""

    what: str
    kind: str
    listed_by: str
    held_in: str
    """Key of the list in the result."""
    service: str
    quota: str

    @property
    def quota_question(self) -> str:
        return f"quota of {self.what}"


_LIMITS = (
    _Limit("networks", "aws:ec2/vpc:Vpc", "describe-vpcs", "Vpcs", "vpc", EC2_NETWORKS),
    _Limit("addresses", "aws:ec2/eip:Eip", "describe-addresses", "Addresses", "ec2", EC2_ADDRESSES),
)


def limit_commands(graph: CloudGraph) -> Iterator[tuple[str, str]]:
    """Name and command of queries for usage and quota; `limit_findings` evaluates both."""
    kinds = {each.kind for each in graph.resources}
    for each in _LIMITS:
        if each.kind in kinds:
            code = f"--service-code {each.service} --quota-code {each.quota}"
            yield each.what, f"ec2 {each.listed_by}"
            yield each.quota_question, f"service-quotas get-service-quota {code}"


def limit_findings(ahead: PlannedAccount, answers: AnswersByName) -> ProbeResult:
    """Compare usage with quota; the platform's own resources are not counted twice."""
    result = ProbeResult()
    for limit in _LIMITS:
        if limit.what not in answers:
            continue
        usage, quota = answers[limit.what], answers[limit.quota_question]
        listed, most = items(usage.value, limit.held_in), at(quota.value, "Quota", "Value")
        if listed is None or not isinstance(most, int | float):
            whys = (usage.failure_reason, usage.error, quota.failure_reason, quota.error)
            why = next(filter(None, whys), UNEXPECTED_FORMAT)
            result += skipped(limit.quota_question, why)
            continue
        used_by_others = sum(_owner(each) != ahead.plan.name for each in listed)
        count = len(ahead.graph.resources_of_kind(limit.kind))
        want = QuotaRequirement(
            (),
            f"{limit.what} of the platform",
            count,
            count,
            NETWORK_PATH,
            nodes=CREATED,
            alternative="use an existing network (`cluster.network.id`)",
        )
        ask = _increase(limit.service, limit.quota, used_by_others + count, ahead.plan)
        subject = f"{limit.what} of the region ({limit.quota}; {used_by_others} of {most:g} are used by others)"
        result += check_quota(want, subject, most - used_by_others, ask)
    return result


def _owner(resource: Mapping[str, Any]) -> Any:
    """The platform whose tag a resource has."""
    tags = {each.get("Key"): each.get("Value") for each in items(resource, "Tags") or ()}
    return tags.get(PLATFORM_LABEL)
