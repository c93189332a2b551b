"""The book of an account: its resources and their history."""

from dataclasses import dataclass, field
from typing import Any

from testbed.plugins.cloud.inside.node import BURNED, SHORT
from testbed.plugins.cloud.service import machines
from testbed.plugins.cloud.service.ties import Resource


@dataclass
class Book:
    """Content of the file."""

    resources: list[Resource] = field(default_factory=list[Resource])
    made: dict[str, int] = field(default_factory=dict[str, int])
    steps: int = 0
    used: dict[str, int] = field(default_factory=dict[str, int])
    objects: dict[str, int] = field(default_factory=dict[str, int])
    creators: dict[str, str] = field(default_factory=dict[str, str])
    asked: list[str] = field(default_factory=list[str])
    images: dict[str, str] = field(default_factory=dict[str, str])
    missing: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    ordered: dict[str, float] = field(default_factory=dict[str, float])
    coming: dict[str, int] = field(default_factory=dict[str, int])
    interrupted: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    burned: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    queued: dict[str, list[tuple[float, dict[str, Any]]]] = field(
        default_factory=dict[str, list[tuple[float, dict[str, Any]]]]
    )


def read_book(read: dict[str, Any]) -> Book:
    """Parse the book from its file's tree."""
    blocked = [
        Resource(each["kind"], each["id"], each["inputs"], each["state"], tuple(each["imports"]))
        for each in read.pop("resources")
    ]
    return Book(resources=blocked, **read)


def as_far_as_there_is(group: Resource, book: Book) -> Resource:
    """A group with its actual number of instances instead of the requested one."""
    missing = book.missing.get(group.id, (0, ""))[0]
    burned = book.burned.get(group.id)
    if not missing and not burned:
        return group
    existing, has = book.resources, dict[str, Any]()
    if missing and group.kind == machines.POOL:
        has[SHORT] = missing
    elif missing:
        has = machines.sized(group, machines.size_of(group, existing) - missing, existing)
    if burned:
        has[BURNED] = burned
    return Resource(group.kind, group.id, group.inputs, {**group.state, **has}, group.imports)
