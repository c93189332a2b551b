"""GPU Operator as the fakes know it: the ClusterPolicy, and the ConfigMaps it names.

Without a ClusterPolicy there are no operands: no labels, no devices, as on a real cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gpuyard_simulate.tolerations import USUAL, tolerations_of

NAMESPACE: Final = "gpu-operator"
POLICY: Final = "cluster-policy"
_REBOOTS: Final = {"name": "WITH_REBOOT", "value": "true"}


@dataclass(frozen=True, slots=True)
class MountedConfig:
    """A ConfigMap that an operand mounts.

    `named` False: the ClusterPolicy names none. `data` None: it names one that does not exist, so
    that the operand's pods wait for their volume.
    """

    name: str = ""
    data: Mapping[str, str] | None = None
    default: str = ""

    @property
    def named(self) -> bool:
        """Whether the ClusterPolicy names a ConfigMap at all."""
        return bool(self.name)


@dataclass(frozen=True, slots=True)
class Operator:
    """The ClusterPolicy fields that node agents use."""

    mig_strategy: str = ""
    """Set as an environment variable on the agents, where it overrides their configuration file."""
    mig: MountedConfig = field(default_factory=MountedConfig)
    plugin: MountedConfig = field(default_factory=MountedConfig)
    driver: bool = True
    driver_version: str = ""
    """The driver it installs; empty where it installs none, or its own default."""
    device_plugin: bool = True
    tolerations: tuple[Mapping[str, Any], ...] = USUAL
    """Of everything that it starts on nodes."""
    reboots: bool = False
    """Whether the MIG manager reboots a node on which a change of MIG mode fails."""


def read_operator(
    policy: Mapping[str, Any] | None, maps: Mapping[str, Mapping[str, str]]
) -> Operator | None:
    """The operator's settings from its policy and the ConfigMaps of its namespace."""
    if policy is None:
        return None
    spec = policy.get("spec") or {}
    return Operator(
        mig_strategy=(spec.get("mig") or {}).get("strategy") or "",
        mig=_source(spec.get("migManager"), maps),
        plugin=_source(spec.get("devicePlugin"), maps),
        driver=_enabled(spec.get("driver")),
        driver_version=_version(spec.get("driver")),
        device_plugin=_enabled(spec.get("devicePlugin")),
        tolerations=tolerations_of(spec),
        reboots=_REBOOTS in ((spec.get("migManager") or {}).get("env") or []),
    )


def _enabled(operand: Mapping[str, Any] | None) -> bool:
    """The operator's default: an operand that is not disabled is enabled."""
    return (operand or {}).get("enabled") is not False


def _version(operand: Mapping[str, Any] | None) -> str:
    return str((operand or {}).get("version") or "") if _enabled(operand) else ""


def _source(
    operand: Mapping[str, Any] | None, maps: Mapping[str, Mapping[str, str]]
) -> MountedConfig:
    config = (operand or {}).get("config") or {}
    name = config.get("name") or ""
    return MountedConfig(name, maps.get(name), config.get("default") or "")
