"""Fields that rules call unknown, or name as the right ones, are so in the projects' own definitions."""

import pytest
import yaml

from gpuyard_core.catalogue.kubernetes.karpenter import CONSOLIDATION_POLICIES
from gpuyard_lint.rules import cfg_nodes, que
from kit.levels import upstream

CRDS = {
    "queue": ("volcano", "scheduling.volcano.sh_queues.yaml"),
    "pool": ("karpenter", "karpenter.sh_nodepools.yaml"),
    "class": ("karpenter", "karpenter.k8s.aws_ec2nodeclasses.yaml"),
    "priority": ("kueue", "kueue.x-k8s.io_workloadpriorityclasses.yaml"),
    "cluster queue": ("kueue", "kueue.x-k8s.io_clusterqueues.yaml"),
    "policy": ("gpu-operator", "nvidia.com_clusterpolicies.yaml"),
    "scaler": ("keda", "keda.sh_scaledobjects.yaml"),
}


def schema(name, version):
    crd = yaml.safe_load(upstream("crds", *CRDS[name]).read_text(encoding="utf-8"))
    versions = {each["name"]: each for each in crd["spec"]["versions"]}
    return versions[version]["schema"]["openAPIV3Schema"]["properties"]


def below(properties, *steps):
    for step in steps:
        properties = properties[step]["properties"]
    return properties


def test_a_volcano_queue_has_these_fields_and_no_others():
    assert set(below(schema("queue", "v1beta1"), "spec")) == que.FIELDS


@pytest.mark.repeats("none: it runs no line that is measured")
def test_karpenter_s_policies_are_these():
    disruption = below(schema("pool", "v1"), "spec", "disruption")
    assert tuple(disruption["consolidationPolicy"]["enum"]) == CONSOLIDATION_POLICIES
    assert "expireAfter" not in disruption


@pytest.mark.repeats("none: it runs no line that is measured")
def test_labels_of_karpenter_s_own_are_refused_but_one():
    metadata = below(schema("pool", "v1"), "spec", "template", "metadata")
    rules = [each["rule"] for each in metadata["labels"]["x-kubernetes-validations"]]
    assert any('endsWith("karpenter.sh")' in rule for rule in rules)
    assert 'self.all(x, x != "karpenter.sh/nodepool")' in rules


@pytest.mark.repeats("none: it runs no line that is measured")
def test_expiry_and_the_whole_reference_stand_in_the_template():
    template = below(schema("pool", "v1"), "spec", "template", "spec")
    assert "expireAfter" in template
    assert sorted(template["nodeClassRef"]["required"]) == sorted(cfg_nodes.REFERENCE)


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize("key", cfg_nodes.KUBELET_ELSEWHERE)
def test_a_node_class_does_not_have_the_kubelet_s_policies(key):
    assert key not in below(schema("class", "v1"), "spec", "kubelet")


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_priority_of_kueue_has_no_spec(version):
    found = schema("priority", version)
    assert {"value", "description"} <= set(found)
    assert "spec" not in found


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize(("version", "name"), [("v1beta1", "cohort"), ("v1beta2", "cohortName")])
def test_a_cohort_is_called_so_in_each_version(version, name):
    assert {"cohort", "cohortName"} & set(below(schema("cluster queue", version), "spec")) == {name}


@pytest.mark.repeats("none: it runs no line that is measured")
def test_a_policy_takes_one_layout_and_three_strategies():
    spec = below(schema("policy", "v1"), "spec")
    assert set(below(spec, "migManager", "config")["default"]["enum"]) == {"all-disabled", ""}
    assert set(below(spec, "mig")["strategy"]["enum"]) == {"none", "single", "mixed"}


@pytest.mark.repeats("none: it runs no line that is measured")
def test_keda_s_group_is_its_own():
    crd = yaml.safe_load(upstream("crds", *CRDS["scaler"]).read_text(encoding="utf-8"))
    assert (crd["spec"]["group"], [v["name"] for v in crd["spec"]["versions"]]) == (
        "keda.sh",
        ["v1alpha1"],
    )
