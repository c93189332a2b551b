"""Errors of a cloud for tags and labels of any resource, which the providers do not check."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from testbed.plugins.cloud.rules.looking import Inputs, at, items
from testbed.plugins.kubernetes.values import Unknown

_STRICT = ("aws:iam/", "aws:efs/", "aws:fsx/", "aws:cloudwatch/logGroup")
"""[api] Services whose models have a pattern for tags; EC2 and others take any text."""
_MOST_TAGS, _MOST_LABELS = 50, 64
_TAG_KEY, _TAG_VALUE, _LABEL = 128, 256, 63
_LABELS = ("labels", "resourceLabels", "nodeConfig.resourceLabels")
_LABEL_TEXT = re.compile(r"[a-z0-9_-]*")


def of_marks(kind: str, inputs: Inputs) -> Iterator[str]:
    """Errors of the tags of an AWS resource, or the labels of a Google Cloud resource."""
    if kind.startswith("aws:"):
        results = [
            at(inputs, "tags"),
            *(at(one, "tags") for one in items(inputs, "tagSpecifications")),
        ]
        for tags in results:
            yield from _tags(kind, tags)
    if kind.startswith("gcp:"):
        for path in _LABELS:
            yield from _labels(at(inputs, path))


def _tags(kind: str, tags: Any) -> Iterator[str]:
    """[api] tagListType, tagKeyType and tagValueType of IAM; TagMap of EKS."""
    if not isinstance(tags, Mapping):
        return
    if len(tags) > _MOST_TAGS:
        yield f"InvalidParameterException: {len(tags)} tags; {_MOST_TAGS} at most"
    for key, value in tags.items():
        if key.lower().startswith("aws:"):
            yield f"InvalidParameterException: tag {key} begins with aws:, which is AWS's own"
        if not 0 < len(key) <= _TAG_KEY:
            yield f"InvalidParameterException: a tag's key has {len(key)} characters; 1 to {_TAG_KEY}"
        for text, most in ((key, _TAG_KEY), (value, _TAG_VALUE)):
            if isinstance(text, Unknown):
                continue
            if kind.startswith(_STRICT) and not all(map(_is_tag_letter, text)):
                yield f"InvalidInput: tag {text!r} has characters beside letters, figures, blanks, _.:/=+-@"
            elif text is value and len(text) > most:
                yield f"InvalidParameterException: a tag's value has {len(text)} characters; {most} at most"


def _is_tag_letter(letter: str) -> bool:
    return letter in "_.:/=+-@" or unicodedata.category(letter)[0] in "LNZ"


def _labels(labels: Any) -> Iterator[str]:
    """[doc] GKE, creating and managing labels: requirements. Letters of other languages are not checked."""
    if not isinstance(labels, Mapping):
        return
    if len(labels) >= _MOST_LABELS:  # goog-pulumi-provisioned is added
        yield f"{len(labels)} labels and goog-pulumi-provisioned; allowed: {_MOST_LABELS}"
    for key, value in labels.items():
        if not key[:1].isalpha() or not _is_label(key):
            yield f"label {key!r} is no key; allowed: small letters, figures, _ and -, a letter first"
        if isinstance(value, str) and not _is_label(value):
            yield f"label {key} is {value!r}; allowed: small letters, figures, _ and -"


def _is_label(text: str) -> bool:
    return len(text) <= _LABEL and _LABEL_TEXT.fullmatch(text) is not None
