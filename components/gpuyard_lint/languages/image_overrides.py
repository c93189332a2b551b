"""Images that commands set before an apply, or load onto the nodes: their tag in a file does not move.

`kustomize edit set image`, `kubectl set image`, `kind load docker-image`, `minikube image load`, `k3d image
import`, in scripts, Makefiles and pipelines; in documents only load commands. Nothing is run. Skaffold
gives the images of its artifacts the tag that it builds, in every manifest that names them without a digest.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpuyard_core.errors import UsageError
from gpuyard_core.manifests.fields import mapping, mappings, text
from gpuyard_core.manifests.placeholders import repository_of
from gpuyard_core.yaml_tree import parse_documents
from gpuyard_lint.languages.script_text import is_documentation, is_pipeline

_SAYS = re.compile(rb"set\s+image|load\s+docker-image|image\s+load|image\s+import")
_REST = r"\s+([^\n|;&>#]*)"
_KUSTOMIZE = re.compile(rf"\bedit\s+set\s+image{_REST}")
_KUBECTL = re.compile(rf"\b(?:kubectl|oc)\b[^\n|;&]*?\bset\s+image{_REST}")
_LOADS = re.compile(
    rf"\b(?:kind\s+load\s+docker-image|minikube\b[^\n|;&]*?\bimage\s+load|k3d\s+image\s+import){_REST}"
)
_SKAFFOLD = re.compile(r"(?:^|/)skaffold[\w.-]*\.ya?ml$")
_ASSIGNED = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*[:?]?=[ \t]*[\"']?([\w./:-]+)[\"']?[ \t]*$", re.MULTILINE
)
_LOOP = re.compile(r"\bfor\s+(\w+)\s+in[ \t]+([\w./: \t-]+)(?:;|\n)")
_VARIABLE = re.compile(r"\$+[{(]?(\w+)[})]?")
_IMAGE = re.compile(r"[\w.-]+(?::\d+)?(?:/[\w.-]+)*")
_TAKES = frozenset(
    {"-n", "--namespace", "--context", "-p", "--profile", "--name", "-c", "--cluster"}
)
_MOST = 100
"""Images of one file, and the words of one command."""


@dataclass(frozen=True, slots=True)
class ScriptedImages:
    """The images that one file sets."""

    names: tuple[str, ...]
    """Without tags."""
    image_targets: tuple[tuple[str, str], ...]
    """By workload and container: `*` is any."""


def scripted_images(data: bytes, file: str, *, script: bool) -> list[ScriptedImages]:
    """The images of one file; none of a file that is neither a script nor a pipeline."""
    built = [*filter(None, map(_named, _artifacts(data, file)))]
    if not built and (not (script or is_pipeline(file)) or not _SAYS.search(data)):
        return []
    text = re.sub(r"\\\r?\n", " ", data.decode(errors="replace"))
    text = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))
    values = _values(text)
    names = [*built, *_loaded(text, values)]
    containers: list[tuple[str, str]] = []
    if not is_documentation(file):
        names += _edited(text, values)
        containers += _set(text, values)
    if not (names or containers):
        return []
    return [ScriptedImages(tuple(dict.fromkeys(names))[:_MOST], tuple(containers)[:_MOST])]


def _artifacts(data: bytes, file: str) -> Iterator[str]:
    """Images that Skaffold builds without an optional profile."""
    try:
        documents = parse_documents(data, file) if _SKAFFOLD.search(file) else []
    except UsageError:
        return  # a template
    for each in documents:
        if str(mapping(each.value).get("apiVersion")).startswith("skaffold/"):
            for artifact in mappings(each.value, "build", "artifacts"):
                yield text(artifact, "image") or text(artifact, "imageName")  # before v1beta1


def _values(text: str) -> Mapping[str, tuple[str, ...]]:
    """Values of variables, if the same file sets them."""
    results = {name: (value,) for name, value in _ASSIGNED.findall(text)}
    return results | {name: tuple(words.split()) for name, words in _LOOP.findall(text)}


def _loaded(text: str, values: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for rest in _LOADS.findall(text):
        for word in _plain(rest):
            match = _VARIABLE.fullmatch(word)
            for each in values.get(match[1], ()) if match else (word,):
                if name := _named(each):
                    yield name


def _edited(text: str, values: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for rest in _KUSTOMIZE.findall(text):
        for word in _plain(rest):
            old, _, new = word.partition("=")
            if not _moves(new or old, values) and (name := _named(old)):
                yield name


def _set(text: str, values: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    for rest in _KUBECTL.findall(text):
        words = _plain(rest)
        workloads = [word.rpartition("/")[2] for word in words if "=" not in word]
        for word in words:
            container, is_, image = word.partition("=")
            if is_ and not _moves(image, values):
                yield from ((each, container) for each in workloads)


def _plain(rest: str) -> Sequence[str]:
    """Words that are neither options nor values of one."""
    words = [word.strip("\"'") for word in rest.split(maxsplit=_MOST)[:_MOST]]
    before = ["", *words]
    return [
        word
        for last, word in zip(before, words, strict=False)
        if word and not word.startswith("-") and last not in _TAKES
    ]


def _moves(image: str, values: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether the new tag is latest again."""
    match = _VARIABLE.fullmatch(image)
    return any(
        each.endswith(":latest") for each in (values.get(match[1], ()) if match else (image,))
    )


def _named(image: str) -> str:
    """The name of an image, "" if it is not literal."""
    name = repository_of(image)
    return name.removeprefix("docker.io/") if _IMAGE.fullmatch(name) else ""
