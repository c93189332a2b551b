"""GPU-CFG-01: the device plugin reads all fields of its sharing configuration."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuyard_core.catalogue.sharing import MAX_REPLICAS
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.placeholders import is_entirely_placeholder
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.rule import (
    Parameters,
    PartlyKnown,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    known_value,
    mapping,
    number,
    once_per_stack,
    text,
)
from gpuyard_lint.rules.shr.gpu_shr_01_sharing_in_one_team import PLUGIN
from gpuyard_lint.rules.subjects.components import OPERATOR_VALUES, OPERATORS, is_switched_off
from gpuyard_lint.rules.subjects.installed_versions import chooses_configs
from gpuyard_lint.rules.subjects.mig_parted import MIG_PARTED, has_partitions
from gpuyard_lint.rules.subjects.operator_texts import is_undefined_config_map, texts_of

_METHODS = ("timeSlicing", "mps")
_LEAST = 2
_OWN = frozenset({"renameByDefault", "failRequestsGreaterThanOne", "resources"})
_OF_RESOURCE = frozenset({"name", "replicas", "rename", "devices"})
_MEMORY = "memory"
_SHARES = "replicas"
_FOR_ALL = re.compile(r"default|any|all|config(?:\.ya?ml)?")
"""Names for all nodes; a configuration named after its GPUs may be selected by a node label."""
_EXAMPLE = "resources: [{name: nvidia.com/gpu, replicas: 4}]"


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for config in stack.resources_of_kinds(PLUGIN):
        sharing = mapping(config.properties.get("sharing"))
        copied = _is_of_the_documentation(sharing)
        for path, problem, fix in _sharing(sharing):
            choice = copied and path[-1:] == ("replicas",)
            choice |= _is_said_below(sharing, path)
            yield Violation(("sharing", *path), problem, fix, config, is_advisory=choice)
        yield from _strategy(config, stack)
    for operator in stack.resources_of_kinds(*OPERATORS):
        yield from _chosen(operator, stack)


def _chosen(operator: Resource, stack: Stack) -> Iterator[Violation]:
    """A configuration meant for all nodes that the operator does not select."""
    base = OPERATORS[operator.group_kind]
    path: Path = (*base, "devicePlugin", "config")
    config = mapping(at(operator.properties, *path))
    name = text(config.get("name"))
    config_texts = texts_of(config, stack)
    if base == () and is_undefined_config_map(config, stack):
        yield Violation(
            (*path, "create"),
            f"config.data without create: true creates no ConfigMap: no file here defines {name}, and without it"
            " the device plugin does not start",
            "set devicePlugin.config.create: true",
            operator,
        )
        return
    default = text(config.get("default"))
    if default and not _is_off(operator) and _is_none_of(default, config, stack):
        yield Violation(
            (*path, "default"),
            f"{name} has no configuration {default}: on nodes without a label that selects one, the device"
            " plugin does not start",
            f"set devicePlugin.config.default to one of {', '.join(sorted(map(str, config_texts)))}",
            operator,
        )
        return
    meant = _for_all(config_texts) if name and not default else ""
    if meant and not _is_off(operator) and not chooses_configs(stack):
        yield Violation(
            (*path, "default"),
            f"nothing selects a configuration of {name}: the operator selects none by name,"
            f" not even {meant}, so nodes without a label for it do not share GPUs",
            f"set devicePlugin.config.default: {meant}",
            operator,
            Severity.WARNING,
        )


def _is_none_of(default: str, config: Mapping[str, Any], stack: Stack) -> bool:
    """Whether a configuration is in no ConfigMap of that name; all of them must be known."""
    inline = [mapping(config.get("data"))] if config.get("create") is True else []
    named = stack.resources_named(text(config.get("name")), "ConfigMap")
    results = [*inline, *(mapping(each.properties.get("data")) for each in named)]
    is_complete = not any(isinstance(each, PartlyKnown) or not each for each in results)
    known_name = not is_entirely_placeholder(default) and not any(
        is_entirely_placeholder(str(n)) for g in results for n in g
    )
    return (
        bool(results)
        and is_complete
        and known_name
        and all(default not in each for each in results)
    )


def _for_all(configs: Mapping[Any, Any]) -> str:
    """The name of the configuration that shares GPUs on all nodes; "" if none does."""
    sharing = [str(name) for name, content in configs.items() if _SHARES in str(content)]
    return next((name for name in sharing if _FOR_ALL.fullmatch(name)), "")


def _is_off(operator: Resource) -> bool:
    base = OPERATORS[operator.group_kind]
    return is_switched_off(at(operator.properties, *base, "devicePlugin", "enabled"))


_DOCUMENTED: Mapping[str, int] = {
    "nvidia.com/mig-1g.5gb": 1,
    "nvidia.com/mig-2g.10gb": 2,
    "nvidia.com/mig-3g.20gb": 3,
    "nvidia.com/mig-7g.40gb": 7,
}
"""An entry of NVIDIA's page on time-slicing on OpenShift, which many have copied."""


def _is_of_the_documentation(sharing: Mapping[str, Any]) -> bool:
    """Whether the slices are those of that page, with the same replicas."""
    listed = mapping(sharing.get("timeSlicing")).get("resources")
    result = (
        [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    )
    replicas_by_name = {each.get("name"): each.get("replicas") for each in result}
    return {name: replicas_by_name.get(name) for name in _DOCUMENTED} == _DOCUMENTED


def _is_said_below(sharing: Mapping[str, Any], path: Path) -> bool:
    """Whether a number next to `resources` equals that of each entry: dropping it loses nothing."""
    method = mapping(sharing.get(str(path[0]))) if path[1:] == ("replicas",) else {}
    replica_counts = [mapping(each).get("replicas") for each in items(method.get("resources"))]
    return bool(replica_counts) and set(replica_counts) == {method.get("replicas")}


_Said = tuple[Path, str, str]
_NO_FIELD = "not a field here and is silently dropped"
_NAME, _MORE = "write name: nvidia.com/gpu", f"write {_LEAST} or more"


def _sharing(sharing: Mapping[str, Any]) -> Iterator[_Said]:
    methods = [method for method in _METHODS if method in sharing]
    if len(methods) == len(_METHODS):
        yield (), "timeSlicing and mps are both set: the plugin accepts one", "keep one of them"
    for method in methods:
        result = mapping(sharing[method])
        listed = items(result.get("resources"))
        unexpected = [key for key in result if key not in _OWN]
        meant = [] if listed else [key for key in unexpected if _is_for_resources(key)]
        for key in unexpected:
            if key not in meant:
                yield (method, key), f"{key} is {_NO_FIELD}", _instead(key)
        if not listed:
            yield _unlisted(method, meant)
        for index, each in enumerate(listed):
            for path, problem, fix in _resource(mapping(each), method):
                yield (method, "resources", index, *path), problem, fix


def _is_for_resources(key: str) -> bool:
    """Whether a key belongs in the list of resources."""
    return key in _OF_RESOURCE or nearest_name(key, ["resources"]) is not None


def _unlisted(method: str, meant: Sequence[str]) -> _Said:
    """A missing list, as one violation with the keys in its place."""
    stops = "the plugin exits with `no resources specified`"
    if not meant:
        return (method,), f"{method} has no resources: {stops}", f"write {_EXAMPLE} below it"
    are = "are not fields" if meant[1:] else "is not a field"
    problem = f"{' and '.join(meant)} {are} here; without resources {stops}"
    return (method, meant[0]), problem, f"write {_EXAMPLE} for it"


def _resource(each: Mapping[str, Any], method: str) -> Iterator[_Said]:
    unexpected = {key: value for key, value in each.items() if key not in _OF_RESOURCE}
    numbers = [key for key, value in unexpected.items() if type(value) is int and not _limits(key)]
    names = [key for key, value in unexpected.items() if isinstance(value, str) and "/" in value]
    if not text(each.get("name")):
        meant = names[0] if names else ""
        unexpected.pop(meant, None)
        yield _missing("name", meant, "the plugin rejects a shared resource without a name", _NAME)
    replicas = number(each.get("replicas"))
    if replicas is None:
        meant = numbers[0] if numbers else ""
        unexpected.pop(meant, None)
        yield _missing("replicas", meant, "without replicas the plugin does not start", _MORE)
    elif replicas < _LEAST:
        yield ("replicas",), f"with replicas: {replicas:g} the plugin does not start", _MORE
    elif method == "mps" and replicas > MAX_REPLICAS:
        yield (
            ("replicas",),
            f"replicas is {replicas:g}; MPS serves at most {MAX_REPLICAS} clients",
            f"write {MAX_REPLICAS} or less",
        )
    for key in unexpected:
        yield (key,), f"{key} is {_NO_FIELD}", _instead(key)


def _missing(field: str, meant: str, problem: str, fix: str) -> _Said:
    """A missing field, as one violation with the key written in its place."""
    if meant:
        return (
            (meant,),
            f"{meant} is not a field here: {problem}",
            f"write {field} instead of {meant}",
        )
    return (() if field == "name" else (field,)), problem, fix


def _limits(key: str) -> bool:
    return _MEMORY in key.lower()


def _instead(key: str) -> str:
    if _limits(key):
        return "remove it: time-slicing limits no memory; MPS and MIG do"
    return f"remove it; the plugin reads {_EXAMPLE}"


def _strategy(config: Resource, stack: Stack) -> Iterator[Violation]:
    """The MIG strategy of a configuration, compared with the one that the operator sets by environment."""
    expected = text(at(config.properties, "flags", "migStrategy"))
    if expected == "mixed" and "mps" in mapping(config.properties.get("sharing")):
        problem = "the plugin rejects MPS together with migStrategy: mixed"
        yield Violation(("sharing", "mps"), problem, "use one of them", config)
    if not expected:
        return
    for (strategy, without_mig), defaults in _strategies(stack).items():
        if strategy != expected and not _says_the_same(strategy, expected, stack):
            is_opt_in = defaults.isdisjoint({"", config.name})  # only a node label selects this one
            yield Violation(
                ("flags", "migStrategy"),
                f"the operator's mig.strategy, {strategy}, overrides {expected} here: it sets MIG_STRATEGY",
                f'set mig.strategy of the operator to "" or to {expected}',
                config,
                Severity.INFO if is_opt_in else None,
                is_advisory=is_opt_in or without_mig,
            )


@once_per_stack
def _strategies(stack: Stack) -> Mapping[tuple[str, bool], set[str]]:
    """The default configurations of the operators, by MIG strategy and whether they partition no GPU."""
    found: dict[tuple[str, bool], set[str]] = {}
    for operator in stack.resources_of_kinds(*OPERATORS):
        base, in_values = OPERATORS[operator.group_kind], operator.group_kind == OPERATOR_VALUES
        mig = at(operator.properties, *base, "mig")
        said = known_value(mig.get("strategy")) if isinstance(mig, Mapping) else None
        strategy = "single" if said is None and in_values else said
        if strategy and not is_entirely_placeholder(strategy) and not is_entirely_placeholder(mig):
            config = mapping(at(operator.properties, *base, "devicePlugin", "config"))
            by_strategy = found.setdefault((str(strategy), _is_without_mig(operator, base)), set())
            by_strategy.add(text(config.get("default")))
    return found


def _is_without_mig(operator: Resource, base: Path) -> bool:
    """Whether no GPU is partitioned: the strategy then has no effect."""
    manager = at(operator.properties, *base).get("migManager")
    return isinstance(manager, Mapping) and is_switched_off(manager.get("enabled"))


def _says_the_same(strategy: str, expected: str, stack: Stack) -> bool:
    """Whether both strategies advertise every GPU identically.

    `mixed` advertises a GPU without MIG as `none` does; `single` and `none` differ on GPUs with MIG only.
    """
    if (strategy, expected) == ("mixed", "none"):
        return True
    return {strategy, expected} == {"none", "single"} and not _any_cuts(stack)


@once_per_stack
def _any_cuts(stack: Stack) -> bool:
    return any(map(has_partitions, stack.resources_of_kinds(MIG_PARTED)))


RULE = Rule(
    id="GPU-CFG-01",
    title="A device-plugin configuration uses fields that the plugin reads",
    severity=Severity.ERROR,
    why="The plugin silently drops unknown fields; without resources it exits, and the node has no GPU.",
    fix="Set sharing.timeSlicing.resources (or mps.resources) with name and replicas, and nothing else.",
    sources=(
        "NVIDIA/k8s-device-plugin v0.20.0, api/config/v1: sharing.go, replicas.go",
        "NVIDIA/gpu-operator controllers/object_controls.go: FALLBACK_STRATEGIES is empty since v1.11.0",
    ),
    kinds=(PLUGIN,),
    check_stack=_check,
)
