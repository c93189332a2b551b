"""The provider's configuration and the effect of changing it.

CheckConfig, DiffConfig and Configure in provider/pkg/provider/provider.go of the official one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pulumi.runtime.proto import provider_pb2 as wire

from testbed.plugins.kubernetes.failures import ProviderError
from testbed.plugins.kubernetes.values import Object, Secret, Unknown, has_unknown, transform

PREFIX = "kubernetes:config:"
# Settings that locate a cluster, which conflict with rendering to a folder.
_CLUSTERS = ("cluster", "context", "kubeconfig")


@dataclass(frozen=True)
class Settings:
    """The switches of one provider."""

    namespace: str = ""
    context: str = ""
    cluster: str = ""
    kubeconfig: Object | None = None
    kubeconfig_error: str = ""
    server_side_apply: bool = True
    patch_force: bool = False
    upsert: bool = False
    config_map_mutable: bool = False
    secret_mutable: bool = False
    delete_unreachable: bool = False
    skip_update_unreachable: bool = False
    suppress_deprecation_warnings: bool = False
    timeout_seconds: float | None = None
    render_to: str = ""
    always_render: bool = False
    extra: Mapping[str, str] = field(default_factory=dict)


def from_variables(variables: Mapping[str, str]) -> Settings:
    """Read `Configure`'s variables; an environment variable applies where the setting is absent."""
    inputs = {key.removeprefix(PREFIX): value for key, value in variables.items()}

    def switch(name: str, variable: str, *, default: bool = False) -> bool:
        text = inputs.get(name, os.environ.get(variable))
        return default if text is None else text == "true"

    kubeconfig, error = None, ""
    if text := inputs.get("kubeconfig"):
        try:
            kubeconfig = load_kubeconfig(text)
        except ProviderError as problem:
            error = f"failed to parse kubeconfig data in `kubernetes:config:kubeconfig`- {problem}"
    if not switch("enableServerSideApply", "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY", default=True):
        raise ProviderError(
            "enableServerSideApply=false is not supported by this stand-in of the kubernetes provider: "
            "leave it at its default, or use the official provider"
        )
    timeout = os.environ.get("PULUMI_K8S_CLIENT_TIMEOUT")
    return Settings(
        namespace=inputs.get("namespace", ""),
        context=inputs.get("context", ""),
        cluster=inputs.get("cluster", ""),
        kubeconfig=kubeconfig,
        kubeconfig_error=error,
        patch_force=switch("enablePatchForce", "PULUMI_K8S_ENABLE_PATCH_FORCE"),
        upsert=switch("upsertExistingObjects", "PULUMI_K8S_UPSERT_EXISTING_OBJECTS"),
        config_map_mutable=switch("enableConfigMapMutable", "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE"),
        secret_mutable=switch("enableSecretMutable", "PULUMI_K8S_ENABLE_SECRET_MUTABLE"),
        delete_unreachable=switch("deleteUnreachable", "PULUMI_K8S_DELETE_UNREACHABLE"),
        skip_update_unreachable=switch(
            "skipUpdateUnreachable", "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE"
        ),
        suppress_deprecation_warnings=switch(
            "suppressDeprecationWarnings", "PULUMI_K8S_SUPPRESS_DEPRECATION_WARNINGS"
        ),
        timeout_seconds=float(timeout) if timeout else None,
        render_to=inputs.get("renderYamlToDirectory", ""),
        always_render=inputs.get("alwaysRender") == "true",
        extra=inputs,
    )


def load_kubeconfig(path_or_content: str) -> Object:
    """A kubeconfig from a path, or from the text itself."""
    candidate = Path(path_or_content).expanduser()
    try:
        text = candidate.read_text() if _is_file(candidate) else path_or_content
        parsed = yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ProviderError(f"not a kubeconfig: {type(error).__name__}") from error
    if not isinstance(parsed, dict) or "clusters" not in parsed:
        raise ProviderError("not a kubeconfig: neither a file nor the text of one")
    return parsed


def _is_file(candidate: Path) -> bool:
    """Whether it is the name of a file; the text of a kubeconfig is not."""
    try:
        return candidate.is_file()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise


def default_namespace(settings: Settings) -> str:
    """The provider's namespace, else that of the kubeconfig's context, else `default`."""
    if settings.namespace:
        return settings.namespace
    config = settings.kubeconfig or ambient()
    context = named(
        config.get("contexts"), settings.context or config.get("current-context"), "context"
    )
    return str((context or {}).get("namespace") or "default")


def ambient() -> Object:
    """The kubeconfig of $KUBECONFIG or of the home folder; empty when there is none."""
    for text in os.environ.get("KUBECONFIG", str(Path("~/.kube/config").expanduser())).split(
        os.pathsep
    ):
        try:
            return load_kubeconfig(text) if Path(text).is_file() else {}
        except ProviderError:
            return {}
    return {}


def named(items: Any, name: Any, key: str) -> Object | None:
    """The entry of this name in a kubeconfig's list."""
    for item in items or []:
        if item.get("name") == name:
            result = item.get(key)
            return result if isinstance(result, dict) else None
    return None


def active_cluster(config: Object | None, overrides: Mapping[str, Any]) -> Object | None:
    """The cluster that a kubeconfig and its overrides select."""
    if not config:
        return None
    context = named(
        config.get("contexts"), overrides.get("context") or config.get("current-context"), "context"
    )
    if context is None:
        return None
    return named(
        config.get("clusters"), overrides.get("cluster") or context.get("cluster"), "cluster"
    )


def check(inputs: Mapping[str, Any]) -> list[wire.CheckFailure]:
    """Failures for settings that contradict each other."""
    configured = {name: transform(value, lambda one: one) for name, value in inputs.items()}
    renders = configured.get("renderYamlToDirectory") not in (None, "", False)
    if not renders and configured.get("alwaysRender") in (True, "true"):
        reason = '"alwaysRender" requires "renderYamlToDirectory" to be set'
        return [wire.CheckFailure(property="alwaysRender", reason=reason)]
    return [
        wire.CheckFailure(
            property=name,
            reason=f'"{name}" arg is not compatible with "renderYamlToDirectory" arg',
        )
        for name in _CLUSTERS
        if renders and configured.get(name) and not _is_ambient(name, configured[name])
    ]


def _is_ambient(name: str, value: Any) -> bool:
    """SDKs fill in `$KUBECONFIG`; that value is not the user's choice."""
    return name == "kubeconfig" and bool(value) and value == os.environ.get("KUBECONFIG")


def diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> wire.DiffResponse:
    """Which changes of the settings replace the provider, and so every object that it manages.

    With a `clusterIdentifier` on both sides only a change of it does; without, another active
    cluster in the kubeconfig does, and so does a kubeconfig that is not known yet.
    """
    changed = [key for key in sorted({*old, *new}) if _open(old.get(key)) != _open(new.get(key))]
    if not changed and not has_unknown(dict(new)):
        return wire.DiffResponse(changes=wire.DiffResponse.DIFF_NONE)
    before, after = _open(old.get("clusterIdentifier")), _open(new.get("clusterIdentifier"))
    replaces = ["clusterIdentifier"] if before and after and before != after else []
    unknown = [
        key
        for key in ("kubeconfig", "context", "cluster")
        if isinstance(_open(new.get(key)), Unknown)
    ]
    if unknown:
        changed = replaced = unknown[:1]
        replaces += replaced
    elif _moved(old, new):
        replaces += [key for key in ("kubeconfig", "context", "cluster") if key in changed]
    if before and after and before == after:
        replaces = []
    if "renderYamlToDirectory" in changed:  # every file then has another path
        replaces.append("renderYamlToDirectory")
    return wire.DiffResponse(changes=wire.DiffResponse.DIFF_SOME, diffs=changed, replaces=replaces)


def _moved(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    clusters = [
        active_cluster(_config(bag.get("kubeconfig")), transform(dict(bag), lambda v: v))
        for bag in (old, new)
    ]
    return None not in clusters and clusters[0] != clusters[1]


def _config(value: Any) -> Object | None:
    value = _open(value)
    if isinstance(value, dict):
        return value
    try:
        return load_kubeconfig(value) if isinstance(value, str) and value else None
    except ProviderError:
        return None


def _open(value: Any) -> Any:
    return value.value if isinstance(value, Secret) else value
