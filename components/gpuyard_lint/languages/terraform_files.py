"""Resources of Terraform and OpenTofu files: literals and locals; all else is unknown.

A folder is a module: its locals apply in each of its files. Values of variables, data sources and other
resources are unknown before a plan; variables from callers in the input are known.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_core.catalogue.cluster.machine_gpus import contains_gpu_machine_name
from gpuyard_core.findings import Path
from gpuyard_core.yaml.parse_budget import BUDGET_EXCEEDED, ParseBudget, ParseBudgetExceeded
from gpuyard_core.yaml_tree import MAX_BYTES
from gpuyard_lint.embedded_values import with_embedded
from gpuyard_lint.items import FileLocation, Item, LintInput, SkippedFile, ValuesOverlay
from gpuyard_lint.kubernetes import is_object, with_placeholder_strings
from gpuyard_lint.kubernetes import resource as kubernetes_resource
from gpuyard_lint.languages.hcl import HclBlock, HclError, HclForm, HclTerm, parse_hcl
from gpuyard_lint.languages.hcl_values import (
    UNKNOWN_PART,
    Module,
    Places,
    merge_overlays,
    without_unknowns,
)
from gpuyard_lint.languages.helm_sets import (
    nested_value,
    parse_set_value,
    repository_chart_name,
    steps_of,
)
from gpuyard_lint.languages.terraform_calls import calls_external_cluster_module
from gpuyard_lint.languages.terraform_objects import OBJECTS, kubernetes_object, object_location
from gpuyard_lint.rules.rule import UNKNOWN, Resource
from gpuyard_lint.terraform import (
    KINDS,
    MANIFESTS,
    is_protected,
    pulumi_name,
    terraform_name,
    with_pulumi_names,
)

NOTHING = (
    "no resource that rules check; for variables and modules, lint a plan: `terraform show -json`"
)
UNRESOLVED_MODULES = "an external module creates its GPU resources: lint the output of `terraform show -json plan.out`"
_TYPES = (*KINDS, *MANIFESTS, *OBJECTS)
_OURS = re.compile(rf'resource\s+"?(?:{"|".join(_TYPES)})"?\s'.encode())
_OF_OTHERS = re.compile(
    rb'^[ \t]*(?:module\s|resource\s+"?(?:aws|google|kube|helm)\w*"?\s)', re.MULTILINE
)
"""Unchecked types of clouds and Kubernetes: a syntax error in such a file is still reported."""
_LOCALS = re.compile(rb"^[ \t]*locals\s*\{", re.MULTILINE)
_PROVIDER = re.compile(rb'^[ \t]*provider\s+"?aws"?\s', re.MULTILINE)
_TIMES = frozenset({"count", "for_each"})
_META = _TIMES | {"provider", "depends_on"}
_META_BLOCKS = frozenset({"lifecycle", "provisioner", "connection", "timeouts"})
_RELEASE = "helm_release"
_NODE_POOL = "google_container_node_pool"
CLOUD_DEFAULTED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "aws_launch_template": ("metadata_options",),
    "google_container_cluster": ("private_cluster_config", "release_channel"),
    _NODE_POOL: ("management",),
}
"""Fields for which the cloud selects a value if unset: unknown in a plan too."""
CLUSTER_ATTRIBUTES = ("workload_metadata_config", "resource_labels")
"""Fields of GKE nodes that default to those of their cluster."""
_ABOUT_GPUS = re.compile(
    rb"nvidia|gpu(?!\$)|dcgm|kueue|guest_accelerator|devicePlugin|migManager", re.IGNORECASE
)
"""The end of a pattern, `ARM|GPU$`, selects image names, and does not mention machines."""
_KINDS_OF_IMAGES = re.compile(
    rb"(?m)^[ \t]*(?:#|//|description\b).*\bAL2(?:023)?_x86_64_(?:GPU|NVIDIA)\b.*$"
)
"""Words that describe the possible images, next to one that may be another."""
_ABOUT_NODES = re.compile(rb"karpenter|vllm", re.IGNORECASE)
"""Nodes of any kind, and a server without GPUs: Kubernetes objects show whether they have
GPUs, and the cloud resources are not checked."""
_ABOUT_KUBERNETES = re.compile(
    rb"\beks\b|aws_eks|kubernetes|kubelet|container_cluster|container_node_pool|nodeadm|helm_release",
    re.IGNORECASE,
)
"""Machines for other purposes, such as pipeline runners, have GPUs too, and no pods."""
_CLOUDS = ("aws_", "google_")
_NAMED = "(files of values)"
"""Not a Terraform field: it holds the opened files."""
_ROLE = "aws_iam_role"
_OF_A_ROLE = {"aws_eks_node_group": "node_role_arn", "aws_iam_role_policy_attachment": "role"}
_OF_ONE_ROLE = frozenset({"name", "arn", "id"})
_SETS = ("set", "set_sensitive", "set_list")


@dataclass(frozen=True, slots=True)
class _Folder:
    """The known values of a module, for one of its files."""

    module: Module
    types: tuple[str, ...]
    """Types to check: a folder that does not mention GPUs is not checked."""
    more_tags: bool
    """Whether a provider may add tags: its own, or a caller's."""
    opening: Module
    """The same, with resources in files that it names."""


def read_terraform(
    files: Mapping[str, bytes],
    variables: Mapping[str, Any],
    text_of: Callable[[str], str],
    named: Collection[str] = (),
) -> LintInput:
    """The files of one folder, its known variables, and the texts that it names.

    Explicitly named files are checked for syntax regardless of their content.
    """
    large = {f for f, d in files.items() if len(d) > MAX_BYTES}
    files = {f: d for f, d in files.items() if f not in large}
    gpu_files = {f: d for f, d in files.items() if _OURS.search(d)}
    additional = {
        f: d for f, d in files.items() if f not in gpu_files and gpu_files and _LOCALS.search(d)
    }
    skipped = {
        f: SkippedFile(f, f"larger than {MAX_BYTES:,} bytes, so probably generated")
        for f in sorted(large)
    }
    parsed = _parsed({**gpu_files, **additional}, skipped)
    call_files = {f: d for f, d in files.items() if f in named or _OF_OTHERS.search(d)}
    for file in call_files.keys() - {*gpu_files, *additional}:
        with ParseBudget(MAX_BYTES).active_in_context():  # their content is not kept
            _parsed({file: files[file]}, skipped)
    folder = _folder(files, parsed, variables, text_of)
    items = [
        item for file in gpu_files if file in parsed for item in _file(file, parsed[file], folder)
    ]
    results = {item.place.file for item in items}
    about = any(_speaks_of_gpus(data) for data in files.values())
    for file, data in files.items():
        if file not in results | set(skipped):
            hint = about and calls_external_cluster_module(data)
            skipped[file] = SkippedFile(
                file, UNRESOLVED_MODULES if hint else NOTHING, is_unrecognized=not hint
            )
    return LintInput(
        tuple(items),
        tuple(skipped.values()),
        (*files, *sorted(large)),
        values_overlays=tuple(_values_overlays(items)),
    )


def _parsed(files: Mapping[str, bytes], skipped: dict[str, SkippedFile]) -> dict[str, HclBlock]:
    """Each HCL file; for others, the reason why they are not read is recorded."""
    parsed: dict[str, HclBlock] = {}
    for file, data in files.items():
        try:
            parsed[file] = parse_hcl(data.decode("utf-8-sig"))
        except HclError as e:
            skipped[file] = SkippedFile(file, str(e), e.line)
        except ParseBudgetExceeded:
            skipped[file] = SkippedFile(file, BUDGET_EXCEEDED)
        except UnicodeDecodeError as e:
            skipped[file] = SkippedFile(file, f"not text (byte {e.start} is not UTF-8)")
    return parsed


def _folder(
    files: Mapping[str, bytes],
    parsed: Mapping[str, HclBlock],
    variables: Mapping[str, Any],
    text_of: Callable[[str], str],
) -> _Folder:
    """The known values of a module, for each of its files."""
    blocks = [block for top in parsed.values() for block in top.blocks]
    local_blocks = [block.attributes for block in blocks if block.type == "locals"]
    local = {name: each for attributes in local_blocks for name, each in attributes.items()}
    root = any(_PROVIDER.search(data) for data in files.values())
    adds = any(b"default_tags" in data for data in files.values())
    module = Module(local, variables)
    opening = Module(
        local, variables, folder=posixpath.dirname(min(files, default="")), text_of=text_of
    )
    return _Folder(module, _types(files.values()), adds or not root, opening)


def _values_overlays(items: Iterable[Item]) -> Iterator[ValuesOverlay]:
    """Values files that releases name, with the results."""
    for item in items:
        if item.merged_resource is not None:
            value = item.merged_resource.properties
            chart = repository_chart_name(value.get("chart"))
            yield ValuesOverlay(tuple(value[_NAMED]), (value["values"],), chart)


def _speaks_of_gpus(data: bytes) -> bool:
    """Whether a file names GPUs or a GPU machine, and not only the possible image types."""
    words = _ABOUT_GPUS.search(data) and _ABOUT_GPUS.search(_KINDS_OF_IMAGES.sub(b"", data))
    return bool(words) or contains_gpu_machine_name(data)


def _types(files: Iterable[bytes]) -> tuple[str, ...]:
    """The resource types that are checked, depending on what the files of the folder mention."""
    every = list(files)
    gpus = any(map(_speaks_of_gpus, every))
    nodes = any(map(_ABOUT_NODES.search, every))
    if gpus and (nodes or any(map(_ABOUT_KUBERNETES.search, every))):
        return _TYPES
    if gpus or nodes:
        return tuple(each for each in _TYPES if not each.startswith(_CLOUDS))
    return ()


def _file(file: str, top: HclBlock, folder: _Folder) -> Iterator[Item]:
    into = Places()
    for block in top.blocks:
        ours = block.type == "resource" and len(block.labels) == len(("type", "name"))
        if ours and block.labels[0] in folder.types and not _absent(block, folder.module):
            maybe = bool(_TIMES & set(block.attributes))
            for item in _resource(file, block, folder, into):
                yield from _with_embedded_items(item, maybe=maybe)


def _absent(block: HclBlock, module: Module) -> bool:
    """Whether its count is zero."""
    counts = [block.attributes[name] for name in _TIMES if name in block.attributes]
    return any(module.value(each.value) in ([], {}, 0) for each in counts)


def _with_embedded_items(item: Item, *, maybe: bool) -> Iterator[Item]:
    """With its content; only then does a partly unknown text become unknown."""
    for each in with_embedded(item):
        raw = each.resource
        if UNKNOWN_PART not in raw.kind:
            name = "(no name)" if UNKNOWN_PART in raw.name else raw.name
            final_overlays = each.merged_resource and replace(
                each.merged_resource, properties=without_unknowns(each.merged_resource.properties)
            )
            is_one = is_object(raw.properties)
            opened = (
                with_placeholder_strings(raw.properties, UNKNOWN_PART) if is_one else raw.properties
            )
            yield replace(
                each,
                resource=replace(raw, name=name, properties=without_unknowns(opened)),
                is_uncertain=maybe,
                merged_resource=final_overlays,
            )


def _resource(file: str, block: HclBlock, folder: _Folder, into: Places) -> Iterator[Item]:
    kind, name = block.labels
    index = len(into.document.value)
    at: Path = (index,)
    into.mark(at, block.line, block.column)
    values: dict[str, Any] = {}
    into.document.value.append(values)
    place = FileLocation(file, into.document, at)
    if kind in MANIFESTS:
        yield from _object(
            file, block, folder.module, replace(place, prefix=(*at, MANIFESTS[kind])), into
        )
        return
    if kind == _RELEASE:
        values["values"] = _chart_values(block, folder.module, (*at, "values"), into)
    values |= {k: v for k, v in _inside(block, folder.module, at, into).items() if k not in values}
    if kind in OBJECTS:
        result = kubernetes_resource(kubernetes_object(kind, values), _source(file, block))
        yield Item(result, object_location(kind, place))
        return
    if (role := _OF_A_ROLE.get(kind)) in block.attributes:
        values[role] = _one_role(block.attributes[role].value) or values.get(role)
    for missing in CLOUD_DEFAULTED_FIELDS.get(kind, ()):
        values.setdefault(missing, UNKNOWN)
    nodes = values.get("node_config") if kind == _NODE_POOL else None
    for each in nodes if isinstance(nodes, list) else ():
        for missing in CLUSTER_ATTRIBUTES if isinstance(each, dict) else ():
            each.setdefault(missing, UNKNOWN)
    if kind.startswith("aws_") and folder.more_tags:
        values["tags"] = UNKNOWN
    named: dict[str, Any] = with_pulumi_names(values)
    is_protected_resource = _prevents_destroy(block, folder.module) or is_protected(
        KINDS[kind], named
    )
    resource = Resource(KINDS[kind], f"{kind}.{name}", named, is_protected_resource)
    yield Item(
        resource,
        replace(place, pulumi_name=pulumi_name, to_document_name=terraform_name),
        merged_resource=_merged(resource, block, folder.opening) if kind == _RELEASE else None,
    )


def _one_role(written: HclTerm) -> str:
    """A role of the folder by its Terraform address: two references to it are equal; "" for another."""
    parts = written.parts if written.form is HclForm.TEMPLATE else (written,)
    term = parts[0] if len(parts) == 1 else None
    if not isinstance(term, HclTerm) or term.form is not HclForm.REFERENCE:
        return ""
    *steps, field = map(str, term.value)
    return ".".join(steps) if steps[:1] == [_ROLE] and field in _OF_ONE_ROLE else ""


def _merged(release: Resource, block: HclBlock, opening: Module) -> Resource | None:
    """A release with the values in files that it names; None if none is in the input."""
    opening.opened_files.clear()
    values = _chart_values(block, opening, (), Places())
    if not opening.opened_files:
        return None
    known = {**release.properties, "values": values, _NAMED: [*opening.opened_files]}
    return replace(release, properties=known)


def _prevents_destroy(block: HclBlock, module: Module) -> bool | None:
    """True if Terraform itself rejects its deletion."""
    settings = [b.attributes.get("prevent_destroy") for b in block.blocks if b.type == "lifecycle"]
    return True if any(each and module.value(each.value) is True for each in settings) else None


def _object(
    file: str, block: HclBlock, module: Module, place: FileLocation, into: Places
) -> Iterator[Item]:
    """A Kubernetes object, as values or as text."""
    written = block.attributes.get(str(place.prefix[-1]))
    if written is None:
        return
    into.mark(place.prefix, written.line, written.column)
    for value in module.decoded(written.value, place.prefix, into):
        if is_object(value):
            yield Item(kubernetes_resource(value, _source(file, block)), place)


def _source(file: str, block: HclBlock) -> str:
    """Its cluster: that of the folder's provider, or another that is named."""
    provider = block.attributes.get("provider")
    to = provider.value.value if provider and provider.value.form is HclForm.REFERENCE else ()
    return ":".join((posixpath.dirname(file), *map(str, to)))


def _inside(block: HclBlock, module: Module, path: Path, into: Places) -> dict[str, Any]:
    """Attributes and blocks as in a plan: each block in a list, null values omitted."""
    results: dict[str, Any] = {}
    for name, attribute in block.attributes.items():
        if not (block.labels and name in _META):  # nested, `count` is a field of the cloud
            into.mark((*path, name), attribute.line, attribute.column)
            value = module.value(attribute.value, (*path, name), into)
            results |= {name: value} if value is not None else {}
    for each in block.blocks:
        if each.type not in _META_BLOCKS and each.type != "dynamic":
            listed: list[Any] = results.setdefault(each.type, [])
            here = (*path, each.type, len(listed))
            into.mark((*path, each.type), each.line, each.column)
            into.mark(here, each.line, each.column)
            listed.append(_inside(each, module, here, into))
    for each in block.blocks:
        if each.type == "dynamic" and each.labels:
            into.mark((*path, each.labels[0]), each.line, each.column)
            results[each.labels[0]] = UNKNOWN
    return results


def _chart_values(block: HclBlock, module: Module, path: Path, into: Places) -> Any:
    """The result of `values` and `set` in Helm; the last one wins, also for the place."""
    values_attribute = block.attributes.get("values")
    if values_attribute is not None:
        into.mark(path, values_attribute.line, values_attribute.column)
    layers: list[Any] = []
    for each in reversed(block.blocks):
        if each.type in _SETS:
            entry = {name: module.value(a.value) for name, a in each.attributes.items()}
            value = each.attributes.get("value")
            line, column = (value.line, value.column) if value else (each.line, each.column)
            layers.append(_set(entry, path, line, column, into))
        elif each.type == "dynamic" and set(each.labels) & set(_SETS):
            layers.append(UNKNOWN)
    for name in _SETS:  # a list of objects, as in version 3 of the provider
        if attribute := block.attributes.get(name):
            layers += reversed(_set_all(attribute.value, module, path, into))
    if values_attribute is not None:
        layers += reversed(_texts(values_attribute.value, module, path, into))
    return merge_overlays([*reversed(layers)], deep=True)


def _texts(written: HclTerm, module: Module, path: Path, into: Places) -> list[Any]:
    results: list[Any] = []
    if written.form is HclForm.LIST:
        for each in reversed(written.parts):
            results += reversed(module.decoded(each, path, into))
        return results[::-1]
    listed = module.value(written)
    if not isinstance(listed, list):
        return [UNKNOWN]
    return [module.decoded_text(each) for each in listed]


def _set_all(written: HclTerm, module: Module, path: Path, into: Places) -> list[Any]:
    if written.form is not HclForm.LIST:
        return [UNKNOWN]
    return [
        _set(entry, path, each.line, each.column, into) if isinstance(entry, Mapping) else UNKNOWN
        for each in written.parts
        for entry in (module.value(each),)
    ]


def _set(entry: Mapping[str, Any], path: Path, line: int, column: int, into: Places) -> Any:
    """One value by its dotted name, as `helm --set` reads it."""
    name, value = entry.get("name"), entry.get("value")
    if not isinstance(name, str) or UNKNOWN_PART in name:
        return UNKNOWN
    steps, value = steps_of(
        name, value if entry.get("type") == "string" else parse_set_value(value)
    )
    into.mark((*path, *steps), line, column)
    return nested_value(steps, value)
