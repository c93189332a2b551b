"""Values that the GPU Operator's chart reads: the first level, and the second of what guides get wrong."""

from collections.abc import Mapping
from datetime import date

from gpuyard.catalogue.sources import Source

OPERATOR_CHART = Source(
    "NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator: values.yaml, what its templates read, ClusterPolicy",
    date(2026, 11, 21),
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
}
"""Keys below those of the first level that guides fill with fields of their own."""

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
