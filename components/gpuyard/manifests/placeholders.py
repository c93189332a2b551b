"""Words that stand for a value which somebody fills in later: such a value is unknown, never wrong."""

import re

_FORMS = re.compile(
    r"\$[({]?\w"  # of a shell, of envsubst, of Make
    r"|<[^<>]+>"
    r"|\{\{"
    r"|%\w+%"
    r"|__\w+__"
    r"|x{5,}"
    r"|\b(?:replace[ds]?|your|change|todo|fixme|placeholder|filled)(?:\b|_)",
    re.IGNORECASE,
)


def is_placeholder(value: object) -> bool:
    """True for text that is not the value itself: `$GPUS`, `<image>`, `your-bucket`."""
    return isinstance(value, str) and _FORMS.search(value) is not None


def repository_of(image: str) -> str:
    """The name of an image, without its tag and digest."""
    name = image.partition("@")[0]
    return name[: name.rfind(":")] if ":" in name.rpartition("/")[2] else name


def is_no_image(value: str) -> bool:
    """True for what no registry could serve: a placeholder, or a repository that is not in small letters."""
    repository = repository_of(value)
    return is_placeholder(value) or repository != repository.lower()
