"""Single objects: what the GPU Operator, the nodes, Kueue and a team's namespace are told."""

import pytest
import yaml

from gpuyard.render.gpu_operator import gpu_operator_objects, mig_parted_config, plugin_config
from gpuyard.render.kueue.queueing import queueing_objects
from gpuyard.render.nodes import fake_node_objects
from gpuyard.render.objects import managed_object
from gpuyard.render.platform import record_objects
from gpuyard.render.teams import team_objects
from gpuyard.render.text import in_reading_order, yaml_documents, yaml_text
from gpuyard_core.names import simulated_node_name
from kit.stacks import CUT, cut_pool, plan_of, platform, pool, shared_pool, team

GPU = "nvidia.com/gpu"
MIG3 = "nvidia.com/mig-3g.20gb"


def plugin(sharing):
    return plugin_config(plan_of(platform([cut_pool(sharing=sharing)])).pools[0])


def shared(name, replicas):
    return {
        "renameByDefault": True,
        "failRequestsGreaterThanOne": True,
        "resources": [{"name": n, "replicas": replicas} for n in name],
    }


@pytest.mark.parametrize(
    ("sharing", "strategy", "expected"),
    [
        ("none", "none", None),
        (CUT, "mixed", None),
        ({"time_slicing": 4}, "none", {"timeSlicing": shared([GPU], 4)}),
        ({"mps": 8}, "none", {"mps": shared([GPU], 8)}),
        ({"mig": {"3g.20gb": 2}, "time_slicing": 2}, "mixed", {"timeSlicing": shared([MIG3], 2)}),
        (
            {"mig": [{"gpus": 0, "3g.20gb": 2}], "time_slicing": 2},
            "mixed",
            {"timeSlicing": shared([MIG3], 2)},
        ),
        (
            {"mig": {"1g.5gb+me": 1}, "time_slicing": 2},
            "mixed",
            {"timeSlicing": shared(["nvidia.com/mig-1g.5gb.me"], 2)},
        ),
        ({"mig": {}, "time_slicing": 2}, "none", {"timeSlicing": shared([GPU], 2)}),
    ],
)
def test_the_device_plugin_is_told_the_sharing_of_a_pool(sharing, strategy, expected):
    config = {"version": "v1", "flags": {"migStrategy": strategy}}
    assert plugin(sharing) == (config if expected is None else {**config, "sharing": expected})


@pytest.mark.parametrize(
    ("sharing", "expected"),
    [
        (
            CUT,
            [
                {
                    "devices": "all",
                    "mig-enabled": True,
                    "mig-devices": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1},
                }
            ],
        ),
        (
            {"mig": [{"gpus": [4, 6], "7g.40gb": 1}, {"gpus": "0-3", "1g.5gb": 6, "1g.5gb+me": 1}]},
            [
                {
                    "devices": [0, 1, 2, 3],
                    "mig-enabled": True,
                    "mig-devices": {"1g.5gb": 6, "1g.5gb+me": 1},
                },
                {"devices": [4, 6], "mig-enabled": True, "mig-devices": {"7g.40gb": 1}},
                {"devices": [5, 7], "mig-enabled": False},
            ],
        ),
    ],
)
def test_the_mig_manager_is_told_the_layout_of_every_gpu(sharing, expected):
    plan = plan_of(platform([pool(), cut_pool("new", sharing=sharing, previous_names=["old"])]))
    assert mig_parted_config(plan) == {
        "version": "v1",
        "mig-configs": {
            "all-disabled": [{"devices": "all", "mig-enabled": False}],
            plan.pools[1].mig_config: expected,
        },
    }


def test_the_operators_namespace_holds_both_configurations():
    namespace, mig, plugins = gpu_operator_objects(plan_of(platform([pool(), shared_pool()])))
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert (mig["metadata"]["name"], list(mig["data"])) == ("gpuyard-mig-parted", ["config.yaml"])
    assert (plugins["metadata"]["name"], list(plugins["data"])) == (
        "gpuyard-device-plugin",
        ["train", "dev.9873a1"],
    )
    assert yaml.safe_load(plugins["data"]["dev.9873a1"])["sharing"]["timeSlicing"]["resources"] == [
        {"name": GPU, "replicas": 4}
    ]


def test_a_simulated_cluster_gets_the_policy_that_a_chart_would_make():
    plan = plan_of(platform([pool(), cut_pool(), shared_pool()], cloud="simulated"))
    policy = gpu_operator_objects(plan)[-1]
    assert (policy["kind"], policy["metadata"]["name"]) == ("ClusterPolicy", "cluster-policy")
    assert "mig" not in policy["spec"], "empty, it could be made and not come to again"
    assert policy["spec"]["migManager"]["config"] == {
        "name": "gpuyard-mig-parted",
        "default": "all-disabled",
    }
    assert policy["spec"]["devicePlugin"]["config"] == {
        "name": "gpuyard-device-plugin",
        "default": "",
    }
    assert policy["spec"]["daemonsets"]["tolerations"] == [
        {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
        {"key": "gpuyard.dev/pool", "operator": "Exists", "effect": "NoSchedule"},
    ]


def test_a_simulated_node_is_what_a_cloud_and_a_kubelet_make_of_the_pool():
    plan = plan_of(
        platform(
            [cut_pool(nodes=3, zones=["z1", "z2"], labels={"tier": "gold"})], cloud="simulated"
        )
    )
    nodes = fake_node_objects(plan, plan.pools[0])
    assert [n["metadata"]["name"] for n in nodes] == ["serve-000", "serve-001", "serve-002"]
    assert [n["metadata"]["labels"]["topology.kubernetes.io/zone"] for n in nodes] == [
        "z1",
        "z2",
        "z1",
    ]
    assert nodes[1]["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "gpuyard",
        "gpuyard.dev/fabric": "efa",
        "gpuyard.dev/nvlink": "3",
        "gpuyard.dev/nvlink-gpus": "8",
        "gpuyard.dev/platform": "lab",
        "gpuyard.dev/pool": "serve",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "serve-001",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "p4d.24xlarge",
        "nvidia.com/device-plugin.config": "serve.9def10",
        "nvidia.com/mig.config": "serve.04e903",
        "tier": "gold",
        "topology.kubernetes.io/zone": "z2",
    }
    assert nodes[0]["metadata"]["annotations"] == {
        "kwok.x-k8s.io/node": "fake",
        "pulumi.com/patchForce": "true",
    }
    assert nodes[0]["spec"]["taints"] == [
        {"key": GPU, "value": "present", "effect": "NoSchedule"},
        {"key": "gpuyard.dev/pool", "value": "serve", "effect": "NoSchedule"},
    ]


def test_a_platform_that_sends_its_jobs_away_makes_no_node():
    raw = platform(
        [pool(nodes=4)],
        [team(guarantee={"train": 8})],
        cloud="simulated",
        queueing={"clusters": [{"name": "west", "secret": "west"}]},
    )
    plan = plan_of(raw)
    assert fake_node_objects(plan, plan.pools[0]) == []


def test_a_node_without_zones_has_no_zone():
    plan = plan_of(platform([pool(nodes=1)], cloud="simulated"))
    (node,) = fake_node_objects(plan, plan.pools[0])
    assert "topology.kubernetes.io/zone" not in node["metadata"]["labels"]
    assert "status" not in node


@pytest.mark.parametrize(("index", "name"), [(0, "a-000"), (999, "a-999"), (1000, "a-1000")])
def test_a_node_is_named_for_its_pool_and_number(index, name):
    assert simulated_node_name("a", index) == name


def by_kind(plan, kind):
    return [obj for obj in queueing_objects(plan) if obj["kind"] == kind]


def test_a_flavor_selects_and_tolerates_its_pool():
    (flavor,) = by_kind(plan_of(platform([shared_pool()])), "ResourceFlavor")
    taints = [
        {"key": GPU, "value": "present", "effect": "NoSchedule"},
        {"key": "gpuyard.dev/pool", "value": "dev", "effect": "NoSchedule"},
    ]
    assert flavor["spec"] == {
        "nodeLabels": {"gpuyard.dev/pool": "dev"},
        "nodeTaints": taints,
        "tolerations": [{**t, "operator": "Equal"} for t in taints],
    }


TEAMS = [
    team(
        guarantee={"train": 8},
        borrow={"train": 4},
        lend={"train": 2},
        weight=2.5,
        previous_names=["seeing"],
    ),
    team("b", guarantee={"train": 1}),
]


def test_a_cluster_queue_says_what_its_team_may_have():
    queue, other = by_kind(plan_of(platform(teams=TEAMS)), "ClusterQueue")
    assert queue["metadata"]["name"] == "lab-seeing"
    assert queue["spec"] == {
        "cohortName": "lab",
        "namespaceSelector": {
            "matchLabels": {"gpuyard.dev/platform": "lab", "gpuyard.dev/team": "seeing"}
        },
        "queueingStrategy": "BestEffortFIFO",
        "flavorFungibility": {
            "whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "TryNextFlavor",
        },
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        "fairSharing": {"weight": "2.5"},
        "resourceGroups": [
            {
                "coveredResources": [GPU],
                "flavors": [
                    {
                        "name": "train",
                        "resources": [
                            {
                                "name": GPU,
                                "nominalQuota": "8",
                                "borrowingLimit": "4",
                                "lendingLimit": "2",
                            }
                        ],
                    }
                ],
            }
        ],
    }
    assert other["spec"]["fairSharing"] == {"weight": "1"}
    assert other["spec"]["resourceGroups"][0]["flavors"][0]["resources"] == [
        {"name": GPU, "nominalQuota": "1", "borrowingLimit": "0"}
    ]


def test_what_a_team_does_not_have_of_a_pool_is_zero():
    plan = plan_of(platform([cut_pool()], [team(guarantee={"serve/3g.20gb": 1})]))
    (queue,) = by_kind(plan, "ClusterQueue")
    assert queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"] == [
        {"name": "nvidia.com/mig-1g.5gb", "nominalQuota": "0", "borrowingLimit": "0"},
        {"name": "nvidia.com/mig-2g.10gb", "nominalQuota": "0", "borrowingLimit": "0"},
        {"name": MIG3, "nominalQuota": "1", "borrowingLimit": "0"},
    ]


def test_nothing_is_taken_back_and_nothing_weighed_when_the_file_says_so():
    plan = plan_of(platform(teams=TEAMS, queueing={"preemption": "never", "fair_sharing": False}))
    spec = by_kind(plan, "ClusterQueue")[0]["spec"]
    assert spec["preemption"] == {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"}
    assert "fairSharing" not in spec


def test_cohorts_hold_what_nobody_is_guaranteed():
    cohorts = by_kind(plan_of(platform([pool(f"p{i}", nodes=1) for i in range(65)])), "Cohort")
    assert [c["metadata"]["name"] for c in cohorts] == ["lab", "lab-unassigned-1"]
    assert "parentName" not in cohorts[0]["spec"]
    assert cohorts[1]["spec"] == {
        "parentName": "lab",
        "resourceGroups": [
            {
                "coveredResources": [GPU],
                "flavors": [{"name": "p64", "resources": [{"name": GPU, "nominalQuota": "8"}]}],
            }
        ],
    }


def test_a_cohort_of_which_all_is_guaranteed_has_no_spec():
    (cohort,) = by_kind(plan_of(platform(teams=[team(guarantee={"train": 32})])), "Cohort")
    assert "spec" not in cohort


def test_a_team_gets_its_namespace_first_and_its_queue_last():
    plan = plan_of(
        platform(teams=[team(guarantee={"train": 8}, borrow={"train": 4}, groups=["x"])])
    )
    made = team_objects(plan, plan.teams[0])
    assert [o["kind"] for o in made] == [
        "Namespace",
        "ResourceQuota",
        "LimitRange",
        "NetworkPolicy",
        "Role",
        "RoleBinding",
        "LocalQueue",
    ]
    queue = made[-1]
    assert (queue["metadata"]["name"], queue["metadata"]["namespace"]) == ("default", "vision")
    assert queue["spec"]["clusterQueue"] == "lab-vision"


def test_the_cluster_says_which_platform_it_belongs_to():
    plan = plan_of(platform([pool(nodes="1..4"), cut_pool()], cloud="simulated"))
    namespace, record = record_objects(plan)
    assert namespace["metadata"]["name"] == record["metadata"]["namespace"] == "gpuyard-lab"
    assert record["data"] == {
        "platform": "lab",
        "cluster": "lab",
        "pools": "train 1..4 p5.48xlarge\nserve 1 p4d.24xlarge",
    }


def test_an_object_keeps_our_labels_whatever_the_caller_gives():
    plan = plan_of(platform())
    labels = {"z": "1", "gpuyard.dev/platform": "other"}
    obj = managed_object(
        plan.name,
        "v1",
        "ConfigMap",
        "x",
        namespace="n",
        labels=labels,
        annotations={"b": "2", "a": "1"},
        data={},
    )
    assert list(obj["metadata"]["labels"]) == [
        "app.kubernetes.io/managed-by",
        "gpuyard.dev/platform",
        "z",
    ]
    assert obj["metadata"]["labels"]["gpuyard.dev/platform"] == "lab"
    assert list(obj["metadata"]["annotations"]) == ["a", "b"]
    assert list(obj) == ["apiVersion", "kind", "metadata", "data"]


def test_text_has_the_head_of_an_object_first_and_blocks_for_several_lines():
    same = ["1"]
    value = {
        "data": {"b": "x\ny\n", "a": ("on", 1)},
        "metadata": {"labels": {}, "name": "n"},
        "kind": "K",
        "e": same,
        "f": same,
    }
    assert yaml_text(value) == (
        "kind: K\nmetadata:\n  name: n\n  labels: {}\ndata:\n  b: |\n    x\n    y\n  a:\n  - 'on'\n  - 1\n"
        "e:\n- '1'\nf:\n- '1'\n"
    )
    assert in_reading_order([{"b": 1, "name": 2}]) == [{"name": 2, "b": 1}]
    assert yaml_documents([{"a": 1}, {"b": "ü"}]) == "a: 1\n---\nb: ü\n"


def test_a_priority_is_a_class_of_kueues_with_its_value_at_the_top():
    plan = plan_of(platform(priorities={"research": 100, "production": 1000}))
    labels = {"app.kubernetes.io/managed-by": "gpuyard", "gpuyard.dev/platform": "lab"}
    classes = [o for o in queueing_objects(plan) if o["kind"] == "WorkloadPriorityClass"]
    assert classes == [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": name, "labels": labels},
            "value": value,
            "description": "priority class of platform lab",
        }
        for name, value in (("production", 1000), ("research", 100))
    ]
