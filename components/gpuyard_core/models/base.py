"""Base of the stack file models: immutable, no unknown fields, every field documented."""

from pydantic import BaseModel, ConfigDict


class SpecModel(BaseModel):
    """A part of the stack file."""

    # Built on first use, once for the whole tree: commands that read no stack do not pay for it.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
