"""What Karpenter makes nodes by: a class and a NodePool for each rung, as the real definitions take them."""

import pytest
import yaml

import sizes
from gpuyard.plan.records.late import resolve_outputs, unresolved_output_names
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.karpenter.nodes import karpenter_objects, karpenter_pools
from gpuyard.render.aws.pools import group_sizes, node_group_pools
from gpuyard.render.aws.user_data import kubelet_of
from gpuyard.render.dependencies import dependencies_of
from gpuyard.render.files import render_files
from gpuyard.render.platform import platform_objects
from gpuyard.render.text import yaml_documents
from gpuyard_core.catalogue.kubernetes.eks_nodes import AL2023_RELEASES
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import evaluate
from gpuyard_testing.crds import CrdFolder
from kit.clouds.aws import SUBNETS, VPC, plan_on_aws
from kit.levels import upstream
from kit.stacks import cut_pool, pool, shared_pool
from render.aws.test_graph import stack

HERE = sizes.ROOT / "tests" / "render" / "aws" / "golden"
LADDER = [{"reserved": "cr-0123456789abcdef0", "nodes": 2}, "spot", "on-demand"]
TRAIN = {"machine": "p5.48xlarge", "zones": ["us-east-1a"], "capacity": LADDER}


def ours(name="train", **rest):
    """A pool that Karpenter makes the nodes of."""
    return pool(name, **{"nodes": "0..8", "scaling": "karpenter", **rest})


def known(plan):
    """Its objects with a name for each late value."""
    return [
        resolve_outputs(each, lambda name: name.replace(".", "-"))
        for each in karpenter_objects(plan)
    ]


def of(objects, kind):
    return [each for each in objects if each["kind"] == kind]


def test_the_objects_of_a_stack_are_the_golden_ones(golden):
    text = yaml_documents(
        resolve_outputs(karpenter_objects(stack("karpenter")), lambda name: f"<{name}>")
    )
    golden(HERE / "karpenter-nodes.yaml", text)


def test_a_node_that_is_used_goes_in_the_hours_of_upkeep_alone():
    """Of the budgets that are in force the least holds: outside these hours it is none."""
    words = {"cron": "0 2 * * 6", "hours": 4, "nodes": 2, "max_days": 30}
    (one,) = of(known(plan_on_aws([ours(disruption_window=words)])), "NodePool")
    assert one["spec"]["disruption"]["budgets"] == [
        {"nodes": "0", "reasons": ["Underutilized"]},
        {"nodes": "2", "reasons": ["Drifted"]},
        {"nodes": "0", "reasons": ["Drifted"], "schedule": "0 6 * * 6", "duration": "164h0m"},
        {"nodes": "100%", "reasons": ["Empty"]},
    ]
    told = one["spec"]["template"]["spec"]
    assert (told["expireAfter"], told["terminationGracePeriod"]) == ("720h", "1h")
    plain = {"cron": "0 2 * * 6", "hours": 4}
    capacity = ["spot", "on-demand"]
    found = of(known(plan_on_aws([ours(disruption_window=plain, capacity=capacity)])), "NodePool")
    said = [each["spec"]["template"]["spec"] for each in found]
    assert [each["expireAfter"] for each in said] == ["Never", "Never"]
    assert [each["terminationGracePeriod"] for each in said] == ["2m", "1h"]


def disruptions(**rest):
    """Of each rung, best first: the policy, and nodes that may go by each reason."""
    found = of(known(plan_on_aws([ours(**TRAIN, **rest)])), "NodePool")
    rules = [each["spec"]["disruption"] for each in found]
    return [(rule["consolidationPolicy"], rule["budgets"]) for rule in rules]


def test_what_may_move_up_is_moved_from_lower_rungs_one_node_at_a_time():
    """What runs on the best rung stays: nothing is cheaper than what is paid anyway."""
    empty = {"nodes": "100%", "reasons": ["Empty"]}
    stays = [{"nodes": "0", "reasons": ["Drifted", "Underutilized"]}, empty]
    moves = [
        {"nodes": "0", "reasons": ["Drifted"]},
        {"nodes": "1", "reasons": ["Underutilized"]},
        empty,
    ]
    assert disruptions(failback=True) == [
        ("WhenEmpty", stays),
        ("WhenEmptyOrUnderutilized", moves),
        ("WhenEmptyOrUnderutilized", moves),
    ]
    assert disruptions() == [("WhenEmpty", stays)] * 3


def test_what_may_move_up_moves_in_the_hours_of_upkeep_where_there_are_such():
    words = {"cron": "0 2 * * 6", "hours": 4, "nodes": 2}
    best, _, last = disruptions(failback=True, disruption_window=words)
    closed = {"schedule": "0 6 * * 6", "duration": "164h0m"}
    assert best[1][0] == {"nodes": "0", "reasons": ["Underutilized"]}
    assert last[1] == [
        {"nodes": "2", "reasons": ["Drifted", "Underutilized"]},
        {"nodes": "0", "reasons": ["Drifted", "Underutilized"], **closed},
        {"nodes": "100%", "reasons": ["Empty"]},
    ]


MANY = [
    [ours(**TRAIN)],
    [ours(**TRAIN, failback=True)],
    [ours(machine=["g6.8xlarge", "g6.16xlarge"]), ours("b200", machine="p6-b300.48xlarge")],
    [shared_pool(nodes="0..4", scaling="karpenter"), cut_pool(nodes="0..2", scaling="karpenter")],
    [ours(machine="g4dn.12xlarge", numa="none", disk_gib=500, labels={"rack": "r1"})],
    [ours(nodes="1..8", disruption_window={"cron": "30 22 * * 1-5", "hours": 6.5, "max_days": 14})],
]


@pytest.mark.parametrize(
    "pools", MANY, ids=["ladder", "moves", "machines", "cut", "words", "disruption_window"]
)
def test_the_real_definitions_and_our_own_rules_take_them(pools):
    crds = CrdFolder(upstream("crds"))
    objects = known(plan_on_aws(pools))
    for each in objects:
        plain = yaml.safe_load(yaml.safe_dump(each))
        for ident in plain["spec"].get("subnetSelectorTerms", ()):
            ident["id"] = "subnet-0"
        for ident in plain["spec"].get("securityGroupSelectorTerms", ()):
            ident["id"] = "sg-0"
        assert crds.violations(plain) == [], each["metadata"]["name"]
    assert list(evaluate([resource(each) for each in objects], RULES)) == []


def test_a_rung_is_a_nodepool_and_the_best_one_is_tried_first():
    plan = plan_on_aws([ours(**TRAIN)])
    pools = of(known(plan), "NodePool")
    asked = [
        {each["key"]: each["values"] for each in p["spec"]["template"]["spec"]["requirements"]}
        for p in pools
    ]
    assert [p["metadata"]["name"] for p in pools] == [
        "train-reserved-cr-0123456789abcdef0",
        "train-spot",
        "train-on-demand",
    ]
    assert [p["spec"]["weight"] for p in pools] == [100, 99, 98]
    assert [each["karpenter.sh/capacity-type"] for each in asked] == [
        ["reserved"],
        ["spot"],
        ["on-demand"],
    ]
    assert all(each["node.kubernetes.io/instance-type"] == ["p5.48xlarge"] for each in asked)
    assert all(each["topology.kubernetes.io/zone"] == ["us-east-1a"] for each in asked)
    anywhere = of(known(plan_on_aws([ours()])), "NodePool")[0]["spec"]["template"]["spec"]
    assert "topology.kubernetes.io/zone" not in {e["key"] for e in anywhere["requirements"]}


def test_limits_are_the_bounds_of_the_rung_in_nodes_and_in_gpus():
    """Once they run, nodes that are cut advertise no whole GPU: GPUs alone would bound nothing."""
    plan = plan_on_aws([ours(**TRAIN), cut_pool(nodes="0..2", scaling="karpenter")])
    found = [each["spec"]["limits"] for each in of(known(plan), "NodePool")]
    sizes_of = [(s.high, p.gpus_per_node) for p in karpenter_pools(plan) for s in group_sizes(p)]
    assert found == [{"nodes": str(n), "nvidia.com/gpu": str(n * g)} for n, g in sizes_of]
    assert [high for high, _ in sizes_of][:3] == [2, 8, 8]


def test_nothing_but_an_empty_node_is_ended_and_a_spot_node_has_two_minutes():
    specs = [each["spec"] for each in of(known(plan_on_aws([ours(**TRAIN)])), "NodePool")]
    for spec in specs:
        assert spec["disruption"]["consolidationPolicy"] == "WhenEmpty"
        budgets = {r: b["nodes"] for b in spec["disruption"]["budgets"] for r in b["reasons"]}
        assert budgets == {"Drifted": "0", "Underutilized": "0", "Empty": "100%"}
        assert spec["template"]["spec"]["expireAfter"] == "Never"
    graces = [spec["template"]["spec"]["terminationGracePeriod"] for spec in specs]
    assert graces == ["1h", "2m", "1h"]


def test_nodes_carry_the_labels_and_taints_of_the_plan():
    plan = plan_on_aws([shared_pool(nodes="0..4", scaling="karpenter")])
    (planned,) = plan.pools
    template = of(known(plan), "NodePool")[0]["spec"]["template"]
    assert template["metadata"]["labels"] == dict(planned.labels)
    given = {(t["key"], t["value"], t["effect"]) for t in template["spec"]["taints"]}
    assert given == {(t.key, t.value, t.effect) for t in planned.taints}


def test_an_overlay_says_what_agents_make_of_gpus_for_the_nodes_of_its_pool_alone():
    plan = plan_on_aws(
        [ours(), cut_pool(nodes="0..2", scaling="karpenter", capacity=["spot", "on-demand"])]
    )
    (overlay,) = of(known(plan), "NodeOverlay")
    cut = next(each for each in plan.pools if each.autoscaler_hints.overlay)
    assert overlay["spec"] == {
        "requirements": [
            {
                "key": "karpenter.sh/nodepool",
                "operator": "In",
                "values": [f"{cut.stable_name}-spot", f"{cut.stable_name}-on-demand"],
            }
        ],
        "capacity": {name: str(n) for name, n in cut.autoscaler_hints.overlay.items()},
    }
    assert of(known(plan_on_aws([ours()])), "NodeOverlay") == []


# ── node classes ──────────────────────────────────────────────────────────────────────────────────
def classes(*pools, **rest):
    return [each["spec"] for each in of(known(plan_on_aws(list(pools), **rest)), "EC2NodeClass")]


def test_the_image_is_the_release_of_node_groups_and_never_the_latest():
    for minor, release in AL2023_RELEASES.items():
        if minor >= "1.33":
            (found,) = classes(ours(), kubernetes=minor)
            assert found["amiSelectorTerms"] == [{"alias": f"al2023@v{release[-8:]}"}]


def test_a_reservation_has_its_own_place_and_what_is_bought_freely_stands_together():
    reserved, spot, bought = classes(ours(**TRAIN))
    assert reserved["capacityReservationSelectorTerms"] == [{"id": "cr-0123456789abcdef0"}]
    assert "placementGroupSelector" not in reserved
    for found in (spot, bought):
        assert found["placementGroupSelector"] == {"name": "train-placement-id"}
        assert "capacityReservationSelectorTerms" not in found


def test_every_efa_is_there_though_no_interface_is_both():
    for machine, adapters in (("p5.48xlarge", 32), ("g6.8xlarge", 1), ("p6-b300.48xlarge", 16)):
        found = classes(ours(machine=machine))[0]["networkInterfaces"]
        assert found[0] == {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
        kinds = [each["interfaceType"] for each in found]
        assert (kinds.count("interface"), kinds.count("efa-only")) == (1, adapters)
        at = [(each["networkCardIndex"], each["deviceIndex"]) for each in found]
        assert len(set(at)) == len(at)
    assert "networkInterfaces" not in classes(ours(machine="g6.xlarge"))[0]


def test_disks_are_encrypted_and_local_ones_are_one():
    (local,) = classes(ours(machine="p5.48xlarge", disk_gib=300))
    (usual,) = classes(ours())
    (fast,) = classes(ours(machine="g5g.2xlarge"))
    assert "instanceStorePolicy" not in fast
    assert fast["blockDeviceMappings"][0]["ebs"]["throughput"] == 500
    assert local["instanceStorePolicy"] == "RAID0"
    (disk,) = local["blockDeviceMappings"]
    assert (disk["deviceName"], disk["rootVolume"]) == ("/dev/xvda", True)
    assert disk["ebs"]["encrypted"] is True
    assert disk["ebs"]["volumeSize"] == "300Gi"
    assert usual["blockDeviceMappings"][0]["ebs"]["volumeSize"] == "200Gi"


def test_the_kubelet_keeps_what_the_plan_has_counted():
    plan = plan_on_aws([ours()])
    kubelet = kubelet_of(plan.pools[0], (plan.pools[0].machine,))
    (found,) = classes(ours())
    assert found["kubelet"] == {
        "kubeReserved": dict(kubelet.reserved),
        "evictionHard": dict(kubelet.eviction),
    }
    assert "topologyManagerPolicy: restricted" in found["userData"]
    assert "localStorage" not in found["userData"]
    (mixed,) = classes(ours(machine=["g6.8xlarge", "g6.16xlarge"]))
    assert "kubeReserved" not in mixed["kubelet"]


def test_nodes_stand_in_the_subnets_of_their_zones():
    (own,) = classes(ours(zones=["us-east-1b"]), cluster={"zones": ["us-east-1a", "us-east-1b"]})
    assert own["subnetSelectorTerms"] == [{"id": "private-us-east-1b-id"}]
    local = {"zones": ["us-east-1-dfw-2a", "us-east-1a", "us-east-1b"]}
    (anywhere,) = classes(ours(zones=[]), cluster=local)
    assert anywhere["subnetSelectorTerms"] == [
        {"id": f"private-us-east-1{letter}-id"} for letter in "ab"
    ]
    given = {"network": {"id": VPC, "subnets": {"private": SUBNETS}}}
    (there,) = classes(ours(), cluster=given)
    assert there["subnetSelectorTerms"] == [{"id": each} for each in SUBNETS]


def test_metadata_is_for_the_node_alone():
    (found,) = classes(ours())
    options = found["metadataOptions"]
    assert (options["httpTokens"], options["httpPutResponseHopLimit"]) == ("required", 1)


# ── beside the rest ───────────────────────────────────────────────────────────────────────────────
def test_a_pool_of_karpenter_has_no_node_group_and_others_keep_theirs():
    plan = plan_on_aws([ours(), pool("steady")])
    assert [each.name for each in node_group_pools(plan)] == ["steady"]
    assert [each.name for each in karpenter_pools(plan)] == ["train"]
    kinds = {each["kind"] for each in platform_objects(plan)}
    assert {"EC2NodeClass", "NodePool"} <= kinds
    without = {each["kind"] for each in platform_objects(plan_on_aws([pool()]))}
    assert {"EC2NodeClass", "NodePool", "NodeOverlay"}.isdisjoint(without)


def test_a_nodepool_needs_its_class():
    node_class, node_pool = known(plan_on_aws([ours()]))
    assert ("EC2NodeClass", "", node_class["metadata"]["name"]) in set(dependencies_of(node_pool))


def test_what_they_name_of_the_cloud_is_told_by_the_graph():
    plan = plan_on_aws([ours(**TRAIN)])
    graph = aws_graph(plan)
    assert unresolved_output_names(karpenter_objects(plan)) <= graph.late_values.keys()
    assert "train-placement.id" in graph.late_values
    assert aws_graph(plan_on_aws([pool()])).late_values == {}


def test_where_objects_become_files_charts_come_before_what_they_define():
    plan = stack("karpenter")
    late = dict.fromkeys([*aws_graph(plan).late_values, "cluster.name"], "later")
    names = list(render_files(plan, late))
    order = [name.partition("-")[2] for name in names if "karpenter" in name]
    assert order == [
        "karpenter-crd/release.yaml",
        "karpenter-crd/values.yaml",
        "karpenter/release.yaml",
        "karpenter/values.yaml",
        "karpenter-nodes.yaml",
    ]


def test_how_long_pods_have_is_what_the_stack_file_says():
    def graces(**rest):
        nodes = of(known(plan_on_aws([ours(**TRAIN, **rest)])), "NodePool")
        return [each["spec"]["template"]["spec"]["terminationGracePeriod"] for each in nodes]

    assert graces() == ["1h", "2m", "1h"]
    assert graces(upgrade={"drain_minutes": 30}) == ["30m", "2m", "30m"]
