"""`gpuyard pack`: the minimum hardware for a demand, with a proven bound."""

from typing import Annotated

import typer

from gpuyard.cli.options import StackArgument
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.terminal.options import Format, FormatOption

app = typer.Typer(
    help="Compute the minimum hardware for a demand. Slices on GPUs, or shapes on "
    "machines, with a proven bound.",
    no_args_is_help=True,
)
_GPU_HELP = "GPU product, by any usual name: A100-40GB, H100."
_DEMAND_HELP = (
    "Slices and their count: a profile (1g.5gb=20), or the smallest slice with this memory"
    " (18gib=4) or share of compute (30%=12)."
)


@app.command()
def slices(
    gpu: Annotated[str, typer.Argument(metavar="GPU", help=_GPU_HELP, show_default=False)],
    demand: Annotated[
        list[str], typer.Argument(metavar="WHAT=COUNT", help=_DEMAND_HELP, show_default=False)
    ],
    gpus: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Available GPUs. If they are too few, place as much compute as fits.",
            show_default=False,
        ),
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Partition the fewest GPUs for a demand of MIG slices."""
    from gpuyard_advisor.cli.commands.packing.slices import pack

    return pack(gpu, demand, gpus, as_document=format is Format.JSON)


@app.command()
def machines(
    stack: StackArgument,
    capacity: Annotated[
        Capacity, typer.Option(help="Capacity type of the machines, which sets their price.")
    ] = Capacity.ON_DEMAND,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Choose machines for a stack. The cheapest that fit all shapes at once, compared with the stack's own."""
    from gpuyard_advisor.cli.commands.packing.machines import pack

    return pack(stack, capacity, as_document=format is Format.JSON)
