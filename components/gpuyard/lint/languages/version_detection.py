"""What a file says in passing: versions of Kueue, KubeRay, Karpenter and the training operator.

In the address of a release, in a variable named for it (`KARPENTER_VERSION=v0.34.0`), in a command of a
comment, or in a text: objects beside it are in the words of that time. Likewise that something applies
Google's installer of drivers, of which there is no version to say; and which configuration of the device
plugin nodes take, by a label or by a patch of the operator.
"""

import re
from collections.abc import Iterator, Mapping

from gpuyard.lint.languages.commands import AppliedRelease
from gpuyard.lint.languages.script_text import is_documentation
from gpuyard.rules.subjects.installed_versions import (
    CHOSEN_CONFIGS,
    COMPOSED_QUEUES,
    DRIVER_INSTALLER,
    OPENSHIFT_AI,
)

_OPERATOR = "training-operator"
_ITS_LINE = "v1"
"""The only one that has that name: what came after it is Trainer 2."""
_NAMES = r"kueue|kuberay(?:-operator)?|karpenter(?:-provider-aws)?|training-operator"
_VERSION = r"v?\d+\.\d+(?:\.\d+)?(?:-[\w.]*\w)?"
_MOST_BYTES = 128 * 1024
"""A larger file, such as a list of definitions, is none in which somebody says what to install."""
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
"""In small letters, by what is looked for first, in every file. A pattern would take as long as all else that
is done with most of them."""
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
"""What every release of AWS's module of add-ons has installed at most where nobody names another: in all from
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
"""Written over several lines: a default or a module of Terraform's, a queue under a name that is composed."""
_CHOSEN = re.compile(
    r"nvidia\.com(?:/|~1)device-plugin\.config\b|"
    r"(?:devicePlugin[^\n]{0,200}?|\bpatch\b[\s\S]{0,300}?devicePlugin[\s\S]{0,200}?)"
    r"\bdefault[\"']?[ \t]*[:=][ \t]*[\"']?[\w.-]+(?:[\s\"',}]|$)"
)
"""A label of nodes, or a command, that chooses one of the device plugin's configurations."""
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
"""A LocalQueue whose name a variable, a template or a script decides."""
_INSTALLER = re.compile(
    r"GoogleCloudPlatform/container-engine-accelerators/(?:[^\s\"'`<>()]{0,200}/)?daemonset[\w.-]*\.yaml|"
    r"GoogleCloudPlatform/container-engine-accelerators(?:\.git)?/+nvidia-driver-installer/",
    re.IGNORECASE,
)
"""Google's DaemonSet that installs drivers, as a file, or as a folder that kustomize fetches."""
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
    """Those with one of the words, in their order: most of a large file is about something else."""
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
