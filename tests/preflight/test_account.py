"""Questions about a plan, and answers that no finding comes of: findings have proofs of their own."""

import pytest

from gpuyard.plan.platform import plan as planned_with
from gpuyard.preflight import aws, gcp
from gpuyard.preflight.aws import ec2_requirements
from gpuyard.preflight.gcp import gce_requirements
from gpuyard.preflight.probes import UNEXPECTED_FORMAT, ProbeAnswer, ProbeResult, SkippedProbe
from gpuyard.preflight.quota_requirements import PlannedAccount, QuotaRequirement
from gpuyard.providers.aws import account as permissions
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.spec.region import ENVIRONMENT, CloudAccount, Region
from gpuyard_core.catalogue.cluster.quotas import ec2_quota
from gpuyard_core.names import PLATFORM_LABEL
from kit.clouds.aws import plan_on_aws
from kit.every import every
from kit.stacks import platform, pool, spec_of

USER = "arn:aws:iam::123456789012:user/ann"
HELD = "cr-0123456789abcdef0"


def run_probes(plan, ask, signed=ENVIRONMENT):
    return plan.provider.probe_account(plan, ask, signed)


def on_gcp(*pools, region="us-central1", **rest):
    raw = platform(pools or [pool(machine="a2-highgpu-8g", nodes=4)], cloud="gcp", **rest)
    there = Region(region, "gcp:region") if region else None
    found, findings = planned_with(spec_of(raw), region=there)
    assert found is not None, [str(each) for each in findings]
    return found


def on(plan):
    """With its graph, in account 1 or project lab."""
    aws_ = plan.cloud.value == "aws"
    return PlannedAccount(
        plan, aws_graph(plan) if aws_ else gcp_graph(plan), "1" if aws_ else "lab"
    )


def needs(plan):
    return permissions.required_permissions(plan, aws_graph(plan), USER)


def answered(**answers):
    """An account that gives these answers, by the name of the question, and says of others nothing."""
    asked = []

    def ask(questions):
        asked.extend(questions)
        return {
            q.name: answers.get(q.name.replace(" ", "_"), ProbeAnswer(failure_reason="silent"))
            for q in questions
        }

    return ask, asked


def signed_in(arn=USER):
    return ProbeAnswer(value={"UserId": "x", "Account": "123456789012", "Arn": arn})


# ── rounds ────────────────────────────────────────────────────────────────────────────────────────
def test_where_nobody_is_signed_in_one_question_is_put_and_nothing_is_known():
    ask, asked = answered(caller=ProbeAnswer(failure_reason="no credentials found"))
    heard = run_probes(plan_on_aws(), ask)
    assert [q.words[:3] for q in asked] == [("aws", "sts", "get-caller-identity")]
    assert {each.reason for each in heard.skipped} == {"no credentials found"}
    assert "service quotas of EC2" in [each.subject for each in heard.skipped]
    assert (heard.findings, heard.messages) == ((), ())


def test_an_error_of_who_asks_is_a_reason_too():
    ask, _ = answered(caller=ProbeAnswer(error="InternalFailure"))
    assert {each.reason for each in run_probes(plan_on_aws(), ask).skipped} == {"InternalFailure"}


def test_without_a_project_google_is_asked_nothing():
    ask, asked = answered(caller=ProbeAnswer(value={"core": {"account": "ann@example.com"}}))
    heard = run_probes(on_gcp(), ask)
    assert len(asked) == 1
    assert {each.reason for each in heard.skipped} == {
        "gcloud has no project configured: gcloud config set project NAME"
    }


@pytest.mark.parametrize("value", [None, {"core": []}])
def test_a_configuration_without_a_core_has_no_project(value):
    assert gcp.project_of(value) == ""


def test_every_question_that_is_not_answered_is_named():
    ask, asked = answered(caller=signed_in())
    heard = run_probes(plan_on_aws(), ask)
    assert [q.name for q in asked] == [
        *("caller", "quotas", "offerings", "version", "own", "left"),
        *("networks", "quota of networks", "addresses", "quota of addresses", "permissions"),
    ]
    assert [each.reason for each in heard.skipped] == ["silent"] * 8
    assert not any(each.is_expected for each in heard.skipped)


def test_what_gcloud_cannot_be_asked_is_no_fault_of_the_environment():
    ask, _ = answered(caller=ProbeAnswer(value={"core": {"project": "lab"}}))
    heard = run_probes(on_gcp(region=None), ask)
    assert [each.subject for each in heard.skipped if each.is_expected] == [
        "permissions of the signed-in identity",
        "quotas and versions of a region",
    ]


def test_the_project_and_the_profile_of_the_stack_file_are_asked_and_no_others():
    ask, asked = answered(caller=ProbeAnswer(value={"core": {"project": "mine"}}))
    run_probes(on_gcp(), ask, CloudAccount(project="theirs"))
    assert {w for q in asked for w in q.words if w.startswith("--project=")} == {"--project=theirs"}
    ask, asked = answered(caller=ProbeAnswer(value={"core": {"account": "ann@example.com"}}))
    heard = run_probes(on_gcp(), ask, CloudAccount(project="theirs"))
    assert len(asked) > 1
    assert not [each for each in heard.skipped if "no project" in each.reason]
    ask, asked = answered(caller=signed_in())
    run_probes(plan_on_aws(), ask, CloudAccount(profile="prod"))
    assert {q.words[-2:] for q in asked} == {("--profile", "prod")}


# ── questions ─────────────────────────────────────────────────────────────────────────────────────
def test_questions_only_read():
    verbs = ("get-", "list", "describe", "simulate-", "config")
    plans = [plan_on_aws(), plan_on_aws(cluster={"existing": "old"}), on_gcp()]
    for plan in plans:
        made = aws.aws_probes(on(plan)) if plan.cloud.value == "aws" else gcp.gcp_probes(on(plan))
        for question in made:
            assert any(word.startswith(verbs) for word in question.words[1:4]), question


def test_a_region_is_named_where_the_stack_file_has_one():
    assert "--region" in aws.caller_probe(plan_on_aws()).words
    assert "--region" not in aws.caller_probe(plan_on_aws(region=None)).words


def test_an_existing_cluster_is_asked_about_in_place_of_versions():
    names = [q.name for q in aws.aws_probes(on(plan_on_aws(cluster={"existing": "old"})))]
    assert "cluster" in names
    assert "version" not in names
    there = gcp.gcp_probes(on(on_gcp(cluster={"existing": "old"})))
    assert [q.name for q in there] == ["apis", "offerings", "quotas", "cluster", "project-quotas"]


def every_question(made, *plans):
    """The questions about these plans that are judged on their own, each with what it is about."""
    return [(on(plan), each) for plan in plans for each in made(on(plan)) if each.check is not None]


KEY = "arn:aws:kms:us-east-1:123456789012:key/1"
IDS = [f"subnet-{number:017x}" for number in (1, 2)]
SUBNETS = {"network": {"id": f"vpc-{1:017x}", "subnets": {"private": IDS}}}


def test_an_answer_of_no_known_form_is_no_answer():
    held = [{"reserved": HELD, "nodes": 4}]
    one = pool(machine="p5.48xlarge", zones=["us-east-1a"], capacity=held)
    plans = [
        plan_on_aws([one], cluster={"existing": "old"}),
        plan_on_aws([pool()], cluster={"key": KEY, "zones": ["us-east-1a", "us-east-1b"]}),
        plan_on_aws([pool(image="ubuntu-eks")], cluster=SUBNETS),
    ]
    asked = every_question(aws.aws_probes, *plans)
    assert {each.name.partition(" ")[0] for _, each in asked} == {
        *("quotas", "offerings", "version", "cluster", "zones", "subnets", "own", "left", "key"),
        *("role", "reservation", "image"),
    }
    for ahead, each in asked:
        image = each.name[0] == "i"
        answer = ProbeAnswer(error="InternalServerError") if image else ProbeAnswer(value="odd")
        heard = aws.aws_findings(ahead, [each], {each.name: answer})
        assert heard.skipped == (SkippedProbe(each.subject, answer.error or UNEXPECTED_FORMAT),)


def test_nor_is_one_of_google():
    key = "projects/lab/locations/us-central1/keyRings/a/cryptoKeys/b"
    plans = [
        reserved_at_google(),
        on_gcp(cluster={"existing": "old"}),
        on_gcp(cluster={"key": key, "zones": ["us-central1-a", "us-central1-b"]}),
    ]
    asked = every_question(gcp.gcp_probes, *plans)
    assert {each.name for _, each in asked} == {
        *("apis", "offerings", "quotas", "version", "reservations", "zones"),
        *("project-quotas", "own", "left", "key", "cluster"),
    }
    for ahead, each in asked:
        heard = gcp.gcp_findings(ahead, [each], {each.name: ProbeAnswer(value="odd")})
        assert heard.skipped == (gcp.PERMISSIONS, SkippedProbe(each.subject, UNEXPECTED_FORMAT))
        refused = gcp.gcp_findings(ahead, [each], {each.name: ProbeAnswer(error="x")})
        assert refused.skipped[-1] == SkippedProbe(each.subject, "x")


# ── quotas ────────────────────────────────────────────────────────────────────────────────────────
def test_pools_of_one_quota_are_counted_together_and_what_is_held_not_at_all():
    plan = plan_on_aws(
        [
            pool("one", machine="p5.48xlarge", nodes="0..2"),
            pool("two", machine="p4d.24xlarge", nodes="1..3"),
            pool(
                "three",
                machine="p5.48xlarge",
                zones=["us-east-1a"],
                capacity=[{"reserved": HELD, "nodes": 4}],
            ),
        ]
    )
    wants = {
        want.quotas: (want.minimum, want.maximum)
        for want in ec2_requirements(plan, aws_graph(plan))
    }
    assert wants[("L-417A185B",)] == (96, 2 * 192 + 3 * 96)


def test_the_system_takes_from_the_standard_quota_where_its_machine_is_known():
    plan = plan_on_aws()
    standard = [w for w in ec2_requirements(plan, aws_graph(plan)) if w.path == ("system",)]
    assert [(w.quotas, w.minimum) for w in standard] == [(("L-1216C47A",), 8)]
    odd = plan_on_aws(system={"machine": "q9.large", "nodes": 2})
    assert [w for w in ec2_requirements(odd, aws_graph(odd)) if w.path == ("system",)] == []


def test_a_family_that_no_row_is_about_has_no_quota_and_is_named():
    assert ec2_quota("q9.large") is None
    want = QuotaRequirement((), "vCPUs of q9.large", 1, 1, ())
    assert want.quotas == ()
    plan = plan_on_aws([pool(machine="g6.12xlarge")])
    heard = aws._quotas(on(plan), [])
    assert all(each.is_expected for each in heard.skipped)
    assert "no quota L-DB2E81BA" in heard.skipped[0].reason


def test_spot_and_flex_start_take_from_the_preemptible_quota():
    plan = on_gcp(
        pool("a", machine="a2-highgpu-8g", nodes="0..2", capacity=["spot"]),
        pool("b", machine="a2-highgpu-8g", nodes="0..2", capacity=["on-demand"]),
    )
    assert {w.quotas: w.maximum for w in gce_requirements(plan)} == {
        ("PREEMPTIBLE_NVIDIA_A100_GPUS",): 16,
        ("NVIDIA_A100_GPUS",): 16,
    }


def test_what_is_held_at_google_takes_from_no_quota():
    assert gce_requirements(reserved_at_google()) == []


def test_gpus_whose_quota_nobody_knows_are_named():
    plan = on_gcp(pool(machine="g4-standard-48", nodes="0..1"))
    there = {"quotas": [{"metric": "CPUS", "limit": 1.0, "usage": 0.0}]}
    heard = gcp._region_quotas(plan, ProbeAnswer(value=there), {})
    assert "no quota that gpuyard knows" in heard.skipped[0].reason


@every(
    ("networks", "quota", "why"),
    [
        ({"value": "odd"}, {"value": {"Quota": {"Value": 5.0}}}, UNEXPECTED_FORMAT),
        ({"value": {"Vpcs": []}}, {"value": {"Quota": "odd"}}, UNEXPECTED_FORMAT),
        ({"value": {"Vpcs": []}}, {"error": "NoSuchResourceException"}, "NoSuchResourceException"),
        ({"failure_reason": "too late"}, {"error": "NoSuchResourceException"}, "too late"),
    ],
)
def test_a_number_without_its_quota_says_nothing(networks, quota, why):
    answers = {"networks": ProbeAnswer(**networks), "quota of networks": ProbeAnswer(**quota)}
    heard = aws.limit_findings(on(plan_on_aws()), answers)
    assert heard == ProbeResult(skipped=(SkippedProbe("quota of networks", why),))


def test_a_project_whose_list_lacks_a_quota_says_nothing_of_it():
    there = [
        {"metric": "NETWORKS", "limit": 5.0, "usage": 0.0},
        {"metric": "FIREWALLS", "limit": 9},
    ]
    heard = gcp.project_findings(on(reserved_at_google()), there, deployed=False)
    assert [each.subject for each in heard.skipped] == [
        "quota for routers of the platform",
        "quota for subnetworks of the platform",
    ]
    assert all(each.is_expected for each in heard.skipped)
    assert heard.messages == (
        "NETWORKS (0 of 5 used): 5 available, networks of the platform use at most 1",
    )


def test_what_runs_already_is_not_asked_for_once_more():
    """The platform's own GPUs are in what is used: a second `check --live` says what the first did."""
    full = {"quotas": [{"metric": "NVIDIA_A100_GPUS", "limit": 32.0, "usage": 32.0}]}
    for label, refused in (("lab", []), ("other", ["live.quota"])):
        own = {"name": "lab", "resourceLabels": {"gpuyard-platform": label}}
        answers = {
            "caller": ProbeAnswer(value={"core": {"project": "p"}}),
            "own": ProbeAnswer(value=own),
            "quotas": ProbeAnswer(value=full),
        }
        ask, _ = answered(**answers)
        found = [each.id for each in run_probes(on_gcp(), ask).findings if each.id == "live.quota"]
        assert found == refused


# ── offers and reservations ───────────────────────────────────────────────────────────────────────
def test_a_service_without_a_name_is_no_service():
    heard = gcp._apis(on(on_gcp()), [{"state": "ENABLED"}])
    assert [f.id for f in heard.findings] == ["live.api"]


def reserved_at_google():
    held = [{"reserved": "held", "nodes": 4}]
    return on_gcp(pool(machine="a2-highgpu-8g", nodes=4, zones=["us-central1-a"], capacity=held))


@every(
    "there, problems",
    [
        ({"status": "READY", "zone": "us-central1-a"}, []),
        ({"status": "DELETING", "zone": "us-central1-a"}, ["is DELETING"]),
        (
            {
                "status": "READY",
                "zone": "us-central1-a",
                "specificReservation": {
                    "count": "2",
                    "instanceProperties": {"machineType": "n1-x"},
                },
            },
            ["has the machine type n1-x", "has 2 machines"],
        ),
    ],
)
def test_a_reservation_of_google_is_compared_by_what_it_says(there, problems):
    heard = gcp._reservation_findings(reserved_at_google(), "", [{"name": "held", **there}])
    assert [f.problem.removeprefix("reservation held ") for f in heard.findings] == problems


def test_another_project_s_reservation_is_asked_of_that_project_by_its_own_name():
    """Google lists a project's own; a part of a reservation is no reservation."""
    block = "projects/capacity/reservations/shared/reservationBlocks/block-1"
    rungs = [{"reserved": "held", "nodes": 2}, {"reserved": block, "nodes": 2}]
    plan = on_gcp(pool(machine="a2-highgpu-8g", nodes=4, zones=["us-central1-a"], capacity=rungs))
    asked = {
        each.name: each.words
        for each in gcp.gcp_probes(on(plan))
        if each.name.startswith("reservations")
    }
    assert {name: words[4:6] for name, words in asked.items()} == {
        "reservations": ("--filter=name=(held)", "--project=lab"),
        "reservations capacity": ("--filter=name=(shared)", "--project=capacity"),
    }
    there = {"status": "READY", "zone": "us-central1-a"}
    heard = gcp._reservation_findings(plan, "capacity", [{"name": "shared", **there}])
    assert (heard.findings, len(heard.messages)) == ((), 1)
    (found,) = gcp._reservation_findings(plan, "", [{"name": "shared", **there}]).findings
    assert found.problem == "reservation held does not exist"


def test_two_pools_of_one_reservation_are_both_judged():
    first, second = (
        pool(name, machine="p5.48xlarge", zones=[zone], capacity=[{"reserved": HELD, "nodes": 4}])
        for name, zone in (("one", "us-east-1a"), ("two", "us-east-1b"))
    )
    there = {
        "State": "active",
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-east-1a",
        "TotalInstanceCount": 8,
    }
    answer = ProbeAnswer(value={"CapacityReservations": [there]})
    heard = aws._reservation(plan_on_aws([first, second]), HELD, answer, {})
    assert [(f.where, f.problem) for f in heard.findings] == [
        ("pools[1].capacity", f"reservation {HELD} is in us-east-1a")
    ]


def test_all_that_is_wrong_with_a_reservation_of_ec2_is_said():
    plan = plan_on_aws(
        [
            pool(
                machine="p5.48xlarge",
                zones=["us-east-1a"],
                capacity=[{"reserved": HELD, "nodes": 4}],
            )
        ]
    )
    there = {
        "State": "failed",
        "InstanceType": "p4d.24xlarge",
        "AvailabilityZone": "us-east-1b",
        "TotalInstanceCount": 1,
    }
    heard = aws._reservation(plan, HELD, ProbeAnswer(value={"CapacityReservations": [there]}), {})
    assert [f.problem.removeprefix(f"reservation {HELD} ") for f in heard.findings] == [
        "is failed",
        "has the machine type p4d.24xlarge",
        "is in us-east-1b",
        "has 1 machines",
    ]


# ── permissions ───────────────────────────────────────────────────────────────────────────────────
@every(
    "arn, who",
    [
        (USER, USER),
        (
            "arn:aws-cn:sts::123456789012:assumed-role/deployer/ann",
            "arn:aws-cn:iam::123456789012:role/deployer",
        ),
        ("arn:aws:iam::123456789012:root", ""),
        ("arn:aws:sts::123456789012:federated-user/ann", ""),
    ],
)
def test_the_simulator_reads_policies_of_users_and_roles(arn, who):
    assert permissions.caller_principal({"Arn": arn}) == who
    assert permissions.caller_principal(None) == ""


def test_who_is_neither_is_not_asked_about():
    ask, asked = answered(caller=signed_in("arn:aws:iam::123456789012:root"))
    heard = run_probes(plan_on_aws(), ask)
    assert "permissions" not in [q.name for q in asked]
    assert heard.skipped[-1].reason.endswith("signed-in identity is neither")


def denied(*actions):
    return ProbeAnswer(
        value={
            "EvaluationResults": [
                {"EvalActionName": a, "EvalResourceName": "*", "EvalDecision": "implicitDeny"}
                for a in actions
            ]
        }
    )


def test_what_is_denied_on_everything_is_asked_again_by_resource_and_tag():
    plan = plan_on_aws()
    more = permissions.further_questions(
        needs(plan), USER, denied("eks:CreateCluster", "eks:DeleteCluster")
    )
    assert all(q.program == "aws" for q in more)
    by_action = {q.words[q.words.index("--action-names") + 1]: q.words for q in more}
    assert "arn:aws:eks:us-east-1:123456789012:cluster/lab" in by_action["eks:DeleteCluster"]
    entry = (
        f"ContextKeyName=aws:RequestTag/{PLATFORM_LABEL},ContextKeyValues=lab,ContextKeyType=string"
    )
    assert by_action["eks:CreateCluster"][-2:] == ("--context-entries", entry)
    assert len(more) == 2
    assert sum("--context-entries" in q.words for q in more) == 1


def test_a_partition_that_nobody_knows_is_any():
    assert permissions.first_question(needs(plan_on_aws(region=None)), USER).words[5:7] == (
        "--policy-source-arn",
        USER,
    )


def first_and_more(plan, first, *rest):
    questions = [
        permissions.first_question(needs(plan), USER),
        *permissions.further_questions(needs(plan), USER, first),
    ]
    answers = dict(zip([q.name for q in questions], (first, *rest), strict=True))
    return permissions.permission_findings(questions, answers)


def test_allowed_on_one_of_the_resources_is_allowed():
    result = {
        "EvalActionName": "eks:DeleteCluster",
        "EvalResourceName": "x",
        "EvalDecision": "implicitDeny",
        "ResourceSpecificResults": [
            {"EvalResourceName": "a", "EvalResourceDecision": "implicitDeny"},
            {"EvalResourceName": "b", "EvalResourceDecision": "allowed"},
        ],
    }
    plan = plan_on_aws()
    rest = ProbeAnswer(value={"EvaluationResults": [result]})
    heard = first_and_more(plan, denied("eks:DeleteCluster"), rest)
    assert heard.messages == (f"{USER} is allowed all 1 actions",)


@every(
    "answer, why",
    [
        (ProbeAnswer(failure_reason="throttled"), "throttled"),
        (ProbeAnswer(error="NoSuchEntity"), "NoSuchEntity"),
        (ProbeAnswer(value=3), UNEXPECTED_FORMAT),
    ],
)
def test_half_an_answer_about_permissions_is_none(answer, why):
    plan = plan_on_aws()
    assert first_and_more(plan, answer).skipped == (SkippedProbe(permissions.ABOUT, why),)
    assert first_and_more(plan, denied("eks:DeleteCluster"), answer).skipped == (
        SkippedProbe(permissions.ABOUT, why),
    )
