"""Every image that a platform's pods pull: by digest if the catalogue has one, otherwise by tag.

Images of charts are known from the charts' own values. Images that a cloud puts on its nodes itself
are not included, and neither are images of teams.
"""

from dataclasses import replace

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.platform import ADDONS
from gpuyard.render.pulled_image import PulledImage
from gpuyard.render.supply.prepull import PREPULL


def pulled_images(plan: PlatformPlan) -> list[PulledImage]:
    """Each image once, by name; none on a simulated cluster, whose nodes run nothing."""
    if plan.simulated:
        return []
    images = [image for addon in ADDONS for image in addon.pulled_images(plan)]
    results: dict[str, PulledImage] = {}
    for image in sorted(images, key=lambda each: each.component == PREPULL):
        known = results.setdefault(image.reference, image)
        if image.component not in {*known.component.split(" and "), PREPULL}:
            component = f"{known.component} and {image.component}"
            results[image.reference] = replace(known, component=component)
    return sorted(results.values())
