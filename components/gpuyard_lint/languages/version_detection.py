"""Versions that a file mentions: of Kueue, KubeRay, Karpenter and the training operator.

In the URL of a release, in a variable with a matching name (`KARPENTER_VERSION=v0.34.0`), in a command in
a comment, or in a document: objects next to it are of that version. Also whether something applies
Google's driver installer, which has no version; and which configuration of the device
plugin nodes use, by a label or by a patch of the operator.
"""

import re
from collections.abc import Iterator, Mapping

from gpuyard_lint.languages.commands import AppliedRelease
from gpuyard_lint.languages.script_text import is_documentation
from gpuyard_lint.rules.subjects.installed_versions import (
    CHOSEN_CONFIGS,
    COMPOSED_QUEUES,
    DRIVER_INSTALLER,
    OPENSHIFT_AI,
)

_OPERATOR = "training-operator"
_ITS_LINE = "v1"
"""The only program with that name: its successor is Trainer 2."""
_NAMES = r"kueue|kuberay(?:-operator)?|karpenter(?:-provider-aws)?|training-operator"
_VERSION = r"v?\d+\.\d+(?:\.\d+)?(?:-[\w.]*\w)?"
_MOST_BYTES = 128 * 1024
"""Larger files, such as CRDs, contain no install instructions."""
_SIGNS = (b" ", b"-", b"_", b"")
_PLUGINS = (b"deviceplugin", b"device-plugin.config")
_PARTS: Mapping[bytes, tuple[bytes, ...]] = {
    b"ueue": (b"kueue", *(b"local%bqueue" % sign for sign in _SIGNS)),
    b"kuberay": (b"kuberay",),
    b"karpenter": (b"karpenter",),
    b"rhoai": (b"rhoai",),
    b"engine-accelerators": (b"container-engine-accelerators",),
    b"operator": tuple(b"training%boperator" % sign for sign in _SIGNS),
    b"plugin": _PLUGINS,
    b"openshift": tuple(b"openshift%bai" % sign for sign in _SIGNS),
}
"""In lowercase, the words to search first in every file. A pattern would take as long as all other
processing of most of them."""
_SAYS = tuple(word for words in _PARTS.values() for word in words)
_ADDRESS = re.compile(
    rf"github\.com/[\w.-]+/({_NAMES})(?:\.git)?[/?][^\s\"'`<>()]{{0,200}}?"
    rf"(?:ref=|/download/)({_VERSION})(?=[/&\s\"'`<>()]|$)|"
    rf"raw\.githubusercontent\.com/[\w.-]+/({_NAMES})/(?:refs/tags/)?({_VERSION})/"
)
_VARIABLE = re.compile(
    r"(?:^|[\s\"'_-])(kueue|kuberay|karpenter|training[_-]operator)[\w-]*version[\"']?[ \t]*"
    rf"[:?]?[=:][ \t]*[\"']?(?:\$\{{\w+:-)?({_VERSION})(?=[\s\"'}},;]|$)",
    re.IGNORECASE | re.MULTILINE,
)
_DEFAULT = re.compile(
    r"variable[ \t]+\"\w*(kueue|kuberay|karpenter|training_operator)\w*version\w*\"[^}]{0,400}?"
    rf"default[ \t]*=[ \t]*\"({_VERSION})\"",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    rf"^[ \t]*(?:#|//)[^\n]*\bhelm\b[^\n]*\b({_NAMES})\b[^\n]*--version[ =][\"']?({_VERSION})",
    re.MULTILINE,
)
_BLUEPRINTS = re.compile(
    r"source[ \t]*=[ \t]*\"[^\"\n]*eks-blueprints(?:-addons/aws\b|[^\"\n]*/kubernetes-addons\b)"
)
_ENABLES = re.compile(r"^[ \t]*enable_karpenter[ \t]*=[ \t]*(?!false\b)\S", re.MULTILINE)
_AT_ANOTHER = re.compile(
    r"^[ \t]*karpenter[ \t]*=[ \t]*\{(?:[^{}]|\{[^{}]*\})*?(?:\{[^{}]*?)?\b(?:chart_)?version\b",
    re.MULTILINE,
)
_BLUEPRINTS_KARPENTER = "0.37.0"
"""The maximum version that releases of AWS's add-ons module install by default: in all from
v1.16.4 of 2024 to that of July 2026 `karpenter.chart_version` has this default, and an older one before."""
_ALIASES = {
    "kuberay-operator": "kuberay",
    "karpenter-provider-aws": "karpenter",
    "training_operator": "training-operator",
}
_GOES_ON = re.compile(rb"\\\n[ \t]*(?:#|//)?[ \t]*")
_SEVERAL_LINES = (
    *(b"variable", b"eks-blueprints", *_PLUGINS),
    *(b"local%bqueue" % sign for sign in _SIGNS),
)
"""Over several lines: a default or a Terraform module, a queue with a generated name."""
_CHOSEN = re.compile(
    r"nvidia\.com(?:/|~1)device-plugin\.config\b|"
    r"(?:devicePlugin[^\n]{0,200}?|\bpatch\b[\s\S]{0,300}?devicePlugin[\s\S]{0,200}?)"
    r"\bdefault[\"']?[ \t]*[:=][ \t]*[\"']?[\w.-]+(?:[\s\"',}]|$)"
)
"""A node label, or a command, that selects one of the device plugin's configurations."""
_RED_HATS = re.compile(
    r"(?:openshift[ _-]ai(?:[ _-]self[ _-]managed)?|\brhoai)[ /_:-]{1,3}(?:version[ ])?v?(2\.\d+)\b",
    re.IGNORECASE,
)
_COMPOSED = re.compile(
    r"templatefile\([^)]{0,200}local[-_]?queue|"
    r"\bkind[\"']?\s*[:=]\s*[\"']?LocalQueue\b(?:(?!\bname\b)[\s\S]){0,200}"
    r"\bname[\"']?[ \t]*[:=][ \t]*(?:[^\n]*[$]|[\"']?\{\{|(?:var|local|each|module)\.)",
    re.IGNORECASE,
)
"""A LocalQueue whose name comes from a variable, a template or a script."""
_INSTALLER = re.compile(
    r"GoogleCloudPlatform/container-engine-accelerators/(?:[^\s\"'`<>()]{0,200}/)?daemonset[\w.-]*\.yaml|"
    r"GoogleCloudPlatform/container-engine-accelerators(?:\.git)?/+nvidia-driver-installer/",
    re.IGNORECASE,
)
"""Google's DaemonSet that installs drivers, as a file, or as a remote kustomize base."""
_OF_OLD = re.compile(r"\btraining[- ]operator\b", re.IGNORECASE)
_SCRIPTS = (".sh", ".bash", ".mk", "Makefile")


def detect_versions(data: bytes, file: str) -> list[AppliedRelease]:
    """Each program with its version, once."""
    if len(data) > _MOST_BYTES:
        return []
    joined = _GOES_ON.sub(b" ", data) if b"\\\n" in data else data
    small = joined.lower()
    if not any(part in small and any(map(small.__contains__, _PARTS[part])) for part in _PARTS):
        return []
    return list(dict.fromkeys(_detected_versions(joined, small, file)))


def _detected_versions(data: bytes, small: bytes, file: str) -> Iterator[AppliedRelease]:
    lines = b"\n".join(_lines(data, small)).decode(errors="replace")
    wide = data.decode(errors="replace") if any(each in small for each in _SEVERAL_LINES) else ""
    for pattern, text in (
        (_ADDRESS, lines),
        (_VARIABLE, lines),
        (_DEFAULT, wide),
        (_COMMAND, lines),
    ):
        for each in pattern.finditer(text):
            name, version = (part for part in each.groups() if part is not None)
            yield AppliedRelease(_program(name), version)
    if _INSTALLER.search(lines):
        yield AppliedRelease(DRIVER_INSTALLER, "any")
    for each in _RED_HATS.finditer(lines):
        yield AppliedRelease(OPENSHIFT_AI, each[1])
    if _BLUEPRINTS.search(wide) and _ENABLES.search(wide) and not _AT_ANOTHER.search(wide):
        yield AppliedRelease("karpenter", _BLUEPRINTS_KARPENTER)
    if _COMPOSED.search(wide):
        yield AppliedRelease(COMPOSED_QUEUES, "any")
    if _CHOSEN.search(wide):
        yield AppliedRelease(CHOSEN_CONFIGS, "any")
    if (is_documentation(file) or file.endswith(_SCRIPTS)) and _OF_OLD.search(lines):
        yield AppliedRelease(_OPERATOR, _ITS_LINE)


def _lines(data: bytes, small: bytes) -> Iterator[bytes]:
    """Lines with one of the words, in order: most of a large file is irrelevant."""
    results: dict[int, int] = {}
    for word in _SAYS:
        at = small.find(word)
        while at >= 0:
            end = small.find(b"\n", at)
            end = len(small) if end < 0 else end
            results[small.rfind(b"\n", 0, at) + 1] = end
            at = small.find(word, end)
    yield from (data[start:end] for start, end in sorted(results.items()))


def _program(name: str) -> str:
    return _ALIASES.get(name.lower(), name.lower())
