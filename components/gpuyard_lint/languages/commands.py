"""Installs by the commands of a script: charts with helm, GitHub releases with kubectl. Nothing is run.

For `helm install|upgrade|template`: the chart, its version, the values files and `--set`; for
`kubectl apply -f https://github.com/…/releases/download/v1/…` and `…?ref=v1`: the program and version.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_core.manifests.fields import UNKNOWN, UnknownValue
from gpuyard_lint.languages.hcl_values import UNKNOWN_PART
from gpuyard_lint.languages.helm_sets import nested_value, parse_set_option, steps_of
from gpuyard_lint.languages.script_text import kind_of, read_script
from gpuyard_lint.rules.subjects.installed_versions import REMOTE

MOST_BYTES = 256 * 1024
"""Larger files are generated."""
MOST_COMMANDS, _MOST_LINES = 200, 1000
_MOST_OF_URL = 2000
_MOVES = re.compile(r"(?:^|[;&(@>$%-])\s*(?:cd|pushd)\s")
_HELM = frozenset({"helm", "helm3", "helm.exe"})
_APPLIES = frozenset({"kubectl", "oc", "k", "kustomize"})
_APPLYING = re.compile(r"\b(?:kubectl|kustomize|oc|k)\b")
_INSTALLS = frozenset({"install", "upgrade", "template"})
_SCRIPTS = (".sh", ".bash", ".env", ".envrc", ".conf")
_SAID_ONLY = frozenset({"echo", "printf", "print", "log", "info", "die", "warn", "cat"})
_LETTERS: Mapping[str, str] = {
    "f": "values",
    "n": "namespace",
    "o": "output",
    "l": "labels",
    "s": "show-only",
    "a": "api-versions",
}
_TAKES = frozenset(
    {
        *("values", "set", "set-string", "set-file", "set-json", "set-literal", "version", "repo"),
        *("namespace", "output", "labels", "show-only", "api-versions", "name", "name-template"),
        *("timeout", "description", "username", "password", "ca-file", "cert-file", "key-file"),
        *("keyring", "post-renderer", "post-renderer-args", "history-max", "output-dir"),
        *("kube-version", "kube-context", "kubeconfig", "kube-apiserver", "kube-token"),
        *("kube-as-user", "kube-as-group", "kube-ca-file", "kube-tls-server-name"),
        *("registry-config", "repository-cache", "repository-config", "burst-limit", "qps"),
        *("tiller-namespace", "set-default"),
    }
)
"""Options with a value in the next word."""


@dataclass(frozen=True, slots=True)
class HelmCommand:
    """One `helm install`, `upgrade` or `template`, as written."""

    chart: str
    """With a marker for its unknown parts; "" if unknown."""
    version: str | UnknownValue | None
    values: tuple[str, ...]
    sets: tuple[Any, ...]
    """In order, the overrides of the values."""
    folder: str = ""
    """The working directory, relative to the script's."""


@dataclass(frozen=True, slots=True)
class AppliedRelease:
    """A published release of a program that is applied unchanged."""

    program: str
    version: str | UnknownValue


def is_script(name: str) -> bool:
    """Whether a file name is one in which commands are searched."""
    bare = posixpath.basename(name)
    named = bare.startswith(("Dockerfile", "helmfile.yaml.")) or bare.endswith(_SCRIPTS)
    return named or kind_of(name) != "shell"


def helm_commands(data: bytes, file: str) -> list[HelmCommand | AppliedRelease]:
    """Every installing command of a file, in order."""
    if len(data) > MOST_BYTES or not _mentions_install(data):
        return []
    text = read_script(data.decode(errors="replace"), file)
    results: list[HelmCommand | AppliedRelease] = []
    folder, inside, looked_at = "", 0, 0
    for scope, line in text.scoped_lines:
        if scope != inside:  # a function can be called from any place
            folder, inside = "", scope
        if not _is_one(line):
            continue
        looked_at += 1
        for words in text.commands(scope, line):
            folder = _moved(folder, words)
            results += _install_commands(words, folder)
        if len(results) >= MOST_COMMANDS or looked_at >= _MOST_LINES:
            break
    return results[:MOST_COMMANDS]


def _mentions_install(data: bytes) -> bool:
    if b"helm" in data and any(each.encode() in data for each in _INSTALLS):
        return True
    return b"github.com/" in data and any(each in data for each in (b"/download/", b"?ref="))


def _is_one(line: str) -> bool:
    if "helm" in line and any(each in line for each in _INSTALLS):
        return True
    if "github.com/" in line and _APPLYING.search(line):
        return True
    return ("cd" in line or "pushd" in line) and _MOVES.search(line) is not None


def _moved(folder: str, words: list[str]) -> str:
    if words[0] not in {"cd", "pushd"} or len(words) < len(("cd", "folder")):
        return folder
    to = words[1].removesuffix("/")
    return to if UNKNOWN_PART in to else posixpath.normpath(posixpath.join(folder, to))


def _install_commands(words: list[str], folder: str) -> Iterator[HelmCommand | AppliedRelease]:
    if words[0] in _SAID_ONLY or words[0].startswith("#"):
        return
    for index, word in enumerate(words):
        name = posixpath.basename(word)
        if name in _HELM:
            if command := _helm(words[index + 1 :], folder):
                yield command
            return
        if name in _APPLIES:
            yield from _applied(words[index + 1 :])
            return


def _applied(words: list[str]) -> Iterator[AppliedRelease]:
    if not {"apply", "create", "build", "replace"} & set(words):
        return
    for word in words:
        if len(word) <= _MOST_OF_URL and (match := REMOTE.search(word)):
            version = match[2]
            yield AppliedRelease(match[1], UNKNOWN if UNKNOWN_PART in version else version)


def _helm(words: list[str], folder: str) -> HelmCommand | None:
    options, plain = _options(words)
    if not plain or plain[0] not in _INSTALLS:
        return None
    versions = [value for name, value in options if name == "version"]
    version: str | UnknownValue | None = versions[-1] if versions else None
    if versions and UNKNOWN_PART in versions[-1]:
        version = UNKNOWN
    return HelmCommand(
        _chart(plain[0], plain[1:], {name for name, _ in options}),
        version,
        tuple(file for name, value in options if name == "values" for file in value.split(",")),
        tuple(each for name, value in options for each in _set(name, value)),
        folder,
    )


def _options(words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Options by their long names, and the other words."""
    options: list[tuple[str, str]] = []
    plain: list[str] = []
    waiting = ""
    for word in words:
        if waiting:
            options.append((waiting, word))
            waiting = ""
        elif word.startswith("--"):
            name, is_, value = word[2:].partition("=")
            if is_ or name not in _TAKES:
                options.append((name, value))
            else:
                waiting = name
        elif word.startswith("-") and len(word) > 1:
            letter, value = word[1], word[2:].removeprefix("=")
            name = _LETTERS.get(letter, letter)
            if value or name not in _TAKES:
                options.append((name, value))
            else:
                waiting = name
        else:
            plain.append(word)
    return options, plain


def _chart(verb: str, words: list[str], options: set[str]) -> str:
    """The second word is the chart, or the first if the release is named otherwise."""
    if options & {"name", "generate-name", "g", "name-template"}:
        words = ["", *words]
    if len(words) == 1 and (verb == "template" or "/" in words[0]):
        return words[0]
    if len(words) > len(("release", "chart")):  # an unknown word may contain options
        known_words = [word for word in words if word != UNKNOWN_PART]
        words = known_words if len(known_words) == len(("release", "chart")) else words
    return words[1] if len(words) > 1 else ""


def _set(name: str, value: str) -> Iterator[Any]:
    if name in {"set", "set-string"}:
        yield from parse_set_option(value, as_text=name == "set-string")
    elif name in {"set-file", "set-json", "set-literal"}:
        key = value.partition("=")[0]
        known = key and UNKNOWN_PART not in key and not key.startswith("{")
        yield nested_value(*steps_of(key, UNKNOWN)) if known else UNKNOWN
