"""`gpuyard get`: one value of a tree by its path.

A path is written as in findings: `pools.train.nodes`, `pools[0].nodes`. In a list, a name selects the
entry of that name. Keys may contain dots, as in `pools.serve.labels.nvidia.com/mig.config`: the longest
match is taken.
"""

from collections.abc import Iterator
from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.suggestions import nearest_name

_NAMES = ("name", "pool", "profile", "resource", "key")
"""Keys that name an entry of a list, in this order."""
_SHOWN = 20


def find(root: Any, path: str) -> Any:
    """The value at a path; UsageError lists the available steps."""
    value, rest, done = root, path, ""
    while rest:
        options = dict(_next_steps(value))
        step = max((o for o in options if _starts_with_step(rest, o)), key=len, default=None)
        if step is None:
            raise UsageError(_nothing(rest, done, value))
        value, rest = options[step], rest[len(step) :].removeprefix(".")
        done = f"{done}{step}" if step.startswith("[") or not done else f"{done}.{step}"
    return value


def _next_steps(value: Any) -> Iterator[tuple[str, Any]]:
    """Every next step from a value."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield f"[{index}]", item
            if (name := _name(item)) is not None:
                yield name, item


def _name(item: Any) -> str | None:
    if not isinstance(item, dict):
        return None
    return next((item[key] for key in _NAMES if isinstance(item.get(key), str)), None)


def _starts_with_step(rest: str, step: str) -> bool:
    return rest.startswith(step) and (
        len(rest) == len(step) or rest[len(step)] in ".[" or step.endswith("]")
    )


def _nothing(rest: str, done: str, value: Any) -> str:
    where = f"below {done}" if done else "in the plan"
    names = _names(value)
    if not names:
        return f"no {rest!r} {where}: {done} is a single value. Remove {rest!r}."
    suggestion = nearest_name(rest.partition(".")[0].partition("[")[0], names) or nearest_name(
        rest, names
    )
    hint = f" Did you mean {f'{done}.{suggestion}' if done else suggestion}?" if suggestion else ""
    more = ", …" if len(names) > _SHOWN else ""
    return f"no {rest!r} {where}. Available: {', '.join(names[:_SHOWN])}{more}.{hint}"


def plain_value(value: Any, path: str) -> str:
    """A scalar as plain text, a list of scalars one per line; UsageError for nested values."""
    if isinstance(value, list) and not any(isinstance(v, dict | list) for v in value):
        return "\n".join(_scalar(v) for v in value)
    if isinstance(value, dict | list):
        names = ", ".join(_names(value)[:_SHOWN])
        has = (
            f"it has {names}. Select one of them, or print all"
            if names
            else "it is empty. Print it"
        )
        raise UsageError(f"{path or 'the plan'} is not a single value: {has} with --format json.")
    return _scalar(value)


def _names(value: Any) -> list[str]:
    """The next steps, by name where entries have names."""
    options = [o for o, _ in _next_steps(value)]
    return [o for o in options if not o.startswith("[")] or options


def _scalar(value: Any) -> str:
    from gpuyard_core.terminal.text import clean

    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return clean(str(value))
