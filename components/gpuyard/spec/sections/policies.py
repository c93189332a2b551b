"""Policies: how strictly rules are held, and where they are not."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuyard.spec.base import SpecModel
from gpuyard.spec.values import Day, Text


class Level(StrEnum):
    """What becomes of a rule that is broken."""

    OFF = "off"
    ADVISORY = "advisory"
    MANDATORY = "mandatory"


class RuleException(SpecModel):
    """One place where one rule need not hold for a while."""

    rule: Text
    """The rule's id, for example GPU-TEN-02."""
    resource: Text
    """Name of the resource it does not hold for."""
    reason: Text
    """Why. Whoever reads it in a year should understand."""
    expires: Day
    """The day from which it holds again, as 2027-03-31."""


class Policies(SpecModel):
    """How strictly rules are held, and where they are not."""

    levels: dict[Text, Level] = Field(default_factory=dict)
    """By rule id: off, advisory or mandatory. Default: each rule's own."""
    exceptions: Annotated[tuple[RuleException, ...], Field(max_length=1000)] = ()
    """Places where a rule need not hold. Default: none."""
