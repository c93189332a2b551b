"""`gpuyard pack`: the least hardware for a demand, with the bound that proves it."""

from typing import Annotated

import typer

from gpuyard.catalogue.machines import Capacity
from gpuyard.cli.options import Format, FormatOption, StackArgument

app = typer.Typer(
    help="Compute the minimum hardware for a demand. Slices on GPUs, or shapes on "
    "machines, with a proven bound.",
    no_args_is_help=True,
)
_GPU_HELP = "GPU product, by any usual name: A100-40GB, H100."
_DEMAND_HELP = (
    "What is wanted and how often: a profile (1g.5gb=20), or requests by what they need,"
    " 18gib=4 of memory or 30%=12 of compute, each given the smallest slice that has it."
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
            help="GPUs there are: if too few, hold as much compute as they can.",
            show_default=False,
        ),
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Cut the fewest GPUs that hold a demand of MIG slices."""
    from gpuyard.cli.commands.packing.slices import pack

    return pack(gpu, demand, gpus, as_document=format is Format.JSON)


@app.command()
def machines(
    stack: StackArgument,
    capacity: Annotated[
        Capacity, typer.Option(help="How machines are bought, and so what they cost.")
    ] = Capacity.ON_DEMAND,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Choose machines for a stack. The cheapest that hold all its shapes at once, beside those it names."""
    from gpuyard.cli.commands.packing.machines import pack

    return pack(stack, capacity, as_document=format is Format.JSON)
