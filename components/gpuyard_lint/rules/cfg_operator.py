"""Rules on the configuration of the GPU Operator and its device plugin."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from gpuyard_core.catalogue.sharing import MAX_REPLICAS
from gpuyard_core.catalogue.software.operator_values import (
    FIELDS,
    OF_A_RELEASE,
    SECTIONS,
    TOP_LEVEL,
)
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import at, at_path, items, known_value, mapping, number, text
from gpuyard_core.manifests.placeholders import is_entirely_placeholder
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.rule import (
    Parameters,
    PartlyKnown,
    Resource,
    Stack,
    Violation,
    load_rule,
    once_per_stack,
    read_table,
)
from gpuyard_lint.rules.shr import PLUGIN
from gpuyard_lint.rules.subjects.components import (
    CLUSTER_POLICY,
    OPERATOR_VALUES,
    OPERATORS,
    is_switched_off,
)
from gpuyard_lint.rules.subjects.installed_versions import chooses_configs
from gpuyard_lint.rules.subjects.mig_parted import (
    MIG_PARTED,
    has_partitions,
    is_undefined_config_map,
    texts_of,
)
from gpuyard_lint.rules.subjects.operator_settings import (
    is_default,
    is_empty_config,
    is_enable_flag,
    is_off,
    is_setting_satisfied,
    normalize_key,
    suggest_field,
    suggested_setting,
)

# GPU-CFG-01
_METHODS = ("timeSlicing", "mps")
_LEAST = 2
_OWN = frozenset({"renameByDefault", "failRequestsGreaterThanOne", "resources"})
_OF_RESOURCE = frozenset({"name", "replicas", "rename", "devices"})
_MEMORY = "memory"
_SHARES = "replicas"
_FOR_ALL = re.compile(r"default|any|all|config(?:\.ya?ml)?")
"""Names for all nodes; a configuration named after its GPUs may be selected by a node label."""
_EXAMPLE = "resources: [{name: nvidia.com/gpu, replicas: 4}]"


def _check_sharing(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for config in stack.resources_of_kinds(PLUGIN):
        sharing = mapping(config.properties, "sharing")
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
    name = text(config, "name")
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
    default = text(config, "default")
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
    inline = [mapping(config, "data")] if config.get("create") is True else []
    named = stack.resources_named(text(config, "name"), "ConfigMap")
    results = [*inline, *(mapping(each.properties, "data") for each in named)]
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
    listed = mapping(sharing, "timeSlicing").get("resources")
    result = (
        [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    )
    replicas_by_name = {each.get("name"): each.get("replicas") for each in result}
    return {name: replicas_by_name.get(name) for name in _DOCUMENTED} == _DOCUMENTED


def _is_said_below(sharing: Mapping[str, Any], path: Path) -> bool:
    """Whether a number next to `resources` equals that of each entry: dropping it loses nothing."""
    method = mapping(sharing.get(str(path[0]))) if path[1:] == ("replicas",) else {}
    replica_counts = [mapping(each).get("replicas") for each in items(method, "resources")]
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
        listed = items(result, "resources")
        unexpected = [key for key in result if key not in _OWN]
        meant = [
            key  # it belongs in the list of resources
            for key in ([] if listed else unexpected)
            if key in _OF_RESOURCE or nearest_name(key, ["resources"]) is not None
        ]
        for key in unexpected:
            if key not in meant:
                yield (method, key), f"{key} is {_NO_FIELD}", _instead(key)
        if not listed:
            yield _unlisted(method, meant)
        for index, each in enumerate(listed):
            for path, problem, fix in _resource(mapping(each), method):
                yield (method, "resources", index, *path), problem, fix


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
    if not text(each, "name"):
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
    if expected == "mixed" and "mps" in mapping(config.properties, "sharing"):
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
            by_strategy.add(text(config, "default"))
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


# GPU-CFG-02
_FOUND = ("operator", "defaultRuntime")
"""Without effect: the operator detects the setting."""
_INSTEAD: Mapping[tuple[str, ...], str] = {
    tuple(key.split(".")): fix for key, fix in read_table("operator_keys_of_guides").items()
}
"""Keys from guides that the chart does not have, or reads and drops."""
_FAILS = frozenset(
    {("mig", "config"), ("migParted",), ("devicePlugin", "mps", "enabled"), ("mps",)}
)
"""Settings without which pods wait for missing slices or shares."""
_SLIP = 0.9
"""Minimum similarity of a misspelled key, so that keys with only a common prefix do not match."""
_OLD_OPERATOR, _OLD_TOOLKIT = re.compile(r"v?1\.\d+\."), re.compile(r"1\.[0-7]\.|v1\.(?:[89]|10)\.")
_STRATEGIES = ("none", "single", "mixed", "")
_LAYOUTS = ("all-disabled", "")


def _check_values(resource: Resource, _: Parameters) -> Iterator[Violation]:
    in_values = resource.group_kind == OPERATOR_VALUES
    base: Path = () if in_values else ("spec",)
    values = resource.properties if in_values else mapping(resource.properties, "spec")
    if in_values and not _of_before(values):
        yield from _ignored_keys(values)
    yield from _wrong(values, base)


def _of_before(values: Mapping[str, Any]) -> bool:
    """Whether the operator versions are before 22.9: that chart had other keys, and tags had no v."""
    operator, toolkit = (text(at(values, part, "version")) for part in ("operator", "toolkit"))
    return bool(_OLD_OPERATOR.match(operator) or _OLD_TOOLKIT.match(toolkit))


def _ignored_keys(values: Mapping[str, Any]) -> Iterator[Violation]:
    known_paths = set()
    for path, instead in _INSTEAD.items():
        value = at(values, *path)
        if value is not None:
            known_paths.add(path)
            yield _dropped(path, instead, _of_guides(path, value, values))
    for key, below in values.items():
        if key not in TOP_LEVEL and (key,) not in known_paths:
            suggestion = suggested_setting(key) or nearest_name(key, sorted(TOP_LEVEL))
            severity = _severity(key, below, suggestion, values)
            yield _dropped((key,), f"write {suggestion}" if suggestion else "remove it", severity)
        for name in mapping(known_value(below)) if key in SECTIONS else ():
            if name not in SECTIONS[key] and (key, name) not in known_paths:
                suggestion = nearest_name(name, sorted(SECTIONS[key]))
                severity = _severity(
                    name, mapping(known_value(below))[name], suggestion, values, key
                )
                yield _dropped(
                    (key, name),
                    f"write {key}.{suggestion}" if suggestion else "remove it",
                    severity,
                )
    for path in FIELDS:
        yield from _unread_below(path, values, known_paths)


def _unread_below(
    path: tuple[str, ...], values: Mapping[str, Any], known_paths: Container[tuple[str, ...]]
) -> Iterator[Violation]:
    """Keys below the second level that are not fields there."""
    value = at_path(values, path)
    for name, below in value.items() if isinstance(value, Mapping) else ():
        if name not in FIELDS[path] and (*path, name) not in known_paths:
            suggestion = suggest_field(name, FIELDS[path])
            fix = f"write {'.'.join((*path, suggestion))}" if suggestion else "remove it"
            so_anyway = is_enable_flag(name) and is_setting_satisfied(name, below, values)
            severity = Severity.INFO if so_anyway else _lost_below(path, name, below, suggestion)
            yield _dropped((*path, name), fix, severity)


def _dropped(path: tuple[str, ...], fix: str, severity: Severity | None) -> Violation:
    message = f"{'.'.join(path)} is not a value of the chart: it has no effect"
    if severity is Severity.INFO:
        message = (
            f"{'.'.join(path)} is not a value of the current chart: it is dropped, without loss"
        )
    return Violation(path, message, fix, severity=severity, is_advisory=severity is Severity.INFO)


def _of_guides(path: tuple[str, ...], value: Any, values: Mapping[str, Any]) -> Severity | None:
    section = path[0]
    idle = path == ("devicePlugin", "mps", "replicas") and at(values, *path[:2], "enabled") is False
    if path == ("mps",):  # `met` mistakes its replicas for those of the chart
        return Severity.INFO if is_off(value) or is_empty_config(value) else None
    off = value in _LAYOUTS or (value is False and not is_enable_flag(path[-1]))
    if off or path == _FOUND or idle or is_setting_satisfied(path[-1], value, values, section):
        return Severity.INFO
    return None if path in _FAILS else Severity.WARNING


def _severity(
    name: str, value: Any, suggestion: str | None, values: Mapping[str, Any], section: str = ""
) -> Severity | None:
    """The severity: lower if nothing is lost or the requested state is the default anyway.

    Higher where a component stays enabled that should be disabled, or where only a letter is wrong.
    """
    nothing = is_empty_config(value, off=not suggestion and not is_enable_flag(name))
    if nothing or is_setting_satisfied(name, value, values, section, suggestion):
        return Severity.INFO
    return (
        None if suggestion and (is_off(value) or _is_slip(name, suggestion)) else Severity.WARNING
    )


def _lost_below(
    path: tuple[str, ...], name: str, value: Any, suggestion: str | None
) -> Severity | None:
    """The same for a field of a closed object: a default value is not lost."""
    idle = suggestion is None and (value is True and normalize_key(name) == "enabled")
    if (
        idle
        or is_empty_config(value, off=suggestion is None)
        or is_default(path, suggestion, value)
    ):
        return Severity.INFO
    sure = suggestion and FIELDS[path][suggestion] != OF_A_RELEASE
    return (
        None if sure and (is_off(value) or _is_slip(name, suggestion or "")) else Severity.WARNING
    )


def _is_slip(name: str, suggestion: str) -> bool:
    are_identical = (
        SequenceMatcher(None, normalize_key(name), normalize_key(suggestion)).ratio() >= _SLIP
    )
    return are_identical or suggested_setting(name) == suggestion


def _wrong(values: Mapping[str, Any], base: Path) -> Iterator[Violation]:
    layout = text(at(values, "migManager", "config", "default"))
    if layout not in _LAYOUTS:
        yield Violation(
            (*base, "migManager", "config", "default"),
            f"{layout} is rejected: a ClusterPolicy allows only all-disabled here",
            f"label nodes nvidia.com/mig.config={layout}",
        )
    strategy = at(values, "mig", "strategy")
    if strategy is not None and strategy not in _STRATEGIES:
        yield Violation(
            (*base, "mig", "strategy"),
            f"mig.strategy {strategy} is rejected: it must be none, single or mixed",
            "write one of them",
        )
    version = text(at(values, "toolkit", "version"))
    if version[:1].isdigit() and not _of_before(values):
        yield Violation(
            (*base, "toolkit", "version"),
            f"the container toolkit has no image with tag {version}: tags begin with v",
            f"write v{version}",
        )


RULES = (
    load_rule("GPU-CFG-01", kinds=(PLUGIN,), check_stack=_check_sharing),
    load_rule("GPU-CFG-02", kinds=(OPERATOR_VALUES, CLUSTER_POLICY), check=_check_values),
)
