"""Nine mistakes of a stack in a cloud: each is one finding, with --live or without it, or one reason."""

from gpuyard.cli.stacks import validate_text
from gpuyard.preflight.probes import CommandResult, ProbeAnswer, parse_answer
from gpuyard_core.findings import Severity
from kit.every import every
from kit.stacks import platform, pool, stack_file
from proofs import TODAY

USER = ProbeAnswer(value={"Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/ann"})
CALLERS = {"aws": USER, "gcp": ProbeAnswer(value={"core": {"project": "lab"}})}
REGIONS = {"aws": "us-east-1", "gcp": "us-central1"}
MACHINES = {"aws": "p5.48xlarge", "gcp": "a2-highgpu-8g"}
VPC, SUBNETS = "vpc-0123456789abcdef0", ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
HELD = "cr-0123456789abcdef0"
ONE = {"zones": ["us-east-1a"]}


def offered(*zones):
    rows = [{"InstanceType": "p5.48xlarge", "Location": zone} for zone in zones]
    return ProbeAnswer(value={"InstanceTypeOfferings": rows})


def reserved(zone):
    row = {"State": "active", "InstanceType": "p5.48xlarge", "TotalInstanceCount": 2}
    return ProbeAnswer(value={"CapacityReservations": [{**row, "AvailabilityZone": zone}]})


def given(*networks):
    pairs = zip(SUBNETS, networks, strict=True)
    return ProbeAnswer(value={"Subnets": [{"SubnetId": s, "VpcId": n} for s, n in pairs]})


NETWORK = {"network": {"id": VPC, "subnets": {"private": SUBNETS}}}
BUCKET = "bucket lab-checkpoints-123456789012-us-east-1"
STORED = {"storage": {"datasets": [{"name": "corpus", "kind": "efs"}], "checkpoints": {}}}
"""One store that is no bucket, and one that is."""
CASES = {
    "unknown region": (
        "aws",
        "us-east-9",
        {},
        {},
        {},
        "stack.region",
        "us-east-9 is not a region of aws",
    ),
    "unknown region at Google": (
        "gcp",
        "us-central9",
        {"nodes": "0..2"},
        {},
        {},
        "stack.region",
        "us-central9",
    ),
    "unknown zone": (
        *("aws", None, {"zones": ["us-east-1z"]}, {}, {"offerings": offered("us-east-1a")}),
        *("live.offering", "not offered in us-east-1z"),
    ),
    "unknown zone of the cluster": (
        *("aws", None, ONE, {"cluster": {"zones": ["us-east-1a", "us-east-1z"]}}),
        {"zones": ProbeAnswer(value={"AvailabilityZones": [{"ZoneName": "us-east-1a"}]})},
        *("live.zone", "us-east-1 has no zone us-east-1z"),
    ),
    "a machine that the region does not sell": (
        *("aws", None, {}, {}, {"offerings": offered()}),
        *("live.offering", "p5.48xlarge is not offered in us-east-1"),
    ),
    "ranges that overlap": (
        *("aws", None, {}),
        {"cluster": {"network": {"cidr": "10.64.0.0/16", "services": "10.64.0.0/20"}}},
        *({}, "cluster.range", "this range overlaps with `cidr`"),
    ),
    "a subnet of another network": (
        *("aws", None, {}, {"cluster": NETWORK}, {"subnets": given(VPC, "vpc-0fedcba9876543210")}),
        *("live.subnet", "belongs to another network, vpc-0fedcba9876543210"),
    ),
    "a reservation of another zone": (
        *("aws", None, {**ONE, "capacity": [{"reserved": HELD, "nodes": 2}]}, {}),
        {f"reservation {HELD}": reserved("us-east-1b")},
        *("live.reservation", "is in us-east-1b"),
    ),
    "a bucket's name that is taken": (
        *("aws", None, {}, STORED, {BUCKET: ProbeAnswer(error="403")}),
        *("live.bucket", "is taken"),
    ),
}


def asked(cloud, region, pools, more, answers, caller=None):
    """What `check --live` finds and what nobody told it, where the account says nothing else."""
    raw = platform([pool(**{"machine": MACHINES[cloud], "nodes": 2, **pools})], cloud=cloud, **more)
    judged = validate_text(
        stack_file(raw, {f"{cloud}:region": region or REGIONS[cloud]}), "x.yaml", TODAY
    )
    if judged.plan is None:
        return judged.findings, ()
    known = {"caller": caller or CALLERS[cloud], **answers}
    silent = ProbeAnswer(failure_reason="silent")
    heard = judged.plan.provider.probe_account(
        judged.plan,
        lambda asks: {q.name: known.get(q.name, silent) for q in asks},
        judged.reading.account,
    )
    return (*judged.findings, *heard.findings), heard.skipped


@every("case", CASES.values(), CASES)
def test_each_is_one_finding_that_refuses(case):
    *stack, kind, words = case
    findings, _ = asked(*stack)
    refused = [each for each in findings if each.severity is Severity.ERROR]
    assert [each.id for each in refused] == [kind], [str(each) for each in refused]
    assert words in refused[0].problem
    assert refused[0].fix is not None


@every(
    "said, why",
    [
        ("Unable to locate credentials. You can configure", "no credentials found"),
        (
            "An error occurred (ExpiredToken) when calling the GetCallerIdentity operation: no",
            "the credentials have expired",
        ),
    ],
)
def test_without_a_sign_in_there_is_one_reason_and_no_verdict(said, why):
    findings, unasked = asked("aws", None, {}, {}, {}, parse_answer(CommandResult(254, "", said)))
    assert [each for each in findings if each.severity is Severity.ERROR] == []
    (only,) = {each.reason for each in unasked}
    assert only.startswith(why)
