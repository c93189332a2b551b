"""Methods of a cloud that are functions of another module: each exists and has the parameters of the interface."""

from importlib import import_module
from inspect import signature

import pytest

from gpuyard.provider import Provider, lazy
from gpuyard.providers import own
from gpuyard.providers.aws import provider as aws
from gpuyard.providers.gcp import provider as gcp
from kit.every import every

LAZY = [
    (name, method.__doc__)
    for cloud in (aws.Aws, gcp.Gcp, own.Own)
    for name in dir(Provider)
    if getattr(method := getattr(cloud, name), "__qualname__", "") == "lazy.<locals>.call"
]


def kinds(function):
    return [each.kind.name for each in signature(function).parameters.values()]


def test_clouds_have_such_methods():
    assert {"graph", "access", "volume_source", "probe_account"} <= {name for name, _ in LAZY}


@every("name, target", LAZY)
def test_each_has_the_parameters_of_the_interface(name, target):
    module, _, function = target.partition(":")
    _self, *parameters = kinds(getattr(Provider, name))
    found = kinds(getattr(import_module(f"gpuyard.{module}"), function))
    assert found[: len(parameters)] == parameters


def test_a_function_that_does_not_exist_fails_on_its_first_call():
    absent = lazy("provider:absent").__func__
    with pytest.raises(AttributeError, match="absent"):
        absent()
