"""The GPU Operator's chart with values from the plan: which parts it installs, and their settings.

The operator turns `mig.strategy` into an environment variable that overrides the strategy in every
pool's device plugin configuration. A value that fits all pools is still set: from an empty value
the chart renders `mig: null`, which server-side apply rejects (Helm 4, Argo CD) and client-side
apply drops.
"""

from collections.abc import Iterator
from typing import Any

from gpuyard.plan.records import OperatorParts, PlatformPlan
from gpuyard.plan.sharing.gke_sharing import is_gke_managed
from gpuyard.plan.software.support import config_map_names, counters_config_map
from gpuyard.render.charts import Release, chart_release
from gpuyard.render.data_files import filled_data
from gpuyard.render.gpu_operator.objects import (
    agent_tolerations,
    chart_upgrades,
    spans_racks,
)
from gpuyard.render.mirror import mirrored
from gpuyard.render.objects import Object, system_node_selector, system_tolerations
from gpuyard.render.pulled_image import PulledImage, published_image
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.catalogue.software.charts import (
    GPU_OPERATOR_CHART,
    NFD_IMAGE,
    OPERATOR_IMAGES,
    OperatorImage,
)
from gpuyard_core.catalogue.software.digests import digest_of, pinned_image_reference
from gpuyard_core.catalogue.software.images import SoftwarePart
from gpuyard_core.catalogue.software.pins import GPU_OPERATOR
from gpuyard_core.names import (
    ARCH_LABEL,
    GPU_OPERATOR_NAMESPACE,
)

_FILE = "gpu_operator/values.yaml"
_CONTROL_PLANE = {
    "key": "node-role.kubernetes.io/control-plane",
    "operator": "Equal",
    "value": "",
    "effect": "NoSchedule",
}
"""The chart's own toleration: a list in gpuyard's values replaces it."""
_EVERY_RELEASE = frozenset({"operator", "validator"})
"""Parts of the chart without a switch in gpuyard."""
_UNPRIVILEGED = {"ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED": "false"}
"""Otherwise a pod that sets NVIDIA_VISIBLE_DEVICES gets GPUs of others. Devices reach pods by
CDI."""
_BY_SYSTEM = {("driver",), ("gdrcopy",)}
"""Parts with one image per operating system: the operator appends the system's name to the tag."""


def gpu_operator_release(plan: PlatformPlan) -> Release | None:
    """The release; None if no pool needs an operator, and if one already exists."""
    if plan.operator is None or not plan.operator.install:
        return None
    values = operator_values(plan, plan.operator)
    return chart_release(plan, GPU_OPERATOR_CHART, GPU_OPERATOR_NAMESPACE, values)


def operator_values(plan: PlatformPlan, parts: OperatorParts) -> dict[str, Any]:
    """The chart's values."""
    mig, plugin = config_map_names(plan.spec)
    controllers, agents = [_CONTROL_PLANE, *system_tolerations()], _agents(plan)
    values: dict[str, Any] = filled_data(
        _FILE,
        "values",
        controllers=controllers,
        placed=system_node_selector(plan),
        agents=agents,
        workers=[*controllers, *agents],
        mig=mig_strategy(plan),
        driver_values=_driver(parts),
        plugin_config=plugin,
        mig_config=mig,
        exporter=_exporter(plan),
        observed=plan.observability is not None,
        gdrcopy=parts.gdrcopy,
        claims=_claims(plan, parts) if parts.claims else {},
        **parts.enabled,
    )
    variables = dict(parts.settings)
    if parts.enabled[SoftwarePart.TOOLKIT.value]:
        variables |= {f"toolkit.env.{name}": value for name, value in _UNPRIVILEGED.items()}
    for path, value in variables.items():
        _set(values, path.split("."), value)
    _versions_and_mirror(values, plan, parts)
    return values


def _exporter(plan: PlatformPlan) -> Any:
    """Values of the exporter.

    On a shared GPU, it looks for the pod of each process in /proc of the node, by the uid of the pod. Without both it
    reports that each pod uses no memory (dcgm-exporter 4.5.3-4.8.2 internal/pkg/transformation/pidmapper.go).
    """
    observed = plan.observability
    if observed is None:
        return {"enabled": True}
    variables = {
        "KUBERNETES_VIRTUAL_GPUS": observed.virtual_gpus,
        "KUBERNETES_ENABLE_DRA": observed.dra,
    }
    return filled_data(
        _FILE,
        "exporter",
        counters=counters_config_map(plan.spec),
        env=[{"name": name, "value": "true"} for name, used in variables.items() if used],
        pid={"hostPID": True, "enablePodUID": True} if observed.virtual_gpus else {},
    )


def _claims(plan: PlatformPlan, parts: OperatorParts) -> Any:
    results = filled_data(_FILE, "claims", racks=spans_racks(plan))
    if parts.driver is not None:
        driver = {"enabled": True, **_driver(parts), "nvidiaDriverCRD": {"enabled": True}}
        results["driver"] = driver
    return results


def mig_strategy(plan: PlatformPlan) -> str:
    """The strategy for all pools; empty, for one in each pool, if none fits: MPS excludes mixed."""
    if not any(pool.mig_config for pool in plan.pools):
        return "none"
    by_mps = (pool for pool in plan.pools if pool.sharing is SharingMethod.MPS)
    return "mixed" if all(map(is_gke_managed, by_mps)) else ""


def _agents(plan: PlatformPlan) -> list[Object]:
    """The taints of every pool, and the taint of the cloud for Arm nodes."""
    arm = plan.provider.taints_arm_nodes and any(
        pool.machine.arch == "arm64" for pool in plan.pools
    )
    taint = {"key": ARCH_LABEL, "operator": "Exists", "effect": "NoSchedule"}
    return agent_tolerations(plan) + ([taint] if arm else [])


def _driver(parts: OperatorParts) -> Any:
    if parts.driver is None:
        return {}
    modules, upgrades = parts.kernel_modules, chart_upgrades()
    return filled_data(_FILE, "driver", version=parts.driver, modules=modules, upgrades=upgrades)


def _set(values: dict[str, Any], path: list[str], value: str) -> None:
    """Sets one value; a key below `env` is a variable, and the chart has a list of these."""
    *above, key = path
    at: Any = values
    for each in above:
        at = at.setdefault(each, [] if each == "env" else {})
    if isinstance(at, list):
        at.append({"name": key, "value": value})
    else:
        at[key] = value


def _versions_and_mirror(values: dict[str, Any], plan: PlatformPlan, parts: OperatorParts) -> None:
    """Versions that the stack file sets or that have a digest, and repositories of a mirror.

    A version may be a tag with a digest: the operator and its chart put a colon before any version
    (internal/image of v26.7.0). An image with a tag for each operating system supports only a tag.
    """
    for image in OPERATOR_IMAGES:
        if plan.spec.mirror is not None:
            _set(values, [*image.values, "repository"], mirrored(plan.spec, image.repository))
        tag = _operator_tag(plan, image)
        picked = image.pin in plan.spec.software
        if picked or (_uses_image(image, values, parts) and digest_of(image.home, tag)):
            _set(values, [*image.values, "version"], pinned_image_reference(image.home, tag))
    nfd = ["node-feature-discovery", "image"]
    if tag := _nfd_tag(plan):
        _set(values, [*nfd, "tag"], pinned_image_reference(NFD_IMAGE, tag))
    if plan.spec.mirror is not None:
        _set(values, [*nfd, "repository"], mirrored(plan.spec, NFD_IMAGE))


def operator_images(plan: PlatformPlan) -> Iterator[PulledImage]:
    """The images of the operator and its parts; none if gpuyard does not install it."""
    parts = plan.operator
    if parts is None or not parts.install:
        return
    values, title = operator_values(plan, parts), GPU_OPERATOR_CHART.title
    for image in OPERATOR_IMAGES:
        if not _uses_image(image, values, parts):
            continue
        tag = _operator_tag(plan, image)
        if image.values == ("driver",) and parts.driver:
            tag = image.tag.format(parts.driver)
        adds = "the operating system of the node, as -ubuntu24.04"
        suffix = adds if image.values in _BY_SYSTEM else ""
        yield published_image(plan, image.home, tag, title, suffix)
    yield published_image(plan, NFD_IMAGE, _nfd_tag(plan), title)


def _uses_image(image: OperatorImage, values: dict[str, Any], parts: OperatorParts) -> bool:
    """Whether a pod uses the image."""
    section = image.values[0]
    if section == "draDriver":
        return parts.claims
    return section in _EVERY_RELEASE or values[section]["enabled"] is True


def _operator_tag(plan: PlatformPlan, image: OperatorImage) -> str:
    """The tag of the image; empty if an unknown version of the chart sets its own."""
    if image.pin:
        return _tag(plan, image.pin, image.tag)
    return GPU_OPERATOR_CHART.tag.format(plan.software[GPU_OPERATOR_CHART.pin])


def _nfd_tag(plan: PlatformPlan) -> str:
    """The tag of the image of the subchart."""
    return _tag(plan, "node-feature-discovery", "v{}")


def _tag(plan: PlatformPlan, pin: str, tag: str) -> str:
    known = plan.software[GPU_OPERATOR_CHART.pin] == GPU_OPERATOR.version
    return tag.format(plan.software[pin]) if known or pin in plan.spec.software else ""
