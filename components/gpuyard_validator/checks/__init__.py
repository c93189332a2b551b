"""All checks, in report order."""

from collections.abc import Mapping

from gpuyard_validator.checks.check import Check
from gpuyard_validator.checks.collectives import COLLECTIVES
from gpuyard_validator.checks.health import HEALTH
from gpuyard_validator.checks.inventory import INVENTORY
from gpuyard_validator.checks.links import LINKS
from gpuyard_validator.checks.loads import LOADS
from gpuyard_validator.checks.sharing import SHARING

CHECKS: Mapping[str, Check] = {
    check.id: check for check in (*INVENTORY, *HEALTH, *LINKS, *SHARING, *LOADS, *COLLECTIVES)
}

__all__ = ["CHECKS", "Check"]
