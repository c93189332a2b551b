"""Base of the models of the vocabulary: immutable, nothing unknown, every field documented."""

from pydantic import BaseModel, ConfigDict


class SpecModel(BaseModel):
    """A part of the stack file."""

    # Built when first used, and then once for the whole tree: a command that reads no stack pays nothing.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
