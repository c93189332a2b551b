"""The changes of kustomizations, indexed by their targets, so that few are compared with each object."""

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from itertools import groupby

from gpuyard_lint.combined.changes import Change, PatchedObject, image_names
from gpuyard_lint.rules.rule import Resource


class ChangeIndex:
    """Changes in order: those of `images` by image, all others by the kind and name of their target."""

    def __init__(self, changes: Iterable[Change]) -> None:
        """Index them."""
        runs = groupby(changes, key=lambda change: bool(change.image))
        self._runs = [_Run(list(run), of_images=of_images) for of_images, run in runs]
        self.lookups = 0
        """The keys and changes with which objects have been compared so far."""

    def applied(self, resource: Resource) -> PatchedObject | None:
        """The object after all changes; None if one deletes it."""
        form = PatchedObject(resource.properties, (resource.name,))
        for run in self._runs:
            keys = run.keys(form)
            self.lookups += len(keys)
            at = run.following(keys, 0)
            while at is not None:
                change = run.changes[at]
                self.lookups += len(keys)
                if change.matches(form) is not False:
                    after = change.apply(form)
                    if after is None:
                        return None
                    keys = keys if after is form else run.keys(after)
                    form = after
                at = run.following(keys, at + 1)
        return form


class _Run:
    """Consecutive changes with keys of one type."""

    def __init__(self, changes: list[Change], *, of_images: bool) -> None:
        self.changes = changes
        self.keys = image_names if of_images else _kinds_and_names
        self._places: dict[Hashable, list[int]] = {}
        for place, change in enumerate(changes):
            key = change.image if of_images else change.target_kind_and_name
            self._places.setdefault(key, []).append(place)

    def following(self, keys: Iterable[Hashable], start: int) -> int | None:
        """The first change from an index on with one of the keys."""
        found = (self._places[key] for key in keys if key in self._places)
        return min(
            (each[at] for each in found if (at := bisect_left(each, start)) < len(each)),
            default=None,
        )


def _kinds_and_names(form: PatchedObject) -> set[tuple[str, str]]:
    return {(kind, name) for kind in ("", form.kind) for name in ("", *form.names)}
