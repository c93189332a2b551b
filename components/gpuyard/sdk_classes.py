"""Classes of Pulumi's generated provider SDKs by their type tokens: `aws:eks/cluster:Cluster`.

Every SDK registers a map from token to module and class (`pulumi.runtime.register_resource_module`),
so that only the modules of the tokens in use are imported. Inputs have the provider's field names,
at the top level as inside, and outputs are read by them
(docs/decisions/0086-resources-of-sdk-classes.md).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import pulumi
from packaging.version import Version
from pulumi import _types  # generated SDKs rely on it
from pulumi.runtime import rpc

PROVIDER = "pulumi:providers:"
"""Prefix of the token of a provider resource."""
_PRERELEASES = {"a": "alpha", "b": "beta", "rc": "rc"}


class SdkMissing(pulumi.RunError):
    """The SDK of a resource is not installed, or lacks its class."""

    def __init__(self, package: str, token: str = "") -> None:
        problem = (
            f"pulumi-{package} {sdk_version(package)} has no class for {token}"
            if token
            else f"resources of {package} need the package pulumi-{package}, which is not installed"
        )
        super().__init__(f"{problem}\n  fix: pip install --upgrade 'gpuyard[{package}]'")


def register_resource(
    token: str, name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None
) -> pulumi.CustomResource:
    """Register a resource through the SDK's class; inputs that are None are left out.

    Raises:
        SdkMissing: the SDK is not installed, or does not know the token.
    """
    found = resource_class(token)
    if found is None:
        package = token.partition(":")[0]
        raise SdkMissing(package, token if load_sdk(package) else "")
    keywords = _keywords(found)
    given = {keywords.get(key, key): value for key, value in inputs.items() if value is not None}
    resource: pulumi.CustomResource = found(name, opts=opts, **given)
    return resource


def output(resource: pulumi.Resource, field: str) -> pulumi.Output[Any]:
    """An output by the provider's field name; objects inside it are mappings with such names."""
    own_class: Any = type(resource)
    result: pulumi.Output[Any] = getattr(resource, output_names(own_class).get(field, field))
    return result.apply(_untyped)


def sdk_version(package: str) -> str:
    """The version of the provider plugin that the installed SDK requires; the SDK is not imported.

    Raises:
        SdkMissing: the SDK is not installed.
    """
    try:
        version = Version(importlib.metadata.version(f"pulumi-{package}"))
    except importlib.metadata.PackageNotFoundError:
        raise SdkMissing(package) from None
    # The engine requires a semantic version: 4.35.0a1 is 4.35.0-alpha.1 there (_utilities.py of any SDK).
    if version.pre is not None:
        return f"{version.base_version}-{_PRERELEASES[version.pre[0]]}.{version.pre[1]}"
    if version.dev is not None:
        return f"{version.base_version}-dev.{version.dev}"
    return version.base_version


@cache
def resource_class(token: str) -> Any:
    """The class of a token; None if no installed SDK has one."""
    # The records that SDKs register have no public accessor (`_utilities.py` of any SDK, Module.construct).
    package, _, rest = token.removeprefix(PROVIDER).partition(":")
    if not load_sdk(package):
        return None
    if token.startswith(PROVIDER):
        info = getattr(rpc.get_resource_package(package, ""), "pkg_info", None)
        name = info and info["class"]
    else:
        module = rpc.get_resource_module(package, rest.partition(":")[0], "")
        info = getattr(module, "mod_info", None)
        name = info and info["classes"].get(token)
    result = getattr(importlib.import_module(info["fqn"]), name) if info and name else None
    return result if isinstance(result, type) else None


@cache
def args_class(resource: Any) -> type[Any] | None:
    """The class of its inputs in the same module: BucketArgs, or ConfigMapInitArgs if that name was taken."""
    module = sys.modules[resource.__module__]
    for suffix in ("InitArgs", "Args"):
        result = getattr(module, f"{resource.__name__}{suffix}", None)
        if isinstance(result, type) and _types.is_input_type(result):
            return result
    return None


@cache
def output_names(resource: Any) -> Mapping[str, str]:
    """The provider's field name → attribute, for outputs where they differ."""
    names: Mapping[str, str] = _types.resource_pulumi_to_py_names(resource)
    return names


@cache
def load_sdk(package: str) -> bool:
    """Import the root module of a package's SDK; False if it is not installed."""
    module = f"pulumi_{package.replace('-', '_')}"
    if package == "pulumi" or (module not in sys.modules and not importlib.util.find_spec(module)):
        return False
    importlib.import_module(module)
    return True


@cache
def _keywords(resource: Any) -> Mapping[str, str]:
    """The provider's field name → keyword of the constructor."""
    args = args_class(resource)
    names = _types.input_type_py_to_pulumi_names(args) if args else {}
    return {wire: keyword for keyword, wire in names.items()}


def _untyped(value: Any) -> Any:
    """A value in which objects of output types are mappings with the provider's field names."""
    if _types.is_output_type(type(value)):
        value = _types.output_type_to_dict(value)
    if isinstance(value, dict):
        return {key: _untyped(each) for key, each in value.items()}
    return [_untyped(each) for each in value] if isinstance(value, list) else value
