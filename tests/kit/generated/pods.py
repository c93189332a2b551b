"""Pods for a team's namespace: a mix of every feature that an admission requirement checks."""

import random
from typing import Any

from gpuyard_core.names import (
    CLASS_LABEL,
    CLASS_OF_POD,
    GATE_TAINT,
    POD_GROUP_LABEL,
    PRIORITY_LABEL,
    QUEUE_GATE,
    QUEUE_LABEL,
)

Value = dict[str, Any]

IMAGES = (
    "nginx",
    "nginx:1.27",
    "library/nginx",
    "docker.io/nginx@sha256:" + "0" * 64,
    "docker.io/library/nginx:1.27@sha256:" + "1" * 64,
    "index.docker.io/nginx",
    "index.docker.io/library/nginx:2",
    "docker.io/nginx/nginx",
    "nginx/nginx:1",
    "registry.example.org/team/train:1.4",
    "registry.example.org/team",
    "registry.example.org/team:latest",
    "registry.example.org/teams/train",
    "registry.example.org/other/team",
    "registry.example.org:443/team/train",
    "registry.example.org.evil.example/team/x",
    "nvcr.io/nvidia/pytorch:26.10-py3",
    "nvcr.io:5000/nvidia/pytorch",
    "localhost/x",
    "localhost:5000/x/y:z",
    "localhost:5000/z",
    "Host/team/x",
    "a.b/c:5000",
)
GPUS = (1, "1", 8, "8", "8000m", "1k", "0", 0, "2e0")
AMOUNTS = (1, "1", "1000m", "0.5", "500m", 2, "2", "2000m")
MEMORY = ("1Gi", "1024Mi", 1073741824, "1073741824", "2Gi", "2G", "2e9", "0.5Gi")
PATHS = (
    *("/dev", "/dev/", "/dev/nvidia0", "//dev/./shm", "/devices", "/", "/mnt/data", "/run", "/var"),
    *("/var/run/docker.sock", "/var/lib/kubelet/device-plugins/kubelet.sock", "/var/lib/kubelet"),
    *("/var/lib/kubelet/seccomp", "/sys/class", "/proc", "/procs", "/etc/cdi", "/etc", "/home/x"),
    *("/run/containerd/containerd.sock", "/run/nvidia/driver", "/run/nvidia-x", "/srv"),
)
TOLERATIONS: tuple[Value, ...] = (
    {"operator": "Exists"},
    {"operator": "Exists", "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "value": "present"},
    {"key": "gpuyard.dev/pool", "operator": "Exists"},
    {"key": "gpuyard.dev/pool", "operator": "Exists", "effect": "NoExecute"},
    {"key": "gpuyard.dev/pool", "operator": "Equal", "value": "vip", "effect": "NoSchedule"},
    {"key": "gpuyard.dev/pool", "value": "vip"},
    {"key": "gpuyard.dev/pool", "value": "open"},
    {"key": "gpuyard.dev/pool", "operator": "Equal", "value": "alpha", "effect": "NoSchedule"},
    {"key": GATE_TAINT, "operator": "Exists"},
    {"key": GATE_TAINT, "value": "unchecked", "effect": "NoSchedule"},
    {"key": "gpuyard.dev/stop", "operator": "Exists"},
    {"key": "karpenter.sh/disrupted", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "other", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
)
ENVIRONMENT: tuple[Value, ...] = (
    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"},
    {"name": "NVIDIA_VISIBLE_DEVICES", "value": ""},
    {"name": "NVIDIA_VISIBLE_DEVICES"},
    {"name": "NVIDIA_VISIBLE_DEVICES", "value": "VOID"},
    {"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"},
    {"name": "NVIDIA_IMEX_CHANNELS", "value": "0"},
    {"name": "NVIDIA_NVSWITCH", "value": "enabled"},
    {"name": "NVIDIA_MOFED", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "NVIDIA_GDS", "value": "enabled"},
    {"name": "OTHER", "value": "all"},
)
OWNERS: tuple[Value, ...] = (
    {"apiVersion": "batch/v1", "kind": "Job", "controller": True},
    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True},
    {"apiVersion": "v1", "kind": "ReplicationController", "controller": True},
    {"apiVersion": "batch/v1", "kind": "CronJob", "controller": True},
    {"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True},
    {"apiVersion": "apps/v1", "kind": "StatefulSet"},
    {"apiVersion": "example.org/v1", "kind": "Batch", "controller": True},
    {"apiVersion": "batch/v1", "kind": "Job"},
)


TAME = {"containers": [{"name": "a", "image": "nvcr.io/a:1"}]}
MOUNTS = (
    *("/var/run/nvidia-container-devices/all", "/data", "/var/run/nvidia-container-devices-x"),
    *("/var//run/x/../nvidia-container-devices", "nvidia-container-devices/"),
)
ANNOTATIONS = (
    *("cdi.k8s.io/x", "nvidia.cdi.k8s.io/x", "example.org/cdi.k8s.io"),
    *(
        "devices.nri.io",
        "cdi-devices.nri.io/pod",
        "mounts.nri.io/pod",
        "devices.gke.io/container.a",
        "cdi-devices.noderesource.dev/pod",
        "mounts.noderesource.dev",
        "ulimits.noderesource.dev",
        CLASS_OF_POD,
    ),
)
TIME = "kueue.x-k8s.io/max-exec-time-seconds"
PARENT = "kueue.x-k8s.io/pod-suspending-parent"
PARENTS = ("deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset", "job")
CLASSES = ("system-node-critical", "twins-low", "twins-fine")
FINALIZERS = ("kueue.x-k8s.io/managed", "example.org/kept", "orphan")


class Maker:
    """Generates the same pods for the same number."""

    def __init__(self, number: int) -> None:
        self._dice = random.Random(number)  # noqa: S311  dice, not keys
        # every fourth is tame, or nearly all would be rejected
        self._tame = number % 4 == 0
        self._images = ("nvcr.io/nvidia/pytorch:26.10-py3",) if self._tame else IMAGES

    def maybe(self, chance: float) -> bool:
        return self._dice.random() < chance

    def odd(self, chance: float) -> bool:
        return self._dice.random() < chance * (0.2 if self._tame else 1)

    def some(self, values: tuple[Any, ...], most: int) -> list[Any]:
        return self._dice.sample(values, self._dice.randint(0, min(most, len(values))))

    def one(self, values: tuple[Any, ...]) -> Any:
        return self._dice.choice(values)

    def pod(self) -> Value:
        """A pod that the API server would accept without policies."""
        metadata: Value = {"name": "x", "labels": self.labels()}
        if self.maybe(0.2):
            metadata["ownerReferences"] = [{**self.one(OWNERS), "name": "o", "uid": "u"}]
        if self.odd(0.2):
            metadata["annotations"] = {self.one(ANNOTATIONS): "nvidia.com/gpu=all"}
        if self.odd(0.2):
            metadata["finalizers"] = self.some(FINALIZERS, 2)
        metadata["annotations"] = {**metadata.get("annotations", {}), **self.held()}
        if POD_GROUP_LABEL in metadata["labels"]:
            metadata["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = "1"
        spec = self.spec(in_pod=True)
        if self.maybe(0.3) and "nodeName" not in spec:
            spec["schedulingGates"] = [{"name": self.one((QUEUE_GATE, "example.org/later"))}]
        if PARENT in metadata["annotations"] and "nodeName" not in spec:
            spec["schedulingGates"] = [{"name": QUEUE_GATE}]  # as Kueue's webhook does
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def labels(self) -> dict[str, str]:
        labels = {"app": "x"}
        if self.maybe(0.4):
            labels[QUEUE_LABEL] = "main"
        if self.odd(0.2):
            labels[PRIORITY_LABEL] = self.one(("twins-first", "of-others", ""))
        if self.maybe(0.4):
            labels[CLASS_LABEL] = self.one(("training", "training", "notebook"))
        if self.odd(0.05):
            labels["leaderworkerset.sigs.k8s.io/name"] = "x"
        if self.odd(0.1):
            labels |= {POD_GROUP_LABEL: "g", **self.one(({TIME: "60"}, {}))}
        return labels

    def held(self) -> dict[str, str]:
        """Possible owner data of pods."""
        return {PARENT: self.one(PARENTS)} if self.odd(0.1) else {}

    def spec(self, *, in_pod: bool, restart: str = "Always") -> Value:
        claims = self.maybe(0.1)
        spec: Value = {
            "restartPolicy": restart,
            "containers": [
                self.container(f"c{i}", claims) for i in range(self.one((1, 1, 1, 2, 3)))
            ],
        }
        if self.maybe(0.3):
            spec["initContainers"] = [self.container("i", claims)]
            if self.maybe(0.3):
                spec["initContainers"][0]["restartPolicy"] = "Always"
        if claims:
            spec["resourceClaims"] = [{"name": "g", "resourceClaimName": "some"}]
        for field in ("hostPID", "hostIPC", "hostNetwork"):
            if self.odd(0.15):
                spec[field] = self.maybe(0.7)
        if self.odd(0.3):
            spec["tolerations"] = self.some(TOLERATIONS, 3)
        if self.odd(0.3):
            spec["volumes"] = [self.volume(i) for i in range(self.one((1, 2, 3)))]
        if self.odd(0.2):
            spec["runtimeClassName"] = self.one(("nvidia", "nvidia-legacy", "other"))
        if self.odd(0.08) or (not in_pod and self.maybe(0.05)):
            spec["nodeName"] = "some-node"
        return {**spec, **self.turn()}

    def apart(self) -> Value:
        """Anti-affinity, required or preferred."""
        terms: list[Value] = [
            {
                "topologyKey": self.one(("kubernetes.io/hostname", "kubernetes.io/os")),
                "labelSelector": {},
                **self.one(
                    (
                        {},
                        {"namespaceSelector": {}},
                        {"namespaces": ["elsewhere"]},
                        {"namespaceSelector": {"matchLabels": {"a": "b"}}, "namespaces": []},
                    )
                ),
            }
            for _ in range(self.one((1, 2)))
        ]
        when = "DuringSchedulingIgnoredDuringExecution"
        liked = [{"weight": 1, "podAffinityTerm": each} for each in terms]
        return {f"required{when}": terms, f"preferred{when}": liked}

    def turn(self) -> Value:
        """Priority, preemption, and grace period."""
        result: Value = {}
        if self.odd(0.15):
            result["affinity"] = {"podAntiAffinity": self.apart()}
        if self.odd(0.2):
            result["priorityClassName"] = self.one(CLASSES)
        if self.odd(0.2):
            result["terminationGracePeriodSeconds"] = self.one((0, 30, 300, 301, 3600, 3601))
        return result

    def container(self, name: str, claims: bool) -> Value:
        result: Value = {"name": name, "image": self.one(self._images)}
        if self.odd(0.4):
            result["env"] = self.some(ENVIRONMENT, 3)
        if self.odd(0.1):
            result["volumeMounts"] = [{"name": "v0", "mountPath": self.one(MOUNTS)}]
        if self.odd(0.2):
            result["securityContext"] = {"privileged": self.maybe(0.6)}
        elif self.odd(0.2):
            result["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
        if self.odd(0.1) and name != "i":
            probe = {"tcpSocket": {"port": 80}}
            longest = self.one((30, 301, 3601))
            result["livenessProbe"] = {**probe, "terminationGracePeriodSeconds": longest}
        resources: Value = {}
        if self.maybe(0.7):
            resources = self.resources()
        if claims and self.maybe(0.5):
            resources["claims"] = [{"name": "g"}]
        if resources or self.maybe(0.2):
            result["resources"] = resources
        return result

    def resources(self) -> Value:
        limits: Value = {}
        requests: Value = {}
        if self.maybe(0.4):
            name = self.one(("nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared"))
            limits[name] = self.one(GPUS)
            if self.maybe(0.3):
                requests[name] = limits[name]
        if self.maybe(0.2):
            limits["rdma/hca"] = 1
        for resource, amounts in (("cpu", AMOUNTS), ("memory", MEMORY)):
            if self.maybe(0.7):
                limits[resource] = self.one(amounts)
                if self.maybe(0.6):
                    requests[resource] = limits[resource] if self.maybe(0.5) else self.one(amounts)
            elif self.maybe(0.3):
                requests[resource] = self.one(amounts)
        return {
            k: v for k, v in (("limits", limits), ("requests", requests)) if v or self.maybe(0.1)
        }

    def volume(self, index: int) -> Value:
        sources: tuple[Value, ...] = (
            {"hostPath": {"path": self.one(PATHS)}},
            {"hostPath": {"path": self.one(PATHS), "type": "Directory"}},
            {"emptyDir": {"medium": "Memory"}},
            {"image": {"reference": self.one(self._images), "pullPolicy": "IfNotPresent"}},
            {"configMap": {"name": "some"}},
            {"secret": {"secretName": "some"}},
            {"persistentVolumeClaim": {"claimName": "some"}},
            {"nfs": {"server": "10.0.0.9", "path": "/"}},
            {"csi": {"driver": "some.example.org"}},
            {"csi": {"driver": "known.example.org", "volumeAttributes": {"a": "b"}}},
            {"iscsi": {"targetPortal": "10.0.0.9", "iqn": "iqn.2026-01.a:b", "lun": 0}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": self.claim()}}},
        )
        return {"name": f"v{index}", **self.one(sources)}

    def claim(self) -> Value:
        """The spec of a claim, for a named volume or any."""
        requested: Value = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        return requested | ({"volumeName": "some"} if self.maybe(0.5) else {})

    def belonging(self) -> Value:
        """An object that a member creates besides pods."""
        kind = self.one(("Service", "Secret", "PersistentVolumeClaim", "StatefulSet"))
        value: Value = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}}
        match kind:
            case "Service":
                addresses = self.some(("52.1.2.3", "10.0.0.1"), 2)
                value["spec"] = {"ports": [{"port": 80}], "externalIPs": addresses}
            case "Secret":
                value["type"] = self.one(("Opaque", "kubernetes.io/service-account-token"))
                value["metadata"]["annotations"] = {"kubernetes.io/service-account.name": "default"}
            case "PersistentVolumeClaim":
                value["spec"] = self.claim()
            case _:
                labels = {"app": "x"}
                template = {"metadata": {"labels": labels}, "spec": TAME}
                claims = [
                    {"metadata": {"name": f"d{i}"}, "spec": self.claim()}
                    for i in range(self.one((1, 2)))
                ]
                spec = {"serviceName": "x", "selector": {"matchLabels": labels}}
                value["apiVersion"] = "apps/v1"
                value["spec"] = {**spec, "template": template, "volumeClaimTemplates": claims}
        return value

    def metadata(self) -> Value:
        """Metadata of a workload."""
        result: Value = {"name": "x", "labels": self.labels()}
        if self.odd(0.2):
            result["finalizers"] = self.some(FINALIZERS, 2)
        if self.maybe(0.3):
            result["ownerReferences"] = [{**self.one(OWNERS), "name": "o", "uid": "u"}]
        return result

    def workload(self) -> Value:
        """A workload of some kind."""
        kind = self.one(
            (
                "Job",
                "Job",
                "CronJob",
                "Deployment",
                "StatefulSet",
                "DaemonSet",
                "ReplicaSet",
                "ReplicationController",
            )
        )
        restart = "Never" if kind in {"Job", "CronJob"} else "Always"
        template = {
            "metadata": {"labels": self.labels(), "annotations": self.held()},
            "spec": self.spec(in_pod=False, restart=restart),
        }
        metadata = self.metadata()
        if kind in {"Job", "CronJob"}:
            spec: Value = {"template": template}
            if kind == "CronJob":
                job: Value = {"spec": spec}
                if self.maybe(0.7):
                    job["metadata"] = {"labels": self.labels()}
                spec = {"schedule": "0 3 * * *", "jobTemplate": job}
            return {"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": spec}
        selector: Value = {"app": "x"}
        version = "v1" if kind == "ReplicationController" else "apps/v1"
        spec = {
            "selector": selector if version == "v1" else {"matchLabels": selector},
            "template": template,
        }
        if kind == "StatefulSet":
            spec["serviceName"] = "x"
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}

    def jobset(self) -> Value:
        """A JobSet, of one or two kinds of jobs."""
        jobs = [
            {
                "name": f"r{i}",
                "template": {
                    "spec": {
                        "template": {
                            "metadata": {"labels": self.labels()},
                            "spec": self.spec(in_pod=False, restart="Never"),
                        }
                    }
                },
            }
            for i in range(self.one((1, 2)))
        ]
        return {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": self.metadata(),
            "spec": {"replicatedJobs": jobs},
        }
