"""Values that the GPU Operator's chart reads: the first level, the second, and the fields of what is closed."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from gpuyard.catalogue.sources import Source

OPERATOR_CHART = Source(
    "NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator: values.yaml, what its templates read, ClusterPolicy",
    date(2026, 11, 21),
    as_of=date(2026, 8, 20),
)
OF_HELM = frozenset({"global", "nameOverride", "fullnameOverride"})
"""What any chart may be given."""
TOP_LEVEL = OF_HELM | frozenset(
    {
        *("platform", "nfd", "psa", "cdi", "sandboxWorkloads", "hostPaths", "daemonsets"),
        *("validator", "operator", "mig", "driver", "toolkit", "devicePlugin", "dcgm"),
        *("dcgmExporter", "gfd", "migManager", "nodeStatusExporter", "gds", "gdrcopy"),
        *("vgpuManager", "vgpuDeviceManager", "vfioManager", "kataManager", "ccManager"),
        *("sandboxDevicePlugin", "kataSandboxDevicePlugin", "clusterPolicy", "gpuCluster"),
        *("draDriver", "extraObjects", "node-feature-discovery"),
    }
)
"""Keys of the first level."""
_OPERAND = frozenset(
    {
        *("enabled", "repository", "image", "version", "imagePullPolicy", "imagePullSecrets"),
        *("env", "args", "resources", "hostNetwork"),
    }
)
"""What each part that runs on nodes has."""
SECTIONS: Mapping[str, frozenset[str]] = {
    "mig": frozenset({"strategy"}),
    "cdi": frozenset({"enabled", "default", "nriPluginEnabled"}),
    "devicePlugin": _OPERAND | {"config", "mps"},
    "toolkit": _OPERAND | {"installDir"},
    "migManager": _OPERAND | {"config", "gpuClientsConfig"},
    "gfd": _OPERAND,
    "dcgm": _OPERAND | {"hostPort"},
    "dcgmExporter": _OPERAND
    | {
        *("annotations", "config", "enablePodLabels", "enablePodUID", "hostPID", "hpcJobMapping"),
        *("podLabelAllowlistRegex", "service", "serviceMonitor"),
    },
    "driver": _OPERAND
    | {
        *("certConfig", "kernelModuleConfig", "kernelModuleType", "licensingConfig", "manager"),
        *("livenessProbe", "readinessProbe", "startupProbe", "nvidiaDriverCRD", "rdma"),
        *("repoConfig", "secretEnv", "upgradePolicy", "usePrecompiled", "virtualTopology"),
        *("useNvidiaDriverCRD", "useOpenKernelModules"),
    },
    "daemonsets": frozenset(
        {
            *("annotations", "labels", "podSecurityContext", "priorityClassName"),
            *("rollingUpdate", "tolerations", "updateStrategy"),
        }
    ),
    "validator": (_OPERAND - {"enabled"})
    | {"cuda", "driver", "plugin", "toolkit", "vfioPCI", "vgpuDevices", "vgpuManager"},
}
"""Keys below those of the first level that guides fill with fields of their own."""

OPERATOR_FIELDS = Source(
    "NVIDIA/gpu-operator: values.yaml, what templates read, ClusterPolicy, read tag by tag, v22.9.0 to v26.7.0",
    date(2026, 11, 26),
    as_of=date(2026, 11, 26),
)
OF_A_RELEASE = object()
"""A default that is another one from release to release: the exporter's monitor is on since v26.7.0."""


def _with(*names: str, **defaults: Any) -> Mapping[str, Any]:
    return dict.fromkeys(names) | defaults


_MONITOR = ("additionalLabels", "relabelings")
_EVICTING = {"force": False, "timeoutSeconds": 300, "deleteEmptyDir": False}
_CONFIG = ("create", "name", "default", "data")
_PROBE = ("failureThreshold", "initialDelaySeconds", "periodSeconds", "successThreshold")
FIELDS: Mapping[tuple[str, ...], Mapping[str, Any]] = {
    ("daemonsets", "rollingUpdate"): _with(maxUnavailable="1"),
    ("dcgmExporter", "config"): _with("create", "name", "data"),
    ("dcgmExporter", "hpcJobMapping"): _with("enabled", "directory"),
    ("dcgmExporter", "service"): _with("type", internalTrafficPolicy="Cluster"),
    ("dcgmExporter", "serviceMonitor"): _with(
        *(*_MONITOR, "scrapeTimeout"), enabled=OF_A_RELEASE, interval="15s", honorLabels=False
    ),
    ("operator", "metrics"): _with("serviceMonitor"),
    ("operator", "metrics", "serviceMonitor"): _with(
        *_MONITOR, "enabled", "honorLabels", "interval", "scrapeTimeout"
    ),
    ("devicePlugin", "config"): _with(*_CONFIG),
    ("devicePlugin", "mps"): _with(root="/run/nvidia/mps"),
    ("migManager", "config"): _with(*_CONFIG),
    ("migManager", "gpuClientsConfig"): _with("name"),
    ("driver", "certConfig"): _with("name"),
    ("driver", "kernelModuleConfig"): _with("name"),
    ("driver", "licensingConfig"): _with("configMapName", "secretName", nlsEnabled=True),
    ("driver", "livenessProbe"): _with(*_PROBE, "timeoutSeconds"),
    ("driver", "readinessProbe"): _with(*_PROBE, "timeoutSeconds"),
    ("driver", "startupProbe"): _with(*_PROBE, "timeoutSeconds"),
    ("driver", "manager"): _with(
        *("env", "image", "imagePullPolicy", "imagePullSecrets", "repository", "version")
    ),
    ("driver", "nvidiaDriverCRD"): _with(
        "nodeSelector", enabled=False, deployDefaultCR=True, driverType="gpu"
    ),
    ("driver", "rdma"): _with(enabled=False, useHostMofed=False),
    ("driver", "repoConfig"): _with("configMapName"),
    ("driver", "upgradePolicy"): _with(
        *("drain", "gpuPodDeletion", "podDeletion", "waitForCompletion"),
        autoUpgrade=True,
        maxParallelUpgrades=1,
        maxUnavailable="25%",
    ),
    ("driver", "upgradePolicy", "drain"): _with("podSelector", enable=False, **_EVICTING),
    ("driver", "upgradePolicy", "gpuPodDeletion"): _with(**_EVICTING),
    ("driver", "upgradePolicy", "waitForCompletion"): _with("podSelector", timeoutSeconds=0),
    ("driver", "virtualTopology"): _with("config"),
    **{
        ("validator", part): _with("env")
        for part in ("cuda", "driver", "plugin", "toolkit", "vfioPCI", "vgpuDevices", "vgpuManager")
    },
}
"""By path, the fields of what is closed in every release, with what each is by default.

None is for what has no default worth a name. No release from v22.9.0 on had a field that today's has not.
"""

DEEPEST = max(map(len, FIELDS))
"""Below so many keys all is open."""


def fields_of(path: tuple[str, ...]) -> frozenset[str] | None:
    """What the chart reads at this place; None where it takes anything, or nobody knows."""
    if not path:
        return TOP_LEVEL
    if len(path) == 1:
        return SECTIONS.get(path[0])
    result = FIELDS.get(path)
    return None if result is None else frozenset(result)


ON_BY_ITSELF = frozenset(
    {
        *("nfd", "cdi", "driver", "toolkit", "devicePlugin", "dcgmExporter", "gfd", "migManager"),
        *("vgpuDeviceManager", "vfioManager", "sandboxDevicePlugin", "ccManager"),
    }
)
"""Parts that the chart switches on where nobody says a word."""
BY_OTHER_NAMES: Mapping[str, str] = {
    "nodefeaturediscovery": "nfd",
    "gpufeaturediscovery": "gfd",
    "featurediscovery": "gfd",
    "containertoolkit": "toolkit",
    "nvidiacontainertoolkit": "toolkit",
    "nvidiadriver": "driver",
    "gpudriver": "driver",
    "nvidiadeviceplugin": "devicePlugin",
    "k8sdeviceplugin": "devicePlugin",
    "operatorvalidator": "validator",
}
"""What parts are called elsewhere, in small letters and without signs."""
DEFAULT_PRIORITY = "system-node-critical"
DEFAULT_STRATEGY = "single"
GPU_TAINT = "nvidia.com/gpu"
"""The taint that the chart's daemon sets tolerate by themselves."""
