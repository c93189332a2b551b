"""Limits of one value: its type, and what the providers check before they call a cloud."""

import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from testbed.plugins.cloud.facts import Facts

_GO_DURATION = re.compile(r"^-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$")
_DAY = 24 * 3600
_PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_KEY = re.compile(r"^(arn:[\w-]+:kms:[\w-]*:\d*:(key|alias)/.+|alias/.+|(mrk-)?[0-9a-f-]{32,36})$")


# ── types ─────────────────────────────────────────────────────────────────────────────────────────
def _whole(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": _whole,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, Mapping),
}


def of_type(value: Any, type_: str) -> bool:
    """Whether a single value is of this type of the tables."""
    return _TYPES[type_](value)


# ── limits ────────────────────────────────────────────────────────────────────────────────────────
def broken(value: Any, facts: Facts) -> Iterator[str]:
    """What is allowed instead, for each limit that the value breaks."""
    if value == "" and facts.get("orEmpty"):
        return
    if facts.get("nonZero") and not value:
        yield "a value that is not empty"
    yield from _choice(value, facts)
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from _figure(value, facts)
    if isinstance(value, str):
        yield from _text(value, facts)
    if "check" in facts and not CHECKS[facts["check"]][1](value):
        yield CHECKS[facts["check"]][0]


def _choice(value: Any, facts: Facts) -> Iterator[str]:
    allowed = facts.get("enum")
    if allowed is None:
        return
    if facts.get("ignoreCase"):
        if str(value).lower() in {str(each).lower() for each in allowed}:
            return
    elif value in allowed:
        return
    yield f"one of {', '.join(map(str, allowed))}"


def _figure(value: float, facts: Facts) -> Iterator[str]:
    if value < facts.get("min", value):
        yield f"{facts['min']} or more"
    if value > facts.get("max", value):
        yield f"{facts['max']} or less"
    if "exclusiveMin" in facts and value <= facts["exclusiveMin"]:
        yield f"more than {facts['exclusiveMin']}"
    if value % facts.get("multipleOf", value or 1):
        yield f"a multiple of {facts['multipleOf']}"


def _text(value: str, facts: Facts) -> Iterator[str]:
    if len(value) < facts.get("minLength", 0):
        yield f"{facts['minLength']} characters or more, and these are {len(value)}"
    if len(value) > facts.get("maxLength", len(value)):
        yield f"{facts['maxLength']} characters or less, and these are {len(value)}"
    if "pattern" in facts and not re.search(facts["pattern"], value):
        yield f"text that matches {facts['pattern']}"
    if "notPattern" in facts and re.search(facts["notPattern"], value):
        yield f"text that does not match {facts['notPattern']}"
    if "format" in facts and not FORMATS[facts["format"]](value):
        yield f"text of the form {facts['format']}"
    elif "maskMin" in facts or "maskIn" in facts:
        yield from _mask(value, facts)


def _mask(value: str, facts: Facts) -> Iterator[str]:
    length = value.rpartition("/")[2]
    lengths = facts.get("maskIn") or range(facts["maskMin"], facts["maskMax"] + 1)
    if not length.isdigit() or int(length) not in lengths:
        yield f"a range with a mask of {lengths[0]} to {lengths[-1]} bits"


# ── forms of text ─────────────────────────────────────────────────────────────────────────────────
def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def holds(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return holds


def _range(version: int | None, *, strict: bool) -> Callable[[str], bool]:
    def parse(value: str) -> None:
        if "/" not in value:
            raise ValueError(value)
        result = ipaddress.ip_network(value, strict=strict)
        if version not in {None, result.version}:
            raise ValueError(value)

    return _parses(parse)


def _time(value: str) -> None:
    datetime.fromisoformat(value)
    if "T" not in value:
        raise ValueError(value)


def _policy(value: str) -> None:
    if not isinstance(json.loads(value), dict):
        raise ValueError(value)  # noqa: TRY004  text that is not a policy


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "arn": lambda value: bool(re.match(r"^arn:[\w-]+:[\w.-]+:[\w-]*:(\d{12}|aws)?:.+$", value)),
    "go-duration": lambda value: bool(_GO_DURATION.match(value)) or value == "0",
    "timestamp YYYY-MM-DD_HH:MM": _parses(lambda value: datetime.strptime(value, "%Y-%m-%d_%H:%M")),  # noqa: DTZ007
    "date YYYY-MM-DD": _parses(lambda value: datetime.strptime(value, "%Y-%m-%d")),  # noqa: DTZ007
    "HH:MM": _parses(lambda value: datetime.strptime(value, "%H:%M")),  # noqa: DTZ007
    "rfc3339": _parses(_time),
    "json": _parses(json.loads),
    "iam-policy-json": _parses(_policy),
    "kms-key-id-or-arn-or-alias": lambda value: bool(_KEY.match(value)),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _range(None, strict=False),
    "cidr-network": _range(None, strict=True),
    "ipv4-cidr-network": _range(4, strict=True),
    "ipv6-cidr-network": _range(6, strict=True),
    "https-url": lambda value: urlsplit(value).scheme == "https" and bool(urlsplit(value).netloc),
}


def _private(value: str) -> bool:
    try:
        result = ipaddress.ip_network(value, strict=False)
    except ValueError:
        return value.startswith("/")  # only a size, where the provider accepts one
    return any(
        isinstance(result, ipaddress.IPv4Network) and result.subnet_of(each) for each in _PRIVATE
    )


CHECKS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "off-or-100-to-200": (
        "-1, or 100 to 200",
        lambda value: value == -1 or value in range(100, 201),
    ),
    "private-range": ("a range inside 10/8, 172.16/12 or 192.168/16", _private),
    "no-query": ("an address without a query", lambda value: "?" not in value),
    "slashed": (
        "a path that begins and ends with a slash and has no two of them together",
        lambda value: value.startswith("/") and value.endswith("/") and "//" not in value,
    ),
    "not-an-arn": ("the role's name, not its ARN", lambda value: not value.startswith("arn:")),
    "no-directory-bucket": (
        "a name that is not a directory bucket's",
        lambda value: not re.search(r"--[a-z0-9-]+--x-s3$", value),
    ),
    "private-asn": (
        "a private ASN: 64512 to 65534, or 4200000000 to 4294967294",
        lambda value: value in range(64512, 65535) or value in range(4200000000, 4294967295),
    ),
    "a-day-at-least": (
        "86400s or more",
        lambda value: value.endswith("s") and float(value[:-1] or 0) >= _DAY,
    ),
    "domain": (
        "a service's full name, such as container.googleapis.com",
        lambda value: "." in value,
    ),
    "no-key-of-aws": (
        "keys that do not begin with AWS",
        lambda value: not any(key.startswith("AWS") for key in value),
    ),
    "service-account": (
        "projects/PROJECT/serviceAccounts/EMAIL",
        lambda value: bool(re.match(r"^projects/[^/]+/serviceAccounts/[^/]+@[^/]+$", value)),
    ),
}
