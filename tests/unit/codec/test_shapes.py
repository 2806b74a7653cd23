"""Classes with fields: taken apart, rebuilt without their code, read forward."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import pytest
from pydantic import BaseModel, Field, PrivateAttr, RootModel, field_validator
from pydantic.fields import FieldInfo

from hitl.codec import dumps, loads, pack, register, unpack
from hitl.errors import Damaged, Misuse, NotStorable

T = TypeVar("T")


def there_and_back(value):
    return unpack(loads(dumps(pack(value))))


def test_rebuilding_a_dataclass_runs_none_of_its_code():
    @register
    @dataclasses.dataclass(frozen=True)
    class Bomb:
        runs: ClassVar[list[str]] = []
        x: int
        seen: dataclasses.InitVar[int] = 0

        def __new__(cls, *args: object, **kwargs: object):
            cls.runs.append("new")
            return super().__new__(cls)

        def __post_init__(self, seen: int) -> None:
            self.runs.append("init")

    bomb = Bomb(1)
    before = len(Bomb.runs)
    assert there_and_back(bomb) == bomb
    assert len(Bomb.runs) == before


def test_rebuilding_a_model_runs_no_validator_and_no_hook():
    runs = []

    class Bomb(BaseModel):
        x: int
        _secret: int = PrivateAttr(default=5)

        @field_validator("x")
        @classmethod
        def explode(cls, value: int) -> int:
            runs.append("validator")
            return value

        def model_post_init(self, context: object) -> None:
            runs.append("hook")

    register(Bomb)
    bomb = Bomb(x=1)
    bomb._secret = 9
    runs.clear()
    back = there_and_back(bomb)
    assert not runs
    assert back.x == 1
    assert back._secret == 5, "private attributes are not stored; they come back as declared"


def test_a_model_keeps_what_was_set_and_its_extra_fields():
    class Open(BaseModel):
        model_config = {"extra": "allow"}
        a: int = 1
        b: list[int] = Field(default_factory=list)

    register(Open)
    model = Open.model_validate({"b": [1], "$": {"$": 1}, "z": (1, 2)})
    back = there_and_back(model)
    assert back == model
    assert back.model_fields_set == {"b", "$", "z"}
    assert back.model_extra == {"$": {"$": 1}, "z": (1, 2)}
    back.b.append(2)
    assert model.b == [1]


def test_aliases_nested_root_and_generic_models_cross():
    class Inner(BaseModel):
        number: int = Field(alias="no")

    class Many(RootModel[list[Inner]]):
        pass

    class Box(BaseModel, Generic[T]):
        content: T

    for cls in (Inner, Many, Box[Many]):
        register(cls)
    value = Box[Many](content=Many([Inner(no=1)]))
    back = there_and_back(value)
    assert back == value
    assert type(back.content) is Many
    assert back.model_dump() == value.model_dump()


def test_a_model_rebuilt_can_be_copied_changed_and_compared():
    class Plain(BaseModel):
        x: int = 1

    register(Plain)
    back = there_and_back(Plain())
    assert back == Plain()
    assert back.model_copy(update={"x": 2}).x == 2
    back.x = 3
    assert back.model_fields_set == {"x"}


def test_a_cached_property_is_not_a_field():
    @register
    @dataclasses.dataclass
    class Lazy:
        x: int

        @cached_property
        def twice(self) -> int:
            return self.x * 2

    value = Lazy(2)
    assert value.twice == 4
    assert pack(value) == {"$": f"{__name__}:{Lazy.__qualname__}", "v": {"x": 2}}
    assert there_and_back(value).twice == 4


def evolve(old: type, new: type) -> None:
    """Let `new` be what the code became after `old` had written a log."""
    new.__module__, new.__qualname__ = old.__module__, old.__qualname__
    register(new)


class Old(BaseModel):
    kept: int
    gone: int


class New(BaseModel):
    kept: int
    made: list[int] = Field(default_factory=list)
    n: int = 3


class Stricter(BaseModel):
    kept: int
    needed: int


MADE: Any = dataclasses.field(default_factory=list)
KINDS: dict[str, tuple[Any, Any, Any]] = {
    "dataclass": (
        dataclasses.make_dataclass("Old", ["kept", "gone"]),
        dataclasses.make_dataclass("New", ["kept", ("made", list, MADE), ("n", int, 3)]),
        dataclasses.make_dataclass("Stricter", ["kept", "needed"]),
    ),
    "model": (Old, New, Stricter),
    "tuple": (
        namedtuple("Old", ["kept", "gone"]),
        namedtuple("New", ["kept", "made", "n"], defaults=[[], 3]),
        namedtuple("Stricter", ["kept", "needed"]),
    ),
}


@pytest.fixture(params=[*KINDS.values()], ids=[*KINDS])
def kind(request):
    return request.param


def become(old: type, new: type) -> None:
    """Let `new` be what the code became after `old` had written a log."""
    new.__module__, new.__qualname__ = old.__module__, old.__qualname__
    register(new, name=f"evolving:{id(old)}")


def test_a_new_field_takes_its_default_and_a_gone_one_is_left_out(kind):
    old, new, _ = kind
    become(old, old)
    stored = pack(old(kept=1, gone=2))
    become(old, new)
    back: Any = unpack(stored)
    assert type(back) is new
    assert (back.kept, back.made, back.n) == (1, [], 3)
    assert not hasattr(back, "gone")


def test_a_new_field_without_default_is_an_error_that_names_it(kind):
    old, _, stricter = kind
    become(old, old)
    stored = pack(old(kept=1, gone=2))
    become(old, stricter)
    with pytest.raises(Damaged, match="no field 'needed'") as caught:
        unpack(stored)
    assert caught.value.fields["field"] == "needed"


@pytest.mark.skipif(
    not hasattr(FieldInfo, "default_factory_takes_validated_data"), reason="factories take no data"
)
def test_a_default_that_is_made_of_other_fields_is_made_when_read():
    class Area(BaseModel):
        side: int
        size: int = Field(default_factory=lambda data: data["side"] ** 2)

    register(Area, name="shape:Area")
    assert unpack({"$": "shape:Area", "v": {"side": 3}}) == Area(side=3)


def test_a_field_that_is_never_set_stays_unset():
    @register
    @dataclasses.dataclass(slots=True)
    class Late:
        x: int
        later: int = dataclasses.field(init=False, compare=False)

    assert not hasattr(there_and_back(Late(1)), "later")
    late = Late(1)
    late.later = 2
    assert there_and_back(late).later == 2


def test_an_instance_that_lacks_a_field_is_refused_when_it_is_written():
    class Half(BaseModel):
        x: int

    register(Half)
    with pytest.raises(NotStorable, match="cannot be taken apart"):
        pack(Half.model_construct())


def test_a_named_tuple_runs_no_constructor():
    class Pair(NamedTuple):
        x: int

    class Loud(Pair):
        __slots__ = ()

        def __new__(cls, *args: object):
            raise AssertionError

    register(Loud)
    assert there_and_back(tuple.__new__(Loud, [1])) == (1,)


def test_a_class_that_is_more_than_its_fields_needs_functions():
    @dataclasses.dataclass
    class Mapping(dict):
        x: int = 1

    with pytest.raises(Misuse, match="more than its fields"):
        register(Mapping)
