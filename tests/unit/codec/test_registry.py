"""Which types may cross, and what the names are good for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from hitl import codec
from hitl.codec import dumps, loads, pack, register, registered
from hitl.errors import Damaged, Misuse, NotStorable
from hitl.values import Interrupt, Send


def unpack(tree) -> Any:
    return codec.unpack(tree)


def tag_of(value: object) -> object:
    tree: Any = pack(value)
    return tree["$"]


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents


def test_a_class_with_its_own_functions_crosses():
    register(Money, pack=lambda money: money.cents, unpack=Money, name="shop:Money")
    tree = pack([Money(7)])
    assert tree == [{"$": "shop:Money", "v": 7}]
    assert unpack(tree)[0].cents == 7


def test_register_works_as_a_bare_and_as_a_called_decorator():
    @register
    @dataclass
    class Bare:
        x: int

    @register(name="decorated:Called")
    @dataclass
    class Called:
        x: int

    assert unpack(pack([Bare(1), Called(2)])) == [Bare(1), Called(2)]
    assert pack(Called(2)) == {"$": "decorated:Called", "v": {"x": 2}}


def test_the_default_name_is_module_and_qualified_name():
    @register
    @dataclass
    class Local:
        pass

    assert tag_of(Local()) == f"{__name__}:{Local.__qualname__}"


def test_a_class_defined_again_takes_the_place_of_the_one_before():
    def define() -> Any:
        @register(name="again:Thing")
        @dataclass
        class Thing:
            x: int

        return Thing

    old, new = define(), define()
    assert type(unpack(pack(old(1)))) is new
    assert unpack(pack(new(1))) == new(1)


def test_two_different_classes_cannot_have_one_name():
    @register(name="taken:Name")
    @dataclass
    class First:
        pass

    @dataclass
    class Second:
        pass

    with pytest.raises(Misuse, match="taken:Name"):
        register(Second, name="taken:Name")
    assert not registered(Second)


def test_a_class_that_moved_reads_its_old_name_and_writes_its_new_one():
    @dataclass
    class Moved:
        x: int

    register(Moved, name="old.place:Moved")
    stored = pack(Moved(1))
    register(Moved, name="new.place:Moved")
    assert unpack(stored) == Moved(1)
    assert tag_of(Moved(1)) == "new.place:Moved"


def test_a_subclass_is_a_type_of_its_own():
    @register
    @dataclass
    class Base:
        x: int

    class Derived(Base):
        pass

    with pytest.raises(NotStorable):
        pack(Derived(1))


def test_only_one_of_the_two_functions_is_misuse():
    with pytest.raises(Misuse, match="only one"):
        register(Fraction, pack=str)


def test_a_plain_class_needs_functions():
    with pytest.raises(Misuse, match=r"pack= and unpack="):
        register(Fraction)


def test_built_in_types_and_their_names_cannot_be_taken():
    built_in: list[Any] = [str, dict, int, tuple, Decimal, datetime]
    for cls in built_in:
        with pytest.raises(Misuse, match="built-in"):
            register(cls, pack=str, unpack=cls)
    with pytest.raises(Misuse, match="built-in"):
        register(Money, name="py:money", pack=lambda money: money.cents, unpack=Money)


def test_registered_tells_what_can_be_stored():
    assert all(registered(cls) for cls in [str, int, list, type(None), tuple, Decimal, Send])
    assert not registered(Fraction)
    assert not registered(object)


def test_a_pack_function_that_fails_is_an_error_with_the_path():
    class Fragile:
        pass

    register(Fragile, pack=lambda _: 1 / 0, unpack=lambda _: Fragile())
    with pytest.raises(NotStorable, match="division by zero") as caught:
        pack({"a": Fragile()})
    assert caught.value.fields["path"] == 'value["a"]'
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_pack_function_that_never_ends_is_an_error():
    class Endless:
        pass

    register(Endless, pack=lambda value: value, unpack=lambda _: Endless())
    with pytest.raises(NotStorable):
        pack(Endless())


def test_an_unpack_function_that_fails_is_damage():
    class Picky:
        pass

    def refuse(_: object) -> Picky:
        raise KeyError("colour")

    register(Picky, pack=lambda _: {}, unpack=refuse, name="picky:Picky")
    with pytest.raises(Damaged, match="picky:Picky"):
        unpack(pack(Picky()))


def test_our_own_values_cross_without_being_registered_by_anyone():
    value = [Interrupt({"q": (1,)}, "0" * 32), Send("node", {"x": {1}})]
    assert unpack(loads(dumps(pack(value)))) == value
