"""Queries about a plan for a Google Cloud project, and findings from the results. Nothing here runs them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.names import (
    LEFT,
    OWN,
    check_bucket,
    cluster_error,
    explicit_names,
    is_managed,
    key_error,
    leftover_findings,
    own_name_findings,
    required_buckets,
)
from gpuyard.preflight.probes import (
    NOT_FOUND,
    AnswersByName,
    Check,
    Probe,
    ProbeAnswer,
    ProbeResult,
    SkippedProbe,
    at,
    evaluate,
    items,
    list_check,
    probe_result,
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
    ReservationUse,
    Reserved,
    check_reservation,
    not_reserved,
    parse_count,
    reservation_uses,
)
from gpuyard.preflight.zones import (
    check_offers,
    check_zones,
    named_subnets,
    pool_path,
    zones_without_pools,
)
from gpuyard.render.gcp.capacity_options import option_node_pools
from gpuyard.render.gcp.place import PLATFORM_KEY, gcp_location
from gpuyard_core.catalogue.cluster.quotas import GCE_ALL_GPUS, GCE_MADE, PREEMPTIBLE
from gpuyard_core.catalogue.permissions.gcp import gcp_kinds
from gpuyard_core.findings import Diagnostic, Fix, error, format_list, warning

PERMISSIONS = SkippedProbe(
    "permissions of the signed-in identity",
    "gcloud cannot test them; `gpuyard permissions` prints the required permissions",
    is_expected=True,
)
_NO_REGION = SkippedProbe(
    "quotas and versions of a region",
    "the stack file has no gcp:region or gcp:zone",
    is_expected=True,
)
_NODE_POOL = "gcp:container/nodePool:NodePool"


def caller_probe() -> Probe:
    """The signed-in identity and the project."""
    return Probe("caller", "signed-in identity", ("gcloud", "config", "list", "--format=json"))


def project_of(value: Any) -> str:
    """The project of gcloud; empty when none is set."""
    return str(at(value, "core", "project") or "")


def gcp_probes(ahead: PlannedAccount) -> list[Probe]:
    """All queries to gcloud."""
    plan, project = ahead.plan, ahead.account

    def ask(
        name: str, subject: str, check: Check | None, command: str, *values: str, owner: str = ""
    ) -> Probe:
        words = (*command.split(), *values, f"--project={owner or project}", "--format=json")
        return Probe(name, subject, ("gcloud", *words), check)

    types = sorted({name.partition("+")[0] for pool in plan.pools for name in pool.machines})
    probes = [
        ask("apis", "enabled APIs", list_check(partial(_apis, ahead)), "services list --enabled"),
        ask(
            "offerings",
            "zones that offer the machine types",
            list_check(partial(_offerings, plan)),
            "compute machine-types list",
            f"--filter=name=({' '.join(types)})",
        ),
    ]
    if plan.region:
        about = f"quotas of {plan.region}"
        check: Check = partial(_region_quotas, plan)
        probes.append(ask("quotas", about, check, "compute regions describe", plan.region))
        at_place, describe = (
            f"--location={gcp_location(plan).location}",
            "container clusters describe",
        )
        if name := cluster_spec(plan.spec).existing:
            check = partial(_cluster, ahead)
            probes.append(ask("cluster", f"cluster {name}", check, describe, name, at_place))
        else:
            about = f"whether cluster {plan.name} exists"
            check = partial(own_name_findings, plan.name, ("resourceLabels", PLATFORM_KEY))
            probes.append(ask(OWN, about, check, describe, plan.name, at_place))
            about = f"Kubernetes {plan.kubernetes} on GKE"
            check = list_check(partial(_version, plan), "channels")
            probes.append(ask("version", about, check, "container get-server-config", at_place))
    about, check = "quotas of the project", partial(_project_quotas, ahead)
    probes.append(ask("project-quotas", about, check, "compute project-info describe"))
    if names := explicit_names(ahead):
        about, chosen = f"networks of {plan.name}", f"--filter=name=({' '.join(names)})"
        check = partial(leftover_findings, ahead, "gcloud compute networks delete", "name", ())
        probes.append(ask(LEFT, about, check, "compute networks list", chosen))
    if key := cluster_spec(plan.spec).key:
        about = "KMS key of the cluster"
        probes.append(ask("key", about, partial(_key, key), "kms keys describe", key))
    for owner, names in _reserved_by(plan).items():
        about, chosen = f"reservation {format_list(names)}", f"--filter=name=({' '.join(names)})"
        check = list_check(partial(_reservation_findings, plan, owner))
        name, command = f"reservations {owner}".strip(), "compute reservations list"
        probes.append(ask(name, about, check, command, chosen, owner=owner))
    if zones_without_pools(plan):
        check = list_check(partial(_zones, plan))
        probes.append(ask("zones", "zones of the region", check, "compute zones list"))
    for _, name in named_subnets(plan):
        # A path contains its region.
        words = (name, f"--region={plan.region}") if plan.region and "/" not in name else (name,)
        check, command = partial(_subnet_findings, plan, name), "compute networks subnets describe"
        probes.append(ask(f"subnet {name}", f"subnetwork {name}", check, command, *words))
    for each in required_buckets(ahead, {"project": ahead.account}):
        about, check = each.question, partial(check_bucket, each)
        bucket = ask(about, about, check, "storage buckets describe", f"gs://{each.name}")
        probes.append(replace(bucket, checks_failures=True))
    return probes


def _reserved_by(plan: PlatformPlan) -> dict[str, list[str]]:
    """Names of reservations by the sharing project; "" is the stack's own project."""
    by: dict[str, set[str]] = {}
    for draw in reservation_uses(plan):
        by.setdefault(draw.project, set()).add(draw.name)
    return {owner: sorted(names) for owner, names in by.items()}


def gcp_findings(
    ahead: PlannedAccount, questions: list[Probe], answers: AnswersByName
) -> ProbeResult:
    """Findings from the results."""
    impossible = (PERMISSIONS, *(() if ahead.plan.region else (_NO_REGION,)))
    return ProbeResult(skipped=impossible) + evaluate(questions, answers)


# ── the project and its network ───────────────────────────────────────────────────────────────────
def _apis(ahead: PlannedAccount, services: list[Any]) -> ProbeResult:
    enabled = {str(at(each, "config", "name")) for each in services}
    needed = {gcp_kinds()[each.kind].api for each in ahead.graph.resources}
    off = sorted(needed - enabled)
    if not off:
        return probe_result(said=f"all {len(needed)} APIs are enabled")
    fix = Fix(message=f"gcloud services enable {' '.join(off)}")
    problem = f"APIs disabled in the project: {format_list(off)}"
    return probe_result(error("live.api", (), problem, given=format_list(off), fix=fix))


def _subnet_findings(
    plan: PlatformPlan, name: str, answer: ProbeAnswer, _others: AnswersByName
) -> ProbeResult | None:
    """Whether a configured subnetwork exists in the configured network."""
    path = next(where for where, each in named_subnets(plan) if each == name)
    network = str(cluster_spec(plan.spec).network.id)
    own = at(answer.value, "network")
    if answer.error == NOT_FOUND:
        problem = f"subnetwork {name} does not exist"
    elif not isinstance(own, str):
        return None
    elif own.rpartition("/")[2] != network.rpartition("/")[2]:
        problem = f"subnetwork {name} belongs to another network, {own.rpartition('/')[2]}"
    else:
        return probe_result(said=f"subnetwork {name} belongs to {network}")
    fix = Fix(message=f"use a subnetwork of {network} in this project and region")
    return probe_result(error("live.subnet", path, problem, given=f"{name} in {network}", fix=fix))


def _zones(plan: PlatformPlan, results: list[Any]) -> ProbeResult:
    names = {str(each.get("name")) for each in results}
    here = {name for name in names if not plan.region or name.startswith(f"{plan.region}-")}
    return check_zones(zones_without_pools(plan), here, plan.region or "Google")


def _offerings(plan: PlatformPlan, types: list[Any]) -> ProbeResult:
    offers = ((each.get("name"), str(each.get("zone")).rpartition("/")[2]) for each in types)
    here = f"{plan.region}-" if plan.region else ""
    return check_offers(plan, (each for each in offers if each[1].startswith(here)))


# ── the cluster ───────────────────────────────────────────────────────────────────────────────────
def _cluster(
    ahead: PlannedAccount, answer: ProbeAnswer, _others: AnswersByName
) -> ProbeResult | None:
    """The existing cluster; its location is the zone or region of the stack file."""
    name = cluster_spec(ahead.plan.spec).existing
    status = at(answer.value, "status")
    if answer.error == NOT_FOUND:
        problem = f"does not exist in {gcp_location(ahead.plan).location}"
        fix = "set `cluster.existing` to a cluster of this project, and set its location"
        return probe_result(cluster_error(ahead, problem, fix))
    if not isinstance(status, str):
        return None
    if status in {"RUNNING", "RECONCILING"}:
        unfit = _incompatibility(ahead, answer.value)
        return probe_result(*unfit, said=f"cluster {name} exists and is {status}")
    fix = "wait until it is RUNNING, or repair it"
    return probe_result(cluster_error(ahead, f"is {status}", fix))


def _incompatibility(ahead: PlannedAccount, cluster: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """A cluster of another minor, an Autopilot cluster, or one without a required feature."""
    plan, name = ahead.plan, cluster_spec(ahead.plan.spec).existing
    runs = ".".join(str(cluster.get("currentMasterVersion", "")).split(".")[:2])
    if runs and runs != plan.kubernetes:
        yield warning(
            "live.version",
            ("kubernetes",),
            f"cluster {name} runs Kubernetes {runs}, and so do its nodes: the plan was validated for another version",
            given=plan.kubernetes,
            allowed=runs,
            fix=Fix(message=f'write kubernetes: "{runs}"'),
        )
    if at(cluster, "autopilot", "enabled") is True:
        problem, fix = "is an Autopilot cluster, which accepts no node pools", "use another cluster"
        yield cluster_error(ahead, problem, fix, allowed="a Standard cluster")
        return
    networks = any(
        at(each.inputs, "networkConfig", "additionalNodeNetworkConfigs")
        for each in ahead.graph.resources_of_kind(_NODE_POOL)
    )
    if networks and at(cluster, "networkConfig", "enableMultiNetworking") is not True:
        problem = "has no multi-networking, which the fabric needs"
        needed = "a cluster created with multi-networking: it cannot be enabled later"
        fix = "use another cluster, or remove `existing`"
        yield cluster_error(ahead, problem, fix, allowed=needed)
    if not at(cluster, "workloadIdentityConfig", "workloadPool"):
        problem = "has no Workload Identity, which pods on the pools' nodes need"
        fix = f"gcloud container clusters update {cluster.get('name')} --workload-pool=PROJECT.svc.id.goog"
        yield cluster_error(ahead, problem, fix, allowed="a cluster with a workload pool")


def _version(plan: PlatformPlan, channels: list[Any]) -> ProbeResult:
    name = cluster_spec(plan.spec).release_channel.value.upper()
    here: Mapping[str, Any] = next((each for each in channels if each.get("channel") == name), {})
    versions = [str(each) for each in here.get("validVersions", ())]
    if any(each.startswith(f"{plan.kubernetes}.") for each in versions):
        return probe_result(said=f"GKE offers Kubernetes {plan.kubernetes} in {name}")
    minors = sorted({".".join(each.split(".")[:2]) for each in versions})
    problem = f"GKE offers no Kubernetes {plan.kubernetes} in the channel {name}"
    fix = Fix(message="set `kubernetes` to an offered version, or set another release_channel")
    return probe_result(
        error(
            "live.version",
            ("kubernetes",),
            problem,
            given=plan.kubernetes,
            allowed=format_list(minors) or "none",
            fix=fix,
        )
    )


def _key(key: str, answer: ProbeAnswer, _others: AnswersByName) -> ProbeResult | None:
    """A Cloud KMS key must exist with a version that encrypts."""
    if answer.error == NOT_FOUND:
        return key_error(key, "does not exist")
    purpose, state = at(answer.value, "purpose"), at(answer.value, "primary", "state")
    if not isinstance(purpose, str):
        return None
    if purpose != "ENCRYPT_DECRYPT":
        return key_error(key, f"has the purpose {purpose}, and secrets need ENCRYPT_DECRYPT")
    if state != "ENABLED":
        return key_error(key, f"has no enabled primary version ({state or 'none'})")
    return probe_result(said=f"key {key} exists and is enabled")


# ── reservations ──────────────────────────────────────────────────────────────────────────────────
def _reservation_findings(plan: PlatformPlan, owner: str, results: list[Any]) -> ProbeResult:
    """Reservations of one project: the stack's own, or one that shares them."""
    reservations = {str(each.get("name")): each for each in results}
    result = ProbeResult()
    for draw in reservation_uses(plan):
        if draw.project != owner:
            continue
        if draw.name not in reservations:
            result += probe_result(not_reserved(plan, draw))
            continue
        message = f"reservation {draw.name} has {draw.capacity_option.max_nodes} of {draw.pool.machine.type_name}"
        result += probe_result(
            *check_reservation(plan, draw, _reserved(reservations[draw.name], draw)), said=message
        )
    return result


def _reserved(reservation: Mapping[str, Any], draw: ReservationUse) -> Reserved:
    """A missing field means unknown."""
    specific = "specificReservation"
    machine = at(reservation, specific, "instanceProperties", "machineType")
    return Reserved(
        state=reservation.get("status"),
        machine=machine or draw.pool.machine.type_name,
        zone=str(reservation.get("zone", "")).rpartition("/")[2],
        count=parse_count(at(reservation, specific, "count")),
    )


# ── quotas ────────────────────────────────────────────────────────────────────────────────────────
def _region_quotas(
    plan: PlatformPlan, answer: ProbeAnswer, others: AnswersByName
) -> ProbeResult | None:
    deployed = _is_deployed(plan, others)
    wants, quotas = gce_requirements(plan), items(answer.value, "quotas")
    return _quotas(wants, quotas, deployed=deployed, whose="region", place=f" in {plan.region}")


def _project_quotas(
    ahead: PlannedAccount, answer: ProbeAnswer, others: AnswersByName
) -> ProbeResult | None:
    deployed = _is_deployed(ahead.plan, others)
    return project_findings(ahead, items(answer.value, "quotas"), deployed=deployed)


def _is_deployed(plan: PlatformPlan, others: AnswersByName) -> bool:
    """Whether the usage of a quota includes the platform."""
    own = others.get(OWN)
    return own is not None and is_managed(own, plan.name, "resourceLabels", PLATFORM_KEY)


def gce_requirements(plan: PlatformPlan) -> list[QuotaRequirement]:
    """GPUs by metric; spot and flex-start use another metric than on-demand."""
    wants: list[QuotaRequirement] = []
    for pool in plan.pools:
        for group in filter(lambda group: has_quota(group.option), option_node_pools(pool)):
            machine, gpus = group.machine, group.machine.gpus
            is_preemptible = group.purchase.spot or group.purchase.flex_start
            metric = f"{PREEMPTIBLE if is_preemptible else ''}{machine.gpu_quota}"
            names = (metric,) if machine.gpu_quota else ()
            what = f"GPUs of {machine.name}{f' on {group.option.mode}' if is_preemptible else ''}"
            floor, most = group.min_nodes * gpus, group.max_nodes * gpus
            wants.append(QuotaRequirement(names, what, floor, most, pool_path(plan, pool)))
    return merge_requirements(wants)


def project_findings(
    ahead: PlannedAccount, quotas: list[Any] | None, *, deployed: bool
) -> ProbeResult | None:
    """Global quotas of a project; after deployment, its usage includes the platform."""
    counts = Counter(GCE_MADE[e.kind] for e in ahead.graph.resources if e.kind in GCE_MADE)
    wants: list[QuotaRequirement] = []
    for metric, count in sorted(counts.items()):
        what = f"{metric.lower()} of the platform"
        wants.append(
            QuotaRequirement((metric,), what, count, count, NETWORK_PATH, CREATED, alternative="")
        )
    if gpus := gce_requirements(ahead.plan):
        largest = max(gpus, key=lambda each: each.maximum)
        floor, most = sum(each.minimum for each in gpus), sum(each.maximum for each in gpus)
        names, what = (GCE_ALL_GPUS,), "GPUs of all models"
        wants.append(QuotaRequirement(names, what, floor, most, largest.path))
    return _quotas(wants, quotas, deployed=deployed, whose="project")


def _quotas(
    wants: Iterable[QuotaRequirement],
    quotas: list[Any] | None,
    *,
    deployed: bool,
    whose: str,
    place: str = "",
) -> ProbeResult | None:
    """Compare Google Cloud quotas, minus their usage by others than the deployed platform."""
    if quotas is None:
        return None
    quotas_by_metric = {str(each.get("metric")): each for each in quotas}
    result = ProbeResult()
    for want in wants:
        metric = next((name for name in want.quotas if name in quotas_by_metric), "")
        limit, usage = (at(quotas_by_metric, metric, key) for key in ("limit", "usage"))
        if not isinstance(limit, int | float) or not isinstance(usage, int | float):
            result += quota_skipped(want, f"{whose} has no", "quota that gpuyard knows")
            continue
        used_by_others = 0 if deployed else usage
        ask = f"IAM & Admin, Quotas: {metric}{place}, {used_by_others + want.maximum:g}"
        subject = f"{metric} ({usage:g} of {limit:g} used)"
        result += check_quota(want, subject, limit - used_by_others, ask)
    return result
