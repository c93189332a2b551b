"""Node labels that commands or configuration next to the objects set: a pod may select them.

`kubectl label node`, `--node-labels` of kubelet, gcloud and eksctl, `node-label` of k3s, in any file; in
Terraform also `labels` of a module's node groups. Only labels that no component sets by default are searched.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpuyard_lint.rules.subjects.pools import OWN_LABELS

_SAYS = tuple(each.encode() for each in OWN_LABELS)
_KEY = "|".join(rf"{re.escape(each)}[\w.-]*" for each in OWN_LABELS)
_GOES_ON = re.compile(r"\\\r?\n")
_GIVES = re.compile(
    r"\blabel[ \t\"',]+[^\n]{0,200}?\bno(?:de)?s?\b([^\n]{0,1000})|\bnode[-_]?labels?\b([^\n]{0,1000})",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"\bnode[-_]?labels?\b[\"']?:[ \t]*\n((?:[ \t]*-[ \t][^\n]*\n?)+)", re.IGNORECASE
)
_BRACES = r"\{((?:\$\{[^{}]*\}|[^{}])*)\}"
_MAPPED = re.compile(rf"\bnode[-_]?labels[\"']?[ \t]*[:=][ \t]*{_BRACES}", re.IGNORECASE)
_IN_TERRAFORM = re.compile(rf"\blabels[ \t]*=[ \t]*(?:merge\([^{{}}]{{0,400}})?{_BRACES}")
_ANYWHERE = (_GIVES, _LISTED, _MAPPED)
_GIVEN = re.compile(rf"({_KEY})[\"']?\s*[=:](?!=)")
_TERRAFORM = (".tf", ".tofu")


@dataclass(frozen=True, slots=True)
class NodeLabelHints:
    """The labels that one file assigns to nodes."""

    names: tuple[str, ...]


def node_label_hints(data: bytes, file: str) -> list[NodeLabelHints]:
    """The labels of one file."""
    if not any(each in data for each in _SAYS):
        return []
    text = _GOES_ON.sub(" ", data.decode(errors="replace"))
    names = dict.fromkeys(name for part in _parts(text, file) for name in _GIVEN.findall(part))
    return [NodeLabelHints(tuple(names))] if names else []


def _parts(text: str, file: str) -> Iterator[str]:
    """The parts of a text that contain node labels."""
    for pattern in (*_ANYWHERE, _IN_TERRAFORM) if file.endswith(_TERRAFORM) else _ANYWHERE:
        for match in pattern.finditer(text):
            yield "".join(part or "" for part in match.groups())
