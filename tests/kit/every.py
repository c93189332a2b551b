"""Many cases as data inside one test: each is run, and each that fails is named.

A separate test for every case costs more than most cases: each worker collects it, and it is sent, set up and
reported. `@every(...)` takes the arguments of `pytest.mark.parametrize`. Use it for pure and fast cases;
cases that write files, patch something or may be skipped stay separate tests.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

SHOWN = 10
"""Names in the first line of a failure; its parts have all of them."""


def every(
    names: str | Sequence[str],
    values: Iterable[Any],
    ids: Iterable[Any] | Callable[[Any], object] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test with each of the values, independent of the others, and fail with all failures.

    No values at all is a failure too: such a test would check nothing.
    """
    parts = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        cases = named(parts, list(values), ids)
        signature = inspect.signature(test)
        if missing := set(parts) - set(signature.parameters):
            raise TypeError(f"{test.__name__} takes no {', '.join(sorted(missing))}")

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            __tracebackhide__ = True
            judge([(name, functools.partial(test, **fixtures, **case)) for name, case in cases])

        retained = [p for name, p in signature.parameters.items() if name not in parts]
        run.__signature__ = signature.replace(parameters=retained)  # type: ignore[attr-defined]
        return run

    return decorate


def named(
    parts: list[str], values: list[Any], ids: Iterable[Any] | Callable[[Any], object] | None
) -> list[tuple[str, dict[str, Any]]]:
    """Each case with its name: the one given, else its values."""
    names = None if ids is None or callable(ids) else [str(name) for name in ids]
    if names is not None and len(names) != len(values):
        raise ValueError(f"{len(names)} names for {len(values)} cases")
    results = []
    for number, value in enumerate(values):
        configured = getattr(value, "id", None) if hasattr(value, "marks") else None
        plain = value.values if hasattr(value, "marks") else value
        fields = list(plain) if len(parts) > 1 or hasattr(value, "marks") else [plain]
        if len(fields) != len(parts):
            raise ValueError(f"{len(fields)} values for {', '.join(parts)}: {plain!r}")
        message = names[number] if names is not None else configured or spoken(fields, ids)
        results.append((message, dict(zip(parts, fields, strict=True))))
    return results


def spoken(fields: list[Any], ids: Any) -> str:
    return "-".join(str(ids(field)) if callable(ids) else repr(field) for field in fields)


def judge(cases: Sequence[tuple[str, Callable[[], None]]]) -> None:
    """Run all of them; one error contains all failures, each with its name.

    The test skips if every case does, as for a file that this machine lacks. A single skip fails.
    """
    __tracebackhide__ = True
    if not cases:
        pytest.fail("there are no cases", pytrace=False)
    failed, skipped = [], []
    for name, case in cases:
        try:
            case()
        except pytest.skip.Exception as e:
            skipped.append(str(e))
            failed.append((name, AssertionError(f"a case must not be skipped: {e}")))
        except pytest.fail.Exception as e:
            failed.append((name, AssertionError(str(e))))
        except Exception as e:  # noqa: BLE001  the other cases still run
            failed.append((name, e))
    if not failed:
        return
    if len(skipped) == len(cases):
        pytest.skip(skipped[0])
    for name, error in failed:
        error.add_note(f"case {name}")
    first = ", ".join(name for name, _ in failed[:SHOWN])
    more = f" and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
    message = f"{len(failed)} of {len(cases)} cases fail: {first}{more}"
    raise ExceptionGroup(message, [error for _, error in failed])
