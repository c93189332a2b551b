"""Queries about a plan for a Google Cloud project, and findings from the results. Nothing here runs them."""

from collections.abc import Mapping
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.preflight.existing_clusters import KEY, cloud_kms_findings, gke_incompatibility
from gpuyard.preflight.probes import (
    NOT_FOUND,
    UNEXPECTED_FORMAT,
    AnswersByName,
    Probe,
    ProbeAnswer,
    ProbeResult,
    SkippedProbe,
    items,
    probe_result,
    skipped,
)
from gpuyard.preflight.quota_requirements import (
    PROJECT_QUOTAS,
    PlannedAccount,
    gce_requirements,
    gcp_quota_findings,
    project_findings,
    zones_without_pools,
)
from gpuyard.preflight.reservations import (
    ReservationUse,
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
    explicit_names,
    is_managed,
    leftover_findings,
    own_name_findings,
    required_buckets,
)
from gpuyard.preflight.zones import check_offers, check_zones, named_subnets
from gpuyard.render.gcp.names import PLATFORM_KEY
from gpuyard.render.gcp.place import gcp_location
from gpuyard_core.catalogue.permissions.gcp import gcp_kinds
from gpuyard_core.findings import Fix, error, format_list

CALLER, RESERVED = "caller", "reservations"
_SILENT = ProbeAnswer(failure_reason="not queried")
_THERE_OR_NOT = frozenset({"cluster", OWN, KEY})
_SUBNET = "subnet "
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


def caller_probe() -> Probe:
    """The signed-in identity and the project."""
    return Probe(CALLER, "signed-in identity", ("gcloud", "config", "list", "--format=json"))


def project_of(value: Any) -> str:
    """The project of gcloud; empty when none is set."""
    core = value.get("core") if isinstance(value, Mapping) else None
    return str(core.get("project", "")) if isinstance(core, Mapping) else ""


def gcp_probes(ahead: PlannedAccount) -> list[Probe]:
    """All queries to gcloud."""
    plan, project = ahead.plan, ahead.account
    types = sorted({name for pool in plan.pools for name in _types(pool)})
    probes = [
        _question(project, "apis", "enabled APIs", "services", "list", "--enabled"),
        _question(
            project,
            "offerings",
            "zones that offer the machine types",
            *("compute", "machine-types", "list", f"--filter=name=({' '.join(types)})"),
        ),
    ]
    if plan.region:
        words: tuple[str, ...] = ("compute", "regions", "describe", plan.region)
        probes.append(_question(project, "quotas", f"quotas of {plan.region}", *words))
        where = gcp_location(plan).location
        if name := cluster_spec(plan.spec).existing:
            words = ("container", "clusters", "describe", name, f"--location={where}")
            probes.append(_question(project, "cluster", f"cluster {name}", *words))
        else:
            words = ("container", "clusters", "describe", plan.name, f"--location={where}")
            about = f"whether cluster {plan.name} exists"
            probes.append(_question(project, OWN, about, *words))
            server = ("container", "get-server-config", f"--location={where}")
            about = f"Kubernetes {plan.kubernetes} on GKE"
            probes.append(_question(project, "version", about, *server))
    about = "quotas of the project"
    probes.append(_question(project, PROJECT_QUOTAS, about, "compute", "project-info", "describe"))
    if names := explicit_names(ahead):
        words = ("compute", "networks", "list", f"--filter=name=({' '.join(names)})")
        probes.append(_question(project, LEFT, f"networks of {plan.name}", *words))
    if key := cluster_spec(plan.spec).key:
        words = ("kms", "keys", "describe", key)
        probes.append(_question(project, KEY, "KMS key of the cluster", *words))
    for owner, names in _reserved_by(plan).items():
        words = ("compute", "reservations", "list", f"--filter=name=({' '.join(names)})")
        about, name = f"reservation {format_list(names)}", f"{RESERVED} {owner}".strip()
        probes.append(_question(owner or project, name, about, *words))
    if zones_without_pools(plan):
        words = ("compute", "zones", "list")
        probes.append(_question(project, "zones", "zones of the region", *words))
    for _, name in named_subnets(plan):
        words = ("compute", "networks", "subnets", "describe", *_subnet(name, plan.region))
        probes.append(_question(project, f"{_SUBNET}{name}", f"subnetwork {name}", *words))
    for each in _buckets(ahead):
        words = ("storage", "buckets", "describe", f"gs://{each.name}")
        probes.append(_question(project, each.question, each.question, *words))
    return probes


def _question(project: str, name: str, about: str, *words: str) -> Probe:
    return Probe(name, about, ("gcloud", *words, f"--project={project}", "--format=json"))


def _subnet(name: str, region: str | None) -> tuple[str, ...]:
    """Arguments of a subnetwork: its name and region; a path contains its region."""
    if "/" in name:
        return (name,)
    return (name, f"--region={region}") if region else (name,)


def _types(pool: PoolPlan) -> tuple[str, ...]:
    return tuple(name.partition("+")[0] for name in pool.machines)


def _reserved_by(plan: PlatformPlan) -> dict[str, list[str]]:
    """Names of reservations by the sharing project; "" is the stack's own project."""
    by: dict[str, set[str]] = {}
    for draw in reservation_uses(plan):
        by.setdefault(draw.project, set()).add(draw.name)
    return {owner: sorted(names) for owner, names in by.items()}


def _buckets(ahead: PlannedAccount) -> list[RequiredBucket]:
    return list(required_buckets(ahead, {"project": ahead.account}))


# ── results ───────────────────────────────────────────────────────────────────────────────────────
def gcp_findings(
    ahead: PlannedAccount, questions: list[Probe], answers: AnswersByName
) -> ProbeResult:
    """Findings from the results."""
    plan = ahead.plan
    findings = ProbeResult(skipped=(PERMISSIONS, *(() if plan.region else (_NO_REGION,))))
    buckets = {each.question: each for each in _buckets(ahead)}
    own = answers.get(OWN, _SILENT)
    for question in questions:
        answer = answers[question.name]
        looks_up = question.name in _THERE_OR_NOT or question.name.startswith(_SUBNET)
        if question.name in buckets:
            result: ProbeResult | None = check_bucket(buckets[question.name], answer)
        elif answer.failure_reason or (answer.error and not looks_up):
            result = None
        elif looks_up:
            result = _lookup_findings(ahead, question.name, answer)
        else:
            result = _one(ahead, question, answer.value, own)
        why = answer.failure_reason or answer.error or UNEXPECTED_FORMAT
        findings += result or skipped(question.subject, why)
    return findings


def _lookup_findings(ahead: PlannedAccount, name: str, answer: ProbeAnswer) -> ProbeResult | None:
    """Findings of lookups by name, where "not found" is a result."""
    match name:
        case "cluster":
            return _cluster(ahead, answer)
        case "own":
            return own_name_findings(ahead.plan.name, answer, "resourceLabels", PLATFORM_KEY)
        case "key":
            return cloud_kms_findings(ahead, answer)
        case _:
            return _subnet_findings(ahead.plan, name.removeprefix(_SUBNET), answer)


def _one(
    ahead: PlannedAccount, question: Probe, value: Any, own: ProbeAnswer
) -> ProbeResult | None:
    plan, deployed = ahead.plan, is_managed(own, ahead.plan.name, "resourceLabels", PLATFORM_KEY)
    match question.name:
        case "project-quotas":
            result = project_findings(ahead, items(value, "quotas"), deployed=deployed)
        case "left":
            result = leftover_findings(
                ahead, own, items(value), "name", "gcloud compute networks delete"
            )
        case "apis":
            result = _apis(ahead, items(value))
        case "zones":
            result = _zones_findings(plan, items(value))
        case "offerings":
            result = _offerings(plan, items(value))
        case "quotas":
            result = _quotas(plan, items(value, "quotas"), deployed=deployed)
        case "version":
            result = _version(plan, value)
        case _:
            result = _reservation_findings(
                plan, question.name.removeprefix(RESERVED).strip(), items(value)
            )
    return result


def _apis(ahead: PlannedAccount, services: list[Any] | None) -> ProbeResult | None:
    if services is None:
        return None
    enabled = {
        str(each["config"].get("name")) for each in services if isinstance(each.get("config"), dict)
    }
    needed = {gcp_kinds()[each.kind].api for each in ahead.graph.resources}
    off = sorted(needed - enabled)
    if not off:
        return probe_result(said=f"all {len(needed)} APIs are enabled")
    fix = Fix(message=f"gcloud services enable {' '.join(off)}")
    problem = f"APIs disabled in the project: {format_list(off)}"
    return probe_result(error("live.api", (), problem, given=format_list(off), fix=fix))


def _subnet_findings(plan: PlatformPlan, name: str, answer: ProbeAnswer) -> ProbeResult | None:
    """Whether a configured subnetwork exists in the configured network."""
    at = next(where for where, each in named_subnets(plan) if each == name)
    network = str(cluster_spec(plan.spec).network.id)
    own = answer.value.get("network") if isinstance(answer.value, Mapping) else None
    if answer.error == NOT_FOUND:
        problem = f"subnetwork {name} does not exist"
    elif not isinstance(own, str):
        return None
    elif own.rpartition("/")[2] != network.rpartition("/")[2]:
        problem = f"subnetwork {name} belongs to another network, {own.rpartition('/')[2]}"
    else:
        return probe_result(said=f"subnetwork {name} belongs to {network}")
    fix = Fix(message=f"use a subnetwork of {network} in this project and region")
    return probe_result(error("live.subnet", at, problem, given=f"{name} in {network}", fix=fix))


def _zones_findings(plan: PlatformPlan, results: list[Any] | None) -> ProbeResult | None:
    if results is None:
        return None
    names = {str(each.get("name")) for each in results}
    here = {name for name in names if not plan.region or name.startswith(f"{plan.region}-")}
    return check_zones(zones_without_pools(plan), here, plan.region or "Google")


def _cluster(ahead: PlannedAccount, answer: ProbeAnswer) -> ProbeResult | None:
    """The existing cluster; its location is the zone or region of the stack file."""
    plan = ahead.plan
    name, at = str(cluster_spec(plan.spec).existing), ("cluster", "existing")
    status = answer.value.get("status") if isinstance(answer.value, Mapping) else None
    if answer.error == NOT_FOUND:
        where = gcp_location(plan).location
        fix = Fix(
            message="set `cluster.existing` to a cluster of this project, and set its location"
        )
        problem = f"cluster {name} does not exist in {where}"
        return probe_result(error("live.cluster", at, problem, given=name, fix=fix))
    if not isinstance(status, str):
        return None
    if status in {"RUNNING", "RECONCILING"}:
        unfit = gke_incompatibility(ahead, answer.value)
        return probe_result(*unfit, said=f"cluster {name} exists and is {status}")
    fix = Fix(message="wait until it is RUNNING, or repair it")
    problem = f"cluster {name} is {status}"
    return probe_result(error("live.cluster", at, problem, given=name, fix=fix))


def _offerings(plan: PlatformPlan, types: list[Any] | None) -> ProbeResult | None:
    if types is None:
        return None
    zones: dict[str, set[str]] = {}
    for each in types:
        zone = str(each.get("zone")).rpartition("/")[2]
        if not plan.region or zone.startswith(f"{plan.region}-"):
            zones.setdefault(str(each.get("name")), set()).add(zone)
    return check_offers(plan, zones)


def _quotas(plan: PlatformPlan, quotas: list[Any] | None, *, deployed: bool) -> ProbeResult | None:
    place = f" in {plan.region}"
    return gcp_quota_findings(
        gce_requirements(plan), quotas, deployed=deployed, whose="region", place=place
    )


def _version(plan: PlatformPlan, value: Any) -> ProbeResult | None:
    channels = items(value, "channels")
    if channels is None:
        return None
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


def _reservation_findings(
    plan: PlatformPlan, owner: str, results: list[Any] | None
) -> ProbeResult | None:
    """Reservations of one project: the stack's own, or one that shares them."""
    if results is None:
        return None
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
    specific = reservation.get("specificReservation")
    specific = specific if isinstance(specific, Mapping) else {}
    shape = specific.get("instanceProperties")
    machine = shape.get("machineType") if isinstance(shape, Mapping) else None
    return Reserved(
        state=reservation.get("status"),
        machine=machine or draw.pool.machine.type_name,
        zone=str(reservation.get("zone", "")).rpartition("/")[2],
        count=parse_count(specific.get("count")),
    )
