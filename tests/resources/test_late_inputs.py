"""Outputs and resources of the user's program as fields of a platform."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from gpuyard.resources import Platform, PlatformRejected
from kit.clouds import answers
from kit.stacks import platform, pool, team

VPC, SUBNET, KEY = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:kms/key:Key"
GET_SUBNETS = "aws:ec2/getSubnets:getSubnets"
SUBNETWORK = {"name": "own-nodes", "ipCidrRange": "10.0.0.0/20"}
ROLE = "aws:iam/role:Role"
REQUIRED: dict[str, dict[str, Any]] = {
    SUBNET: {"vpcId": "vpc-0123456789abcdef0"},
    ROLE: {"assumeRolePolicy": "{}"},
    "aws:eks/cluster:Cluster": {"roleArn": "arn:of:role", "vpcConfig": {"subnetIds": []}},
    "gcp:compute/subnetwork:Subnetwork": {"network": "own"},
    "gcp:kms/cryptoKey:CryptoKey": {"keyRing": "own"},
    "gcp:serviceaccount/account:Account": {"accountId": "own-nodes"},
}
"""Fields that an SDK's class requires."""


class Own(pulumi.CustomResource):
    """A resource of the user's program, with the type of an SDK's class."""

    arn: pulumi.Output[str]
    name: pulumi.Output[str]
    email: pulumi.Output[str]
    member: pulumi.Output[str]

    def __init__(self, kind: str, name: str, inputs: Mapping[str, Any] | None = None) -> None:
        outputs = dict.fromkeys(("arn", "name", "email", "member"))
        super().__init__(kind, name, {**outputs, **REQUIRED.get(kind, {}), **(inputs or {})})


class Provider(pulumi.ProviderResource):
    """An explicit provider of a cloud."""


class OwnVpc(pulumi.ComponentResource):
    """A component with a VPC, like `awsx.ec2.Vpc`."""

    def __init__(self, name: str) -> None:
        super().__init__("awsx:ec2:Vpc", name)
        self.vpc_id = Own(VPC, f"{name}-vpc").id
        subnets = [Own(SUBNET, f"{name}-{n}") for n in range(2)]
        self.private_subnet_ids = pulumi.Output.all(*(each.id for each in subnets))
        self.register_outputs({})


@pytest.fixture
def clouds(pulumi_mocks):
    return pulumi_mocks.with_settings(
        outputs=answers.outputs, calls=answers.calls(), allow_top_level=True
    )


def aws(**cluster: Any) -> dict[str, Any]:
    return platform([pool(nodes="0..4")], cloud="aws", cluster=cluster)


def deploy(clouds: Any, given: Any) -> Any:
    """The graph of a program; `given` makes the platform when the program runs."""

    def program() -> None:
        pulumi.runtime.set_config("aws:region", "us-east-1")
        pulumi.runtime.set_config("gcp:region", "us-central1")
        done = Platform("lab", {"platform": given()})
        pulumi.export("notes", done.notes)

    return clouds.run(program)


def named(graph: Any, name: str) -> Any:
    (found,) = [one for one in graph if one.name == name and one.custom]
    return found


def notes(graph: Any) -> str:
    (platform,) = [one for one in graph if one.type == "gpuyard:index:Platform"]
    return "\n".join(platform.registered_outputs["notes"])


def own_parts() -> dict[str, Any]:
    return {
        "vpc": Own(VPC, "own-vpc"),
        "subnets": [Own(SUBNET, f"own-subnet-{n}") for n in range(2)],
        "key": Own(KEY, "own-key"),
        "roles": {
            "cluster": Own(ROLE, "own-cluster-role", {"name": "cluster"}),
            "nodes": Own(ROLE, "own-node-role", {"name": "nodes"}),
        },
        "admin": Own(ROLE, "own-admin", {"name": "admin"}),
    }


def as_resources() -> dict[str, Any]:
    own = own_parts()
    network = {"id": own["vpc"], "subnets": {"private": own["subnets"]}}
    return aws(network=network, key=own["key"], roles=own["roles"], admins=[own["admin"]])


def as_outputs() -> dict[str, Any]:
    own = own_parts()
    network = {"id": own["vpc"].id, "subnets": {"private": [each.id for each in own["subnets"]]}}
    roles = {word: each.arn for word, each in own["roles"].items()}
    return aws(network=network, key=own["key"].arn, roles=roles, admins=[own["admin"].arn])


def as_one_list() -> dict[str, Any]:
    own = as_outputs()
    private = own["cluster"]["network"]["subnets"]["private"]
    own["cluster"]["network"]["subnets"]["private"] = pulumi.Output.all(*private)
    return own


OWN = [as_resources, as_outputs, as_one_list]


@pytest.mark.parametrize("given", OWN)
def test_the_cluster_and_its_nodes_use_the_resources_of_the_program(clouds, given):
    graph = deploy(clouds, given)
    own = {each.name: each for each in graph if each.name.startswith("own-")}
    subnets = [own["own-subnet-0"].id, own["own-subnet-1"].id]
    cluster = named(graph, "lab-cluster").inputs
    assert cluster["vpcConfig"]["subnetIds"] == subnets
    assert cluster["roleArn"] == own["own-cluster-role"].outputs["arn"]
    assert cluster["encryptionConfig"]["provider"]["keyArn"] == own["own-key"].outputs["arn"]
    admin = named(graph, "lab-cluster-admin-0").inputs
    assert admin["principalArn"] == own["own-admin"].outputs["arn"]
    group = named(graph, "lab-train-on-demand").inputs
    assert group["subnetIds"] == subnets
    assert group["nodeRoleArn"] == own["own-node-role"].outputs["arn"]
    assert named(graph, "lab-cluster-nodes").inputs["vpcId"] == own["own-vpc"].id
    named_roles = {one.name for one in graph if one.type == ROLE}
    assert not named_roles & {"lab-cluster-role", "lab-cluster-node-role"}


def test_a_component_with_a_vpc_brings_its_subnets(clouds):
    graph = deploy(clouds, lambda: aws(network=OwnVpc("own")))
    subnets = [one.id for one in graph if one.type == SUBNET]
    assert named(graph, "lab-cluster").inputs["vpcConfig"]["subnetIds"] == subnets


def test_no_marker_reaches_a_resource(clouds):
    for one in deploy(clouds, as_one_list):
        if one.custom:
            assert "${input" not in str(one.inputs), one.name


def test_a_note_lists_what_gpuyard_could_not_validate(clouds):
    assert (
        "cluster: gpuyard cannot validate values that only the deployment knows: "
        "neither their form nor that they exist in the region; skipped queries: asked-subnets\n"
        "  given: cluster.network.id, cluster.network.subnets.private[0], "
        "cluster.network.subnets.private[1], cluster.key, cluster.roles.cluster, "
        "cluster.roles.nodes, cluster.admins[0]"
    ) in notes(deploy(clouds, as_outputs))


def test_a_platform_of_plain_values_has_no_such_note(clouds):
    assert "args.late" not in notes(deploy(clouds, aws))


@pytest.mark.parametrize("given", OWN)
def test_a_preview_in_which_nothing_exists_yet_registers_the_same(clouds, given):
    def program() -> None:
        pulumi.runtime.set_config("aws:region", "us-east-1")
        Platform("lab", {"platform": given()})

    planned = clouds.run(program, unknown_outputs=True)
    assert {one.urn for one in planned} == {one.urn for one in deploy(clouds, given)}


def test_subnets_are_looked_up_by_zone_once_the_network_exists(clouds):
    def given() -> Any:
        late = as_one_list()
        late["pools"][0]["zones"] = ["us-east-1a", "us-east-1b"]
        return late

    asked: list[dict[str, Any]] = []

    def found(args: dict[str, Any]) -> dict[str, Any]:
        asked.append({each["name"]: each["values"] for each in args["filters"]})
        return {"ids": [f"subnet-in-{asked[-1]['availability-zone'][0]}"]}

    answering = clouds.with_settings(calls={**clouds.calls, GET_SUBNETS: found})
    graph = deploy(answering, given)
    subnets = [one.id for one in graph if one.type == SUBNET]
    assert [each["subnet-id"] for each in asked] == [subnets, subnets]
    assert [each["vpc-id"] for each in asked] == [[named(graph, "own-vpc").id]] * 2
    group = named(graph, "lab-train-on-demand").inputs
    assert group["subnetIds"] == ["subnet-in-us-east-1a", "subnet-in-us-east-1b"]


def test_a_preview_does_not_look_up_what_does_not_exist_yet(clouds):
    def given() -> Any:
        late = as_outputs()
        late["pools"][0]["zones"] = ["us-east-1a", "us-east-1b"]
        return late

    def program() -> None:
        pulumi.runtime.set_config("aws:region", "us-east-1")
        Platform("lab", {"platform": given()})

    def found(args: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError(args)

    answering = clouds.with_settings(calls={**clouds.calls, GET_SUBNETS: found})
    answering.run(program, unknown_outputs=True)


def test_a_secret_key_stays_secret(clouds):
    def given() -> Any:
        late = as_outputs()
        return late | {"cluster": late["cluster"] | {"key": pulumi.Output.secret("arn:of:key")}}

    cluster = named(deploy(clouds, given), "lab-cluster")
    assert cluster.inputs["encryptionConfig"]["provider"]["keyArn"] == "arn:of:key"
    assert "encryptionConfig" in {path.partition(".")[0] for path in map(str, cluster.secrets)}


def test_nodes_have_the_security_groups_of_the_program_too(clouds):
    def given() -> Any:
        late = as_outputs()
        groups = [Own("aws:ec2/securityGroup:SecurityGroup", "own-group")]
        late["cluster"]["network"]["security_groups"] = groups
        return late

    graph = deploy(clouds, given)
    template = named(graph, "lab-train-on-demand-template").inputs
    assert named(graph, "own-group").id in str(template)


def test_nodes_join_a_cluster_of_the_program(clouds):
    def given() -> Any:
        eks = Own("aws:eks/cluster:Cluster", "own-eks", {"name": "blue"})
        return aws(existing=eks) | {"system": None}

    there = {
        "name": "blue",
        "endpoint": "https://blue.example",
        "certificateAuthorities": [{"data": "Y2E="}],
        "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": "172.20.0.0/16"}],
        "vpcConfig": {
            "vpcId": "vpc-1",
            "subnetIds": ["subnet-1", "subnet-2"],
            "clusterSecurityGroupId": "sg-1",
        },
    }
    answering = clouds.with_settings(
        calls={**clouds.calls, "aws:eks/getCluster:getCluster": lambda args: {**there, **args}}
    )
    group = named(deploy(answering, given), "lab-train-on-demand").inputs
    assert group["clusterName"] == "blue"


def test_a_cluster_that_is_not_found_is_named(clouds):
    def given() -> Any:
        eks = Own("aws:eks/cluster:Cluster", "own-eks", {"name": "blue"})
        return aws(existing=eks) | {"system": None}

    with pytest.raises(pulumi.RunError, match=r"cluster\.existing: no cluster blue was found"):
        deploy(clouds, given)


def test_a_gke_cluster_uses_the_resources_of_the_program(clouds):
    def given() -> Any:
        network = Own("gcp:compute/network:Network", "own-network", {"name": "own"})
        subnetwork = Own("gcp:compute/subnetwork:Subnetwork", "own-sub", SUBNETWORK)
        account = Own("gcp:serviceaccount/account:Account", "own-nodes")
        key = Own("gcp:kms/cryptoKey:CryptoKey", "own-key")
        cluster = {
            "network": {"id": network, "subnets": {"private": [subnetwork]}},
            "roles": {"nodes": account},
            "key": key,
            "admins": [account],
        }
        pools = [pool(machine="a3-megagpu-8g", zones=["us-central1-a"])]
        return platform(pools, cloud="gcp", cluster=cluster)

    graph = deploy(clouds, given)
    email = named(graph, "own-nodes").outputs["email"]
    cluster = named(graph, "lab-cluster").inputs
    assert (cluster["network"], cluster["subnetwork"]) == ("own", "own-nodes")
    assert cluster["databaseEncryption"]["keyName"] == named(graph, "own-key").id
    assert cluster["nodeConfig"]["serviceAccount"] == email
    assert named(graph, "lab-train-on-demand").inputs["nodeConfig"]["serviceAccount"] == email
    (admin,) = [one for one in graph if "-admin-" in one.name]
    assert admin.inputs["member"] == f"serviceAccount:{email}"
    assert not [one for one in graph if one.name.startswith("lab-cluster-nodes")]


def refused(clouds: Any, given: Any) -> str:
    with pytest.raises(PlatformRejected) as rejection:
        deploy(clouds, given)
    return str(rejection.value)


def test_a_marker_that_was_written_by_hand_is_refused(clouds):
    assert refused(clouds, lambda: aws(key="${input:cluster.key}")) == (
        "the platform is rejected:\nerror spec.late_input cluster.key: the text is reserved for "
        "outputs that a program passes\n  given: ${input:cluster.key}\n  allowed: a value; in a "
        "Pulumi program also an output or a resource\n  fix: write the value"
    )


def test_a_resource_of_another_kind_is_refused(clouds):
    assert refused(clouds, lambda: aws(key=Own(ROLE, "own-role"))) == (
        "the platform is rejected:\nerror args.late cluster.key: gpuyard does not know which output "
        "of this resource to use\n  given: aws:iam/role:Role\n  allowed: a value, an output, or one "
        "of aws:kms/key:Key, gcp:kms/cryptoKey:CryptoKey\n  fix: pass the output itself"
    )


def test_a_vpc_without_its_subnets_is_refused_as_in_a_stack_file(clouds):
    assert "an existing network needs exactly one of `subnets` and `tags`" in refused(
        clouds, lambda: aws(network=Own(VPC, "own-vpc"))
    )


def test_efs_needs_each_subnet(clouds):
    def given() -> Any:
        return as_one_list() | {"storage": {"datasets": [{"name": "corpus", "kind": "efs"}]}}

    assert "one output for each subnet; or zones of the cluster" in refused(clouds, given)


@pytest.mark.parametrize("form", ["provider", "providers"])
def test_the_region_is_that_of_the_provider_that_is_given(clouds, form):
    def program() -> None:
        pulumi.runtime.set_config("aws:region", "eu-west-1")
        pulumi.runtime.set_config("gcp:region", "us-central1")
        aws_provider = Provider("aws", "east", {"region": "us-east-1"})
        opts = {"provider": aws_provider} if form == "provider" else {"providers": [aws_provider]}
        spec = platform([pool(zones=["us-east-1a", "us-east-1b"])], cloud="aws")
        Platform("lab", {"platform": spec}, pulumi.ResourceOptions(**opts))

    names = {one.name for one in clouds.run(program)}
    assert "lab-cluster-private-us-east-1a" in names


def test_a_region_that_is_known_only_later_is_noted(clouds):
    def program() -> None:
        pulumi.runtime.set_config("aws:region", "us-east-1")
        opts = pulumi.ResourceOptions(provider=Provider("aws", "east", {"region": "us-east-1"}))
        Platform("lab", {"platform": aws()}, opts)

    silent = {**clouds.calls, "aws:index/getRegion:getRegion": {}}
    assert (
        "cluster: only the deployment knows the region of the cloud provider, "
        "so gpuyard cannot validate zones, and prices are those of us-east-1 in the stack's "
        "configuration"
    ) in notes(clouds.with_settings(calls=silent).run(program))


def test_volumes_and_rights_use_a_bucket_of_the_program(clouds):
    def given() -> Any:
        bucket = Own("aws:s3/bucket:Bucket", "own-data")
        data = {"name": "corpus", "kind": "bucket", "bucket": bucket}
        storage = {"datasets": [data], "checkpoints": {"bucket": bucket.id}}
        teams = [team(guarantee={"train": 8})]
        return platform([pool(nodes="0..4")], teams, cloud="aws", storage=storage)

    graph = deploy(clouds, given)
    bucket = named(graph, "own-data").id
    volumes = [one for one in graph if one.type.endswith(":PersistentVolume")]
    assert volumes
    assert all(bucket in str(one.inputs) for one in volumes)
    rights = [one.inputs["policy"] for one in graph if one.type == "aws:iam/rolePolicy:RolePolicy"]
    assert any(f"arn:aws:s3:::{bucket}/*" in policy for policy in rights)
    objects = [one for one in graph if one.custom]
    assert not [one.name for one in objects if "${input" in str(one.inputs)]


def test_a_dataset_is_mounted_from_a_file_system_of_the_program(clouds):
    def given() -> Any:
        data = Own("aws:efs/fileSystem:FileSystem", "own-data")
        storage = {"datasets": [{"name": "corpus", "kind": "efs", "file_system": data}]}
        teams = [team(guarantee={"train": 8})]
        return platform([pool(nodes="0..4")], teams, cloud="aws", storage=storage)

    graph = deploy(clouds, given)
    files = named(graph, "own-data").id
    volumes = [one for one in graph if one.type.endswith(":PersistentVolume")]
    assert {one.inputs["spec"]["csi"]["volumeHandle"] for one in volumes} == {files}
    assert not [one.name for one in graph if one.type == "aws:efs/mountTarget:MountTarget"]


def test_a_provider_that_does_not_answer_leaves_the_region_late(clouds):
    def program() -> None:
        pulumi.runtime.set_config("aws:region", "us-east-1")
        opts = pulumi.ResourceOptions(provider=Provider("aws", "east", {"region": "us-east-1"}))
        Platform("lab", {"platform": aws()}, opts)

    def fails(args: dict[str, Any]) -> dict[str, Any]:
        raise answers.NotAnswered("no credentials")

    silent = {**clouds.calls, "aws:index/getRegion:getRegion": fails}
    assert "only the deployment knows the region" in notes(
        clouds.with_settings(calls=silent).run(program)
    )
