"""Releases that an ApplicationSet generates: one for each element of a generator."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from gpuyard_core.manifests.fields import NotEvaluatedError, mapping, mappings
from gpuyard_core.manifests.placeholders import substituted

_WORD = re.compile(r"\{\{-?\s*\.?([A-Za-z][\w.-]*)\s*-?\}\}")
"""`{{name}}`, and `{{ .name }}` of Go templates; computed values are not supported."""
_MOST_WORDS = 3
"""Per path segment: with more, a name could be split in too many ways."""
_MOST = 64
"""Maximum number of files per set that are compared; the others are assumed to be alike."""
Words = Mapping[str, str]


def elements_of(properties: Mapping[str, Any]) -> list[tuple[int, int, Words]] | None:
    """For a set that lists all its elements: generator, index and parameters of each; None for any other."""
    generators = mappings(properties, "spec", "generators")
    results: list[tuple[int, int, Words]] = []
    for at, generator in enumerate(generators):
        elements = mapping(generator, "list").get("elements")
        if not isinstance(elements, list) or "elementsYaml" in mapping(generator, "list"):
            return None
        for number, each in enumerate(elements):
            results.append((at, number, dict(_dotted_values(each))))
    return results or None


def generated_release_parameters(
    properties: Mapping[str, Any], paths: Sequence[str], names: Collection[str]
) -> list[Words]:
    """The values of the template parameters, for each generated release.

    If no generator lists them, they come from the files in the input that match a path.
    """
    try:
        elements = elements_of(properties)
    except NotEvaluatedError:
        elements = None
    if elements is not None:
        return [words for _, _, words in elements[:_MOST]]
    fits = [words for path in paths if _WORD.search(path) for words in _fitting(path, names)]
    return list({tuple(sorted(each.items())): each for each in fits}.values())[:_MOST] or [{}]


def render_elements(value: Any, words: Words) -> Any:
    """The same with parameters substituted."""
    if isinstance(value, str):
        return substituted(_WORD, lambda found: words.get(found[1], found[0]), value)
    if isinstance(value, Mapping):
        return (
            {key: render_elements(each, words) for key, each in value.items()} if words else value
        )
    return [render_elements(each, words) for each in value] if isinstance(value, list) else value


def _dotted_values(value: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """`values.zone` for nested values."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _dotted_values(each, f"{before}.{key}" if before else str(key))
    elif isinstance(value, str | int):
        yield before, str(value)


def _fitting(path: str, names: Collection[str]) -> Iterator[Words]:
    """Possible parameters of the path, for each file that matches it."""
    if max(len(_WORD.findall(part)) for part in path.split("/")) > _MOST_WORDS:
        return
    at, pattern = 0, ""
    seen: list[str] = []
    for word_match in _WORD.finditer(path):
        pattern += re.escape(path[at : word_match.start()])
        pattern += (
            rf"(?P=w{seen.index(word_match[1])})"
            if word_match[1] in seen
            else f"(?P<w{len(seen)}>[^/]+)"
        )
        seen += [] if word_match[1] in seen else [word_match[1]]
        at = word_match.end()
    pattern += re.escape(path[at:])
    below = pattern.partition("/")[2] if path.startswith("$") else pattern
    path_pattern = re.compile(rf"(?:.*/)?{below}")
    for name in names:
        if match := path_pattern.fullmatch(name):
            yield {word: match[f"w{number}"] for number, word in enumerate(seen)}
