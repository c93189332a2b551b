"""Nodes in a fake cloud's cluster: those of groups and pools, and those that never join."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from testbed.plugins.cloud.account import Account, Failed, Refused
from testbed.plugins.cloud.inside import control_plane, eks, gke, joining, user_data
from testbed.plugins.cloud.inside.node import Node
from testbed.plugins.cloud.inside.user_data import BadUserData
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.service.ties import Resource
from testbed.plugins.cloud.shapes import Place

from gpuyard.plan import plan
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.spec.region import Region
from gpuyard_advisor.explain import Verdict
from gpuyard_advisor.explain.running import read_running
from gpuyard_simulate.agents import cloud_node
from gpuyard_simulate.api import Unreachable
from kit.cases.explain import job as gang
from kit.cases.explain import one_team
from kit.cases.explain import said as explained
from kit.clouds.aws import graph_of
from kit.stacks import plan_of, platform, pool, spec_of

AWS = Place("aws", region="us-east-1")
GCP = Place("gcp", region="us-central1", project="my-project")
TEMPLATE, ROLE = "aws:ec2/launchTemplate:LaunchTemplate", "aws:iam/role:Role"
Mutation = Callable[[Resource], Resource | None]


POOL = pool(nodes=2, zones=["us-east-1a"])


def _aws(folder: Path, graph: Any = None) -> tuple[Account, list[str]]:
    account = Account(folder, "aws")
    return account, judged(graph or graph_of([POOL]), AWS, account)


def _gcp(folder: Path, *pools: Any) -> Account:
    raw = platform(pools, cloud="gcp")
    found, findings = plan(spec_of(raw), region=Region("us-central1", "gcp:region"))
    assert found is not None, findings
    account = Account(folder, "gcp")
    assert judged(gcp_graph(found), GCP, account) == []
    return account


def _group(account: Account, part: str, kind: str = eks.GROUP) -> Resource:
    (found,) = [each for each in account.all(kind) if part in each.id]
    return found


def _read(item: dict[str, Any]) -> cloud_node.CloudNode:
    found = cloud_node.cloud_node(item, frozenset())
    assert found is not None
    return found


# ── a group becomes nodes ─────────────────────────────────────────────────────────────────────────
def test_a_node_group_becomes_the_nodes_that_it_asks_for(folder, server):
    account, said = _aws(folder)
    assert said == []
    assert len(server.nodes) == 4
    (first, second) = [each for each in server.nodes.values() if _is(each, "train")]
    assert first["metadata"]["name"].startswith("ip-10-0-")
    assert first["metadata"]["name"].endswith(".ec2.internal")
    labels = first["metadata"]["labels"]
    assert labels["gpuyard.dev/pool"] == "train"
    assert labels["eks.amazonaws.com/nodegroup"] == "train-on-demand"
    assert labels["node.kubernetes.io/instance-type"] == "p5.48xlarge"
    assert labels["topology.kubernetes.io/zone"] == "us-east-1a"
    near = "topology.k8s.aws/network-node-layer-3"
    assert labels[near] == second["metadata"]["labels"][near]
    assert first["spec"]["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    ]
    read = _read(first)
    assert (read.efa, read.driver, read.devices) == (32, True, None)
    software = plan_of(platform([POOL], cloud="aws")).pools[0].node_software
    assert software is not None
    assert read.driver_version == software.driver == "580.178.04", "that of its image"
    assert read.allocatable["cpu"] == "191450m"
    assert read.capacity["pods"] == "100"
    assert read.capacity["hugepages-2Mi"] == "10256Mi"
    assert read.capacity["ephemeral-storage"] == "29687500000Ki"

    group = _group(account, "train")
    size = {**group.state["scalingConfig"], "desiredSize": 1}
    account.meddle(eks.GROUP, group.id, {"scalingConfig": size})
    assert len(server.nodes) == 3
    for each in account.all(eks.GROUP):
        account.delete(eks.GROUP, "x", each.id, each.inputs)
    assert server.nodes == {}


def _is(item: dict[str, Any], pool_name: str) -> bool:
    return bool(item["metadata"]["labels"].get("gpuyard.dev/pool") == pool_name)


def test_labels_and_taints_of_a_group_reach_nodes_that_run(folder, server):
    account, _ = _aws(folder)
    group = _group(account, "train")
    name = next(each for each, item in server.nodes.items() if _is(item, "train"))
    server.nodes[name]["spec"]["taints"].append({"key": "mine", "effect": "NoExecute"})
    server.nodes[name]["metadata"]["labels"]["mine"] = "too"
    fresh = {"labels": {"gpuyard.dev/pool": "train"}, "taints": []}
    account.update(eks.GROUP, "x", group.id, fresh, (), AWS)
    labels = server.nodes[name]["metadata"]["labels"]
    assert "gpuyard.dev/platform" not in labels
    assert (labels["gpuyard.dev/pool"], labels["mine"]) == ("train", "too")
    assert server.nodes[name]["spec"]["taints"] == [{"key": "mine", "effect": "NoExecute"}]


# ── errors of a group keep a gang waiting ─────────────────────────────────────────────────
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "taint": (
        {"taints": [{"key": "repair", "value": "now", "effect": "NO_SCHEDULE"}]},
        "have the taint repair=now:NoSchedule, which its pods do not tolerate",
    ),
    "effect": (
        {"taints": [{"key": "nvidia.com/gpu", "value": "absent", "effect": "NO_EXECUTE"}]},
        "have the taint nvidia.com/gpu=absent:NoExecute, which its pods do not tolerate",
    ),
    "label": ({"labels": {"gpuyard.dev/pool": "training"}}, "0 of 2 nodes are present"),
}


@pytest.mark.parametrize("wrong", [None, *WRONG])
def test_a_wrong_taint_or_label_of_a_group_keeps_a_gang_waiting_and_is_named(folder, server, wrong):
    account, said = _aws(folder)
    assert said == []
    meddled, names = WRONG[wrong] if wrong else ({}, "")
    account.meddle(eks.GROUP, _group(account, "train").id, meddled)
    planned = one_team([POOL], cloud="aws", borrow={"train": 16})
    there = list(server.nodes.values())
    for each in there:  # as a running device plugin does
        each["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    state, problems = read_running(planned, there)
    assert problems == []

    found = explained(planned, gang(pods=2, gpus=8), state)

    assert (found.verdict is Verdict.STARTS) == (not names)
    assert names in found.message


def test_a_node_that_goes_is_drained(folder, server):
    account, _ = _aws(folder)
    server.pods = [
        {"metadata": {"name": each, "namespace": "team"}} for each in ("first", "guarded")
    ]
    group = _group(account, "train")
    account.delete(eks.GROUP, "x", group.id, group.inputs)
    assert server.evicted == ["first", "guarded"] * 2
    assert not any(_is(each, "train") for each in server.nodes.values())


def test_no_capacity_no_nodes(folder, server):
    fault = {"fault": "capacity", "type": "p5.48xlarge"}
    (folder / "faults.json").write_text(json.dumps({"faults": [fault]}))
    _, said = _aws(folder)
    assert "InsufficientInstanceCapacity" in said[0]
    assert {each["metadata"]["labels"]["gpuyard.dev/pool"] for each in server.nodes.values()} == {
        "system"
    }


def test_without_a_control_plane_a_group_is_a_record(folder, server):
    control_plane.take_away(folder)
    account, said = _aws(folder)
    assert said == []
    assert server.nodes == {}
    assert _group(account, "train").state["status"] == "ACTIVE"


def test_a_control_plane_that_ended_is_reported(folder, server):
    server.broken = Unreachable("connection refused")
    _, said = _aws(folder)
    assert "cannot reach the control plane behind it: connection refused" in said[0]


# ── nodes that do not join ────────────────────────────────────────────────────────────────────────────
def _template(**more: Any) -> Mutation:
    def change(each: Resource) -> Resource:
        if each.kind == TEMPLATE and "p5" not in str(each.inputs.get("x")) and _of_train(each):
            inputs = {k: v for k, v in {**each.inputs, **more}.items() if v is not None}
            return replace(each, inputs=inputs)
        return each

    return change


def _of_train(each: Resource) -> bool:
    return "networkInterfaces" in each.inputs


def _text(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _mime(part: str) -> str:
    return _text(
        'Content-Type: multipart/mixed; boundary="//"\n\n--//\n'
        f"Content-Type: application/node.eks.aws\n\n{part}\n--//--\n"
    )


def _without(kind: str, **fields: str) -> Mutation:
    def change(each: Resource) -> Resource | None:
        lost = kind in each.kind and all(
            value in str(each.inputs.get(name)) for name, value in fields.items()
        )
        return None if lost else each

    return change


def _with(kind: str, **more: Any) -> Mutation:
    def change(each: Resource) -> Resource:
        return replace(each, inputs={**each.inputs, **more}) if kind in each.kind else each

    return change


HEAD = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"
GROUP_ALONE = [{"networkCardIndex": 0, "securityGroups": ["sg-other"]}]
NOT_JOINING: dict[str, tuple[Mutation, str]] = {
    "no base64": (_template(userData="%%"), "Invalid BASE64"),
    "no MIME document": (
        _template(userData=_text("#!/bin/sh\n")),
        "was not in the MIME multipart format",
    ),
    "no YAML": (_template(userData=_mime("a: [")), "error converting YAML to JSON"),
    "another kind": (_template(userData=_mime("kind: Pod")), "no kind NodeConfig"),
    "another version": (
        _template(userData=_mime("kind: NodeConfig\napiVersion: v1")),
        "no version v1",
    ),
    "a field that is none": (
        _template(userData=_mime(f"{HEAD}spec: {{kubelt: {{}}}}")),
        "unknown field 'spec.kubelt'",
    ),
    "a field inside that is none": (
        _template(userData=_mime(f"{HEAD}spec: {{kubelet: {{conf: {{}}}}}}")),
        "unknown field 'spec.kubelet.conf'",
    ),
    "another strategy": (
        _template(
            userData=_mime(f"{HEAD}spec: {{instance: {{localStorage: {{strategy: raid}}}}}}")
        ),
        "unsupported local storage strategy 'raid'",
    ),
    "two reserves": (
        _template(
            userData=_mime(
                f"{HEAD}spec: {{kubelet: {{config: {{kubeReserved: {{cpu: 1}},"
                " systemReserved: {cpu: 1}}}}"
            )
        ),
        "cannot add two reserves of cpu",
    ),
    "an image that is not there": (_template(imageId="ami-0"), "InvalidAMIID.NotFound"),
    "a machine that is none": (
        _with("nodeGroup", instanceTypes=["p99.large"]),
        "does not know the instance type",
    ),
    "no group of the cluster": (
        _template(networkInterfaces=GROUP_ALONE),
        "the instance is not in the cluster's group",
    ),
    "no way out": (_without("ec2/route:Route"), "has no route out, and its VPC no endpoint of"),
    "a role that EC2 may not take": (
        _with("iam/role:Role", assumeRolePolicy='{"Statement": []}'),
        "ec2.amazonaws.com may not assume",
    ),
    "a role that may not look": (
        _without("Attachment", policyArn="WorkerNode"),
        "lacks AmazonEKSWorkerNode",
    ),
    "a role that may not pull": (
        _without("Attachment", policyArn="ContainerRegistry"),
        "no basic auth",
    ),
    "no network": (_without("addon", addonName="vpc-cni"), "no add-on vpc-cni"),
    "no way to services": (_without("addon", addonName="kube-proxy"), "no add-on kube-proxy"),
    "nobody gives addresses": (
        _with("addon", podIdentityAssociations=[]),
        "ec2:AssignPrivateIpAddresses is denied",
    ),
    "nobody gives the identity": (
        _without("addon", addonName="eks-pod-identity-agent"),
        "eks-pod-identity-agent does not run",
    ),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Resource]:
    """All resources of a platform on AWS, without a control plane."""
    account = Account()
    assert judged(graph_of([POOL]), AWS, account) == []
    return account.all()


def _nodes_of(held: list[Resource], images: dict[str, str] | None = None) -> list[Node]:
    (group,) = [each for each in held if each.kind == eks.GROUP and "train" in each.id]
    return eks.nodes(group, held, images or {})


def _changed(held: list[Resource], change: Mutation) -> list[Resource]:
    return [found for each in held if (found := change(each)) is not None]


@pytest.mark.parametrize("case", NOT_JOINING.values(), ids=NOT_JOINING.keys())
def test_a_node_that_lacks_something_never_joins(made, case):
    change, said = case
    with pytest.raises(BadUserData, match=said):
        _nodes_of(_changed(made, change))


def test_what_joins_after_all(made):
    endpoints = [
        Resource(
            "aws:ec2/vpcEndpoint:VpcEndpoint",
            f"vpce-{each}",
            {"vpcId": _vpc(made), "serviceName": each},
            {},
        )
        for each in (
            *("com.amazonaws.us-east-1.ec2", "com.amazonaws.us-east-1.ecr.api"),
            *("com.amazonaws.us-east-1.ecr.dkr", "com.amazonaws.us-east-1.s3"),
        )
    ]
    closed = [*_changed(made, _without("ec2/route:Route")), *endpoints]
    assert len(_nodes_of(closed)) == 2
    for change in (
        _with("addon", podIdentityAssociations=[], serviceAccountRoleArn="arn"),
        _with("iam/role:Role", managedPolicyArns=["arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"]),
    ):
        assert len(_nodes_of(_changed(made, change))) == 2
    inputs = {"serviceAccount": "aws-node", "clusterName": "lab"}
    apart = Resource("aws:eks/podIdentityAssociation:PodIdentityAssociation", "a-1", inputs, {})
    bare = _changed(made, _with("addon", podIdentityAssociations=[]))
    assert len(_nodes_of([*bare, apart])) == 2


def _vpc(held: list[Resource]) -> str:
    return next(each.id for each in held if each.kind == "aws:ec2/vpc:Vpc")


def test_a_group_whose_instances_do_not_join_has_failed(folder, server):
    graph = graph_of([POOL])
    resources = tuple(
        replace(each, inputs={**each.inputs, "userData": _text("#!/bin/sh\n")})
        if "networkInterfaces" in each.inputs
        else each
        for each in graph.resources
    )
    account, said = _aws(folder, replace(graph, resources=resources))
    assert "Ec2LaunchTemplateInvalidConfiguration: User data was not in the MIME" in said[0]
    assert _group(account, "train").state["status"] == "CREATE_FAILED"
    resources = tuple(
        replace(each, inputs={**each.inputs, "destinationCidrBlock": "192.0.2.0/24"})
        if each.kind == "aws:ec2/route:Route"
        else each
        for each in graph.resources
    )
    (folder / "aws.json").unlink()
    _, said = _aws(folder, replace(graph, resources=resources))
    assert "NodeCreationFailure: Instances failed to join the kubernetes cluster" in said[0]
    assert "has no route out" in (folder / joining.LOG).read_text()


def test_a_template_with_which_no_node_starts_leaves_the_old_ones(folder, server):
    account, _ = _aws(folder)
    (template,) = [each for each in account.all(TEMPLATE) if _of_train(each)]
    before = set(server.nodes)
    account.update(TEMPLATE, "x", template.id, {"userData": _text("#!")}, (), AWS)
    group = _group(account, "train")
    version = {"launchTemplate": {**group.inputs["launchTemplate"], "version": "2"}}
    with pytest.raises(Refused, match="new nodes are not joining node group train-on-demand"):
        account.update(eks.GROUP, "x", group.id, version, (), AWS)
    account.update(eks.GROUP, "x", group.id, {"tags": {"a": "b"}}, (), AWS)
    assert set(server.nodes) == before
    account.update(TEMPLATE, "x", template.id, {"userData": _mime(HEAD)}, (), AWS)
    account.update(eks.GROUP, "x", group.id, version, (), AWS)
    assert len(set(server.nodes) & before) == 2  # the system nodes


# ── configuration of nodes ───────────────────────────────────────────────────────────────────────────
def test_later_parts_of_user_data_go_over_earlier_ones(made):
    parts = "\n--//\nContent-Type: application/node.eks.aws\n\n".join(
        f"{HEAD}spec: {{kubelet: {{config: {{maxPods: {pods}, kubeReserved: {{cpu: {cpu}}}}},"
        f" flags: ['--node-labels=a=b,c=d', '--register-with-taints=x=y:NoSchedule']}}}}"
        for pods, cpu in ((50, "1"), (60, "2"))
    )
    (node, _) = _nodes_of(_changed(made, _template(userData=_mime(parts))))
    assert node.capacity["pods"] == "60"
    assert node.allocatable["cpu"] == "190"
    assert (node.labels["a"], node.labels["c"]) == ("b", "d")
    assert {"key": "x", "value": "y", "effect": "NoSchedule"} in node.taints
    assert node.capacity["ephemeral-storage"] == "200Gi"


def test_bottlerocket_reads_settings():
    text = (
        '[settings.kubernetes]\nmax-pods = 30\n[settings.kubernetes.node-labels]\na = "b"\n'
        '[settings.kubernetes.node-taints]\nx = ["y:NoExecute"]\n'
        '[settings.kubernetes.kube-reserved]\ncpu = "1"\n'
    )
    told = user_data.told(_text(text), "BOTTLEROCKET")
    assert (told.max_pods, told.labels, told.reserved) == (30, {"a": "b"}, {"cpu": "1"})
    assert told.taints == ({"key": "x", "value": "y", "effect": "NoExecute"},)
    with pytest.raises(BadUserData, match="not valid TOML"):
        user_data.told(_text("kind: NodeConfig"), "BOTTLEROCKET")


def test_bottlerocket_shares_by_its_own_device_plugin(folder, server):
    dev = pool(
        "dev",
        machine="g6.12xlarge",
        nodes=1,
        image="bottlerocket-nvidia",
        sharing={"time_slicing": 4},
        zones=["us-east-1a"],
    )
    _, said = _aws(folder, graph_of([dev]))
    assert said == []
    (item,) = [each for each in server.nodes.values() if _is(each, "dev")]
    assert _read(item).devices == {"nvidia.com/gpu.shared": 16}
    assert _read(item).driver


def test_an_image_that_eks_does_not_know_joins_by_its_script(folder, server):
    own = pool(nodes=1, image="ubuntu-eks", zones=["us-east-1a"])
    account, said = _aws(folder, graph_of([own]))
    assert said == []
    (item,) = [each for each in server.nodes.values() if _is(each, "train")]
    assert not _read(item).driver
    assert _read(item).driver_version == ""
    assert _read(item).allocatable["cpu"] == "191450m"
    images = {"ami-1": "/aws/service/canonical/ubuntu/eks/24.04"}
    held = _changed(account.all(), _template(imageId="ami-1"))
    (template,) = [each for each in held if each.kind == TEMPLATE and _of_train(each)]
    script = base64.b64decode(template.inputs["userData"]).decode()
    assert len(_nodes_of(held, images)) == 1
    for text, said in {
        script.replace("bootstrap.sh lab", "bootstrap.sh other"): "given another cluster than",
        "#!/bin/sh\n": "nothing in the user data starts",
        "boot": "user data is no script",
    }.items():
        with pytest.raises(BadUserData, match=said):
            _nodes_of(_changed(held, _template(userData=_text(text))), images)


# ── GKE ───────────────────────────────────────────────────────────────────────────────────────────
def test_a_node_pool_becomes_nodes(folder, server):
    account = _gcp(folder, pool(machine="a3-megagpu-8g", nodes=2, zones=["us-central1-a"]))
    assert server.served == [
        "computeclasses.cloud.google.com",
        "gkenetworkparamsets.networking.gke.io",
        "networks.networking.gke.io",
    ]
    items = [each for each in server.nodes.values() if _is(each, "train")]
    assert len(items) == 2
    labels = items[0]["metadata"]["labels"]
    assert items[0]["metadata"]["name"].startswith("gke-lab-train-on-demand-")
    assert labels["cloud.google.com/gke-accelerator"] == "nvidia-h100-mega-80gb"
    assert labels["cloud.google.com/gke-nodepool"] == "train-on-demand"
    assert [each["key"] for each in items[0]["spec"]["taints"]] == ["nvidia.com/gpu"]
    assert not _read(items[0]).driver
    assert _read(items[0]).devices is None
    assert _read(items[0]).capacity["ephemeral-storage"] == "5859375000Ki"
    system = [each for each in server.nodes.values() if _is(each, "system")]
    assert len({each["metadata"]["labels"]["topology.gke.io/zone"] for each in system}) == 3
    group = _group(account, "train", gke.POOL)
    account.update(gke.POOL, "x", group.id, {"nodeCount": 1}, (), GCP)
    assert sum(_is(each, "train") for each in server.nodes.values()) == 1


def test_a_pool_of_no_machine_has_failed(folder, server):
    account = _gcp(folder, pool(machine="g2-standard-48", nodes=1, zones=["us-central1-a"]))
    group = _group(account, "train", gke.POOL)
    inputs = {**group.inputs, "name": "odd", "nodeConfig": {"machineType": "a9-none"}}
    with pytest.raises(Failed, match="Invalid value for field 'machineType'"):
        account.create(gke.POOL, "odd", inputs, GCP)
    assert _group(account, "odd", gke.POOL).state["status"] == "ERROR"
