"""Values with a short form: ranges, memory, networks, GPU indexes.

Each type parses the short forms and prints one canonical form.
"""

import ipaddress
import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from math import ceil
from typing import Annotated, Any, LiteralString

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError


class SpecModel(BaseModel):
    """A part of the stack file."""

    # Built on first use, once for the whole tree: commands that read no stack do not pay for it.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class NamedModel(SpecModel):
    """A part of the stack file whose short form is the value of its first field."""

    @model_validator(mode="before")
    @classmethod
    def _from_shorthand(cls, value: Any) -> Any:
        return {next(iter(cls.model_fields)): value} if isinstance(value, str) else value

    @model_serializer
    def _to_shorthand(self) -> Any:
        (name, _), *others = type(self).model_fields.items()
        values = {key: getattr(self, key) for key, _ in others}
        given = {key: values[key] for key, field in others if values[key] != field.default}
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in given.items()}
        main = str(getattr(self, name))
        return {name: main, **plain} if plain else main


MAX_NODES = 10_000
"""Maximum nodes of a pool; Kubernetes is tested with 5,000 nodes per cluster, so more is a typing error."""
MAX_COUNT = 1_000_000


ValueChange = tuple[tuple[str | int, ...], object]
"""A path below the error's path and the value to set there; None deletes what is at the path."""


def value_error(
    kind: LiteralString,
    problem: str,
    *,
    allowed: str,
    fix: str | tuple[str, ValueChange | None] = "",
    change: ValueChange | None = None,
) -> PydanticCustomError:
    """An error that carries what is allowed and what to do, for `gpuyard_core.models.problems` to show.

    With a change, alone or next to the text of the fix, a program can do what the fix says.
    """
    fix, change = (fix, change) if isinstance(fix, str) else fix
    return PydanticCustomError(  # the text is data, not a template: do not format braces in it
        kind,
        "{problem}",
        {"problem": problem, "allowed": allowed, "fix": fix, "change": change},
    )


def replacement_fix(value: object) -> tuple[str, ValueChange]:
    """The fix that replaces the wrong value, as a message and as a change."""
    return f"write {value}", ((), value)


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, both included; prints as `0..16`, or `4` when both are the same."""

    low: int
    high: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}..{self.high}"


_RANGE = re.compile(r"(\d{1,9})\s*\.\.\s*(\d{1,9})")
_NEARLY_RANGE = re.compile(r"(\d{1,5})(?:\s*(?:-|–|:|\.+|to)\s*(\d{1,5}))?(?:\s*(?:nodes?|%))?")
_RANGE_HELP = "a number of nodes, or LOW..HIGH such as 0..16"


def parse_range(value: object) -> Range:
    """Read `4` or `0..16`; the lower end first, at most MAX_NODES."""
    if isinstance(value, Range):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        low = high = value
    elif isinstance(value, str) and value.strip().isdecimal():
        low = high = int(value.strip().lstrip("0")[:10] or "0")
    elif isinstance(value, str) and (match := _RANGE.fullmatch(value.strip())):
        low, high = int(match[1]), int(match[2])
    else:
        raise value_error(
            "range_form",
            "not a number of nodes or a range",
            allowed=_RANGE_HELP,
            fix=_meant_range(value),
        )
    if low > high:
        raise value_error(
            "range_reversed",
            "the range runs backwards",
            allowed=_RANGE_HELP,
            fix=replacement_fix(f"{high}..{low}"),
        )
    if low < 0 or high > MAX_NODES:
        fix, change = replacement_fix(
            _written(*(min(max(end, 0), MAX_NODES) for end in (low, high)))
        )
        raise value_error(
            "range_size",
            "out of bounds for a number of nodes",
            allowed=f"0 to {MAX_NODES} nodes in a pool",
            fix=f"{fix}; use several pools for more nodes" if high > MAX_NODES else fix,
            change=change,
        )
    return Range(low, high)


def _meant_range(
    value: object, most: int = MAX_NODES, example: str = "0..4"
) -> tuple[str, ValueChange | None]:
    """The suggestion for values such as `4-8`, `4 to 8` or `8 nodes`."""
    match = _NEARLY_RANGE.fullmatch(value.strip()) if isinstance(value, str) else None
    ends = sorted(int(end) for end in match.groups() if end) if match else []
    if not ends or ends[-1] > most:
        return f"write for example {example}", None
    return replacement_fix(_written(ends[0], ends[-1]))


def _written(low: int, high: int) -> object:
    """A range as written in a stack file; equal ends become one number."""
    return low if low == high else str(Range(low, high))


NodeRange = Annotated[
    Range,
    BeforeValidator(parse_range),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": MAX_NODES},
                {"type": "string", "pattern": r"^\d+(\s*\.\.\s*\d+)?$"},
            ]
        }
    ),
]

_MEMORY = re.compile(r"(\d{1,7})\s*(gib|gi|gb|g|tib|ti|tb|t)?", re.IGNORECASE)


_NEARLY_GIB = re.compile(r"(\d{1,7}(?:\.\d{1,6})?)\s*(g[a-z]*)?", re.IGNORECASE)


def parse_memory_gib(value: object) -> int:
    """Read `64`, `64GiB`, `80GB` or `2TB` as GiB.

    GB is read as GiB, as GPU and machine data sheets use it: an "80GB" GPU has 80 GiB.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    match = _MEMORY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or int(match[1]) == 0:
        raise value_error(
            "memory_form",
            "not an amount of memory",
            allowed="GiB, for example 64, 64GiB, 80GB or 2TB",
            fix=_meant_memory(value),
        )
    unit = (match[2] or "g").lower()
    return int(match[1]) * (1024 if unit.startswith("t") else 1)


def _meant_memory(value: object) -> tuple[str, ValueChange | None]:
    """The suggestion for values such as `64 gigabytes` or 63.5, rounded up."""
    match = _NEARLY_GIB.fullmatch(str(value).strip())
    amount = ceil(float(match[1])) if match else 0
    return replacement_fix(amount) if amount else ("write for example 64", None)


MemoryGib = Annotated[
    int,
    BeforeValidator(parse_memory_gib),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": r"^\d+ ?([GgTt][Ii]?[Bb]?)?$"},
            ]
        }
    ),
]

_INDEXES = re.compile(r"(\d{1,2})(?:\s*-\s*(\d{1,2}))?")


def parse_gpu_indexes(value: object) -> tuple[int, ...]:
    """Read `3`, `0-3`, `0,2` or `[0, 2]` as GPU indexes of one node, sorted."""
    indexes = _indexes_in(value)
    if not indexes:
        raise value_error(
            "gpu_indexes",
            "not GPU indexes",
            allowed="an index, a range such as 0-3, or a list such as [0, 2]",
            fix="write 0-3",
        )
    if len(set(indexes)) != len(indexes):
        raise value_error(
            "gpu_indexes",
            "duplicate GPU index",
            allowed="each index once",
            fix=replacement_fix(show_gpu_indexes(tuple(sorted(set(indexes))))),
        )
    return tuple(sorted(indexes))


def _indexes_in(value: object) -> list[int]:
    """The indexes in their written order; empty for any other form."""
    if type(value) is int and value >= 0:
        return [value]
    if isinstance(value, list | tuple):
        return list(value) if all(type(v) is int and v >= 0 for v in value) else []
    indexes: list[int] = []
    for part in value[:200].split(",") if isinstance(value, str) else ():
        match = _INDEXES.fullmatch(part.strip())
        if match is None or int(match[1]) > int(match[2] or match[1]):
            return []
        indexes += range(int(match[1]), int(match[2] or match[1]) + 1)
    return indexes


def show_gpu_indexes(indexes: tuple[int, ...]) -> str:
    """`0-3` for a run, `0,2` otherwise."""
    first, last = indexes[0], indexes[-1]
    if len(indexes) == 1:
        return str(first)
    return f"{first}-{last}" if last - first + 1 == len(indexes) else ",".join(map(str, indexes))


GpuIndexes = Annotated[
    tuple[int, ...],
    BeforeValidator(parse_gpu_indexes),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": r"^\d+(\s*-\s*\d+)?(\s*,\s*\d+(\s*-\s*\d+)?)*$"},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
            ]
        }
    ),
]

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
NAME_LENGTH = 40
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
NAMESPACE_LENGTH = 63


def parse_name(value: object) -> str:
    """A name that is valid in Kubernetes and cloud object names: a short DNS label."""
    help_ = f"lower-case letters, digits and dashes, starting with a letter, at most {NAME_LENGTH}"
    if not isinstance(value, str):
        fix = "put it in quotes and start it with a letter"
        raise value_error("name_form", "a name must be text", allowed=help_, fix=fix)
    if len(value) > NAME_LENGTH or not _NAME.fullmatch(value):
        suggestion = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")[:NAME_LENGTH].strip("-")
        raise value_error(
            "name_form",
            "not a valid name for Kubernetes and the clouds",
            allowed=help_,
            fix=replacement_fix(suggestion) if _NAME.fullmatch(suggestion) else ("", None),
        )
    return value


Name = Annotated[
    str,
    BeforeValidator(parse_name),
    WithJsonSchema(
        {"type": "string", "pattern": r"^[a-z]([-a-z0-9]*[a-z0-9])?$", "maxLength": NAME_LENGTH}
    ),
]


def parse_namespace(value: object) -> str:
    """The name of a namespace: any that Kubernetes accepts, because it may already exist."""
    help_ = f"lower-case letters, digits and dashes, at most {NAMESPACE_LENGTH}"
    if not isinstance(value, str):
        fix = "put it in quotes"
        raise value_error("namespace_form", "a name must be text", allowed=help_, fix=fix)
    if len(value) > NAMESPACE_LENGTH or not _NAMESPACE.fullmatch(value):
        suggestion = re.sub(r"[^a-z0-9]+", "-", value.lower())[:NAMESPACE_LENGTH].strip("-")
        raise value_error(
            "namespace_form",
            "not a valid name for a Kubernetes namespace",
            allowed=help_,
            fix=replacement_fix(suggestion) if suggestion else "",
        )
    return value


NamespaceName = Annotated[
    str,
    BeforeValidator(parse_namespace),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            "maxLength": NAMESPACE_LENGTH,
        }
    ),
]

Count = Annotated[int, Field(strict=True, ge=0, le=MAX_COUNT)]
Switch = Annotated[bool, Field(strict=True)]
Positive = Annotated[int, Field(strict=True, ge=1, le=MAX_COUNT)]
Usd = Annotated[float, Field(strict=True, gt=0, le=1e12, allow_inf_nan=False)]
UsdOrNothing = Annotated[float, Field(strict=True, ge=0, le=1e12, allow_inf_nan=False)]
Text = Annotated[
    str, Field(strict=True, min_length=1, max_length=253, pattern=r"^[^\x00-\x1f\x7f]+$")
]

DriverName = Annotated[
    str, Field(strict=True, max_length=63, pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$")
]
"""Name of a CSI driver as registered in a cluster: a domain."""
Percent = Annotated[float, Field(strict=True, ge=0, le=100, allow_inf_nan=False)]
MOST_PERCENT = 100
_PERCENT_RANGE = re.compile(r"(\d{1,3})\s*\.\.\s*(\d{1,3})")


def parse_percent_range(value: object) -> Range:
    """Read `75` or `65..85` as percent; the lower end first."""
    if isinstance(value, Range):
        return value
    match = _PERCENT_RANGE.fullmatch(value.strip()) if isinstance(value, str) else None
    ends = (
        (value, value) if type(value) is int else (int(match[1]), int(match[2])) if match else None
    )
    if ends is None or not 0 <= ends[0] <= ends[1] <= MOST_PERCENT:
        raise value_error(
            "percent_range",
            "not a percentage or a range of percentages",
            allowed="0 to 100, or LOW..HIGH such as 65..85",
            fix=_meant_range(value, MOST_PERCENT, "65..85"),
        )
    return Range(*ends)


PercentRange = Annotated[
    Range,
    BeforeValidator(parse_percent_range),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 100},
                {"type": "string", "pattern": r"^\d+\s*\.\.\s*\d+$"},
            ]
        }
    ),
]


def parse_cidr(value: object) -> str:
    """A network with its prefix length, for example 10.0.0.0/8; host bits are rejected, not dropped."""
    suggestion = _near_network(value)
    if suggestion is None or str(suggestion) != value:
        raise value_error(
            "cidr_form",
            "not a network in CIDR notation",
            allowed="a network such as 10.0.0.0/8 or 2001:db8::/32",
            fix=f"write {suggestion}" if suggestion else "",
            change=((), str(suggestion)) if suggestion else None,
        )
    return str(suggestion)


def _near_network(value: object) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The network that a host address, or an address with host bits, most likely means."""
    try:
        return ipaddress.ip_network(value, strict=False) if isinstance(value, str) else None
    except ValueError:
        return None


Cidr = Annotated[
    str, BeforeValidator(parse_cidr), WithJsonSchema({"type": "string", "pattern": "/[0-9]+$"})
]

_IMAGE_PREFIX = re.compile(
    r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?(:\d{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*/?"
)


def parse_image_prefix(value: object) -> str:
    """An image prefix: a registry, or a path in one."""
    if (
        not isinstance(value, str)
        or len(value) > MAX_IMAGE_PREFIX
        or not _IMAGE_PREFIX.fullmatch(value)
    ):
        raise value_error(
            "image_prefix",
            "not a registry or a repository",
            allowed="registry.example.org, or registry.example.org/team; no tag, no scheme",
            fix=_meant_images(value),
        )
    return value


def _meant_images(value: object) -> tuple[str, ValueChange | None]:
    """The suggestion: without scheme, tag or digest, in lower case."""
    text = value[: 2 * MAX_IMAGE_PREFIX].lower() if isinstance(value, str) else ""
    suggestion = re.sub(r"^[a-z]+://|@sha256:[0-9a-f]*$|:[^/]*[^/0-9][^/]*$", "", text)
    fits = len(suggestion) <= MAX_IMAGE_PREFIX and _IMAGE_PREFIX.fullmatch(suggestion)
    return replacement_fix(suggestion) if fits else ("", None)


_ADDRESS = re.compile(r"https?://[a-z0-9]([-.a-z0-9]*[a-z0-9])?(:\d{1,5})?(/[-._~a-zA-Z0-9]+)*")


def parse_address(value: object) -> str:
    """The URL of a server: scheme, host and port, optionally a path; no user name or password."""
    if not isinstance(value, str) or len(value) > MAX_IMAGE_PREFIX or not _ADDRESS.fullmatch(value):
        raise value_error(
            "address_form",
            "not the URL of a server",
            allowed="http://HOST:PORT or https://HOST:PORT, optionally with a path; no user name, no password",
            fix=_meant_address(value),
        )
    return value


def _meant_address(value: object) -> tuple[str, ValueChange | None]:
    """The suggestion: with a scheme, the host in lower case, without query and fragment."""
    text = value[: 2 * MAX_IMAGE_PREFIX].strip() if isinstance(value, str) else ""
    full_address = re.sub(r"/*([?#].*)?$", "", text if "://" in text else f"http://{text}", count=1)
    suggestion = re.sub(r"^[^/]*//[^/]*", lambda host: host[0].lower(), full_address)
    fits = len(suggestion) <= MAX_IMAGE_PREFIX and _ADDRESS.fullmatch(suggestion)
    return replacement_fix(suggestion) if fits else ("", None)


MAX_IMAGE_PREFIX = 253
Address = Annotated[
    str,
    BeforeValidator(parse_address),
    WithJsonSchema({"type": "string", "maxLength": MAX_IMAGE_PREFIX, "pattern": "^https?://"}),
]
ImagePrefix = Annotated[
    str,
    BeforeValidator(parse_image_prefix),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": MAX_IMAGE_PREFIX}),
]


_MIDNIGHT = re.compile(r"(\d{4}-\d{2}-\d{2}) 00:00:00 \+0000 UTC")


def parse_day(value: object) -> object:
    """A day of a stack file. The engine passes it to programs and policy packs as a Go timestamp."""
    if isinstance(value, int | float):
        # pydantic would read a number as seconds since 1970
        raise PydanticKnownError("date_type")
    match = _MIDNIGHT.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match else value


Day = Annotated[
    date,
    BeforeValidator(parse_day),
    WithJsonSchema({"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}),
]
"""A calendar day: 2027-03-31."""


class Level(StrEnum):
    """What happens when a rule is violated."""

    OFF = "off"
    ADVISORY = "advisory"
    MANDATORY = "mandatory"


class RuleException(SpecModel):
    """A temporary exception of one resource from one rule."""

    rule: Text
    """Id of the rule, for example GPU-TEN-02."""
    resource: Text
    """Name of the resource that is exempt."""
    reason: Text
    """Reason for the exception, understandable a year later."""
    expires: Day
    """First day on which the rule applies again, for example 2027-03-31."""


class Policies(SpecModel):
    """Levels of rules, and exceptions."""

    levels: dict[Text, Level] = Field(default_factory=dict)
    """Level by rule id: off, advisory or mandatory. Default: the level of each rule."""
    exceptions: Annotated[tuple[RuleException, ...], Field(max_length=1000)] = ()
    """Temporary exceptions from rules. Default: none."""
