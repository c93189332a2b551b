"""Options that commands share."""

from enum import StrEnum
from typing import Annotated

import typer

COMPLETE_VARIABLE = "_GPUYARD_COMPLETE"
"""With it, a completion script requests words from `gpuyard`."""


class Format(StrEnum):
    """Output format of a result."""

    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="Output format.")]
