"""The effect that a key unknown to the GPU Operator's chart intends, and whether it applies anyway.

Guides and other charts have keys such as `tolerations` at the top, `driver.nodeSelector` or
`nodeFeatureDiscovery.enabled`. If the chart does the same by default, or another value decides it,
such a key is harmless.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gpuyard_core.catalogue.software.operator_releases import closest_release
from gpuyard_core.catalogue.software.operator_values import (
    BY_OTHER_NAMES,
    DEFAULT_PRIORITY,
    DEFAULT_STRATEGY,
    FIELDS,
    GPU_TAINT,
    ON_BY_ITSELF,
    SECTIONS,
    TOP_LEVEL,
)
from gpuyard_core.manifests.fields import at_path
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.rule import read_table

Values = Mapping[str, Any]
_Wish = Callable[[Any, Values, str], bool]
_RUNTIMES = frozenset({"nvidia", "containerd", "docker", "crio", "cri-o"})
_PRIVILEGED = frozenset({"driver", "toolkit", "devicePlugin", "gfd", "migManager", "validator"})
"""Components whose pods the operator runs as privileged."""
_AS_THEY_RUN = ({"privileged": True}, {"privileged": True, "seLinuxOptions": {"level": "s0"}})
_TELLING = 5
"""Minimum length of an unambiguous name: `interval`, but not `name`."""
_EXPORTER_PORT = 9400
_YES = ("true", True, "present", "yes", "")
_OF_EVERY_GPU = ("cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator")
"""Labels with the GPU model that cloud nodes have."""


def normalize_key(name: Any) -> str:
    """A name in lowercase without punctuation: one setting has many spellings."""
    return "".join(sign for sign in str(name).lower() if sign.isalnum())


_SECTIONS: Mapping[str, str] = {
    **{normalize_key(each): each for each in TOP_LEVEL},
    **BY_OTHER_NAMES,
}


def suggested_setting(name: str) -> str | None:
    """The top-level key with this name in other charts."""
    return _SECTIONS.get(normalize_key(name))


def suggest_field(name: str, fields: Iterable[str]) -> str | None:
    """The intended field of a closed object: a similar one, or the only one that contains the name."""
    suggestion = nearest_name(name, sorted(fields))
    if suggestion is not None:
        return suggestion
    word = normalize_key(name)
    containing = [each for each in sorted(fields) if _is_part(word, normalize_key(each))]
    return containing[0] if len(containing) == 1 else None


def _is_part(word: str, field: str) -> bool:
    short, long = sorted((word, field), key=len)
    return len(short) >= _TELLING and (long.startswith(short) or long.endswith(short))


def is_default(path: tuple[str, ...], field: str | None, value: Any) -> bool:
    """Whether the chart has this value as the default of the field at this path."""
    default = FIELDS[path][field] if field else None
    return default is not None and value == default and type(value) is type(default)


def is_empty_config(value: Any, *, off: bool = False) -> bool:
    """True if nothing is set; with `off`, also if things are only disabled."""
    if isinstance(value, Mapping):
        return all(is_empty_config(each, off=off) for each in value.values())
    return value in (None, "", []) or (off and value is False)


def is_off(value: Any) -> bool:
    """Whether it disables something."""
    return value is False or (isinstance(value, Mapping) and value.get("enabled") is False)


_OF_EVERY_RELEASE = frozenset(read_table("operator_keys"))
"""Keys that the chart's own values have had for years."""
_NEARLY_ALL, _OF_A_POLICY = 18, 13
"""A ClusterPolicy has fewer: settings of the chart alone are not in it."""


def is_full_copy(values: Values, *, policy: bool = False) -> bool:
    """Whether nearly all values of the chart are set: only a generated copy does so."""
    return len(_OF_EVERY_RELEASE & set(values)) >= (_OF_A_POLICY if policy else _NEARLY_ALL)


def is_as_released(values: Values, part: str) -> bool:
    """Whether a component has the version of the release whose default values were copied."""
    if not is_full_copy(values):
        return False
    versions = {
        name: str(each.get("version"))
        for name, each in values.items()
        if isinstance(each, Mapping) and isinstance(each.get("version"), str)
    }
    return closest_release(versions).get(part) == versions.get(part) is not None


def is_enable_flag(name: str) -> bool:
    """Whether the effect of a key with this name is known; a disabled key of unknown effect is not."""
    return normalize_key(name) in _WISHES


def is_setting_satisfied(
    name: str, value: Any, values: Values, section: str = "", suggestion: str | None = None
) -> bool:
    """Whether the chart has the intended effect by default, or decides it by another key."""
    wish = _WISHES.get(normalize_key(name))
    if wish is not None:
        return wish(value, values, section)
    if section:
        return _is_switch(name, suggestion, section) and value is (
            section in ON_BY_ITSELF | _UNSWITCHED
        )
    part = suggestion or name
    if _stands_in(value, values.get(part)):
        return True
    switch = value.get("enabled") if isinstance(value, Mapping) and len(value) == 1 else None
    if switch is True:
        return part in ON_BY_ITSELF and at_path(values, (part, "enabled")) is not False
    return switch is False and part in SECTIONS and part not in ON_BY_ITSELF


def _stands_in(value: Any, section: Any) -> bool:
    """Whether the section that the chart reads already contains the setting."""
    if not isinstance(value, Mapping) or not isinstance(section, Mapping) or not value:
        return False
    return all(
        name in section and (section[name] == each or _stands_in(each, section[name]))
        for name, each in value.items()
    )


_UNSWITCHED = frozenset(name for name, keys in SECTIONS.items() if "enabled" not in keys)
"""Components that cannot be disabled."""


def _is_switch(name: str, suggestion: str | None, section: str) -> bool:
    return suggestion == "enabled" or (normalize_key(name) == "enabled" and section in _UNSWITCHED)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(each)
    else:
        yield value


def _tolerated(value: Any, values: Values, _: str) -> bool:
    """Only the taint of GPU nodes, which the DaemonSets tolerate unless values override that."""
    own = at_path(values, ("daemonsets", "tolerations"))
    tolerates_gpus = not isinstance(own, list) or any(_of_gpus(each) for each in own)
    return tolerates_gpus and isinstance(value, list) and all(_of_gpus(each) for each in value)


def _of_gpus(each: Any) -> bool:
    if not isinstance(each, Mapping) or each.get("tolerationSeconds") is not None:
        return False
    return each.get("key") == GPU_TAINT and each.get("effect") in (None, "", "NoSchedule")


def _selected(value: Any, _: Values, __: str) -> bool:
    """Only GPU nodes, which the operator finds by their labels anyway."""
    return isinstance(value, Mapping) and all(_says_gpu(*each) for each in value.items())


def _says_gpu(label: Any, value: Any) -> bool:
    if label in ("kubernetes.io/os", "karpenter.k8s.aws/instance-gpu-manufacturer"):
        return value in ("linux", "nvidia")
    return _is_of_gpus(str(label)) and value in _YES


def _is_of_gpus(label: str) -> bool:
    """A label of every node with a GPU, and of no other: of NFD, of GFD, of the operator, of Talos."""
    prefix, _, name = label.partition("/")
    if prefix == "nvidia.com":
        return name in ("gpu", "gpu.present") or name.startswith("gpu.deploy.")
    if prefix == "feature.node.kubernetes.io":
        return name.startswith("pci-") and "10de" in name
    return prefix == "extensions.talos.dev" and "nvidia" in name


def _is_gpu_affinity(value: Any, _: Values, __: str) -> bool:
    """An affinity for GPU nodes and for nothing else."""
    if not isinstance(value, Mapping) or set(value) != {"nodeAffinity"}:
        return False
    results = list(_expressions(value["nodeAffinity"]))
    return bool(results) and all(_expects_gpu(each) for each in results)


def _expressions(value: Any) -> Iterator[Any]:
    """All expressions of the node selector terms."""
    if isinstance(value, list):
        for each in value:
            yield from _expressions(each)
    elif isinstance(value, Mapping):
        for name, below in value.items():
            if name in ("matchExpressions", "matchFields") and isinstance(below, list):
                yield from below
            else:
                yield from _expressions(below)


def _expects_gpu(expression: Any) -> bool:
    if not isinstance(expression, Mapping):
        return False
    label, sign, label_values = (
        str(expression.get("key")),
        expression.get("operator"),
        expression.get("values"),
    )
    if sign == "Exists":
        gpus = label.startswith("nvidia.com/gpu.") or label in _OF_EVERY_GPU
        return gpus or _is_of_gpus(label)
    several = label_values if isinstance(label_values, list) else []
    return sign == "In" and bool(several) and all(_says_gpu(label, each) for each in several)


def _scraped(value: Any, _: Values, __: str) -> bool:
    """Only annotations for Prometheus, which the exporter's Service has anyway."""
    return isinstance(value, Mapping) and all(
        str(each).startswith("prometheus.io/") for each in value
    )


def _runs(value: Any, _: Values, __: str) -> bool:
    """A runtime that the operator detects on the node, or its runtime class."""
    return all(each is None or each in _RUNTIMES for each in _leaves(value))


def _is_default_strategy(value: Any, values: Values, _: str) -> bool:
    elsewhere = at_path(values, ("mig", "strategy"))
    return bool(value == (DEFAULT_STRATEGY if elsewhere is None else elsewhere))


def _ranked(value: Any, values: Values, _: str) -> bool:
    elsewhere = at_path(values, ("daemonsets", "priorityClassName"))
    return bool(value == (elsewhere or DEFAULT_PRIORITY))


def _replaced(value: Any, values: Values, _: str) -> bool:
    elsewhere = at_path(values, ("daemonsets", "updateStrategy"))
    one_by_one = value in ("RollingUpdate", {"type": "RollingUpdate"})
    return one_by_one and elsewhere in (None, "RollingUpdate")


def _by_objects(value: Any, values: Values, _: str) -> bool:
    """Drivers as separate objects: `driver.enabled` decides whether there are any."""
    switch = at_path(values, ("driver", "enabled"))
    is_enabled = isinstance(value, Mapping) and value.get("enabled") is True
    return switch is not None and not (is_enabled and switch is True)


def _is(expected: Any) -> _Wish:
    """Whether it is the default of the chart; 1 is not a boolean."""
    return lambda given, _, __: given == expected and type(given) is type(expected)


def _on(value: Any, _: Values, __: str) -> bool:
    return value is True


_WISHES: Mapping[str, _Wish] = {
    "tolerations": _tolerated,
    "nodeselector": _selected,
    "nodeselectors": _selected,
    "affinity": _is_gpu_affinity,
    **dict.fromkeys(("annotations", "podannotations"), _scraped),
    "port": _is(_EXPORTER_PORT),
    **dict.fromkeys(("runtime", "defaultruntime", "containerruntime"), _runs),
    **dict.fromkeys(("runtimeclass", "runtimeclassname"), _runs),
    "migstrategy": _is_default_strategy,
    "priorityclassname": _ranked,
    "securitycontext": lambda value, _, section: section in _PRIVILEGED and value in _AS_THEY_RUN,
    "updatestrategy": _replaced,
    "nvidiadrivercrd": _by_objects,
    # settings that the chart detects, such as the kernel module type
    **dict.fromkeys(
        ("useopenkernelmodules", "openkernelmodules"), lambda value, *_: isinstance(value, bool)
    ),
    "openkernelmodulesenabled": _on,
    "autoupgrade": _on,
    "maxparallelupgrades": _is(1),
    **dict.fromkeys(("replicas", "replicacount"), _is(1)),
    "imagepullpolicy": _is("IfNotPresent"),
    "loglevel": _is("info"),
    "failoniniterror": _on,
    # PodSecurityPolicies, which Kubernetes removed in 1.25: on and off are equivalent
    **dict.fromkeys(("psp", "podsecuritypolicy"), lambda *_: True),
    **dict.fromkeys(
        ("installcrds", "crds"), lambda value, *_: all(each is True for each in _leaves(value))
    ),
    **dict.fromkeys(("rbac", "serviceaccount"), _is({"create": True})),
}
"""By the normalized name of a key from guides: whether its intended effect applies anyway."""
