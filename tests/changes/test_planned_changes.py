"""What a change takes away, in the words of the stack file; and consent to it."""

import pytest
from testbed.plugins.cloud.shapes import Place

from gpuyard.changes.deployed_state import deployed_state
from gpuyard.changes.findings import compare_with_deployed
from gpuyard.changes.planned_changes import plan_changes
from gpuyard.render.cloud.graph import CloudGraph, CloudResource
from gpuyard.render.platform import releases
from gpuyard.spec.read import read_platform
from gpuyard.stack_validation import validate
from kit.clouds.deployments import Deployment, exported
from kit.generated.changed import planned
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team


def on(cloud="simulated", pools=None, teams=(), **rest):
    """A stack whose nodes come in node groups."""
    pools = [pool(nodes="0..4", scaling="autoscaler")] if pools is None else pools
    return platform(pools, teams, cloud=cloud, **rest)


def compared(before, after, place=None):
    """What is said of a stack beside the state that another one left."""
    cloud = after["cloud"]
    if place is None:
        state = exported(plan_of(before))
    else:
        plan = planned(before, cloud)
        state = Deployment(plan.provider.graph(plan), place).export(plan)
    region = {} if place is None else {f"{cloud}:region": place.region}
    judged, said = compare_with_deployed(
        validate(read_platform(after, region)), deployed_state(state)
    )
    return [each for each in judged.findings if each.id.startswith("change.")], said


AWS = Place(cloud="aws", region="us-east-1")
GCP = Place(cloud="gcp", region="us-central1", project="my-project")
TEAM = team("vision", guarantee={"train": 16})


def test_nothing_is_said_of_a_stack_that_stays():
    for cloud, place in (("simulated", None), ("aws", AWS)):
        found, said = compared(on(cloud, teams=[TEAM]), on(cloud, teams=[TEAM]), place)
        assert found == []
        assert {each.action.value for each in said.resources} <= {"same"}


def test_a_network_that_is_moved_strands_its_cluster_so_no_consent_lets_it():
    """EKS takes other subnets of the cluster's own network alone."""

    def of(cidr, **rest):
        return on(
            "aws",
            teams=[TEAM],
            cluster={"network": {"cidr": cidr}, "zones": ["us-east-1a", "us-east-1b"]},
            **rest,
        )

    (found,), said = compared(of("10.0.0.0/16"), of("10.16.0.0/16"), AWS)
    assert (found.id, found.where, found.severity.value) == ("change.replaces", "cluster", "error")
    for words in (
        "Vpc vpc is replaced: a change of cidrBlock replaces it; EKS cannot move a cluster to another network",
        "pool train is drained: up to 4 nodes with 32 GPUs",
    ):
        assert words in found.problem
    (loss,) = said.disruptions
    (again,), _ = compared(
        of("10.0.0.0/16"), of("10.16.0.0/16", approved_changes=[loss.digest]), AWS
    )
    assert (again.id, again.given) == ("change.replaces", f"approved: {loss.digest}")


def test_a_cluster_that_is_replaced_takes_the_pools_with_it_and_consent_lets_it():
    def of(services, **rest):
        return on("aws", teams=[TEAM], cluster={"network": {"services": services}}, **rest)

    (found,), _ = compared(of("172.20.0.0/16"), of("172.21.0.0/16"), AWS)
    assert (found.id, found.where, found.severity.value) == ("change.replaces", "cluster", "error")
    for words in (
        "the cluster is replaced: a change of kubernetesNetworkConfig.serviceIpv4Cidr replaces it",
        "pool train is drained: up to 4 nodes with 32 GPUs",
        "teams lose vision 16 nvidia.com/gpu of train until a new cluster and new nodes are ready: 14 to 24",
        "is protected: Pulumi rejects the change until `cluster.protect: false` is deployed",
    ):
        assert words in found.problem
    (said,), _ = compared(
        of("172.20.0.0/16"), of("172.21.0.0/16", approved_changes=found.fix.value), AWS
    )
    assert (said.id, said.severity.value) == ("change.consented", "info")
    other = compared(
        of("172.20.0.0/16"), of("172.22.0.0/16", approved_changes=[found.fix.value]), AWS
    )[0]
    assert {each.id for each in other} == {"change.replaces", "change.unneeded"}


def test_consent_is_not_needed_once_the_change_is_there():
    (found,), _ = compared(on(approved_changes="sha256:0123"), on(approved_changes="sha256:0123"))
    assert (found.id, found.given, found.fix.value) == ("change.unneeded", "sha256:0123", None)


def test_a_pool_that_leaves_is_one_loss_and_one_that_stays_loses_a_rung_by_itself():
    train = pool(nodes="0..4", scaling="autoscaler")
    found, _ = compared(on("gcp", GKE_POOLS), on("gcp", GKE_POOLS[1:]), GCP)
    assert {each.id for each in found} == {"change.deletes"}
    (found,) = [each for each in found if each.where == "pools"]
    assert (found.id, found.where) == ("change.deletes", "pools")
    assert found.problem.startswith("pool train is deleted: the stack file no longer has it")
    assert "up to 4 nodes with 32 GPUs" in found.problem
    ladder = [{**train, "capacity": ["spot", "on-demand"]}]
    found, said = compared(on("aws", ladder), on("aws", [train]), AWS)
    (rung,) = [each for each in found if each.id == "change.deletes"]
    assert rung.where == "pools[0]"
    assert "NodeGroup train-spot is deleted" in rung.problem
    assert "pool train is drained" in rung.problem
    assert said.disruptions[0].drained_pools[0].pool == "train"


GKE_POOLS = [
    pool("train", machine="a3-highgpu-8g", nodes="0..4", zones=["us-central1-a"]),
    pool("train-b", machine="g2-standard-48", nodes="0..2"),
]


def test_the_cluster_itself_takes_every_pool_and_the_system_says_its_own_place():
    _, said = compared(on("aws"), on("aws", name="yard"), AWS)
    (loss,) = [each for each in said.disruptions if each.subject == "the cluster"]
    assert loss.reason == "a change of name replaces it"
    assert [each.pool for each in loss.drained_pools] == ["train"]
    system = {"machine": "m7i.2xlarge", "nodes": 2}
    found, _ = compared(on("aws"), on("aws", system=system), AWS)
    assert {each.where for each in found} <= {"system"}


@pytest.mark.parametrize(
    ("before", "after", "kind", "says"),
    [
        ([cut_pool()], [cut_pool(sharing={"mig": {"3g.20gb": 2}})], "change.recuts", "pool serve is repartitioned"),
        ([pool("serve", machine="p4d.24xlarge", nodes=1)], [cut_pool()], "change.recuts", "up to 1 node with 8 GPUs"),
        ([shared_pool()], [shared_pool(sharing={"time_slicing": 2})], "", ""),
        ([pool()], [pool(machine="p4d.24xlarge")], "change.replaces", "its nodes changes from p5.48xlarge to"),
        ([pool(), cut_pool()], [pool()], "change.deletes", "pool serve is deleted"),
        ([pool()], [pool("gpu", previous_names=["train"])], "", ""),
        ([pool("a", machine={"gpu": "H100-80", "gpus": 8, "cpu": 96, "memory_gib": 1000}), pool()], [pool()],
         "change.deletes", "with an unknown number of GPUs"),
    ],
)  # fmt: skip
def test_pools_of_a_cluster_that_no_cloud_makes(before, after, kind, says):
    cloud = "none" if any(isinstance(each["machine"], dict) for each in before) else "simulated"
    found, said = compared(on(cloud, before), on(cloud, after))
    assert [each.id for each in found] == ([kind] if kind else [])
    assert says in "".join(each.problem for each in found)
    assert said.resources == ()


def test_teams_that_leave_and_guarantees_that_shrink():
    two = [TEAM, team("speech", guarantee={"train": 8})]
    (found,), _ = compared(on(teams=two, pools=[pool()]), on(teams=[TEAM], pools=[pool()]))
    assert (found.id, found.where) == ("change.deletes", "teams")
    assert found.problem == (
        "team speech is deleted: the stack file no longer has it. Kueue deletes its queue only when no job uses"
        " it: deploy `stop_policy: drain` on the team first to evict its running jobs; namespace speech is deleted"
        " unless it is protected; teams lose speech 8 nvidia.com/gpu of train permanently"
    )
    assert "teams lose speech 8 nvidia.com/gpu of train permanently" in found.problem
    less = [team("sight", previous_names=["vision"], guarantee={"train": 8})]
    (found,), _ = compared(on(teams=[TEAM], pools=[pool()]), on(teams=less, pools=[pool()]))
    assert (found.id, found.where, found.given) == ("change.lowers", "teams", "8")


def test_objects_of_a_removed_add_on_are_lost_only_if_helm_deletes_their_crds():
    def with_addons(*addons):
        return platform([pool()], addons=list(addons))

    def found(before, after):
        state = exported(plan_of(before))
        state["deployment"]["resources"] += [
            {
                "urn": f"urn:pulumi:dev::p::kubernetes:helm.sh/v3:Release::lab-{name}",
                "type": "kubernetes:helm.sh/v3:Release",
                "outputs": {"name": name},
            }
            for name in releases(plan_of(before))
        ]
        judged, _ = compare_with_deployed(validate(read_platform(after, {})), deployed_state(state))
        return [each for each in judged.findings if each.id.startswith("change.")]

    every = with_addons("jobset", "kubeflow-trainer", "keda", "argo-workflows")
    assert found(every, every) == []
    (lost,) = found(every, with_addons())
    assert (lost.id, lost.where) == ("change.deletes", "addons")
    assert lost.problem == (
        "add-on kubeflow-trainer is deleted: the stack file no longer has it, and Helm deletes its CRDs; lost: all"
        " objects of its kinds in every namespace, and their pods"
    )


@pytest.mark.parametrize(
    ("annotations", "becomes"),
    [
        ({"gpuyard.dev/protect": "true"}, "stays"),
        ({"gpuyard.dev/existing": "true"}, "stays"),
        ({}, "is deleted"),
        (None, "is deleted"),
    ],
)
def test_what_the_state_says_of_a_namespace_is_said_of_a_team_that_leaves(annotations, becomes):
    before, after = on(teams=[TEAM, team("speech")]), on(teams=[TEAM])
    state = exported(plan_of(before))
    metadata = {"name": "speech", "annotations": annotations}
    row = {
        "urn": "urn:pulumi:s::p::kubernetes:core/v1:Namespace::lab:Namespace:speech",
        "type": "kubernetes:core/v1:Namespace",
        "outputs": {"metadata": metadata},
    }
    state["deployment"]["resources"].append(row)
    _, said = compare_with_deployed(validate(read_platform(after, {})), deployed_state(state))
    (loss,) = said.disruptions
    assert loss.reason.endswith(f"namespace speech {becomes} with everything in it")


def test_what_only_the_engine_foresees_is_said_as_such():
    plan = planned(on("aws"), "aws")
    rows = Deployment(plan.provider.graph(plan), AWS).export(plan)["deployment"]["resources"]
    steps = [
        {
            "op": "replace" if row["urn"].endswith("-vpc") else "same",
            "urn": row["urn"],
            "oldState": row,
        }
        for row in rows
    ]
    judged, _ = compare_with_deployed(
        validate(read_platform(on("aws"), {"aws:region": "us-east-1"})),
        deployed_state({"steps": steps}),
    )
    (found,) = [each for each in judged.findings if each.id.startswith("change.")]
    assert (found.id, found.given, found.severity.value) == (
        "change.unforeseen",
        "replace vpc",
        "warning",
    )


def test_a_store_that_leaves_is_data_that_is_lost():
    plan = planned(on("aws"), "aws")
    state = Deployment(plan.provider.graph(plan), AWS).export(plan)
    bucket = {"urn": "urn::platform-checkpoints", "type": "aws:s3/bucket:Bucket", "id": "b"}
    kept = {**bucket, "urn": "urn::platform-kept", "retainOnDelete": True}
    state["deployment"]["resources"] += [
        bucket,
        kept,
        {**bucket, "urn": "urn::platform-tag", "type": "aws:x:Y"},
    ]
    judged, _ = compare_with_deployed(
        validate(read_platform(on("aws"), {"aws:region": "us-east-1"})), deployed_state(state)
    )
    (found,) = [each for each in judged.findings if each.id.startswith("change.")]
    assert (found.id, found.where) == ("change.deletes", "storage")
    assert "Bucket checkpoints is deleted" in found.problem
    assert "lost: the data in it" in found.problem


def test_what_is_not_known_yet_is_no_part_of_a_consent():
    vpc = CloudResource(kind="aws:ec2/vpc:Vpc", name="vpc", inputs={"tags": {}})
    subnet = CloudResource(kind="aws:ec2/subnet:Subnet", name="a", inputs={"vpcId": vpc.get("id")})
    row = {
        "urn": "urn::platform-cluster-a",
        "type": subnet.kind,
        "id": "a",
        "outputs": {"vpcId": "vpc-1"},
    }
    stand = deployed_state({"version": 3, "deployment": {"resources": [row]}})
    plan = planned(on("aws"), "aws")
    (loss,) = plan_changes(plan, CloudGraph((vpc, subnet)), stand, "platform").disruptions
    assert (loss.subject, "vpcId" in loss.reason) == ("Subnet a", True)


def test_a_state_without_the_platform_has_nothing_to_lose():
    judged, said = compare_with_deployed(
        validate(read_platform(on("aws"))),
        deployed_state({"version": 3, "deployment": {"resources": []}}),
    )
    assert said.platform == ""
    assert not [each for each in judged.findings if each.id.startswith("change.")]
    refused = validate(read_platform({"name": "x"}))
    assert compare_with_deployed(refused, deployed_state({"steps": []})) == (refused, None)


def test_another_disk_rolls_the_nodes_of_a_pool_and_waits_for_consent():
    def of(disk, **rest):
        return on("aws", [pool(nodes="0..4", scaling="autoscaler", disk_gib=disk)], [TEAM], **rest)

    (found,), said = compared(of(200), of(400), AWS)

    assert (found.id, found.where, found.severity.value) == ("change.rolls", "pools[0]", "error")
    for words in (
        "pool train is rolled: a change of blockDeviceMappings",
        "volumeSize replaces its nodes in batches",
        "pool train is drained: up to 4 nodes with 32 GPUs",
        "teams lose vision 16 nvidia.com/gpu of train in part, until the last node is replaced",
    ):
        assert words in found.problem
    assert {each.action.value for each in said.resources} == {"same", "update"}
    (said,), _ = compared(of(200), of(400, approved_changes=found.fix.value), AWS)
    assert (said.id, said.severity.value) == ("change.consented", "info")
    other, _ = compared(of(200), of(500, approved_changes=found.fix.value), AWS)
    assert {each.id for each in other} == {"change.rolls", "change.unneeded"}


def test_another_image_or_minor_is_announced_on_either_cloud():
    gke = [pool("train", machine="a3-highgpu-8g", nodes="0..4", zones=["us-central1-a"])]
    bigger = [{**gke[0], "disk_gib": 500}]
    for before, after, place, says in (
        (on("aws", kubernetes="1.34"), on("aws", kubernetes="1.35"), AWS, "version"),
        (on("gcp", gke), on("gcp", bigger), GCP, "nodeConfig.diskSizeGb"),
    ):
        found, _ = compared(before, after, place)
        rolled = [each for each in found if each.id == "change.rolls"]
        assert [each.where for each in rolled] == ["pools[0]"]
        assert says in rolled[0].problem


def test_labels_and_bounds_of_a_group_drain_nobody():
    before = on("aws", [pool(nodes="0..4", scaling="autoscaler")])
    after = on("aws", [pool(nodes="0..8", scaling="autoscaler")])

    assert compared(before, after, AWS)[0] == []


def test_another_driver_of_the_operator_is_announced_and_one_of_an_image_is_none_of_its_own():
    old, new = {"driver": "580.178.04"}, {"driver": "595.91.07"}
    (found,), said = compared(
        on("none", [pool()], software=old), on("none", [pool()], software=new)
    )

    assert (found.id, found.where) == ("change.rolls", "pools[0]")
    assert "the GPU Operator replaces driver 580.178.04 with 595.91.07" in found.problem
    assert said.resources == ()
    assert compared(on("simulated"), on("simulated"))[0] == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"mig": {"1g.5gb": 7}}, {"mig": {"3g.20gb": 2}}, "gpuPartitionSize"),
        ({}, {"mig": {"3g.20gb": 2}}, "gpuPartitionSize"),
        ({"time_slicing": 4}, {"time_slicing": 2}, "gpuSharingConfig"),
        ({"time_slicing": 4}, {"mps": 4}, "gpuSharingConfig"),
    ],
)
def test_another_size_or_way_of_sharing_is_another_node_pool_where_gke_does_it(
    before, after, words
):
    def of(sharing):
        one = {"machine": "a2-highgpu-8g", "image": "cos-gke", "zones": ["us-central1-a"]}
        return on("gcp", [pool("serve", nodes="0..4", sharing=sharing, **one)])

    (found,), said = compared(of(before), of(after), GCP)
    assert found.id == "change.replaces"
    assert words in found.problem
    assert [each.subject for each in said.disruptions] == ["NodePool serve-on-demand"]
