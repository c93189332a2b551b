"""Rules on Google Cloud and GKE."""

import re
from collections.abc import Iterator, Mapping, Sequence

from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import (
    at,
    block,
    is_true,
    items,
    known_value,
    mapping,
    mappings,
    text,
)
from gpuyard_core.manifests.placeholders import is_entirely_placeholder
from gpuyard_lint.rules.rule import (
    NotEvaluatedError,
    Parameters,
    Resource,
    Stack,
    Violation,
    load_rule,
)
from gpuyard_lint.rules.subjects.components import is_switched_off
from gpuyard_lint.rules.subjects.installed_versions import has_driver_installer
from gpuyard_lint.rules.subjects.pools import NODE_POOL, GpuPool, gpu_pool, gpu_pools

# GPU-GCP-01
_WORLD = frozenset({"0.0.0.0/0", "::/0"})


def _check_network(resource: Resource, _: Parameters) -> Iterator[Violation]:
    private = block(at(resource.properties, "privateClusterConfig"))
    if not is_true(private.get("enablePrivateNodes")):
        yield Violation(
            ("privateClusterConfig", "enablePrivateNodes"),
            "every GPU node has a public IP address",
            "set enablePrivateNodes: true, and use Cloud NAT to pull images",
        )
    by_address = at(
        resource.properties, "controlPlaneEndpointsConfig", "ipEndpointsConfig", "enabled"
    )
    if is_true(private.get("enablePrivateEndpoint")) or by_address is False:
        return
    networks = at(resource.properties, "masterAuthorizedNetworksConfig", "cidrBlocks")
    allowed = [text(block(each).get("cidrBlock")) for each in items(networks)]
    if not allowed or _WORLD & set(allowed):
        yield Violation(
            ("masterAuthorizedNetworksConfig",),
            "the whole internet reaches the API server of this cluster",
            "set enablePrivateEndpoint: true, or authorize only your networks",
        )


# GPU-GCP-02
_CLUSTER = "gcp:container/Cluster"
_EVERYTHING = ("/cloud-platform", "/compute")
"""Suffixes of scopes that do not restrict a service account."""


def _check_identity(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == _CLUSTER:
        pool = text(at(resource.properties, "workloadIdentityConfig", "workloadPool"))
        if not pool and not is_true(resource.properties.get("enableAutopilot")):
            yield Violation(
                ("workloadIdentityConfig",),
                "without Workload Identity every pod uses the service account of its node",
                "set workloadPool: PROJECT.svc.id.goog",
            )
    elif gpu_pool(resource) is not None:
        yield from _node(resource, ("nodeConfig",))


def _node(resource: Resource, path: Path) -> Iterator[Violation]:
    mode = text(at(resource.properties, *path, "workloadMetadataConfig", "mode"))
    if mode != "GKE_METADATA":
        yield Violation(
            (*path, "workloadMetadataConfig"),
            "pods can fetch the node's token from the metadata server",
            "set workloadMetadataConfig: {mode: GKE_METADATA}",
        )
    if text(at(resource.properties, *path, "serviceAccount")) in {"", "default"}:
        # the default scopes of GKE are narrow: logs and metrics
        scopes = [text(each) for each in items(at(resource.properties, *path, "oauthScopes"))]
        bound = not any(each.endswith(_EVERYTHING) for each in scopes)
        much = (
            "limited only by its access scopes"
            if bound
            else "which can edit everything in the project"
        )
        yield Violation(
            (*path, "serviceAccount"),
            f"the nodes use the default service account, {much}",
            "create a service account with only roles/container.defaultNodeServiceAccount",
            severity=Severity.WARNING if bound else None,
        )


# GPU-GCP-03
_PATH = ("nodeConfig", "shieldedInstanceConfig")
_NO_PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"
"""A label that disables Google's device plugin in favour of the operator's."""
_SECURE_BOOT = "enableSecureBoot"
_EFFECTS = {
    _SECURE_BOOT: "these nodes load unsigned kernel modules",
    "enableIntegrityMonitoring": "a changed boot sequence of these nodes goes unnoticed",
}


def _check_secure_boot(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if gpu_pool(resource) is None:
        return
    for field, effect in _EFFECTS.items():
        if field == _SECURE_BOOT and _compiled_there(resource):
            continue
        value = at(resource.properties, *_PATH, field)
        # integrity monitoring is on by default, secure boot is off
        on = is_true(value) or (value is None and field == "enableIntegrityMonitoring")
        if not on:
            yield Violation((*_PATH, field), effect, f"set {field}: true")


def _compiled_there(pool: Resource) -> bool:
    """Whether the driver is compiled on the node, as the GPU Operator does on Ubuntu: it is unsigned."""
    config = block(pool.properties.get("nodeConfig"))
    if not text(config, "imageType").upper().startswith("UBUNTU"):
        return False
    cards = [block(each) for each in items(config, "guestAccelerators")]
    modes = [text(at(each, "gpuDriverInstallationConfig", "gpuDriverVersion")) for each in cards]
    by_others = text(mapping(config, "labels").get(_NO_PLUGIN)) == "true"
    return by_others or "INSTALLATION_DISABLED" in modes


# GPU-GCP-04
_OPERATOR = ("values:gpu-operator", "nvidia.com/ClusterPolicy")
_OFF = "INSTALLATION_DISABLED"
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})-gke\.(\d{1,9})")
_INSTALLS_SINCE = (1, 30, 1, 1156000)
"""The first version in which GKE installs its default driver without configuration."""


def _check_driver_installer(stack: Stack, _: Parameters) -> Iterator[Violation]:
    by_operator = any(
        _installs(result.properties) for result in stack.resources_of_kinds(*_OPERATOR)
    )
    for pool in gpu_pools(stack.resources_of_kinds(NODE_POOL)):
        mode, path = _mode(pool)
        is_unset = mode in {"", "GPU_DRIVER_VERSION_UNSPECIFIED"}
        version = pool.resource.properties.get("version")
        old = is_unset and _comes_before_it_installed(version)
        if by_operator and mode != _OFF and not old:
            shown_mode = "by default" if is_unset else mode
            yield Violation(
                path,
                f"GKE ({shown_mode}) and the GPU Operator both install the driver: nodes fail at boot",
                f"set {_OFF} here, or driver.enabled: false in the operator",
                pool.resource,
            )
        elif (
            is_unset
            and not (by_operator or has_driver_installer(stack))
            and _comes_before_it_installed(known_value(version))
        ):
            yield Violation(
                path,
                f"nothing installs the driver: GKE {version} does not by default",
                "set gpuDriverVersion: LATEST, or INSTALLATION_DISABLED with the GPU Operator",
                pool.resource,
            )


def _comes_before_it_installed(version: object) -> bool:
    """Whether GKE of this version does not install a driver by default."""
    numbers = _VERSION.match(version) if isinstance(version, str) else None
    return numbers is not None and tuple(map(int, numbers.groups())) < _INSTALLS_SINCE


def _mode(pool: GpuPool) -> tuple[str, tuple[str | int, ...]]:
    path = ("nodeConfig", "guestAccelerators")
    first = block(next(iter(items(at(pool.resource.properties, *path))), None))
    install = block(first.get("gpuDriverInstallationConfig"))
    return text(install, "gpuDriverVersion"), path


def _installs(values: object) -> bool:
    """The operator installs the driver unless driver.enabled is false."""
    for driver in (at(values, "driver"), at(values, "spec", "driver")):
        if driver is not None:
            enabled = driver if is_entirely_placeholder(driver) else block(driver).get("enabled")
            return not is_switched_off(enabled) and not is_entirely_placeholder(enabled)
    return True


# GPU-GCP-05
_KNOWN = frozenset({"COS_CONTAINERD", "UBUNTU_CONTAINERD"})


def _check_node_image(resource: Resource, _: Parameters) -> Iterator[Violation]:
    image = text(at(resource.properties, "nodeConfig", "imageType")).upper()
    if gpu_pool(resource) is not None and image and image not in _KNOWN:
        yield Violation(
            ("nodeConfig", "imageType"),
            f"neither GKE nor the GPU Operator has a driver for {image}",
            "use COS_CONTAINERD, or UBUNTU_CONTAINERD with the GPU Operator's own driver",
        )


# GPU-GCP-06
def _check_maintenance(resource: Resource, _: Parameters) -> Iterator[Violation]:
    properties = resource.properties
    if resource.group_kind == _CLUSTER:
        channel = text(at(properties, "releaseChannel", "channel"))
        if channel in {"", "UNSPECIFIED"}:
            yield Violation(
                ("releaseChannel",),
                "without a release channel the version ages until GKE upgrades it automatically",
                "set releaseChannel to REGULAR or STABLE",
                severity=Severity.INFO if channel else None,
                is_advisory=bool(channel),  # an explicit value is deliberate
            )
    elif gpu_pool(resource) is not None and not (
        # GKE replaces flex-start nodes instead: it rejects auto repair for them
        is_true(at(properties, "nodeConfig", "flexStart"))
        or is_true(at(properties, "management", "autoRepair"))
    ):
        yield Violation(
            ("management", "autoRepair"),
            "a node with a failed GPU stays in the pool, and the next job fails on it too",
            "set management: {autoRepair: true}",
        )


def _check_windows(stack: Stack, _: Parameters) -> Iterator[Violation]:
    pools = stack.resources_of_kinds(NODE_POOL)
    if pools and all(map(_upgraded_by_hand, pools)):
        return
    for cluster in stack.resources_of_kinds(_CLUSTER):
        if cluster.properties.get("maintenancePolicy") is None:
            yield Violation(
                ("maintenancePolicy",),
                "GKE may upgrade and drain nodes at any time",
                "set a maintenance window, and exclusions for long training runs",
                cluster,
                is_advisory=_end_anyway(cluster, pools),
            )


def _end_anyway(cluster: Resource, pools: Sequence[Resource]) -> bool:
    """Whether all GPU nodes may be reclaimed at any time despite a window; False if unknown."""
    properties = cluster.properties
    try:
        # GKE itself creates nodes there when pods request them
        if is_true(properties.get("enableAutopilot")) or block(
            properties.get("clusterAutoscaling")
        ):
            return False
        results = list(gpu_pools((*pools, *_inline(cluster))))
        # queued and flex-start nodes serve one request and are deleted after it: GKE drains none
        return bool(results) and all(
            pool.only_spot
            or is_true(at(pool.resource.properties, "queuedProvisioning", "enabled"))
            or is_true(at(pool.resource.properties, "nodeConfig", "flexStart"))
            for pool in results
        )
    except NotEvaluatedError:
        return False


def _inline(cluster: Resource) -> Iterator[Resource]:
    """The pools in the cluster resource: the default pool and the listed ones."""
    for each in (cluster.properties, *mappings(cluster.properties, "nodePools")):
        yield Resource(NODE_POOL, cluster.name, {"nodeConfig": each.get("nodeConfig")})


def _upgraded_by_hand(pool: Resource) -> bool:
    """Whether only its owner upgrades it, as far as known."""
    management = pool.properties.get("management")
    result = management[0] if isinstance(management, list) and management else management
    return isinstance(result, Mapping) and result.get("autoUpgrade") is False


# GPU-GCP-07
def _check_keys(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == _CLUSTER and not _keyed(resource):
        yield Violation(
            ("databaseEncryption",),
            "Secrets in etcd are encrypted with a Google-owned key, which you can neither audit nor revoke",
            "set databaseEncryption: {state: ENCRYPTED, keyName: …}",
            is_advisory=True,
        )


def _check_cluster_keys(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Disks without a key are reported if another pool or the cluster has one; else only the cluster is."""
    pools = [pool for pool in stack.resources_of_kinds(NODE_POOL) if gpu_pool(pool) is not None]
    bare = [pool for pool in pools if not _keyed(pool)]
    if len(bare) == len(pools) and not any(map(_keyed, stack.resources_of_kinds(_CLUSTER))):
        return
    for pool in bare:
        yield Violation(
            ("nodeConfig", "bootDiskKmsKey"),
            "boot disks of these nodes use a Google-owned key, although you use your own key elsewhere",
            "set bootDiskKmsKey",
            pool,
        )


def _keyed(resource: Resource) -> bool:
    """Whether it is encrypted with a customer-managed key."""
    if resource.group_kind == _CLUSTER:
        return text(at(resource.properties, "databaseEncryption", "state")) == "ENCRYPTED"
    return bool(text(at(resource.properties, "nodeConfig", "bootDiskKmsKey")))


RULES = (
    load_rule("GPU-GCP-01", kinds=("gcp:container/Cluster",), check=_check_network),
    load_rule("GPU-GCP-02", kinds=(_CLUSTER, NODE_POOL), check=_check_identity),
    load_rule("GPU-GCP-03", kinds=(NODE_POOL,), check=_check_secure_boot),
    load_rule("GPU-GCP-04", kinds=(NODE_POOL,), check_stack=_check_driver_installer),
    load_rule("GPU-GCP-05", kinds=(NODE_POOL,), check=_check_node_image),
    load_rule(
        "GPU-GCP-06",
        kinds=(_CLUSTER, NODE_POOL),
        check=_check_maintenance,
        check_stack=_check_windows,
    ),
    load_rule(
        "GPU-GCP-07",
        kinds=(_CLUSTER, NODE_POOL),
        check=_check_keys,
        check_stack=_check_cluster_keys,
    ),
)
