"""Policies: levels of rules, and exceptions."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard_core.models.base import SpecModel
from gpuyard_core.models.values import Day, Text


class Level(StrEnum):
    """What happens when a rule is violated."""

    OFF = "off"
    ADVISORY = "advisory"
    MANDATORY = "mandatory"


class RuleException(SpecModel):
    """A temporary exception of one resource from one rule."""

    rule: Text
    """Id of the rule, for example GPU-TEN-02."""
    resource: Text
    """Name of the resource that is exempt."""
    reason: Text
    """Reason for the exception, understandable a year later."""
    expires: Day
    """First day on which the rule applies again, for example 2027-03-31."""


class Policies(SpecModel):
    """Levels of rules, and exceptions."""

    levels: dict[Text, Level] = Field(default_factory=dict)
    """Level by rule id: off, advisory or mandatory. Default: the level of each rule."""
    exceptions: Annotated[tuple[RuleException, ...], Field(max_length=1000)] = ()
    """Temporary exceptions from rules. Default: none."""
