"""Our own stacks, rendered, keep every rule; each damaged in one place is found by the rule that is about it.

The objects are those that `gpuyard render` writes.
"""

import copy
from functools import lru_cache

import pytest
import yaml

import sizes
from gpuyard.admission.parameters import IMAGES_FROM, QUEUES
from gpuyard.lint.read import read
from gpuyard.lint.report import report
from gpuyard.plan import planned
from gpuyard.plan.records.late import bind
from gpuyard.render.platform import platform_objects
from gpuyard.rules import RULES
from gpuyard.spec.read import read_stack_file
from kit.every import every

STACKS = {
    path.stem.removeprefix("Pulumi."): path
    for folder in ("stacks/Pulumi.*.yaml", "tests/golden_stacks/*.yaml")
    for path in sorted(sizes.ROOT.glob(folder))
}
NEEDS_A_CLOUD = {"GPU-STK-04"}
"""About a ClusterPolicy beside a node group of EKS, which we do not render."""


@lru_cache
def rendered(name):
    spec = read_stack_file(STACKS[name].read_bytes(), name).spec
    return [bind(obj, lambda value: f"late-{value}") for obj in platform_objects(planned(spec))]


def rules_that_fire(objects):
    reading = read(yaml.safe_dump_all(objects).encode(), "stack.yaml")
    assert reading.unread == ()
    return {hit.rule.id for hit in report(reading, RULES).hits}


@pytest.mark.parametrize("name", STACKS)
def test_what_we_render_keeps_every_rule(name):
    assert rules_that_fire(rendered(name)) == set()


def one(objects, kind, name=None):
    return next(o for o in objects if o["kind"] == kind and name in {None, o["metadata"]["name"]})


def embedded(objects, name, key, change):
    data = one(objects, "ConfigMap", name)["data"]
    inner = yaml.safe_load(data[key])
    change(inner)
    data[key] = yaml.safe_dump(inner)


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


def quota_by_limits(objects):
    hard = one(objects, "ResourceQuota")["spec"]["hard"]
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


def impossible_layout(objects):
    def change(inner):
        layout = next(
            groups for groups in inner["mig-configs"].values() if "mig-devices" in groups[0]
        )
        layout[0]["mig-devices"] = {"1g.5gb": 4, "2g.10gb": 1, "3g.20gb": 1}

    embedded(objects, "gpuyard-mig-parted", "config.yaml", change)


def no_replicas(objects):
    def change(inner):
        inner["sharing"]["timeSlicing"] = {"renameByDefault": True, "replicas": 4}

    embedded(objects, "gpuyard-device-plugin", "dev", change)


def shares_as_whole_gpus(objects):
    def change(inner):
        inner["sharing"]["timeSlicing"]["renameByDefault"] = False

    embedded(objects, "gpuyard-device-plugin", "dev", change)


def shared_by_a_team_that_has_not_agreed(objects):
    quotas = [o for o in objects if o["kind"] == "ResourceQuota"]
    for quota in quotas:
        quota["spec"]["hard"]["requests.nvidia.com/gpu.shared"] = "4"
        namespace = one(objects, "Namespace", quota["metadata"]["namespace"])
        namespace["metadata"]["labels"]["gpuyard.dev/isolation"] = "slice"


def a_team_apart_with_slices(objects):
    for namespace in (o for o in objects if o["kind"] == "Namespace"):
        namespace["metadata"]["labels"]["gpuyard.dev/isolation"] = "node"


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
    pod(objects, nodeSelector={"gpu.nvidia.com/model": "H100"})


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


def from_anywhere(objects):
    limits(objects)[IMAGES_FROM] = "registry.example.org/team"
    pod(objects)


def loose_training(objects):
    pod(objects)
    objects[-1]["metadata"]["labels"] = {"gpuyard.dev/class": "training"}


MUTATIONS = [
    (past_the_queue, "local", "GPU-ADM-01", set()),
    (in_the_nodes_network, "local", "GPU-ADM-02", set()),
    (with_the_sockets, "local", "GPU-ADM-03", set()),
    (onto_every_node, "local", "GPU-ADM-04", set()),
    (from_anywhere, "local", "GPU-ADM-05", set()),
    (loose_training, "local", "GPU-ADM-06", set()),
    (of_a_made_up_controller, "local", "GPU-ADM-07", set()),
    (before_everybody, "local", "GPU-ADM-08", set()),
    (quota_by_limits, "local", "GPU-TEN-02", set()),
    (quota_of_no_slice, "research", "GPU-SHR-03", set()),
    (no_selector, "local", "GPU-TEN-04", set()),
    (borrows_anything, "local", "GPU-TEN-04", set()),
    (old_queue, "local", "GPU-TEN-04", set()),
    (no_standard, "local", "GPU-TEN-01", set()),
    (open_to_all, "local", "GPU-TEN-03", set()),
    (no_names, "local", "GPU-TEN-03", set()),
    (the_web_that_is_next_door, "local", "GPU-TEN-03", set()),
    (impossible_layout, "mig-inference", "GPU-SHR-03", set()),
    (no_replicas, "local", "GPU-CFG-01", {"GPU-SHR-04"}),
    (shares_as_whole_gpus, "local", "GPU-SHR-04", {"GPU-SHR-01"}),
    (shared_by_a_team_that_has_not_agreed, "research", "GPU-SHR-01", set()),
    (a_team_apart_with_slices, "mig-inference", "GPU-SHR-02", set()),
    (without_cdi, "local", "GPU-STK-03", set()),
    (single, "local", "GPU-SHR-03", {"GPU-CFG-01"}),
    (old_driver, "local", "GPU-STK-01", set()),
    (metrics_for_everybody, "local", "GPU-STK-07", set()),
    (written_secret, "local", "GPU-STA-01", set()),
    (takes_gpus, "local", "GPU-POD-01", set()),
    (several_shares, "local", "GPU-SHR-05", set()),
    (privileged, "local", "GPU-POD-02", {"GPU-ADM-02"}),
    (moving_image, "local", "GPU-POD-03", set()),
    (half_a_gpu, "local", "GPU-POD-04", set()),
    (nodes_of_a_guide, "local", "GPU-POD-05", set()),
    (old_flavor, "local", "GPU-OLD-01", set()),
    (priority_below_spec, "local", "GPU-QUE-02", set()),
    (scope_that_claims_have_not, "local", "GPU-QUE-04", set()),
    (ended_operator, "local", "GPU-STK-02", {"GPU-STK-01"}),
    (layout_as_a_default, "local", "GPU-CFG-02", set()),
]
"""The damage, the stack, the rule that is about it, and others that are as well."""


@every(("damage", "name", "rule", "others"), MUTATIONS)
def test_a_damaged_stack_breaks_the_rule_that_is_about_it(damage, name, rule, others):
    objects = copy.deepcopy(rendered(name))
    damage(objects)
    assert rules_that_fire(objects) == {rule} | others


def test_every_rule_about_what_we_render_has_a_damage():
    kinds = {
        resource.resource.group_kind
        for name in STACKS
        for resource in read(yaml.safe_dump_all(rendered(name)).encode(), "s").items
    }
    about = {rule.id for rule in RULES if kinds & {*rule.kinds}}
    assert about - NEEDS_A_CLOUD <= {rule for _, _, rule, _ in MUTATIONS}
