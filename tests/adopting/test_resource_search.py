"""What a user says and a cloud shows of a platform that runs is enough to know the id of each resource."""

import pytest
from testbed.plugins.cloud.shapes import SHAPES, Place, import_ids, words

from gpuyard.adopting.identities import import_id, resolve_identity
from gpuyard.adopting.lookup_commands import LOOKS, LookupCommand
from gpuyard.adopting.matching import id_of, match_resource
from gpuyard.catalogue.cloud_fields import cloud_kind
from gpuyard.catalogue.software.cloud_ids import IDENTITIES, LOOKUPS
from gpuyard.preflight.probes import UNEXPECTED_FORMAT, Probe, ProbeAnswer
from kit.clouds.options import unknown_options
from kit.clouds.running import running
from kit.clouds.shown import shown
from kit.every import every
from kit.stacks import pool

LABS = {}


def lab(cloud):
    """One for all tests here: none changes it."""
    if cloud not in LABS:
        scaled = [pool(nodes="0..4", scaling="karpenter")]
        LABS[cloud] = running("aws", pools=scaled) if cloud == "karpenter" else running(cloud)
    return LABS[cloud]


# ── ids ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("cloud", ["aws", "gcp", "karpenter"])
def test_all_ids_are_found_and_are_those_by_which_the_provider_imports(cloud):
    found = lab(cloud).search()
    assert (found.missing, found.not_queried, found.differences) == ({}, {}, ())
    account, resources = lab(cloud).account, lab(cloud).graph.resources
    there = {each.name: account.find(each.kind, found.ids[each.name]) for each in resources}
    assert [name for name, each in there.items() if each is None] == []
    assert len({(each.kind, each.id) for each in there.values()}) == len(there)


@every("kind", IDENTITIES)
def test_ids_have_the_form_of_the_provider(kind):
    """The same fields, by another table: what it calls a resource, and what its import takes."""
    fields = ["name", "clusterName", "principalArn", "policyArn", "addonName", "nodeGroupName"]
    fields += ["routeTableId", "destinationCidrBlock", "subnetId", "fileSystemId", "role"]
    fields += ["autoscalingGroupName", "bucket", "region", "accountId", "member", "keyRing"]
    fields += ["cryptoKeyId", "serviceAccountId", "router", "instanceId", "project", "location"]
    fields += ["cluster", "rule", "targetId", "queueUrl"]
    inputs = {each: each for each in fields} | {"tag": {"key": "key"}}
    made = words(kind, inputs, Place("x", "region", "project"), "seed")
    ids = import_ids(kind, made)
    found = import_id(kind, resolve_identity(IDENTITIES[kind].id, inputs) or made["id"], inputs)
    assert found in ids
    assert found == ids[-1]
    assert kind in SHAPES


@every("kind", LOOKS)
def test_only_kinds_of_our_graphs_are_asked_about(kind):
    assert ":get" in kind or cloud_kind(kind)


ASKED = [
    *(
        list(look.arguments)
        for looks in LOOKS.values()
        for look in looks
        if look.arguments[0] == "aws"
    ),
    *(["aws", *look.words] for look in LOOKUPS.values()),
]


@every("words", ASKED, ids=lambda words: " ".join(words[1:3]))
def test_aws_takes_every_option_that_it_is_given(words):
    assert unknown_options(words[1:]) == []


def test_an_option_of_another_call_is_refused():
    """NAT gateways have `--filter`, most others `--filters`."""
    one = ["ec2", "describe-nat-gateways", "--filters", "Name=a,Values=b", "--output=json"]
    assert unknown_options(one) == ["--filters"]
    question = Probe("q", "q", ("aws", *one))
    assert shown(lab("aws").account, [question])["q"].failure_reason == "Unknown options: --filters"


# ── what is missing ───────────────────────────────────────────────────────────────────────────────
def test_without_answers_ids_that_are_the_clouds_own_are_missing_and_so_is_what_rests_on_them():
    found = lab("aws").search(ask=False)
    assert found.missing["vpc"] == "its id is the cloud's own"
    assert found.missing["public-out"] == "its id is made of others that are not known"
    assert found.ids["addon-coredns"] == "lab:coredns"


def test_an_id_that_is_given_is_taken_as_it_is_and_leads_to_others():
    found = lab("aws").search({"public-routes": "rtb-1"}, ask=False)
    assert found.ids["public-routes"] == "rtb-1"
    assert found.ids["public-out"] == "rtb-1_0.0.0.0/0"
    assert lab("gcp").search({"cluster": "mine"}).ids["cluster"] == "mine"


def test_what_the_cloud_has_not_is_missing_whatever_its_name_would_be():
    def gone(questions):
        answers = shown(lab("aws").account, questions)
        wrong = ProbeAnswer(error="ResourceNotFoundException")
        return {name: wrong if "describe-nodegroup" in name else a for name, a in answers.items()}

    found = lab("aws").search(asks=gone)
    why = "the cloud has none (ResourceNotFoundException)"
    assert found.missing["train-spot"] == why
    assert found.missing["system"] == why
    assert "train-spot/resources/nvidia.com/gpu" in found.missing
    assert found.ids["cluster"] == "lab"


def test_what_could_not_be_asked_is_said_and_names_still_give_ids():
    found = lab("gcp").search(
        asks=lambda asked: {q.name: ProbeAnswer(failure_reason="silent") for q in asked}
    )
    assert set(found.not_queried.values()) == {"silent"}
    assert found.missing["keys"] == "nobody could ask: silent"
    assert found.ids["network"] == "projects/my-project/global/networks/lab"


def test_what_the_cloud_has_otherwise_is_said():
    def other(questions):
        answers = shown(lab("aws").account, questions)
        for name, answer in answers.items():
            if "describe-cluster" in name:
                answer.value["cluster"]["version"] = "1.30"
            if "describe-nodegroup" in name and "spot" in name:
                answer.value["nodegroup"]["instanceTypes"] = ["p4d.24xlarge"]
        return answers

    told = {
        (each.name, each.field): each.actual for each in lab("aws").search(asks=other).differences
    }
    assert told[("cluster", "version")] == "1.30"
    assert told[("train-spot", "instanceTypes")] == ["p4d.24xlarge"]


def test_without_a_region_the_program_of_the_user_knows_it():
    one = running("aws", region=False)
    asked = []

    def ask(questions):
        asked.extend(questions)
        return shown(one.account, questions)

    assert one.search(asks=ask).missing == {}
    assert asked
    assert not [each for each in asked if any("--region" in word for word in each.words)]


def test_what_an_answer_leaves_out_leads_nowhere():
    def short(questions):
        answers = shown(lab("aws").account, questions)
        for name, answer in answers.items():
            if "describe-cluster" in name:
                del answer.value["cluster"]["encryptionConfig"]
            if "describe-nodegroup" in name:
                del answer.value["nodegroup"]["resources"]
        return answers

    missing = lab("aws").search(asks=short).missing
    assert missing["secrets-key"] == "its id is the cloud's own"
    assert "train-spot/resources/nvidia.com/gpu" in missing


# ── whose an item is ──────────────────────────────────────────────────────────────────────────────
BY_NAME = LookupCommand(arguments=(), items="Roles", id="RoleName", named=True)
BY_TAG = LookupCommand(arguments=(), items="Vpcs", id="VpcId")
TAGGED = {"VpcId": "vpc-1", "Tags": [{"Key": "Name", "Value": "lab"}, {"Key": "x", "Value": "lab"}]}


def roles(*names):
    return ProbeAnswer(value={"Roles": [{"RoleName": name} for name in names]})


CASES = {
    "the engine's name": (
        BY_NAME,
        roles("lab-node-role-0a1b2c3", "lab-node-role-more-0a1b2c3"),
        "lab-node-role-0a1b2c3",
    ),
    "the very name": (BY_NAME, roles("lab-node-role"), "lab-node-role"),
    "nobody": (BY_NAME, roles("other"), "the cloud has none: 1 looked at"),
    "several": (
        BY_NAME,
        roles("lab-node-role", "lab-node-role-0a1b2c3"),
        "2 could be it: lab-node-role, lab-node-role-0a1b2c3",
    ),
    "a tag": (BY_TAG, ProbeAnswer(value={"Vpcs": [TAGGED, {"VpcId": "vpc-2"}]}), "vpc-1"),
    "the only one": (BY_TAG, ProbeAnswer(value={"Vpcs": [{"VpcId": "vpc-2"}]}), "vpc-2"),
    "no list": (BY_TAG, ProbeAnswer(value={"Vpcs": "many"}), UNEXPECTED_FORMAT),
    "no answer": (BY_TAG, ProbeAnswer(value=[]), UNEXPECTED_FORMAT),
    "an error": (BY_TAG, ProbeAnswer(error="NoSuchThing"), "the cloud has none (NoSuchThing)"),
}


@every("case", CASES.values(), ids=CASES)
def test_one_item_is_the_resources(case):
    look, answer, wanted = case
    found = match_resource(look, answer, {"tags": {"Name": "lab"}}, "lab-node-role", "")
    assert wanted == (found.id or found.why)


def test_an_item_without_its_id_has_none():
    assert id_of(BY_TAG, {}) == ""
    assert id_of(LookupCommand(arguments=()), {"a": 1}) == ""
