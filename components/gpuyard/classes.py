"""`@dataclass`, with methods that are compiled when they are first called.

The standard library compiles up to six functions for each class while a module is loaded, one by one. The
start of a stack's program has 170 classes of ours, and that was a sixth of its time (docs/decisions/0044).
A class made here is otherwise the standard library's: fields, `replace`, slots, matching, copies, the words
of its errors.
"""

from __future__ import annotations

import dataclasses
import operator
import reprlib
from dataclasses import MISSING, FrozenInstanceError, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    # Checkers know every use of it; what runs is the function below.
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 for others to import
else:

    def dataclass(**options: bool) -> Callable[[type], type]:
        """Make the class under it a dataclass, with what `dataclasses.dataclass` takes."""
        return lambda cls: _made(cls, **options)


def _made(
    cls: type, *, frozen: bool = False, eq: bool = True, order: bool = False, **options: bool
) -> type:
    """The class with its fields and slots, and with methods that wait."""
    if order:
        ordered: Any = dataclasses.dataclass
        made: type = ordered(frozen=frozen, eq=eq, order=True, **options)(cls)
        return made
    own = vars(cls)
    # A class with an __eq__ has a __hash__ of None, unless it says another.
    hash_of_its_own = own.get("__hash__") is not None
    made = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    said: Any = made.__dataclass_params__  # type: ignore[attr-defined]
    said.init = said.repr = True
    said.eq, said.frozen = eq, frozen
    methods: dict[str, Any] = {"__init__": _init_later(made), "__repr__": _repr}
    if eq:
        methods["__eq__"] = _eq_later(made)
    if frozen:
        methods |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    for name in methods.keys() - own.keys():
        setattr(made, name, methods[name])
    if eq and not hash_of_its_own:
        hashing: Any = _hash_later(made) if frozen else None
        made.__hash__ = hashing  # type: ignore[method-assign]
    return made


def _init_later(cls: Any) -> Callable[..., None]:
    def __init__(self: Any, /, *args: Any, **named: Any) -> None:  # noqa: N807
        cls.__init__ = _init_of(cls)
        cls.__init__(self, *args, **named)

    return __init__


def _init_of(cls: Any) -> Any:
    """`__init__`, compiled from the fields."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    positional: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for field in fields(cls):
        name = value = parameter = field.name
        alone = ""
        if field.default_factory is not MISSING:
            scope[f"_make_{name}"] = field.default_factory
            parameter, alone = f"{name}=_MISSING", f"_make_{name}()"
            value = f"{alone} if {name} is _MISSING else {name}"
        elif field.default is not MISSING:
            scope[f"_default_{name}"] = field.default
            parameter, alone = f"{name}=_default_{name}", f"_default_{name}"
        if field.init:
            (named if field.kw_only else positional).append(parameter)
        if said := value if field.init else alone:
            body.append(f"_set(self, {name!r}, {said})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    exec("\n ".join([f"def __init__({parameters}):", *(body or ["pass"])]), scope)  # noqa: S102 names of fields only
    init = scope["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return init


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads the fields of these names, as a tuple."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda it: tuple(getattr(it, name) for name in names)


def _eq_later(cls: Any) -> Callable[[Any, object], object]:
    def __eq__(self: Any, other: object) -> object:  # noqa: N807
        values = _values([field.name for field in fields(cls) if field.compare])

        def equal(self: Any, other: object) -> object:
            if other.__class__ is not self.__class__:
                return NotImplemented
            return values(self) == values(other)

        cls.__eq__ = equal
        return equal(self, other)

    return __eq__


def _hash_later(cls: Any) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807
        values = _values([field.name for field in fields(cls) if field.compare])

        def hashed(self: Any) -> int:
            return hash(values(self))

        cls.__hash__ = hashed
        return hashed(self)

    return __hash__


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_setting(self: Any, name: str, value: object) -> None:
    del self, value
    message = f"cannot assign to field {name!r}"
    raise FrozenInstanceError(message)


def _refuse_deleting(self: Any, name: str) -> None:
    del self
    message = f"cannot delete field {name!r}"
    raise FrozenInstanceError(message)


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
