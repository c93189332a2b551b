"""The GKE cluster: private, with its own network plugin and identities, upgraded as configured."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudCall, CloudResource, Joined
from gpuyard.render.gcp.capacity_options import machines_of
from gpuyard.render.gcp.fabric import all_links
from gpuyard.render.gcp.identity import NodeIdentity
from gpuyard.render.gcp.names import resource_labels
from gpuyard.render.gcp.network import GcpNetwork
from gpuyard.render.gcp.place import GcpLocation
from gpuyard.spec.sections import ClusterSpec, DatasetKind
from gpuyard.spec.sections.cluster import LogKind, Weekday
from gpuyard_core.catalogue.gke.nodes import NODE_SCOPE, is_metal

NAME = "cluster"
_CONTEXT = re.compile(r"gke_([^_]+)_([^_]+)_(.+)")
"""A kubectl context as gcloud writes it: project, location and name."""
_MONDAY = date(2024, 1, 1)
"""Any Monday: windows repeat weekly from their first day."""
_COMPONENTS: Mapping[LogKind, str] = {
    LogKind.API: "APISERVER",
    LogKind.CONTROLLER_MANAGER: "CONTROLLER_MANAGER",
    LogKind.SCHEDULER: "SCHEDULER",
}
"""Logs that GKE writes on request; the audit log is always on."""


def existing_cluster(plan: PlatformPlan, place: GcpLocation) -> CloudCall | None:
    """The query for an existing cluster; None if gpuyard creates one."""
    existing = cluster_spec(plan.spec).existing
    if existing is None:
        return None
    context = _CONTEXT.fullmatch(existing)
    project, location, name = context.groups() if context else ("", place.location, existing)
    return CloudCall(
        kind="gcp:container/getCluster:getCluster",
        name=NAME,
        args={"name": name, "location": location, **({"project": project} if project else {})},
        outputs=(
            "name",
            "location",
            "endpoint",
            "network",
            "subnetwork",
            "selfLink",
            "masterAuths",
            "controlPlaneEndpointsConfigs",
        ),
    )


def cluster(
    plan: PlatformPlan, place: GcpLocation, network: GcpNetwork, who: NodeIdentity
) -> CloudResource:
    """A new cluster. Its mandatory initial nodes are deleted when it is ready."""
    spec = cluster_spec(plan.spec)
    return CloudResource(
        kind="gcp:container/cluster:Cluster",
        name=NAME,
        inputs={
            "name": plan.name,
            "location": place.location,
            **({"nodeLocations": list(place.zones)} if len(place.zones) > 1 else {}),
            "minMasterVersion": plan.kubernetes,
            "resourceLabels": resource_labels(plan),
            "deletionProtection": spec.protect,
            **_connected(plan, network, spec),
            **_guarded(plan, place, who),
            **_upgraded(spec),
            **_watched(plan, spec),
            **_extended(plan),
            **_first_nodes(who),
        },
        outputs=(
            "endpoint",
            "selfLink",
            "masterVersion",
            "masterAuth",
            "controlPlaneEndpointsConfig",
        ),
        after=tuple(g for g in who.grants if g.startswith("key-")),
        protect=spec.protect,
        # GKE deletes the initial pool at once, and each of these fields would replace the cluster
        ignores=("nodeConfig", "initialNodeCount"),
        delete_first=True,
    )


def _connected(plan: PlatformPlan, network: GcpNetwork, spec: ClusterSpec) -> dict[str, Any]:
    """Its network and endpoint: from outside, only allowed ranges reach it."""
    outside = [{"cidrBlock": str(cidr)} for cidr in spec.endpoint.public]
    return {
        "network": network.network,
        "subnetwork": network.subnetwork,
        "networkingMode": "VPC_NATIVE",
        "ipAllocationPolicy": {"stackType": "IPV4", **network.allocation},
        "datapathProvider": "ADVANCED_DATAPATH",
        "enableMultiNetworking": any(True for _ in all_links(plan)),
        "privateClusterConfig": {
            "enablePrivateNodes": True,
            "enablePrivateEndpoint": not outside,
        },
        "masterAuthorizedNetworksConfig": {
            "cidrBlocks": outside,
            "gcpPublicCidrsAccessEnabled": False,
        },
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": {"allowExternalTraffic": spec.endpoint.dns}
        },
        "gatewayApiConfig": {"channel": "CHANNEL_STANDARD"},
    }


def _guarded(plan: PlatformPlan, place: GcpLocation, who: NodeIdentity) -> dict[str, Any]:
    """Workload identity, encrypted secrets, and shielded nodes if all machines support them."""
    return {
        "workloadIdentityConfig": {"workloadPool": Joined(place.project, ".svc.id.goog")},
        "databaseEncryption": {"state": "ENCRYPTED", "keyName": who.key},
        "enableShieldedNodes": not any(
            is_metal(m.name) for pool in plan.pools for m in machines_of(pool)
        ),
        "masterAuth": {"clientCertificateConfig": {"issueClientCertificate": False}},
        "rbacBindingConfig": {
            "enableInsecureBindingSystemAuthenticated": False,
            "enableInsecureBindingSystemUnauthenticated": False,
        },
        "binaryAuthorization": {"evaluationMode": "DISABLED"},
        "securityPostureConfig": {
            "mode": "BASIC",
            "vulnerabilityMode": "VULNERABILITY_DISABLED",
        },
        "nodePoolDefaults": {"nodeConfigDefaults": {"insecureKubeletReadonlyPortEnabled": "FALSE"}},
    }


def _upgraded(spec: ClusterSpec) -> dict[str, Any]:
    """Upgrades in the maintenance window, and never on excluded days."""
    window = spec.maintenance
    first = _MONDAY + timedelta(days=min(_days(window.days)))
    hour, minute = (int(part) for part in window.start.split(":"))
    begins = datetime(first.year, first.month, first.day, hour, minute)  # noqa: DTZ001  written with a Z
    ends = begins + timedelta(hours=window.hours)
    by_day = ",".join(list(Weekday)[n].value[:2].upper() for n in _days(window.days))
    freezes = [
        {
            "exclusionName": freeze.name,
            "startTime": f"{freeze.start}T00:00:00Z",
            "endTime": f"{freeze.end}T00:00:00Z",
            "exclusionOptions": {"scope": "NO_UPGRADES"},
        }
        for freeze in window.freezes
    ]
    return {
        "releaseChannel": {"channel": spec.release_channel.value.upper()},
        "maintenancePolicy": {
            "recurringWindow": {
                "startTime": f"{begins.isoformat()}Z",
                "endTime": f"{ends.isoformat()}Z",
                "recurrence": f"FREQ=WEEKLY;BYDAY={by_day}",
            },
            **({"maintenanceExclusions": freezes} if freezes else {}),
        },
        "notificationConfig": {"pubsub": {"enabled": False}},
    }


def _days(days: tuple[Weekday, ...]) -> list[int]:
    return sorted({list(Weekday).index(day) for day in days})


def _watched(plan: PlatformPlan, spec: ClusterSpec) -> dict[str, Any]:
    """GPU metrics have one source: GKE, or the GPU Operator if it installs anything."""
    ours = plan.operator is not None and any(plan.operator.enabled.values())
    managed = plan.observability is not None and plan.observability.managed is not None
    components = [_COMPONENTS[kind] for kind in spec.logs.kinds if kind in _COMPONENTS]
    return {
        "loggingConfig": {
            "enableComponents": sorted({"SYSTEM_COMPONENTS", "WORKLOADS", *components})
        },
        "monitoringConfig": {
            "enableComponents": ["SYSTEM_COMPONENTS"] if ours else ["DCGM", "SYSTEM_COMPONENTS"],
            "managedPrometheus": {"enabled": managed or not ours},
        },
        "costManagementConfig": {"enabled": True},
    }


def _extended(plan: PlatformPlan) -> dict[str, Any]:
    """CSI drivers of the configured storage; no node pools except gpuyard's."""
    kinds = plan.storage.kinds
    return {
        "addonsConfig": {
            "dnsCacheConfig": {"enabled": True},
            "gcePersistentDiskCsiDriverConfig": {"enabled": True},
            "gcsFuseCsiDriverConfig": {"enabled": DatasetKind.BUCKET in kinds},
            "gcpFilestoreCsiDriverConfig": {"enabled": DatasetKind.FILESTORE in kinds},
            "lustreCsiDriverConfig": {"enabled": DatasetKind.MANAGED_LUSTRE in kinds},
        },
        "clusterAutoscaling": {"enabled": False, "autoscalingProfile": "OPTIMIZE_UTILIZATION"},
    }


def _first_nodes(who: NodeIdentity) -> dict[str, Any]:
    """The smallest machines, for minutes, without the default account: it may be disabled."""
    return {
        "removeDefaultNodePool": True,
        "initialNodeCount": 1,
        "nodeConfig": {
            "machineType": "e2-medium",
            "serviceAccount": who.account,
            "oauthScopes": [NODE_SCOPE],
            "shieldedInstanceConfig": {
                "enableSecureBoot": True,
                "enableIntegrityMonitoring": True,
            },
            "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        },
    }
