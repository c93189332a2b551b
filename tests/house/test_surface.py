"""The public API: one explicit list, every name documented, and no heavy imports."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest
from pydantic import BaseModel

import gpuyard
from gpuyard.spec.schema import field_meanings
from kit.every import every

HEAVY = ("pulumi", "pulumi_kubernetes", "pulumi_aws", "pulumi_gcp", "kubernetes", "grpc", "rich")


def modules_of(package: str) -> list[ModuleType]:
    root = importlib.import_module(package)
    names = [info.name for info in pkgutil.walk_packages(root.__path__, f"{package}.")]
    return [root, *(importlib.import_module(name) for name in names)]


def models() -> list[type[BaseModel]]:
    found = {
        value
        for module in modules_of("gpuyard.spec")
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, BaseModel)
        and value.__module__.startswith("gpuyard.spec")
    }
    return sorted(found, key=lambda each: (each.__module__, each.__qualname__))


def test_the_export_list_is_all_there_is():
    assert list(gpuyard.__all__) == sorted(set(gpuyard.__all__))
    assert dir(gpuyard) == gpuyard.__all__, "export it in __all__, or prefix it with an underscore"
    defined = {
        name
        for name, value in vars(gpuyard).items()
        if getattr(value, "__module__", "") == "gpuyard" and not name.startswith("_")
    }
    assert sorted(defined - set(gpuyard.__all__)) == []


def test_a_name_that_is_not_exported_is_refused_by_name():
    with pytest.raises(AttributeError, match="'gpuyard' has no attribute 'platfrom_spec'"):
        _ = gpuyard.platfrom_spec


def test_every_exported_name_is_there_and_documented():
    bare = [
        name
        for name in gpuyard.__all__
        if name != "__version__"
        and (inspect.isclass(each := getattr(gpuyard, name)) or callable(each))
        and not inspect.getdoc(each)
    ]
    assert bare == []


@every("model", models(), ids=lambda each: each.__qualname__)
def test_every_field_of_the_spec_is_described(model):
    assert sorted(field_meanings(model)) == sorted(model.model_fields)
    assert inspect.getdoc(model)


def test_importing_the_library_loads_no_engine_no_cluster_client_and_no_terminal():
    program = "import sys, gpuyard; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.split()
    assert sorted(set(loaded) & set(HEAVY)) == []
