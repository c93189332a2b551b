"""CEL fragments from which every requirement is built.

CEL has no user-defined functions, so each would-be function is a text fragment here. `[x].map(n,
…)[0]` gives a value a name.
"""

import json
import re
from collections.abc import Iterable, Mapping

from gpuyard_core.admission.requirement import Requirement, ViolationTemplate
from gpuyard_core.manifests.pods import CONTAINER_GROUPS, GPU_PREFIXES

_GAP = re.compile(r"\{(\w+)\}")


def quoted(text: str) -> str:
    """Text as a CEL literal: CEL has the escapes of JSON."""
    return json.dumps(text, ensure_ascii=False)


def listed(texts: Iterable[str]) -> str:
    """Several."""
    return f"[{', '.join(quoted(each) for each in texts)}]"


def message_expression(requirement: Requirement, sentence: ViolationTemplate, **values: str) -> str:
    """A message of a requirement, built from expressions for its values."""
    return fill_template(f"{requirement.id}: {sentence.problem}; {sentence.fix}", values)


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """A template with expressions for its placeholders, as a concatenation of its parts."""
    parts = _GAP.split(template)
    texts = [
        values[part] if index % 2 else quoted(part) for index, part in enumerate(parts) if part
    ]
    return " + ".join(texts)


def optional(value: str, path: str, default: str) -> str:
    """The value at a path of which every part may be missing."""
    return f"{value}.?{path.replace('.', '.?')}.orValue({default})"


def required_namespace_annotation(name: str) -> str:
    """An annotation of the namespace; if it is missing, the expression and the request fail."""
    return f"namespaceObject.metadata.annotations[{quoted(name)}]"


def namespace_annotation(name: str) -> str:
    """An annotation of a later version: a namespace gets it after the policy that reads it.

    Until then the list is empty, and pods that need none of its entries are admitted.
    """
    return f'namespaceObject.metadata.annotations[?{quoted(name)}].orValue("")'


def label(labels: str, name: str) -> str:
    """A label, '' when there is none."""
    return f"{labels}[?{quoted(name)}].orValue('')"


def joined_messages(lists: str) -> str:
    """Lists of messages as one list, each list joined to one text; empty lists are dropped."""
    return f"{lists}.map(l, l.join('. ')).filter(s, s != '')"


def containers(pod: str, groups: Iterable[str] = CONTAINER_GROUPS) -> str:
    """Containers of a pod."""
    return f"({' + '.join(optional(pod, f'spec.{group}', '[]') for group in groups)})"


def quantity(value: str) -> str:
    """A quantity; kinds of other projects may keep it as a number."""
    return f"quantity('%s'.format([{value}]))"


def is_gpu_name_expression(key: str) -> str:
    """Whether a resource is a GPU or a part of one."""
    return " || ".join(f"{key}.startsWith({quoted(prefix)})" for prefix in GPU_PREFIXES)


def container_asks(container: str) -> str:
    """Whether a container requests a GPU."""
    parts = (optional(container, f"resources.{part}", "{}") for part in ("limits", "requests"))
    name = is_gpu_name_expression("k")
    some = f"{quantity('m[k]')}.isGreaterThan(quantity('0'))"
    return f"[{', '.join(parts)}].exists(m, m.exists(k, ({name}) && {some}))"


def bind_variable(value: str, name: str, expression: str) -> str:
    """An expression that uses a value more than once."""
    return f"[{value}].map({name}, {expression})[0]"


def other_metadata_unchanged_expressions(
    *, labels: Iterable[str], annotations: Iterable[str]
) -> dict[str, str]:
    """Expressions: an update changes no other metadata than these labels and annotations."""
    new, old = "object", "oldObject"

    def kept(part: str, ours: str) -> str:
        now, was = (optional(each, f"metadata.{part}", "{}") for each in (new, old))
        return (
            f"{now}.all(k, k in {ours} || (k in {was} && {was}[k] == {now}[k]))"
            f" && {was}.all(k, k in {ours} || k in {now})"
        )

    return {
        "labels": kept("labels", listed(labels)),
        "annotations": kept("annotations", listed(annotations)),
        "finalizers": " == ".join(
            optional(each, "metadata.finalizers", "[]") for each in (new, old)
        ),
        "owners": " == ".join(
            f"{optional(each, 'metadata.ownerReferences', '[]')}.map(o, o.uid)"
            for each in (new, old)
        ),
    }


def other_spec_unchanged_expression(field: str) -> str:
    """Expression: an update changes no other field of the spec than this one."""
    new, old = "dyn(object.spec)", "dyn(oldObject.spec)"
    return (
        f"{new}.all(k, k == {quoted(field)} || k in {old} && {old}[k] == {new}[k])"
        f" && {old}.all(k, k == {quoted(field)} || k in {new})"
    )
