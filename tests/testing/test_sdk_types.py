"""Inputs are checked against the field types of whatever Pulumi SDK is installed."""

import sys
from pathlib import Path

import pytest

from gpuyard.sdk_classes import args_class, resource_class
from gpuyard_testing import UNKNOWN, ResourceRef, StackRunner
from gpuyard_testing.sdk_types import input_violations

FIXTURES = Path(__file__).parent / "fixtures"
sys.path.append(str(FIXTURES))

TRAIN = "railway:yard/train:Train"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


def train(**inputs):
    return input_violations(TRAIN, {"maxSpeed": 1.5, **inputs})


@pytest.mark.parametrize(
    "inputs",
    [
        {"maxSpeed": 3},
        {"colour": "red"},
        {"electric": True},
        {"wheels": [{"size": 3}, {"size": 4, "spokes": 8}]},
        {"cargo": {"coal": 3}},
        {"gauge": 1435},
        {"gauge": "broad"},
        {"name": None},
        {"wheels": UNKNOWN},
        {"wheels": [UNKNOWN, {"size": UNKNOWN}]},
        {"name": ResourceRef("urn:pulumi:s::p::t::n")},
    ],
)
def test_fitting_inputs_pass(inputs):
    assert train(**inputs) == []


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"maxSpeed": "fast"}, ("maxSpeed", 'given "fast", allowed: a number')),
        ({"maxSpeed": True}, ("maxSpeed", "given true, allowed: a number")),
        ({"name": 3}, ("name", "given 3, allowed: text")),
        ({"electric": "yes"}, ("electric", 'given "yes", allowed: true or false')),
        ({"colour": "pink"}, ("colour", 'given "pink", allowed: red, blue')),
        ({"wheels": {"size": 1}}, ("wheels", 'given {"size": 1}, allowed: a list')),
        ({"wheels": [{"size": 1.5}]}, ("wheels[0].size", "given 1.5, allowed: a whole number")),
        ({"wheels": [{}]}, ("wheels[0].size", "missing, and required")),
        ({"wheels": ["w"]}, ("wheels[0]", 'given "w", allowed: an object of WheelArgs')),
        (
            {"wheels": [{"size": 1, "spoke": 2}]},
            ("wheels[0].spoke", "no such field; did you mean 'spokes'?"),
        ),
        ({"cargo": ["coal"]}, ("cargo", 'given ["coal"], allowed: an object')),
        ({"cargo": {"coal": "3"}}, ("cargo.coal", 'given "3", allowed: a whole number')),
        ({"gauge": [1]}, ("gauge", "given [1], allowed: a whole number")),
        ({"max_speed": 3}, ("max_speed", "no such field; did you mean 'maxSpeed'?")),
    ],
)
def test_what_does_not_fit_is_named_with_its_path(inputs, expected):
    assert train(**inputs) == [expected]


def test_a_missing_required_input_is_named():
    assert input_violations(TRAIN, {}) == [("maxSpeed", "missing, and required")]


@pytest.mark.parametrize(
    "token",
    [
        "nosuch:index:Thing",
        "railway:yard/train:Ship",
        "kubernetes:no.such/v1:Thing",
        "pulumi:pulumi:Stash",
    ],
)
def test_what_no_sdk_knows_is_not_judged(token):
    assert input_violations(token, {"a": 1}) is None


def test_a_provider_is_checked_by_field_names_only():
    # Its inputs are JSON text on the wire, whatever their type.
    assert input_violations("pulumi:providers:railway", {"region": '"x"'}) == []
    assert input_violations("pulumi:providers:railway", {"regoin": "x"}) == [
        ("regoin", "no such field; did you mean 'region'?")
    ]
    assert input_violations("pulumi:providers:nosuch", {}) is None


def test_the_input_class_may_be_named_init_args():
    assert (
        args_class(resource_class("kubernetes:core/v1:ConfigMap")).__name__ == "ConfigMapInitArgs"
    )


def test_a_deployment_is_checked_to_the_depths():
    container = {"name": "a", "image": "b", "ports": [{"containerPort": "80"}]}
    spec = {
        "replicas": "three",
        "selector": {"matchLabels": {"a": 1}},
        "template": {"spec": {"containers": [container], "restart": "Never"}},
    }
    assert input_violations(
        DEPLOYMENT, {"apiVersion": "apps/v1", "kind": "deployment", "spec": spec}
    ) == [
        ("kind", "given \"deployment\", allowed: 'Deployment'"),
        ("spec.replicas", 'given "three", allowed: a whole number'),
        ("spec.selector.matchLabels.a", "given 1, allowed: text"),
        (
            "spec.template.spec.containers[0].ports[0].containerPort",
            'given "80", allowed: a whole number',
        ),
        ("spec.template.spec.restart", "no such field; did you mean 'restartPolicy'?"),
    ]


def test_a_run_reports_them_and_names_the_resource():
    import pulumi_railway

    graph = StackRunner(allow_top_level=True).run(
        lambda: pulumi_railway.Train("t1", maxSpeed="fast"), strict=False
    )
    assert [str(one) for one in graph.violations] == [
        "[sdk] railway:yard/train:Train 't1': maxSpeed: given \"fast\", allowed: a number"
    ]


def test_a_resource_that_could_be_named_gets_a_name_and_an_id():
    import pulumi_railway

    def program():
        pulumi_railway.Train("free", maxSpeed=1.0)
        pulumi_railway.Train("named", maxSpeed=1.0, name="thomas")

    graph = StackRunner(allow_top_level=True).run(program)
    free = graph.one(name="free")
    assert free.outputs["name"] == free.id
    assert free.id.startswith("free-")
    assert graph.one(name="named").id == "thomas"
