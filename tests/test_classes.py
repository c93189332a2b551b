"""Classes of ours are the standard library's dataclasses, with methods that are compiled late."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from gpuyard import classes
from kit.every import every


def _shape(decorate):
    """Each kind of field that ours have, made with either decorator."""

    @decorate(frozen=True, slots=True)
    class Shape:
        a: int
        b: tuple[str, ...] = ()
        c: list[int] = field(default_factory=list, compare=False)
        d: int = field(default=3, repr=False, kw_only=True)
        e: int = field(init=False, compare=False)
        f: int = field(init=False, default=6)
        g: list[int] = field(init=False, default_factory=list)

        def __post_init__(self):
            object.__setattr__(self, "e", self.a * 2)

    return Shape


SHAPES = {"ours": _shape(classes.dataclass), "theirs": _shape(dataclass)}


def both(what):
    """What a function makes of a class of either decorator: its value, or its error's words."""

    def said(shape):
        try:
            return what(shape)
        except (TypeError, FrozenInstanceError) as error:
            return type(error), str(error)

    return said(SHAPES["ours"]), said(SHAPES["theirs"])


@every(
    "what",
    [
        lambda shape: repr(shape(1, ("x",))),
        lambda shape: shape(1) == shape(1, c=[2]),
        lambda shape: shape(1) == shape(2),
        lambda shape: shape(1) == 1,
        lambda shape: hash(shape(1)) == hash(shape(1, c=[2])),
        lambda shape: len({shape(1), shape(1), shape(2)}),
        lambda shape: [f.name for f in fields(shape)],
        lambda shape: fields(shape(1))[3].kw_only,
        lambda shape: repr(replace(shape(1), d=5)),
        lambda shape: replace(shape(1), d=5).d,
        lambda shape: dataclasses.asdict(shape(1)),
        lambda shape: copy.copy(shape(4)).e,
        lambda shape: copy.deepcopy(shape(4)) == shape(4),
        lambda shape: shape.__match_args__,
        lambda shape: shape.__slots__,
        lambda shape: shape.__dataclass_params__.frozen,
        lambda shape: shape(1).c is shape(1).c,
        lambda shape: shape(),
        lambda shape: shape(1, (), [], 4),
        lambda shape: shape(1, f=2),
        lambda shape: (shape(1).f, shape(1).g, shape(1).g is shape(1).g),
        lambda shape: setattr(shape(1), "a", 2),
        lambda shape: delattr(shape(1), "a"),
    ],
)
def test_a_class_does_what_the_standard_librarys_does(what):
    ours, theirs = both(what)

    assert ours == theirs


def test_a_class_without_fields_and_one_with_a_single_field_compare_as_tuples_do():
    @classes.dataclass(frozen=True)
    class Nothing:
        pass

    @classes.dataclass(frozen=True)
    class One:
        value: object

    odd = float("nan")

    assert (Nothing(), hash(Nothing())) == (Nothing(), hash(()))
    assert One(odd) == One(odd)


def test_a_class_that_changes_has_no_hash():
    @classes.dataclass(slots=True)
    class Changing:
        n: int = 0

    changing = Changing()
    changing.n = 2

    assert changing == Changing(2)
    with pytest.raises(TypeError, match="unhashable type"):
        hash(changing)


def test_a_class_without_equality_is_itself_only():
    @classes.dataclass(eq=False, slots=True, kw_only=True)
    class Lonely:
        n: int

    one = Lonely(n=1)

    assert one == one  # noqa: PLR0124 the object's own equality
    assert one != Lonely(n=1)
    assert len({one, Lonely(n=1)}) == 2


def test_methods_that_a_class_has_itself_are_kept():
    @classes.dataclass(frozen=True)
    class Own:
        n: int

        def __repr__(self):
            return "own"

        def __hash__(self):
            return 7

    assert (repr(Own(1)), hash(Own(1))) == ("own", 7)
    assert Own(1) == Own(1)


def test_an_ordered_class_has_an_order():
    @classes.dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        n: int

    assert sorted([Ordered(2), Ordered(1)]) == [Ordered(1), Ordered(2)]


def test_a_class_below_another_has_the_fields_of_both():
    @classes.dataclass(frozen=True)
    class Low:
        a: int

    @dataclass(frozen=True)
    class High(Low):
        b: int = 2

    assert repr(High(1)).endswith("High(a=1, b=2)")
    assert High(1) != Low(1)


@classes.dataclass(frozen=True, slots=True)
class Sent:
    """One that is found by its name."""

    n: int


def test_an_object_is_pickled():
    assert pickle.loads(pickle.dumps(Sent(3))) == Sent(3)  # noqa: S301 our own


def test_an_object_that_holds_itself_is_shown():
    @classes.dataclass(frozen=True)
    class Round:
        inside: list[object]

    held: list[object] = []
    held.append(Round(held))

    assert repr(held[0]).endswith("Round(inside=[...])")


def test_nothing_is_compiled_before_it_is_called():
    @classes.dataclass(frozen=True)
    class Late:
        n: int

    waiting = Late.__init__
    Late(1)

    assert Late.__init__ is not waiting
    assert Late.__init__.__qualname__.endswith("Late.__init__")
