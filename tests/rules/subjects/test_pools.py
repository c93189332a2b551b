"""A pool of which something is not known yet: only rules that ask for that come to no end."""

import json

import pytest

from gpuyard_lint.read import read
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, NotEvaluatedError, PartlyKnown, Resource, Stack
from gpuyard_lint.rules.run import FindingState, evaluate
from gpuyard_lint.rules.subjects.installed_versions import has_driver_installer
from gpuyard_lint.rules.subjects.pools import gpu_pool, sets_label, without_gpus
from kit.every import every

CARD = {"type": "nvidia-l4", "count": 1}


def node_group(**given):
    return Resource("aws:eks/NodeGroup", "g", {"amiType": "AL2023_x86_64_NVIDIA", **given})


def node_pool(**given):
    return Resource("gcp:container/NodePool", "p", {"nodeConfig": given})


def karpenter(*requirements, **given):
    each = [{"key": k, "operator": o, "values": v} for k, o, v in requirements]
    spec = {"template": {"spec": {"requirements": each, **given}}}
    return Resource("karpenter.sh/v1/NodePool", "k", {"spec": spec})


FAMILY = ("karpenter.k8s.aws/instance-family", "In", ["g6"])
TYPE = "node.kubernetes.io/instance-type"
CAPACITY = "karpenter.sh/capacity-type"
MAKER = "karpenter.k8s.aws/instance-gpu-manufacturer"


def outcomes(*resources):
    """By verdict, which rules have said so."""
    found = {}
    for each in evaluate(resources, RULES):
        found.setdefault(each.state, set()).add(each.rule.id)
    return found


def group_in_a_plan(unknown, **values):
    resource = {
        "type": "aws_eks_node_group",
        "address": "aws_eks_node_group.gpus",
        "values": {"ami_type": "AL2_x86_64_GPU", **values},
    }
    return {
        "planned_values": {"root_module": {"resources": [resource]}},
        "resource_changes": [
            {"address": "aws_eks_node_group.gpus", "change": {"after_unknown": unknown}}
        ],
    }


@every(
    ("unknown", "not_evaluated"),
    [
        ({}, set()),
        ({"capacity_type": True}, {"GPU-CAP-03"}),
        ({"capacity_type": True, "instance_types": True}, {"GPU-CAP-02", "GPU-CAP-03"}),
        ({"taint": True}, {"GPU-CAP-01"}),
    ],
)
def test_what_a_provider_computes_keeps_no_other_rule_from_a_node_group(unknown, not_evaluated):
    values = {"instance_types": ["p4d.24xlarge"], "scaling_config": [{"max_size": 4}]}
    kept = {key: value for key, value in values.items() if key not in unknown}
    reading = read(json.dumps(group_in_a_plan(unknown, **kept)).encode(), "plan.json")
    found = outcomes(*(item.resource for item in reading.items))
    assert found.get(FindingState.NOT_EVALUATED, set()) == not_evaluated
    told = {"GPU-CAP-01", "GPU-AWS-09"} - not_evaluated
    assert told <= found[FindingState.OPEN]


@every(
    ("pool", "may_use_spot", "on_demand"),
    [
        (node_group(), False, True),
        (node_group(capacityType="SPOT"), True, False),
        (node_group(capacityType="ON_DEMAND"), False, True),
        (node_group(capacityType="CAPACITY_BLOCK"), False, False),
        (node_pool(guestAccelerators=[CARD]), False, True),
        (node_pool(guestAccelerators=[CARD], spot=True), True, False),
        (node_pool(guestAccelerators=[CARD], spot=UNKNOWN, preemptible=True), True, False),
        (node_pool(machineType="g2-standard-4", spot=False), False, True),
        (karpenter(FAMILY), False, True),
        (karpenter(FAMILY, (CAPACITY, "In", ["spot"])), True, False),
        (karpenter(FAMILY, (CAPACITY, "In", ["spot", "on-demand"])), True, True),
        (karpenter(FAMILY, (CAPACITY, "NotIn", ["spot"])), False, True),
    ],
)
def test_how_nodes_of_a_pool_are_bought(pool, may_use_spot, on_demand):
    found = gpu_pool(pool)
    assert (found.may_use_spot, found.on_demand) == (may_use_spot, on_demand)


@every(
    ("pool", "field"),
    [
        (node_group(capacityType=UNKNOWN), "may_use_spot"),
        (node_group(capacityType=UNKNOWN), "on_demand"),
        (node_group(instanceTypes=UNKNOWN), "machines"),
        (node_group(instanceTypes=["p4d.24xlarge", UNKNOWN]), "machines"),
        (node_group(taints=UNKNOWN), "taints"),
        (node_pool(guestAccelerators=[CARD], spot=UNKNOWN), "may_use_spot"),
        (node_pool(guestAccelerators=[CARD], preemptible=UNKNOWN), "on_demand"),
        (node_pool(guestAccelerators=[CARD], machineType=UNKNOWN), "machines"),
        (
            node_pool(machineType="g2-standard-4", guestAccelerators=UNKNOWN, taints=UNKNOWN),
            "taints",
        ),
        (karpenter(FAMILY, (CAPACITY, "In", UNKNOWN)), "may_use_spot"),
        (karpenter(FAMILY, (CAPACITY, "In", ["spot", UNKNOWN])), "on_demand"),
        (karpenter(FAMILY, (TYPE, "In", UNKNOWN)), "machines"),
        (karpenter((MAKER, "In", ["nvidia"]), taints=UNKNOWN), "taints"),
    ],
)
def test_one_thing_of_a_pool_is_unknown_and_all_else_is_known(pool, field):
    found = gpu_pool(pool)
    with pytest.raises(NotEvaluatedError):
        getattr(found, field)
    about = {"may_use_spot", "on_demand"} if field in {"may_use_spot", "on_demand"} else {field}
    for other in {"may_use_spot", "on_demand", "machines", "taints"} - about:
        getattr(found, other)


@every(
    "pool",
    [
        node_group(amiType=UNKNOWN),
        node_group(amiType="AL2023_x86_64_STANDARD", instanceTypes=UNKNOWN),
        node_group(amiType="AL2023_x86_64_STANDARD", instanceTypes=["m6i.large", UNKNOWN]),
        node_pool(machineType=UNKNOWN),
        node_pool(machineType="e2-standard-4", guestAccelerators=UNKNOWN),
        karpenter((TYPE, "In", UNKNOWN)),
        karpenter((MAKER, "In", [UNKNOWN])),
        karpenter(("karpenter.k8s.aws/instance-category", "In", ["m", UNKNOWN])),
    ],
)
def test_whether_a_pool_has_gpus_is_not_guessed(pool):
    with pytest.raises(NotEvaluatedError):
        gpu_pool(pool)


@every(
    "pool",
    [
        node_group(amiType="AL2023_x86_64_STANDARD", instanceTypes=["m6i.large"]),
        node_pool(machineType="e2-standard-4"),
        karpenter((TYPE, "In", ["m6i.large"])),
        karpenter((TYPE, "NotIn", UNKNOWN)),
        karpenter((MAKER, "In", ["amd"])),
        karpenter(("karpenter.k8s.aws/instance-category", "In", ["m"])),
    ],
)
def test_a_pool_without_gpus_is_none(pool):
    assert gpu_pool(pool) is None


COUNT = "karpenter.k8s.aws/instance-gpu-count"
COUNTS = (COUNT, "eks.amazonaws.com/instance-gpu-count", "karpenter.azure.com/sku-gpu-count")


@every(
    "requirement",
    [
        *((key, "Lt", ["1"]) for key in COUNTS),
        *((COUNT, "In", ["0"]), (COUNT, "In", [0]), (COUNT, "Lte", ["0"]), (COUNT, "Lt", ["0"])),
        *((key.replace("count", "memory"), "Lt", ["1"]) for key in COUNTS),
        *((COUNT, "DoesNotExist", None), (MAKER, "DoesNotExist", None)),
    ],
)
def test_a_pool_that_asks_for_no_gpu_has_none_whatever_else_it_asks_for(requirement):
    alone, beside = karpenter(requirement), karpenter(FAMILY, requirement)
    assert gpu_pool(alone) is None
    assert gpu_pool(beside) is None
    assert without_gpus(alone)
    assert without_gpus(beside)
    provisioner = alone.properties["spec"]["template"]
    assert without_gpus(Resource("karpenter.sh/v1alpha5/Provisioner", "p", provisioner))


@every(
    "requirement",
    [
        *((key, "Gt", ["0"]) for key in COUNTS),
        *((COUNT, "Exists", None), (COUNT, "In", ["0", "1"]), (COUNT, "Lt", ["2"])),
        *((COUNT, "Lte", ["1"]), (COUNT, "In", ["${GPUS}"]), (COUNT, "In", []), (COUNT, "Lt", "1")),
        *((COUNT, "Gte", ["0"]), ("karpenter.k8s.aws/instance-gpu-name", "In", ["0"])),
    ],
)
def test_one_that_may_have_some_is_a_gpu_pool(requirement):
    assert gpu_pool(karpenter(requirement)) is not None
    assert not without_gpus(karpenter(requirement))


@every(
    "unknown",
    [
        karpenter(FAMILY, (CAPACITY, "In", UNKNOWN), expireAfter="Never"),
        karpenter(FAMILY, expireAfter="Never", nodeClassRef={"name": UNKNOWN}),
        karpenter(FAMILY, expireAfter=UNKNOWN),
        karpenter(FAMILY, expireAfter="Never", nodeClassRef=UNKNOWN),
    ],
)
def test_a_pool_of_which_something_is_unknown_lacks_budgets_all_the_same_and_hides_no_other(
    unknown,
):
    unknown.properties["spec"]["disruption"] = {"consolidationPolicy": "WhenEmpty"}
    another = karpenter(FAMILY, expireAfter="Never")
    nobody_knows = karpenter((TYPE, "In", UNKNOWN))
    rule = [rule for rule in RULES if rule.id == "GPU-CAP-04"]
    found = evaluate([nobody_knows, unknown, another], rule)
    said = [
        (each.resource, each.is_advisory)
        for each in found
        if each.diagnostic.path == ("spec", "disruption")
    ]
    assert said == [(unknown, False), (another, False)]
    unjudged = [each.resource for each in found if each.state is FindingState.NOT_EVALUATED]
    assert nobody_knows in unjudged
    assert another not in unjudged


@every(
    ("containers", "installs"),
    [
        (UNKNOWN, False),
        ([{"image": UNKNOWN}], False),
        ([{"image": "cos-nvidia-installer:fixed"}], True),
    ],
)
def test_pods_that_are_not_known_install_no_driver(containers, installs):
    spec = {"template": {"spec": {"containers": containers}}}
    stack = Stack((Resource("apps/v1/DaemonSet", "d", {"spec": spec}),))
    assert has_driver_installer(stack) is installs


TIER = {"gpu.nvidia.com/tier": "premium"}


@every(
    ("resource", "gives"),
    [
        (node_group(labels=TIER), True),
        (node_group(labels={"team": "a"}), False),
        (node_group(), False),
        (node_group(labels=UNKNOWN), True),
        (node_group(labels=PartlyKnown({"team": "a"})), True),
        (node_pool(labels=TIER), True),
        (node_pool(labels={}), False),
        (karpenter(("gpu.nvidia.com/tier", "Exists", [])), True),
        (karpenter((TYPE, "In", ["p5.48xlarge"])), False),
        (Resource("karpenter.sh/v1beta1/Provisioner", "k", {"spec": {"labels": TIER}}), True),
    ],
)
def test_who_gives_a_label_to_nodes_or_may(resource, gives):
    assert sets_label(Stack((resource,)), "gpu.nvidia.com/tier") is gives
