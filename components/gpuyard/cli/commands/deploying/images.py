"""`gpuyard images`: every image and chart that a stack pulls, and the script that fills its mirror."""

from enum import StrEnum
from typing import Annotated

import typer

from gpuyard.cli.exit_codes import FINE
from gpuyard.cli.options import Format, StackArgument
from gpuyard.cli.stacks import judge_stack
from gpuyard.cli.terminal.console import Console, results, write
from gpuyard.cli.views.documents import as_json
from gpuyard.cli.views.findings import document, refused
from gpuyard.errors import UsageError
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.supply.copying import Copier, PulledChart, copy_script, pulled_charts
from gpuyard.render.supply.images import PulledImage, pulled_images


class ImagesFormat(StrEnum):
    """How the list is written: for people, for programs, or as what copies it."""

    TEXT = "text"
    JSON = "json"
    SKOPEO = "skopeo"
    CRANE = "crane"


def images(
    stack: StackArgument,
    format: Annotated[  # noqa: A002  the option's name
        ImagesFormat,
        typer.Option(
            "--format",
            help="How to write the result; skopeo and crane: a script that fills the stack's mirror.",
        ),
    ] = ImagesFormat.TEXT,
) -> int:
    """List every image and chart that a stack pulls. By digest where known, for mirrors and for review."""
    judged = judge_stack(stack)
    if judged.plan is None:
        said = Format.JSON if format is ImagesFormat.JSON else Format.TEXT
        return refused("images", judged, said, images=None, charts=None)
    plan = judged.plan
    if format in {ImagesFormat.SKOPEO, ImagesFormat.CRANE}:
        if plan.spec.mirror is None:
            raise UsageError(
                "The stack file has no `mirror`, so nothing says where copies go."
                " Write `mirror: {images: REGISTRY/PATH}`."
            )
        write(copy_script(plan, Copier(format.value)))
        return FINE
    found, charts = pulled_images(plan), pulled_charts(plan)
    if format is ImagesFormat.JSON:
        rows = {"images": [_row(each) for each in found], "charts": [_chart(c) for c in charts]}
        write(as_json(document("images", judged, **rows)))
    else:
        _show(plan, found, charts, results())
    return FINE


def _row(image: PulledImage) -> dict[str, object]:
    """Sizes are part of the answer, and unknown: nobody has asked a registry."""
    return {
        "image": image.reference,
        "repository": image.repository,
        "tag": image.tag or None,
        "digest": image.digest or None,
        "size_mib": None,
        "of": image.of,
        "adds": image.adds or None,
        "home": image.home,
        "by_tag_because": image.why_by_tag or None,
    }


def _chart(chart: PulledChart) -> dict[str, object]:
    return {
        "chart": chart.chart,
        "repository": chart.repository or None,
        "version": chart.version,
        "digest": chart.digest or None,
        "home": chart.home,
    }


def _show(
    plan: PlatformPlan, found: list[PulledImage], charts: list[PulledChart], console: Console
) -> None:
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
        if image.why_by_tag:
            console.tell(f"{image.repository}: by tag, for {image.why_by_tag}", indent=2)
    if charts:
        console.title("Charts", "that Helm installs")
    for chart in charts:
        where = f" from {chart.repository}" if chart.repository else ""
        pinned = f"@{chart.digest}" if chart.digest else ""
        console.say(f"  {chart.chart} {chart.version}{pinned}{where}")
    by_tag = sum(not image.digest for image in found)
    console.tell(
        f"{len(found)} images, {by_tag} by tag only; sizes are not known: no registry was asked."
        " What the cloud puts on its nodes, and what teams run, is not counted.",
        indent=2,
    )


def _why_none(plan: PlatformPlan) -> str:
    return "its nodes are simulated" if plan.simulated else "nothing of it is installed as a chart"
