"""Charts that the commands of a shell script or a Makefile install with helm. Nothing is run.

For `helm install|upgrade|template`: the chart, its version, the values files and `--set`. A backslash
continues a line; a word with a variable, a substitution or a placeholder is unknown.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_core.manifests.fields import UNKNOWN, UnknownValue
from gpuyard_lint.languages.hcl_values import UNKNOWN_PART
from gpuyard_lint.languages.helm_sets import nested_value, parse_set_option, steps_of
from gpuyard_lint.rules.rule import read_table

MOST_BYTES = 256 * 1024
"""Larger files are generated."""
MOST_COMMANDS, _LONGEST_LINE, _MOST_NESTED = 200, 16 * 1024, 3
_HELM = frozenset({"helm", "helm3"})
_INSTALLS = frozenset({"install", "upgrade", "template"})
_SCRIPTS = (".sh", ".bash", ".mk", "Makefile")
_CONTINUED = re.compile(r"\\\r?(?:\n|\Z)")
_EXPANDED = re.compile(
    r"\$?\$\([^()]*\)|`[^`]*`|\$?\$\{[^{}]*\}|\$?\$(?:[A-Za-z_]\w*|[\d@*#?!])|\{\{[^{}]*\}\}|<[A-Za-z][\w. -]*>"
)
_SEPARATORS = frozenset(";&|()<>")
_LETTERS: Mapping[str, str] = {
    "f": "values",
    "n": "namespace",
    "o": "output",
    "l": "labels",
    "s": "show-only",
    "a": "api-versions",
}
_TAKES = frozenset(read_table("helm_options"))
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


def is_script(name: str) -> bool:
    """Whether a file name is one in which commands are searched."""
    return name.endswith(_SCRIPTS)


def helm_commands(data: bytes) -> list[HelmCommand]:
    """Every installing command of a script, in order."""
    if len(data) > MOST_BYTES or b"helm" not in data:
        return []
    text = _CONTINUED.sub(" ", data.decode(errors="replace"))
    lines = (line for line in text.splitlines() if "helm" in line and len(line) <= _LONGEST_LINE)
    results = [command for line in lines for command in _commands(line)]
    return results[:MOST_COMMANDS]


def _commands(line: str) -> Iterator[HelmCommand]:
    """The commands of a line; none of a line with an open quote."""
    written = line.lstrip(" \t@+-").replace("$HOME", "~")
    for _ in range(_MOST_NESTED):
        written = _EXPANDED.sub(UNKNOWN_PART, written)
    reader = shlex.shlex(written, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    command: list[str] = []
    try:
        for word in (*reader, ";"):
            if set(word) <= _SEPARATORS:
                yield from _helm(command)
                command = []
            else:
                command.append(word)
    except ValueError:
        return


def _helm(words: list[str]) -> Iterator[HelmCommand]:
    start = next((i for i, word in enumerate(words) if posixpath.basename(word) in _HELM), None)
    options, plain = _options(words[start + 1 :]) if start is not None else ([], [])
    if not plain or plain[0] not in _INSTALLS or words[0] == "echo":
        return
    versions = [value for name, value in options if name == "version"]
    version: str | UnknownValue | None = versions[-1] if versions else None
    yield HelmCommand(
        _chart(plain[0], plain[1:], {name for name, _ in options}),
        UNKNOWN if versions and UNKNOWN_PART in versions[-1] else version,
        tuple(file for name, value in options if name == "values" for file in value.split(",")),
        tuple(each for name, value in options for each in _set(name, value)),
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
