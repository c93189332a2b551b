"""`gpuyard images`: every image that a stack's own pods pull."""

from gpuyard.cli.exit_codes import FINE
from gpuyard.cli.options import Format, FormatOption, StackArgument
from gpuyard.cli.stacks import judge_stack
from gpuyard.cli.terminal.console import Console, results, write
from gpuyard.cli.views.documents import as_json
from gpuyard.cli.views.findings import document, refused
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.supply.images import PulledImage, pulled_images


def images(
    stack: StackArgument,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """List every image that a stack pulls. By digest where it is known, for mirrors and for review."""
    judged = judge_stack(stack)
    if judged.plan is None:
        return refused("images", judged, format, images=None)
    found = pulled_images(judged.plan)
    if format is Format.JSON:
        write(as_json(document("images", judged, images=[_row(image) for image in found])))
    else:
        _show(judged.plan, found, results())
    return FINE


def _row(image: PulledImage) -> dict[str, object]:
    """Sizes are part of the answer, and unknown: nobody has asked a registry."""
    return {
        "image": image.reference,
        "repository": image.repository,
        "tag": image.tag,
        "digest": image.digest or None,
        "size_mib": None,
        "of": image.of,
        "adds": image.adds or None,
    }


def _show(plan: PlatformPlan, found: list[PulledImage], console: Console) -> None:
    if not found:
        console.say(f"{plan.name} pulls no image: " + _why_none(plan))
        return
    console.title("Images", "that the platform's own pods pull")
    for image in found:  # whole on one line, so that it can be copied
        pinned = "" if image.digest else ", tag only"
        console.say(f"  {image.reference}  {image.of}{pinned}")
    for image in found:
        if image.adds:
            console.tell(f"{image.repository}: after the tag stands {image.adds}", indent=2)
    by_tag = sum(not image.digest for image in found)
    console.tell(
        f"{len(found)} images, {by_tag} by tag only: of those no digest was seen; sizes are not known."
        " What the cloud puts on its nodes, and what teams run, is not counted.",
        indent=2,
    )


def _why_none(plan: PlatformPlan) -> str:
    return "its nodes are simulated" if plan.simulated else "nothing of it is installed as a chart"
