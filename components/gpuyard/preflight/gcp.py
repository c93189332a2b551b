"""Questions about a plan to a project of Google, and what the answers mean. Nothing here asks."""

from collections.abc import Mapping
from typing import Any

from gpuyard.catalogue.permissions.gcp import GCP_KINDS
from gpuyard.findings import Fix, listed, refuse
from gpuyard.plan.cluster.ranges import cluster_of
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.preflight.asking import (
    NO_FORM,
    NOT_FOUND,
    Answer,
    AnswersByName,
    Heard,
    Question,
    Unasked,
    items,
)
from gpuyard.preflight.given import KEY, cloud_kms_heard, unfit_for_gke
from gpuyard.preflight.limits import PROJECT_QUOTAS, project_heard
from gpuyard.preflight.places import heard_of, judge_offers, judge_zones, subnets_said
from gpuyard.preflight.quotas import google_heard
from gpuyard.preflight.reservations import (
    Draw,
    Reserved,
    draws,
    judge_reserved,
    not_reserved,
    whole,
)
from gpuyard.preflight.stores import WantedBucket, judge_bucket, wanted
from gpuyard.preflight.taken import LEFT, OWN, is_own, left_heard, names_given, own_heard
from gpuyard.preflight.wants import Ahead, gce_wants, zones_without_pools
from gpuyard.render.gcp.names import PLATFORM_KEY
from gpuyard.render.gcp.place import place_of

CALLER, RESERVED = "caller", "reservations"
_SILENT = Answer(why="not asked")
_THERE_OR_NOT = frozenset({"cluster", OWN, KEY})
PERMISSIONS = Unasked(
    "permissions of who is signed in",
    "gcloud has no command that tests them; `gpuyard permissions` prints what must be allowed",
    ours=True,
)
_NO_REGION = Unasked(
    "quotas and versions of a region", "the stack file has no gcp:region or gcp:zone", ours=True
)


def caller_question() -> Question:
    """Who asks, and about which project."""
    return Question(CALLER, "who is signed in", ("gcloud", "config", "list", "--format=json"))


def project_of(value: Any) -> str:
    """The project that gcloud is set to; empty where it is set to none."""
    core = value.get("core") if isinstance(value, Mapping) else None
    return str(core.get("project", "")) if isinstance(core, Mapping) else ""


def gcp_questions(ahead: Ahead) -> list[Question]:
    """Everything that gcloud can be asked."""
    plan, project = ahead.plan, ahead.account
    types = sorted({name for pool in plan.pools for name in _types(pool)})
    asked = [
        _question(project, "apis", "APIs that are on", "services", "list", "--enabled"),
        _question(
            project,
            "offerings",
            "zones that sell the machines",
            *("compute", "machine-types", "list", f"--filter=name=({' '.join(types)})"),
        ),
    ]
    if plan.region:
        words: tuple[str, ...] = ("compute", "regions", "describe", plan.region)
        asked.append(_question(project, "quotas", f"quotas of {plan.region}", *words))
        where = place_of(plan).location
        if name := cluster_of(plan.spec).existing:
            words = ("container", "clusters", "describe", name, f"--location={where}")
            asked.append(_question(project, "cluster", f"cluster {name}", *words))
        else:
            words = ("container", "clusters", "describe", plan.name, f"--location={where}")
            about = f"whether a cluster is called {plan.name}"
            asked.append(_question(project, OWN, about, *words))
            server = ("container", "get-server-config", f"--location={where}")
            about = f"Kubernetes {plan.kubernetes} on GKE"
            asked.append(_question(project, "version", about, *server))
    about = "quotas of the project"
    asked.append(_question(project, PROJECT_QUOTAS, about, "compute", "project-info", "describe"))
    if names := names_given(ahead):
        words = ("compute", "networks", "list", f"--filter=name=({' '.join(names)})")
        asked.append(_question(project, LEFT, f"networks of {plan.name}", *words))
    if key := cluster_of(plan.spec).key:
        words = ("kms", "keys", "describe", key)
        asked.append(_question(project, KEY, "the key of the cluster", *words))
    for owner, names in _reserved_by(plan).items():
        words = ("compute", "reservations", "list", f"--filter=name=({' '.join(names)})")
        about, name = f"reservation {listed(names)}", f"{RESERVED} {owner}".strip()
        asked.append(_question(owner or project, name, about, *words))
    if zones_without_pools(plan):
        words = ("compute", "zones", "list")
        asked.append(_question(project, "zones", "zones of the region", *words))
    for _, name in subnets_said(plan):
        words = ("compute", "networks", "subnets", "describe", *_subnet(name, plan.region))
        asked.append(_question(project, f"subnet {name}", f"subnetwork {name}", *words))
    for each in _buckets(ahead):
        words = ("storage", "buckets", "describe", f"gs://{each.name}")
        asked.append(_question(project, each.question, each.question, *words))
    return asked


def _question(project: str, name: str, about: str, *words: str) -> Question:
    return Question(name, about, ("gcloud", *words, f"--project={project}", "--format=json"))


def _subnet(name: str, region: str | None) -> tuple[str, ...]:
    """How gcloud takes one: its name and its region; a path has a region of its own."""
    if "/" in name:
        return (name,)
    return (name, f"--region={region}") if region else (name,)


def _types(pool: PoolPlan) -> tuple[str, ...]:
    return tuple(name.partition("+")[0] for name in pool.machines)


def _reserved_by(plan: PlatformPlan) -> dict[str, list[str]]:
    """Names of reservations by the project that shares them; "" is the stack's own."""
    by: dict[str, set[str]] = {}
    for draw in draws(plan):
        by.setdefault(draw.project, set()).add(draw.name)
    return {owner: sorted(names) for owner, names in by.items()}


def _buckets(ahead: Ahead) -> list[WantedBucket]:
    return list(wanted(ahead, {"project": ahead.account}))


# ── answers ───────────────────────────────────────────────────────────────────────────────────────
def gcp_heard(ahead: Ahead, questions: list[Question], answers: AnswersByName) -> Heard:
    """What the answers mean for the plan."""
    plan = ahead.plan
    heard = Heard(unasked=(PERMISSIONS, *(() if plan.region else (_NO_REGION,))))
    buckets = {each.question: each for each in _buckets(ahead)}
    own = answers.get(OWN, _SILENT)
    for question in questions:
        answer = answers[question.name]
        if question.name in buckets:
            heard += judge_bucket(buckets[question.name], answer)
        elif question.name.startswith("subnet ") and not answer.why:
            name = question.name.partition(" ")[2]
            heard += _subnet_heard(plan, name, answer) or Heard(
                unasked=(Unasked(question.about, answer.error or NO_FORM),)
            )
        elif question.name in _THERE_OR_NOT and not answer.why:
            found = _there(ahead, question.name, answer)
            heard += found or Heard(unasked=(Unasked(question.about, answer.error or NO_FORM),))
        elif answer.why or answer.error:
            heard += Heard(unasked=(Unasked(question.about, answer.why or answer.error),))
        else:
            found = _one(ahead, question, answer.value, own)
            heard += found or Heard(unasked=(Unasked(question.about, NO_FORM),))
    return heard


def _there(ahead: Ahead, name: str, answer: Answer) -> Heard | None:
    """What is looked up by its name: that there is none is an answer."""
    match name:
        case "cluster":
            return _cluster(ahead, answer)
        case "own":
            return own_heard(ahead.plan.name, answer, "resourceLabels", PLATFORM_KEY)
        case _:
            return cloud_kms_heard(ahead, answer)


def _one(ahead: Ahead, question: Question, value: Any, own: Answer) -> Heard | None:
    plan, deployed = ahead.plan, is_own(own, ahead.plan.name, "resourceLabels", PLATFORM_KEY)
    match question.name:
        case "project-quotas":
            heard = project_heard(ahead, items(value, "quotas"), deployed=deployed)
        case "left":
            heard = left_heard(ahead, own, items(value), "name", "gcloud compute networks delete")
        case "apis":
            heard = _apis(ahead, items(value))
        case "zones":
            heard = _zones_heard(plan, items(value))
        case "offerings":
            heard = _offerings(plan, items(value))
        case "quotas":
            heard = _quotas(plan, items(value, "quotas"), deployed=deployed)
        case "version":
            heard = _version(plan, value)
        case _:
            heard = _held(plan, question.name.removeprefix(RESERVED).strip(), items(value))
    return heard


def _apis(ahead: Ahead, services: list[Any] | None) -> Heard | None:
    if services is None:
        return None
    there = {
        str(each["config"].get("name")) for each in services if isinstance(each.get("config"), dict)
    }
    wanted = {GCP_KINDS[each.kind].api for each in ahead.graph.resources}
    off = sorted(wanted - there)
    if not off:
        return Heard(said=(f"all {len(wanted)} APIs are on",))
    fix = Fix(says=f"gcloud services enable {' '.join(off)}")
    problem = f"the project has {listed(off)} off"
    return Heard((refuse("live.api", (), problem, given=listed(off), fix=fix),))


def _subnet_heard(plan: PlatformPlan, name: str, answer: Answer) -> Heard | None:
    """Whether a given subnetwork is there, and of the given network."""
    at = next(where for where, each in subnets_said(plan) if each == name)
    network = str(cluster_of(plan.spec).network.id)
    own = answer.value.get("network") if isinstance(answer.value, Mapping) else None
    if answer.error == NOT_FOUND:
        problem = f"no subnetwork {name} is there"
    elif not isinstance(own, str):
        return None
    elif own.rpartition("/")[2] != network.rpartition("/")[2]:
        problem = f"subnetwork {name} is of {own.rpartition('/')[2]}, another network"
    else:
        return heard_of(said=f"subnetwork {name} is of {network}")
    fix = Fix(says=f"name a subnetwork of {network}, in this project and region")
    return heard_of(refuse("live.subnet", at, problem, given=f"{name} in {network}", fix=fix))


def _zones_heard(plan: PlatformPlan, found: list[Any] | None) -> Heard | None:
    if found is None:
        return None
    names = {str(each.get("name")) for each in found}
    here = {name for name in names if not plan.region or name.startswith(f"{plan.region}-")}
    return judge_zones(zones_without_pools(plan), here, plan.region or "Google")


def _cluster(ahead: Ahead, answer: Answer) -> Heard | None:
    """The cluster that is to be there; its location is what the stack file says of zones and region."""
    plan = ahead.plan
    name, at = str(cluster_of(plan.spec).existing), ("cluster", "existing")
    status = answer.value.get("status") if isinstance(answer.value, Mapping) else None
    if answer.error == NOT_FOUND:
        where = place_of(plan).location
        fix = Fix(says="give the name of a cluster of this project, and where it is")
        problem = f"no cluster {name} is there in {where}"
        return Heard((refuse("live.cluster", at, problem, given=name, fix=fix),))
    if not isinstance(status, str):
        return None
    if status in {"RUNNING", "RECONCILING"}:
        unfit = unfit_for_gke(ahead, answer.value)
        return heard_of(*unfit, said=f"cluster {name} is there and {status}")
    fix = Fix(says="wait until it is RUNNING, or see what ails it")
    problem = f"cluster {name} is {status}"
    return Heard((refuse("live.cluster", at, problem, given=name, fix=fix),))


def _offerings(plan: PlatformPlan, types: list[Any] | None) -> Heard | None:
    if types is None:
        return None
    zones: dict[str, set[str]] = {}
    for each in types:
        zone = str(each.get("zone")).rpartition("/")[2]
        if not plan.region or zone.startswith(f"{plan.region}-"):
            zones.setdefault(str(each.get("name")), set()).add(zone)
    return judge_offers(plan, zones)


def _quotas(plan: PlatformPlan, quotas: list[Any] | None, *, deployed: bool) -> Heard | None:
    place = f" in {plan.region}"
    return google_heard(gce_wants(plan), quotas, deployed=deployed, whose="region", place=place)


def _version(plan: PlatformPlan, value: Any) -> Heard | None:
    channels = items(value, "channels")
    if channels is None:
        return None
    name = cluster_of(plan.spec).release_channel.value.upper()
    here: Mapping[str, Any] = next((each for each in channels if each.get("channel") == name), {})
    versions = [str(each) for each in here.get("validVersions", ())]
    if any(each.startswith(f"{plan.kubernetes}.") for each in versions):
        return Heard(said=(f"GKE offers Kubernetes {plan.kubernetes} in {name}",))
    minors = sorted({".".join(each.split(".")[:2]) for each in versions})
    problem = f"GKE offers no Kubernetes {plan.kubernetes} in the channel {name}"
    fix = Fix(says="take one that it offers, or another release_channel")
    return Heard(
        (
            refuse(
                "live.version",
                ("kubernetes",),
                problem,
                given=plan.kubernetes,
                allowed=listed(minors) or "none",
                fix=fix,
            ),
        )
    )


def _held(plan: PlatformPlan, owner: str, found: list[Any] | None) -> Heard | None:
    """Reservations of one project: the stack's own, or one that shares them with it."""
    if found is None:
        return None
    there = {str(each.get("name")): each for each in found}
    heard = Heard()
    for draw in draws(plan):
        if draw.project != owner:
            continue
        if draw.name not in there:
            heard += heard_of(not_reserved(plan, draw))
            continue
        said = f"reservation {draw.name} holds {draw.rung.most} of {draw.pool.machine.type_name}"
        heard += heard_of(*judge_reserved(plan, draw, _reserved(there[draw.name], draw)), said=said)
    return heard


def _reserved(there: Mapping[str, Any], draw: Draw) -> Reserved:
    """A field that is not there says nothing."""
    held = there.get("specificReservation")
    held = held if isinstance(held, Mapping) else {}
    shape = held.get("instanceProperties")
    machine = shape.get("machineType") if isinstance(shape, Mapping) else None
    return Reserved(
        state=there.get("status"),
        machine=machine or draw.pool.machine.type_name,
        zone=str(there.get("zone", "")).rpartition("/")[2],
        count=whole(held.get("count")),
    )
