"""Questions about a plan to an account of AWS, and what the answers mean. Nothing here asks."""

from collections.abc import Mapping
from typing import Any

from gpuyard.catalogue.cluster.eks import AUTO_SCALING_ROLE, ZONES_WITHOUT
from gpuyard.findings import Finding, Fix, Path, refuse
from gpuyard.names import PLATFORM_LABEL
from gpuyard.plan.cluster.ranges import cluster_of, zones_named
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.asking import NO_FORM, Answer, AnswersByName, Heard, Question, Unasked, items
from gpuyard.preflight.blocks import BOUGHT, OFFER, block_questions, judge_block
from gpuyard.preflight.given import KEY, kms_heard, unfit_for_eks
from gpuyard.preflight.limits import LIMIT_QUESTIONS, limit_questions, limits_heard
from gpuyard.preflight.places import (
    heard_of,
    judge_offers,
    judge_zones,
    of_pool,
    subnets_said,
    without_control_plane,
)
from gpuyard.preflight.quotas import judge_quota
from gpuyard.preflight.reservations import Reserved, draws, judge_reserved, not_reserved, whole
from gpuyard.preflight.stores import WantedBucket, judge_bucket, wanted
from gpuyard.preflight.taken import LEFT, OWN, left_heard, own_heard
from gpuyard.preflight.wants import Ahead, ec2_wants, zones_without_pools
from gpuyard.render.aws.disk_key import disk_key
from gpuyard.render.cloud.graph import CloudGraph

CALLER, QUOTAS, OFFERINGS, VERSION, CLUSTER = "caller", "quotas", "offerings", "version", "cluster"
ZONES, SUBNETS, ROLE = "zones", "subnets", "role"
_AUTO_SCALING = AUTO_SCALING_ROLE.rpartition("/")[2]
_PARAMETER = "aws:ssm/getParameter:getParameter"
_NO_REGION = "REGION"
_SILENT = Answer(why="not asked")
_OFFERED = frozenset({"STANDARD_SUPPORT", "EXTENDED_SUPPORT"})


# ── questions ─────────────────────────────────────────────────────────────────────────────────────
def caller_question(plan: PlatformPlan) -> Question:
    """Who asks; without an answer to this one no other is worth putting."""
    return _question(plan, CALLER, "who is signed in", "sts", "get-caller-identity")


def account_of(caller: Any) -> str:
    """The account that is signed in to; a word for one where nobody is."""
    known = caller.get("Account") if isinstance(caller, Mapping) else None
    return str(known or "ACCOUNT")


def aws_questions(ahead: Ahead) -> list[Question]:
    """Everything but permissions, which rest on who asks."""
    plan = ahead.plan
    asked = [
        _question(
            plan,
            QUOTAS,
            "service quotas of EC2",
            *("service-quotas", "list-service-quotas", "--service-code", "ec2"),
        ),
        _question(
            plan,
            OFFERINGS,
            "zones that sell the machines",
            *("ec2", "describe-instance-type-offerings", "--location-type", "availability-zone"),
            *("--filters", f"Name=instance-type,Values={','.join(_types(plan))}"),
        ),
    ]
    if name := cluster_of(plan.spec).existing:
        asked.append(
            _question(plan, CLUSTER, f"cluster {name}", "eks", "describe-cluster", "--name", name)
        )
    else:
        words: tuple[str, ...] = (
            "eks",
            "describe-cluster-versions",
            "--cluster-versions",
            plan.kubernetes,
        )
        asked.append(_question(plan, VERSION, f"Kubernetes {plan.kubernetes} on EKS", *words))
        words = ("eks", "describe-cluster", "--name", plan.name)
        asked.append(_question(plan, OWN, f"whether a cluster is called {plan.name}", *words))
        words = ("logs", "describe-log-groups", "--log-group-name-prefix", _eks_logs(plan))
        asked.append(_question(plan, LEFT, f"log groups of {plan.name}", *words))
    if key := cluster_of(plan.spec).key:
        words = ("kms", "describe-key", "--key-id", key)
        asked.append(_question(plan, KEY, "the key of the cluster", *words))
    asked += [_question(plan, name, name, *words) for name, words in limit_questions(ahead.graph)]
    if disk_key(plan):
        words = ("iam", "get-role", "--role-name", _AUTO_SCALING)
        asked.append(_question(plan, ROLE, "the role of Auto Scaling", *words))
    for held in dict.fromkeys(draw.id for draw in draws(plan)):
        words = ("ec2", "describe-capacity-reservations", "--capacity-reservation-ids", held)
        asked.append(_question(plan, f"reservation {held}", f"reservation {held}", *words))
    asked += [_question(plan, name, about, *words) for name, about, words in block_questions(plan)]
    if zones_named(plan.spec):
        words = ("ec2", "describe-availability-zones")
        asked.append(_question(plan, ZONES, "zones of the region", *words))
    if ids := [each for _, each in subnets_said(plan)]:
        words = ("ec2", "describe-subnets", "--filters", f"Name=subnet-id,Values={','.join(ids)}")
        asked.append(_question(plan, SUBNETS, "subnets of the network", *words))
    for each in _buckets(ahead):
        words = ("s3api", "head-bucket", "--bucket", each.name)
        asked.append(_question(plan, each.question, each.question, *words))
    image = ("ssm", "get-parameter", "--name")
    asked += [
        _question(plan, f"image {name}", f"image {name}", *image, name)
        for name in _images(ahead.graph)
    ]
    return asked


def _question(plan: PlatformPlan, name: str, about: str, *words: str) -> Question:
    region = _in_region(plan).split()
    return Question(name, about, ("aws", *words, *region, "--output", "json"))


def _eks_logs(plan: PlatformPlan) -> str:
    return f"/aws/eks/{plan.name}/cluster"


def _in_region(plan: PlatformPlan) -> str:
    """Its option; nothing where the stack file leaves the region to the program's own configuration."""
    return f" --region {plan.region}" if plan.region else ""


def _types(plan: PlatformPlan) -> list[str]:
    return sorted({name for pool in plan.pools for name in pool.machines})


def _buckets(ahead: Ahead) -> list[WantedBucket]:
    """Those with a name that is known: account and region are part of it."""
    known = {"accountId": ahead.account, "region": ahead.plan.region or _NO_REGION}
    return [each for each in wanted(ahead, known) if not each.name.endswith(_NO_REGION)]


def _images(graph: CloudGraph) -> list[str]:
    return sorted({str(call.args["name"]) for call in graph.calls if call.kind == _PARAMETER})


# ── answers ───────────────────────────────────────────────────────────────────────────────────────
def aws_heard(ahead: Ahead, questions: list[Question], answers: AnswersByName) -> Heard:
    """What the answers mean for the plan."""
    heard = limits_heard(ahead, answers, _in_region(ahead.plan))
    for question in questions:
        answer = answers[question.name]
        kind, _, offer = question.name.partition(" ")
        if kind == OFFER:
            heard += judge_block(ahead.plan, offer, answers)
        elif kind == BOUGHT or question.name in LIMIT_QUESTIONS:
            continue  # judged with its offer, or with what it is the quota of
        elif answer.why:
            heard += Heard(unasked=(Unasked(question.about, answer.why),))
        else:
            heard += _one(ahead, question, answer, answers.get(OWN, _SILENT))
    return heard


def _one(ahead: Ahead, question: Question, answer: Answer, own: Answer) -> Heard:
    kind, _, name = question.name.partition(" ")
    plan, value, error = ahead.plan, answer.value, answer.error
    match kind:
        case "quotas":
            heard = _quotas(ahead, items(value, "Quotas"))
        case "offerings":
            heard = _offerings(plan, items(value, "InstanceTypeOfferings"))
        case "version":
            heard = _version(plan, items(value, "clusterVersions"))
        case "cluster":
            heard = _cluster(ahead, value, error)
        case "own" | "left" | "key" | "role":
            heard = _named(ahead, kind, answer, own)
        case "reservation":
            heard = _reservation(plan, name, items(value, "CapacityReservations"), error)
        case "zones":
            heard = _zones_heard(plan, items(value, "AvailabilityZones"))
        case "subnets":
            heard = _subnets_heard(plan, items(value, "Subnets"))
        case "bucket":
            bucket = next(each for each in _buckets(ahead) if each.name == name)
            heard = judge_bucket(bucket, answer)
        case _:
            heard = _image(plan, name, error)
    return heard or Heard(unasked=(Unasked(question.about, error or NO_FORM),))


def _named(ahead: Ahead, kind: str, answer: Answer, own: Answer) -> Heard | None:
    """What the platform calls something, and the key that it names."""
    plan = ahead.plan
    if kind == ROLE:
        return _role(answer.value, answer.error)
    if kind == KEY:
        return kms_heard(ahead, answer)
    if kind == OWN:
        return own_heard(plan.name, answer, "cluster", "tags", PLATFORM_LABEL)
    way = f"aws logs delete-log-group --log-group-name {_eks_logs(plan)}{_in_region(plan)}"
    return left_heard(ahead, own, items(answer.value, "logGroups"), "logGroupName", way)


def _quotas(ahead: Ahead, quotas: list[Any] | None) -> Heard | None:
    if quotas is None:
        return None
    values = {str(q.get("QuotaCode")): q for q in quotas}
    heard = Heard()
    for want in ec2_wants(ahead.plan, ahead.graph):
        code = next((code for code in want.quotas if code in values), None)
        limit = values[code].get("Value") if code else None
        if code is None or not isinstance(limit, int | float):
            why = f"the account's list has no quota {' or '.join(want.quotas) or 'that we know'}"
            heard += Heard(unasked=(Unasked(f"quota for {want.what}", why, ours=True),))
            continue
        name = f"{values[code].get('QuotaName', code)} ({code})"
        ask = (
            f"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {code}"
            f" --desired-value {want.most}{_in_region(ahead.plan)}"
        )
        heard += judge_quota(want, name, limit, ask)
    return heard


def _offerings(plan: PlatformPlan, offers: list[Any] | None) -> Heard | None:
    if offers is None:
        return None
    zones: dict[str, set[str]] = {}
    for each in offers:
        zones.setdefault(str(each.get("InstanceType")), set()).add(str(each.get("Location")))
    return judge_offers(plan, zones)


def _version(plan: PlatformPlan, versions: list[Any] | None) -> Heard | None:
    if versions is None:
        return None
    offered = [v for v in versions if v.get("versionStatus") in _OFFERED]
    if any(v.get("clusterVersion") == plan.kubernetes for v in offered):
        return heard_of(said=f"EKS offers Kubernetes {plan.kubernetes}")
    return heard_of(
        refuse(
            "live.version",
            ("kubernetes",),
            f"EKS offers no Kubernetes {plan.kubernetes} in this region",
            given=plan.kubernetes,
            fix=Fix(says="take one that `aws eks describe-cluster-versions` lists"),
        )
    )


def _cluster(ahead: Ahead, value: Any, error: str) -> Heard | None:
    plan = ahead.plan
    name, at = str(cluster_of(plan.spec).existing), ("cluster", "existing")
    if error.startswith("ResourceNotFound"):
        fix = Fix(says="give the name of a cluster of this account and region")
        return heard_of(
            refuse("live.cluster", at, f"no cluster {name} is there", given=name, fix=fix)
        )
    cluster = value.get("cluster") if isinstance(value, Mapping) else None
    status = cluster.get("status") if isinstance(cluster, Mapping) else None
    if not isinstance(cluster, Mapping) or not isinstance(status, str):
        return None
    if status == "ACTIVE":
        unfit = unfit_for_eks(ahead, cluster)
        return heard_of(*unfit, said=f"cluster {name} is there and active")
    fix = Fix(says="wait until it is ACTIVE")
    return heard_of(refuse("live.cluster", at, f"cluster {name} is {status}", given=name, fix=fix))


def _role(value: Any, error: str) -> Heard | None:
    """Whether anybody is there to be granted the key of disks: an account's first group makes the role."""
    if isinstance(value, Mapping) and "Role" in value:
        return heard_of(said=f"{_AUTO_SCALING} is there, and can be granted the key of disks")
    if not error.startswith("NoSuchEntity"):
        return None
    make = "aws iam create-service-linked-role --aws-service-name autoscaling.amazonaws.com"
    problem = f"the account has no {_AUTO_SCALING} yet, to which the use of the key is granted"
    at: Path = ("cluster", "key")
    return heard_of(refuse("live.role", at, problem, given=_AUTO_SCALING, fix=Fix(says=make)))


def _zones_heard(plan: PlatformPlan, found: list[Any] | None) -> Heard | None:
    """Whether zones that no pool is in are zones of the region, and all are zones for a control plane."""
    if found is None:
        return None
    ids = {str(each.get("ZoneName")): str(each.get("ZoneId")) for each in found}
    alone = zones_without_pools(plan)
    there = judge_zones(alone, set(ids), plan.region or "the region") if alone else Heard()
    return there + heard_of(*without_control_plane(plan, ids))


def _subnets_heard(plan: PlatformPlan, found: list[Any] | None) -> Heard | None:
    """Whether given subnets are there, and of the given network."""
    if found is None:
        return None
    network = str(cluster_of(plan.spec).network.id)
    there = {str(each.get("SubnetId")): each for each in found}
    wrong: list[Finding] = []
    for at, subnet in subnets_said(plan):
        problem = _wrong_subnet(there.get(subnet), at, subnet, network)
        if not problem:
            continue
        fix = Fix(says=f"name subnets of {network}, in this account and region")
        given = f"{subnet} in {network}"
        wrong.append(refuse("live.subnet", at, problem, given=given, fix=fix))
    return heard_of(*wrong, said=f"all {len(list(subnets_said(plan)))} subnets are of {network}")


def _wrong_subnet(there: Mapping[str, Any] | None, at: Path, subnet: str, network: str) -> str:
    """Why the cluster cannot be given it; "" where it can."""
    if there is None:
        return f"no subnet {subnet} is there"
    if there.get("VpcId") != network:
        return f"subnet {subnet} is of {there.get('VpcId')}, another network"
    zone = there.get("AvailabilityZoneId")
    if zone in ZONES_WITHOUT and "private" in at:
        return f"subnet {subnet} is in {zone}, where EKS makes no control plane"
    return ""


def _reservation(
    plan: PlatformPlan, held: str, found: list[Any] | None, error: str
) -> Heard | None:
    here = [draw for draw in draws(plan) if draw.id == held]
    if error.startswith("InvalidCapacityReservationId") or found == []:
        return heard_of(*(not_reserved(plan, draw) for draw in here))
    if found is None:
        return None
    there = Reserved(
        state=found[0].get("State"),
        machine=found[0].get("InstanceType"),
        zone=found[0].get("AvailabilityZone"),
        count=whole(found[0].get("TotalInstanceCount")),
    )
    heard = Heard()
    for draw in here:
        said = f"reservation {held} is active and holds {draw.rung.most} of {draw.pool.machine.type_name}"
        heard += heard_of(*judge_reserved(plan, draw, there), said=said)
    return heard


def _image(plan: PlatformPlan, name: str, error: str) -> Heard | None:
    if not error:
        return heard_of(said=f"image {name} is there")
    if not error.startswith("ParameterNotFound"):
        return None
    fix = Fix(says="take another `image`, or a Kubernetes minor that it is made for")
    at = next((of_pool(plan, p) for p in plan.pools if p.node_software), ())
    problem = f"AWS has no image under {name}"
    return heard_of(refuse("live.image", (*at, "image"), problem, given=plan.kubernetes, fix=fix))
