"""Kubernetes quantities: `500m`, `1.5`, `16Gi`, `2e3`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from gpuyard_core.findings import Diagnostic, Fix, Path, Severity

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
MILLI = 1000
MIB, GIB = 1024**2, 1024**3

_LETTERS = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_DECIMAL = {s: Fraction(1000) ** n for n, s in enumerate(_LETTERS, -3)}
_BINARY = {s: Fraction(1024) ** n for n, s in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_FACTORS = _DECIMAL | _BINARY
_PATTERN = re.compile(
    r"([+-]?)(\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)",
    re.ASCII,
)


def quantity(value: object) -> Fraction | None:
    """The number of a quantity, None if Kubernetes would not accept it."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return _number(str(value))


@lru_cache(maxsize=1024)
def _number(text: str) -> Fraction | None:
    """Cached, because texts repeat: ten thousand pods request 1 GPU."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    sign, number, exponent, suffix = match.groups()
    result = Fraction(number) * (
        Fraction(10) ** int(exponent) if exponent else _FACTORS[suffix or ""]
    )
    return -result if sign == "-" else result


def whole_units(resource: str, amount: Fraction) -> int:
    """CPU in thousandths, other resources in units; rounded up, as the scheduler does."""
    scaled = amount * MILLI if resource == CPU else amount
    return -(-scaled.numerator // scaled.denominator)


def _digits(amount: float, most: int) -> str:
    """The number with at most this many significant digits, never in scientific notation."""
    return f"{amount:.0f}" if abs(amount) >= 10 ** (most - 1) else f"{amount:.{most}g}"


def format_amount(resource: str, amount: int) -> str:
    """`8 nvidia.com/gpu`, `1.5 CPUs`, `64 GiB`."""
    if resource == CPU:
        return f"{_digits(amount / MILLI, 6)} CPU{'' if amount == MILLI else 's'}"
    if resource == MEMORY:
        return f"{_digits(amount / GIB, 4)} GiB"
    return f"{amount:,} {resource}"


def format_quantity(resource: str, amount: int) -> str | int:
    """The amount as a manifest writes it."""
    if resource == CPU:
        return f"{amount}m" if amount % MILLI else str(amount // MILLI)
    if resource == MEMORY:
        return f"{amount // GIB}Gi"
    return amount


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource that rules check, from any input format. Compared by identity."""

    kind: str
    """A Kubernetes object is its `apiVersion/Kind`, such as v1/ResourceQuota.

    A cloud resource is `aws:eks/NodeGroup` or `gcp:container/NodePool`, its fields named as Pulumi has them.
    The values of a chart are `values:gpu-operator`, a configuration inside another `config:mig-parted`.
    """
    name: str
    properties: Mapping[str, Any]
    protected: bool | None = None
    """Whether Pulumi rejects its deletion; None if unknown, for example in a manifest."""
    source: str = ""
    """The source, if the input has several: a file, a provider, a module."""

    @property
    def group_kind(self) -> str:
        """The kind without its version."""
        return group_kind(self.kind)

    @property
    def namespace(self) -> str:
        """The namespace of a Kubernetes object, "" if it has none."""
        metadata = self.properties.get("metadata")
        result = metadata.get("namespace") if isinstance(metadata, Mapping) else None
        return result if isinstance(result, str) else ""

    @property
    def title(self) -> str:
        """Kind, namespace and name, as findings name it."""
        inside = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind.rpartition('/')[2]} {inside}{self.name}"


@dataclass(frozen=True, slots=True)
class Violation:
    """One problem, before its rule or requirement gives it an id and a severity."""

    path: Path
    problem: str
    fix: str
    resource: Resource | None = None
    """The resource, if the rule checked several; None for the one it was called with."""
    severity: Severity | None = None
    """A severity below that of the rule. A level that a user sets applies to all violations."""
    is_advisory: bool = False
    """A defensible choice: shown separately, unless a user asks for it or sets a level."""

    def diagnostic(self, rule: str, severity: Severity) -> Diagnostic:
        """The diagnostic of a rule or a requirement."""
        fix = Fix(message=self.fix)
        return Diagnostic(rule, self.path, self.problem, severity=severity, fix=fix)


_VERSIONED = len(("group", "version", "kind"))


def group_kind(kind: str) -> str:
    """A Kubernetes kind without its version, `kueue.x-k8s.io/ClusterQueue`; other kinds unchanged."""
    if ":" in kind:
        return kind
    parts = kind.split("/")
    return f"{parts[0]}/{parts[2]}" if len(parts) == _VERSIONED else parts[-1]
