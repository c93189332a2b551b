"""Text from files and arguments, made safe to show."""

import re

_MONEY_IS_WHOLE_FROM = 1000
_CI_COMMAND = re.compile(r"##(?=(?:vso)?\[)|^\s*:(?=:[a-z-]+(?: .*)?::)", re.IGNORECASE)
"""What GitHub Actions and Azure Pipelines run as a command in a log."""
CI_COMMANDS = ("##[", "##vso[")
"""Those that count anywhere in a line."""


def clean(text: str) -> str:
    """Escape everything in a text that could control a terminal or a pipeline, or reorder a line."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return _CI_COMMAND.sub(lambda found: f"{found[0][:-1]}\\x{ord(found[0][-1]):x}", text)


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters; a longer word stays whole, so that paths can be copied."""
    import textwrap

    return textwrap.wrap(text, max(width, 20), break_on_hyphens=False, break_long_words=False) or [
        ""
    ]


def usd(amount: float | None) -> str:
    """Dollars: cents below a thousand, whole dollars from there."""
    if amount is None:
        return "unknown"
    return f"{amount:,.0f}" if abs(amount) >= _MONEY_IS_WHOLE_FROM else f"{amount:,.2f}"


def signed_usd(amount: float | None) -> str:
    """A change in dollars: +1.50, -3.00, or = for none."""
    if amount is None:
        return "unknown"
    shown = usd(amount)
    if shown.strip("-") == "0.00":
        return "="
    return shown if amount < 0 else f"+{shown}"


def pluralize(count: int, one: str, more: str = "") -> str:
    """`1 pool`, `3 pools`."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"
