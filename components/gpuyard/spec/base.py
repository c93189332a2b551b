"""What every model of the vocabulary shares: immutable, nothing unknown, every field documented."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError


class SpecModel(BaseModel):
    """A part of the stack file."""

    # Built when first used, and then once for the whole tree: a command that reads no stack pays nothing.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    not_yet: ClassVar[dict[str, str]] = {}
    """Words of the vocabulary that are planned but not served: refused by name, never ignored."""

    @model_validator(mode="wrap")
    @classmethod
    def _refuse_what_is_not_served(cls, value: Any, handler: Any) -> Any:
        """Report words that are not served beside every other error of the same model."""
        is_word = isinstance(value, str) and value in cls.not_yet  # `sharing: dra`
        given: Any = {value: True} if is_word else value
        early = [word for word in cls.not_yet if isinstance(given, dict) and word in given]
        if not early:
            return handler(given)
        errors = [_not_yet(word, given[word], cls.not_yet[word]) for word in early]
        try:
            handler({k: v for k, v in given.items() if k not in early})
        except ValidationError as e:
            errors += [_again(error) for error in e.errors(include_url=False)]
        raise ValidationError.from_exception_data(cls.__name__, errors)


def _not_yet(word: str, given: object, becomes: str) -> InitErrorDetails:
    error = PydanticCustomError(
        "not_yet",
        "{problem}",
        {
            "problem": f"`{word}` is not served yet: {becomes}",
            "allowed": "",
            "fix": f"remove `{word}`",
        },
    )
    return InitErrorDetails(type=error, loc=(word,), input=given)


def _again(error: Any) -> InitErrorDetails:
    kind = error["type"]
    ctx = error.get("ctx", {})
    if "problem" in ctx:
        return InitErrorDetails(
            type=PydanticCustomError(kind, "{problem}", ctx), loc=error["loc"], input=error["input"]
        )
    return InitErrorDetails(type=kind, loc=error["loc"], input=error["input"], ctx=ctx)
