"""Whether an image is based on CUDA images, which set NVIDIA_VISIBLE_DEVICES to all.

NVIDIA's container runtime gives GPUs only to images that set the variable: with the runtime class alone
`python:3.12-slim` gets none. No file shows the variables of an image, so only its name can tell.
"""

import re

from gpuyard_core.manifests.placeholders import repository_of
from gpuyard_lint.rules.rule import read_table

_WORDS = re.compile(r"(?<![a-z])(?:cuda|gpu|nvidia|cu\d{2,3}|cublas|tensorrt)(?![a-z])")
"""In a name or a tag: projects with two image variants mark the CUDA one so."""
_OTHERS = re.compile(r"(?<![a-z])(?:cpu|rocm|amd|intel|xpu|hpu|vulkan|tpu|neuron)(?![a-z])")
"""The marks of the other variant."""
_REGISTRY = "nvcr.io/"
_SETS_IT_ELSE = frozenset(read_table("cuda_images"))
"""Images that set the variable, unless the tag names other hardware."""
_PLAIN = frozenset(read_table("images_without_cuda"))
"""Well-known images without CUDA, by the last part of their names."""


def is_cuda_image(image: str) -> bool | None:
    """Whether an image sets the variable, by its name; None if the name does not tell."""
    reference = image.partition("@")[0].lower()
    if not reference:
        return None
    repository = repository_of(reference)
    if _OTHERS.search(reference.rpartition("/")[2]):
        return False
    if reference.startswith(_REGISTRY) or _WORDS.search(reference):
        return True
    short = "/".join(repository.split("/")[-2:])
    if short in _SETS_IT_ELSE:
        return True
    return False if repository.rpartition("/")[2] in _PLAIN else None
