"""Our own stacks, rendered, keep every rule; each damaged in one place is found by the rule that is about it.

The objects are those that `gpuyard render` writes. A damage that a stack has nothing for says so with
`DoesNotApplyError`; `mutations.txt` has, for each, where it applies and why it does not elsewhere.
"""

import copy
from functools import lru_cache, partial
from pathlib import Path

import pytest
import yaml

import sizes
from gpuyard.plan import plan_or_raise
from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.addon_charts import chart_addons
from gpuyard.render.platform import platform_objects, releases
from gpuyard.spec.read import read_stack_file
from gpuyard_core.admission.parameters import IMAGES_FROM, QUEUES
from gpuyard_core.names import QUEUE_LABEL
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.embedded_values import with_embedded
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.pulumi import pulumi_resource
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import FindingState, evaluate
from kit.every import judge

STACKS = {
    path.stem.removeprefix("Pulumi."): path
    for folder in ("stacks/Pulumi.*.yaml", "tests/golden_stacks/*.yaml")
    for path in sorted(sizes.ROOT.glob(folder))
}
NEEDS_A_CLOUD = {"GPU-STK-04"}
"""About a ClusterPolicy beside a node group of EKS, which we do not render."""
NEEDS_A_CEILING = {"GPU-CAP-06"}
"""Judges Karpenter pools by its parameter `usd_per_hour` alone, which has no default."""


@lru_cache
def rendered(name):
    spec = read_stack_file(STACKS[name].read_bytes(), name).spec
    return [
        resolve_outputs(obj, lambda value: f"late-{value}")
        for obj in platform_objects(plan_or_raise(spec))
    ]


class DoesNotApplyError(Exception):
    """This stack has nothing that could be damaged so, and what it lacks."""


@pytest.mark.parametrize("name", STACKS)
def test_what_we_render_keeps_every_rule(name):
    reading = read(yaml.safe_dump_all(rendered(name)).encode(), "stack.yaml")
    assert reading.skipped == ()
    assert build_report(reading, RULES).hits == ()


UNREAD = {"dra-driver", "karpenter-crd", "monitoring", *(each.name for each in chart_addons())}
"""Charts whose values no rule reads: tests/render/gpu_operator/test_dra_driver.py has all of the first's."""


@pytest.mark.parametrize("name", STACKS)
def test_what_our_charts_are_told_keeps_every_rule(name):
    plan = plan_or_raise(read_stack_file(STACKS[name].read_bytes(), name).spec)
    for group, release in releases(plan).items():
        values = resolve_outputs(dict(release.values), lambda value: f"late-{value}")
        reading = read(yaml.safe_dump(values).encode(), f"{group}/values.yaml")
        assert bool(reading.skipped) is (group in UNREAD), group
        assert build_report(reading, RULES).hits == (), group


NOWHERE = FileLocation("", Document(None, {}))


@pytest.mark.parametrize("name", STACKS)
def test_our_objects_and_charts_together_keep_every_rule(name):
    """As the policy pack sees them: a rule may compare an object with the values of a chart."""
    plan = plan_or_raise(read_stack_file(STACKS[name].read_bytes(), name).spec)
    found = [resource(obj) for obj in rendered(name)]
    for group, release in releases(plan).items():
        values = resolve_outputs(dict(release.values), lambda value: f"late-{value}")
        given = {"chart": release.chart, "version": release.version, "values": values}
        found.append(pulumi_resource("kubernetes:helm.sh/v3:Release", group, given))
    inside = [one.resource for each in found for one in with_embedded(Item(each, NOWHERE))]
    broken = [each for each in evaluate(inside, RULES) if each.state is FindingState.OPEN]
    assert broken == []


def rules_that_fire(objects):
    """Without a file between: writing and reading one costs thirty times what judging does."""
    found = [each for obj in objects for each in with_embedded(Item(resource(obj), NOWHERE))]
    return {outcome.rule.id for outcome in evaluate([each.resource for each in found], RULES)}


def some(objects, kind, lacks=None, fits=lambda _: True):
    """The objects of a kind that fit; one at least."""
    found = [obj for obj in objects if obj["kind"] == kind and fits(obj)]
    if not found:
        raise DoesNotApplyError(lacks or f"has no {kind}")
    return found


def one(objects, kind, name=None):
    lacks = f"has no {kind} {name}" if name else None
    return some(objects, kind, lacks, lambda obj: name in {None, obj["metadata"]["name"]})[0]


def embedded(objects, name, lacks, fits, change):
    """Change the first document in a ConfigMap that fits."""
    data = one(objects, "ConfigMap", name)["data"]
    inner = {key: yaml.safe_load(text) for key, text in data.items()}
    found = [key for key, value in inner.items() if fits(value)]
    if not found:
        raise DoesNotApplyError(lacks)
    change(inner[found[0]])
    data[found[0]] = yaml.safe_dump(inner[found[0]])


def team(objects):
    return one(objects, "LocalQueue")["metadata"]["namespace"]


def pod(objects, **spec):
    container = {
        "name": "a",
        "image": "example.invalid/train:1.4",
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        **spec.pop("container", {}),
    }
    objects.append(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "x", "namespace": team(objects)},
            "spec": {"containers": [container], **spec},
        }
    )


def bounds_whole_gpus(quota):
    return "requests.nvidia.com/gpu" in quota["spec"]["hard"]


def quota_by_limits(objects):
    quotas = some(objects, "ResourceQuota", "bounds no team by whole GPUs", bounds_whole_gpus)
    hard = quotas[0]["spec"]["hard"]
    hard["limits.nvidia.com/gpu"] = hard.pop("requests.nvidia.com/gpu")


def quota_of_no_slice(objects):
    hard = one(objects, "ResourceQuota", "gpuyard")["spec"]["hard"]
    hard["requests.nvidia.com/mig-3g.20g"] = "8"


def no_selector(objects):
    one(objects, "ClusterQueue")["spec"]["namespaceSelector"] = {}


def borrows_anything(objects):
    queue = one(objects, "ClusterQueue")["spec"]
    del queue["resourceGroups"][0]["flavors"][0]["resources"][0]["borrowingLimit"]


def old_queue(objects):
    one(objects, "ClusterQueue")["apiVersion"] = "kueue.x-k8s.io/v1beta1"


def no_standard(objects):
    labels = one(objects, "Namespace", team(objects))["metadata"]["labels"]
    labels["pod-security.kubernetes.io/enforce"] = "privileged"


def network(objects):
    return one(objects, "NetworkPolicy", "gpuyard")["spec"]


def open_to_all(objects):
    network(objects)["podSelector"] = {"matchLabels": {"app": "web"}}


def no_names(objects):
    spec = network(objects)
    spec["egress"] = [rule for rule in spec["egress"] if "ports" not in rule]
    spec["egress"][0]["ports"] = [{"protocol": "TCP", "port": 29500}]


def the_web_that_is_next_door(objects):
    network(objects)["egress"].append(
        {"to": [{"podSelector": {}}], "ports": [{"protocol": "TCP", "port": 443}]}
    )


def cuts(inner):
    return any("mig-devices" in groups[0] for groups in inner.get("mig-configs", {}).values())


def impossible_layout(objects):
    def change(inner):
        layout = next(
            groups for groups in inner["mig-configs"].values() if "mig-devices" in groups[0]
        )
        layout[0]["mig-devices"] = {"1g.5gb": 4, "2g.10gb": 1, "3g.20gb": 1}

    embedded(objects, "gpuyard-mig-parted", "cuts no GPU with MIG", cuts, change)


def shared(objects, change, methods):
    """Change how GPUs are shared by one of the methods."""
    embedded(
        objects,
        "gpuyard-device-plugin",
        f"shares no GPU by {' or '.join(methods)}",
        lambda inner: any(inner.get("sharing", {}).get(method) for method in methods),
        change,
    )


def no_replicas(objects):
    def change(inner):
        inner["sharing"]["timeSlicing"] = {"renameByDefault": True, "replicas": 4}

    shared(objects, change, ["timeSlicing"])


def shares_as_whole_gpus(objects):
    def change(inner):
        inner["sharing"]["timeSlicing"]["renameByDefault"] = False

    shared(objects, change, ["timeSlicing"])
    for quota in some(objects, "ResourceQuota"):  # all agree, so that this alone is wrong
        label_isolation(objects, quota["metadata"]["namespace"], "shared")


def label_isolation(objects, namespace, isolation):
    labels = one(objects, "Namespace", namespace)["metadata"]["labels"]
    labels["gpuyard.dev/isolation"] = isolation


def shared_by_a_team_that_has_not_agreed(objects):
    shared(objects, lambda _: None, ["timeSlicing", "mps"])
    quotas = some(objects, "ResourceQuota", fits=lambda quota: "nvidia.com" in str(quota["spec"]))
    if len({quota["metadata"]["namespace"] for quota in quotas}) < len(("one", "another")):
        raise DoesNotApplyError("has one team")
    for quota in quotas:
        quota["spec"]["hard"]["requests.nvidia.com/gpu.shared"] = "4"
        label_isolation(objects, quota["metadata"]["namespace"], "slice")


def bounds_slices_alone(quota):
    keys = " ".join(quota["spec"]["hard"])
    return "mig-" in keys and ".shared" not in keys


def a_team_apart_with_slices(objects):
    lacks = "has no team with slices and no shares"
    for quota in some(objects, "ResourceQuota", lacks, bounds_slices_alone):
        label_isolation(objects, quota["metadata"]["namespace"], "node")


def policy(objects):
    return one(objects, "ClusterPolicy")["spec"]


def without_cdi(objects):
    policy(objects)["cdi"] = {"enabled": False}


def single(objects):
    policy(objects)["mig"] = {"strategy": "single"}


def old_driver(objects):
    policy(objects)["driver"] = {"enabled": True, "version": "535.54.03"}


def metrics_for_everybody(objects):
    policy(objects)["dcgmExporter"] = {"enabled": True, "service": {"type": "NodePort"}}


def written_secret(objects):
    one(objects, "ConfigMap", "gpuyard-platform")["data"]["api_key"] = "sk9Gq4TzX1bLw7NcVp2R"


def takes_gpus(objects):
    env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    pod(objects, container={"resources": {}, "env": env})


def several_shares(objects):
    pod(objects, container={"resources": {"limits": {"nvidia.com/gpu.shared": 2}}})


def privileged(objects):
    pod(objects, container={"securityContext": {"privileged": True}})


def moving_image(objects):
    pod(objects, container={"image": "example.invalid/train:latest"})


def half_a_gpu(objects):
    pod(objects, container={"resources": {"limits": {"nvidia.com/gpu": "0.5"}}})


def nodes_of_a_guide(objects):
    pod(objects, nodeSelector={"gpu.nvidia.com/nvlink-domain": "a"})


def old_flavor(objects):
    one(objects, "ResourceFlavor")["apiVersion"] = "kueue.x-k8s.io/v1beta1"


def priority_below_spec(objects):
    kind = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass"}
    objects.append({**kind, "metadata": {"name": "high"}, "spec": {"value": 1000}})


def scope_that_claims_have_not(objects):
    spec = one(objects, "ResourceQuota")["spec"]
    spec["hard"]["persistentvolumeclaims"] = "20"
    terms = [{"scopeName": "PriorityClass", "operator": "In", "values": ["production"]}]
    spec["scopeSelector"] = {"matchExpressions": terms}


def ended_operator(objects):
    policy(objects)["operator"] = {"version": "v24.9.2"}


def layout_as_a_default(objects):
    policy(objects)["migManager"] = {"enabled": True, "config": {"default": "all-1g.10gb"}}


def limits(objects):
    return one(objects, "Namespace", team(objects))["metadata"]["annotations"]


def past_the_queue(objects):
    limits(objects)[QUEUES] = "main"
    pod(objects)


def in_the_nodes_network(objects):
    pod(objects, hostNetwork=True, container={"resources": {}})


def with_the_sockets(objects):
    volume = {"name": "v", "hostPath": {"path": "/var/run"}}
    pod(objects, volumes=[volume], container={"resources": {}})


def of_a_made_up_controller(objects):
    pod(objects)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "empty", "uid": "u"}
    objects[-1]["metadata"]["ownerReferences"] = [{**owner, "controller": True}]


def before_everybody(objects):
    pod(objects, priorityClassName="system-node-critical")


def onto_every_node(objects):
    pod(objects, tolerations=[{"operator": "Exists"}], container={"resources": {}})


def with_an_export(objects):
    volume = {"name": "v", "nfs": {"server": "10.0.0.9", "path": "/"}}
    pod(objects, volumes=[volume], container={"resources": {}})


def with_the_address_of_others(objects):
    metadata = {"name": "x", "namespace": team(objects)}
    spec = {"ports": [{"port": 443}], "externalIPs": ["52.1.2.3"]}
    objects.append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})


def from_anywhere(objects):
    limits(objects)[IMAGES_FROM] = "registry.example.org/team"
    pod(objects)


def loose_training(objects):
    pod(objects)
    objects[-1]["metadata"]["labels"] = {"gpuyard.dev/class": "training"}


def an_exporter_of_fields(objects):
    image = "nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-4.8.3-distroless"
    container = {"name": "a", "image": image, "args": ["-f", "DCGM_FI_DEV_GPU_UTIL"]}
    objects.append(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "x", "namespace": "gpu-operator"},
            "spec": {"containers": [container]},
        }
    )


def a_reservation_last(objects):
    name = "cluster-autoscaler-priority-expander"
    data = some(
        objects, "ConfigMap", "scales no node group", lambda o: o["metadata"]["name"] == name
    )
    data[0]["data"]["priorities"] = "20:\n- spot\n10:\n- reserved\n1:\n- .*\n"


def spot_or_nothing(objects):
    spec = some(objects, "ComputeClass")[0]["spec"]
    spec["priorities"] = [{"machineType": "a3-highgpu-8g", "spot": True}]


def node_class(objects):
    return one(objects, "EC2NodeClass")["spec"]


def metadata_without_tokens(objects):
    node_class(objects)["metadataOptions"]["httpTokens"] = "optional"


def image_of_amazon_linux_2(objects):
    node_class(objects)["amiSelectorTerms"] = [{"alias": "al2@v20250403"}]


def latest_image(objects):
    node_class(objects)["amiSelectorTerms"] = [{"alias": "al2023@latest"}]


def node_pool(objects):
    return one(objects, "NodePool")["spec"]


def single_numa_node(objects):
    """On nodes of several GPUs: one GPU always fits one NUMA node."""
    requirements = node_pool(objects)["template"]["spec"]["requirements"]
    machines = next(r for r in requirements if r["key"] == "node.kubernetes.io/instance-type")
    machines["values"] = ["p5.48xlarge"]
    node_class(objects)["userData"] = "topologyManagerPolicy: single-numa-node"


def untainted_nodes(objects):
    del node_pool(objects)["template"]["spec"]["taints"]


def unlimited_nodes(objects):
    del node_pool(objects)["limits"]


def default_expiry(objects):
    del node_pool(objects)["template"]["spec"]["expireAfter"]


def node_class_by_name_alone(objects):
    del node_pool(objects)["template"]["spec"]["nodeClassRef"]["group"]


def job_of_an_unknown_queue(objects):
    labels = {QUEUE_LABEL: "unknown"}
    metadata = {"name": "x", "namespace": team(objects), "labels": labels}
    objects.append({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {}})


def alert_expression(objects, old, new):
    rules = one(objects, "PrometheusRule")["spec"]["groups"]
    found = [rule for group in rules for rule in group["rules"] if old in rule["expr"]]
    found[0]["expr"] = found[0]["expr"].replace(old, new)


def alert_on_no_metric(objects):
    alert_expression(objects, "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_TAKEN")


def rate_of_a_gauge(objects):
    alert_expression(
        objects, "DCGM_FI_DEV_FB_USED", "rate(DCGM_FI_DEV_FB_USED[5m]) + DCGM_FI_DEV_FB_USED"
    )


def trigger(objects, kind):
    lacks, where = f"scales on no {kind}", lambda s: s["spec"]["triggers"][0]["type"] == kind
    return some(objects, "ScaledObject", lacks, where)[0]["spec"]["triggers"][0]


def scaler_of_many_series(objects):
    trigger(objects, "prometheus")["metadata"]["query"] = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"


def scaler_without_credentials(objects):
    del trigger(objects, "aws-sqs-queue")["authenticationRef"]


MUTATIONS = [
    (scaler_of_many_series, "GPU-MET-03", set()),
    (scaler_without_credentials, "GPU-MET-04", set()),
    (alert_on_no_metric, "GPU-MET-01", set()),
    (rate_of_a_gauge, "GPU-MET-02", set()),
    (metadata_without_tokens, "GPU-AWS-05", set()),
    (image_of_amazon_linux_2, "GPU-AWS-08", set()),
    (latest_image, "GPU-CAP-05", set()),
    (single_numa_node, "GPU-CFG-05", set()),
    (untainted_nodes, "GPU-CAP-01", set()),
    (unlimited_nodes, "GPU-CAP-02", set()),
    (default_expiry, "GPU-CAP-04", set()),
    (node_class_by_name_alone, "GPU-CFG-03", set()),
    (job_of_an_unknown_queue, "GPU-QUE-01", set()),
    (a_reservation_last, "GPU-CFG-04", set()),
    (spot_or_nothing, "GPU-CAP-03", set()),
    (an_exporter_of_fields, "GPU-MET-05", set()),
    (past_the_queue, "GPU-ADM-01", set()),
    (in_the_nodes_network, "GPU-ADM-02", set()),
    (with_the_sockets, "GPU-ADM-03", set()),
    (onto_every_node, "GPU-ADM-04", set()),
    (from_anywhere, "GPU-ADM-05", set()),
    (loose_training, "GPU-ADM-06", set()),
    (of_a_made_up_controller, "GPU-ADM-07", set()),
    (before_everybody, "GPU-ADM-08", set()),
    (with_an_export, "GPU-ADM-09", set()),
    (with_the_address_of_others, "GPU-ADM-10", set()),
    (quota_by_limits, "GPU-TEN-02", set()),
    (quota_of_no_slice, "GPU-SHR-03", set()),
    (no_selector, "GPU-TEN-04", set()),
    (borrows_anything, "GPU-TEN-04", set()),
    (old_queue, "GPU-OLD-01", set()),
    (no_standard, "GPU-TEN-01", set()),
    (open_to_all, "GPU-TEN-03", set()),
    (no_names, "GPU-TEN-03", set()),
    (the_web_that_is_next_door, "GPU-TEN-03", set()),
    (impossible_layout, "GPU-SHR-03", set()),
    (no_replicas, "GPU-CFG-01", set()),
    (shares_as_whole_gpus, "GPU-SHR-04", set()),
    (shared_by_a_team_that_has_not_agreed, "GPU-SHR-01", set()),
    (a_team_apart_with_slices, "GPU-SHR-02", set()),
    (without_cdi, "GPU-STK-03", set()),
    (single, "GPU-SHR-03", {"GPU-CFG-01"}),
    (old_driver, "GPU-STK-01", set()),
    (metrics_for_everybody, "GPU-STK-07", set()),
    (written_secret, "GPU-STA-01", set()),
    (takes_gpus, "GPU-POD-01", set()),
    (several_shares, "GPU-SHR-05", set()),
    (privileged, "GPU-POD-02", {"GPU-ADM-02"}),
    (moving_image, "GPU-POD-03", set()),
    (half_a_gpu, "GPU-POD-04", set()),
    (nodes_of_a_guide, "GPU-POD-05", set()),
    (old_flavor, "GPU-OLD-01", set()),
    (priority_below_spec, "GPU-QUE-02", set()),
    (scope_that_claims_have_not, "GPU-QUE-04", set()),
    (ended_operator, "GPU-STK-02", set()),
    (layout_as_a_default, "GPU-CFG-02", set()),
]
"""The damage, the rule that is about it, and others that are as well, on whatever stack."""


def verdict(damage, name):
    """The rules that find a stack damaged, or in words what it has not to be damaged."""
    objects = copy.deepcopy(rendered(name))
    try:
        damage(objects)
    except DoesNotApplyError as lacks:
        return str(lacks)
    return rules_that_fire(objects)


def test_a_damaged_stack_breaks_the_rule_that_is_about_it_and_no_other(golden):
    cases, lines = [], []
    for damage, rule, others in MUTATIONS:
        verdicts = {name: verdict(damage, name) for name in STACKS}
        lacking = {name: why for name, why in verdicts.items() if isinstance(why, str)}
        found = {name: rules for name, rules in verdicts.items() if name not in lacking}
        cases += [
            (f"{damage.__name__} in {name}", partial(same, rules, {rule} | others))
            for name, rules in found.items()
        ]
        cases.append((f"{damage.__name__} somewhere", partial(same, bool(found), True)))
        lines.append(f"{rule} {damage.__name__}: {len(found)} of {len(STACKS)} stacks")
        lines += [
            f"  {why}: {', '.join(name for name in lacking if lacking[name] == why)}"
            for why in sorted(set(lacking.values()))
        ]
    judge(cases)
    golden(Path(__file__).with_name("mutations.txt"), "\n".join(lines) + "\n")


def same(found, expected):
    assert found == expected


def test_every_rule_about_what_we_render_has_a_damage():
    kinds = {
        each.resource.group_kind
        for name in STACKS
        for obj in rendered(name)
        for each in with_embedded(Item(resource(obj), NOWHERE))
    }
    about = {rule.id for rule in RULES if kinds & {*rule.kinds}}
    assert about - NEEDS_A_CLOUD - NEEDS_A_CEILING <= {rule for _, rule, _ in MUTATIONS}
