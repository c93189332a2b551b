"""The configuration file that the device plugin and GPU Feature Discovery share (v0.20, `version: v1`)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from gpuyard_simulate.agents.gpu_operator import MountedConfig, Operator

CONFIG_LABEL: Final = "nvidia.com/device-plugin.config"
STARTED: Final = "sim.gpuyard.dev/plugin-config"
"""On the node: what its plugin was started with."""
MOST_MPS_REPLICAS: Final = 48
STRATEGIES: Final = ("none", "single", "mixed")
_METHODS: Final = {"timeSlicing": "time-slicing", "mps": "mps"}


class ConfigRefused(Exception):
    """Why the plugin does not start."""


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """The plugin's configuration."""

    strategy: str = "none"
    sharing: str = "none"
    rename: bool = False
    replicas: Mapping[str, int] = field(default_factory=dict)
    one_share: bool = False
    """Whether the plugin rejects a request for more than one share."""

    def replicas_of(self, resource: str) -> int:
        """Number of shares in which a device of this resource is advertised."""
        return self.replicas.get(resource, 1)


def config_for(
    labels: Mapping[str, str], operator: Operator, started: str | None = None
) -> tuple[PluginConfig, str]:
    """The configuration in force on a node, and the one it was started with.

    `started` is the earlier one. The plugin reads its file when it starts, and when its sidecar sees another
    name in the node's label (k8s-device-plugin v0.20, cmd/config-manager); a changed file under the same name
    has no effect.

    Raises:
        ConfigRefused: the named configuration does not exist or is invalid; the pods then crash or wait.
    """
    source, text = operator.plugin, None
    if source.named and source.data is None:
        raise ConfigRefused(
            f"ConfigMap {source.name} does not exist, the plugin's pod waits for it"
        )
    name = (labels.get(CONFIG_LABEL) or source.default) if source.named else ""
    before = _read(started)
    if before[:-1] == [operator.mig_strategy, source.name, name]:
        text = before[-1]
    elif name:
        text = _file(name, source)
    result = parse(text) if text is not None else PluginConfig()
    record = json.dumps([operator.mig_strategy, source.name, name, text])
    return _with_strategy(result, operator.mig_strategy), record


def _file(name: str, source: MountedConfig) -> str:
    known = source.data or {}
    if name not in known:
        raise ConfigRefused(
            f"no configuration {name!r} in ConfigMap {source.name}; available:"
            f" {', '.join(sorted(known)) or 'none'}"
        )
    return known[name]


def _read(started: str | None) -> list[Any]:
    """The state stored on the node; without one, a state that never matches."""
    return list(json.loads(started)) if started else [None]


def _with_strategy(config: PluginConfig, from_environment: str) -> PluginConfig:
    """The operator's environment variable overrides the file; `mixed` therefore breaks every MPS pool."""
    strategy = from_environment or config.strategy
    if strategy == "mixed" and config.sharing == "mps":
        raise ConfigRefused("mig strategy mixed is not supported with MPS")
    return replace(config, strategy=strategy)


def parse(text: str) -> PluginConfig:
    """Read one configuration file.

    Raises:
        ConfigRefused: the plugin does not start with it.
    """
    try:
        result = yaml.safe_load(text)
        if result.get("version") != "v1":
            raise ConfigRefused(f"version must be v1, not {result.get('version')!r}")
        strategy = str((result.get("flags") or {}).get("migStrategy") or "none")
        sharing = {
            key: value
            for key, value in (result.get("sharing") or {}).items()
            if value and key in _METHODS
        }
    except (yaml.YAMLError, AttributeError, TypeError) as problem:
        raise ConfigRefused(
            f"the file is not a device plugin configuration ({problem})"
        ) from problem
    if strategy not in STRATEGIES:
        raise ConfigRefused(f"migStrategy must be one of {', '.join(STRATEGIES)}, not {strategy!r}")
    if len(sharing) > 1:
        raise ConfigRefused("timeSlicing and mps exclude each other")
    if not sharing:
        return PluginConfig(strategy)
    method, content = next(iter(sharing.items()))
    replicas = _replicas(content, most=MOST_MPS_REPLICAS if method == "mps" else None)
    # under MPS the plugin rejects it with any configuration (internal/rm/rm.go, ValidateRequest)
    one_share = method == "mps" or bool(content.get("failRequestsGreaterThanOne"))
    renames = bool(content.get("renameByDefault"))
    return PluginConfig(strategy, _METHODS[method], renames, replicas, one_share)


def _replicas(content: Mapping[str, Any], most: int | None) -> dict[str, int]:
    """Replicas by resource."""
    replicas = {}
    for item in content.get("resources") or []:
        name, count = item.get("name"), item.get("replicas")
        if not isinstance(name, str) or not isinstance(count, int) or count < 2:  # noqa: PLR2004  as upstream
            raise ConfigRefused(
                f"a shared resource needs a name and at least 2 replicas, not {item!r}"
            )
        if most is not None and count > most:
            raise ConfigRefused(f"MPS serves at most {most} clients, not {count}")
        replicas[name] = count
    if not replicas:
        raise ConfigRefused("sharing without resources")
    return replicas
