"""An add-on: one part of a platform inside its cluster, as one record."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.charts import Release
from gpuyard.render.objects import Object
from gpuyard.render.pulled_image import PulledImage


@dataclass(frozen=True, slots=True)
class Addon:
    """Objects, a chart and images; each function returns nothing if the plan does not use the add-on.

    `gpuyard.render.platform.ADDONS` lists all add-ons in the order in which to apply them.
    """

    name: str
    """Part of the names of its files; its chart's object with `apply: render` has it, too."""
    objects: Callable[[PlatformPlan], list[Object] | dict[str, list[Object]]] = lambda _: []
    """Objects to apply before the chart; a mapping divides them into groups with other names."""
    release: Callable[[PlatformPlan], Release | None] = lambda _: None
    images: Callable[[PlatformPlan], Iterable[PulledImage]] = lambda _: ()
    """The images that its pods pull, besides that of its release."""
    after: tuple[str, ...] = ()
    """Earlier add-ons that a deployment creates before this one, and deletes after it."""
    part_of: str = ""
    """The add-on whose component registers this one; empty if this one is registered by itself."""

    def pulled_images(self, plan: PlatformPlan) -> list[PulledImage]:
        """The images that its pods pull."""
        release = self.release(plan)
        image = release.image if release is not None else None
        return [*([image] if image is not None else []), *self.images(plan)]

    def groups(self, plan: PlatformPlan) -> dict[str, list[Object]]:
        """Its objects in groups by name, each of which can be applied as one."""
        objects = self.objects(plan)
        return objects if isinstance(objects, dict) else {self.name: objects}
