"""Kubernetes quantities: `500m`, `1.5`, `16Gi`, `2e3`."""

import re
from fractions import Fraction
from functools import lru_cache

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
