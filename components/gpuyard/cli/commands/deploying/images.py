"""`gpuyard images`: every image and chart that a stack pulls, and the script that fills its mirror."""

from enum import StrEnum
from typing import Annotated

import typer

from gpuyard.cli.commands.about import installed_version
from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import reject, write_document
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.pulled_image import PulledImage
from gpuyard.render.supply.bill_of_materials import platform_bill_of_materials
from gpuyard.render.supply.images import pulled_images
from gpuyard.render.supply.mirror_scripts import Copier, PulledChart, copy_script, pulled_charts
from gpuyard_core.errors import UsageError
from gpuyard_core.terminal.console import Console, results, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format


class ImagesFormat(StrEnum):
    """Output format: text, JSON, a bill of materials, or a script that copies the images."""

    TEXT = "text"
    JSON = "json"
    CYCLONEDX = "cyclonedx"
    SKOPEO = "skopeo"
    CRANE = "crane"


def images(
    stack: StackArgument,
    format: Annotated[  # noqa: A002  the option's name
        ImagesFormat,
        typer.Option(
            "--format",
            help="Output format; cyclonedx: a software bill of materials; skopeo and crane: a "
            "script that fills the stack's mirror.",
        ),
    ] = ImagesFormat.TEXT,
) -> int:
    """List every image and chart that a stack pulls. Shows digests where they are known."""
    judged = validate_stack(stack)
    if judged.plan is None:
        output_format = Format.JSON if format is ImagesFormat.JSON else Format.TEXT
        return reject("images", judged, output_format, images=None, charts=None)
    plan = judged.plan
    if format is ImagesFormat.CYCLONEDX:
        write(as_json(platform_bill_of_materials(plan, installed_version())))
        return OK
    if format in {ImagesFormat.SKOPEO, ImagesFormat.CRANE}:
        if plan.spec.mirror is None:
            raise UsageError(
                "The stack file has no `mirror`, which sets the target of the copies."
                " Write `mirror: {images: REGISTRY/PATH}`."
            )
        write(copy_script(plan, Copier(format.value)))
        return OK
    result, charts = pulled_images(plan), pulled_charts(plan)
    if format is ImagesFormat.JSON:
        rows = {"images": [_row(each) for each in result], "charts": [_chart(c) for c in charts]}
        write_document("images", judged, **rows)
    else:
        _show(plan, result, charts, results())
    return OK


def _row(image: PulledImage) -> dict[str, object]:
    return {
        "image": image.reference,
        "repository": image.repository,
        "tag": image.tag or None,
        "digest": image.digest or None,
        "of": image.component,
        "adds": image.tag_suffix or None,
        "home": image.upstream,
        "by_tag_because": image.why_by_tag or None,
    }


def _chart(chart: PulledChart) -> dict[str, object]:
    return {
        "chart": chart.chart,
        "repository": chart.repository or None,
        "version": chart.version,
        "digest": chart.digest or None,
        "home": chart.upstream,
    }


def _show(
    plan: PlatformPlan, results: list[PulledImage], charts: list[PulledChart], console: Console
) -> None:
    if not results:
        why = "its nodes are simulated" if plan.simulated else "gpuyard installs no chart for it"
        console.print(f"{plan.name} pulls no image: {why}")
        return
    console.title("Images", "pulled by the platform's own pods")
    for image in results:  # whole on one line, so that it can be copied
        pinned = "" if image.digest else ", tag only"
        console.print(f"  {image.reference}  {image.component}{pinned}")
    for image in results:
        if image.tag_suffix:
            console.print_wrapped(
                f"{image.repository}: the tag is followed by {image.tag_suffix}", indent=2
            )
        if image.why_by_tag:
            console.print_wrapped(f"{image.repository}: tag only: {image.why_by_tag}", indent=2)
    if charts:
        console.title("Charts", "installed by Helm")
    for chart in charts:
        where = f" from {chart.repository}" if chart.repository else ""
        pinned = f"@{chart.digest}" if chart.digest else ""
        console.print(f"  {chart.chart} {chart.version}{pinned}{where}")
    by_tag = sum(not image.digest for image in results)
    console.print_wrapped(
        f"{len(results)} images, {by_tag} with a tag only."
        " Images of the cloud's node software and of teams are not included.",
        indent=2,
    )
