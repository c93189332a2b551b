"""The table of known issues: one row per symptom, ordered by area.

The remedies of XIDs are the immediate actions of NVIDIA's catalogue, with two marked exceptions: for 63 and 64
the driver's record of remapped rows decides, because NVIDIA, AWS and gpud differ. Codes for which the catalogue
refers to a separate workflow have the remedy `follow`: another symptom decides what to do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_rows


class Area(StrEnum):
    """The components that report symptoms, in the order in which to check them."""

    XID = "xid"
    DRIVER = "driver"
    RECOVERY = "recovery"
    TEMPERATURE = "temperature"
    CUDA = "cuda"
    RUNTIME = "runtime"


class Remedy(StrEnum):
    """The first action, ordered by disruption."""

    NOTHING = "nothing"
    FOLLOW = "follow"
    """Another symptom decides the action."""
    LOOK = "look"
    RESTART_APP = "restart-app"
    RESET = "reset"
    REBOOT = "reboot"
    REPLACE = "replace"


IN_WORDS: Mapping[Remedy, str] = {
    Remedy.NOTHING: "no action; count occurrences",
    Remedy.FOLLOW: "follow the accompanying error: this one is a consequence",
    Remedy.LOOK: "investigate before restarting anything",
    Remedy.RESTART_APP: "restart the program; if the error recurs on one node only, validate that node",
    Remedy.RESET: "drain the node and reset its GPUs; if the error recurs, replace the node",
    Remedy.REBOOT: "drain the node and reboot it; if the error recurs, replace it",
    Remedy.REPLACE: "drain and replace the node",
}
"""Default remediation by remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIssue:
    """A known symptom with its meaning and remediation."""

    id: str
    """Area and code, for example xid.79 or cuda.802."""
    meaning: str
    remedy: Remedy
    remediation: str
    checks: tuple[str, ...]
    """Validator checks that detect the same problem."""
    source: Source

    @property
    def area(self) -> Area:
        """The component that reports the symptom."""
        return Area(self.id.partition(".")[0])


KNOWN_ISSUES: Mapping[str, KnownIssue] = {
    each.id: each if each.remediation else replace(each, remediation=IN_WORDS[each.remedy])
    for each in read_rows("known_issues", KnownIssue)
}
"""All known issues by id, ordered by area."""


def find_known_issue(name: str) -> KnownIssue | None:
    """Find a known issue by a name such as `xid.79`, `XID 79` or `79`."""
    plain = name.strip().lower().replace(" ", ".").replace("-", ".")
    return KNOWN_ISSUES.get(plain) or (
        KNOWN_ISSUES.get(f"xid.{plain}") if plain.isdecimal() else None
    )


def issues_for_check(check: str) -> list[KnownIssue]:
    """The known issues that a check of the validator detects."""
    return [each for each in KNOWN_ISSUES.values() if check in each.checks]
