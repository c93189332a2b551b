"""What somebody fills in later is unknown: no wrong number, list or word, and it hides nothing beside it."""

import pytest

from gpuyard_core.findings import Severity
from gpuyard_core.manifests.fields import enum_value, mapping, number, text
from gpuyard_lint.read import read
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import Resource, Rule, Violation
from gpuyard_lint.rules.run import UNFILLED_PLACEHOLDER, FindingState, evaluate
from kit.every import every

WHATEVER = {
    "id": "GPU-X-01",
    "title": "t",
    "severity": Severity.WARNING,
    "why": "w",
    "fix": "f",
    "sources": ("s",),
    "kinds": ("Widget",),
}


def widget(**properties):
    return Resource("v1/Widget", "a", properties)


def one(resource, _):
    size = mapping(resource.properties.get("size"))
    most = number(size.get("most"))
    if most is None or most > 3:
        yield Violation(("size",), "it is unbounded", "bound it")
    if "colour" in size:
        yield Violation(("size", "colour"), "a size has no colour", "remove it")
    if text(size.get("name")) not in {"", "small"}:
        yield Violation(("size", "name"), f"{size['name']} is no name", "write small")
    if enum_value(size.get("mode")) == "":
        yield Violation(("size",), "it has no mode", "write one")


def all_(stack, _):
    for resource in stack.resources_of_kinds("Widget"):
        for said in one(resource, _):
            yield Violation(said.path, said.problem, said.fix, resource)
    yield Violation((), "of all", "mend it")


ONE = Rule(**WHATEVER, check=one)
ALL = Rule(**WHATEVER, check_stack=all_)


def said(rule, *resources):
    found = evaluate(resources, [rule])
    return [
        (o.state.value, o.diagnostic.problem)
        for o in found
        if o.diagnostic.problem != "of all" or o.resource is not None
    ]


TOLD, UNKNOWN = FindingState.OPEN.value, FindingState.NOT_EVALUATED.value


@pytest.mark.parametrize("rule", [ONE, ALL], ids=["one", "all"])
@pytest.mark.parametrize(
    ("size", "outcomes"),
    [
        ({"most": 9, "mode": "m"}, [(TOLD, "it is unbounded")]),
        ({"most": "${X}", "mode": "m"}, [(UNKNOWN, UNFILLED_PLACEHOLDER)]),
        ("${SIZE}", [(UNKNOWN, UNFILLED_PLACEHOLDER)]),
        ({"most": 1, "mode": "m", "name": "<name>"}, [(UNKNOWN, UNFILLED_PLACEHOLDER)]),
        ({"most": 1, "mode": "m", "name": "big"}, [(TOLD, "big is no name")]),
        # of any value the same
        ({"most": 1, "mode": "m", "colour": "${X}"}, [(TOLD, "a size has no colour")]),
        # what is certain beside it is said, before and after
        (
            {"most": "${X}", "mode": "m", "colour": "red", "name": "big"},
            [
                (TOLD, "a size has no colour"),
                (TOLD, "big is no name"),
                (UNKNOWN, UNFILLED_PLACEHOLDER),
            ],
        ),
        # text below the place stays text
        ({"most": 9, "mode": "m", "name": "small", "owner": "${X}"}, [(TOLD, "it is unbounded")]),
    ],
)
def test_what_is_said_holds_whatever_is_filled_in(rule, size, outcomes):
    assert said(rule, widget(size=size)) == outcomes


def test_another_resource_hides_nothing_and_each_is_told_once():
    unsure, sure = widget(size={"most": "${X}", "name": "${Y}"}), widget(size={"most": 9})
    found = evaluate([unsure, sure], [ALL])
    assert [(o.resource, o.diagnostic.problem) for o in found] == [
        (sure, "it is unbounded"),
        (sure, "it has no mode"),
        (None, "of all"),
        (unsure, UNFILLED_PLACEHOLDER),
    ]


def test_where_it_is_told_that_something_is_filled_in():
    (outcome,) = evaluate([widget(size={"most": 1, "mode": "m", "name": "<x>"})], [ONE])
    assert (outcome.diagnostic.path, outcome.diagnostic.fix_message) == (("size", "name"), "")


def test_a_rule_is_asked_again_so_often_and_no_more():
    asked = []

    def many(resource, _):
        asked.append(resource)
        for index in range(60):
            yield Violation(("list", index), "no such key", "remove it")

    resource = widget(list=["${X}"] * 60)
    found = evaluate([resource], [Rule(**WHATEVER, check=many)])
    assert len(asked) == 51
    assert [o.state for o in found].count(FindingState.OPEN) == 50
    assert found[-1].diagnostic.problem == UNFILLED_PLACEHOLDER


BOUNDED = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: %s
  template:
    spec:
      taints: %s
      requirements:
        - {key: karpenter.k8s.aws/instance-gpu-manufacturer, operator: In, values: [nvidia]}
"""
SHARED = """\
version: v1
sharing:
  timeSlicing:
    renameByDefault: true
    failRequestsGreaterThanOne: true
    resources: [{name: nvidia.com/gpu, replicas: %s}]
"""
OPERATOR = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator}
spec:
  chart: {spec: {chart: gpu-operator, version: "%s"}}
  values:
    driver: {enabled: %s, version: 550.54.15}
    toolkit: {enabled: true}
    mig: {strategy: %s}
"""
CUTS = """\
version: v1
mig-configs:
  x:
    - {devices: %s, mig-enabled: true, mig-devices: {"%s": 7}}
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests:
      - name: gpu
        exactly:
          deviceClassName: mig.nvidia.com
          selectors: [{cel: {expression: "device.attributes['gpu.nvidia.com'].profile == '%s'"}}]
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: b}
spec:
  containers:
    - name: c
      image: r.example.org/a:v1
      resources: {limits: %s, requests: {nvidia.com/gpu: %s}}
"""
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: f, resources: [{name: "%s", nominalQuota: 1}]}]
"""
EKSCTL = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c, region: eu-west-1}
managedNodeGroups:
  - name: g
    instanceTypes: [g5.xlarge, g5.2xlarge]
    maxSize: %s
    taints: %s
"""
GOOD_TAINT = "[{key: nvidia.com/gpu, effect: NoSchedule}]"


def told(rule, template, *values):
    """Of a rule, what is said of the file with these values."""
    reading = read((template % values).encode(), "a.yaml")
    rules = [each for each in RULES if each.id == rule]
    found = evaluate([item.resource for item in reading.items], rules)
    return [
        o.diagnostic.problem for o in found if o.state is FindingState.OPEN and not o.is_advisory
    ]


X = "${X}"


@every(
    ("rule", "template", "wrong", "unknown"),
    [
        ("GPU-CAP-02", BOUNDED, ("{}", GOOD_TAINT), ("{nvidia.com/gpu: $X}", GOOD_TAINT)),
        ("GPU-CAP-02", BOUNDED, ("{}", GOOD_TAINT), (X, GOOD_TAINT)),
        ("GPU-CAP-01", BOUNDED, ("{}", "[]"), ("{}", X)),
        ("GPU-CAP-01", BOUNDED, ("{}", "[{effect: no}]"), ("{}", "[{key: a, effect: <effect>}]")),
        ("GPU-CAP-01", EKSCTL, (4, "[]"), (4, f'[{{key: a, effect: "{X}"}}]')),
        ("GPU-CAP-01", EKSCTL, (4, "[]"), (4, X)),
        ("GPU-CAP-01", EKSCTL, (4, "{a: no}"), (4, f'{{a: "b:{X}"}}')),
        ("GPU-CFG-01", SHARED, ("1",), ("REPLICAS_PLACEHOLDER",)),
        ("GPU-CFG-01", SHARED, ("1",), ("${REPLICAS:=4}",)),
        ("GPU-CFG-02", OPERATOR, ("25.3.0", "true", "all"), ("25.3.0", "true", "'{{.mig}}'")),
        ("GPU-STK-05", OPERATOR, (">=25", "true", "none"), ("{{.version}}", "true", "none")),
        ("GPU-STK-05", OPERATOR, (">=25", "true", "none"), ("v{{.version}}", "true", "none")),
        ("GPU-STK-01", OPERATOR, ("25.3.0", "true", "none"), (X, X, "none")),
        ("GPU-SHR-03", CUTS, ("all", "9g.99gb"), ("all", X)),
        ("GPU-SHR-03", CUTS, ("some", "1g.10gb"), ("<devices>", "1g.10gb")),
        ("GPU-SHR-03", CLAIM, ("9g.99gb",), (X,)),
        ("GPU-POD-04", POD, ("{cpu: 1}", 1), (X, 1)),
        ("GPU-POD-04", POD, ("{nvidia.com/gpu: 2}", 1), ("{nvidia.com/gpu: 2}", X)),
        ("GPU-POD-04", POD, ("{nvidia.com/gpu: half}", 1), ("{nvidia.com/gpu: '@GPUS@'}", 1)),
        ("GPU-QUE-02", QUEUE, ("memory",), (X,)),
    ],
)
def test_a_value_that_is_filled_in_is_not_wrong_where_another_one_is(
    rule, template, wrong, unknown
):
    assert told(rule, template, *wrong) != []
    assert told(rule, template, *unknown) == []


def policy(**spec):
    return Resource("nvidia.com/v1/ClusterPolicy", "p", {"spec": spec})


PLUGIN = Resource("config:device-plugin", "d", {"flags": {"migStrategy": "mixed"}})
CARDS = Resource(
    "gcp:container/NodePool",
    "n",
    {
        "nodeConfig": {
            "guestAccelerators": [
                {
                    "type": "nvidia-l4",
                    "count": 1,
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
                }
            ]
        }
    },
)
LAYOUTS = Resource("config:mig-parted", "l", {"version": "v1", "mig-configs": {"all-1g.10gb": []}})
MAP = Resource(
    "v1/ConfigMap",
    "l",
    {"metadata": {"name": "l", "namespace": "gpu-operator"}, "data": {"config.yaml": "a: b"}},
)


def cluster(**given):
    return Resource("aws:eks/Cluster", "c", given)


def keys(kind):
    return cluster(encryptionConfig={"provider": {"keyArn": "a"}, "resources": [kind]})


SHARED_BY = Resource(
    "config:device-plugin",
    "s",
    {"sharing": {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}}},
)


def quota(namespace):
    hard = {"requests.nvidia.com/gpu": 1}
    metadata = {"name": "q", "namespace": namespace}
    return Resource("v1/ResourceQuota", "q", {"metadata": metadata, "spec": {"hard": hard}})


def made(name):
    config = {"name": name, "create": False, "data": {"any": "version: v1"}}
    return Resource("values:gpu-operator", "v", {"devicePlugin": {"config": config}})


def cut(default):
    return policy(migManager={"config": {"name": "l", "default": default}})


@every(
    ("rule", "beside", "wrong", "unknown"),
    [
        ("GPU-CFG-01", [PLUGIN], policy(mig={"strategy": "single"}), policy(mig={"strategy": X})),
        ("GPU-CFG-01", [PLUGIN], policy(mig={"strategy": "single"}), policy(mig=X)),
        ("GPU-GCP-04", [CARDS], policy(driver={"enabled": True}), policy(driver={"enabled": X})),
        ("GPU-GCP-04", [CARDS], policy(driver={"enabled": True}), policy(driver=X)),
        (
            "GPU-STK-01",
            [],
            policy(operator={"version": "v24.9.0"}, toolkit={"enabled": True}),
            policy(operator={"version": "v24.9.0"}, toolkit={"enabled": X}),
        ),
        (
            "GPU-STK-01",
            [],
            policy(operator={"version": "v24.9.0"}),
            policy(operator={"version": "v24.9.0"}, toolkit=X),
        ),
        ("GPU-SHR-03", [LAYOUTS, MAP], cut("all-2g.20gb"), cut("all-${PROFILE}")),
        ("GPU-SHR-03", [LAYOUTS, MAP], cut("all-2g.20gb"), cut(X)),
        ("GPU-CFG-01", [SHARED_BY], made("c"), made(X)),
        ("GPU-SHR-01", [SHARED_BY, quota("a")], quota("b"), quota(X)),
        ("GPU-SHR-01", [SHARED_BY, quota("a")], quota("b"), quota("<namespace>")),
        ("GPU-AWS-02", [], keys("other"), keys(X)),
        (
            "GPU-AWS-03",
            [],
            cluster(enabledClusterLogTypes=["api"]),
            cluster(enabledClusterLogTypes=["api", X]),
        ),
    ],
)
def test_nor_is_what_hangs_on_it_elsewhere(rule, beside, wrong, unknown):
    def told_of(resource):
        rules = [each for each in RULES if each.id == rule]
        found = evaluate([*beside, resource], rules)
        return [o.diagnostic.problem for o in found if o.state is FindingState.OPEN]

    assert told_of(wrong) != []
    assert told_of(unknown) == []
