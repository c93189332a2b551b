"""Values of the GPU Operator's chart: keys of the first and second level, and the fields with a fixed set of keys."""

from collections.abc import Mapping
from typing import Any

from gpuyard_core.catalogue.sources import find_source

OPERATOR_CHART = find_source("operator-values.operator-chart")
OF_HELM = frozenset({"global", "nameOverride", "fullnameOverride"})
"""Values of every Helm chart."""
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
"""Keys of every component that runs on nodes."""
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
"""Second-level keys that guides use with free-form content."""

OPERATOR_FIELDS = find_source("operator-values.operator-fields")
OF_A_RELEASE = object()
"""A default that depends on the release: the exporter's monitor is enabled since v26.7.0."""


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
"""Fields with a fixed set of keys in every release, by path, with their defaults.

None: no relevant default. No release since v22.9.0 had a field that the current one lacks.
"""

DEEPEST = max(map(len, FIELDS))
"""The maximum depth of these paths; deeper keys are not checked."""


def fields_of(path: tuple[str, ...]) -> frozenset[str] | None:
    """The keys that the chart reads at this path; None if any key is allowed, or unknown."""
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
"""Components that the chart enables by default."""
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
"""Other names of components, in lower case without punctuation."""
DEFAULT_PRIORITY = "system-node-critical"
DEFAULT_STRATEGY = "single"
GPU_TAINT = "nvidia.com/gpu"
"""The taint that the chart's DaemonSets tolerate by default."""
