"""The changes of kustomizations, indexed by what they select, so that an object meets few of them."""

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator
from itertools import groupby

from gpuyard.lint.combined.changes import Change, ObjectVersion, image_names
from gpuyard.rules.rule import Resource


class ChangeIndex:
    """Changes in order: those of `images` by the image, all others by the kind and name that they select."""

    def __init__(self, changes: Iterable[Change]) -> None:
        """Index them."""
        runs = groupby(changes, key=lambda change: bool(change.image))
        self._runs = [_Run(list(run), of_images=of_images) for of_images, run in runs]
        self.lookups = 0
        """The keys and changes that objects have been compared with so far."""

    def applied(
        self, resource: Resource, *, sure: bool = False
    ) -> Iterator[tuple[Change, ObjectVersion | None]]:
        """Each change that is made, or each that is sure, with the object after it; None ends them."""
        form = ObjectVersion(resource.properties, (resource.name,))
        for run in self._runs:
            keys = run.keys(form)
            self.lookups += len(keys)
            at = run.following(keys, 0)
            while at is not None:
                change = run.changes[at]
                self.lookups += len(keys)
                selects = change.matches(form)
                if selects and change.is_certain if sure else selects is not False:
                    after = change.apply(form)
                    yield change, after
                    if after is None:
                        return
                    keys = keys if after is form else run.keys(after)
                    form = after
                at = run.following(keys, at + 1)


class _Run:
    """Consecutive changes that have keys of one sort."""

    def __init__(self, changes: list[Change], *, of_images: bool) -> None:
        self.changes = changes
        self.keys = image_names if of_images else _kinds_and_names
        self._places: dict[Hashable, list[int]] = {}
        for place, change in enumerate(changes):
            key = change.image if of_images else change.key
            self._places.setdefault(key, []).append(place)

    def following(self, keys: Iterable[Hashable], start: int) -> int | None:
        """The first change from a place on that has one of the keys."""
        found = (self._places[key] for key in keys if key in self._places)
        return min(
            (each[at] for each in found if (at := bisect_left(each, start)) < len(each)),
            default=None,
        )


def _kinds_and_names(form: ObjectVersion) -> set[tuple[str, str]]:
    return {(kind, name) for kind in ("", form.kind) for name in ("", *form.names)}


def deployed(
    resource: Resource, changes: ChangeIndex, *, sure: bool = False
) -> ObjectVersion | None:
    """The object after these, or after those of them that are sure; None where one takes it away."""
    after = [form for _, form in changes.applied(resource, sure=sure)]
    return after[-1] if after else ObjectVersion(resource.properties, (resource.name,))
